//! Maps and their folds.

use super::super::{Fold, FoldKind, Map, Target};
use super::fold::Accumulator;
use super::{Error, Machine, Run, Running, Slot, Value};
use crate::par::FaultKind;
use hidp_syntax::index::Id;

/// Maps with folds of more iterations are not run: their values would not fit into memory.
const MAX_GATHERED: i64 = 1 << 32;

/// An iterator's values: `low + n · step` for `n` below `count`.
#[derive(Clone, Copy)]
struct Range {
    low: i64,
    step: i64,
    count: i64,
}

/// The values that a fold gets from the iterations.
struct Gathered {
    /// Per linear number over the iterators that are not folded (reduce).
    sums: Vec<Accumulator>,
    /// Per linear number over all iterators (scans).
    values: Vec<Value>,
    /// Per iterator: what a step of it adds to the number in `sums`.
    strides: Vec<usize>,
}

impl<'p> Machine<'p> {
    /// Runs a map.
    pub(super) fn map(&mut self, map: &'p Map) -> Run<()> {
        let mut ranges = Vec::with_capacity(map.iters.len());
        for iter in &map.iters {
            let (low, high, step) = (self.long(&iter.lo)?, self.long(&iter.hi)?, self.long(&iter.step)?);
            if step <= 0 {
                return self.fault(FaultKind::Stride, iter.step.span, vec![step]);
            }
            // In 128 bits, because `high - low` may not fit.
            let length = i128::from(high) - i128::from(low);
            let count = if length <= 0 { 0 } else { (length - 1) / i128::from(step) + 1 };
            ranges.push(Range { low, step, count: count.min(i64::MAX.into()) as i64 });
        }
        let count = ranges.iter().fold(1_i64, |count, range| count.saturating_mul(range.count));
        if !map.folds.is_empty() && count > MAX_GATHERED {
            return Err(Box::new(Error::OutOfFuel));
        }
        let mut gathered: Vec<Gathered> = map.folds.iter().map(|fold| gather(map, fold, &ranges)).collect();
        self.maps.push(Running { number: self.map_runs, iteration: 0, written: Vec::new() });
        self.map_runs += 1;
        self.moved_on();
        if count > 0 {
            self.iterations(map, &ranges, &mut gathered)?;
        }
        self.end_of_map()?;
        self.moved_on();
        for (fold, gathered) in map.folds.iter().zip(gathered) {
            self.fold_results(map, fold, &ranges, gathered)?;
        }
        Ok(())
    }

    fn iterations(&mut self, map: &'p Map, ranges: &[Range], gathered: &mut [Gathered]) -> Run<()> {
        let mut at = vec![0_i64; ranges.len()];
        self.set_iters(map, ranges, &at);
        loop {
            self.step()?;
            self.block(&map.body)?;
            for (fold, gathered) in map.folds.iter().zip(gathered.iter_mut()) {
                self.take_value(fold, gathered, &at)?;
            }
            if let Some(running) = self.maps.last_mut() {
                running.iteration += 1;
            }
            self.moved_on();
            // The next position, innermost first.
            let Some(dim) = (0..at.len()).rev().find(|dim| at[*dim] + 1 < ranges[*dim].count) else { return Ok(()) };
            at[dim] += 1;
            at[dim + 1..].fill(0);
            for dim in dim..at.len() {
                self.set_iter(map, ranges, &at, dim);
            }
        }
    }

    fn moved_on(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.moved_on(&self.maps);
        }
        self.several.moved_on(&self.maps);
    }

    fn set_iters(&mut self, map: &Map, ranges: &[Range], at: &[i64]) {
        for dim in 0..at.len() {
            self.set_iter(map, ranges, at, dim);
        }
    }

    fn set_iter(&mut self, map: &Map, ranges: &[Range], at: &[i64], dim: usize) {
        let value = ranges[dim].low + at[dim] * ranges[dim].step;
        self.frame[map.iters[dim].var.index()] = Slot::Scalar(value.into());
    }

    fn take_value(&mut self, fold: &'p Fold, gathered: &mut Gathered, at: &[i64]) -> Run<()> {
        let Slot::Scalar(value) = self.frame[fold.value.index()].clone() else { return Ok(()) };
        match fold.kind {
            FoldKind::Reduce => {
                let number: usize = at.iter().zip(&gathered.strides).map(|(at, stride)| *at as usize * stride).sum();
                self.accumulate(&fold.op, &mut gathered.sums[number], value)
            }
            FoldKind::Scan | FoldKind::Exscan => {
                gathered.values.push(value);
                Ok(())
            }
        }
    }

    fn fold_results(&mut self, map: &'p Map, fold: &'p Fold, ranges: &[Range], gathered: Gathered) -> Run<()> {
        match fold.kind {
            FoldKind::Reduce => self.reduce_results(map, fold, ranges, gathered.sums),
            FoldKind::Scan | FoldKind::Exscan => self.scan_results(map, fold, ranges, gathered.values),
        }
    }

    fn reduce_results(&mut self, map: &'p Map, fold: &'p Fold, ranges: &[Range], sums: Vec<Accumulator>) -> Run<()> {
        let kept: Vec<usize> = (0..ranges.len()).filter(|dim| !fold.over.contains(&map.iters[*dim].var)).collect();
        for (number, sum) in sums.into_iter().enumerate() {
            let mut rest = number;
            for &dim in kept.iter().rev() {
                let count = ranges[dim].count as usize;
                let value = ranges[dim].low + (rest % count) as i64 * ranges[dim].step;
                self.frame[map.iters[dim].var.index()] = Slot::Scalar(value.into());
                rest /= count;
            }
            let value = self.finish(&fold.op, sum, fold.span)?;
            self.set_target(&fold.target, value)?;
        }
        Ok(())
    }

    fn scan_results(&mut self, map: &'p Map, fold: &'p Fold, ranges: &[Range], values: Vec<Value>) -> Run<()> {
        if values.is_empty() {
            return Ok(());
        }
        let folded = map.iters.iter().position(|iter| fold.over.contains(&iter.var)).unwrap_or(0);
        let length = ranges[folded].count as usize;
        let inner: usize = ranges[folded + 1..].iter().map(|range| range.count as usize).product();
        let mut results: Vec<Option<Value>> = vec![None; values.len()];
        for line in 0..values.len() / length {
            // Lines run over the folded iterator, in order of the others.
            let first = line / inner * inner * length + line % inner;
            let numbers = (0..length).map(|step| first + step * inner);
            let line_values = numbers.clone().map(|number| values[number].clone()).collect();
            let prefixes = self.prefixes(&fold.op, line_values, fold.kind == FoldKind::Scan, fold.span)?;
            for (number, prefix) in numbers.zip(prefixes) {
                results[number] = Some(prefix);
            }
        }
        for (number, value) in results.into_iter().enumerate() {
            let mut at = vec![0_i64; ranges.len()];
            let mut rest = number as i64;
            for dim in (0..ranges.len()).rev() {
                at[dim] = rest % ranges[dim].count;
                rest /= ranges[dim].count;
            }
            self.set_iters(map, ranges, &at);
            if let Some(value) = value {
                self.set_target(&fold.target, value)?;
            }
        }
        Ok(())
    }

    /// Writes one result.
    pub(super) fn set_target(&mut self, target: &'p Target, value: Value) -> Run<()> {
        match target {
            Target::Scalar(var) => self.frame[var.index()] = Slot::Scalar(value),
            Target::Element(place) => {
                let at = self.place(place)?;
                self.touch(at, true, place.access, place.span)?;
                self.store(at, &place.path, value);
            }
        }
        Ok(())
    }
}

/// Room for the values of a fold.
fn gather(map: &Map, fold: &Fold, ranges: &[Range]) -> Gathered {
    let mut strides = vec![0; ranges.len()];
    let mut count = 1_usize;
    for dim in (0..ranges.len()).rev() {
        if !fold.over.contains(&map.iters[dim].var) {
            strides[dim] = count;
            count = count.saturating_mul(ranges[dim].count as usize);
        }
    }
    let sums = match fold.kind {
        FoldKind::Reduce => vec![Accumulator::default(); count],
        FoldKind::Scan | FoldKind::Exscan => Vec::new(),
    };
    Gathered { sums, values: Vec::new(), strides }
}

//! The requests of a nest with split folds, and those of the launch that folds the parts.

use super::asked::{Around, Asked};
use super::facts::SiteNumbers;
use super::lanes::Digit;
use super::requests::{all, requests, shared, within};
use crate::MOST_MOVED;
use crate::mapping::Strategy;
use crate::notation::FoldOption;
use hidp_ir::par::FoldFn;
use hidp_syntax::ast::Level;

/// How a fold is cut.
#[derive(Clone, Copy)]
struct Parts {
    results: f64,
    terms: f64,
    parts: f64,
    /// Terms of a part; where parts have neighbouring terms, some have one more.
    of_part: f64,
    /// Whether neighbouring parts have neighbouring terms.
    in_turn: bool,
}

impl Asked<'_> {
    /// Groups of their own take parts of the fold inside.
    pub(super) fn split(&mut self, at: usize) -> Option<()> {
        let inner = *self.facts.loops[at].inside.first()?;
        let by_blocks = self.mapping.strategy == Strategy::Device(Level::Block);
        let cut = self.parts(at, inner, by_blocks);
        let groups = cut.results * cut.parts;
        let around = if by_blocks {
            let executions = groups * self.warps_of_block();
            Around { executions, scope: Level::Block, ..self.around(all(groups), groups) }
        } else {
            self.of_lanes(at, inner, &cut)
        };
        self.warps = around.executions;
        self.shared(inner, &around, cut.of_part);
        // Each part is left once.
        let once = Parts { terms: cut.parts, in_turn: true, ..cut };
        let leaving = if by_blocks { around } else { self.of_lanes(at, inner, &once) };
        self.folded(at, inner, &cut, &leaving);
        Some(())
    }

    /// How many parts there are: as many as a plan says or there should be groups, none shorter than it says. Runs of blocks are of whole warps.
    fn parts(&self, at: usize, inner: usize, by_blocks: bool) -> Parts {
        let (results, terms) = (self.loop_at(at).iterations.max(1.0), self.loop_at(inner).iterations.max(1.0));
        let map = self.facts.loops[inner].map;
        let cut = self.mapping.cut(map);
        let least = |word: fn(u32) -> FoldOption| cut.and_then(|cut| cut.number(word)).map_or(1.0, f64::from);
        let parts = match self.mapping.parts {
            Some(parts) => f64::from(parts).min(terms),
            None => {
                (least(FoldOption::Groups) / results).floor().max(1.0).min((terms / least(FoldOption::Terms)).ceil())
            }
        };
        let in_turn = !by_blocks && !map.folds.iter().any(|fold| matches!(fold.op.func, FoldFn::Fn(_)));
        if in_turn {
            return Parts { results, terms, parts, of_part: terms / parts, in_turn };
        }
        let whole = if by_blocks { f64::from(self.model.warp) } else { 1.0 };
        let of_part = ((terms / parts).ceil() / whole).ceil() * whole;
        Parts { results, terms, parts: (terms / of_part).ceil(), of_part: of_part.min(terms), in_turn }
    }

    /// Lanes along results; those that results leave without work take parts.
    fn of_lanes(&self, at: usize, inner: usize, cut: &Parts) -> Around {
        let mut digits = self.fastest_first(at, self.filled(at));
        let of_results: u32 = digits.iter().map(|digit| digit.count).product();
        let own = Digit::next(self.facts.last(inner), self.model.warp / of_results.max(1));
        digits.push(own);
        // From a lane to the next, and from a warp to the next.
        let step = if cut.in_turn { 1.0 } else { cut.of_part };
        let even = cut.parts % own.apart == 0.0;
        let placed = |digit: &mut Digit| {
            if digit.iter == own.iter {
                (digit.step, digit.apart) = (step, if even { own.apart * step } else { step });
            }
        };
        let along = |parts: f64, times: f64| {
            let mut all = requests(&digits, &self.with_parts(own.iter, parts));
            for request in &mut all {
                request.count *= times;
                request.lanes.0.iter_mut().for_each(placed);
            }
            all
        };
        // Where parts take turns, as many have work in the last as terms are left.
        let full = (cut.terms / cut.parts).floor();
        let rest = cut.terms - full * cut.parts;
        let mut around = self.around(along(cut.parts, 1.0), cut.results * cut.parts);
        if cut.in_turn && rest > 0.0 {
            around.requests = along(cut.parts, full / cut.of_part);
            around.requests.extend(along(rest, 1.0 / cut.of_part));
        }
        Around { apart: if cut.in_turn { cut.parts } else { 1.0 }, ..around }
    }

    /// Iterations of all iterators, with parts instead of the terms of this one.
    fn with_parts(&self, iter: usize, parts: f64) -> Vec<f64> {
        let mut counts = self.numbers.counts.clone();
        counts[iter] = parts;
        counts
    }

    /// What the first launch leaves, the second reads; a warp folds a result, or a block where parts are many.
    fn folded(&mut self, at: usize, inner: usize, cut: &Parts, leaving: &Around) {
        let (machine, warp) = (self.model.machine, self.model.warp);
        let fold = self.mapping.cut(self.facts.loops[inner].map);
        let many = fold.and_then(|fold| fold.number(FoldOption::Many)).is_some_and(|many| cut.parts >= f64::from(many));
        let (folding, scope) = if many { (self.block, Level::Block) } else { (warp, Level::Warp) };
        let left = cut.results * cut.parts * 2.0 * f64::from(MOST_MOVED) / 2.0;
        let turns = (cut.parts / (f64::from(folding) * f64::from(machine.under_way))).ceil();
        self.launches += 1.0;
        self.folding += left / f64::from(machine.bandwidth) + turns * f64::from(machine.latency);
        let results = self.around(all(cut.results), cut.results);
        let last = self.facts.last(inner);
        let of_result = shared(last..last + 1, &self.with_parts(last, cut.parts), cut.parts, warp);
        let reading = Around { requests: within(&results.requests, &of_result), ..results.clone() };
        for size in &self.facts.loops[inner].results {
            let site = self.left(at, last, cut, f64::from(*size));
            self.sectors += self.reaches(leaving, &site).touched(site.size, machine.sector);
            self.sectors += self.reaches(&reading, &site).touched(site.size, machine.sector);
        }
        self.accesses(at, &Around { scope, ..results });
    }

    /// What parts leave: neighbouring parts of a result next to each other.
    fn left(&self, at: usize, last: usize, cut: &Parts, size: f64) -> SiteNumbers {
        let node = &self.facts.loops[at];
        let mut strides = vec![Some(0.0); self.numbers.counts.len()];
        strides[last] = Some(size);
        let mut stride = cut.parts * size;
        for iter in (node.first..node.first + node.map.iters.len()).rev() {
            strides[iter] = Some(stride);
            stride *= self.numbers.counts[iter].max(1.0);
        }
        SiteNumbers {
            size,
            write: true,
            weight: 1.0,
            strides,
            first: Some(0.0),
            whole: stride,
            ..SiteNumbers::default()
        }
    }
}

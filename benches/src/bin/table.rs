//! Measures all contenders of each case in interleaved rounds, each after every other one, and prints ratios with their spread.
//!
//! Between two of them it waits until no thread of the one before runs. `--only NAME` measures one contender, beside nobody: to compare two
//! revisions.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use hidp_benches::Case;
use hidp_benches::cases::{self, Recipe};
use hidp_benches::idle;
use hidp_benches::limits::{Meter, time};

/// Rounds of each case; every contender and the limit run once in each.
const ROUNDS: usize = 7;

/// A contender repeats its work until a round has lasted this long.
const SHORTEST: f64 = 0.02;

/// Rates of one contender (or of the limit), one a round.
struct Rates(Vec<f64>);

impl Rates {
    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// Round by round, `self / other`.
    fn over(&self, other: &Rates) -> Rates {
        Rates(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }

    /// Median, smallest and largest.
    fn spread(&self) -> String {
        let smallest = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = self.0.iter().copied().fold(0.0, f64::max);
        format!("{:.2} [{smallest:.2}, {largest:.2}]", self.median())
    }
}

fn main() -> Result<()> {
    let mut filters: Vec<String> = std::env::args().skip(1).collect();
    let only = only(&mut filters)?;
    let selected = select(&filters)?;
    let mut meter = Meter::new();
    hidp_benches::missing::peers().iter().for_each(|line| println!("{line}\n"));
    println!("{} rounds, contenders and limit interleaved; median [smallest, largest] over the rounds.", ROUNDS);
    println!("speed-up: HiDP's rate over the contender's. of limit: rate over the limit measured in the same round.\n");
    println!("| case | contender | rate | HiDP's speed-up | of limit |");
    println!("|---|---|---|---|---|");
    let mut all = SpeedUps::new();
    for recipe in selected {
        let mut case = recipe.make();
        case.contenders.retain(|contender| only.as_ref().is_none_or(|only| only == contender.name));
        if case.contenders.is_empty() {
            continue;
        }
        measure(case, &mut meter, &mut all);
    }
    print_means(&all);
    Ok(())
}

/// Medians of HiDP's speed-ups over a contender, by its name.
type SpeedUps = BTreeMap<&'static str, Vec<f64>>;

fn print_means(all: &SpeedUps) {
    for (contender, medians) in all.iter().filter(|(_, medians)| medians.len() > 1) {
        let mean = (medians.iter().map(|median| median.ln()).sum::<f64>() / medians.len() as f64).exp();
        println!("\nHiDP's speed-up over {contender}: geometric mean {mean:.2} of {} cases.", medians.len());
    }
}

/// Takes `--only NAME` out of the arguments.
fn only(args: &mut Vec<String>) -> Result<Option<String>> {
    let Some(at) = args.iter().position(|arg| arg == "--only") else { return Ok(None) };
    let found = args.drain(at..args.len().min(at + 2)).nth(1);
    Ok(Some(found.context("--only: which contender?")?))
}

fn select(filters: &[String]) -> Result<Vec<Recipe>> {
    let chosen: Vec<Recipe> = cases::all()
        .into_iter()
        .filter(|recipe| filters.is_empty() || filters.iter().any(|filter| recipe.name.contains(filter.as_str())))
        .collect();
    if chosen.is_empty() {
        let names: Vec<String> = cases::all().into_iter().map(|recipe| recipe.name).collect();
        bail!("no case contains {filters:?}; there are:\n  {}", names.join("\n  "));
    }
    Ok(chosen)
}

fn measure(mut case: Case, meter: &mut Meter, all: &mut SpeedUps) {
    let count = case.contenders.len();
    let repeats: Vec<usize> = case.contenders.iter_mut().map(|contender| repeats_of(&mut contender.run)).collect();
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); count];
    let mut limits = Vec::new();
    for round in 0..ROUNDS {
        idle::wait();
        limits.extend(meter.rate(case.limit));
        for which in order(round, count) {
            let run = &mut case.contenders[which].run;
            idle::wait();
            // Wakes its threads.
            run();
            let seconds = time(|| (0..repeats[which]).for_each(|_| run()));
            rates[which].push(case.limit.amount() * repeats[which] as f64 / seconds);
        }
    }
    let limit = (!limits.is_empty()).then_some(Rates(limits));
    let rates: Vec<Rates> = rates.into_iter().map(Rates).collect();
    for (contender, own) in case.contenders.iter().zip(&rates).skip(1) {
        all.entry(contender.name).or_default().push(rates[0].over(own).median());
    }
    print_rows(&case, &rates, limit);
}

/// Who is measured one after the other in a round. Over as many rounds as there are contenders, or twice as many if their number is odd, each
/// comes equally often after each other one (Williams, Australian Journal of Scientific Research A 2, 1949): some leave the processor hot.
fn order(round: usize, count: usize) -> Vec<usize> {
    let from_both_ends = (0..count).map(|turn| if turn % 2 == 0 { turn / 2 } else { count - 1 - turn / 2 });
    let mut order: Vec<usize> = from_both_ends.map(|which| (which + round) % count).collect();
    if count % 2 == 1 && round / count % 2 == 1 {
        order.reverse();
    }
    order
}

/// How often to repeat so that a round is long enough to measure; warms up as well.
fn repeats_of(run: &mut dyn FnMut()) -> usize {
    run();
    let once = time(&mut *run);
    ((SHORTEST / once.max(1e-9)).ceil() as usize).max(1)
}

fn print_rows(case: &Case, rates: &[Rates], limit: Option<Rates>) {
    for (contender, own) in case.contenders.iter().zip(rates) {
        println!(
            "| {} | {} | {:.1} {} | {} | {} |",
            case.name,
            contender.name,
            own.median() / 1e9,
            case.limit.unit(),
            rates[0].over(own).spread(),
            limit.as_ref().map_or(String::new(), |limit| own.over(limit).spread()),
        );
    }
    if let Some(limit) = limit {
        println!("| {} | limit | {:.1} {} | | |", case.name, limit.median() / 1e9, case.limit.unit());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contender_comes_after_each_other_one() {
        for count in 2..8 {
            let rounds = if count % 2 == 0 { count } else { 2 * count };
            let mut after = vec![vec![0; count]; count];
            for round in 0..rounds {
                let order = order(round, count);
                order.windows(2).for_each(|pair| after[pair[0]][pair[1]] += 1);
                let mut sorted = order.clone();
                sorted.sort();
                assert!(sorted.into_iter().eq(0..count), "{order:?}");
            }
            for (first, row) in after.iter().enumerate() {
                let expected = |then: usize| if then == first { 0 } else { rounds / count };
                assert!(row.iter().enumerate().all(|(then, times)| *times == expected(then)), "{count}: {after:?}");
            }
        }
    }
}

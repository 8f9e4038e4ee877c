//! The bounds of rules, moved to where the two plans take as long: a fit has them halfway between two sizes, thresholds where all entries have them.

use super::plan::Entry;
use crate::dispatch::{Bound, Condition, Rule};
use crate::gains::{Point, chosen_at};
use crate::mapping::Mapping;
use crate::measures::Measure;
use hidp_fit::TOLERATED;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// How often two plans are compared on the way between two sizes.
const COMPARED: usize = 3;
/// Pairs of sizes that are looked at for each bound.
const MOST: usize = 2;

/// The plans of an entry that rules choose from.
pub(super) struct Choices<'c> {
    pub(super) names: &'c [&'c str],
    pub(super) plans: &'c [Option<Vec<Mapping>>],
    pub(super) measures: &'c [Measure],
}

/// Two sizes which one comparison parts, and the plans that run there.
struct Straddled<'e> {
    low: &'e [i64],
    high: &'e [i64],
    plans: [usize; 2],
    /// How many times longer the plan for the high ones takes, at both: the logarithm.
    gains: [f64; 2],
}

/// A measure, and the times of the plans for the low and the high sizes.
struct Sample {
    value: i64,
    times: [f64; 2],
}

/// A comparison of a measure with a number, however it is put.
type Key = (usize, i64);

impl Entry<'_> {
    /// The same rules, with each bound at the crossing of two sizes that it alone parts, if that costs nothing between other such sizes. The sizes of the
    /// fit keep their plans.
    pub(super) fn at_crossings(&self, choices: &Choices<'_>, points: &[Point], mut rules: Vec<Rule>) -> Vec<Rule> {
        let chosen = |rules: &[Rule]| -> Vec<Option<usize>> {
            points.iter().map(|point| chosen_at(point, choices.names, rules)).collect()
        };
        let before = chosen(&rules);
        for key in keys(&rules, points, choices.names) {
            let pairs = self.straddled(points, &before, &rules, key);
            let (mut crossings, mut samples) = (Vec::new(), Vec::new());
            for pair in pairs.iter().take(MOST) {
                crossings.extend(self.crossing(choices, pair, key.0, &mut samples));
            }
            let lost = |bound: i64| samples.iter().map(|sample| sample.lost(bound)).sum::<f64>();
            let least = crossings.into_iter().min_by(|a, b| lost(*a).total_cmp(&lost(*b)));
            let Some(bound) = least else { continue };
            let moved = moved(&rules, key, bound);
            let is_worse = |sample: &Sample| sample.lost(bound) > sample.lost(key.1) + TOLERATED;
            if lost(bound) <= lost(key.1) && !samples.iter().any(is_worse) && chosen(&moved) == before {
                rules = moved;
            }
        }
        rules
    }

    /// For each of the sizes, the nearest longer ones that only this comparison parts from it, where each has the faster of both plans: first those
    /// where that matters most.
    fn straddled(&self, points: &[Point], chosen: &[Option<usize>], rules: &[Rule], key: Key) -> Vec<Straddled<'_>> {
        let sizes: Vec<&[i64]> = self.sizes().collect();
        let alike = alike(points, rules, key);
        let is_longer = |low: usize, high: usize| sizes[low].iter().zip(sizes[high]).all(|(low, high)| low <= high);
        let values = || points.iter().enumerate().filter_map(|(at, point)| Some((at, point.measures[key.0]?)));
        let (low, high): (Vec<_>, Vec<_>) = values().partition(|(_, value)| *value < key.1);
        let pair = |low: usize| {
            let high =
                high.iter().map(|(high, _)| *high).filter(|high| alike[low] == alike[*high] && is_longer(low, *high));
            let high = high.min_by(|a, b| apart(sizes[low], sizes[*a]).total_cmp(&apart(sizes[low], sizes[*b])))?;
            let plans = [chosen[low]?, chosen[high]?];
            let gain = |at: usize| Some((points[at].times[plans[1]]? / points[at].times[plans[0]]?).ln());
            let gains = [gain(low)?, gain(high)?];
            let crosses = gains[0] > 0.0 && gains[1] < 0.0;
            crosses.then_some(Straddled { low: sizes[low], high: sizes[high], plans, gains })
        };
        let mut pairs: Vec<Straddled<'_>> = low.iter().filter_map(|(low, _)| pair(*low)).collect();
        pairs.sort_by(|a, b| b.matters().total_cmp(&a.matters()));
        pairs
    }

    /// The measure where the plans cross on the way between two sizes. Where they were compared is added to the samples.
    fn crossing(
        &self,
        choices: &Choices<'_>,
        pair: &Straddled<'_>,
        measure: usize,
        samples: &mut Vec<Sample>,
    ) -> Option<i64> {
        let [low_plan, high_plan] = pair.plans.map(|plan| choices.plans[plan].as_deref());
        let at = |part: f64| {
            let sizes = pair.sizes(part);
            let value = self.measures(choices.measures, &sizes)[measure]?;
            Some(Sample { value, times: self.times_at(&sizes, [low_plan?, high_plan?])? })
        };
        let (mut low, mut high) = ((0.0, pair.gains[0]), (1.0, pair.gains[1]));
        let mut middle = 0.5;
        for _ in 0..COMPARED {
            let sample = at(middle)?;
            let gain = (sample.times[1] / sample.times[0]).ln();
            samples.push(sample);
            if gain > 0.0 {
                low = (middle, gain)
            } else {
                high = (middle, gain)
            }
            middle = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
        }
        self.measures(choices.measures, &pair.sizes(middle))[measure]
    }
}

impl Straddled<'_> {
    fn matters(&self) -> f64 {
        self.gains[0] - self.gains[1]
    }

    /// The sizes at this part of the way.
    fn sizes(&self, part: f64) -> Vec<i64> {
        let size = |(low, high): (&i64, &i64)| (*low as f64 * (*high as f64 / *low as f64).powf(part)).round() as i64;
        self.low.iter().zip(self.high).map(size).collect()
    }
}

impl Sample {
    /// What the plan that a bound chooses takes beside the other one.
    fn lost(&self, bound: i64) -> f64 {
        let [low, high] = self.times;
        let time = if self.value < bound { low } else { high };
        (time / low.min(high)).ln()
    }
}

/// How far sizes are apart.
fn apart(low: &[i64], high: &[i64]) -> f64 {
    low.iter().zip(high).map(|(low, high)| (*high as f64 / *low as f64).ln()).sum()
}

/// The comparisons that stand alone in all their rules, which are for plans whose times are known. Beside comparisons of other measures a crossing
/// depends on those, of which a pair of sizes has one value.
fn keys(rules: &[Rule], points: &[Point], names: &[&str]) -> Vec<Key> {
    let is_alone = |rule: &&Rule| {
        let at = names.iter().position(|name| *name == rule.plan);
        rule.conditions.len() < 2 && at.is_some_and(|at| points.iter().any(|point| point.times[at].is_some()))
    };
    let of = |rules: Vec<&Rule>| -> OrdSet<Key> {
        rules.into_iter().flat_map(|rule| &rule.conditions).filter_map(key).collect()
    };
    let (alone, others): (Vec<&Rule>, Vec<&Rule>) = rules.iter().partition(is_alone);
    let fixed = of(others);
    of(alone).into_iter().filter(|key| !fixed.contains(key)).collect()
}

fn key(condition: &Condition) -> Option<Key> {
    match condition.bound {
        Bound::Fixed(bound) => Some((condition.measure, bound)),
        Bound::PerThread(_) => None,
    }
}

/// Numbers of points that are the same where all other comparisons say the same.
fn alike(points: &[Point], rules: &[Rule], but: Key) -> Vec<usize> {
    let mut others: Vec<&Condition> = rules.iter().flat_map(|rule| &rule.conditions).collect();
    others.retain(|condition| key(condition) != Some(but));
    let mut known: OrdMap<Vec<Option<bool>>, usize> = OrdMap::new();
    let mut number = |point: &Point| {
        let tests = others.iter().map(|when| Some(when.holds(point.measures[when.measure]?, 1))).collect();
        let next = known.len();
        *known.entry(tests).or_insert(next)
    };
    points.iter().map(&mut number).collect()
}

/// The rules with another bound.
fn moved(rules: &[Rule], from: Key, to: i64) -> Vec<Rule> {
    let condition = |condition: &Condition| match key(condition) == Some(from) {
        true => Condition { bound: Bound::Fixed(to), ..*condition },
        false => *condition,
    };
    let rule = |rule: &Rule| Rule { conditions: rule.conditions.iter().map(condition).collect(), ..rule.clone() };
    rules.iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::super::plan::facts_of;
    use super::super::tests::dispatched;
    use super::*;
    use crate::nests;
    use crate::target::DeviceModel;
    use crate::testing::optimised;

    #[test]
    fn bounds_are_where_both_plans_take_as_long() {
        let program = optimised(
            "function f input float x[Q], w[9]; output float y[Q];
            { map { q := [0:Q); float s = 0.0f;
              map { i := [0:9); j := [0:9); float e = w[i]; _t = exp(x[q] * e * w[j]); } reduce(\"+\", s, _t, i := [*], j := [*]);
              y[q] = s; } }",
        );
        let (plans, dispatch) = dispatched(&program);
        let (func, model) = (&program.funcs[program.entries[0]], DeviceModel::cuda());
        let maps = nests(func);
        let entry = Entry::of(&program, func, &maps, facts_of(&program, func, &maps).unwrap(), &model, None);
        let read = |name: &str| entry.read(plans.iter().find(|plan| plan.name == name).unwrap()).unwrap();
        let (block, warp) = (read("block"), read("warp"));
        let bound = |rule: &Rule| rule.conditions.iter().find_map(key).map(|(_, bound)| bound);
        let found = dispatch.rules.iter().find(|rule| rule.plan == "block").and_then(bound).unwrap();
        let is_faster = |q: i64| entry.times_at(&[q], [&block, &warp]).is_some_and(|[block, warp]| warp < block);
        let (shorter, longer) = (found * 94 / 100, found * 106 / 100);
        assert!(
            is_faster(longer) && !is_faster(shorter),
            "warps from {found} on, {:?}",
            entry.times_at(&[shorter], [&block, &warp])
        );
    }
}

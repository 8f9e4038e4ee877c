//! From predicted times to rules: when a version runs instead of the usual one. A rule is one comparison of a measure, and has to gain at every point
//! that it is for.

use std::collections::BTreeSet;

use crate::dispatch::{Bound, Condition, Rule};

/// Rules for the versions of one entry that are compared.
const MOST: usize = 3;

/// Versions at one point, under each of some conditions, such as numbers of threads.
pub(crate) struct Compared {
    /// The measures there.
    pub(crate) measures: Vec<Option<i64>>,
    /// Times of the version that runs without what is compared.
    pub(crate) usual: Vec<f64>,
    /// Times of each version that is compared; none if they cannot be told.
    pub(crate) forms: Vec<Option<Vec<f64>>>,
}

impl Compared {
    fn meets(&self, when: Condition) -> bool {
        // Bounds of these conditions are numbers, whatever the threads.
        self.measures[when.measure].is_some_and(|value| when.holds(value, 1))
    }

    /// What a version takes beside the usual one, at worst.
    pub(crate) fn ratio(&self, form: usize) -> Option<f64> {
        let ratios = self.forms[form].as_ref()?.iter().zip(&self.usual).map(|(time, usual)| time / usual);
        ratios.max_by(f64::total_cmp)
    }
}

/// The rules under which versions of these names save so much: the first that holds decides.
pub(crate) fn gaining(places: &[Compared], names: &[&str], gain: f64) -> Vec<Rule> {
    let mut chosen: Vec<Option<usize>> = vec![None; places.len()];
    let mut rules: Vec<Rule> = Vec::new();
    while rules.len() < MOST {
        let worth = |rule: &(usize, Condition)| value_of(places, &chosen, rule, gain);
        let candidates = conditions(places).into_iter().flat_map(|when| (0..names.len()).map(move |form| (form, when)));
        let best = candidates.filter_map(|rule| worth(&rule).map(|worth| (worth, rule)));
        let Some((_, (form, when))) = best.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        for (at, place) in places.iter().enumerate() {
            if place.meets(when) {
                chosen[at] = Some(form);
            }
        }
        rules.insert(0, Rule { conditions: vec![when], plan: names[form].to_owned() });
    }
    rules
}

/// A condition for each value that a measure has at a point.
fn conditions(places: &[Compared]) -> Vec<Condition> {
    let mut found = Vec::new();
    for measure in 0..places.first().map_or(0, |place| place.measures.len()) {
        let values: BTreeSet<i64> = places.iter().filter_map(|place| place.measures[measure]).collect();
        for value in values {
            found.extend([true, false].map(|least| Condition { measure, least, bound: Bound::Fixed(value) }));
        }
    }
    found
}

/// What a rule gains over all points together, if it gains at each that it is for.
fn value_of(
    places: &[Compared],
    chosen: &[Option<usize>],
    (form, when): &(usize, Condition),
    gain: f64,
) -> Option<f64> {
    let mut all = 0.0;
    for (place, chosen) in places.iter().zip(chosen) {
        if !place.meets(*when) {
            continue;
        }
        let before = chosen.and_then(|form| place.ratio(form)).unwrap_or(1.0);
        let after = place.ratio(*form)?;
        if after > gain * before {
            return None;
        }
        all += (before / after).ln();
    }
    (all > 0.0).then_some(all)
}

/// What is known of the versions of an entry at one point.
pub(crate) struct Point {
    /// The measures there.
    pub(crate) measures: Vec<Option<i64>>,
    /// The time of each version; none if it cannot be told.
    pub(crate) times: Vec<Option<f64>>,
}

/// What a further rule has to promise.
#[derive(Clone, Copy)]
pub(crate) struct Promised {
    /// The part of a time that is left at some point.
    pub(crate) gain: f64,
    /// What a time may be beside the one before, anywhere.
    pub(crate) alike: f64,
}

/// A further rule: a version where a condition holds, and no rule before its place.
struct Further {
    version: usize,
    when: Condition,
    place: usize,
    worth: f64,
}

/// Rules between versions of these names with further ones among them, each before the first that it has to overrule. Where nothing is known
/// of what is chosen, or would be, it stays.
pub(crate) fn improved(points: &[Point], names: &[&str], mut rules: Vec<Rule>, promised: Promised) -> Vec<Rule> {
    let conditions = between(points);
    for _ in 0..MOST {
        let chosen: Vec<(usize, Option<f64>)> = points.iter().map(|point| chosen_at(point, names, &rules)).collect();
        let of = |when: &Condition| {
            let further = |version| further(points, &chosen, (version, *when), (rules.len(), promised));
            (0..names.len()).filter_map(further).collect::<Vec<_>>()
        };
        let best = conditions.iter().flat_map(of).max_by(|a, b| a.worth.total_cmp(&b.worth));
        let Some(Further { version, when, place, .. }) = best else { break };
        rules.insert(place, Rule { conditions: vec![when], plan: names[version].to_owned() });
    }
    rules
}

/// Which rule decides at a point, and the time of what it chooses: of the first version where none decides.
fn chosen_at(point: &Point, names: &[&str], rules: &[Rule]) -> (usize, Option<f64>) {
    let holds = |when: &Condition| point.measures[when.measure].is_some_and(|value| when.holds(value, 1));
    let decides = rules.iter().position(|rule| rule.conditions.iter().all(holds));
    let named = |at: usize| names.iter().position(|name| *name == rules[at].plan);
    let version = decides.map_or(Some(0), named);
    (decides.unwrap_or(rules.len()), version.and_then(|version| point.times[version]))
}

/// The rule for a version under a condition, where it takes longer nowhere and saves enough somewhere.
fn further(
    points: &[Point],
    chosen: &[(usize, Option<f64>)],
    (version, when): (usize, Condition),
    (rules, promised): (usize, Promised),
) -> Option<Further> {
    let holds = |point: &Point| point.measures[when.measure].is_some_and(|value| when.holds(value, 1));
    let (mut least, mut saved) = (0, Vec::new());
    for (point, (decides, before)) in points.iter().zip(chosen).filter(|(point, _)| holds(point)) {
        match before.zip(point.times[version]).map(|(before, after)| after / before) {
            Some(ratio) if ratio <= promised.alike => saved.push((*decides, ratio)),
            // The rule that decides there has to stand before.
            Some(_) | None if *decides == rules => return None,
            Some(_) | None => least = least.max(decides + 1),
        }
    }
    saved.retain(|(decides, ratio)| *decides >= least && *ratio < 1.0 / promised.alike);
    let is_enough = saved.iter().any(|(_, ratio)| *ratio <= promised.gain);
    let place = saved.iter().map(|(decides, _)| *decides).min().filter(|_| is_enough)?;
    let worth = saved.iter().map(|(_, ratio)| -ratio.ln()).sum();
    Some(Further { version, when, place, worth })
}

/// A condition between each two values that follow each other among those of a measure, in the middle of their logarithms.
fn between(points: &[Point]) -> Vec<Condition> {
    let mut found = Vec::new();
    for measure in 0..points.first().map_or(0, |point| point.measures.len()) {
        let values: BTreeSet<i64> = points.iter().filter_map(|point| point.measures[measure]).collect();
        let next = values.iter().skip(1);
        for (low, high) in values.iter().zip(next) {
            let bound = Bound::Fixed(((*low as f64).max(1.0) * *high as f64).sqrt().ceil() as i64);
            found.extend([true, false].map(|least| Condition { measure, least, bound }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISED: Promised = Promised { gain: 0.9, alike: 1.01 };

    fn rule(least: bool, bound: i64, plan: &str) -> Rule {
        let when = Condition { measure: 0, least, bound: Bound::Fixed(bound) };
        Rule { conditions: vec![when], plan: plan.to_owned() }
    }

    /// The rules between `a`, `b` and `c` where these times are at 1, 16, 256 …
    fn between_three(times: &[[Option<f64>; 3]], rules: Vec<Rule>) -> Vec<Rule> {
        let point = |(at, times): (usize, &[Option<f64>; 3])| Point {
            measures: vec![Some(1 << (4 * at))],
            times: times.to_vec(),
        };
        let points: Vec<Point> = times.iter().enumerate().map(point).collect();
        improved(&points, &["a", "b", "c"], rules, PROMISED)
    }

    #[test]
    fn another_version_runs_where_it_takes_less() {
        let times = [[Some(1.0), Some(2.0), None], [Some(2.0), Some(1.0), None], [Some(4.0), Some(1.0), None]];
        assert_eq!(between_three(&times, Vec::new()), [rule(true, 4, "b")]);
        // Less than a tenth is no reason for a rule.
        let times = [[Some(1.0), Some(2.0), None], [Some(1.05), Some(1.0), None]];
        assert_eq!(between_three(&times, Vec::new()), []);
    }

    #[test]
    fn no_rule_takes_longer_anywhere() {
        let times = [[Some(4.0), Some(1.0), None], [Some(1.0), Some(1.1), None], [Some(4.0), Some(1.0), None]];
        assert_eq!(between_three(&times, Vec::new()), [rule(true, 64, "b"), rule(false, 4, "b")]);
        let times = [[Some(1.0), Some(1.1), None], [Some(4.0), Some(1.0), None], [Some(1.0), Some(1.1), None]];
        assert_eq!(between_three(&times, Vec::new()), [], "one comparison cannot tell");
    }

    #[test]
    fn what_is_not_predicted_stays() {
        let times = [[Some(4.0), Some(1.0), None], [Some(4.0), Some(1.0), None], [Some(4.0), Some(1.0), None]];
        let unknown = rule(true, 200, "c");
        let below = between_three(&times, vec![unknown.clone(), rule(true, 10, "a")]);
        assert_eq!(below, [unknown, rule(false, 64, "b"), rule(true, 10, "a")]);
        assert_eq!(between_three(&times, vec![rule(false, 1000, "c")]), [rule(false, 1000, "c")]);
        // A rule that holds in the middle too would stand before the unknown one.
        let times = [[Some(1.0), Some(2.0), None], [Some(4.0), Some(1.0), None], [Some(4.0), Some(1.0), None]];
        let [least, most] = [rule(true, 10, "a"), rule(false, 100, "a")].map(|rule| rule.conditions[0]);
        let middle = Rule { conditions: vec![least, most], plan: "a".to_owned() };
        let rules = vec![middle, rule(true, 100, "c")];
        assert_eq!(between_three(&times, rules.clone()), rules);
    }
}

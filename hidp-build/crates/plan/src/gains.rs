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

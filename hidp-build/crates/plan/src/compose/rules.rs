//! Which compositions are worth being versions, and for which sizes they run untuned: as estimated once they are planned, beside the
//! entry as it is written.

use std::collections::{BTreeMap, BTreeSet};

use crate::dispatch::{Bound, Condition, Dispatch, Rule};
use crate::estimate::estimate;
use crate::measures::MeasureOf;
use crate::notation::Plan;
use crate::sizes::points;
use crate::target::Model;
use hidp_ir::par::{Func, FuncId, Program, VarId};

/// Steps between the binary logarithms of sizes at which versions are compared.
const STEP: usize = 2;
/// Rules that one entry has for compositions.
const MOST: usize = 3;

/// What the compositions of an entry promise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Promise {
    /// When which of them runs, before all other rules.
    pub rules: Vec<Rule>,
    /// Of each, its least time beside the version that would run without it, where a codelet runs.
    pub least: Vec<Option<f64>>,
}

impl Promise {
    /// Whether a composition is worth being a version of an ordinary build.
    pub fn keeps(&self, at: usize, name: &str, model: &Model) -> bool {
        let near = 1.0 + f64::from(model.estimates.near) / 100.0;
        self.rules.iter().any(|rule| rule.plan == name) || self.least[at].is_some_and(|ratio| ratio <= near)
    }
}

/// Compares the compositions of an entry with its own plans, among which `dispatch` chooses.
pub fn promise(
    program: &Program,
    entry: FuncId,
    (plans, forms): (&[Plan], &[(FuncId, Plan)]),
    dispatch: &Dispatch,
    model: &Model,
) -> Promise {
    let func = &program.funcs[entry];
    let places: Vec<Compared> = points(func.dims.len(), STEP)
        .iter()
        .filter_map(|sizes| Compared::at(program, func, sizes, (plans, forms), dispatch, model))
        .collect();
    let gain = 1.0 - f64::from(model.estimates.gain) / 100.0;
    let mut chosen: Vec<Option<usize>> = vec![None; places.len()];
    let mut rules: Vec<Rule> = Vec::new();
    while rules.len() < MOST {
        let worth = |rule: &(usize, Condition)| value_of(&places, &chosen, rule, gain);
        let candidates =
            conditions(&places).into_iter().flat_map(|when| (0..forms.len()).map(move |form| (form, when)));
        let best = candidates.filter_map(|rule| worth(&rule).map(|worth| (worth, rule)));
        let Some((_, (form, when))) = best.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        for (at, place) in places.iter().enumerate() {
            if place.meets(when) {
                chosen[at] = Some(form);
            }
        }
        rules.insert(0, Rule { conditions: vec![when], plan: forms[form].1.name.clone() });
    }
    let least = |form: usize| {
        let ratios = places.iter().filter_map(|place| place.ratio(form));
        ratios.min_by(f64::total_cmp)
    };
    Promise { rules, least: (0..forms.len()).map(least).collect() }
}

/// Versions at one point, on one thread and on many.
struct Compared {
    /// The measures there.
    measures: Vec<Option<i64>>,
    /// Times of the version that runs without compositions.
    usual: Vec<f64>,
    /// Times of each composition; none if it cannot be told, or no codelet runs.
    forms: Vec<Option<Vec<f64>>>,
}

impl Compared {
    fn at(
        program: &Program,
        func: &Func,
        sizes: &[i64],
        (plans, forms): (&[Plan], &[(FuncId, Plan)]),
        dispatch: &Dispatch,
        model: &Model,
    ) -> Option<Compared> {
        let known: BTreeMap<VarId, i64> = func.dims.iter().copied().zip(sizes.iter().copied()).collect();
        let measure = |of: MeasureOf, value: &hidp_ir::par::Expr| match of {
            MeasureOf::Shapes => value.value(&known),
            MeasureOf::Longest(_)
            | MeasureOf::Balance(_)
            | MeasureOf::Work
            | MeasureOf::Copied
            | MeasureOf::Intensity => None,
        };
        let measures: Vec<Option<i64>> = dispatch.measures.iter().map(|m| measure(m.of, &m.value)).collect();
        let threads = [1.0, f64::from(model.estimates.threads)];
        let usual = threads.iter().map(|threads| {
            let holds =
                |when: &Condition| measures[when.measure].is_some_and(|value| when.holds(value, *threads as i64));
            let rule = dispatch.rules.iter().find(|rule| rule.conditions.iter().all(holds));
            let plan = rule.and_then(|rule| plans.iter().find(|plan| plan.name == rule.plan)).or(plans.first())?;
            Some(estimate(program, func, plan, sizes, (*threads, model))?.time)
        });
        let times = |(func, plan): &(FuncId, Plan)| -> Option<Vec<f64>> {
            let on = |threads: &f64| estimate(program, &program.funcs[*func], plan, sizes, (*threads, model));
            threads.iter().map(|threads| on(threads).filter(|found| !found.declined).map(|found| found.time)).collect()
        };
        Some(Compared { usual: usual.collect::<Option<_>>()?, forms: forms.iter().map(times).collect(), measures })
    }

    fn meets(&self, when: Condition) -> bool {
        // Bounds of these conditions are numbers, whatever the threads.
        self.measures[when.measure].is_some_and(|value| when.holds(value, 1))
    }

    /// What a composition takes beside the usual version, at worst.
    fn ratio(&self, form: usize) -> Option<f64> {
        let ratios = self.forms[form].as_ref()?.iter().zip(&self.usual).map(|(time, usual)| time / usual);
        ratios.max_by(f64::total_cmp)
    }
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

//! Which of an entry's plans runs, by predicted times: further rules where thresholds choose one that takes longer than another.

use super::ALIKE;
use super::plan::{Entry, STEP, differs, facts_of};
use crate::Plan;
use crate::dispatch::Rule;
use crate::gains::{Point, Promised, improved};
use crate::measures::Measure;
use crate::sizes::thin_points_of;
use crate::target::DeviceModel;
use hidp_ir::par::{Func, Map, Program};

/// Rules with those among them that predicted times give; the same rules where these say nothing.
pub(crate) fn by_times(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    plans: &[Plan],
    (measures, rules): (&[Measure], Vec<Rule>),
    model: &DeviceModel,
) -> Vec<Rule> {
    let Ok(facts) = facts_of(program, func, maps) else { return rules };
    if plans.len() < 2 || facts.iter().all(Option::is_none) || differs(&facts, plans).is_some() {
        return rules;
    }
    let entry = Entry::of(program, func, maps, facts, model, thin_points_of(func, STEP));
    let planned: Vec<_> = plans.iter().map(|plan| entry.read(plan)).collect();
    let of = |(sizes, numbers): &(Vec<i64>, Vec<_>)| {
        let times = planned.iter().map(|mappings| entry.time(mappings.as_ref()?, numbers));
        Point { measures: entry.measures(measures, sizes), times: times.collect() }
    };
    let points: Vec<Point> = entry.points.iter().map(of).collect();
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    let gain = 1.0 - f64::from(model.rule_gain) / 100.0;
    improved(&points, &names, rules, Promised { gain, alike: ALIKE })
}

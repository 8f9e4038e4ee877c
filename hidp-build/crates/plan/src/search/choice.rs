//! Which of an entry's plans runs, by predicted times: other rules where thresholds choose one that takes longer than another.

use super::crossing::Choices;
use super::known::Predictions;
use super::plan::{Entry, differs, facts_of, part_left};
use crate::Plan;
use crate::dispatch::Rule;
use crate::gains::fitted;
use crate::measures::Measure;
use crate::target::DeviceModel;
use hidp_ir::par::{Func, Map, Program};

/// Rules as predicted times give them; the same rules where these say nothing. What is known of times is not predicted again.
pub(crate) fn by_times(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    plans: &[Plan],
    (measures, rules): (&[Measure], Vec<Rule>),
    (model, predictions): (&DeviceModel, Predictions<'_>),
) -> Vec<Rule> {
    let Ok(facts) = facts_of(program, func, maps) else { return rules };
    if plans.len() < 2 || facts.iter().all(Option::is_none) || differs(&facts, plans).is_some() {
        return rules;
    }
    let mut entry = Entry::of(program, func, maps, facts, model, predictions.known(func, model));
    let planned: Vec<_> = plans.iter().map(|plan| entry.read(plan)).collect();
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    let points = entry.compared(&planned, measures);
    let fit = fitted(&points, &names, rules, part_left(model.rule_gain));
    entry.at_crossings(&Choices { names: &names, plans: &planned, measures }, &points, fit)
}

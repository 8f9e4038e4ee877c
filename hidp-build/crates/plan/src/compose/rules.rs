//! Which compositions are worth being versions, and for which sizes they run untuned: as estimated once they are planned, beside the
//! entry as it is written.

use std::collections::BTreeMap;

use crate::dispatch::{Dispatch, Rule, deciding};
use crate::estimate::{Estimate, estimate};
use crate::gains::{Compared, Form, gaining};
use crate::notation::Plan;
use crate::sizes::points;
use crate::target::Model;
use hidp_ir::par::{Func, FuncId, Program, VarId};

/// Steps between the binary logarithms of sizes at which versions are compared.
const STEP: usize = 2;

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
        .filter_map(|sizes| compared_at(program, func, sizes, (plans, forms), dispatch, model))
        .collect();
    let gain = 1.0 - f64::from(model.estimates.gain) / 100.0;
    let names: Vec<&str> = forms.iter().map(|(_, plan)| plan.name.as_str()).collect();
    let rules = gaining(&places, &names, gain);
    let least = |form: usize| {
        let ratios = places.iter().filter(|place| !place.declines(form)).filter_map(|place| place.ratio(form));
        ratios.min_by(f64::total_cmp)
    };
    Promise { rules, least: (0..forms.len()).map(least).collect() }
}

/// Versions at given sizes, on one thread and on many.
fn compared_at(
    program: &Program,
    func: &Func,
    sizes: &[i64],
    (plans, forms): (&[Plan], &[(FuncId, Plan)]),
    dispatch: &Dispatch,
    model: &Model,
) -> Option<Compared> {
    let known: BTreeMap<VarId, i64> = func.dims.iter().copied().zip(sizes.iter().copied()).collect();
    let measures: Vec<Option<i64>> = dispatch.measures.iter().map(|measure| measure.at(&known)).collect();
    let threads = [1.0, f64::from(model.estimates.threads)];
    let usual = threads.iter().map(|threads| {
        let rule = deciding(&dispatch.rules, &measures, *threads as i64);
        let plan = rule.and_then(|rule| plans.iter().find(|plan| plan.name == rule.plan)).or(plans.first())?;
        Some(estimate(program, func, plan, sizes, (*threads, model))?.time)
    });
    let form = |(func, plan): &(FuncId, Plan)| -> Option<Form> {
        let on = |threads: &f64| estimate(program, &program.funcs[*func], plan, sizes, (*threads, model));
        let found: Vec<Estimate> = threads.iter().map(on).collect::<Option<_>>()?;
        let declined = found.iter().all(|found| found.declined);
        Some(Form { times: found.iter().map(|found| found.time).collect(), declined })
    };
    Some(Compared { usual: usual.collect::<Option<_>>()?, forms: forms.iter().map(form).collect(), measures })
}

//! Which compositions are worth being versions, and for which sizes they run untuned: as estimated once they are planned, beside the
//! entry as it is written.

use std::fmt;

use crate::dispatch::{Dispatch, Rule, deciding};
use crate::estimate::{Estimate, Version};
use crate::gains::{Compared, Form, gaining};
use crate::measures::{INNER, PARALLEL};
use crate::notation::Plan;
use crate::sizes::{points, points_of};
use crate::target::Model;
use hidp_ir::par::visit;
use hidp_ir::par::{Block, Func, FuncId, Program, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdMap;

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

/// Why a composition is no version of an ordinary build.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LeftOut {
    /// None of its codelets runs at a size that was looked at.
    Never,
    /// It takes so many times what runs instead, or more.
    Slow(f64),
    /// It takes so many times what runs instead, and more compiling than that is worth.
    Large(f64),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Never => f.write_str("none of its codelets runs at a size that was looked at"),
            LeftOut::Slow(ratio) => write!(f, "estimated to take at least {ratio:.2} times what runs instead"),
            LeftOut::Large(ratio) => {
                write!(
                    f,
                    "estimated to take at least {ratio:.2} times what runs instead, and too much to compile for that"
                )
            }
        }
    }
}

impl Promise {
    /// Why compositions are no versions of an ordinary build, if they are none. Those with rules are; of those that come near, the best as
    /// long as all together have few loops: `loops` are those of each, beside `own` of the entry's plans.
    pub fn left_out(&self, names: &[&str], (loops, own): (&[usize], usize), model: &Model) -> Vec<Option<LeftOut>> {
        let near = 1.0 + f64::from(model.estimates.near) / 100.0;
        let mut found: Vec<Option<LeftOut>> = vec![None; names.len()];
        let has_rule = |at: &usize| self.rules.iter().any(|rule| rule.plan == names[*at]);
        let (ruled, mut others): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(has_rule);
        let taken: usize = ruled.iter().map(|at| loops[*at]).sum();
        let mut left = (own * model.estimates.loops as usize / 100).saturating_sub(taken);
        let ratio = |at: usize| self.least[at].unwrap_or(f64::INFINITY);
        others.sort_by(|a, b| ratio(*a).total_cmp(&ratio(*b)));
        for at in others {
            found[at] = match self.least[at] {
                None => Some(LeftOut::Never),
                Some(ratio) if ratio > near => Some(LeftOut::Slow(ratio)),
                Some(ratio) if loops[at] > left => Some(LeftOut::Large(ratio)),
                Some(_) => {
                    left -= loops[at];
                    None
                }
            };
        }
        found
    }
}

/// The innermost loops of a function, those of primitives included: what compilers spend their time on.
pub fn loops(func: &Func) -> usize {
    loops_in(&func.body)
}

fn loops_in(block: &Block) -> usize {
    let of = |stmt: &Stmt| {
        let inside = visit::child_blocks(stmt).into_iter().map(loops_in).sum::<usize>();
        let is_loop = matches!(stmt.kind, StmtKind::Map(_) | StmtKind::Loop(_) | StmtKind::Prim(_));
        if is_loop { inside.max(1) } else { inside }
    };
    block.stmts.iter().map(of).sum()
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
    let version = |func, plan| Version::new(program, func, plan, model);
    let own: Vec<(&str, Option<Version<'_>>)> =
        plans.iter().map(|plan| (plan.name.as_str(), version(func, plan))).collect();
    let versions = Versions {
        own,
        forms: forms.iter().map(|(form, plan)| version(&program.funcs[*form], plan)).collect(),
        dispatch,
        model,
    };
    let (near, all) = (points(func.dims.len(), STEP).len(), points_of(func, STEP));
    let at = |(number, sizes): (usize, &Vec<i64>)| versions.compared_at(func, sizes, number >= near);
    let places: Vec<[Compared; 2]> = all.iter().enumerate().filter_map(at).collect();
    let gain = 1.0 - f64::from(model.estimates.gain) / 100.0;
    let names: Vec<&str> = forms.iter().map(|(_, plan)| plan.name.as_str()).collect();
    let least = |form: usize| {
        let runs = places.iter().filter(|place| !place.iter().all(|place| place.far || place.declines(form)));
        let worst = runs.filter_map(|[one, many]| Some(one.ratio(form)?.max(many.ratio(form)?)));
        worst.min_by(f64::total_cmp)
    };
    let least = (0..forms.len()).map(least).collect();
    let named = |name: &str| dispatch.measures.iter().position(|measure| measure.name == name);
    let paired = named(PARALLEL).zip(named(INNER)).map(|(one, other)| [[one, other], [other, one]]);
    let places: Vec<Compared> = places.into_iter().flatten().collect();
    Promise { rules: gaining(&places, &names, paired.as_ref().map_or(&[], |paired| &paired[..]), gain), least }
}

/// What is compared.
struct Versions<'a> {
    /// The entry's own plans, by name.
    own: Vec<(&'a str, Option<Version<'a>>)>,
    forms: Vec<Option<Version<'a>>>,
    dispatch: &'a Dispatch,
    model: &'a Model,
}

impl Versions<'_> {
    /// Versions at given sizes, on one thread and on many.
    fn compared_at(&self, func: &Func, sizes: &[i64], far: bool) -> Option<[Compared; 2]> {
        let known: OrdMap<VarId, i64> = func.dims.iter().copied().zip(sizes.iter().copied()).collect();
        let measures: Vec<Option<i64>> = self.dispatch.measures.iter().map(|measure| measure.at(&known)).collect();
        let on = |threads: u32| {
            let rule = deciding(&self.dispatch.rules, &measures, threads.into());
            let named = rule.and_then(|rule| self.own.iter().find(|(name, _)| *name == rule.plan));
            let (_, usual) = named.or(self.own.first())?;
            let form = |form: &Option<Version<'_>>| {
                let Estimate { time, declined } = form.as_ref()?.at(sizes, threads.into());
                Some(Form { time, declined })
            };
            let usual = usual.as_ref()?.at(sizes, threads.into()).time;
            let forms = self.forms.iter().map(form).collect();
            Some(Compared { measures: measures.clone(), threads: threads.into(), far, usual, forms })
        };
        Some([on(1)?, on(self.model.estimates.threads)?])
    }
}

//! Plans of the other forms of an entry, which its codelets make.

use super::{Options, PipelineInput};
use hidp_ir::imp;
use hidp_ir::par::{Alternative, FaultKind, FuncId, Program, Setting};
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{
    Dispatch, Form, LeftOut, Limits, Models, Natives, Pinned, Plan, Predictions, Rule, VersionsSet, add_size, classes,
    dispatch, explore, explore_with_times, form_of, loops, native_name, pinned, promise, shown,
};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdMap;

/// All plans of an entry for the processor, and when which of its other forms runs.
pub struct OnProcessors {
    /// Plans, with the function that each is of. Those of other forms come last, of each the one that suits it best, or, with
    /// variants, all. Where plans are pinned there are no others, in the order of their file.
    pub plans: Vec<(FuncId, Vec<Plan>)>,
    /// Rules for other forms, which come before all others.
    pub rules: Vec<Rule>,
    /// Other forms that an ordinary build has not: the names of their plans, and why.
    pub left_out: Vec<(String, LeftOut)>,
}

/// All plans of an entry for the processor.
pub fn all(input: &PipelineInput, program: &Program, entry: FuncId, model: &Model) -> OnProcessors {
    let device = DeviceModel::cuda();
    let pinned = pins(input, program, entry, Models { cpu: model, device: &device }).cpu;
    if !pinned.is_empty() {
        let plans = grouped(program, entry, pinned);
        return OnProcessors { plans, rules: Vec::new(), left_out: Vec::new() };
    }
    let limits_of_forms = limits(&input.options);
    let of = |form: &Alternative| (form.func, named(form, explore(program, form.func, model, limits_of_forms).plans));
    let usual = explore(program, entry, model, input.options.limits).plans;
    let mut forms: Vec<(FuncId, Vec<Plan>)> =
        program.alternatives_of(entry).filter(|form| !form.on_device).map(of).collect();
    forms.retain(|(_, plans)| !plans.is_empty());
    if forms.is_empty() {
        return OnProcessors { plans: vec![(entry, usual)], rules: Vec::new(), left_out: Vec::new() };
    }
    let first: Vec<(FuncId, Plan)> = forms.iter().map(|(form, plans)| (*form, plans[0].clone())).collect();
    let mut own = dispatch(program, &program.funcs[entry], &usual, model);
    add_size(&mut own, &program.funcs[entry]);
    let promise = promise(program, entry, (&usual, &first), &own, model);
    let mut left_out = Vec::new();
    if !(limits_of_forms.compositions || limits_of_forms.variants) {
        let names: Vec<&str> = first.iter().map(|(_, plan)| plan.name.as_str()).collect();
        let each: Vec<usize> = first.iter().map(|(form, _)| loops(&program.funcs[*form])).collect();
        let own_loops = usual.len() * loops(&program.funcs[entry]);
        let verdicts = promise.left_out(&names, (&each, own_loops), model);
        let why = |(name, why): (&&str, &Option<LeftOut>)| why.map(|why| ((*name).to_owned(), why));
        left_out = names.iter().zip(&verdicts).filter_map(why).collect();
        forms = forms.into_iter().zip(verdicts).filter(|(_, why)| why.is_none()).map(|(form, _)| form).collect();
    }
    OnProcessors { plans: std::iter::once((entry, usual)).chain(forms).collect(), rules: promise.rules, left_out }
}

/// Puts the rules of forms that have a version before an entry's own.
pub(super) fn add_rules(
    dispatch: &mut Dispatch,
    (program, func): (&Program, FuncId),
    entry: &imp::Entry,
    rules: Vec<Rule>,
) {
    if program.alternatives_of(func).next().is_some() {
        add_size(dispatch, &program.funcs[func]);
    }
    let sound = |rule: &Rule| entry.units.iter().any(|unit| unit.plan == rule.plan);
    dispatch.rules.splice(..0, rules.into_iter().filter(sound));
}

/// Which versions of an entry give the same bits. `all` are the plans that they were lowered from, with the functions that those are of.
pub(super) fn classes_of<'a>(
    program: &Program,
    entry: &imp::Entry,
    all: impl Iterator<Item = &'a (FuncId, Vec<Plan>)>,
) -> Vec<u32> {
    let forms: OrdMap<&str, FuncId> =
        all.flat_map(|(form, plans)| plans.iter().map(|plan| (plan.name.as_str(), *form))).collect();
    let of = |unit: &imp::Unit| {
        let func = *forms.get(unit.plan.as_str()).expect("a unit has the name of the plan that it was lowered from");
        Form { func, on_device: unit.target == imp::UnitTarget::Device }
    };
    let versions: Vec<Form> = entry.units.iter().map(of).collect();
    classes(program, &versions, may_fault(entry))
}

/// Whether calls of an entry may fault. Memory runs out where it does, whichever body asks for it.
pub(super) fn may_fault(entry: &imp::Entry) -> bool {
    entry.sites.iter().any(|(_, site)| site.kind != FaultKind::Allocation)
}

/// What calls of an entry set, and the plans of the forms that it changes. `all` are its plans, with the functions that those are of.
pub(super) fn settings_of<'a>(
    program: &Program,
    entry: FuncId,
    all: impl Iterator<Item = &'a (FuncId, Vec<Plan>)> + Clone,
) -> Vec<VersionsSet> {
    let sets = |form: FuncId, setting: &Setting| {
        let mut forms = program.alternatives_of(entry).filter(|other| other.func == form);
        forms.any(|form| form.settings.contains(setting))
    };
    let versions = |setting: &Setting| {
        let forms = all.clone().filter(|(form, _)| sets(*form, setting));
        let plans = forms.flat_map(|(_, plans)| plans.iter().map(|plan| plan.name.clone())).collect();
        VersionsSet { setting: setting.clone(), plans }
    };
    program.settings_of(entry).into_iter().map(versions).collect()
}

/// All plans of an entry for devices, with the function that each is of.
pub fn all_of_devices(
    input: &PipelineInput,
    program: &Program,
    entry: FuncId,
    models: Models<'_>,
) -> Vec<(FuncId, Vec<Plan>)> {
    all_of_devices_with_times(input, program, entry, models).0
}

/// The same, with what was predicted of the entry itself.
pub(super) fn all_of_devices_with_times<'p>(
    input: &PipelineInput,
    program: &'p Program,
    entry: FuncId,
    models: Models<'p>,
) -> (Vec<(FuncId, Vec<Plan>)>, Predictions<'p>) {
    let pinned = pins(input, program, entry, models).device;
    if !pinned.is_empty() {
        let runs = |func: FuncId| runs_on_devices(program, func, input.options.natives);
        let plans = grouped(program, entry, pinned).into_iter().filter(|(func, _)| runs(*func)).collect();
        return (plans, Predictions::default());
    }
    let (usual, predictions) = plans_of_devices(program, entry, &input.options, input.options.limits, models);
    let forms = program.alternatives_of(entry).filter(|form| form.on_device);
    let of = |form: &Alternative| {
        let found = at_level(form, &input.options, |limits| {
            plans_of_devices(program, form.func, &input.options, limits, models).0
        });
        Some((form.func, named(form, found.ok()?)))
    };
    (std::iter::once((entry, usual)).chain(forms.filter_map(of)).collect(), predictions)
}

/// Compositions for devices that are no versions: their names, and the levels at which the planner has no plan for them.
pub fn left_out_of_devices(
    input: &PipelineInput,
    program: &Program,
    entry: FuncId,
    models: Models<'_>,
) -> Vec<(String, String)> {
    let of = |form: &Alternative| {
        let plans = |limits| plans_of_devices(program, form.func, &input.options, limits, models).0;
        Some((form.name.clone(), at_level(form, &input.options, plans).err()?))
    };
    let runs = |form: &&Alternative| form.on_device && runs_on_devices(program, form.func, input.options.natives);
    program.alternatives_of(entry).filter(runs).filter_map(of).collect()
}

/// Whether a device has all that a function calls.
fn runs_on_devices(program: &Program, func: FuncId, natives: Natives) -> bool {
    natives != Natives::Host || native_name(program, &program.funcs[func]).is_none()
}

fn plans_of_devices<'p>(
    program: &'p Program,
    func: FuncId,
    options: &Options,
    limits: Limits,
    models: Models<'p>,
) -> (Vec<Plan>, Predictions<'p>) {
    match runs_on_devices(program, func, options.natives) {
        true => {
            let (explored, predictions) = explore_with_times(program, func, models.device, limits, options.natives);
            (explored.plans, predictions)
        }
        false => (Vec::new(), Predictions::default()),
    }
}

fn pins(input: &PipelineInput, program: &Program, entry: FuncId, models: Models<'_>) -> Pinned {
    pinned(program, &input.sources, &input.options.pins, entry, models).unwrap_or_default()
}

/// Plans with the functions that they are of, in their order.
fn grouped(program: &Program, entry: FuncId, plans: Vec<Plan>) -> Vec<(FuncId, Vec<Plan>)> {
    let mut groups: Vec<(FuncId, Vec<Plan>)> = Vec::new();
    for plan in plans {
        let form = plan.composition.as_ref().and_then(|composition| form_of(program, entry, composition));
        let func = form.unwrap_or(entry);
        match groups.last_mut() {
            Some((last, group)) if *last == func => group.push(plan),
            Some(_) | None => groups.push((func, vec![plan])),
        }
    }
    groups
}

/// The plan for a device that runs a form's iterations at the level that its composition says, or that level, if there is none. Where a
/// composition says no level, the planner's first choice; with variants all plans.
fn at_level(form: &Alternative, options: &Options, plans: impl Fn(Limits) -> Vec<Plan>) -> Result<Vec<Plan>, String> {
    if options.limits.variants {
        return Ok(plans(limits(options)));
    }
    let Some(inner) = form.choice.calls.iter().find(|call| call.level != form.choice.level) else {
        return Ok(plans(limits(options)));
    };
    let mut all = plans(Limits { most: Level::ALL.len(), ..limits(options) });
    all.retain(|plan| plan.name == inner.level);
    if all.is_empty() { Err(inner.level.clone()) } else { Ok(all) }
}

fn limits(options: &Options) -> Limits {
    Limits { most: if options.limits.variants { options.limits.most } else { 1 }, ..options.limits }
}

fn named(form: &Alternative, plans: Vec<Plan>) -> Vec<Plan> {
    let composition = Some(shown(&form.choice));
    let named = |plan: Plan| Plan {
        name: format!("{}_{}", form.name, plan.name),
        composition: composition.clone(),
        nests: plan.nests,
    };
    plans.into_iter().map(named).collect()
}

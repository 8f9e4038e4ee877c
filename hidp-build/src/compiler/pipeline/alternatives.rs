//! Plans of the other forms of an entry, which its codelets make.

use super::{Options, PipelineInput, native_name};
use hidp_ir::par::{Alternative, FuncId, Program};
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{Limits, Models, Natives, Pinned, Plan, explore, explore_device, form_of, pinned, shown};

/// All plans of an entry for the processor, with the function that each is of. Those of other forms come last, of each the one that
/// suits it best, or, with variants, all. Where plans are pinned there are no others, in the order of their file.
pub fn all(input: &PipelineInput, program: &Program, entry: FuncId, model: &Model) -> Vec<(FuncId, Vec<Plan>)> {
    let device = DeviceModel::cuda();
    let pinned = pins(input, program, entry, Models { cpu: model, device: &device }).cpu;
    if !pinned.is_empty() {
        return grouped(program, entry, pinned);
    }
    let of =
        |form: &Alternative| (form.func, named(form, explore(program, form.func, model, limits(&input.options)).plans));
    let usual = explore(program, entry, model, input.options.limits).plans;
    std::iter::once((entry, usual)).chain(program.alternatives_of(entry).map(of)).collect()
}

/// The same for devices.
pub fn all_of_devices(
    input: &PipelineInput,
    program: &Program,
    entry: FuncId,
    models: Models<'_>,
) -> Vec<(FuncId, Vec<Plan>)> {
    let Options { natives, limits: of_entry, .. } = input.options;
    let runs = |func: FuncId| natives != Natives::Host || native_name(program, &program.funcs[func]).is_none();
    let pinned = pins(input, program, entry, models).device;
    if !pinned.is_empty() {
        return grouped(program, entry, pinned).into_iter().filter(|(func, _)| runs(*func)).collect();
    }
    let plans = |func: FuncId, limits: Limits| match runs(func) {
        true => explore_device(program, func, models.device, limits, natives).plans,
        false => Vec::new(),
    };
    let of = |form: &Alternative| (form.func, named(form, plans(form.func, limits(&input.options))));
    std::iter::once((entry, plans(entry, of_entry))).chain(program.alternatives_of(entry).map(of)).collect()
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

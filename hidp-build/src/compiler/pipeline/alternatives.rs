//! Plans of the other forms of an entry, which its codelets make.

use super::{Options, PipelineInput, native_name};
use hidp_ir::par::{Alternative, FuncId, Program};
use hidp_plan::target::Model;
use hidp_plan::{Limits, Models, Natives, Plan, explore, explore_device, pinned, shown};

/// Of each form the plan that suits it best; with variants, all. Where plans are pinned there are no others.
pub(crate) fn plans(
    input: &PipelineInput,
    program: &Program,
    entry: FuncId,
    model: &Model,
) -> Vec<(FuncId, Vec<Plan>)> {
    let device = hidp_plan::target::DeviceModel::cuda();
    let models = Models { cpu: model, device: &device };
    let pins = pinned(program, &input.sources, &input.options.pins, entry, models);
    if program.alternatives.is_empty() || pins.is_some_and(|pins| !pins.cpu.is_empty()) {
        return Vec::new();
    }
    let limits = limits(&input.options);
    let of = |form: &Alternative| (form.func, named(form, explore(program, form.func, model, limits).plans));
    program.alternatives_of(entry).map(of).collect()
}

/// The same for devices.
pub(crate) fn device_plans(
    input: &PipelineInput,
    program: &Program,
    entry: FuncId,
    models: Models<'_>,
) -> Vec<(FuncId, Vec<Plan>)> {
    let Options { natives, .. } = input.options;
    let pins = pinned(program, &input.sources, &input.options.pins, entry, models);
    if program.alternatives.is_empty() || pins.is_some_and(|pins| !pins.device.is_empty()) {
        return Vec::new();
    }
    let limits = limits(&input.options);
    let runs =
        |form: &&Alternative| natives != Natives::Host || native_name(program, &program.funcs[form.func]).is_none();
    let of = |form: &Alternative| {
        (form.func, named(form, explore_device(program, form.func, models.device, limits, natives).plans))
    };
    program.alternatives_of(entry).filter(runs).map(of).collect()
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

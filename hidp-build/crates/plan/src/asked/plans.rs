//! Plans of an entry in which nests have what directives ask of them.

use super::{Asked, asked, device, pins_of, threads};
use crate::candidates::{Candidate, Explored, Fate};
use crate::mapping::Names;
use crate::notation::Nest;
use crate::refusal::NAMED;
use crate::target::{DeviceModel, Model};
use crate::{Plan, nests};
use hidp_ir::par::{Func, FuncId, Map, Program};
use hidp_syntax::ast::PinTarget;

/// Plans in which every nest has what directives ask of it. What they ask for and cannot have is reported by
/// [`super::check_directives`].
pub(crate) fn on_device(program: &Program, id: FuncId, explored: Explored, model: &DeviceModel) -> Explored {
    let func = &program.funcs[id];
    if nests(func).into_iter().all(|map| pins_of(map, PinTarget::Cuda).is_empty()) {
        return explored;
    }
    let all = device::usual(program, id, model);
    let nest = |number: usize, map: &Map, asked: &Asked| {
        let usual = all.plans.iter().filter_map(|plan| plan.nests.get(number).cloned()).collect();
        device::nest(program, func, map, asked, usual, model).into_iter().collect()
    };
    pinned(func, explored, PinTarget::Cuda, &nest)
}

/// The same on processors.
pub(crate) fn on_threads(program: &Program, func: &Func, explored: Explored, model: &Model) -> Explored {
    let nest =
        |_: usize, map: &Map, asked: &Asked| threads::nests(program, func, map, asked, model).unwrap_or_default();
    pinned(func, explored, PinTarget::Cpu, &nest)
}

/// Puts nests in the place of those that do not have what is asked for.
fn pinned(
    func: &Func,
    explored: Explored,
    target: PinTarget,
    nest: &dyn Fn(usize, &Map, &Asked) -> Vec<Nest>,
) -> Explored {
    let maps = nests(func);
    let asked: Vec<Option<Asked>> = maps.iter().map(|map| asked(func, map, target).ok().flatten()).collect();
    let pinned = |(number, (map, asked)): (usize, (&&Map, &Option<Asked>))| match asked {
        Some(asked) => nest(number, map, asked),
        None => Vec::new(),
    };
    let nests: Vec<Vec<Nest>> = maps.iter().zip(&asked).enumerate().map(pinned).collect();
    if nests.iter().all(Vec::is_empty) {
        return explored;
    }
    let at = maps.iter().find_map(|map| pins_of(map, target).first().map(|pin| pin.span));
    let name = match target {
        PinTarget::Cpu => "pinned_cpu",
        PinTarget::Cuda => "pinned_cuda",
    };
    let Explored { plans, mut candidates } = explored;
    let mut kept: Vec<Plan> = Vec::new();
    for mut plan in plans {
        let mut replaced = 0;
        for (at, own) in plan.nests.iter_mut().enumerate() {
            let (Some(pinned), Some(Some(asked))) = (nests.get(at), asked.get(at)) else { continue };
            // What directives leave open stays as the plan has it.
            if asked.met_by(&Names::of(func, maps[at]), own).1 {
                continue;
            }
            let alike = |nest: &&Nest| nest.steps.iter().filter(|step| own.steps.contains(step)).count();
            if let Some(pinned) = pinned.iter().rev().max_by_key(alike) {
                *own = pinned.clone();
                replaced += 1;
            }
        }
        if replaced == plan.nests.len() {
            name.clone_into(&mut plan.name);
        }
        if !kept.iter().any(|other| other.same_as(&plan)) {
            kept.push(plan);
        }
    }
    if asked.iter().flatten().any(|asked| asked.only) {
        // The pinned one, if the first has other nests.
        let first = kept.iter().position(|plan| plan.name == name).unwrap_or(0);
        kept = kept.into_iter().skip(first).take(1).collect();
    }
    // Where a plan of the planner's runs like the pinned one, that is its name.
    for candidate in &mut candidates {
        let gone = !kept.iter().any(|plan| plan.name == candidate.name);
        if let (true, Fate::Kept, Some(at)) = (gone, &candidate.fate, at) {
            candidate.fate = Fate::Excluded(NAMED.refused(at, "directives pin other lines"));
        }
    }
    if kept.iter().any(|plan| plan.name == name) {
        candidates.push(Candidate { name: name.to_owned(), nest: None, score: None, fate: Fate::Kept });
    }
    Explored { plans: kept, candidates }
}

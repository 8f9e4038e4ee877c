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
    let usual = device::Usual::new(program, id, model);
    let nest = |number: usize, map: &Map, asked: &Asked| {
        device::nest(program, func, map, asked, (&usual, number), model).into_iter().collect()
    };
    let numbered = |map: &Map, asked: &Asked, own: &Nest| device::numbered(program, func, map, asked, own, model).ok();
    let asked = |map: &Map| asked(func, map, PinTarget::Cuda, Some(model)).ok().flatten();
    pinned(func, explored, PinTarget::Cuda, &Makers { asked: &asked, nests: &nest, numbered: &numbered })
}

/// The same on processors.
pub(crate) fn on_threads(program: &Program, func: &Func, explored: Explored, model: &Model) -> Explored {
    let nest =
        |_: usize, map: &Map, asked: &Asked| threads::nests(program, func, map, asked, model).unwrap_or_default();
    let numbered = |map: &Map, asked: &Asked, own: &Nest| threads::numbered(program, func, map, asked, own);
    let asked = |map: &Map| asked(func, map, PinTarget::Cpu, None).ok().flatten();
    pinned(func, explored, PinTarget::Cpu, &Makers { asked: &asked, nests: &nest, numbered: &numbered })
}

/// How nests of one target come to what directives ask for.
struct Makers<'a> {
    /// What is asked of a nest.
    asked: &'a dyn Fn(&Map) -> Option<Asked>,
    /// Those that have it, of the nest with this number.
    nests: &'a dyn Fn(usize, &Map, &Asked) -> Vec<Nest>,
    /// One of the planner's with the numbers that are asked for.
    numbered: &'a dyn Fn(&Map, &Asked, &Nest) -> Option<Nest>,
}

/// Puts nests in the place of those that do not have what is asked for.
fn pinned(func: &Func, explored: Explored, target: PinTarget, makers: &Makers<'_>) -> Explored {
    let maps = nests(func);
    let asked: Vec<Option<Asked>> = maps.iter().map(|map| (makers.asked)(map)).collect();
    let pinned = |(number, (map, asked)): (usize, (&&Map, &Option<Asked>))| match asked {
        Some(asked) => (makers.nests)(number, map, asked),
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
            let names = Names::of(func, maps[at]);
            if asked.met_by(&names, own).1 {
                continue;
            }
            let numbered = (makers.numbered)(maps[at], asked, own);
            if let Some(numbered) = numbered.filter(|nest| asked.met_by(&names, nest).1) {
                *own = numbered;
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

//! Directives as lines, and plans as directives.

use super::launches::Launches;
use super::numbers::Number;
use super::spans::follows;
use super::{Asked, AskedIter, AskedLine, asked, device, lines_of, threads};
use crate::blame::span_of;
use crate::mapping::Names;
use crate::notation::{Near, Nest, Property, Stage, StageOption, Step};
use crate::{Models, Plan, inner_maps, iterators, nests};
use hidp_ir::par::{Func, FuncId, Map, Program, VarId};
use hidp_syntax::ast::PinTarget;
use hidp_syntax::place::{Axis, Place};
use hidp_syntax::source::Span;

/// What directives ask of a nest, or which directives ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The iterators of the nest.
    pub at: Span,
    /// `cpu` or `cuda`.
    pub target: &'static str,
    /// The lines.
    pub lines: Vec<String>,
}

/// The lines for which directives of an entry ask, by nest and target.
pub fn expanded(program: &Program, id: FuncId) -> Vec<Shown> {
    let func = &program.funcs[id];
    let mut found = Vec::new();
    for map in nests(func) {
        for target in PinTarget::ALL {
            if let Ok(Some(asked)) = asked(func, map, target, None) {
                let mut lines = asked.text(&Names::of(func, map));
                lines.extend(asked.sections_text(func));
                found.push(Shown { at: span_of(map), target: target.name(), lines });
            }
        }
    }
    found
}

/// The directives that pin the nests of a plan, which the planner made. Where there are none for a nest, the line says so.
pub fn as_directives(program: &Program, id: FuncId, plan: &Plan, models: Models<'_>) -> Vec<Shown> {
    let func = &program.funcs[id];
    let target = if plan.is_for_device() { PinTarget::Cuda } else { PinTarget::Cpu };
    let usual = plan.is_for_device().then(|| device::Usual::new(program, id, models.device));
    let shown = |(number, (map, nest)): (usize, (&Map, &Nest))| {
        let again = |asked: &Asked| match &usual {
            Some(usual) => device::nest(program, func, map, asked, (usual, number), models.device).ok(),
            None => threads::nests(program, func, map, asked, models.cpu)
                .map(|mut nests| nests.drain(..).find(|other| other == nest).unwrap_or_default())
                .ok(),
        };
        let names = Names::of(func, map);
        let says_all = |asked: &Asked| asked.can_be_named(&names) && again(asked).is_some_and(|again| again == *nest);
        // Launches are named where they are not as the planner chooses them.
        let by_lines = [false, true].into_iter().map(|launches| Asked::of_nest(func, map, nest, launches));
        let mut of_nest = by_lines.chain(Asked::of_parts(map, nest, &names));
        let lines = match of_nest.find(says_all) {
            Some(asked) => vec![format!("#pragma hidp {}", asked.directives(&names, target))],
            None => vec![format!("# no directives say all of `{}`: pin it in a .plan file", plan.name)],
        };
        Shown { at: span_of(map), target: target.name(), lines }
    };
    nests(func).into_iter().zip(&plan.nests).enumerate().map(shown).collect()
}

impl Asked {
    /// What a nest has; whether launches are joined, if that is asked for.
    fn of_nest(func: &Func, map: &Map, nest: &Nest, says_launches: bool) -> Asked {
        let names = Names::of(func, map);
        let span = span_of(map);
        let iters = iterators(map).into_iter().map(|var| {
            let lines = super::without_parts(&lines_of(nest, &names.iter(var))).to_vec();
            AskedIter { var, lines, span }
        });
        let mut iters: Vec<AskedIter> = iters.collect();
        let block = Property::number_of(&nest.properties, Property::Block);
        if let Some(threads) = block {
            with_groups(map, &mut iters, threads);
        }
        let staged = nest.steps.iter().filter_map(|step| match step {
            Step::Stage(stage) => Some((names.array_called(&stage.array)?, span)),
            Step::Line(_) => None,
        });
        let mut stages = Vec::new();
        for stage in staged {
            if !stages.contains(&stage) {
                stages.push(stage);
            }
        }
        let joined = nest.properties.contains(&Property::Joined);
        let launches = says_launches.then_some(Launches { joined, span }).into_iter().collect();
        Asked { iters, stages, launches, first: Some(span), ..Asked::default() }
    }

    /// That groups of their own have parts of a fold, as many as sizes ask for, if a nest has such parts.
    fn of_parts(map: &Map, nest: &Nest, names: &Names) -> Option<Asked> {
        let cut = nest.folds.iter().find(|cut| follows(cut))?;
        let inside = inner_maps(&map.body).into_iter().flat_map(iterators);
        let var = inside.into_iter().find(|var| cut.iters.contains(&names.iter(*var)))?;
        let span = span_of(map);
        Some(Asked { splits: vec![(var, None, span)], first: Some(span), ..Asked::default() })
    }

    /// Whether all names are the program's.
    fn can_be_named(&self, names: &Names) -> bool {
        let splits = self.splits.iter().map(|(var, ..)| names.iter(*var));
        let iters = self.iters.iter().map(|iter| names.iter(iter.var)).chain(splits);
        iters.chain(self.stages.iter().map(|(array, _)| names.array(*array))).all(|name| !name.contains('.'))
    }

    /// As words of a directive.
    fn directives(&self, names: &Names, target: PinTarget) -> String {
        let iter = |iter: &AskedIter| {
            let lines: Vec<String> = iter.lines.iter().map(|line| line.text()).collect();
            format!("{}: {}", names.iter(iter.var), lines.join(" "))
        };
        let iters: Vec<String> = self.iters.iter().map(iter).collect();
        let arrays: Vec<String> = self.stages.iter().map(|(array, _)| names.array(*array)).collect();
        let on = (!iters.is_empty()).then(|| format!("{}: on({})", target.name(), iters.join(", ")));
        let parts = |parts: Option<u32>| parts.map_or("any".to_owned(), |parts| parts.to_string());
        let split =
            |(var, own, _): &(VarId, Option<u32>, Span)| format!("split({}: {})", names.iter(*var), parts(*own));
        let shared = (!arrays.is_empty()).then(|| format!("shared({})", arrays.join(", ")));
        let launches = self.launches.iter().map(|own| format!("{}: {}", target.name(), own.word()));
        let splits = self.splits.iter().map(split);
        on.into_iter().chain(splits).chain(shared).chain(launches).collect::<Vec<_>>().join(", ")
    }

    /// As lines of a plan.
    fn text(&self, names: &Names) -> Vec<String> {
        let mut lines = Vec::new();
        for iter in &self.iters {
            lines.extend(iter.lines.iter().map(|line| format!("{} {}", names.iter(iter.var), line.text())));
        }
        let some = self.some.iter().map(|(var, line, _)| format!("{} {}", names.iter(*var), line.text()));
        let tiles = self.tiles.iter().map(|(var, size, _)| format!("{} seq({size})", names.iter(*var)));
        lines.extend(some.chain(tiles));
        let around =
            |pair: &super::order::Around| format!("{} around {}", names.iter(pair.outer), names.iter(pair.inner));
        lines.extend(self.whole.iter().map(|(var, _)| format!("{} for one group", names.iter(*var))));
        let wide = |(var, wide, _): &(VarId, u32, Span)| format!("{} wide({wide})", names.iter(*var));
        lines.extend(self.vecs.iter().map(wide));
        let parts = |(var, parts, _): &(VarId, Option<u32>, Span)| match parts {
            Some(parts) => format!("{} in {parts} parts", names.iter(*var)),
            None => format!("{} in parts", names.iter(*var)),
        };
        lines.extend(self.splits.iter().map(parts));
        lines.extend(self.orders.iter().map(around));
        lines.extend(self.numbers.iter().map(Number::text));
        lines.extend(self.launches.iter().map(|own| own.text().to_owned()));
        lines.extend(self.stages.iter().map(|(array, _)| self.stage(*array, names).to_string()));
        lines.extend(self.global.iter().map(|(array, _)| format!("no stage {}", names.array(*array))));
        for (array, streamed, _) in &self.places {
            let name = names.array(*array);
            lines.push(if *streamed { format!("place {name} stream") } else { format!("no place {name}") });
        }
        if self.only {
            lines.push("no other plan".to_owned());
        }
        lines
    }
}

impl Asked {
    /// A staged array, with the options that it was given.
    fn stage(&self, array: VarId, names: &Names) -> Stage {
        let mut options: Vec<StageOption> =
            self.options.iter().filter(|own| own.array == array).map(|own| own.option).collect();
        options.sort_unstable();
        Stage { array: names.array(array), near: Near::Shared, extents: Vec::new(), layout: Vec::new(), options }
    }
}

/// Lanes of a block that share what is inside of an iteration, in numbers: as many as the block has, or groups of them.
fn with_groups(map: &Map, iters: &mut [AskedIter], threads: u32) {
    let (own, inside) = iters.split_at_mut(map.iters.len());
    let mut lines = inside.iter_mut().flat_map(|iter| &mut iter.lines);
    let Some(lanes) = lines.find(|line| line.place == Place::Thread(Axis::X)) else { return };
    match (lanes.size, own.last_mut()) {
        (Some(size), Some(last)) if size > 0 => {
            last.lines.push(AskedLine::new(Place::Thread(Axis::Y), Some(threads / size)));
        }
        (Some(_), _) => {}
        (None, _) => lanes.size = Some(threads),
    }
}

impl AskedLine {
    /// `thread.y(16)`
    pub(super) fn text(&self) -> String {
        self.size.map_or(self.place.to_string(), |size| format!("{}({size})", self.place))
    }
}

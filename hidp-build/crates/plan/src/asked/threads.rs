//! Nests of processors that have the lines which directives ask for.

use super::device::Unfit;
use super::{Asked, AskedLine, Refused};
use crate::blame::span_of;
use crate::candidates::{constraint, mapping_with};
use crate::mapping::{Mapping, Names, Recipe, Strategy};
use crate::notation::Nest;
use crate::refusal::{Refusal, SECTION, SHAPE};
use crate::target::Model;
use crate::{iterators, streamed_outputs};
use hidp_ir::par::{Func, Map, Program};
use hidp_syntax::place::Place;

/// The nests that have what is asked for; else why there is none, and which is nearest to it.
pub(super) fn nests(
    program: &Program,
    func: &Func,
    map: &Map,
    asked: &Asked,
    model: &Model,
) -> Result<Vec<Nest>, Refused> {
    let names = Names::of(func, map);
    let mut nests = Vec::new();
    let mut refusal: Option<Refusal> = None;
    for strategy in Strategy::ALL {
        match constraint(program, func, map, strategy) {
            Some(why) if has_lines_of(asked, strategy) => {
                refusal.get_or_insert(why);
            }
            Some(_) => {}
            None => {
                let mut own = mapping_with(program, func, map, (strategy, model), &|own| change_sizes(map, asked, own));
                own.streamed.retain(|array| !asked.places.iter().any(|(other, way, _)| other == array && !way));
                asked.give_threads(&mut own);
                let lines = own.lines(func, map);
                // Numbers may be none that a nest can have: how large tiles are is judged when lines are read.
                if Mapping::read(program, func, map, &lines).is_ok() {
                    nests.push(lines);
                }
            }
        }
    }
    let met: Vec<Nest> = nests.iter().filter(|nest| asked.met_by(&names, nest).1).cloned().collect();
    if !met.is_empty() {
        return Ok(met);
    }
    let (at, refusal) = why_none(program, func, map, asked, refusal);
    Err(Refused { at, refusal, nearest: asked.nearest(&names, nests.into_iter()).map(Box::new) })
}

/// Why no nest has what is asked for, and the directive to blame. `refusal` is that of a strategy that would have such lines.
fn why_none(program: &Program, func: &Func, map: &Map, asked: &Asked, refusal: Option<Refusal>) -> Unfit {
    let order = || asked.orders.first().map(|pair| asked.no_order(func, pair, span_of(map)));
    if refusal.is_none()
        && let Some(unfit) = order().or_else(|| asked.without_number(map))
    {
        return unfit;
    }
    let known = streamed_outputs(program, func, map);
    if let Some((array, _, span)) = asked.places.iter().find(|(array, way, _)| *way && !known.contains(array)) {
        let name = &func.vars[*array].name;
        let why =
            format!("`{name}` is not written once, in full rows, by a map without others inside that does not read it");
        return (*span, SECTION.refused(span_of(map), why));
    }
    let no_lines = "no mapping has these lines, and nothing else on the iterators that are named";
    (asked.first(map), refusal.unwrap_or_else(|| SHAPE.refused(span_of(map), no_lines)))
}

/// A nest of the planner's with the numbers that are asked for, if it can have them.
pub(super) fn numbered(program: &Program, func: &Func, map: &Map, asked: &Asked, nest: &Nest) -> Option<Nest> {
    let mut mapping = Mapping::read(program, func, map, nest).ok()?;
    asked.give_threads(&mut mapping);
    let lines = mapping.lines(func, map);
    Mapping::read(program, func, map, &lines).is_ok().then_some(lines)
}

/// Whether a strategy has lines like those that are asked for, which others have not.
fn has_lines_of(asked: &Asked, strategy: Strategy) -> bool {
    let lines = || asked.iters.iter().flat_map(|iter| &iter.lines).chain(asked.some.iter().map(|(_, line, _)| line));
    let any = |wanted: &dyn Fn(&AskedLine) -> bool| lines().any(wanted);
    match strategy {
        Strategy::Lanes => any(&|line| line.place == Place::Reg || (line.place == Place::Lanes && line.size.is_some())),
        Strategy::Team => any(&|line| line.place == Place::Host),
        Strategy::Rows | Strategy::Serial | Strategy::Wide | Strategy::Device(_) => false,
    }
}

/// Numbers of tiles, and vector lanes that are given up.
fn change_sizes(map: &Map, asked: &Asked, mapping: &mut Mapping) {
    let in_tiles = matches!(mapping.recipe, Recipe::Lanes(_));
    for var in iterators(map) {
        let Some(level) = mapping.levels.get_mut(&var) else { continue };
        let some = asked.some.iter().filter(|(other, _, _)| *other == var).map(|(_, line, _)| line);
        let own = asked.lines_of(var);
        let lines: Vec<AskedLine> = own.iter().flat_map(|asked| &asked.lines).chain(some).copied().collect();
        let size = |place: Place| lines.iter().find(|line| line.place == place).and_then(|line| line.size);
        if let (true, Some(size)) = (in_tiles, size(Place::Lanes).or(size(Place::Reg))) {
            level.tile = size;
        }
        mapping.threads = size(Place::Threads).or(mapping.threads);
        let lanes = lines.iter().any(|line| line.place == Place::Lanes);
        if own.is_some() && level.exec == crate::Exec::Simd && !lanes {
            level.exec = if lines.iter().any(|line| line.place == Place::Threads) {
                crate::Exec::Thread
            } else {
                crate::Exec::Seq
            };
        }
    }
}

//! Nests of processors that have the lines which directives ask for.

use super::{Asked, AskedLine, Refused};
use crate::blame::span_of;
use crate::candidates::{constraint, mapping_with};
use crate::iterators;
use crate::mapping::{Mapping, Names, Recipe, Strategy};
use crate::notation::Nest;
use crate::refusal::{Refusal, SHAPE};
use crate::target::Model;
use hidp_ir::par::{Func, Map, Program};
use hidp_syntax::place::Place;

/// The nest that has what is asked for; else why there is none, and which is nearest to it.
pub(super) fn nest(program: &Program, func: &Func, map: &Map, asked: &Asked, model: &Model) -> Result<Nest, Refused> {
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
                let own = mapping_with(program, func, map, (strategy, model), &|own| change_sizes(map, asked, own));
                let lines = own.lines(func, map);
                // Numbers may be none that a nest can have: how large tiles are is judged when lines are read.
                if Mapping::read(program, func, map, &lines).is_ok() {
                    nests.push(lines);
                }
            }
        }
    }
    if let Some(nest) = nests.iter().find(|nest| asked.met_by(&names, nest).1) {
        return Ok(nest.clone());
    }
    let why = refusal.unwrap_or_else(|| {
        SHAPE.refused(span_of(map), "no mapping has these lines, and nothing else on the iterators that are named")
    });
    let at = asked.first(map);
    Err(Refused { at, refusal: why, nearest: asked.nearest(&names, nests.into_iter()).map(Box::new) })
}

/// Whether a strategy has lines like those that are asked for, which others have not.
fn has_lines_of(asked: &Asked, strategy: Strategy) -> bool {
    let any = |wanted: &dyn Fn(&AskedLine) -> bool| asked.iters.iter().flat_map(|iter| &iter.lines).any(wanted);
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
        let Some(asked) = asked.lines_of(var) else { continue };
        let Some(level) = mapping.levels.get_mut(&var) else { continue };
        let size = |place: Place| asked.lines.iter().find(|line| line.place == place).and_then(|line| line.size);
        if let (true, Some(size)) = (in_tiles, size(Place::Lanes).or(size(Place::Reg))) {
            level.tile = size;
        }
        let lanes = asked.lines.iter().any(|line| line.place == Place::Lanes);
        if level.exec == crate::Exec::Simd && !lanes {
            level.exec = if asked.lines.iter().any(|line| line.place == Place::Threads) {
                crate::Exec::Thread
            } else {
                crate::Exec::Seq
            };
        }
    }
}

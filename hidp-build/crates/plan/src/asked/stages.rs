//! How parts of arrays are staged: padding of their rows, and how many elements move at once.

use super::{Asked, Clash};
use crate::blame::span_of;
use crate::judge::judge;
use crate::mapping::{Mapping, Names, Recipe};
use crate::notation::{Nest, Stage, StageOption, Step};
use crate::refusal::{ALIGNED, Refusal, SHAPE};
use crate::target::DeviceModel;
use crate::tiled::MOST_COPIES;
use hidp_ir::par::{Func, Map, Pin, Program, VarId};
use hidp_syntax::source::Span;

/// An option of a `stage` line.
#[derive(Clone, Copy, Debug)]
pub(super) struct StageAsked {
    pub(super) array: VarId,
    pub(super) option: StageOption,
    pub(super) span: Span,
}

/// The options that a directive has behind its arrays.
pub(super) fn options(pin: &Pin) -> impl Iterator<Item = StageAsked> {
    pin.args.iter().flat_map(|arg| {
        let option = |word: &str, number: u32| match word {
            "pad" => Some(StageOption::Pad(number)),
            "wide" => Some(StageOption::Wide(number)),
            "bufs" => Some(StageOption::Bufs(number)),
            _ => None,
        };
        let options = arg.values.iter().filter_map(move |value| option(&value.word, value.size?));
        let array = arg.vars.first().copied();
        options.filter_map(move |option| Some(StageAsked { array: array?, option, span: arg.span }))
    })
}

impl Asked {
    /// Two directives about one option.
    pub(super) fn two_options(&self, func: &Func) -> Result<(), Clash> {
        for (at, own) in self.options.iter().enumerate() {
            let same = |other: &&StageAsked| other.array == own.array && other.option.name() == own.option.name();
            if let Some(other) = self.options[..at].iter().find(same) {
                return Err(Clash {
                    at: own.span,
                    headline: format!("`{}` of `{}` stands there twice", own.option.name(), func.vars[own.array].name),
                    label: "the second time".to_owned(),
                    other: (other.span != own.span).then(|| (other.span, "the first time".to_owned())),
                });
            }
        }
        Ok(())
    }

    /// Whether anything is asked about stages that a nest of the planner's may have otherwise.
    pub(super) fn changes_stages(&self) -> bool {
        !self.options.is_empty() || !self.vecs.is_empty()
    }

    /// Whether a mapping stages what is asked about.
    pub(super) fn are_staged(&self, mapping: &Mapping) -> bool {
        let staged = |own: &StageAsked| mapping.staging.iter().any(|staging| staging.array == own.array);
        let tiled = matches!(mapping.recipe, Recipe::Tiled(_));
        self.options.iter().all(staged) && (self.vecs.is_empty() || tiled)
    }

    /// Whether elements of some array move at once, as many as asked for.
    pub(super) fn vecs_met(&self, nest: &Nest) -> impl Iterator<Item = bool> {
        self.vecs.iter().map(|(_, wide, _)| {
            nest.steps.iter().any(|step| match step {
                Step::Stage(stage) => stage.options.contains(&StageOption::Wide(*wide)),
                Step::Line(_) => false,
            })
        })
    }

    /// Whether a nest has each option.
    pub(super) fn options_met(&self, names: &Names, nest: &Nest) -> impl Iterator<Item = bool> {
        self.options.iter().map(|own| {
            let array = names.array(own.array);
            let stages = nest.steps.iter().filter_map(|step| match step {
                Step::Stage(stage) if stage.array == array => Some(stage),
                Step::Stage(_) | Step::Line(_) => None,
            });
            let stages: Vec<&Stage> = stages.collect();
            // A single element is no option, and neither is a single copy.
            let plain = matches!(own.option, StageOption::Wide(1) | StageOption::Bufs(1));
            let is_same = |option: &StageOption| option.name() == own.option.name();
            let has = |stage: &&Stage| match plain {
                true => !stage.options.iter().any(is_same),
                false => stage.options.contains(&own.option),
            };
            !stages.is_empty() && stages.iter().all(has)
        })
    }

    /// The fewest copies of a part that are asked for.
    pub(super) fn fewest_copies(&self) -> u32 {
        let copies = self.options.iter().filter_map(|own| match own.option {
            StageOption::Bufs(copies) => Some(copies),
            StageOption::Pad(_)
            | StageOption::Wide(_)
            | StageOption::Ring(_)
            | StageOption::Turned
            | StageOption::Swizzled
            | StageOption::Packed
            | StageOption::Interleaved
            | StageOption::Reversed
            | StageOption::Skewed
            | StageOption::Profile => None,
        });
        copies.min().unwrap_or(MOST_COPIES)
    }

    /// Gives the stages of a nest their options.
    pub(super) fn give_stages(
        &self,
        program: &Program,
        (func, map): (&Func, &Map),
        mapping: &mut Mapping,
        model: &DeviceModel,
    ) -> Result<(), (Span, Refusal)> {
        for (var, wide, span) in &self.vecs {
            neighbours(func, map, mapping, *var).map_err(|why| (*span, why))?;
            give_width(map, mapping, *wide).map_err(|why| (*span, why))?;
        }
        for own in &self.options {
            if let StageOption::Wide(wide) = own.option {
                give_width(map, mapping, wide).map_err(|why| (own.span, why))?;
            }
        }
        // Rows are padded as they are stored, which follows from how many elements move at once.
        for own in &self.options {
            if let StageOption::Pad(pad) = own.option {
                let padded = mapping.staging.iter_mut().filter(|staging| staging.array == own.array);
                padded.for_each(|staging| staging.pad = pad);
            }
            if let StageOption::Bufs(copies) = own.option {
                give_copies(map, mapping, own.array, copies).map_err(|why| (own.span, why))?;
            }
        }
        let first = self.options.first().map(|own| own.span).or(self.vecs.first().map(|(_, _, span)| *span));
        let Some(first) = first else { return Ok(()) };
        judge(program, func, map, mapping, model).unwrap_or(Ok(())).map_err(|why| (first, why))
    }
}

/// So many copies of the parts of an array.
fn give_copies(map: &Map, mapping: &mut Mapping, array: VarId, copies: u32) -> Result<(), Refusal> {
    let most = if matches!(mapping.recipe, Recipe::Tiled(_)) { MOST_COPIES } else { 1 };
    if !(1..=most).contains(&copies) {
        let why = format!("{copies} copies of a part are asked for, and such tiles have {most} at most");
        return Err(SHAPE.refused(span_of(map), why));
    }
    let parts = mapping.staging.iter_mut().filter(|staging| staging.array == array);
    parts.for_each(|staging| staging.buffers = copies);
    Ok(())
}

/// Whether an operand of a tile has neighbours along an iterator.
fn neighbours(func: &Func, map: &Map, mapping: &Mapping, var: VarId) -> Result<(), Refusal> {
    let ([.., row, column], Recipe::Tiled(tiling)) = (&map.iters[..], &mapping.recipe) else { return Ok(()) };
    let depth = crate::inner_maps(&map.body).first().and_then(|inner| crate::key(inner));
    let along = |operand: &crate::Operand| match (operand.along_results, operand.of_rows) {
        (true, true) => Some(row.var),
        (true, false) => Some(column.var),
        (false, _) => depth,
    };
    if tiling.tiled.operands.iter().any(|operand| along(operand) == Some(var)) {
        return Ok(());
    }
    let why = format!("no operand of a tile has neighbours along `{}`", func.vars[var].name);
    Err(ALIGNED.refused(span_of(map), why))
}

/// So many elements of the operands of tiles move at once.
fn give_width(map: &Map, mapping: &mut Mapping, wide: u32) -> Result<(), Refusal> {
    let tile = |at: usize| {
        let var = map.iters.len().checked_sub(at).map(|at| map.iters[at].var);
        var.and_then(|var| mapping.levels.get(&var)).map_or(1, |level| level.tile)
    };
    let sides = [tile(2), tile(1)];
    let depth = crate::inner_maps(&map.body).first().and_then(|inner| crate::key(inner));
    let depth = depth.and_then(|var| mapping.levels.get(&var)).map_or(1, |level| level.tile);
    let Recipe::Tiled(tiling) = &mut mapping.recipe else {
        let why = "elements of halos, and of what is turned around, move one at a time";
        return Err(SHAPE.refused(span_of(map), why));
    };
    if !wide.is_power_of_two() || wide.saturating_mul(tiling.tiled.widest) > crate::MOST_MOVED {
        let bytes = wide.saturating_mul(tiling.tiled.widest);
        let why = format!(
            "{wide} elements have {bytes} bytes, and a power of two moves at once, {} bytes at most",
            crate::MOST_MOVED
        );
        return Err(ALIGNED.refused(span_of(map), why));
    }
    tiling.vector = wide;
    mapping.staging = tiling.tiled.staging(sides, depth, wide);
    Ok(())
}

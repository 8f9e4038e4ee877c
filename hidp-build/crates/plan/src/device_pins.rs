//! Pinned plans for devices. What a line may change is the size of blocks: where the planner has its usual one.

use super::device::{Natives, explore_device};
use super::pins::{NEW_PLAN, PinnedNest, unfit};
use super::{DeviceFate, LevelPlan, Limits, Nest, Plan, Share, Strategy};
use crate::target::DeviceModel;
use hidp_ir::par::{FuncId, Map, Program};
use hidp_syntax::ast::Level;
use hidp_syntax::diag::Diagnostic;

/// What the planner would do, if it kept everything.
pub(super) struct Usual<'a> {
    plans: Vec<Plan>,
    fates: Vec<(Level, DeviceFate)>,
    model: &'a DeviceModel,
}

impl<'a> Usual<'a> {
    pub(super) fn new(program: &Program, func: FuncId, model: &'a DeviceModel) -> Self {
        let limits = Limits { most: usize::MAX, ..Limits::default() };
        let explored = explore_device(program, func, model, limits, Natives::Everywhere);
        Self { plans: explored.plans, fates: explored.fates, model }
    }

    /// Nest number `at` as it is used, if it fits; else what is wrong with its lines.
    pub(super) fn fitted(
        &self,
        name: &str,
        (at, map): (usize, &Map),
        pinned: &Nest,
        lines: &PinnedNest,
    ) -> Result<Nest, Box<Diagnostic>> {
        let of_strategy = |nest: &&Nest| nest.strategy == pinned.strategy;
        let candidates: Vec<&Nest> =
            self.plans.iter().filter_map(|plan| plan.nests.get(at)).filter(of_strategy).collect();
        let Some(first) = candidates.first() else {
            let headline = format!("this nest of `{name}` cannot run as `{}`", pinned.strategy.name());
            let diagnostic = unfit(headline, lines.span, self.reason(pinned.strategy));
            return Err(match map.iters.first() {
                Some(iter) => diagnostic.also(iter.span, "the nest").into(),
                None => diagnostic,
            });
        };
        let alike = |nest: &&&Nest| {
            nest.staging == pinned.staging
                && nest.levels.len() == pinned.levels.len()
                && nest.levels.iter().zip(&pinned.levels).all(|(usual, level)| self.wrong(level, usual).is_none())
        };
        let staged = |nest: &&&Nest| nest.staging == pinned.staging;
        let dealt = |nest: &&&Nest| staged(nest) && nest.is_split() == pinned.is_split();
        let near = || candidates.iter().find(dealt).or_else(|| candidates.iter().find(staged));
        let usual = candidates.iter().find(alike).or_else(near).unwrap_or(first);
        if usual.staging != pinned.staging {
            let line = lines.stages.first().unwrap_or(&lines.span);
            return Err(unfit("arrays are not staged like this", *line, "expected the planner's `stage` lines"));
        }
        if usual.levels.len() != pinned.levels.len() {
            let (has, given) = (usual.levels.len(), pinned.levels.len());
            let iters: Vec<&str> = usual.levels.iter().map(|level| level.iter.as_str()).collect();
            let headline = format!("this nest of `{name}` has {has} iterators, not {given}");
            let label = format!("expected lines for {}", iters.join(", "));
            return Err(unfit(headline, lines.span, label).help(NEW_PLAN).into());
        }
        let free = pinned.staging.is_empty();
        let block = usual.levels.iter().zip(&pinned.levels).find(|(usual, _)| free && self.is_block(usual));
        let block = block.map(|(_, level)| level.tile);
        for ((level, usual), line) in pinned.levels.iter().zip(&usual.levels).zip(&lines.iters) {
            let other = block.filter(|block| self.is_block(usual) && level.tile != *block);
            let other = other.map(|block| format!("`tile {block}`, as above: a nest has blocks of one size"));
            // What is staged follows from the sizes of tiles.
            let fixed = !free && level.tile != usual.tile;
            let other = if fixed { Some(format!("`tile {}`", usual.tile)) } else { other };
            if let Some(expected) = self.wrong(level, usual).or(other) {
                let headline = format!("`{}` cannot run like this", level.iter);
                return Err(unfit(headline, *line, format!("expected {expected}")));
            }
        }
        if let Some(line) = lines.places.first() {
            return Err(unfit("arrays are not placed like this", *line, "not among the planner's placements"));
        }
        Ok(Nest { levels: pinned.levels.clone(), ..(*usual).clone() })
    }

    fn reason(&self, strategy: Strategy) -> String {
        let fate = self.fates.iter().find(|(level, _)| Strategy::Device(*level) == strategy);
        fate.map_or("no plan does".to_owned(), |(_, fate)| fate.to_string())
    }

    fn is_block(&self, usual: &LevelPlan) -> bool {
        let dealt = matches!(usual.share, Share::Dealt(_));
        usual.tile > 1 && usual.tile.is_multiple_of(self.model.warp) && !dealt
    }

    /// What is expected instead, where a level cannot be like this.
    fn wrong(&self, pinned: &LevelPlan, usual: &LevelPlan) -> Option<String> {
        let (warp, most) = (self.model.warp, self.model.most_threads);
        if pinned.iter != usual.iter {
            Some(format!("the line of `{}`", usual.iter))
        } else if pinned.exec != usual.exec {
            Some(format!("`{}`", usual.exec.name()))
        } else if pinned.dim != usual.dim {
            Some(format!("`dim {}`", usual.dim))
        } else if !share_alike(pinned.share, usual.share) {
            Some(format!("`{}`", usual.share))
        } else if !self.is_block(usual) && pinned.tile != usual.tile {
            Some(format!("`tile {}`", usual.tile))
        } else if self.is_block(usual) && !(pinned.tile.is_multiple_of(warp) && (warp..=most).contains(&pinned.tile)) {
            Some(format!("threads of a block: a multiple of {warp}, at most {most}"))
        } else {
            None
        }
    }
}

/// Whether they differ at most in how many groups get parts of a fold.
fn share_alike(pinned: Share, usual: Share) -> bool {
    pinned == usual || matches!((pinned, usual), (Share::Dealt(_), Share::Dealt(_)))
}

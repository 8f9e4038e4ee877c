//! Pinned plans for devices. What a line may change is the size of blocks: where the planner has its usual one.

use super::device::{Natives, explore_device};
use super::pins::{NEW_PLAN, PinnedNest, unfit};
use super::{DeviceFate, LevelPlan, Limits, Nest, Plan, Share, Strategy};
use crate::compiler::diag::Diagnostic;
use crate::compiler::ir::par::{FuncId, Map, Program};
use crate::compiler::syntax::ast::Level;
use crate::compiler::target::DeviceModel;

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

#[cfg(test)]
mod tests {
    use crate::compiler::diag::Diagnostic;
    use crate::compiler::pipeline::{InputFile, Options, PipelineInput, PipelineOutput, compile};
    use crate::compiler::plan::{Limits, Natives, PinFile, explore_device};
    use crate::compiler::source::{SourceMap, Span};
    use crate::compiler::target::DeviceModel;

    const PROGRAM: &str = "function rows input float A[R][C]; output float y[R];
{ map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }
function scale input float x[N]; output float y[N]; { y = 2 * x; }
";
    const PLANS: &str = "entry rows
plan wide
nest warp
  iter r device-warp dim 0 tile 128 split
  iter c device-thread dim 0 tile 1 split
plan lone
nest thread
  iter r device-thread dim 0 tile 512 split
  iter c seq dim 0 tile 1 span
";

    fn build(plans: &str, cuda: bool) -> (SourceMap, PipelineOutput) {
        let mut sources = SourceMap::new();
        let program = sources.add("k.hdp", PROGRAM);
        let plans = sources.add("k.plan", plans);
        let files = vec![InputFile { id: program, stem: "k".into(), imports: Vec::new() }];
        let options = Options { pins: vec![PinFile { program, plans }], cuda, ..Options::default() };
        (sources.clone(), compile(&PipelineInput { sources, files, options }))
    }
    fn errors(plans: &str) -> String {
        let (sources, output) = build(plans, false);
        let line = |span: Span| sources.position(span).line;
        let text = |d: &Diagnostic| format!("{}: {} | {}", line(d.primary.span), d.headline, d.primary.text);
        output.diagnostics.iter().map(text).collect::<Vec<_>>().join("\n")
    }
    fn versions(output: &PipelineOutput) -> Vec<&str> {
        output.rust.split("plan: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn pinned_plans_of_devices_are_the_versions_there() {
        assert_eq!(errors(PLANS), "");
        let (_, output) = build(PLANS, true);
        assert_eq!(versions(&output), ["rows", "team", "serial", "wide", "lone", "rows", "serial", "thread"]);
        let text = &output.cuda[0].text;
        assert!(text.contains("128") && text.contains("512"), "{text}");
        // The compiler's rules know them by their levels.
        assert!(output.rust.contains("Bound::Fixed(65536)"), "{}", output.rust);
        assert_eq!(versions(&build(PLANS, false).1), ["rows", "team", "serial", "rows", "serial"]);
        let both = format!(
            "{PLANS}plan serial\nnest serial\n  iter r seq dim 0 tile 1 span\n  iter c simd dim 0 tile 8192 span\n"
        );
        assert_eq!(versions(&build(&both, true).1)[..3], ["serial", "wide", "lone"]);
    }

    #[test]
    fn how_many_groups_share_a_fold_may_be_pinned() {
        let split = "entry rows
plan fewer
nest block
  iter r device-block dim 0 tile 256 split
  iter c device-thread dim 0 tile 4096 split(77)
";
        assert_eq!(errors(split), "");
        let (_, output) = build(split, true);
        assert!(output.cuda[0].text.contains("hidp::div<int64_t>(77L, "), "{}", output.cuda[0].text);
        let changed = |from: &str, to: &str| errors(&split.replace(from, to));
        assert_eq!(changed("tile 4096", "tile 32"), "5: `c` cannot run like this | expected `tile 4096`");
        assert_eq!(changed("split(77)", "split(0)").lines().count(), 1);
    }

    #[test]
    fn what_the_planner_prints_fits() {
        let mut sources = SourceMap::new();
        let id = sources.add("k.hdp", PROGRAM);
        let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
        let options = Options { cuda: true, ..Options::default() };
        let input = PipelineInput { sources, files, options };
        let mut sink = crate::compiler::diag::Sink::new();
        let program = crate::compiler::pipeline::front(&input, &mut sink)
            .and_then(|program| crate::compiler::pipeline::optimise(program, &mut sink))
            .unwrap();
        let mut text = String::new();
        for &func in &program.entries {
            text.push_str(&format!("entry {}\n", program.funcs[func].name));
            let explored = explore_device(&program, func, &DeviceModel::cuda(), Limits::default(), Natives::Everywhere);
            explored.plans.iter().for_each(|plan| text.push_str(&plan.to_string()));
        }
        assert!(text.contains("device-warp"), "{text}");
        assert_eq!(errors(&text), "");
        let (pinned, usual) = (build(&text, true).1, compile(&input));
        assert_eq!((pinned.rust, pinned.cuda), (usual.rust, usual.cuda));
    }

    #[test]
    fn unfit_plans_say_where_with_and_without_cuda() {
        let changed = |from: &str, to: &str| errors(&PLANS.replace(from, to));
        let blocks = "expected threads of a block: a multiple of 32, at most 1024";
        assert_eq!(changed("tile 128", "tile 100"), format!("4: `r` cannot run like this | {blocks}"));
        assert_eq!(changed("tile 128", "tile 2048"), format!("4: `r` cannot run like this | {blocks}"));
        assert_eq!(
            changed("seq dim 0 tile 1 span", "seq dim 0 tile 2 span"),
            "9: `c` cannot run like this | expected `tile 1`"
        );
        assert_eq!(
            changed("device-warp dim", "device-block dim"),
            "4: `r` cannot run like this | expected `device-warp`"
        );
        assert_eq!(
            changed("  iter c seq dim 0 tile 1 span\n", ""),
            "7: this nest of `rows` has 2 iterators, not 1 | expected lines for r, c"
        );
        assert_eq!(
            errors("entry scale\nplan warp\nnest warp\n  iter i device-warp dim 0 tile 256 split\n"),
            "3: this nest of `scale` cannot run as `warp` | excluded: no iteration has a map or primitive inside that lanes could share"
        );
        assert_eq!(
            changed("tile 1 split\n", "tile 1 split\n  stage A 0 rows 32x8 buffers 1 pad 0\n"),
            "6: arrays are not staged like this | expected the planner's `stage` lines"
        );
        let reserved = "the name of a place: `host` and `device` are where plans run";
        assert_eq!(
            changed("plan lone", "plan host"),
            format!("6: `host` cannot be the name of this plan | {reserved}")
        );
        assert_eq!(
            changed("plan lone", "plan team"),
            "6: `team` cannot be the name of this plan | the planner calls a plan for the processor so"
        );
    }
}

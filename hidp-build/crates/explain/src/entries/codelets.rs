//! The codelets that an entry could take, and what became of each.

use hidp_build::compiler::pipeline::{PipelineInput, alternatives, front};
use hidp_ir::par::{FuncId, Program};
use hidp_plan::target::{CallLevels, DeviceModel, Model};
use hidp_plan::{Composed, Models, composed};
use hidp_syntax::diag::Sink;

/// The program as checked, which still has its codelets.
pub(super) struct Codelets {
    program: Option<Program>,
    /// What a build for devices knows of them, if it is one.
    device: Option<DeviceModel>,
}

impl Codelets {
    pub(super) fn of(input: &PipelineInput) -> Codelets {
        let program = front(input, &mut Sink::new()).filter(|program| !program.spectra.is_empty());
        Codelets { program, device: input.options.cuda.then(DeviceModel::cuda) }
    }

    /// A line for each and one on the search, and others for devices.
    pub(super) fn lines(&self, entry: &str) -> Vec<String> {
        let Some(program) = &self.program else { return Vec::new() };
        let Some(entry) = program.entries.iter().copied().find(|id| program.funcs[*id].name == entry) else {
            return Vec::new();
        };
        let lines = |levels: &CallLevels| {
            let Composed { codelets, cut, searched, .. } = composed(program, entry, levels);
            let left = if cut { ", others left out unseen" } else { "" };
            let search = (!codelets.is_empty()).then(|| format!("searched {searched}{left}"));
            codelets.into_iter().map(|fate| fate.to_string()).chain(search).collect::<Vec<_>>()
        };
        let device = self.device.iter().flat_map(|device| lines(&device.calls));
        let device = device.map(|line| format!("on devices, {line}"));
        lines(&Model::cpu().calls).into_iter().chain(device).collect()
    }
}

/// A line for each composition that is no version of an ordinary build.
pub(super) fn left_out(input: &PipelineInput, program: &Program, entry: FuncId) -> Vec<String> {
    let found = alternatives::all(input, program, entry, &Model::cpu()).left_out;
    let processors = found.into_iter().map(|(name, why)| format!("{name}: no version, {why}"));
    if !input.options.cuda {
        return processors.collect();
    }
    let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
    let devices = alternatives::left_out_of_devices(input, program, entry, models);
    let line = |(name, level)| format!("{name}: no version for devices, the planner has none at level `{level}`");
    processors.chain(devices.into_iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Wanted, entries};
    use crate::testing::{PRODUCT, input, optimised};
    use hidp_build::compiler::pipeline::{Options, PipelineInput, alternatives};
    use hidp_ir::par::Program;
    use hidp_plan::target::{DeviceModel, Model};
    use hidp_plan::{Models, PinFile, Plan, check_pins};
    use hidp_syntax::diag::{Code, Sink};

    /// The names of the plans of the one entry for processors, and for devices.
    type Plans = (Vec<String>, Vec<String>);

    /// The plans of a program with this file of plans beside it, or what is wrong with the file.
    fn pinned(program: &Program, plans: &str) -> Result<Plans, Vec<Code>> {
        let mut build = input("", Options { cuda: true, ..Options::default() });
        let (of, plans) = (build.files[0].id, build.sources.add("k.plan", plans));
        build.options.pins = vec![PinFile { program: of, plans }];
        planned(&build, program)
    }

    fn planned(build: &PipelineInput, program: &Program) -> Result<Plans, Vec<Code>> {
        let (mut sink, cpu, device) = (Sink::new(), Model::cpu(), DeviceModel::cuda());
        let models = Models { cpu: &cpu, device: &device };
        check_pins(program, &build.sources, &build.options.pins, models, &mut sink);
        let found = sink.finish();
        if !found.is_empty() {
            return Err(found.iter().map(|found| found.code).collect());
        }
        let entry = program.entries[0];
        let names = |all: Vec<(_, Vec<Plan>)>| {
            let mut names: Vec<String> = all.into_iter().flat_map(|(_, plans)| plans).map(|plan| plan.name).collect();
            names.sort_unstable();
            names
        };
        let processors = names(alternatives::all(build, program, entry, &cpu).plans);
        Ok((processors, names(alternatives::all_of_devices(build, program, entry, models))))
    }

    #[test]
    fn compositions_at_levels_that_the_planner_lacks_are_no_versions() {
        let text = include_str!("../../../../tests/cases/run/codelets_tiles.hdp");
        let build = input(text, Options { cuda: true, ..Options::default() });
        let program = optimised(&build);
        let text = entries(&build, &program, &program.entries, Wanted::default(), Ok(&[]));
        let line = "boxes_boxes_boxes: no version for devices, the planner has none at level `block`";
        assert!(text.contains(line), "{text}");
        let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
        let all =
            program.entries.iter().flat_map(|entry| alternatives::all_of_devices(&build, &program, *entry, models));
        let names: Vec<String> = all.flat_map(|(_, plans)| plans).map(|plan| plan.name).collect();
        assert!(!names.iter().any(|name| name.starts_with("boxes_boxes_boxes")), "{names:?}");
        assert!(names.iter().any(|name| name == "boxes_thread"), "{names:?}");
    }

    /// Fates, and trees of what is kept, on both targets.
    #[test]
    fn explanations_show_fates_and_trees() {
        let text =
            "function sum input float x[N]; output float s; { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }
            codelet sum \"parts\" when (N >= 64) tunable long p = {64};
            { float part[p]; map { t := [0:p); sum(x[tiles t of p], part[t]); } sum(part, s); }
            codelet sum \"long\" when (N >= 1000000000000) { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }";
        let mut build = input(text, Options { cuda: true, ..Options::default() });
        build.options.limits.compositions = true;
        let program = optimised(&build);
        let text = entries(&build, &program, &program.entries, Wanted::default(), Ok(&[]));
        let sections = text.split("\n\n").filter_map(|section| section.split_once('\n'));
        let fates = sections.clone().find(|(title, _)| *title == "codelets").expect("codelets").1;
        let fates: Vec<&str> =
            fates.lines().map(|line| line.trim_start().split("; ").next().unwrap_or_default()).collect();
        let expected = ["adjacent", "strided"]
            .map(|way| format!("sum \"parts\" with {way} tiles: kept in 1 composition"))
            .into_iter()
            .chain(["sum \"long\": kept in 1 composition".to_owned()]);
        let expected = expected.clone().chain(expected.map(|line| format!("on devices, {line}")));
        let (searches, fates): (Vec<&str>, Vec<&str>) = fates.into_iter().partition(|line| line.contains("searched "));
        assert_eq!(fates, expected.collect::<Vec<_>>());
        assert_eq!(searches.len(), 2, "{searches:?}");
        let trees = sections.filter(|(title, _)| title.starts_with("composition ")).map(|(_, body)| {
            let words = ["compose ", "otherwise "];
            let tree = body.lines().filter(|line| words.iter().any(|word| line.trim_start().starts_with(word)));
            tree.map(|line| &line[2..]).collect::<Vec<_>>().join("\n")
        });
        let trees: Vec<String> = trees.collect();
        for (outer, inner) in [("host", "seq"), ("kernel", "thread")] {
            let otherwise = format!("otherwise sum \"\" {outer}");
            let mut expected = vec![format!("compose sum \"long\" {outer}\n{otherwise}")];
            for way in ["adjacent", "strided"] {
                expected.push(format!(
                    "compose sum \"parts\" {outer} p=64 pieces({way})\n  compose sum \"\" {inner}\n  compose sum \"\" {outer}\n{otherwise}"
                ));
            }
            assert!(expected.iter().all(|tree| trees.contains(tree)), "{expected:#?} {trees:#?}");
        }
        assert_eq!(trees.len(), 6);
    }

    #[test]
    fn compositions_can_be_pinned() {
        let mut build = input(PRODUCT, Options { cuda: true, ..Options::default() });
        build.options.limits.compositions = true;
        let program = optimised(&build);
        let wanted = Wanted { format: Format::Pin, ..Wanted::default() };
        let text = entries(&build, &program, &program.entries, wanted, Ok(&[]));
        assert!(text.contains("compose mm \"blocks\" host mb="), "{text}");
        let all = planned(&build, &program);
        let (processors, devices) = all.clone().expect("right plans");
        for names in [processors, devices] {
            assert!(names.iter().any(|name| name.starts_with("blocks")), "{names:?}");
        }
        assert_eq!(pinned(&program, &text), all, "{text}");
        // One plan alone is the only version for processors.
        let start = text.find("plan blocks").expect("a plan with a composition");
        let end = text[start + 1..].find("\nplan ").map_or(text.len(), |at| start + 1 + at + 1);
        let one = format!("entry mm\n{}", &text[start..end]);
        let (processors, _) = pinned(&program, &one).unwrap_or_else(|found| panic!("{found:?} {one}"));
        assert!(processors.len() == 1 && processors[0].starts_with("blocks"), "{processors:?}");
        // Codelets and values that are gone.
        for (from, to) in
            [("\"blocks\"", "\"bricks\""), ("mb=", "mb=7"), ("nb=", "zz="), ("pieces(adjacent", "pieces(strided")]
        {
            let changed = one.replacen(from, to, 1);
            assert_ne!(changed, one, "{from}");
            assert_eq!(pinned(&program, &changed), Err(vec![Code::UnfitPlan]), "{changed}");
        }
        let plain = "function mm input int x[N]; output int y[N]; { y = x; }";
        let plain = optimised(&input(plain, Options::default()));
        assert_eq!(pinned(&plain, &one), Err(vec![Code::UnfitPlan]));
    }
}

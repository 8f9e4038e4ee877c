//! The codelets that an entry could take, and what became of each.

use crate::compiler::pipeline::{PipelineInput, front};
use hidp_ir::par::Program;
use hidp_plan::composed;
use hidp_plan::target::Model;
use hidp_syntax::diag::Sink;

/// The program as checked, which still has its codelets.
pub(super) struct Codelets(Option<Program>);

impl Codelets {
    pub(super) fn of(input: &PipelineInput) -> Codelets {
        let program = front(input, &mut Sink::new());
        Codelets(program.filter(|program| !program.spectra.is_empty()))
    }

    /// A line for each.
    pub(super) fn lines(&self, entry: &str) -> Vec<String> {
        let Some(program) = &self.0 else { return Vec::new() };
        let entry = program.entries.iter().copied().find(|id| program.funcs[*id].name == entry);
        let composed = entry.map(|entry| composed(program, entry, &Model::cpu())).unwrap_or_default();
        composed.codelets.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Wanted, entries};
    use crate::compiler::pipeline::testing::{PRODUCT, input, optimised};
    use crate::compiler::pipeline::{InputFile, Options, PipelineInput, PipelineOutput, compile};
    use hidp_plan::PinFile;
    use hidp_syntax::diag::Code;
    use hidp_syntax::source::SourceMap;

    /// A program with a file of plans beside it.
    fn pinned(text: &str, plans: &str) -> PipelineOutput {
        let mut sources = SourceMap::new();
        let program = sources.add("k.hdp", text);
        let plans = sources.add("k.plan", plans);
        let files = vec![InputFile { id: program, stem: "k".into(), imports: Vec::new() }];
        let options = Options { pins: vec![PinFile { program, plans }], cuda: true, ..Options::default() };
        compile(&PipelineInput { sources, files, options })
    }

    /// The names of all versions, in order.
    fn versions(output: &PipelineOutput) -> Vec<&str> {
        output.rust.split("plan: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn compositions_can_be_pinned() {
        let build = input(PRODUCT, Options { cuda: true, ..Options::default() });
        let program = optimised(&build);
        let wanted = Wanted { format: Format::Pin, ..Wanted::default() };
        let text = entries(&build, &program, &program.entries, wanted, Ok(&[]));
        assert!(text.contains("compose mm \"blocks\" host mb="), "{text}");
        let output = pinned(PRODUCT, &text);
        assert_eq!(output.diagnostics, [], "{text}");
        let mut usual = versions(&output);
        usual.sort_unstable();
        let planned = compile(&build);
        let mut expected = versions(&planned);
        expected.sort_unstable();
        assert_eq!(usual, expected);
        // One plan alone is the only version for processors, and the preferred one.
        let start = text.find("plan blocks").expect("a plan with a composition");
        let end = text[start + 1..].find("\nplan ").map_or(text.len(), |at| start + 1 + at + 1);
        let one = format!("entry mm\n{}", &text[start..end]);
        let output = pinned(PRODUCT, &one);
        assert_eq!(output.diagnostics, [], "{one}");
        let processors: Vec<&str> = output.versions.iter().flat_map(|entry| &entry.plans).map(String::as_str).collect();
        assert!(processors.len() == 1 && processors[0].starts_with("blocks"), "{processors:?}");
        // Codelets and values that are gone.
        for (from, to) in
            [("\"blocks\"", "\"bricks\""), ("mb=", "mb=7"), ("nb=", "zz="), ("pieces(adjacent", "pieces(strided")]
        {
            let changed = one.replacen(from, to, 1);
            assert_ne!(changed, one, "{from}");
            let codes: Vec<Code> = pinned(PRODUCT, &changed).diagnostics.iter().map(|found| found.code).collect();
            assert_eq!(codes, [Code::UnfitPlan], "{changed}");
        }
        let plain = "function mm input int x[N]; output int y[N]; { y = x; }";
        let codes: Vec<Code> = pinned(plain, &one).diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, [Code::UnfitPlan]);
    }
}

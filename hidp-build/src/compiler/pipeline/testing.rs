//! What tests of whole builds start from.

use hidp_ir::par::Program;
use hidp_syntax::diag::Sink;
use hidp_syntax::source::SourceMap;

use super::{InputFile, Options, PipelineInput, front, optimise};

/// A build of one file.
pub(crate) fn input(text: &str, options: Options) -> PipelineInput {
    let mut sources = SourceMap::new();
    let id = sources.add("k.hdp", text);
    let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
    PipelineInput { sources, files, options }
}

/// Its program after all passes.
pub(crate) fn optimised(input: &PipelineInput) -> Program {
    let mut sink = Sink::new();
    let program = front(input, &mut sink).and_then(|program| optimise(program, &mut sink));
    program.unwrap_or_else(|| panic!("{:?}", sink.finish()))
}

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
    let program = front(input, &mut sink).and_then(|program| optimise(program, input.options.cuda, &mut sink));
    program.unwrap_or_else(|| panic!("{:?}", sink.finish()))
}

/// A matrix product with a codelet that calls it for blocks.
pub(crate) const PRODUCT: &str = r#"
function mm input float A[M][K], B[K][N]; output float C[M][N];
{ map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce("+", C[m][n], _t, k := [*]); }
codelet mm "blocks" tunable long mb = {64, 128}, nb = {32, 64};
{
  map { i := [0:(M + mb - 1) / mb); j := [0:(N + nb - 1) / nb);
    mm(A[adjacent i by mb][*], B[*][adjacent j by nb], C[adjacent i by mb][adjacent j by nb]);
  }
}
"#;

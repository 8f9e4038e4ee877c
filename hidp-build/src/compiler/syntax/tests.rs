//! Tests of the whole of `syntax`.

use super::parse;
use crate::compiler::diag::{Diagnostic, Sink};
use crate::compiler::source::SourceMap;
use crate::compiler::syntax::ast::File;

const CANONICAL: [&str; 4] = [
    include_str!("../../../tests/cases/parse/gemm.hdp"),
    include_str!("../../../tests/cases/parse/himeno.hdp"),
    include_str!("../../../tests/cases/parse/spmv_csr.hdp"),
    include_str!("../../../tests/cases/parse/quicksort.hdp"),
];

fn parsed(text: &str) -> (File, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let file = sources.add("test.hdp", text);
    let mut sink = Sink::new();
    let tree = parse(&sources, file, &mut sink);
    (tree, sink.finish())
}

#[test]
fn canonical_programs_parse() {
    for program in CANONICAL {
        let (tree, diagnostics) = parsed(program);
        assert_eq!(diagnostics, [], "{program}");
        assert!(!tree.items.is_empty());
    }
}

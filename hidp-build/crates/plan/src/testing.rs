//! What tests of plans start from.

use crate::target::{Model, domains};
use hidp_check::{SourceUnit, check};
use hidp_ir::par::Program;
use hidp_syntax::diag::Sink;
use hidp_syntax::parse;
use hidp_syntax::source::SourceMap;

/// The program of one file, checked and after all passes.
pub(crate) fn optimised(text: &str) -> Program {
    let mut program = checked(text);
    hidp_pass::run(&mut program, hidp_pass::PIPELINE).expect("no pass breaks a program");
    program
}

/// The program of one file, checked.
pub(crate) fn checked(text: &str) -> Program {
    let mut sources = SourceMap::new();
    let mut sink = Sink::new();
    let id = sources.add("k.hdp", text);
    let unit = SourceUnit { id, ast: parse(&sources, id, &mut sink), imports: Vec::new() };
    let program = check(&sources, &[unit], &domains([&Model::cpu().codelets]), &mut sink);
    assert!(!sink.has_errors(), "{:?}", sink.finish());
    program
}

//! What tests of plans start from.

use crate::target::{Model, domains};
use hidp_check::{SourceUnit, check};
use hidp_ir::par::Program;
use hidp_syntax::ast::Item;
use hidp_syntax::diag::Sink;
use hidp_syntax::parse;
use hidp_syntax::source::{FileId, SourceMap};

/// The program of one file, checked and after all passes.
pub(crate) fn optimised(text: &str) -> Program {
    let mut program = checked(text);
    hidp_pass::run(&mut program, hidp_pass::PIPELINE).expect("no pass breaks a program");
    program
}

/// The program of one file, checked.
pub(crate) fn checked(text: &str) -> Program {
    checked_files(&[("k.hdp", text)])
}

/// The program of several files by name, which may import one another.
pub(crate) fn checked_files(files: &[(&str, &str)]) -> Program {
    let mut sources = SourceMap::new();
    let mut sink = Sink::new();
    let ids: Vec<FileId> = files.iter().map(|(name, text)| sources.add(*name, *text)).collect();
    let mut unit = |id: &FileId| {
        let ast = parse(&sources, *id, &mut sink);
        let imported = |item: &Item| {
            let Item::Import(import) = item else { return None };
            files.iter().position(|(name, _)| *name == import.path)
        };
        SourceUnit { id: *id, imports: ast.items.iter().filter_map(imported).map(|at| ids[at]).collect(), ast }
    };
    let units: Vec<SourceUnit> = ids.iter().map(&mut unit).collect();
    let program = check(&sources, &units, &domains([&Model::cpu().codelets]), &mut sink);
    assert!(!sink.has_errors(), "{:?}", sink.finish());
    program
}

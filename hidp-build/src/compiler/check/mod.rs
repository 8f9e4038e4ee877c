//! From syntax trees to [`par`]: names, types, shapes, data-parallel statements, primitives. The last phase that reports
//! user errors.

use crate::compiler::diag::Sink;
use crate::compiler::ir::par;
use crate::compiler::source::{FileId, SourceMap};
use crate::compiler::syntax::ast;

/// One file of a build.
#[derive(Clone, Debug)]
pub struct SourceUnit {
    /// The file.
    pub id: FileId,
    /// Its syntax tree.
    pub ast: ast::File,
    /// The files it imports, in the order of its `import` items.
    pub imports: Vec<FileId>,
}

/// Checks all files of a build together. The program is meant for use only where `sink` holds no error.
pub fn check(_sources: &SourceMap, _units: &[SourceUnit], _sink: &mut Sink) -> par::Program {
    par::Program::default()
}

//! From syntax trees to [`par`]: names, types, shapes, data-parallel statements, primitives. The last phase that reports
//! user errors.
//!
//! Items are collected first (`collect`); then every body is checked on its own (`cx::Cx`): an error is reported once,
//! where it is found, and what depends on it stays quiet. Values keep no type while they are built from literals alone
//! (`value`); everything that reaches [`par`] has its exact type.
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

use hidp_ir::par;
use hidp_syntax::ast;
use hidp_syntax::diag::Sink;
use hidp_syntax::source::{FileId, SourceMap};

mod access;
mod assign;
mod atomic;
mod calls;
mod codelets;
mod collect;
mod convert;
mod counters;
mod cx;
mod directives;
mod expr;
mod fold;
mod func_calls;
mod functions;
mod header;
mod items;
mod lints;
mod maps;
mod ops;
mod ordered;
mod outputs;
mod parallel;
mod pieces;
mod pin_sections;
mod pin_words;
mod pins;
mod prims;
mod recurrence;
mod shape;
mod stmt;
mod structs;
mod suffix;
mod target;
#[cfg(test)]
mod tests;
mod turns;
mod value;

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

/// Checks all files of a build together; `domains` are what models say of tunables. The program is meant for use only where `sink` holds no error.
pub fn check(sources: &SourceMap, units: &[SourceUnit], domains: &ast::Domains, sink: &mut Sink) -> par::Program {
    let collected = collect::collect(sources, units, domains, sink);
    functions::check_bodies(&collected, sink)
}

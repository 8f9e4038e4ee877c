//! Rust: wrappers that check their arguments, and the tables that they check against.

use std::collections::BTreeMap;

use crate::compiler::ir::imp;
use crate::compiler::ir::par::{FuncId, Program};
use crate::compiler::source::{FileId, SourceMap};

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Whatever the target always has.
    Base,
    /// x86-64-v2
    V2,
    /// x86-64-v3
    V3,
    /// x86-64-v4
    V4,
}

impl Isa {
    /// As symbols carry it, and as `HIDP_ISA` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Base => "base",
            Isa::V2 => "v2",
            Isa::V3 => "v3",
            Isa::V4 => "v4",
        }
    }
    /// The variant's name in `hidp_std::Isa`.
    const fn variant(self) -> &'static str {
        match self {
            Isa::Base => "Base",
            Isa::V2 => "V2",
            Isa::V3 => "V3",
            Isa::V4 => "V4",
        }
    }
}

/// A library that the generated code links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its name, without `lib`.
    pub name: String,
    /// Whether it is a static one.
    pub is_static: bool,
}

/// An entry: what it is, and what was made of it.
#[derive(Clone, Copy, Debug)]
pub struct EntryInfo<'a> {
    /// The function.
    pub func: FuncId,
    /// Its versions and fault sites.
    pub entry: &'a imp::Entry,
}

/// What the modules of a build share.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Instruction sets, most demanding first.
    pub isas: &'a [Isa],
    /// Whether the build script vouches for native functions.
    pub vouched: bool,
    /// The module of each file.
    pub stems: &'a BTreeMap<FileId, String>,
}

/// The module of `<stem>.hdp`: its structs and a function for each of its entries. `entries` are those of this file.
pub fn module(
    program: &Program,
    sources: &SourceMap,
    stem: &str,
    entries: &[EntryInfo<'_>],
    options: &Options<'_>,
) -> String {
    let _ = (program, sources, entries, options, Isa::variant);
    format!("pub mod {stem} {{}}\n")
}

/// `hidp_kernels.rs`: the modules, and what they link.
pub fn file(modules: &[String], libraries: &[Library]) -> String {
    let _ = libraries;
    modules.concat()
}

/// `hidp_kernels.rs` of a build that failed: shows `text` where kernels are included.
pub fn failure(text: &str) -> String {
    format!("compile_error!({text:?});\n")
}

//! Everything in order: sources and options in, generated files and diagnostics out.

use crate::compiler::diag::Diagnostic;
use crate::compiler::emit::rust::{Isa, Library};
use crate::compiler::source::{FileId, SourceMap};

/// A build.
#[derive(Clone, Debug, Default)]
pub struct PipelineInput {
    /// Every file of the build, imported ones included.
    pub sources: SourceMap,
    /// What is known of each file, in the order of generated modules.
    pub files: Vec<InputFile>,
    /// What can be chosen.
    pub options: Options,
}

/// A file and what it imports.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// The file.
    pub id: FileId,
    /// Name of its Rust module and of its C++ file: an identifier, unique in the build.
    pub stem: String,
    /// The files that its `import` items mean, in their order. No file imports itself, directly or not.
    pub imports: Vec<FileId>,
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Part of every symbol, so that the kernels of two crates in one program do not meet: see [`symbol`].
    pub namespace: String,
    /// Instruction sets that the C++ is compiled for, most demanding first.
    pub isas: Vec<Isa>,
    /// Whether `#line` directives tie the C++ to the `.hdp` files.
    pub line_directives: bool,
    /// C++ headers that declare the native functions and structs.
    pub native_headers: Vec<String>,
    /// Whether the build script vouches for the native functions: wrappers that use them are safe.
    pub vouched: bool,
    /// Libraries that the generated Rust links.
    pub libraries: Vec<Library>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: "k".into(),
            isas: vec![Isa::Base],
            line_directives: true,
            native_headers: Vec::new(),
            vouched: false,
            libraries: Vec::new(),
        }
    }
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Name without folder: `gemm.cpp`.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// What a build gives.
#[derive(Clone, Debug, Default)]
pub struct PipelineOutput {
    /// Contents of `hidp_kernels.rs`; meaningless if a diagnostic is an error.
    pub rust: String,
    /// One C++ file for each `.hdp` file with entries; none if a diagnostic is an error.
    pub cpp: Vec<GeneratedFile>,
    /// Errors and warnings, in order of file and position.
    pub diagnostics: Vec<Diagnostic>,
}

/// The part of its symbols that names an entry: `imp::Entry::symbol`. Unambiguous for every pair of names.
pub fn symbol(namespace: &str, stem: &str, function: &str) -> String {
    format!("{namespace}_{}{stem}_{function}", stem.len())
}

#[cfg(test)]
mod tests {
    use super::symbol;

    #[test]
    fn symbols_differ_where_joined_names_do_not() {
        assert_ne!(symbol("k", "a_b", "c"), symbol("k", "a", "b_c"));
    }
}

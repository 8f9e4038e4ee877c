//! Everything in order: sources and options in, generated files and diagnostics out.

use std::collections::BTreeMap;

use crate::compiler::check::{SourceUnit, check};
use crate::compiler::diag::{Code, Diagnostic, Sink};
use crate::compiler::emit::rust::{EntryInfo, Isa, Library};
use crate::compiler::emit::{openmp, rust};
use crate::compiler::ir::imp;
use crate::compiler::ir::par::{FuncId, Program};
use crate::compiler::lower::lower;
use crate::compiler::pass;
use crate::compiler::plan::candidates;
use crate::compiler::source::{FileId, SourceMap, Span};
use crate::compiler::syntax::parse;
use crate::compiler::target::Model;

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

/// Compiles a build.
pub fn compile(input: &PipelineInput) -> PipelineOutput {
    let mut sink = Sink::new();
    let (rust, cpp) = generate(input, &mut sink).unwrap_or_default();
    PipelineOutput { rust, cpp, diagnostics: sink.finish() }
}

/// The Rust file and the C++ files, unless an error was reported.
fn generate(input: &PipelineInput, sink: &mut Sink) -> Option<(String, Vec<GeneratedFile>)> {
    let program = front(input, sink)?;
    let model = Model::cpu();
    let stems: BTreeMap<FileId, String> = input.files.iter().map(|file| (file.id, file.stem.clone())).collect();
    let options = rust::Options { isas: &input.options.isas, vouched: input.options.vouched, stems: &stems };
    let cpp_options = openmp::Options {
        line_directives: input.options.line_directives,
        native_headers: input.options.native_headers.clone(),
    };
    let (mut modules, mut cpp) = (Vec::new(), Vec::new());
    for InputFile { id, stem, .. } in &input.files {
        let funcs: Vec<FuncId> =
            program.entries.iter().copied().filter(|&func| program.funcs[func].span.file == *id).collect();
        let entries: Vec<imp::Entry> = funcs
            .iter()
            .map(|&func| {
                let symbol = symbol(&input.options.namespace, stem, &program.funcs[func].name);
                lower(&program, func, &symbol, &candidates(&program, func, &model), &model)
            })
            .collect();
        let infos: Vec<EntryInfo<'_>> =
            funcs.iter().zip(&entries).map(|(&func, entry)| EntryInfo { func, entry }).collect();
        modules.push(rust::module(&program, &input.sources, stem, &infos, &options));
        if !entries.is_empty() {
            let text = openmp::module(&program, &input.sources, stem, &entries, &cpp_options);
            cpp.push(GeneratedFile { name: format!("{stem}.cpp"), text });
        }
    }
    let libraries = if cpp.is_empty() { &[] } else { &*input.options.libraries };
    Some((rust::file(&modules, libraries), cpp))
}

/// The program after all passes, unless an error was reported.
fn front(input: &PipelineInput, sink: &mut Sink) -> Option<Program> {
    let units: Vec<SourceUnit> = input
        .files
        .iter()
        .map(|InputFile { id, imports, .. }| SourceUnit {
            id: *id,
            ast: parse(&input.sources, *id, sink),
            imports: imports.clone(),
        })
        .collect();
    if sink.has_errors() {
        return None;
    }
    let mut program = check(&input.sources, &units, sink);
    if sink.has_errors() {
        return None;
    }
    if let Err(error) = pass::run(&mut program, pass::PIPELINE) {
        let start = Span::new(input.files.first()?.id, 0, 0);
        let span = program.entries.first().map_or(start, |&entry| program.funcs[entry].span);
        sink.push(Diagnostic::new(Code::Internal, span, "this is a defect of hidp-build").note(error.to_string()));
        return None;
    }
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::symbol;

    #[test]
    fn symbols_differ_where_joined_names_do_not() {
        assert_ne!(symbol("k", "a_b", "c"), symbol("k", "a", "b_c"));
    }
}

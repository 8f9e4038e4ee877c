//! The front end over a case: sources, trees and diagnostics.

use std::fs;
use std::path::Path;

use hidp_build::compiler::check::{SourceUnit, check};
use hidp_build::compiler::diag::{Diagnostic, Severity, Sink};
use hidp_build::compiler::ir::par::Program;
use hidp_build::compiler::pass;
use hidp_build::compiler::pipeline::compare;
use hidp_build::compiler::plan::{Models, check_directives, compose};
use hidp_build::compiler::source::{FileId, SourceMap};
use hidp_build::compiler::syntax::{ast, parse};
use hidp_build::compiler::target::{DeviceModel, Model, domains};

use crate::case::Case;

/// What the front end says of a case.
pub(crate) struct Front {
    /// The case and the files that it imports.
    pub(crate) sources: SourceMap,
    /// The case.
    pub(crate) file: FileId,
    /// The case's tree.
    pub(crate) tree: ast::File,
    /// What was reported, in order.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Parses a text alone.
pub(crate) fn parsed(name: &str, text: &str) -> Front {
    let mut sources = SourceMap::new();
    let file = sources.add(name, text);
    let mut sink = Sink::new();
    let tree = parse(&sources, file, &mut sink);
    Front { sources, file, tree, diagnostics: sink.finish() }
}

/// Parses a case and its imports and, if that went well, checks them; then what directives ask of plans.
pub(crate) fn checked(case: &Case) -> Front {
    checked_as(case, &case.text)
}

/// The same with another text in the case's place.
pub(crate) fn checked_as(case: &Case, text: &str) -> Front {
    compiled(case, text).0
}

/// The program of a case that must have no errors.
pub(crate) fn program(case: &Case) -> Result<Program, String> {
    let (front, program) = compiled(case, &case.text);
    let errors: Vec<&str> = front
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| diagnostic.headline.as_str())
        .collect();
    if errors.is_empty() { Ok(program) } else { Err(format!("does not compile: {}", errors.join("; "))) }
}

fn compiled(case: &Case, text: &str) -> (Front, Program) {
    let mut build = Build { sources: SourceMap::new(), units: Vec::new(), sink: Sink::new() };
    let folder = case.path.parent().expect("a case lies in a folder");
    let name = format!("{}.hdp", case.name);
    let file = build.add(folder, &name, text);
    let mut program = Program::default();
    if !build.sink.has_errors() {
        program = check(&build.sources, &build.units, &domains([&Model::cpu().codelets]), &mut build.sink);
    }
    if !build.sink.has_errors() {
        compare(&program, &mut build.sink);
    }
    if !build.sink.has_errors() {
        let mut optimised = program.clone();
        compose(&mut optimised, &Model::cpu(), None, &mut build.sink);
        pass::run(&mut optimised, pass::PIPELINE).unwrap_or_else(|error| panic!("{name}: {error}"));
        let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
        check_directives(&optimised, models, &mut build.sink);
    }
    let tree = build.units.into_iter().find(|unit| unit.id == file).expect("the case is a unit").ast;
    (Front { sources: build.sources, file, tree, diagnostics: build.sink.finish() }, program)
}

struct Build {
    sources: SourceMap,
    units: Vec<SourceUnit>,
    sink: Sink,
}

impl Build {
    /// Adds a file and what it imports; imported files are named relative to `folder`.
    fn add(&mut self, folder: &Path, name: &str, text: &str) -> FileId {
        let id = self.sources.add(name, text);
        let ast = parse(&self.sources, id, &mut self.sink);
        let paths: Vec<String> = ast.items.iter().filter_map(imported).collect();
        let imports = paths.iter().map(|path| self.import(folder, path)).collect();
        self.units.push(SourceUnit { id, ast, imports });
        id
    }

    fn import(&mut self, folder: &Path, path: &str) -> FileId {
        if let Some((id, _)) = self.sources.iter().find(|(_, file)| file.name() == path) {
            return id;
        }
        let text = fs::read_to_string(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        self.add(folder, path, &text)
    }
}

fn imported(item: &ast::Item) -> Option<String> {
    match item {
        ast::Item::Import(import) => Some(import.path.clone()),
        ast::Item::Const(_)
        | ast::Item::Struct(_)
        | ast::Item::Function(_)
        | ast::Item::Scalar(_)
        | ast::Item::Recurrence(_)
        | ast::Item::Codelet(_) => None,
    }
}

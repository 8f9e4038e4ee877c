//! What the compiler made of an entry, for people: shapes, fusion, checks that remain, plans, and the generated code.

use std::fmt::Write as _;

use crate::compiler::emit::openmp;
use crate::compiler::ir::imp;
use crate::compiler::ir::par::{self, FuncId, Program, shape};
use crate::compiler::pass::fuse;
use crate::compiler::pipeline::{PipelineInput, lower_entry};
use crate::compiler::plan::{Plan, candidates, nests};
use crate::compiler::prove;
use crate::compiler::source::{SourceMap, Span};
use crate::compiler::target::Model;

/// What is asked for besides the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `par` after all passes.
    pub par: bool,
    /// `imp`, one unit a plan.
    pub imp: bool,
    /// The generated C++.
    pub source: bool,
}

/// Explains one entry of a program that went through all passes. Ends in a line break.
pub fn entry(input: &PipelineInput, program: &Program, func: FuncId, wanted: Wanted) -> String {
    let model = Model::cpu();
    let mut text = String::new();
    header(&input.sources, program, func, &mut text);
    shapes(program, func, &mut text);
    fusion(&input.sources, program, func, &mut text);
    checks(&input.sources, program, func, &mut text);
    plans(&candidates(program, func, &model), &mut text);
    let lowered = lower_entry(input, program, func, &model);
    units(&lowered, &mut text);
    if wanted.par {
        section("parallel form", &par::print(program), &mut text);
    }
    if wanted.imp {
        section("imperative form", &imp::print(program, &lowered), &mut text);
    }
    if wanted.source {
        let options = openmp::Options { line_directives: false, native_headers: input.options.native_headers.clone() };
        let source = openmp::module(program, &input.sources, "explained", &[lowered], &options);
        section("generated C++", &source, &mut text);
    }
    text
}

fn section(title: &str, body: &str, text: &mut String) {
    let _ = writeln!(text, "\n{title}");
    for line in body.lines() {
        let _ = if line.is_empty() { writeln!(text) } else { writeln!(text, "  {line}") };
    }
}

fn place(sources: &SourceMap, span: Span) -> String {
    let at = sources.position(span);
    format!("{}:{}:{}", sources.file(span.file).name(), at.line, at.column)
}

fn header(sources: &SourceMap, program: &Program, func: FuncId, text: &mut String) {
    let item = &program.funcs[func];
    let _ = writeln!(text, "entry {}   {}", item.name, place(sources, item.span));
}

fn shapes(program: &Program, func: FuncId, text: &mut String) {
    let item = &program.funcs[func];
    let lines: Vec<String> = nests(item).into_iter().map(|map| shape::nested(map).print(program, &item.vars)).collect();
    section("nests after fusion, in order", &lines.join("\n"), text);
}

fn fusion(sources: &SourceMap, program: &Program, func: FuncId, text: &mut String) {
    let notes: Vec<String> = fuse::report(program, &program.funcs[func])
        .iter()
        .map(|note| format!("{} and {}: {}", place(sources, note.first), place(sources, note.second), note.reason))
        .collect();
    if !notes.is_empty() {
        section("nests that stay apart", &notes.join("\n"), text);
    }
}

fn checks(sources: &SourceMap, program: &Program, func: FuncId, text: &mut String) {
    let lines: Vec<String> = prove::remaining(program, func)
        .iter()
        .map(|check| {
            let snippet = sources.snippet(check.span).replace('\n', " ");
            format!("{} `{snippet}`: {}", place(sources, check.span), check.reason)
        })
        .collect();
    let body = if lines.is_empty() { "none".to_owned() } else { lines.join("\n") };
    section("checks that remain at run time", &body, text);
}

fn plans(plans: &[Plan], text: &mut String) {
    for (rank, plan) in plans.iter().enumerate() {
        let note = if rank == 0 { " (preferred)" } else { "" };
        section(&format!("plan {}{note}", plan.name), &plan.to_string(), text);
    }
}

fn units(entry: &imp::Entry, text: &mut String) {
    let lines: Vec<String> =
        entry.units.iter().map(|unit| format!("{}: {} kernels", unit.plan, unit.kernels.len())).collect();
    section("versions", &lines.join("\n"), text);
}

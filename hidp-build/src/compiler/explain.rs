//! What the compiler made of an entry, for people: shapes, fusion, checks that remain, plans, and the generated code.

use std::fmt::Write as _;

use crate::compiler::emit::{cuda, openmp};
use crate::compiler::ir::imp;
use crate::compiler::ir::par::{self, FuncId, Program, shape};
use crate::compiler::pass::fuse;
use crate::compiler::pipeline::{Lowered, PipelineInput, lower_entry};
use crate::compiler::plan::{
    Considered, Cost, Explored, Limits, Measure, MeasureOf, Plan, cost, explore, explore_device, nests,
};
use crate::compiler::prove;
use crate::compiler::source::{SourceMap, Span};
use crate::compiler::target::{DeviceModel, Model};

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
    let Explored { plans: found, nests: considered } = explore(program, func, &model, input.options.limits);
    candidates(program, func, &considered, &mut text);
    plans(&found, &mut text);
    if input.options.cuda {
        device_plans(program, func, input.options.limits, &mut text);
    }
    let lowered = lower_entry(input, program, func, &model);
    dispatching(program, &lowered, &mut text);
    costs(program, func, &mut text);
    units(&lowered.entry, &mut text);
    if wanted.par {
        section("parallel form", &par::print(program), &mut text);
    }
    if wanted.imp {
        section("imperative form", &imp::print(program, &lowered.entry), &mut text);
    }
    if wanted.source {
        let options = openmp::Options { line_directives: false, native_headers: input.options.native_headers.clone() };
        let entries = [lowered.entry];
        let source = openmp::module(program, &input.sources, "explained", &entries, &options);
        section("generated C++", &source, &mut text);
        if let Some(source) = cuda::module(program, &input.sources, "explained", &entries, &options) {
            section("generated CUDA", &source, &mut text);
        }
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

fn candidates(program: &Program, func: FuncId, considered: &[Vec<Considered>], text: &mut String) {
    let item = &program.funcs[func];
    let mut lines = Vec::new();
    for (map, row) in nests(item).into_iter().zip(considered) {
        lines.push(shape::nested(map).print(program, &item.vars).to_string());
        for Considered { strategy, score, fate } in row {
            let score = score.map_or(String::new(), |score| format!("  score {score}"));
            lines.push(format!("  {:<8}{fate}{score}", strategy.name()));
        }
    }
    section("candidates", &lines.join("\n"), text);
}

fn plans(plans: &[Plan], text: &mut String) {
    for (rank, plan) in plans.iter().enumerate() {
        let note = if rank == 0 { " (preferred)" } else { "" };
        section(&format!("plan {}{note}", plan.name), &plan.to_string(), text);
    }
}

/// What became of each level of a graphics processor.
fn device_plans(program: &Program, func: FuncId, limits: Limits, text: &mut String) {
    let explored = explore_device(program, func, &DeviceModel::cuda(), limits);
    let lines: Vec<String> = explored.fates.iter().map(|(level, fate)| format!("{:<9}{fate}", level.name())).collect();
    section("levels of a GPU", &lines.join("\n"), text);
    plans(&explored.plans, text);
}

fn dispatching(program: &Program, lowered: &Lowered, text: &mut String) {
    let Lowered { func, entry, dispatch } = lowered;
    let vars = &program.funcs[*func].vars;
    let name = |var: par::VarId| &vars[var].name;
    let value = |measure: &Measure| {
        let value = par::text::hidp_expr(program, vars, &measure.value);
        match measure.of {
            MeasureOf::Shapes => value,
            MeasureOf::Longest(bounds) => {
                format!("longest of the {value} segments in `{}` and `{}`", name(bounds.low.0), name(bounds.high.0))
            }
            MeasureOf::Balance(_) => "elements of all segments / longest".to_owned(),
        }
    };
    let mut lines: Vec<String> =
        dispatch.measures.iter().map(|measure| format!("{} = {}", measure.name, value(measure))).collect();
    lines.extend(dispatch.rules.iter().map(|rule| dispatch.print(rule)));
    lines.extend(entry.units.first().map(|unit| format!("otherwise: {}", unit.plan)));
    section("which version runs", &lines.join("\n"), text);
}

fn costs(program: &Program, func: FuncId, text: &mut String) {
    let item = &program.funcs[func];
    let print = |expr: Option<par::Expr>| {
        expr.map_or("unknown".to_owned(), |expr| par::text::hidp_expr(program, &item.vars, &expr))
    };
    let line = |map: &par::Map| {
        let Cost { bytes, flops } = cost(program, item, map);
        let shape = shape::nested(map).print(program, &item.vars);
        format!("{shape}\n  bytes: {}\n  FLOPs: {}", print(bytes), print(flops))
    };
    let lines: Vec<String> = nests(item).into_iter().map(line).collect();
    section("memory traffic (every array once) and arithmetic of each nest", &lines.join("\n"), text);
}

fn units(entry: &imp::Entry, text: &mut String) {
    let lines: Vec<String> =
        entry.units.iter().map(|unit| format!("{}: {} kernels", unit.plan, unit.kernels.len())).collect();
    section("versions", &lines.join("\n"), text);
}

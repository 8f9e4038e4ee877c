//! Kind `fuse`: what the passes make of a function, in comments anywhere in the case:
//!
//! ```text
//! // expect: maps 1
//! // expect: shape {[0:M,0:N],[0:K]}     (one a map, in order)
//! // expect: no array C1
//! // expect: array T
//! // expect: folds 2                     (of all maps, inner ones too)
//! // expect: swaps 1
//! // expect: apart "x at another index"  (two maps that did not fuse, and a part of the reason)
//! ```
//!
//! They are of the last entry. Besides, every pass must keep what the interpreter makes of the program: see [`crate::agree`].

use hidp_build::compiler::ir::par::{Block, Func, Program, Stmt, StmtKind, print, shape, visit};
use hidp_build::compiler::pass;

use crate::agree;
use crate::case::Case;
use crate::contents::{arrays, outermost};
use crate::front::program;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let before = program(case)?;
    agree::run(case, &before)?;
    let mut after = before;
    pass::run(&mut after, pass::PIPELINE).map_err(|error| error.to_string())?;
    let func = &after.funcs[*after.entries.last().ok_or("no entry")?];
    let expectations: Vec<&str> =
        case.text.lines().filter_map(|line| line.trim().strip_prefix("// expect: ")).collect();
    if expectations.is_empty() {
        return Err("expects nothing".into());
    }
    let failures: Vec<String> = expectations
        .iter()
        .filter(|expectation| !holds(&after, func, expectation))
        .map(|expectation| format!("  expected {expectation}"))
        .chain(other_shapes(&after, func, &expectations))
        .collect();
    let notes: Vec<String> =
        pass::fuse::report(&after, func).into_iter().map(|note| format!("  apart: {}", note.reason)).collect();
    let (failures, notes, text) = (failures.join("\n"), notes.join("\n"), print(&after));
    if failures.is_empty() { Ok(()) } else { Err(format!("{failures}\n{notes}\n{text}")) }
}

/// Shapes are compared as a list.
fn other_shapes(program: &Program, func: &Func, expectations: &[&str]) -> Option<String> {
    let expected: Vec<&str> = expectations.iter().filter_map(|text| text.strip_prefix("shape ")).collect();
    let found: Vec<String> =
        outermost(&func.body).into_iter().map(|map| shape::nested(map).print(program, &func.vars)).collect();
    (!expected.is_empty() && expected != found).then(|| format!("  found shapes\n    {}", found.join("\n    ")))
}

fn holds(program: &Program, func: &Func, expectation: &str) -> bool {
    let declared = arrays(&func.vars, &func.body);
    let count = |text: &str| text.parse::<usize>().ok();
    match expectation.split_once(' ') {
        Some(("maps", number)) => count(number) == Some(outermost(&func.body).len()),
        Some(("folds", number)) => count(number) == Some(folds(&func.body)),
        Some(("swaps", number)) => count(number) == Some(swaps(&func.body)),
        Some(("no", array)) => {
            array.strip_prefix("array ").is_some_and(|name| !declared.iter().any(|other| other == name))
        }
        Some(("array", name)) => declared.iter().any(|other| other == name),
        Some(("apart", reason)) => {
            pass::fuse::report(program, func).iter().any(|note| note.reason.contains(reason.trim_matches('"')))
        }
        Some(("shape", _)) => true,
        _ => false,
    }
}

fn folds(block: &Block) -> usize {
    let mut count = 0;
    visit::walk_stmts(block, |Stmt { kind, .. }| {
        if let StmtKind::Map(map) = kind {
            count += map.folds.len();
        }
    });
    count
}

fn swaps(block: &Block) -> usize {
    let mut count = 0;
    visit::walk_stmts(block, |stmt| count += usize::from(matches!(stmt.kind, StmtKind::Swap(..))));
    count
}

//! Warnings about programs that are legal, and probably unintended.
//!
//! They look at a program without errors, when it is known which iterations may touch one element. Each can be allowed for a
//! statement or a function.

mod copies;
mod faults;
mod lanes;
mod lost;
mod narrow;

pub(super) use faults::refuse as refuse_faults;

use hidp_ir::par::{FuncId, Program, ScalarFn};
use hidp_prove::Doubt;
use hidp_syntax::diag::{Diagnostic, Sink};
use hidp_syntax::source::SourceMap;

/// Looks at all functions. `doubts` are the accesses of each that could not be told apart.
pub(super) fn lint(program: &Program, doubts: &[(FuncId, Vec<Doubt>)], sources: &SourceMap, sink: &mut Sink) {
    for (_, func) in program.funcs.iter() {
        faults::lint(&func.vars, &func.body, sink);
        lost::lint(func, sources, sink);
        narrow::lint(&func.body, sources, sink);
    }
    for (_, ScalarFn { vars, body, .. }) in program.scalar_fns.iter() {
        if let Some(body) = body {
            faults::lint(vars, body, sink);
            narrow::lint(body, sources, sink);
        }
    }
    lanes::lint(program, doubts, sources, sink);
}

/// Adds how to say that it is meant.
fn or_allow(diagnostic: Diagnostic) -> Diagnostic {
    let name = diagnostic.code.info().name;
    diagnostic.help(format!("if it is meant, write `#pragma hidp allow({name})` before the statement or the function"))
}

//! Kind `check`: a case without expectations is accepted without any diagnostic, others with exactly those that they expect. A
//! program without errors must hold the invariants of the parallel representation.

use hidp_build::compiler::ir::par;

use crate::case::Case;
use crate::expectation;
use crate::front::{checked, checked_as, program};
use crate::suggestion;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let front = checked(case);
    suggestion::all_help(&case.text, &front, |edited| checked_as(case, edited))?;
    expectation::compare(case, &front)?;
    let Ok(program) = program(case) else { return Ok(()) };
    par::verify(&program).map_err(|violations| {
        let list: Vec<String> = violations.iter().map(|violation| format!("  {violation}\n")).collect();
        format!("the program is not well formed:\n{}", list.concat())
    })
}

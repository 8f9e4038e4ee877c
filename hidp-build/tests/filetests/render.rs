//! Kind `render`: the text that the user sees, once for every code. The case `HD0003.hdp` reports HD0003, and `HD0003.txt`
//! shows all that it reports.

use hidp_build::compiler::diag::{RenderStyle, render};

use crate::case::Case;
use crate::front::{checked, checked_as};
use crate::suggestion;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let front = checked(case);
    if !front.diagnostics.iter().any(|diagnostic| diagnostic.code.info().name == case.name) {
        return Err(format!("it does not report {}", case.name));
    }
    suggestion::all_help(&case.text, &front, |edited| checked_as(case, edited))?;
    let style = RenderStyle { color: false, explain: false };
    let texts: Vec<String> =
        front.diagnostics.iter().map(|diagnostic| render(&front.sources, diagnostic, style)).collect();
    case.golden("txt", &texts.join("\n"))
}

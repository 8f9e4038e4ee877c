//! Kind `parse`: rejected with the diagnostics that the case expects; or accepted, printed as in `.expected`, and read back as
//! the same tree.

use hidp_build::compiler::syntax::{ast, print};

use crate::case::Case;
use crate::expectation;
use crate::front::parsed;
use crate::suggestion;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let name = format!("{}.hdp", case.name);
    let front = parsed(&name, &case.text);
    suggestion::all_help(&case.text, &front, |edited| parsed(&name, edited))?;
    if expectation::any(&case.text) || !front.diagnostics.is_empty() {
        return expectation::compare(case, &front);
    }
    let printed = print(&front.tree);
    let again = parsed("printed.hdp", &printed);
    if let Some(diagnostic) = again.diagnostics.first() {
        return Err(format!("its printed form is rejected: {}\n{printed}", diagnostic.headline));
    }
    if without_spans(&again.tree) != without_spans(&front.tree) {
        return Err(format!("its printed form is another program:\n{printed}"));
    }
    case.golden("expected", &printed)
}

/// The tree as text without positions. Made from the derived form, so that no part of the tree can be forgotten.
fn without_spans(tree: &ast::File) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("Span { ");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |erased, part| erased + part.split_once('}').map_or("", |(_, rest)| rest))
}

//! Diagnostics as text.

use super::Diagnostic;
use crate::compiler::source::SourceMap;

/// How diagnostics look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderStyle {
    /// ANSI colours.
    pub color: bool,
    /// The explanation of the code after the message.
    pub explain: bool,
}

/// The diagnostic as rustc would show it; ends in a line break.
pub fn render(sources: &SourceMap, diagnostic: &Diagnostic, style: RenderStyle) -> String {
    let _ = style;
    let position = sources.position(diagnostic.primary.span);
    let file = sources.file(diagnostic.primary.span.file).name();
    let Diagnostic { headline, code, .. } = diagnostic;
    format!("error[{}]: {headline}\n --> {file}:{}:{}\n", code.info().name, position.line, position.column)
}

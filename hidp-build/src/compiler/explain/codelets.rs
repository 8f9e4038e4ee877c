//! The codelets that an entry could take, and what became of each.

use crate::compiler::pipeline::{PipelineInput, front};
use hidp_ir::par::Program;
use hidp_plan::composed;
use hidp_plan::target::Model;
use hidp_syntax::diag::Sink;

/// The program as checked, which still has its codelets.
pub(super) struct Codelets(Option<Program>);

impl Codelets {
    pub(super) fn of(input: &PipelineInput) -> Codelets {
        let program = front(input, &mut Sink::new());
        Codelets(program.filter(|program| !program.spectra.is_empty()))
    }

    /// A line for each.
    pub(super) fn lines(&self, entry: &str) -> Vec<String> {
        let Some(program) = &self.0 else { return Vec::new() };
        let entry = program.entries.iter().copied().find(|id| program.funcs[*id].name == entry);
        let composed = entry.map(|entry| composed(program, entry, &Model::cpu())).unwrap_or_default();
        composed.codelets.iter().map(ToString::to_string).collect()
    }
}

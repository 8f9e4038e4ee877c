//! Ways of recurrences in files of plans.

use super::PipelineInput;
use hidp_ir::par::{FuncId, Program};
use hidp_pass::recurrences;
use hidp_plan::pinned_courses;
use hidp_syntax::diag::Sink;

/// Recurrences are computed as files of plans and directives say, where they can be.
pub(super) fn check(program: &mut Program, input: &PipelineInput, sink: &mut Sink) {
    for file in &input.options.pins {
        for (name, pins) in pinned_courses(&input.sources, *file) {
            let of_name = |func: &FuncId| {
                let func = &program.funcs[*func];
                func.span.file == file.program && func.name == name
            };
            if let Some(entry) = program.entries.iter().copied().find(of_name) {
                recurrences::pin(program, entry, &pins).into_iter().for_each(|wrong| sink.push(wrong));
            }
        }
    }
    let wrong = [recurrences::shared(program), recurrences::unfit(program)].concat();
    wrong.into_iter().for_each(|wrong| sink.push(wrong));
}

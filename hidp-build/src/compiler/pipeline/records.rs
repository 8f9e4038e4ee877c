//! Tuning records that no entry takes.

use hidp_ir::par::Program;
use hidp_plan::Record;

use super::{Lowered, PipelineInput, stem_of};

/// Records that no entry of the build takes, and why.
pub(super) fn idle_records<'a>(
    input: &'a PipelineInput,
    lowered: &[&Lowered],
    program: &Program,
) -> Vec<(&'a Record, IdleRecord)> {
    let shown = |lowered: &&Lowered| {
        let item = &program.funcs[lowered.func];
        format!("{}::{}", stem_of(input, item.span), item.name)
    };
    let names: Vec<String> = lowered.iter().map(shown).collect();
    let taken = |record: &Record| lowered.iter().any(|lowered| lowered.dispatch.records.contains(record));
    let idle = input.options.records.iter().filter(|record| !taken(record));
    idle.filter_map(|record| match names.contains(&record.entry) {
        // Records of devices are for builds that have device code.
        true if record.is_for_devices() && !input.options.cuda => None,
        true => Some((record, IdleRecord::Stale)),
        false => Some((record, IdleRecord::Unknown)),
    })
    .collect()
}

/// Why a tuning record is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRecord {
    /// The entry is compiled to something else now.
    Stale,
    /// There is no such entry.
    Unknown,
}

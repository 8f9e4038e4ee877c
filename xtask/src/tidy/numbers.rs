//! Numbers that stand in two places agree.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Finding;

const LAUNCH: &str = "hidp-std/include/hidp/launch.hpp";
const MODEL: &str = "hidp-build/crates/plan/targets/cpu.toml";

/// The planner's rules and the run time share one idea of how much work is worth a thread.
pub(super) fn check() -> Result<Vec<Finding>> {
    let run_time = number(LAUNCH, "#define HIDP_WORK_PER_THREAD")?;
    let model = number(MODEL, "thread_work =")?;
    let message = format!("`thread_work` is {model:?}, but {LAUNCH} says {run_time:?}");
    Ok(if run_time == model && model.is_some() { Vec::new() } else { vec![Finding::new(Path::new(MODEL), 1, message)] })
}

/// The number behind the first occurrence of `key`.
fn number(file: &str, key: &str) -> Result<Option<u64>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let rest = text.split_once(key).map_or("", |(_, rest)| rest);
    Ok(rest.split_whitespace().next().and_then(|word| word.parse().ok()))
}

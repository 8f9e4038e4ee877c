//! Every header of the run time compiles alone, and includes no header of a higher execution level.

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

use super::{Finding, has_extension};

/// Execution levels of processors from the lowest; `<level>_<primitive>.hpp` may include its own and lower ones.
const LEVELS: &[&str] = &["thread", "simd", "team"];

/// Those of GPUs, `<level>_<primitive>.cuh`.
const DEVICE_LEVELS: &[&str] = &["thread", "subwarp2", "subwarp", "warp", "block", "kernel"];

/// What only nvcc can read: a test compiles it.
const FOR_NVCC: [&str; 5] = ["machine.cuh", "memory.cuh", "runtime.cuh", "radix_sort_by_cub.cuh", "peer.cuh"];

pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let headers: Vec<&PathBuf> = files.iter().filter(|f| has_extension(f, &["hpp", "cuh"])).collect();
    let mut findings = Vec::new();
    for &header in &headers {
        let text = fs::read_to_string(header)?;
        let levels = if has_extension(header, &["cuh"]) { DEVICE_LEVELS } else { LEVELS };
        check_levels(header, &text, levels, &mut findings);
    }
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = |worker| headers.iter().skip(worker).step_by(workers);
    let shares: Vec<Result<Vec<Finding>>> = thread::scope(|scope| {
        let check = |worker| share(worker).filter_map(|header| check_alone(header).transpose()).collect();
        let handles: Vec<_> = (0..workers).map(|worker| scope.spawn(move || check(worker))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    for share in shares {
        findings.extend(share?);
    }
    Ok(findings)
}

fn level_of(levels: &[&str], name: &str) -> Option<usize> {
    levels.iter().position(|level| name.strip_prefix(level).is_some_and(|rest| rest.starts_with('_')))
}

fn check_levels(header: &Path, text: &str, levels: &[&str], findings: &mut Vec<Finding>) {
    let own = header.file_name().and_then(|n| n.to_str()).and_then(|name| level_of(levels, name));
    let Some(own) = own else { return };
    for (number, line) in text.lines().enumerate() {
        let Some(target) = line.trim().strip_prefix("#include") else { continue };
        let name = target.trim_matches([' ', '"', '<', '>']).rsplit('/').next().unwrap_or_default();
        if level_of(levels, name).is_some_and(|level| level > own) {
            findings.push(Finding::new(header, number + 1, format!("includes `{name}`, of a higher level")));
        }
    }
}

fn check_alone(header: &Path) -> Result<Option<Finding>> {
    let is_for_device = has_extension(header, &["cuh"]);
    if is_for_device && FOR_NVCC.iter().any(|name| header.ends_with(name)) {
        return Ok(None);
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-fsyntax-only", "-fopenmp-simd", "-Wall", "-Wextra", "-Werror", "-DHIDP_ISA=base"]);
    if is_for_device {
        // As the executor on the host reads it, whose own headers are looked at once; `#pragma unroll` is for nvcc.
        command.args(["-DHIDP_SIMT", "-DHIDP_SIMT_LIBRARY=1", "-Wno-unknown-pragmas"]);
    }
    command.args(["-I", "hidp-std/include", "-I", "hidp-sys/include", "-include"]).arg(header);
    let output = command.args(["-x", "c++", "/dev/null"]).output();
    let output = output.with_context(|| format!("cannot start the C++ compiler `{compiler}`"))?;
    if output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| line.contains("error")).unwrap_or("does not compile").to_owned();
    Ok(Some(Finding::new(header, 1, format!("does not compile alone: {first}"))))
}

//! Every header of the run time compiles alone, and includes no header of a higher execution level.

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

use super::{Finding, has_extension};
use crate::command::{cxx, target_folder};
use crate::test::hash_of;

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
    // A minute of processor for what rarely changes.
    let kept = target_folder().join("hidp-tidy-headers");
    let key = key(files)?;
    if fs::read_to_string(&kept).is_ok_and(|passed| passed == key) {
        return Ok(findings);
    }
    let alone = check_each(&headers)?;
    if alone.is_empty() {
        fs::write(&kept, key).with_context(|| format!("cannot write `{}`", kept.display()))?;
    }
    findings.extend(alone);
    Ok(findings)
}

/// Changes with any header, this check and the compiler.
fn key(files: &[PathBuf]) -> Result<String> {
    let is_read = |file: &&PathBuf| has_extension(file, &["h", "hpp", "cuh"]) || file.ends_with("tidy/headers.rs");
    let read: Vec<&Path> = files.iter().filter(is_read).map(PathBuf::as_path).collect();
    let version = Command::new(cxx()).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    Ok(format!("{:016x}\n{version}", hash_of(&read)?))
}

fn check_each(headers: &[&PathBuf]) -> Result<Vec<Finding>> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = |worker| headers.iter().skip(worker).step_by(workers);
    let shares: Vec<Result<Vec<Finding>>> = thread::scope(|scope| {
        let check = |worker| share(worker).filter_map(|header| check_alone(header).transpose()).collect();
        let handles: Vec<_> = (0..workers).map(|worker| scope.spawn(move || check(worker))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let found: Result<Vec<Vec<Finding>>> = shares.into_iter().collect();
    Ok(found?.into_iter().flatten().collect())
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
    let compiler = cxx();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_looked_at_again_after_any_change() {
        let folder = std::env::temp_dir().join(format!("hidp-tidy-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [one, other] = ["one.hpp", "other.cuh"].map(|name| folder.join(name));
        let of = |files: &[&PathBuf]| key(&files.iter().map(|file| (*file).clone()).collect::<Vec<_>>()).unwrap();
        fs::write(&one, "#pragma once\n").unwrap();
        fs::write(&other, "#pragma once\n").unwrap();
        let before = of(&[&one]);
        assert_eq!(of(&[&one]), before);
        assert!(of(&[&other]) != before && of(&[&one, &other]) != before);
        fs::write(&one, "#pragma once\n#include <vector>\n").unwrap();
        assert_ne!(of(&[&one]), before);
        fs::remove_dir_all(folder).unwrap();
    }
}

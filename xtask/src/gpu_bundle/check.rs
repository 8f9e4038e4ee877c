//! What a bundle needs of the machine that it runs on, and whether that is as little as it should be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The largest size of a bundle.
const LARGEST: u64 = 50_000_000;

/// Libraries that come with the C++ compiler rather than with the system.
const OF_THE_COMPILER: [&str; 1] = ["libstdc++.so.6"];

/// Those that every Linux with glibc has; a new system's `libgcc_s` would need a new C library.
const OF_THE_SYSTEM: [&str; 8] = [
    "libgcc_s.so.1",
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "ld-linux-x86-64.so.2",
    "linux-vdso.so.1",
];

/// Where the libraries of the compiler are that a program needs.
pub(super) fn libraries_of_the_compiler(program: &Path) -> Result<Vec<PathBuf>> {
    let text = said("ldd", &[&program.display().to_string()])?;
    let found = text.lines().filter_map(|line| {
        let (name, place) = line.trim().split_once(" => ")?;
        let path = place.split_whitespace().next()?;
        OF_THE_COMPILER.contains(&name).then(|| PathBuf::from(path))
    });
    Ok(found.collect())
}

/// Prints size and needs; fails if the bundle is too large or not self-contained. The programs are in it, compressed.
pub(super) fn run(bundle: &Path, programs: &[PathBuf]) -> Result<()> {
    let files = files(bundle)?;
    let mut oldest = (0, 0);
    for file in programs.iter().chain(files.iter().filter(|file| file.starts_with(bundle.join("bin/lib")))) {
        oldest = oldest.max(glibc(&said("readelf", &["--version-info", "--wide", &file.display().to_string()])?));
        needs(file)?;
    }
    let mut size = 0;
    for file in &files {
        size += fs::metadata(file)?.len();
    }
    let (bundle, megabytes) = (bundle.display(), size as f64 / 1e6);
    println!("{bundle}: {megabytes:.1} MB");
    println!(
        "needs Linux on x86-64, glibc {}.{} or later, an NVIDIA driver; run {bundle}/run.sh there",
        oldest.0, oldest.1
    );
    ensure!(size < LARGEST, "the bundle is larger than {} MB", LARGEST / 1_000_000);
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// What a program or library is linked to must be in the bundle or part of every system.
fn needs(file: &Path) -> Result<()> {
    let text = said("readelf", &["--dynamic", "--wide", &file.display().to_string()])?;
    let needed: BTreeSet<&str> = text
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .filter_map(|line| line.split_once('[')?.1.split_once(']').map(|(name, _)| name))
        .collect();
    let strange: Vec<&str> =
        needed.into_iter().filter(|name| !OF_THE_COMPILER.contains(name) && !OF_THE_SYSTEM.contains(name)).collect();
    ensure!(strange.is_empty(), "{} needs {}", file.display(), strange.join(", "));
    Ok(())
}

/// The newest version of the C library that is asked for.
fn glibc(versions: &str) -> (u32, u32) {
    let parse = |text: &str| {
        let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let mut numbers = digits.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    versions.split("GLIBC_").skip(1).filter_map(parse).max().unwrap_or_default()
}

fn said(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).output().with_context(|| format!("cannot start `{program}`"))?;
    ensure!(output.status.success(), "`{program} {}` failed", args.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts() {
        let text =
            "  0x0010:   Name: GLIBC_2.4  Flags: none\n  0x0020:   Name: GLIBC_2.34  Flags\n GLIBC_2.9 GLIBC_PRIVATE";
        assert_eq!(glibc(text), (2, 34));
        assert_eq!(glibc("nothing"), (0, 0));
    }

    #[test]
    fn a_program_that_needs_more_is_refused() {
        let program = std::env::current_exe().unwrap();
        needs(&program).unwrap();
        assert!(needs(Path::new("/no/such/file")).is_err());
    }
}

//! `cargo xtask bindings`: the raw bindings of `hidp-sys`, made by bindgen from the ABI's header.
//!
//! bindgen needs libclang, which nobody else needs: it hangs on the feature `bindings`, and tidy compares the hash of the header that
//! the checked-in file names.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const HEADER: &str = "hidp-sys/include/hidp_abi.h";
const BINDINGS: &str = "hidp-sys/src/bindings.rs";

/// Makes the file anew.
#[cfg(feature = "bindings")]
pub(crate) fn run() -> Result<()> {
    let bindings = bindgen::Builder::default()
        .header(HEADER)
        .allowlist_item("hidp.*|HIDP.*")
        .merge_extern_blocks(true)
        .raw_line(stamp()?)
        .generate()
        .context("bindgen failed")?;
    bindings.write_to_file(BINDINGS).with_context(|| format!("cannot write {BINDINGS}"))
}

/// Runs this command again with bindgen compiled in.
#[cfg(not(feature = "bindings"))]
pub(crate) fn run() -> Result<()> {
    crate::command::cargo(&["run", "--quiet", "--package", "xtask", "--features", "bindings", "--", "bindings"]).run()
}

/// The line of the bindings that names the header they were made from.
pub(crate) fn stamp() -> Result<String> {
    let header = fs::read_to_string(HEADER).with_context(|| format!("cannot read {HEADER}"))?;
    // FNV-1a, line by line, so that line endings do not matter.
    let hash = header
        .lines()
        .flat_map(str::bytes)
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Ok(format!("// {HEADER} {hash:016x}: `cargo xtask bindings`"))
}

/// Whether the checked-in bindings were made from the header as it is.
pub(crate) fn are_current() -> Result<bool> {
    let text = fs::read_to_string(Path::new(BINDINGS)).with_context(|| format!("cannot read {BINDINGS}"))?;
    let stamp = stamp()?;
    Ok(text.lines().any(|line| line == stamp))
}

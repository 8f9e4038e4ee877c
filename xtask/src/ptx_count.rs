//! `cargo xtask ptx-count`: what programs of papers do on a GPU, with and without directives, beside the same by hand. A test of the compiler makes the table, which has all that it
//! takes: nvcc compiles both to PTX, which is run and counted.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{cargo, target_folder};
use crate::cuda_toolkit;
use crate::document::Part;

const PART: Part = Part {
    document: "docs/performance.md",
    begin: "<!-- papers: cargo xtask ptx-count --write -->",
    end: "<!-- end of papers -->",
};

/// Prints the table, and with `--write` puts it into the document. `--sources` names a folder with the originals.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let (args, write) = match args {
        [rest @ .., "--write"] => (rest, true),
        rest => (rest, false),
    };
    let sources = match args {
        [] => None,
        ["--sources", folder] => Some(*folder),
        _ => bail!("ptx-count takes `--sources FOLDER`, then `--write`, or one of these"),
    };
    let home = cuda_toolkit::for_tests()?.context("there is no nvcc")?;
    let file = target_folder().join("ptx-count.md");
    let mut command = cargo(&["test", "--package", "hidp-build", "--test", "filetests"]);
    command = command.args(&["--", "--ignored", "--exact", "ptx::table::table"]);
    command = command.env("CUDA_HOME", &home.display().to_string()).env("HIDP_PTX_TABLE", &file.display().to_string());
    if let Some(folder) = sources {
        ensure!(Path::new(folder).is_dir(), "there is no folder `{folder}`");
        let folder = fs::canonicalize(folder)?;
        command = command.env("HIDP_PTX_SOURCES", &folder.display().to_string());
    }
    command.run()?;
    let table = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    print!("{table}");
    if write {
        PART.write(table.trim_end())?;
    }
    Ok(())
}

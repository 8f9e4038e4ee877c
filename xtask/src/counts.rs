//! `cargo xtask counts`: what the model says that the hot kernels of the benchmarks ask of memory, beside what the executor counts.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, target_folder};
use crate::document::Part;

const PART: Part = Part {
    document: "docs/performance.md",
    begin: "<!-- counts: cargo xtask counts --write -->",
    end: "<!-- end of counts -->",
};

/// Prints the table, and with `--write` puts it into the document. The kernels run in a test of the compiler, which has all that it takes.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let write = match args {
        [] => false,
        ["--write"] => true,
        _ => bail!("counts takes `--write` or nothing"),
    };
    let file = target_folder().join("hidp-counts.md");
    let test = ["test", "--package", "hidp-build", "--test", "filetests"];
    let table = ["--", "--ignored", "--exact", "count_table::table"];
    cargo(&test).args(&table).env("HIDP_COUNT_TABLE", &file.display().to_string()).run()?;
    let table = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    print!("{table}");
    if write { PART.write(table.trim_end()) } else { Ok(()) }
}

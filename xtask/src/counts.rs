//! `cargo xtask counts`: what the model says that the hot kernels of the benchmarks ask of memory, beside what the executor counts; and how much
//! of what the cases ask for it claims to know.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, target_folder};
use crate::document::Part;

/// A table that a test of the compiler makes, which has all that it takes.
struct Table {
    test: &'static str,
    /// Names the file that it is written to.
    variable: &'static str,
    part: Part,
}

const TABLES: [Table; 2] = [
    Table {
        test: "count_table::table",
        variable: "HIDP_COUNT_TABLE",
        part: Part {
            document: "docs/performance.md",
            begin: "<!-- counts: cargo xtask counts --write -->",
            end: "<!-- end of counts -->",
        },
    },
    Table {
        test: "count_table::cases",
        variable: "HIDP_COUNT_CASES",
        part: Part {
            document: "docs/performance.md",
            begin: "<!-- claims: cargo xtask counts --write -->",
            end: "<!-- end of claims -->",
        },
    },
];

/// Prints the tables, and with `--write` puts them into the document.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let write = match args {
        [] => false,
        ["--write"] => true,
        _ => bail!("counts takes `--write` or nothing"),
    };
    for Table { test, variable, part } in &TABLES {
        let file = target_folder().join(format!("{}.md", variable.to_lowercase().replace('_', "-")));
        let tests = ["test", "--package", "hidp-build", "--test", "filetests"];
        cargo(&tests).args(&["--", "--ignored", "--exact", test]).env(variable, &file.display().to_string()).run()?;
        let table = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        print!("{table}");
        if write {
            part.write(table.trim_end())?;
        }
    }
    Ok(())
}

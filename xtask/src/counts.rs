//! `cargo xtask counts`: what the model says that the hot kernels of the benchmarks ask of memory, beside what the executor counts; and how much
//! of what the cases ask for it claims to know. With `--mappings`: what the planner chooses beside all mappings that Lee et al.'s parameters can say,
//! and what the executor counts of some of those. With `--planning`: how long planning takes for each entry.

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

const OF_KERNELS: [Table; 2] = [
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

const OF_MAPPINGS: [Table; 2] = [
    Table {
        test: "mappings::choices",
        variable: "HIDP_COUNT_CHOICES",
        part: Part {
            document: "docs/performance.md",
            begin: "<!-- choices: cargo xtask counts --mappings --write -->",
            end: "<!-- end of choices -->",
        },
    },
    Table {
        test: "mappings::sample",
        variable: "HIDP_COUNT_SAMPLE",
        part: Part {
            document: "docs/performance.md",
            begin: "<!-- sample: cargo xtask counts --mappings --write -->",
            end: "<!-- end of sample -->",
        },
    },
];

const OF_PLANNING: [Table; 1] = [Table {
    test: "planning::times",
    variable: "HIDP_COUNT_PLANNING",
    part: Part {
        document: "docs/performance.md",
        begin: "<!-- planning: cargo xtask counts --planning --write -->",
        end: "<!-- end of planning -->",
    },
}];

/// What makes cargo compile as it compiles build scripts: the workspace optimises this for the sake of tests.
const UNOPTIMISED: [&str; 4] =
    ["--config", "profile.dev.package.hidp-ir.opt-level=0", "--config", "profile.dev.package.hidp-prove.opt-level=0"];

/// Prints the tables, and with `--write` puts them into the document.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let (tables, compiled, write): (&[Table], &[&str], bool) = match args {
        [] => (&OF_KERNELS, &[], false),
        ["--write"] => (&OF_KERNELS, &[], true),
        ["--mappings"] => (&OF_MAPPINGS, &[], false),
        ["--mappings", "--write"] => (&OF_MAPPINGS, &[], true),
        ["--planning"] => (&OF_PLANNING, &UNOPTIMISED, false),
        ["--planning", "--write"] => (&OF_PLANNING, &UNOPTIMISED, true),
        _ => bail!("counts takes `--mappings` or `--planning`, then `--write`, or some of these"),
    };
    for Table { test, variable, part } in tables {
        let file = target_folder().join(format!("{}.md", variable.to_lowercase().replace('_', "-")));
        let tests = ["test", "--package", "hidp-build", "--test", "filetests"];
        cargo(&tests)
            .args(compiled)
            .args(&["--", "--ignored", "--exact", test])
            .env(variable, &file.display().to_string())
            .run()?;
        let table = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        print!("{table}");
        if write {
            part.write(table.trim_end())?;
        }
    }
    Ok(())
}

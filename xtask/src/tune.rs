//! `cargo xtask tune`: measures the versions of the benchmarks' kernels.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::command::cargo;

/// The page with the tables of cases, each between two lines that name it.
const PAGE: &str = "docs/performance.md";
/// Time for one case, comparisons included, unless an option says otherwise.
const SECONDS: &str = "200";

/// Runs the tuner; arguments are its own. Records go to `target`: copied among the kernels they are embedded. The table of a case
/// that the page has a place for is put there, but not where `--variants` asks for versions that nobody else has.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let variants = args.contains(&"--variants");
    let case = args.first().copied().filter(|name| !name.starts_with('-'));
    let page = fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
    let case = case.filter(|name| place(&page, name).is_some());
    let stem = format!("target/hidp-tune{}", case.map(|name| format!("-{name}")).unwrap_or_default());
    let [records, report, table] = ["toml", "html", "md"].map(|extension| format!("{stem}.{extension}"));

    let mut command = cargo(&["run", "--release", "--package", "hidp-benches", "--bin", "tune", "--"]);
    command = command.args(&args.iter().copied().filter(|arg| *arg != "--variants").collect::<Vec<_>>());
    if !args.contains(&"--seconds") {
        command = command.args(&["--seconds", SECONDS]);
    }
    command = command.args(&["--file", &records, "--report", &report, "--table", &table]);
    if variants {
        command = command.env("HIDP_VARIANTS", "on");
    }
    command.run()?;
    let help = args.contains(&"--help") || args.contains(&"-h");
    let Some(case) = case.filter(|_| !variants && !help) else { return Ok(()) };
    let measured = fs::read_to_string(&table).with_context(|| format!("cannot read {table}"))?;
    let heading = format!("`cargo xtask tune {}` on {}:\n\n", args.join(" "), machine());
    let text = put(&page, case, &(heading + &measured)).context("the place in the page is gone")?;
    fs::write(PAGE, text).with_context(|| format!("cannot write {PAGE}"))?;
    println!("table: {PAGE}");
    Ok(())
}

fn marks(case: &str) -> [String; 2] {
    [format!("<!-- tune {case} -->\n"), format!("<!-- end of {case} -->\n")]
}

/// Where the table of a case begins and ends in the page.
fn place(page: &str, case: &str) -> Option<(usize, usize)> {
    let [begin, end] = marks(case);
    let from = page.find(&begin)? + begin.len();
    let to = from + page[from..].find(&end)?;
    Some((from, to))
}

/// The page with another table.
fn put(page: &str, case: &str, table: &str) -> Option<String> {
    let (from, to) = place(page, case)?;
    Some(format!("{}{}\n{}", &page[..from], table.trim_end(), &page[to..]))
}

/// The processor's name for itself, and how many there are.
fn machine() -> String {
    let info = fs::read_to_string(Path::new("/proc/cpuinfo")).unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split_once(": "));
    let count = std::thread::available_parallelism().map_or(1, |count| count.get());
    format!("{count} threads of {}", name.map_or("an unknown processor", |(_, name)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_the_one_before() {
        let page = "a\n<!-- tune gemm -->\nold\n<!-- end of gemm -->\nb\n";
        let once = put(page, "gemm", "new\n").unwrap();
        assert_eq!(once, "a\n<!-- tune gemm -->\nnew\n<!-- end of gemm -->\nb\n");
        assert_eq!(put(&once, "gemm", "new").unwrap(), once);
        assert_eq!(put(page, "spmv", "new"), None);
    }

    #[test]
    fn the_page_has_a_place_for_each_case() {
        let page = fs::read_to_string(Path::new("..").join(PAGE)).unwrap();
        for case in ["gemm", "spmv", "row-sums", "segmented-sort", "segmented-scan"] {
            assert!(place(&page, case).is_some(), "{case}");
        }
    }
}

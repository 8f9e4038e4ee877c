//! The kernels of the benchmarks: whether any spills, and how many warps a multiprocessor holds of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use hidp_build::compiler::target::DeviceModel;
use hidp_build::nvcc::{Checker, Kernel};
use hidp_explain::traffic::occupancy;

use crate::document::Part;

/// What the benchmarks for GPUs run.
const PROGRAMS: [&str; 4] = [
    "benches/src/kernels",
    "examples/quicksort/src/kernels",
    "examples/bitonic/src/kernels",
    "examples/particles/src/kernels",
];

/// The architecture whose limits the occupancy is worked out with.
const ARCH: &str = "sm_90";

/// Parts of names of what runs once a call, over little: looked at for spills, and not in the table.
const COLD: [&str; 13] = [
    "_combine",
    "_size",
    "put_value",
    "FindOverlap",
    "ListLows",
    "ListBins",
    "SumCounts",
    "CopyElement",
    "SingleTile",
    "max_i32",
    "min_f32",
    "EmptyKernel",
    "InitKernel",
];

const PART: Part = Part {
    document: "docs/performance.md",
    begin: "<!-- hot kernels: cargo xtask cuda-report --hot --write -->",
    end: "<!-- end of hot kernels -->",
};

/// Prints the table, and with `write` puts it into the document. Fails if a kernel spills.
pub(crate) fn run(home: &Path, write: bool) -> Result<()> {
    // SAFETY: this process has one thread.
    unsafe {
        std::env::set_var("CUDA_HOME", home);
        // PTX says how large blocks are.
        std::env::set_var("NVCC_APPEND_FLAGS", "--no-compress");
    }
    let include = ["hidp-std/include", "hidp-sys/include"].map(PathBuf::from);
    let checker = Checker::find(&[ARCH], &include, Path::new("target/hidp-cuda-report/hot"));
    let checker = checker.map_err(|error| anyhow!("{error}"))?.context("there is no nvcc")?;
    let programs = PROGRAMS.map(PathBuf::from);
    let files = checker.kernels_by_file(&programs).map_err(|error| anyhow!("{error}"))?;
    let table = table(&files)?;
    println!("{table}");
    if write {
        PART.write(&table)?;
    }
    let spilled: Vec<String> = all(&files)
        .filter(|(_, kernel)| kernel.spilled > 0)
        .map(|(file, kernel)| format!("{file}: {} spills {} bytes", kernel.name, kernel.spilled))
        .collect();
    ensure!(spilled.is_empty(), "kernels spill registers:\n{}", spilled.join("\n"));
    Ok(())
}

type Files = [(String, Vec<Kernel>)];

fn all(files: &Files) -> impl Iterator<Item = (&str, &Kernel)> {
    files.iter().flat_map(|(file, kernels)| kernels.iter().map(move |kernel| (file.as_str(), kernel)))
}

/// A line for each hot kernel, those with equal names together. What has no launch bound is not launched.
fn table(files: &Files) -> Result<String> {
    let mut rows: BTreeMap<(&str, String), [u32; 6]> = BTreeMap::new();
    let mut count = 0;
    let model = DeviceModel::cuda();
    for (file, kernel) in all(files) {
        count += 1;
        let Some(block) = kernel.block.filter(|_| !COLD.iter().any(|part| kernel.name.contains(part))) else {
            continue;
        };
        let warps = occupancy(block, kernel.registers, kernel.shared, &model);
        let name = kernel.name.trim_start_matches("hidp::cuda::").trim_start_matches("cub::detail::").to_owned();
        let needs = [block, kernel.registers, kernel.spilled, kernel.stack, kernel.shared, warps.warps];
        let row = rows.entry((file, format!("{name} | {}", warps.limit.name()))).or_insert(needs);
        // Of several the one with the fewest warps stands for all, spills apart.
        let spilled = row[2].max(needs[2]);
        if needs[5] < row[5] || (needs[5] == row[5] && needs[1] > row[1]) {
            *row = needs;
        }
        row[2] = spilled;
    }
    ensure!(!rows.is_empty(), "nvcc did not say how large blocks are");
    let mut lines = vec![
        format!(
            "{count} kernels of {} files for {ARCH}, {} of them spill registers. The hot ones:",
            files.len(),
            spilling(files)
        ),
        String::new(),
        "| file | kernel | threads | registers | spilled | stack | shared | warps of 64 | limited by |".to_owned(),
        "|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for ((file, name), [block, registers, spilled, stack, shared, warps]) in rows {
        let (name, limit) = name.split_once(" | ").unwrap_or((&name, ""));
        lines.push(format!(
            "| {file} | `{name}` | {block} | {registers} | {spilled} | {stack} | {shared} | {warps} | {limit} |"
        ));
    }
    Ok(lines.join("\n"))
}

fn spilling(files: &Files) -> usize {
    all(files).filter(|(_, kernel)| kernel.spilled > 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, registers: u32, shared: u32, block: Option<u32>) -> Kernel {
        let (name, arch) = (name.to_owned(), ARCH.to_owned());
        Kernel { name, arch, registers, spilled: 0, stack: 0, shared, barriers: 0, block }
    }

    #[test]
    fn equal_names_share_a_line() {
        let kernels = vec![
            kernel("hidp::cuda::run_items<Block, 256>", 64, 0, Some(256)),
            kernel("hidp::cuda::run_items<Block, 256>", 72, 0, Some(256)),
            kernel("GEMM::tiled", 149, 16640, Some(256)),
            kernel("cub::detail::EmptyKernel<…>", 4, 0, None),
            kernel("GEMM::split_combine1_k1_items", 47, 0, Some(256)),
        ];
        let table = table(&[("blas".to_owned(), kernels)]).unwrap();
        let lines: Vec<&str> = table.lines().skip(4).collect();
        assert_eq!(
            lines,
            [
                "| blas | `GEMM::tiled` | 256 | 149 | 0 | 0 | 16640 | 8 | registers |",
                "| blas | `run_items<Block, 256>` | 256 | 72 | 0 | 0 | 0 | 24 | registers |",
            ]
        );
        assert!(table.starts_with("5 kernels of 1 files for sm_90, 0 of them spill registers. "), "{table}");
    }
}

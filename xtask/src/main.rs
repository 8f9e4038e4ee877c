//! Every developer command of the workspace: `cargo xtask <command>`.

mod bench;
mod bindings;
mod command;
mod compiler;
mod counts;
#[cfg(feature = "compiler")]
mod cuda_report;
mod cuda_toolkit;
mod document;
mod emitted;
#[cfg(feature = "compiler")]
mod explain;
mod gpu_bundle;
#[cfg(feature = "compiler")]
mod hot_kernels;
mod maths;
mod ptx_count;
mod space;
mod test;
mod tidy;
mod tune;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use command::{cargo, workspace_root};
use compiler::Asking;

const USAGE: &str = "\
cargo xtask <command>

  test [quick | full] [--list] [--case NAME] [--seed FIRST..LAST] [--again]
                the tests of the workspace by kind, with processor time and what was skipped: quick, the compiler after an edit; full,
                all that can be tested; without either, what has to pass before a change goes in. What passed is not run again
                until something that it reads changes, unless --again or full says so. --list prints the kinds and every call of
                compiled code; --case and --seed choose among cases and orders of lanes
  test aarch64 [--case NAME]
                cases of kind `run` on threads, compiled by Debian's cross compiler and called in qemu
  ci            what continuous integration runs: fmt-check, clippy, tidy, doc, test, bindgen, and whether a kernel of the benchmarks spills
  bless         rewrites golden outputs and docs/errors.md from what the compiler says now
  fmt-check     rustfmt, without changing anything
  clippy        clippy over all targets, warnings denied
  doc           rustdoc of the public crates, warnings denied
  tidy          layering, headers that compile alone, file sizes, text rules
  bindings      hidp-sys/src/bindings.rs from the ABI's header (needs libclang)
  bench [CASE]  benchmarks beside their peers, as a table of ratios; `huge` checks primitives of 2^31 elements and more
  tune [CASE | ENTRY] [--seconds N] [--variants] [--fresh] …
                measures the versions of the benchmarks' kernels; records and a report go to target/hidp-tune*. Cases
                (gemm, spmv, row-sums, segmented-sort, segmented-scan) put their tables into docs/performance.md; `codelets` is
                the example's functions
  maths [FUNCTION …] [--isa v3] [--samples N] [--speed] [--write]
                the largest errors of the maths functions, over all floats and many doubles; takes hours, can be stopped and goes on.
                --speed times them beside the C library, libmvec and SLEEF; --write puts the table into docs/maths.md
  cuda-toolkit  installs the CUDA compiler below target/ (Python packages, no GPU needed) and prints the CUDA_HOME to use
  cuda-report [FILE.hdp|FOLDER …] [--arch sm_90,…]
                what kernels need of a GPU, as nvcc says: registers, spilled bytes, shared memory; of the examples if none is named
  cuda-report --hot [--write]
                the same of all that the benchmarks for GPUs run, with the warps that a multiprocessor then holds; fails if a kernel
                spills; --write puts the table into docs/performance.md
  counts [--write]
                what the hot kernels of the benchmarks ask of memory: the compiler's model beside what the executor counts; --write puts
                the table into docs/performance.md
  ptx-count [--sources FOLDER] [--write]
                what programs of papers do on a GPU beside the same by hand, counted on PTX; with --sources beside the public originals,
                too, which nobody commits (benches/peers/cuda/originals.txt); --write puts the table into docs/performance.md
  gpu-bundle [--arch sm_90] [--jobs N] [--no-bench]
                target/gpu-bundle: tests and benchmarks that run on another machine's GPU, which needs a driver and nothing else
  emitted REVISION [NAME …] [--full]
                whether that revision's compiler emits the same text, C++, CUDA and Rust, for every plan of every case, example and
                benchmark, and what differs; of those whose path has one of the names
  explain FILE.hdp [ENTRY] [--par] [--imp] [--source] [--code] [--json] [--pin]
                what the compiler makes of a file: shapes, fusion, remaining checks, plans and their scores, costs;
                --code compiles it and adds sizes and times, --pin prints only the plans, as a file that pins them
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    if args.first().is_none_or(|command| command != "explain") {
        let root = workspace_root();
        std::env::set_current_dir(&root)
            .with_context(|| format!("cannot go to the workspace, `{}`", root.display()))?;
    }
    match args.first().map(String::as_str) {
        Some("test") => test::run(&rest),
        Some("ci") => ci(),
        Some("bless") => bless(),
        Some("fmt-check") => fmt_check(),
        Some("clippy") => clippy(),
        Some("doc") => doc(),
        Some("tidy") => tidy::run(),
        Some("bindings") => bindings::run(),
        Some("tune") => tune::run(&rest),
        Some("bench") => bench::run(&rest),
        Some("maths") => maths::run(&rest),
        Some("counts") => counts::run(&rest),
        Some("ptx-count") => ptx_count::run(&rest),
        Some("gpu-bundle") => gpu_bundle::run(&rest),
        Some("cuda-toolkit") => cuda_toolkit::run(),
        Some("emitted") => emitted::run(&rest),
        Some("cuda-report") => compiler::run(Asking::CudaReport, &rest),
        Some("explain") => compiler::run(Asking::Explain, &rest),
        Some("help" | "--help" | "-h") | None => {
            print!("{USAGE}");
            Ok(())
        }
        Some(other) => bail!("there is no command `{other}`\n\n{USAGE}"),
    }
}

fn ci() -> Result<()> {
    fmt_check()?;
    clippy()?;
    tidy::run()?;
    doc()?;
    test::run(&[])?;
    extern_structs()?;
    compiler::run(Asking::CudaReport, &["--hot"])
}

/// The test that usual ones leave out because bindgen takes long to compile.
fn extern_structs() -> Result<()> {
    const TEST: &str = "an_extern_struct_takes_its_fields_from_the_header";
    let command = cargo(&["test", "--quiet", "--package", "hidp-build", "--test", "cargo", "--"]);
    command.args(&["--show-output", "--exact", TEST]).env("HIDP_RUN", "all").run()
}

fn bless() -> Result<()> {
    cargo(&["test", "--package", "hidp-build"]).env("HIDP_BLESS", "1").run()
}

fn fmt_check() -> Result<()> {
    cargo(&["fmt", "--all", "--check"]).run()
}

fn clippy() -> Result<()> {
    let clippy = |args: &[&str]| nothing_linked(cargo(&["clippy", "--all-targets"])).args(args);
    let deny = ["--", "--deny", "warnings"];
    clippy(&["--workspace", "--features", "hidp-benches/criterion,xtask/compiler"]).args(&deny).run()?;
    clippy(&["--package", "xtask"]).args(&deny).run()?;
    for features in ["", "prim,sparse,tune,simulated-device"] {
        let run_time = clippy(&["--package", "hidp-std", "--no-default-features", "--features", features]);
        run_time.args(&deny).run()?;
    }
    Ok(())
}

/// Nothing is linked of what is only looked at: build scripts write the wrappers of kernels and compile none.
fn nothing_linked(cargo: command::Invocation) -> command::Invocation {
    cargo.env("DOCS_RS", "1")
}

fn doc() -> Result<()> {
    let public = tidy::compiler_packages().into_iter().chain(["hidp-sys".to_owned(), "hidp-std".to_owned()]);
    let public: Vec<String> = public.map(|name| format!("--package={name}")).collect();
    let public: Vec<&str> = public.iter().map(String::as_str).collect();
    nothing_linked(cargo(&["doc", "--no-deps"])).args(&public).env("RUSTDOCFLAGS", "--deny warnings").run()
}

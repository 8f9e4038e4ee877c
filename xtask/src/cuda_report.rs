//! `cargo xtask cuda-report`: what the kernels of programs need of a GPU.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use hidp_build::nvcc::Checker;

use crate::{cuda_toolkit, hot_kernels};

/// Prints registers, spilled bytes and shared memory of every kernel: of the programs that are named, or of the examples; or the table of
/// the benchmarks' kernels.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    if let ["--hot", rest @ ..] = args {
        ensure!(matches!(rest, [] | ["--write"]), "after --hot there may be --write");
        // Without one, that was said.
        return cuda_toolkit::for_tests()?.map_or(Ok(()), |home| hot_kernels::run(&home, rest == ["--write"]));
    }
    let mut programs = Vec::new();
    let mut archs = Vec::new();
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        match arg {
            "--arch" => archs.extend(args.next().context("which architecture?")?.split(',')),
            flag if flag.starts_with('-') => bail!("there is no option `{flag}`"),
            path => programs.push(PathBuf::from(path)),
        }
    }
    if programs.is_empty() {
        programs = examples()?;
    }
    let home = cuda_toolkit::for_tests()?.context("there is no nvcc")?;
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var("CUDA_HOME", home) };
    let include = ["hidp-std/include", "hidp-sys/include"].map(PathBuf::from);
    let checker =
        |folder: String| Checker::find(&archs, &include, &PathBuf::from("target/hidp-cuda-report").join(folder));
    let mut failed = 0;
    for program in programs {
        let folder = program.display().to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let checker = checker(folder).map_err(|error| anyhow!("{error}"))?.context("there is no nvcc")?;
        match checker.report(std::slice::from_ref(&program)) {
            Ok(text) => println!("{}\n{text}", program.display()),
            Err(error) => {
                failed += 1;
                eprintln!("{}\n{error}\n", program.display());
            }
        }
    }
    ensure!(failed == 0, "{failed} programs are not compiled");
    Ok(())
}

/// The folders of the examples' kernels.
fn examples() -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir("examples")?.collect::<std::io::Result<Vec<_>>>()?;
    let kernels = entries.iter().map(|entry| entry.path().join("src/kernels"));
    let mut folders: Vec<PathBuf> = kernels.filter(|folder| folder.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

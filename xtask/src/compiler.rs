//! Commands that ask the compiler. They are in the program with the feature `compiler` alone, so that all others begin without building it.

use anyhow::Result;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Asking {
    Aarch64,
    CudaReport,
    Explain,
}

#[cfg(feature = "compiler")]
pub(crate) fn run(what: Asking, args: &[&str]) -> Result<()> {
    match what {
        Asking::Aarch64 => crate::test::aarch64::run(args),
        Asking::CudaReport => crate::cuda_report::run(args),
        Asking::Explain => crate::explain::run(args),
    }
}

/// Builds the program that has the compiler, and runs the command with it.
#[cfg(not(feature = "compiler"))]
pub(crate) fn run(what: Asking, args: &[&str]) -> Result<()> {
    let command: &[&str] = match what {
        Asking::Aarch64 => &["test", "aarch64"],
        Asking::CudaReport => &["cuda-report"],
        Asking::Explain => &["explain"],
    };
    let manifest = crate::command::workspace_root().join("Cargo.toml").display().to_string();
    let program =
        ["run", "--quiet", "--manifest-path", &manifest, "--package", "xtask", "--features", "compiler", "--"];
    crate::command::cargo(&program).args(command).args(args).run()
}

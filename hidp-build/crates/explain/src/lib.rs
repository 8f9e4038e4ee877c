//! Explains what the compiler makes of files: for tools, not for build scripts, which do not compile it.
//!
//! Stable are [`explain()`], [`explain_compiled()`], and what they take. [`traffic`] is internal, as the compiler's other parts are.

mod entries;
#[cfg(test)]
#[path = "../../../src/compiler/pipeline/testing.rs"]
mod testing;
pub mod traffic;

use std::path::Path;

use hidp_build::Result;
#[cfg(test)]
use hidp_build::compiler::pipeline::{InputFile, Options, PipelineInput, front, optimise};
use hidp_build::nvcc::Kernel;
use hidp_build::tools::load;

pub use entries::{Format, Wanted};
use traffic::Resources;

/// Explains the entries of a `.hdp` file, or the one of this name: nested shapes, what fused and what did not, the checks that
/// remain, the plans, and what else is wanted. GPUs are left out where a build would leave them out, and the explanation says why:
/// there is no nvcc, or `HIDP_CUDA` says `off`. With `HIDP_CUDA=simulated` they are there in any case.
pub fn explain(file: impl AsRef<Path>, name: Option<&str>, wanted: Wanted) -> Result<String> {
    explain_compiled(file, name, wanted, &[])
}

/// As [`explain()`], with what nvcc made of the kernels: registers, spilled bytes, and how many warps that leaves.
pub fn explain_compiled(
    file: impl AsRef<Path>,
    name: Option<&str>,
    wanted: Wanted,
    kernels: &[Kernel],
) -> Result<String> {
    let loaded = load(file.as_ref(), name)?;
    let resources: Vec<Resources> = kernels.iter().map(resources).collect();
    let resources = loaded.left_out.as_deref().map_or(Ok(&*resources), Err);
    Ok(entries::entries(&loaded.input, &loaded.program, &loaded.entries, wanted, resources))
}

fn resources(kernel: &Kernel) -> Resources {
    let Kernel { name, arch, registers, spilled, stack, shared, barriers: _, block: _ } = kernel.clone();
    Resources { kernel: name, arch, registers, spilled, stack, shared }
}

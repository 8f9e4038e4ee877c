//! Reports what the compiler makes of `.hdp` files: what fused, which checks remain, every candidate mapping and why it was rejected, plans, and
//! memory requests of GPU kernels.
//!
//! ```text
//! println!("{}", hidp_explain::explain("src/kernels/vector.hdp", None, Default::default())?);
//! ```
//!
//! It is for tools; build scripts do not compile it. [`explain()`], [`explain_compiled()`] and their arguments are stable. [`traffic`] is
//! internal, as the compiler's other parts are.

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

/// Explains the entries of a `.hdp` file, or the one named `name`: nested shapes, what fused and what did not, remaining checks, plans, and
/// what else is wanted. GPUs are omitted if a build would omit them, with the reason: there is no nvcc, or `HIDP_CUDA` is `off`. With
/// `HIDP_CUDA=simulated` they are always included.
///
/// # Errors
/// If the file cannot be read, has errors, or has no such entry.
pub fn explain(file: impl AsRef<Path>, name: Option<&str>, wanted: Wanted) -> Result<String> {
    explain_compiled(file, name, wanted, &[])
}

/// As [`explain()`], with the resources of the kernels that nvcc reports: registers, spilled bytes, and the occupancy that follows.
///
/// # Errors
/// As [`explain()`].
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

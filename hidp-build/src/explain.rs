//! Explains what the compiler makes of files: for tools, not for build scripts.

use std::path::{Path, PathBuf};

use crate::compiler::explain::{self, Wanted};
use crate::compiler::pipeline::{Options, PipelineInput, front, optimise};
use crate::compiler::traffic::Resources;
use crate::nvcc::{self, Kernel};
use crate::report::{Error, Report, Result};
use crate::sources;
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{Models, check_directives, check_pins};
use hidp_syntax::diag::Sink;

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
    let loaded = sources::load(Path::new(""), &[PathBuf::from(file.as_ref())]);
    let mut report = Report::default();
    loaded.problems.iter().for_each(|problem| report.problem(problem));
    report.diagnostics(&loaded.sources, &loaded.diagnostics);
    report.error().map_or(Ok(()), Err)?;

    let left_out = nvcc::left_out(|name| std::env::var_os(name))?;
    let input = PipelineInput {
        sources: loaded.sources,
        files: loaded.files,
        options: Options { pins: loaded.pins, cuda: left_out.is_none(), ..Options::default() },
    };
    let mut sink = Sink::new();
    let program = front(&input, &mut sink).and_then(|program| optimise(program, &mut sink));
    if let Some(program) = &program {
        let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
        check_pins(program, &input.sources, &input.options.pins, models, &mut sink);
        check_directives(program, models, &mut sink);
    }
    report.diagnostics(&input.sources, &sink.finish());
    report.error().map_or(Ok(()), Err)?;

    let program = program.unwrap_or_default();
    let chosen = program.entries.iter().copied();
    let chosen: Vec<_> = chosen.filter(|&func| name.is_none_or(|name| program.funcs[func].name == name)).collect();
    if let (true, Some(name)) = (chosen.is_empty(), name) {
        let names: Vec<&str> = program.entries.iter().map(|&func| program.funcs[func].name.as_str()).collect();
        return Err(Error::new(format!("there is no entry `{name}`; there are: {}", names.join(", "))));
    }
    let resources: Vec<Resources> = kernels.iter().map(resources).collect();
    Ok(explain::entries(&input, &program, &chosen, wanted, left_out.as_deref().map_or(Ok(&resources), Err)))
}

fn resources(kernel: &Kernel) -> Resources {
    let Kernel { name, arch, registers, spilled, stack, shared, barriers: _, block: _ } = kernel.clone();
    Resources { kernel: name, arch, registers, spilled, stack, shared }
}

//! Programs for tools that look at them and build nothing, as `hidp-explain` does. Not a stable interface.

use std::path::{Path, PathBuf};

use crate::compiler::pipeline::{Options, PipelineInput, front, optimise};
use crate::nvcc;
use crate::report::{Error, Report, Result};
use crate::sources;
use hidp_ir::par::{FuncId, Program};
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{Models, check_directives, check_pins};
use hidp_syntax::diag::Sink;

/// A program after all passes.
pub struct Loaded {
    /// Its files, and settings as a build has them.
    pub input: PipelineInput,
    /// What passes left.
    pub program: Program,
    /// The entries that are asked for.
    pub entries: Vec<FuncId>,
    /// Why a build on this machine makes no kernels for GPUs, if it makes none.
    pub left_out: Option<String>,
}

/// Reads a `.hdp` file and compiles it as far as plans, for all entries or the one of this name.
pub fn load(file: &Path, name: Option<&str>) -> Result<Loaded> {
    let loaded = sources::load(Path::new(""), &[PathBuf::from(file)]);
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
    let program = front(&input, &mut sink).and_then(|program| optimise(program, input.options.cuda, &mut sink));
    if let Some(program) = &program {
        let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
        check_pins(program, &input.sources, &input.options.pins, models, &mut sink);
        check_directives(program, models, &mut sink);
    }
    report.diagnostics(&input.sources, &sink.finish());
    report.error().map_or(Ok(()), Err)?;

    let program = program.unwrap_or_default();
    let chosen = program.entries.iter().copied();
    let entries: Vec<_> = chosen.filter(|&func| name.is_none_or(|name| program.funcs[func].name == name)).collect();
    if let (true, Some(name)) = (entries.is_empty(), name) {
        let names: Vec<&str> = program.entries.iter().map(|&func| program.funcs[func].name.as_str()).collect();
        return Err(Error::new(format!("there is no entry `{name}`; there are: {}", names.join(", "))));
    }
    Ok(Loaded { input, program, entries, left_out })
}

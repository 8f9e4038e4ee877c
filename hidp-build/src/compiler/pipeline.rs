//! Everything in order: sources and options in, generated files and diagnostics out.

mod agreement;
pub mod alternatives;
mod build;
mod courses;
mod entry;
mod native;
mod records;
mod stamp;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use hidp_check::{SourceUnit, check};
use hidp_emit::rust::{self, EntryInfo};
use hidp_emit::{cuda, openmp};
use hidp_ir::imp;
use hidp_ir::par::Program;
use hidp_plan::compose;
use hidp_plan::target::{DeviceModel, Model, domains};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{FileId, Span};
use {hidp_pass as pass, hidp_syntax as syntax};

pub use agreement::compare;
pub use build::{EntryVersions, GeneratedFile, InputFile, Options, PipelineInput, PipelineOutput};
pub use entry::{Lowered, device_plans_of, lower_entry, plans_of};
pub use native::{NativeField, NativeStruct, NativeType, named_structs};
pub use records::IdleRecord;
pub use stamp::{Headers, includes};

/// From sources to generated files.
pub fn compile(input: &PipelineInput) -> PipelineOutput {
    let mut sink = Sink::new();
    let program = front(input, &mut sink).and_then(|program| optimise(program, input.options.cuda, &mut sink));
    let output = program.and_then(|program| back(input, &program, &mut sink));
    PipelineOutput { diagnostics: sink.finish(), ..output.unwrap_or_default() }
}

/// Parses and checks. `None` after an error; phases collect all of theirs before they give up.
pub fn front(input: &PipelineInput, sink: &mut Sink) -> Option<Program> {
    let mut units: Vec<SourceUnit> = input
        .files
        .iter()
        .map(|file| SourceUnit {
            id: file.id,
            ast: syntax::parse(&input.sources, file.id, sink),
            imports: file.imports.clone(),
        })
        .collect();
    native::complete(&mut units, &input.options, sink);
    if sink.has_errors() {
        return None;
    }
    let targets = [Some(Model::cpu().codelets), input.options.cuda.then(|| DeviceModel::cuda().codelets)];
    let mut program = check(&input.sources, &units, &domains(targets.iter().flatten()), sink);
    natives(&program, &input.options, sink);
    native::check_layouts(&program, &input.options, sink);
    if !sink.has_errors() {
        compare(&program, sink);
    }
    courses::check(&mut program, input, sink);
    (!sink.has_errors()).then_some(program)
}

/// What the program takes from C++ must be somewhere.
fn natives(program: &Program, options: &Options, sink: &mut Sink) {
    for (_, function) in program.scalar_fns.iter().filter(|(_, function)| function.body.is_none()) {
        if options.native_headers.is_empty() {
            let headline = format!("no header declares the native function `{}`", function.name);
            let help = "name its header in the build script: `hidp_build::Builder::header(\"src/native.hpp\")`";
            sink.push(Diagnostic::new(Code::HeaderNotNamed, function.span, headline).help(help));
        }
    }
}

/// Chooses compositions, for devices too if there is CUDA, and runs the passes.
pub fn optimise(mut program: Program, cuda: bool, sink: &mut Sink) -> Option<Program> {
    let device = cuda.then(DeviceModel::cuda);
    compose(&mut program, &Model::cpu(), device.as_ref(), sink);
    match pass::run(&mut program, pass::PIPELINE) {
        Ok(()) => Some(program),
        Err(error) => {
            sink.push(defect(&program, &error.to_string()));
            None
        }
    }
}

fn back(input: &PipelineInput, program: &Program, sink: &mut Sink) -> Option<PipelineOutput> {
    let lowered = entry::lower_all(input, program, sink);
    if sink.has_errors() {
        return None;
    }
    let stems: OrdMap<FileId, String> = input.files.iter().map(|file| (file.id, file.stem.clone())).collect();
    let mut modules = Vec::new();
    let (mut cpp, mut device, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    for InputFile { id, stem, .. } in &input.files {
        let lowered = lowered.get(id).map_or(&[][..], Vec::as_slice);
        let infos: Vec<EntryInfo<'_>> = lowered.iter().map(Lowered::info).collect();
        let entries: Vec<imp::Entry> = lowered.iter().map(|lowered| lowered.entry.clone()).collect();
        let options = rust::Options { isas: &input.options.isas, vouched: input.options.vouched, stems: &stems };
        modules.push(rust::module(program, &input.sources, stem, &infos, &options));
        versions.extend(lowered.iter().map(|lowered| {
            EntryVersions {
                stem: stem.clone(),
                name: format!("{stem}::{}", program.funcs[lowered.func].name),
                symbol: lowered.entry.symbol.clone(),
                plans: lowered
                    .entry
                    .units
                    .iter()
                    .filter(|unit| unit.target == imp::UnitTarget::Cpu)
                    .map(|unit| unit.plan.clone())
                    .collect(),
            }
        }));
        if !entries.is_empty() {
            let options = openmp::Options {
                line_directives: input.options.line_directives,
                native_headers: input.options.native_headers.clone(),
                numbers: input.options.numbers,
            };
            let text = openmp::module(program, &input.sources, stem, &entries, &options);
            cpp.push(GeneratedFile { name: format!("{stem}.cpp"), text });
            let text = cuda::module(program, &input.sources, stem, &entries, &options);
            device.extend(text.map(|text| GeneratedFile { name: format!("{stem}.cu"), text }));
        }
    }
    let all: Vec<&Lowered> = lowered.values().flatten().collect();
    let native = cuda::natives(program, all.iter().map(|lowered| &lowered.entry), &input.options.native_headers);
    let idle = records::idle_records(input, &all, program);
    let idle_records = idle.into_iter().map(|(record, why)| (record.entry.clone(), why)).collect();
    let with_entries = |file: &&InputFile| lowered.contains_key(&file.id);
    let with_entries: Vec<&str> = input.files.iter().filter(with_entries).map(|file| file.stem.as_str()).collect();
    Some(PipelineOutput {
        rust: rust::file(&modules, &with_entries),
        cpp,
        cuda: device,
        natives: native.map(|text| GeneratedFile { name: "hidp_natives.cu".to_owned(), text }),
        versions,
        idle_records,
        ..PipelineOutput::default()
    })
}

fn stem_of(input: &PipelineInput, span: Span) -> &str {
    input.files.iter().find(|file| file.id == span.file).map_or("", |file| file.stem.as_str())
}

/// A defect of the compiler, shown like an error of the program rather than as a panic of the build script.
fn defect(program: &Program, what: &str) -> Diagnostic {
    let nowhere = Span::new(hidp_syntax::index::Id::new(0), 0, 0);
    let span = program.entries.first().and_then(|&func| program.funcs.get(func)).map_or(nowhere, |func| func.span);
    let mut diagnostic = Diagnostic::new(Code::Internal, span, "this is a defect of hidp-build");
    diagnostic.notes.extend(what.lines().map(str::to_owned));
    diagnostic
}

/// The part of its symbols that names an entry: `imp::Entry::symbol`. Unambiguous for every pair of names.
pub fn symbol(namespace: &str, stem: &str, function: &str) -> String {
    format!("{namespace}_{}{stem}_{function}", stem.len())
}

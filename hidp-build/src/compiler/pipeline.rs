//! Everything in order: sources and options in, generated files and diagnostics out.

mod agreement;
pub mod alternatives;
mod courses;
mod native;
mod stamp;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;

use hidp_check::{SourceUnit, check};
use hidp_emit::rust::{self, EntryInfo, Isa};
use hidp_emit::{cuda, openmp};
use hidp_ir::imp;
use hidp_ir::par::{FuncId, Program};
use hidp_lower::{Defect, lower, lower_also, lower_device};
use hidp_plan::target::{DeviceModel, Model, domains};
use hidp_plan::{
    Dispatch, Limits, Models, Natives, PinFile, Plan, Record, add_device_rules, check_directives, check_pins, compose,
    dispatch, explore, native_name,
};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::source::{FileId, SourceMap, Span};
use {hidp_pass as pass, hidp_syntax as syntax};

pub use agreement::compare;
pub use native::{NativeField, NativeStruct, NativeType, named_structs};
pub use stamp::{Headers, includes};

/// A build.
#[derive(Clone, Debug, Default)]
pub struct PipelineInput {
    /// Every file of the build, imported ones included.
    pub sources: SourceMap,
    /// What is known of each file, in the order of generated modules.
    pub files: Vec<InputFile>,
    /// What can be chosen.
    pub options: Options,
}

/// A file and what it imports.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// The file.
    pub id: FileId,
    /// Name of its Rust module and of its C++ file: an identifier, unique in the build.
    pub stem: String,
    /// The files that its `import` items mean, in their order. No file imports itself, directly or not.
    pub imports: Vec<FileId>,
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Part of every symbol, so that the kernels of two crates in one program do not meet: see [`symbol`].
    pub namespace: String,
    /// Instruction sets that the C++ is compiled for, most demanding first.
    pub isas: Vec<Isa>,
    /// Whether `#line` directives tie the C++ to the `.hdp` files.
    pub line_directives: bool,
    /// C++ headers that declare the native functions and structs.
    pub native_headers: Vec<String>,
    /// The texts of the headers that generated code may include. What is not there belongs to the C++ compiler.
    pub headers: Headers,
    /// The structs that the native headers define and the program names; `None` if nobody has read the headers.
    pub native_structs: Option<Vec<NativeStruct>>,
    /// Whether the build script vouches for the native functions: wrappers that use them are safe.
    pub vouched: bool,
    /// Tuning records.
    pub records: Vec<Record>,
    /// Whether CUDA is generated too.
    pub cuda: bool,
    /// Whether that is for the executor, which tells accesses apart by numbers in the text.
    pub numbers: bool,
    /// What the native headers are compiled for.
    pub natives: Natives,
    /// How many plans an entry may have.
    pub limits: Limits,
    /// Files of pinned plans.
    pub pins: Vec<PinFile>,
    /// Whether a version with a defect ends the build, though others can run in its place.
    pub strict: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: "k".into(),
            isas: vec![Isa::Base],
            line_directives: true,
            native_headers: Vec::new(),
            headers: Headers::default(),
            native_structs: None,
            vouched: false,
            records: Vec::new(),
            cuda: false,
            numbers: false,
            natives: Natives::Everywhere,
            limits: Limits::default(),
            pins: Vec::new(),
            strict: true,
        }
    }
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Name without folder: `gemm.cpp`.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// What a build gives.
#[derive(Clone, Debug, Default)]
pub struct PipelineOutput {
    /// Contents of `hidp_kernels.rs`, but for the libraries that it links ([`rust::links`]); nothing if a diagnostic is an error.
    pub rust: String,
    /// One C++ file for each `.hdp` file with entries; none if a diagnostic is an error.
    pub cpp: Vec<GeneratedFile>,
    /// One CUDA file, `<stem>.cu`, for each `.hdp` file with entries that have versions for a GPU, if [`Options::cuda`]; none if a
    /// diagnostic is an error.
    pub cuda: Vec<GeneratedFile>,
    /// A CUDA file that compiles if the native headers do, and all that the CUDA files use of them: none if they use nothing.
    pub natives: Option<GeneratedFile>,
    /// Errors and warnings, in order of file and position.
    pub diagnostics: Vec<Diagnostic>,
    /// The versions of each entry, file by file.
    pub versions: Vec<EntryVersions>,
    /// Entries of tuning records that are not used.
    pub idle_records: Vec<(String, IdleRecord)>,
}

/// An entry and its versions for CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryVersions {
    /// Name of the C++ file without extension.
    pub stem: String,
    /// `file::function`
    pub name: String,
    /// The part of its symbols that names the entry.
    pub symbol: String,
    /// Names of its plans.
    pub plans: Vec<String>,
}

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

/// An entry, and how a call finds its version.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The function.
    pub func: FuncId,
    /// Its versions.
    pub entry: imp::Entry,
    /// How a call finds its version.
    pub dispatch: Dispatch,
    /// Why versions are left out, which is never the program's fault.
    pub defects: Vec<Defect>,
}

impl Lowered {
    fn info(&self) -> EntryInfo<'_> {
        EntryInfo { func: self.func, entry: &self.entry, dispatch: &self.dispatch }
    }
}

/// Plans and lowers an entry. Versions with defects are left out, and nothing chooses them.
pub fn lower_entry(input: &PipelineInput, program: &Program, func: FuncId, model: &Model) -> Lowered {
    let item = &program.funcs[func];
    let symbol = symbol(&input.options.namespace, stem_of(input, item.span), &item.name);
    let (mut entry, mut defects) = lower(program, func, &symbol, &[], model);
    let alternatives::OnProcessors { plans: of_processors, rules, .. } = alternatives::all(input, program, func, model);
    for (form, of_form) in &of_processors {
        defects.extend(lower_also(program, *form, of_form, model, &mut entry));
    }
    let device = DeviceModel::cuda();
    let mut of_devices = Vec::new();
    if input.options.cuda {
        of_devices = alternatives::all_of_devices(input, program, func, Models { cpu: model, device: &device });
        for (form, of_form) in &of_devices {
            defects.extend(lower_device(program, *form, of_form, (model, &device), &mut entry));
        }
    }
    defects.extend(leave_out_unsound(program, &mut entry));
    let classes = alternatives::classes_of(program, &entry, of_processors.iter().chain(&of_devices));
    let (mut plans, mut explored) = (of_entry(of_processors, func), of_entry(of_devices, func));
    for plans in [&mut plans, &mut explored] {
        plans.retain(|plan| entry.units.iter().any(|unit| unit.plan == plan.name));
    }
    if entry.units_for(imp::UnitTarget::Cpu).next().is_none() {
        return Lowered { func, entry, dispatch: Dispatch::default(), defects };
    }
    // Where compositions alone are pinned, sizes are measured as for the entry as it is written.
    let usual =
        plans.first().cloned().or_else(|| explore(program, func, model, input.options.limits).plans.into_iter().next());
    let mut dispatch = dispatch(item, &plans, model);
    alternatives::add_rules(&mut dispatch, (program, func), &entry, rules);
    if let Some(usual) = usual {
        add_device_rules(&mut dispatch, program, item, (&usual, &explored), (model, &device));
    }
    let shown = format!("{}::{}", stem_of(input, item.span), item.name);
    let [source, device_source] =
        [imp::UnitTarget::Cpu, imp::UnitTarget::Device].map(|target| stamp::of(input, program, &entry, target));
    let stamp = |record: &Record| if record.is_for_devices() { &device_source } else { &source };
    let holds = |record: &&Record| record.entry == shown && record.source == *stamp(record);
    let records = input.options.records.iter().filter(holds).cloned().collect();
    Lowered { func, entry, dispatch: Dispatch { classes, source, device_source, records, ..dispatch }, defects }
}

/// Takes the versions out of an entry that do not verify, and says what is wrong with them.
fn leave_out_unsound(program: &Program, entry: &mut imp::Entry) -> Vec<Defect> {
    let (mut sound, mut defects) = (Vec::new(), Vec::new());
    for unit in std::mem::take(&mut entry.units) {
        let plan = unit.plan.clone();
        let again = sound.iter().any(|other: &imp::Unit| other.plan == plan);
        entry.units = vec![unit];
        match imp::verify(program, entry) {
            Ok(()) if again => {
                defects.push(Defect { plan, expected: "plans have different names".to_owned(), span: None });
            }
            Ok(()) => sound.append(&mut entry.units),
            Err(errors) => {
                let listed: Vec<String> = errors.iter().map(ToString::to_string).collect();
                defects.push(Defect { plan, expected: listed.join("\n"), span: None });
            }
        }
    }
    entry.units = sound;
    defects
}

/// The plans of an entry as it is written: pinned ones, else those that the planner finds.
pub fn plans_of(input: &PipelineInput, program: &Program, func: FuncId, model: &Model) -> Vec<Plan> {
    of_entry(alternatives::all(input, program, func, model).plans, func)
}

/// The same for devices.
pub fn device_plans_of(input: &PipelineInput, program: &Program, func: FuncId, models: Models<'_>) -> Vec<Plan> {
    of_entry(alternatives::all_of_devices(input, program, func, models), func)
}

fn of_entry(all: Vec<(FuncId, Vec<Plan>)>, func: FuncId) -> Vec<Plan> {
    all.into_iter().filter(|(form, _)| *form == func).flat_map(|(_, plans)| plans).collect()
}

/// Records that no entry of the build takes, and why.
fn idle_records<'a>(
    input: &'a PipelineInput,
    lowered: &[&Lowered],
    program: &Program,
) -> Vec<(&'a Record, IdleRecord)> {
    let shown = |lowered: &&Lowered| {
        let item = &program.funcs[lowered.func];
        format!("{}::{}", stem_of(input, item.span), item.name)
    };
    let names: Vec<String> = lowered.iter().map(shown).collect();
    let taken = |record: &Record| lowered.iter().any(|lowered| lowered.dispatch.records.contains(record));
    let idle = input.options.records.iter().filter(|record| !taken(record));
    idle.filter_map(|record| match names.contains(&record.entry) {
        // Records of devices are for builds that have device code.
        true if record.is_for_devices() && !input.options.cuda => None,
        true => Some((record, IdleRecord::Stale)),
        false => Some((record, IdleRecord::Unknown)),
    })
    .collect()
}

/// Why a tuning record is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRecord {
    /// The entry is compiled to something else now.
    Stale,
    /// There is no such entry.
    Unknown,
}

fn stem_of(input: &PipelineInput, span: Span) -> &str {
    input.files.iter().find(|file| file.id == span.file).map_or("", |file| file.stem.as_str())
}

/// The entries of each file, lowered.
fn lower_all(input: &PipelineInput, program: &Program, sink: &mut Sink) -> BTreeMap<FileId, Vec<Lowered>> {
    let model = Model::cpu();
    let mut files: BTreeMap<FileId, Vec<Lowered>> = BTreeMap::new();
    let models = Models { cpu: &model, device: &DeviceModel::cuda() };
    check_pins(program, &input.sources, &input.options.pins, models, sink);
    check_directives(program, models, sink);
    if sink.has_errors() {
        return files;
    }
    for &func in &program.entries {
        let lowered = lower_entry(input, program, func, &model);
        report_defects(program, &lowered, input.options.strict, sink);
        files.entry(program.funcs[func].span.file).or_default().push(lowered);
    }
    files
}

/// A build goes on without versions that have a defect, if one is left that can always run: any of the processor.
fn report_defects(program: &Program, lowered: &Lowered, strict: bool, sink: &mut Sink) {
    let (item, entry) = (&program.funcs[lowered.func], &lowered.entry);
    let some = entry.units_for(imp::UnitTarget::Cpu).next().is_some();
    for Defect { plan, expected, span } in &lowered.defects {
        let span = span.unwrap_or(item.span);
        let mut diagnostic = if some && !strict {
            let headline = format!("`{}` has no version `{plan}`: a defect of hidp-build", item.name);
            Diagnostic::new(Code::VersionLeftOut, span, headline).label("its other versions run instead")
        } else {
            let headline = format!("the version `{plan}` of `{}` meets a defect of hidp-build", item.name);
            Diagnostic::new(Code::Internal, span, headline)
        };
        diagnostic.notes.extend(expected.lines().map(str::to_owned));
        sink.push(diagnostic);
    }
    if !some && lowered.defects.is_empty() {
        sink.push(defect(program, &format!("`{}` has no version", item.name)));
    }
}

fn back(input: &PipelineInput, program: &Program, sink: &mut Sink) -> Option<PipelineOutput> {
    let lowered = lower_all(input, program, sink);
    if sink.has_errors() {
        return None;
    }
    let stems: BTreeMap<FileId, String> = input.files.iter().map(|file| (file.id, file.stem.clone())).collect();
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
    let idle = idle_records(input, &all, program);
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

#[cfg(test)]
mod tests {
    mod codelets;
    mod courses;
    mod device_pins;
    mod device_rules;
    mod directives;
    mod host_rules;
    mod pins;

    use super::testing::input;
    use super::*;
    use hidp_ir::par::StmtKind;

    fn codes(text: &str, options: Options) -> Vec<Code> {
        let output = compile(&input(text, options));
        output.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn natives_need_a_header() {
        let text = "extern function float twist(float x);\n\
                    function f inout float x[N]; { map { i := [0:N); x[i] = twist(x[i]); } }\n";
        assert_eq!(codes(text, Options::default()), [Code::HeaderNotNamed]);
        let options = Options { native_headers: vec!["twist.hpp".into()], ..Options::default() };
        assert_eq!(codes(text, options), []);
    }

    fn tuned(text: &str, records: Vec<Record>) -> PipelineOutput {
        built(text, records, false)
    }
    fn built(text: &str, records: Vec<Record>, cuda: bool) -> PipelineOutput {
        compile(&input(text, Options { records, cuda, ..Options::default() }))
    }

    const TEXTS: [&str; 7] = ["device", "architecture", "vendor", "isa", "toolchain", "host", "rules"];

    #[test]
    fn records_of_devices_hold_for_device_code() {
        let text = "function f inout float x[N]; { x = 2 * x; }\n";
        let source = |key: &str, cuda: bool| {
            let plain = built(text, Vec::new(), cuda).rust;
            plain.split_once(&format!(" {key}: \"")).unwrap().1.split('"').next().unwrap().to_owned()
        };
        assert_eq!((source("source", true), source("device_source", false)), (source("source", false), String::new()));
        assert_ne!(source("source", true), source("device_source", true));
        let texts = TEXTS.map(|key| (key, if key == "isa" { "cuda".to_owned() } else { String::new() }));
        let record = Record { entry: "k::f".into(), source: source("device_source", true), texts, threads: 512 };
        let idle = |record: &Record, cuda: bool| {
            let output = built(text, vec![record.clone()], cuda);
            (output.rust.contains("threads: 512"), output.idle_records.first().map(|(_, why)| *why))
        };
        assert_eq!(idle(&record, true), (true, None));
        assert_eq!(idle(&record, false), (false, None), "it waits for a build with device code");
        let stale = Record { source: source("source", true), ..record.clone() };
        assert_eq!(idle(&stale, true), (false, Some(IdleRecord::Stale)));
        let unknown = Record { entry: "k::g".into(), ..record };
        assert_eq!(idle(&unknown, false), (false, Some(IdleRecord::Unknown)));
    }

    #[test]
    fn records_hold_for_what_was_measured() {
        let text = "function f inout float x[N]; { x = 2 * x; }\n";
        let plain = tuned(text, Vec::new());
        let (_, rest) = plain.rust.split_once("source: \"").unwrap();
        let source = rest[..16].to_owned();
        let texts = TEXTS.map(|key| (key, String::new()));
        let record = Record { entry: "k::f".into(), source, texts, threads: 2 };
        let holds = |text: &str, record: &Record| {
            let output = tuned(text, vec![record.clone()]);
            assert_eq!(output.rust.contains("threads: 2"), output.idle_records.is_empty());
            output.idle_records
        };
        assert_eq!(holds(text, &record), []);
        let moved = format!("function g inout float y[N]; {{ y = 3 * y; }}\n{text}");
        assert_eq!(holds(&moved, &record), [], "what stands before it does not matter");
        assert_eq!(holds(&text.replace('2', "4"), &record), [("k::f".into(), IdleRecord::Stale)]);
        assert_eq!(holds(&text.replace("function f", "function g"), &record), [("k::f".into(), IdleRecord::Unknown)]);
    }

    /// Whatever looks into functions for each of their calls would not come to an end.
    #[test]
    fn functions_that_call_others_twice_are_looked_into_once() {
        let mut text = "function float g0(float v) { return v + 1; }\n".to_owned();
        for at in 1..60 {
            text += &format!("function float g{at}(float v) {{ return g{0}(v) + g{0}(v + 1); }}\n", at - 1);
        }
        text += "function f inout float x[N]; { map { i := [0:N); x[i] = g59(x[i]); } }\n";
        let output = compile(&input(&text, Options { cuda: true, ..Options::default() }));
        assert_eq!((output.diagnostics.len(), output.cpp.len(), output.cuda.len()), (0, 1, 1));
    }

    /// Looking at all pairs of them again after each that was joined takes minutes.
    #[test]
    fn long_rows_of_maps_are_joined_in_parts() {
        let text =
            format!("function f inout float x[N]; {{ {} }}\n", "map { i := [0:N); x[i] = x[i] * 2; }\n".repeat(300));
        let program = super::testing::optimised(&input(&text, Options::default()));
        let stmts = &program.funcs[program.entries[0]].body.stmts;
        assert!(stmts.iter().all(|stmt| matches!(stmt.kind, StmtKind::Map(_))), "{stmts:?}");
        assert_eq!(stmts.len(), 2);
    }

    #[test]
    fn builds_go_on_without_versions_that_have_a_defect() {
        let build =
            input("function f inout float x[N]; { x = 2 * x; }\n", Options { cuda: true, ..Options::default() });
        let program = super::testing::optimised(&build);
        let sound = lower_entry(&build, &program, program.entries[0], &Model::cpu());
        let defect = Defect { plan: "serial".into(), expected: "all is well".into(), span: None };
        let reported = |lowered: &Lowered, strict: bool| {
            let mut sink = Sink::new();
            report_defects(&program, lowered, strict, &mut sink);
            sink.finish().iter().map(|diagnostic| (diagnostic.code, diagnostic.notes.concat())).collect::<Vec<_>>()
        };
        assert_eq!(reported(&sound, true), []);
        let one = Lowered { defects: vec![defect], ..sound.clone() };
        let note = "all is well".to_owned();
        assert_eq!(reported(&one, false), [(Code::VersionLeftOut, note.clone())]);
        assert_eq!(reported(&one, true), [(Code::Internal, note.clone())]);
        // Devices alone cannot run everything.
        let mut none = one.clone();
        none.entry.units.retain(|unit| unit.target == imp::UnitTarget::Device);
        assert_eq!((none.entry.units.len(), reported(&none, false)), (1, vec![(Code::Internal, note)]));
        none.defects.clear();
        assert_eq!(reported(&none, false), [(Code::Internal, "`f` has no version".to_owned())]);
    }

    #[test]
    fn versions_that_do_not_verify_are_left_out() {
        let build = input("function f inout float x[N]; { x = 2 * x; }\n", Options::default());
        let program = super::testing::optimised(&build);
        let sound = lower_entry(&build, &program, program.entries[0], &Model::cpu()).entry;
        let plans: Vec<&str> = sound.units.iter().map(|unit| unit.plan.as_str()).collect();
        assert_eq!(plans, ["rows", "serial"]);
        let mut entry = sound.clone();
        entry.units[0].host.params.reverse();
        entry.units.push(sound.units[1].clone());
        let defects = leave_out_unsound(&program, &mut entry);
        assert_eq!(entry.units.iter().map(|unit| unit.plan.as_str()).collect::<Vec<_>>(), ["serial"]);
        let left_out: Vec<&str> = defects.iter().map(|defect| defect.plan.as_str()).collect();
        assert_eq!(left_out, ["rows", "serial"]);
        assert_eq!(defects[1].expected, "plans have different names");
    }

    #[test]
    fn symbols_differ_where_joined_names_do_not() {
        assert_ne!(symbol("k", "a_b", "c"), symbol("k", "a", "b_c"));
    }
}

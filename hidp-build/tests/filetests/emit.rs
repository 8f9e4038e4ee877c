//! Kind `emit`: the C++ of a case is as in `.cpp` and its CUDA as in `.cu`, or as [`crate::structure`] says where that would be long; both
//! keep the invariants of `imp` on their way there, and the real compilers take them without a warning.

use std::collections::BTreeMap;

use hidp_build::compiler::diag::Sink;
use hidp_build::compiler::emit::{cuda, openmp};
use hidp_build::compiler::ir::imp;
use hidp_build::compiler::ir::par::Program;
use hidp_build::compiler::pipeline::{self, InputFile, PipelineInput};
use hidp_build::compiler::source::SourceMap;
use hidp_build::compiler::target::Model;

use crate::case::{Case, blessing};
use crate::made::{self, folder, hash, headers_hash};
use crate::nvcc;
use crate::structure::{self, Structure};

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let structure = Structure::read(&case.text)?;
    let lowered = Lowered::new(case)?;
    compiles(case, &lowered.cpp(|_| true))?;
    if let Some(cu) = &lowered.cu(|_| true) {
        nvcc::compiles(&format!("emit_{}", case.name), cu)?;
    }
    let texts = lowered.texts();
    if blessing() {
        case.rewrite(&structure::recounted(&case.text, &texts))?;
    } else {
        structure.compare(&texts)?;
    }
    case.golden("cpp", &lowered.cpp(|plan| structure.is_text(plan)))?;
    case.golden("cu", &lowered.cu(|plan| structure.is_text(plan)).unwrap_or_default())
}

/// A case on its way to C++ and CUDA.
struct Lowered {
    stem: String,
    sources: SourceMap,
    program: Program,
    entries: Vec<imp::Entry>,
}

const OPTIONS: openmp::Options = openmp::Options { line_directives: false, native_headers: Vec::new(), numbers: false };

impl Lowered {
    fn new(case: &Case) -> Result<Lowered, String> {
        let mut sources = SourceMap::new();
        let id = sources.add(format!("{}.hdp", case.name), case.text.as_str());
        let files = vec![InputFile { id, stem: case.name.clone(), imports: Vec::new() }];
        let input = PipelineInput { sources, files, options: pipeline::Options { cuda: true, ..Default::default() } };
        let mut sink = Sink::new();
        let program =
            pipeline::front(&input, &mut sink).and_then(|program| pipeline::optimise(program, true, &mut sink));
        let Some(program) = program else {
            let errors: Vec<String> = sink.finish().into_iter().map(|diagnostic| diagnostic.headline).collect();
            return Err(format!("does not compile: {}", errors.join("; ")));
        };
        let model = Model::cpu();
        let entries: Vec<imp::Entry> =
            program.entries.iter().map(|func| pipeline::lower_entry(&input, &program, *func, &model).entry).collect();
        for entry in &entries {
            imp::verify(&program, entry).map_err(|errors| {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                format!("{}\n{}", errors.join("\n"), imp::print(&program, entry))
            })?;
        }
        Ok(Lowered { stem: case.name.clone(), sources: input.sources, program, entries })
    }

    /// The name of an entry's plan, as cases say it.
    fn name(&self, number: usize, unit: &imp::Unit) -> String {
        format!("{}/{}", self.program.funcs[self.program.entries[number]].name, unit.plan)
    }

    /// The entries with these plans, if they have any.
    fn with(&self, wanted: impl Fn(&str) -> bool) -> Vec<imp::Entry> {
        let only = |(number, entry): (usize, &imp::Entry)| {
            let mut entry = entry.clone();
            entry.units.retain(|unit| wanted(&self.name(number, unit)));
            (!entry.units.is_empty()).then_some(entry)
        };
        self.entries.iter().enumerate().filter_map(only).collect()
    }

    /// C++ of these plans.
    fn cpp(&self, wanted: impl Fn(&str) -> bool) -> String {
        openmp::module(&self.program, &self.sources, &self.stem, &self.with(wanted), &OPTIONS)
    }

    /// CUDA of these plans, if some are for a device.
    fn cu(&self, wanted: impl Fn(&str) -> bool) -> Option<String> {
        cuda::module(&self.program, &self.sources, &self.stem, &self.with(wanted), &OPTIONS)
    }

    /// The text of each plan alone.
    fn texts(&self) -> BTreeMap<String, String> {
        let all = self
            .entries
            .iter()
            .enumerate()
            .flat_map(|(number, entry)| entry.units.iter().map(move |unit| (self.name(number, unit), unit.target)));
        let text = |name: &str, target| match target {
            imp::UnitTarget::Cpu => self.cpp(|plan| plan == name),
            imp::UnitTarget::Device => self.cu(|plan| plan == name).unwrap_or_default(),
        };
        all.map(|(name, target)| (name.clone(), text(&name, target))).collect()
    }
}

/// Checks with the C++ compiler, unless it took the text before; where there is none, says so and passes.
fn compiles(case: &Case, text: &str) -> Result<(), String> {
    if made::compiler().version.is_empty() {
        println!("skipped: {}: there is no C++ compiler `{}`", case.name, made::compiler().name);
        return Ok(());
    }
    let flags = [openmp::FLAGS, &["-O1", "-fopenmp-simd", "-c"]].concat();
    let key = flags.iter().fold(hash(headers_hash(), text.as_bytes()), |state, flag| hash(state, flag.as_bytes()));
    let output = folder().join(format!("emit_{}-{key:016x}.o", case.name));
    let source = output.with_extension("cpp");
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    made::compile(&output, &flags, &[source])
}

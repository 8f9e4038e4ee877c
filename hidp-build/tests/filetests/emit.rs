//! Kind `emit`: the C++ of a case is as in `.cpp` and its CUDA as in `.cu`, both keep the invariants of `imp` on their way there, and
//! the real compilers take them without a warning.

use std::path::{Path, PathBuf};
use std::process::Command;

use hidp_build::compiler::diag::Sink;
use hidp_build::compiler::emit::{cuda, openmp};
use hidp_build::compiler::ir::imp;
use hidp_build::compiler::pipeline::{self, InputFile, PipelineInput};
use hidp_build::compiler::source::SourceMap;
use hidp_build::compiler::target::Model;

use crate::case::Case;
use crate::nvcc;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let (cpp, cu) = emitted(case)?;
    compiles(case, &cpp)?;
    if let Some(cu) = &cu {
        nvcc::compiles(&format!("emit_{}", case.name), cu)?;
    }
    case.golden("cpp", &cpp)?;
    case.golden("cu", &cu.unwrap_or_default())
}

/// C++, and CUDA if an entry has a version for a device.
fn emitted(case: &Case) -> Result<(String, Option<String>), String> {
    let mut sources = SourceMap::new();
    let id = sources.add(format!("{}.hdp", case.name), case.text.as_str());
    let files = vec![InputFile { id, stem: case.name.clone(), imports: Vec::new() }];
    let input = PipelineInput { sources, files, options: pipeline::Options { cuda: true, ..Default::default() } };
    let mut sink = Sink::new();
    let program = pipeline::front(&input, &mut sink).and_then(|program| pipeline::optimise(program, &mut sink));
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
    let options = openmp::Options { line_directives: false, ..openmp::Options::default() };
    let cpp = openmp::module(&program, &input.sources, &case.name, &entries, &options);
    Ok((cpp, cuda::module(&program, &input.sources, &case.name, &entries, &options)))
}

/// Checks with the C++ compiler; where there is none, says so and passes.
fn compiles(case: &Case, text: &str) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("emit_{}.cpp", case.name));
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let output = Command::new(&compiler)
        .args(openmp::FLAGS)
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", "-c", "-o", "/dev/null", "-I"])
        .arg(root.join("hidp-std/include"))
        .arg("-I")
        .arg(root.join("hidp-sys/include"))
        .arg(&source)
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => {
            println!("skipped: {}: cannot start `{compiler}`: {error}", case.name);
            Ok(())
        }
    }
}

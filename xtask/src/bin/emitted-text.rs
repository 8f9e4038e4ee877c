//! `emitted-text FROM TO`: what this revision's compiler makes of every `.hdp` file below FROM, as text below TO.
//!
//! `cargo xtask emitted` runs this program of two revisions and compares. Each revision has its own, so that the compiler's interface
//! may change; the arguments and the names of what is written may not: for `a/b.hdp` that is `a/b.cpp`, `a/b.cu` and `a/b.rs`, none of them
//! after an error, and `a/b.said` where there are diagnostics. A file with a line `// variants` is compiled with all versions that a tuner would compare.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{env, fs, thread};

use hidp_build::Isa;
use hidp_build::compiler::pipeline::{self, InputFile, NativeField, NativeStruct, NativeType, Options, PipelineInput};
use hidp_build::compiler::plan::PinFile;
use hidp_build::compiler::ty::Scalar;

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result {
    let args: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [from, to] = args.as_slice() else { return Err("emitted-text FROM TO".into()) };
    let mut programs = Vec::new();
    collect(from, &mut programs)?;
    let queue = Mutex::new(programs.into_iter());
    thread::scope(|scope| {
        let work = || -> Result {
            loop {
                let next = queue.lock().map_err(|_| "another thread panicked")?.next();
                let Some(program) = next else { return Ok(()) };
                let base = to.join(program.strip_prefix(from)?);
                emit(&program, &base).map_err(|error| format!("{}: {error}", program.display()))?;
            }
        };
        let workers: Vec<_> =
            (0..thread::available_parallelism().map_or(1, usize::from)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread panicked")?)
    })
}

fn collect(folder: &Path, programs: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, programs)?;
        } else if path.extension().is_some_and(|extension| extension == "hdp") {
            programs.push(path);
        }
    }
    Ok(())
}

/// Writes what becomes of a program to `base`, with other extensions.
fn emit(program: &Path, base: &Path) -> Result {
    let text = fs::read_to_string(program)?;
    let stem = program.file_stem().ok_or("no name")?.to_string_lossy().replace('-', "_");
    let mut input = PipelineInput { options: options(&text), ..PipelineInput::default() };
    let id = input.sources.add(format!("{stem}.hdp"), text);
    if let Ok(plans) = fs::read_to_string(program.with_extension("plan")) {
        let plans = input.sources.add(format!("{stem}.plan"), plans);
        input.options.pins.push(PinFile { program: id, plans });
    }
    input.files.push(InputFile { id, stem, imports: Vec::new() });
    let output = pipeline::compile(&input);

    fs::create_dir_all(base.parent().ok_or("no folder")?)?;
    let said = output.diagnostics.iter().map(|diagnostic| {
        let place = input.sources.position(diagnostic.primary.span);
        format!("{}:{}: {}\n{}", place.line, place.column, diagnostic.headline, diagnostic.notes.join("\n"))
    });
    let said = said.collect();
    let all = |files: Vec<pipeline::GeneratedFile>| files.into_iter().map(|file| file.text).collect::<String>();
    let parts = [("said", said), ("cpp", all(output.cpp)), ("cu", all(output.cuda)), ("rs", output.rust)];
    for (extension, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
        fs::write(base.with_extension(extension), text)?;
    }
    Ok(())
}

/// What a build with everything would choose.
fn options(text: &str) -> Options {
    let mut options = Options { cuda: true, isas: vec![Isa::V4, Isa::V3, Isa::Base], ..Options::default() };
    options.limits.variants = text.lines().any(|line| line == "// variants" || line == "// variants on processors");
    if text.lines().any(|line| line.starts_with("extern ")) {
        let field =
            |name: &str, scalar, offset| NativeField { name: name.into(), ty: NativeType::Scalar(scalar), offset };
        // The struct of `natives/functions.h`, which the cases name.
        let fields = vec![
            field("id", Scalar::I64, 0),
            field("x", Scalar::F32, 8),
            field("y", Scalar::F32, 12),
            field("seen", Scalar::Bool, 16),
        ];
        options.native_headers = vec!["natives/functions.h".into()];
        options.native_structs = Some(vec![NativeStruct { name: "Point".into(), fields, size: 24, align: 8 }]);
    }
    options
}

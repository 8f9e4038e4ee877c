//! Compiles the generated C++: once for each instruction set, and only what changed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cargo;
use crate::compiler::diag::Code;
use crate::compiler::emit::openmp::FLAGS;
use crate::compiler::emit::rust::Isa;
use crate::report::Problem;
use crate::toolchain::{Toolchain, cc_build};

mod depfile;

/// What is compiled, and how.
pub(crate) struct Job<'a> {
    pub(crate) toolchain: &'a Toolchain,
    /// The folder with the C++ files, where objects go too.
    pub(crate) out_dir: &'a Path,
    /// C++ files in `out_dir`.
    pub(crate) files: &'a [String],
    pub(crate) isas: &'a [Isa],
    /// Folders with the run time's headers.
    pub(crate) include: &'a [PathBuf],
    /// Native headers are relative to this folder. System headers are not looked for there, whatever lies in it.
    pub(crate) root: &'a Path,
    /// Name of the static library.
    pub(crate) library: &'a str,
}

/// What became of it.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    /// Headers that the C++ files include, system headers apart.
    pub(crate) headers: Vec<PathBuf>,
    /// How many objects had to be compiled.
    pub(crate) objects: usize,
    pub(crate) problems: Vec<Problem>,
}

/// Compiles and archives.
pub(crate) fn compile(job: &Job<'_>) -> Compiled {
    let units: Vec<Unit<'_>> =
        job.files.iter().flat_map(|file| job.isas.iter().map(move |&isa| Unit { job, file, isa })).collect();
    let results = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let workers = cargo::jobs().min(units.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = (unit, unit.update());
                    results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(result);
                }
            });
        }
    });
    let mut compiled = Compiled::default();
    let mut failures = BTreeMap::new();
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(unit, _)| (unit.file, unit.isa)); // workers finish in any order
    for (unit, result) in results {
        match result {
            Ok((made, headers)) => {
                compiled.objects += usize::from(made);
                compiled.headers.extend(headers);
            }
            // One message is enough where all instruction sets fail alike.
            Err(problem) => drop(failures.entry(unit.file).or_insert(problem)),
        }
    }
    compiled.problems.extend(failures.into_values());
    compiled.headers.sort();
    compiled.headers.dedup();
    if compiled.problems.is_empty() {
        compiled.problems.extend(archive(job, &units, compiled.objects > 0).err());
    }
    compiled
}

/// One object.
struct Unit<'a> {
    job: &'a Job<'a>,
    file: &'a str,
    isa: Isa,
}

impl Unit<'_> {
    fn path(&self, extension: &str) -> PathBuf {
        let stem = self.file.trim_end_matches(".cpp");
        self.job.out_dir.join(format!("{stem}.{}.{extension}", self.isa.name()))
    }

    fn flags(&self) -> Vec<String> {
        let own = FLAGS.iter().map(|&flag| flag.to_owned());
        let threads = self.job.toolchain.thread_flags().iter().cloned();
        // Line tables only: debuggers and profilers find the `.hdp` lines.
        own.chain(Toolchain::isa_flags(self.isa)).chain(threads).chain(["-g1".to_owned()]).collect()
    }

    /// Everything but the contents of files that the object is made from.
    fn key(&self) -> String {
        let inputs = (self.job.toolchain.identity(), self.flags(), self.job.include, self.job.root, self.file);
        format!("{:016x}", cargo::hash(&inputs))
    }

    /// Compiles unless the object is up to date. Gives whether it did, and the headers.
    fn update(&self) -> Result<(bool, Vec<PathBuf>), Problem> {
        if let Some(headers) = self.up_to_date() {
            return Ok((false, headers));
        }
        let files = self.compile()?;
        let stamp: Option<Vec<String>> =
            files.iter().map(|file| Some(format!("{} {}", content_hash(file)?, file.display()))).collect();
        if let Some(lines) = stamp {
            let text = format!("{}\n{}\n", self.key(), lines.join("\n"));
            write(&self.path("stamp"), &text)?;
        }
        Ok((true, self.headers(files)))
    }

    /// The headers, if object and stamp are there and nothing changed since.
    fn up_to_date(&self) -> Option<Vec<PathBuf>> {
        if !self.path("o").is_file() {
            return None;
        }
        let stamp = fs::read_to_string(self.path("stamp")).ok()?;
        let mut lines = stamp.lines();
        if lines.next() != Some(self.key().as_str()) {
            return None;
        }
        let mut files = Vec::new();
        for line in lines {
            let (hash, file) = line.split_once(' ')?;
            let file = PathBuf::from(file);
            if content_hash(&file)? != hash {
                return None;
            }
            files.push(file);
        }
        Some(self.headers(files))
    }

    fn headers(&self, files: Vec<PathBuf>) -> Vec<PathBuf> {
        files.into_iter().filter(|file| !file.starts_with(self.job.out_dir)).collect()
    }

    /// Runs the compiler; gives the files that it read.
    fn compile(&self) -> Result<Vec<PathBuf>, Problem> {
        let (object, depfile) = (self.path("o"), self.path("d"));
        // An object without stamp would be taken for up to date by nobody, but a stamp without its object might.
        let _ = fs::remove_file(self.path("stamp"));
        let mut command = self.job.toolchain.command();
        command.args(self.flags());
        for folder in self.job.include {
            command.arg("-I").arg(folder);
        }
        command.arg("-iquote").arg(self.job.root);
        command.arg("-MMD").arg("-MF").arg(&depfile);
        command.arg("-c").arg(self.job.out_dir.join(self.file)).arg("-o").arg(&object);
        let shown = shown(&command);
        let output = command.output().map_err(|error| self.failed(&shown, &error.to_string()))?;
        if !output.status.success() {
            return Err(self.failed(&shown, &String::from_utf8_lossy(&output.stderr)));
        }
        let text = fs::read_to_string(&depfile).unwrap_or_default();
        Ok(depfile::files(&text))
    }

    fn failed(&self, command: &str, output: &str) -> Problem {
        const LINES: usize = 40;
        let mut lines: Vec<&str> = output.lines().collect();
        let more = lines.len().saturating_sub(LINES);
        lines.truncate(LINES);
        let mut text = lines.join("\n");
        if more > 0 {
            text.push_str(&format!("\n… and {more} more lines"));
        }
        let headline = format!("the C++ compiler failed on `{}` for `{}`", self.file, self.isa.name());
        let problem = Problem::new(Code::CompilerFailed, headline).note(text).note(command);
        if output.contains("-march") {
            problem.help("this compiler is too old: GCC 11 and Clang 12 know the levels of x86-64")
        } else {
            problem
        }
    }
}

/// Makes the static library, if an object is new or the objects are others than before.
fn archive(job: &Job<'_>, units: &[Unit<'_>], changed: bool) -> Result<(), Problem> {
    let library = job.out_dir.join(format!("lib{}.a", job.library));
    let list = job.out_dir.join(format!("lib{}.txt", job.library));
    let objects: Vec<PathBuf> = units.iter().map(|unit| unit.path("o")).collect();
    let text: String = objects.iter().map(|object| format!("{}\n", object.display())).collect();
    if !changed && library.is_file() && fs::read_to_string(&list).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let mut build = cc_build(job.out_dir);
    build.cargo_metadata(false);
    for object in &objects {
        build.object(object);
    }
    build.try_compile(job.library).map_err(|error| {
        Problem::new(Code::CompilerFailed, "the kernels cannot be put into a library").note(error.to_string())
    })?;
    write(&list, &text)
}

fn content_hash(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| format!("{:016x}", cargo::hash(&bytes)))
}

/// Writes a file unless it holds the text already. Gives whether it did.
pub(crate) fn write_if_changed(path: &Path, text: &str) -> Result<bool, Problem> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(false);
    }
    write(path, text).map(|()| true)
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    fs::write(path, text)
        .map_err(|error| Problem::new(Code::OutputFailed, format!("cannot write `{}`: {error}", path.display())))
}
/// The program and its arguments. `Debug` would show the whole environment, which is long, and none of a log's business.
fn shown(command: &Command) -> String {
    let words = iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_string_lossy);
    let quoted = words.map(|word| if word.contains(' ') { format!("\"{word}\"") } else { word.into_owned() });
    quoted.collect::<Vec<_>>().join(" ")
}

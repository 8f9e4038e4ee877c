//! Object files that are compiled again only when something that they are made from has changed.

use std::ffi::OsStr;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::report::Problem;
use crate::toolchain::cc_build;
use crate::workers;
use hidp_syntax::diag::Code;
use hidp_syntax::ordered::OrdMap;

pub(crate) mod depfile;

/// A run of a compiler that makes one object.
pub(crate) trait Unit: Sync {
    /// The generated file.
    fn file(&self) -> &str;
    /// What is made.
    fn object(&self) -> Object<'_>;
    /// Runs the compiler; gives the files that it read.
    fn compile(&self, object: &Object<'_>) -> Result<Vec<PathBuf>, Problem>;
}

/// What became of the units.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    /// Headers that the generated files include, system headers apart.
    pub(crate) headers: Vec<PathBuf>,
    /// How many objects had to be compiled.
    pub(crate) made: usize,
    pub(crate) problems: Vec<Problem>,
}

/// Brings all objects up to date and puts them into a static library.
pub(crate) fn compile(out_dir: &Path, library: &str, units: &[&dyn Unit]) -> Compiled {
    let mut compiled = Compiled::default();
    let mut failures = OrdMap::new();
    let results = workers::run_all(units, |&unit| update(unit));
    for (unit, result) in units.iter().zip(results) {
        match result {
            Ok(Updated { made, headers }) => {
                compiled.made += usize::from(made);
                compiled.headers.extend(headers);
            }
            // One message is enough where all instruction sets fail alike.
            Err(problem) => drop(failures.entry(unit.file()).or_insert(problem)),
        }
    }
    compiled.problems.extend(failures.into_values());
    compiled.headers.sort();
    compiled.headers.dedup();
    if compiled.problems.is_empty() {
        let objects: Vec<PathBuf> = units.iter().map(|unit| unit.object().path("o")).collect();
        compiled.problems.extend(archive(out_dir, library, &objects, compiled.made > 0).err());
    }
    compiled
}

/// Brings one object up to date.
pub(crate) fn update(unit: &dyn Unit) -> Result<Updated, Problem> {
    let object = unit.object();
    object.update(|| unit.compile(&object))
}

/// Makes the static library, if an object is new or the objects are others than before.
fn archive(out_dir: &Path, library: &str, objects: &[PathBuf], changed: bool) -> Result<(), Problem> {
    let file = out_dir.join(format!("lib{library}.a"));
    let list = out_dir.join(format!("lib{library}.txt"));
    let text: String = objects.iter().map(|object| format!("{}\n", object.display())).collect();
    if !changed && file.is_file() && fs::read_to_string(&list).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let mut build = cc_build(out_dir);
    build.cargo_metadata(false);
    for object in objects {
        build.object(object);
    }
    build.try_compile(library).map_err(|error| {
        Problem::new(Code::CompilerFailed, "the kernels cannot be put into a library").note(error.to_string())
    })?;
    write(&list, &text)
}

/// An object file, with a note of what it was made from.
pub(crate) struct Object<'a> {
    /// The folder that it goes to, with the generated file that it is made from.
    pub(crate) out_dir: &'a Path,
    /// Name without extension.
    pub(crate) name: String,
    /// Everything but the contents of files that the object is made from.
    pub(crate) key: String,
    /// Extensions of what the compiler writes besides the object, and is wanted with it.
    pub(crate) besides: &'static [&'static str],
}

/// What became of an object.
pub(crate) struct Updated {
    /// Whether it had to be compiled.
    pub(crate) made: bool,
    /// The files that it is made from, but those in `out_dir`.
    pub(crate) headers: Vec<PathBuf>,
}

impl Object<'_> {
    pub(crate) fn path(&self, extension: &str) -> PathBuf {
        self.out_dir.join(format!("{}.{extension}", self.name))
    }

    /// Compiles unless the object is up to date. `compile` gives the files that the compiler read.
    fn update(&self, compile: impl FnOnce() -> Result<Vec<PathBuf>, Problem>) -> Result<Updated, Problem> {
        if let Some(headers) = self.up_to_date() {
            return Ok(Updated { made: false, headers });
        }
        // Remove the stamp before compiling: a stamp left without its object could pass for up to date.
        let _ = fs::remove_file(self.path("stamp"));
        let files = compile()?;
        let stamp: Option<Vec<String>> =
            files.iter().map(|file| Some(format!("{} {}", content_hash(file)?, file.display()))).collect();
        if let Some(lines) = stamp {
            write(&self.path("stamp"), &format!("{}\n{}\n", self.key, lines.join("\n")))?;
        }
        Ok(Updated { made: true, headers: self.headers(files) })
    }

    /// The headers, if object and stamp are there and nothing changed since.
    fn up_to_date(&self) -> Option<Vec<PathBuf>> {
        if ["o"].iter().chain(self.besides).any(|extension| !self.path(extension).is_file()) {
            return None;
        }
        let stamp = fs::read_to_string(self.path("stamp")).ok()?;
        let mut lines = stamp.lines();
        if lines.next() != Some(self.key.as_str()) {
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
        files.into_iter().filter(|file| !file.starts_with(self.out_dir)).collect()
    }
}

/// The first lines of what a compiler said.
pub(crate) fn excerpt(output: &str) -> String {
    const LINES: usize = 40;
    let mut lines: Vec<&str> = output.lines().collect();
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    let mut text = lines.join("\n");
    if more > 0 {
        text.push_str(&format!("\n… and {more} more lines"));
    }
    text
}

/// Runs a C++ compiler, which also says what it read. `failed` gets the command and what the compiler said.
pub(crate) fn compile_cpp(
    mut command: Command,
    source: &Path,
    object: &Object<'_>,
    failed: impl Fn(&str, &str) -> Problem,
) -> Result<Vec<PathBuf>, Problem> {
    let depfile = object.path("d");
    command.arg("-MMD").arg("-MF").arg(&depfile);
    command.arg("-c").arg(source).arg("-o").arg(object.path("o"));
    let shown = shown(&command);
    let output = command.output().map_err(|error| failed(&shown, &error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&shown, &String::from_utf8_lossy(&output.stderr)));
    }
    Ok(depfile::files(&fs::read_to_string(&depfile).unwrap_or_default()))
}

/// The program and its arguments. `Debug` would show the whole environment, which is long, and none of a log's business.
pub(crate) fn shown(command: &Command) -> String {
    let words = iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_string_lossy);
    let quoted = words.map(|word| if word.contains(' ') { format!("\"{word}\"") } else { word.into_owned() });
    quoted.collect::<Vec<_>>().join(" ")
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

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Problem> {
    fs::write(path, text)
        .map_err(|error| Problem::new(Code::OutputFailed, format!("cannot write `{}`: {error}", path.display())))
}

//! What cargo tells build scripts, and what they tell cargo.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::report::Problem;
use hidp_syntax::diag::Code;

/// The environment of a build script.
#[derive(Clone, Debug)]
pub(crate) struct Cargo {
    /// Where `Cargo.toml` is.
    pub(crate) root: PathBuf,
    /// Where generated files go.
    pub(crate) out_dir: PathBuf,
    /// Part of the names of symbols and libraries: no two packages of a program share it.
    pub(crate) namespace: String,
    /// Whether only documentation is wanted: nothing will be linked.
    pub(crate) docs_only: bool,
}

impl Cargo {
    /// Reads it; `out_dir` stands for `OUT_DIR` where there is one.
    pub(crate) fn read(out_dir: Option<&Path>) -> Result<Self, Problem> {
        let current = || env::current_dir().unwrap_or_default();
        let out_dir = out_dir.map(Path::to_owned).or_else(|| read("OUT_DIR").map(PathBuf::from));
        let out_dir = out_dir.ok_or_else(|| {
            Problem::new(Code::OutputFailed, "`OUT_DIR` is not set")
                .help("call `hidp_build::compile` from a build script, or say where with `Builder::out_dir`")
        })?;
        watch_variable("DOCS_RS");
        let part = part(&out_dir, read("OUT_DIR").map(PathBuf::from).as_deref());
        Ok(Self {
            root: read("CARGO_MANIFEST_DIR").map_or_else(current, PathBuf::from),
            out_dir,
            namespace: namespace(&text("CARGO_PKG_NAME"), &text("CARGO_PKG_VERSION"), &part),
            docs_only: read("DOCS_RS").is_some(),
        })
    }
}

fn read(name: &str) -> Option<OsString> {
    env::var_os(name)
}

pub(crate) fn text(name: &str) -> String {
    read(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Which of the builds of one build script this is: the folder below its own that it writes to.
fn part(out_dir: &Path, of_script: Option<&Path>) -> String {
    let below = of_script.and_then(|folder| out_dir.strip_prefix(folder).ok());
    below.map(|below| below.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Readable, and different for two versions of a package, and for two builds of one build script.
fn namespace(package: &str, version: &str, part: &str) -> String {
    let name: String = package.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let hash = if part.is_empty() { hash(&(package, version)) } else { hash(&(package, version, part)) };
    format!("{name}_{:08x}", hash as u32)
}

/// A hash that is the same in every run.
pub(crate) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The include directories that `hidp-std` publishes.
pub(crate) fn run_time_headers() -> Result<Vec<PathBuf>, Problem> {
    match read("DEP_HIDP_STD_INCLUDE") {
        Some(paths) => Ok(env::split_paths(&paths).collect()),
        None => Err(Problem::new(Code::NoRunTime, "`hidp-std` is not a dependency of this package")
            .help(format!("add it to `Cargo.toml`:\n[dependencies]\nhidp-std = \"{}\"", env!("CARGO_PKG_VERSION")))),
    }
}

/// Whether this runs in a build script (and not in a test of this crate, say).
pub(crate) fn is_build_script() -> bool {
    read("OUT_DIR").is_some() && read("TARGET").is_some()
}

/// The target that is built for; this machine's where no build script runs.
pub(crate) fn target() -> String {
    match read("TARGET") {
        Some(target) => target.to_string_lossy().into_owned(),
        None => match env::consts::OS {
            "macos" => format!("{}-apple-darwin", env::consts::ARCH),
            "windows" => format!("{}-pc-windows-gnu", env::consts::ARCH),
            os => format!("{}-unknown-{os}-gnu", env::consts::ARCH),
        },
    }
}

/// The machine that builds.
pub(crate) fn host() -> String {
    read("HOST").map_or_else(target, |host| host.to_string_lossy().into_owned())
}

/// Whether this is an optimised build for others' machines, rather than one of many on the way.
pub(crate) fn is_release() -> bool {
    text("PROFILE") != "debug"
}

/// The switches of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switches {
    /// Versions with other tiles.
    pub(crate) variants: bool,
    /// Kernels that are compiled soon. Release builds have fast ones.
    pub(crate) quick: bool,
    /// The threads of OpenMP.
    pub(crate) openmp: bool,
    /// A build fails where a version of an entry meets a defect of the compiler.
    pub(crate) strict: bool,
}

impl Switches {
    pub(crate) fn read() -> Result<Self, Problem> {
        let read = |name| {
            watch_variable(name);
            is_on(name, &text(name))
        };
        Ok(Self {
            variants: read("HIDP_VARIANTS")?,
            quick: read("HIDP_QUICK")? && !is_release(),
            openmp: read("HIDP_OPENMP")?,
            strict: read("HIDP_STRICT")?,
        })
    }
}

fn is_on(name: &str, value: &str) -> Result<bool, Problem> {
    match value.trim() {
        "on" | "1" => Ok(true),
        "" | "off" | "0" => Ok(false),
        _ => Err(Problem::new(Code::BadSwitch, format!("`{name}` is `{value}`"))
            .help("it may be `on` or `1`, and `off` or `0`, which is what no value means")),
    }
}

/// How many compilers may run at once.
pub(crate) fn jobs() -> usize {
    let asked = text("NUM_JOBS").parse().ok().filter(|&jobs| jobs > 0);
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |count| count.get()))
}

/// Another build is needed when this file, or anything in this folder, changes. Not when the build script itself has written it: it is
/// newer than the script's start then, and the next build would do everything again.
pub(crate) fn watch(path: &Path) {
    if !is_below(path, read("OUT_DIR").map(PathBuf::from).as_deref()) {
        tell(&format!("rerun-if-changed={}", path.display()));
    }
}

fn is_below(path: &Path, folder: Option<&Path>) -> bool {
    folder.is_some_and(|folder| path.starts_with(folder))
}

/// Another build is needed when this environment variable changes.
pub(crate) fn watch_variable(name: &str) {
    tell(&format!("rerun-if-env-changed={name}"));
}

/// Libraries are looked for in this folder.
pub(crate) fn search(folder: &Path) {
    tell(&format!("rustc-link-search=native={}", folder.display()));
}

/// Prints an instruction for Cargo; ignored outside build scripts.
pub(crate) fn tell(what: &str) {
    if is_build_script() {
        println!("cargo::{what}");
    }
}

/// Shows a warning of several lines.
pub(crate) fn warn(text: &str) {
    if !is_build_script() {
        eprint!("{text}");
    }
    for line in text.trim_end().lines() {
        tell(&format!("warning={line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_namespaces_of_their_own() {
        let name = namespace("my-crate", "0.1.0", "");
        assert!(name.starts_with("my_crate_") && name.len() == "my_crate_".len() + 8, "{name}");
        assert_ne!(name, namespace("my-crate", "0.2.0", ""));
        assert_ne!(name, namespace("my_crate", "0.1.0", ""));
    }

    #[test]
    fn switches_are_on_or_off_or_an_error() {
        let known = ["on", "1", "off", "0", "", " on "].map(|value| is_on("HIDP_QUICK", value).ok());
        assert_eq!(known, [Some(true), Some(true), Some(false), Some(false), Some(false), Some(true)]);
        for value in ["yes", "ON", "true", "2", "on,off"] {
            let problem = is_on("HIDP_QUICK", value).expect_err(value).to_string();
            assert!(problem.starts_with(&format!("error[HD0923]: `HIDP_QUICK` is `{value}`")), "{problem}");
        }
    }

    #[test]
    fn what_a_script_writes_is_told_from_what_it_reads() {
        let out = Some(Path::new("/target/out"));
        assert!(is_below(Path::new("/target/out/prim/f32s.hdp"), out) && is_below(Path::new("/target/out"), out));
        assert!(!is_below(Path::new("/target/outer/a.hdp"), out) && !is_below(Path::new("src/kernels"), None));
    }

    #[test]
    fn builds_of_one_script_have_namespaces_of_their_own() {
        let (own, below) = (Path::new("/out"), Path::new("/out/other"));
        assert_eq!((part(own, Some(own)), part(below, None), part(Path::new("/tmp"), Some(own))), Default::default());
        assert_eq!(part(below, Some(own)), "other");
        assert_ne!(namespace("a", "0.1.0", ""), namespace("a", "0.1.0", "other"));
    }
}

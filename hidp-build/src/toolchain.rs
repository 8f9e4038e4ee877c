//! The C++ compiler and its OpenMP library.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::compiler::diag::Code;
use crate::compiler::emit::rust::Isa;
use crate::report::Problem;

/// A compiler that can compile kernels.
#[derive(Clone, Debug)]
pub(crate) struct Toolchain {
    tool: cc::Tool,
    /// What it says of itself.
    identity: String,
    /// Its OpenMP library, if threads are wanted and it has one.
    pub(crate) openmp: Option<OpenMp>,
}

/// An OpenMP library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenMp {
    /// Name without `lib`.
    pub(crate) library: String,
    /// Folder to look in, where the compiler knows it.
    pub(crate) folder: Option<PathBuf>,
}

/// A build by the `cc` crate, without its opinions.
pub(crate) fn cc_build(out_dir: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build.cpp(true).cpp_link_stdlib(None).warnings(false).opt_level(3).debug(false).out_dir(out_dir);
    if !cargo::is_build_script() {
        build.target(&cargo::target()).host(&cargo::host()).cargo_metadata(false);
    }
    build
}

impl Toolchain {
    /// Finds the compiler, and with `threads` its OpenMP library. What was found out about a compiler is kept in `out_dir`.
    pub(crate) fn find(out_dir: &Path, threads: bool) -> Result<Self, Problem> {
        let tool = cc_build(out_dir).try_get_compiler().map_err(|error| missing(&error.to_string()))?;
        if tool.is_like_msvc() {
            let headline = format!("`{}` cannot compile kernels", tool.path().display());
            return Err(Problem::new(Code::WrongCompiler, headline)
                .help("install Clang and set `CXX=clang++`, or build for a `-gnu` target"));
        }
        let version = tool
            .to_command()
            .arg("--version")
            .output()
            .map_err(|error| missing(&format!("`{}` cannot be run: {error}", tool.path().display())))?;
        let identity = format!(
            "{}\n{:?}\n{}",
            tool.path().display(),
            tool.args(),
            String::from_utf8_lossy(&version.stdout).trim_end()
        );
        let mut toolchain = Self { tool, identity, openmp: None };
        if threads {
            toolchain.openmp = toolchain.cached_openmp(out_dir);
        }
        Ok(toolchain)
    }

    /// All that objects depend on besides their sources and flags.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// The compiler with the flags of the target.
    pub(crate) fn command(&self) -> Command {
        self.tool.to_command()
    }

    /// Flags that choose an instruction set and name the code for it.
    pub(crate) fn isa_flags(isa: Isa) -> Vec<String> {
        let level = match isa {
            Isa::Base => None,
            Isa::V2 | Isa::V3 | Isa::V4 => Some(format!("-march=x86-64-{}", isa.name())),
        };
        level.into_iter().chain([format!("-DHIDP_ISA={}", isa.name())]).collect()
    }

    /// Flags that give kernels their threads.
    pub(crate) fn thread_flag(&self) -> &'static str {
        if self.openmp.is_some() { "-fopenmp" } else { "-fopenmp-simd" }
    }

    fn cached_openmp(&self, out_dir: &Path) -> Option<OpenMp> {
        let cache = out_dir.join("hidp_openmp.txt");
        let key = format!("{:016x}", cargo::hash(&self.identity));
        if let Ok(text) = fs::read_to_string(&cache) {
            let lines: Vec<&str> = text.lines().collect();
            match lines[..] {
                [known, library, folder] if known == key => {
                    let folder = Some(PathBuf::from(folder)).filter(|folder| !folder.as_os_str().is_empty());
                    return Some(OpenMp { library: library.into(), folder });
                }
                // A library may have been installed since: look again.
                _ => {}
            }
        }
        let found = self.probe_openmp(out_dir)?;
        let folder = found.folder.as_deref().unwrap_or(Path::new("")).display();
        // Without the cache the next build probes again.
        let _ = fs::write(&cache, format!("{key}\n{}\n{folder}\n", found.library));
        Some(found)
    }

    /// Whether a program with a parallel region can be linked.
    fn probe_openmp(&self, out_dir: &Path) -> Option<OpenMp> {
        const PROGRAM: &str = "#include <omp.h>\nint main() { return omp_get_max_threads() == 0; }\n";
        let source = out_dir.join("hidp_openmp.cpp");
        let program = out_dir.join("hidp_openmp.out");
        fs::write(&source, PROGRAM).ok()?;
        let output = self.command().arg("-fopenmp").arg(&source).arg("-o").arg(&program).output();
        let linked = output.is_ok_and(|output| output.status.success());
        for file in [source, program] {
            // Nobody minds if it stays.
            let _ = fs::remove_file(file);
        }
        linked.then(|| {
            let library = if self.tool.is_like_clang() { "omp" } else { "gomp" };
            OpenMp { library: library.into(), folder: self.folder_of(library) }
        })
    }

    /// Where the compiler finds a shared library, if it says so.
    fn folder_of(&self, library: &str) -> Option<PathBuf> {
        let extension = if cargo::target().contains("apple") { "dylib" } else { "so" };
        let mut question = OsString::from("-print-file-name=");
        question.push(format!("lib{library}.{extension}"));
        let output = self.command().arg(question).output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        let folder = fs::canonicalize(path.parent().filter(|_| path.is_absolute())?).ok()?;
        Some(folder)
    }
}

fn missing(reason: &str) -> Problem {
    Problem::new(Code::NoCompiler, "no C++ compiler for the kernels").note(reason.trim()).help(
        "install one: `apt install g++`, `dnf install gcc-c++`, `pacman -S gcc`, `brew install llvm libomp`,\n\
         or name yours: `CXX=/path/to/clang++ cargo build`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_choose_machine_and_symbols() {
        assert_eq!(Toolchain::isa_flags(Isa::V3), ["-march=x86-64-v3", "-DHIDP_ISA=v3"]);
        assert_eq!(Toolchain::isa_flags(Isa::Base), ["-DHIDP_ISA=base"]);
    }
}

//! The C++ compiler and its OpenMP library.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::report::Problem;
use hidp_emit::rust::Isa;
use hidp_syntax::diag::Code;

/// A compiler that can compile kernels.
#[derive(Clone, Debug)]
pub(crate) struct Toolchain {
    tool: cc::Tool,
    /// What it says of itself.
    identity: String,
    threads: Threads,
}

/// Whose threads kernels should run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Only the calling one.
    Nobodys,
    /// Those of the run time.
    Teams,
    /// Those of the compiler's OpenMP library.
    OpenMps,
}

/// Whose threads kernels run on.
#[derive(Clone, Debug)]
enum Threads {
    Nobodys,
    Teams,
    OpenMps(OpenMp),
}

/// The first GCC that knows `-fno-bit-tests`.
const KNOWS_BIT_TESTS: u32 = 12;

/// An OpenMP library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenMp {
    /// Flags that the compiler needs.
    flags: Vec<String>,
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
    /// Finds the compiler, and its OpenMP library if that is wanted. What was found out about a compiler is kept in `out_dir`.
    pub(crate) fn find(out_dir: &Path, threads: Wanted) -> Result<Self, Problem> {
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
        let mut toolchain = Self { tool, identity, threads: Threads::Nobodys };
        toolchain.threads = match threads {
            Wanted::Nobodys => Threads::Nobodys,
            Wanted::Teams => Threads::Teams,
            Wanted::OpenMps => Threads::OpenMps(toolchain.cached_openmp(out_dir).ok_or_else(no_openmp)?),
        };
        Ok(toolchain)
    }

    /// All that objects depend on besides their sources and flags.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// The first line of what the compiler says of its version, as tuning records carry it.
    pub(crate) fn version(&self) -> String {
        let line = self.identity.lines().nth(2).unwrap_or_default();
        line.replace(['"', '\\', '#'], " ").trim().to_owned()
    }

    /// The compiler's program.
    pub(crate) fn program(&self) -> &Path {
        self.tool.path()
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

    /// Flags that give kernels their threads, and simd loops. `hidp/threads.hpp` says what the numbers mean.
    pub(crate) fn thread_flags(&self) -> Vec<String> {
        let simd_and = |number| vec!["-fopenmp-simd".to_owned(), format!("-DHIDP_THREADS_OF={number}")];
        match &self.threads {
            Threads::Nobodys => simd_and(0),
            Threads::Teams => simd_and(1),
            Threads::OpenMps(openmp) => {
                openmp.flags.iter().cloned().chain(["-DHIDP_THREADS_OF=2".to_owned()]).collect()
            }
        }
    }

    /// Flags that keep branches as they are: GCC makes a switch of tests of one value, and then no lanes of the loop around it.
    pub(crate) fn branch_flags(&self) -> &'static [&'static str] {
        let knows = self.tool.is_like_gnu() && major(&self.version()).is_some_and(|major| major >= KNOWS_BIT_TESTS);
        if knows { &["-fno-bit-tests", "-fno-jump-tables"] } else { &[] }
    }

    /// The OpenMP library whose threads kernels run on.
    pub(crate) fn openmp(&self) -> Option<&OpenMp> {
        match &self.threads {
            Threads::Nobodys | Threads::Teams => None,
            Threads::OpenMps(openmp) => Some(openmp),
        }
    }

    /// What an earlier build found, or else what can be found now: a library may have been installed since one was missed.
    fn cached_openmp(&self, out_dir: &Path) -> Option<OpenMp> {
        let cache = out_dir.join("hidp_openmp.txt");
        let key = format!("{:016x}", cargo::hash(&(&self.identity, env!("CARGO_PKG_VERSION"))));
        let known = fs::read_to_string(&cache).ok().and_then(|text| OpenMp::read(&text, &key));
        if known.is_some() {
            return known;
        }
        let found = self.candidates().into_iter().find(|openmp| self.links(openmp, out_dir))?;
        // Without the cache the next build probes again.
        let _ = fs::write(&cache, found.text(&key));
        Some(found)
    }

    /// The libraries that the compiler may have.
    fn candidates(&self) -> Vec<OpenMp> {
        let library = if self.tool.is_like_clang() { "omp" } else { "gomp" };
        let flags = vec!["-fopenmp".to_owned()];
        let mut candidates = vec![OpenMp { flags, library: library.into(), folder: self.folder_of(library) }];
        if cargo::target().contains("apple") {
            // Apple's Clang has OpenMP, but neither its header nor its library, and hides the flag.
            for root in ["/opt/homebrew/opt/libomp", "/usr/local/opt/libomp"] {
                let flags = ["-Xclang".into(), "-fopenmp".into(), format!("-I{root}/include")];
                let folder = Some(Path::new(root).join("lib"));
                candidates.push(OpenMp { flags: flags.into(), library: "omp".into(), folder });
            }
        }
        candidates
    }

    /// Whether a program that asks for the number of threads can be linked.
    fn links(&self, openmp: &OpenMp, out_dir: &Path) -> bool {
        const PROGRAM: &str = "#include <omp.h>\nint main() { return omp_get_max_threads() == 0; }\n";
        let source = out_dir.join("hidp_openmp.cpp");
        let program = out_dir.join("hidp_openmp.out");
        let mut command = self.command();
        command.args(&openmp.flags).arg(&source).arg("-o").arg(&program);
        if let Some(folder) = &openmp.folder {
            command.arg("-L").arg(folder);
        }
        command.arg(format!("-l{}", openmp.library));
        let linked =
            fs::write(&source, PROGRAM).is_ok() && command.output().is_ok_and(|output| output.status.success());
        for file in [source, program] {
            // It does no harm if it stays.
            let _ = fs::remove_file(file);
        }
        linked
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

impl OpenMp {
    /// Reads what [`OpenMp::text`] wrote about the same compiler.
    fn read(text: &str, key: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next() != Some(key) {
            return None;
        }
        let library = lines.next()?.to_owned();
        let folder = lines.next().filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let flags: Vec<String> = lines.map(str::to_owned).collect();
        // A note without flags is damaged: it would turn threads off without a word.
        (!flags.is_empty()).then_some(Self { flags, library, folder })
    }
    fn text(&self, key: &str) -> String {
        let folder = self.folder.as_deref().unwrap_or(Path::new("")).display();
        format!("{key}\n{}\n{folder}\n{}\n", self.library, self.flags.join("\n"))
    }
}

/// The first number of the version in a line such as `g++ (Debian 12.2.0-14) 12.2.0`.
fn major(line: &str) -> Option<u32> {
    let (_, behind) = line.split_once(')')?;
    behind.split_whitespace().next()?.split('.').next()?.parse().ok()
}

fn no_openmp() -> Problem {
    Problem::new(Code::NoOpenMp, "the C++ compiler has no OpenMP library, and `HIDP_OPENMP` or `Builder::openmp` asks for its threads").help(
        "install it (`apt install libgomp1`, `libomp-dev` for Clang, `brew install libomp`), or leave the threads to the run time",
    )
}

fn missing(reason: &str) -> Problem {
    Problem::new(Code::NoCompiler, "no C++ compiler for the kernels").note(reason.trim()).help(
        "install one: `apt install g++`, `dnf install gcc-c++`, `pacman -S gcc`, `brew install llvm`,\n\
         or name yours: `CXX=/path/to/clang++ cargo build`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_remembered_for_the_same_compiler() {
        for folder in [None, Some(PathBuf::from("/usr/lib"))] {
            let openmp = OpenMp { flags: vec!["-fopenmp".into(), "-Ix".into()], library: "omp".into(), folder };
            assert_eq!(OpenMp::read(&openmp.text("a"), "a"), Some(openmp.clone()));
            assert_eq!(OpenMp::read(&openmp.text("a"), "b"), None);
        }
        assert_eq!(OpenMp::read("", "a"), None);
        assert_eq!(OpenMp::read("a\ngomp\n/usr/lib\n", "a"), None, "no flags would mean no threads");
    }

    #[test]
    fn versions_of_gcc_begin_behind_its_name() {
        assert_eq!(major("g++ (Debian 12.2.0-14+deb12u1) 12.2.0"), Some(12));
        assert_eq!(major("g++ (GCC) 13.2.1 20230801 (Red Hat 13.2.1-1)"), Some(13));
        assert_eq!(major("g++-11 (Homebrew GCC 11.4.0) 11.4.0"), Some(11));
        assert_eq!(major(""), None);
    }

    #[test]
    fn levels_choose_machine_and_symbols() {
        assert_eq!(Toolchain::isa_flags(Isa::V3), ["-march=x86-64-v3", "-DHIDP_ISA=v3"]);
        assert_eq!(Toolchain::isa_flags(Isa::Base), ["-DHIDP_ISA=base"]);
    }
}

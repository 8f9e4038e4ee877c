//! Compiles the generated CUDA with the C++ compiler, for the executor of `hidp/simt`: programs for tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::objects::{Object, Unit, compile_cpp, excerpt, shown};
use crate::report::Problem;
use crate::toolchain::Toolchain;
use hidp_emit::openmp::FLAGS;
use hidp_syntax::diag::Code;

/// What is compiled, and how.
pub(crate) struct Job<'a> {
    pub(crate) toolchain: &'a Toolchain,
    /// The folder with the CUDA files, where objects go too.
    pub(crate) out_dir: &'a Path,
    /// CUDA files in `out_dir`.
    pub(crate) files: &'a [String],
    /// Folders with the run time's headers.
    pub(crate) include: &'a [PathBuf],
    /// Native headers are relative to this folder.
    pub(crate) root: &'a Path,
}

/// The objects to make.
pub(crate) fn units<'a>(job: &'a Job<'a>) -> impl Iterator<Item = SimulatedUnit<'a>> {
    job.files.iter().map(move |file| SimulatedUnit { job, file })
}

/// One file.
pub(crate) struct SimulatedUnit<'a> {
    job: &'a Job<'a>,
    file: &'a str,
}

/// Exceptions end calls in which something was found, and compiling is to be quick.
const INSTEAD: [&str; 2] = ["-O3", "-fno-exceptions"];
/// The same symbols as nvcc's.
const OWN: [&str; 8] =
    ["-Og", "-g1", "-fPIC", "-fopenmp-simd", "-w", "-DHIDP_SIMT=1", "-DHIDP_SIMT_PROGRAM=1", "-DHIDP_ISA=cuda"];

impl SimulatedUnit<'_> {
    fn command(&self) -> Command {
        let mut command = self.job.toolchain.command();
        command.args(FLAGS.iter().filter(|flag| !INSTEAD.contains(flag))).args(OWN);
        for folder in self.job.include {
            command.arg("-I").arg(folder);
        }
        command.arg("-iquote").arg(self.job.root).args(["-x", "c++"]);
        command
    }
}

impl Unit for SimulatedUnit<'_> {
    fn file(&self) -> &str {
        self.file
    }

    fn object(&self) -> Object<'_> {
        let key = cargo::hash(&(self.job.toolchain.identity(), shown(&self.command()), self.file));
        let name = format!("{}.simulated", self.file.trim_end_matches(".cu"));
        Object { out_dir: self.job.out_dir, name, key: format!("{key:016x}"), besides: &[] }
    }

    fn compile(&self, object: &Object<'_>) -> Result<Vec<PathBuf>, Problem> {
        compile_cpp(self.command(), &self.job.out_dir.join(self.file), object, |command, output| {
            let headline = format!("the C++ compiler failed on `{}`", self.file);
            Problem::new(Code::CompilerFailed, headline).note(excerpt(output)).note(command)
        })
    }
}

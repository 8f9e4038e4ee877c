//! Compiles the generated CUDA with the C++ compiler, for the executor of `hidp/simt`: programs for tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::objects::{Object, Unit, compile_cpp, excerpt, shown, write_if_changed};
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

/// The executor's own file. What has all of it in every object takes twice as long to compile.
const EXECUTOR: (&str, &str) = ("hidp_executor.cpp", "#include <hidp/simt/device.hpp>\n");

/// The objects to make: of each file, and the executor. None without files.
pub(crate) fn units<'a>(job: &'a Job<'a>) -> Result<Vec<SimulatedUnit<'a>>, Problem> {
    let mut units: Vec<_> = job.files.iter().map(|file| SimulatedUnit { job, what: What::Kernels(file) }).collect();
    if !units.is_empty() {
        write_if_changed(&job.out_dir.join(EXECUTOR.0), EXECUTOR.1)?;
        units.push(SimulatedUnit { job, what: What::Executor });
    }
    Ok(units)
}

/// One object.
pub(crate) struct SimulatedUnit<'a> {
    job: &'a Job<'a>,
    what: What<'a>,
}

enum What<'a> {
    /// Of a CUDA file.
    Kernels(&'a str),
    Executor,
}

/// Exceptions end calls in which something was found, and compiling is to be quick.
const INSTEAD: [&str; 2] = ["-O3", "-fno-exceptions"];
/// The same symbols as nvcc's.
const OWN: [&str; 6] = ["-g1", "-fPIC", "-fopenmp-simd", "-w", "-DHIDP_SIMT=1", "-DHIDP_ISA=cuda"];

impl SimulatedUnit<'_> {
    fn command(&self) -> Command {
        let mut command = self.job.toolchain.command();
        command.args(FLAGS.iter().filter(|flag| !INSTEAD.contains(flag))).args(OWN);
        command.args(match self.what {
            What::Kernels(_) => ["-Og", "-DHIDP_SIMT_LIBRARY=1"].as_slice(),
            What::Executor => &["-O2", "-DHIDP_SIMT_LIBRARY=2", "-DHIDP_SIMT_PROGRAM=1"],
        });
        for folder in self.job.include {
            command.arg("-I").arg(folder);
        }
        command.arg("-iquote").arg(self.job.root).args(["-x", "c++"]);
        command
    }
}

impl Unit for SimulatedUnit<'_> {
    fn file(&self) -> &str {
        match self.what {
            What::Kernels(file) => file,
            What::Executor => EXECUTOR.0,
        }
    }

    fn object(&self) -> Object<'_> {
        let key = cargo::hash(&(self.job.toolchain.identity(), shown(&self.command()), self.file()));
        let name = match self.what {
            What::Kernels(file) => format!("{}.simulated", file.trim_end_matches(".cu")),
            What::Executor => EXECUTOR.0.trim_end_matches(".cpp").to_owned(),
        };
        Object { out_dir: self.job.out_dir, name, key: format!("{key:016x}"), besides: &[] }
    }

    fn compile(&self, object: &Object<'_>) -> Result<Vec<PathBuf>, Problem> {
        compile_cpp(self.command(), &self.job.out_dir.join(self.file()), object, |command, output| {
            let headline = format!("the C++ compiler failed on `{}`", self.file());
            Problem::new(Code::CompilerFailed, headline).note(excerpt(output)).note(command)
        })
    }
}

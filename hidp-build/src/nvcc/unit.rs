//! Compiles the generated CUDA, one run of nvcc a file.
//!
//! nvcc is called as it is rather than through the `cc` crate: with several files its CUDA mode adds relocatable device code and a link
//! step for it, which nothing here needs, and flags of its own that belong to no stamp.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::blocks::blocks;
use super::probe::whole;
use super::{Kernel, Nvcc, kernels, table};
use crate::cargo;
use crate::objects::{Object, Unit, depfile, excerpt, shown, write};
use crate::report::Problem;
use hidp_syntax::diag::Code;

/// Extension of what ptxas said.
const SAID: &str = "ptxas";

/// The file with the report.
pub(crate) const KERNELS: &str = "hidp_cuda.txt";

/// What is compiled, and how.
pub(crate) struct Job<'a> {
    pub(crate) nvcc: &'a Nvcc,
    /// The folder with the CUDA files, where objects go too.
    pub(crate) out_dir: &'a Path,
    /// CUDA files in `out_dir`.
    pub(crate) files: &'a [String],
    /// Folders with the run time's headers.
    pub(crate) include: &'a [PathBuf],
    /// Native headers are relative to this folder. System headers are not looked for there, whatever lies in it.
    pub(crate) root: &'a Path,
    /// Whether warnings are errors.
    pub(crate) strict: bool,
}

/// The objects to make.
pub(crate) fn units<'a>(job: &'a Job<'a>) -> impl Iterator<Item = CudaUnit<'a>> {
    job.files.iter().map(move |file| CudaUnit { job, file })
}

/// One file for all architectures.
pub(crate) struct CudaUnit<'a> {
    job: &'a Job<'a>,
    file: &'a str,
}

impl CudaUnit<'_> {
    fn command(&self) -> Command {
        let mut command = self.job.nvcc.command(self.job.include);
        // Line tables only, as for the CPU.
        command.args(["-Xptxas=-v", "-Xcompiler=-g1"]);
        if self.job.strict {
            // What is looked at is never run, so that nothing of the host's part need be optimised.
            command.args(["-Werror=all-warnings", "-Xcompiler=-O0"]);
        } else {
            command.arg("-w");
        }
        // What nvcc hands on goes through a shell.
        command.arg("-Xcompiler=-iquote").arg(format!("-Xcompiler=\"{}\"", whole(self.job.root)));
        command
    }

    fn failed(&self, command: &str, output: &str) -> Problem {
        let headline = format!("nvcc failed on `{}`", self.file);
        Problem::new(Code::NvccFailed, headline).note(excerpt(output)).note(command)
    }
}

impl Unit for CudaUnit<'_> {
    fn file(&self) -> &str {
        self.file
    }

    fn object(&self) -> Object<'_> {
        let stem = self.file.trim_end_matches(".cu");
        let key = cargo::hash(&(&self.job.nvcc.identity, shown(&self.command()), self.file));
        let (name, key) = (format!("{stem}.cuda"), format!("{key:016x}"));
        Object { out_dir: self.job.out_dir, name, key, besides: &[SAID] }
    }

    fn compile(&self, object: &Object<'_>) -> Result<Vec<PathBuf>, Problem> {
        let depfile = object.path("d");
        let mut command = self.command();
        command.arg("-MMD").arg("-MF").arg(&depfile);
        command.arg("-c").arg(self.job.out_dir.join(self.file)).arg("-o").arg(object.path("o"));
        let shown = shown(&command);
        let output = command.output().map_err(|error| self.failed(&shown, &error.to_string()))?;
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        if !output.status.success() {
            return Err(self.failed(&shown, &said));
        }
        write(&object.path(SAID), &said)?;
        let files = depfile::files(&fs::read_to_string(&depfile).unwrap_or_default());
        let is_toolkit =
            |file: &PathBuf| fs::canonicalize(file).is_ok_and(|file| file.starts_with(&self.job.nvcc.root));
        Ok(files.into_iter().filter(|file| !is_toolkit(file)).collect())
    }
}

/// What the build made for GPUs: compiler, architectures, and each kernel's needs.
pub(crate) fn report(job: &Job<'_>) -> String {
    let Nvcc { version, program, archs, host, .. } = job.nvcc;
    let host = host.to_string_lossy();
    let head = format!("CUDA: nvcc {version} (`{}`, host compiler `{host}`) for {archs}\n", program.display());
    let files = units(job).map(|unit| {
        let mut kernels = kernels_of(&unit);
        kernels.iter_mut().for_each(|kernel| kernel.name = shorter(unit.file, &kernel.name));
        format!("\n{}\n{}", unit.file, table(&kernels))
    });
    head + &files.collect::<String>()
}

/// The name without what is the same for all kernels of a file: the package's and the file's part of the entry's symbol.
pub(super) fn shorter(file: &str, name: &str) -> String {
    let stem = file.trim_end_matches(".cu");
    let part = format!("_{}{stem}_", stem.len());
    let own = name.strip_prefix("entry_").and_then(|name| name.split_once(&part));
    own.map_or_else(|| name.to_owned(), |(_, own)| own.to_owned())
}

/// What nvcc said of the kernels when it compiled the file.
pub(super) fn kernels_of(unit: &CudaUnit<'_>) -> Vec<Kernel> {
    let object = unit.object();
    let said = fs::read_to_string(object.path(SAID)).unwrap_or_default();
    kernels(&said, &blocks(&fs::read(object.path("o")).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_named_as_in_their_file() {
        assert_eq!(shorter("gemm.cu", "entry_my_app_1f2e_4gemm_GEMM::warp_map0_k0_items"), "GEMM::warp_map0_k0_items");
        assert_eq!(shorter("a_b.cu", "entry_k_3a_b_c::k0"), "c::k0");
        assert_eq!(shorter("gemm.cu", "cub::detail::EmptyKernel<…>"), "cub::detail::EmptyKernel<…>");
        assert_eq!(shorter("gemm.cu", "entry_k_4heat_step::k0"), "entry_k_4heat_step::k0");
    }
}

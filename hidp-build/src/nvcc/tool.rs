//! nvcc for tests and tools, outside of build scripts.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::unit::{CudaUnit, kernels_of, report, shorter};
use super::{Cuda, Job, Kernel, Nvcc, Wish, units};
use crate::cargo::Cargo;
use crate::compiler::pipeline::{self, Options, PipelineInput};
use crate::objects::{self, Unit as _, write_if_changed};
use crate::report::{Error, Problem, Report, Result};
use crate::toolchain::{Toolchain, Wanted};
use crate::{sources, workers};
use hidp_syntax::diag::Code;

/// Compiles CUDA to see whether nvcc takes it without a warning, and what its kernels need. What has not changed since is not compiled
/// again.
pub struct Checker {
    nvcc: Nvcc,
    include: Vec<PathBuf>,
    folder: PathBuf,
}

impl Checker {
    /// nvcc as a build would find it, for these architectures (one is chosen if there is none), with the headers in `include`.
    /// Everything is written to `folder`. `None` where there is no nvcc, or `HIDP_CUDA` is `off`.
    ///
    /// # Errors
    ///
    /// There is no C++ compiler, an nvcc that cannot be used, or none and `HIDP_CUDA` is `required`.
    pub fn find(archs: &[&str], include: &[PathBuf], folder: &Path) -> Result<Option<Self>> {
        fs::create_dir_all(folder).map_err(|error| {
            Problem::new(Code::OutputFailed, format!("cannot make `{}`: {error}", folder.display()))
        })?;
        let cargo = Cargo::read(Some(folder))?;
        let archs: Vec<String> = archs.iter().map(|&arch| arch.to_owned()).collect();
        let choice =
            Wish::read(Cuda::Auto, &archs, &cargo)?.fulfil(&Toolchain::find(&env::temp_dir(), Wanted::Nobodys)?)?;
        if let Some(unusable) = choice.warning {
            return Err(Error::from(unusable));
        }
        let found = |nvcc| Self { nvcc, include: include.to_vec(), folder: folder.to_owned() };
        Ok(choice.nvcc.map(found))
    }

    /// What the kernels of programs (files, or folders of them) need, as a build reports it: registers, spilled bytes, shared memory.
    ///
    /// # Errors
    ///
    /// An error in a program, or nvcc fails.
    pub fn report(&self, programs: &[PathBuf]) -> Result<String> {
        let files = self.compile(programs)?;
        Ok(report(&self.job(&files, false)))
    }

    /// The kernels of programs, named with all their scopes.
    ///
    /// # Errors
    ///
    /// An error in a program, or nvcc fails.
    pub fn kernels(&self, programs: &[PathBuf]) -> Result<Vec<Kernel>> {
        let files = self.compile(programs)?;
        let job = self.job(&files, false);
        Ok(units(&job).flat_map(|unit| kernels_of(&unit)).collect())
    }

    /// The same by file, named as in a build's report.
    ///
    /// # Errors
    ///
    /// An error in a program, or nvcc fails.
    pub fn kernels_by_file(&self, programs: &[PathBuf]) -> Result<Vec<(String, Vec<Kernel>)>> {
        let files = self.compile(programs)?;
        let job = self.job(&files, false);
        let named = |file: &str, kernel: Kernel| Kernel { name: shorter(file, &kernel.name), ..kernel };
        let of_unit = |unit: CudaUnit<'_>| {
            let file = unit.file();
            let kernels = kernels_of(&unit).into_iter().map(|kernel| named(file, kernel)).collect();
            (file.trim_end_matches(".cu").to_owned(), kernels)
        };
        Ok(units(&job).map(of_unit).collect())
    }

    /// Compiles programs; gives their CUDA files.
    fn compile(&self, programs: &[PathBuf]) -> Result<Vec<String>> {
        let loaded = sources::load(Path::new(""), programs);
        let mut said = Report::default();
        loaded.problems.iter().for_each(|problem| said.problem(problem));
        said.diagnostics(&loaded.sources, &loaded.diagnostics);
        said.error().map_or(Ok(()), Err)?;
        let options = Options { cuda: true, ..Options::default() };
        let input = PipelineInput { sources: loaded.sources, files: loaded.files, options };
        let output = pipeline::compile(&input);
        said.diagnostics(&input.sources, &output.diagnostics);
        said.error().map_or(Ok(()), Err)?;

        for file in &output.cuda {
            write_if_changed(&self.folder.join(&file.name), &file.text)?;
        }
        let files: Vec<String> = output.cuda.iter().map(|file| file.name.clone()).collect();
        let job = self.job(&files, false);
        let units: Vec<_> = units(&job).collect();
        for updated in workers::run_all(&units, |unit| objects::update(unit)) {
            updated?;
        }
        Ok(files)
    }

    /// Compiles the text as a file of this name (`gemm.cu`), which no other text uses at the same time; gives its kernels.
    ///
    /// # Errors
    ///
    /// nvcc refuses it, or warns.
    pub fn check(&self, name: &str, text: &str) -> Result<Vec<Kernel>> {
        write_if_changed(&self.folder.join(name), text)?;
        let files = [name.to_owned()];
        let job = self.job(&files, true);
        let mut found = Vec::new();
        for unit in units(&job) {
            objects::update(&unit)?;
            found.extend(kernels_of(&unit));
        }
        Ok(found)
    }

    fn job<'a>(&'a self, files: &'a [String], strict: bool) -> Job<'a> {
        let Self { nvcc, include, folder } = self;
        Job { nvcc, out_dir: folder, files, include, root: folder, strict }
    }
}

//! nvcc for tests and tools, outside of build scripts.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::unit::said_of;
use super::{Cuda, Job, Kernel, Nvcc, Wish, kernels, units};
use crate::cargo::Cargo;
use crate::compiler::diag::Code;
use crate::objects::write_if_changed;
use crate::report::{Error, Problem, Result};
use crate::toolchain::Toolchain;

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
        let choice = Wish::read(Cuda::Auto, &archs, &cargo)?.fulfil(&Toolchain::find(&env::temp_dir(), false)?)?;
        if let Some(unusable) = choice.warning {
            return Err(Error::from(unusable));
        }
        let found = |nvcc| Self { nvcc, include: include.to_vec(), folder: folder.to_owned() };
        Ok(choice.nvcc.map(found))
    }

    /// Compiles the text as a file of this name (`gemm.cu`), which no other text uses at the same time; gives its kernels.
    ///
    /// # Errors
    ///
    /// nvcc refuses it, or warns.
    pub fn check(&self, name: &str, text: &str) -> Result<Vec<Kernel>> {
        write_if_changed(&self.folder.join(name), text)?;
        let files = [name.to_owned()];
        let Self { nvcc, include, folder } = self;
        let job = Job { nvcc, out_dir: folder, files: &files, include, root: folder, strict: true };
        let mut found = Vec::new();
        for unit in units(&job) {
            crate::objects::update(&unit)?;
            found.extend(kernels(&said_of(&unit)));
        }
        Ok(found)
    }
}

//! Which kinds have passed with exactly these files, tools and settings.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::kind::Kind;
use super::options::Scope;
use crate::command::target_folder;

pub(super) struct Kept {
    folder: PathBuf,
    /// Of everything but files.
    settings: u64,
    /// Of each file, so that what several kinds read is read once.
    files: BTreeMap<PathBuf, u64>,
}

const START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a
fn hash(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A number that changes with any of these files, or of those in these folders.
pub(crate) fn hash_of(paths: &[&Path]) -> Result<u64> {
    let mut files = BTreeMap::new();
    for path in paths {
        if path.is_dir() {
            collect(path, &mut files)?;
        } else {
            files.insert(path.to_path_buf(), hash(START, &fs::read(path)?));
        }
    }
    let both = |state, (path, contents): (&PathBuf, &u64)| {
        hash(hash(state, path.as_os_str().as_encoded_bytes()), &contents.to_le_bytes())
    };
    Ok(files.iter().fold(START, both))
}

impl Kept {
    /// `tools`: which compilers there are.
    pub(super) fn new(tools: &str) -> Result<Kept> {
        let folder = target_folder().join("hidp-tests");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        let mut variables: Vec<(String, String)> =
            env::vars().filter(|(name, _)| name.starts_with("HIDP_") || name.contains("CXX")).collect();
        variables.sort();
        let settings = hash(hash(START, tools.as_bytes()), format!("{variables:?}").as_bytes());
        let mut files = BTreeMap::new();
        collect(Path::new("."), &mut files)?;
        Ok(Kept { folder, settings, files })
    }

    /// Whether it passed with all that it reads as it is.
    pub(super) fn has_passed(&self, kind: &Kind, scope: Scope) -> Result<bool> {
        match fs::read_to_string(self.path(kind, scope)) {
            Ok(text) => Ok(text == self.key(kind)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).context("cannot read what passed before"),
        }
    }

    /// Notes that it passed.
    pub(super) fn passed(&self, kind: &Kind, scope: Scope) -> Result<()> {
        let path = self.path(kind, scope);
        fs::write(&path, self.key(kind)).with_context(|| format!("cannot write `{}`", path.display()))
    }

    fn path(&self, kind: &Kind, scope: Scope) -> PathBuf {
        self.folder.join(format!("{}-{scope:?}.passed", kind.name.replace(' ', "-")))
    }

    fn key(&self, kind: &Kind) -> String {
        let is_read = |path: &Path| kind.reads.iter().any(|folder| path.starts_with(folder));
        let read = self.files.iter().filter(|(path, _)| is_read(path));
        let state = read.fold(self.settings, |state, (path, contents)| {
            hash(hash(state, path.as_os_str().as_encoded_bytes()), &contents.to_le_bytes())
        });
        format!("{state:016x}")
    }
}

/// Every file of the workspace, but for what is built and what git keeps.
fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, u64>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if name != "target" && name != ".git" {
                collect(&path, files)?;
            }
        } else if kind.is_file() {
            let contents = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
            files.insert(path, hash(START, &contents));
        }
    }
    Ok(())
}

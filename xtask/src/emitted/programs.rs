//! The programs whose text is compared.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Folders with programs: with what is below them, and what for.
const FOLDERS: [&str; 8] = [
    "hidp-build/tests/cases/emit",
    "hidp-build/tests/cases/fuse",
    "hidp-build/tests/cases/run",
    "benches/src/kernels",
    "benches/gpu/src/kernels",
    "hidp-std/prim",
    "hidp-std/sparse",
    "examples",
];

/// Types that stand for `ELEMENT` in the templates of hidp-std, and their bytes.
const ELEMENTS: [(&str, u32); 10] = [
    ("i8", 1),
    ("i16", 2),
    ("i32", 4),
    ("i64", 8),
    ("u8", 1),
    ("u16", 2),
    ("u32", 4),
    ("u64", 8),
    ("f32", 4),
    ("f64", 8),
];

/// The folder of the programs that are compiled with all versions that a tuner would compare, and the line that asks for it.
pub(crate) const VARIANTS: &str = "variants";

/// Copies of the programs, alone in a folder.
pub(crate) struct Programs {
    pub(crate) folder: PathBuf,
    /// Paths below the folder, in order.
    pub(crate) names: Vec<PathBuf>,
    /// Changes with any of them.
    pub(crate) hash: u64,
}

/// Copies the working tree's programs, with the plans that are pinned beside them; once more with all versions for a tuner.
pub(crate) fn gather(folder: &Path) -> Result<Programs> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let mut paths = Vec::new();
    for from in FOLDERS {
        let before = paths.len();
        collect(Path::new(from), &mut paths)?;
        ensure!(paths.len() > before, "there are no programs in `{from}`");
    }
    paths.sort();
    let mut programs = Programs { folder: folder.to_owned(), names: Vec::new(), hash: 0xcbf2_9ce4_8422_2325 };
    for path in paths {
        let text = fs::read_to_string(&path)?;
        if text.contains("ELEMENT") {
            programs.instances(&path, &text)?;
        } else {
            programs.add(&path, &text)?;
            if path.extension().is_some_and(|extension| extension == "hdp") {
                // At the end, so that lines keep their numbers.
                programs.add(&Path::new(VARIANTS).join(&path), &format!("{text}\n// {VARIANTS}\n"))?;
            }
        }
    }
    Ok(programs)
}

impl Programs {
    fn add(&mut self, name: &Path, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(&path, text)?;
        let bytes = name.as_os_str().as_encoded_bytes().iter().chain(text.as_bytes());
        // FNV-1a
        self.hash = bytes.fold(self.hash, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        if name.extension().is_some_and(|extension| extension == "hdp") {
            self.names.push(name.to_owned());
        }
        Ok(())
    }

    /// The instances of a template, as hidp-std's build script makes them.
    fn instances(&mut self, template: &Path, text: &str) -> Result<()> {
        // Functions on bits are for integers, products of sparse matrices for floats.
        let is_for = |element: &str| match element.starts_with('f') {
            true => !template.ends_with("bits.hdp"),
            false => !template.ends_with("product.hdp"),
        };
        for (element, bytes) in ELEMENTS.into_iter().filter(|(element, _)| is_for(element)) {
            let text = text.replace("ELEMENT", element).replace("BYTES", &bytes.to_string());
            self.add(&template.with_extension("").join(format!("{element}.hdp")), &text)?;
        }
        Ok(())
    }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            // An example may have been built where it is.
            if path.file_name().is_none_or(|name| name != "target") {
                collect(&path, paths)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "hdp" || extension == "plan") {
            paths.push(path);
        }
    }
    Ok(())
}

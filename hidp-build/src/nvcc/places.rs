//! Where nvcc may be.

use std::env::split_paths;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A program that may be nvcc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) program: PathBuf,
    /// Whether the user named it: another must not be taken in its place.
    pub(crate) is_named: bool,
}

/// Environment variables that say where it is.
pub(crate) const VARIABLES: [&str; 3] = ["NVCC", "CUDA_HOME", "CUDA_PATH"];

/// Every place that is looked at, for people.
pub(crate) const LIST: &str = "NVCC, CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda*, /opt/cuda, /usr/lib/cuda";

/// Folders in which distributions and NVIDIA's installer put the toolkit.
const USUAL: [&str; 4] = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit"];

/// The programs to try, best first. Those that the user has not named are there.
pub(crate) fn candidates(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Candidate> {
    let path: Vec<PathBuf> = variable("PATH").map(|path| split_paths(&path).collect()).unwrap_or_default();
    let in_path = || path.iter().map(|folder| folder.join("nvcc"));
    if let Some(named) = variable("NVCC").filter(|named| !named.is_empty()).map(PathBuf::from) {
        let is_bare = named.components().count() == 1;
        let found = path.iter().map(|folder| folder.join(&named)).find(|program| is_bare && program.is_file());
        return vec![Candidate { program: found.unwrap_or(named), is_named: true }];
    }
    let homes = VARIABLES.iter().skip(1).filter_map(|name| variable(name)).filter(|home| !home.is_empty());
    let homes = homes.map(PathBuf::from).map(in_home);
    let usual = USUAL.iter().map(PathBuf::from).chain(versions(Path::new("/usr/local"))).map(in_home);
    let mut found: Vec<PathBuf> = Vec::new();
    for program in homes.chain(in_path()).chain(usual).filter(|program| program.is_file()) {
        if !found.contains(&program) {
            found.push(program);
        }
    }
    found.into_iter().map(|program| Candidate { program, is_named: false }).collect()
}

fn in_home(home: PathBuf) -> PathBuf {
    home.join("bin").join("nvcc")
}

/// Folders `cuda-12.9` and the like, newest first.
fn versions(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut versions: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix("cuda-")?.to_owned();
            let numbers: Option<Vec<u32>> = version.split('.').map(|number| number.parse().ok()).collect();
            Some((numbers?, entry.path()))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with empty files, and the programs found with these variables that lie in it.
    fn found(name: &str, files: &[&str], variables: &[(&str, &str)]) -> Vec<(String, bool)> {
        let root = std::env::temp_dir().join(format!("hidp-nvcc-{}-{name}", std::process::id()));
        for file in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let shown = root.display().to_string();
        let variable = |wanted: &str| {
            let (_, value) = variables.iter().find(|(name, _)| *name == wanted)?;
            Some(OsString::from(value.replace('~', &shown)))
        };
        let found = candidates(variable).into_iter();
        let found = found.filter_map(|candidate| {
            let program = candidate.program.display().to_string();
            let inside = program.strip_prefix(&shown).map(str::to_owned);
            inside.or((candidate.is_named).then_some(program)).map(|program| (program, candidate.is_named))
        });
        let found = found.collect();
        let _ = fs::remove_dir_all(root);
        found
    }

    #[test]
    fn variables_come_before_the_path() {
        let files = ["first/bin/nvcc", "second/bin/nvcc", "bin/nvcc", "bin/my-nvcc"];
        let variables = [("CUDA_HOME", "~/first"), ("CUDA_PATH", "~/second"), ("PATH", "~/none:~/bin")];
        let expected = ["/first/bin/nvcc", "/second/bin/nvcc", "/bin/nvcc"].map(|program| (program.to_owned(), false));
        assert_eq!(found("order", &files, &variables), expected);
        let named = |nvcc| found("named", &files, &[&variables[..], &[("NVCC", nvcc)]].concat());
        assert_eq!(named("~/bin/my-nvcc"), [("/bin/my-nvcc".to_owned(), true)]);
        assert_eq!(named("my-nvcc"), [("/bin/my-nvcc".to_owned(), true)]);
        assert_eq!(named("/nowhere/nvcc"), [("/nowhere/nvcc".to_owned(), true)], "no other in its place");
        assert_eq!(named(""), expected, "an empty variable is none");
    }

    #[test]
    fn what_is_not_there_is_no_candidate() {
        let variables = [("CUDA_HOME", "~/first"), ("CUDA_PATH", ""), ("PATH", "~/bin")];
        assert_eq!(found("absent", &["home/include/cuda.h"], &variables), []);
    }

    #[test]
    fn newer_versions_come_first() {
        let root = std::env::temp_dir().join(format!("hidp-nvcc-{}-versions", std::process::id()));
        for name in ["cuda-12.9", "cuda-12.10", "cuda-13", "cuda", "cuda-x"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let names: Vec<PathBuf> = ["cuda-13", "cuda-12.10", "cuda-12.9"].iter().map(|name| root.join(name)).collect();
        assert_eq!(versions(&root), names);
        let _ = fs::remove_dir_all(root);
    }
}

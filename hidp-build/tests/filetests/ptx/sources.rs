//! The public originals: files that nobody commits, known by their hashes. `benches/peers/cuda/originals.txt` lists them, and `benches/peers/cuda/originals` has how each is called.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::made::root;

/// Folders of originals.
pub(super) struct Sources {
    folder: PathBuf,
    listed: String,
}

impl Sources {
    /// Those in the folder that `HIDP_PTX_SOURCES` names, each of which is what the list says.
    pub(super) fn read() -> Result<Option<Sources>, String> {
        let Some(folder) = std::env::var_os("HIDP_PTX_SOURCES").map(PathBuf::from) else { return Ok(None) };
        let list = root().join("benches/peers/cuda/originals.txt");
        let listed = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
        let wrong: Vec<String> = files(&listed).filter_map(|(_, path, hash)| differs(&folder, path, hash)).collect();
        if wrong.is_empty() { Ok(Some(Sources { folder, listed })) } else { Err(wrong.join("\n")) }
    }

    /// How the original of a program is called, and the folder with its files; `None` if none is listed.
    pub(super) fn of(&self, name: &str) -> Option<Result<(PathBuf, PathBuf), String>> {
        files(&self.listed).any(|(program, ..)| program == name).then(|| {
            let source = root().join("benches/peers/cuda/originals").join(name).with_extension("cu");
            if source.is_file() {
                Ok((source, self.folder.clone()))
            } else {
                Err(format!("there is no {}", source.display()))
            }
        })
    }
}

/// Programs, paths below the folder, and hashes.
fn files(listed: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let lines = listed.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [program, path, hash] => (program, path, hash),
            _ => panic!("originals.txt: `{line}` is no program, path and hash"),
        }
    })
}

/// What is wrong with a file.
fn differs(folder: &Path, path: &str, hash: &str) -> Option<String> {
    let file = folder.join(path);
    if !file.is_file() {
        return Some(format!("there is no {}, which `cargo xtask ptx-count --sources` needs", file.display()));
    }
    let found = match Command::new("sha256sum").arg(&file).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).split_whitespace().next().unwrap_or_default().to_owned(),
        Err(error) => return Some(format!("sha256sum: {error}")),
    };
    (found != hash).then(|| format!("{} has the hash {found}, not {hash}: it is another version", file.display()))
}

#[test]
fn originals_are_known_by_their_hashes() {
    let folder = crate::made::folder();
    fs::write(folder.join("original.cu"), "abc").unwrap();
    let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(differs(&folder, "original.cu", right), None);
    let wrong = differs(&folder, "original.cu", "ba78").unwrap();
    assert!(wrong.ends_with(&format!("has the hash {right}, not ba78: it is another version")), "{wrong}");
    assert!(differs(&folder, "none.cu", right).unwrap().starts_with("there is no "));
    let listed = fs::read_to_string(root().join("benches/peers/cuda/originals.txt")).unwrap();
    for (program, ..) in files(&listed) {
        assert!(root().join(format!("benches/peers/cuda/originals/{program}.cu")).is_file(), "{program}");
    }
}

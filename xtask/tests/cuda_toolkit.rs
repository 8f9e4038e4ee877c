//! `cargo xtask cuda-toolkit` where `CARGO_TARGET_DIR` names a folder elsewhere, with a Python that stands in for the real one.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Has a pip that puts an nvcc where it is told to, which is the last of its arguments.
const PYTHON: &str = r#"#!/bin/sh
case "$*" in
    --version | "-m pip --version") exit 0 ;;
    "-m pip install "*) ;;
    *) exit 1 ;;
esac
for last; do :; done
mkdir -p "$last/nvidia/cu13/bin" && printf '#!/bin/sh\nexit 0\n' >"$last/nvidia/cu13/bin/nvcc" && chmod +x "$last/nvidia/cu13/bin/nvcc"
"#;

/// An empty folder of this test's.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cuda-toolkit-{name}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn install(target: &Path, python: Option<&Path>) -> Output {
    let path = python.map_or_else(|| "/nowhere".into(), |folder| format!("{}:/usr/bin:/bin", folder.display()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("cuda-toolkit").env("CARGO_TARGET_DIR", target).env("PATH", path).output().unwrap()
}

/// What it says where it fails.
fn refused(target: &Path, python: Option<&Path>) -> String {
    let output = install(target, python);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn python(folder: &Path, text: &str) -> PathBuf {
    let programs = folder.join("bin");
    fs::create_dir_all(&programs).unwrap();
    let python = programs.join("python3");
    fs::write(&python, text).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    programs
}

#[test]
fn a_target_folder_that_is_not_there_yet_is_made() {
    let folder = folder("made");
    let programs = python(&folder, PYTHON);
    let target = folder.join("not/there/yet");
    let output = install(&target, Some(&programs));
    assert!(output.status.success(), "{output:?}");
    let home = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    assert!(
        home.starts_with(&target) && home.join("bin/nvcc").is_file() && home.join("lib64").is_symlink(),
        "{home:?}"
    );
    let made: Vec<_> = fs::read_dir(target.join("cuda-toolkit")).unwrap().collect();
    assert_eq!(made.len(), 1, "nothing else is left: {made:?}");
}

#[test]
fn what_could_not_be_done_is_said() {
    let folder = folder("refused");
    let programs = python(&folder, PYTHON);
    let file = folder.join("a file");
    fs::write(&file, "").unwrap();
    let said = refused(&file.join("target"), Some(&programs));
    let place = file.join("target/cuda-toolkit");
    assert!(said.contains(&format!("cannot make `{}", place.display())), "the folder is named: {said}");

    let target = folder.join("target");
    let said = refused(&target, None);
    assert!(said.contains("there is no `python3`") && said.contains("CUDA_HOME="), "{said}");
    python(&folder, &PYTHON.replace("for last; do :; done", "exit 3"));
    let said = refused(&target, Some(&programs));
    assert!(said.contains("pip failed: exit status: 3"), "{said}");
    let left: Vec<_> = fs::read_dir(target.join("cuda-toolkit")).unwrap().collect();
    assert!(left.is_empty(), "what was broken off is gone: {left:?}");
}

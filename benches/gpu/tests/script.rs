//! The script of a bundle, with programs that the executor runs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// A bundle with one case, packed as `cargo xtask gpu-bundle` does it.
struct Bundle {
    folder: PathBuf,
    /// What the script finds programs in, if not in the usual places.
    path: Option<PathBuf>,
}

impl Bundle {
    fn new(name: &str) -> Bundle {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bundles").join(name);
        let _ = fs::remove_dir_all(&folder);
        for part in ["bin", "answers", "elsewhere"] {
            fs::create_dir_all(folder.join(part)).expect("a folder for outputs");
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        fs::copy(here.join("run.sh"), folder.join("run.sh")).expect("the script is there");
        fs::write(folder.join("CUDA_VERSION"), "13.0\n").expect("the folder is writable");
        pack(Path::new(env!("CARGO_BIN_EXE_hidp-gpu")), &folder.join("bin/hidp-gpu.gz"));
        let answers = folder.join("elsewhere/spmv_bad_index.answers");
        make_answers(answers.parent().expect("it has a folder"));
        pack(&answers, &folder.join("answers/spmv_bad_index.answers.gz"));
        Bundle { folder, path: None }
    }

    /// Runs the script from another folder, on the executor unless `gpu`.
    fn run(&self, gpu: bool, args: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new("bash");
        command.arg(self.folder.join("run.sh")).args(args).current_dir(self.folder.join("elsewhere"));
        command.env("TMPDIR", self.folder.join("elsewhere")).env_remove("LOGS");
        if !gpu {
            command.env("SIMULATED", "1").env("LARGEST", "4");
        }
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        let output = command.output().expect("bash starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    }
}

fn pack(from: &Path, to: &Path) {
    let packed = fs::File::create(to).expect("the folder is writable");
    let status = Command::new("gzip").arg("-c").arg(from).stdout(Stdio::from(packed)).status();
    assert!(status.expect("there is gzip").success());
}

fn make_answers(folder: &Path) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["test", "--package", "hidp-build", "--test", "filetests", "--", "--exact", "run"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_PKG_NAME")
        .env("HIDP_CASE", "spmv_bad_index")
        .env("HIDP_ANSWERS", folder)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn every_part_runs_and_is_logged() {
    let bundle = Bundle::new("whole");
    let (code, text) = bundle.run(false, &[]);
    assert_eq!(code, Some(0), "{text}");
    for part in [
        "== cases",
        "1 of 1 cases are good",
        "== checks",
        "1 of 1 tests of primitives",
        "== stdtests",
        "tests are good",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.contains("bench-gemm: LEFT OUT: this bundle was made without benchmarks"), "{text}");
    assert!(text.contains("not measured all of bench-gemm: it has not run to its end"), "{text}");
    assert!(text.contains("0 reached, 0 not reached, 11 not measured, 0 failed"), "{text}");
    for log in
        ["device.log", "cases.log", "cases/spmv_bad_index.log", "checks/histogram-1.log", "stdtests.log", "goals.log"]
    {
        assert!(bundle.folder.join("logs").join(log).is_file(), "{log}");
    }
    let (code, text) = bundle.run(false, &["cases", "left"]);
    assert!(code == Some(0) && text.contains("1 of 1 cases were good before"), "{text}");
    let (code, text) = bundle.run(false, &["cases", "spmv*"]);
    assert!(code == Some(0) && text.contains("1 of 1 cases are good"), "{text}");
    let (code, text) = bundle.run(false, &["list"]);
    assert!(code == Some(0) && text.contains("\n1 cases, "), "{text}");
}

#[test]
fn wrong_names_are_said_before_anything_runs() {
    let bundle = Bundle::new("names");
    for args in [&["nonsense"][..], &["list", "nonsense"], &["goals", "cases", "nonsense"], &["bench-nonsense"]] {
        let (code, text) = bundle.run(false, args);
        assert_eq!(code, Some(2), "{text}");
        assert!(
            text.contains("nonsense; there are: device list cases checks stdtests sanitize bench-limits"),
            "{text}"
        );
        assert!(!text.contains("=="), "{text}");
    }
    let (code, text) = bundle.run(false, &["cases", "nonsense"]);
    assert!(code == Some(1) && text.contains("there is no case nonsense; there are: spmv_bad_index"), "{text}");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_left_alone() {
    let bundle = Bundle::new("unwritable");
    // Also for those who may write everywhere: a folder is no file.
    fs::create_dir(bundle.folder.join(".writable")).expect("the folder is writable");
    let (code, text) = bundle.run(false, &["cases"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("cannot be written to: unpacking to ") && text.contains("1 of 1 cases are good"), "{text}");
    assert!(!bundle.folder.join("logs").exists() && !bundle.folder.join("bin/hidp-gpu").exists());
}

#[test]
fn without_gzip_others_unpack_or_it_is_said() {
    let mut bundle = Bundle::new("no-gzip");
    let tools = bundle.folder.join("tools");
    fs::create_dir(&tools).expect("the folder is writable");
    let link = |name: &str| {
        let output = Command::new("bash").args(["-c", &format!("command -v {name}")]).output().expect("bash starts");
        let place = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(place.starts_with('/'), "{name} is not there: {place}");
        std::os::unix::fs::symlink(place, tools.join(name)).expect("the folder is writable");
    };
    ["bash", "cat", "chmod", "dirname", "grep", "mkdir", "mv", "rm", "tee", "timeout"].into_iter().for_each(link);
    bundle.path = Some(tools.clone());
    let (code, text) = bundle.run(false, &["list"]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("there is no gzip, busybox or python3 to unpack with"), "{text}");
    // The interpreter itself: what is found first may be a script that needs more than is here.
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable, end='')"]).output();
    if let Some(python) = python.ok().filter(|output| output.status.success()) {
        let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", String::from_utf8_lossy(&python.stdout));
        fs::write(tools.join("python3"), script).expect("the folder is writable");
        fs::set_permissions(tools.join("python3"), fs::Permissions::from_mode(0o755)).expect("the file is ours");
        let (code, text) = bundle.run(false, &["list"]);
        assert!(code == Some(0) && text.contains("\n1 cases, "), "{text}");
    }
}

#[test]
fn without_a_gpu_it_is_said_why() {
    if Path::new("/dev/nvidiactl").exists() {
        println!("skipped: a machine without a GPU: this machine has a GPU");
        return;
    }
    let (code, text) = Bundle::new("no-gpu").run(true, &["cases"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.starts_with("There is no GPU that can run this: cuda:0 cannot be used"), "{text}");
    assert!(text.contains("its driver (libcuda.so.1), for CUDA 13.0 or later"), "{text}");
}

//! The tests of the device primitives (`hidp-build/tests/device`): C++ programs, each a function here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

use hidp_build::Cuda;

/// Every file.
pub(crate) const ALL: [&str; 6] = ["edges", "histogram", "partition", "reduce", "scan", "sort"];
/// What compiles quickly.
pub(crate) const SOME: [&str; 1] = ["histogram"];

const FOLDER: &str = "../../hidp-build/tests/device";
const INCLUDE: [&str; 2] = ["../../hidp-std/include", "../../hidp-sys/include"];

/// Compiles files and writes `checks.rs`, which lists them.
pub(crate) fn compile(checks: &[&str], cuda: Cuda, out: &Path) {
    for folder in INCLUDE.iter().chain([&FOLDER]) {
        println!("cargo::rerun-if-changed={folder}");
    }
    let objects: Vec<PathBuf> = checks.iter().map(|check| object(check, cuda, out)).collect();
    if !objects.is_empty() {
        let library = out.join("libhidp_checks.a");
        // What was in it before may have another name now.
        let _ = fs::remove_file(&library);
        succeed(Command::new("ar").arg("crs").arg(&library).args(&objects));
        println!("cargo::rustc-link-search=native={}", out.display());
        println!("cargo::rustc-link-lib=static=hidp_checks");
    }
    let declare = |check: &&str| format!("    fn hidp_check_{check}(argc: i32, argv: *mut *mut c_char) -> i32;\n");
    let list = |check: &&str| format!("    (\"{check}\", hidp_check_{check}),\n");
    let declared: String = checks.iter().map(declare).collect();
    let listed: String = checks.iter().map(list).collect();
    let text = format!("unsafe extern \"C\" {{\n{declared}}}\nconst CHECKS: &[(&str, Check)] = &[\n{listed}];\n");
    fs::write(out.join("checks.rs"), text).expect("OUT_DIR is writable");
}

/// Compiles one, unless that was done and nothing has changed since: nvcc takes minutes.
fn object(check: &str, cuda: Cuda, out: &Path) -> PathBuf {
    let path = |extension: &str| out.join(format!("check_{check}.{extension}"));
    let mut command = if cuda == Cuda::Simulated { for_executor() } else { for_gpu() };
    command.arg("-DHIDP_ISA=".to_owned() + if cuda == Cuda::Simulated { "simt" } else { "cuda" });
    for folder in INCLUDE {
        command.arg("-I").arg(folder);
    }
    command.arg(format!("-DHIDP_CHECK_NAME=hidp_check_{check}")).arg("-MMD").arg("-MF").arg(path("d"));
    command.arg("-c").arg(format!("{FOLDER}/{check}.cpp")).arg("-o").arg(path("o"));
    let shown = format!("{command:?}");
    let same = fs::read_to_string(path("command")).is_ok_and(|before| before == shown);
    if !same || !is_current(&path("o"), &path("d")) {
        succeed(&mut command);
        fs::write(path("command"), shown).expect("OUT_DIR is writable");
    }
    path("o")
}

fn for_executor() -> Command {
    let mut command = Command::new(variable("CXX").unwrap_or_else(|| "c++".into()));
    command.args(["-std=c++17", "-Og", "-fPIC", "-w", "-DHIDP_SIMT=1"]);
    command
}

fn for_gpu() -> Command {
    let home = variable("CUDA_HOME").expect("`CUDA_HOME` names the folder of nvcc");
    let mut command = Command::new(Path::new(&home).join("bin/nvcc"));
    command.args(["-x", "cu", "-std=c++17", "-O3", "--fmad=false", "-w", "-Xcompiler=-fPIC"]);
    let archs = variable("HIDP_CUDA_ARCH").unwrap_or_default();
    let mut numbers: Vec<&str> = archs.split(',').map(|arch| arch.trim_start_matches("sm_")).collect();
    numbers.sort_unstable();
    for number in &numbers {
        command.arg(format!("-gencode=arch=compute_{number},code=sm_{number}"));
    }
    if let Some(newest) = numbers.last() {
        command.arg(format!("-gencode=arch=compute_{newest},code=compute_{newest}"));
    }
    command
}

fn variable(name: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={name}");
    env::var(name).ok()
}

/// Whether an object is newer than all that it was made from.
fn is_current(object: &Path, depfile: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let (Some(made), Ok(depfile)) = (changed(object), fs::read_to_string(depfile)) else { return false };
    let sources = depfile.split_whitespace().filter(|word| !word.ends_with(':') && *word != "\\");
    sources
        .map(|source| changed(Path::new(source)))
        .all(|time: Option<SystemTime>| time.is_some_and(|time| time < made))
}

fn succeed(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
}

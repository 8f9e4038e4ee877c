//! `cargo xtask test aarch64`: generated C++ for another processor, compiled by Debian's cross compiler and run by qemu: the calls of the
//! cases of kind `run`, with what the interpreter makes of them, by a runner in C++ (`hidp-build/tests/answers/replay.cpp`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use hidp_build::compiler::emit::openmp::FLAGS;

use super::kept::hash_of;
use crate::command::{cargo, target_folder};

const COMPILER: &str = "aarch64-linux-gnu-g++";
const MACHINE: &str = "qemu-aarch64";
/// Where Debian has the libraries.
const SYSTEM: &str = "/usr/aarch64-linux-gnu";
/// How many threads calls use, one after the other.
const THREADS: [&str; 2] = ["1", "3"];

/// Runs all cases, or those whose name has a text.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let case = match args {
        [] => "",
        ["--case", name] => name,
        _ => bail!("cargo xtask test aarch64 [--case NAME]"),
    };
    for program in [COMPILER, MACHINE] {
        let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
        ensure!(there, "there is no `{program}`: `apt install g++-aarch64-linux-gnu qemu-user`");
    }
    let folder = target_folder().join("aarch64");
    let calls = folder.join("calls");
    if calls.exists() {
        fs::remove_dir_all(&calls)?;
    }
    fs::create_dir_all(&calls).with_context(|| format!("cannot make `{}`", calls.display()))?;
    let record = cargo(&["test", "--quiet", "--package", "hidp-build", "--test", "filetests", "--", "--exact", "run"]);
    let to = calls.to_str().context("a path in UTF-8")?;
    record.env("HIDP_ANSWERS", to).env("HIDP_ANSWERS_CODE", "on").env("HIDP_CASE", case).run()?;

    let headers = hash_of(&["hidp-std/include", "hidp-sys", "hidp-build/tests/cases/run/natives"].map(Path::new))?;
    let runner = runner(&folder)?;
    let mut cases: Vec<PathBuf> = fs::read_dir(&calls)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
    ensure!(!cases.is_empty(), "no calls were written");
    cases.sort();
    let queue = Mutex::new(cases.iter());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let work = || {
            loop {
                let next = queue.lock().expect("no panic").next();
                let Some(case) = next else { return };
                match replay(&runner, &folder, case, headers) {
                    Ok(said) => println!("{}: {said}", name(case)),
                    Err(error) => failures.lock().expect("no panic").push(format!("{}: {error:#}", name(case))),
                }
            }
        };
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no panic");
    ensure!(failures.is_empty(), "{} of {} cases failed\n{}", failures.len(), cases.len(), failures.join("\n"));
    println!("{} cases", cases.len());
    Ok(())
}

fn name(case: &Path) -> String {
    case.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The program that makes calls.
fn runner(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("replay");
    let mut sources = vec![PathBuf::from("hidp-build/tests/answers/replay.cpp")];
    for entry in fs::read_dir("hidp-sys/src")? {
        let path = entry?.path();
        sources.extend(Some(path).filter(|path| path.extension().is_some_and(|extension| extension == "cpp")));
    }
    // Kernels take the run time from it.
    compile(&["-std=c++17", "-O2", "-rdynamic"], &sources, &program, &["-ldl", "-pthread"])?;
    Ok(program)
}

/// Compiles a case and makes its calls; gives what the runner says.
fn replay(runner: &Path, folder: &Path, case: &Path, headers: u64) -> Result<String> {
    let library = folder.join(format!("{}-{:016x}.so", name(case), headers ^ hash_of(&[case])?));
    if !library.is_file() {
        // Threads for any amount of work and short turns, as in the tests of this machine.
        let own =
            ["-shared", "-fPIC", "-fopenmp-simd", "-DHIDP_ISA=base", "-DHIDP_WORK_PER_THREAD=1", "-DHIDP_TURN=1024"];
        compile(&[FLAGS, &own].concat(), &[case.to_owned()], &library, &[])?;
    }
    let mut command = Command::new(MACHINE);
    command.args(["-L", SYSTEM]).arg(runner).arg(library).arg(case.with_extension("table"));
    command.arg(case.with_extension("answers")).args(THREADS);
    let output = command.output().with_context(|| format!("cannot start `{MACHINE}`"))?;
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let said = said.trim();
    ensure!(output.status.success(), "{}\n{said}\n{errors}", output.status);
    Ok(said.to_owned())
}

fn compile(flags: &[&str], sources: &[PathBuf], output: &Path, libraries: &[&str]) -> Result<()> {
    let aside = output.with_extension("part");
    let mut command = Command::new(COMPILER);
    command.args(["-Wall", "-Wextra", "-Werror", "-I", "hidp-std/include", "-I", "hidp-sys/include"]);
    let result = command.args(flags).args(sources).arg("-o").arg(&aside).args(libraries).output();
    let result = result.with_context(|| format!("cannot start `{COMPILER}`"))?;
    ensure!(result.status.success(), "does not compile\n{}", String::from_utf8_lossy(&result.stderr));
    fs::rename(&aside, output).with_context(|| format!("cannot make `{}`", output.display()))
}

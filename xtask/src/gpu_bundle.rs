//! `cargo xtask gpu-bundle`: one folder with all that tests and measures on another machine's GPU.

mod check;
mod progress;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::command::cargo;
use crate::cuda_toolkit;
use progress::Progress;

/// What is packed.
const BUNDLE: &str = "target/gpu-bundle";
/// Where it is built: beside the usual outputs, so that neither makes the other build again.
const BUILD: &str = "target/gpu-bundle-build";
const CASES: &str = "hidp-build/tests/cases/run";
/// H100 and H200, and PTX for what is newer still.
const ARCHS: &str = "sm_90";

/// What the command line says.
struct Options {
    archs: String,
    benches: bool,
    jobs: String,
}

impl Options {
    fn read(args: &[&str]) -> Result<Options> {
        let mut options = Options { archs: ARCHS.into(), benches: true, jobs: "2".into() };
        let mut args = args.iter();
        while let Some(&arg) = args.next() {
            match arg {
                "--arch" => options.archs = args.next().context("which architectures? (sm_90)")?.to_string(),
                "--jobs" => options.jobs = args.next().context("how many?")?.to_string(),
                "--no-bench" => options.benches = false,
                other => bail!("gpu-bundle has no option `{other}`"),
            }
        }
        Ok(options)
    }
}

/// Builds and packs.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let options = Options::read(args)?;
    let home = cuda_toolkit::for_tests()?.context("there is no nvcc")?;
    answers()?;
    build(&home, &options)?;
    complete()?;
    let programs = pack(&home, &options)?;
    check::run(Path::new(BUNDLE), &programs)
}

/// The interpreter's answers to every case.
fn answers() -> Result<()> {
    let folder = Path::new(BUILD).join("answers");
    let names: BTreeSet<String> = cases()?.into_iter().collect();
    if let Ok(entries) = fs::read_dir(&folder) {
        // A case may have gone, or have another name.
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if !names.contains(&name) {
                fs::remove_file(&path)?;
            }
        }
    }
    let folder = std::path::absolute(folder)?;
    cargo(&["test", "--package", "hidp-build", "--test", "filetests", "--", "--exact", "run"])
        .env("HIDP_ANSWERS", &folder.display().to_string())
        .run()
        .context("the cases have no answers")
}

fn cases() -> Result<Vec<String>> {
    let paths = fs::read_dir(CASES)?.flatten().map(|entry| entry.path());
    let cases = paths.filter(|path| path.extension().is_some_and(|extension| extension == "hdp"));
    Ok(cases.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect())
}

/// Compiles what changed since the last time.
fn build(home: &Path, options: &Options) -> Result<()> {
    let flags = [std::env::var("NVCC_APPEND_FLAGS").unwrap_or_default(), smallest(&version_of(home)?).to_owned()];
    let command = |args: &[&str]| {
        cargo(&["build", "--jobs", &options.jobs])
            .args(args)
            .env("CARGO_TARGET_DIR", BUILD)
            .env("CUDA_HOME", &home.display().to_string())
            .env("HIDP_CUDA", "required")
            .env("HIDP_CUDA_ARCH", &options.archs)
            .env("NVCC_APPEND_FLAGS", flags.join(" ").trim())
    };
    let progress = Progress::start(Path::new(BUILD), "debug/build/hidp-gpu-", cases()?.len() + 1);
    let built = command(&["--package", "hidp-gpu", "--features", "bundle"]).run();
    progress.end();
    built?;
    if options.benches {
        command(&["--release", "--package", "hidp-gpu-bench", "--features", "bundle"]).run()?;
    }
    Ok(())
}

/// Nothing is left out silently: every case has answers, the program has every entry that they name, and it says what no device runs.
fn complete() -> Result<()> {
    let answers = Path::new(BUILD).join("answers");
    let missing = without_answers(&answers, &cases()?);
    ensure!(missing.is_empty(), "cases without answers: {}", missing.join(" "));
    let status =
        Command::new(Path::new(BUILD).join("debug/hidp-gpu")).args(["list", "--answers"]).arg(&answers).status();
    ensure!(status.context("cannot start the tests")?.success(), "entries of cases are missing in the program");
    Ok(())
}

fn without_answers(answers: &Path, cases: &[String]) -> Vec<String> {
    cases.iter().filter(|case| !answers.join(format!("{case}.answers")).is_file()).cloned().collect()
}

/// What makes nvcc store device code in the fewest bytes; versions before 12.8 do not know it.
fn smallest(version: &str) -> &'static str {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (12, 8) { "--compress-mode=size" } else { "" }
}

/// Puts everything into the folder; gives the programs as they will be unpacked.
fn pack(home: &Path, options: &Options) -> Result<Vec<PathBuf>> {
    let (build, bundle) = (Path::new(BUILD), Path::new(BUNDLE));
    if bundle.exists() {
        fs::remove_dir_all(bundle)?;
    }
    for folder in ["bin/lib", "answers", "data"] {
        fs::create_dir_all(bundle.join(folder))?;
    }
    let mut programs = vec![("debug/hidp-gpu", "hidp-gpu")];
    if options.benches {
        programs.push(("release/hidp-gpu-bench", "hidp-gpu-bench"));
    }
    let mut packed = Vec::new();
    for (from, name) in programs {
        packed.push(program(&build.join(from), name)?);
    }
    for entry in fs::read_dir(build.join("answers"))?.flatten() {
        let name = format!("{}.gz", entry.file_name().to_string_lossy());
        compress(&entry.path(), &bundle.join("answers").join(name))?;
    }
    fs::copy("examples/quickstart/data/1138_bus.mtx", bundle.join("data/1138_bus.mtx"))?;
    fs::copy("benches/gpu/run.sh", bundle.join("run.sh"))?;
    fs::write(bundle.join("CUDA_VERSION"), version_of(home)? + "\n")?;
    Ok(packed)
}

/// Packs one program without its symbols, compressed, with the libraries of the compiler beside it: device code in it is mostly air.
fn program(from: &Path, name: &str) -> Result<PathBuf> {
    let folder = Path::new(BUILD).join("stripped");
    fs::create_dir_all(&folder)?;
    let (stripped, bin) = (folder.join(name), Path::new(BUNDLE).join("bin"));
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(from).status().context("cannot start `strip`")?;
    ensure!(status.success(), "`strip` failed on {}", from.display());
    for library in check::libraries_of_the_compiler(&stripped)? {
        let name = library.file_name().context("a library has a name")?;
        fs::copy(&library, bin.join("lib").join(name))?;
    }
    compress(&stripped, &bin.join(format!("{name}.gz")))?;
    Ok(stripped)
}

fn compress(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("gzip").args(["-9", "-n", "-c"]).arg(from).stdout(File::create(to)?).status();
    ensure!(status.context("cannot start `gzip`")?.success(), "`gzip` failed on {}", from.display());
    Ok(())
}

/// `13.0`: the driver must be of this major version or later.
fn version_of(home: &Path) -> Result<String> {
    let program: PathBuf = home.join("bin/nvcc");
    let output = Command::new(&program).arg("--version").output().context("cannot start nvcc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split("release ").nth(1).and_then(|rest| rest.split(',').next());
    Ok(version.context("nvcc says no version")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_newer_compilers_are_told_to_compress() {
        assert_eq!(smallest("12.6"), "");
        assert_eq!((smallest("12.8"), smallest("13.0")), ("--compress-mode=size", "--compress-mode=size"));
    }

    #[test]
    fn every_case_needs_answers() {
        let folder = std::env::temp_dir().join(format!("hidp-bundle-answers-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("near.answers"), "").unwrap();
        let missing = without_answers(&folder, &["near".to_owned(), "variants".to_owned()]);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(missing, ["variants"]);
    }

    #[test]
    fn options_are_read() {
        let options = Options::read(&["--arch", "sm_90", "--no-bench"]).unwrap();
        assert_eq!((options.archs.as_str(), options.benches), ("sm_90", false));
        assert!(Options::read(&["--arch"]).is_err() && Options::read(&["--fast"]).is_err());
    }
}

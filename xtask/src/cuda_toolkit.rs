//! `cargo xtask cuda-toolkit`: nvcc and what it needs, from Python packages, below `target`.
//!
//! A folder is made aside and put in its place at the end by one renaming, so that runs at the same time do not disturb each other, and
//! a run that was broken off leaves nothing that looks whole.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::command::target_folder;
use crate::space;

const REQUIREMENTS: &str = include_str!("../cuda-requirements.txt");

/// What installing takes: 380 MB while the packages are beside what is in them.
const BYTES: u64 = 500_000_000;

/// Prints the folder to use as `CUDA_HOME`.
pub(crate) fn run() -> Result<()> {
    install()?;
    println!("{}", packages_home().display());
    Ok(())
}

/// The CUDA compiler that tests use.
#[derive(Debug)]
pub(crate) enum Toolkit {
    /// What the environment names, which is there.
    Named(PathBuf),
    /// The packages, which may have to be installed.
    Packages,
}

impl Toolkit {
    /// `CUDA_HOME`, where it is once it is installed.
    pub(crate) fn home(&self) -> PathBuf {
        match self {
            Toolkit::Named(home) => home.clone(),
            Toolkit::Packages => packages_home(),
        }
    }

    /// Installs it unless it is there.
    pub(crate) fn install(&self) -> Result<()> {
        match self {
            Toolkit::Named(_) => Ok(()),
            Toolkit::Packages => {
                install().context("tests compile CUDA with the real nvcc; `HIDP_CUDA=off` leaves it out")
            }
        }
    }
}

/// `CUDA_HOME` for tests, installed; `None` as of [`wanted`].
pub(crate) fn for_tests() -> Result<Option<PathBuf>> {
    let Some(toolkit) = wanted()? else { return Ok(None) };
    toolkit.install()?;
    Ok(Some(toolkit.home()))
}

/// The toolkit for tests: what the environment names, or else the packages. `None`, said aloud, where it is not wanted or there is
/// none for this machine.
pub(crate) fn wanted() -> Result<Option<Toolkit>> {
    if env::var_os("HIDP_CUDA").is_some_and(|value| value == "off") {
        eprintln!("CUDA is left out: HIDP_CUDA=off");
        return Ok(None);
    }
    if let Some(home) = env::var_os("CUDA_HOME").filter(|home| !home.is_empty()).map(PathBuf::from) {
        ensure!(home.join("bin/nvcc").is_file(), "`CUDA_HOME` is `{}`, which has no bin/nvcc", home.display());
        return Ok(Some(Toolkit::Named(home)));
    }
    if !cfg!(target_os = "linux") {
        eprintln!("CUDA is left out: nvcc does not compile for this system");
        return Ok(None);
    }
    Ok(Some(Toolkit::Packages))
}

/// Where toolkits made of packages are.
fn root() -> PathBuf {
    target_folder().join("cuda-toolkit")
}

/// `CUDA_HOME` of the packages.
fn packages_home() -> PathBuf {
    root().join(name()).join("nvidia/cu13")
}

/// Installs unless it is there.
fn install() -> Result<()> {
    let (root, home) = (root(), packages_home());
    let place = root.join(name());
    if home.join("bin/nvcc").is_file() {
        return Ok(());
    }
    space::check("cargo xtask cuda-toolkit", &place, BYTES)?;
    let aside = root.join(format!("{}.{}", name(), std::process::id()));
    // Left by a process that had this number and was broken off.
    let _ = fs::remove_dir_all(&aside);
    fs::create_dir_all(&aside).with_context(|| format!("cannot make `{}`", aside.display()))?;
    let installed = install_aside(&aside).and_then(|packages| {
        if let Err(error) = fs::rename(&packages, &place) {
            // Another run was faster.
            ensure!(home.join("bin/nvcc").is_file(), "cannot make `{}`: {error}", place.display());
        }
        Ok(())
    });
    // Its remains do no harm.
    let _ = fs::remove_dir_all(&aside);
    installed
}

/// Name of the folder: other pins, another folder.
fn name() -> String {
    // FNV-1a: the same in every run.
    let hash = REQUIREMENTS
        .lines()
        .flat_map(str::bytes)
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let nvcc = REQUIREMENTS.lines().find_map(|line| line.strip_prefix("nvidia-cuda-nvcc==")).unwrap_or("nvcc");
    format!("{nvcc}-{:08x}", hash as u32)
}

/// Puts the packages into a folder below this one, and sees whether nvcc runs.
fn install_aside(aside: &Path) -> Result<PathBuf> {
    let (requirements, packages) = (aside.join("requirements.txt"), aside.join("packages"));
    fs::write(&requirements, REQUIREMENTS).with_context(|| format!("cannot write `{}`", requirements.display()))?;
    let mut pip = pip(&aside.join("python"))?;
    pip.args([
        "install",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--no-cache-dir",
        "--no-compile",
        "--no-warn-script-location",
    ]);
    pip.arg("--requirement").arg(&requirements).arg("--target").arg(&packages);
    // Unpacked where it will be, so that it is moved and not copied; what is broken off goes away with the folder.
    let temporary = aside.join("tmp");
    fs::create_dir_all(&temporary).with_context(|| format!("cannot make `{}`", temporary.display()))?;
    pip.env("TMPDIR", &temporary);
    eprintln!("installing the CUDA compiler (about 100 MB) …");
    // What pip prints is progress; the answer of this command is on standard output.
    let status = pip.stdout(std::io::stderr()).status().context("cannot start pip")?;
    ensure!(status.success(), "pip failed: {status}");
    let home = packages.join("nvidia/cu13");
    // nvcc looks for libraries in `lib64` when it links; the packages have `lib`.
    #[cfg(unix)]
    std::os::unix::fs::symlink("lib", home.join("lib64")).context("cannot link `lib64`")?;
    let nvcc = home.join("bin/nvcc");
    let output = Command::new(&nvcc).arg("--version").output();
    let output = output.with_context(|| format!("the packages hold no nvcc that runs, `{}`", nvcc.display()))?;
    ensure!(output.status.success(), "nvcc does not run: {}", String::from_utf8_lossy(&output.stderr));
    Ok(packages)
}

/// A pip of its own in this folder, or else the system's.
fn pip(folder: &Path) -> Result<Command> {
    let runs = |command: &mut Command| {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    if !runs(Command::new("python3").arg("--version")) {
        bail!("there is no `python3`, which installs the CUDA compiler: {ADVICE}");
    }
    let own = folder.join("bin/python");
    let candidates = [own.as_path(), Path::new("python3")];
    // Without the package `python3-venv` Debian's Python makes no environment, or one without pip.
    runs(Command::new("python3").args(["-m", "venv"]).arg(folder));
    for python in candidates {
        if runs(Command::new(python).args(["-m", "pip", "--version"])) {
            let mut command = Command::new(python);
            command.args(["-m", "pip"]);
            return Ok(command);
        }
    }
    bail!("Python has neither `venv` nor `pip`: {ADVICE}")
}

const ADVICE: &str = "`apt install python3-venv`, or name a toolkit that is installed: `CUDA_HOME=/usr/local/cuda`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned() {
        let lines: Vec<&str> = REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().all(|line| line.split("==").count() == 2), "{lines:?}");
        assert!(name().starts_with("13.0.88-"), "{}", name());
    }
}

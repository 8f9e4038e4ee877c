//! A program that may be nvcc, asked what it can do.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::Archs;
use crate::toolchain::Toolchain;
use hidp_emit::cuda::{FLAGS, LINES};

/// Older ones lack C++17 in full, and CUB as it is used.
const OLDEST: u32 = 12;

/// How symbols and namespaces of the code are marked, where code for processors has its instruction set.
const ISA: &str = "-DHIDP_ISA=cuda";

/// An nvcc that can be used.
#[derive(Clone, Debug)]
pub(crate) struct Nvcc {
    pub(crate) program: PathBuf,
    /// `13.0.88`
    pub(crate) version: String,
    pub(crate) archs: Archs,
    /// Whether code comes with tables of lines.
    pub(crate) lines: bool,
    /// The compiler of host code.
    pub(crate) host: OsString,
    /// The folder with the static run-time library.
    pub(crate) libraries: PathBuf,
    /// The toolkit's folder: what lies in it does not change without its version.
    pub(crate) root: PathBuf,
    /// All that objects depend on besides their sources and flags.
    pub(crate) identity: String,
}

impl Nvcc {
    /// Asks; the error says why it cannot be used.
    pub(crate) fn probe(program: &Path, archs: &Archs, toolchain: &Toolchain) -> Result<Self, String> {
        let version = version(&said(Command::new(program).arg("--version"))?).ok_or("it says no version")?;
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_none_or(|major| major < OLDEST) {
            return Err(format!("it is version {version}, and {OLDEST}.0 or later is needed"));
        }
        let plan = said(Command::new(program).args(["--dryrun", "-c", "hidp.cu"]))?;
        let host = env::var_os("NVCC_CCBIN").filter(|host| !host.is_empty());
        let host = host.unwrap_or_else(|| toolchain.program().as_os_str().to_owned());
        let extra = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"].map(env::var_os);
        let identity = format!("{}\n{version}\n{host:?}\n{extra:?}\n{}", program.display(), toolchain.identity());
        let root = canonical(variable(&plan, "TOP").ok_or("it does not say where its toolkit is")?);
        let libraries = libraries(&plan, &root).ok_or("its toolkit has no `libcudart_static.a`")?;
        let (program, archs) = (program.to_owned(), archs.clone());
        let nvcc = Self { program, version, archs, lines: true, host, libraries, root, identity };
        nvcc.preprocesses()?;
        Ok(nvcc)
    }

    /// Everything but files: flags, architectures, host compiler, folders of headers.
    pub(crate) fn command(&self, include: &[PathBuf]) -> Command {
        let mut command = Command::new(&self.program);
        let flags = FLAGS.iter().filter(|&&flag| self.lines || flag != LINES);
        command.arg("-ccbin").arg(&self.host).args(flags).args(self.archs.flags()).arg(ISA);
        for folder in include {
            command.arg("-I").arg(whole(folder));
        }
        command
    }

    /// Whether it knows the architectures and takes the host compiler, which it checks in its headers.
    fn preprocesses(&self) -> Result<(), String> {
        let mut command = self.command(&[]);
        command.args(["-E", "-x", "cu", null_device()]);
        said(&mut command).map(drop)
    }
}

/// A path as one value of an option: nvcc cuts values at commas.
pub(super) fn whole(path: &Path) -> String {
    path.display().to_string().replace(',', "\\,")
}

/// What it prints, or says as its reason to fail.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("it cannot be run: {error}"))?;
    let Output { status, stdout, stderr } = output;
    let stderr = String::from_utf8_lossy(&stderr);
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned() + &stderr);
    }
    let first: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).take(5).collect();
    Err(if first.is_empty() { format!("it fails: {status}") } else { first.join("\n") })
}

/// An empty file.
fn null_device() -> &'static str {
    "/dev/null"
}

/// `Cuda compilation tools, release 13.0, V13.0.88`
fn version(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.contains("release "))?;
    let (_, version) = line.rsplit_once(", V")?;
    Some(version.trim().to_owned())
}

/// `#$ TOP=/usr/local/cuda/bin/..`
fn variable<'a>(plan: &'a str, name: &str) -> Option<&'a str> {
    let lines = plan.lines().filter_map(|line| line.strip_prefix("#$ ")?.split_once('='));
    lines.filter(|(variable, _)| *variable == name).map(|(_, value)| value.trim()).next_back()
}

/// Where the static run-time library is: toolkits put it into `lib64`, Python's packages into `lib`, Conda's below `targets`.
fn libraries(plan: &str, root: &Path) -> Option<PathBuf> {
    let searched = variable(plan, "LIBRARIES").unwrap_or_default().split('"');
    let searched = searched.filter_map(|word| word.strip_prefix("-L")).map(PathBuf::from);
    let machine = if cfg!(target_arch = "aarch64") { "sbsa" } else { "x86_64" };
    let usual = ["lib64", "lib", &format!("targets/{machine}-linux/lib")].map(|folder| root.join(folder));
    let system = ["x86_64", "aarch64"].map(|machine| PathBuf::from(format!("/usr/lib/{machine}-linux-gnu")));
    let mut folders = searched.chain(usual).chain(system);
    folders.find(|folder| folder.join("libcudart_static.a").is_file()).map(canonical)
}

fn canonical(path: impl AsRef<OsStr>) -> PathBuf {
    let path = Path::new(path.as_ref());
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n\
                    Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler.36424714_0\n";
        assert_eq!(version(text).as_deref(), Some("13.0.88"));
        assert_eq!(version("g++ (Debian 12.2.0-14) 12.2.0\n"), None);
    }

    #[test]
    fn the_dry_run_says_where_the_toolkit_is() {
        let plan = "#$ _HERE_=/opt/cu/bin\n#$ TOP=/opt/cu/bin/..\n\
                    #$ LIBRARIES=  \"-L/opt/cu/bin/..//lib64/stubs\" \"-L/opt/cu/bin/..//lib64\"\n";
        assert_eq!(variable(plan, "TOP"), Some("/opt/cu/bin/.."));
        assert_eq!(variable(plan, "BOTTOM"), None);
    }

    #[test]
    fn libraries_are_found_in_every_layout() {
        let root = env::temp_dir().join(format!("hidp-nvcc-{}-layouts", std::process::id()));
        let plan = format!("#$ LIBRARIES=  \"-L{0}/lib64/stubs\" \"-L{0}/lib64\"\n", root.display());
        for layout in ["lib", "lib64"] {
            let folder = root.join(layout);
            fs::create_dir_all(&folder).unwrap();
            assert_eq!(libraries(&plan, &root).filter(|found| found.starts_with(&root)), None);
            fs::write(folder.join("libcudart_static.a"), "").unwrap();
            assert_eq!(libraries(&plan, &root), Some(canonical(&folder)));
            fs::remove_file(folder.join("libcudart_static.a")).unwrap();
        }
        let _ = fs::remove_dir_all(root);
    }

    #[test]
    fn what_cannot_be_run_is_no_nvcc() {
        let gone = said(&mut Command::new("/nowhere/nvcc")).unwrap_err();
        assert!(gone.starts_with("it cannot be run: "), "{gone}");
        assert_eq!(said(&mut Command::new("false")).unwrap_err(), "it fails: exit status: 1");
    }
}

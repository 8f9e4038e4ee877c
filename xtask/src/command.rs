//! Running other programs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A command to run, echoed before it starts.
pub(crate) struct Invocation {
    command: Command,
    text: String,
}

/// The folder of the workspace's `Cargo.toml`.
pub(crate) fn workspace_root() -> PathBuf {
    root_of(std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from))
}

/// The C++ compiler of usual builds.
pub(crate) fn cxx() -> String {
    std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned())
}

/// `now`: this package's folder as cargo says it when it runs. Where target folders are shared, the program may have been built in another
/// checkout, which need not be there any more.
fn root_of(now: Option<PathBuf>) -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = now.filter(|now| now.file_name() == built.file_name()).unwrap_or_else(|| built.to_owned());
    here.parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => workspace_root().join(folder),
        None => workspace_root().join("target"),
    }
}

/// The cargo that runs this xtask.
pub(crate) fn cargo(args: &[&str]) -> Invocation {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    // Cargo sets these for xtask itself; passed on they would change what the inner cargo builds.
    command.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_PKG_NAME");
    Invocation { command, text: "cargo".to_owned() }.args(args)
}

impl Invocation {
    pub(crate) fn new(program: &str) -> Self {
        Invocation { command: Command::new(program), text: program.to_owned() }
    }

    /// Runs in this folder.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Starts it with its standard output piped.
    pub(crate) fn spawn_with_output(mut self) -> Result<Child> {
        eprintln!("$ {}", self.text);
        self.command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{}`", self.text))
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        for arg in args {
            self.text.push(' ');
            self.text.push_str(arg);
        }
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.text.insert_str(0, &format!("{name}={value} "));
        self.command.env(name, value);
        self
    }

    /// Does not pass on what the environment says.
    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// What it is told by an environment variable, if that is not what this program was told.
    #[cfg(test)]
    pub(crate) fn told(&self, name: &str) -> Option<Option<String>> {
        let (_, value) = self.command.get_envs().find(|(of, _)| *of == name)?;
        Some(value.map(|value| value.to_string_lossy().into_owned()))
    }

    /// Runs it; an exit status other than 0 is an error.
    pub(crate) fn run(mut self) -> Result<()> {
        eprintln!("$ {}", self.text);
        let status = self.command.status().with_context(|| format!("cannot start `{}`", self.text))?;
        if !status.success() {
            bail!("`{}` failed: {status}", self.text);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_the_one_that_runs() {
        assert_eq!(root_of(Some("/elsewhere/xtask".into())), Path::new("/elsewhere"));
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(root_of(None), built);
        // Another package's build script has started this program.
        assert_eq!(root_of(Some("/elsewhere/other".into())), built);
    }
}

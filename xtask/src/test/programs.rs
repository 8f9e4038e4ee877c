//! The test programs that cargo builds.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::command::Invocation;

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) package: String,
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// The package's folder, in which its tests are run.
    pub(super) folder: PathBuf,
}

/// Builds them: `None` where something does not compile, which cargo has said.
pub(super) fn build(cargo: Invocation) -> Result<Option<Vec<Program>>> {
    let mut child = cargo.args(&["--no-run", "--message-format=json-render-diagnostics"]).spawn_with_output()?;
    let mut programs = Vec::new();
    for line in BufReader::new(child.stdout.take().context("cargo's output")?).lines() {
        programs.extend(program(&serde_json::from_str(&line?)?));
    }
    Ok(child.wait()?.success().then_some(programs))
}

/// What a message of cargo's says of a test program.
fn program(message: &Value) -> Option<Program> {
    let is_test = message["profile"]["test"].as_bool()?;
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let id = message["package_id"].as_str()?;
    // `path+file:///a/hidp-build#0.1.0`, or `…/other-folder#name@0.1.0`
    let (place, version) = id.rsplit_once('#')?;
    let package = version.split_once('@').map_or_else(|| place.rsplit('/').next(), |(name, _)| Some(name))?;
    let name = message["target"]["name"].as_str()?;
    Some(Program { package: package.to_owned(), name: name.to_owned(), path: path.into(), folder })
}

impl Program {
    /// The names of its tests.
    pub(super) fn tests(&self) -> Result<Vec<String>> {
        let output = Command::new(&self.path).args(["--list", "--format", "terse"]).current_dir(&self.folder).output();
        let output = output.with_context(|| format!("cannot start `{}`", self.path.display()))?;
        ensure!(output.status.success(), "{} does not list its tests", self.path.display());
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_tests_are_found_in_messages() {
        let message = |id: &str, test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact", "package_id": id, "manifest_path": "/w/hidp-build/Cargo.toml",
                "target": { "name": "filetests" }, "profile": { "test": test }, "executable": "/t/filetests-1"
            })
        };
        let found = program(&message("path+file:///w/hidp-build#0.1.0", true)).unwrap();
        assert_eq!((found.package.as_str(), found.name.as_str()), ("hidp-build", "filetests"));
        assert_eq!(found.folder, Path::new("/w/hidp-build"));
        let found = program(&message("path+file:///w/crates/ir#hidp-ir@0.1.0", true)).unwrap();
        assert_eq!(found.package, "hidp-ir");
        assert_eq!(program(&message("path+file:///w/x#0.1.0", false)), None);
        assert_eq!(program(&serde_json::json!({ "reason": "build-finished" })), None);
    }
}

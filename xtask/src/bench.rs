//! `cargo xtask bench`: the benchmarks beside their peers.

use anyhow::Result;

use crate::command::{Invocation, cargo, workspace_root};

/// Python's packages that recurrences and codelets are measured beside, as they are installed. oneDNN's is a library of C.
const PEERS: [&str; 7] = [
    "edlib==1.3.9.post1",
    "parasail==1.3.4",
    "pyopal==0.7.3",
    "dtaidistance==2.5.1",
    "hmmlearn==0.3.3",
    "scikit-learn==1.9.1",
    "onednn-cpu-gomp==2023.2.0",
];

/// Runs the table of ratios; arguments name the cases. `huge` is none: it checks, with 7 GiB of memory, primitives of more than
/// 2^31 elements.
pub(crate) fn run(cases: &[&str]) -> Result<()> {
    let (huge, cases): (Vec<&str>, Vec<&str>) = cases.iter().partition(|case| **case == "huge");
    if !huge.is_empty() {
        let test = ["test", "--release", "--package", "hidp-std", "--features", "prim", "--test", "prim_huge"];
        cargo(&test).args(&["--", "--ignored", "--nocapture"]).run()?;
        if cases.is_empty() {
            return Ok(());
        }
    }
    if cases.iter().any(|case| case.starts_with("recur") || case.starts_with("codelets")) {
        install_peers();
    }
    cargo(&["run", "--release", "--package", "hidp-benches", "--bin", "table", "--"]).args(&cases).run()
}

/// Makes an environment for Python's packages below `target`, where benchmarks look for it. They say which peers they leave out where that fails.
fn install_peers() {
    let folder = workspace_root().join("target/peers");
    let [python, done] = ["bin/python", "installed"].map(|name| folder.join(name));
    let wanted = PEERS.join("\n");
    if std::fs::read_to_string(&done).is_ok_and(|known| known == wanted) {
        return;
    }
    let made = Invocation::new("python3").args(&["-m", "venv"]).args(&[&folder.display().to_string()]).run();
    let install = ["-m", "pip", "install", "--quiet", "--only-binary=:all:"];
    let installed =
        made.and_then(|()| Invocation::new(&python.display().to_string()).args(&install).args(&PEERS).run());
    match installed.and_then(|()| Ok(std::fs::write(&done, wanted)?)) {
        Ok(()) => {}
        Err(error) => eprintln!("peers in Python are left out: {error:#}"),
    }
}

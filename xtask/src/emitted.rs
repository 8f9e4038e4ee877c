//! `cargo xtask emitted REVISION`: whether the compiler of another revision makes the same text of the same programs.
//!
//! The programs are those of the working tree: cases, examples, benchmarks, what hidp-std brings along. Each revision has a program of its
//! own that writes what its compiler makes of them (`src/bin/emitted-text.rs`); where it has none yet, it is lent the working tree's.

mod programs;
mod report;
mod sections;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{cargo, target_folder};

/// The program that writes the text, in every revision.
const WRITER: &str = "xtask/src/bin/emitted-text.rs";

const USAGE: &str = "cargo xtask emitted REVISION [NAME …] [--full] [--code]";

/// Fails if texts differ, after it has printed how.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let (flags, names): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| arg.starts_with('-'));
    ensure!(flags.iter().all(|flag| ["--full", "--code"].contains(flag)), USAGE);
    let [revision, names @ ..] = names.as_slice() else { bail!(USAGE) };
    let commit = git(Path::new("."), &["rev-parse", "--verify", &format!("{revision}^{{commit}}")])
        .with_context(|| format!("there is no revision `{revision}`"))?;

    let root = target_folder().join("emitted");
    let programs = programs::gather(&root.join("programs"))?;
    let before = of_revision(&root, &commit, &programs)?;
    let now = root.join("now");
    let built = target_folder();
    write(Path::new("."), &built, &programs.folder, &now)?;

    let length = if flags.contains(&"--full") { report::Length::Full } else { report::Length::Short };
    let what = if flags.contains(&"--code") { report::What::Code } else { report::What::Text };
    let summary = report::print(&programs, names, (&before, &now), (length, what))?;
    println!("{summary}, between {} and the working tree", &commit[..commit.len().min(12)]);
    ensure!(summary.refused().is_empty(), "the working tree does not compile {:?}", summary.refused());
    ensure!(summary.is_clean(), "the emitted text is not the same");
    Ok(())
}

/// The folder with the text of a revision, which is written unless it is there.
fn of_revision(root: &Path, commit: &str, programs: &programs::Programs) -> Result<PathBuf> {
    let text = root.join(format!("text-{commit}-{:016x}", programs.hash));
    if text.is_dir() {
        return Ok(text);
    }
    let tree = root.join("tree");
    check_out(&tree, commit)?;
    let writer = tree.join(WRITER);
    if !writer.is_file() {
        eprintln!("the revision has no `{WRITER}`: it gets the working tree's");
        fs::create_dir_all(writer.parent().context("a folder")?)?;
        fs::copy(WRITER, &writer)?;
    }
    // A folder of its own: cargo compares times of files, and those of another checkout mean nothing to it.
    let aside = root.join("writing");
    write(&tree, &root.join("target"), &programs.folder, &aside)?;
    let _ = fs::remove_dir_all(&text);
    fs::rename(&aside, &text).with_context(|| format!("cannot make `{}`", text.display()))?;
    forget(root)?;
    Ok(text)
}

/// Texts of revisions that are kept: each takes some 100 MB.
const KEPT: usize = 4;

/// Removes the texts that were written longest ago.
fn forget(root: &Path) -> Result<()> {
    let entries = fs::read_dir(root)?.collect::<std::io::Result<Vec<_>>>()?;
    let texts = entries.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with("text-"));
    let mut texts = texts.map(|entry| Ok((entry.metadata()?.modified()?, entry.path()))).collect::<Result<Vec<_>>>()?;
    texts.sort();
    let old = texts.len().saturating_sub(KEPT);
    texts[..old].iter().try_for_each(|(_, path)| fs::remove_dir_all(path))?;
    Ok(())
}

/// Makes the folder a checkout of the commit, without what others left in it.
fn check_out(tree: &Path, commit: &str) -> Result<()> {
    if !tree.join(".git").is_file() {
        // What git knows of a checkout whose folder is gone.
        git(Path::new("."), &["worktree", "prune"])?;
        let path = tree.to_str().context("a path in UTF-8")?;
        git(Path::new("."), &["worktree", "add", "--quiet", "--detach", "--force", path, commit])?;
    }
    git(tree, &["checkout", "--quiet", "--force", "--detach", commit])?;
    git(tree, &["clean", "--quiet", "-d", "--force"])?;
    Ok(())
}

/// Builds the writer of a checkout and lets it write.
fn write(tree: &Path, built: &Path, from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    let manifest = std::path::absolute(tree.join("Cargo.toml"))?;
    let manifest = manifest.to_str().context("a path in UTF-8")?;
    let (from, to) = (from.to_str().context("a path in UTF-8")?, to.to_str().context("a path in UTF-8")?);
    let program = ["run", "--quiet", "--package", "xtask", "--bin", "emitted-text", "--manifest-path", manifest];
    // A revision in which all of xtask has the compiler knows no such feature.
    let has_feature = fs::read_to_string(tree.join("xtask/Cargo.toml"))?.contains("\ncompiler = [");
    let features: &[&str] = if has_feature { &["--features", "compiler"] } else { &[] };
    let built = built.to_str().context("a path in UTF-8")?;
    cargo(&program).args(features).args(&["--", from, to]).env("CARGO_TARGET_DIR", built).run()
}

fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output().context("cannot start git")?;
    ensure!(output.status.success(), "git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

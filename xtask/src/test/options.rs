//! What to test, by the arguments.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::kind::{self, Kind, Work};

/// How much is tested. Each has all of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// The compiler, after an edit.
    Quick,
    /// What has to pass before a change goes in.
    Usual,
    /// Everything that can be tested.
    Full,
}

impl Scope {
    pub(super) fn command(self) -> &'static str {
        match self {
            Scope::Quick => "cargo xtask test quick",
            Scope::Usual => "cargo xtask test",
            Scope::Full => "cargo xtask test full",
        }
    }

    /// What its target folder may grow to.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Scope::Quick => 2_000_000_000,
            Scope::Usual => 5_000_000_000,
            Scope::Full => 7_000_000_000,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) scope: Scope,
    pub(super) list: bool,
    /// Run also what passed before and has not changed.
    again: bool,
    /// A part of the names of cases.
    case: Option<String>,
    /// A range of seeds.
    seed: Option<String>,
}

const USAGE: &str = "cargo xtask test [quick | full] [--list] [--case NAME] [--seed FIRST..LAST] [--again]";

impl Options {
    pub(super) fn parse(args: &[&str]) -> Result<Options> {
        let mut options = Options { scope: Scope::Usual, list: false, again: false, case: None, seed: None };
        let mut args = args.iter();
        while let Some(&arg) = args.next() {
            match arg {
                "quick" => options.scope = Scope::Quick,
                "full" => options.scope = Scope::Full,
                "--list" => options.list = true,
                "--again" => options.again = true,
                "--case" => options.case = Some((*args.next().context("--case: which one?")?).to_owned()),
                "--seed" => options.seed = Some(range(args.next().context("--seed: which ones?")?)?),
                other => bail!("there is no option `{other}`: {USAGE}"),
            }
        }
        if let Some(case) = &options.case {
            let cases = Path::new("hidp-build/tests/cases");
            let kinds = std::fs::read_dir(cases)?.collect::<std::io::Result<Vec<_>>>()?;
            ensure!(kinds.iter().any(|kind| has_case(&kind.path(), case)), "no case has `{case}` in its name");
        }
        Ok(options)
    }

    /// Whether all tests of a kind are run.
    pub(super) fn is_whole(&self) -> bool {
        self.case.is_none() && self.seed.is_none()
    }

    /// Whether results of before count.
    pub(super) fn keeps(&self) -> bool {
        !self.again && self.is_whole() && self.scope != Scope::Full
    }

    /// Why a kind is left out; nothing if it is wanted.
    pub(super) fn leaves_out(&self, kind: &Kind) -> Option<String> {
        if kind.scope > self.scope {
            return Some(format!("only in `{}`", kind.scope.command()));
        }
        if self.seed.is_some() && !kind.has_seeds && kind.work != Work::Build {
            return Some("it has no seeds".to_owned());
        }
        if kind.work == Work::Build {
            return None;
        }
        let case = self.case.as_ref()?;
        let folders = kind.cases.iter().map(|folder| Path::new("hidp-build/tests/cases").join(folder));
        let has_it = folders.into_iter().any(|folder| has_case(&folder, case));
        (!has_it).then(|| format!("it has no case `{case}`"))
    }

    /// Whether a test may run cases that are chosen: the tests of cases are named after their folders.
    pub(super) fn may_have_case(&self, kind: &Kind, test: &str) -> bool {
        self.case.is_none() || kind.cases.contains(&test)
    }

    /// What cargo builds: with all features at once, so that nothing is built twice.
    pub(super) fn selection(&self) -> Vec<&'static str> {
        const FEATURES: &str = "hidp-gpu/simulated,hidp-gpu-bench/simulated,hidp-std/prim,hidp-std/sparse,hidp-std/tune,\
                                hidp-std/simulated-device,xtask/compiler";
        match self.scope {
            Scope::Quick => {
                let packages = kind::COMPILER_PACKAGES.iter().flat_map(|&package| ["--package", package]);
                packages.chain(["--features", "xtask/compiler"]).collect()
            }
            Scope::Usual | Scope::Full => vec!["--workspace", "--features", FEATURES],
        }
    }

    /// What tells tests of cases and seeds.
    pub(super) fn variables(&self) -> Vec<(&'static str, &str)> {
        let case = self.case.as_deref().map(|case| ("HIDP_CASE", case));
        let seeds = self.seed.as_deref().into_iter().flat_map(|seed| [("HIDP_SEEDS", seed), ("HIDP_RANDOM", seed)]);
        case.into_iter().chain(seeds).collect()
    }
}

/// `7` or `0..20`, as tests read it.
fn range(text: &str) -> Result<String> {
    let number = |text: &str| text.parse::<u64>().with_context(|| format!("--seed: `{text}` is no number"));
    match text.split_once("..") {
        Some((first, last)) => {
            ensure!(number(first)? < number(last)?, "--seed: `{text}` has no seed");
            Ok(text.to_owned())
        }
        None => Ok(format!("{text}..{}", number(text)?.checked_add(1).context("--seed: too large")?)),
    }
}

fn has_case(folder: &Path, part: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| name.ends_with(".hdp") && name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_seeds() {
        assert_eq!(range("7").unwrap(), "7..8");
        assert_eq!(range("0..20").unwrap(), "0..20");
        assert!(range("3..3").is_err() && range("x").is_err());
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(Options::parse(&["--sed", "3"]).is_err());
        assert!(Options::parse(&["--case"]).is_err());
        assert_eq!(Options::parse(&["quick"]).unwrap().scope, Scope::Quick);
    }

    #[test]
    fn a_case_leaves_out_what_has_none() {
        let options = Options { scope: Scope::Usual, list: false, again: false, case: Some("x".into()), seed: None };
        assert!(!options.keeps() && !options.is_whole());
        assert_eq!(options.leaves_out(kind::by_name("build")), None);
        assert!(options.leaves_out(kind::by_name("sanitizers")).is_some());
    }
}

//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::place::Place;

/// What the command line says.
#[derive(Debug)]
pub struct Options {
    pub place: Place,
    /// The folder of the answers.
    pub answers: PathBuf,
    /// Where the output of children goes.
    pub logs: PathBuf,
    /// What children are started under, such as `compute-sanitizer`, with its arguments.
    pub under: Vec<String>,
    /// Calls with larger dimensions are left out.
    pub largest: i64,
    /// A child that takes longer is ended.
    pub limit: Duration,
    /// No child is started later than this.
    pub until: Duration,
    /// Children at a time.
    pub jobs: usize,
    /// Those whose logs say that they were good are left out.
    pub left: bool,
    /// All else.
    pub names: Vec<String>,
}

impl Options {
    pub fn read(args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            place: Place::Gpu(0),
            answers: "answers".into(),
            logs: "logs".into(),
            under: Vec::new(),
            largest: i64::MAX,
            limit: Duration::from_secs(120),
            until: Duration::MAX,
            jobs: 1,
            left: false,
            names: Vec::new(),
        };
        let mut args = args;
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--gpu" => options.place = Place::Gpu(number(&arg, &value()?)?),
                "--simulated" => options.place = Place::Simulated(number(&arg, &value()?)?),
                "--answers" => options.answers = value()?.into(),
                "--logs" => options.logs = value()?.into(),
                "--under" => options.under = value()?.split_whitespace().map(str::to_owned).collect(),
                "--largest" => options.largest = number(&arg, &value()?)?,
                "--limit" => options.limit = Duration::from_secs(number(&arg, &value()?)?),
                "--until" => options.until = Duration::from_secs(number(&arg, &value()?)?),
                "--jobs" => options.jobs = number::<usize>(&arg, &value()?)?.max(1),
                "--left" => options.left = true,
                flag if flag.starts_with("--") => return Err(format!("there is no option {flag}")),
                name => options.names.push(name.to_owned()),
            }
        }
        Ok(options)
    }

    /// Those of `all` that are named, where `*` stands for anything; all if none is.
    ///
    /// # Errors
    ///
    /// There is none of a name.
    pub fn chosen<'a>(&self, all: &[&'a str], what: &str) -> Result<Vec<&'a str>, String> {
        if let Some(unknown) = self.names.iter().find(|name| !all.iter().any(|one| fits(one, name))) {
            return Err(format!("there is no {what} {unknown}; there are: {}", all.join(" ")));
        }
        let is_chosen = |one: &&&str| self.names.is_empty() || self.names.iter().any(|name| fits(one, name));
        Ok(all.iter().filter(is_chosen).copied().collect())
    }

    /// The file with what a child said.
    pub fn log_of(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }
}

/// Whether a name is a pattern's: `prim_*`.
fn fits(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(start) else { return false };
    (0..=name.len()).filter(|&at| name.is_char_boundary(at)).any(|at| fits(&name[at..], rest))
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name}: {text} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen<'a>(names: &[&str], all: &[&'a str]) -> Result<Vec<&'a str>, String> {
        Options::read(names.iter().map(|name| (*name).to_owned()))?.chosen(all, "case")
    }

    #[test]
    fn names_are_patterns() {
        let all = ["near", "prim_scan", "prim_sort", "sparse"];
        assert_eq!(chosen(&["prim_*", "near"], &all).unwrap(), ["near", "prim_scan", "prim_sort"]);
        assert_eq!(chosen(&["*s*r*"], &all).unwrap(), ["prim_sort", "sparse"]);
        assert_eq!(chosen(&[], &all).unwrap(), all);
        let error = chosen(&["near", "prim"], &all).unwrap_err();
        assert_eq!(error, "there is no case prim; there are: near prim_scan prim_sort sparse");
    }

    #[test]
    fn options_are_read() {
        assert!(chosen(&["--fast"], &[]).is_err() && chosen(&["--until", "soon"], &[]).is_err());
        let options = Options::read(["--jobs", "0", "--until", "7", "--left"].map(str::to_owned).into_iter()).unwrap();
        assert_eq!((options.jobs, options.until, options.left), (1, Duration::from_secs(7), true));
    }
}

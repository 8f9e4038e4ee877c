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
                flag if flag.starts_with("--") => return Err(format!("there is no option {flag}")),
                name => options.names.push(name.to_owned()),
            }
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name}: {text} is no number"))
}

//! Each case runs in a process of its own: after an illegal access a GPU is lost to the process, and what never ends can be ended.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::options::Options;

/// Runs every case that has answers, or those that are named; says a line each. Gives how many failed.
pub fn run_cases(options: &Options) -> Result<usize, String> {
    let all = cases(&options.answers)?;
    if let Some(unknown) = options.names.iter().find(|name| !all.contains(name)) {
        return Err(format!("there is no case {unknown}; there are: {}", all.join(" ")));
    }
    let chosen: Vec<&String> =
        all.iter().filter(|case| options.names.is_empty() || options.names.contains(case)).collect();
    fs::create_dir_all(&options.logs).map_err(|error| format!("{}: {error}", options.logs.display()))?;
    let start = Instant::now();
    let mut failed = Vec::new();
    for case in &chosen {
        let (good, line) = run_case(options, case)?;
        println!("{case:<18} {line}");
        if !good {
            failed.push(case.as_str());
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{} of {} cases are good, {seconds:.0} s", chosen.len() - failed.len(), chosen.len());
    if !failed.is_empty() {
        println!("FAILED: {}", failed.join(" "));
    }
    Ok(failed.len())
}

fn cases(folder: &Path) -> Result<Vec<String>, String> {
    let listing = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut cases: Vec<String> = listing
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".answers").map(str::to_owned))
        .collect();
    cases.sort();
    if cases.is_empty() { Err(format!("{}: no answers", folder.display())) } else { Ok(cases) }
}

/// Whether it was good, and what to say of it.
fn run_case(options: &Options, case: &str) -> Result<(bool, String), String> {
    let log = options.logs.join(format!("{case}.log"));
    let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let errors = file.try_clone().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut line: Vec<String> = options.under.clone();
    line.push(program.display().to_string());
    line.extend(["case".into(), case.into(), "--answers".into(), options.answers.display().to_string()]);
    line.extend(["--largest".into(), options.largest.to_string()]);
    line.extend(options.place.args());
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).stdin(Stdio::null()).stdout(file).stderr(errors);
    let ended = within(&mut command, options.limit)?;
    let text = fs::read_to_string(&log).unwrap_or_default();
    let said = text.lines().rev().find_map(|line| line.strip_prefix("result: ")).map(str::to_owned);
    Ok(match (ended, said) {
        (None, _) => (false, format!("FAILED: not done after {} s; see {}", options.limit.as_secs(), log.display())),
        (Some(true), Some(said)) => (true, said),
        (Some(_), Some(said)) if options.under.is_empty() => (false, with_first(&said, &text)),
        (Some(_), Some(said)) => (false, format!("{said}; {} found something: {}", options.under[0], log.display())),
        (Some(_), None) => (false, format!("FAILED: it ended early; see {}", log.display())),
    })
}

fn with_first(said: &str, text: &str) -> String {
    let first = text.lines().find_map(|line| line.strip_prefix("wrong: ")).unwrap_or_default();
    format!("{said}\n    {first}")
}

/// Whether it ended well; `None` if it had to be ended.
fn within(command: &mut Command, limit: Duration) -> Result<Option<bool>, String> {
    let program = command.get_program().to_owned();
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status.success()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // It may have ended just now.
    let _ = child.kill();
    child.wait().map(|_| None).map_err(|error| error.to_string())
}

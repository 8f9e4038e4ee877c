//! Each test runs in a process of its own: after an illegal access a GPU is lost to the process, and what never ends can be ended. Some
//! run side by side, since starting with a GPU takes longer than most tests.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::options::Options;

/// A process: this program with these arguments. The name is that of its log.
pub struct Job {
    pub name: String,
    pub args: Vec<String>,
}

/// How a process went.
struct Ended {
    name: String,
    good: bool,
}

/// What the last line of a log says if all was good.
const GOOD: &str = "this was good";

/// Runs all; says a line each. Whether all are good.
pub fn run_all(options: &Options, jobs: Vec<Job>, what: &str) -> Result<bool, String> {
    fs::create_dir_all(&options.logs).map_err(|error| format!("{}: {error}", options.logs.display()))?;
    let count = jobs.len();
    let jobs: Vec<Job> =
        jobs.into_iter().filter(|job| !options.left || !was_good(&options.log_of(&job.name))).collect();
    if jobs.len() < count {
        println!("{} of {count} {what} were good before", count - jobs.len());
    }
    let start = Instant::now();
    let (waiting, ended) = (Mutex::new(jobs.into_iter()), Mutex::new(Vec::new()));
    let next = || if start.elapsed() < options.until { locked(&waiting).next() } else { None };
    let work = || -> Result<(), String> {
        while let Some(job) = next() {
            let (good, line) = run_one(options, &job)?;
            let mut ended = locked(&ended);
            println!("{:<18} {line}", job.name);
            ended.push(Ended { name: job.name, good });
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a worker ended early".into())))
    })?;
    let left: Vec<String> = locked(&waiting).by_ref().map(|job| job.name).collect();
    Ok(sum_up(&locked(&ended), &left, what, start.elapsed()))
}

fn sum_up(ended: &[Ended], left: &[String], what: &str, time: Duration) -> bool {
    let mut failed: Vec<&str> = ended.iter().filter(|one| !one.good).map(|one| one.name.as_str()).collect();
    failed.sort_unstable();
    println!("{} of {} {what} are good, {:.0} s", ended.len() - failed.len(), ended.len(), time.as_secs_f64());
    if !failed.is_empty() {
        println!("FAILED: {}", failed.join(" "));
    }
    if !left.is_empty() {
        println!("NOT DONE for want of time (`left` after the part's name goes on): {}", left.join(" "));
    }
    failed.is_empty() && left.is_empty()
}

/// Nobody panics while holding one.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn was_good(log: &PathBuf) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.lines().next_back() == Some(GOOD))
}

/// Whether it was good, and what to say of it.
fn run_one(options: &Options, job: &Job) -> Result<(bool, String), String> {
    let log = options.log_of(&job.name);
    let io = |error: std::io::Error| format!("{}: {error}", log.display());
    let file = File::create(&log).map_err(io)?;
    let errors = file.try_clone().map_err(io)?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut line: Vec<String> = options.under.clone();
    line.push(program.display().to_string());
    line.extend(job.args.iter().cloned());
    line.extend(["--answers".into(), options.answers.display().to_string()]);
    line.extend(["--largest".into(), options.largest.to_string()]);
    line.extend(options.place.args());
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).stdin(Stdio::null()).stdout(file).stderr(errors);
    command.envs(options.place.variables());
    let ended = within(&mut command, options.limit)?;
    let text = fs::read_to_string(&log).unwrap_or_default();
    let said = text.lines().rev().find_map(|line| line.strip_prefix("result: ")).map(str::to_owned);
    Ok(match (ended, said) {
        (None, _) => (false, format!("FAILED: not done after {} s; see {}", options.limit.as_secs(), log.display())),
        (Some(true), Some(said)) => {
            let mut log = OpenOptions::new().append(true).open(&log).map_err(io)?;
            writeln!(log, "{GOOD}").map_err(|error| error.to_string())?;
            (true, said)
        }
        (Some(_), Some(said)) if options.under.is_empty() => (false, with_first(&said, &text)),
        (Some(_), Some(said)) => (false, format!("{said}; {} found something: {}", options.under[0], log.display())),
        (Some(_), None) => (false, format!("FAILED: it ended early; see {}", log.display())),
    })
}

fn with_first(said: &str, text: &str) -> String {
    let first = text.lines().find_map(|line| line.strip_prefix("wrong: "));
    let first = first.or_else(|| text.lines().find(|line| !line.starts_with("result: "))).unwrap_or_default();
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

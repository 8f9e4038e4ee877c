//! `cargo xtask test`: the tests of the workspace by kind, with what each of them costs.

#[cfg(feature = "compiler")]
pub(crate) mod aarch64;
mod kept;
mod kind;
mod options;
mod pace;
mod processor;
mod programs;
mod summary;

use std::io::{BufRead, BufReader};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::command::{Invocation, cargo, cxx, target_folder};
use crate::compiler::{self, Asking};
use crate::cuda_toolkit::{self, Toolkit};
use crate::space;
use kept::Kept;
pub(crate) use kept::hash_of;
use kind::{KINDS, Kind, Needs, Work};
use options::{Options, Scope};
use pace::Pace;
use processor::Processor;
use programs::Program;
use summary::{Ended, Ran, Summary};

/// Runs the kinds that the arguments ask for; fails if one of them does, or takes too much processor time.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    if let ["aarch64", rest @ ..] = args {
        return compiler::run(Asking::Aarch64, rest);
    }
    let options = Options::parse(args)?;
    if options.list {
        return list(&options);
    }
    space::check(options.scope.command(), &target_folder(), options.scope.bytes())?;
    let tools = Tools::find(options.scope)?;
    let kept = Kept::new(&tools.describe())?;
    let mut runner = Runner { options: &options, tools: &tools, programs: Vec::new() };
    let pace = Pace::watch(cxx());
    let mut summary = Summary::default();
    let mut waiting = Vec::new();
    for kind in KINDS {
        let start = Instant::now();
        if let Some(why) = why_not(kind, &options, &tools, &kept)? {
            summary.add(kind, Ended::Skipped(why), Duration::ZERO);
        } else if kind.work == Work::Build {
            let before = Processor::of_children();
            let passed = runner.build(kind)?;
            let processor = Processor::of_children().since(before);
            let pace = pace.between(start, Instant::now());
            summary.add(kind, Ended::Ran(Ran { passed, processor, pace, skipped: Vec::new() }), start.elapsed());
            if summary.must_end() {
                break;
            }
        } else {
            waiting.extend(runner.commands(kind).map(|command| (kind, command)));
        }
    }
    for (kind, mut ran, wall) in side_by_side(waiting, &pace)? {
        if kind.has_clang && tools.clang.is_none() && options.scope != Scope::Quick {
            ran.skipped.push("what Clang compiles: there is none (`apt install clang-16`)".into());
        }
        if ran.passed && options.is_whole() {
            kept.passed(kind, options.scope)?;
        }
        summary.add(kind, Ended::Ran(ran), wall);
    }
    print!("{summary}");
    ensure!(summary.passed(), "not all tests passed");
    Ok(())
}

/// What tests say, kind by kind. As many programs run at once as there are processors: some have but one thing to do at a time.
fn side_by_side(waiting: Vec<(&'static Kind, Invocation)>, pace: &Pace) -> Result<Vec<(&'static Kind, Ran, Duration)>> {
    let mut kinds: Vec<&'static Kind> = waiting.iter().map(|(kind, _)| *kind).collect();
    kinds.dedup_by_key(|kind| kind.name);
    let queue = Mutex::new(waiting.into_iter());
    let said = Mutex::new(Vec::new());
    let worker = || {
        loop {
            let next = queue.lock().expect("no panic").next();
            let Some((kind, command)) = next else { return };
            let start = Instant::now();
            let ran = listen(command);
            said.lock().expect("no panic").push((kind, ran, start, Instant::now()));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut of_kinds: Vec<_> = kinds.into_iter().map(|kind| (kind, Vec::new())).collect();
    for (kind, ran, start, end) in said.into_inner().expect("no panic") {
        let of_kind = of_kinds.iter_mut().find(|(of, _)| of.name == kind.name).context("a kind that was waiting")?;
        of_kind.1.push((ran?, start, end));
    }
    Ok(of_kinds.into_iter().map(|(kind, ran)| together(kind, ran, pace)).collect())
}

/// What the programs of a kind say together, and how long the kind took from its first to its last.
fn together(kind: &'static Kind, all: Vec<(Ran, Instant, Instant)>, pace: &Pace) -> (&'static Kind, Ran, Duration) {
    let first = all.iter().map(|(_, start, _)| *start).min();
    let last = all.iter().map(|(.., end)| *end).max();
    let between = first.zip(last);
    let pace = between.and_then(|(first, last)| pace.between(first, last));
    let mut together = Ran { passed: true, processor: Some(Duration::ZERO), pace, skipped: Vec::new() };
    for (ran, ..) in all {
        together.passed &= ran.passed;
        together.processor = together.processor.zip(ran.processor).map(|(before, more)| before + more);
        together.skipped.extend(ran.skipped);
    }
    (kind, together, between.map_or(Duration::ZERO, |(first, last)| last - first))
}

/// What tests use and not every machine has.
struct Tools {
    /// There once test programs are built.
    cuda: Option<Toolkit>,
    clang: Option<&'static str>,
}

/// Names of Clang, Debian's first.
const CLANG: [&str; 2] = ["clang++-16", "clang++"];

impl Tools {
    fn find(scope: Scope) -> Result<Tools> {
        let clang = CLANG.into_iter().find(|name| is_there(name));
        let cuda = if scope == Scope::Quick { None } else { cuda_toolkit::wanted()? };
        Ok(Tools { cuda, clang })
    }
    /// What results depend on besides the files of the workspace.
    fn describe(&self) -> String {
        let versions = ["rustc", cxx().as_str()].map(version);
        format!("{versions:?} {:?} {:?}", self.cuda.as_ref().map(Toolkit::home), self.clang.map(version))
    }
}

fn version(program: &str) -> String {
    let output = std::process::Command::new(program).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Whether the compiler is there.
fn is_there(compiler: &str) -> bool {
    std::process::Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Why a kind is not run; nothing if it is.
fn why_not(kind: &Kind, options: &Options, tools: &Tools, kept: &Kept) -> Result<Option<String>> {
    if let Some(why) = options.leaves_out(kind) {
        return Ok(Some(why));
    }
    let lacks = match kind.needs {
        Needs::Nothing => None,
        Needs::Nvcc => tools.cuda.is_none().then_some("no nvcc"),
    };
    if let Some(lacks) = lacks {
        return Ok(Some(lacks.to_owned()));
    }
    let unchanged = options.keeps() && kind.work != Work::Build && kept.has_passed(kind, options.scope)?;
    Ok(unchanged.then(|| "passed before, and nothing that it reads has changed (--again runs it)".to_owned()))
}

/// Does both at the same time.
fn meanwhile<T>(one: impl FnOnce() -> Result<()> + Send, other: impl FnOnce() -> Result<T>) -> Result<T> {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        one.join().expect("no panic")?;
        other
    })
}

/// Variables by which builds find nvcc.
const TOOLKIT: [&str; 3] = ["CUDA_HOME", "CUDA_PATH", "NVCC"];

/// What it takes to run kinds.
struct Runner<'a> {
    options: &'a Options,
    tools: &'a Tools,
    /// Test programs with their tests, once they are built.
    programs: Vec<(Program, Vec<String>)>,
}

impl Runner<'_> {
    /// Builds all test programs; whether they build. The toolkit is installed meanwhile, but for builds that use it.
    fn build(&mut self, kind: &Kind) -> Result<bool> {
        let install = || self.tools.cuda.as_ref().map_or(Ok(()), Toolkit::install);
        if self.options.scope == Scope::Full {
            install()?;
        }
        let Some(programs) = meanwhile(install, || programs::build(self.cargo(kind)))? else { return Ok(false) };
        let with_tests = |program: Program| program.tests().map(|tests| (program, tests));
        self.programs = programs.into_iter().map(with_tests).collect::<Result<_>>()?;
        Ok(true)
    }

    /// What runs the tests of a kind.
    fn commands(&self, kind: &'static Kind) -> impl Iterator<Item = Invocation> {
        let documentation =
            (kind.work == Work::Documentation).then(|| self.cargo(kind).args(&["--doc", "--", "--show-output"]));
        let programs = self.programs.iter().filter_map(move |(program, tests)| {
            let runs = |test: &&String| {
                self.options.may_have_case(kind, test) && kind.runs(&program.package, &program.name, test)
            };
            let tests: Vec<&str> = tests.iter().filter(runs).map(String::as_str).collect();
            (!tests.is_empty()).then(|| self.tests(kind, program).args(&tests))
        });
        documentation.into_iter().chain(programs)
    }

    /// Cargo, about to build tests.
    fn cargo(&self, kind: &Kind) -> Invocation {
        let command = cargo(&["test"]).args(&self.options.selection());
        match self.options.scope {
            Scope::Full => self.with_tools(command.env("HIDP_ISAS", "all").env("HIDP_QUICK", "off"), kind),
            // For the machine's own instruction set, and without the toolkit that variables name (one in a usual place is found all the
            // same): what nvcc makes of all examples and benchmarks is a matter of the full tests. `HIDP_CUDA=off` would leave out what is
            // compiled for the executor, too.
            Scope::Quick | Scope::Usual => TOOLKIT.into_iter().fold(command, Invocation::env_remove),
        }
    }

    /// A test program, about to run tests with these names.
    fn tests(&self, kind: &Kind, program: &Program) -> Invocation {
        let path = program.path.display().to_string();
        let mut words: Vec<&str> = limit_of_programs();
        words.extend([path.as_str(), "--show-output", "--exact"]);
        let command = Invocation::new(words[0]).args(&words[1..]).folder(&program.folder);
        let mut command = self.with_tools(command, kind);
        for (name, value) in kind.variables(self.options.scope).iter().chain(&self.options.variables()) {
            command = command.env(name, value);
        }
        if self.options.keeps() {
            command = command.env("HIDP_KEPT", "on");
        }
        match self.tools.clang.filter(|_| kind.has_clang) {
            Some(clang) => command.env("HIDP_CLANG", clang),
            None => command,
        }
    }

    fn with_tools(&self, command: Invocation, kind: &Kind) -> Invocation {
        let is_off = kind.variables(self.options.scope).contains(&("HIDP_CUDA", "off"));
        match &self.tools.cuda {
            // Those that need nvcc fail without it, rather than say that they do nothing.
            Some(toolkit) if !is_off => {
                command.env("CUDA_HOME", &toolkit.home().display().to_string()).env("HIDP_TEST_NVCC", "required")
            }
            Some(_) | None => command,
        }
    }
}

/// Runs tests; prints a line for each, and everything if one fails.
fn listen(command: Invocation) -> Result<Ran> {
    let mut child = command.spawn_with_output()?;
    let (mut skipped, mut quiet) = (Vec::new(), Vec::new());
    for line in BufReader::new(child.stdout.take().context("the output of tests")?).lines() {
        let line = line?;
        skipped.extend(line.strip_prefix("skipped: ").map(str::to_owned));
        if line.starts_with("test ") && !line.starts_with("test result:") {
            println!("{line}");
        } else {
            quiet.push(line);
        }
    }
    let (status, processor) = processor::of_child(&mut child)?;
    if !status.success() {
        println!("{}", quiet.join("\n"));
    }
    skipped.sort();
    skipped.dedup();
    Ok(Ran { passed: status.success(), processor, pace: None, skipped })
}

/// Kinds whose calls are listed, and their tests.
const CALLS: [(&str, &str); 2] =
    [("run", "run"), ("random", "random_native::compiled_random_programs_agree_with_the_interpreter")];

/// Prints the kinds and, of those that call compiled code, every (case, entry, plan, target, order).
fn list(options: &Options) -> Result<()> {
    for kind in KINDS {
        let note = options.leaves_out(kind).map(|why| format!(" (not: {why})")).unwrap_or_default();
        println!("{}: {}, {} s of processor{note}", kind.name, kind.what, kind.budget);
    }
    println!();
    let tests = calls(options);
    if tests.is_empty() {
        return Ok(());
    }
    let mut command = cargo(&["test", "--quiet"]).args(&options.selection());
    command = command.args(&["--test", "filetests", "--", "--exact", "--nocapture"]).args(&tests).env("HIDP_LIST", "1");
    for (name, value) in kind::by_name("run").variables(options.scope).iter().chain(&options.variables()) {
        command = command.env(name, value);
    }
    command.run()
}

/// The tests whose calls are listed: those that would be run.
fn calls(options: &Options) -> Vec<&'static str> {
    let is_run = |kind: &str| options.leaves_out(kind::by_name(kind)).is_none();
    CALLS.into_iter().filter(|(kind, _)| is_run(kind)).map(|(_, test)| test).collect()
}

/// Words before a program that end it when it hangs, where there is `timeout`.
fn limit_of_programs() -> Vec<&'static str> {
    let there =
        std::process::Command::new("timeout").arg("--version").output().is_ok_and(|output| output.status.success());
    if there { vec!["timeout", "--foreground", "2400"] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use anyhow::bail;

    use super::*;

    #[test]
    fn examples_are_compiled_by_nvcc_and_as_for_users_in_full_tests_alone() {
        let tools = Tools { cuda: Some(Toolkit::Named("/toolkit".into())), clang: None };
        let told = |args: &[&str], variable| {
            let options = Options::parse(args).unwrap();
            let runner = Runner { options: &options, tools: &tools, programs: Vec::new() };
            runner.cargo(kind::by_name("build")).told(variable)
        };
        assert_eq!(told(&[], "CUDA_HOME"), Some(None));
        assert_eq!(told(&["full"], "CUDA_HOME"), Some(Some("/toolkit".to_owned())));
        assert_eq!(told(&[], "HIDP_QUICK"), None);
        assert_eq!(told(&["full"], "HIDP_QUICK"), Some(Some("off".to_owned())));
    }

    #[test]
    fn what_is_installed_meanwhile_waits_for_nothing_and_may_fail() {
        let [(to_install, installing), (to_build, building)] = [channel(), channel()];
        let greet = |to: Sender<()>, from: Receiver<()>| -> Result<()> {
            to.send(())?;
            Ok(from.recv_timeout(Duration::from_secs(20))?)
        };
        assert!(meanwhile(|| greet(to_build, installing), || greet(to_install, building)).is_ok());
        assert!(meanwhile(|| bail!("no network"), || Ok(())).is_err());
    }

    #[test]
    fn what_is_not_run_is_not_listed() {
        let listed = |args: &[&str]| calls(&Options::parse(args).unwrap()).len();
        assert_eq!(listed(&["--list"]), 2);
        assert_eq!(listed(&["quick", "--list", "--seed", "3"]), 1);
        assert_eq!(CALLS.map(|(kind, _)| kind::by_name(kind).has_seeds), [true; 2]);
    }

    #[test]
    fn a_kind_passes_if_all_of_its_programs_do() {
        let [one, other] = [&KINDS[1], &KINDS[2]];
        let programs = [(one, "true"), (other, "true"), (other, "false"), (other, "true")];
        let waiting = programs.map(|(kind, program)| (kind, Invocation::new(program)));
        let pace = Pace::watch(cxx());
        let ended = side_by_side(waiting.into(), &pace).unwrap();
        let passed: Vec<_> = ended.iter().map(|(kind, ran, _)| (kind.name, ran.passed)).collect();
        assert_eq!(passed, [(one.name, true), (other.name, false)]);
        assert!(side_by_side(vec![(one, Invocation::new("/there is/no such program"))], &pace).is_err());
    }
}

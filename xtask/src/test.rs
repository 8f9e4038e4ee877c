//! `cargo xtask test`: the tests of the workspace by kind, with what each of them costs.

mod aarch64;
mod kept;
mod kind;
mod options;
mod processor;
mod programs;
mod summary;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::command::{Invocation, cargo};
use crate::cuda_toolkit;
use kept::Kept;
use kind::{KINDS, Kind, Needs, Work};
use options::{Options, Scope};
use processor::Processor;
use programs::Program;
use summary::{Ended, Ran, Summary};

/// Runs the kinds that the arguments ask for; fails if one of them does, or takes more than half as much again as its budget.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    if let ["aarch64", rest @ ..] = args {
        return aarch64::run(rest);
    }
    let options = Options::parse(args)?;
    if options.list {
        return list(&options);
    }
    let tools = Tools::find(options.scope)?;
    let kept = Kept::new(&tools.describe())?;
    let mut runner = Runner { options: &options, tools: &tools, programs: Vec::new() };
    let mut summary = Summary::default();
    for kind in KINDS {
        let start = Instant::now();
        let ended = match why_not(kind, &options, &tools, &kept)? {
            Some(why) => Ended::Skipped(why),
            None => {
                let before = Processor::of_children();
                let (passed, said) = runner.perform(kind)?;
                let processor = Processor::of_children().since(before);
                if passed && options.is_whole() {
                    kept.passed(kind, options.scope)?;
                }
                Ended::Ran(Ran { passed, processor, skipped: said })
            }
        };
        summary.add(kind, ended, start.elapsed());
        if summary.must_end() {
            break;
        }
    }
    print!("{summary}");
    ensure!(summary.passed(), "not all tests passed");
    Ok(())
}

/// What tests use and not every machine has.
struct Tools {
    /// `CUDA_HOME`.
    cuda: Option<PathBuf>,
    clang: Option<&'static str>,
}

/// Names of Clang, Debian's first.
const CLANG: [&str; 2] = ["clang++-16", "clang++"];

impl Tools {
    fn find(scope: Scope) -> Result<Tools> {
        if scope == Scope::Quick {
            return Ok(Tools { cuda: None, clang: None });
        }
        let clang = CLANG.into_iter().find(|name| is_there(name));
        Ok(Tools { cuda: cuda_toolkit::for_tests()?, clang })
    }
    /// What results depend on besides the files of the workspace.
    fn describe(&self) -> String {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let versions = ["rustc", compiler.as_str()].map(version);
        format!("{versions:?} {:?} {:?}", self.cuda, self.clang.map(version))
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
        Needs::Clang => tools.clang.is_none().then_some("no Clang (`apt install clang-16`)"),
    };
    if let Some(lacks) = lacks {
        return Ok(Some(lacks.to_owned()));
    }
    let unchanged = options.keeps() && kind.work != Work::Build && kept.has_passed(kind, options.scope)?;
    Ok(unchanged.then(|| "passed before, and nothing that it reads has changed (--again runs it)".to_owned()))
}

/// What it takes to run kinds.
struct Runner<'a> {
    options: &'a Options,
    tools: &'a Tools,
    /// Test programs with their tests, once they are built.
    programs: Vec<(Program, Vec<String>)>,
}

impl Runner<'_> {
    /// Runs a kind; gives whether it passed, and what its tests say that they skipped.
    fn perform(&mut self, kind: &Kind) -> Result<(bool, Vec<String>)> {
        match kind.work {
            Work::Build => {
                let Some(programs) = programs::build(self.cargo(kind))? else { return Ok((false, Vec::new())) };
                let with_tests = |program: Program| program.tests().map(|tests| (program, tests));
                self.programs = programs.into_iter().map(with_tests).collect::<Result<_>>()?;
                Ok((true, Vec::new()))
            }
            Work::Documentation => listen(self.cargo(kind).args(&["--doc", "--", "--show-output"])),
            Work::Tests(_) | Work::Again(_) => {
                let (mut passed, mut skipped) = (true, Vec::new());
                for (program, tests) in &self.programs {
                    let runs = |test: &&String| {
                        self.options.may_have_case(kind, test) && kind.runs(&program.package, &program.name, test)
                    };
                    let tests: Vec<&str> = tests.iter().filter(runs).map(String::as_str).collect();
                    if !tests.is_empty() {
                        let (all_passed, said) = listen(self.tests(kind, program).args(&tests))?;
                        passed &= all_passed;
                        skipped.extend(said);
                    }
                }
                Ok((passed, skipped))
            }
        }
    }

    /// Cargo, about to build tests.
    fn cargo(&self, kind: &Kind) -> Invocation {
        let command = cargo(&["test"]).args(&self.options.selection());
        // What nvcc makes of all examples and benchmarks is a matter of the full tests: others do not name the toolkit. `HIDP_CUDA=off`
        // would leave out what is compiled for the executor, too.
        if self.options.scope == Scope::Full { self.with_tools(command, kind) } else { command }
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
        match (kind.needs, self.tools.clang) {
            (Needs::Clang, Some(clang)) => command.env("CXX", clang),
            (Needs::Clang, None) | (Needs::Nothing | Needs::Nvcc, _) => command,
        }
    }

    fn with_tools(&self, command: Invocation, kind: &Kind) -> Invocation {
        let is_off = kind.variables(self.options.scope).contains(&("HIDP_CUDA", "off"));
        match &self.tools.cuda {
            // Those that need nvcc fail without it, rather than say that they do nothing.
            Some(home) if !is_off => {
                command.env("CUDA_HOME", &home.display().to_string()).env("HIDP_TEST_NVCC", "required")
            }
            Some(_) | None => command,
        }
    }
}

/// Runs tests; prints a line for each, and everything if one fails.
fn listen(command: Invocation) -> Result<(bool, Vec<String>)> {
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
    let passed = child.wait()?.success();
    if !passed {
        println!("{}", quiet.join("\n"));
    }
    skipped.sort();
    skipped.dedup();
    Ok((passed, skipped))
}

/// The test that compiles random programs.
const RANDOM: &str = "random_native::compiled_random_programs_agree_with_the_interpreter";

/// Prints the kinds and, of those that call compiled code, every (case, entry, plan, target, order).
fn list(options: &Options) -> Result<()> {
    for kind in KINDS {
        let note = options.leaves_out(kind).map(|why| format!(" (not: {why})")).unwrap_or_default();
        println!("{}: {}, {} s of processor{note}", kind.name, kind.what, kind.budget);
    }
    println!();
    let mut command = cargo(&["test", "--quiet"]).args(&options.selection());
    command =
        command.args(&["--test", "filetests", "--", "--exact", "--nocapture", "run", RANDOM]).env("HIDP_LIST", "1");
    for (name, value) in kind::by_name("run").variables(options.scope).iter().chain(&options.variables()) {
        command = command.env(name, value);
    }
    command.run()
}

/// Words before a program that end it when it hangs, where there is `timeout`.
fn limit_of_programs() -> Vec<&'static str> {
    let there =
        std::process::Command::new("timeout").arg("--version").output().is_ok_and(|output| output.status.success());
    if there { vec!["timeout", "--foreground", "2400"] } else { Vec::new() }
}

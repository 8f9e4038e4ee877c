//! The table of `cargo xtask counts --planning`: how long planning takes for each entry of the benchmarks and examples, by the compiler as this
//! build has it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hidp_build::compiler::ir::par::{FuncId, Program};
use hidp_build::compiler::plan::{
    Limits, Natives, SEARCHED, add_device_rules, candidates, dispatch, explore_with_times,
};
use hidp_build::compiler::target::{DeviceModel, Model};
use walkdir::WalkDir;

use crate::subject::Subject;

/// Folders with programs, beside this package.
const FOLDERS: [&str; 3] = ["../benches/src/kernels", "../benches/gpu/src/kernels", "../examples"];
/// Entries that take longest, which are named.
const NAMED: usize = 10;
/// Times are the least of so many.
const ROUNDS: usize = 3;

/// How long planning takes for an entry.
struct Planned {
    name: String,
    time: Duration,
    searched: bool,
}

#[test]
#[ignore = "a table that `cargo xtask counts` prints"]
fn times() {
    let models = (Model::cpu(), DeviceModel::cuda());
    let mut entries: Vec<Planned> = Vec::new();
    for path in FOLDERS.iter().flat_map(|folder| programs(folder)) {
        let text = fs::read_to_string(&path).expect("a program");
        // Templates have a program for each type of elements.
        let text = text.replace("ELEMENT", "float");
        let stem = path.file_stem().expect("a file").to_string_lossy().replace('-', "_");
        let subject = Subject::compile(&stem, &text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let program = subject.program();
        entries.extend(program.entries.iter().map(|func| plan(&stem, program, *func, (&models.0, &models.1))));
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.time));
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let all: Duration = entries.iter().map(|entry| entry.time).sum();
    let mut lines = vec![
        format!("{} entries, {:.1} ms on average.\n", entries.len(), ms(all) / entries.len() as f64),
        "| entry | ms | plan `searched` |\n|---|---|---|".to_owned(),
    ];
    let named = entries.iter().enumerate().filter(|(at, entry)| *at < NAMED || entry.searched);
    lines.extend(named.map(|(_, Planned { name, time, searched })| {
        format!("| {name} | {:.1} | {} |", ms(*time), if *searched { "yes" } else { "" })
    }));
    let file = std::env::var_os("HIDP_COUNT_PLANNING").expect("`cargo xtask counts` names the file");
    fs::write(file, lines.join("\n") + "\n").expect("it can be written");
}

/// Plans an entry for both targets.
fn plan(stem: &str, program: &Program, entry: FuncId, models: (&Model, &DeviceModel)) -> Planned {
    let func = &program.funcs[entry];
    let once = || {
        let begin = Instant::now();
        let host = candidates(program, entry, models.0);
        let mut dispatch = dispatch(program, func, &host, models.0);
        let (explored, predictions) =
            explore_with_times(program, entry, models.1, Limits::default(), Natives::default());
        let plans = explored.plans;
        add_device_rules(&mut dispatch, program, func, (&host[0], &plans), models, predictions);
        (begin.elapsed(), plans.iter().any(|plan| plan.name == SEARCHED))
    };
    let (time, searched) = (0..ROUNDS).map(|_| once()).min_by_key(|(time, _)| *time).expect("some rounds");
    Planned { name: format!("{stem}::{}", func.name), time, searched }
}

/// All programs below a folder.
fn programs(folder: &str) -> impl Iterator<Item = PathBuf> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    let files = entries.map(|entry| entry.expect("an entry of a folder").into_path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "hdp"))
}

//! Runs `tests/cases/<kind>/*.hdp`: one file is one test, and the function registered for its folder's kind runs it.
//!
//! A case begins with `// test: <kind>`. Goldens and expectations are rewritten where `HIDP_BLESS=1` is set (`cargo xtask bless`);
//! otherwise a difference is a failure. `HIDP_CASE=text` runs only those whose name has the text. A further kind is a folder, a
//! module with a function `run`, and a line in the registry.

mod agree;
#[allow(dead_code, unreachable_pub, reason = "shared with the runner on GPUs")]
#[path = "../answers/mod.rs"]
mod answers;
mod calls;
mod case;
mod check;
mod codes;
mod contents;
mod count_table;
mod counted;
mod counts;
mod device;
mod device_units;
mod diff;
#[allow(dead_code, reason = "shared with the tests of CPU units")]
#[path = "../parts/emit/dsl.rs"]
mod dsl;
mod emit;
mod expectation;
mod front;
mod fuse;
mod kept;
mod lanes;
mod lanes_interpreted;
mod lines;
#[path = "../made/mod.rs"]
mod made;
mod maker;
mod mappings;
mod memory;
mod native;
mod natives;
mod nvcc;
mod papers;
mod parse;
mod planning;
mod ptx;
mod random;
mod random_native;
mod record;
mod render;
mod run;
mod same;
mod sanitized;
mod stated;
mod structure;
mod subject;
mod suggestion;
mod turns;
mod wrong_kernels;

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use case::Case;

/// Runs one case; the error is what the developer reads.
type Run = fn(&Case) -> Result<(), String>;

macro_rules! kinds {
    ($($kind:ident => $run:path;)*) => {
        /// Every kind of case and how it is run.
        const KINDS: &[(&str, Run)] = &[$((stringify!($kind), $run)),*];

        $(
            #[test]
            fn $kind() {
                run_all(stringify!($kind), $run);
            }
        )*
    };
}

kinds! {
    parse => parse::run;
    check => check::run;
    render => render::run;
    fuse => fuse::run;
    emit => emit::run;
    run => run::run;
}

/// Runs every case of a kind and fails with all failures together.
fn run_all(kind: &str, run: Run) {
    let mut cases = case::of_kind(kind);
    if cases.is_empty() && std::env::var_os("HIDP_CASE").is_some() {
        println!("skipped: {kind}: no case of this name");
        return;
    }
    assert!(!cases.is_empty(), "no case of kind `{kind}`");
    let mut seconds = Seconds::read(kind);
    // What takes longest begins, so that nothing is left for one processor at the end.
    cases.sort_by_key(|case| std::cmp::Reverse(seconds.of(case)));
    let taken = Mutex::new(Vec::new());
    let mut failures = shared_out(&cases, |case| {
        let start = Instant::now();
        let ended = catch_unwind(|| run(case)).unwrap_or_else(|_| Err("panicked; the message is above".into()));
        let time = start.elapsed();
        println!("{kind}/{}: {:.1} s", case.name, time.as_secs_f64());
        taken.lock().expect("no panic").push((case.name.clone(), time));
        ended.err().map(|why| format!("{}\n{why}", case.path.display()))
    });
    seconds.write(taken.into_inner().expect("no panic"));
    failures.sort();
    let summary = format!("{} of {} cases of kind `{kind}` failed", failures.len(), cases.len());
    assert!(failures.is_empty(), "\n\n{}\n\n{summary}; HIDP_BLESS=1 accepts new output\n", failures.join("\n\n"));
}

/// How long the cases of a kind took at most, in runs before.
struct Seconds {
    path: PathBuf,
    known: BTreeMap<String, Duration>,
}

impl Seconds {
    fn read(kind: &str) -> Seconds {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("seconds-{kind}.txt"));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let time = |line: &str| {
            let (name, milliseconds) = line.split_once(' ')?;
            Some((name.to_owned(), Duration::from_millis(milliseconds.parse().ok()?)))
        };
        Seconds { known: text.lines().filter_map(time).collect(), path }
    }

    /// What is not known is as long as its text.
    fn of(&self, case: &Case) -> Duration {
        self.known.get(&case.name).copied().unwrap_or(Duration::from_millis(case.text.len() as u64))
    }

    /// What could not be written is measured again.
    fn write(&mut self, taken: Vec<(String, Duration)>) {
        for (name, time) in taken {
            let known = self.known.entry(name).or_default();
            *known = time.max(*known);
        }
        let line = |(name, time): (&String, &Duration)| format!("{name} {}\n", time.as_millis());
        let text: String = self.known.iter().map(line).collect();
        let _ = std::fs::write(&self.path, text);
    }
}

/// What `work` finds in the items, in their order, with as many threads as there are processors.
fn shared_out<T: Sync>(items: &[T], work: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let found: Vec<Mutex<Option<String>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            *found[index].lock().expect("no panic") = work(item);
        }
    };
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    found.into_iter().filter_map(|slot| slot.into_inner().expect("no panic")).collect()
}

#[test]
fn every_folder_has_its_kind() {
    let registered: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
    for folder in case::folders() {
        assert!(registered.contains(&folder.as_str()), "no kind `{folder}` is registered");
    }
}

//! Runs `tests/cases/<kind>/*.hdp`: one file is one test, and the function registered for its folder's kind runs it.
//!
//! A case begins with `// test: <kind>`. Goldens and expectations are rewritten where `HIDP_BLESS=1` is set (`cargo xtask bless`);
//! otherwise a difference is a failure. `HIDP_CASE=text` runs only those whose name has the text. A further kind is a folder, a
//! module with a function `run`, and a line in the registry.

mod agree;
#[allow(dead_code, unreachable_pub, reason = "shared with the runner on GPUs")]
#[path = "../answers/mod.rs"]
mod answers;
mod case;
mod check;
mod codes;
mod contents;
mod counted;
mod counts;
mod device;
mod device_units;
mod diff;
#[allow(dead_code, reason = "shared with the tests of CPU units")]
#[path = "../emit/dsl.rs"]
mod dsl;
mod emit;
mod expectation;
mod front;
mod fuse;
mod lines;
mod maker;
mod memory;
mod native;
mod natives;
mod nvcc;
mod parse;
mod random;
mod random_native;
mod record;
mod render;
mod run;
mod same;
mod sanitized;
mod stated;
mod subject;
mod suggestion;
mod wrong_kernels;

use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

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
    let cases = case::of_kind(kind);
    assert!(!cases.is_empty(), "no case of kind `{kind}`");
    let failures = shared_out(&cases, |case| {
        let start = Instant::now();
        let ended = catch_unwind(|| run(case)).unwrap_or_else(|_| Err("panicked; the message is above".into()));
        println!("{kind}/{}: {:.1} s", case.name, start.elapsed().as_secs_f64());
        ended.err().map(|why| format!("{}\n{why}", case.path.display()))
    });
    let summary = format!("{} of {} cases of kind `{kind}` failed", failures.len(), cases.len());
    assert!(failures.is_empty(), "\n\n{}\n\n{summary}; HIDP_BLESS=1 accepts new output\n", failures.join("\n\n"));
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

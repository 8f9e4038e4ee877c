//! Runs `tests/cases/<kind>/*.hdp`: one file is one test, and the function registered for its folder's kind runs it.
//!
//! A case begins with `// test: <kind>`. Goldens and expectations are rewritten where `HIDP_BLESS=1` is set (`cargo xtask bless`);
//! otherwise a difference is a failure. A further kind is a folder, a module with a function `run`, and a line in the registry.

mod agree;
mod case;
mod check;
mod codes;
mod contents;
mod diff;
mod emit;
mod expectation;
mod front;
mod fuse;
mod maker;
mod memory;
mod native;
mod parse;
mod random;
mod render;
mod run;
mod suggestion;

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
    let failures: Vec<String> =
        cases.iter().filter_map(|case| run(case).err().map(|why| format!("{}\n{why}", case.path.display()))).collect();
    let summary = format!("{} of {} cases of kind `{kind}` failed", failures.len(), cases.len());
    assert!(failures.is_empty(), "\n\n{}\n\n{summary}; HIDP_BLESS=1 accepts new output\n", failures.join("\n\n"));
}

#[test]
fn every_folder_has_its_kind() {
    let registered: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
    for folder in case::folders() {
        assert!(registered.contains(&folder.as_str()), "no kind `{folder}` is registered");
    }
}

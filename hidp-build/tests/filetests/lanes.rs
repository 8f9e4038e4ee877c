//! Whole iterations in vector lanes, forced: every nest of the cases of kind `run` that can have them does, whatever the planner gains by it.
//!
//! A full run has all cases on every instruction set, others those that say `// in lanes`, a share of the rest, and what `HIDP_CASE` names.

use hidp_build::compiler::plan::Strategy;

use crate::case::{self, Case};
use crate::native::{Effort, targets};
use crate::record::Record;
use crate::run::{is_full, on_threads_alone};
use crate::subject::Subject;

/// One case in so many is taken where not all are, by its name and this seed.
const SHARES: usize = 24;
const SEED: usize = 5;

#[test]
fn nests_that_can_run_in_lanes_agree_with_the_interpreter() {
    if !targets().cpu || Record::wanted().is_some() {
        println!("skipped: lanes: nothing is called on processors");
        return;
    }
    let all = is_full() || std::env::var_os("HIDP_CASE").is_some();
    let cases: Vec<Case> =
        case::of_kind("run").into_iter().filter(|case| all || case.says("in lanes") || is_taken(&case.name)).collect();
    let failures = crate::shared_out(&cases, |case| match forced(case) {
        Ok(()) => None,
        Err(why) => Some(format!("{}\n{why}", case.path.display())),
    });
    assert!(failures.is_empty(), "{} of {} cases failed\n\n{}", failures.len(), cases.len(), failures.join("\n\n"));
}

fn is_taken(name: &str) -> bool {
    name.bytes().fold(SEED, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte))).is_multiple_of(SHARES)
}

fn forced(case: &Case) -> Result<(), String> {
    let Some(subject) = Subject::forced(&case.name, &case.text, Strategy::Wide)? else { return Ok(()) };
    println!("lanes/{}: {} entries", case.name, subject.entries.len());
    on_threads_alone(case, &subject, if is_full() { Effort::AsProduct } else { Effort::Some })
}

//! Which calls of compiled code are made. Where `HIDP_LIST` is set they are printed instead, each (case, entry, plan, target, order) once,
//! and nothing is compiled.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Whether calls are only listed.
pub(crate) fn are_listed() -> bool {
    std::env::var_os("HIDP_LIST").is_some()
}

/// A call is to be made. `target`: an instruction set or `executor`; `order`: how many threads, or the seed of an order of lanes.
pub(crate) fn note(case: &str, entry: &str, plan: &str, target: &str, order: &str) {
    static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if are_listed() {
        let line = format!("{case} {entry} {plan} {target} {order}");
        let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.insert(line.clone()) {
            println!("{line}");
        }
    }
}

//! Calls on the executor that passed before. What is called follows from files alone, and so does in which order lanes run: the same text
//! with the same arguments gives the same results. Where `HIDP_KEPT=on` is set, calls of which the same is expected are not made again.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hidp_build::compiler::ir::par::interp::Arg;

use crate::case::Case;
use crate::made::{collect, hash, root};
use crate::memory::plain;
use crate::subject::{Outcome, Request, Subject};

/// The calls of a case that passed.
pub(crate) struct Kept {
    /// Where they are written down, a line each.
    path: PathBuf,
    before: BTreeSet<String>,
    now: RefCell<BTreeSet<String>>,
    /// Whether those of before are made again.
    again: bool,
    /// Of all that calls have in common.
    state: u64,
}

impl Kept {
    /// `library`: what the case's text is compiled to, named after text, headers, flags and compiler.
    pub(crate) fn new(case: &Case, subject: &Subject, library: &Path) -> Kept {
        let again = std::env::var("HIDP_KEPT").is_ok_and(|value| value == "on");
        Kept::reading(&case.text, &subject.places(), library, !again)
    }

    fn reading(case: &str, places: &str, library: &Path, again: bool) -> Kept {
        let path = library.with_extension("passed");
        let before = fs::read_to_string(&path).unwrap_or_default().lines().map(str::to_owned).collect();
        let all = [library.as_os_str().as_encoded_bytes(), case.as_bytes(), places.as_bytes()];
        let state = all.iter().fold(tests_hash(), |state, part| hash(state, part));
        Kept { path, before, now: RefCell::default(), again, state }
    }

    /// Makes calls that `what` names with the arguments of a request, unless they passed before.
    pub(crate) fn or(
        &self,
        what: &str,
        request: &Request,
        calls: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let state = hash(hash(self.state, what.as_bytes()), format!("{:?}", request.dims).as_bytes());
        let state = of_args(state, &request.args);
        let key = match &request.expected {
            Outcome::Results(args) => of_args(hash(state, b"results"), args),
            Outcome::Fault(fault) => hash(state, format!("{fault:?}").as_bytes()),
            Outcome::Unknown => state,
        };
        let key = format!("{key:016x}");
        if self.again || !self.before.contains(&key) {
            calls()?;
        }
        self.now.borrow_mut().insert(key);
        Ok(())
    }

    /// Writes down what passed, and says what was left out.
    pub(crate) fn finish(&self, case: &str) {
        let now = self.now.borrow();
        if !self.again && now.iter().any(|key| self.before.contains(key)) {
            println!("skipped: {case}: calls on the executor that passed before (--again makes them)");
        }
        let all: Vec<&str> = now.union(&self.before).map(String::as_str).collect();
        // What could not be written is called again.
        let _ = fs::write(&self.path, all.join("\n"));
    }
}

fn of_args(state: u64, args: &[Arg]) -> u64 {
    args.iter().fold(state, |state, arg| match arg {
        Arg::Array(array) => {
            let state = hash(state, format!("{:?} {:?}", array.shape, array.data.scalar()).as_bytes());
            match plain(&array.data) {
                Some(bytes) => hash(state, bytes),
                None => hash(state, format!("{:?}", array.data).as_bytes()),
            }
        }
        Arg::Scalar(_) | Arg::Output => hash(state, format!("{arg:?}").as_bytes()),
    })
}

/// A number that changes with these tests.
fn tests_hash() -> u64 {
    static HASH: OnceLock<u64> = OnceLock::new();
    *HASH.get_or_init(|| {
        let mut files = Vec::new();
        for folder in ["filetests", "made", "answers"] {
            collect(&root().join("hidp-build/tests").join(folder), &[], &["rs"], &mut files);
        }
        files.sort();
        files.iter().fold(0, |state, file| hash(state, &fs::read(file).expect("a readable test")))
    })
}

#[cfg(test)]
mod tests {
    use hidp_build::compiler::ir::par::interp::{Array, Data};

    use super::*;
    use crate::made::folder;

    #[test]
    fn what_passed_is_called_again_where_something_else_is_expected() {
        let library = folder().join("kept.so");
        let _ = fs::remove_file(library.with_extension("passed"));
        let kept = |case: &str, again| Kept::reading(case, "", &library, again);
        let request = |after: i32| {
            let args = |value: i32| {
                vec![Arg::from(value), Arg::Array(Array { shape: vec![3], data: Data::I32(vec![value; 3]) })]
            };
            Request::new(args(1), vec![3], Outcome::Results(args(after)))
        };
        let is_called = |kept: &Kept, what: &str, after: i32| {
            let mut called = false;
            let passed = kept.or(what, &request(after), || {
                called = true;
                if after == 7 { Err("wrong".into()) } else { Ok(()) }
            });
            kept.finish("kept");
            assert_eq!(passed.is_ok(), !called || after != 7);
            called
        };
        let first = kept("case", false);
        assert!(is_called(&first, "f", 2) && is_called(&first, "f", 2), "what passed in this run is no reason");
        assert!(!is_called(&kept("case", false), "f", 2));
        assert!(is_called(&kept("case", true), "f", 2));
        assert!(is_called(&kept("case", false), "g", 2));
        assert!(is_called(&kept("case", false), "f", 3));
        assert!(is_called(&kept("other case", false), "f", 2));
        assert!(is_called(&kept("case", false), "f", 7) && is_called(&kept("case", false), "f", 7), "it failed");
    }
}

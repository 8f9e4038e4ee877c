//! What is run on a GPU: the cases of the compiler's tests against the interpreter's answers, and tests of the run time's devices.
//! The same runs on the executor, which is how it is tested itself.

#![allow(missing_docs)]

use hidp_std::rt::entry::Entry;

#[allow(dead_code, reason = "shared with who writes them")]
#[path = "../../../hidp-build/tests/answers/mod.rs"]
pub mod answers;
pub mod cases;
pub mod checks;
pub mod children;
pub mod device;
pub mod list;
pub mod options;
pub mod place;

hidp_std::include_kernels!(pub mod kernels);

/// Of the cases whose entries have versions with every tile.
#[allow(dead_code, missing_docs, unreachable_pub)]
pub mod with_tiles {
    include!(concat!(env!("OUT_DIR"), "/variants/hidp_kernels.rs"));
}

/// The entry of a case, `file::function`.
pub fn entry(name: &str) -> Option<&'static Entry> {
    kernels::ENTRIES.iter().chain(with_tiles::ENTRIES.iter()).find(|entry| entry.name == name)
}

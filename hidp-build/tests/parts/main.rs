//! Tests of the compiler that need more than one of its crates, and of what comes of it: one program, since each program with the whole compiler in it takes
//! seconds to link and 50 MB of disk.

mod canonical;
mod device_prims;
mod docs;
mod edge_cases;
mod emit;
mod long;
#[path = "../made/mod.rs"]
mod made;
mod maths;
mod nesting;
mod primitives;
mod proofs;
mod recurrences;
mod vectorise;

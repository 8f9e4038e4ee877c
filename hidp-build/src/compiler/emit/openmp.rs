//! C++ with OpenMP: one file for all entries of a `.hdp` file.

use crate::compiler::ir::imp;
use crate::compiler::ir::par::Program;
use crate::compiler::source::SourceMap;

/// Flags without which the generated code does not mean what it should (or is slow), for GCC and Clang. A build adds
/// `-march=… -DHIDP_ISA=…`, `-fopenmp` where there is an OpenMP library (else `-fopenmp-simd`), and include directories.
pub const FLAGS: &[&str] = &[
    "-std=c++17",
    "-O3",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-finite-loops",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
];

/// What can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether `#line` directives tie the code to the `.hdp` file.
    pub line_directives: bool,
    /// C++ headers that declare the native functions and structs, as they go between quotes after `#include`.
    pub native_headers: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { line_directives: true, native_headers: Vec::new() }
    }
}

/// The C++ file of `<stem>.hdp`. Entry points are `hidp1_<entry symbol>_<plan>_<HIDP_ISA>`.
pub fn module(program: &Program, sources: &SourceMap, stem: &str, entries: &[imp::Entry], options: &Options) -> String {
    let _ = (program, sources, entries, options);
    format!("// Generated from {stem}.hdp. Do not edit.\n")
}

//! What to do instead of printing from a kernel.

use super::Diagnostic;

/// What C, Python and Rust print with.
const PRINTERS: [&str; 8] = ["printf", "print", "println", "puts", "fprintf", "eprintln", "eprint", "dbg"];

/// Whether other languages print by this name.
pub fn prints(name: &str) -> bool {
    PRINTERS.contains(&name)
}

impl Diagnostic {
    /// Says how to look into a kernel.
    pub fn instead_of_printing(self) -> Self {
        self.note("iterations run at the same time, on GPUs too, and print nothing")
            .help("to look into a kernel, write the value to an array of an `output` list and print it in Rust")
            .help("debuggers step through kernels in the `.hdp` file; build with `HIDP_CUDA=off`, run with `HIDP_THREADS=1`")
    }
}

//! Runs kernels that nvcc compiled to PTX on the processor, a warp at a time, and counts what its warps do: instructions by kind, requests to memory with the sectors that they
//! touch, turns of the banks of shared memory, barriers, idle lanes. Results are those of the kernels, so that what is counted can be checked.
//!
//! Lanes that went different ways meet again where all ways from a branch do. Blocks run one after the other, but for those of a grid that is launched together: they take turns where they wait for each other, each time a
//! warp sleeps.

mod cost;
mod counts;
mod flow;
mod instr;
mod memory;
mod program;
mod run;
mod text;
mod values;
mod warp;
mod widened;

pub use counts::{Class, Counts};
pub use memory::Memory;
pub use program::{ARCH, Compiler, Needs, Program};
pub use run::Shape;
pub use text::{Module, Unread};

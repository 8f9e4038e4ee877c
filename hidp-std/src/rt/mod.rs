//! What generated code calls. Not for use by hand: everything here may change with any version.

mod args;
mod bind;
mod call;
mod choose;
pub mod entry;
mod extent;

pub(crate) use args::element_count;
pub use args::{Arg, Array, EMPTY_BYTES};
pub use call::call;
pub use hidp_sys::hidp_call;

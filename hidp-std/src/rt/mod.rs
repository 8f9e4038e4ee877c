//! What generated code calls. Not for use by hand: everything here may change with any version.

mod args;
mod bind;
mod call;
mod choose;
mod entries;
pub mod entry;
mod extent;
mod measures;
mod on_host;
mod on_queue;
mod parts;
mod place;
mod segments;

pub(crate) use args::element_count;
pub use args::{Arg, Array, EMPTY_BYTES};
#[cfg(feature = "tune")]
pub use call::Dynamic;
pub use call::call;
#[cfg(feature = "tune")]
pub(crate) use call::shape_of;
pub use entries::Entries;
pub use hidp_sys::hidp_call;
pub(crate) use measures::is_for_devices;
#[cfg(feature = "tune")]
pub(crate) use measures::measure as measures_of;

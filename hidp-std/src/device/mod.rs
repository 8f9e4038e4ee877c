//! Accelerators: memory, copies and arrays, above a driver that can be any.

mod array;
mod between;
mod copies;
mod driver;
mod error;
#[cfg(any(test, feature = "simulated-device"))]
mod executed;
mod find;
mod info;
mod layout;
mod line;
mod machine;
mod memory;
mod mirror;
mod pending;
mod pinned;
mod pool;
mod queue;
mod scattered;
mod section;
#[cfg(any(test, feature = "simulated-device"))]
mod simulated;
mod staging;
#[cfg(test)]
pub(crate) mod tests;
mod traffic;

pub use array::{DeviceArray, Zeroed};
pub use copies::Copies;
pub use error::{ArrayError, DeviceError, NoDevice};
pub use info::Device;
pub use mirror::Mirror;
pub use pending::{CopyFailed, Pending};
pub use pinned::PinnedArray;
pub use section::{Section, SectionMut};
pub use traffic::{KernelTraffic, SiteTraffic, Together};

#[cfg(feature = "cuda")]
pub(crate) use array::{Block, Storage};
pub(crate) use driver::Facts;
#[cfg(feature = "cuda")]
pub(crate) use driver::{Driver, DriverError, Event, Rows};
pub(crate) use find::Asked;
#[cfg(feature = "cuda")]
pub(crate) use find::Platform;
pub(crate) use machine::Machine;
pub(crate) use memory::{Access, Memory, Notes};
#[cfg(feature = "cuda")]
pub(crate) use memory::{Other, Owner};
pub(crate) use mirror::Mirrored;
pub(crate) use queue::Queue;
pub(crate) use scattered::{HostBlock, Scattered};
#[cfg(feature = "simulated-device")]
pub(crate) use simulated::Simulation;

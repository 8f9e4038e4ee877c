//! What the run time needs of an accelerator.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;

use hidp_sys::hidp_call;

use super::traffic::KernelTraffic;
use crate::rt::entry::EntryFn;

/// One stream of one accelerator: every operation but `enter`, allocation and waiting goes into the stream and returns at once,
/// and runs after all that went into it before. Streams of one device use the same memory; only events order them.
///
/// Addresses are those of the device's memory, whatever a pointer to that means on the host.
pub(crate) trait Driver: Any + Send + Sync + fmt::Debug {
    fn facts(&self) -> &Facts;
    /// Waits until no other thread uses the driver, and keeps them waiting; within a turn of the same thread it is that turn.
    /// Whoever holds locks of his own while he calls the driver takes his turn first: code that the driver runs in a turn
    /// wants such locks too. Drivers that many threads may use at once have no turns.
    fn turn(&self) -> Turn<'_> {
        Turn(None)
    }
    /// What generated code gets as `hidp_device::stream`.
    fn stream(&self) -> *mut c_void;
    /// Another stream of the same device.
    fn fork(&self) -> Result<Box<dyn Driver>, DriverError>;
    /// Whether that is a stream of the same device: both use the same memory, and each may wait for the other's events.
    fn is_same_device(&self, other: &dyn Driver) -> bool;
    /// Whether this stream may copy from the memory of that device, and wait for its events.
    fn can_copy_from(&self, other: &dyn Driver) -> Result<bool, DriverError>;
    /// Makes the device the calling thread's.
    fn enter(&self) -> Result<(), DriverError>;

    /// Device memory, valid for what goes into the stream from now on; at least 256-byte aligned.
    fn allocate(&self, bytes: usize) -> Result<*mut u8, DriverError>;
    /// # Safety
    /// `block` came from `allocate`, and nothing that goes into the stream from now on uses it.
    unsafe fn release(&self, block: *mut u8);
    /// Page-locked host memory, at least 64-byte aligned.
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DriverError>;
    /// # Safety
    /// `block` came from `allocate_pinned`; nothing uses it any more, on the device neither.
    unsafe fn release_pinned(&self, block: *mut u8);

    /// # Safety
    /// `bytes` bytes are there on both sides, page-locked ones on the host, and stay until the stream has come so far.
    unsafe fn to_device(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError>;
    /// # Safety
    /// As [`Driver::to_device`].
    unsafe fn to_host(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError>;
    /// Copies within device memory.
    ///
    /// # Safety
    /// The rows are there on both sides and do not overlap each other.
    unsafe fn copy_rows(&self, to: Rows, from: Rows, width: usize, rows: usize) -> Result<(), DriverError>;
    /// # Safety
    /// `bytes` bytes are there.
    unsafe fn zero(&self, to: *mut u8, bytes: usize) -> Result<(), DriverError>;

    /// Copies from the memory of another device.
    ///
    /// # Safety
    /// `bytes` bytes are there on both sides, and `can_copy_from` says yes.
    unsafe fn copy_from_peer(
        &self,
        to: *mut u8,
        other: &dyn Driver,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DriverError>;

    fn new_event(&self) -> Result<Event, DriverError>;
    fn free_event(&self, event: Event);
    /// Notes how far the stream is filled now.
    fn record(&self, event: &Event) -> Result<(), DriverError>;
    /// Whether the stream has come to where the event was recorded last.
    fn has_come_to(&self, event: &Event) -> Result<bool, DriverError>;
    fn wait_for(&self, event: &Event) -> Result<(), DriverError>;
    /// What goes into this stream from now on runs after what was in the event's stream when it was recorded last. The event is of this
    /// device, or of one that this stream can copy from.
    fn wait_in_stream(&self, event: &Event) -> Result<(), DriverError>;
    /// Waits for all that is in the stream.
    fn synchronize(&self) -> Result<(), DriverError>;
    /// Runs an entry's code for the device.
    ///
    /// # Safety
    /// The call is as the ABI wants it, with memory of this driver's.
    unsafe fn call(&self, function: EntryFn, call: &mut hidp_call) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { function(call) }
    }
    /// From now on counts what calls ask of memory. Whether it can.
    fn count(&self) -> bool {
        false
    }
    /// What the last call asked for, if that is counted.
    fn counts(&self) -> Option<Vec<KernelTraffic>> {
        None
    }
    /// The name and meaning of an error of generated code.
    fn explain(&self, code: i32) -> String;
}

/// A turn until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(#[allow(dead_code)] pub(crate) Option<Box<dyn fmt::Debug + 'a>>);

/// Rows of bytes in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) first: *mut u8,
    /// Bytes from one row's begin to the next one's.
    pub(crate) pitch: usize,
}

/// A position in a stream; a handle of the driver.
#[derive(Debug)]
pub(crate) struct Event(pub(crate) *mut c_void);

// SAFETY: drivers hand out handles that any thread may use.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

/// What an accelerator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) ordinal: u32,
    pub(crate) name: String,
    /// 90 for compute capability 9.0.
    pub(crate) architecture: u32,
    pub(crate) multiprocessors: i32,
    pub(crate) threads_per_multiprocessor: i32,
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{} ({}, sm_{})", self.ordinal, self.name, self.architecture)
    }
}

impl Facts {
    /// How many threads the device runs at once.
    pub(crate) fn threads(&self) -> u32 {
        let threads = self.multiprocessors.saturating_mul(self.threads_per_multiprocessor);
        u32::try_from(threads).unwrap_or(1).max(1)
    }
}

/// What a driver says when it fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DriverError {
    /// The number in the driver's own interface; `None` for what it did not say itself.
    pub(crate) code: Option<i32>,
    /// Name and meaning.
    pub(crate) text: String,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

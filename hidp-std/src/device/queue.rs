//! One stream of one device with its memory: what a context on a device, its clones and the arrays made with it share.

use std::ffi::c_void;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hidp_sys::hidp_device;

use super::copies::Copies;
use super::driver::{Driver, DriverError, Facts, Rows, Turn};
use super::error::DeviceError;
use super::line::{Line, Mark};
use super::pinned::is_locked;
use super::pool::{Pool, Source};
use super::staging::Staging;
use crate::rt::EMPTY_BYTES;

/// See the module.
pub(crate) struct Queue {
    line: Arc<Line>,
    memory: Mutex<Pool>,
    staging: Mutex<Staging>,
    /// So many zeros in device memory, where the address of empty arrays points.
    zeros: usize,
    counters: Counters,
    /// Set when the device failed for good; forks share it.
    lost: Arc<OnceLock<DriverError>>,
    watched: Watched,
}

/// Whether other streams use memory of a queue's.
#[derive(Debug, Default)]
struct Watched {
    /// Set before `since` is made. Whoever reads that it is not set has already given his work to the stream, so that the mark stands behind it.
    is: AtomicBool,
    since: Mutex<Option<Arc<Mark>>>,
}

#[derive(Debug, Default)]
struct Counters {
    to_device: AtomicU64,
    to_host: AtomicU64,
    bytes_to_device: AtomicU64,
    bytes_to_host: AtomicU64,
}

struct Device<'a>(&'a dyn Driver);

impl Source for Device<'_> {
    fn make(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        self.0.allocate(bytes)
    }
    unsafe fn free(&self, block: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.0.release(block) }
    }
}

/// What is locked, within a turn at the driver.
struct Locked<'a, T> {
    // Dropped first: a turn begins before and ends after.
    guard: MutexGuard<'a, T>,
    _turn: Turn<'a>,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl Queue {
    pub(crate) fn new(driver: Box<dyn Driver>) -> Result<Self, DeviceError> {
        let starting = |error: DriverError| DeviceError::new("start", &error, false);
        driver.enter().map_err(starting)?;
        let mut memory = Pool::default();
        let zeros = memory.take(EMPTY_BYTES, &Device(&*driver)).map_err(starting)?;
        let queue = Self {
            line: Line::new(driver),
            memory: Mutex::new(memory),
            staging: Mutex::default(),
            zeros: zeros.expose_provenance(),
            counters: Counters::default(),
            lost: Arc::default(),
            watched: Watched::default(),
        };
        // SAFETY: the block has as many bytes.
        unsafe { queue.driver().zero(zeros, EMPTY_BYTES) }.map_err(starting)?;
        Ok(queue)
    }
    /// Another stream of the same device, after all that is in this one now.
    pub(crate) fn fork(&self) -> Result<Self, DeviceError> {
        self.enter()?;
        let driver = self.check("start another stream", self.driver().fork())?;
        // Only a queue that is there finds out what an error means.
        let is_lost = || self.synchronize().is_err_and(|error| error.is_lost());
        let mut fork = Self::new(driver).map_err(|error| error.and_lost(is_lost()))?;
        fork.lost = self.lost.clone();
        fork.after(self)?;
        Ok(fork)
    }
    /// What goes into this stream from now on runs after what is in the other one now.
    pub(crate) fn after(&self, other: &Queue) -> Result<(), DeviceError> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        self.enter()?;
        if self.is_same_device(other) || self.can_copy_from(other)? {
            other.enter()?;
            let mark = other.mark()?;
            self.enter()?;
            return self.wait(&mark);
        }
        other.enter()?;
        other.synchronize()?;
        self.enter()
    }
    /// Whether both use the same memory.
    pub(crate) fn is_same_device(&self, other: &Queue) -> bool {
        std::ptr::eq(self, other) || self.driver().is_same_device(other.driver())
    }
    /// Whether the other's memory is copied without the host.
    pub(crate) fn can_copy_from(&self, other: &Queue) -> Result<bool, DeviceError> {
        self.check("ask for a way between devices", self.driver().can_copy_from(other.driver()))
    }
    pub(crate) fn line(&self) -> &Line {
        &self.line
    }
    pub(super) fn shared_line(&self) -> Arc<Line> {
        self.line.clone()
    }
    /// A mark behind all that is in the stream now.
    pub(crate) fn mark(&self) -> Result<Arc<Mark>, DeviceError> {
        self.check("record an event", self.line.mark()).map(Arc::new)
    }
    /// Waits within the stream.
    pub(crate) fn wait(&self, mark: &Mark) -> Result<(), DeviceError> {
        self.check("wait for another stream", self.line.wait(mark))
    }
    /// Whether uses of the queue's memory by itself leave marks.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.is.load(Ordering::SeqCst)
    }
    /// From now on they do. A mark behind all those that left none.
    pub(crate) fn watch(&self) -> Result<Arc<Mark>, DeviceError> {
        self.watched.is.store(true, Ordering::SeqCst);
        let known = |queue: &Self| queue.watched.since.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(mark) = known(self) {
            return Ok(mark);
        }
        self.enter()?;
        let mark = self.mark()?;
        // Of two that are made at once each stands behind all that left no mark.
        self.watched.since.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(mark.clone());
        Ok(mark)
    }
    pub(crate) fn facts(&self) -> &Facts {
        self.driver().facts()
    }
    pub(crate) fn driver(&self) -> &dyn Driver {
        self.line.driver()
    }
    pub(crate) fn copies(&self) -> Copies {
        let Counters { to_device, to_host, bytes_to_device, bytes_to_host } = &self.counters;
        Copies {
            to_device: to_device.load(Ordering::Relaxed),
            to_host: to_host.load(Ordering::Relaxed),
            bytes_to_device: bytes_to_device.load(Ordering::Relaxed),
            bytes_to_host: bytes_to_host.load(Ordering::Relaxed),
        }
    }
    fn lock<'a, T>(&'a self, mutex: &'a Mutex<T>) -> Locked<'a, T> {
        let turn = self.driver().turn();
        Locked { guard: mutex.lock().unwrap_or_else(PoisonError::into_inner), _turn: turn }
    }
    fn memory(&self) -> Locked<'_, Pool> {
        self.lock(&self.memory)
    }
    fn staging(&self) -> Locked<'_, Staging> {
        self.lock(&self.staging)
    }
    /// Bytes of device memory that are held, in use or not.
    pub(crate) fn pool_bytes(&self) -> usize {
        self.memory().bytes()
    }

    /// Makes the device the calling thread's. Everything below wants that.
    pub(crate) fn enter(&self) -> Result<(), DeviceError> {
        match self.lost.get() {
            Some(error) => Err(DeviceError::new("go on", error, true)),
            None => self.check("be entered", self.driver().enter()),
        }
    }
    /// Device memory, in the stream's order.
    pub(crate) fn take(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        let block = self.memory().take(bytes, &Device(self.driver()));
        self.check("allocate memory", block)
    }
    pub(crate) fn give(&self, block: *mut u8) {
        self.memory().give(block);
    }
    /// The block is no longer the pool's.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) fn forget(&self, block: *mut u8) {
        self.memory().forget(block);
    }
    pub(crate) fn zeros(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.zeros)
    }

    /// Copies host memory, which may change as soon as this returns.
    ///
    /// # Safety
    /// `bytes` bytes are there on both sides.
    pub(crate) unsafe fn upload(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DeviceError> {
        if is_locked(&self.line, from.addr(), bytes) {
            // SAFETY: the caller's promise. The memory may change afterwards, so that the copy is waited for.
            let mark = unsafe { self.start_to_device(to, from, bytes) }?;
            return self.wait_for(&mark);
        }
        self.count_to_device(bytes);
        // SAFETY: the caller's promise.
        let copied = unsafe { self.staging().upload(self.driver(), to, from, bytes) };
        self.check("copy to the device", copied)
    }
    /// Waits for the copy and all that stands before it.
    ///
    /// # Safety
    /// As [`Queue::upload`].
    pub(crate) unsafe fn download(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DeviceError> {
        if is_locked(&self.line, to.addr(), bytes) {
            // SAFETY: the caller's promise.
            let mark = unsafe { self.start_to_host(to, from, bytes) }?;
            return self.wait_for(&mark);
        }
        self.count_to_host(bytes);
        // SAFETY: the caller's promise.
        let copied = unsafe { self.staging().download(self.driver(), to, from, bytes) };
        self.check("copy from the device", copied)
    }
    pub(super) fn count_to_device(&self, bytes: usize) {
        self.counters.to_device.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_to_device.fetch_add(bytes as u64, Ordering::Relaxed);
    }
    pub(super) fn count_to_host(&self, bytes: usize) {
        self.counters.to_host.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_to_host.fetch_add(bytes as u64, Ordering::Relaxed);
    }
    /// Page-locked memory.
    pub(super) fn take_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        let block = self.staging().take(self.driver(), bytes);
        self.check("allocate page-locked memory", block)
    }
    /// Page-locked memory of an array; it comes back by [`Queue::give_pinned`], too.
    pub(super) fn lock_memory(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        let block = self.staging().reserve(self.driver(), bytes);
        self.check("allocate page-locked memory", block)
    }
    /// Begins to copy page-locked memory; the mark stands behind the copy. After an error the copy is done, or the device lost.
    ///
    /// # Safety
    /// `bytes` bytes are there on both sides, and stay as they are until the stream has come to the mark.
    pub(super) unsafe fn start_to_device(
        &self,
        to: *mut u8,
        from: *const u8,
        bytes: usize,
    ) -> Result<Arc<Mark>, DeviceError> {
        self.count_to_device(bytes);
        // SAFETY: the caller's promise.
        let mark = unsafe { self.driver().to_device(to, from, bytes) }.and_then(|()| self.line.mark());
        self.check("copy to the device", mark).map(Arc::new)
    }
    /// As [`Queue::start_to_device`], to page-locked memory.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn start_to_host(
        &self,
        to: *mut u8,
        from: *const u8,
        bytes: usize,
    ) -> Result<Arc<Mark>, DeviceError> {
        self.count_to_host(bytes);
        // SAFETY: the caller's promise.
        let mark = unsafe { self.driver().to_host(to, from, bytes) }.and_then(|()| self.line.mark());
        self.check("copy from the device", mark).map(Arc::new)
    }
    /// The calling thread waits. After an error the stream is empty, or the device lost.
    pub(super) fn wait_for(&self, mark: &Mark) -> Result<(), DeviceError> {
        self.check("finish a copy", mark.wait())
    }
    /// The block has no user left, on the host or on the device.
    pub(super) fn give_pinned(&self, block: *mut u8) {
        self.staging().give(block);
    }
    /// Copies a page-locked block to the device, and takes it back when that is done; also after an error.
    ///
    /// # Safety
    /// `bytes` bytes are there on both sides, and the block came from [`Queue::take_pinned`].
    pub(super) unsafe fn send(&self, to: *mut u8, block: *mut u8, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        let sent = unsafe { self.staging().send(self.driver(), to, block, bytes) };
        self.check("copy to the device", sent)
    }
    /// Copies to page-locked memory and waits for that; after an error nothing uses it.
    ///
    /// # Safety
    /// `bytes` bytes are there on both sides.
    pub(super) unsafe fn fetch(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: the caller's promise; where the mark fails, `check` waits for the stream.
        let mark = unsafe { self.driver().to_host(to, from, bytes) }.and_then(|()| self.line.mark());
        self.check("copy from the device", mark.and_then(|mark| mark.wait()))
    }
    /// # Safety
    /// `bytes` bytes are there on both sides, which do not overlap.
    pub(super) unsafe fn copy_within(&self, to: *mut u8, from: *mut u8, bytes: usize) -> Result<(), DeviceError> {
        let row = |first| Rows { first, pitch: bytes };
        // SAFETY: the caller's promise.
        unsafe { self.copy_rows(row(to), row(from), bytes, 1) }
    }
    /// # Safety
    /// As [`Driver::copy_from_peer`].
    pub(super) unsafe fn copy_from_peer(
        &self,
        to: *mut u8,
        other: &Queue,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        let copied = unsafe { self.driver().copy_from_peer(to, other.driver(), from, bytes) };
        self.check("copy from another device", copied)
    }
    /// # Safety
    /// As [`Driver::copy_rows`].
    pub(crate) unsafe fn copy_rows(&self, to: Rows, from: Rows, width: usize, rows: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        self.check("copy within the device", unsafe { self.driver().copy_rows(to, from, width, rows) })
    }
    /// # Safety
    /// `bytes` bytes are there.
    pub(crate) unsafe fn zero(&self, to: *mut u8, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        self.check("clear memory", unsafe { self.driver().zero(to, bytes) })
    }
    pub(crate) fn synchronize(&self) -> Result<(), DeviceError> {
        self.check("finish", self.driver().synchronize())
    }

    fn check<T>(&self, doing: &'static str, result: Result<T, DriverError>) -> Result<T, DeviceError> {
        result.map_err(|error| self.failed(doing, error))
    }
    /// An error of generated code, by its number.
    pub(crate) fn failed_with(&self, code: i32) -> DeviceError {
        self.failed("run the kernels", DriverError { code: Some(code), text: self.driver().explain(code) })
    }
    /// Finds out whether the device works all the same.
    fn failed(&self, doing: &'static str, error: DriverError) -> DeviceError {
        let lost = self.driver().synchronize().is_err();
        if lost {
            log::error!("{} failed for good: {error}", self.facts());
            let _ = self.lost.set(error.clone());
        }
        DeviceError::new(doing, &error, lost)
    }

    /// What generated code gets. Valid as long as `self`.
    pub(crate) fn raw(&self) -> hidp_device {
        let facts = self.facts();
        hidp_device {
            state: std::ptr::from_ref(self).cast_mut().cast(),
            stream: self.driver().stream(),
            ordinal: i32::try_from(facts.ordinal).unwrap_or(i32::MAX),
            multiprocessors: facts.multiprocessors,
            threads_per_multiprocessor: facts.threads_per_multiprocessor,
            take: Some(take),
            give: Some(give),
            take_pinned: Some(take_pinned),
            give_pinned: Some(give_pinned),
        }
    }
}

/// # Safety
/// `state` is the one of [`Queue::raw`], whose queue is alive. So for the functions below.
unsafe fn queue<'a>(state: *mut c_void) -> &'a Queue {
    // SAFETY: the caller's promise.
    unsafe { &*state.cast::<Queue>().cast_const() }
}

unsafe extern "C" fn take(state: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: generated code passes the state on.
    let queue = unsafe { queue(state) };
    let block = queue.memory().take(bytes, &Device(queue.driver()));
    block.map_or(std::ptr::null_mut(), <*mut u8>::cast)
}

unsafe extern "C" fn give(state: *mut c_void, block: *mut c_void) {
    // SAFETY: as above.
    unsafe { queue(state) }.give(block.cast());
}

unsafe extern "C" fn take_pinned(state: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: as above.
    let queue = unsafe { queue(state) };
    let block = queue.staging().take(queue.driver(), bytes);
    block.map_or(std::ptr::null_mut(), <*mut u8>::cast)
}

unsafe extern "C" fn give_pinned(state: *mut c_void, block: *mut c_void) {
    // SAFETY: as above.
    unsafe { queue(state) }.staging().give(block.cast());
}

impl Drop for Queue {
    fn drop(&mut self) {
        // On a device that failed for good there is nothing left to wait for, and its driver refuses what follows.
        let _ = self.driver().enter();
        let _ = self.driver().synchronize();
        self.staging().close(self.driver());
        let mut memory = self.memory();
        memory.give(std::ptr::with_exposed_provenance_mut(self.zeros));
        memory.release_idle(0, &Device(self.driver()));
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("driver", &self.line).field("lost", &self.lost).finish_non_exhaustive()
    }
}

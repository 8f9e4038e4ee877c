//! A device of the executor in `hidp/simt`, which runs device code that a host compiler made and looks at what it does.
//!
//! Its stream is done at once. What was wrong in a call is that call's error.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hidp_sys::{
    HIDP_COUNTED_BLOCK_BARRIER, HIDP_COUNTED_LOAD, HIDP_COUNTED_SHUFFLE, HIDP_COUNTED_STORE, HIDP_COUNTED_UPDATE,
    HIDP_COUNTED_VOTE, HIDP_COUNTED_WARP_BARRIER, HIDP_DEVICE_ERROR, HIDP_FAULT, HIDP_OK, hidp_call, hidp_device,
    hidp_executor, hidp_kernel_counts, hidp_site_counts,
};

use super::driver::{Driver, DriverError, Event, Facts, Rows, Turn};
use super::traffic::{KernelTraffic, SiteTraffic, Together};
use crate::rt::entry::EntryFn;

/// The driver.
#[derive(Debug)]
pub(crate) struct Executed {
    facts: Facts,
    opened: Arc<Opened>,
}

/// A device, which several streams share.
#[derive(Debug)]
struct Opened {
    functions: &'static hidp_executor,
    device: NonNull<hidp_device>,
    /// Whether calls are counted.
    counting: AtomicBool,
    /// The executor is for one thread at a time.
    turn: Mutex<()>,
}

// SAFETY: the executor may be used by any thread, by one at a time: the one whose turn it is.
unsafe impl Send for Opened {}
// SAFETY: as above.
unsafe impl Sync for Opened {}

thread_local! {
    /// The address of the device whose turn is this thread's: code that runs on it asks for memory of it.
    static MINE: Cell<usize> = const { Cell::new(0) };
}

/// Ends the turn that it began.
#[derive(Debug)]
struct Ends<'a> {
    before: usize,
    _turn: MutexGuard<'a, ()>,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        MINE.set(self.before);
    }
}

/// # Safety
/// The row is one of the executor's, which has not changed since.
unsafe fn kernel_of(row: &hidp_kernel_counts) -> KernelTraffic {
    // SAFETY: names are text, and so many rows of places are there.
    let (name, sites) =
        unsafe { (text_of(row.name), (0..row.site_count).map(|at| site_of(&*row.sites.add(at))).collect()) };
    let &hidp_kernel_counts { launches, blocks, threads, block_sectors, launch_sectors, .. } = row;
    KernelTraffic { name, launches, blocks, threads, block_sectors, launch_sectors, sites }
}

/// # Safety
/// As [`kernel_of`].
unsafe fn site_of(row: &hidp_site_counts) -> SiteTraffic {
    let what = match row.what {
        HIDP_COUNTED_LOAD => Together::Load,
        HIDP_COUNTED_STORE => Together::Store,
        HIDP_COUNTED_UPDATE => Together::Update,
        HIDP_COUNTED_BLOCK_BARRIER => Together::BlockBarrier,
        HIDP_COUNTED_WARP_BARRIER => Together::WarpBarrier,
        HIDP_COUNTED_SHUFFLE => Together::Shuffle,
        HIDP_COUNTED_VOTE => Together::Vote,
        other => unreachable!("the executor counts {other}, which its header does not name"),
    };
    let &hidp_site_counts { site, bytes, requests, lanes, idle, cost, least, block_sectors, launch_sectors, .. } = row;
    let &hidp_site_counts { clashes, updated, most_updates, .. } = row;
    // SAFETY: the caller's promise.
    let file = unsafe { text_of(row.file) };
    let (line, shared) = (u32::try_from(row.line).unwrap_or(0), row.shared != 0);
    SiteTraffic {
        file,
        line,
        site,
        what,
        shared,
        bytes,
        requests,
        lanes,
        idle,
        cost,
        least,
        block_sectors,
        launch_sectors,
        clashes,
        updated,
        most_updates,
    }
}

/// # Safety
/// It is text that ends with a zero.
unsafe fn text_of(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The number of an error that stands for the executor's reports.
const REPORTS: i32 = -1;
const MISSING: &str = "executors have all their functions";

impl Executed {
    /// `None` if the program has no executor, because no host compiler made device code.
    pub(crate) fn new(facts: Facts, seed: u64) -> Option<Self> {
        // SAFETY: what was set stays as it is as long as the program runs.
        let functions: &'static hidp_executor = unsafe { hidp_sys::hidp2_executor().as_ref() }?;
        // SAFETY: any numbers are allowed.
        let device = unsafe { functions.open.expect(MISSING)(seed, facts.multiprocessors) };
        let (device, counting) = (NonNull::new(device)?, AtomicBool::new(false));
        let opened = Opened { functions, device, counting, turn: Mutex::new(()) };
        Some(Self { facts, opened: Arc::new(opened) })
    }
    /// The turn is this thread's.
    fn reports(&self) -> String {
        // SAFETY: the device is alive; the text is copied at once.
        let text =
            unsafe { CStr::from_ptr(self.opened.functions.reports.expect(MISSING)(self.opened.device.as_ptr())) };
        text.to_string_lossy().into_owned()
    }
    /// # Safety
    /// So many bytes are there on the host.
    unsafe fn copy_in(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        let _turn = self.turn();
        // SAFETY: the caller's promise; the executor looks at the device's side itself.
        unsafe {
            self.opened.functions.copy_in.expect(MISSING)(self.opened.device.as_ptr(), to.cast(), from.cast(), bytes)
        };
        self.look()
    }
    /// # Safety
    /// As [`Executed::copy_in`].
    unsafe fn copy_out(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        let _turn = self.turn();
        // SAFETY: as above.
        unsafe {
            self.opened.functions.copy_out.expect(MISSING)(self.opened.device.as_ptr(), to.cast(), from.cast(), bytes)
        };
        self.look()
    }
    fn look(&self) -> Result<(), DriverError> {
        let text = self.reports();
        if text.is_empty() { Ok(()) } else { Err(DriverError { code: Some(REPORTS), text }) }
    }
}

impl Opened {
    fn turn(&self) -> Turn<'_> {
        let this = std::ptr::from_ref(self).addr();
        if MINE.get() == this {
            return Turn(None);
        }
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        Turn(Some(Box::new(Ends { before: MINE.replace(this), _turn: turn })))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the device has no user left.
        unsafe { self.functions.close.expect(MISSING)(self.device.as_ptr()) }
    }
}

impl Driver for Executed {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn turn(&self) -> Turn<'_> {
        self.opened.turn()
    }
    fn stream(&self) -> *mut c_void {
        null_mut()
    }
    fn fork(&self) -> Result<Box<dyn Driver>, DriverError> {
        Ok(Box::new(Self { facts: self.facts.clone(), opened: self.opened.clone() }))
    }
    fn is_same_device(&self, other: &dyn Driver) -> bool {
        let other = (other as &dyn std::any::Any).downcast_ref::<Self>();
        other.is_some_and(|other| Arc::ptr_eq(&self.opened, &other.opened))
    }
    /// The executor knows the memory of one device alone.
    fn can_copy_from(&self, _: &dyn Driver) -> Result<bool, DriverError> {
        Ok(false)
    }
    fn enter(&self) -> Result<(), DriverError> {
        Ok(())
    }
    fn allocate(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        let _turn = self.turn();
        // SAFETY: the device is alive.
        let block =
            unsafe { self.opened.device.as_ref().take.expect(MISSING)(self.opened.device.as_ref().state, bytes) };
        Ok(block.cast())
    }
    unsafe fn release(&self, block: *mut u8) {
        let _turn = self.turn();
        // SAFETY: the device is alive; the rest is the caller's promise.
        unsafe { self.opened.device.as_ref().give.expect(MISSING)(self.opened.device.as_ref().state, block.cast()) }
    }
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        let _turn = self.turn();
        // SAFETY: the device is alive.
        let block = unsafe {
            self.opened.device.as_ref().take_pinned.expect(MISSING)(self.opened.device.as_ref().state, bytes)
        };
        if block.is_null() {
            return Err(DriverError { code: Some(2), text: "out of memory".into() });
        }
        Ok(block.cast())
    }
    unsafe fn release_pinned(&self, block: *mut u8) {
        let _turn = self.turn();
        // SAFETY: the device is alive; the rest is the caller's promise.
        unsafe {
            self.opened.device.as_ref().give_pinned.expect(MISSING)(self.opened.device.as_ref().state, block.cast())
        }
    }
    unsafe fn to_device(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: the caller's promise.
        unsafe { self.copy_in(to, from, bytes) }
    }
    unsafe fn to_host(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: the caller's promise.
        unsafe { self.copy_out(to, from, bytes) }
    }
    unsafe fn copy_rows(&self, to: Rows, from: Rows, width: usize, rows: usize) -> Result<(), DriverError> {
        let mut bytes = vec![0; width];
        for row in 0..rows {
            // SAFETY: so many bytes are in between; the rest is the caller's promise.
            unsafe {
                self.copy_out(bytes.as_mut_ptr(), from.first.wrapping_add(row * from.pitch), width)?;
                self.copy_in(to.first.wrapping_add(row * to.pitch), bytes.as_ptr(), width)?;
            }
        }
        Ok(())
    }
    unsafe fn zero(&self, to: *mut u8, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: so many zeros are there; the rest is the caller's promise.
        unsafe { self.copy_in(to, vec![0; bytes].as_ptr(), bytes) }
    }
    unsafe fn copy_from_peer(&self, _: *mut u8, _: &dyn Driver, _: *const u8, _: usize) -> Result<(), DriverError> {
        Err(DriverError { code: None, text: "executed devices have no way between them".into() })
    }
    fn new_event(&self) -> Result<Event, DriverError> {
        Ok(Event(null_mut()))
    }
    fn free_event(&self, _: Event) {}
    fn record(&self, _: &Event) -> Result<(), DriverError> {
        Ok(())
    }
    fn has_come_to(&self, _: &Event) -> Result<bool, DriverError> {
        Ok(true)
    }
    fn wait_for(&self, _: &Event) -> Result<(), DriverError> {
        Ok(())
    }
    fn wait_in_stream(&self, _: &Event) -> Result<(), DriverError> {
        Ok(())
    }
    fn synchronize(&self) -> Result<(), DriverError> {
        Ok(())
    }
    unsafe fn call(&self, function: EntryFn, call: &mut hidp_call) -> i32 {
        let _turn = self.turn();
        // SAFETY: the caller's promise.
        let status =
            unsafe { self.opened.functions.call.expect(MISSING)(self.opened.device.as_ptr(), Some(function), call) };
        let known = [HIDP_OK, HIDP_FAULT, HIDP_DEVICE_ERROR].iter().any(|known| *known as i32 == status);
        if !known {
            call.fault.values[0] = REPORTS.into();
        }
        if known { status } else { HIDP_DEVICE_ERROR as i32 }
    }
    fn count(&self) -> bool {
        let _turn = self.turn();
        // SAFETY: the device is alive.
        unsafe { self.opened.functions.count.expect(MISSING)(self.opened.device.as_ptr(), 1) }
        self.opened.counting.store(true, Ordering::Relaxed);
        true
    }
    fn counts(&self) -> Option<Vec<KernelTraffic>> {
        if !self.opened.counting.load(Ordering::Relaxed) {
            return None;
        }
        let _turn = self.turn();
        let mut first = std::ptr::null();
        // SAFETY: the device is alive.
        let count =
            unsafe { self.opened.functions.counts.expect(MISSING)(self.opened.device.as_ptr(), &raw mut first) };
        // SAFETY: so many rows are there until the next call, whose turn comes later.
        Some((0..count).map(|at| unsafe { kernel_of(&*first.add(at)) }).collect())
    }
    fn explain(&self, code: i32) -> String {
        let _turn = self.turn();
        if code == REPORTS { self.reports() } else { format!("simulated error {code}") }
    }
}

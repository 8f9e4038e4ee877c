//! Page-locked memory, and copies between device memory and arrays of the host through it.

use std::collections::VecDeque;

use super::driver::{Driver, DriverError, Event};
use super::pool::{Pool, Source};

/// Bytes of a part of a large copy: large enough that starting it costs little, small enough that the next one is prepared in the
/// cache's neighbourhood while this one travels.
pub(crate) const CHUNK: usize = 4 << 20;
/// Bytes that may be on their way to the device before the host waits.
const MOST_PENDING: usize = 4 * CHUNK;

/// Page-locked memory of one stream.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    pool: Pool,
    /// What the stream may still read, oldest first.
    pending: VecDeque<Pending>,
    pending_bytes: usize,
    events: Vec<Event>,
}

#[derive(Debug)]
struct Pending {
    block: Address,
    bytes: usize,
    event: Event,
}

/// A block, as a number that may go to other threads.
#[derive(Clone, Copy, Debug)]
struct Address(*mut u8);

// SAFETY: a block belongs to whoever took it, who is responsible for its use.
unsafe impl Send for Address {}

struct Pinned<'a>(&'a dyn Driver);

impl Source for Pinned<'_> {
    fn make(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        self.0.allocate_pinned(bytes)
    }
    unsafe fn free(&self, block: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.0.release_pinned(block) }
    }
}

impl Staging {
    pub(crate) fn take(&mut self, driver: &dyn Driver, bytes: usize) -> Result<*mut u8, DriverError> {
        self.collect(driver, bytes)?;
        self.pool.take(bytes, &Pinned(driver))
    }
    /// The same, without a limit in time.
    pub(crate) fn reserve(&mut self, driver: &dyn Driver, bytes: usize) -> Result<*mut u8, DriverError> {
        self.pool.take(bytes, &Pinned(driver))
    }
    /// The stream is done with the block.
    pub(crate) fn give(&mut self, block: *mut u8) {
        self.pool.give(block);
    }
    /// Takes the block back once the stream is done with what is in it now.
    fn give_later(&mut self, driver: &dyn Driver, block: *mut u8, bytes: usize) -> Result<(), DriverError> {
        let event = match self.events.pop() {
            Some(event) => event,
            None => driver.new_event()?,
        };
        if let Err(error) = driver.record(&event) {
            self.events.push(event);
            return Err(error);
        }
        self.pending_bytes += bytes;
        self.pending.push_back(Pending { block: Address(block), bytes, event });
        Ok(())
    }
    /// Takes back what the stream is done with, and waits for more of it if too much is on its way.
    fn collect(&mut self, driver: &dyn Driver, wanted: usize) -> Result<(), DriverError> {
        while let Some(oldest) = self.pending.front() {
            let crowded = self.pending_bytes.saturating_add(wanted) > MOST_PENDING;
            if !driver.has_come_to(&oldest.event)? {
                if !crowded {
                    break;
                }
                driver.wait_for(&oldest.event)?;
            }
            if let Some(Pending { block, bytes, event }) = self.pending.pop_front() {
                self.pending_bytes -= bytes;
                self.pool.give(block.0);
                self.events.push(event);
            }
        }
        Ok(())
    }
    /// Gives everything back to the system. The stream is empty.
    pub(crate) fn close(&mut self, driver: &dyn Driver) {
        for Pending { block, event, .. } in self.pending.drain(..) {
            self.pool.give(block.0);
            driver.free_event(event);
        }
        self.events.drain(..).for_each(|event| driver.free_event(event));
        self.pool.release_idle(0, &Pinned(driver));
    }

    /// Copies host memory to the device. The host memory may change as soon as this returns.
    ///
    /// # Safety
    /// `bytes` bytes are there on both sides.
    pub(crate) unsafe fn upload(
        &mut self,
        driver: &dyn Driver,
        to: *mut u8,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DriverError> {
        for start in (0..bytes).step_by(CHUNK) {
            let part = CHUNK.min(bytes - start);
            let block = self.take(driver, part)?;
            // SAFETY: the part is inside; the block has as many bytes.
            unsafe {
                block.copy_from_nonoverlapping(from.add(start), part);
                self.send(driver, to.wrapping_add(start), block, part)
            }?;
        }
        Ok(())
    }

    /// Copies a block of ours to the device, and takes it back when that is done.
    ///
    /// # Safety
    /// `bytes` bytes are there on both sides.
    pub(crate) unsafe fn send(
        &mut self,
        driver: &dyn Driver,
        to: *mut u8,
        block: *mut u8,
        bytes: usize,
    ) -> Result<(), DriverError> {
        // SAFETY: the caller's promise; the block stays until the stream is done with it.
        let sent = unsafe { driver.to_device(to, block, bytes) };
        sent.and_then(|()| self.give_later(driver, block, bytes)).inspect_err(|_| self.abandon(driver, block))
    }

    /// Copies device memory to the host and waits for it: while one part travels, the one before it is moved to its place.
    ///
    /// # Safety
    /// `bytes` bytes are there on both sides.
    pub(crate) unsafe fn download(
        &mut self,
        driver: &dyn Driver,
        to: *mut u8,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DriverError> {
        let mut travelling: Option<Part> = None;
        for start in (0..bytes).step_by(CHUNK) {
            let bytes = CHUNK.min(bytes - start);
            let next = self.start_download(driver, from.wrapping_add(start), Place { start, bytes });
            if let Some(part) = travelling.take() {
                // SAFETY: the part is inside.
                let done = unsafe { self.finish_download(driver, to, part) };
                if let Err(error) = done {
                    if let Ok(Part { block, event, .. }) = next {
                        self.events.push(event);
                        self.abandon(driver, block);
                    }
                    return Err(error);
                }
            }
            travelling = Some(next?);
        }
        match travelling {
            // SAFETY: as above.
            Some(part) => unsafe { self.finish_download(driver, to, part) },
            None => Ok(()),
        }
    }

    fn start_download(&mut self, driver: &dyn Driver, from: *const u8, place: Place) -> Result<Part, DriverError> {
        let block = self.take(driver, place.bytes)?;
        let event = match self.events.pop().map_or_else(|| driver.new_event(), Ok) {
            Ok(event) => event,
            Err(error) => {
                self.give(block);
                return Err(error);
            }
        };
        // SAFETY: the block has as many bytes, and stays until the event has come.
        match unsafe { driver.to_host(block, from, place.bytes) }.and_then(|()| driver.record(&event)) {
            Ok(()) => Ok(Part { block, event, place }),
            Err(error) => {
                self.events.push(event);
                self.abandon(driver, block);
                Err(error)
            }
        }
    }

    /// # Safety
    /// The part's place is inside what `to` points to.
    unsafe fn finish_download(&mut self, driver: &dyn Driver, to: *mut u8, part: Part) -> Result<(), DriverError> {
        let Part { block, event, place: Place { start, bytes } } = part;
        let done = driver.wait_for(&event);
        self.events.push(event);
        if let Err(error) = done {
            self.abandon(driver, block);
            return Err(error);
        }
        // SAFETY: the caller's promise; the block is filled.
        unsafe { to.add(start).copy_from_nonoverlapping(block, bytes) }
        self.give(block);
        Ok(())
    }

    /// Something failed while the stream may use the block.
    fn abandon(&mut self, driver: &dyn Driver, block: *mut u8) {
        // A stream that cannot be waited for has failed for good, and runs nothing any more.
        let _ = driver.synchronize();
        self.give(block);
    }
}

/// A part of a download on its way.
struct Part {
    block: *mut u8,
    event: Event,
    place: Place,
}

#[derive(Clone, Copy)]
struct Place {
    start: usize,
    bytes: usize,
}

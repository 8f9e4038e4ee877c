//! Memory of a device that several streams use.
//!
//! A block belongs to the pool of one queue, its *home*, and may be used by every stream of the same device. Each use by another stream leaves a
//! mark with the block; so does each use by the home once another stream has shown interest in its blocks. A reader waits for the last write, a
//! writer for the last use of every stream. A program with one stream per device records no events for this.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::DeviceError;
use super::line::{Line, Mark};
use super::queue::Queue;

/// See the module.
#[derive(Debug)]
pub(crate) struct Memory {
    queue: Arc<Queue>,
    first: *mut u8,
    owner: Owner,
    uses: Mutex<Uses>,
}

/// Whose the memory is.
#[derive(Debug)]
pub(crate) enum Owner {
    /// There are no elements, and `first` points to the queue's zeros.
    Nobody,
    Pool,
    /// Whatever this is; dropping it frees the memory.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    Other(Other),
}

/// What frees memory when it is dropped.
pub(crate) struct Other(
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] pub(crate) Box<dyn std::any::Any + Send + Sync>,
);

impl std::fmt::Debug for Other {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Other")
    }
}

/// The last uses that left marks.
#[derive(Debug, Default)]
struct Uses {
    written: Option<Arc<Mark>>,
    /// Since then, the last one of each stream.
    read: Vec<Arc<Mark>>,
}

impl Uses {
    fn all(&self) -> impl Iterator<Item = &Arc<Mark>> {
        self.written.iter().chain(&self.read)
    }
}

/// What a stream does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

// SAFETY: the address is nobody's own; who uses the memory follows from who borrows what owns it, and its queue may be used from any
// thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// So many bytes that say nothing yet.
    pub(crate) fn new(queue: &Arc<Queue>, bytes: usize) -> Result<Self, DeviceError> {
        if bytes == 0 {
            return Ok(Self::with(queue, queue.zeros(), Owner::Nobody));
        }
        queue.enter()?;
        let memory = Self::with(queue, queue.take(bytes)?, Owner::Pool);
        if queue.is_watched() {
            // What the block was before is in the home's stream and left its marks elsewhere.
            memory.uses().written = Some(queue.mark()?);
        }
        Ok(memory)
    }
    /// # Safety
    /// The memory is the queue's device's and `owner`'s; what others do with it comes before what is in the queue's stream from now on.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) unsafe fn of(queue: &Arc<Queue>, first: *mut u8, owner: Owner) -> Result<Self, DeviceError> {
        let memory = Self::with(queue, first, owner);
        if queue.is_watched() {
            memory.uses().written = Some(queue.mark()?);
        }
        Ok(memory)
    }
    fn with(queue: &Arc<Queue>, first: *mut u8, owner: Owner) -> Self {
        Self { queue: queue.clone(), first, owner, uses: Mutex::default() }
    }

    /// The home.
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
    pub(crate) fn first(&self) -> *mut u8 {
        self.first
    }
    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a queue of the same device wait until it may use the memory so.
    pub(crate) fn prepare(&self, queue: &Queue, access: Access) -> Result<(), DeviceError> {
        if matches!(self.owner, Owner::Nobody) {
            return Ok(());
        }
        let is_home = std::ptr::eq(queue, &*self.queue);
        let before: Vec<Arc<Mark>> = {
            let uses = self.uses();
            let all = match access {
                Access::Read => uses.written.iter().chain(&[]),
                Access::Write => uses.written.iter().chain(&uses.read[..]),
            };
            all.filter(|mark| !mark.is_in(queue.line())).cloned().collect()
        };
        if !is_home && !self.is_marked() {
            let since = self.queue.watch()?;
            queue.enter()?;
            queue.wait(&since)?;
        }
        before.iter().try_for_each(|mark| queue.wait(mark))
    }
    /// Gives a queue of the same device work that uses the memory so.
    pub(crate) fn used<R>(
        &self,
        queue: &Queue,
        access: Access,
        work: impl FnOnce() -> Result<R, DeviceError>,
    ) -> Result<R, DeviceError> {
        queue.enter()?;
        self.prepare(queue, access)?;
        let done = work();
        let noted = Notes::new(queue).note(self, access);
        done.and_then(|result| noted.map(|()| result))
    }
    /// Whether there is a mark. All of them stand behind what left none: the home leaves marks from the moment on that its queue is watched, and
    /// a user other than the home waits for that moment, or for another one that did.
    fn is_marked(&self) -> bool {
        self.uses().all().next().is_some()
    }
    /// Takes the memory out of the pool, for whoever owns it from now on; the home's stream has waited for all others.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) fn give_up(mut self) -> Result<Owner, DeviceError> {
        self.prepare(&self.queue, Access::Write)?;
        *self.uses() = Uses::default();
        if matches!(self.owner, Owner::Pool) {
            self.queue.forget(self.first);
        }
        Ok(std::mem::replace(&mut self.owner, Owner::Nobody))
    }
}

/// Notes uses of a queue, all behind what it was given so far, with one mark for all of them.
#[derive(Debug)]
pub(crate) struct Notes<'a> {
    queue: &'a Queue,
    mark: Option<Arc<Mark>>,
}

impl<'a> Notes<'a> {
    pub(crate) fn new(queue: &'a Queue) -> Self {
        Self { queue, mark: None }
    }
    /// The queue was given work that uses the memory so. After an error that work is done, or the device is lost.
    pub(crate) fn note(&mut self, memory: &Memory, access: Access) -> Result<(), DeviceError> {
        if matches!(memory.owner, Owner::Nobody) {
            return Ok(());
        }
        let is_home = std::ptr::eq(self.queue, &*memory.queue);
        if is_home && !self.queue.is_watched() {
            return Ok(());
        }
        let mark = match &self.mark {
            Some(mark) => mark.clone(),
            None => self.mark.insert(self.queue.mark()?).clone(),
        };
        let mut uses = memory.uses();
        match access {
            Access::Write => *uses = Uses { written: Some(mark), read: Vec::new() },
            Access::Read => {
                uses.read.retain(|earlier| !earlier.is_in(self.queue.line()));
                uses.read.push(mark);
            }
        }
        Ok(())
    }
}

/// Makes a stream wait for the mark, or the calling thread where the driver refuses that.
fn wait_somehow(line: &Line, mark: &Mark) {
    // A stream that cannot be waited for has failed for good, and runs nothing any more.
    let waits = line.wait(mark).or_else(|_| mark.wait()).or_else(|_| mark.wait_for_stream());
    if let Err(error) = waits {
        log::debug!("a stream was not waited for: {error}");
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let uses = std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        let line = self.queue.line();
        let mut others = uses.all().filter(|mark| !mark.is_in(line)).peekable();
        if others.peek().is_some() {
            let _ = line.driver().enter();
            others.for_each(|mark| wait_somehow(line, mark));
        }
        match self.owner {
            Owner::Pool => self.queue.give(self.first),
            Owner::Nobody | Owner::Other(_) => {}
        }
    }
}

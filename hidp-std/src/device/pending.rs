//! Asynchronous copies: they are still in progress when the function that began them returns.
//!
//! A borrow cannot keep memory alive for a device: its guard may be forgotten, and the memory freed while the device still writes to it. So the
//! buffer moves in, and out when the copy is done. Forgetting a [`Pending`] leaks the buffer, which is then never freed, and the queue, whose
//! stream is then never destroyed: the device keeps writing to memory without another owner. The other side of the copy needs no such care: device
//! memory returns to its pool in stream order.

use std::fmt;
use std::sync::Arc;

use ndarray::{Dim, Dimension, IntoDimension};

use super::array::{Block, DeviceArray, Storage};
use super::error::ArrayError;
use super::line::Mark;
use super::memory::Access;
use super::pinned::{PinnedArray, is_locked};
use super::queue::Queue;
use super::section::same_shape;
use crate::{Context, Error};

/// An asynchronous copy, with the buffer that it uses: [`Pending::wait`] returns the buffer.
///
/// Dropping it waits for the copy. It may outlive the array and the context.
#[must_use = "dropping it waits for the copy and frees the buffer"]
pub struct Pending<B> {
    /// There until it is taken out. Declared first, but dropped after `Drop::drop` has waited.
    buffer: Option<B>,
    state: State,
}

/// The stream that a copy goes into, and the array's memory.
type Way<'a, T> = (&'a Arc<Queue>, &'a Block<T>);

enum State {
    Done,
    /// Until the queue's stream has come to the mark.
    UnderWay(Arc<Queue>, Arc<Mark>),
    Failed(Error),
}

/// A copy that failed, with its buffer.
pub struct CopyFailed<B>(Box<(Error, Option<B>)>);

impl<B> CopyFailed<B> {
    /// The reason.
    pub fn error(&self) -> &Error {
        &self.0.0
    }
    /// The buffer, unless the device is lost and may have left half an element in it.
    pub fn into_buffer(self) -> Option<B> {
        self.0.1
    }
}

impl<B> From<CopyFailed<B>> for Error {
    fn from(failed: CopyFailed<B>) -> Error {
        failed.0.0
    }
}

impl<B> fmt::Debug for CopyFailed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CopyFailed").field(self.error()).finish()
    }
}

impl<B> fmt::Display for CopyFailed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl<B> std::error::Error for CopyFailed<B> {}

impl<B> Pending<B> {
    fn new(buffer: B, started: Result<State, Error>) -> Self {
        Self { buffer: Some(buffer), state: started.unwrap_or_else(State::Failed) }
    }
    /// Whether [`Pending::wait`] returns at once: the copy is done, or has failed.
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Done | State::Failed(_) => true,
            State::UnderWay(_, mark) => mark.has_come().unwrap_or(true),
        }
    }
    /// Waits for the copy, and returns the buffer.
    ///
    /// # Errors
    /// Any failure of the copy, including when it was begun: [`Error::Array`] for shapes that differ or a context on another device,
    /// [`Error::Device`] if the device fails or is lost. The error contains the buffer, if there still is one.
    pub fn wait(mut self) -> Result<B, CopyFailed<B>> {
        let ended = self.end();
        let buffer = self.buffer.take();
        match (ended, buffer) {
            (Ok(()), Some(buffer)) => Ok(buffer),
            (Ok(()), None) => Err(CopyFailed(Box::new((Error::Allocation, None)))),
            (Err(error), buffer) => {
                let torn = matches!(&error, Error::Device(failure) if failure.is_lost());
                Err(CopyFailed(Box::new((error, buffer.filter(|_| !torn)))))
            }
        }
    }
    /// Afterwards nothing uses the buffer: a stream that cannot be waited for has failed for good, and runs nothing any more.
    fn end(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Done => Ok(()),
            State::UnderWay(queue, mark) => Ok(queue.wait_for(&mark)?),
            State::Failed(error) => Err(error),
        }
    }
}

impl<B> Drop for Pending<B> {
    fn drop(&mut self) {
        if let (Err(error), Some(_)) = (self.end(), &self.buffer) {
            log::warn!("a copy failed that nobody waited for: {error}");
        }
    }
}

impl<B> fmt::Debug for Pending<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Done => "done",
            State::UnderWay(..) => "under way",
            State::Failed(_) => "failed",
        };
        f.debug_tuple("Pending").field(&state).finish()
    }
}

impl<T: Copy + 'static, const N: usize> DeviceArray<T, N>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    /// Begins to copy the elements to a buffer of the same shape, after all work on the array, and returns without waiting.
    ///
    /// The copy goes into the stream of the array's context. On the processor, and if the buffer is not page-locked for the array's device, it has
    /// finished when this returns. [`Pending::wait`] returns errors.
    ///
    /// ```
    /// # fn main() -> hidp_std::Result {
    /// # use hidp_std::{Context, DeviceArray, PinnedArray};
    /// # let cx = Context::new()?;
    /// let array = DeviceArray::from_host(&cx, &[1, 2, 3])?;
    /// let pending = array.download(PinnedArray::zeros(&cx, [3])?);
    /// // … something else meanwhile …
    /// let buffer = pending.wait()?;
    /// assert_eq!(buffer.to_vec(), [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn download(&self, buffer: PinnedArray<T, N>) -> Pending<PinnedArray<T, N>> {
        self.begin_download(buffer, None)
    }
    /// The same in the stream of another context on the same device, concurrently with the array's context, which waits only before it writes
    /// to the array.
    pub fn download_in(&self, cx: &Context, buffer: PinnedArray<T, N>) -> Pending<PinnedArray<T, N>> {
        self.begin_download(buffer, Some(cx))
    }
    /// Begins to copy the elements of a buffer of the same shape to the array, after all work on the array, and returns without waiting.
    ///
    /// Otherwise as [`DeviceArray::download`]. Later work on the array comes after the copy.
    pub fn upload(&mut self, buffer: PinnedArray<T, N>) -> Pending<PinnedArray<T, N>> {
        self.begin_upload(buffer, None)
    }
    /// The same in the stream of another context on the same device, concurrently with the array's context, which waits only before it uses
    /// the array.
    pub fn upload_in(&mut self, cx: &Context, buffer: PinnedArray<T, N>) -> Pending<PinnedArray<T, N>> {
        self.begin_upload(buffer, Some(cx))
    }

    fn begin_download(&self, mut buffer: PinnedArray<T, N>, cx: Option<&Context>) -> Pending<PinnedArray<T, N>> {
        let started = self.start(&buffer, cx).and_then(|way| {
            let to = buffer.whole_mut().cast();
            let Some((queue, block)) = way else { return self.copy_to(&mut buffer).map(|()| State::Done) };
            let (from, bytes) = (block.memory.first(), self.len() * size_of::<T>());
            // SAFETY: so many bytes are there on both sides; the buffer goes into what waits for the copy.
            let copies = || unsafe { queue.start_to_host(to, from, bytes) };
            let mark = block.memory.used(queue, Access::Read, copies)?;
            Ok(State::UnderWay(queue.clone(), mark))
        });
        Pending::new(buffer, started)
    }

    fn begin_upload(&mut self, buffer: PinnedArray<T, N>, cx: Option<&Context>) -> Pending<PinnedArray<T, N>> {
        let started = buffer.check().map_err(|reason| ArrayError::View(reason).into());
        let started = started.and_then(|()| match self.start(&buffer, cx)? {
            None => self.copy_from(&buffer).map(|()| State::Done),
            Some((queue, block)) => {
                let (to, from, bytes) = (block.memory.first(), buffer.as_ptr().cast(), self.len() * size_of::<T>());
                // SAFETY: so many bytes are there on both sides; the buffer goes into what waits for the copy.
                let copies = || unsafe { queue.start_to_device(to, from, bytes) };
                let mark = block.memory.used(queue, Access::Write, copies)?;
                Ok(State::UnderWay(queue.clone(), mark))
            }
        });
        Pending::new(buffer, started)
    }

    /// The stream that a copy goes into; `None` if it is to be made at once.
    fn start<'a>(&'a self, buffer: &PinnedArray<T, N>, cx: Option<&'a Context>) -> Result<Option<Way<'a, T>>, Error> {
        same_shape(&self.shape(), &buffer.extents())?;
        let Storage::Device(block) = &self.storage else { return Ok(None) };
        let queue = match cx {
            None => block.queue(),
            Some(cx) => cx.queue().ok_or(ArrayError::OtherDevice)?,
        };
        if !queue.is_same_device(block.queue()) {
            return Err(ArrayError::OtherDevice.into());
        }
        let bytes = self.len() * size_of::<T>();
        let locked = is_locked(queue.line(), buffer.first().addr(), bytes);
        Ok(locked.then_some((queue, block)))
    }
}

//! Copies from one device to another, or within one.

use super::error::DeviceError;
use super::memory::{Access, Memory, Notes};
use super::queue::Queue;
use super::staging::CHUNK;

/// Copies memory in the stream of the home of `to`: within a device, from a device that it can copy from, or through page-locked memory.
///
/// # Safety
/// Both sides have `bytes` bytes, and `to` has no other user.
pub(super) unsafe fn copy(to: &Memory, from: &Memory, bytes: usize) -> Result<(), DeviceError> {
    let (queue, source) = (to.queue(), from.queue());
    queue.enter()?;
    if queue.is_same_device(source) {
        // SAFETY: the caller's promise.
        let copies = || unsafe { queue.copy_within(to.first(), from.first(), bytes) };
        return from.used(queue, Access::Read, || to.used(queue, Access::Write, copies));
    }
    if queue.can_copy_from(source)? {
        from.prepare(queue, Access::Read)?;
        // SAFETY: the caller's promise.
        let copies = || unsafe { queue.copy_from_peer(to.first(), source, from.first(), bytes) };
        let copied = to.used(queue, Access::Write, copies);
        let noted = Notes::new(queue).note(from, Access::Read);
        return copied.and(noted);
    }
    source.enter()?;
    from.prepare(source, Access::Read)?;
    // SAFETY: the caller's promise.
    let copied = unsafe { through_host(queue, to.first(), source, from.first(), bytes) };
    queue.enter()?;
    let noted = Notes::new(queue).note(to, Access::Write);
    copied.and(noted)
}

/// While one part travels to the device, the next one comes from the other.
///
/// # Safety
/// As [`copy`].
unsafe fn through_host(
    queue: &Queue,
    to: *mut u8,
    source: &Queue,
    from: *const u8,
    bytes: usize,
) -> Result<(), DeviceError> {
    source.count_to_host(bytes);
    queue.count_to_device(bytes);
    for start in (0..bytes).step_by(CHUNK) {
        let part = CHUNK.min(bytes - start);
        queue.enter()?;
        let block = queue.take_pinned(part)?;
        // SAFETY: the part is inside; the block has as many bytes, and no other owner.
        let come = unsafe { source.fetch(block, from.wrapping_add(start), part) };
        let gone = come.and_then(|()| queue.enter());
        if let Err(error) = gone {
            queue.give_pinned(block);
            return Err(error);
        }
        // SAFETY: as above; the queue takes the block back when it is done with it.
        unsafe { queue.send(to.wrapping_add(start), block, part) }?;
    }
    Ok(())
}

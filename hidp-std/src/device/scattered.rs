//! Non-contiguous sections as arguments of calls: packed before, unpacked afterwards.

use std::alloc::{Layout as Bytes, alloc_zeroed, dealloc};
use std::fmt;

use super::array::Storage;
use super::error::DeviceError;
use super::memory::Memory;
use super::queue::Queue;
use super::section::{Section, SectionMut, pack, spread, visit};
use crate::Error;

/// A section of elements of any type.
pub(crate) trait Scattered: fmt::Debug {
    /// Where it is; `None` for the host's memory.
    fn memory(&self) -> Option<&Memory>;
    /// Copies it to adjacent memory of its device, in a queue's stream.
    ///
    /// # Safety
    /// It is on the queue's device, and the memory is the queue's and as large.
    unsafe fn pack(&self, queue: &Queue, to: *mut u8) -> Result<(), DeviceError>;
    /// Copies adjacent memory of its device to it.
    ///
    /// # Safety
    /// As [`Scattered::pack`], and it is borrowed to write to.
    unsafe fn spread(&self, queue: &Queue, from: *mut u8) -> Result<(), DeviceError>;
    /// Copies it to adjacent memory of the host.
    ///
    /// # Safety
    /// It is in the host's memory, and there is room for it.
    unsafe fn pack_on_host(&self, to: *mut u8);
    /// Copies adjacent memory of the host to it.
    ///
    /// # Safety
    /// It is in the host's memory and borrowed to write to, and there are as many elements.
    unsafe fn spread_on_host(&self, from: *const u8);
}

/// Memory of the host for a section.
pub(crate) struct HostBlock {
    first: *mut u8,
    layout: Bytes,
}

impl HostBlock {
    /// With what is in the section, a section of the host's memory, if that is wanted.
    pub(crate) fn of(section: &dyn Scattered, bytes: usize, filled: bool) -> Result<Self, Error> {
        let layout = Bytes::from_size_align(bytes.max(1), 64).map_err(|_| Error::Allocation)?;
        // SAFETY: it has a size.
        let first = unsafe { alloc_zeroed(layout) };
        if first.is_null() {
            return Err(Error::Allocation);
        }
        let block = Self { first, layout };
        if filled {
            // SAFETY: so large is the block.
            unsafe { section.pack_on_host(first) };
        }
        Ok(block)
    }
    pub(crate) fn first(&self) -> *mut u8 {
        self.first
    }
    /// Copies it to the section that it was made for, which is borrowed to write to.
    pub(crate) fn spread(&self, section: &dyn Scattered) {
        // SAFETY: a call has written all elements, or they are the section's.
        unsafe { section.spread_on_host(self.first) }
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // SAFETY: it was made with this layout.
        unsafe { dealloc(self.first, self.layout) }
    }
}

macro_rules! scattered {
    ($section:ident, |$this:ident| $written:expr) => {
        impl<T: Copy, const N: usize> Scattered for $section<'_, T, N> {
            fn memory(&self) -> Option<&Memory> {
                match &self.array.storage {
                    Storage::Device(block) => Some(&block.memory),
                    Storage::Host(_) => None,
                }
            }
            unsafe fn pack(&self, queue: &Queue, to: *mut u8) -> Result<(), DeviceError> {
                let Storage::Device(block) = &self.array.storage else { return Ok(()) };
                // SAFETY: the caller's promise.
                unsafe { pack(queue, block, &self.layout, to) }
            }
            unsafe fn spread(&self, queue: &Queue, from: *mut u8) -> Result<(), DeviceError> {
                let Storage::Device(block) = &self.array.storage else { return Ok(()) };
                // SAFETY: the caller's promise.
                unsafe { spread(queue, block, &self.layout, from) }
            }
            unsafe fn pack_on_host(&self, to: *mut u8) {
                let Storage::Host(elements) = &self.array.storage else { return };
                let (first, to) = (elements.as_ptr(), to.cast::<T>());
                // SAFETY: rows are inside the array; there is room.
                visit(&self.layout, |number, row, width| unsafe {
                    to.add(number).copy_from_nonoverlapping(first.add(row), width)
                });
            }
            unsafe fn spread_on_host(&self, from: *const u8) {
                let $this = self;
                let (first, from): (*mut T, _) = ($written, from.cast::<T>());
                assert!(!first.is_null(), "calls write to what is borrowed to write to");
                // SAFETY: rows are inside the array, which the section has to itself.
                visit(&self.layout, |number, row, width| unsafe {
                    first.add(row).copy_from_nonoverlapping(from.add(number), width)
                });
            }
        }

        impl<T, const N: usize> fmt::Debug for $section<'_, T, N> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($section)).field("shape", &self.layout.shape).finish_non_exhaustive()
            }
        }
    };
}

scattered!(Section, |_section| std::ptr::null_mut());
scattered!(SectionMut, |section| section.host);

//! Memory for measurements: huge pages asked for, bases staggered, every page written.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Plain numbers: any bytes are a value.
pub trait Number: Copy + 'static {}
impl Number for f32 {}
impl Number for f64 {}
impl Number for i32 {}
impl Number for i64 {}
impl Number for u8 {}
impl Number for u16 {}
impl Number for u32 {}
impl Number for u64 {}
impl<K: Number> Number for crate::cases::Pair<K> {}
impl Number for crate::kernels::papers_hicuda::Atom {}
impl Number for crate::kernels::papers_hicuda::Point {}
impl Number for crate::kernels::papers_hicuda::Quartet {}
impl Number for crate::kernels::papers_lee::Place {}

const HUGE_PAGE: usize = 2 << 20;

/// Arrays whose bases agree modulo 4 KiB evict one another from the first-level cache; each next one starts 320 bytes later.
static NEXT_OFFSET: AtomicUsize = AtomicUsize::new(0);

/// A slice on huge pages.
pub struct Buffer<T: Number> {
    base: NonNull<u8>,
    layout: Layout,
    data: NonNull<T>,
    len: usize,
}

impl<T: Number> Buffer<T> {
    /// `len` elements made by `value` of the index.
    pub fn from_fn(len: usize, mut value: impl FnMut(usize) -> T) -> Buffer<T> {
        let offset = (NEXT_OFFSET.fetch_add(1, Ordering::Relaxed) % 12) * 320;
        let bytes = (len * size_of::<T>() + offset + 64).next_multiple_of(HUGE_PAGE);
        let layout = Layout::from_size_align(bytes, HUGE_PAGE).expect("a layout that fits");
        // SAFETY: the layout has a size above 0; the offset keeps 64-byte alignment and the data inside the block.
        let (base, data) = unsafe {
            let base = NonNull::new(alloc(layout)).unwrap_or_else(|| handle_alloc_error(layout));
            libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
            (base, base.add(offset).cast::<T>())
        };
        for index in 0..len {
            // SAFETY: `index` is below `len`, for which the block was made.
            unsafe { data.add(index).write(value(index)) };
        }
        Buffer { base, layout, data, len }
    }
}

impl<T: Number> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: all `len` elements were written when the buffer was made.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T: Number> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; the buffer owns its block.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl<T: Number> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

//! Page-locked host arrays, which devices access directly.

use std::collections::BTreeMap;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ndarray::{ArrayRef, ArrayViewMut, Dim, Dimension, IntoDimension};

use super::array::{Zeroed, count_of, host_memory};
use super::error::ArrayError;
use super::line::Line;
use super::queue::Queue;
use crate::{Context, Error, View, ViewError, ViewMut};

/// An array in page-locked host memory: a device copies from it and to it directly, without delaying other copies of the program.
///
/// It dereferences to an `ndarray` array, and is passed wherever an array is. Copies between it (or a slice or a view of it) and the device of its
/// context are direct, rather than staged through page-locked chunks: each byte is touched once less. Asynchronous copies take ownership of the
/// array: [`DeviceArray::download`](crate::DeviceArray::download) and [`DeviceArray::upload`](crate::DeviceArray::upload).
///
/// With a context on the processor it is ordinary memory, and so it is for the devices of other contexts. Page-locked memory is taken from the
/// whole machine: lock what is copied often, not everything.
///
/// ```
/// use hidp_std::{Context, DeviceArray, PinnedArray};
///
/// # fn main() -> hidp_std::Result {
/// let cx = Context::new()?;
/// let mut buffer = PinnedArray::<f32, 2>::zeros(&cx, [2, 3])?;
/// buffer[[1, 2]] = 5.0;
/// let array = DeviceArray::from_host(&cx, &buffer)?;
/// assert_eq!(array.to_array()?, *buffer);
/// # Ok(())
/// # }
/// ```
pub struct PinnedArray<T: 'static, const N: usize> {
    /// Of `memory`. Whoever has it to write to may turn its axes around, or look at a part only.
    view: ArrayViewMut<'static, T, Dim<[usize; N]>>,
    memory: Locked<T>,
    shape: [usize; N],
}

/// Elements of the host's memory that `self` owns. They do not move.
struct Locked<T> {
    first: *mut T,
    count: usize,
    /// Whose page-locked memory it is; `None` for ordinary memory.
    queue: Option<Arc<Queue>>,
}

// SAFETY: it owns its elements.
unsafe impl<T: Send> Send for Locked<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// `fill` writes all elements.
    fn new(cx: &Context, count: usize, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<Self, Error> {
        const { assert!(align_of::<T>() <= 64, "page-locked memory is aligned to 64 bytes") };
        let bytes = count.checked_mul(size_of::<T>()).ok_or(ArrayError::Size)?;
        let Some(queue) = cx.queue().filter(|_| bytes > 0) else {
            let mut memory = host_memory(count, |_| {})?;
            fill(&mut memory.spare_capacity_mut()[..count]);
            // SAFETY: there is room for so many elements, which `fill` wrote.
            unsafe { memory.set_len(count) };
            let first = Box::into_raw(memory.into_boxed_slice()).cast();
            return Ok(Self { first, count, queue: None });
        };
        queue.enter()?;
        let first: *mut T = queue.lock_memory(bytes)?.cast();
        // SAFETY: the block is as large, and has no other owner.
        fill(unsafe { std::slice::from_raw_parts_mut(first.cast(), count) });
        registry().insert(first.addr(), (bytes, queue.shared_line()));
        LOCKED.fetch_add(1, Ordering::SeqCst);
        Ok(Self { first, count, queue: Some(queue.clone()) })
    }
}

impl<T> Drop for Locked<T> {
    fn drop(&mut self) {
        match &self.queue {
            Some(queue) => {
                registry().remove(&self.first.addr());
                LOCKED.fetch_sub(1, Ordering::SeqCst);
                // Nothing copies from or to it: copies of borrowed memory are done when they return, others own it.
                queue.give_pinned(self.first.cast());
            }
            // SAFETY: it came from such a box. Elements are `Copy`.
            None => drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.first, self.count)) }),
        }
    }
}

/// How much is in the registry.
static LOCKED: AtomicUsize = AtomicUsize::new(0);

type Registry = BTreeMap<usize, (usize, Arc<Line>)>;

/// Page-locked memory of arrays: first address, bytes, and a stream of its device.
fn registry() -> MutexGuard<'static, Registry> {
    static BLOCKS: Mutex<Registry> = Mutex::new(BTreeMap::new());
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether so many bytes of the host's memory are page-locked for the stream's device.
pub(super) fn is_locked(line: &Line, address: usize, bytes: usize) -> bool {
    if LOCKED.load(Ordering::SeqCst) == 0 || bytes == 0 {
        return false;
    }
    let of = registry().range(..=address).next_back().and_then(|(first, (length, line))| {
        let inside = address.checked_add(bytes)? <= first + length;
        inside.then(|| line.clone())
    });
    of.is_some_and(|of| line.driver().is_same_device(of.driver()))
}

impl<T: Copy + 'static, const N: usize> PinnedArray<T, N>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    /// An array of zeros.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver has no such memory or the device is lost, [`Error::Allocation`] on the processor, [`Error::Array`] for a shape that
    /// no array has.
    pub fn zeros(cx: &Context, shape: [usize; N]) -> Result<Self, Error>
    where
        T: Zeroed,
    {
        let zero = |element: &mut MaybeUninit<T>| *element = MaybeUninit::zeroed();
        let memory = Locked::new(cx, count_of(&shape)?, |elements| elements.iter_mut().for_each(zero))?;
        Self::of(memory, shape)
    }

    /// A copy of an array.
    ///
    /// # Errors
    /// As [`PinnedArray::zeros`], and [`Error::Array`] for what is no array in the host's memory.
    pub fn from_host(cx: &Context, array: &(impl View<T, N> + ?Sized)) -> Result<Self, Error> {
        let (elements, shape) = array.elements().map_err(ArrayError::View)?;
        let count = count_of(&shape)?;
        if count != elements.len() {
            return Err(ArrayError::View(ViewError::Length { elements: elements.len(), shape: Some(count) }).into());
        }
        let copy = |room: &mut [MaybeUninit<T>]| {
            room.iter_mut().zip(elements).for_each(|(to, from)| _ = to.write(*from));
        };
        Self::of(Locked::new(cx, count, copy)?, shape)
    }

    fn of(memory: Locked<T>, shape: [usize; N]) -> Result<Self, Error> {
        Ok(Self { view: Self::view(&memory, shape), memory, shape })
    }

    fn view(memory: &Locked<T>, shape: [usize; N]) -> ArrayViewMut<'static, T, Dim<[usize; N]>> {
        // SAFETY: so many elements are there for as long as `memory`, which who has the view owns too, and which has no other view.
        unsafe { ArrayViewMut::from_shape_ptr(shape, memory.first) }
    }

    /// The first element.
    pub(super) fn first(&self) -> *const T {
        self.memory.first
    }
    /// The memory, for a device to write to: all of it is in the array's shape again.
    pub(super) fn whole_mut(&mut self) -> *mut T {
        self.view = Self::view(&self.memory, self.shape);
        self.memory.first
    }
}

impl<T: 'static, const N: usize> PinnedArray<T, N> {
    /// The extents that it was made with, outermost first: those of all copies.
    pub fn extents(&self) -> [usize; N] {
        self.shape
    }
    /// Whether the memory is page-locked, rather than ordinary memory of a context on the processor, or without elements.
    pub fn is_page_locked(&self) -> bool {
        self.memory.queue.is_some()
    }
}

impl<T: 'static, const N: usize> PinnedArray<T, N>
where
    Dim<[usize; N]>: Dimension,
{
    /// Whether what one sees is all that is there.
    pub(super) fn check(&self) -> Result<(), ViewError> {
        let whole = self.view.shape() == self.shape && self.view.is_standard_layout();
        let first = self.memory.count == 0 || std::ptr::eq(self.view.as_ptr(), self.memory.first);
        if whole && first { Ok(()) } else { Err(ViewError::NotContiguous) }
    }
}

impl<T: 'static, const N: usize> Deref for PinnedArray<T, N> {
    type Target = ArrayRef<T, Dim<[usize; N]>>;
    fn deref(&self) -> &Self::Target {
        &self.view
    }
}

impl<T: 'static, const N: usize> DerefMut for PinnedArray<T, N>
where
    Dim<[usize; N]>: Dimension,
{
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.view
    }
}

impl<T: 'static, const N: usize> View<T, N> for PinnedArray<T, N>
where
    Dim<[usize; N]>: Dimension,
{
    fn elements(&self) -> Result<(&[T], [usize; N]), ViewError> {
        self.check()?;
        Ok((self.view.as_slice().ok_or(ViewError::NotContiguous)?, self.shape))
    }
}

impl<T: 'static, const N: usize> ViewMut<T, N> for PinnedArray<T, N>
where
    Dim<[usize; N]>: Dimension,
{
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; N]), ViewError> {
        self.check()?;
        Ok((self.view.as_slice_mut().ok_or(ViewError::NotContiguous)?, self.shape))
    }
}

impl<T: 'static, const N: usize> fmt::Debug for PinnedArray<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedArray").field("shape", &self.shape).field("page_locked", &self.is_page_locked()).finish()
    }
}

//! Host arrays with a copy on a device, which track which of the two is valid.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ndarray::{Array, ArrayView, ArrayViewMut, Dim, Dimension, IntoDimension, SliceArg, SliceInfo, SliceInfoElem};

use super::array::{Block, Zeroed, count_of, host_memory};
use super::error::ArrayError;
use super::layout::Layout;
use super::memory::{Access, Notes};
use super::queue::Queue;
use super::section::{gather, write_section};
use crate::view::{Away, OnDevice, OnDeviceMut};
use crate::{Context, Error, View, ViewError, ViewMut};

/// A host array with a copy on a device. Elements are copied on demand.
///
/// Calls take it like any array. A call on the mirror's device copies what the host has changed since the last one, and nothing back;
/// [`Mirror::host`] copies what a device has changed since the last access of the host. So a program that calls several kernels and reads the
/// host's side from time to time makes the minimum of copies.
///
/// With a context on the processor it is an ordinary host array. A call that runs on the processor, or on another device, gets the host's
/// side.
///
/// ```
/// use hidp_std::{Context, Mirror};
/// use ndarray::{array, s};
///
/// # fn main() -> hidp_std::Result {
/// let cx = Context::new()?;
/// let mut grid = Mirror::new(&cx, array![[1.0, 2.0], [3.0, 4.0]])?;
/// // kernels::heat::step(&cx, &mut grid)?; as often as one likes: copied once
/// grid.section_mut(s![0..1, ..])?.fill(0.0); // the next call copies this row
/// assert_eq!(grid.host()?, array![[0.0, 0.0], [3.0, 4.0]]);
/// # Ok(())
/// # }
/// ```
///
/// After a fault both sides hold valid elements, but not all of the call's results, as with [`crate::DeviceArray`]. After the loss of the device
/// the host's side remains accessible if it was valid.
pub struct Mirror<T, const N: usize> {
    /// Of the copy; `None` on the processor.
    queue: Option<Arc<Queue>>,
    /// Written through a shared reference while `Sides::fresh` is `Device`, when there are no readers; in standard layout.
    host: UnsafeCell<Array<T, Dim<[usize; N]>>>,
    sides: Mutex<Sides<T, N>>,
    shape: [usize; N],
}

struct Sides<T, const N: usize> {
    /// Made when it is first wanted.
    block: Option<Block<T>>,
    fresh: Fresh<N>,
}

/// Which side is good.
enum Fresh<const N: usize> {
    /// The host's; the other one may say anything.
    Host,
    Both,
    /// Both, but for these sections, which the host changed.
    But(Vec<Layout<N>>),
    /// The device's; the other one is what it was before.
    Device,
}

/// Sections that are kept apart. With more, the whole array counts as changed.
const MOST_SECTIONS: usize = 16;

// SAFETY: it owns its elements on both sides.
unsafe impl<T: Send, const N: usize> Send for Mirror<T, N> {}
// SAFETY: shared references write to the host's side under the lock, and only while `fresh` is `Device`; then nobody has a reference to it, since
// all that give one make both sides good first, and only who has the mirror to write to makes it `Device` again.
unsafe impl<T: Send + Sync, const N: usize> Sync for Mirror<T, N> {}

/// A mirror of elements of any type, for calls. Who writes has the mirror borrowed to write to.
pub(crate) trait Mirrored: fmt::Debug {
    /// Whether only the device's side is good.
    fn is_away(&self) -> bool;
    /// How many arrays or sections, and bytes, go to the device before it may be read there.
    fn to_copy(&self) -> (u64, u64);
    /// The first element on the host, whose side is good; if it is written, the only one.
    fn on_host(&self, writes: bool) -> Result<*mut c_void, Error>;
    /// The first element on a queue's device, after what comes first in its stream; its side is good if it is read. `None` if the
    /// copy is on another device.
    fn on_queue(&self, queue: &Queue, reads: bool, writes: bool) -> Result<Option<*mut c_void>, Error>;
    /// What asked for `on_queue` was run, and did what it should or not.
    fn has_run(&self, notes: &mut Notes<'_>, writes: bool, succeeded: bool) -> Result<(), Error>;
}

impl<T: Copy, const N: usize> Mirror<T, N>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    /// A mirror of the array. Nothing is copied yet, unless its elements have to be put in row-major order.
    ///
    /// # Errors
    /// None so far; devices are asked when their copy is wanted.
    pub fn new(cx: &Context, array: Array<T, Dim<[usize; N]>>) -> Result<Self, Error> {
        let array = if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() };
        let shape = std::array::from_fn(|axis| array.shape()[axis]);
        let sides = Mutex::new(Sides { block: None, fresh: Fresh::Host });
        Ok(Self { queue: cx.queue().cloned(), host: UnsafeCell::new(array), sides, shape })
    }
    /// A mirror of zeros.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the host has no memory, [`Error::Array`] for a shape that no array has.
    pub fn zeros(cx: &Context, shape: [usize; N]) -> Result<Self, Error>
    where
        T: Zeroed,
    {
        let count = count_of(&shape)?;
        // SAFETY: all bits zero are a value.
        let zero = unsafe { std::mem::MaybeUninit::<T>::zeroed().assume_init() };
        let memory = host_memory(count, |memory| memory.resize(count, zero))?;
        Self::new(cx, Array::from_shape_vec(shape, memory).map_err(|_| ArrayError::Size)?)
    }
    /// The array to read on the host. Waits for the device if that changed it.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails or is lost.
    pub fn host(&self) -> Result<ArrayView<'_, T, Dim<[usize; N]>>, Error> {
        self.bring_back(&mut self.sides())?;
        // SAFETY: the host's side is good; see `Sync`.
        Ok(unsafe { &*self.host.get() }.view())
    }
    /// The array to write on the host; all of it counts as changed.
    ///
    /// # Errors
    /// As [`Mirror::host`].
    pub fn host_mut(&mut self) -> Result<ArrayViewMut<'_, T, Dim<[usize; N]>>, Error> {
        self.bring_back(&mut self.sides())?;
        self.sides().fresh = Fresh::Host;
        Ok(self.host.get_mut().view_mut())
    }
    /// A part of the array to write on the host, as `ndarray`'s `s![…]` describes it with one range per dimension. It alone counts as changed, so
    /// that the next call on the device copies no more than that.
    ///
    /// # Errors
    /// [`Error::Array`] if that is no part of the array, or has a negative step; and as [`Mirror::host`].
    pub fn section_mut(
        &mut self,
        part: SliceInfo<[SliceInfoElem; N], Dim<[usize; N]>, Dim<[usize; N]>>,
    ) -> Result<ArrayViewMut<'_, T, Dim<[usize; N]>>, Error>
    where
        SliceInfo<[SliceInfoElem; N], Dim<[usize; N]>, Dim<[usize; N]>>:
            SliceArg<Dim<[usize; N]>, OutDim = Dim<[usize; N]>>,
    {
        let layout = Layout::section(self.shape, &part)?;
        {
            let mut sides = self.sides();
            self.bring_back(&mut sides)?;
            sides.fresh = match std::mem::replace(&mut sides.fresh, Fresh::Host) {
                Fresh::Both => Fresh::But(vec![layout]),
                Fresh::But(mut sections) if sections.len() < MOST_SECTIONS => {
                    sections.push(layout);
                    Fresh::But(sections)
                }
                Fresh::But(_) | Fresh::Host | Fresh::Device => Fresh::Host,
            };
        }
        Ok(self.host.get_mut().slice_mut(part))
    }
    /// The array, after what the device changed was brought back.
    ///
    /// # Errors
    /// As [`Mirror::host`].
    pub fn into_array(self) -> Result<Array<T, Dim<[usize; N]>>, Error> {
        self.bring_back(&mut self.sides())?;
        Ok(self.host.into_inner())
    }

    /// Makes the host's side good.
    fn bring_back(&self, sides: &mut Sides<T, N>) -> Result<(), Error> {
        if !matches!(sides.fresh, Fresh::Device) {
            return Ok(());
        }
        if let Some(block) = sides.block.as_ref().filter(|_| self.bytes() > 0) {
            let queue = block.queue();
            // SAFETY: the host's side has no readers while only the device's is valid; see `Sync`.
            let to = unsafe { (*self.host.get()).as_mut_ptr() };
            // SAFETY: so many bytes are there on both sides.
            let brings = || unsafe { queue.download(to.cast(), block.memory.first(), self.bytes()) };
            block.memory.used(queue, Access::Read, brings)?;
        }
        sides.fresh = Fresh::Both;
        Ok(())
    }

    /// Makes the device's side good, in a queue's stream.
    fn send(&self, block: &Block<T>, fresh: &Fresh<N>, queue: &Queue) -> Result<(), Error> {
        // SAFETY: the host's side is good unless this is `Device`, when it is not looked at.
        let from = unsafe { (*self.host.get()).as_ptr() };
        match fresh {
            Fresh::Both | Fresh::Device => {}
            Fresh::Host => {
                // SAFETY: so many bytes are there on both sides.
                let sends = || unsafe { queue.upload(block.memory.first(), from.cast(), self.bytes()) };
                block.memory.used(queue, Access::Write, sends)?;
            }
            Fresh::But(sections) => {
                // SAFETY: so many elements are there.
                let elements = unsafe { std::slice::from_raw_parts(from, self.len()) };
                sections.iter().try_for_each(|section| write_section(block, section, &gather(section, elements)?))?;
            }
        }
        Ok(())
    }
}

impl<T, const N: usize> Mirror<T, N> {
    /// The extents, outermost first.
    pub fn shape(&self) -> [usize; N] {
        self.shape
    }
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }
    fn sides(&self) -> MutexGuard<'_, Sides<T, N>> {
        self.sides.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy, const N: usize> Mirrored for Mirror<T, N>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    fn is_away(&self) -> bool {
        matches!(self.sides().fresh, Fresh::Device)
    }
    fn to_copy(&self) -> (u64, u64) {
        match &self.sides().fresh {
            Fresh::Host if !self.is_empty() => (1, self.bytes() as u64),
            Fresh::Host | Fresh::Both | Fresh::Device => (0, 0),
            Fresh::But(sections) => {
                let lengths = sections.iter().map(Layout::len).filter(|length| *length > 0);
                lengths.fold((0, 0), |(arrays, bytes), length| (arrays + 1, bytes + (length * size_of::<T>()) as u64))
            }
        }
    }
    fn on_host(&self, writes: bool) -> Result<*mut c_void, Error> {
        let mut sides = self.sides();
        self.bring_back(&mut sides)?;
        if writes {
            sides.fresh = Fresh::Host;
        }
        let host = self.host.get();
        // SAFETY: the host's side is good; who writes has the mirror to himself.
        Ok(unsafe { if writes { (*host).as_mut_ptr().cast() } else { (*host).as_ptr().cast_mut().cast() } })
    }
    fn on_queue(&self, queue: &Queue, reads: bool, writes: bool) -> Result<Option<*mut c_void>, Error> {
        let Some(home) = self.queue.as_ref().filter(|home| queue.is_same_device(home)) else { return Ok(None) };
        if self.is_empty() {
            return Ok(Some(queue.zeros().cast()));
        }
        let mut sides = self.sides();
        let Sides { block, fresh } = &mut *sides;
        let block = match block {
            Some(block) => block,
            None => block.insert(Block::new(home, self.len())?),
        };
        if reads && !matches!(fresh, Fresh::Device) {
            self.send(block, fresh, queue)?;
            *fresh = Fresh::Both;
        }
        queue.enter()?;
        block.memory.prepare(queue, if writes { Access::Write } else { Access::Read })?;
        Ok(Some(block.memory.first().cast()))
    }
    fn has_run(&self, notes: &mut Notes<'_>, writes: bool, succeeded: bool) -> Result<(), Error> {
        let mut sides = self.sides();
        let Sides { block, fresh } = &mut *sides;
        let Some(block) = block else { return Ok(()) };
        if writes {
            *fresh = match fresh {
                Fresh::Both | Fresh::Device => Fresh::Device,
                Fresh::Host | Fresh::But(_) if succeeded => Fresh::Device,
                // It was not copied, since all of it was to be written: what is there now says nothing.
                Fresh::Host | Fresh::But(_) => Fresh::Host,
            };
        }
        Ok(notes.note(&block.memory, if writes { Access::Write } else { Access::Read })?)
    }
}

impl<T: Copy, const N: usize> View<T, N> for Mirror<T, N>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    fn elements(&self) -> Result<(&[T], [usize; N]), ViewError> {
        self.bring_back(&mut self.sides()).map_err(|_| ViewError::NotCopied)?;
        // SAFETY: the host's side is good; see `Sync`.
        let host = unsafe { &*self.host.get() };
        Ok((host.as_slice().ok_or(ViewError::NotContiguous)?, self.shape))
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, N>> {
        self.queue.as_ref().map(|_| OnDevice::new(Away::Mirrored(self), self.shape))
    }
}

impl<T: Copy, const N: usize> ViewMut<T, N> for Mirror<T, N>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; N]), ViewError> {
        self.bring_back(&mut self.sides()).map_err(|_| ViewError::NotCopied)?;
        self.sides().fresh = Fresh::Host;
        let shape = self.shape;
        Ok((self.host.get_mut().as_slice_mut().ok_or(ViewError::NotContiguous)?, shape))
    }
    fn on_device_mut(&mut self) -> Option<OnDeviceMut<'_, T, N>> {
        View::<T, N>::on_device(&*self).map(OnDeviceMut::new)
    }
}

impl<T, const N: usize> fmt::Debug for Mirror<T, N> {
    /// Where and how large, not the elements: that would wait for the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.queue.as_ref().map_or_else(|| "host".to_owned(), |queue| queue.facts().to_string());
        f.debug_struct("Mirror").field("shape", &self.shape).field("place", &format_args!("{place}")).finish()
    }
}

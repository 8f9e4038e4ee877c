//! Sections of arrays on devices, and copies from and to them.
//!
//! Only contiguous bytes travel between the host and a device: the device itself packs or unpacks scattered ones. A copy engine moves rows of a
//! few bytes far slower over the bus than within its memory.

use ndarray::{Array, Dim, Dimension, IntoDimension};

use super::array::{Block, DeviceArray, Storage, count_of, host_memory};
use super::driver::Rows;
use super::error::{ArrayError, DeviceError};
use super::layout::{Layout, Plane};
use super::memory::{Access, Notes};
use super::queue::Queue;
use super::scattered::Scattered;
use crate::view::{Away, OnDevice, OnDeviceMut};
use crate::{Error, View, ViewError, ViewMut};

/// A part of a [`DeviceArray`].
///
/// Calls take it like the array. If it is not contiguous, the device packs the elements that the call reads before it, and unpacks those that it
/// writes afterwards; not if the call fails, so the array is then unchanged.
pub struct Section<'a, T, const N: usize> {
    pub(super) array: &'a DeviceArray<T, N>,
    pub(super) layout: Layout<N>,
}

/// A part of a [`DeviceArray`] to write to.
///
/// Calls take it like the array. If it is not contiguous, the device packs the elements that the call reads before it, and unpacks those that it
/// writes afterwards; not if the call fails, so the array is then unchanged.
pub struct SectionMut<'a, T, const N: usize> {
    pub(super) array: &'a mut DeviceArray<T, N>,
    pub(super) layout: Layout<N>,
    /// The array's first element, of one in the host's memory that a call is about to write to.
    pub(super) host: *mut T,
}

// SAFETY: the pointer is to what is borrowed anyway.
unsafe impl<T: Send, const N: usize> Send for SectionMut<'_, T, N> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize> Sync for SectionMut<'_, T, N> {}

pub(super) fn same_shape(device: &[usize], other: &[usize]) -> Result<(), ArrayError> {
    if device == other { Ok(()) } else { Err(ArrayError::Shape { device: device.into(), other: other.into() }) }
}

impl<'a, T: Copy, const N: usize> Section<'a, T, N> {
    pub(super) fn new(array: &'a DeviceArray<T, N>, layout: Layout<N>) -> Self {
        Self { array, layout }
    }
    /// The extents, outermost first.
    pub fn shape(&self) -> [usize; N] {
        self.layout.shape
    }
    /// The elements in row-major order.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let count = self.layout.len();
        let mut elements = host_memory(count, |_| {})?;
        // SAFETY: there is room for so many elements, all of which are then there.
        unsafe {
            self.read(elements.as_mut_ptr())?;
            elements.set_len(count);
        }
        Ok(elements)
    }
    /// The section as an `ndarray` array.
    pub fn to_array(&self) -> Result<Array<T, Dim<[usize; N]>>, Error>
    where
        [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
        Dim<[usize; N]>: Dimension,
    {
        Array::from_shape_vec(self.layout.shape, self.to_vec()?).map_err(|_| ArrayError::Size.into())
    }
    /// Copies the elements to an array of the same shape.
    pub fn copy_to(&self, array: &mut (impl ViewMut<T, N> + ?Sized)) -> Result<(), Error> {
        let (elements, shape) = array.elements_mut().map_err(ArrayError::View)?;
        check_view(elements, &shape)?;
        same_shape(&self.layout.shape, &shape)?;
        // SAFETY: so many elements are there.
        unsafe { self.read(elements.as_mut_ptr()) }
    }
    /// The section as an array of its own, in the same place.
    pub fn to_device(&self) -> Result<DeviceArray<T, N>, Error> {
        let (shape, count) = (self.layout.shape, self.layout.len());
        match &self.array.storage {
            Storage::Host(_) => Ok(DeviceArray::from_storage(Storage::Host(self.to_vec()?), shape)),
            Storage::Device(block) => {
                let copy = Block::new(block.queue(), count)?;
                let queue = block.queue();
                // SAFETY: so large is the copy.
                let packs = || unsafe { pack(queue, block, &self.layout, copy.memory.first()) };
                copy.memory.used(queue, Access::Write, packs)?;
                Ok(DeviceArray::from_storage(Storage::Device(copy), shape))
            }
        }
    }

    /// # Safety
    /// There is room for the section's elements.
    unsafe fn read(&self, to: *mut T) -> Result<(), Error> {
        let layout = &self.layout;
        let bytes = layout.len() * size_of::<T>();
        match &self.array.storage {
            Storage::Host(elements) => {
                visit(layout, |number, row, width| {
                    // SAFETY: the row is inside the array; there is room.
                    unsafe { to.add(number).copy_from_nonoverlapping(elements[row..].as_ptr(), width) }
                });
                Ok(())
            }
            Storage::Device(_) if bytes == 0 => Ok(()),
            Storage::Device(block) => {
                let queue = block.queue();
                if layout.is_contiguous() {
                    let first = block.rows(layout.start, 0).first;
                    // SAFETY: so many elements are there on both sides.
                    block.memory.used(queue, Access::Read, || unsafe { queue.download(to.cast(), first, bytes) })?;
                    return Ok(());
                }
                let packed = Block::<T>::new(queue, layout.len())?;
                // SAFETY: as above.
                unsafe {
                    pack(queue, block, layout, packed.memory.first())?;
                    queue.download(to.cast(), packed.memory.first(), bytes)?;
                }
                Ok(())
            }
        }
    }
}

impl<'a, T: Copy, const N: usize> SectionMut<'a, T, N> {
    pub(super) fn new(array: &'a mut DeviceArray<T, N>, layout: Layout<N>) -> Self {
        Self { array, layout, host: std::ptr::null_mut() }
    }
    /// The extents, outermost first.
    pub fn shape(&self) -> [usize; N] {
        self.layout.shape
    }
    /// Copies the elements of an array of the same shape.
    pub fn copy_from(&mut self, array: &(impl View<T, N> + ?Sized)) -> Result<(), Error> {
        if let Some(source) = array.on_device() {
            same_shape(&self.layout.shape, &source.shape)?;
            if self.copy_on_device(&source)? {
                return Ok(());
            }
        }
        let (elements, shape) = array.elements().map_err(ArrayError::View)?;
        check_view(elements, &shape)?;
        same_shape(&self.layout.shape, &shape)?;
        self.write(elements)
    }
    /// Copies the elements of another section of the same shape.
    pub fn copy_from_section(&mut self, section: &Section<'_, T, N>) -> Result<(), Error> {
        same_shape(&self.layout.shape, &section.layout.shape)?;
        match (&self.array.storage, &section.array.storage) {
            (Storage::Device(to), Storage::Device(from)) => {
                if !to.queue().is_same_device(from.queue()) {
                    return Err(ArrayError::OtherDevice.into());
                }
                let packed = section.to_device()?;
                self.copy_from(&packed)
            }
            (Storage::Host(_), Storage::Host(_) | Storage::Device(_)) | (Storage::Device(_), Storage::Host(_)) => {
                self.write(&section.to_vec()?)
            }
        }
    }

    /// Whether it was copied; else the host has it.
    fn copy_on_device(&mut self, source: &OnDevice<'_, T, N>) -> Result<bool, Error> {
        let Storage::Device(block) = &self.array.storage else {
            return if source.away.is_resident() { self.copy_to_host(source) } else { Ok(false) };
        };
        let queue = block.queue();
        // SAFETY: the source has as many elements, and is borrowed, so that it is no part of this array.
        let spreads = |first| unsafe { spread(queue, block, &self.layout, first) };
        match source.away {
            Away::Adjacent(memory, _) if !queue.is_same_device(memory.queue()) => Err(ArrayError::OtherDevice.into()),
            Away::Adjacent(memory, first) => memory.used(queue, Access::Read, || spreads(first)).map_err(Error::from),
            Away::Scattered(section) => match section.memory() {
                None => return Err(ArrayError::View(ViewError::Scattered).into()),
                Some(memory) if !queue.is_same_device(memory.queue()) => Err(ArrayError::OtherDevice.into()),
                Some(_) => {
                    let packed = Block::<T>::new(queue, self.layout.len())?;
                    // SAFETY: so large is the block.
                    unsafe { section.pack(queue, packed.memory.first()) }?;
                    Ok(spreads(packed.memory.first())?)
                }
            },
            Away::Mirrored(mirror) => match mirror.on_queue(queue, true, false)? {
                None => return Ok(false),
                Some(first) => {
                    let copied = spreads(first.cast());
                    let noted = mirror.has_run(&mut Notes::new(queue), false, true);
                    copied.map_err(Error::from).and(noted)
                }
            },
        }?;
        Ok(true)
    }
    /// The same for an array in the host's memory.
    fn copy_to_host(&mut self, source: &OnDevice<'_, T, N>) -> Result<bool, Error> {
        match source.away {
            Away::Mirrored(_) => Ok(false),
            Away::Adjacent(..) | Away::Scattered(_) => Err(ArrayError::OtherDevice.into()),
        }
    }

    fn write(&mut self, from: &[T]) -> Result<(), Error> {
        let layout = self.layout;
        match &mut self.array.storage {
            Storage::Host(elements) => {
                visit(&layout, |number, row, width| {
                    elements[row..row + width].copy_from_slice(&from[number..number + width]);
                });
                Ok(())
            }
            Storage::Device(block) => write_section(block, &layout, from),
        }
    }
}

/// Copies elements of the host to a section, in the stream of the block's home.
pub(super) fn write_section<T: Copy, const N: usize>(
    block: &Block<T>,
    layout: &Layout<N>,
    from: &[T],
) -> Result<(), Error> {
    if from.is_empty() {
        return Ok(());
    }
    let (queue, bytes) = (block.queue(), size_of_val(from));
    let from = from.as_ptr().cast();
    if layout.is_contiguous() {
        let first = block.rows(layout.start, 0).first;
        // SAFETY: so many elements are there on both sides.
        block.memory.used(queue, Access::Write, || unsafe { queue.upload(first, from, bytes) })?;
        return Ok(());
    }
    let packed = Block::<T>::new(queue, layout.len())?;
    // SAFETY: as above.
    unsafe {
        queue.enter()?;
        queue.upload(packed.memory.first(), from, bytes)?;
        spread(queue, block, layout, packed.memory.first())?;
    }
    Ok(())
}

/// The elements of a section of an array of the host.
pub(super) fn gather<T: Copy, const N: usize>(layout: &Layout<N>, elements: &[T]) -> Result<Vec<T>, Error> {
    let mut packed = host_memory(layout.len(), |_| {})?;
    visit(layout, |_, row, width| packed.extend_from_slice(&elements[row..row + width]));
    Ok(packed)
}

/// Rows of adjacent elements: the number of the first one in the section, its place in the array, and how many.
pub(super) fn visit<const N: usize>(layout: &Layout<N>, mut row: impl FnMut(usize, usize, usize)) {
    let (width, planes) = layout.planes();
    let rows = planes.flat_map(|Plane { start, rows, pitch }| (0..rows).map(move |row| start + row * pitch));
    rows.enumerate().for_each(|(number, first)| row(number * width, first, width));
}

/// `View` is anyone's to implement.
fn check_view<T>(elements: &[T], shape: &[usize]) -> Result<(), ArrayError> {
    let count = count_of(shape)?;
    let reason = ViewError::Length { elements: elements.len(), shape: Some(count) };
    if count == elements.len() { Ok(()) } else { Err(ArrayError::View(reason)) }
}

/// Copies a section to adjacent memory, in the stream of a queue of the same device.
///
/// # Safety
/// There is room for it, which is the queue's alone.
pub(super) unsafe fn pack<T, const N: usize>(
    queue: &Queue,
    block: &Block<T>,
    layout: &Layout<N>,
    to: *mut u8,
) -> Result<(), DeviceError> {
    // SAFETY: the caller's promise; the section is inside the block.
    let packs = || unsafe {
        each_plane::<T, N>(layout, to, |packed, plane, width, rows| {
            queue.copy_rows(packed, block.rows(plane.start, plane.pitch), width, rows)
        })
    };
    block.memory.used(queue, Access::Read, packs)
}

/// Copies adjacent memory to a section.
///
/// # Safety
/// The memory has as many elements, is elsewhere, and what it holds comes first in the queue's stream. The block has no other user.
pub(super) unsafe fn spread<T, const N: usize>(
    queue: &Queue,
    block: &Block<T>,
    layout: &Layout<N>,
    from: *mut u8,
) -> Result<(), DeviceError> {
    // SAFETY: the caller's promise; the section is inside the block.
    let spreads = || unsafe {
        each_plane::<T, N>(layout, from, |packed, plane, width, rows| {
            queue.copy_rows(block.rows(plane.start, plane.pitch), packed, width, rows)
        })
    };
    block.memory.used(queue, Access::Write, spreads)
}

/// # Safety
/// That of `copy`.
unsafe fn each_plane<T, const N: usize>(
    layout: &Layout<N>,
    packed: *mut u8,
    copy: impl Fn(Rows, Plane, usize, usize) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let (width, planes) = layout.planes();
    let width = width * size_of::<T>();
    for (number, plane) in planes.enumerate() {
        let first = packed.wrapping_add(number * plane.rows * width);
        copy(Rows { first, pitch: width }, plane, width, plane.rows)?;
    }
    Ok(())
}

/// How arrays and sections are passed to calls, unless they are next to each other in the host's memory.
fn on_device<'a, T, const N: usize>(
    storage: &'a Storage<T>,
    layout: &Layout<N>,
    section: &'a dyn Scattered,
) -> Option<OnDevice<'a, T, N>> {
    let away = match storage {
        _ if !layout.is_contiguous() => Away::Scattered(section),
        Storage::Host(_) => return None,
        Storage::Device(block) => {
            let empty = layout.len() == 0;
            let first = if empty { block.queue().zeros() } else { block.rows(layout.start, 0).first };
            Away::Adjacent(&block.memory, first)
        }
    };
    Some(OnDevice::new(away, layout.shape))
}

/// Where the elements of a contiguous section are.
fn range<const N: usize>(layout: &Layout<N>) -> std::ops::Range<usize> {
    let start = if layout.len() == 0 { 0 } else { layout.start };
    start..start + layout.len()
}

fn on_host<'a, T, const N: usize>(
    storage: &'a Storage<T>,
    layout: &Layout<N>,
) -> Result<(&'a [T], [usize; N]), ViewError> {
    if !layout.is_contiguous() {
        return Err(ViewError::Scattered);
    }
    match storage {
        Storage::Host(elements) => Ok((&elements[range(layout)], layout.shape)),
        Storage::Device(_) => Err(ViewError::OnDevice),
    }
}

fn on_host_mut<'a, T, const N: usize>(
    storage: &'a mut Storage<T>,
    layout: &Layout<N>,
) -> Result<(&'a mut [T], [usize; N]), ViewError> {
    if !layout.is_contiguous() {
        return Err(ViewError::Scattered);
    }
    match storage {
        Storage::Host(elements) => Ok((&mut elements[range(layout)], layout.shape)),
        Storage::Device(_) => Err(ViewError::OnDevice),
    }
}

impl<T, const N: usize> View<T, N> for DeviceArray<T, N> {
    fn elements(&self) -> Result<(&[T], [usize; N]), ViewError> {
        on_host(&self.storage, &Layout::whole(self.shape()))
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, N>> {
        match &self.storage {
            Storage::Host(_) => None,
            Storage::Device(block) => {
                Some(OnDevice::new(Away::Adjacent(&block.memory, block.memory.first()), self.shape()))
            }
        }
    }
}

impl<T, const N: usize> ViewMut<T, N> for DeviceArray<T, N> {
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; N]), ViewError> {
        let layout = Layout::whole(self.shape());
        on_host_mut(&mut self.storage, &layout)
    }
    fn on_device_mut(&mut self) -> Option<OnDeviceMut<'_, T, N>> {
        View::<T, N>::on_device(&*self).map(OnDeviceMut::new)
    }
}

impl<T: Copy, const N: usize> View<T, N> for Section<'_, T, N> {
    fn elements(&self) -> Result<(&[T], [usize; N]), ViewError> {
        on_host(&self.array.storage, &self.layout)
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, N>> {
        on_device(&self.array.storage, &self.layout, self)
    }
}

impl<T: Copy, const N: usize> View<T, N> for SectionMut<'_, T, N> {
    fn elements(&self) -> Result<(&[T], [usize; N]), ViewError> {
        on_host(&self.array.storage, &self.layout)
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, N>> {
        on_device(&self.array.storage, &self.layout, self)
    }
}

impl<T: Copy, const N: usize> ViewMut<T, N> for SectionMut<'_, T, N> {
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; N]), ViewError> {
        on_host_mut(&mut self.array.storage, &self.layout)
    }
    fn on_device_mut(&mut self) -> Option<OnDeviceMut<'_, T, N>> {
        if let Storage::Host(elements) = &mut self.array.storage {
            self.host = elements.as_mut_ptr();
        }
        on_device(&self.array.storage, &self.layout, self).map(OnDeviceMut::new)
    }
}

//! Parts of arrays on devices, and what is copied from and to them.
//!
//! Between the host and a device only adjacent bytes travel: what is scattered is packed, or spread, by the device itself. A copy engine
//! moves rows of a few bytes over the bus far slower than within its memory.

use ndarray::{Array, Dim, Dimension, IntoDimension};

use super::array::{Block, DeviceArray, Storage, count_of, host_memory};
use super::driver::Rows;
use super::error::{ArrayError, DeviceError};
use super::layout::{Layout, Plane};
use super::memory::Access;
use crate::view::{OnDevice, OnDeviceMut};
use crate::{Error, View, ViewError, ViewMut};

/// A part of a [`DeviceArray`].
///
/// Where its elements are next to each other, calls take it as they take the array.
pub struct Section<'a, T, const N: usize> {
    array: &'a DeviceArray<T, N>,
    layout: Layout<N>,
}

/// A part of a [`DeviceArray`] to write to.
///
/// Where its elements are next to each other, calls take it as they take the array.
pub struct SectionMut<'a, T, const N: usize> {
    array: &'a mut DeviceArray<T, N>,
    layout: Layout<N>,
}

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
                // SAFETY: so large is the copy.
                unsafe { pack(block, &self.layout, &copy) }?;
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
                let (width, planes) = layout.planes();
                let rows =
                    planes.flat_map(|Plane { start, rows, pitch }| (0..rows).map(move |row| start + row * pitch));
                for (number, first) in rows.enumerate() {
                    // SAFETY: the row is inside the array; there is room.
                    unsafe { to.add(number * width).copy_from_nonoverlapping(elements[first..].as_ptr(), width) }
                }
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
                    pack(block, layout, &packed)?;
                    queue.download(to.cast(), packed.memory.first(), bytes)?;
                }
                Ok(())
            }
        }
    }
}

impl<'a, T: Copy, const N: usize> SectionMut<'a, T, N> {
    pub(super) fn new(array: &'a mut DeviceArray<T, N>, layout: Layout<N>) -> Self {
        Self { array, layout }
    }
    /// The extents, outermost first.
    pub fn shape(&self) -> [usize; N] {
        self.layout.shape
    }
    /// Copies the elements of an array of the same shape.
    pub fn copy_from(&mut self, array: &(impl View<T, N> + ?Sized)) -> Result<(), Error> {
        if let Some(source) = array.on_device() {
            return self.copy_on_device(&source);
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

    fn copy_on_device(&mut self, source: &OnDevice<'_, T, N>) -> Result<(), Error> {
        same_shape(&self.layout.shape, &source.shape)?;
        match &self.array.storage {
            Storage::Device(block) if block.queue().is_same_device(source.memory.queue()) => {
                let spreads = || {
                    // SAFETY: the source has as many elements, and is borrowed, so that it is no part of this array.
                    unsafe { spread(block, &self.layout, source.first) }
                };
                Ok(source.memory.used(block.queue(), Access::Read, spreads)?)
            }
            Storage::Device(_) | Storage::Host(_) => Err(ArrayError::OtherDevice.into()),
        }
    }

    fn write(&mut self, from: &[T]) -> Result<(), Error> {
        let layout = self.layout;
        match &mut self.array.storage {
            Storage::Host(elements) => {
                let (width, planes) = layout.planes();
                let rows =
                    planes.flat_map(|Plane { start, rows, pitch }| (0..rows).map(move |row| start + row * pitch));
                for (first, row) in rows.zip(from.chunks_exact(width.max(1))) {
                    elements[first..first + width].copy_from_slice(row);
                }
                Ok(())
            }
            Storage::Device(_) if from.is_empty() => Ok(()),
            Storage::Device(block) => {
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
                    queue.upload(packed.memory.first(), from, bytes)?;
                    spread(block, &layout, packed.memory.first())?;
                }
                Ok(())
            }
        }
    }
}

/// `View` is anyone's to implement.
fn check_view<T>(elements: &[T], shape: &[usize]) -> Result<(), ArrayError> {
    let count = count_of(shape)?;
    let reason = ViewError::Length { elements: elements.len(), shape: Some(count) };
    if count == elements.len() { Ok(()) } else { Err(ArrayError::View(reason)) }
}

/// Copies a section to adjacent memory of the same home, which is as large.
///
/// # Safety
/// Nobody else uses that yet.
unsafe fn pack<T, const N: usize>(block: &Block<T>, layout: &Layout<N>, to: &Block<T>) -> Result<(), DeviceError> {
    let queue = block.queue();
    // SAFETY: the caller's promise; the section is inside the block.
    let packs = || unsafe {
        each_plane::<T, N>(layout, to.memory.first(), |packed, plane, width, rows| {
            queue.copy_rows(packed, block.rows(plane.start, plane.pitch), width, rows)
        })
    };
    block.memory.used(queue, Access::Read, || to.memory.used(queue, Access::Write, packs))
}

/// Copies adjacent memory to a section.
///
/// # Safety
/// The memory has as many elements, is elsewhere, and what it holds comes first in the stream of the block's home. Nobody else uses the block.
unsafe fn spread<T, const N: usize>(block: &Block<T>, layout: &Layout<N>, from: *mut u8) -> Result<(), DeviceError> {
    let queue = block.queue();
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

/// How device memory is passed to calls.
fn on_device<'a, T, const N: usize>(storage: &'a Storage<T>, layout: &Layout<N>) -> Option<OnDevice<'a, T, N>> {
    match storage {
        Storage::Device(block) if layout.is_contiguous() => {
            let first = if layout.len() == 0 { block.queue().zeros() } else { block.rows(layout.start, 0).first };
            Some(OnDevice::new(&block.memory, first, layout.shape))
        }
        Storage::Device(_) | Storage::Host(_) => None,
    }
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
        on_device(&self.storage, &Layout::whole(self.shape()))
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

impl<T, const N: usize> View<T, N> for Section<'_, T, N> {
    fn elements(&self) -> Result<(&[T], [usize; N]), ViewError> {
        on_host(&self.array.storage, &self.layout)
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, N>> {
        on_device(&self.array.storage, &self.layout)
    }
}

impl<T, const N: usize> View<T, N> for SectionMut<'_, T, N> {
    fn elements(&self) -> Result<(&[T], [usize; N]), ViewError> {
        on_host(&self.array.storage, &self.layout)
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, N>> {
        on_device(&self.array.storage, &self.layout)
    }
}

impl<T, const N: usize> ViewMut<T, N> for SectionMut<'_, T, N> {
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; N]), ViewError> {
        on_host_mut(&mut self.array.storage, &self.layout)
    }
    fn on_device_mut(&mut self) -> Option<OnDeviceMut<'_, T, N>> {
        on_device(&self.array.storage, &self.layout).map(OnDeviceMut::new)
    }
}

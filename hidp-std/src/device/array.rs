//! Arrays that stay where a context computes.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;

use ndarray::{Array, ArrayRef, Dim, Dimension, IntoDimension, SliceInfo, SliceInfoElem};

use super::between;
use super::driver::Rows;
use super::error::ArrayError;
use super::layout::Layout;
use super::memory::{Access, Memory};
use super::queue::Queue;
use super::section::{Section, SectionMut};
use crate::rt::element_count;
use crate::{Context, Error, View, ViewError, ViewMut};

/// An array of `N` dimensions in the memory of a context's device.
///
/// Calls with that context, or another one on the same device, take it like any array, without copies before or after the call. Streams of
/// several contexts wait for each other where they use one array. Calls on another device refuse it. With a context on the processor it is
/// an array in ordinary memory, so a program that uses it runs with and without a device.
///
/// Elements are contiguous in row-major order. Copies and calls keep their order; only operations that bring elements to the host wait.
/// Operations that copy return [`Error::Device`] if the device fails or is lost, and [`Error::Array`] if shapes differ.
///
/// ```
/// use hidp_std::{Context, DeviceArray};
/// use ndarray::{arr2, s};
///
/// # fn main() -> hidp_std::Result {
/// let cx = Context::new()?;
/// let mut a = DeviceArray::from_host(&cx, &arr2(&[[1, 2, 3], [4, 5, 6]]))?;
/// assert_eq!(a.section(s![.., 1..])?.to_array()?, arr2(&[[2, 3], [5, 6]]));
/// a.section_mut(s![.., ..;2])?.copy_from(&arr2(&[[10, 30], [40, 60]]))?;
/// assert_eq!(a.to_array()?, arr2(&[[10, 2, 30], [40, 5, 60]]));
/// # Ok(())
/// # }
/// ```
pub struct DeviceArray<T, const N: usize> {
    pub(crate) storage: Storage<T>,
    shape: [usize; N],
}

/// Where the elements are.
pub(crate) enum Storage<T> {
    Host(Vec<T>),
    Device(Block<T>),
}

/// Elements in device memory.
pub(crate) struct Block<T> {
    pub(crate) memory: Memory,
    elements: PhantomData<T>,
}

// SAFETY: the block owns its elements, and memory of devices may be used from any thread.
unsafe impl<T: Send> Send for Block<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Block<T> {}

impl<T> Block<T> {
    /// Memory for so many elements that says nothing yet.
    pub(crate) fn new(queue: &Arc<Queue>, count: usize) -> Result<Self, Error> {
        let bytes = count.checked_mul(size_of::<T>()).ok_or(ArrayError::Size)?;
        Ok(Self { memory: Memory::new(queue, bytes)?, elements: PhantomData })
    }
    /// # Safety
    /// The memory holds the elements.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) unsafe fn of(memory: Memory) -> Self {
        Self { memory, elements: PhantomData }
    }
    /// The one whose stream they are used in, unless a call says otherwise.
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        self.memory.queue()
    }
    /// Rows of elements from this one on.
    pub(super) fn rows(&self, start: usize, pitch: usize) -> Rows {
        Rows { first: self.memory.first().wrapping_add(start * size_of::<T>()), pitch: pitch * size_of::<T>() }
    }
}

/// Types for which all bits zero is a valid value.
///
/// # Safety
/// All bits zero must be a valid value of the type.
pub unsafe trait Zeroed: Copy {}

macro_rules! zeroed {
    ($($ty:ty)*) => {$(
        // SAFETY: 0, 0.0 or false.
        unsafe impl Zeroed for $ty {}
    )*};
}

zeroed!(bool i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
// SAFETY: its elements are.
unsafe impl<T: Zeroed, const M: usize> Zeroed for [T; M] {}

pub(super) fn count_of(shape: &[usize]) -> Result<usize, ArrayError> {
    element_count(shape).ok_or(ArrayError::Size)
}

impl<T: Copy, const N: usize> DeviceArray<T, N> {
    /// An array of zeros.
    pub fn zeros(cx: &Context, shape: [usize; N]) -> Result<Self, Error>
    where
        T: Zeroed,
    {
        let count = count_of(&shape)?;
        let Some(queue) = cx.queue() else {
            // SAFETY: all bits zero are a value.
            let zero = unsafe { MaybeUninit::<T>::zeroed().assume_init() };
            return Ok(Self {
                storage: Storage::Host(host_memory(count, |memory| memory.resize(count, zero))?),
                shape,
            });
        };
        let block = Block::new(queue, count)?;
        let memory = &block.memory;
        // SAFETY: so many elements are there.
        memory.used(queue, Access::Write, || unsafe { queue.zero(memory.first(), count * size_of::<T>()) })?;
        Ok(Self { storage: Storage::Device(block), shape })
    }

    /// A copy of an array.
    pub fn from_host(cx: &Context, array: &(impl View<T, N> + ?Sized)) -> Result<Self, Error> {
        let (elements, shape) = array.elements().map_err(ArrayError::View)?;
        Self::from_elements(cx, elements, shape)
    }

    /// A copy of an `ndarray` array or view with any strides.
    pub fn from_strided(cx: &Context, array: &ArrayRef<T, Dim<[usize; N]>>) -> Result<Self, Error>
    where
        Dim<[usize; N]>: Dimension,
    {
        let packed = array.as_standard_layout();
        let shape = std::array::from_fn(|axis| array.shape()[axis]);
        Self::from_elements(cx, packed.as_slice().ok_or(ArrayError::View(ViewError::NotContiguous))?, shape)
    }

    fn from_elements(cx: &Context, elements: &[T], shape: [usize; N]) -> Result<Self, Error> {
        let count = count_of(&shape)?;
        if count != elements.len() {
            let reason = ViewError::Length { elements: elements.len(), shape: Some(count) };
            return Err(ArrayError::View(reason).into());
        }
        let Some(queue) = cx.queue() else {
            let memory = host_memory(count, |memory| memory.extend_from_slice(elements))?;
            return Ok(Self { storage: Storage::Host(memory), shape });
        };
        let block = Block::new(queue, count)?;
        let memory = &block.memory;
        memory.used(queue, Access::Write, || {
            // SAFETY: so many elements are there on both sides.
            unsafe { queue.upload(memory.first(), elements.as_ptr().cast(), size_of_val(elements)) }
        })?;
        Ok(Self { storage: Storage::Device(block), shape })
    }

    pub(crate) fn from_storage(storage: Storage<T>, shape: [usize; N]) -> Self {
        Self { storage, shape }
    }

    /// A copy in the same memory.
    pub fn try_clone(&self) -> Result<Self, Error> {
        self.all().to_device()
    }

    /// A copy in the memory that another context computes in.
    ///
    /// Between devices the copy is direct if the driver supports it, else through page-locked host memory; within a device it is an ordinary
    /// copy. It comes after all work on this array, in the other context's stream.
    ///
    /// ```
    /// # fn main() -> hidp_std::Result {
    /// # use hidp_std::{Context, DeviceArray};
    /// # let (one, two) = (Context::new()?, Context::cpu()?);
    /// let array = DeviceArray::from_host(&one, &[1, 2, 3])?;
    /// let copy = array.to_context(&two)?;
    /// assert_eq!(copy.to_vec()?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory, or a device fails or is lost.
    pub fn to_context(&self, cx: &Context) -> Result<Self, Error> {
        match (&self.storage, cx.queue()) {
            (Storage::Host(elements), _) => Self::from_elements(cx, elements, self.shape),
            (Storage::Device(_), None) => Ok(Self { storage: Storage::Host(self.to_vec()?), shape: self.shape }),
            (Storage::Device(block), Some(queue)) => {
                let copy = Block::<T>::new(queue, self.len())?;
                if !self.is_empty() {
                    // SAFETY: both have as many elements, and the copy is new.
                    unsafe { between::copy(&copy.memory, &block.memory, self.len() * size_of::<T>()) }?;
                }
                Ok(Self { storage: Storage::Device(copy), shape: self.shape })
            }
        }
    }

    /// Copies the elements to the host, in row-major order.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        self.all().to_vec()
    }
    /// Copies the elements to the host, as an `ndarray` array.
    pub fn to_array(&self) -> Result<Array<T, Dim<[usize; N]>>, Error>
    where
        [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
        Dim<[usize; N]>: Dimension,
    {
        self.all().to_array()
    }
    /// Copies the elements to an array of the same shape.
    pub fn copy_to(&self, array: &mut (impl ViewMut<T, N> + ?Sized)) -> Result<(), Error> {
        self.all().copy_to(array)
    }
    /// Copies the elements of an array of the same shape.
    pub fn copy_from(&mut self, array: &(impl View<T, N> + ?Sized)) -> Result<(), Error> {
        self.all_mut().copy_from(array)
    }

    /// A section of the array, described by `ndarray`'s `s![…]` with one range per dimension: `s![1..3, ..;2]`. Steps must be positive.
    ///
    /// # Errors
    /// [`Error::Array`] if the section is outside the array or has a negative step.
    pub fn section(
        &self,
        part: SliceInfo<[SliceInfoElem; N], Dim<[usize; N]>, Dim<[usize; N]>>,
    ) -> Result<Section<'_, T, N>, Error>
    where
        Dim<[usize; N]>: Dimension,
    {
        Ok(Section::new(self, Layout::section(self.shape, &part)?))
    }
    /// A section of the array to write to; otherwise as [`DeviceArray::section`].
    pub fn section_mut(
        &mut self,
        part: SliceInfo<[SliceInfoElem; N], Dim<[usize; N]>, Dim<[usize; N]>>,
    ) -> Result<SectionMut<'_, T, N>, Error>
    where
        Dim<[usize; N]>: Dimension,
    {
        let layout = Layout::section(self.shape, &part)?;
        Ok(SectionMut::new(self, layout))
    }
    fn all(&self) -> Section<'_, T, N> {
        Section::new(self, Layout::whole(self.shape))
    }
    fn all_mut(&mut self) -> SectionMut<'_, T, N> {
        let layout = Layout::whole(self.shape);
        SectionMut::new(self, layout)
    }
}

impl<T, const N: usize> DeviceArray<T, N> {
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
    /// Whether the elements are in a device's memory, rather than the host's.
    pub fn is_on_device(&self) -> bool {
        matches!(self.storage, Storage::Device(_))
    }
    /// The same elements with another shape, without a copy.
    ///
    /// # Errors
    /// [`Error::Array`] if that has another number of elements.
    pub fn into_shape<const M: usize>(self, shape: [usize; M]) -> Result<DeviceArray<T, M>, Error> {
        if element_count(&shape) != Some(self.len()) {
            return Err(ArrayError::Shape { device: self.shape.into(), other: shape.into() }.into());
        }
        Ok(DeviceArray { storage: self.storage, shape })
    }
}

/// Memory of the host, filled by `fill`; an error where there is none.
pub(super) fn host_memory<T>(count: usize, fill: impl FnOnce(&mut Vec<T>)) -> Result<Vec<T>, Error> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(count).map_err(|_| Error::Allocation)?;
    fill(&mut memory);
    Ok(memory)
}

impl<T: Copy, const N: usize> Clone for DeviceArray<T, N> {
    /// # Panics
    /// If there is no memory, or the device failed; [`DeviceArray::try_clone`] does not.
    fn clone(&self) -> Self {
        match self.try_clone() {
            Ok(copy) => copy,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<T, const N: usize> fmt::Debug for DeviceArray<T, N> {
    /// Where and how large, not the elements: that would wait for the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.storage {
            Storage::Host(_) => "host".to_owned(),
            Storage::Device(block) => block.queue().facts().to_string(),
        };
        f.debug_struct("DeviceArray").field("shape", &self.shape).field("place", &format_args!("{place}")).finish()
    }
}

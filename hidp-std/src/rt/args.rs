//! Arguments of a call: addresses and shapes.

use std::ffi::c_void;
use std::marker::PhantomData;

use super::entry::Entry;
#[cfg(feature = "tune")]
use crate::device::Memory;
use crate::view::{Away, OnDevice, OnDeviceMut};
use crate::{ArrayText, Error, View, ViewError, ViewMut};

/// Largest element that an empty array may have: so many zeros stand where its address points.
pub const EMPTY_BYTES: usize = 4096;

#[repr(align(64))]
struct Zeros([u8; EMPTY_BYTES]);

/// Kernels may read element 0 of any array before they know that there is none.
static ZEROS: Zeros = Zeros([0; EMPTY_BYTES]);

/// Where the elements of empty arrays of the host are.
pub(super) fn empty() -> *mut c_void {
    (&raw const ZEROS.0).cast_mut().cast()
}

/// One argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    pub(super) address: *mut c_void,
    /// The value of a scalar that extents use; `None` for all else, and if it does not fit.
    pub(super) value: Option<i64>,
    pub(super) shape: &'a [usize],
    /// Of the array; 0 for a scalar.
    pub(super) bytes: usize,
    /// How the array is found that is not next to each other in the host's memory at `address`.
    pub(super) away: Option<Away<'a>>,
    /// What the kernel writes is borrowed.
    borrow: PhantomData<&'a mut ()>,
}

impl<'a> Arg<'a> {
    fn at<T>(address: *mut T, value: Option<i64>) -> Self {
        Self { address: address.cast(), value, shape: &[], bytes: 0, away: None, borrow: PhantomData }
    }
    /// Anything, for [`super::Dynamic`]: `bytes` of elements, of a scalar 0.
    #[cfg(feature = "tune")]
    pub fn raw(address: *mut c_void, value: Option<i64>, shape: &'a [usize], bytes: usize) -> Self {
        Self { address, value, shape, bytes, away: None, borrow: PhantomData }
    }
    /// The same array in a device's memory.
    #[cfg(feature = "tune")]
    pub(crate) fn on_device(self, memory: &'a Memory) -> Self {
        let first = memory.first();
        Self { address: first.cast(), away: Some(Away::Adjacent(memory, first)), ..self }
    }
    /// A scalar that the kernel reads.
    pub fn scalar<T>(value: &'a T) -> Self {
        Self::at(std::ptr::from_ref(value).cast_mut(), None)
    }
    /// A scalar that the kernel writes.
    pub fn scalar_mut<T>(value: &'a mut T) -> Self {
        Self::at(value, None)
    }
    /// An integer that the kernel reads and that extents of the header use.
    pub fn size<T: Copy + TryInto<i64>>(value: &'a T) -> Self {
        Self { value: (*value).try_into().ok(), ..Self::scalar(value) }
    }
    /// An integer that the kernel writes and that extents of the header use, as it is before the call.
    pub fn size_mut<T: Copy + TryInto<i64>>(value: &'a mut T) -> Self {
        Self { value: (*value).try_into().ok(), ..Self::scalar_mut(value) }
    }
}

/// An array argument.
#[derive(Debug)]
pub struct Array<'a, const R: usize> {
    address: *mut c_void,
    shape: [usize; R],
    bytes: usize,
    away: Option<Away<'a>>,
    borrow: PhantomData<&'a mut ()>,
}

impl<'a, const R: usize> Array<'a, R> {
    /// An array that the kernel reads: parameter number `param` of `entry`.
    #[inline]
    pub fn input<T, V>(entry: &'static Entry, param: usize, view: &'a V) -> Result<Self, Error>
    where
        V: View<T, R> + ?Sized,
    {
        if let Some(OnDevice { away, shape, .. }) = view.on_device() {
            return Ok(Self::of_device::<T>(away, shape));
        }
        let (elements, shape) = view.elements().map_err(|reason| cannot_view(entry, param, reason))?;
        Self::new(entry, param, elements.as_ptr().cast_mut(), elements.len(), shape)
    }
    /// An array that the kernel writes: parameter number `param` of `entry`.
    #[inline]
    pub fn output<T, V>(entry: &'static Entry, param: usize, view: &'a mut V) -> Result<Self, Error>
    where
        V: ViewMut<T, R> + ?Sized,
    {
        // Asked twice, since what is borrowed to write to is so for as long as the answer is.
        if view.on_device_mut().is_some() {
            return match view.on_device_mut() {
                Some(OnDeviceMut { array: OnDevice { away, shape, .. }, .. }) => Ok(Self::of_device::<T>(away, shape)),
                None => Err(cannot_view(entry, param, ViewError::OnDevice)),
            };
        }
        let (elements, shape) = view.elements_mut().map_err(|reason| cannot_view(entry, param, reason))?;
        Self::new(entry, param, elements.as_mut_ptr(), elements.len(), shape)
    }
    /// `View` is anyone's to implement, so that the shape is checked here.
    #[inline]
    fn new<T>(
        entry: &'static Entry,
        param: usize,
        first: *mut T,
        elements: usize,
        shape: [usize; R],
    ) -> Result<Self, Error> {
        const { assert!(size_of::<T>() <= EMPTY_BYTES && align_of::<T>() <= 64, "elements are too large") };
        let product = element_count(&shape);
        if product != Some(elements) {
            return Err(cannot_view(entry, param, ViewError::Length { elements, shape: product }));
        }
        let address = if elements == 0 { empty() } else { first.cast() };
        Ok(Self { address, shape, bytes: elements * size_of::<T>(), away: None, borrow: PhantomData })
    }
    fn of_device<T>(away: Away<'a>, shape: [usize; R]) -> Self {
        let address = match away {
            Away::Adjacent(_, first) => first.cast(),
            Away::Scattered(_) | Away::Mirrored(_) => std::ptr::null_mut(),
        };
        let bytes = shape.iter().product::<usize>() * size_of::<T>();
        Self { address, shape, bytes, away: Some(away), borrow: PhantomData }
    }
    /// The argument.
    pub fn arg(&self) -> Arg<'_> {
        let Self { address, ref shape, bytes, away, borrow } = *self;
        Arg { address, value: None, shape, bytes, away, borrow }
    }
}

/// Largest extent of an array, of empty ones too: no machine has memory for more bytes, and sums and small multiples of such
/// extents do not overflow. The compiler's proofs rely on it (`hidp_build::compiler::prove::MAX_EXTENT`).
const MAX_EXTENT: u64 = 1 << 56;

/// The product of the extents if that, and each of them, is a valid number of elements.
pub(crate) fn element_count(shape: &[usize]) -> Option<usize> {
    if shape.iter().any(|&extent| extent as u64 > MAX_EXTENT) {
        return None;
    }
    // A zero anywhere makes the array empty, whatever the product of the others.
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent))
}

fn cannot_view(entry: &'static Entry, param: usize, reason: ViewError) -> Error {
    Error::View { entry: entry.name, array: ArrayText::new(entry, param), reason }
}

//! Types that may be passed as arrays.

use std::fmt;
use std::marker::PhantomData;

use crate::device::{Memory, Mirrored, Scattered};
use crate::rt::element_count;

mod nd;
mod slice;

/// Why something cannot be viewed as an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// The elements are not contiguous in row-major order.
    NotContiguous,
    /// The number of elements does not match the shape.
    Length {
        /// Number of elements.
        elements: usize,
        /// Number of elements of the shape; `None` if it does not fit a `usize`.
        shape: Option<usize>,
    },
    /// The elements are in device memory, and the host needs them.
    OnDevice,
    /// A section of a [`crate::DeviceArray`] is not contiguous, and something other than a call needs its elements.
    Scattered,
    /// Copying a [`crate::Mirror`] back from the device failed; [`crate::Mirror::host`] returns the reason.
    NotCopied,
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViewError::NotContiguous => f.write_str("the array is not contiguous in row-major order"),
            ViewError::Length { elements, shape: Some(shape) } => {
                write!(f, "the shape asks for {shape} elements, the slice has {elements}")
            }
            ViewError::OnDevice => {
                f.write_str("the array is in a device's memory; `.to_array()` brings a copy of it to the host")
            }
            ViewError::Scattered => {
                f.write_str("the section's elements are not next to each other; `.to_device()` makes an array of them")
            }
            ViewError::NotCopied => {
                f.write_str("the device did not give the mirror's elements back; `.host()` says why")
            }
            ViewError::Length { elements, shape: None } => {
                write!(f, "the shape asks for more elements than an array can have, the slice has {elements}")
            }
        }
    }
}

impl std::error::Error for ViewError {}

/// Something that can be read as an array of `R` dimensions with elements of type `T`.
///
/// Implemented for `ndarray` arrays and views, vectors, slices and Rust arrays, for a pair of one of these and a shape,
/// `(&data, [rows, columns])`, and for references to all of them. Row-major and contiguous in all cases.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array of rank {R} with elements `{T}`",
    label = "not an array of rank {R} with elements `{T}`",
    note = "pass an `ndarray` array or view, or a slice with its shape: `&(&data, [rows, columns])`"
)]
pub trait View<T, const R: usize> {
    /// The elements in row-major order, and the shape, outermost dimension first.
    fn elements(&self) -> Result<(&[T], [usize; R]), ViewError>;
    /// The array, if it is in device memory or not contiguous; calls then do not use `elements`. Default: `None`.
    fn on_device(&self) -> Option<OnDevice<'_, T, R>> {
        None
    }
}

/// Something that can be written as an array of `R` dimensions with elements of type `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a writable array of rank {R} with elements `{T}`",
    label = "not a writable array of rank {R} with elements `{T}`",
    note = "pass an `ndarray` array or mutable view, or a mutable slice with its shape: `&mut (&mut data[..], [rows, columns])`"
)]
pub trait ViewMut<T, const R: usize> {
    /// The elements in row-major order, and the shape, outermost dimension first.
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; R]), ViewError>;
    /// As [`View::on_device`].
    fn on_device_mut(&mut self) -> Option<OnDeviceMut<'_, T, R>> {
        None
    }
}

/// An array in device memory or in parts: what [`crate::DeviceArray`], its sections and [`crate::Mirror`] pass to calls.
#[derive(Clone, Copy, Debug)]
pub struct OnDevice<'a, T, const R: usize> {
    pub(crate) away: Away<'a>,
    pub(crate) shape: [usize; R],
    elements: PhantomData<(&'a (), *const T)>,
}

/// Where its elements are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Away<'a> {
    /// Next to each other in a device's memory, from this address on.
    Adjacent(&'a Memory, *mut u8),
    /// In parts, on a device or on the host.
    Scattered(&'a dyn Scattered),
    /// On both.
    Mirrored(&'a dyn Mirrored),
}

impl Away<'_> {
    /// Whether only a device has the elements.
    pub(crate) fn is_resident(&self) -> bool {
        match self {
            Away::Adjacent(..) => true,
            Away::Scattered(section) => section.memory().is_some(),
            Away::Mirrored(mirror) => mirror.is_away(),
        }
    }
}

/// [`OnDevice`] with write access.
#[derive(Debug)]
pub struct OnDeviceMut<'a, T, const R: usize> {
    pub(crate) array: OnDevice<'a, T, R>,
    elements: PhantomData<(&'a mut (), *mut T)>,
}

impl<'a, T, const R: usize> OnDevice<'a, T, R> {
    pub(crate) fn new(away: Away<'a>, shape: [usize; R]) -> Self {
        Self { away, shape, elements: PhantomData }
    }
    /// The same elements with another shape; `None` if that has another number of elements.
    pub fn with_shape<const S: usize>(self, shape: [usize; S]) -> Option<OnDevice<'a, T, S>> {
        let same = element_count(&shape) == element_count(&self.shape);
        same.then(|| OnDevice::new(self.away, shape))
    }
}

impl<'a, T, const R: usize> OnDeviceMut<'a, T, R> {
    /// `array` is borrowed from something that is borrowed to write to.
    pub(crate) fn new(array: OnDevice<'a, T, R>) -> Self {
        Self { array, elements: PhantomData }
    }
    /// The same elements with another shape; `None` if that has another number of elements.
    pub fn with_shape<const S: usize>(self, shape: [usize; S]) -> Option<OnDeviceMut<'a, T, S>> {
        self.array.with_shape(shape).map(OnDeviceMut::new)
    }
}

impl<T, V: View<T, R> + ?Sized, const R: usize> View<T, R> for &V {
    fn elements(&self) -> Result<(&[T], [usize; R]), ViewError> {
        (**self).elements()
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, R>> {
        (**self).on_device()
    }
}

impl<T, V: View<T, R> + ?Sized, const R: usize> View<T, R> for &mut V {
    fn elements(&self) -> Result<(&[T], [usize; R]), ViewError> {
        (**self).elements()
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, R>> {
        (**self).on_device()
    }
}

impl<T, V: ViewMut<T, R> + ?Sized, const R: usize> ViewMut<T, R> for &mut V {
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; R]), ViewError> {
        (**self).elements_mut()
    }
    fn on_device_mut(&mut self) -> Option<OnDeviceMut<'_, T, R>> {
        (**self).on_device_mut()
    }
}

//! What may be passed as an array.

use std::fmt;

mod nd;
mod slice;

/// Why something cannot be viewed as an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// The elements are not next to each other in row-major order.
    NotContiguous,
    /// The shape asks for another number of elements than there are.
    Length {
        /// Elements that are there.
        elements: usize,
        /// Elements that the shape asks for; `None` if their number does not fit a `usize`.
        shape: Option<usize>,
    },
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViewError::NotContiguous => f.write_str("the array is not contiguous in row-major order"),
            ViewError::Length { elements, shape: Some(shape) } => {
                write!(f, "the shape asks for {shape} elements, the slice has {elements}")
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
}

impl<T, V: View<T, R> + ?Sized, const R: usize> View<T, R> for &V {
    fn elements(&self) -> Result<(&[T], [usize; R]), ViewError> {
        (**self).elements()
    }
}

impl<T, V: View<T, R> + ?Sized, const R: usize> View<T, R> for &mut V {
    fn elements(&self) -> Result<(&[T], [usize; R]), ViewError> {
        (**self).elements()
    }
}

impl<T, V: ViewMut<T, R> + ?Sized, const R: usize> ViewMut<T, R> for &mut V {
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; R]), ViewError> {
        (**self).elements_mut()
    }
}

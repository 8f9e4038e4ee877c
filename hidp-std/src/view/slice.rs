//! Slices, vectors, Rust arrays, and any of them with a shape.

use crate::rt::element_count;

use super::{OnDevice, OnDeviceMut, View, ViewError, ViewMut};

impl<T> View<T, 1> for [T] {
    fn elements(&self) -> Result<(&[T], [usize; 1]), ViewError> {
        Ok((self, [self.len()]))
    }
}

impl<T> ViewMut<T, 1> for [T] {
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; 1]), ViewError> {
        let len = self.len();
        Ok((self, [len]))
    }
}

/// Types that hold one slice.
macro_rules! like_slice {
    ($($(const $n:ident)? $ty:ty;)*) => {$(
        impl<T $(, const $n: usize)?> View<T, 1> for $ty {
            fn elements(&self) -> Result<(&[T], [usize; 1]), ViewError> {
                Ok((self, [self.len()]))
            }
        }

        impl<T $(, const $n: usize)?> ViewMut<T, 1> for $ty {
            fn elements_mut(&mut self) -> Result<(&mut [T], [usize; 1]), ViewError> {
                let len = self.len();
                Ok((self, [len]))
            }
        }
    )*};
}

like_slice! {
    Vec<T>;
    Box<[T]>;
    const N [T; N];
}

/// Types that hold rows of constant length.
macro_rules! like_rows {
    ($($(const $m:ident)? $ty:ty;)*) => {$(
        impl<T, const N: usize $(, const $m: usize)?> View<T, 2> for $ty {
            fn elements(&self) -> Result<(&[T], [usize; 2]), ViewError> {
                Ok((self.as_flattened(), [self.len(), N]))
            }
        }

        impl<T, const N: usize $(, const $m: usize)?> ViewMut<T, 2> for $ty {
            fn elements_mut(&mut self) -> Result<(&mut [T], [usize; 2]), ViewError> {
                let rows = self.len();
                Ok((self.as_flattened_mut(), [rows, N]))
            }
        }
    )*};
}

like_rows! {
    [[T; N]];
    Vec<[T; N]>;
    const M [[T; N]; M];
}

fn fits(elements: usize, shape: &[usize]) -> Result<(), ViewError> {
    let product = element_count(shape);
    if product == Some(elements) { Ok(()) } else { Err(ViewError::Length { elements, shape: product }) }
}

impl<T, V: View<T, 1>, const R: usize> View<T, R> for (V, [usize; R]) {
    fn elements(&self) -> Result<(&[T], [usize; R]), ViewError> {
        let (elements, _) = self.0.elements()?;
        fits(elements.len(), &self.1)?;
        Ok((elements, self.1))
    }
    fn on_device(&self) -> Option<OnDevice<'_, T, R>> {
        self.0.on_device()?.with_shape(self.1)
    }
}

impl<T, V: ViewMut<T, 1>, const R: usize> ViewMut<T, R> for (V, [usize; R]) {
    fn elements_mut(&mut self) -> Result<(&mut [T], [usize; R]), ViewError> {
        let (elements, _) = self.0.elements_mut()?;
        fits(elements.len(), &self.1)?;
        Ok((elements, self.1))
    }
    fn on_device_mut(&mut self) -> Option<OnDeviceMut<'_, T, R>> {
        self.0.on_device_mut()?.with_shape(self.1)
    }
}

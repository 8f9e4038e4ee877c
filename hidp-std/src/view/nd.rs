//! `ndarray` arrays and views of one to six dimensions.

use std::array::from_fn;

use ndarray::{ArrayBase, ArrayRef, Data, DataMut, Dim};

use super::{View, ViewError, ViewMut};

macro_rules! ranks {
    ($($rank:literal)*) => {$(
        impl<T> View<T, $rank> for ArrayRef<T, Dim<[usize; $rank]>> {
            fn elements(&self) -> Result<(&[T], [usize; $rank]), ViewError> {
                let shape = from_fn(|axis| self.shape()[axis]);
                Ok((self.as_slice().ok_or(ViewError::NotContiguous)?, shape))
            }
        }

        impl<T> ViewMut<T, $rank> for ArrayRef<T, Dim<[usize; $rank]>> {
            fn elements_mut(&mut self) -> Result<(&mut [T], [usize; $rank]), ViewError> {
                let shape = from_fn(|axis| self.shape()[axis]);
                Ok((self.as_slice_mut().ok_or(ViewError::NotContiguous)?, shape))
            }
        }

        impl<T, S: Data<Elem = T>> View<T, $rank> for ArrayBase<S, Dim<[usize; $rank]>> {
            fn elements(&self) -> Result<(&[T], [usize; $rank]), ViewError> {
                (**self).elements()
            }
        }

        impl<T, S: DataMut<Elem = T>> ViewMut<T, $rank> for ArrayBase<S, Dim<[usize; $rank]>> {
            fn elements_mut(&mut self) -> Result<(&mut [T], [usize; $rank]), ViewError> {
                (**self).elements_mut()
            }
        }
    )*};
}

ranks!(1 2 3 4 5 6);

//! Where the elements of a section stand in their array, which is row-major.

use ndarray::SliceInfoElem;

use super::error::ArrayError;

/// A section: so many elements in each dimension, and how far apart they are in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout<const N: usize> {
    /// The first element.
    pub(crate) start: usize,
    pub(crate) shape: [usize; N],
    /// Elements of the array from one to the next.
    pub(crate) strides: [usize; N],
}

/// Rows of adjacent elements at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plane {
    pub(crate) start: usize,
    pub(crate) rows: usize,
    pub(crate) pitch: usize,
}

impl<const N: usize> Layout<N> {
    pub(crate) fn whole(shape: [usize; N]) -> Self {
        let mut strides = [1_usize; N];
        for axis in (1..N).rev() {
            // Only an array without elements has products that do not fit.
            strides[axis - 1] = strides[axis].wrapping_mul(shape[axis]);
        }
        Self { start: 0, shape, strides }
    }

    /// The part of `shape` that `s![…]` describes.
    pub(crate) fn section(shape: [usize; N], spans: &[SliceInfoElem; N]) -> Result<Self, ArrayError> {
        let mut layout = Self::whole(shape);
        for (axis, span) in spans.iter().enumerate() {
            let extent = shape[axis];
            let (first, count, step) = resolve(*span, axis, extent)?;
            layout.start = layout.start.wrapping_add(first.wrapping_mul(layout.strides[axis]));
            layout.shape[axis] = count;
            layout.strides[axis] = layout.strides[axis].wrapping_mul(step);
        }
        Ok(layout)
    }

    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the elements are next to each other in row-major order.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.len() == 0 || self.row().1 == 0
    }

    /// Adjacent elements at the end, and how many dimensions are left before them.
    fn row(&self) -> (usize, usize) {
        let mut width = 1;
        for axis in (0..N).rev() {
            if self.shape[axis] != 1 && self.strides[axis] != width {
                return (width, axis + 1);
            }
            width *= self.shape[axis];
        }
        (width, 0)
    }

    /// Elements of a row, and all planes of rows, in row-major order. Nothing if there are no elements.
    pub(crate) fn planes(&self) -> (usize, impl Iterator<Item = Plane>) {
        let (width, outer) = self.row();
        let last = outer.checked_sub(1);
        let (rows, pitch) = last.map_or((1, width), |axis| (self.shape[axis], self.strides[axis]));
        let loops = last.unwrap_or(0);
        let count = if self.len() == 0 { 0 } else { self.shape[..loops].iter().product() };
        let planes = (0..count).map(move |number| {
            let mut rest = number;
            let mut start = self.start;
            for axis in (0..loops).rev() {
                start += rest % self.shape[axis] * self.strides[axis];
                rest /= self.shape[axis];
            }
            Plane { start, rows, pitch }
        });
        (width, planes)
    }
}

/// First index, number of indices and step of a span of dimension `axis`, which has indices `0..extent`.
fn resolve(span: SliceInfoElem, axis: usize, extent: usize) -> Result<(usize, usize, usize), ArrayError> {
    let place = |position: isize| match usize::try_from(position) {
        Ok(position) => Some(position),
        Err(_) => extent.checked_sub(position.unsigned_abs()),
    };
    let found = match span {
        SliceInfoElem::Slice { start, end, step } => {
            let step = usize::try_from(step).ok().filter(|step| *step > 0).ok_or(ArrayError::Backwards { axis })?;
            let ends = place(start).zip(end.map_or(Some(extent), place)).filter(|(_, end)| *end <= extent);
            ends.and_then(|(start, end)| Some((start, end.checked_sub(start)?.div_ceil(step), step)))
        }
        SliceInfoElem::Index(position) => place(position).filter(|at| *at < extent).map(|at| (at, 1, 1)),
        SliceInfoElem::NewAxis => None,
    };
    found.ok_or(ArrayError::Section { axis, extent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array3, s};

    /// The elements that the planes visit, of an array whose elements are their positions.
    fn visited<const N: usize>(layout: &Layout<N>) -> Vec<usize> {
        let (width, planes) = layout.planes();
        let rows = planes.flat_map(|Plane { start, rows, pitch }| (0..rows).map(move |row| start + row * pitch));
        rows.flat_map(|first| first..first + width).collect()
    }

    #[test]
    fn planes_visit_what_ndarray_slices() {
        let array = Array3::from_shape_vec((4, 5, 6), (0..120).collect()).unwrap();
        macro_rules! same {
            ($($slice:tt)*) => {{
                let layout = Layout::section([4, 5, 6], &*s![$($slice)*]).unwrap();
                let slice = array.slice(s![$($slice)*]);
                assert_eq!(visited(&layout), slice.iter().copied().collect::<Vec<usize>>(), "{}", stringify!($($slice)*));
                assert_eq!(layout.shape, slice.shape());
                if slice.is_standard_layout() {
                    assert!(layout.is_contiguous(), "{}", stringify!($($slice)*));
                } else {
                    assert!(!layout.is_contiguous(), "{}", stringify!($($slice)*));
                }
            }};
        }
        same!(.., .., ..);
        same!(1..3, .., ..);
        same!(1..2, 2..4, ..);
        same!(.., 1..3, ..);
        same!(.., .., 2..5);
        same!(.., .., ..;2);
        same!(..;3, ..;2, 1..;2);
        same!(-2.., ..-1, -4..-1);
        same!(2..2, .., ..);
        same!(.., .., 6..);
        same!(1..2, 1..2, 1..2);
        same!(1..2, .., 3..4);
    }

    #[test]
    fn planes_are_as_large_as_they_can_be() {
        let planes = |layout: &Layout<3>| (layout.planes().0, layout.planes().1.count());
        assert_eq!(planes(&Layout::whole([4, 5, 6])), (120, 1));
        assert_eq!(planes(&Layout::section([4, 5, 6], &*s![.., 1..3, ..]).unwrap()), (12, 1));
        assert_eq!(planes(&Layout::section([4, 5, 6], &*s![.., 1..3, 1..]).unwrap()), (5, 4));
    }

    #[test]
    fn what_is_outside_is_refused() {
        let refused = |spans: &[SliceInfoElem; 1]| Layout::section([5], spans).unwrap_err();
        for spans in [*s![2..6], *s![6..], *s![..6], *s![-6..]] {
            assert_eq!(refused(&spans), ArrayError::Section { axis: 0, extent: 5 }, "{spans:?}");
        }
        assert!(Layout::section([0], &*s![..]).is_ok());
        assert_eq!(refused(&*s![..;-1]), ArrayError::Backwards { axis: 0 });
        assert_eq!(Layout::section([4, 5], &*s![.., 1..3;-2]), Err(ArrayError::Backwards { axis: 1 }));
    }
}

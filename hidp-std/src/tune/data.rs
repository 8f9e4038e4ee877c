//! Arguments of measured calls: made up, registered, restored, compared.

use std::ffi::c_void;

use crate::rt::entry::{Elem, Entry};
use crate::rt::{Arg, EMPTY_BYTES, element_count, shape_of};

/// A number that arrays of registered inputs may hold.
pub trait Number: Copy + sealed::Number {}

mod sealed {
    use crate::rt::entry::Elem;

    pub trait Number {
        const ELEM: Elem;
        /// Its bytes in the lower part of a word.
        fn word(self) -> u64;
    }

    macro_rules! numbers {
        ($($ty:ident $elem:ident $bits:ident;)*) => { $(
            impl Number for $ty {
                const ELEM: Elem = Elem::$elem;
                fn word(self) -> u64 {
                    u64::from($bits::from_ne_bytes(self.to_ne_bytes()))
                }
            }
            impl super::Number for $ty {}
        )* };
    }
    numbers! { i8 I8 u8; u8 U8 u8; i16 I16 u16; u16 U16 u16; i32 I32 u32; u32 U32 u32; i64 I64 u64; u64 U64 u64; f32 F32 u32; f64 F64 u64; }
}

/// An argument: a scalar or an array.
#[derive(Clone, Debug)]
pub struct Data {
    elem: Elem,
    /// The elements' bytes; at least as many as a kernel may read of an empty array.
    words: Vec<u64>,
    shape: Vec<usize>,
    value: Option<i64>,
}

impl Data {
    /// An array of this shape, in row-major order.
    ///
    /// # Panics
    /// If the number of elements differs from that of the shape.
    pub fn array<T: Number>(elements: &[T], shape: &[usize]) -> Data {
        assert_eq!(element_count(shape), Some(elements.len()), "as many elements as the shape says");
        Data { shape: shape.to_vec(), ..Data::from_words(T::ELEM, elements.iter().map(|element| element.word())) }
    }
    /// An array of one dimension.
    pub fn vector<T: Number>(elements: &[T]) -> Data {
        Data::array(elements, &[elements.len()])
    }
    /// A scalar.
    pub fn scalar<T: Number>(value: T) -> Data {
        let data = Data::from_words(T::ELEM, std::iter::once(value.word()));
        Data { value: data.integer(), ..data }
    }

    fn from_words(elem: Elem, elements: impl ExactSizeIterator<Item = u64>) -> Data {
        let size = size_of_elem(elem);
        let mut words = vec![0; (elements.len() * size).max(EMPTY_BYTES).div_ceil(8)];
        let per_word = 8 / size;
        for (at, element) in elements.enumerate() {
            let lane = if cfg!(target_endian = "little") { at % per_word } else { per_word - 1 - at % per_word };
            words[at / per_word] |= element << (lane * size * 8);
        }
        Data { elem, words, shape: Vec::new(), value: None }
    }

    pub(super) fn elem(&self) -> Elem {
        self.elem
    }
    pub(super) fn shape(&self) -> &[usize] {
        &self.shape
    }
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Element `at` as bits.
    fn bits(&self, at: usize) -> u64 {
        let size = size_of_elem(self.elem);
        let per_word = 8 / size;
        let lane = if cfg!(target_endian = "little") { at % per_word } else { per_word - 1 - at % per_word };
        let word = self.words[at / per_word] >> (lane * size * 8);
        if size == 8 { word } else { word & ((1 << (size * 8)) - 1) }
    }
    fn integer(&self) -> Option<i64> {
        let bits = self.bits(0);
        match self.elem {
            Elem::I8 => Some((bits as i8).into()),
            Elem::I16 => Some((bits as i16).into()),
            Elem::I32 => Some((bits as i32).into()),
            Elem::I64 => Some(bits as i64),
            Elem::U8 | Elem::U16 | Elem::U32 | Elem::U64 => i64::try_from(bits).ok(),
            Elem::F32 | Elem::F64 | Elem::Other => None,
        }
    }
    fn float(&self, at: usize) -> Option<f64> {
        match self.elem {
            Elem::F32 => Some(f32::from_bits(self.bits(at) as u32).into()),
            Elem::F64 => Some(f64::from_bits(self.bits(at))),
            Elem::I8
            | Elem::U8
            | Elem::I16
            | Elem::U16
            | Elem::I32
            | Elem::U32
            | Elem::I64
            | Elem::U64
            | Elem::Other => None,
        }
    }

    /// The argument that the kernel gets.
    pub(super) fn arg(&mut self) -> Arg<'_> {
        let (address, bytes) = (self.address_mut(), self.bytes());
        Arg::raw(address, self.value, &self.shape, bytes)
    }
    /// Of the array; 0 for a scalar.
    pub(super) fn bytes(&self) -> usize {
        if self.shape.is_empty() { 0 } else { self.len() * size_of_elem(self.elem) }
    }
    pub(super) fn address(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }
    pub(super) fn address_mut(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    /// Takes over the elements of `pristine`, which has the same shape.
    pub(super) fn restore(&mut self, pristine: &Data) {
        self.words.copy_from_slice(&pristine.words);
    }

    /// Whether the elements are those of `expected`; floats may differ by what another order of folding makes.
    pub(super) fn agrees(&self, expected: &Data) -> bool {
        let count = self.len();
        let tolerance = match self.elem {
            Elem::F32 => 1e-5,
            Elem::F64 => 1e-12,
            _ => return (0..count).all(|at| self.bits(at) == expected.bits(at)),
        };
        let finite = (0..count).filter_map(|at| expected.float(at)).filter(|value| value.is_finite());
        let scale = finite.fold(f64::MIN_POSITIVE, |scale, value| scale.max(value.abs()));
        (0..count).all(|at| match (self.float(at), expected.float(at)) {
            (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * scale,
            _ => false,
        })
    }
}

pub(super) fn size_of_elem(elem: Elem) -> usize {
    match elem {
        Elem::I8 | Elem::U8 => 1,
        Elem::I16 | Elem::U16 => 2,
        Elem::I32 | Elem::U32 | Elem::F32 => 4,
        Elem::I64 | Elem::U64 | Elem::F64 | Elem::Other => 8,
    }
}

/// What made-up scalars of integer type hold.
const SMALL: u64 = 4;

/// Why no arguments can be made up for an entry, if so.
pub(super) fn cannot_make_up(entry: &Entry) -> Option<String> {
    let param = entry
        .params
        .iter()
        .find(|param| param.elem == Elem::Other || (param.positions && param.reads && !param.shape.is_empty()))?;
    let why = if param.elem == Elem::Other { "is no number" } else { "holds positions" };
    Some(format!("`{}` {why}: register inputs", param.name))
}

/// Made-up scalars in their places; arrays are empty for now.
pub(super) fn scalars(entry: &Entry) -> Vec<Data> {
    let made = entry.params.iter().map(|param| match param.elem {
        Elem::F32 => Data::scalar(0.5f32),
        Elem::F64 => Data::scalar(0.5f64),
        elem => {
            let data = Data::from_words(elem, std::iter::once(SMALL));
            Data { value: data.integer(), ..data }
        }
    });
    made.collect()
}

/// Shapes of the arguments for these dimensions.
pub(super) fn shapes(entry: &Entry, dims: &[i64]) -> Option<Vec<Vec<usize>>> {
    let mut scalars = scalars(entry);
    let args: Vec<Arg<'_>> = scalars.iter_mut().map(Data::arg).collect();
    (0..entry.params.len()).map(|param| shape_of(entry, param, &args, dims)).collect()
}

/// Arguments for these dimensions. Values are small multiples of 1/2 of either sign, so that sums of many of them are exact.
pub(super) fn make_up(entry: &Entry, dims: &[i64]) -> Option<Vec<Data>> {
    let shapes = shapes(entry, dims)?;
    let mut made = scalars(entry);
    for (data, (shape, param)) in made.iter_mut().zip(shapes.into_iter().zip(entry.params)) {
        if param.shape.is_empty() {
            continue;
        }
        let count = element_count(&shape)?;
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) % 5
        };
        let elem = param.elem;
        let words = (0..count).map(|_| match elem {
            Elem::F32 => u64::from(((next() as f32 - 2.0) / 2.0).to_bits()),
            Elem::F64 => ((next() as f64 - 2.0) / 2.0).to_bits(),
            _ => next(),
        });
        *data = Data { shape, ..Data::from_words(elem, words) };
    }
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_lie_as_in_slices() {
        let mut data = Data::vector(&[1i16, -2, 3, -4, 5]);
        let address = data.arg();
        assert!(format!("{address:?}").contains("shape: [5]"));
        assert_eq!((0..5).map(|at| data.bits(at) as i16).collect::<Vec<_>>(), [1, -2, 3, -4, 5]);
        assert_eq!(Data::scalar(-7i32).value, Some(-7));
        assert_eq!(Data::scalar(7.0f32).value, None);
        assert_eq!(Data::array(&[1.5f64, 2.5], &[2, 1]).float(1), Some(2.5));
    }

    #[test]
    fn wrong_elements_are_found() {
        let right = Data::vector(&[1.0f32, f32::NAN, 1000.0]);
        assert!(Data::vector(&[1.001f32, f32::NAN, 1000.0]).agrees(&right));
        assert!(!Data::vector(&[1.0f32, 0.0, 1000.0]).agrees(&right));
        assert!(!Data::vector(&[1.0f32, f32::NAN, 1001.0]).agrees(&right));
        assert!(!Data::vector(&[1u8, 2]).agrees(&Data::vector(&[1u8, 3])));
    }
}

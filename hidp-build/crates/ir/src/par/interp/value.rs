//! Values and flat typed storage.

use std::rc::Rc;

use super::super::Program;
use hidp_syntax::ty::{Scalar, Ty};

/// A value of the language.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
    /// Field values in order.
    Struct(Rc<Vec<Value>>),
}

/// The contents of uninitialised memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Zero,
    /// Values that show up in results.
    Poison,
}

impl Value {
    /// Zero, `false`, or a struct of these.
    pub fn zero(program: &Program, ty: Ty) -> Value {
        Value::filled(program, ty, Fill::Zero)
    }

    pub(super) fn filled(program: &Program, ty: Ty, fill: Fill) -> Value {
        let poison = fill == Fill::Poison;
        match ty {
            Ty::Scalar(scalar) => match scalar {
                Scalar::Bool => Value::Bool(poison),
                Scalar::F32 => Value::F32(if poison { f32::NAN } else { 0.0 }),
                Scalar::F64 => Value::F64(if poison { f64::NAN } else { 0.0 }),
                Scalar::I8
                | Scalar::U8
                | Scalar::I16
                | Scalar::U16
                | Scalar::I32
                | Scalar::U32
                | Scalar::I64
                | Scalar::U64 => Value::wrapping(scalar, if poison { 0x5a5a_5a5a_5a5a_5a5a } else { 0 }),
            },
            Ty::Struct(id) => {
                let fields = program.structs[id].fields.iter().map(|(_, ty)| Value::filled(program, *ty, fill));
                Value::Struct(Rc::new(fields.collect()))
            }
        }
    }

    /// An integer in its type, cut off to it; for floats the nearest, for `bool` whether it is not zero.
    pub(in crate::par) fn wrapping(scalar: Scalar, value: i128) -> Value {
        match scalar {
            Scalar::Bool => Value::Bool(value != 0),
            Scalar::I8 => Value::I8(value as i8),
            Scalar::U8 => Value::U8(value as u8),
            Scalar::I16 => Value::I16(value as i16),
            Scalar::U16 => Value::U16(value as u16),
            Scalar::I32 => Value::I32(value as i32),
            Scalar::U32 => Value::U32(value as u32),
            Scalar::I64 => Value::I64(value as i64),
            Scalar::U64 => Value::U64(value as u64),
            Scalar::F32 => Value::F32(value as f32),
            Scalar::F64 => Value::F64(value as f64),
        }
    }

    /// A float in its type; for integers as Rust's `as`.
    pub(in crate::par) fn saturating(scalar: Scalar, value: f64) -> Value {
        match scalar {
            Scalar::Bool => Value::Bool(value != 0.0),
            Scalar::I8 => Value::I8(value as i8),
            Scalar::U8 => Value::U8(value as u8),
            Scalar::I16 => Value::I16(value as i16),
            Scalar::U16 => Value::U16(value as u16),
            Scalar::I32 => Value::I32(value as i32),
            Scalar::U32 => Value::U32(value as u32),
            Scalar::I64 => Value::I64(value as i64),
            Scalar::U64 => Value::U64(value as u64),
            Scalar::F32 => Value::F32(value as f32),
            Scalar::F64 => Value::F64(value),
        }
    }

    /// The type, if it is no struct.
    pub fn scalar(&self) -> Option<Scalar> {
        Some(match self {
            Value::Bool(_) => Scalar::Bool,
            Value::I8(_) => Scalar::I8,
            Value::U8(_) => Scalar::U8,
            Value::I16(_) => Scalar::I16,
            Value::U16(_) => Scalar::U16,
            Value::I32(_) => Scalar::I32,
            Value::U32(_) => Scalar::U32,
            Value::I64(_) => Scalar::I64,
            Value::U64(_) => Scalar::U64,
            Value::F32(_) => Scalar::F32,
            Value::F64(_) => Scalar::F64,
            Value::Struct(_) => return None,
        })
    }

    /// The value of an integer or `bool`.
    pub fn as_integer(&self) -> Option<i128> {
        Some(match self {
            Value::Bool(value) => i128::from(*value),
            Value::I8(value) => i128::from(*value),
            Value::U8(value) => i128::from(*value),
            Value::I16(value) => i128::from(*value),
            Value::U16(value) => i128::from(*value),
            Value::I32(value) => i128::from(*value),
            Value::U32(value) => i128::from(*value),
            Value::I64(value) => i128::from(*value),
            Value::U64(value) => i128::from(*value),
            Value::F32(_) | Value::F64(_) | Value::Struct(_) => return None,
        })
    }

    /// The value of a float.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::F32(value) => Some(f64::from(*value)),
            Value::F64(value) => Some(*value),
            Value::Bool(_)
            | Value::I8(_)
            | Value::U8(_)
            | Value::I16(_)
            | Value::U16(_)
            | Value::I32(_)
            | Value::U32(_)
            | Value::I64(_)
            | Value::U64(_)
            | Value::Struct(_) => None,
        }
    }

    /// Whether it is a value of this type.
    pub fn is_of(&self, program: &Program, ty: Ty) -> bool {
        match (self, ty) {
            (Value::Struct(fields), Ty::Struct(id)) => {
                let types = &program.structs[id].fields;
                fields.len() == types.len() && fields.iter().zip(types).all(|(f, (_, ty))| f.is_of(program, *ty))
            }
            (_, Ty::Struct(_)) => false,
            (_, Ty::Scalar(scalar)) => self.scalar() == Some(scalar),
        }
    }

    /// A field, an inner one for a longer path.
    pub(super) fn field(&self, path: &[u32]) -> Value {
        let mut value = self;
        for field in path {
            if let Value::Struct(fields) = value {
                value = &fields[*field as usize];
            }
        }
        value.clone()
    }

    /// Overwrites a field, the whole value for an empty path.
    pub(super) fn set_field(&mut self, path: &[u32], new: Value) {
        match (path, self) {
            ([], whole) => *whole = new,
            ([first, rest @ ..], Value::Struct(fields)) => {
                Rc::make_mut(fields)[*first as usize].set_field(rest, new);
            }
            (
                [_, ..],
                Value::Bool(_)
                | Value::I8(_)
                | Value::U8(_)
                | Value::I16(_)
                | Value::U16(_)
                | Value::I32(_)
                | Value::U32(_)
                | Value::I64(_)
                | Value::U64(_)
                | Value::F32(_)
                | Value::F64(_),
            ) => {}
        }
    }
}

macro_rules! data {
    ($($variant:ident $ty:ty;)*) => {
        /// Elements of one type.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Data {
            $($variant(Vec<$ty>),)*
            /// Structs.
            Struct(Vec<Value>),
        }

        impl Data {
            /// Number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $(Data::$variant(elements) => elements.len(),)*
                    Data::Struct(elements) => elements.len(),
                }
            }
            /// One element.
            pub fn get(&self, index: usize) -> Value {
                match self {
                    $(Data::$variant(elements) => Value::$variant(elements[index]),)*
                    Data::Struct(elements) => elements[index].clone(),
                }
            }
            /// Overwrites one element with a value of the elements' type.
            pub(in crate::par) fn set(&mut self, index: usize, value: Value) {
                match (self, value) {
                    $((Data::$variant(elements), Value::$variant(value)) => elements[index] = value,)*
                    (Data::Struct(elements), value) => elements[index] = value,
                    (elements, value) => unreachable!("{value:?} stored to {:?}", elements.scalar()),
                }
            }
            /// The type of the elements, if they are no structs.
            pub fn scalar(&self) -> Option<Scalar> {
                match self {
                    $(Data::$variant(_) => Some(Scalar::$variant),)*
                    Data::Struct(_) => None,
                }
            }
            /// Elements that are all the same; `None` if there is not enough memory.
            pub(in crate::par) fn filled(value: &Value, len: usize) -> Option<Data> {
                Some(match value {
                    $(Value::$variant(value) => Data::$variant(filled(*value, len)?),)*
                    Value::Struct(_) => Data::Struct(filled(value.clone(), len)?),
                })
            }
            /// Elements of one type, one after the other.
            pub(super) fn refill(&mut self, value: &Value, len: usize) {
                match (self, value) {
                    $((Data::$variant(elements), Value::$variant(value)) => {
                        elements.clear();
                        elements.resize(len, *value);
                    })*
                    (Data::Struct(elements), value) => {
                        elements.clear();
                        elements.resize(len, value.clone());
                    }
                    (elements, value) => unreachable!("{value:?} fills {:?}", elements.scalar()),
                }
            }
        }

        $(impl From<Vec<$ty>> for Data {
            fn from(elements: Vec<$ty>) -> Data {
                Data::$variant(elements)
            }
        }

        impl From<$ty> for Value {
            fn from(value: $ty) -> Value {
                Value::$variant(value)
            }
        })*
    };
}

data! {
    Bool bool;
    I8 i8;
    U8 u8;
    I16 i16;
    U16 u16;
    I32 i32;
    U32 u32;
    I64 i64;
    U64 u64;
    F32 f32;
    F64 f64;
}

impl Data {
    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// All elements as values.
    pub fn values(&self) -> Vec<Value> {
        (0..self.len()).map(|index| self.get(index)).collect()
    }
    /// Whether the elements are of this type.
    pub fn is_of(&self, program: &Program, ty: Ty) -> bool {
        match (self, ty) {
            (Data::Struct(elements), Ty::Struct(_)) => elements.iter().all(|element| element.is_of(program, ty)),
            (_, Ty::Struct(_)) => false,
            (_, Ty::Scalar(scalar)) => self.scalar() == Some(scalar),
        }
    }
}

fn filled<T: Clone>(value: T, len: usize) -> Option<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(len).ok()?;
    elements.resize(len, value);
    Some(elements)
}

/// An array: its extents, outermost first, and its elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Extents.
    pub shape: Vec<i64>,
    /// Elements.
    pub data: Data,
}

impl Array {
    /// An array of rank 1.
    pub fn vector(data: impl Into<Data>) -> Array {
        let data = data.into();
        Array { shape: vec![data.len() as i64], data }
    }
    /// An array of this shape.
    pub fn new(shape: impl Into<Vec<i64>>, data: impl Into<Data>) -> Array {
        Array { shape: shape.into(), data: data.into() }
    }
}

/// Bytes of one value in an array: as C lays out structs.
pub fn size_of(program: &Program, ty: Ty) -> u64 {
    layout(program, ty).0
}

/// Size and alignment.
fn layout(program: &Program, ty: Ty) -> (u64, u64) {
    match ty {
        Ty::Scalar(scalar) => (scalar.size() as u64, scalar.size() as u64),
        Ty::Struct(id) => {
            let (mut size, mut align) = (0_u64, 1);
            for (_, field) in &program.structs[id].fields {
                let (field_size, field_align) = layout(program, *field);
                size = size.next_multiple_of(field_align) + field_size;
                align = align.max(field_align);
            }
            (size.next_multiple_of(align), align)
        }
    }
}

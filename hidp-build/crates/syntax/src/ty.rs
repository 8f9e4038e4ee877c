//! Types of values.

use std::fmt;

use crate::index::define_id;

define_id! {
    /// A struct type of the program.
    StructId, "struct"
}

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// `bool`
    Bool,
    /// `char` (`int8`): 8-bit signed
    I8,
    /// `uint8`
    U8,
    /// `short`
    I16,
    /// `ushort`
    U16,
    /// `int`
    I32,
    /// `uint`
    U32,
    /// `long`
    I64,
    /// `ulong`
    U64,
    /// `float`
    F32,
    /// `double`
    F64,
}

impl Scalar {
    /// Every scalar type.
    pub const ALL: [Scalar; 11] = [
        Scalar::Bool,
        Scalar::I8,
        Scalar::U8,
        Scalar::I16,
        Scalar::U16,
        Scalar::I32,
        Scalar::U32,
        Scalar::I64,
        Scalar::U64,
        Scalar::F32,
        Scalar::F64,
    ];

    /// The name HiDP prints for it.
    pub const fn hidp_name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "int8",
            Scalar::U8 => "uint8",
            Scalar::I16 => "short",
            Scalar::U16 => "ushort",
            Scalar::I32 => "int",
            Scalar::U32 => "uint",
            Scalar::I64 => "long",
            Scalar::U64 => "ulong",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
        }
    }

    /// The type a HiDP or Rust type name means.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Some(match name {
            "bool" => Scalar::Bool,
            "char" | "int8" | "i8" => Scalar::I8,
            "uint8" | "u8" => Scalar::U8,
            "short" | "int16" | "i16" => Scalar::I16,
            "ushort" | "uint16" | "u16" => Scalar::U16,
            "int" | "int32" | "i32" => Scalar::I32,
            "uint" | "uint32" | "u32" => Scalar::U32,
            "long" | "int64" | "i64" => Scalar::I64,
            "ulong" | "uint64" | "u64" | "usize" => Scalar::U64,
            "float" | "f32" => Scalar::F32,
            "double" | "f64" => Scalar::F64,
            _ => return None,
        })
    }

    /// The Rust type with the same layout.
    pub const fn rust_name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "i8",
            Scalar::U8 => "u8",
            Scalar::I16 => "i16",
            Scalar::U16 => "u16",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::I64 => "i64",
            Scalar::U64 => "u64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    /// Size in bytes, which is also the alignment.
    pub const fn size(self) -> usize {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    /// `float` or `double`.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }

    /// An integer type; `bool` is none.
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, Scalar::Bool)
    }

    /// Whether the type holds negative values.
    pub const fn is_signed(self) -> bool {
        matches!(self, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::F32 | Scalar::F64)
    }

    /// Smallest and largest value of an integer type or `bool` (0 and 1); `None` for floats.
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Scalar::Bool => (0, 1),
            Scalar::I8 => (i8::MIN as i128, i8::MAX as i128),
            Scalar::U8 => (0, u8::MAX as i128),
            Scalar::I16 => (i16::MIN as i128, i16::MAX as i128),
            Scalar::U16 => (0, u16::MAX as i128),
            Scalar::I32 => (i32::MIN as i128, i32::MAX as i128),
            Scalar::U32 => (0, u32::MAX as i128),
            Scalar::I64 => (i64::MIN as i128, i64::MAX as i128),
            Scalar::U64 => (0, u64::MAX as i128),
            Scalar::F32 | Scalar::F64 => return None,
        })
    }

    /// Whether every value of `self` is a value of `wider` (an implicit conversion keeps it; §Lexical of the
    /// language reference). Integer to float counts although large integers round: the language allows it.
    pub fn converts_to(self, wider: Scalar) -> bool {
        match (self.integer_range(), wider.integer_range()) {
            (Some((low, high)), Some((wide_low, wide_high))) => {
                self == wider || (wider != Scalar::Bool && wide_low <= low && high <= wide_high)
            }
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => self == wider || wider == Scalar::F64,
        }
    }

    /// The type in which two operands of arithmetic meet, or `None` when a cast is needed. `bool` counts as `int`.
    pub fn meet(self, other: Scalar) -> Option<Scalar> {
        let promote = |scalar: Scalar| {
            if scalar == Scalar::Bool { Scalar::I32 } else { scalar }
        };
        let (a, b) = (promote(self), promote(other));
        match (a.is_float(), b.is_float()) {
            (true, true) => Some(if a == Scalar::F64 { a } else { b }),
            (true, false) => Some(a),
            (false, true) => Some(b),
            (false, false) => Scalar::ALL
                .into_iter()
                .filter(|c| c.is_integer() && a.converts_to(*c) && b.converts_to(*c))
                .min_by_key(|c| c.size()),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hidp_name())
    }
}

/// The type of a value or of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ty {
    /// A number or truth value.
    Scalar(Scalar),
    /// A struct of the program.
    Struct(StructId),
}

impl Ty {
    /// `long`, the type of dimensions and iterators.
    pub const LONG: Ty = Ty::Scalar(Scalar::I64);
    /// `bool`, the type of conditions.
    pub const BOOL: Ty = Ty::Scalar(Scalar::Bool);

    /// The scalar, if it is one.
    pub const fn scalar(self) -> Option<Scalar> {
        match self {
            Ty::Scalar(scalar) => Some(scalar),
            Ty::Struct(_) => None,
        }
    }
}

impl From<Scalar> for Ty {
    fn from(scalar: Scalar) -> Ty {
        Ty::Scalar(scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_named_by_their_bits_too() {
        for scalar in Scalar::ALL.into_iter().filter(|scalar| scalar.is_integer()) {
            let rust = scalar.rust_name();
            let (sign, bits) = rust.split_at(1);
            let named = format!("{}{bits}", if sign == "u" { "uint" } else { "int" });
            assert_eq!(Scalar::from_name(&named), Some(scalar), "{named}");
            assert_eq!(Scalar::from_name(rust), Some(scalar));
            assert_eq!(Scalar::from_name(scalar.hidp_name()), Some(scalar));
        }
    }
}

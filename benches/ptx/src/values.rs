//! Arithmetic on the bits of registers.

use crate::instr::{Kind, Rounding, Type};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Negate,
    Absolute,
    Root,
    Inverse,
    InverseRoot,
    Power2,
    Logarithm2,
    Sine,
    Cosine,
    Tanh,
    Ones,
    Zeros,
    Highest,
    Reversed,
}

impl Unary {
    pub(crate) fn read(name: &str) -> Option<Unary> {
        Some(match name {
            "not" | "cnot" => Unary::Not,
            "neg" => Unary::Negate,
            "abs" => Unary::Absolute,
            "sqrt" => Unary::Root,
            "rcp" => Unary::Inverse,
            "rsqrt" => Unary::InverseRoot,
            "ex2" => Unary::Power2,
            "lg2" => Unary::Logarithm2,
            "sin" => Unary::Sine,
            "cos" => Unary::Cosine,
            "tanh" => Unary::Tanh,
            "popc" => Unary::Ones,
            "clz" => Unary::Zeros,
            "bfind" => Unary::Highest,
            "brev" => Unary::Reversed,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Least,
    Most,
    And,
    Or,
    Xor,
    Left,
    Right,
    Sign,
    /// Of updates: one more, from 0 again behind the limit.
    Increment,
}

impl Binary {
    pub(crate) fn read(name: &str) -> Option<Binary> {
        Some(match name {
            "add" => Binary::Add,
            "sub" => Binary::Subtract,
            "mul" => Binary::Multiply,
            "div" => Binary::Divide,
            "rem" => Binary::Remainder,
            "min" => Binary::Least,
            "max" => Binary::Most,
            "and" => Binary::And,
            "or" => Binary::Or,
            "xor" => Binary::Xor,
            "shl" => Binary::Left,
            "shr" => Binary::Right,
            "copysign" => Binary::Sign,
            "inc" => Binary::Increment,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    /// The same, or one of them is no number.
    UnorderedOr(Order),
    Numbers,
    NotNumbers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Compare {
    pub(crate) fn read(name: &str) -> Option<Compare> {
        Some(match name {
            "eq" => Compare::Equal,
            "ne" => Compare::Unequal,
            "lt" | "lo" => Compare::Less,
            "le" | "ls" => Compare::AtMost,
            "gt" | "hi" => Compare::Greater,
            "ge" | "hs" => Compare::AtLeast,
            "equ" => Compare::UnorderedOr(Order::Equal),
            "neu" => Compare::UnorderedOr(Order::Unequal),
            "ltu" => Compare::UnorderedOr(Order::Less),
            "leu" => Compare::UnorderedOr(Order::AtMost),
            "gtu" => Compare::UnorderedOr(Order::Greater),
            "geu" => Compare::UnorderedOr(Order::AtLeast),
            "num" => Compare::Numbers,
            "nan" => Compare::NotNumbers,
            _ => return None,
        })
    }
}

/// The lower bits of a value.
pub(crate) fn narrow(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The value of so many bits with its sign.
pub(crate) fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.min(64);
    ((value << unused) as i64) >> unused
}

pub(crate) fn float(value: u64, bits: u32) -> f64 {
    if bits == 32 { f64::from(f32::from_bits(value as u32)) } else { f64::from_bits(value) }
}

pub(crate) fn bits_of(value: f64, bits: u32) -> u64 {
    if bits == 32 { u64::from((value as f32).to_bits()) } else { value.to_bits() }
}

pub(crate) fn unary(op: Unary, ty: Type, a: u64) -> u64 {
    let bits = ty.bits;
    if ty.is_float() {
        let x = float(a, bits);
        return bits_of(of_float(op, x), bits);
    }
    let value = narrow(a, bits);
    let result = match op {
        Unary::Not if ty.kind == Kind::Predicate => u64::from(value == 0),
        Unary::Not => !value,
        Unary::Negate => value.wrapping_neg(),
        Unary::Absolute => signed(value, bits).unsigned_abs(),
        Unary::Ones => u64::from(value.count_ones()),
        Unary::Zeros => u64::from(value.leading_zeros() - (64 - bits)),
        Unary::Highest if value == 0 => u64::from(u32::MAX),
        Unary::Highest => u64::from(63 - value.leading_zeros()),
        Unary::Reversed => value.reverse_bits() >> (64 - bits),
        Unary::Root
        | Unary::Inverse
        | Unary::InverseRoot
        | Unary::Power2
        | Unary::Logarithm2
        | Unary::Sine
        | Unary::Cosine
        | Unary::Tanh => unreachable!("`{op:?}` is of floats"),
    };
    narrow(result, bits)
}

/// Approximations are as exact as the processor's functions.
fn of_float(op: Unary, x: f64) -> f64 {
    match op {
        Unary::Negate => -x,
        Unary::Absolute => x.abs(),
        Unary::Root => x.sqrt(),
        Unary::Inverse => 1.0 / x,
        Unary::InverseRoot => 1.0 / x.sqrt(),
        Unary::Power2 => x.exp2(),
        Unary::Logarithm2 => x.log2(),
        Unary::Sine => x.sin(),
        Unary::Cosine => x.cos(),
        Unary::Tanh => x.tanh(),
        Unary::Not | Unary::Ones | Unary::Zeros | Unary::Highest | Unary::Reversed => {
            unreachable!("`{op:?}` is of integers")
        }
    }
}

pub(crate) fn binary(op: Binary, ty: Type, a: u64, b: u64) -> u64 {
    let bits = ty.bits;
    if ty.is_float() {
        return bits_of(of_floats(op, float(a, bits), float(b, bits)), bits);
    }
    let (x, y) = (narrow(a, bits), narrow(b, bits));
    let (sx, sy) = (signed(x, bits), signed(y, bits));
    let is_signed = ty.is_signed();
    let result = match op {
        Binary::Add => x.wrapping_add(y),
        Binary::Subtract => x.wrapping_sub(y),
        Binary::Multiply => x.wrapping_mul(y),
        // Division by 0 gives something on a GPU, too.
        Binary::Divide if y == 0 => u64::MAX,
        Binary::Divide if is_signed => sx.wrapping_div(sy) as u64,
        Binary::Divide => x / y,
        Binary::Remainder if y == 0 => x,
        Binary::Remainder if is_signed => sx.wrapping_rem(sy) as u64,
        Binary::Remainder => x % y,
        Binary::Least if is_signed => sx.min(sy) as u64,
        Binary::Least => x.min(y),
        Binary::Most if is_signed => sx.max(sy) as u64,
        Binary::Most => x.max(y),
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        // The number of places is 32 bits wide, and not taken modulo.
        Binary::Left if b as u32 >= bits => 0,
        Binary::Left => x << (b as u32),
        Binary::Right if is_signed => (sx >> (b as u32).min(bits - 1)) as u64,
        Binary::Right if b as u32 >= bits => 0,
        Binary::Right => x >> (b as u32),
        Binary::Increment => {
            if x >= y {
                0
            } else {
                x + 1
            }
        }
        Binary::Sign => unreachable!("`copysign` is of floats"),
    };
    narrow(result, bits)
}

/// In double: sums, products and quotients of floats, rounded to floats again, are those of floats.
fn of_floats(op: Binary, x: f64, y: f64) -> f64 {
    match op {
        Binary::Add => x + y,
        Binary::Subtract => x - y,
        Binary::Multiply => x * y,
        Binary::Divide => x / y,
        Binary::Least => x.min(y),
        Binary::Most => x.max(y),
        Binary::Sign => y.copysign(x),
        Binary::Remainder
        | Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::Left
        | Binary::Right
        | Binary::Increment => unreachable!("`{op:?}` is of integers"),
    }
}

/// A product and a sum with one rounding. Of floats the sum is rounded to double before, which seldom changes the last bit.
pub(crate) fn fused(bits: u32, a: u64, b: u64, c: u64) -> u64 {
    let (x, y, z) = (float(a, bits), float(b, bits), float(c, bits));
    let value = if bits == 32 { x * y + z } else { x.mul_add(y, z) };
    bits_of(value, bits)
}

pub(crate) fn compare(how: Compare, ty: Type, a: u64, b: u64) -> bool {
    use std::cmp::Ordering;
    let order = if ty.is_float() {
        float(a, ty.bits).partial_cmp(&float(b, ty.bits))
    } else if ty.is_signed() {
        Some(signed(a, ty.bits).cmp(&signed(b, ty.bits)))
    } else {
        Some(narrow(a, ty.bits).cmp(&narrow(b, ty.bits)))
    };
    match how {
        Compare::Equal => order == Some(Ordering::Equal),
        Compare::Unequal => matches!(order, Some(Ordering::Less | Ordering::Greater)),
        Compare::Less => order == Some(Ordering::Less),
        Compare::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Compare::Greater => order == Some(Ordering::Greater),
        Compare::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Compare::UnorderedOr(Order::Equal) => matches!(order, None | Some(Ordering::Equal)),
        Compare::UnorderedOr(Order::Unequal) => order != Some(Ordering::Equal),
        Compare::UnorderedOr(Order::Less) => matches!(order, None | Some(Ordering::Less)),
        Compare::UnorderedOr(Order::AtMost) => order != Some(Ordering::Greater),
        Compare::UnorderedOr(Order::Greater) => matches!(order, None | Some(Ordering::Greater)),
        Compare::UnorderedOr(Order::AtLeast) => order != Some(Ordering::Less),
        Compare::Numbers => order.is_some(),
        Compare::NotNumbers => order.is_none(),
    }
}

pub(crate) fn convert(from: Type, to: Type, rounding: Rounding, a: u64) -> u64 {
    let rounded = |x: f64| match rounding {
        Rounding::Nearest => x.round_ties_even(),
        Rounding::Zero => x.trunc(),
        Rounding::Down => x.floor(),
        Rounding::Up => x.ceil(),
    };
    match (from.is_float(), to.is_float()) {
        (true, true) if from == to => bits_of(rounded(float(a, from.bits)), to.bits),
        (true, true) => bits_of(float(a, from.bits), to.bits),
        (true, false) => {
            let x = rounded(float(a, from.bits));
            let value = if to.is_signed() {
                let most = i64::MAX >> (64 - to.bits);
                (x as i64).clamp(-most - 1, most) as u64
            } else {
                (x as u64).min(u64::MAX >> (64 - to.bits))
            };
            narrow(value, to.bits)
        }
        (false, true) if from.is_signed() => match (to.bits, signed(a, from.bits)) {
            (32, x) => u64::from((x as f32).to_bits()),
            (_, x) => (x as f64).to_bits(),
        },
        (false, true) => match (to.bits, narrow(a, from.bits)) {
            (32, x) => u64::from((x as f32).to_bits()),
            (_, x) => (x as f64).to_bits(),
        },
        (false, false) if from.is_signed() => narrow(signed(a, from.bits) as u64, to.bits),
        (false, false) => narrow(narrow(a, from.bits), to.bits),
    }
}

/// Whole product of integers.
pub(crate) fn product(ty: Type, a: u64, b: u64) -> u128 {
    if ty.is_signed() {
        (i128::from(signed(a, ty.bits)) * i128::from(signed(b, ty.bits))) as u128
    } else {
        u128::from(narrow(a, ty.bits)) * u128::from(narrow(b, ty.bits))
    }
}

/// Differences of bytes, added up.
pub(crate) fn differences_of_bytes(a: u64, b: u64) -> u64 {
    let bytes = |value: u64| (value as u32).to_le_bytes();
    bytes(a).iter().zip(bytes(b)).map(|(x, y)| u64::from(x.abs_diff(y))).sum()
}

pub(crate) fn permuted(a: u64, b: u64, selector: u64) -> u64 {
    let all = (narrow(b, 32) << 32) | narrow(a, 32);
    (0..4).fold(0, |sum, at| {
        let which = (selector >> (4 * at)) & 0xf;
        let byte = (all >> (8 * (which & 7))) & 0xff;
        let byte = if which & 8 == 0 {
            byte
        } else if byte & 0x80 == 0 {
            0
        } else {
            0xff
        };
        sum | (byte << (8 * at))
    })
}

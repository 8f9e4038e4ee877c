//! Constants, exact and of their very type.

use super::name;
use super::value::Piece;
use hidp_syntax::ty::Scalar;

/// An integer of an integer type (or of `bool`).
pub fn int(value: i128, scalar: Scalar) -> Piece {
    let lowest = scalar.integer_range().map_or(i128::MIN, |(low, _)| low);
    match scalar {
        Scalar::Bool => bool(value != 0),
        Scalar::I32 | Scalar::I64 if value == lowest => {
            Piece::atom(if scalar == Scalar::I32 { "INT32_MIN" } else { "INT64_MIN" })
        }
        Scalar::I32 => signed(value, ""),
        Scalar::I64 => signed(value, "L"),
        Scalar::U32 => Piece::atom(format!("{value}u")),
        Scalar::U64 => Piece::atom(format!("{value}UL")),
        Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 => {
            Piece::atom(format!("{}({value})", name::scalar(scalar)))
        }
        Scalar::F32 | Scalar::F64 => float(value as f64, scalar),
    }
}

fn signed(value: i128, suffix: &str) -> Piece {
    let text = format!("{value}{suffix}");
    if value < 0 { Piece::compound(text) } else { Piece::atom(text) }
}

/// `true` or `false`.
pub fn bool(value: bool) -> Piece {
    Piece::atom(if value { "true" } else { "false" })
}

/// A float: the shortest decimal that reads back as the same value.
pub fn float(value: f64, scalar: Scalar) -> Piece {
    let single = scalar == Scalar::F32;
    if value.is_nan() {
        return Piece::atom(if single { "__builtin_nanf(\"\")" } else { "__builtin_nan(\"\")" });
    }
    let magnitude = value.abs();
    let text = match (magnitude.is_infinite(), single) {
        (true, true) => "__builtin_inff()".to_owned(),
        (true, false) => "__builtin_inf()".to_owned(),
        (false, true) => format!("{:?}f", magnitude as f32),
        (false, false) => format!("{magnitude:?}"),
    };
    if value.is_sign_negative() { Piece::compound(format!("-{text}")) } else { Piece::atom(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_their_type() {
        assert_eq!(int(5, Scalar::I32).text, "5");
        assert_eq!(int(i64::MIN.into(), Scalar::I64).text, "INT64_MIN");
        assert_eq!(int(i32::MIN.into(), Scalar::I64).text, "-2147483648L");
        assert_eq!(int(u64::MAX.into(), Scalar::U64).text, "18446744073709551615UL");
        assert_eq!(int(-128, Scalar::I8).text, "int8_t(-128)");
        assert!(!int(-1, Scalar::I32).is_atom());
    }

    #[test]
    fn floats_read_back_exactly() {
        for value in [0.1_f64, 1.0, 1e300, 5e-324, 123_456_789.125, f64::MAX, f64::MIN_POSITIVE] {
            assert_eq!(float(value, Scalar::F64).text.parse::<f64>(), Ok(value));
        }
        for value in [0.1_f32, 1e-45, f32::MAX, 16_777_216.0] {
            let text = float(value.into(), Scalar::F32).text;
            assert_eq!(text.trim_end_matches('f').parse::<f32>(), Ok(value));
        }
        assert_eq!(float(-0.0, Scalar::F64).text, "-0.0");
        assert_eq!(float(f64::NEG_INFINITY, Scalar::F32).text, "-__builtin_inff()");
        assert_eq!(float(f64::NAN, Scalar::F32).text, "__builtin_nanf(\"\")");
    }
}

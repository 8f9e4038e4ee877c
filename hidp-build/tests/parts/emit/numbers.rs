//! Casts and integer arithmetic against Rust's own.

use std::fmt::Debug;

use hidp_build::compiler::ty::Scalar;

use super::library::{Context, Module, p, seen};
use super::units::OPERATORS;

/// A bit pattern generator: every exponent, small and large values, neighbours of limits.
fn patterns() -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut values: Vec<u64> =
        (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, !(1 << bit), (1_u64 << bit).wrapping_neg()]).collect();
    values.extend(0..300);
    for _ in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values.push(state);
    }
    values
}

fn f32_values() -> Vec<f32> {
    let limits = [
        0.0,
        0.5,
        0.99999994,
        1.0,
        127.0,
        127.5,
        128.0,
        255.5,
        256.0,
        32767.5,
        65535.5,
        65536.0,
        2147483648.0,
        2147483520.0,
        4294967296.0,
        4294967040.0,
        9223372036854775808.0,
        9223371487098961920.0,
        18446744073709551616.0,
        18446742974197923840.0,
        f32::INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
    ];
    let exact = patterns().into_iter().map(|bits| f32::from_bits((bits >> 16) as u32));
    let near = patterns().into_iter().map(|bits| bits as i64 as f32);
    limits.into_iter().flat_map(|v: f32| [v, -v]).chain(exact).chain(near).collect()
}

fn f64_values() -> Vec<f64> {
    let limits = [
        127.999,
        128.0,
        255.999,
        256.0,
        2147483647.0,
        2147483647.5,
        2147483648.0,
        2147483648.5,
        4294967295.5,
        4294967296.0,
        9223372036854775808.0,
        9223372036854774784.0,
        18446744073709551616.0,
        18446744073709549568.0,
        5e-324,
        f64::MAX,
    ];
    let exact = patterns().into_iter().map(f64::from_bits);
    let near = patterns().into_iter().map(|bits| bits as f64);
    let signed = patterns().into_iter().map(|bits| bits as i64 as f64 * 0.5);
    limits
        .into_iter()
        .flat_map(|v: f64| [v, -v])
        .chain(f32_values().into_iter().map(f64::from))
        .chain(exact)
        .chain(near)
        .chain(signed)
        .collect()
}

/// One value cast to each type, as bits; NaNs are all one.
macro_rules! rust_cast {
    ($value:expr, $kind:expr) => {
        match $kind {
            0 => $value as i8 as u64,
            1 => $value as u8 as u64,
            2 => $value as i16 as u64,
            3 => $value as u16 as u64,
            4 => $value as i32 as u64,
            5 => $value as u32 as u64,
            6 => $value as i64 as u64,
            7 => $value as u64,
            8 => bits32($value as f32),
            _ => bits64($value as f64),
        }
    };
}

/// Compares one call's eleven outputs with Rust's casts.
macro_rules! check_casts {
    ($context:expr, $from:ty, $values:expr, $bool:expr, [$($to:ty)*]) => {{
        let mut values: Vec<$from> = $values;
        let n = values.len();
        let mut flags = vec![false; n];
        #[allow(unused_mut)]
        let mut outs = ($(vec![<$to>::default(); n],)*);
        #[allow(non_snake_case)]
        let params = [p(&mut values), p(&mut flags)].into_iter().chain(addresses(&mut outs)).collect::<Vec<_>>();
        let name = format!("cast_{}", stringify!($from));
        assert_eq!(seen($context.call(&name, &params, &[n as i64])), Ok(()));
        for i in 0..n {
            let (value, is_true): ($from, fn($from) -> bool) = (values[i], $bool);
            assert_eq!(flags[i], is_true(value), "{value:?} as bool");
            compare(&outs, i, |kind| rust_cast!(value, kind), value);
        }
    }};
}

type Outs = (Vec<i8>, Vec<u8>, Vec<i16>, Vec<u16>, Vec<i32>, Vec<u32>, Vec<i64>, Vec<u64>, Vec<f32>, Vec<f64>);

fn addresses(outs: &mut Outs) -> Vec<*mut std::ffi::c_void> {
    vec![
        p(&mut outs.0),
        p(&mut outs.1),
        p(&mut outs.2),
        p(&mut outs.3),
        p(&mut outs.4),
        p(&mut outs.5),
        p(&mut outs.6),
        p(&mut outs.7),
        p(&mut outs.8),
        p(&mut outs.9),
    ]
}

fn bits32(value: f32) -> u64 {
    if value.is_nan() { u64::MAX } else { value.to_bits().into() }
}
fn bits64(value: f64) -> u64 {
    if value.is_nan() { u64::MAX } else { value.to_bits() }
}

fn compare(outs: &Outs, i: usize, expected: impl Fn(usize) -> u64, value: impl Debug) {
    let seen = [
        outs.0[i] as u64,
        outs.1[i] as u64,
        outs.2[i] as u64,
        outs.3[i] as u64,
        outs.4[i] as u64,
        outs.5[i] as u64,
        outs.6[i] as u64,
        outs.7[i],
        bits32(outs.8[i]),
        bits64(outs.9[i]),
    ];
    for (kind, bits) in seen.into_iter().enumerate() {
        assert_eq!(bits, expected(kind), "{value:?} to {:?}", Scalar::ALL[kind + 1]);
    }
}

fn casts(context: &Context<'_>) {
    macro_rules! integers {
        ($($ty:ident)*) => { $(
            check_casts!(context, $ty, patterns().into_iter().map(|bits| bits as $ty).collect(), |v| v != 0, [i8 u8 i16 u16 i32 u32 i64 u64 f32 f64]);
        )* };
    }
    integers!(i8 u8 i16 u16 i32 u32 i64 u64);
    check_casts!(context, f32, f32_values(), |v| v != 0.0, [i8 u8 i16 u16 i32 u32 i64 u64 f32 f64]);
    check_casts!(context, f64, f64_values(), |v| v != 0.0, [i8 u8 i16 u16 i32 u32 i64 u64 f32 f64]);
}

#[test]
fn casts_are_those_of_rust() {
    Module::all().iter().for_each(|(_, module)| casts(&module.context(1)));
}

macro_rules! check_arithmetic {
    ($context:expr, $ty:ident, $abs:expr) => {{
        let values: Vec<$ty> = patterns().into_iter().map(|bits| bits as $ty).collect();
        let (mut a, mut b, mut s) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &x) in values.iter().enumerate() {
            for y in [values[(i * 31 + 7) % values.len()], $ty::MAX, 0_u8.wrapping_sub(1) as i8 as $ty, 1] {
                if y != 0 {
                    a.push(x);
                    b.push(y);
                    s.push((i % $ty::BITS as usize) as u8);
                }
            }
        }
        a.push($ty::MIN);
        b.push(0_u8.wrapping_sub(1) as i8 as $ty);
        s.push($ty::BITS as u8 - 1);
        let n = a.len();
        let mut out = vec![0 as $ty; OPERATORS.len() * n];
        let params = [p(&mut a), p(&mut b), p(&mut s), p(&mut out)];
        let name = format!("arith_{}", stringify!($ty));
        assert_eq!(seen($context.call(&name, &params, &[n as i64])), Ok(()));
        let abs: fn($ty) -> $ty = $abs;
        for i in 0..n {
            let (x, y, shift) = (a[i], b[i], u32::from(s[i]));
            let expected = [
                x.wrapping_add(y),
                x.wrapping_sub(y),
                x.wrapping_mul(y),
                x.wrapping_div(y),
                x.wrapping_rem(y),
                x & y,
                x | y,
                x ^ y,
                x.wrapping_shl(shift),
                x.wrapping_shr(shift),
                x.min(y),
                x.max(y),
                x.wrapping_neg(),
                !x,
                abs(x),
            ];
            for (at, &value) in expected.iter().enumerate() {
                assert_eq!(out[at * n + i], value, "{} {} of {x} and {y}, {shift}", stringify!($ty), OPERATORS[at]);
            }
        }
    }};
}

#[test]
fn integer_arithmetic_wraps_in_its_own_type() {
    for (_, module) in Module::all() {
        let context = module.context(2);
        check_arithmetic!(context, i8, i8::wrapping_abs);
        check_arithmetic!(context, u8, |v| v);
        check_arithmetic!(context, i16, i16::wrapping_abs);
        check_arithmetic!(context, u16, |v| v);
        check_arithmetic!(context, i32, i32::wrapping_abs);
        check_arithmetic!(context, u32, |v| v);
        check_arithmetic!(context, i64, i64::wrapping_abs);
        check_arithmetic!(context, u64, |v| v);
    }
}

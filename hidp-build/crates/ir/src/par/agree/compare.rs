//! Compares the results of two bodies.

use super::What;
use crate::par::interp::{Arg, Array, Value};
use crate::par::{Func, Program, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::ty::Ty;

/// Floats may differ by so much of the largest number in an output: products and quotients that were rounded in another order.
const FLOAT: f64 = 1.0 / 4096.0;
const DOUBLE: f64 = 1.0 / (1_u64 << 40) as f64;

/// The first element that differs, in any bit where it is to be `exact`. Of `racing` arrays nothing is asked.
pub(super) fn difference(
    program: &Program,
    function: &Func,
    (racing, exact): (&[VarId], bool),
    meant: &[Arg],
    found: &[Arg],
) -> Option<What> {
    for ((param, meant), found) in function.params.iter().zip(meant).zip(found) {
        let var = &function.vars[*param];
        let written = matches!(var.kind, VarKind::Param(Direction::Output | Direction::Inout));
        if !written || racing.contains(param) {
            continue;
        }
        let (place, meant, found) = match (meant, found) {
            (Arg::Array(meant), Arg::Array(found)) => match element(meant, found, exact) {
                Some(at) => (index(&meant.shape, at), meant.data.get(at), found.data.get(at)),
                None => continue,
            },
            (Arg::Scalar(meant), Arg::Scalar(found)) if !alike(meant, found, most(exact, largest(meant))) => {
                (String::new(), meant.clone(), found.clone())
            }
            (Arg::Scalar(_) | Arg::Array(_) | Arg::Output, _) => continue,
        };
        let name = format!("{}{place}", var.name);
        let [meant, found] = [meant, found].map(|value| shown(program, var.ty, &value));
        return Some(What::Value { name, meant, found });
    }
    None
}

/// What the tolerance is a part of.
fn most(exact: bool, largest: f64) -> f64 {
    if exact { 0.0 } else { largest }
}

fn element(meant: &Array, found: &Array, exact: bool) -> Option<usize> {
    let all = (0..meant.data.len()).map(|at| largest(&meant.data.get(at))).fold(0.0, f64::max);
    let most = most(exact, all);
    (0..meant.data.len()).find(|at| !alike(&meant.data.get(*at), &found.data.get(*at), most))
}

/// `[1][3]`
fn index(shape: &[i64], mut at: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    for extent in shape.iter().rev() {
        let extent = (*extent).max(1) as usize;
        parts.push(format!("[{}]", at % extent));
        at /= extent;
    }
    parts.reverse();
    parts.concat()
}

/// The largest finite float in a value.
fn largest(value: &Value) -> f64 {
    match value {
        Value::Struct(fields) => fields.iter().map(largest).fold(0.0, f64::max),
        _ => value.as_float().map(f64::abs).filter(|size| size.is_finite()).unwrap_or(0.0),
    }
}

fn alike(a: &Value, b: &Value, largest: f64) -> bool {
    match (a, b) {
        (Value::Struct(a), Value::Struct(b)) => a.iter().zip(b.iter()).all(|(a, b)| alike(a, b, largest)),
        (Value::F32(a), Value::F32(b)) => near(f64::from(*a), f64::from(*b), FLOAT * largest),
        (Value::F64(a), Value::F64(b)) => near(*a, *b, DOUBLE * largest),
        _ => a == b,
    }
}

fn near(a: f64, b: f64, most: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= most
}

/// A value as people write it.
pub(super) fn shown(program: &Program, ty: Ty, value: &Value) -> String {
    match (value, ty) {
        (Value::Struct(fields), Ty::Struct(id)) => {
            let known = &program.structs[id];
            let field =
                |((name, ty), value): (&(String, Ty), &Value)| format!("{name}: {}", shown(program, *ty, value));
            let fields: Vec<String> = known.fields.iter().zip(fields.iter()).map(field).collect();
            format!("{}{{{}}}", known.name, fields.join(", "))
        }
        (Value::Bool(value), _) => value.to_string(),
        (Value::F32(value), _) => value.to_string(),
        (Value::F64(value), _) => value.to_string(),
        (value, _) => value.as_integer().map_or_else(String::new, |value| value.to_string()),
    }
}

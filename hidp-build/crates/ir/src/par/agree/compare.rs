//! Compares the results of two bodies.

use super::What;
use crate::par::interp::{Arg, Array, Traced, Value};
use crate::par::{Func, Program, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::ty::Ty;

/// Where a body rounds, floats may differ by so much of the largest number in an output: products and quotients that were rounded in another
/// order. An element can be small because large numbers cancel, so its own size says nothing of its error.
const FLOAT: f64 = 1.0 / 4096.0;
const DOUBLE: f64 = 1.0 / (1_u64 << 40) as f64;

/// The first element that differs: in any bit where it is to be `exact`, and in its value where neither body rounds.
pub(super) fn difference(
    program: &Program,
    function: &Func,
    exact: bool,
    meant: &Traced,
    found: &Traced,
) -> Option<What> {
    let rounded = !exact && (meant.rounded || found.rounded);
    let both = meant.args.iter().zip(&found.args);
    for (position, (param, args)) in function.params.iter().zip(both).enumerate() {
        let var = &function.vars[*param];
        if !matches!(var.kind, VarKind::Param(Direction::Output | Direction::Inout)) {
            continue;
        }
        let (place, meant, found) = match args {
            (Arg::Array(meant_array), Arg::Array(found_array)) => {
                let most = if rounded { largest_of(meant_array) } else { 0.0 };
                let ends =
                    |at| [(meant, meant_array), (found, found_array)].map(|(of, array)| of.values(position, array, at));
                let differs = |at: &usize| {
                    let [meant, found] = ends(*at);
                    !found.iter().all(|found| may_be(found, &meant, most))
                };
                let Some(at) = (0..meant_array.data.len()).find(differs) else { continue };
                let [meant, found] = ends(at);
                (index(&meant_array.shape, at), meant, found)
            }
            (Arg::Scalar(meant), Arg::Scalar(found)) => {
                let most = if rounded { largest(meant) } else { 0.0 };
                if alike(meant, found, most) {
                    continue;
                }
                (String::new(), vec![meant.clone()], vec![found.clone()])
            }
            (Arg::Scalar(_) | Arg::Array(_) | Arg::Output, _) => continue,
        };
        let name = format!("{}{place}", var.name);
        let [meant, found] = [meant, found].map(|values| any_of(program, var.ty, &values));
        return Some(What::Value { name, meant, found });
    }
    None
}

impl Traced {
    /// What an element may be, by the order of iterations.
    fn values(&self, position: usize, array: &Array, at: usize) -> Vec<Value> {
        self.several.get(&(position, at)).cloned().unwrap_or_else(|| vec![array.data.get(at)])
    }
}

/// Whether a value is one of those meant; of a struct, each field.
fn may_be(found: &Value, meant: &[Value], most: f64) -> bool {
    let Value::Struct(fields) = found else {
        return meant.iter().any(|meant| alike(meant, found, most));
    };
    fields.iter().enumerate().all(|(field, found)| {
        let of_field = |meant: &Value| match meant {
            Value::Struct(fields) => fields[field].clone(),
            other => unreachable!("a struct is meant, not {other:?}"),
        };
        let meant: Vec<Value> = meant.iter().map(of_field).collect();
        may_be(found, &meant, most)
    })
}

/// `3 or 4`
fn any_of(program: &Program, ty: Ty, values: &[Value]) -> String {
    let mut words: Vec<String> = Vec::new();
    for value in values {
        let word = shown(program, ty, value);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" or ")
}

fn largest_of(array: &Array) -> f64 {
    (0..array.data.len()).map(|at| largest(&array.data.get(at))).fold(0.0, f64::max)
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

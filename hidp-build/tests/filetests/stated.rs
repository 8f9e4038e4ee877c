//! Calls that a case of kind `run` states with their results:
//!
//! ```text
//! // call: f x=[1 2 3] A=[1 2; 3 4] c=2 -> y=[2 4 6] sum=12
//! // call: f x=2x0x3[] c=-1 -> fault Index 3 3 0
//! ```

use std::collections::BTreeMap;

use hidp_build::compiler::ir::par::interp::{Arg, Array, Value};
use hidp_build::compiler::ir::par::{ExprKind, Func, Var, VarId};
use hidp_build::compiler::ty::{Scalar, Ty};

use crate::maker::{extent, typed, whole};

/// A call and what must come of it.
pub(crate) struct Stated {
    /// The function.
    pub(crate) function: String,
    given: BTreeMap<String, String>,
    /// Results by name, or a fault's kind and values.
    pub(crate) outcome: Outcome,
}

/// What must come of a call.
pub(crate) enum Outcome {
    /// These arguments are so afterwards.
    Results(BTreeMap<String, String>),
    /// Kind and values, as `Debug` prints them.
    Fault(String),
}

/// The calls of a case.
pub(crate) fn stated(text: &str) -> Result<Vec<Stated>, String> {
    text.lines().filter_map(|line| line.strip_prefix("// call: ")).map(call).collect()
}

fn call(line: &str) -> Result<Stated, String> {
    let (left, right) = line.split_once(" -> ").ok_or_else(|| format!("no `->` in: {line}"))?;
    let (function, given) = left.split_once(' ').unwrap_or((left, ""));
    let outcome = match right.strip_prefix("fault ") {
        Some(fault) => {
            let mut words = fault.split_whitespace();
            let kind = words.next().unwrap_or_default();
            Outcome::Fault(format!("{kind} [{}]", words.collect::<Vec<_>>().join(", ")))
        }
        None => Outcome::Results(named(right)?),
    };
    Ok(Stated { function: function.to_owned(), given: named(given)?, outcome })
}

/// `name=value` pairs; blanks within brackets do not separate.
fn named(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut depth = 0;
    let pieces = text.split(|c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ' ' && depth == 0
    });
    pieces
        .filter(|piece| !piece.is_empty())
        .map(|piece| {
            let (name, value) = piece.split_once('=').ok_or_else(|| format!("no `=` in: {piece}"))?;
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect()
}

impl Stated {
    /// The arguments of the call. Output arrays that are not given hold zeros.
    pub(crate) fn args(&self, func: &Func) -> Result<Vec<Arg>, String> {
        let mut args = BTreeMap::new();
        let mut known = BTreeMap::new();
        for &param in &func.params {
            let var = &func.vars[param];
            if let Some(text) = self.given.get(var.name.trim_start_matches('_')) {
                let arg = argument(var, text)?;
                match &arg {
                    Arg::Array(array) => {
                        known.extend(names(var).zip(&array.shape).filter_map(|(name, &size)| Some((name?, size))))
                    }
                    Arg::Scalar(value) => known.extend(value.as_integer().map(|value| (param, value as i64))),
                    Arg::Output => {}
                }
                args.insert(param, arg);
            }
        }
        let other = |param: VarId| match &func.vars[param] {
            var if !var.is_array() => Arg::Output,
            var => zeros(var, &known),
        };
        Ok(func.params.iter().map(|&param| args.remove(&param).unwrap_or_else(|| other(param))).collect())
    }
}

/// For each extent the dimension that it is, if it is one alone.
fn names(var: &Var) -> impl Iterator<Item = Option<VarId>> {
    var.shape.iter().map(|extent| match extent.kind {
        ExprKind::Read(dim) => Some(dim),
        _ => None,
    })
}

fn zeros(var: &Var, known: &BTreeMap<VarId, i64>) -> Arg {
    let shape: Vec<i64> = var.shape.iter().map(|one| extent(one, known)).collect();
    let Some(scalar) = var.ty.scalar() else { panic!("`{}` is of a struct", var.name) };
    let count = usize::try_from(shape.iter().product::<i64>()).unwrap_or(0);
    Arg::Array(Array::new(shape, typed(var.ty, vec![whole(scalar, 0); count])))
}

/// The results that are stated, each with its parameter's position.
pub(crate) fn results(func: &Func, results: &BTreeMap<String, String>) -> Result<Vec<(usize, Arg)>, String> {
    results
        .iter()
        .map(|(name, text)| {
            let is_it = |param| func.vars[param].name.trim_start_matches('_') == name;
            let position = func.params.iter().position(|&param| is_it(param));
            let position = position.ok_or_else(|| format!("no parameter `{name}`"))?;
            Ok((position, argument(&func.vars[func.params[position]], text)?))
        })
        .collect()
}

fn argument(var: &Var, text: &str) -> Result<Arg, String> {
    let Ty::Scalar(scalar) = var.ty else { return Err(format!("`{}` is of a struct", var.name)) };
    let Some((shape, elements)) = text.split_once('[') else {
        return Ok(Arg::Scalar(value(scalar, text)?));
    };
    let rows: Vec<&str> = elements.trim_end_matches(']').split(';').collect();
    let values: Vec<Value> =
        rows.iter().flat_map(|row| row.split_whitespace()).map(|word| value(scalar, word)).collect::<Result<_, _>>()?;
    let shape: Vec<i64> = match shape {
        "" if rows.len() == 1 => vec![values.len() as i64],
        "" => vec![rows.len() as i64, (values.len() / rows.len()) as i64],
        shape => {
            let extents: Result<Vec<i64>, _> = shape.split('x').map(str::parse).collect();
            extents.map_err(|error| format!("{text}: {error}"))?
        }
    };
    if shape.iter().product::<i64>() != values.len() as i64 {
        return Err(format!("{text}: not as many elements as its shape says"));
    }
    Ok(Arg::Array(Array::new(shape, typed(var.ty, values))))
}

fn value(scalar: Scalar, word: &str) -> Result<Value, String> {
    let bad = |error: &dyn std::fmt::Display| format!("{word}: {error}");
    Ok(match scalar {
        Scalar::F32 => Value::F32(word.parse().map_err(|error| bad(&error))?),
        Scalar::F64 => Value::F64(word.parse().map_err(|error| bad(&error))?),
        Scalar::Bool => Value::Bool(word.parse().map_err(|error| bad(&error))?),
        Scalar::U64 => Value::U64(word.parse().map_err(|error| bad(&error))?),
        Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 | Scalar::I32 | Scalar::U32 | Scalar::I64 => {
            whole(scalar, word.parse().map_err(|error| bad(&error))?)
        }
    })
}

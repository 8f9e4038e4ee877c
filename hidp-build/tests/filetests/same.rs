//! Whether two results are the same: integers exactly, floats as nearly as another order of sums allows.

use hidp_build::compiler::ir::par::interp::{Arg, Array, Data, Value};
use hidp_build::compiler::ty::Scalar;

use crate::answers::{same_float, scale_of};
use crate::memory::{leaves, plain};

/// Compares arguments after a call. `exact`: floats bit for bit, but for the bits of NaN.
pub(crate) fn args(expected: &[Arg], found: &[Arg], exact: bool) -> Result<(), String> {
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        let compared = match (expected, found) {
            (Arg::Array(expected), Arg::Array(found)) => data(&expected.data, &found.data, exact),
            (Arg::Array(_) | Arg::Scalar(_) | Arg::Output, _) => data(&data_of(expected), &data_of(found), exact),
        };
        compared.map_err(|why| format!("argument {number}: {why}"))?;
    }
    Ok(())
}

fn data_of(arg: &Arg) -> Data {
    match arg {
        Arg::Array(Array { data, .. }) => data.clone(),
        Arg::Scalar(value) => Data::Struct(vec![value.clone()]),
        Arg::Output => Data::Struct(Vec::new()),
    }
}

/// Compares elements.
pub(crate) fn data(expected: &Data, found: &Data, exact: bool) -> Result<(), String> {
    let are_identical = match (expected, found) {
        (Data::Struct(expected), Data::Struct(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(expected, found)| identical(expected, found))
        }
        _ => expected.scalar() == found.scalar() && plain(expected).is_some_and(|bytes| Some(bytes) == plain(found)),
    };
    if are_identical {
        return Ok(());
    }
    let flat = |data: &Data| data.values().iter().flat_map(leaves).collect::<Vec<_>>();
    let (expected, found) = (flat(expected), flat(found));
    if expected.len() != found.len() {
        return Err(format!("{} elements, but must be {}", found.len(), expected.len()));
    }
    let scale = scale_of(expected.iter().filter_map(Value::as_float));
    let differs = |(expected, found): (&Value, &Value)| !value(expected, found, if exact { 0.0 } else { scale });
    match expected.iter().zip(&found).position(differs) {
        Some(index) => Err(format!("element {index} is {:?}, but must be {:?}", found[index], expected[index])),
        None => Ok(()),
    }
}

/// Whether all bits are the same.
fn identical(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Struct(expected), Value::Struct(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found.iter()).all(|(expected, found)| identical(expected, found))
        }
        (Value::F32(expected), Value::F32(found)) => expected.to_bits() == found.to_bits(),
        (Value::F64(expected), Value::F64(found)) => expected.to_bits() == found.to_bits(),
        _ => expected == found,
    }
}

fn value(expected: &Value, found: &Value, scale: f64) -> bool {
    let (Some(a), Some(b)) = (expected.as_float(), found.as_float()) else { return expected == found };
    same_float(a, b, expected.scalar() == Some(Scalar::F32), scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_differ_are_found() {
        let floats = |values: &[f32]| Data::F32(values.to_vec());
        assert_eq!(data(&floats(&[1.0, -2.5]), &floats(&[1.0, -2.5]), true), Ok(()));
        let nan = f32::from_bits(f32::NAN.to_bits() | 1);
        assert_eq!(data(&floats(&[f32::NAN]), &floats(&[nan]), true), Ok(()));
        assert!(data(&floats(&[1.0, -2.5]), &floats(&[1.0, -2.4999998]), true).is_err());
        assert!(data(&floats(&[1.0]), &floats(&[1.0, 1.0]), false).is_err());
        assert!(data(&Data::I64(vec![1, 2]), &Data::I64(vec![1, 3]), false).is_err());
        assert!(data(&Data::U32(vec![0]), &Data::I32(vec![0]), false).is_err());
        let pair =
            |number, float| Data::Struct(vec![Value::Struct(vec![Value::I32(number), Value::F32(float)].into())]);
        assert_eq!(data(&pair(1, 0.5), &pair(1, 0.5), true), Ok(()));
        assert_eq!(data(&pair(1, f32::NAN), &pair(1, nan), true), Ok(()));
        assert!(data(&pair(1, 0.5), &pair(2, 0.5), true).is_err());
        assert!(data(&pair(1, 0.5), &pair(1, 0.25), true).is_err());
        assert!(data(&pair(1, 0.5), &Data::Struct(Vec::new()), true).is_err());
    }
}

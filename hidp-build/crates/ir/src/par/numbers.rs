//! The numbers that structs are made of: lanes have one value for each.

use std::ops::Range;

use super::Program;
use hidp_syntax::ty::{Scalar, Ty};

/// A number of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The fields that lead to it; none where the type is a number itself.
    pub path: Vec<u32>,
    /// Its type.
    pub ty: Scalar,
}

/// The numbers of a type, in order.
pub fn numbers(program: &Program, ty: Ty) -> Vec<Number> {
    let id = match ty {
        Ty::Scalar(ty) => return vec![Number { path: Vec::new(), ty }],
        Ty::Struct(id) => id,
    };
    let fields = (0..).zip(&program.structs[id].fields);
    let of_field = |(field, (_, ty)): (u32, &(String, Ty))| {
        let below = move |inner: Number| Number { path: [vec![field], inner.path].concat(), ty: inner.ty };
        numbers(program, *ty).into_iter().map(below).collect::<Vec<_>>()
    };
    fields.flat_map(of_field).collect()
}

/// Which numbers of a type a path leads to.
pub fn numbers_at(program: &Program, ty: Ty, path: &[u32]) -> Range<usize> {
    let numbers = numbers(program, ty);
    let inside = |number: &&Number| number.path.starts_with(path);
    let first = numbers.iter().take_while(|number| !inside(number)).count();
    first..first + numbers.iter().filter(inside).count()
}

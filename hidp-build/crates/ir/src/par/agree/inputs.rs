//! Arguments that suit functions: small numbers that sums and products of floats keep exactly, and positions that lie inside.

use super::multiplies;
use crate::par::interp::{Arg, Array, Data, Value};
use crate::par::{Expr, Func, Program, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::{Scalar, Ty};

/// How many sets of arguments there are for each size.
pub(super) const SETS: u64 = 2;
/// Sets after these, whose floats are such that sums are rounded.
pub(super) const ROUNDED: u64 = 4;
/// Fillings that are tried.
const TRIES: usize = 64;
/// Elements of an argument beyond which nothing is compared: extents can be products of dimensions, and filling takes no steps.
const ELEMENTS: i64 = 1 << 16;

/// How the integers of a parameter are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// Small numbers.
    Small,
    /// Not negative, below this dimension.
    Below(usize),
    /// From 0, never falling, to this dimension.
    Ascending(usize),
}

/// Arguments, and the dimensions that they have.
pub(super) struct Inputs {
    pub(super) dims: Vec<i64>,
    pub(super) args: Vec<Arg>,
}

/// Ways to fill the parameters of a function, the plain one first.
pub(super) fn fillings(function: &Func) -> Vec<Vec<Filling>> {
    let dims = function.dims.len();
    let mut found = vec![vec![Filling::Small; function.params.len()]];
    for (at, param) in function.params.iter().enumerate() {
        let var = &function.vars[*param];
        let integers = var.ty.scalar().is_some_and(|ty| !ty.is_float() && ty != Scalar::Bool);
        if !integers || var.kind == VarKind::Param(Direction::Output) {
            continue;
        }
        let mut more = Vec::new();
        for known in &found {
            for dim in 0..dims {
                for filling in [Filling::Below(dim), Filling::Ascending(dim)] {
                    let mut changed = known.clone();
                    changed[at] = filling;
                    more.push(changed);
                }
            }
        }
        found.extend(more);
        found.truncate(TRIES);
    }
    found
}

/// Arguments of these sizes; none if an extent is negative or cannot be computed here, or an array has too many elements.
pub(super) fn make(
    program: &Program,
    function: &Func,
    sizes: &[i64],
    fillings: &[Filling],
    set: u64,
) -> Option<Inputs> {
    let known: OrdMap<VarId, i64> = function.dims.iter().copied().zip(sizes.iter().copied()).collect();
    let exact = multiplies(&function.body);
    let mut maker = Maker { program, known, sizes, set, exact, state: set.wrapping_mul(77).wrapping_add(12345) };
    let mut args: Vec<Option<Arg>> = vec![None; function.params.len()];
    // Extents may depend on scalars.
    for scalars in [true, false] {
        for (at, param) in function.params.iter().enumerate() {
            let var = &function.vars[*param];
            if var.is_array() == scalars {
                continue;
            }
            args[at] = Some(if var.is_array() {
                let shape = var.shape.iter().map(|extent| maker.extent(extent)).collect::<Option<Vec<i64>>>()?;
                let count = shape.iter().try_fold(1_i64, |count, extent| count.checked_mul(*extent))?;
                if count > ELEMENTS {
                    return None;
                }
                let data = maker.data(var.ty, count as usize, fillings[at]);
                Arg::Array(Array::new(shape, data))
            } else if var.kind == VarKind::Param(Direction::Output) {
                Arg::Scalar(maker.left_before(var.ty))
            } else {
                let value = maker.scalar(var.ty, fillings[at]);
                maker.known.extend(value.as_integer().map(|value| (*param, value as i64)));
                Arg::Scalar(value)
            });
        }
    }
    Some(Inputs { dims: sizes.to_vec(), args: args.into_iter().collect::<Option<_>>()? })
}

struct Maker<'a> {
    program: &'a Program,
    /// Dimensions and integer scalars.
    known: OrdMap<VarId, i64>,
    sizes: &'a [i64],
    set: u64,
    /// Whether floats are powers of two.
    exact: bool,
    state: u64,
}

impl Maker<'_> {
    /// The next of a fixed sequence of numbers below `limit`.
    fn below(&mut self, limit: i64) -> i64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) as i64) % limit.max(1)
    }

    /// A float with all digits set at random and one of several magnitudes: summed in another order, such values nearly always give other bits.
    fn rounded(&mut self) -> f64 {
        const HALF: i64 = 1 << 26;
        let high = (self.below(2 * HALF) - HALF) as f64;
        let digits = high + self.below(HALF) as f64 / HALF as f64;
        digits / (HALF >> self.below(8)) as f64
    }

    /// The value of a scalar output before the call: one that cannot be mistaken for a result. Other arguments do not depend on it.
    fn left_before(&mut self, ty: Ty) -> Value {
        const TRIES: usize = 8;
        let (state, zero) = (self.state, Value::zero(self.program, ty));
        let mut value = zero.clone();
        for _ in 0..TRIES {
            if value == zero {
                value = self.value(ty, Filling::Small, 0, 1);
            }
        }
        self.state = state;
        value
    }

    fn extent(&self, extent: &Expr) -> Option<i64> {
        extent.value(&self.known).filter(|extent| *extent >= 0)
    }

    fn scalar(&mut self, ty: Ty, filling: Filling) -> Value {
        match (ty.scalar(), filling) {
            // Counts and bounds are like sizes, as a rule.
            (Some(scalar), Filling::Small) if !scalar.is_float() && scalar != Scalar::Bool && self.set == 0 => {
                Value::wrapping(scalar, self.sizes.first().copied().unwrap_or(2).into())
            }
            _ => self.value(ty, filling, 0, 1),
        }
    }

    fn data(&mut self, ty: Ty, count: usize, filling: Filling) -> Data {
        let zero = Value::zero(self.program, ty);
        let mut data = Data::filled(&zero, count).expect("memory for few elements");
        for at in 0..count {
            let value = self.value(ty, filling, at, count);
            data.set(at, value);
        }
        data
    }

    fn value(&mut self, ty: Ty, filling: Filling, at: usize, count: usize) -> Value {
        let scalar = match ty {
            Ty::Scalar(scalar) => scalar,
            Ty::Struct(id) => {
                let program = self.program;
                let fields = program.structs[id].fields.iter();
                return Value::Struct(std::rc::Rc::new(
                    fields.map(|(_, ty)| self.value(*ty, filling, at, count)).collect(),
                ));
            }
        };
        if scalar.is_float() {
            const POWERS: [f64; 6] = [1.0, -1.0, 2.0, -0.5, 0.5, -2.0];
            let float = if self.set >= SETS {
                self.rounded()
            } else if self.exact || self.set == 0 {
                POWERS[self.below(6) as usize]
            } else {
                (self.below(13) - 6) as f64 / 2.0
            };
            return Value::saturating(scalar, float);
        }
        let size = |dim: usize| self.sizes.get(dim).copied().unwrap_or(0);
        let integer = match filling {
            Filling::Below(dim) => {
                let limit = size(dim);
                self.below(limit)
            }
            // The last one is the dimension itself.
            Filling::Ascending(dim) => size(dim) * at as i64 / (count as i64 - 1).max(1),
            Filling::Small if scalar == Scalar::Bool => self.below(2),
            Filling::Small if self.set > 0 && self.below(4) == 0 => {
                // The ends of the type wrap alike in any order.
                let last = (1_i128 << (8 * scalar.size() as u32 - u32::from(scalar.is_signed()))) - 1;
                return Value::wrapping(scalar, last);
            }
            Filling::Small if scalar.is_signed() => self.below(7) - 3,
            Filling::Small => self.below(4),
        };
        Value::wrapping(scalar, integer.into())
    }
}

//! Arguments for a case's entries: sizes for the dimensions, and elements that are the same on every run.
//!
//! ```text
//! // data: rowptr ascending Z     from 0, never falling, at most this dimension
//! // data: col below N            from 0 to below this dimension
//! // data: x in -300 300          whole numbers, both ends included
//! // data: y extremes             what is hard for the type: its ends, infinities, NaN
//! // data: z random               floats from -1 to 1, of which sums in another order have other bits
//! // data: m dominant             the same, but for a diagonal that is larger than the rest of its row
//! ```
//!
//! Other elements are small whole numbers, so that sums of floats are exact in any order.

use std::collections::BTreeMap;

use hidp_build::compiler::ir::par::interp::{Arg, Array, Data, Value};
use hidp_build::compiler::ir::par::{BinOp, Const, Expr, ExprKind, Func, Program, Var, VarId, VarKind};
use hidp_build::compiler::syntax::ast::Direction;
use hidp_build::compiler::ty::{Scalar, Ty};

/// How the elements of an argument are made.
pub(crate) enum Filling {
    /// From 0, never falling, at most this dimension.
    Ascending(String),
    /// From 0 to below this dimension.
    Below(String),
    /// From the first to the second.
    Range(i64, i64),
    /// What is hard for the type.
    Extremes,
    /// Floats with as many digits as the type has.
    Random,
    /// The same with a large diagonal: a matrix whose elimination needs no pivots.
    Dominant,
}

pub(crate) fn fillings(text: &str) -> Result<BTreeMap<String, Filling>, String> {
    let mut fillings = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("// data: ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse::<i64>().map_err(|error| format!("{line}: {error}"));
        let (name, filling) = match words[..] {
            [name, "ascending", dim] => (name, Filling::Ascending(dim.into())),
            [name, "below", dim] => (name, Filling::Below(dim.into())),
            [name, "in", low, high] => (name, Filling::Range(number(low)?, number(high)?)),
            [name, "extremes"] => (name, Filling::Extremes),
            [name, "random"] => (name, Filling::Random),
            [name, "dominant"] => (name, Filling::Dominant),
            _ => return Err(format!("no such data: {line}")),
        };
        fillings.insert(name.to_string(), filling);
    }
    Ok(fillings)
}

/// Makes arguments.
pub(crate) struct Maker<'f> {
    program: &'f Program,
    func: &'f Func,
    /// Of dimensions, and of integer scalars that were made.
    known: BTreeMap<VarId, i64>,
    fillings: &'f BTreeMap<String, Filling>,
    state: u64,
}

impl<'f> Maker<'f> {
    pub(crate) fn new(
        program: &'f Program,
        func: &'f Func,
        sizes: &[i64],
        seed: u64,
        fillings: &'f BTreeMap<String, Filling>,
    ) -> Self {
        let known = func.dims.iter().enumerate().map(|(at, dim)| (*dim, sizes[at % sizes.len()])).collect();
        Maker { program, func, known, fillings, state: seed.wrapping_mul(77).wrapping_add(12345) }
    }

    /// The dimensions' values.
    pub(crate) fn dims(&self) -> Vec<i64> {
        self.func.dims.iter().map(|dim| self.known[dim]).collect()
    }

    /// One argument a parameter; `None` if an extent is negative. Scalars first, since extents may depend on them.
    pub(crate) fn args(&mut self) -> Option<Vec<Arg>> {
        let func = self.func;
        let mut scalars: BTreeMap<VarId, Arg> = BTreeMap::new();
        for &param in func.params.iter().filter(|&&param| !func.vars[param].is_array()) {
            let var = &func.vars[param];
            let arg = match var.kind {
                VarKind::Param(Direction::Output) => Arg::Output,
                VarKind::Param(_) | VarKind::Dim | VarKind::Local | VarKind::Iter => {
                    let value = self.values(var, 1).remove(0);
                    self.known.extend(value.as_integer().map(|value| (param, value as i64)));
                    Arg::Scalar(value)
                }
            };
            scalars.insert(param, arg);
        }
        func.params
            .iter()
            .map(|param| scalars.remove(param).map_or_else(|| self.array(&func.vars[*param]), Some))
            .collect()
    }

    fn array(&mut self, var: &Var) -> Option<Arg> {
        let shape: Vec<i64> = var.shape.iter().map(|one| extent(one, &self.known)).collect();
        if shape.iter().any(|&extent| extent < 0) {
            return None;
        }
        let count: i64 = shape.iter().product();
        let mut values = self.values(var, count.try_into().unwrap_or(0));
        if matches!(self.filling(var), Some(Filling::Dominant)) {
            let columns = *shape.last().expect("a matrix");
            for value in values.iter_mut().step_by(columns as usize + 1) {
                let Value::F64(own) = value else { panic!("a matrix of doubles") };
                *own += columns as f64;
            }
        }
        Some(Arg::Array(Array::new(shape, typed(var.ty, values))))
    }

    fn filling(&self, var: &Var) -> Option<&'f Filling> {
        self.fillings.get(var.name.trim_start_matches('_'))
    }

    fn dim(&self, name: &str) -> i64 {
        let known = self.known.iter().find(|(var, _)| self.func.vars[**var].name.trim_start_matches('_') == name);
        known.map_or(0, |(_, size)| *size)
    }

    /// The next of a fixed sequence of numbers below `limit`.
    fn below(&mut self, limit: i64) -> i64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) as i64) % limit.max(1)
    }

    fn values(&mut self, var: &Var, count: usize) -> Vec<Value> {
        let filling = self.filling(var);
        if matches!(filling, Some(Filling::Extremes)) {
            return (0..count).map(|_| self.each(var.ty, &mut Maker::extreme)).collect();
        }
        if matches!(filling, Some(Filling::Random | Filling::Dominant)) {
            return (0..count).map(|_| self.each(var.ty, &mut Maker::random)).collect();
        }
        if let Some(Filling::Ascending(dim)) = filling {
            let limit = self.dim(dim) + 1;
            let mut numbers: Vec<i64> = (0..count).map(|at| if at == 0 { 0 } else { self.below(limit) }).collect();
            numbers.sort_unstable();
            return numbers.into_iter().map(|number| self.value(var.ty, &mut |_| number)).collect();
        }
        let (low, limit) = match filling {
            Some(Filling::Below(dim)) => (0, self.dim(dim)),
            Some(Filling::Range(low, high)) => (*low, high - low + 1),
            _ => (-4, 13),
        };
        (0..count).map(|_| self.value(var.ty, &mut |maker| low + maker.below(limit))).collect()
    }

    /// A value whose scalars are these numbers.
    fn value(&mut self, ty: Ty, number: &mut dyn FnMut(&mut Self) -> i64) -> Value {
        self.each(ty, &mut |maker, scalar| whole(scalar, number(maker)))
    }

    /// A value with these scalars.
    fn each(&mut self, ty: Ty, make: &mut dyn FnMut(&mut Self, Scalar) -> Value) -> Value {
        match ty {
            Ty::Scalar(scalar) => make(self, scalar),
            Ty::Struct(id) => {
                let program = self.program;
                let fields = program.structs[id].fields.iter().map(|(_, ty)| self.each(*ty, make));
                Value::Struct(fields.collect::<Vec<_>>().into())
            }
        }
    }

    fn extreme(&mut self, scalar: Scalar) -> Value {
        let all = extremes(scalar);
        all[self.below(all.len() as i64) as usize].clone()
    }

    fn random(&mut self, scalar: Scalar) -> Value {
        let halves = [self.below(1 << 30), self.below(1 << 24)];
        let fraction = halves.into_iter().zip([30, 54]).map(|(bits, digits)| bits as f64 / (1_i64 << digits) as f64);
        let number = 2.0 * fraction.sum::<f64>() - 1.0;
        match scalar {
            Scalar::F32 => Value::F32(number as f32),
            Scalar::F64 => Value::F64(number),
            Scalar::Bool
            | Scalar::I8
            | Scalar::U8
            | Scalar::I16
            | Scalar::U16
            | Scalar::I32
            | Scalar::U32
            | Scalar::I64
            | Scalar::U64 => whole(scalar, (number * 8.0) as i64),
        }
    }
}

/// The value of an extent, given those of dimensions and scalars.
pub(crate) fn extent(expr: &Expr, known: &BTreeMap<VarId, i64>) -> i64 {
    match &expr.kind {
        ExprKind::Const(Const::Int(value)) => *value as i64,
        ExprKind::Read(var) => known.get(var).copied().unwrap_or(0),
        ExprKind::Convert { operand, .. } => extent(operand, known),
        ExprKind::Binary { op: BinOp::Add, left, right, .. } => extent(left, known) + extent(right, known),
        ExprKind::Binary { op: BinOp::Sub, left, right, .. } => extent(left, known) - extent(right, known),
        ExprKind::Binary { op: BinOp::Mul, left, right, .. } => extent(left, known) * extent(right, known),
        ExprKind::Binary { op: BinOp::Div, left, right, .. } => extent(left, known) / extent(right, known),
        other => panic!("an extent of another form: {other:?}"),
    }
}

/// A whole number in a type; unsigned types take its absolute value.
pub(crate) fn whole(ty: Scalar, number: i64) -> Value {
    match ty {
        Scalar::Bool => Value::Bool(number % 2 != 0),
        Scalar::I8 => Value::I8(number as i8),
        Scalar::U8 => Value::U8(number.unsigned_abs() as u8),
        Scalar::I16 => Value::I16(number as i16),
        Scalar::U16 => Value::U16(number.unsigned_abs() as u16),
        Scalar::I32 => Value::I32(number as i32),
        Scalar::U32 => Value::U32(number.unsigned_abs() as u32),
        Scalar::I64 => Value::I64(number),
        Scalar::U64 => Value::U64(number.unsigned_abs()),
        Scalar::F32 => Value::F32(number as f32),
        Scalar::F64 => Value::F64(number as f64),
    }
}

/// The ends of the type, those beside them, and a few between.
fn extremes(ty: Scalar) -> Vec<Value> {
    macro_rules! ends {
        ($ty:ty) => {{
            let (min, max) = (<$ty>::MIN, <$ty>::MAX);
            [min, min + 1, min / 2, 0, 1, 2, 7, max / 2, max - 1, max].map(Value::from).to_vec()
        }};
    }
    match ty {
        Scalar::Bool => [false, true].map(Value::from).to_vec(),
        Scalar::I8 => ends!(i8),
        Scalar::U8 => ends!(u8),
        Scalar::I16 => ends!(i16),
        Scalar::U16 => ends!(u16),
        Scalar::I32 => ends!(i32),
        Scalar::U32 => ends!(u32),
        Scalar::I64 => ends!(i64),
        Scalar::U64 => ends!(u64),
        Scalar::F32 => HARD_FLOATS.iter().map(|&number| Value::F32(number as f32)).collect(),
        Scalar::F64 => HARD_FLOATS.iter().map(|&number| Value::F64(number)).collect(),
    }
}

/// Around the ends of every integer type and of `float`.
const HARD_FLOATS: &[f64] = &[
    0.0,
    -0.0,
    0.5,
    -1.5,
    1e-40,
    127.6,
    -129.0,
    65_536.5,
    3e9,
    -3e9,
    9.3e18,
    -9.3e18,
    1.9e19,
    3e38,
    1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Values of one type as the interpreter stores them.
pub(crate) fn typed(ty: Ty, values: Vec<Value>) -> Data {
    macro_rules! store {
        ($scalar:expr, $($variant:ident),*) => {
            match $scalar {
                $(Scalar::$variant => values.iter().filter_map(|value| match value {
                    Value::$variant(value) => Some(*value),
                    _ => None,
                }).collect::<Vec<_>>().into(),)*
            }
        };
    }
    match ty {
        Ty::Scalar(scalar) => store!(scalar, Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64),
        Ty::Struct(_) => Data::Struct(values),
    }
}

//! Arguments for a case's entries: sizes for the dimensions, and elements that are the same on every run.

use std::collections::BTreeMap;

use hidp_build::compiler::ir::par::interp::{Arg, Array, Data};
use hidp_build::compiler::ir::par::{BinOp, Const, Expr, ExprKind, Func, Var, VarId, VarKind};
use hidp_build::compiler::syntax::ast::Direction;
use hidp_build::compiler::ty::Scalar;

/// How the elements of an integer array are made.
pub(crate) enum Filling {
    /// From 0, never falling, at most this dimension.
    Ascending(String),
    /// From 0 to below this dimension.
    Below(String),
}

pub(crate) fn fillings(text: &str) -> Result<BTreeMap<String, Filling>, String> {
    let mut fillings = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("// data: ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, filling) = match words[..] {
            [name, "ascending", dim] => (name, Filling::Ascending(dim.into())),
            [name, "below", dim] => (name, Filling::Below(dim.into())),
            _ => return Err(format!("no such data: {line}")),
        };
        fillings.insert(name.to_string(), filling);
    }
    Ok(fillings)
}

/// Makes arguments.
pub(crate) struct Maker<'f> {
    func: &'f Func,
    dims: BTreeMap<VarId, i64>,
    fillings: &'f BTreeMap<String, Filling>,
    state: u64,
}

impl<'f> Maker<'f> {
    pub(crate) fn new(func: &'f Func, sizes: &[i64], seed: u64, fillings: &'f BTreeMap<String, Filling>) -> Self {
        let dims = func.dims.iter().enumerate().map(|(at, dim)| (*dim, sizes[at % sizes.len()])).collect();
        Maker { func, dims, fillings, state: seed.wrapping_mul(77).wrapping_add(12345) }
    }

    pub(crate) fn args(&mut self) -> Vec<Arg> {
        let func = self.func;
        func.params.iter().map(|param| self.arg(&func.vars[*param])).collect()
    }

    /// Values of the dimensions, in order of the header.
    pub(crate) fn sizes(&self) -> Vec<i64> {
        self.func.dims.iter().map(|dim| self.dims[dim]).collect()
    }

    fn arg(&mut self, var: &Var) -> Arg {
        let shape: Vec<i64> = var.shape.iter().map(|extent| self.extent(extent)).collect();
        let count: i64 = shape.iter().product();
        let Some(ty) = var.ty.scalar() else { panic!("`{}` is of a struct", var.name) };
        if shape.is_empty() {
            return match var.kind {
                VarKind::Param(Direction::Output) => Arg::Output,
                _ => Arg::Scalar(self.data(var, ty, 1).get(0)),
            };
        }
        Arg::Array(Array::new(shape, self.data(var, ty, count.try_into().unwrap_or(0))))
    }

    fn extent(&self, extent: &Expr) -> i64 {
        match &extent.kind {
            ExprKind::Const(Const::Int(value)) => *value as i64,
            ExprKind::Read(var) => self.dims[var],
            ExprKind::Binary { op: BinOp::Add, left, right, .. } => self.extent(left) + self.extent(right),
            ExprKind::Binary { op: BinOp::Sub, left, right, .. } => self.extent(left) - self.extent(right),
            ExprKind::Binary { op: BinOp::Mul, left, right, .. } => self.extent(left) * self.extent(right),
            other => panic!("an extent of another form: {other:?}"),
        }
    }

    fn dim(&self, name: &str) -> i64 {
        let known = self.dims.iter().find(|(dim, _)| self.func.vars[**dim].name == name);
        known.map_or(0, |(_, size)| *size)
    }

    /// The next of a fixed sequence of numbers below `limit`.
    fn below(&mut self, limit: i64) -> i64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) as i64) % limit.max(1)
    }

    fn data(&mut self, var: &Var, ty: Scalar, count: usize) -> Data {
        let mut integers: Vec<i64> = match self.fillings.get(var.name.trim_start_matches('_')) {
            Some(Filling::Below(dim)) => {
                let limit = self.dim(dim);
                (0..count).map(|_| self.below(limit)).collect()
            }
            Some(Filling::Ascending(dim)) => {
                let limit = self.dim(dim) + 1;
                (0..count).map(|at| if at == 0 { 0 } else { self.below(limit) }).collect()
            }
            None => (0..count).map(|_| self.below(13) - 4).collect(),
        };
        if let Some(Filling::Ascending(_)) = self.fillings.get(var.name.trim_start_matches('_')) {
            integers.sort_unstable();
        }
        elements(ty, &integers)
    }
}

fn elements(ty: Scalar, numbers: &[i64]) -> Data {
    let each = numbers.iter().copied();
    match ty {
        Scalar::Bool => each.map(|n| n % 2 != 0).collect::<Vec<bool>>().into(),
        Scalar::I8 => each.map(|n| n as i8).collect::<Vec<_>>().into(),
        Scalar::U8 => each.map(|n| n.unsigned_abs() as u8).collect::<Vec<_>>().into(),
        Scalar::I16 => each.map(|n| n as i16).collect::<Vec<_>>().into(),
        Scalar::U16 => each.map(|n| n.unsigned_abs() as u16).collect::<Vec<_>>().into(),
        Scalar::I32 => each.map(|n| n as i32).collect::<Vec<_>>().into(),
        Scalar::U32 => each.map(|n| n.unsigned_abs() as u32).collect::<Vec<_>>().into(),
        Scalar::I64 => each.collect::<Vec<_>>().into(),
        Scalar::U64 => each.map(i64::unsigned_abs).collect::<Vec<_>>().into(),
        Scalar::F32 => each.map(|n| n as f32).collect::<Vec<_>>().into(),
        Scalar::F64 => each.map(|n| n as f64).collect::<Vec<_>>().into(),
    }
}

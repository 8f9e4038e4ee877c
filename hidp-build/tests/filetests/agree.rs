//! Runs a program before and after every pass and compares what comes out.
//!
//! Arguments are made up: dimensions take a few sizes, 0 among them; numbers are small whole ones, so that sums of floats are
//! exact in any order. A case says `// data: rowptr ascending Z` or `// data: col below C` where random indices would do nothing
//! but fault.

use std::collections::BTreeMap;

use hidp_build::compiler::ir::par::interp::{self, Arg, Array, Data, Error, Options};
use hidp_build::compiler::ir::par::{BinOp, Const, Expr, ExprKind, Func, FuncId, Program, Var, VarId, VarKind, print};
use hidp_build::compiler::pass;
use hidp_build::compiler::syntax::ast::Direction;
use hidp_build::compiler::ty::Scalar;

use crate::case::Case;

/// Sizes that dimensions take, in order of the header; the list repeats.
const SIZES: &[&[i64]] = &[&[4, 6, 5, 7], &[0], &[1], &[3, 0, 2], &[9, 2, 3], &[5, 5, 5]];

/// How the elements of an integer array are made.
enum Filling {
    /// From 0, never falling, at most this dimension.
    Ascending(String),
    /// From 0 to below this dimension.
    Below(String),
}

/// Runs every entry; each must end without a fault at least once.
pub(crate) fn run(case: &Case, program: &Program) -> Result<(), String> {
    let fillings = fillings(&case.text)?;
    let stages = stages(program)?;
    for entry in &program.entries {
        let mut ended = false;
        for (number, sizes) in SIZES.iter().enumerate() {
            let func = &program.funcs[*entry];
            let args = Maker::new(func, sizes, number as u64, &fillings).args();
            let expected = interpret(program, *entry, args.clone());
            if let Err(error @ (Error::Unsound(_) | Error::Race { .. } | Error::Native(_) | Error::OutOfFuel)) = &expected {
                return Err(format!("`{}` before any pass: {error}", func.name));
            }
            ended |= expected.is_ok();
            for (pass, after) in &stages {
                compare(&expected, after, *entry, args.clone())
                    .map_err(|why| format!("`{}` with {sizes:?} after `{pass}`: {why}\n{}", func.name, print(after)))?;
            }
        }
        if !ended {
            return Err(format!("`{}` faults with whatever arguments", program.funcs[*entry].name));
        }
    }
    Ok(())
}

/// The program after each pass.
fn stages(program: &Program) -> Result<Vec<(&'static str, Program)>, String> {
    let mut stages = Vec::new();
    let mut now = program.clone();
    for one in pass::PIPELINE {
        pass::run(&mut now, std::slice::from_ref(one)).map_err(|error| format!("{error}\n{}", print(&now)))?;
        stages.push((one.name, now.clone()));
    }
    Ok(stages)
}

fn interpret(program: &Program, entry: FuncId, args: Vec<Arg>) -> Result<Vec<Arg>, Error> {
    let options = Options { races: true, ..Options::default() };
    interp::run_with(program, entry, args, &options).map(|results| results.args)
}

fn compare(expected: &Result<Vec<Arg>, Error>, after: &Program, entry: FuncId, args: Vec<Arg>) -> Result<(), String> {
    let found = interpret(after, entry, args);
    // By their debug form, because NaN is not equal to itself. After a fault arrays hold whatever.
    let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
    if expected == found { Ok(()) } else { Err(format!("\n  expected {expected}\n  found    {found}")) }
}

fn fillings(text: &str) -> Result<BTreeMap<String, Filling>, String> {
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
struct Maker<'f> {
    func: &'f Func,
    dims: BTreeMap<VarId, i64>,
    fillings: &'f BTreeMap<String, Filling>,
    state: u64,
}

impl<'f> Maker<'f> {
    fn new(func: &'f Func, sizes: &[i64], seed: u64, fillings: &'f BTreeMap<String, Filling>) -> Self {
        let dims = func.dims.iter().enumerate().map(|(at, dim)| (*dim, sizes[at % sizes.len()])).collect();
        Maker { func, dims, fillings, state: seed.wrapping_mul(77).wrapping_add(12345) }
    }

    fn args(&mut self) -> Vec<Arg> {
        let func = self.func;
        func.params.iter().map(|param| self.arg(&func.vars[*param])).collect()
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

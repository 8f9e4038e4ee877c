//! `int`s for `long`s: registers of devices have 32 bits, so that a sum of `long`s is two instructions, and an address of an `int` and an
//! array's is one.
//!
//! The values of a launch follow from its positions and from what its kernel gets. For those that are made of these by sums, products and
//! choices alone there is a bound that the host computes before the launch. Everything else stays as it is: what is loaded, counted by loops
//! without bounds, or folded.

use std::mem;

use super::super::make;
use hidp_ir::imp::visit::{child_blocks_mut, each_stmt, operands, operands_mut, overwritten, stmt_exprs_mut};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Narrow, Size, Stmt, Sum, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, MathFn, UnOp};
use hidp_plan::target::NarrowKernels;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::{Scalar, Ty};

const INT: Ty = Ty::Scalar(Scalar::I32);

/// The function with `int`s, of a kernel that is launched over so many positions; none if too few operations would have these.
pub(super) fn of(function: &Function, positions: usize, block: u32, model: NarrowKernels) -> Option<Box<Narrow>> {
    let known = Known::of(function, positions, block, model.terms as usize);
    let passed = function.params[..function.params.len() - positions].iter().copied().collect();
    // A grid goes along all of its dimensions.
    let extents = (0..positions).map(|at| Sum::size(Size::Extent(at)));
    let most = extents.fold(Sum::default(), |most, extent| most.join(&extent));
    let mut made = Made { known, passed, anew: OrdMap::new(), operations: 0, most, function: function.clone() };
    let mut body = mem::take(&mut made.function.body);
    made.block(&mut body);
    if made.operations < model.operations || made.most.terms().count() > made.known.most_terms {
        return None;
    }
    let own = made.known.bounds.keys().copied().filter(|var| !made.passed.contains(var));
    for var in own.collect::<Vec<_>>() {
        made.function.vars[var].kind = VarKind::Value(INT);
    }
    let converted = |(param, var): (&VarId, &VarId)| {
        let init = Expr { kind: ExprKind::Cast(Box::new(make::var(*param, Ty::LONG))), ty: INT };
        Stmt::Let { var: *var, init: Some(init) }
    };
    body.stmts.splice(0..0, made.anew.iter().map(converted).collect::<Vec<_>>());
    made.function.body = body;
    Some(Box::new(Narrow { function: made.function, most: made.most }))
}

/// What `long` values are bounded by.
struct Known {
    bounds: OrdMap<VarId, Sum>,
    /// Terms of a bound.
    most_terms: usize,
}

impl Known {
    fn of(function: &Function, positions: usize, block: u32, most_terms: usize) -> Known {
        let is_long = |var: &VarId| function.vars[*var].kind == VarKind::Value(Ty::LONG);
        let (passed, at) = function.params.split_at(function.params.len() - positions);
        let extents = at.iter().enumerate().map(|(at, var)| (*var, Sum::size(Size::Extent(at))));
        let sizes = passed.iter().enumerate().filter(|(_, var)| is_long(var));
        let sizes = sizes.map(|(at, var)| (*var, Sum::size(Size::Param(at))));
        let mut known = Known { bounds: sizes.chain(extents).collect(), most_terms };
        // The values of a variable are among those, or sums of some.
        let mut parts: OrdMap<VarId, Vec<&Expr>> = OrdMap::new();
        let mut others = OrdSet::new();
        each_stmt(&function.body, &mut |stmt| match stmt {
            Stmt::Let { var, init } => parts.entry(*var).or_default().extend(init),
            Stmt::Set { var, value, .. } => parts.entry(*var).or_default().push(value),
            Stmt::Loop(Loop { var, lo, hi, step, kind: LoopKind::Seq | LoopKind::Unroll(_), .. }) => {
                parts.entry(*var).or_default().extend([lo, hi, step]);
            }
            Stmt::Loop(Loop { kind: LoopKind::Spread { reductions, .. }, .. }) => {
                others.extend(reductions.iter().map(|reduction| reduction.var));
            }
            Stmt::Lanes { lane, .. } => _ = known.bounds.insert(*lane, Sum::constant(block.into())),
            _ => others.extend(overwritten(stmt)),
        });
        loop {
            let before = known.bounds.len();
            for (var, parts) in &parts {
                if is_long(var) && !others.contains(var) && !known.bounds.contains_key(var) {
                    let sums = parts.iter().map(|part| known.sum(part));
                    let all = sums.reduce(|all, part| Some(all?.plus(&part?))).flatten();
                    all.into_iter().for_each(|all| _ = known.bounds.insert(*var, all));
                }
            }
            if known.bounds.len() == before {
                return known;
            }
        }
    }

    /// How far from 0 a `long` can be; none of what is not narrowed.
    fn sum(&self, expr: &Expr) -> Option<Sum> {
        if expr.ty != Ty::LONG {
            return None;
        }
        let sums = || operands(expr).into_iter().map(|operand| self.sum(operand));
        let join = || sums().reduce(|all, part| Some(all?.join(&part?))).flatten();
        match &expr.kind {
            ExprKind::Int(value) => i32::try_from(*value).ok().map(|value| Sum::constant(value.unsigned_abs().into())),
            ExprKind::Var(var) => self.bounds.get(var).cloned(),
            ExprKind::Binary(BinOp::Mul, a, b) => {
                Some(self.sum(a)?.times(&self.sum(b)?)).filter(|product| product.terms().count() <= self.most_terms)
            }
            ExprKind::Binary(BinOp::Add | BinOp::Sub, a, b) => Some(self.sum(a)?.plus(&self.sum(b)?)),
            ExprKind::Binary(BinOp::Div | BinOp::Rem, ..)
            | ExprKind::Unary(UnOp::Neg, _)
            | ExprKind::Math(MathFn::Min | MathFn::Max | MathFn::Abs, _) => join(),
            ExprKind::Select(_, a, b) => Some(self.sum(a)?.join(&self.sum(b)?)),
            ExprKind::Cast(from) => match from.ty.scalar()? {
                Scalar::Bool => Some(Sum::constant(1.0)),
                small @ (Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16) => {
                    let (low, high) = small.integer_range()?;
                    Some(Sum::constant(high.max(-low) as f64))
                }
                Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64 | Scalar::F32 | Scalar::F64 => None,
            },
            ExprKind::Binary(..)
            | ExprKind::Unary(..)
            | ExprKind::Math(..)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Load(_)
            | ExprKind::Gather(..)
            | ExprKind::MulAdd(..)
            | ExprKind::AbsDiffAdd(..)
            | ExprKind::Lazy(..)
            | ExprKind::Near(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerIndex
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..)
            | ExprKind::Broadcast(..)
            | ExprKind::Any(_)
            | ExprKind::Least { .. }
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters => None,
        }
    }
}

/// The function that is made.
struct Made {
    known: Known,
    /// Parameters but positions, which stay as they are.
    passed: OrdSet<VarId>,
    /// Those as `int`s.
    anew: OrdMap<VarId, VarId>,
    operations: u32,
    most: Sum,
    function: Function,
}

impl Made {
    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            match stmt {
                Stmt::Let { var, init: Some(value) } | Stmt::Set { var, value, .. }
                    if self.known.bounds.contains_key(var) =>
                {
                    self.int(value);
                }
                Stmt::Loop(Loop { var, lo, hi, step, .. }) if self.known.bounds.contains_key(var) => {
                    [lo, hi, step].into_iter().for_each(|bound| self.int(bound));
                }
                Stmt::Store { target, value } | Stmt::Atomic { target, value, .. } => {
                    self.index(&mut target.index);
                    self.value(value);
                }
                _ => stmt_exprs_mut(stmt).into_iter().for_each(|expr| self.value(expr)),
            }
            child_blocks_mut(stmt).into_iter().for_each(|block| self.block(block));
        }
    }

    /// An expression of the type that it has.
    fn value(&mut self, expr: &mut Expr) {
        let is_ready = match &expr.kind {
            ExprKind::Int(_) => true,
            ExprKind::Var(var) => {
                self.function.vars[*var].kind != VarKind::Value(Ty::LONG) || self.passed.contains(var)
            }
            _ => false,
        };
        if is_ready {
            return;
        }
        if self.known.sum(expr).is_none() {
            return self.inside(expr);
        }
        self.int(expr);
        let int = mem::replace(expr, make::long(0));
        *expr = Expr { kind: ExprKind::Cast(Box::new(int)), ty: Ty::LONG };
    }

    /// One that may be of either type.
    fn index(&mut self, expr: &mut Expr) {
        match self.known.sum(expr) {
            Some(_) => self.int(expr),
            None => self.inside(expr),
        }
    }

    /// What an expression that stays as it is consists of.
    fn inside(&mut self, expr: &mut Expr) {
        let takes_both = match &expr.kind {
            ExprKind::Load(_) | ExprKind::Cast(_) => true,
            ExprKind::Binary(op, ..) => op.is_comparison(),
            _ => false,
        };
        let parts = operands_mut(expr);
        if takes_both && parts.iter().all(|part| self.known.sum(part).is_some()) {
            parts.into_iter().for_each(|part| self.int(part));
        } else {
            parts.into_iter().for_each(|part| self.value(part));
        }
    }

    /// A `long` as an `int`.
    fn int(&mut self, expr: &mut Expr) {
        let Some(sum) = self.known.sum(expr) else { return self.inside(expr) };
        self.most = mem::take(&mut self.most).join(&sum);
        match &mut expr.kind {
            ExprKind::Var(var) if self.passed.contains(var) => {
                let (vars, param) = (&mut self.function.vars, *var);
                *var = *self.anew.entry(param).or_insert_with(|| {
                    let name = vars[param].name.clone();
                    vars.push(Var { name, kind: VarKind::Value(INT) })
                });
            }
            ExprKind::Binary(..) | ExprKind::Select(..) | ExprKind::Math(..) => self.operations += 1,
            _ => {}
        }
        for operand in operands_mut(expr) {
            if operand.ty == Ty::LONG {
                self.int(operand);
            } else {
                self.value(operand);
            }
        }
        expr.ty = INT;
    }
}

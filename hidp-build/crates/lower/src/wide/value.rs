//! Expressions of lanes.

use super::super::defect::NUMBER;
use super::super::expr::product;
use super::super::{Lowerer, make};
use hidp_ir::imp::{Wide, WideKind};
use hidp_ir::par::{self, BinOp, ConvertMode, ExprKind, MathFn, Stmt, StmtKind, UnOp, visit};
use hidp_syntax::ty::Scalar;

/// A side of a branch with so many operations is skipped where no lane takes it: a test costs about that.
const COSTLY: usize = 12;

/// Whether statements cost more than the test whether any lane executes them, or ask for one that does: what is the same in all lanes is
/// loaded, and divided by, without a mask.
pub(super) fn is_costly_block(stmts: &[Stmt]) -> bool {
    let mut operations = 0;
    let mut needs_lane = false;
    let block = par::Block { stmts: stmts.to_vec() };
    visit::walk_exprs(&block, |expr| {
        operations += 1;
        needs_lane |= needs(expr);
    });
    visit::walk_stmts(&block, |stmt| {
        needs_lane |= matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_) | StmtKind::Store { .. });
    });
    needs_lane || operations >= COSTLY
}

/// The same of an expression.
fn is_costly(expr: &par::Expr) -> bool {
    let mut operations = 0;
    let mut needs_lane = false;
    visit::walk_subexprs(expr, |expr| {
        operations += 1;
        needs_lane |= needs(expr);
    });
    needs_lane || operations >= COSTLY
}

/// Whether it is better, or must be, that some lane evaluates this.
fn needs(expr: &par::Expr) -> bool {
    match &expr.kind {
        ExprKind::Load(_) | ExprKind::Call(..) => true,
        ExprKind::Binary { op: BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr, right, .. } => {
            expr.ty.scalar().is_some_and(Scalar::is_integer) && right.as_int().is_none()
        }
        ExprKind::Math(function, _) => !matches!(function, MathFn::Abs | MathFn::Min | MathFn::Max | MathFn::Sqrt),
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

impl Lowerer<'_> {
    /// The value of an expression in each lane.
    pub(super) fn wide(&mut self, expr: &par::Expr) -> Wide {
        if !self.varies(expr) {
            let value = self.expr(expr);
            return self.splat(value);
        }
        let Some(ty) = expr.ty.scalar() else {
            self.defect(NUMBER);
            return self.wide_int(0, Scalar::I64);
        };
        match &expr.kind {
            ExprKind::Read(var) => self.wide_read(*var, ty),
            ExprKind::Load(place) => match self.wide_place(place, false) {
                Some(element) => self.wide_of(WideKind::Load(element), ty),
                None => self.wide_int(0, ty),
            },
            ExprKind::Unary(op, operand) => {
                let operand = Box::new(self.wide(operand));
                self.wide_of(WideKind::Unary(*op, operand), ty)
            }
            ExprKind::Binary { op, left, right, .. } => self.wide_operator(expr, *op, left, right),
            ExprKind::Lazy { and, left, right } => self.wide_lazy(*and, left, right),
            ExprKind::Select { cond, then, otherwise } => self.wide_choice(cond, then, otherwise, ty),
            ExprKind::Convert { operand, mode } => {
                if *mode != ConvertMode::Cast {
                    self.defect("no check remains in lanes");
                }
                let operand = self.wide(operand);
                if operand.ty == ty { operand } else { self.wide_of(WideKind::Cast(Box::new(operand)), ty) }
            }
            ExprKind::Math(function, operands) => {
                let operands = operands.iter().map(|operand| self.wide(operand)).collect();
                self.wide_of(WideKind::Math(*function, operands), ty)
            }
            ExprKind::Call(function, operands) => {
                if self.trap_sites(*function) {
                    self.defect("no function that can fault is called in lanes");
                }
                let operands = operands.iter().map(|operand| self.wide(operand)).collect();
                match self.here() {
                    Some(here) => self.wide_of(WideKind::Call(*function, operands, here), ty),
                    None => self.wide_int(0, ty),
                }
            }
            ExprKind::Const(_) | ExprKind::Field(..) | ExprKind::Struct(..) => {
                self.defect("what differs from lane to lane is a number");
                self.wide_int(0, ty)
            }
        }
    }

    fn wide_read(&mut self, var: par::VarId, ty: Scalar) -> Wide {
        if self.wide.as_ref().is_some_and(|wide| wide.lane == var) {
            let first = self.read(var);
            return self.wide_of(WideKind::Iota(Box::new(first)), ty);
        }
        match self.wide_binding(var) {
            Some(var) => self.wide_var(var, ty),
            None => self.wide_int(0, ty),
        }
    }

    fn wide_operator(&mut self, whole: &par::Expr, op: BinOp, left: &par::Expr, right: &par::Expr) -> Wide {
        let float = whole.ty.scalar().filter(|scalar| scalar.is_float());
        if let Some(ty) = float.filter(|_| self.func.contract && matches!(op, BinOp::Add | BinOp::Sub))
            && let Some(fused) = self.wide_contract(op, left, right, ty)
        {
            return fused;
        }
        let (left, right) = (self.wide(left), self.wide(right));
        let harmless = match op {
            BinOp::Div | BinOp::Rem if left.ty.is_integer() => Some(1),
            BinOp::Shl | BinOp::Shr => Some(0),
            BinOp::Div
            | BinOp::Rem
            | BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Lt
            | BinOp::Le
            | BinOp::Gt
            | BinOp::Ge
            | BinOp::Eq
            | BinOp::Ne => None,
        };
        let right = match harmless {
            Some(harmless) => self.harmless(right, harmless),
            None => right,
        };
        self.wide_binary(op, left, right)
    }

    /// A divisor or count, or a harmless one in lanes that are elsewhere.
    fn harmless(&mut self, value: Wide, otherwise: i128) -> Wide {
        let constant = matches!(&value.kind, WideKind::Splat(of) if make::as_int(of).is_some());
        match self.here() {
            Some(here) if !constant => {
                let otherwise = self.wide_int(otherwise, value.ty);
                self.wide_select(self.mask(here), value, otherwise)
            }
            Some(_) | None => value,
        }
    }

    /// `a * b + c` in all its forms as one operation, where it is one in one lane.
    fn wide_contract(&mut self, op: BinOp, left: &par::Expr, right: &par::Expr, ty: Scalar) -> Option<Wide> {
        let fused = |this: &Self, a: Wide, b: Wide, c: Wide| {
            this.wide_of(WideKind::MulAdd(Box::new(a), Box::new(b), Box::new(c)), ty)
        };
        if let Some((a, b)) = product(left) {
            let (a, b, c) = (self.wide(a), self.wide(b), self.wide(right));
            let c = if op == BinOp::Sub { self.wide_neg(c) } else { c };
            return Some(fused(self, a, b, c));
        }
        let (a, b) = product(right)?;
        let (c, a, b) = (self.wide(left), self.wide(a), self.wide(b));
        let a = if op == BinOp::Sub { self.wide_neg(a) } else { a };
        Some(fused(self, a, b, c))
    }

    fn wide_neg(&self, value: Wide) -> Wide {
        let ty = value.ty;
        self.wide_of(WideKind::Unary(UnOp::Neg, Box::new(value)), ty)
    }

    /// `&&` or `||`: the right side in the lanes that ask for it, if it matters who evaluates it.
    fn wide_lazy(&mut self, and: bool, left: &par::Expr, right: &par::Expr) -> Wide {
        let op = if and { BinOp::And } else { BinOp::Or };
        if !is_costly(right) {
            let (left, right) = (self.wide(left), self.wide(right));
            return self.wide_binary(op, left, right);
        }
        let left = self.wide(left);
        let Some(here) = self.here() else { return left };
        let result = self.wide_slot("both", left);
        let asking = if and { self.both(here, result) } else { self.without(here, result) };
        let asking = self.wide_slot("asking", asking);
        let joins = self.joins();
        self.with_lanes_here(asking, joins, |this| {
            this.if_any(asking, |this| {
                let right = this.wide(right);
                let both = this.wide_binary(op, this.mask(result), right);
                this.wide_set(result, both, None);
            });
        });
        self.mask(result)
    }

    /// `?:`: each side in the lanes that take it, if it matters who evaluates it.
    fn wide_choice(&mut self, cond: &par::Expr, then: &par::Expr, otherwise: &par::Expr, ty: Scalar) -> Wide {
        if !self.varies(cond) {
            return self.uniform_choice(cond, then, otherwise, ty);
        }
        let cond = self.wide(cond);
        if !is_costly(then) && !is_costly(otherwise) {
            let (then, otherwise) = (self.wide(then), self.wide(otherwise));
            return self.wide_select(cond, then, otherwise);
        }
        let Some(here) = self.here() else { return cond };
        let cond = self.mask_of("cond", cond);
        let none = self.splat(super::super::expr::zero_of(ty.into()));
        let result = self.wide_slot("chosen", none);
        let (taken, left) = (self.both(here, cond), self.without(here, cond));
        for (mask, side) in [(taken, then), (left, otherwise)] {
            let mask = self.wide_slot("side", mask);
            let joins = self.joins();
            self.with_lanes_here(mask, joins, |this| {
                this.if_any(mask, |this| {
                    let value = this.wide(side);
                    this.wide_set(result, value, Some(mask));
                });
            });
        }
        self.wide_var(result, ty)
    }

    fn uniform_choice(&mut self, cond: &par::Expr, then: &par::Expr, otherwise: &par::Expr, ty: Scalar) -> Wide {
        let cond = self.expr(cond);
        let none = self.splat(super::super::expr::zero_of(ty.into()));
        let result = self.wide_slot("chosen", none);
        self.branch(
            cond,
            |this| {
                let value = this.wide(then);
                this.wide_set(result, value, None);
            },
            |this| {
                let value = this.wide(otherwise);
                this.wide_set(result, value, None);
            },
        );
        self.wide_var(result, ty)
    }
}

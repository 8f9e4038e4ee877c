//! Expressions of lanes.

use super::super::defect::NUMBER;
use super::super::expr::{limits, product};
use super::super::{Lowerer, make};
use super::access::is_below_32_bits;
use hidp_ir::imp::{self, Expr, SetLanes, Wide, WideKind};
use hidp_ir::par::{self, BinOp, ConvertMode, ExprKind, UnOp};
use hidp_plan::wide::is_costly;
use hidp_syntax::ty::Scalar;

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
            ExprKind::Binary { op, left, right, checked } => self.wide_operator(expr, *op, left, right, *checked),
            ExprKind::Lazy { and, left, right } => self.wide_lazy(*and, left, right),
            ExprKind::Select { cond, then, otherwise } => self.wide_choice(cond, then, otherwise, ty),
            ExprKind::Convert { operand, mode } => {
                let mut operand = self.wide(operand);
                match mode {
                    ConvertMode::Cast => {}
                    ConvertMode::Checked => operand = self.wide_fitting(operand, ty),
                }
                if operand.ty == ty { operand } else { self.wide_of(WideKind::Cast(Box::new(operand)), ty) }
            }
            ExprKind::Math(function, operands) => {
                let operands = operands.iter().map(|operand| self.wide(operand)).collect();
                self.wide_of(WideKind::Math(*function, operands), ty)
            }
            ExprKind::Call(function, operands) => {
                let args = operands.iter().flat_map(|operand| self.wide_numbers(operand)).collect();
                match self.here() {
                    Some(mask) => self.wide_call(*function, args, mask).pop().unwrap_or_else(|| self.wide_int(0, ty)),
                    None => self.wide_int(0, ty),
                }
            }
            ExprKind::Field(of, field) => match self.wide_field(of, *field).pop() {
                Some(number) => number,
                None => self.wide_int(0, ty),
            },
            ExprKind::Const(_) | ExprKind::Struct(..) => {
                self.defect("what differs from lane to lane is a number");
                self.wide_int(0, ty)
            }
        }
    }

    fn wide_read(&mut self, var: par::VarId, ty: Scalar) -> Wide {
        if self.wide.as_ref().is_some_and(|wide| wide.lane == Some(var)) {
            let first = self.read(var);
            return self.wide_of(WideKind::Iota(Box::new(first)), ty);
        }
        match self.wide_binding(var) {
            Some(var) => self.wide_var(var, ty),
            None => self.wide_int(0, ty),
        }
    }

    /// A value that is used more than once.
    pub(super) fn wide_fixed(&mut self, name: &str, value: Wide) -> Wide {
        let ty = value.ty;
        let var = self.mask_of(name, value);
        self.wide_var(var, ty)
    }

    /// An integer, after the check that it fits a type.
    fn wide_fitting(&mut self, value: Wide, to: Scalar) -> Wide {
        let limits = limits(value.ty, to);
        if limits.is_empty() {
            return value;
        }
        let value = self.wide_fixed("value", value);
        for (op, bound) in limits {
            let bound = self.wide_int(bound, value.ty);
            let fits = self.wide_binary(op, value.clone(), bound);
            self.wide_require(fits);
        }
        value
    }

    /// Whether integers are at least 0 and below a bound, which is not negative.
    pub(super) fn wide_within(&mut self, value: Wide, bound: Expr) -> Wide {
        let (value, bound, unsigned) = match value.kind {
            WideKind::Cast(narrow) if is_below_32_bits(narrow.ty) && value.ty == Scalar::I64 => {
                (*narrow, make::min(bound, make::long(i32::MAX.into())), Scalar::U32)
            }
            _ => (value, bound, Scalar::U64),
        };
        let value = self.wide_of(WideKind::Cast(Box::new(value)), unsigned);
        let bound = self.splat(make::cast(bound, unsigned));
        self.wide_binary(BinOp::Lt, value, bound)
    }

    fn wide_operator(
        &mut self,
        whole: &par::Expr,
        op: BinOp,
        left: &par::Expr,
        right: &par::Expr,
        checked: bool,
    ) -> Wide {
        let float = whole.ty.scalar().filter(|scalar| scalar.is_float());
        if let Some(ty) = float.filter(|_| self.func.contract && matches!(op, BinOp::Add | BinOp::Sub))
            && let Some(fused) = self.wide_contract(op, left, right, ty)
        {
            return fused;
        }
        let same = !self.varies(right);
        let (left, mut right) = (self.wide(left), self.wide(right));
        let integer = left.ty.is_integer();
        let (harmless, width) = match op {
            // The largest: of a quotient by less the lanes that are elsewhere could be the greatest ones.
            BinOp::Div | BinOp::Rem if integer => (left.ty.integer_range().map_or(1, |(_, most)| most), None),
            BinOp::Shl | BinOp::Shr => (0, Some(left.ty.size() as i64 * 8)),
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
            | BinOp::Ne => return self.wide_binary(op, left, right),
        };
        if same && let WideKind::Splat(of) = right.kind {
            let right = self.same_operand(*of, harmless, width, checked);
            return self.wide_binary(op, left, right);
        }
        if checked {
            right = self.wide_fixed("right", right);
            let ok = match width {
                Some(width) => self.wide_within(right.clone(), make::long(width)),
                None => {
                    let zero = self.wide_int(0, right.ty);
                    self.wide_binary(BinOp::Ne, right.clone(), zero)
                }
            };
            self.wide_require(ok);
        }
        let Some(here) = self.here() else { return left };
        let harmless = self.wide_int(harmless, right.ty);
        let right = self.wide_select(self.mask(here), right, harmless);
        self.wide_binary(op, left, right)
    }

    /// A divisor or count that is the same in all lanes; a harmless one where no lane is here, which is where alone it may be wrong after its check.
    fn same_operand(&mut self, value: Expr, harmless: i128, width: Option<i64>, checked: bool) -> Wide {
        let value = self.body.fix("right", value);
        let is_right = |value: i128| width.map_or(value != 0, |width| (0..width.into()).contains(&value));
        if make::as_int(&value).is_some_and(is_right) {
            return self.splat(value);
        }
        let ty = value.ty;
        let int = |value| Expr { kind: imp::ExprKind::Int(value), ty };
        let ok = match width {
            Some(width) => make::binary(
                BinOp::Lt,
                make::cast(value.clone(), Scalar::U64),
                make::cast(make::long(width), Scalar::U64),
            ),
            None => make::binary(BinOp::Ne, value.clone(), int(0)),
        };
        if checked {
            self.wide_require_same(ok.clone());
        }
        self.splat(make::select(ok, value, int(harmless)))
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
        self.if_any(asking, |this| {
            let mut both = this.mask(asking);
            this.with_lanes_here(asking, this.joins(), |this| {
                let right = this.wide(right);
                both = this.wide_binary(BinOp::And, both.clone(), right);
            });
            // Of `&&`, those that ask are all for whom the left side holds.
            if !and {
                both = this.wide_binary(op, this.mask(result), both.clone());
            }
            this.wide_set(result, both, SetLanes::Here);
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
                    this.wide_set(result, value, SetLanes::Only(mask));
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
                this.wide_set(result, value, SetLanes::Here);
            },
            |this| {
                let value = this.wide(otherwise);
                this.wide_set(result, value, SetLanes::Here);
            },
        );
        self.wide_var(result, ty)
    }
}

//! Integer expressions as sums of products of atoms. The sum equals the expression's value exactly: where arithmetic might
//! wrap, the operation is an opaque atom.

use hidp_ir::par::{BinOp, Const, ConvertMode, Expr, ExprKind, MathFn, Place, UnOp, VarId};
use hidp_syntax::ty::Scalar;

use super::context::{Case, Contents, Context};
use super::linear::{AtomKey, Interval, Lin, Op};

impl Context<'_> {
    /// The value of an integer or `bool` expression. Adds facts about the atoms it makes.
    pub(crate) fn lin(&mut self, expr: &Expr) -> Lin {
        let Some(ty) = expr.ty.scalar().filter(|ty| !ty.is_float()) else {
            return self.unknown(Scalar::I64);
        };
        match &expr.kind {
            ExprKind::Const(Const::Int(value)) => Lin::constant(*value),
            ExprKind::Const(Const::Bool(value)) => Lin::constant((*value).into()),
            ExprKind::Const(Const::Float(_)) => self.unknown(ty),
            ExprKind::Read(var) => self.value(*var),
            ExprKind::Load(place) => self.load(place, ty),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, ty),
            ExprKind::Binary { op, left, right, .. } => self.binary(*op, left, right, ty),
            ExprKind::Select { cond, then, otherwise } => self.select(cond, then, otherwise, ty),
            ExprKind::Convert { operand, mode } => self.convert(operand, *mode, ty),
            ExprKind::Math(function, operands) => self.math(*function, operands, ty),
            ExprKind::Lazy { .. } | ExprKind::Call(..) | ExprKind::Field(..) | ExprKind::Struct(..) => self.unknown(ty),
        }
    }

    fn load(&mut self, place: &Place, ty: Scalar) -> Lin {
        let range = Interval::of(ty);
        let inside = place.unproved == 0 || self.loads_anyway;
        if let (Some(range), true, true) = (range, self.constant_arrays.contains(&place.array), inside) {
            let index: Vec<Lin> = place.index.iter().map(|index| self.lin(index)).collect();
            let key = AtomKey::Load(place.array, index.clone(), place.path.clone());
            let element = Lin::atom(self.atoms.intern(key, range));
            if place.unproved == 0 && place.path.is_empty() {
                self.lies_between_extremes(&element, place.array, &index);
            }
            return element;
        }
        self.unknown(ty)
    }

    /// An element of an array lies between the smallest and the largest, if it was looked at when these were found.
    fn lies_between_extremes(&mut self, element: &Lin, array: VarId, index: &[Lin]) {
        let of_array: Vec<Contents> =
            self.contents.iter().filter(|contents| contents.array == array).cloned().collect();
        for Contents { below, least, most, .. } in of_array {
            if index.iter().zip(&below).all(|(index, below)| self.proves_lt(index, below)) {
                self.fact_opt(element.sub(&least));
                self.fact_opt(most.sub(element));
            }
        }
    }

    /// `exact` if it is known and fits `ty`; otherwise the opaque result of `op`, which is `exact` but for a multiple of
    /// 2 to the width.
    fn or_wrapped(&mut self, exact: Option<Lin>, op: Op, operands: Vec<Lin>, ty: Scalar) -> Lin {
        let Some(exact) = exact else { return self.opaque(op, operands, ty) };
        if (self.exact && ty == Scalar::I64 && op != Op::Convert) || self.fits(&exact, ty) {
            return exact;
        }
        let result = self.opaque(op, operands, ty);
        if let (Some(range), Some(all)) = (self.atoms.lin_range(&exact), Interval::of(ty)) {
            let modulus = all.hi - all.lo + 1;
            // None where not even `i128` holds how far the value is from the type's: nothing is said of it then.
            let turns = |value: i128| value.checked_sub(all.lo).map(|above| above.div_euclid(modulus));
            if let (Some(lo), Some(hi)) = (turns(range.lo), turns(range.hi)) {
                let turns = AtomKey::Turns(ty, Box::new(exact.clone()));
                let turns = Lin::atom(self.atoms.intern(turns, Interval { lo, hi }));
                if let Some(wrapped) = exact.plus(&turns, -modulus) {
                    self.fact_equal(&result, &wrapped);
                }
            }
        }
        result
    }

    fn opaque(&mut self, op: Op, operands: Vec<Lin>, ty: Scalar) -> Lin {
        match Interval::of(ty) {
            Some(range) => Lin::atom(self.atoms.intern(AtomKey::Op(op, ty, operands), range)),
            None => self.unknown(ty),
        }
    }

    fn unary(&mut self, op: UnOp, operand: &Expr, ty: Scalar) -> Lin {
        let value = self.lin(operand);
        match op {
            UnOp::Neg => self.or_wrapped(value.scale(-1), Op::Neg, vec![value], ty),
            // -x - 1 on signed types, MAX - x on unsigned ones.
            UnOp::BitNot => {
                let top = if ty.is_signed() { -1 } else { Interval::of(ty).map_or(0, |range| range.hi) };
                self.or_wrapped(Lin::constant(top).sub(&value), Op::Not, vec![value], ty)
            }
            UnOp::Not => Lin::constant(1).sub(&value).unwrap_or_else(|| self.unknown(ty)),
        }
    }

    fn binary(&mut self, op: BinOp, left: &Expr, right: &Expr, ty: Scalar) -> Lin {
        if left.ty.scalar().is_none_or(Scalar::is_float) {
            return self.unknown(ty);
        }
        let (a, b) = (self.lin(left), self.lin(right));
        match op {
            BinOp::Add => self.or_wrapped(a.add(&b), Op::Add, vec![a, b], ty),
            BinOp::Sub => self.or_wrapped(a.sub(&b), Op::Sub, vec![a, b], ty),
            BinOp::Mul => match self.multiple_below(&a, &b, ty).or_else(|| self.multiple_below(&b, &a, ty)) {
                Some(multiple) => multiple,
                None => self.or_wrapped(a.mul(&b), Op::Mul, vec![a, b], ty),
            },
            BinOp::Div => self.quotient(&a, &b, ty),
            BinOp::Rem => self.remainder(&a, &b, ty),
            BinOp::And | BinOp::Or | BinOp::Xor => self.bits(op, a, b, ty),
            BinOp::Shl => match power_of_two(&b, ty) {
                Some(factor) => self.or_wrapped(a.scale(factor), Op::Shl, vec![a, b], ty),
                None => self.opaque(Op::Shl, vec![a, b], ty),
            },
            BinOp::Shr => match power_of_two(&b, ty) {
                Some(divisor) if self.proves(&a) => self.quotient(&a, &Lin::constant(divisor), ty),
                _ => self.opaque(Op::Shr, vec![a, b], ty),
            },
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => self.unknown(ty),
        }
    }

    /// `a / b`, truncated.
    fn quotient(&mut self, a: &Lin, b: &Lin, ty: Scalar) -> Lin {
        let divisor = b.as_constant();
        if divisor == Some(1) {
            return a.clone();
        }
        let q = self.opaque(Op::Div, vec![a.clone(), b.clone()], ty);
        let not_negative = self.proves(a);
        match divisor {
            Some(divisor) if divisor > 1 => {
                // divisor * q lies within divisor - 1 of a, on the side of zero.
                let rest = q.scale(divisor).and_then(|product| a.sub(&product));
                let (low, high) = if not_negative { (0, divisor - 1) } else { (1 - divisor, divisor - 1) };
                self.fact_opt(rest.as_ref().and_then(|rest| rest.offset(-low)));
                self.fact_opt(rest.and_then(|rest| Lin::constant(high).sub(&rest)));
                if not_negative {
                    self.fact(q.clone());
                }
            }
            _ if not_negative && b.offset(-1).is_some_and(|goal| self.proves(&goal)) => {
                self.fact(q.clone());
                self.fact_opt(a.sub(&q));
            }
            _ => {}
        }
        q
    }

    /// `a / b * b` is `a - a % b`, whatever wraps.
    fn multiple_below(&mut self, quotient: &Lin, divisor: &Lin, ty: Scalar) -> Option<Lin> {
        let AtomKey::Op(Op::Div, of, operands) = self.atoms.key(quotient.as_atom()?).clone() else { return None };
        let [dividend, by] = operands.as_slice() else { return None };
        let is_multiple = self.divisions_succeed && of == ty && by == divisor && divisor.as_constant().is_none();
        is_multiple.then(|| self.remainder(dividend, divisor, ty)).and_then(|rest| dividend.sub(&rest))
    }

    /// The elements of a piece, if `extent` elements are cut into so many pieces: at least 1. Equal ones are one atom.
    pub(crate) fn piece_length(&mut self, extent: &Lin, pieces: &Lin) -> Lin {
        let length = self.opaque(Op::Piece, vec![extent.clone(), pieces.clone()], Scalar::I64);
        self.fact_opt(length.offset(-1));
        length
    }

    /// `a % b`, with the sign of `a`.
    fn remainder(&mut self, a: &Lin, b: &Lin, ty: Scalar) -> Lin {
        let not_negative = self.proves(a);
        if let (Some(divisor), true) = (b.as_constant().filter(|divisor| *divisor > 0), not_negative) {
            let q = self.quotient(a, b, ty);
            if let Some(rest) = q.scale(divisor).and_then(|product| a.sub(&product)) {
                return rest;
            }
        }
        let r = self.opaque(Op::Rem, vec![a.clone(), b.clone()], ty);
        if b.offset(-1).is_some_and(|goal| self.proves(&goal)) {
            self.fact_opt(b.sub(&r).and_then(|lin| lin.offset(-1)));
            self.fact_opt(b.add(&r).and_then(|lin| lin.offset(-1)));
            if not_negative {
                self.fact(r.clone());
                self.fact_opt(a.sub(&r));
            }
        } else if self.divisions_succeed && not_negative {
            self.fact(r.clone());
            self.fact_opt(a.sub(&r));
        }
        r
    }

    /// `a & b`, `a | b`, `a ^ b`.
    fn bits(&mut self, op: BinOp, a: Lin, b: Lin, ty: Scalar) -> Lin {
        let signs = (self.proves(&a), self.proves(&b));
        let opaque_op = match op {
            BinOp::And => Op::And,
            BinOp::Or => Op::Or,
            _ => Op::Xor,
        };
        let result = self.opaque(opaque_op, vec![a.clone(), b.clone()], ty);
        if op == BinOp::And {
            for operand in [(signs.0, &a), (signs.1, &b)].iter().filter(|side| side.0).map(|side| side.1) {
                self.fact(result.clone());
                self.fact_opt(operand.sub(&result));
            }
        } else if signs.0 && signs.1 {
            self.fact(result.clone());
            self.fact_opt(a.add(&b).and_then(|sum| sum.sub(&result)));
        }
        result
    }

    fn select(&mut self, cond: &Expr, then: &Expr, otherwise: &Expr, ty: Scalar) -> Lin {
        let (yes, no) = (self.case(cond, true, then), self.case(cond, false, otherwise));
        if yes.value == no.value {
            return yes.value;
        }
        let result = self.unknown(ty);
        if let Some(atom) = result.as_atom() {
            self.cases.insert(atom, vec![yes, no]);
        }
        result
    }

    fn case(&mut self, cond: &Expr, truth: bool, value: &Expr) -> Case {
        let mark = self.facts.len();
        self.assume(cond, truth);
        let value = self.lin(value);
        Case { when: self.facts.split_off(mark), value }
    }

    fn convert(&mut self, operand: &Expr, mode: ConvertMode, ty: Scalar) -> Lin {
        if operand.ty.scalar().is_none_or(Scalar::is_float) {
            return self.unknown(ty);
        }
        let value = self.lin(operand);
        if ty == Scalar::Bool && operand.ty.scalar() != Some(Scalar::Bool) {
            return self.unknown(ty);
        }
        match mode {
            // Outside maps nothing that follows runs with a value that did not fit.
            ConvertMode::Checked if self.map_depth == 0 => value,
            ConvertMode::Checked | ConvertMode::Cast => {
                self.or_wrapped(Some(value.clone()), Op::Convert, vec![value], ty)
            }
        }
    }

    fn math(&mut self, function: MathFn, operands: &[Expr], ty: Scalar) -> Lin {
        match (function, operands) {
            (MathFn::Min | MathFn::Max, [left, right]) => {
                let (a, b) = (self.lin(left), self.lin(right));
                self.extreme(a, b, function == MathFn::Min, ty)
            }
            (MathFn::Abs, [operand]) => {
                let value = self.lin(operand);
                match value.scale(-1) {
                    Some(negated) if self.fits(&negated, ty) => self.extreme(value, negated, false, ty),
                    _ if self.proves(&value) => value,
                    _ => self.opaque(Op::Abs, vec![value], ty),
                }
            }
            _ => self.unknown(ty),
        }
    }

    /// The smaller or larger of two.
    fn extreme(&mut self, a: Lin, b: Lin, smaller: bool, ty: Scalar) -> Lin {
        let (Some(a_less_b), Some(b_less_a)) = (a.sub(&b), b.sub(&a)) else {
            return self.unknown(ty);
        };
        // `a_less_b` is a - b: not negative when b <= a.
        let op = if smaller { Op::Min } else { Op::Max };
        let result = self.opaque(op, vec![a.clone(), b.clone()], ty);
        let (when_a, when_b) = if smaller { (b_less_a, a_less_b) } else { (a_less_b, b_less_a) };
        for operand in [&a, &b] {
            self.fact_opt(if smaller { operand.sub(&result) } else { result.sub(operand) });
        }
        if let Some(atom) = result.as_atom() {
            let cases = vec![Case { when: vec![when_a], value: a }, Case { when: vec![when_b], value: b }];
            self.cases.insert(atom, cases);
        }
        result
    }

    /// `cond` has this truth value from here to the end of the scope. Gives whether the facts now imply it.
    pub(crate) fn assume(&mut self, cond: &Expr, truth: bool) -> bool {
        match &cond.kind {
            ExprKind::Const(Const::Bool(value)) => *value == truth,
            ExprKind::Unary(UnOp::Not, operand) => self.assume(operand, !truth),
            ExprKind::Lazy { and, left, right } if *and == truth => {
                let left = self.assume(left, truth);
                self.assume(right, truth) && left
            }
            ExprKind::Binary { op, left, right, .. } if op.is_comparison() => {
                left.ty.scalar().is_some_and(|ty| !ty.is_float()) && {
                    let (a, b) = (self.lin(left), self.lin(right));
                    self.assume_comparison(*op, &a, &b, truth)
                }
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => false,
        }
    }

    fn assume_comparison(&mut self, op: BinOp, a: &Lin, b: &Lin, truth: bool) -> bool {
        let less = |a: &Lin, b: &Lin| b.sub(a).and_then(|lin| lin.offset(-1));
        match if truth { op } else { op.negated() } {
            BinOp::Lt => self.fact_opt(less(a, b)),
            BinOp::Le => self.fact_opt(b.sub(a)),
            BinOp::Gt => self.fact_opt(less(b, a)),
            BinOp::Ge => self.fact_opt(a.sub(b)),
            BinOp::Eq => self.fact_equal(a, b),
            _ if self.proves_le(a, b) => self.fact_opt(less(a, b)),
            _ if self.proves_le(b, a) => self.fact_opt(less(b, a)),
            _ => false,
        }
    }
}

/// `2^count` if `count` is constant and smaller than the width of `ty`.
fn power_of_two(count: &Lin, ty: Scalar) -> Option<i128> {
    let count = count.as_constant()?;
    let width = i128::try_from(ty.size()).ok()? * 8;
    (0..width).contains(&count).then(|| 1i128 << count)
}

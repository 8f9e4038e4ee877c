//! Removes the tests that always pass, and lists those that stay.

use hidp_ir::par::doubt::every_dimension;
use hidp_ir::par::{BinOp, Block, Const, ConvertMode, Expr, ExprKind, Map, Place, PrimCall, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Scalar;

use super::context::{Context, Position};
use super::linear::{AtomKey, Lin};
use super::walk::{Client, Start, Use, may_fault, walk};
use super::{RemainingCheck, RemainingKind};

/// Clears what can be proved.
struct Prover {
    /// Whether proofs in maps distinguish more cases.
    looks_beside: bool,
}

impl Client for Prover {
    fn enter_map(&mut self, cx: &mut Context<'_>, _map: &Map, _positions: &[Position], _conditional: bool) {
        cx.looks_beside = self.looks_beside;
    }
    fn place(&mut self, cx: &mut Context<'_>, place: &mut Place, _how: Use, _conditional: bool) {
        let Some(extents) = cx.extents.get(&place.array).cloned() else {
            return;
        };
        for (dim, (index, extent)) in place.index.iter_mut().zip(&extents).enumerate().take(32) {
            let bit = 1u32 << dim;
            without_nowhere(cx, index);
            if place.unproved & bit != 0 {
                let index = cx.lin(index);
                if cx.proves(&index) && cx.proves_lt(&index, extent) {
                    place.unproved &= !bit;
                }
            }
        }
        // Bits beyond the rank mean nothing.
        place.unproved &= every_dimension(place.index.len());
    }

    fn expr(&mut self, cx: &mut Context<'_>, expr: &mut Expr) {
        let ty = expr.ty.scalar();
        match &mut expr.kind {
            ExprKind::Binary { op, left, right, checked } if *checked => {
                *checked = !operation_cannot_fault(cx, *op, left, right);
            }
            ExprKind::Convert { operand, mode } if *mode == ConvertMode::Checked => {
                let (Some(ty), value) = (ty, cx.lin(operand)) else {
                    return;
                };
                if cx.fits(&value, ty) {
                    *mode = ConvertMode::Cast;
                } else if cx.map_depth == 0 {
                    // What follows runs only if it fitted.
                    if let Some((low, high)) = ty.integer_range() {
                        cx.fact_opt(value.offset(-low));
                        cx.fact_opt(Lin::constant(high).sub(&value));
                    }
                }
            }
            _ => {}
        }
    }

    fn always_holds(&mut self, cx: &mut Context<'_>, cond: &Expr) -> bool {
        always_holds(cx, cond)
    }
}

/// Of an index that is one of no array where a condition does not hold, the index alone, if the condition holds.
fn without_nowhere(cx: &mut Context<'_>, index: &mut Expr) {
    if let ExprKind::Select { cond, then, otherwise } = &index.kind
        && otherwise.as_int().is_some_and(|otherwise| otherwise < 0)
        && !may_fault(cond)
        && always_holds(cx, cond)
    {
        *index = (**then).clone();
    }
}

/// Whether a condition is certainly true.
fn always_holds(cx: &mut Context<'_>, cond: &Expr) -> bool {
    match &cond.kind {
        ExprKind::Const(value) => *value == Const::Bool(true),
        ExprKind::Lazy { and: true, left, right } => always_holds(cx, left) && always_holds(cx, right),
        ExprKind::Lazy { and: false, left, right } => {
            let mut otherwise = cx.clone();
            otherwise.assume(left, false);
            always_holds(cx, left) || always_holds(&mut otherwise, right)
        }
        ExprKind::Binary { op, left, right, .. } if left.ty.scalar().is_some_and(Scalar::is_integer) => {
            let (left, right) = (cx.lin(left), cx.lin(right));
            match op {
                BinOp::Lt => cx.proves_lt(&left, &right),
                BinOp::Le => cx.proves_le(&left, &right),
                BinOp::Gt => cx.proves_lt(&right, &left),
                BinOp::Ge => cx.proves_le(&right, &left),
                BinOp::Eq => cx.proves_eq(&left, &right),
                BinOp::Ne => cx.proves_lt(&left, &right) || cx.proves_lt(&right, &left),
                _ => false,
            }
        }
        _ => false,
    }
}

fn operation_cannot_fault(cx: &mut Context<'_>, op: BinOp, left: &Expr, right: &Expr) -> bool {
    let (Some(left_ty), Some(right_ty)) = (left.ty.scalar(), right.ty.scalar()) else {
        return false;
    };
    if left_ty.is_float() || right_ty.is_float() {
        return true;
    }
    let value = cx.lin(right);
    match op {
        BinOp::Div | BinOp::Rem => {
            value.offset(-1).is_some_and(|goal| cx.proves(&goal))
                || value.scale(-1).and_then(|lin| lin.offset(-1)).is_some_and(|goal| cx.proves(&goal))
        }
        BinOp::Shl | BinOp::Shr => {
            let last = i128::try_from(left_ty.size() * 8).unwrap_or(8) - 1;
            cx.proves(&value) && Lin::constant(last).sub(&value).is_some_and(|goal| cx.proves(&goal))
        }
        _ => true,
    }
}

/// Removes tests from a body; gives the new extents of its locals.
pub(super) fn prove(vars: &Arena<VarId, Var>, body: &mut Block, start: Start) -> Vec<(VarId, Vec<Expr>)> {
    walk(vars, body, &mut Prover { looks_beside: false }, start).into_iter().collect()
}

/// The same with more cases in the proofs of maps.
pub(super) fn prove_by_cases(vars: &Arena<VarId, Var>, body: &mut Block, start: Start) -> Vec<(VarId, Vec<Expr>)> {
    walk(vars, body, &mut Prover { looks_beside: true }, start).into_iter().collect()
}

/// Lists what stayed.
#[derive(Default)]
struct Lister {
    found: Vec<RemainingCheck>,
}

impl Lister {
    fn push(&mut self, span: Span, kind: RemainingKind, reason: impl Into<String>) {
        let check = RemainingCheck { span, kind, reason: reason.into() };
        if !self.found.contains(&check) {
            self.found.push(check);
        }
    }
}

impl Client for Lister {
    fn place(&mut self, cx: &mut Context<'_>, place: &mut Place, _how: Use, _conditional: bool) {
        let extents = cx.extents.get(&place.array).cloned().unwrap_or_default();
        for (dim, index) in place.index.iter().enumerate().take(32) {
            if place.unproved & (1 << dim) != 0 {
                let value = cx.lin(index);
                let reason = why_not_inside(cx, &value, extents.get(dim));
                self.push(place.span, RemainingKind::Index(dim as u32), reason);
            }
        }
    }

    fn expr(&mut self, cx: &mut Context<'_>, expr: &mut Expr) {
        match &expr.kind {
            ExprKind::Binary { op, right, checked: true, .. } => {
                let value = cx.lin(right);
                let origin = origin(cx, &value);
                match op {
                    BinOp::Div | BinOp::Rem => {
                        self.push(expr.span, RemainingKind::Division, format!("the divisor might be 0{origin}"));
                    }
                    _ => {
                        let reason = format!("the shift count might not be below the width{origin}");
                        self.push(expr.span, RemainingKind::Shift, reason);
                    }
                }
            }
            ExprKind::Convert { operand, mode: ConvertMode::Checked } => {
                let value = cx.lin(operand);
                let ty = expr.ty.scalar().map_or("the type", |ty| ty.hidp_name());
                let reason = format!("the value might not fit `{ty}`{}", origin(cx, &value));
                self.push(expr.span, RemainingKind::Narrowing, reason);
            }
            _ => {}
        }
    }

    fn enter_map(&mut self, cx: &mut Context<'_>, map: &Map, _positions: &[Position], _conditional: bool) {
        for iter in &map.iters {
            let step = cx.lin(&iter.step);
            if step.as_constant().is_none_or(|step| step < 1) {
                self.push(iter.span, RemainingKind::Stride, "the stride might not be positive");
            }
        }
    }

    fn prim(&mut self, _cx: &mut Context<'_>, call: &mut PrimCall, _conditional: bool) {
        self.push(call.span, RemainingKind::Segment, "a primitive tests its segments once");
    }
}

fn why_not_inside(cx: &Context<'_>, index: &Lin, extent: Option<&Lin>) -> String {
    let below = cx.proves(index);
    let above = extent.is_some_and(|extent| cx.proves_lt(index, extent));
    let what = match (below, above) {
        (true, _) => "the index might reach the extent",
        (false, true) => "the index might be negative",
        (false, false) => "nothing bounds the index",
    };
    format!("{what}{}", origin(cx, index))
}

/// Where the unknown part of a value comes from, as the end of a sentence.
fn origin(cx: &Context<'_>, value: &Lin) -> String {
    for atom in value.atoms() {
        match cx.atoms.key(atom) {
            AtomKey::Load(array, ..) => {
                return format!(": it depends on the contents of `{}`", cx.vars[*array].name);
            }
            AtomKey::Op(..) | AtomKey::Turns(..) => return ": its arithmetic might wrap or is not linear".to_owned(),
            AtomKey::Var(_) | AtomKey::Fresh(_) | AtomKey::Extreme(..) => {}
        }
    }
    String::new()
}

/// Lists the tests in a body.
pub(super) fn list(vars: &Arena<VarId, Var>, body: &Block, start: Start) -> Vec<RemainingCheck> {
    let mut lister = Lister::default();
    walk(vars, &mut body.clone(), &mut lister, start);
    lister.found
}

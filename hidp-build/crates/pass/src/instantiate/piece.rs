//! Pieces of dimensions as ranges.

use super::Inliner;
use super::linear::{add, mul, same, sub};
use super::section::Strided;
use hidp_ir::par::{BinOp, Expr, ExprKind, MathFn, Piece, Stmt};
use hidp_syntax::ast::PieceWay;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

impl Inliner<'_> {
    /// The range of a piece, whose length is at least 1.
    pub(super) fn piece(&mut self, piece: Piece, extent: &Expr, span: Span, out: &mut Vec<Stmt>) -> Strided {
        let Piece { way, at, by, length } = piece;
        let one = || Expr::int(1, span);
        // Of so many elements or, of an empty dimension, one, the last.
        let last = sub(extreme(MathFn::Max, extent.clone(), one(), span), one(), span);
        match way {
            PieceWay::Strided => {
                let known = length.as_int().is_some() && self.counts_pieces(&at, by, &length, extent);
                if !known {
                    // In which turn the last element would be, if it belonged to this piece.
                    let turns = add(quotient(sub(last, at.clone(), span), length.clone(), span), one(), span);
                    let end = extreme(MathFn::Min, extent.clone(), length.clone(), span);
                    let some = Expr::long(BinOp::Lt, at.clone(), end);
                    let count = self.held(choice(some, turns, Expr::int(0, span), span), "count", out);
                    return Strided { low: at, step: length, count };
                }
                // Nothing is negative, and sums alone tell where the last element lies.
                let low = self.held(extreme(MathFn::Min, at, extent.clone(), span), "low", out);
                let rest = sub(extent.clone(), low.clone(), span);
                let rounded = add(rest, sub(length.clone(), one(), span), span);
                let count = self.held(quotient(rounded, length.clone(), span), "count", out);
                Strided { low, step: length, count }
            }
            PieceWay::Adjacent => {
                let elements = match by {
                    true => length.clone(),
                    false => {
                        let elements = add(quotient(last.clone(), length.clone(), span), one(), span);
                        self.held(elements, "elements", out)
                    }
                };
                let begin = mul(at.clone(), elements.clone(), span);
                let low = if self.counts_pieces(&at, by, &length, extent) {
                    begin
                } else {
                    // The product of a number behind the last piece may be anything.
                    let pieces = if by { add(quotient(last, length, span), one(), span) } else { length };
                    choice(Expr::long(BinOp::Lt, at, pieces), begin, extent.clone(), span)
                };
                // So low is at most the extent and the count not negative, which follows from sums alone: proofs need no cases.
                let low = self.held(extreme(MathFn::Min, low, extent.clone(), span), "low", out);
                let rest = sub(extent.clone(), low.clone(), span);
                let count = self.held(extreme(MathFn::Min, elements, rest, span), "count", out);
                Strided { low, step: one(), count }
            }
        }
    }

    /// Whether an iterator numbers the pieces that there are, and no others.
    fn counts_pieces(&self, at: &Expr, by: bool, length: &Expr, extent: &Expr) -> bool {
        let ExprKind::Read(var) = at.kind else { return false };
        let Some(end) = self.ends.get(&var) else { return false };
        if !by {
            return same(end, length);
        }
        let ExprKind::Binary { op: BinOp::Div, left, right, .. } = &end.kind else { return false };
        let span = length.span;
        let rounded = sub(add(extent.clone(), length.clone(), span), Expr::int(1, span), span);
        same(right, length) && same(left, &rounded)
    }
}

fn extreme(function: MathFn, a: Expr, b: Expr, span: Span) -> Expr {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        let smaller = function == MathFn::Min;
        return if (x <= y) == smaller { a } else { b };
    }
    Expr { kind: ExprKind::Math(function, vec![a, b]), ty: Ty::LONG, span }
}

/// `a / b` of a divisor that is not 0.
fn quotient(a: Expr, b: Expr, span: Span) -> Expr {
    if b.as_int() == Some(1) {
        return a;
    }
    let (left, right) = (Box::new(a), Box::new(b));
    Expr { kind: ExprKind::Binary { op: BinOp::Div, left, right, checked: false }, ty: Ty::LONG, span }
}

fn choice(cond: Expr, then: Expr, otherwise: Expr, span: Span) -> Expr {
    let kind = ExprKind::Select { cond: Box::new(cond), then: Box::new(then), otherwise: Box::new(otherwise) };
    Expr { kind, ty: Ty::LONG, span }
}

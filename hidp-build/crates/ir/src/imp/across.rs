//! What iterations of loops that transpose rows consist of.

use super::{Block, Element, Expr, ExprKind, Loop, Stmt, VarId, WideElement, WideIndex, WideKind, WideStmt};
use crate::par::BinOp;

/// A block that computes values and then copies a row: the body of a loop of kind [`LoopKind::Across`](super::LoopKind::Across).
pub struct CopiedRow<'a> {
    /// Values, and places in the text.
    pub values: &'a [Stmt],
    /// The loop that copies, whose body is the store.
    pub inner: &'a Loop,
    /// Where it stores.
    pub target: &'a Element,
    /// What it loads.
    pub source: &'a Element,
}

impl<'a> CopiedRow<'a> {
    /// The parts of a block; `None` where it does something else.
    pub fn of(block: &'a Block) -> Option<CopiedRow<'a>> {
        let (Stmt::Loop(inner), values) = block.stmts.split_last()? else { return None };
        let (Stmt::Store { target, value }, inside) = inner.body.stmts.split_last()? else { return None };
        let ExprKind::Load(source) = &value.kind else { return None };
        let is_place = |stmt: &Stmt| matches!(stmt, Stmt::At(_));
        let fits = inner.step.kind == ExprKind::Int(1)
            && values.iter().all(|stmt| is_place(stmt) || matches!(stmt, Stmt::Let { init: Some(_), .. }))
            && inside.iter().all(is_place)
            && source.base != target.base
            && [source, target].into_iter().all(|element| element.path.is_empty() && !element.relaxed);
        fits.then_some(CopiedRow { values, inner, target, source })
    }
}

/// What a loop of kind [`LoopKind::Pack`](super::LoopKind::Pack) copies: as many neighbours per lane as lanes are apart, from the first on.
pub struct PackedRows<'a> {
    /// Where to: an array with an element for each lane.
    pub tile: VarId,
    /// A buffer.
    pub from: VarId,
    /// The first lane's row in it; at index 0 if there is none.
    pub start: Option<&'a Expr>,
    /// How far lanes are apart, and how many elements each copies.
    pub length: &'a Expr,
    /// The lanes.
    pub mask: VarId,
}

impl<'a> PackedRows<'a> {
    /// The parts of a loop; `None` where it does something else.
    pub fn of(node: &'a Loop) -> Option<PackedRows<'a>> {
        let [before @ .., Stmt::Wide(WideStmt::Store { target, value })] = &node.body.stmts[..] else { return None };
        let WideElement { base: tile, index: WideIndex::Own(column), mask: None, .. } = target else { return None };
        let WideKind::Load(WideElement { base: from, index, path, relaxed: false, mask: Some(mask) }) = &value.kind
        else {
            return None;
        };
        let WideIndex::Every { first, stride } = index else { return None };
        let is_column = |expr: &Expr| expr.kind == ExprKind::Var(node.var);
        let (start, at) = if let ExprKind::Binary(BinOp::Add, start, at) = &first.kind {
            (Some(&**start), &**at)
        } else {
            (None, &**first)
        };
        let fits = node.lo.kind == ExprKind::Int(0)
            && node.step.kind == ExprKind::Int(1)
            && node.hi == **stride
            && [&**column, at].into_iter().all(is_column)
            && path.is_empty()
            && before.iter().all(|stmt| matches!(stmt, Stmt::At(_) | Stmt::Wide(WideStmt::Here(_))));
        fits.then_some(PackedRows { tile: *tile, from: *from, start, length: stride, mask: *mask })
    }
}

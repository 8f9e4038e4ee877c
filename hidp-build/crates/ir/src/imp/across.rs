//! What an iteration of a loop of kind [`LoopKind::Across`](super::LoopKind::Across) consists of.

use super::{Block, Element, ExprKind, Loop, Stmt};

/// A block that computes values and then copies a row.
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

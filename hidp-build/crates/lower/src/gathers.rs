//! Narrow elements that the lanes of a loop take from where data say.
//!
//! C++ compilers make no lanes of a loop that loads bytes by indices of another width. They do where it loads words of 32 bits by indices of 32
//! bits, of which the bytes are parts: the rest of an iteration, such as the interpolation between pixels, is then computed in vectors. The words
//! lie inside of the array if it has as many bytes, which a branch in front of the loop asks.

use std::mem;

use super::build::Binding;
use super::unswitch::{changed, keeps};
use super::{Lowerer, copy, make};
use hidp_ir::imp::visit::{child_blocks, child_blocks_mut, each_expr, operands_mut, stmt_exprs_mut};
use hidp_ir::imp::{Block, Element, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, Place};
use hidp_plan::target::LoopRules;
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::{Scalar, Ty};

impl Lowerer<'_> {
    /// How many elements the array of a narrow element has that lanes may take from anywhere.
    pub(super) fn gathered_of(&mut self, place: &Place, element: &Element, ty: Ty) -> Option<Expr> {
        let lane = self.lane.filter(|_| ty.scalar().is_some_and(is_narrow) && !element.relaxed)?;
        let Binding::Array(array) = self.binding(place.array) else { return None };
        let whole = array.stride.is_none() && array.window.is_none() && array.base == element.base;
        let later = |var: VarId| var.index() > lane.index();
        if !whole || is_even(&element.index, lane, &|expr| !mentions(expr, &|var| var == lane || later(var))) {
            return None;
        }
        array.extents.iter().cloned().reduce(make::mul)
    }
}

fn is_narrow(scalar: Scalar) -> bool {
    scalar.is_integer() && scalar.size() <= 2
}

fn mentions(expr: &Expr, wanted: &dyn Fn(VarId) -> bool) -> bool {
    let own = matches!(expr.kind, ExprKind::Var(var) if wanted(var));
    own || hidp_ir::imp::visit::operands(expr).into_iter().any(|operand| mentions(operand, wanted))
}

/// Whether lanes next to each other access elements at one distance.
fn is_even(index: &Expr, lane: VarId, keeps: &dyn Fn(&Expr) -> bool) -> bool {
    let even = |expr: &Expr| is_even(expr, lane, keeps);
    keeps(index)
        || match &index.kind {
            ExprKind::Var(var) => *var == lane,
            ExprKind::Binary(BinOp::Add | BinOp::Sub, left, right) => even(left) && even(right),
            ExprKind::Binary(BinOp::Mul, left, right) => (keeps(left) && even(right)) || (even(left) && keeps(right)),
            _ => false,
        }
}

/// Loads as they are what lanes need not gather, before others look at loops.
pub(super) fn elsewhere(function: &mut Function) {
    plain_elsewhere(&mut function.body, &function.vars);
}

fn plain_elsewhere(block: &mut Block, vars: &Arena<VarId, Var>) {
    for stmt in &mut block.stmts {
        if let Stmt::Loop(node) = stmt
            && matches!(node.kind, LoopKind::Simd { .. })
        {
            let changed = changed(node);
            plain(&mut node.body, &|load| !is_gathered(load, node.var, &changed, vars));
            continue;
        }
        child_blocks_mut(stmt).into_iter().for_each(|child| plain_elsewhere(child, vars));
    }
}

/// Rewrites such loads of a function: by words, or as they are.
pub(super) fn in_words(function: &mut Function, rules: LoopRules) {
    in_block(&mut function.body, &mut function.vars, rules);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>, rules: LoopRules) {
    for mut stmt in mem::take(&mut block.stmts) {
        if let Stmt::Loop(node) = &mut stmt
            && matches!(node.kind, LoopKind::Simd { .. })
            && let Some(fit) = gathers(node, vars, rules)
        {
            let mut other = copy::of(node.clone(), vars);
            plain(&mut other.body, &|_| true);
            narrow(&mut node.body, node.var);
            let loops = |node| Block { stmts: vec![Stmt::Loop(node)] };
            block.stmts.push(Stmt::If { cond: fit, then: loops(node.clone()), otherwise: loops(other) });
            continue;
        }
        stmt_exprs_mut(&mut stmt).into_iter().for_each(|expr| plain_in(expr, &|_| true));
        child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars, rules));
        block.stmts.push(stmt);
    }
}

/// Whether the arrays and the iterations of a loop that gathers and computes fit; the loop keeps those loads by words that need them.
fn gathers(node: &mut Loop, vars: &Arena<VarId, Var>, rules: LoopRules) -> Option<Expr> {
    let changed = changed(node);
    plain(&mut node.body, &|load| !is_gathered(load, node.var, &changed, vars));
    let (mut fits, mut found, mut computed, mut has_lanes) = (Vec::new(), 0, 0, true);
    each_expr(&node.body, &mut |expr| {
        computed += u32::from(is_computed(expr));
        if let ExprKind::Gather(load, count) = &expr.kind {
            found += 1;
            has_lanes &= keeps(count, &changed);
            let fit = fits_words(count, load.ty);
            if !fits.contains(&fit) {
                fits.push(fit);
            }
        }
        if let Some(from) = long_to_float(expr) {
            has_lanes &= matches!(from.kind, ExprKind::Var(var) if var == node.var) || keeps(from, &changed);
        }
    });
    has_lanes &= node.body.stmts.iter().all(|stmt| child_blocks(stmt).is_empty());
    if fits.is_empty() || !has_lanes || computed < found * rules.gathered {
        return None;
    }
    fits.push(make::binary(BinOp::Ge, node.lo.clone(), make::long(i32::MIN.into())));
    fits.push(make::binary(BinOp::Le, node.hi.clone(), make::long(i32::MAX.into())));
    fits.into_iter().reduce(|all, fit| make::binary(BinOp::And, all, fit))
}

/// An integer of 64 bits that becomes a floating number, which not every instruction set has vectors of.
fn long_to_float(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Cast(from) = &expr.kind else { return None };
    let float = expr.ty.scalar().is_some_and(Scalar::is_float);
    from.ty.scalar().filter(|scalar| float && scalar.is_integer() && scalar.size() == 8).map(|_| &**from)
}

/// Converts a variable with values of 32 bits as what these are.
fn narrow(block: &mut Block, lane: VarId) {
    block.stmts.iter_mut().flat_map(stmt_exprs_mut).for_each(|expr| narrow_in(expr, lane));
}

fn narrow_in(expr: &mut Expr, lane: VarId) {
    if long_to_float(expr).is_some_and(|from| matches!(from.kind, ExprKind::Var(var) if var == lane))
        && let ExprKind::Cast(from) = &mut expr.kind
    {
        **from = make::cast((**from).clone(), Scalar::I32);
        return;
    }
    operands_mut(expr).into_iter().for_each(|operand| narrow_in(operand, lane));
}

/// Whether a load has no vectors by itself: those of indices as narrow as the elements have.
fn is_gathered(load: &Expr, lane: VarId, changed: &OrdSet<VarId>, vars: &Arena<VarId, Var>) -> bool {
    let ExprKind::Load(element) = &load.kind else { return false };
    let stays = matches!(vars[element.base].kind, VarKind::Buffer { writable: false, .. });
    let size = |ty: Ty| ty.scalar().map_or(0, Scalar::size);
    let alike = matches!(&element.index.kind, ExprKind::Cast(from) if size(from.ty) <= size(load.ty));
    stays && !alike && !is_even(&element.index, lane, &|expr| keeps(expr, changed))
}

fn is_computed(expr: &Expr) -> bool {
    let float = expr.ty.scalar().is_some_and(Scalar::is_float);
    float && matches!(expr.kind, ExprKind::Binary(..) | ExprKind::MulAdd(..) | ExprKind::Math(..))
}

/// Whether an array has a word, and no more elements than indices of 32 bits have values.
fn fits_words(count: &Expr, ty: Ty) -> Expr {
    let least = 4 / ty.scalar().map_or(1, Scalar::size).max(1) as i64;
    let some = make::binary(BinOp::Ge, count.clone(), make::long(least));
    let few = make::binary(BinOp::Le, count.clone(), make::long(i32::MAX.into()));
    make::binary(BinOp::And, some, few)
}

/// Loads those as they are that `which` names.
fn plain(block: &mut Block, which: &dyn Fn(&Expr) -> bool) {
    for stmt in &mut block.stmts {
        stmt_exprs_mut(stmt).into_iter().for_each(|expr| plain_in(expr, which));
        child_blocks_mut(stmt).into_iter().for_each(|child| plain(child, which));
    }
}

fn plain_in(expr: &mut Expr, which: &dyn Fn(&Expr) -> bool) {
    if let ExprKind::Gather(load, _) = &mut expr.kind
        && which(load)
    {
        *expr = mem::replace(load, make::long(0));
    }
    operands_mut(expr).into_iter().for_each(|operand| plain_in(operand, which));
}

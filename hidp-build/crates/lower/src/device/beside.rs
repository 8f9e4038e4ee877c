//! Iterations that a lane takes side by side: it computes once what they share, loads among it, and keeps what differs in registers of its own for each.

use std::mem;

use super::super::borders::loads;
use super::super::{copy, make};
use hidp_ir::imp::visit::{
    child_blocks, child_blocks_mut, each_subexpr, expr_names_mut, introduced, names_mut, operands_mut, stmt_exprs,
    stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::BinOp;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// What a loop with so many `times` becomes whose body ends with a condition and an iteration: where the condition holds for all, they run side
/// by side, else in order. Nothing if an iteration does more than to compute, load and store, under conditions and in counted loops. Those of at most
/// `written_out` iterations that all share are unrolled.
pub(super) fn side_by_side(
    turns: &Loop,
    (times, written_out): (u32, u32),
    vars: &mut Arena<VarId, Var>,
) -> Option<Vec<Stmt>> {
    let (Stmt::If { cond, then, otherwise }, before) = turns.body.stmts.split_last()? else { return None };
    if !otherwise.stmts.is_empty() || !is_plain(&turns.body) {
        return None;
    }
    let in_order = copy::of(Loop { kind: LoopKind::Unroll(1), ..turns.clone() }, vars);
    let varying = varying(turns.var, &[before, &then.stmts], vars);
    let mut beside =
        Beside { varying, turn: turns.var, copies: vec![OrdMap::new(); times as usize], written_out, vars };
    let mut stmts = beside.block(before);
    let conds = (0..times as usize).map(|at| beside.of(cond.clone(), at));
    let all = conds.reduce(|left, right| make::binary(BinOp::And, left, right))?;
    let then = Block { stmts: beside.block(&then.stmts) };
    stmts.push(Stmt::If { cond: all, then, otherwise: Block { stmts: vec![Stmt::Loop(in_order)] } });
    Some(stmts)
}

/// Whether all that a block does is to compute, load and store.
fn is_plain(block: &Block) -> bool {
    block.stmts.iter().all(|stmt| match stmt {
        Stmt::At(_)
        | Stmt::Let { .. }
        | Stmt::Set { .. }
        | Stmt::Store { .. }
        | Stmt::Atomic { .. }
        | Stmt::If { .. }
        | Stmt::Loop(_) => child_blocks(stmt).into_iter().all(is_plain),
        Stmt::Forever { .. }
        | Stmt::Break
        | Stmt::Continue
        | Stmt::Scope { .. }
        | Stmt::Leave(_)
        | Stmt::Fault { .. }
        | Stmt::CheckTrap
        | Stmt::Alloc { .. }
        | Stmt::Free(_)
        | Stmt::Scratch { .. }
        | Stmt::Part { .. }
        | Stmt::Either { .. }
        | Stmt::Prefetch { .. }
        | Stmt::Swap(..)
        | Stmt::Run { .. }
        | Stmt::Launch { .. }
        | Stmt::LaunchGrid { .. }
        | Stmt::Single { .. }
        | Stmt::Lanes { .. }
        | Stmt::Shuffle(_)
        | Stmt::Sync(_)
        | Stmt::Move { .. }
        | Stmt::StreamOut { .. }
        | Stmt::Prim(_)
        | Stmt::Group(_)
        | Stmt::InTurn(_)
        | Stmt::Wide(_) => false,
    })
}

/// Compilers see what one iteration side by side shares with the next of another where a loop of at most so many iterations is unrolled.
fn unroll(node: &mut Loop, most: u32) {
    let few = trips(node).filter(|count| (1..=most).contains(count));
    if let (LoopKind::Seq, Some(count)) = (&node.kind, few) {
        node.kind = LoopKind::Unroll(count);
    }
}

/// How often a loop runs, if that is a constant.
pub(super) fn trips(node: &Loop) -> Option<u32> {
    let range = make::as_int(&node.lo).zip(make::as_int(&node.hi)).zip(make::as_int(&node.step));
    let count = range.map(|((lo, hi), step)| (hi - lo + step - 1) / step.max(1));
    count.and_then(|count| u32::try_from(count).ok())
}

/// Variables that differ from iteration to iteration of a loop with this variable, in statements that all iterations run.
pub(super) fn varying(turn: VarId, run: &[&[Stmt]], vars: &Arena<VarId, Var>) -> OrdSet<VarId> {
    let mut varying: OrdSet<VarId> = [turn].into_iter().collect();
    loop {
        let before = varying.len();
        run.iter().for_each(|stmts| differing(stmts, false, vars, &mut varying));
        if varying.len() == before {
            return varying;
        }
    }
}

/// Adds those that statements introduce or set to other values in each iteration, or under conditions that differ.
fn differing(stmts: &[Stmt], apart: bool, vars: &Arena<VarId, Var>, varying: &mut OrdSet<VarId>) {
    for stmt in stmts {
        let differs = apart || stmt_exprs(stmt).into_iter().any(|expr| reads_any(expr, varying));
        let set = if let Stmt::Set { var, .. } = stmt { Some(*var) } else { introduced(stmt) };
        // Iterations have arrays of their own.
        let is_array = |var: &VarId| !matches!(vars[*var].kind, VarKind::Value(_));
        varying.extend(set.filter(|var| differs || is_array(var)));
        child_blocks(stmt).into_iter().for_each(|child| differing(&child.stmts, differs, vars, varying));
    }
}

pub(super) fn reads_any(expr: &Expr, vars: &OrdSet<VarId>) -> bool {
    let mut found = false;
    each_subexpr(expr, &mut |sub| {
        found |= match &sub.kind {
            ExprKind::Var(var) | ExprKind::IsAligned(var, _) | ExprKind::Any(var) => vars.contains(var),
            ExprKind::Least { of, mask } => vars.contains(of) || vars.contains(mask),
            ExprKind::Load(element) => vars.contains(&element.base),
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::MulAdd(..)
            | ExprKind::AbsDiffAdd(..)
            | ExprKind::Gather(..)
            | ExprKind::Lazy(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Near(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerIndex
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters
            | ExprKind::Broadcast(..) => false,
        };
    });
    found
}

struct Beside<'a> {
    varying: OrdSet<VarId>,
    /// Which iteration it is.
    turn: VarId,
    /// What the variables that differ are called in each.
    copies: Vec<OrdMap<VarId, VarId>>,
    /// Iterations of a shared loop up to which it is unrolled.
    written_out: u32,
    vars: &'a mut Arena<VarId, Var>,
}

impl Beside<'_> {
    fn block(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        stmts.iter().flat_map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        if self.is_once(stmt) {
            let mut once = stmt.clone();
            for child in child_blocks_mut(&mut once) {
                child.stmts = self.block(&mem::take(&mut child.stmts));
            }
            if let Stmt::Loop(node) = &mut once {
                unroll(node, self.written_out);
            }
            return vec![once];
        }
        let (mut stmts, mut each) = (Vec::new(), stmt.clone());
        stmt_exprs_mut(&mut each).into_iter().for_each(|expr| self.share(expr, &mut stmts));
        stmts.extend((0..self.copies.len()).map(|at| self.copied(each.clone(), at)).collect::<Vec<_>>());
        stmts
    }

    /// Takes loads out of an expression that are the same in all iterations, with what is computed from them alone.
    fn share(&mut self, expr: &mut Expr, once: &mut Vec<Stmt>) {
        if !loads(expr) {
            return;
        }
        if !reads_any(expr, &self.varying) {
            let var = self.vars.push(Var { name: "same".to_owned(), kind: VarKind::Value(expr.ty) });
            let ty = expr.ty;
            let init = mem::replace(expr, make::var(var, ty));
            once.push(Stmt::Let { var, init: Some(init) });
            return;
        }
        // What is not computed in all cases stays where it is.
        let always = if let ExprKind::Select(..) | ExprKind::Lazy(..) = expr.kind { 1 } else { usize::MAX };
        operands_mut(expr).into_iter().take(always).for_each(|operand| self.share(operand, once));
    }

    /// Whether a statement by itself is the same in all iterations. What reaches memory is done by each.
    fn is_once(&self, stmt: &Stmt) -> bool {
        let named = if let Stmt::Set { var, .. } = stmt { Some(*var) } else { introduced(stmt) };
        let differs = named.is_some_and(|var| self.varying.contains(&var))
            || stmt_exprs(stmt).into_iter().any(|expr| reads_any(expr, &self.varying));
        !differs && !matches!(stmt, Stmt::Store { .. } | Stmt::Atomic { .. })
    }

    /// A statement of one of the iterations, with what is inside.
    fn copied(&mut self, mut stmt: Stmt, at: usize) -> Stmt {
        if let Some(var) = introduced(&stmt) {
            let own = self.vars.push(self.vars[var].clone());
            self.copies[at].insert(var, own);
        }
        for var in names_mut(&mut stmt) {
            *var = self.copies[at].get(var).copied().unwrap_or(*var);
        }
        stmt_exprs_mut(&mut stmt).into_iter().for_each(|expr| self.rename(expr, at));
        for child in child_blocks_mut(&mut stmt) {
            let inside = mem::take(&mut child.stmts);
            child.stmts = inside.into_iter().map(|stmt| self.copied(stmt, at)).collect();
        }
        stmt
    }

    /// An expression of one of the iterations.
    fn of(&self, mut expr: Expr, at: usize) -> Expr {
        self.rename(&mut expr, at);
        expr
    }

    fn rename(&self, expr: &mut Expr, at: usize) {
        if matches!(expr.kind, ExprKind::Var(var) if var == self.turn) {
            *expr = make::long(at as i64);
            return;
        }
        for var in expr_names_mut(expr) {
            *var = self.copies[at].get(var).copied().unwrap_or(*var);
        }
        operands_mut(expr).into_iter().for_each(|operand| self.rename(operand, at));
    }
}

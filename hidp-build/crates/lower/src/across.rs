//! Loops that transpose rows.
//!
//! If the inner loop reads contiguously and stores a row apart, and the outer one stores contiguously but reads rows from anywhere, no vector
//! instruction serves both, whichever of the two is vectorised, and C++ compilers copy such elements one by one. So the outer loop takes blocks
//! of rows into registers and transposes them there (`hidp/across.hpp`). Which rows are adjacent is determined at run time.

use hidp_ir::imp::visit::{child_blocks_mut, each_subexpr};
use hidp_ir::imp::{Block, CopiedRow, Element, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::BinOp;
use hidp_plan::target::LoopRules;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Scalar;

use super::make;

/// Rewrites all such loops of a function.
pub(super) fn in_registers(function: &mut Function, rules: LoopRules) {
    in_block(&mut function.body, &function.vars, rules);
}

fn in_block(block: &mut Block, vars: &Arena<VarId, Var>, rules: LoopRules) {
    for stmt in &mut block.stmts {
        if let Stmt::Loop(node) = stmt {
            if turns(node, vars, rules) {
                node.kind = LoopKind::Across;
                if let Some(Stmt::Loop(inner)) = node.body.stmts.last_mut() {
                    inner.kind = LoopKind::Seq;
                }
                continue;
            }
            // What each lane copies is no block of rows.
            if matches!(node.kind, LoopKind::Simd { .. }) {
                continue;
            }
        }
        child_blocks_mut(stmt).into_iter().for_each(|child| in_block(child, vars, rules));
    }
}

/// Whether it is such a loop.
fn turns(node: &Loop, vars: &Arena<VarId, Var>, rules: LoopRules) -> bool {
    let Some(CopiedRow { values, inner, target, source }) = CopiedRow::of(&node.body) else { return false };
    let mut lets = OrdMap::new();
    for stmt in values {
        if let Stmt::Let { var, init: Some(init) } = stmt {
            lets.insert(*var, init);
        }
    }
    let is_read = |expr: &Expr| {
        let mut found = false;
        each_subexpr(expr, &mut |sub| {
            found |= matches!(&sub.kind, ExprKind::Load(element) if element.base == target.base)
                || matches!(sub.kind, ExprKind::Call(..));
        });
        found
    };
    let changes =
        [&*source.index, &*target.index, &inner.lo, &inner.hi].into_iter().chain(lets.values().copied()).any(is_read);
    let elem = turned(target, vars, rules);
    let moves = |index: &Expr, var: VarId| Moves { var, lets: &lets }.of(index);
    is_plain(node)
        && is_plain(inner)
        && !changes
        && elem.is_some()
        && elem == turned(source, vars, rules)
        && moves(&source.index, inner.var) == Some(Move::By(1))
        && moves(&target.index, node.var) == Some(Move::By(1))
        && match moves(&target.index, inner.var) {
            Some(Move::By(step)) => step >= rules.apart.into() && elem.is_some_and(|elem| is_small(elem, rules)),
            Some(Move::Steadily) => true,
            None => false,
        }
}

fn is_plain(node: &Loop) -> bool {
    let any_order = match &node.kind {
        LoopKind::Seq => true,
        LoopKind::Simd { reductions } => reductions.is_empty(),
        LoopKind::Unroll(_) | LoopKind::Across | LoopKind::Pack | LoopKind::Spread { .. } => false,
    };
    any_order && make::as_int(&node.step) == Some(1)
}

/// The type of an element of a buffer, if blocks of them are taken into registers.
fn turned(element: &Element, vars: &Arena<VarId, Var>, rules: LoopRules) -> Option<Scalar> {
    let VarKind::Buffer { elem, .. } = vars[element.base].kind else { return None };
    elem.scalar().filter(|scalar| *scalar != Scalar::Bool && scalar.size() <= rules.turned as usize)
}

/// Whether no instruction gathers such elements.
fn is_small(elem: Scalar, rules: LoopRules) -> bool {
    elem.size() <= rules.small as usize
}

/// How an index moves when a variable grows by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    /// By so many elements.
    By(i64),
    /// Always by as many, which is known when the loop runs.
    Steadily,
}

struct Moves<'a> {
    var: VarId,
    /// Values that the outer loop computes before the inner one.
    lets: &'a OrdMap<VarId, &'a Expr>,
}

impl Moves<'_> {
    /// `None` where it does not move steadily.
    fn of(&self, expr: &Expr) -> Option<Move> {
        match &expr.kind {
            ExprKind::Var(var) if *var == self.var => Some(Move::By(1)),
            ExprKind::Var(var) => self.lets.get(var).map_or(Some(Move::By(0)), |init| self.of(init)),
            ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), left, right) => {
                match (op, self.of(left)?, self.of(right)?) {
                    (BinOp::Sub, Move::By(left), Move::By(right)) => left.checked_sub(right).map(Move::By),
                    (_, Move::By(left), Move::By(right)) => left.checked_add(right).map(Move::By),
                    (_, Move::Steadily, Move::By(_) | Move::Steadily) | (_, Move::By(_), Move::Steadily) => {
                        Some(Move::Steadily)
                    }
                }
            }
            ExprKind::Binary(BinOp::Mul, left, right) => match (self.of(left)?, self.of(right)?) {
                (Move::By(0), Move::By(0)) => Some(Move::By(0)),
                (Move::By(step), Move::By(0)) => Some(times(step, right)),
                (Move::By(0), Move::By(step)) => Some(times(step, left)),
                (Move::By(0), Move::Steadily) | (Move::Steadily, Move::By(0)) => Some(Move::Steadily),
                (Move::By(_) | Move::Steadily, Move::By(_) | Move::Steadily) => None,
            },
            _ => (!self.mentioned(expr)).then_some(Move::By(0)),
        }
    }

    fn mentioned(&self, expr: &Expr) -> bool {
        let mut found = false;
        each_subexpr(expr, &mut |sub| {
            if let ExprKind::Var(var) = &sub.kind {
                found |= *var == self.var || self.lets.get(var).is_some_and(|init| self.mentioned(init));
            }
        });
        found
    }
}

fn times(step: i64, factor: &Expr) -> Move {
    let factor = make::as_int(factor).and_then(|factor| i64::try_from(factor).ok());
    factor.and_then(|factor| factor.checked_mul(step)).map_or(Move::Steadily, Move::By)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_syntax::index::Id;
    use hidp_syntax::ty::Ty;

    #[test]
    fn rows_that_lanes_copy_stay_in_lanes() {
        let mut vars = Arena::new();
        let mut var = |kind| vars.push(Var { name: "x".to_owned(), kind });
        let [to, from] = [true, false].map(|writable| var(VarKind::Buffer { elem: Scalar::I8.into(), writable }));
        let [lane, row, column] = [(); 3].map(|()| var(VarKind::Value(Ty::LONG)));
        let long = |var| make::var(var, Ty::LONG);
        let place = |base, row, column| Element {
            base,
            index: Box::new(make::add(long(row), make::mul(long(column), make::long(64)))),
            path: Vec::new(),
            relaxed: false,
        };
        let each = |var, kind, stmt| {
            let (lo, hi, step) = (make::long(0), make::long(64), make::long(1));
            Stmt::Loop(Loop { var, lo, hi, step, kind, body: Block { stmts: vec![stmt] } })
        };
        let value = Expr { kind: ExprKind::Load(place(from, column, row)), ty: Scalar::I8.into() };
        let copy = Stmt::Store { target: place(to, row, column), value };
        let rows = each(row, LoopKind::Seq, each(column, LoopKind::Seq, copy));
        for (kind, in_blocks) in [(LoopKind::Seq, true), (LoopKind::Simd { reductions: Vec::new() }, false)] {
            let mut block = Block { stmts: vec![each(lane, kind, rows.clone())] };
            in_block(&mut block, &vars, hidp_plan::target::Model::cpu().loops);
            let [Stmt::Loop(outer)] = &block.stmts[..] else { panic!("a loop") };
            let [Stmt::Loop(inner)] = &outer.body.stmts[..] else { panic!("a loop in it") };
            assert_eq!(inner.kind == LoopKind::Across, in_blocks, "{:?}", outer.kind);
        }
    }

    #[test]
    fn steps_that_no_long_holds_are_not_taken_for_others() {
        let (lets, var) = (OrdMap::new(), VarId::new(0));
        let far = || make::mul(make::var(var, Ty::LONG), make::long(i64::MAX));
        let moves = |expr: &Expr| Moves { var, lets: &lets }.of(expr);
        assert_eq!(moves(&make::sub(far(), far())), Some(Move::By(0)));
        assert_eq!(moves(&make::add(far(), far())), None);
        let back = make::mul(make::var(var, Ty::LONG), make::long(-2));
        assert_eq!(moves(&make::sub(back, far())), None);
    }
}

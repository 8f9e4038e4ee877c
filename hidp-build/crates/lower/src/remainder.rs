//! The remainder of loops in vector lanes, after the last whole vector.
//!
//! A C++ compiler runs these iterations one by one. With 64 lanes, of 8- or 16-bit elements, there are up to 63, which take longer than the
//! next thousand in lanes. So if iterations may run twice, the last 64 are whole vectors again, overlapping those before.

use std::collections::BTreeSet;
use std::mem;

use super::make;
use hidp_ir::imp::visit::{child_blocks_mut, each_expr, each_stmt, each_subexpr, introduced, overwritten, stmt_exprs};
use hidp_ir::imp::{Block, Element, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, MathFn};
use hidp_syntax::index::Arena;
use hidp_syntax::ty::Ty;

/// As many lanes as a vector has at most: of bytes, in 512 bits.
const LANES: i64 = 64;

/// Elements of so many bytes leave more iterations than are run in no time.
const NARROW: usize = 2;

/// Rewrites all such loops of a function.
pub(super) fn in_lanes(function: &mut Function) {
    in_block(&mut function.body, &mut function.vars);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>) {
    for mut stmt in mem::take(&mut block.stmts) {
        match stmt {
            Stmt::Loop(node) if may_repeat(&node, vars) => block.stmts.extend(rounds(node, vars)),
            _ => {
                child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars));
                block.stmts.push(stmt);
            }
        }
    }
}

/// Two rounds of a loop: whole vectors from the first iteration on, and the last ones.
fn rounds(node: Loop, vars: &mut Arena<VarId, Var>) -> Vec<Stmt> {
    let mut stmts = Vec::new();
    let mut let_long = |name: &str, init| {
        let var = vars.push(Var { name: name.to_owned(), kind: VarKind::Value(Ty::LONG) });
        stmts.push(Stmt::Let { var, init: Some(init) });
        make::var(var, Ty::LONG)
    };
    let (lo, hi) = (let_long("lo", node.lo.clone()), let_long("hi", node.hi.clone()));
    let turns = let_long("turns", make::sub(hi.clone(), lo.clone()));
    let is_short = make::binary(BinOp::Lt, turns.clone(), make::long(LANES));
    let in_vectors = make::binary(BinOp::And, turns.clone(), make::long(-LANES));
    let whole = let_long("whole", make::select(is_short, turns.clone(), in_vectors));
    let is_all = make::binary(BinOp::Eq, whole.clone(), turns);
    let last = let_long("last", make::select(is_all, hi.clone(), make::sub(hi.clone(), make::long(LANES))));
    let round = vars.push(Var { name: "round".to_owned(), kind: VarKind::Value(Ty::LONG) });
    let is_first = make::binary(BinOp::Eq, make::var(round, Ty::LONG), make::long(0));
    let lanes = Loop {
        lo: make::select(is_first.clone(), lo.clone(), last),
        hi: make::select(is_first, make::add(lo, whole), hi),
        ..node
    };
    let body = Block { stmts: vec![Stmt::Loop(lanes)] };
    let (lo, hi, step) = (make::long(0), make::long(2), make::long(1));
    stmts.push(Stmt::Loop(Loop { var: round, lo, hi, step, kind: LoopKind::Seq, body }));
    stmts
}

/// Whether it is a loop over narrow elements whose iterations take no time and leave the same when they run again.
fn may_repeat(node: &Loop, vars: &Arena<VarId, Var>) -> bool {
    let in_lanes = matches!(&node.kind, LoopKind::Simd { reductions } if reductions.is_empty());
    let known = make::as_int(&node.lo).zip(make::as_int(&node.hi)).map(|(lo, hi)| hi - lo);
    let leaves = known.is_none_or(|turns| turns > i128::from(LANES) && turns % i128::from(LANES) != 0);
    if !in_lanes || !leaves || make::as_int(&node.step) != Some(1) {
        return false;
    }
    let (mut stored, mut own, mut set) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    each_stmt(&node.body, &mut |stmt| {
        own.extend(introduced(stmt));
        set.extend(overwritten(stmt));
        if let Stmt::Store { target, .. } = stmt {
            stored.push(target);
        }
    });
    let is_narrow = |element: &&Element| match vars[element.base].kind {
        VarKind::Buffer { elem, .. } | VarKind::Tile { elem, .. } => {
            elem.scalar().is_some_and(|scalar| scalar.size() <= NARROW)
        }
        _ => false,
    };
    // The same index may be another element later.
    let mut fixed = true;
    let bases: BTreeSet<VarId> = stored.iter().map(|element| element.base).collect();
    let indices = stored.iter().map(|element| &element.index);
    indices.for_each(|index| {
        each_subexpr(index, &mut |sub| {
            fixed &= !matches!(&sub.kind, ExprKind::Var(var) if set.contains(var))
                && !matches!(&sub.kind, ExprKind::Load(from) if bases.contains(&from.base));
        });
    });
    fixed
        && !stored.is_empty()
        && stored.iter().all(is_narrow)
        && is_quick(&node.body)
        && Repeat { vars, bases, own }.all(&node.body)
}

/// Whether vectors have instructions for all of it: what takes long by itself is not done twice.
fn is_quick(body: &Block) -> bool {
    let mut quick = true;
    each_expr(body, &mut |expr| {
        each_subexpr(expr, &mut |sub| {
            quick &= match &sub.kind {
                ExprKind::Binary(BinOp::Div | BinOp::Rem, ..) | ExprKind::Near(..) | ExprKind::Call(..) => false,
                ExprKind::Math(function, _) => matches!(function, MathFn::Min | MathFn::Max | MathFn::Abs),
                ExprKind::Binary(..)
                | ExprKind::Int(_)
                | ExprKind::Float(_)
                | ExprKind::Bool(_)
                | ExprKind::Var(_)
                | ExprKind::Load(_)
                | ExprKind::Unary(..)
                | ExprKind::MulAdd(..)
                | ExprKind::Lazy(..)
                | ExprKind::Select(..)
                | ExprKind::Cast(_)
                | ExprKind::Field(..)
                | ExprKind::Struct(..)
                | ExprKind::WorkerIndex
                | ExprKind::WorkerCount
                | ExprKind::GroupCount(_)
                | ExprKind::IsAligned(..)
                | ExprKind::Broadcast(..)
                | ExprKind::Any(_)
                | ExprKind::LaneCount(_) => true,
            };
        });
    });
    quick
}

struct Repeat<'a> {
    vars: &'a Arena<VarId, Var>,
    /// Where the loop stores.
    bases: BTreeSet<VarId>,
    /// What an iteration has for itself.
    own: BTreeSet<VarId>,
}

impl<'a> Repeat<'a> {
    /// Whether statements read nothing that the loop stores, but elements that they have stored themselves before, and leave nothing else behind.
    fn all(&self, block: &'a Block) -> bool {
        let mut before: Vec<&Element> = Vec::new();
        block.stmts.iter().all(|stmt| {
            let reads = stmt_exprs(stmt).into_iter().all(|expr| {
                let mut again = true;
                each_subexpr(expr, &mut |sub| {
                    if let ExprKind::Load(element) = &sub.kind {
                        again &= !self.bases.contains(&element.base) || before.contains(&element);
                    }
                });
                again
            });
            reads
                && match stmt {
                    Stmt::At(_) => true,
                    Stmt::Let { var, .. } => matches!(self.vars[*var].kind, VarKind::Value(_)),
                    Stmt::Set { var, .. } => self.own.contains(var),
                    Stmt::Store { target, .. } => {
                        before.push(target);
                        !target.relaxed
                    }
                    // With branches a loop runs borders mostly, an iteration or two; calls and what faults have other reasons.
                    _ => false,
                }
        })
    }
}

//! The remainder of loops in vector lanes, after the last whole vector.
//!
//! A C++ compiler runs these iterations one by one. With 64 lanes, of 8- or 16-bit elements, there are up to 63, which take longer than the
//! next thousand in lanes. Of wider elements there are fewer, which count if they divide: a division of one number takes as long as one of a
//! vector. So if iterations may run twice, the last ones are a whole vector again, overlapping those before.

use std::mem;

use super::make;
use hidp_ir::imp::visit::{child_blocks_mut, each_expr, each_stmt, each_subexpr, introduced, overwritten, stmt_exprs};
use hidp_ir::imp::{Block, Element, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, MathFn};
use hidp_plan::target::Model;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::{Scalar, Ty};

/// Rewrites all such loops of a function.
pub(super) fn in_lanes(function: &mut Function, model: &Model) {
    in_block(&mut function.body, &mut function.vars, model);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>, model: &Model) {
    for stmt in mem::take(&mut block.stmts) {
        let lanes = if let Stmt::Loop(node) = &stmt { lanes_again(node, vars, model) } else { None };
        match (stmt, lanes) {
            (Stmt::Loop(node), Some(lanes)) => block.stmts.extend(rounds(node, lanes, vars)),
            (mut stmt, _) => {
                child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars, model));
                block.stmts.push(stmt);
            }
        }
    }
}

/// Two rounds of a loop: whole vectors from the first iteration on, and the last ones.
fn rounds(node: Loop, lanes: i64, vars: &mut Arena<VarId, Var>) -> Vec<Stmt> {
    let mut stmts = Vec::new();
    let mut let_long = |name: &str, init| {
        let var = vars.push(Var { name: name.to_owned(), kind: VarKind::Value(Ty::LONG) });
        stmts.push(Stmt::Let { var, init: Some(init) });
        make::var(var, Ty::LONG)
    };
    let (lo, hi) = (let_long("lo", node.lo.clone()), let_long("hi", node.hi.clone()));
    let turns = let_long("turns", make::sub(hi.clone(), lo.clone()));
    let is_short = make::binary(BinOp::Lt, turns.clone(), make::long(lanes));
    let in_vectors = make::binary(BinOp::And, turns.clone(), make::long(-lanes));
    let whole = let_long("whole", make::select(is_short, turns.clone(), in_vectors));
    let is_all = make::binary(BinOp::Eq, whole.clone(), turns);
    let last = let_long("last", make::select(is_all, hi.clone(), make::sub(hi.clone(), make::long(lanes))));
    let round = vars.push(Var { name: "round".to_owned(), kind: VarKind::Value(Ty::LONG) });
    let is_first = make::binary(BinOp::Eq, make::var(round, Ty::LONG), make::long(0));
    let both = Loop {
        lo: make::select(is_first.clone(), lo.clone(), last),
        hi: make::select(is_first, make::add(lo, whole), hi),
        ..node
    };
    let body = Block { stmts: vec![Stmt::Loop(both)] };
    let (lo, hi, step) = (make::long(0), make::long(2), make::long(1));
    stmts.push(Stmt::Loop(Loop { var: round, lo, hi, step, kind: LoopKind::Seq, body }));
    stmts
}

/// How many iterations a last vector has, of a loop whose iterations leave the same when they run again; none where that gains nothing.
fn lanes_again(node: &Loop, vars: &Arena<VarId, Var>, model: &Model) -> Option<i64> {
    let in_lanes = matches!(&node.kind, LoopKind::Simd { reductions } if reductions.is_empty());
    if !in_lanes || make::as_int(&node.step) != Some(1) {
        return None;
    }
    let (mut stored, mut own, mut set) = (Vec::new(), OrdSet::new(), OrdSet::new());
    each_stmt(&node.body, &mut |stmt| {
        own.extend(introduced(stmt));
        set.extend(overwritten(stmt));
        if let Stmt::Store { target, .. } = stmt {
            stored.push(target);
        }
    });
    let sizes = stored.iter().map(|element| size(element, vars)).collect::<Option<Vec<usize>>>()?;
    let (smallest, largest) = (*sizes.iter().min()?, *sizes.iter().max()?);
    let (vector, small) = (model.vector_bytes as usize, model.loops.small as usize);
    let lanes = i64::try_from(if smallest <= small { vector } else { vector / smallest }).ok()?;
    let known = make::as_int(&node.lo).zip(make::as_int(&node.hi)).map(|(lo, hi)| hi - lo);
    if known.is_some_and(|turns| turns <= i128::from(lanes) || turns % i128::from(lanes) == 0) {
        return None;
    }
    let divides = divisions(&node.body)? > 0;
    let gains = if smallest <= small { largest <= small && !divides } else { divides };
    // The same index may be another element later.
    let mut fixed = true;
    let bases: OrdSet<VarId> = stored.iter().map(|element| element.base).collect();
    let indices = stored.iter().map(|element| &element.index);
    indices.for_each(|index| {
        each_subexpr(index, &mut |sub| {
            fixed &= !matches!(&sub.kind, ExprKind::Var(var) if set.contains(var))
                && !matches!(&sub.kind, ExprKind::Load(from) if bases.contains(&from.base));
        });
    });
    (gains && fixed && Repeat { vars, bases, own }.all(&node.body)).then_some(lanes)
}

/// Bytes of an element of a buffer or a tile, if it is a number.
fn size(element: &Element, vars: &Arena<VarId, Var>) -> Option<usize> {
    match vars[element.base].kind {
        VarKind::Buffer { elem, .. } | VarKind::Tile { elem, .. } => elem.scalar().map(Scalar::size),
        _ => None,
    }
}

/// Quotients and roots of an iteration, if vectors have instructions for all of it: what takes long by itself is not done twice.
fn divisions(body: &Block) -> Option<usize> {
    let (mut divisions, mut quick) = (0, true);
    each_expr(body, &mut |expr| {
        each_subexpr(expr, &mut |sub| match &sub.kind {
            ExprKind::Binary(BinOp::Div, ..) if sub.ty.scalar().is_some_and(Scalar::is_float) => divisions += 1,
            ExprKind::Math(MathFn::Sqrt, _) => divisions += 1,
            ExprKind::Binary(BinOp::Div | BinOp::Rem, ..) | ExprKind::Near(..) | ExprKind::Call(..) => quick = false,
            ExprKind::Math(function, _) => quick &= matches!(function, MathFn::Min | MathFn::Max | MathFn::Abs),
            ExprKind::Binary(..)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Var(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::MulAdd(..)
            | ExprKind::AbsDiffAdd(..)
            | ExprKind::Gather(..)
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
            | ExprKind::Least { .. }
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters => {}
        });
    });
    quick.then_some(divisions)
}

struct Repeat<'a> {
    vars: &'a Arena<VarId, Var>,
    /// Where the loop stores.
    bases: OrdSet<VarId>,
    /// What an iteration has for itself.
    own: OrdSet<VarId>,
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

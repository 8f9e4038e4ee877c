//! Walks over blocks, statements and expressions. Children come in order of evaluation.

use super::wide::{self, WideStmt};
use super::{Block, Element, Expr, ExprKind, Loop, PrimArg, Schedule, Stmt, VarId, Work};

/// Of a reference to a statement, whether or not it may be changed.
macro_rules! blocks_in {
    ($stmt:expr $(, $mutable:ident)?) => {
        match $stmt {
            Stmt::Group(group) => {
                let again = (&$($mutable)? group.again).into_iter().map(|again| &$($mutable)? again.body);
                [&$($mutable)? group.body].into_iter().chain(again).collect()
            }
            Stmt::InTurn(turn) => vec![&$($mutable)? turn.body],
            Stmt::If { then, otherwise, .. } => vec![then, otherwise],
            Stmt::Loop(Loop { body, .. })
            | Stmt::Scope { body, .. }
            | Stmt::Single { body, .. }
            | Stmt::Lanes { body, .. } => vec![body],
            Stmt::Forever { body, step } => vec![body, step],
            Stmt::At(_)
            | Stmt::Let { .. }
            | Stmt::Set { .. }
            | Stmt::Store { .. }
            | Stmt::Atomic { .. }
            | Stmt::Break
            | Stmt::Continue
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
            | Stmt::Sync(_)
            | Stmt::Shuffle(_)
            | Stmt::Move { .. }
            | Stmt::StreamOut { .. }
            | Stmt::Prim(_)
            | Stmt::Wide(_) => Vec::new(),
        }
    };
}

/// The blocks directly inside a statement.
pub fn child_blocks(stmt: &Stmt) -> Vec<&Block> {
    blocks_in!(stmt)
}

/// The blocks directly inside a statement, to be replaced.
pub fn child_blocks_mut(stmt: &mut Stmt) -> Vec<&mut Block> {
    blocks_in!(stmt, mut)
}

/// Of a reference to a statement, whether or not it may be changed.
macro_rules! exprs_in {
    ($stmt:expr, $scalars:path $(, $mutable:ident)?) => {
        match $stmt {
            Stmt::Group(group) => vec![&$($mutable)? group.lo, &$($mutable)? group.hi],
            Stmt::Wide(stmt) => $scalars(stmt),
            Stmt::Let { init, .. } => init.into_iter().collect(),
            Stmt::Set { value, .. } => vec![value],
            Stmt::Store { target, value } | Stmt::Atomic { target, value, .. } => {
                vec![&$($mutable)? *target.index, value]
            }
            Stmt::Move { to, from, .. } => vec![&$($mutable)? *to.index, &$($mutable)? *from.index],
            Stmt::If { cond, .. } | Stmt::Either { cond, .. } => vec![cond],
            Stmt::Loop(Loop { lo, hi, step, .. }) => vec![lo, hi, step],
            Stmt::Fault { values, .. } => values.into_iter().collect(),
            Stmt::Alloc { count: expr, .. } | Stmt::Scratch { count: expr, .. } | Stmt::Part { first: expr, .. }
            | Stmt::Prefetch { index: expr, .. } => vec![expr],
            Stmt::Launch { args, extent, schedule, .. } => {
                let work = match schedule {
                    Schedule::Serial => None,
                    Schedule::Static { work, .. } | Schedule::Dynamic { work, .. } => Some(&$($mutable)? work.operations),
                };
                args.into_iter().chain([extent]).chain(work).collect()
            }
            Stmt::Run { args, begin, end, .. } => args.into_iter().chain([begin, end]).collect(),
            Stmt::LaunchGrid { args, extents, most, .. } => args.into_iter().chain(extents).chain(most).collect(),
            Stmt::StreamOut { target, count, .. } => vec![&$($mutable)? *target.index, count],
            Stmt::Prim(prim) => {
                let args = (&$($mutable)? prim.args).into_iter();
                args.filter_map(|arg| match arg {
                    PrimArg::Value(expr) | PrimArg::Address { offset: expr, .. } => Some(expr),
                    PrimArg::Out(_) => None,
                })
                .collect()
            }
            Stmt::At(_)
            | Stmt::Forever { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Scope { .. }
            | Stmt::Leave(_)
            | Stmt::CheckTrap
            | Stmt::Free(_)
            | Stmt::Single { .. }
            | Stmt::Lanes { .. }
            | Stmt::Shuffle(_)
            | Stmt::Sync(_)
            | Stmt::InTurn(_)
            | Stmt::Swap(..) => Vec::new(),
        }
    };
}

/// The expressions directly in a statement, not those of its blocks.
pub fn stmt_exprs(stmt: &Stmt) -> Vec<&Expr> {
    exprs_in!(stmt, wide::scalars)
}

/// The expressions directly in a statement, to be replaced.
pub fn stmt_exprs_mut(stmt: &mut Stmt) -> Vec<&mut Expr> {
    exprs_in!(stmt, wide::scalars_mut, mut)
}

/// The work estimate of a schedule.
pub fn schedule_work(schedule: &Schedule) -> Option<&Work> {
    match schedule {
        Schedule::Serial => None,
        Schedule::Static { work, .. } | Schedule::Dynamic { work, .. } => Some(work),
    }
}

/// Of a reference to a kind of expression, whether or not it may be changed.
macro_rules! operands_in {
    ($kind:expr) => {
        match $kind {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Var(_)
            | ExprKind::WorkerIndex
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..)
            | ExprKind::Any(_)
            | ExprKind::Least { .. }
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters => Vec::new(),
            ExprKind::Load(Element { index, .. }) => vec![index],
            ExprKind::Unary(_, a)
            | ExprKind::Cast(a)
            | ExprKind::Near(_, a)
            | ExprKind::Field(a, _)
            | ExprKind::Broadcast(_, a) => vec![a],
            ExprKind::Gather(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Lazy(_, a, b) => vec![a, b],
            ExprKind::MulAdd(a, b, c) | ExprKind::AbsDiffAdd(a, b, c) | ExprKind::Select(a, b, c) => vec![a, b, c],
            ExprKind::Math(_, args) | ExprKind::Call(_, args) | ExprKind::Struct(_, args) => Vec::from_iter(args),
        }
    };
}

/// The operands of an expression.
pub fn operands(expr: &Expr) -> Vec<&Expr> {
    operands_in!(&expr.kind)
}

/// The operands of an expression, to be replaced.
pub fn operands_mut(expr: &mut Expr) -> Vec<&mut Expr> {
    operands_in!(&mut expr.kind)
}

/// Visits every statement, outer ones first.
pub fn each_stmt<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in &block.stmts {
        visit(stmt);
        child_blocks(stmt).into_iter().for_each(|child| each_stmt(child, visit));
    }
}

/// Visits an expression and everything in it.
pub fn each_subexpr<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    operands(expr).into_iter().for_each(|operand| each_subexpr(operand, visit));
}

/// Visits every expression of a block.
pub fn each_expr<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Expr)) {
    each_stmt(block, &mut |stmt| stmt_exprs(stmt).into_iter().for_each(|expr| each_subexpr(expr, visit)));
}

/// The variable that a statement introduces.
pub fn introduced(stmt: &Stmt) -> Option<VarId> {
    match stmt {
        Stmt::Let { var, .. }
        | Stmt::Alloc { var, .. }
        | Stmt::Scratch { var, .. }
        | Stmt::Part { var, .. }
        | Stmt::Either { var, .. } => Some(*var),
        Stmt::Loop(node) => Some(node.var),
        Stmt::Lanes { lane, .. } => Some(*lane),
        Stmt::Wide(WideStmt::Let { var, .. }) => Some(*var),
        // And its mask.
        Stmt::Group(group) => Some(group.first),
        // And what it takes of the lane.
        Stmt::InTurn(turn) => Some(turn.lane),
        Stmt::At(_)
        | Stmt::Wide(
            WideStmt::Here(_)
            | WideStmt::Anew(_)
            | WideStmt::Set { .. }
            | WideStmt::Store { .. }
            | WideStmt::Update { .. }
            | WideStmt::AddUp { .. },
        )
        | Stmt::Set { .. }
        | Stmt::Store { .. }
        | Stmt::Atomic { .. }
        | Stmt::If { .. }
        | Stmt::Forever { .. }
        | Stmt::Break
        | Stmt::Continue
        | Stmt::Scope { .. }
        | Stmt::Leave(_)
        | Stmt::Fault { .. }
        | Stmt::CheckTrap
        | Stmt::Prefetch { .. }
        | Stmt::Free(_)
        | Stmt::Swap(..)
        | Stmt::Run { .. }
        | Stmt::Launch { .. }
        | Stmt::LaunchGrid { .. }
        | Stmt::Single { .. }
        | Stmt::Sync(_)
        | Stmt::Shuffle(_)
        | Stmt::Move { .. }
        | Stmt::StreamOut { .. }
        | Stmt::Prim(_) => None,
    }
}

/// The variables that a statement itself overwrites after they were introduced: values it sets, buffers it exchanges.
pub fn overwritten(stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Set { var, .. } | Stmt::Wide(WideStmt::Set { var, .. } | WideStmt::AddUp { sum: var, .. }) => vec![*var],
        Stmt::Swap(a, b) => vec![*a, *b],
        Stmt::Prim(prim) => {
            let out = |arg: &PrimArg| if let PrimArg::Out(var) = arg { Some(*var) } else { None };
            prim.args.iter().filter_map(out).collect()
        }
        Stmt::At(_)
        | Stmt::Group(_)
        | Stmt::InTurn(_)
        | Stmt::Wide(
            WideStmt::Let { .. }
            | WideStmt::Here(_)
            | WideStmt::Anew(_)
            | WideStmt::Store { .. }
            | WideStmt::Update { .. },
        )
        | Stmt::Let { .. }
        | Stmt::Store { .. }
        | Stmt::Atomic { .. }
        | Stmt::If { .. }
        | Stmt::Loop(_)
        | Stmt::Forever { .. }
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
        | Stmt::Run { .. }
        | Stmt::Launch { .. }
        | Stmt::LaunchGrid { .. }
        | Stmt::Single { .. }
        | Stmt::Lanes { .. }
        | Stmt::Shuffle(_)
        | Stmt::Sync(_)
        | Stmt::Move { .. }
        | Stmt::StreamOut { .. } => Vec::new(),
    }
}

/// The variables that a statement itself uses otherwise than through an expression: buffers it stores to or passes on.
pub fn accessed(stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Store { target, .. } | Stmt::Atomic { target, .. } => vec![target.base],
        Stmt::StreamOut { target, tile, .. } => vec![target.base, *tile],
        Stmt::Move { to, from, .. } => vec![to.base, from.base],
        Stmt::Shuffle(shuffle) => vec![shuffle.to, shuffle.from, shuffle.of],
        Stmt::Free(var) | Stmt::Part { of: var, .. } | Stmt::Prefetch { of: var, .. } => vec![*var],
        Stmt::Either { then, otherwise, .. } => vec![*then, *otherwise],
        Stmt::Wide(stmt) => wide::used(stmt),
        Stmt::InTurn(turn) => [turn.mask].into_iter().chain(turn.taken.iter().map(|taken| taken.wide)).collect(),
        Stmt::Prim(prim) => {
            let base = |arg: &PrimArg| if let PrimArg::Address { base, .. } = arg { Some(*base) } else { None };
            prim.args.iter().filter_map(base).collect()
        }
        Stmt::At(_)
        | Stmt::Group(_)
        | Stmt::Let { .. }
        | Stmt::Set { .. }
        | Stmt::If { .. }
        | Stmt::Loop(_)
        | Stmt::Forever { .. }
        | Stmt::Break
        | Stmt::Continue
        | Stmt::Scope { .. }
        | Stmt::Leave(_)
        | Stmt::Fault { .. }
        | Stmt::CheckTrap
        | Stmt::Alloc { .. }
        | Stmt::Scratch { .. }
        | Stmt::Swap(..)
        | Stmt::Run { .. }
        | Stmt::Launch { .. }
        | Stmt::LaunchGrid { .. }
        | Stmt::Single { .. }
        | Stmt::Lanes { .. }
        | Stmt::Sync(_) => Vec::new(),
    }
}

/// The variables that a statement itself names otherwise than in an expression, to be renamed.
pub fn names_mut(stmt: &mut Stmt) -> Vec<&mut VarId> {
    match stmt {
        Stmt::Let { var, .. }
        | Stmt::Set { var, .. }
        | Stmt::Alloc { var, .. }
        | Stmt::Scratch { var, .. }
        | Stmt::Prefetch { of: var, .. }
        | Stmt::Free(var) => vec![var],
        Stmt::Loop(node) => vec![&mut node.var],
        Stmt::Lanes { lane, .. } => vec![lane],
        Stmt::Store { target, .. } | Stmt::Atomic { target, .. } => vec![&mut target.base],
        Stmt::StreamOut { target, tile, .. } => vec![&mut target.base, tile],
        Stmt::Move { to, from, .. } => vec![&mut to.base, &mut from.base],
        Stmt::Shuffle(shuffle) => vec![&mut shuffle.to, &mut shuffle.from, &mut shuffle.of],
        Stmt::Part { var: a, of: b, .. } | Stmt::Swap(a, b) => vec![a, b],
        Stmt::Either { var, then, otherwise, .. } => vec![var, then, otherwise],
        Stmt::Prim(prim) => {
            let args = prim.args.iter_mut();
            args.filter_map(|arg| match arg {
                PrimArg::Address { base, .. } => Some(base),
                PrimArg::Out(var) => Some(var),
                PrimArg::Value(_) => None,
            })
            .collect()
        }
        // Neither is in what is copied: loops in lanes, and devices.
        Stmt::Group(_) | Stmt::InTurn(_) | Stmt::Wide(_) => Vec::new(),
        Stmt::At(_)
        | Stmt::If { .. }
        | Stmt::Forever { .. }
        | Stmt::Break
        | Stmt::Continue
        | Stmt::Scope { .. }
        | Stmt::Leave(_)
        | Stmt::Fault { .. }
        | Stmt::CheckTrap
        | Stmt::Run { .. }
        | Stmt::Launch { .. }
        | Stmt::LaunchGrid { .. }
        | Stmt::Single { .. }
        | Stmt::Sync(_) => Vec::new(),
    }
}

/// The variables that an expression itself names, to be renamed.
pub fn expr_names_mut(expr: &mut Expr) -> Vec<&mut VarId> {
    match &mut expr.kind {
        ExprKind::Var(var) | ExprKind::IsAligned(var, _) | ExprKind::Any(var) => vec![var],
        ExprKind::Least { of, mask } => vec![of, mask],
        ExprKind::Load(element) => vec![&mut element.base],
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
        | ExprKind::Broadcast(..) => Vec::new(),
    }
}

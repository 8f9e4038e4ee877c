//! Expressions of `imp`.

use super::value::{self, Piece};
use super::{Dialect, Scope, group, literal, memory, name};
use hidp_ir::imp::can_trap;
use hidp_ir::imp::{Expr, ExprKind, Level};
use hidp_ir::par::ScalarFnId;
use hidp_syntax::ty::{Scalar, Ty};

/// Whether nothing has to be loaded or computed, but perhaps converted.
fn is_ready(node: &Expr) -> bool {
    match &node.kind {
        ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Var(_) => true,
        ExprKind::Cast(operand) => is_ready(operand),
        _ => false,
    }
}

/// An expression.
pub fn expr(scope: &Scope<'_>, dialect: &dyn Dialect, node: &Expr) -> Piece {
    let sub = |operand: &Expr| expr(scope, dialect, operand);
    match &node.kind {
        ExprKind::Int(value) => literal::int(*value, scalar_or_long(node.ty)),
        ExprKind::Float(value) => literal::float(*value, scalar_or_long(node.ty)),
        ExprKind::Bool(value) => literal::bool(*value),
        ExprKind::Var(var) => Piece::atom(scope.name(*var)),
        ExprKind::Load(element) => memory::load(scope, dialect, element, node.ty),
        ExprKind::Unary(op, a) => value::unary(*op, a.ty, sub(a)),
        ExprKind::Binary(op, a, b) => value::binary(*op, a.ty, sub(a), sub(b)),
        ExprKind::MulAdd(a, b, c) => value::mul_add(node.ty, sub(a), sub(b), sub(c)),
        ExprKind::AbsDiffAdd(a, b, c) => value::call("hidp::abs_diff_add", [a, b, c].map(|operand| sub(operand).text)),
        ExprKind::Gather(load, count) => match &load.kind {
            ExprKind::Load(element) => {
                let (base, index) = (scope.name(element.base), sub(&element.index).text);
                value::call("hidp::gathered", [base, index, sub(count).text])
            }
            _ => sub(load),
        },
        ExprKind::Lazy(and, a, b) => value::lazy(*and, sub(a), sub(b)),
        ExprKind::Select(c, a, b) if is_ready(a) && is_ready(b) => value::select_ready(node.ty, sub(c), sub(a), sub(b)),
        ExprKind::Select(c, a, b) => value::select(sub(c), sub(a), sub(b)),
        ExprKind::Cast(a) => value::cast(a.ty, node.ty, sub(a)),
        ExprKind::Math(function, args) => {
            let ty = args.first().map_or(node.ty, |arg| arg.ty);
            value::math(*function, ty, args.iter().map(sub).collect())
        }
        ExprKind::Near(function, angle) => value::call(format!("hidp::{}", function.name()), [sub(angle).text]),
        ExprKind::Call(function, args) => {
            call(scope, dialect.trap(), *function, args.iter().map(|arg| sub(arg).text).collect())
        }
        ExprKind::Field(a, position) => {
            Piece::atom(format!("{}{}", sub(a).operand(), name::path(scope.program, a.ty, &[*position])))
        }
        ExprKind::Struct(id, args) => {
            let fields: Vec<String> = args.iter().map(|arg| sub(arg).text).collect();
            Piece::atom(format!("{}{{{}}}", name::structure(scope.program, *id), fields.join(", ")))
        }
        ExprKind::WorkerIndex => Piece::atom(dialect.worker_index()),
        ExprKind::WorkerCount => Piece::atom(dialect.worker_count()),
        ExprKind::GroupCount(grid) => Piece::atom(dialect.group_count(*grid)),
        ExprKind::Any(mask) => value::call("hidp::wide_any", [scope.name(*mask)]),
        ExprKind::Least { of, mask } => value::call("hidp::wide_least", [scope.name(*mask), scope.name(*of)]),
        ExprKind::LaneCount(lanes) => Piece::atom(super::wide::lane_count(*lanes)),
        ExprKind::VectorRegisters => Piece::atom("hidp::kVectorRegisters"),
        ExprKind::IsAligned(var, bytes) => value::call(format!("hidp::is_aligned<{bytes}>"), [scope.name(*var)]),
        ExprKind::Broadcast(level, value) => broadcast(scope, *level, value, sub(value)),
    }
}

fn scalar_or_long(ty: Ty) -> Scalar {
    ty.scalar().unwrap_or(Scalar::I64)
}

/// A call of a scalar function; those that can raise get the trap first.
fn call(scope: &Scope<'_>, trap: &str, function: ScalarFnId, args: Vec<String>) -> Piece {
    let trap = can_trap(scope.program, function).then(|| trap.to_owned());
    value::call(name::scalar_fn(scope.program, function), trap.into_iter().chain(args))
}

/// The first lane evaluates; the others have nothing to say.
fn broadcast(scope: &Scope<'_>, level: Level, of: &Expr, value: Piece) -> Piece {
    let level = group::level(level);
    let ty = name::ty(scope.program, of.ty);
    let number = scope.site(|numbers| numbers.broadcast(of));
    let first = format!("hidp::is_first<{level}>(worker) ? {ty}({}) : {ty}{{}}{number}", value.text);
    value::call(format!("hidp::broadcast<{level}>"), ["worker".to_owned(), first])
}

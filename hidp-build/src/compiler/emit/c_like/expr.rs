//! Expressions of `imp`.

use super::value::{self, Piece};
use super::{Dialect, Scope, literal, name};
use crate::compiler::ir::imp::can_trap;
use crate::compiler::ir::imp::{Element, Expr, ExprKind, VarKind};
use crate::compiler::ir::par::ScalarFnId;
use crate::compiler::ty::{Scalar, Ty};

/// An expression.
pub fn expr(scope: &Scope<'_>, dialect: &dyn Dialect, node: &Expr) -> Piece {
    let sub = |operand: &Expr| expr(scope, dialect, operand);
    match &node.kind {
        ExprKind::Int(value) => literal::int(*value, scalar_or_long(node.ty)),
        ExprKind::Float(value) => literal::float(*value, scalar_or_long(node.ty)),
        ExprKind::Bool(value) => literal::bool(*value),
        ExprKind::Var(var) => Piece::atom(scope.name(*var)),
        ExprKind::Load(element) => load(scope, dialect, element, node.ty),
        ExprKind::Unary(op, a) => value::unary(*op, a.ty, sub(a)),
        ExprKind::Binary(op, a, b) => value::binary(*op, a.ty, sub(a), sub(b)),
        ExprKind::MulAdd(a, b, c) => value::mul_add(node.ty, sub(a), sub(b), sub(c)),
        ExprKind::Lazy(and, a, b) => value::lazy(*and, sub(a), sub(b)),
        ExprKind::Select(c, a, b) => value::select(sub(c), sub(a), sub(b)),
        ExprKind::Cast(a) => value::cast(a.ty, node.ty, sub(a)),
        ExprKind::Math(function, args) => {
            let ty = args.first().map_or(node.ty, |arg| arg.ty);
            value::math(*function, ty, args.iter().map(sub).collect())
        }
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
        // Of devices, whose dialect prints them.
        ExprKind::GroupCount(_) => Piece::atom(dialect.worker_count()),
        ExprKind::Broadcast(_, value) => sub(value),
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

/// `base[index].path`
pub fn element(scope: &Scope<'_>, dialect: &dyn Dialect, target: &Element) -> String {
    let index = match target.index.kind {
        ExprKind::Int(value) => value.to_string(),
        _ => expr(scope, dialect, &target.index).text,
    };
    let path = name::path(scope.program, element_ty(scope, target), &target.path);
    format!("{}[{index}]{path}", scope.name(target.base))
}

/// The type of an element, whatever the path.
fn element_ty(scope: &Scope<'_>, target: &Element) -> Ty {
    match scope.var(target.base).kind {
        VarKind::Value(ty)
        | VarKind::Buffer { elem: ty, .. }
        | VarKind::HostCell { elem: ty, .. }
        | VarKind::Tile { elem: ty, .. } => ty,
    }
}

/// The function that accesses a `ty`: of the run time for scalars, printed with the struct for structs.
pub fn access_function(function: &str, ty: Ty) -> String {
    match ty {
        Ty::Scalar(_) => format!("hidp::{function}"),
        Ty::Struct(_) => function.to_owned(),
    }
}

fn load(scope: &Scope<'_>, dialect: &dyn Dialect, source: &Element, ty: Ty) -> Piece {
    let place = element(scope, dialect, source);
    if source.relaxed {
        value::call(access_function("load_relaxed", ty), [format!("&{place}")])
    } else {
        Piece::atom(place)
    }
}

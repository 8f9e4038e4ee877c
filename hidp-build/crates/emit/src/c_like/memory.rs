//! Elements of buffers and tiles: where they are, and how they are loaded, stored and updated.

use super::expr::expr;
use super::value::{self, Piece};
use super::{Dialect, Scope, name};
use hidp_ir::imp::{Element, Expr, ExprKind};
use hidp_ir::par::FoldFn;
use hidp_syntax::ty::Ty;

/// How elements are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// As C does it.
    Plain,
    /// Through functions of the run time that take a place: a device's memory, in code that runs there.
    Place,
    /// Through functions of the run time that wait for the device: its memory, in code of the host.
    Remote,
}

/// `base[index].path`
pub fn element(scope: &Scope<'_>, dialect: &dyn Dialect, target: &Element) -> String {
    let index = match target.index.kind {
        ExprKind::Int(value) => value.to_string(),
        _ => expr(scope, dialect, &target.index).text,
    };
    format!("{}[{index}]{}", scope.name(target.base), path(scope, target))
}

/// `base + index`, or of a field, `HIDP_FIELD(base + index, .path)`
fn place(scope: &Scope<'_>, dialect: &dyn Dialect, target: &Element) -> String {
    let base = scope.name(target.base);
    let whole = match target.index.kind {
        ExprKind::Int(0) => base,
        ExprKind::Int(value) => format!("{base} + {value}"),
        _ => format!("{base} + {}", expr(scope, dialect, &target.index).operand()),
    };
    if target.path.is_empty() { whole } else { format!("HIDP_FIELD({whole}, {})", path(scope, target)) }
}

fn path(scope: &Scope<'_>, target: &Element) -> String {
    name::path(scope.program, scope.var(target.base).kind.element(), &target.path)
}

fn number(scope: &Scope<'_>, element: &Element) -> String {
    scope.site(|numbers| numbers.access(element))
}

/// The function that accesses a `ty` relaxed: of the run time for scalars, printed with the struct for structs.
pub fn access_function(function: &str, ty: Ty) -> String {
    match ty {
        Ty::Scalar(_) => format!("hidp::{function}_relaxed"),
        Ty::Struct(_) => format!("{function}_relaxed"),
    }
}

/// The same of a place: structs are accessed in units that hold whole fields.
fn place_function(function: &str, ty: Ty, relaxed: bool) -> String {
    match (relaxed, ty) {
        (false, _) => format!("hidp::{function}"),
        (true, Ty::Scalar(_)) => format!("hidp::{function}_relaxed"),
        (true, Ty::Struct(_)) => format!("hidp::{function}_shared"),
    }
}

/// The value of an element of type `ty`.
pub fn load(scope: &Scope<'_>, dialect: &dyn Dialect, source: &Element, ty: Ty) -> Piece {
    match dialect.memory(scope.var(source.base).kind) {
        Memory::Plain if source.relaxed => {
            value::call(access_function("load", ty), [format!("&{}", element(scope, dialect, source))])
        }
        Memory::Plain => Piece::element(element(scope, dialect, source)),
        Memory::Place => {
            let place = typed_place(scope, dialect, source, ty) + &number(scope, source);
            value::call(place_function("load", ty, source.relaxed), [place])
        }
        Memory::Remote => value::call("host.fetch", [typed_place(scope, dialect, source, ty)]),
    }
}

/// The statement that stores a value of type `ty`.
pub fn store(scope: &Scope<'_>, dialect: &dyn Dialect, target: &Element, ty: Ty, value: &str) -> String {
    match dialect.memory(scope.var(target.base).kind) {
        Memory::Plain if target.relaxed => {
            let function = access_function("store", ty);
            let of_type = cast(scope, target, ty).map_or(String::new(), |ty| format!("<{ty}>"));
            format!("{function}{of_type}({}, {value});", address(scope, dialect, target, ty))
        }
        Memory::Plain => format!("{} = {value};", element(scope, dialect, target)),
        Memory::Place => {
            let function = place_function("store", ty, target.relaxed);
            format!("{function}({}, {value}{});", typed_place(scope, dialect, target, ty), number(scope, target))
        }
        Memory::Remote => format!("hidp::put(host, {}, {value});", typed_place(scope, dialect, target, ty)),
    }
}

/// The statement that moves neighbouring elements by one access, between memory and what a lane has for itself.
pub fn moved(scope: &Scope<'_>, dialect: &dyn Dialect, to: &Element, from: &Element, count: u32) -> String {
    let own = |side: &Element| format!("&{}", element(scope, dialect, side));
    match dialect.memory(scope.var(from.base).kind) {
        Memory::Plain => {
            format!("hidp::store_several<{count}>({}, {}{});", place(scope, dialect, to), own(from), number(scope, to))
        }
        Memory::Place | Memory::Remote => {
            format!("hidp::load_several<{count}>({}, {}{});", own(to), place(scope, dialect, from), number(scope, from))
        }
    }
}

/// The statement that updates an element indivisibly.
pub fn atomic(scope: &Scope<'_>, dialect: &dyn Dialect, target: &Element, op: FoldFn, operand: &Expr) -> String {
    let ty = operand.ty;
    if dialect.has_copy(target.base) {
        let [index, value] = [&*target.index, operand].map(|node| expr(scope, dialect, node).text);
        return format!("{}.update({index}, {value}{});", scope.name(target.base), number(scope, target));
    }
    let address = match dialect.memory(scope.var(target.base).kind) {
        Memory::Plain | Memory::Remote => address(scope, dialect, target, ty),
        Memory::Place => typed_place(scope, dialect, target, ty),
    };
    let operand = expr(scope, dialect, operand).text;
    let number = number(scope, target);
    format!("hidp::atomic_{}<{}>({address}, {operand}{number});", fold_name(op), name::ty(scope.program, ty))
}

pub(super) const fn fold_name(op: FoldFn) -> &'static str {
    match op {
        FoldFn::Add => "add",
        FoldFn::Mul => "mul",
        FoldFn::Min => "min",
        FoldFn::Max => "max",
        FoldFn::And => "and",
        FoldFn::Or => "or",
        FoldFn::Xor => "xor",
        FoldFn::Fn(_) => "call",
    }
}

/// The type to access a field of a native struct as: its own may have the same layout but another name, such as `long long`.
fn cast(scope: &Scope<'_>, target: &Element, ty: Ty) -> Option<&'static str> {
    let has_natives = scope.program.structs.iter().any(|(_, item)| item.native);
    ty.scalar().filter(|_| has_natives && !target.path.is_empty()).map(name::scalar)
}

/// Where an element lies.
fn address(scope: &Scope<'_>, dialect: &dyn Dialect, target: &Element, ty: Ty) -> String {
    let place = element(scope, dialect, target);
    cast(scope, target, ty).map_or_else(|| format!("&{place}"), |ty| format!("({ty} *)&{place}"))
}

/// The place of an element.
fn typed_place(scope: &Scope<'_>, dialect: &dyn Dialect, target: &Element, ty: Ty) -> String {
    let place = place(scope, dialect, target);
    cast(scope, target, ty).map_or_else(|| place.clone(), |ty| format!("hidp::place_as<{ty}>({place})"))
}

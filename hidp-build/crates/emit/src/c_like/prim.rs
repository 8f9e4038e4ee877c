//! Calls of primitives.

use super::expr::expr;
use super::group::level;
use super::text::Text;
use super::{Dialect, Scope, name};
use hidp_ir::imp::{Expr, ExprKind, Prim, PrimArg, TemplateArg};
use hidp_ir::par::FoldFn;
use hidp_syntax::index::Id;

/// The call. Primitives that can fault return whether they did not.
pub fn call(scope: &Scope<'_>, dialect: &dyn Dialect, prim: &Prim, leave: &str, out: &mut Text) {
    let args: Vec<String> = std::iter::once(dialect.called_from(&scope.site(|numbers| numbers.prim(prim))))
        .chain(prim.sites.iter().map(|site| format!("{}u", site.index())))
        .chain(prim.args.iter().map(|arg| argument(scope, dialect, arg)))
        .collect();
    let template: Vec<String> = prim.template.iter().map(|arg| template_arg(scope, *arg)).collect();
    let template = if template.is_empty() { String::new() } else { format!("<{}>", template.join(", ")) };
    let call = format!("hidp::{}{template}({})", prim.function, args.join(", "));
    if prim.sites.is_empty() {
        out.line(format!("{call};"));
    } else {
        out.line(format!("if (!{call}) {leave}"));
    }
}

fn argument(scope: &Scope<'_>, dialect: &dyn Dialect, arg: &PrimArg) -> String {
    match arg {
        PrimArg::Value(value) => expr(scope, dialect, value).text,
        PrimArg::Address { base, offset } => match offset.kind {
            ExprKind::Int(0) => scope.name(*base),
            _ => format!("{} + {}", scope.name(*base), expr(scope, dialect, offset).operand()),
        },
        PrimArg::Out(var) => format!("&{}", scope.name(*var)),
    }
}

fn template_arg(scope: &Scope<'_>, arg: TemplateArg) -> String {
    match arg {
        TemplateArg::Ty(ty) => name::ty(scope.program, ty),
        TemplateArg::Op(op, ty) => functor(scope, op, name::ty(scope.program, ty)),
        TemplateArg::Fn(function) => name::functor(scope.program, function),
        TemplateArg::Group(group) => level(group).to_owned(),
    }
}

/// The function object of an operator on a type.
pub fn functor(scope: &Scope<'_>, op: FoldFn, ty: String) -> String {
    let builtin = match op {
        FoldFn::Fn(function) => return name::functor(scope.program, function),
        FoldFn::Add => "Add",
        FoldFn::Mul => "Mul",
        FoldFn::Min => "Min",
        FoldFn::Max => "Max",
        FoldFn::And => "And",
        FoldFn::Or => "Or",
        FoldFn::Xor => "Xor",
    };
    format!("hidp::{builtin}<{ty}>")
}

/// An argument of a launch, evaluated before it rather than by each worker.
pub fn launch_argument(
    scope: &Scope<'_>,
    dialect: &dyn Dialect,
    position: usize,
    arg: &Expr,
    out: &mut Text,
) -> String {
    let text = expr(scope, dialect, arg).text;
    if is_simple(arg) {
        return text;
    }
    let name = format!("argument_{position}");
    out.line(format!("const {} {name} = {text};", name::ty(scope.program, arg.ty)));
    name
}

/// Whether evaluating it costs nothing.
pub fn is_simple(arg: &Expr) -> bool {
    matches!(arg.kind, ExprKind::Var(_) | ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_))
}

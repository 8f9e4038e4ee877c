//! Groups of lanes: `hidp/lanes.hpp` has types and functions for what differs from lane to lane.

use super::stmt::Printer;
use super::text::Text;
use super::value::Piece;
use super::{Dialect, Scope, expr, memory, name};
use hidp_ir::imp::{
    Again, Expr, ExprKind, Group, InTurn, Lanes, SetLanes, Taken, VarId, VarKind, Wide, WideCall, WideElement,
    WideIndex, WideKind, WideStmt,
};
use hidp_ir::par::{BinOp, FoldFn, MathFn, UnOp};
use hidp_syntax::ty::{Scalar, Ty};

/// `hidp::Wide<float, 32, 2>`
pub(crate) fn ty(elem: Scalar, lanes: Lanes) -> String {
    format!("hidp::Wide<{}, {}, {}>", name::scalar(elem), lanes.bits, lanes.groups)
}

pub(super) fn lane_count(lanes: Lanes) -> String {
    format!("{}::kLanes", ty(Scalar::Bool, lanes))
}

impl Printer<'_> {
    pub(super) fn group_of_lanes(&mut self, group: &Group, out: &mut Text) {
        let Group { lanes, first, here, lo, hi, is_whole, body, again } = group;
        let (first, here) = (self.scope.name(*first), self.scope.name(*here));
        let (lo, end) = (self.expr(lo), format!("{first}_end"));
        out.line(format!("const int64_t {end} = {};", self.expr(hi)));
        let step = lane_count(*lanes);
        out.open(format!("for (int64_t {first} = {lo}; {first} < {end}; {first} += {step}) {{"));
        let Lanes { bits, groups } = lanes;
        let mask = match is_whole {
            true => format!("wide_every<{bits}, {groups}>()"),
            false => format!("wide_first<{bits}, {groups}>({end} - {first})"),
        };
        out.line(format!("const auto {here} = hidp::{mask};"));
        match again.as_ref().filter(|again| self.scope.usage.is_left(again.label)) {
            Some(Again { label, body: once_more }) => {
                out.open("{");
                self.loop_body(body, None, out);
                out.line("continue;");
                out.close("}");
                out.directive(format!("leave_{label}:;"));
                self.once(once_more, out);
            }
            None => self.loop_body(body, None, out),
        }
        out.close("}");
    }

    /// Lanes one after the other, each with its own values.
    pub(super) fn in_turn(&mut self, turn: &InTurn, out: &mut Text) {
        let VarKind::Wide { lanes, .. } = self.scope.var(turn.mask).kind else { return };
        let (lane, mask) = (self.scope.name(turn.lane), self.scope.name(turn.mask));
        let Lanes { bits, groups } = lanes;
        out.open("{");
        out.line(format!("const hidp::Spilled<bool, {bits}, {groups}> {lane}_here({mask});"));
        for Taken { scalar, wide } in &turn.taken {
            let (all, wide) = (format!("{}_all", self.scope.name(*scalar)), self.scope.name(*wide));
            let elem = self.elem_of(*scalar);
            out.line(format!("const hidp::Spilled<{elem}, {bits}, {groups}> {all}({wide});"));
        }
        out.open(format!("for (int64_t {lane} = 0; {lane} < {}; ++{lane}) {{", lane_count(lanes)));
        out.line(format!("if (!{lane}_here.lane[{lane}]) continue;"));
        for Taken { scalar, .. } in &turn.taken {
            let (name, elem) = (self.scope.name(*scalar), self.elem_of(*scalar));
            out.line(format!(
                "[[maybe_unused]] const {elem} {name} = hidp::lane_value<{elem}>({name}_all.lane[{lane}]);"
            ));
        }
        self.loop_body(&turn.body, None, out);
        out.close("}");
        out.close("}");
    }

    fn elem_of(&self, var: VarId) -> String {
        name::ty(self.scope.program, self.scope.var(var).kind.element())
    }

    pub(super) fn wide_stmt(&mut self, stmt: &WideStmt, out: &mut Text) {
        let scope = &self.scope;
        let value = |wide: &Wide| wide_expr(scope, self.dialect, wide).text;
        match stmt {
            WideStmt::Let { var, init } => {
                let attribute = if scope.usage.is_read(*var) { "" } else { "[[maybe_unused]] " };
                let name = scope.name(*var);
                match scope.var(*var).kind {
                    VarKind::Wide { elem, lanes } => {
                        let is_constant = init.is_some() && !scope.usage.is_changed(*var);
                        // Masks may know more than their type says.
                        let ty = match is_constant {
                            true if elem == Scalar::Bool => "const auto".to_owned(),
                            true => format!("const {}", ty(elem, lanes)),
                            false => ty(elem, lanes),
                        };
                        let init = init.as_ref().map_or(String::new(), |init| format!(" = {}", value(init)));
                        out.line(format!("{attribute}{ty} {name}{init};"));
                    }
                    VarKind::WideTile { elem, len: Some(len), lanes } => {
                        out.line(format!("[[maybe_unused]] {} {name}[{}];", ty(elem, lanes), len.max(1)));
                    }
                    // The verifier knows none.
                    VarKind::WideTile { len: None, .. }
                    | VarKind::Value(_)
                    | VarKind::Divisor(_)
                    | VarKind::Buffer { .. }
                    | VarKind::HostCell { .. }
                    | VarKind::Tile { .. }
                    | VarKind::Shared { .. }
                    | VarKind::Registers { .. } => {}
                }
            }
            WideStmt::Here(_) | WideStmt::Anew(_) => {}
            WideStmt::Set { var, value: new, lanes: SetLanes::All | SetLanes::Here } => {
                out.line(format!("{} = {};", scope.name(*var), value(new)));
            }
            WideStmt::Set { var, value: new, lanes: SetLanes::Only(mask) } => {
                let (name, mask) = (scope.name(*var), scope.name(*mask));
                out.line(format!("{name} = hidp::wide_select({mask}, {}, {name});", value(new)));
            }
            WideStmt::Store { target, value: new } => {
                out.line(store(scope, self.dialect, target, new.ty, &value(new)));
            }
            WideStmt::Update { target, op, value: operand } => {
                out.line(update(scope, self.dialect, target, *op, operand.ty, &value(operand)));
            }
            WideStmt::AddUp { sum, mask, value } => {
                let [sum, mask, value] = [*sum, *mask, *value].map(|var| scope.name(var));
                out.line(format!("{sum} = {sum} + hidp::wide_sum({mask}, {value});"));
            }
        }
    }
}

/// Where the first lane's element is.
fn address(scope: &Scope<'_>, dialect: &dyn Dialect, element: &WideElement, first: &Expr) -> String {
    let base = scope.name(element.base);
    match first.kind {
        ExprKind::Int(0) => base,
        _ => format!("{base} + {}", expr::expr(scope, dialect, first).operand()),
    }
}

fn mask(scope: &Scope<'_>, element: &WideElement) -> String {
    element.mask.map_or(String::new(), |mask| scope.name(mask))
}

fn is_tile(scope: &Scope<'_>, element: &WideElement) -> bool {
    matches!(scope.var(element.base).kind, VarKind::WideTile { .. })
}

fn load(scope: &Scope<'_>, dialect: &dyn Dialect, element: &WideElement, ty: Scalar) -> Piece {
    let (base, mask) = (scope.name(element.base), mask(scope, element));
    let text = |node: &Expr| expr::expr(scope, dialect, node).text;
    if element.has_own_way() {
        let (elem, number) = (elem(scope, element), format!("e{}", field(scope, element)));
        let number = if element.relaxed {
            format!("hidp::load_relaxed((const {} *)&{number})", name::scalar(ty))
        } else {
            number
        };
        let access = format!("[](const {elem} &e) {{ return {number}; }}");
        return Piece::atom(by(scope, dialect, element, ("wide_load_every", "wide_gather"), ty, &access));
    }
    Piece::atom(match &element.index {
        WideIndex::Own(index) => format!("{base}[{}]", text(index)),
        WideIndex::Every { first, stride } => {
            let first = address(scope, dialect, element, first);
            match stride.kind {
                ExprKind::Int(1) => format!("hidp::wide_load({mask}, {first})"),
                _ => format!("hidp::wide_load_every({mask}, {first}, {})", text(stride)),
            }
        }
        WideIndex::Each(index) if is_tile(scope, element) => {
            format!("hidp::wide_own({mask}, {base}, {})", own_index(scope, dialect, index))
        }
        WideIndex::Each(index) => {
            let arguments = match narrow_index(index) {
                Some((same, narrow)) => {
                    format!("{}, {}", same.map_or("0".into(), text), wide_expr(scope, dialect, narrow).text)
                }
                None => wide_expr(scope, dialect, index).text,
            };
            format!("hidp::wide_gather({mask}, {base}, {arguments})")
        }
    })
}

/// The field that lanes access, if an element is a struct: `.a_0`.
fn field(scope: &Scope<'_>, element: &WideElement) -> String {
    name::path(scope.program, scope.var(element.base).kind.element(), &element.path)
}

/// The type of the elements of a buffer.
fn elem(scope: &Scope<'_>, element: &WideElement) -> String {
    name::ty(scope.program, scope.var(element.base).kind.element())
}

/// A call that accesses numbers in a way of their own: a function for even places, or one for those of each lane.
fn by(
    scope: &Scope<'_>,
    dialect: &dyn Dialect,
    element: &WideElement,
    (every, each): (&str, &str),
    ty: Scalar,
    access: &str,
) -> String {
    let (mask, ty) = (mask(scope, element), name::scalar(ty));
    match &element.index {
        WideIndex::Every { first, stride } => {
            let (first, stride) = (address(scope, dialect, element, first), expr::expr(scope, dialect, stride).text);
            format!("hidp::{every}<{ty}>({mask}, {first}, {stride}, {access})")
        }
        WideIndex::Each(index) => {
            let index = wide_expr(scope, dialect, index).text;
            format!("hidp::{each}<{ty}>({mask}, {}, {index}, {access})", scope.name(element.base))
        }
        // Arrays with an element for each lane hold numbers.
        WideIndex::Own(_) => String::new(),
    }
}

/// What indices have in common, if anything, and numbers that were made `long` to be indices, as these were: of such more are in a vector.
fn narrow_index(index: &Wide) -> Option<(Option<&Expr>, &Wide)> {
    let (same, each) = if let WideKind::Binary(BinOp::Add, same, each) = &index.kind
        && let WideKind::Splat(same) = &same.kind
    {
        (Some(&**same), &**each)
    } else {
        (None, index)
    };
    let WideKind::Cast(narrow) = &each.kind else { return None };
    narrow.ty.is_integer().then_some((same, &**narrow))
}

/// An index of an iteration's array, as it was before it was made `long` if nothing is added to it.
fn own_index(scope: &Scope<'_>, dialect: &dyn Dialect, index: &Wide) -> String {
    let index = match narrow_index(index) {
        Some((None, narrow)) => narrow,
        Some((Some(_), _)) | None => index,
    };
    wide_expr(scope, dialect, index).text
}

fn store(scope: &Scope<'_>, dialect: &dyn Dialect, target: &WideElement, ty: Scalar, value: &str) -> String {
    let (base, mask) = (scope.name(target.base), mask(scope, target));
    let text = |node: &Expr| expr::expr(scope, dialect, node).text;
    if target.has_own_way() {
        let (ty_name, number) = (name::scalar(ty), format!("e{}", field(scope, target)));
        let kept = match target.relaxed {
            true => format!("hidp::store_relaxed(({ty_name} *)&{number}, x);"),
            false => format!("{number} = x;"),
        };
        let access = format!("{value}, []({} &e, {ty_name} x) {{ {kept} }}", elem(scope, target));
        return by(scope, dialect, target, ("wide_store_every", "wide_scatter"), ty, &access) + ";";
    }
    match &target.index {
        WideIndex::Own(index) => {
            let element = format!("{base}[{}]", text(index));
            match target.mask {
                Some(_) => format!("{element} = hidp::wide_select({mask}, {value}, {element});"),
                None => format!("{element} = {value};"),
            }
        }
        WideIndex::Every { first, stride } => {
            let first = address(scope, dialect, target, first);
            match stride.kind {
                ExprKind::Int(1) => format!("hidp::wide_store({mask}, {first}, {value});"),
                _ => format!("hidp::wide_store_every({mask}, {first}, {}, {value});", text(stride)),
            }
        }
        WideIndex::Each(index) => {
            let (function, index) = match is_tile(scope, target) {
                true => ("wide_set_own", own_index(scope, dialect, index)),
                false => ("wide_scatter", wide_expr(scope, dialect, index).text),
            };
            format!("hidp::{function}({mask}, {base}, {index}, {value});")
        }
    }
}

/// An update of numbers by one lane after the other; by all together where they are one, and integers, for which the order changes nothing.
fn update(
    scope: &Scope<'_>,
    dialect: &dyn Dialect,
    target: &WideElement,
    op: FoldFn,
    ty: Scalar,
    value: &str,
) -> String {
    let (ty_name, number) = (name::scalar(ty), format!("e{}", field(scope, target)));
    let updated = match target.relaxed {
        true => format!("hidp::atomic_{}<{ty_name}>(({ty_name} *)&{number}, x);", memory::fold_name(op)),
        false => format!("{number} = {};", folded(op, &number)),
    };
    let access = format!("[]({} &e, {ty_name} x) {{ {updated} }}", elem(scope, target));
    if let WideIndex::Every { first, stride } = &target.index
        && stride.kind == ExprKind::Int(0)
        && ty.is_integer()
    {
        let (mask, first) = (mask(scope, target), address(scope, dialect, target, first));
        let both = format!("[]({ty_name} a, {ty_name} x) {{ return {ty_name}({}); }}", folded(op, "a"));
        return format!("hidp::wide_update_one({mask}, {first}, {value}, {both}, {access});");
    }
    by(scope, dialect, target, ("wide_store_every", "wide_scatter"), ty, &format!("{value}, {access}")) + ";"
}

/// What an operator makes of a number and `x`.
fn folded(op: FoldFn, number: &str) -> String {
    match op {
        FoldFn::Add => format!("{number} + x"),
        FoldFn::Mul => format!("{number} * x"),
        FoldFn::And => format!("{number} & x"),
        FoldFn::Or => format!("{number} | x"),
        FoldFn::Xor => format!("{number} ^ x"),
        FoldFn::Min | FoldFn::Max | FoldFn::Fn(_) => format!("hidp::{}({number}, x)", memory::fold_name(op)),
    }
}

/// A wide value.
fn wide_expr(scope: &Scope<'_>, dialect: &dyn Dialect, wide: &Wide) -> Piece {
    let sub = |operand: &Wide| wide_expr(scope, dialect, operand);
    let Lanes { bits, groups } = wide.lanes;
    let list = |args: &[&Wide]| args.iter().map(|arg| sub(arg).text).collect::<Vec<_>>().join(", ");
    match &wide.kind {
        WideKind::Splat(of) => {
            let (ty, value) = (name::scalar(wide.ty), expr::expr(scope, dialect, of).text);
            Piece::atom(format!("hidp::wide_splat<{bits}, {groups}, {ty}>({value})"))
        }
        WideKind::Iota(first) => {
            Piece::atom(format!("hidp::wide_iota<{bits}, {groups}>({})", expr::expr(scope, dialect, first).text))
        }
        WideKind::Var(var) => Piece::atom(scope.name(*var)),
        WideKind::Load(element) => load(scope, dialect, element, wide.ty),
        WideKind::Unary(op, a) => {
            let sign = match op {
                UnOp::Neg => "-",
                UnOp::Not => "!",
                UnOp::BitNot => "~",
            };
            Piece::compound(format!("{sign}{}", sub(a).operand()))
        }
        WideKind::Binary(op, a, b) => match operator(*op) {
            Operator::Infix(sign) => Piece::compound(format!("{} {sign} {}", sub(a).operand(), sub(b).operand())),
            Operator::Function(function) => Piece::atom(match (constant_divisor(*op, b), same_divisor(*op, b)) {
                (Some(by), _) => format!("hidp::{function}_by<{by}>({})", sub(a).text),
                (None, Some(by)) => {
                    let ty = name::scalar(b.ty);
                    format!("hidp::{function}_same({}, {ty}({}))", sub(a).text, expr::expr(scope, dialect, by).text)
                }
                (None, None) => format!("hidp::{function}({})", list(&[a, b])),
            }),
        },
        WideKind::MulAdd(a, b, c) => Piece::atom(format!("hidp::wide_mul_add({})", list(&[a, b, c]))),
        WideKind::Select(c, a, b) => Piece::atom(format!("hidp::wide_select({})", list(&[c, a, b]))),
        WideKind::Cast(a) => Piece::atom(format!("hidp::wide_cast<{}>({})", name::scalar(wide.ty), sub(a).text)),
        WideKind::Math(function, args) => math(*function, wide.ty, args, &list(&args.iter().collect::<Vec<_>>())),
        WideKind::Call(call) => {
            let called = called_in_each(scope, call);
            let operands = list(&call.args.iter().collect::<Vec<_>>());
            let result = name::scalar(wide.ty);
            Piece::atom(format!("hidp::wide_call<{result}>({called}, {}, {operands})", scope.name(call.mask)))
        }
    }
}

enum Operator {
    Infix(&'static str),
    Function(&'static str),
}

fn operator(op: BinOp) -> Operator {
    match op {
        BinOp::Add => Operator::Infix("+"),
        BinOp::Sub => Operator::Infix("-"),
        BinOp::Mul => Operator::Infix("*"),
        BinOp::Div => Operator::Function("wide_div"),
        BinOp::Rem => Operator::Function("wide_rem"),
        BinOp::And => Operator::Infix("&"),
        BinOp::Or => Operator::Infix("|"),
        BinOp::Xor => Operator::Infix("^"),
        BinOp::Shl => Operator::Function("wide_shl"),
        BinOp::Shr => Operator::Function("wide_shr"),
        BinOp::Lt => Operator::Infix("<"),
        BinOp::Le => Operator::Infix("<="),
        BinOp::Gt => Operator::Infix(">"),
        BinOp::Ge => Operator::Infix(">="),
        BinOp::Eq => Operator::Infix("=="),
        BinOp::Ne => Operator::Infix("!="),
    }
}

/// The positive integer that all lanes divide by.
fn constant_divisor(op: BinOp, by: &Wide) -> Option<i64> {
    let WideKind::Splat(value) = &by.kind else { return None };
    let ExprKind::Int(value) = &value.kind else { return None };
    let divides = matches!(op, BinOp::Div | BinOp::Rem) && by.ty.is_integer();
    i64::try_from(*value).ok().filter(|value| divides && *value > 0)
}

/// The integer that all lanes divide by.
fn same_divisor(op: BinOp, by: &Wide) -> Option<&Expr> {
    let WideKind::Splat(value) = &by.kind else { return None };
    (matches!(op, BinOp::Div | BinOp::Rem) && by.ty.is_integer()).then_some(&**value)
}

/// A lambda that calls a maths function with one lane's operands, and is inlined as `wide_apply` wants it.
fn in_each(function: &str, args: &[Wide]) -> String {
    let names: Vec<String> = (0..args.len()).map(|at| format!("x{at}")).collect();
    lambda(args, " HIDP_INLINED", &format!("{function}({})", names.join(", ")))
}

/// The same of a function of the program, whose operands may be structs.
fn called_in_each(scope: &Scope<'_>, call: &WideCall) -> String {
    let function = &scope.program.scalar_fns[call.function];
    let mut names = (0..call.args.len()).map(|at| format!("x{at}"));
    let operands = function.params.iter().map(|param| put_together(scope, function.vars[*param].ty, &mut names));
    let operands: Vec<String> = operands.collect();
    let number = name::path(scope.program, function.result, &call.path);
    let callee = name::scalar_fn(scope.program, call.function);
    lambda(&call.args, "", &format!("{callee}({}){number}", operands.join(", ")))
}

/// A value, made of its numbers.
fn put_together(scope: &Scope<'_>, ty: Ty, numbers: &mut impl Iterator<Item = String>) -> String {
    match ty {
        Ty::Scalar(_) => numbers.next().unwrap_or_default(),
        Ty::Struct(id) => {
            let fields = &scope.program.structs[id].fields;
            let fields: Vec<String> = fields.iter().map(|(_, ty)| put_together(scope, *ty, numbers)).collect();
            format!("{}{{{}}}", name::structure(scope.program, id), fields.join(", "))
        }
    }
}

fn lambda(args: &[Wide], attribute: &str, result: &str) -> String {
    let params: Vec<String> =
        args.iter().enumerate().map(|(at, arg)| format!("{} x{at}", name::scalar(arg.ty))).collect();
    format!("[]({}){attribute} {{ return {result}; }}", params.join(", "))
}

fn math(function: MathFn, result: Scalar, args: &[Wide], list: &str) -> Piece {
    Piece::atom(match function {
        MathFn::Min => format!("hidp::wide_min({list})"),
        MathFn::Max => format!("hidp::wide_max({list})"),
        MathFn::Abs => format!("hidp::wide_abs({list})"),
        MathFn::Sqrt => format!("hidp::wide_sqrt({list})"),
        MathFn::Fma
        | MathFn::Cbrt
        | MathFn::Hypot
        | MathFn::Exp
        | MathFn::Exp2
        | MathFn::Expm1
        | MathFn::Log
        | MathFn::Log2
        | MathFn::Log10
        | MathFn::Log1p
        | MathFn::Pow
        | MathFn::Sin
        | MathFn::Cos
        | MathFn::Tan
        | MathFn::Asin
        | MathFn::Acos
        | MathFn::Atan
        | MathFn::Atan2
        | MathFn::Sinh
        | MathFn::Cosh
        | MathFn::Tanh
        | MathFn::Asinh
        | MathFn::Acosh
        | MathFn::Atanh
        | MathFn::Floor
        | MathFn::Ceil
        | MathFn::Trunc
        | MathFn::Round
        | MathFn::Rint
        | MathFn::Fmod
        | MathFn::Copysign
        | MathFn::Erf
        | MathFn::Erfc
        | MathFn::Tgamma
        | MathFn::Lgamma
        | MathFn::Isnan
        | MathFn::Isinf
        | MathFn::Isfinite => {
            let called = in_each(&format!("hidp::{}", function.name()), args);
            format!("hidp::wide_apply<{}>({called}, {list})", name::scalar(result))
        }
    })
}

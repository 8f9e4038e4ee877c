//! Operators on printed operands: what both kinds of expressions, those of `imp` and those of scalar functions, come down to.

use super::name;
use hidp_ir::par::{BinOp, MathFn, UnOp};
use hidp_syntax::ty::{Scalar, Ty};

/// A printed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The code.
    pub text: String,
    atom: bool,
    start: Start,
}

/// What the code of a piece begins with, parentheses aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// An element of an array, `z[i]`.
    Element,
    /// One that is converted: `int64_t(z[i])`, as the parameter of a function is declared.
    Converted,
    Other,
}

impl Piece {
    /// One that binds tighter than any operator: a name, a call, a literal.
    pub fn atom(text: impl Into<String>) -> Self {
        Self { text: text.into(), atom: true, start: Start::Other }
    }
    /// Any other.
    pub fn compound(text: impl Into<String>) -> Self {
        Self { text: text.into(), atom: false, start: Start::Other }
    }
    /// An element of an array.
    pub fn element(text: impl Into<String>) -> Self {
        Self { text: text.into(), atom: true, start: Start::Element }
    }
    /// Operands with something between them; `first` is the one that the code begins with.
    fn joined(first: Piece, rest: &str) -> Self {
        let start = first.start;
        Self { text: first.operand() + rest, atom: false, start }
    }
    /// Whether it needs no parentheses as an operand.
    pub fn is_atom(&self) -> bool {
        self.atom
    }
    /// The code as an operand.
    pub fn operand(self) -> String {
        if self.atom { self.text } else { format!("({})", self.text) }
    }
}

/// `f(a, b)`
pub fn call(function: impl AsRef<str>, args: impl IntoIterator<Item = String>) -> Piece {
    let args: Vec<String> = args.into_iter().collect();
    Piece::atom(format!("{}({})", function.as_ref(), args.join(", ")))
}

/// `T(a)`. Where `a` begins with a converted element, `static_cast`: in parentheses GCC takes `(float(int64_t(z[i])) - b)` for a type, that
/// of a function which takes an array, and refuses it.
fn conversion(to: Scalar, a: Piece) -> Piece {
    let name = name::scalar(to);
    match a.start {
        Start::Other => call(name, [a.text]),
        Start::Element => Piece { start: Start::Converted, ..call(name, [a.text]) },
        Start::Converted => call(format!("static_cast<{name}>"), [a.text]),
    }
}

fn is_narrow(scalar: Scalar) -> bool {
    scalar.size() < 4
}

/// A prefix operator on a value of type `ty`.
pub fn unary(op: UnOp, ty: Ty, a: Piece) -> Piece {
    let narrow = ty.scalar().is_some_and(is_narrow);
    match op {
        UnOp::Not => Piece::compound(format!("!{}", a.operand())),
        UnOp::Neg if narrow => call("hidp::neg", [a.text]),
        UnOp::Neg => Piece::compound(format!("-{}", a.operand())),
        UnOp::BitNot if narrow => call("hidp::bit_not", [a.text]),
        UnOp::BitNot => Piece::compound(format!("~{}", a.operand())),
    }
}

const fn symbol(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Rem => "%",
        BinOp::And => "&",
        BinOp::Or => "|",
        BinOp::Xor => "^",
        BinOp::Shl => "<<",
        BinOp::Shr => ">>",
        BinOp::Lt => "<",
        BinOp::Le => "<=",
        BinOp::Gt => ">",
        BinOp::Ge => ">=",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
    }
}

fn infix(op: BinOp, a: Piece, b: Piece) -> Piece {
    Piece::joined(a, &format!(" {} {}", symbol(op), b.operand()))
}

/// A function of `hidp::` on two operands of type `ty`.
fn helper(function: &str, ty: Scalar, a: Piece, b: Piece) -> Piece {
    call(format!("hidp::{function}<{}>", name::scalar(ty)), [a.text, b.text])
}

/// The name of the function behind an operator that is not always C++'s own.
const fn function(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "add",
        BinOp::Sub => "sub",
        BinOp::Mul => "mul",
        BinOp::Div => "div",
        BinOp::Rem => "rem",
        BinOp::Shl => "shl",
        BinOp::Shr => "shr",
        BinOp::And | BinOp::Or | BinOp::Xor => "bits",
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => "compare",
    }
}

/// An infix operator on values of type `ty` (the left one's type for shifts).
pub fn binary(op: BinOp, ty: Ty, a: Piece, b: Piece) -> Piece {
    let Some(scalar) = ty.scalar() else { return infix(op, a, b) };
    match op {
        BinOp::Add | BinOp::Sub | BinOp::Mul if is_narrow(scalar) => helper(function(op), scalar, a, b),
        BinOp::Add | BinOp::Sub | BinOp::Mul => infix(op, a, b),
        BinOp::Div if scalar.is_float() => infix(op, a, b),
        BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr => helper(function(op), scalar, a, b),
        BinOp::And | BinOp::Or | BinOp::Xor if is_narrow(scalar) => conversion(scalar, infix(op, a, b)),
        BinOp::And | BinOp::Or | BinOp::Xor => infix(op, a, b),
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => infix(op, a, b),
    }
}

/// `/`, `%` or a shift that raises `site` of a trap where it has no result.
pub fn checked_binary(op: BinOp, ty: Ty, trap: &str, site: usize, a: Piece, b: Piece) -> Piece {
    let Some(scalar) = ty.scalar() else { return infix(op, a, b) };
    let function = format!("hidp::checked_{}<{}>", function(op), name::scalar(scalar));
    call(function, [trap.to_owned(), site.to_string(), a.text, b.text])
}

/// An integer conversion that raises `site` of a trap where the value does not fit.
pub fn checked_cast(to: Ty, trap: &str, site: usize, a: Piece) -> Piece {
    let Some(scalar) = to.scalar() else { return a };
    call(format!("hidp::checked_cast<{}>", name::scalar(scalar)), [trap.to_owned(), site.to_string(), a.text])
}

/// `&&` or `||`
pub fn lazy(and: bool, a: Piece, b: Piece) -> Piece {
    Piece::joined(a, &format!(" {} {}", if and { "&&" } else { "||" }, b.operand()))
}

/// `c ? a : b` of values that cost nothing.
pub fn select_ready(ty: Ty, c: Piece, a: Piece, b: Piece) -> Piece {
    match ty.scalar() {
        Some(scalar) if scalar.is_integer() && is_narrow(scalar) => {
            call(format!("hidp::select<{}>", name::scalar(scalar)), [c.text, a.text, b.text])
        }
        Some(_) | None => select(c, a, b),
    }
}

/// `c ? a : b`
pub fn select(c: Piece, a: Piece, b: Piece) -> Piece {
    Piece::joined(c, &format!(" ? {} : {}", a.operand(), b.operand()))
}

/// Rust's `as`.
pub fn cast(from: Ty, to: Ty, a: Piece) -> Piece {
    let (Some(from), Some(to)) = (from.scalar(), to.scalar()) else { return a };
    if from == to {
        return a;
    }
    if to == Scalar::Bool || (from.is_float() && to.is_integer()) {
        call(format!("hidp::cast<{}>", name::scalar(to)), [a.text])
    } else {
        conversion(to, a)
    }
}

/// `a * b + c`
pub fn mul_add(ty: Ty, a: Piece, b: Piece, c: Piece) -> Piece {
    let args = [a.text, b.text, c.text];
    match ty.scalar() {
        Some(scalar) => call(format!("hidp::mul_add<{}>", name::scalar(scalar)), args),
        None => call("hidp::mul_add", args),
    }
}

/// A maths function on operands of type `ty`.
pub fn math(function: MathFn, ty: Ty, args: Vec<Piece>) -> Piece {
    let args = args.into_iter().map(|arg| arg.text);
    match (function, ty.scalar()) {
        (MathFn::Min | MathFn::Max | MathFn::Abs, Some(scalar)) => {
            call(format!("hidp::{}<{}>", function.name(), name::scalar(scalar)), args)
        }
        _ => call(format!("hidp::{}", function.name()), args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atom(text: &str) -> Piece {
        Piece::atom(text)
    }

    #[test]
    fn operands_are_grouped_as_the_tree_is() {
        let ty = Ty::from(Scalar::F32);
        let sum = binary(BinOp::Add, ty, atom("a"), atom("b"));
        assert_eq!(binary(BinOp::Mul, ty, sum.clone(), atom("c")).text, "(a + b) * c");
        assert_eq!(unary(UnOp::Neg, ty, unary(UnOp::Neg, ty, atom("a"))).text, "-(-a)");
        assert_eq!(select(sum, atom("x"), atom("y")).text, "(a + b) ? x : y");
    }

    #[test]
    fn narrow_integers_do_not_promote() {
        let ty = Ty::from(Scalar::I8);
        assert_eq!(binary(BinOp::Add, ty, atom("a"), atom("b")).text, "hidp::add<int8_t>(a, b)");
        assert_eq!(binary(BinOp::Xor, Ty::BOOL, atom("a"), atom("b")).text, "bool(a ^ b)");
        assert_eq!(binary(BinOp::Lt, ty, atom("a"), atom("b")).text, "a < b");
    }

    #[test]
    fn only_conversions_that_need_it_call_the_run_time() {
        assert_eq!(cast(Scalar::F32.into(), Scalar::I32.into(), atom("a")).text, "hidp::cast<int32_t>(a)");
        assert_eq!(cast(Scalar::I32.into(), Scalar::U8.into(), atom("a")).text, "uint8_t(a)");
        assert_eq!(cast(Scalar::I32.into(), Scalar::I32.into(), atom("a")).text, "a");
        assert_eq!(cast(Scalar::F64.into(), Ty::BOOL, atom("a")).text, "hidp::cast<bool>(a)");
    }

    #[test]
    fn conversions_of_conversions_are_no_types() {
        let long = || cast(Scalar::I8.into(), Ty::LONG, Piece::element("z[i]"));
        let float = |a: Piece| cast(Ty::LONG, Scalar::F32.into(), a).text;
        assert_eq!(float(long()), "static_cast<float>(int64_t(z[i]))");
        let sum = binary(BinOp::Add, Ty::LONG, long(), atom("1L"));
        assert_eq!(float(sum.clone()), "static_cast<float>(int64_t(z[i]) + 1L)");
        let chosen = select(binary(BinOp::Lt, Ty::LONG, sum, atom("n")), atom("a"), atom("b"));
        assert_eq!(float(chosen), "static_cast<float>(((int64_t(z[i]) + 1L) < n) ? a : b)");
        assert_eq!(float(binary(BinOp::Add, Ty::LONG, atom("n"), long())), "float(n + int64_t(z[i]))");
        assert_eq!(float(cast(Scalar::I8.into(), Ty::LONG, atom("n"))), "float(int64_t(n))");
    }
}

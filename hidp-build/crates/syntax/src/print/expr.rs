//! Expressions.

use super::Printer;
use crate::ast::{Arg, BinaryOp, Call, Expr, ExprKind, Ident, Literal, PieceWay, Range, Subscript, UnaryOp};
use crate::parser::operators::precedence;

/// How tightly the outermost operator of an expression binds: `? :`, then the infix operators, prefix operators, and what
/// needs no parentheses anywhere.
const SELECT: u8 = 0;
const PREFIX: u8 = 20;
const ATOM: u8 = 30;

impl Printer {
    pub(super) fn expr(&mut self, expr: &Expr) {
        self.expr_at_least(expr, SELECT);
    }

    /// In parentheses if it binds less tightly than its place demands.
    fn expr_at_least(&mut self, expr: &Expr, tightness: u8) {
        if binding(&expr.kind) >= tightness {
            return self.bare_expr(&expr.kind);
        }
        self.push("(");
        self.bare_expr(&expr.kind);
        self.push(")");
    }

    fn bare_expr(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Name(name) => self.push(name),
            ExprKind::Index { base, subscripts } => {
                self.base(base);
                subscripts.iter().for_each(|subscript| self.subscript(subscript));
            }
            ExprKind::Field { base, field } => {
                let number = matches!(base.kind, ExprKind::Literal(_));
                self.expr_at_least(base, if number { u8::MAX } else { ATOM });
                self.push(&format!(".{}", field.name));
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand),
            ExprKind::Binary { op, left, right, .. } => {
                self.expr_at_least(left, precedence(*op));
                self.push(&format!(" {} ", operator(*op)));
                self.expr_at_least(right, precedence(*op) + 1);
            }
            ExprKind::Select { condition, then, otherwise } => {
                self.expr_at_least(condition, SELECT + 1);
                self.push(" ? ");
                self.expr(then);
                self.push(" : ");
                self.expr(otherwise);
            }
            ExprKind::Cast { ty, operand, call_style: true } => {
                self.push(&format!("{}(", ty.name));
                self.expr(operand);
                self.push(")");
            }
            ExprKind::Cast { ty, operand, call_style: false } => {
                self.push(&format!("({})", ty.name));
                self.expr_at_least(operand, PREFIX);
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Limit { max, ty } => {
                self.push(&format!("{}({})", if *max { "max_of" } else { "min_of" }, ty.name));
            }
            ExprKind::Struct { ty, fields } => self.struct_value(&ty.name, fields),
            ExprKind::Error => self.push("<error>"),
        }
    }

    /// An indexed value is indexed again only in parentheses: `a[i][j]` is one node.
    fn base(&mut self, base: &Expr) {
        let indexed = matches!(base.kind, ExprKind::Index { .. });
        self.expr_at_least(base, if indexed { u8::MAX } else { ATOM });
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        self.push(match op {
            UnaryOp::Neg => "-",
            UnaryOp::Plus => "+",
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
        });
        // Two signs in a row would be `--` or `++`.
        let signs = |op: UnaryOp| matches!(op, UnaryOp::Neg | UnaryOp::Plus);
        let sign_below = matches!(operand.kind, ExprKind::Unary { op: below, .. } if signs(below));
        self.expr_at_least(operand, if signs(op) && sign_below { u8::MAX } else { PREFIX });
    }

    fn struct_value(&mut self, ty: &str, fields: &[(Ident, Expr)]) {
        self.push(&format!("{ty}{{"));
        self.separated(fields, ", ", |printer, (field, value)| {
            printer.push(&format!("{}: ", field.name));
            printer.expr(value);
        });
        self.push("}");
    }

    pub(super) fn call(&mut self, call: &Call) {
        self.push(&format!("{}(", call.callee.name));
        self.separated(&call.args, ", ", Self::arg);
        if !call.binds.is_empty() {
            self.push("; ");
            self.separated(&call.binds, ", ", |printer, bind| {
                printer.push(&format!("{} = ", bind.name.name));
                printer.expr(&bind.value);
            });
        }
        self.push(")");
    }

    fn arg(&mut self, arg: &Arg) {
        match arg {
            Arg::Expr(expr) => self.expr(expr),
            Arg::Operator { name, .. } => self.push(&format!("\"{name}\"")),
            Arg::WithNeutral { op, neutral } => {
                let is_name = op.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
                self.push(&if is_name { format!("{}: ", op.name) } else { format!("\"{}\": ", op.name) });
                self.expr(neutral);
            }
            Arg::Over { iter, .. } => self.push(&format!("{} := [*]", iter.name)),
        }
    }

    pub(super) fn dims(&mut self, dims: &[Expr]) {
        for dim in dims {
            self.push("[");
            self.expr(dim);
            self.push("]");
        }
    }

    pub(super) fn subscript(&mut self, subscript: &Subscript) {
        match subscript {
            Subscript::At(index) => {
                self.push("[");
                self.expr(index);
                self.push("]");
            }
            Subscript::Range(range) => self.range(range),
            Subscript::All(_) => self.push("[*]"),
            Subscript::Piece(piece) => {
                let word = if piece.by { "by" } else { "of" };
                self.push(&format!(
                    "[{} {} {word} ",
                    piece.way.map_or(PieceWay::OPEN, PieceWay::name),
                    piece.iter.name
                ));
                self.expr(&piece.length);
                self.push("]");
            }
        }
    }

    pub(super) fn range(&mut self, range: &Range) {
        self.push(if range.low_inclusive { "[" } else { "(" });
        self.expr(&range.low);
        self.push(":");
        self.expr(&range.high);
        if let Some(step) = &range.step {
            self.push(":");
            self.expr(step);
        }
        self.push(if range.high_inclusive { "]" } else { ")" });
    }

    fn literal(&mut self, literal: &Literal) {
        let text = match literal {
            Literal::Int { value, unsigned, long } => {
                let (u, l) = (if *unsigned { "u" } else { "" }, if *long { "l" } else { "" });
                format!("{value}{u}{l}")
            }
            Literal::Float { text, single } => format!("{text}{}", if *single { "f" } else { "" }),
            Literal::Char(value) => character(*value),
            Literal::Bool(value) => value.to_string(),
            Literal::Infinity => "INFINITY".to_string(),
            Literal::Nan => "NAN".to_string(),
        };
        self.push(&text);
    }
}

fn character(value: u8) -> String {
    match value {
        b'\'' => "'\\''".to_string(),
        b'\\' => "'\\\\'".to_string(),
        b' '..=b'~' => format!("'{}'", char::from(value)),
        _ => format!("'\\x{value:02x}'"),
    }
}

const fn binding(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Select { .. } => SELECT,
        ExprKind::Binary { op, .. } => precedence(*op),
        ExprKind::Unary { .. } | ExprKind::Cast { call_style: false, .. } => PREFIX,
        ExprKind::Literal(_)
        | ExprKind::Name(_)
        | ExprKind::Index { .. }
        | ExprKind::Field { .. }
        | ExprKind::Cast { call_style: true, .. }
        | ExprKind::Call(_)
        | ExprKind::Limit { .. }
        | ExprKind::Struct { .. }
        | ExprKind::Error => ATOM,
    }
}

/// An operator as written.
pub(super) const fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
    }
}

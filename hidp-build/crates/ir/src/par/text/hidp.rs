//! Expressions as HiDP writes them, for people.

use super::super::{BinOp, Const, ConvertMode, Expr, ExprKind, FoldFn, Place, Program, UnOp, Var, VarId};
use super::Word;
use hidp_syntax::index::Arena;
use hidp_syntax::ty::{Scalar, Ty};

/// An expression over `vars` in HiDP's syntax. Conversions that the language makes by itself are left out.
pub fn hidp_expr(program: &Program, vars: &Arena<VarId, Var>, expr: &Expr) -> String {
    Hidp { program, vars }.at(expr, 0)
}

/// The operator of a fold as the user wrote it: `"+"` or the name of a function.
pub fn hidp_operator(program: &Program, func: FoldFn) -> String {
    match func {
        FoldFn::Fn(id) => program.scalar_fns[id].name.clone(),
        FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => {
            let word = super::OPERATORS.iter().find(|(known, _)| *known == func).map_or("", |(_, word)| word);
            format!("\"{word}\"")
        }
    }
}

/// How tightly operators bind, as in C.
fn binding(op: BinOp) -> u8 {
    match op {
        BinOp::Or => 3,
        BinOp::Xor => 4,
        BinOp::And => 5,
        BinOp::Eq | BinOp::Ne => 6,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => 7,
        BinOp::Shl | BinOp::Shr => 8,
        BinOp::Add | BinOp::Sub => 9,
        BinOp::Mul | BinOp::Div | BinOp::Rem => 10,
    }
}

const SELECT: u8 = 0;
const LAZY_OR: u8 = 1;
const LAZY_AND: u8 = 2;
const PREFIX: u8 = 11;
const POSTFIX: u8 = 12;

struct Hidp<'a> {
    program: &'a Program,
    vars: &'a Arena<VarId, Var>,
}

impl Hidp<'_> {
    fn name(&self, var: VarId) -> &str {
        self.vars.get(var).map_or("?", |var| &var.name)
    }

    /// The text, in parentheses if it binds less tightly than `least`.
    fn at(&self, expr: &Expr, least: u8) -> String {
        let (text, binds) = self.text(expr);
        if binds < least { format!("({text})") } else { text }
    }

    fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|expr| self.at(expr, 0)).collect::<Vec<_>>().join(", ")
    }

    fn text(&self, expr: &Expr) -> (String, u8) {
        match &expr.kind {
            ExprKind::Const(value) => constant(*value, expr.ty),
            ExprKind::Read(var) => (self.name(*var).into(), POSTFIX),
            ExprKind::Load(place) => (self.place(place), POSTFIX),
            ExprKind::Unary(op, operand) => {
                let sign = match op {
                    UnOp::Neg => "-",
                    UnOp::Not => "!",
                    UnOp::BitNot => "~",
                };
                (format!("{sign}{}", self.at(operand, POSTFIX)), PREFIX)
            }
            ExprKind::Binary { op, left, right, checked: _ } => {
                let binds = binding(*op);
                (format!("{} {} {}", self.at(left, binds), op.word(), self.at(right, binds + 1)), binds)
            }
            ExprKind::Lazy { and, left, right } => {
                let (sign, binds) = if *and { ("&&", LAZY_AND) } else { ("||", LAZY_OR) };
                (format!("{} {sign} {}", self.at(left, binds), self.at(right, binds + 1)), binds)
            }
            ExprKind::Select { cond, then, otherwise } => {
                let (cond, then, otherwise) =
                    (self.at(cond, LAZY_OR), self.at(then, SELECT), self.at(otherwise, SELECT));
                (format!("{cond} ? {then} : {otherwise}"), SELECT)
            }
            ExprKind::Convert { operand, mode } => match (mode, operand.ty, expr.ty) {
                (ConvertMode::Checked, _, _) => self.text(operand),
                (ConvertMode::Cast, Ty::Scalar(from), Ty::Scalar(to)) if from.converts_to(to) => self.text(operand),
                (ConvertMode::Cast, _, to) => (format!("{}({})", self.ty(to), self.at(operand, 0)), POSTFIX),
            },
            ExprKind::Math(function, operands) => (format!("{}({})", function.name(), self.list(operands)), POSTFIX),
            ExprKind::Call(callee, args) => {
                (format!("{}({})", self.program.scalar_fns[*callee].name, self.list(args)), POSTFIX)
            }
            ExprKind::Field(operand, field) => {
                (format!("{}{}", self.at(operand, POSTFIX), self.fields(operand.ty, &[*field])), POSTFIX)
            }
            ExprKind::Struct(id, values) => {
                let strukt = &self.program.structs[*id];
                let fields = strukt.fields.iter().zip(values);
                let fields: Vec<String> =
                    fields.map(|((name, _), value)| format!("{name}: {}", self.at(value, 0))).collect();
                (format!("{}{{{}}}", strukt.name, fields.join(", ")), POSTFIX)
            }
        }
    }

    fn ty(&self, ty: Ty) -> String {
        match ty {
            Ty::Scalar(scalar) => scalar.to_string(),
            Ty::Struct(id) => self.program.structs[id].name.clone(),
        }
    }

    fn place(&self, place: &Place) -> String {
        let index: String = place.index.iter().map(|index| format!("[{}]", self.at(index, 0))).collect();
        let ty = self.vars.get(place.array).map(|var| var.ty);
        let fields = ty.map_or_else(String::new, |ty| self.fields(ty, &place.path));
        format!("{}{index}{fields}", self.name(place.array))
    }

    /// `.field.field`
    fn fields(&self, mut ty: Ty, path: &[u32]) -> String {
        let mut text = String::new();
        for field in path {
            let known = match ty {
                Ty::Struct(id) => self.program.structs[id].fields.get(*field as usize),
                Ty::Scalar(_) => None,
            };
            let Some((name, field_ty)) = known else { return text };
            text = format!("{text}.{name}");
            ty = *field_ty;
        }
        text
    }
}

fn constant(value: Const, ty: Ty) -> (String, u8) {
    let text = match value {
        Const::Bool(value) => value.to_string(),
        Const::Int(value) => value.to_string(),
        Const::Float(value) if value.is_nan() => "NAN".into(),
        Const::Float(value) if value.is_infinite() => if value > 0.0 { "INFINITY" } else { "-INFINITY" }.into(),
        Const::Float(value) => match ty {
            Ty::Scalar(Scalar::F32) => format!("{:?}", value as f32),
            Ty::Scalar(_) | Ty::Struct(_) => format!("{value:?}"),
        },
    };
    let binds = if text.starts_with('-') { PREFIX } else { POSTFIX };
    (text, binds)
}

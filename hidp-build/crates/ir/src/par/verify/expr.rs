//! Expressions, places and sections.

use super::super::{BinOp, Const, ConvertMode, Expr, ExprKind, MathFn, Place, ScalarFnId, Section, SectionDim, UnOp};
use super::{Check, Rule};
use hidp_syntax::ast::PieceWay;
use hidp_syntax::index::Id;
use hidp_syntax::ty::{Scalar, StructId, Ty};

impl Check<'_> {
    /// A `long`.
    pub(super) fn long(&mut self, what: &str, expr: &Expr) {
        self.typed(what, expr, Ty::LONG);
    }

    /// An expression of a given type.
    pub(super) fn typed(&mut self, what: &str, expr: &Expr, ty: Ty) {
        self.expr(expr);
        self.same_ty(what, expr.ty, ty);
    }

    /// Any expression.
    pub(super) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Const(value) => self.constant(*value, expr.ty),
            ExprKind::Read(var) => {
                if let Some(known) = self.use_var(*var) {
                    self.require(!known.is_array(), Rule::Ranks, || format!("array {var:?} stands as a value"));
                    self.same_ty("a read", expr.ty, known.ty);
                }
            }
            ExprKind::Load(place) => {
                if let Some(ty) = self.place(place) {
                    self.same_ty("a load", expr.ty, ty);
                }
            }
            ExprKind::Unary(op, operand) => self.unary(*op, operand, expr.ty),
            ExprKind::Binary { op, left, right, checked } => self.binary(*op, left, right, *checked, expr.ty),
            ExprKind::Lazy { and: _, left, right } => {
                self.typed("an operand of `&&` or `||`", left, Ty::BOOL);
                self.typed("an operand of `&&` or `||`", right, Ty::BOOL);
                self.same_ty("`&&` or `||`", expr.ty, Ty::BOOL);
            }
            ExprKind::Select { cond, then, otherwise } => {
                self.typed("a condition", cond, Ty::BOOL);
                self.typed("a branch of `?:`", then, expr.ty);
                self.typed("a branch of `?:`", otherwise, expr.ty);
            }
            ExprKind::Convert { operand, mode } => self.convert(operand, *mode, expr.ty),
            ExprKind::Math(function, operands) => self.math(*function, operands, expr.ty),
            ExprKind::Call(callee, args) => self.scalar_call(*callee, args, expr.ty),
            ExprKind::Field(operand, field) => {
                self.expr(operand);
                if let Some(ty) = self.field_ty(operand.ty, &[*field]) {
                    self.same_ty("a field", expr.ty, ty);
                }
            }
            ExprKind::Struct(strukt, fields) => self.struct_value(*strukt, fields, expr.ty),
        }
    }

    fn constant(&mut self, value: Const, ty: Ty) {
        let fits = match (value, ty) {
            (Const::Bool(_), Ty::Scalar(Scalar::Bool)) => true,
            (Const::Int(value), Ty::Scalar(scalar)) => {
                scalar.is_integer() && scalar.integer_range().is_some_and(|(low, high)| low <= value && value <= high)
            }
            (Const::Float(_), Ty::Scalar(Scalar::F64)) => true,
            (Const::Float(value), Ty::Scalar(Scalar::F32)) => value.is_nan() || f64::from(value as f32) == value,
            (Const::Bool(_) | Const::Float(_), Ty::Scalar(_)) | (_, Ty::Struct(_)) => false,
        };
        let name = self.ty_name(ty);
        self.require(fits, Rule::Types, || format!("{value:?} is no value of `{name}`"));
    }

    fn unary(&mut self, op: UnOp, operand: &Expr, ty: Ty) {
        self.typed("the operand of a prefix operator", operand, ty);
        let scalar = ty.scalar();
        let fits = match op {
            UnOp::Neg => scalar.is_some_and(|s| s != Scalar::Bool),
            UnOp::Not => scalar == Some(Scalar::Bool),
            UnOp::BitNot => scalar.is_some_and(Scalar::is_integer),
        };
        let name = self.ty_name(ty);
        self.require(fits, Rule::Types, || format!("{op:?} of `{name}`"));
    }

    fn binary(&mut self, op: BinOp, left: &Expr, right: &Expr, checked: bool, ty: Ty) {
        self.expr(left);
        self.expr(right);
        if op.is_comparison() {
            self.same_ty("a comparison", ty, Ty::BOOL);
        } else {
            self.same_ty("the left operand", left.ty, ty);
        }
        let integer = left.ty.scalar().is_some_and(Scalar::is_integer);
        let boolean = left.ty == Ty::BOOL;
        let scalar = left.ty.scalar().is_some();
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let fits = match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div => scalar && !boolean,
            BinOp::Rem => integer,
            BinOp::And | BinOp::Or | BinOp::Xor => integer || boolean,
            BinOp::Shl | BinOp::Shr => integer && right.ty.scalar().is_some_and(Scalar::is_integer),
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => scalar,
        };
        let (left_name, right_name) = (self.ty_name(left.ty), self.ty_name(right.ty));
        let same = shift || left.ty == right.ty;
        self.require(fits && same, Rule::Types, || format!("{op:?} of `{left_name}` and `{right_name}`"));
        let may_fault = integer && (shift || matches!(op, BinOp::Div | BinOp::Rem));
        self.require(!checked || may_fault, Rule::Types, || format!("{op:?} is marked as checked but cannot fault"));
    }

    fn convert(&mut self, operand: &Expr, mode: ConvertMode, ty: Ty) {
        self.expr(operand);
        let fits = match (operand.ty, ty) {
            (Ty::Scalar(from), Ty::Scalar(to)) => match mode {
                ConvertMode::Cast => true,
                ConvertMode::Checked => from.is_integer() && to.is_integer(),
            },
            (Ty::Struct(_), _) | (_, Ty::Struct(_)) => false,
        };
        let (from, to) = (self.ty_name(operand.ty), self.ty_name(ty));
        self.require(fits, Rule::Types, || format!("{mode:?} conversion from `{from}` to `{to}`"));
    }

    fn math(&mut self, function: MathFn, operands: &[Expr], ty: Ty) {
        operands.iter().for_each(|operand| self.expr(operand));
        let name = function.name();
        if operands.len() != function.arity() {
            self.report(Rule::Types, format!("`{name}` of {} operands", operands.len()));
            return;
        }
        let operand_ty = operands[0].ty;
        operands.iter().for_each(|operand| self.same_ty("an operand of a maths function", operand.ty, operand_ty));
        let fits = match (function, operand_ty.scalar()) {
            (MathFn::Abs | MathFn::Min | MathFn::Max, Some(scalar)) => scalar != Scalar::Bool,
            (_, Some(scalar)) => scalar.is_float(),
            (_, None) => false,
        };
        let of = self.ty_name(operand_ty);
        self.require(fits, Rule::Types, || format!("`{name}` of `{of}`"));
        self.same_ty("a maths function", ty, math_result(function, operand_ty));
    }

    fn scalar_call(&mut self, callee: ScalarFnId, args: &[Expr], ty: Ty) {
        args.iter().for_each(|arg| self.expr(arg));
        let Some(function) = self.program.scalar_fns.get(callee) else {
            self.report(Rule::Tables, format!("{callee:?} does not exist"));
            return;
        };
        self.same_ty("a call", ty, function.result);
        self.require(args.len() == function.params.len(), Rule::Types, || {
            format!("`{}` takes {} arguments, not {}", function.name, function.params.len(), args.len())
        });
        for (param, arg) in function.params.iter().zip(args) {
            self.same_ty("an argument", arg.ty, function.vars[*param].ty);
        }
    }

    fn struct_value(&mut self, strukt: StructId, fields: &[Expr], ty: Ty) {
        fields.iter().for_each(|field| self.expr(field));
        let Some(known) = self.program.structs.get(strukt) else {
            self.report(Rule::Tables, format!("{strukt:?} does not exist"));
            return;
        };
        self.same_ty("a struct value", ty, Ty::Struct(strukt));
        self.require(fields.len() == known.fields.len(), Rule::Types, || {
            format!("`{}` has {} fields, not {}", known.name, known.fields.len(), fields.len())
        });
        for ((_, field_ty), field) in known.fields.iter().zip(fields) {
            self.same_ty("a field's value", field.ty, *field_ty);
        }
    }

    /// A place; its type if it has one.
    pub(super) fn place(&mut self, place: &Place) -> Option<Ty> {
        place.index.iter().for_each(|index| self.long("an index", index));
        let known = self.use_var(place.array)?;
        let rank = known.shape.len();
        self.require(rank > 0 && place.index.len() == rank, Rule::Ranks, || {
            format!("`{}` of rank {rank} is used with {} indices", known.name, place.index.len())
        });
        let inside = rank >= 32 || place.unproved >> rank == 0;
        self.require(inside, Rule::Ranks, || "`unproved` names a dimension that the array has not".into());
        self.field_ty(known.ty, &place.path)
    }

    /// A section; its element type and rank.
    pub(super) fn section(&mut self, section: &Section) -> Option<(Ty, usize)> {
        let mut rank = 0;
        for dim in &section.dims {
            match dim {
                SectionDim::At(index) => self.long("an index", index),
                SectionDim::Range { low, high, step } => {
                    rank += 1;
                    self.long("a section's bound", low);
                    self.long("a section's bound", high);
                    self.long("a section's stride", step);
                }
                SectionDim::Piece(piece) => {
                    rank += 1;
                    self.long("the number of a piece", &piece.at);
                    self.long("the length of a piece", &piece.length);
                    self.require(!piece.by || piece.way == PieceWay::Adjacent, Rule::Ranks, || {
                        "pieces of a length are adjacent".into()
                    });
                }
            }
        }
        let known = self.use_var(section.array)?;
        self.require(section.dims.len() == known.shape.len(), Rule::Ranks, || {
            format!("a section of `{}` names {} dimensions", known.name, section.dims.len())
        });
        self.require(rank > 0, Rule::Ranks, || "a section without a range".into());
        Some((known.ty, rank))
    }

    /// The number of maps around the declaration of a variable, in words for messages.
    pub(super) fn is_outer(&self, var: super::VarId) -> bool {
        self.live.get(var.index()).copied().flatten().is_some_and(|depth| depth < self.depth)
    }
}

/// The type of a maths function's value.
fn math_result(function: MathFn, operand: Ty) -> Ty {
    match function {
        MathFn::Isnan | MathFn::Isinf | MathFn::Isfinite => Ty::BOOL,
        MathFn::Abs
        | MathFn::Min
        | MathFn::Max
        | MathFn::Fma
        | MathFn::Sqrt
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
        | MathFn::Lgamma => operand,
    }
}

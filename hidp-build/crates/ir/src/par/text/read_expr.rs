//! Reads places and expressions.

use super::super::{Access, BinOp, Const, ConvertMode, Expr, ExprKind, MathFn, Place, UnOp, VarId};
use super::Word;
use super::lex::Tok;
use super::read::{Name, Read, nowhere};
use super::read_body::Body;
use hidp_syntax::index::Id;
use hidp_syntax::ty::{Scalar, StructId, Ty};

fn expr(kind: ExprKind, ty: Ty) -> Expr {
    Expr { kind, ty, span: nowhere() }
}

impl Body<'_> {
    pub(super) fn place(&mut self) -> Read<Place> {
        let array = self.var()?;
        self.place_of(array)
    }

    /// What follows the name of an array in an access.
    pub(super) fn place_of(&mut self, array: VarId) -> Read<Place> {
        let access = if self.reader.sign("~") { Access::Shared } else { Access::Exclusive };
        self.reader.expect("[")?;
        let mut index = Vec::new();
        let mut unproved = 0_u32;
        while !self.reader.sign("]") {
            if !index.is_empty() {
                self.reader.expect(",")?;
            }
            index.push(self.expr()?);
            if self.reader.sign("?") {
                unproved |= 1_u32.checked_shl(index.len() as u32 - 1).unwrap_or(0);
            }
        }
        Ok(Place { array, index, path: self.path()?, unproved, access, span: nowhere() })
    }

    /// `@0@1`
    pub(super) fn path(&mut self) -> Read<Vec<u32>> {
        let mut path = Vec::new();
        while self.reader.sign("@") {
            path.push(self.reader.number()?);
        }
        Ok(path)
    }

    /// Expressions up to the closing sign, which is taken.
    pub(super) fn exprs(&mut self, close: &str) -> Read<Vec<Expr>> {
        let mut exprs = Vec::new();
        while !self.reader.sign(close) {
            if !exprs.is_empty() {
                self.reader.expect(",")?;
            }
            exprs.push(self.expr()?);
        }
        Ok(exprs)
    }

    pub(super) fn expr(&mut self) -> Read<Expr> {
        self.deeper(|body| match body.reader.peek().clone() {
            Tok::Int(value) => {
                body.reader.at += 1;
                body.constant(Const::Int(value), Scalar::I64)
            }
            Tok::Float(value) => {
                body.reader.at += 1;
                body.constant(Const::Float(value), Scalar::F64)
            }
            Tok::Sign("(") => {
                body.reader.at += 1;
                body.binary()
            }
            Tok::Name(..) => body.named(),
            Tok::Sign(_) | Tok::End => {
                body.reader.error(format!("expected an expression, found {}", body.reader.found()))
            }
        })
    }

    fn constant(&mut self, value: Const, usual: Scalar) -> Read<Expr> {
        let ty = if self.reader.sign(":") { self.reader.ty(&self.program.structs)? } else { Ty::Scalar(usual) };
        let value = match (value, ty.scalar()) {
            (Const::Int(value), Some(scalar)) if scalar.is_float() => Const::Float(value as f64),
            (Const::Int(_) | Const::Float(_) | Const::Bool(_), _) => value,
        };
        Ok(expr(ExprKind::Const(value), ty))
    }

    /// After `(`: `a op b)` or `a)`.
    fn binary(&mut self) -> Read<Expr> {
        let left = Box::new(self.expr()?);
        if self.reader.sign(")") {
            return Ok(*left);
        }
        let sign = match self.reader.next() {
            Tok::Sign(sign) => sign,
            Tok::Name(..) | Tok::Int(_) | Tok::Float(_) | Tok::End => return self.reader.error("expected an operator"),
        };
        let checked = self.reader.sign("?");
        let right = Box::new(self.expr()?);
        self.reader.expect(")")?;
        if sign == "&&" || sign == "||" {
            return Ok(expr(ExprKind::Lazy { and: sign == "&&", left, right }, Ty::BOOL));
        }
        let Some(op) = BinOp::from_word(sign) else {
            return self.reader.error(format!("`{sign}` is no operator"));
        };
        let ty = if op.is_comparison() { Ty::BOOL } else { left.ty };
        Ok(expr(ExprKind::Binary { op, left, right, checked }, ty))
    }

    fn args(&mut self) -> Read<Vec<Expr>> {
        self.reader.expect("(")?;
        self.exprs(")")
    }

    fn one(&mut self, what: &str) -> Read<Box<Expr>> {
        match <[Expr; 1]>::try_from(self.args()?) {
            Ok([operand]) => Ok(Box::new(operand)),
            Err(_) => self.reader.error(format!("`{what}` takes one operand")),
        }
    }

    /// What begins with a name.
    fn named(&mut self) -> Read<Expr> {
        let name = self.reader.name()?;
        match (name.text.as_str(), name.number) {
            ("true", None) => return Ok(expr(ExprKind::Const(Const::Bool(true)), Ty::BOOL)),
            ("false", None) => return Ok(expr(ExprKind::Const(Const::Bool(false)), Ty::BOOL)),
            ("new", None) => return self.struct_value(),
            _ => {}
        }
        match self.reader.peek() {
            Tok::Sign("(") => self.applied(name),
            Tok::Sign("?") if self.is_type(&name) => {
                self.reader.at -= 1;
                let ty = self.reader.ty(&self.program.structs)?;
                self.reader.expect("?")?;
                let operand = self.one(&name.text)?;
                Ok(expr(ExprKind::Convert { operand, mode: ConvertMode::Checked }, ty))
            }
            Tok::Sign("[" | "~") => {
                let var = self.reader.var_in(&name, self.vars)?;
                let place = self.place_of(var)?;
                let ty = self.path_ty(self.vars[place.array].ty, &place.path)?;
                Ok(expr(ExprKind::Load(place), ty))
            }
            Tok::Name(..) | Tok::Int(_) | Tok::Float(_) | Tok::Sign(_) | Tok::End => {
                let var = self.reader.var_in(&name, self.vars)?;
                Ok(expr(ExprKind::Read(var), self.vars[var].ty))
            }
        }
    }

    fn is_type(&self, name: &Name) -> bool {
        name.number.is_none() && Scalar::from_name(&name.text).is_some()
    }

    fn path_ty(&self, mut ty: Ty, path: &[u32]) -> Read<Ty> {
        for field in path {
            let next = match ty {
                Ty::Struct(id) => self.program.structs[id].fields.get(*field as usize),
                Ty::Scalar(_) => None,
            };
            match next {
                Some((_, field_ty)) => ty = *field_ty,
                None => return self.reader.error(format!("there is no field {field}")),
            }
        }
        Ok(ty)
    }

    /// `new Best{a, b}`
    fn struct_value(&mut self) -> Read<Expr> {
        let name = self.reader.name()?;
        let table = self.program.structs.iter().map(|(_, item)| item.name.as_str());
        let id = StructId::new(self.reader.resolve(&name, table, "struct")?);
        self.reader.expect("{")?;
        let fields = self.exprs("}")?;
        Ok(expr(ExprKind::Struct(id, fields), Ty::Struct(id)))
    }

    /// `name(…)`
    fn applied(&mut self, name: Name) -> Read<Expr> {
        if name.number.is_none() {
            if let Some(op) = UnOp::from_word(&name.text) {
                let operand = self.one(&name.text)?;
                let ty = operand.ty;
                return Ok(expr(ExprKind::Unary(op, operand), ty));
            }
            if let Some(scalar) = Scalar::from_name(&name.text) {
                let operand = self.one(&name.text)?;
                return Ok(expr(ExprKind::Convert { operand, mode: ConvertMode::Cast }, scalar.into()));
            }
            if let Some(function) = MathFn::ALL.iter().find(|function| function.name() == name.text) {
                return self.math(*function);
            }
            match name.text.as_str() {
                "select" => return self.select(),
                "field" => return self.field(),
                _ => {}
            }
        }
        let callee = self.scalar_fn(&name)?;
        let args = self.args()?;
        Ok(expr(ExprKind::Call(callee, args), self.program.scalar_fns[callee].result))
    }

    fn math(&mut self, function: MathFn) -> Read<Expr> {
        let operands = self.args()?;
        let ty = match (function, operands.first()) {
            (MathFn::Isnan | MathFn::Isinf | MathFn::Isfinite, _) => Ty::BOOL,
            (_, Some(operand)) => operand.ty,
            (_, None) => return self.reader.error(format!("`{}` takes operands", function.name())),
        };
        Ok(expr(ExprKind::Math(function, operands), ty))
    }

    fn select(&mut self) -> Read<Expr> {
        match <[Expr; 3]>::try_from(self.args()?) {
            Ok([cond, then, otherwise]) => {
                let ty = then.ty;
                let (cond, then, otherwise) = (Box::new(cond), Box::new(then), Box::new(otherwise));
                Ok(expr(ExprKind::Select { cond, then, otherwise }, ty))
            }
            Err(_) => self.reader.error("`select` takes three operands"),
        }
    }

    /// `field(e, 0)`
    fn field(&mut self) -> Read<Expr> {
        self.reader.expect("(")?;
        let operand = Box::new(self.expr()?);
        self.reader.expect(",")?;
        let field = self.reader.number()?;
        self.reader.expect(")")?;
        let ty = self.path_ty(operand.ty, &[field])?;
        Ok(expr(ExprKind::Field(operand, field), ty))
    }
}

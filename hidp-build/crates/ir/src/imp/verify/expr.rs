//! Types of expressions, and what an expression may hold where.

use super::{Checker, INT};
use crate::imp::visit::{each_subexpr, operands};
use crate::imp::{Element, Expr, ExprKind, NearFn, VarKind};
use crate::par::{BinOp, MathFn, UnOp};
use hidp_syntax::ty::{Scalar, StructId, Ty};

/// Whether an expression calls a scalar function that can raise.
pub(super) fn traps(checker: &Checker<'_>, node: &Expr) -> bool {
    let mut found = false;
    each_subexpr(node, &mut |sub| {
        if let ExprKind::Call(callee, _) = sub.kind {
            found |= crate::imp::can_trap(checker.program, callee);
        }
    });
    found
}

impl Checker<'_> {
    /// An expression of a given type.
    pub(super) fn typed(&mut self, node: &Expr, ty: Ty) {
        self.expr(node);
        if node.ty != ty {
            self.fail(format!("a value of type {:?} stands where one of type {ty:?} must", node.ty));
        }
    }

    /// A `long`, or on a device an `int`.
    pub(super) fn counting(&mut self, node: &Expr) {
        let is_int = self.on_device() && node.ty == INT;
        self.typed(node, if is_int { INT } else { Ty::LONG });
    }

    pub(super) fn expr(&mut self, node: &Expr) {
        let divisor = self.divisor(node);
        let values = operands(node).into_iter().filter(|operand| !std::ptr::eq(*operand, divisor.unwrap_or(node)));
        values.for_each(|operand| self.expr(operand));
        match &node.kind {
            ExprKind::Int(value) => self.int(*value, node.ty),
            ExprKind::Float(_) => self.require(is_float(node.ty), "a float constant has a float type"),
            ExprKind::Bool(_) => self.result(node, Ty::BOOL),
            ExprKind::Var(var) => {
                self.use_var(*var);
                match self.kind(*var) {
                    VarKind::Value(ty) => self.result(node, ty),
                    VarKind::Buffer { .. }
                    | VarKind::HostCell { .. }
                    | VarKind::Tile { .. }
                    | VarKind::Shared { .. }
                    | VarKind::Registers { .. } => self.fail("a buffer is no value"),
                    VarKind::Divisor(_) => self.fail("a divisor stands on the right of `/` and `%` alone"),
                    VarKind::Wide { .. } | VarKind::WideTile { .. } => {
                        self.fail("what differs from lane to lane is no value")
                    }
                }
            }
            ExprKind::Load(element) => {
                let ty = self.element(element);
                self.result(node, ty);
            }
            ExprKind::Unary(op, a) => {
                let fits = match op {
                    UnOp::Neg => is_number(a.ty),
                    UnOp::Not => a.ty == Ty::BOOL,
                    UnOp::BitNot => is_integer(a.ty),
                };
                self.require(fits, "the operand of a prefix operator has a type that it is made for");
                self.result(node, a.ty);
            }
            ExprKind::Binary(op, a, b) => self.binary(node, *op, a, b),
            ExprKind::MulAdd(a, b, c) => {
                self.require(is_number(a.ty) && a.ty == b.ty && a.ty == c.ty, "operands of mul_add have one type");
                self.result(node, a.ty);
            }
            ExprKind::AbsDiffAdd(a, b, c) => {
                let int = Ty::Scalar(Scalar::I32);
                self.require(
                    [a, b, c].iter().all(|operand| operand.ty == int),
                    "operands of abs_diff_add are of `int`",
                );
                self.require(self.on_device(), "abs_diff_add stands in device units only");
                self.result(node, int);
            }
            ExprKind::Gather(load, count) => self.gather(node, load, count),
            ExprKind::Lazy(_, a, b) => {
                self.require(a.ty == Ty::BOOL && b.ty == Ty::BOOL, "operands of `&&` and `||` are truth values");
                self.result(node, Ty::BOOL);
            }
            ExprKind::Select(c, a, b) => {
                self.require(c.ty == Ty::BOOL && a.ty == b.ty, "`c ? a : b` takes a truth value and two of one type");
                self.result(node, a.ty);
            }
            ExprKind::Cast(a) => {
                self.require(a.ty.scalar().is_some() && node.ty.scalar().is_some(), "casts are between scalars");
            }
            ExprKind::Math(function, args) => self.math(node, *function, args),
            ExprKind::Near(function, angle) => {
                self.require(is_float(angle.ty), "an angle is a floating number");
                self.require(!self.on_device(), "angles near 0 are told apart in CPU units only");
                self.result(node, if *function == NearFn::IsNear { Ty::BOOL } else { angle.ty });
            }
            ExprKind::Call(callee, args) => {
                let function = &self.program.scalar_fns[*callee];
                let params: Vec<Ty> = function.params.iter().map(|var| function.vars[*var].ty).collect();
                let fits = params.len() == args.len() && params.iter().zip(args).all(|(ty, arg)| *ty == arg.ty);
                let result = function.result;
                self.require(fits, "arguments of a scalar function have its parameters' types");
                self.sites_of_function(*callee);
                self.result(node, result);
            }
            ExprKind::Field(a, position) => match self.field(a.ty, *position) {
                Some(ty) => self.result(node, ty),
                None => self.fail("a field is one of its struct"),
            },
            ExprKind::Struct(id, args) => self.structure(node, *id, args),
            ExprKind::WorkerIndex => {
                self.require(!self.is_host(), "worker_index stands in kernels only");
                self.result(node, Ty::LONG);
            }
            ExprKind::WorkerCount => {
                self.require(self.is_host(), "worker_count stands in host functions only");
                self.require(!self.on_device(), "worker_count stands in CPU units only");
                self.result(node, Ty::LONG);
            }
            ExprKind::GroupCount(grid) => {
                self.require(self.is_host(), "group_count stands in host functions only");
                self.require(self.on_device(), "group_count stands in device units only");
                self.grid(*grid);
                self.result(node, Ty::LONG);
            }
            ExprKind::Any(mask) => {
                self.mask(*mask, None);
                self.result(node, Ty::BOOL);
            }
            ExprKind::Least { of, mask } => {
                self.mask(*mask, None);
                self.wide_long(*of);
                self.result(node, Ty::LONG);
            }
            ExprKind::LaneCount(lanes) => {
                self.of_processors();
                self.lanes_exist(*lanes);
                self.result(node, Ty::LONG);
            }
            ExprKind::VectorRegisters => {
                self.of_processors();
                self.result(node, Ty::LONG);
            }
            ExprKind::IsAligned(var, bytes) => {
                self.use_var(*var);
                let buffer = matches!(self.kind(*var), VarKind::Buffer { .. });
                let fits = buffer && self.on_device() && !self.is_host() && bytes.is_power_of_two();
                self.require(fits, "is_aligned asks for a buffer in kernels of devices, and a power of two");
                self.result(node, Ty::BOOL);
            }
            ExprKind::Broadcast(_, value) => self.result(node, value.ty),
        }
    }

    /// The right side of a division that names a divisor.
    fn divisor<'e>(&mut self, node: &'e Expr) -> Option<&'e Expr> {
        let ExprKind::Binary(BinOp::Div | BinOp::Rem, _, by) = &node.kind else { return None };
        let ExprKind::Var(var) = by.kind else { return None };
        let VarKind::Divisor(ty) = self.kind(var) else { return None };
        self.use_var(var);
        self.result(by, ty.into());
        Some(by)
    }

    fn result(&mut self, node: &Expr, ty: Ty) {
        if node.ty != ty {
            self.fail(format!("an expression says it has type {:?} but has {ty:?}", node.ty));
        }
    }

    fn int(&mut self, value: i128, ty: Ty) {
        let range = ty.scalar().and_then(Scalar::integer_range);
        let fits = range.is_some_and(|(low, high)| low <= value && value <= high);
        self.require(fits && is_integer(ty), "an integer constant fits its integer type");
    }

    fn binary(&mut self, node: &Expr, op: BinOp, a: &Expr, b: &Expr) {
        let constant = if let ExprKind::Int(value) = b.kind { Some(value) } else { None };
        let bits = a.ty.scalar().map_or(0, |scalar| 8 * scalar.size() as i128);
        let fits = match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul => a.ty == b.ty && is_number(a.ty),
            BinOp::Div | BinOp::Rem => a.ty == b.ty && is_number(a.ty) && constant != Some(0),
            BinOp::And | BinOp::Or | BinOp::Xor => a.ty == b.ty && (is_integer(a.ty) || a.ty == Ty::BOOL),
            BinOp::Shl | BinOp::Shr => {
                is_integer(a.ty) && is_integer(b.ty) && constant.is_none_or(|count| (0..bits).contains(&count))
            }
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => {
                a.ty == b.ty && a.ty.scalar().is_some()
            }
        };
        self.require(
            fits,
            "the operands of an infix operator have one type that it is made for, and a value it is defined for",
        );
        self.result(node, if op.is_comparison() { Ty::BOOL } else { a.ty });
    }

    fn math(&mut self, node: &Expr, function: MathFn, args: &[Expr]) {
        let Some(ty) = args.first().map(|arg| arg.ty).filter(|_| args.len() == function.arity()) else {
            return self.fail("a maths function has all its operands");
        };
        let on_integers = matches!(function, MathFn::Abs | MathFn::Min | MathFn::Max);
        let fits = args.iter().all(|arg| arg.ty == ty) && (is_float(ty) || on_integers && is_integer(ty));
        self.require(fits, "operands of a maths function have one type that it is made for");
        let is_test = matches!(function, MathFn::Isnan | MathFn::Isinf | MathFn::Isfinite);
        self.result(node, if is_test { Ty::BOOL } else { ty });
    }

    fn gather(&mut self, node: &Expr, load: &Expr, count: &Expr) {
        let narrow = |scalar: Scalar| scalar.is_integer() && scalar.size() <= 2;
        let fits = matches!(&load.kind, ExprKind::Load(element) if !element.relaxed && element.path.is_empty()
            && matches!(self.kind(element.base), VarKind::Buffer { writable: false, .. }));
        self.require(fits && load.ty.scalar().is_some_and(narrow), "what is gathered are narrow integers that stay");
        self.require(count.ty == Ty::LONG && !self.on_device(), "gathers are in CPU units, from so many elements");
        self.result(node, load.ty);
    }

    fn structure(&mut self, node: &Expr, id: StructId, args: &[Expr]) {
        let fields: Vec<Ty> = self.program.structs[id].fields.iter().map(|(_, ty)| *ty).collect();
        let fits = fields.len() == args.len() && fields.iter().zip(args).all(|(ty, arg)| *ty == arg.ty);
        self.require(fits, "a struct value has a value for each field, of its type");
        self.result(node, Ty::Struct(id));
    }

    fn field(&self, ty: Ty, position: u32) -> Option<Ty> {
        let Ty::Struct(id) = ty else { return None };
        self.program.structs[id].fields.get(position as usize).map(|(_, ty)| *ty)
    }

    /// The type of the field that a path leads to.
    pub(super) fn path(&mut self, ty: Ty, path: &[u32]) -> Ty {
        match path.iter().try_fold(ty, |ty, position| self.field(ty, *position)) {
            Some(ty) => ty,
            None => {
                self.fail("a path names fields");
                ty
            }
        }
    }

    /// The type of an element or of the field of it that is meant.
    pub(super) fn element(&mut self, element: &Element) -> Ty {
        self.use_var(element.base);
        self.counting(&element.index);
        let raises = traps(self, &element.index);
        self.require(!raises, "no scalar function that can raise is called in an index");
        match self.kind(element.base) {
            VarKind::Buffer { elem, .. } | VarKind::Shared { elem, declared: true, .. } => {
                self.path(elem, &element.path)
            }
            VarKind::HostCell { elem, .. } => {
                let first = matches!(element.index.kind, ExprKind::Int(0));
                self.require(first && !element.relaxed, "a host cell has one element, and nobody else has it");
                self.path(elem, &element.path)
            }
            VarKind::Tile { elem, .. }
            | VarKind::Registers { elem, .. }
            | VarKind::Shared { elem, declared: false, .. } => {
                self.require(
                    !element.relaxed,
                    "no access to a tile, registers or a shared array of the compiler is relaxed",
                );
                self.path(elem, &element.path)
            }
            VarKind::Value(ty) => {
                self.fail("only buffers and tiles have elements");
                ty
            }
            VarKind::Divisor(ty) => {
                self.fail("only buffers and tiles have elements");
                ty.into()
            }
            VarKind::Wide { elem, .. } | VarKind::WideTile { elem, .. } => {
                self.fail("what differs from lane to lane is accessed by statements about wide values");
                elem.into()
            }
        }
    }
}

pub(super) fn is_integer(ty: Ty) -> bool {
    ty.scalar().is_some_and(Scalar::is_integer)
}
pub(super) fn is_float(ty: Ty) -> bool {
    ty.scalar().is_some_and(Scalar::is_float)
}
fn is_number(ty: Ty) -> bool {
    is_integer(ty) || is_float(ty)
}

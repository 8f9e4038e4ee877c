//! Expressions and the checks they need. Checks become statements before the statement that uses the value, in order of
//! evaluation; operands that are evaluated only sometimes become branches when they need checks.

use super::build::Binding;
use super::{Checks, Lowerer, make};
use hidp_ir::imp::{self, Element, Expr, ExprKind, Stmt};
use hidp_ir::par::{self, Access, BinOp, Const, ConvertMode, FaultKind, Place, ScalarFnId, UnOp};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

impl Lowerer<'_> {
    /// The value of an expression, after the checks it needs.
    pub(super) fn expr(&mut self, expr: &par::Expr) -> Expr {
        use par::ExprKind as E;
        match &expr.kind {
            E::Const(value) => constant(*value, expr.ty),
            E::Read(var) => self.read(*var),
            E::Load(place) => self.load(place, expr.ty),
            E::Unary(op, operand) => self.unary(*op, operand),
            E::Binary { op, left, right, checked } => self.binary(expr, *op, left, right, *checked),
            E::Lazy { and, left, right } => self.lazy(*and, left, right),
            E::Select { cond, then, otherwise } => self.select(cond, then, otherwise),
            E::Convert { operand, mode } => self.convert(operand, *mode, expr),
            E::Math(function, operands) => {
                let operands = self.exprs(operands);
                Expr { kind: ExprKind::Math(*function, operands), ty: expr.ty }
            }
            E::Call(function, operands) => {
                let operands = self.exprs(operands);
                self.call(*function, operands, expr.ty)
            }
            E::Field(operand, field) => {
                let operand = Box::new(self.expr(operand));
                Expr { kind: ExprKind::Field(operand, *field), ty: expr.ty }
            }
            E::Struct(id, fields) => {
                let fields = self.exprs(fields);
                Expr { kind: ExprKind::Struct(*id, fields), ty: expr.ty }
            }
        }
    }

    /// Several, in order.
    pub(super) fn exprs(&mut self, exprs: &[par::Expr]) -> Vec<Expr> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// A value that can be used any number of times.
    pub(super) fn fixed(&mut self, name: &str, expr: &par::Expr) -> Expr {
        let value = self.expr(expr);
        self.body.fix(name, value)
    }

    /// The value of a scalar variable.
    pub(super) fn read(&mut self, var: par::VarId) -> Expr {
        let ty = self.func.vars[var].ty;
        match self.binding(var) {
            Binding::Fixed(value) => value,
            Binding::Slot { var, .. } => make::var(var, ty),
            Binding::Lane(element) => make::load(element, ty),
            Binding::Array(array) => make::load(make::element(array.base, make::long(0)), ty),
        }
    }

    /// A call of a scalar function; one that can fault is followed by the test for it.
    pub(super) fn call(&mut self, function: ScalarFnId, operands: Vec<Expr>, ty: Ty) -> Expr {
        let call = Expr { kind: ExprKind::Call(function, operands), ty };
        if !self.trap_sites(function) {
            return call;
        }
        let value = self.body.fix("value", call);
        self.body.push(Stmt::CheckTrap);
        value
    }

    /// Adds the sites at which a scalar function can fault; whether there are any.
    pub(super) fn trap_sites(&mut self, function: ScalarFnId) -> bool {
        let sites = imp::trap_sites(self.program, function);
        let any = !sites.is_empty();
        for site in sites {
            self.site(site.kind, site.span, site.names);
        }
        any
    }

    fn unary(&mut self, op: UnOp, operand: &par::Expr) -> Expr {
        let operand = self.expr(operand);
        let ty = operand.ty;
        Expr { kind: ExprKind::Unary(op, Box::new(operand)), ty }
    }

    fn binary(&mut self, whole: &par::Expr, op: BinOp, left: &par::Expr, right: &par::Expr, checked: bool) -> Expr {
        let float = whole.ty.scalar().is_some_and(Scalar::is_float);
        if float
            && self.func.contract
            && matches!(op, BinOp::Add | BinOp::Sub)
            && let Some(fused) = self.contract(op, left, right)
        {
            return fused;
        }
        let left = self.expr(left);
        let right_value = self.expr(right);
        match op {
            BinOp::Div | BinOp::Rem if checked => self.checked_division(op, left, right_value, whole.span),
            BinOp::Shl | BinOp::Shr if checked => self.checked_shift(op, left, right_value, whole.span),
            BinOp::Add if whole.ty == Ty::LONG => make::add(left, right_value),
            BinOp::Sub if whole.ty == Ty::LONG => make::sub(left, right_value),
            BinOp::Mul if whole.ty == Ty::LONG => make::mul(left, right_value),
            _ => {
                let right = defined(op, left.ty, right_value);
                make::binary(op, left, right)
            }
        }
    }

    /// `a * b + c` in all its forms as one operation.
    fn contract(&mut self, op: BinOp, left: &par::Expr, right: &par::Expr) -> Option<Expr> {
        if let Some((a, b)) = product(left) {
            let (a, b, c) = (self.expr(a), self.expr(b), self.expr(right));
            let c = if op == BinOp::Sub { make::neg(c) } else { c };
            return Some(make::mul_add(a, b, c));
        }
        let (a, b) = product(right)?;
        let (c, a, b) = (self.expr(left), self.expr(a), self.expr(b));
        let a = if op == BinOp::Sub { make::neg(a) } else { a };
        Some(make::mul_add(a, b, c))
    }

    fn checked_division(&mut self, op: BinOp, left: Expr, right: Expr, span: Span) -> Expr {
        let left = self.body.fix("dividend", left);
        let right = self.body.fix("divisor", right);
        let ty = right.ty;
        let zero = zero_of(ty);
        let ok = self.require(
            make::binary(BinOp::Ne, right.clone(), zero),
            FaultKind::DivisionByZero,
            span,
            vec![as_long(left.clone())],
        );
        let one = Expr { kind: ExprKind::Int(1), ty };
        let right = defined(op, left.ty, self.clamped(ok, right, one));
        make::binary(op, left, right)
    }

    fn checked_shift(&mut self, op: BinOp, left: Expr, right: Expr, span: Span) -> Expr {
        let left = self.body.fix("value", left);
        let right = self.body.fix("count", right);
        let width = left.ty.scalar().map_or(64, |scalar| scalar.size() as i64 * 8);
        let count = as_long(right.clone());
        let ok = self.require(
            make::inside(count.clone(), make::long(width)),
            FaultKind::Shift,
            span,
            vec![count, make::long(width)],
        );
        let zero = zero_of(right.ty);
        let right = defined(op, left.ty, self.clamped(ok, right, zero));
        make::binary(op, left, right)
    }

    /// `&&` or `||`; the right side becomes a branch if it needs statements.
    fn lazy(&mut self, and: bool, left: &par::Expr, right: &par::Expr) -> Expr {
        let left = self.expr(left);
        self.body.enter();
        let right = self.expr(right);
        let mut block = self.body.leave();
        if block.stmts.is_empty() {
            return Expr { kind: ExprKind::Lazy(and, Box::new(left), Box::new(right)), ty: Ty::BOOL };
        }
        let result = self.body.slot("both", Ty::BOOL, Some(left));
        let value = make::var(result, Ty::BOOL);
        block.stmts.push(make::set(result, right));
        let cond = if and { value.clone() } else { make::not(value.clone()) };
        self.body.push(make::when(cond, block.stmts));
        value
    }

    /// `?:`; becomes a branch if a side needs statements.
    fn select(&mut self, cond: &par::Expr, then: &par::Expr, otherwise: &par::Expr) -> Expr {
        let cond = self.expr(cond);
        self.body.enter();
        let then = self.expr(then);
        let mut on_true = self.body.leave();
        self.body.enter();
        let otherwise = self.expr(otherwise);
        let mut on_false = self.body.leave();
        if on_true.stmts.is_empty() && on_false.stmts.is_empty() {
            return make::select(cond, then, otherwise);
        }
        let ty = then.ty;
        let result = self.body.slot("chosen", ty, None);
        on_true.stmts.push(make::set(result, then));
        on_false.stmts.push(make::set(result, otherwise));
        self.body.push(Stmt::If { cond, then: on_true, otherwise: on_false });
        make::var(result, ty)
    }

    fn convert(&mut self, operand: &par::Expr, mode: ConvertMode, whole: &par::Expr) -> Expr {
        let value = self.expr(operand);
        let Some(to) = whole.ty.scalar() else {
            self.defect("what is converted becomes a number");
            return value;
        };
        match mode {
            ConvertMode::Cast => make::cast(value, to),
            ConvertMode::Checked => {
                let value = self.body.fix("value", value);
                if let Some(fits) = fits(&value, to) {
                    self.require(fits, FaultKind::Narrowing, whole.span, vec![as_long(value.clone())]);
                }
                make::cast(value, to)
            }
        }
    }

    /// The value of an element or field.
    fn load(&mut self, place: &Place, ty: Ty) -> Expr {
        if let Some(copy) = self.panel_element(place) {
            return make::load(copy, ty);
        }
        if let Some(copy) = self.moved_element(place) {
            return make::load(copy, ty);
        }
        if let Some(copy) = self.near_element(place) {
            return make::load(copy, ty);
        }
        if self.is_held(place.array) {
            return self.held_value(place, ty);
        }
        let (element, _) = self.element(place);
        let count = self.gathered_of(place, &element, ty);
        let value = self.load_element(element, ty);
        match count {
            Some(count) => Expr { kind: ExprKind::Gather(Box::new(value), Box::new(count)), ty },
            None => value,
        }
    }

    /// Loads; a struct that others may write at the same time field by field.
    pub(super) fn load_element(&mut self, element: Element, ty: Ty) -> Expr {
        match ty {
            Ty::Struct(id) if element.relaxed => {
                let index = self.body.fix("at", (*element.index).clone());
                let fields: Vec<Ty> = self.program.structs[id].fields.iter().map(|(_, ty)| *ty).collect();
                let values = fields.into_iter().enumerate().map(|(field, ty)| {
                    let mut part = Element { index: Box::new(index.clone()), ..element.clone() };
                    part.path.push(field as u32);
                    self.load_element(part, ty)
                });
                let values = values.collect();
                Expr { kind: ExprKind::Struct(id, values), ty }
            }
            Ty::Struct(_) | Ty::Scalar(_) => self.loaded(element, ty),
        }
    }

    /// Where an access goes, after its checks; and, when checks only raise a flag, whether it is inside.
    pub(super) fn element(&mut self, place: &Place) -> (Element, Option<Expr>) {
        let Binding::Array(array) = self.binding(place.array) else {
            self.defect("what is indexed is an array");
            let element = make::element(hidp_syntax::index::Id::new(0), make::long(0));
            return (element, None);
        };
        let mut all_ok: Option<Expr> = None;
        let mut indices = Vec::new();
        for (dim, index) in place.index.iter().enumerate() {
            let value = self.expr(index);
            let extent = array.extents[dim].clone();
            if !self.is_unproved(place, dim) {
                indices.push(value);
                continue;
            }
            let value = self.body.fix("index", value);
            let ok = self.require_index(value.clone(), extent, dim, place.span);
            if let Some(ok) = &ok {
                let both = |before: Expr| make::binary(BinOp::And, before, ok.clone());
                all_ok = Some(all_ok.map_or_else(|| ok.clone(), both));
            }
            indices.push(self.clamped(ok, value, make::long(0)));
        }
        let index = self.linear(&array.extents, indices);
        let index = array.stride.map_or(index.clone(), |stride| make::mul(index, stride));
        let index = array.window.map_or(index.clone(), |window| make::add(window, index));
        let index = self.held_index(place.array, index);
        let alone = self.is_device_host() || self.body.is_own(array.base);
        let relaxed = place.access == Access::Shared && !alone;
        (Element { base: array.base, index: Box::new(index), path: place.path.clone(), relaxed }, all_ok)
    }

    /// Whether an index is tested when the program runs.
    pub(super) fn is_unproved(&self, place: &Place, dim: usize) -> bool {
        place.unproved & (1 << dim.min(31)) != 0 && !self.func.unchecked
    }

    /// The linear index, with what does not change inside the innermost loops computed outside of them.
    pub(super) fn linear(&mut self, extents: &[Expr], indices: Vec<Expr>) -> Expr {
        let mut linear = make::long(0);
        for (dim, index) in indices.into_iter().enumerate() {
            let row = if dim == 0 { make::long(0) } else { make::mul(linear, extents[dim].clone()) };
            let row = self.body.compute_ahead(row);
            linear = make::add(row, index);
        }
        linear
    }

    /// Emits the check that an index is inside of a dimension.
    pub(super) fn require_index(&mut self, index: Expr, extent: Expr, dim: usize, span: Span) -> Option<Expr> {
        let values = vec![index.clone(), extent.clone(), make::long(dim as i64)];
        self.require(make::inside(index, extent), FaultKind::Index, span, values)
    }

    /// Emits a check. Gives the condition back when checks only raise a flag.
    pub(super) fn require(&mut self, ok: Expr, kind: FaultKind, span: Span, values: Vec<Expr>) -> Option<Expr> {
        match self.checks {
            Checks::Fault => {
                let names = vec![String::new(); values.len()];
                let site = self.site(kind, span, names);
                self.body.push(make::when(make::not(ok), vec![Stmt::Fault { site, values }]));
                None
            }
            Checks::Again(label) => {
                self.body.push(make::when(make::not(ok), vec![Stmt::Leave(Some(label))]));
                None
            }
            Checks::Flag(bad) => {
                let ok = self.body.fix("inside", ok);
                let miss = make::select(ok.clone(), make::long(0), make::long(1));
                self.body.push(make::set(bad, make::binary(BinOp::Or, make::var(bad, Ty::LONG), miss)));
                Some(ok)
            }
        }
    }

    /// The value, or a harmless one where the check only raised a flag.
    fn clamped(&mut self, ok: Option<Expr>, value: Expr, harmless: Expr) -> Expr {
        match ok {
            Some(ok) => make::select(ok, value, harmless),
            None => value,
        }
    }
}

/// The right operand; where it is a constant that the operator has no result for, one that it has. Nobody sees what comes of
/// it: the check before it faults, or was proved to be out of reach.
fn defined(op: BinOp, left: Ty, right: Expr) -> Expr {
    let ExprKind::Int(value) = right.kind else { return right };
    let instead = match op {
        BinOp::Div | BinOp::Rem => (value == 0).then_some(1),
        BinOp::Shl | BinOp::Shr => {
            let width = left.scalar().map_or(0, |scalar| scalar.size() as i128 * 8);
            (!(0..width).contains(&value)).then_some(0)
        }
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => None,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => None,
    };
    match instead {
        Some(value) => Expr { kind: ExprKind::Int(value), ty: right.ty },
        None => right,
    }
}

/// The factors, if an expression is a product of floats.
pub(super) fn product(expr: &par::Expr) -> Option<(&par::Expr, &par::Expr)> {
    match &expr.kind {
        par::ExprKind::Binary { op: BinOp::Mul, left, right, .. } if expr.ty.scalar().is_some_and(Scalar::is_float) => {
            Some((left, right))
        }
        _ => None,
    }
}

/// A constant.
pub(super) fn constant(value: Const, ty: Ty) -> Expr {
    let kind = match value {
        Const::Int(value) => ExprKind::Int(value),
        Const::Float(value) => ExprKind::Float(value),
        Const::Bool(value) => ExprKind::Bool(value),
    };
    Expr { kind, ty }
}

/// Zero of a scalar type.
pub(super) fn zero_of(ty: Ty) -> Expr {
    let kind = match ty {
        Ty::Scalar(Scalar::Bool) => ExprKind::Bool(false),
        Ty::Scalar(Scalar::F32 | Scalar::F64) => ExprKind::Float(0.0),
        Ty::Scalar(_) | Ty::Struct(_) => ExprKind::Int(0),
    };
    Expr { kind, ty }
}

/// What a fault records of a value.
fn as_long(value: Expr) -> Expr {
    make::cast(value, Scalar::I64)
}

/// Whether an integer value fits a type; `None` if every value of its type does.
pub(super) fn fits(value: &Expr, to: Scalar) -> Option<Expr> {
    let limits = limits(value.ty.scalar()?, to);
    let tests = limits.into_iter().map(|(op, bound)| {
        let bound = Expr { kind: ExprKind::Int(bound), ty: value.ty };
        make::binary(op, value.clone(), bound)
    });
    tests.reduce(|all, test| make::binary(BinOp::And, all, test))
}

/// How integers of a type compare with those bounds of another one that some of them are beyond, if they fit it.
pub(super) fn limits(from: Scalar, to: Scalar) -> Vec<(BinOp, i128)> {
    let (Some((low, high)), Some((to_low, to_high))) = (from.integer_range(), to.integer_range()) else {
        return Vec::new();
    };
    let above = (low < to_low).then_some((BinOp::Ge, to_low));
    let below = (high > to_high).then_some((BinOp::Le, to_high));
    above.into_iter().chain(below).collect()
}

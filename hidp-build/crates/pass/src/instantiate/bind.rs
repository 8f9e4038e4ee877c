//! The callee's dimensions as expressions over the caller's extents. The twin of the interpreter's binding: names first, then
//! expressions that are linear in one unbound name, then every extent is checked, in order of the parameters. Settings are the caller's.

use super::linear::{Linear, linear, same, sub};
use super::{Inliner, Instance};
use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, Const, Expr, ExprKind, FaultKind, Func, Stmt, StmtKind, VarId, VarKind};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// One extent of a parameter, and the argument's.
struct Extent {
    param: VarId,
    position: usize,
    /// Over the callee's variables.
    expected: Expr,
    /// Over the caller's.
    found: Expr,
}

impl Inliner<'_> {
    pub(super) fn bind(&mut self, function: &Func, instance: &mut Instance, span: Span, out: &mut Vec<Stmt>) {
        let extents = extents(function, instance);
        for extent in &extents {
            if let ExprKind::Read(dim) = extent.expected.kind
                && function.vars[dim].kind == VarKind::Dim
                && !instance.values.contains_key(&dim)
            {
                instance.values.insert(dim, extent.found.clone());
            }
        }
        loop {
            let mut progress = false;
            for extent in &extents {
                progress |= self.solve(extent, instance, span, out);
            }
            if !progress {
                break;
            }
        }
        for dim in function.dims.iter().filter(|dim| function.vars[**dim].is_setting()) {
            let setting = &function.vars[*dim];
            let own = self.func.dims.iter().copied().find(|own| self.func.vars[*own].name == setting.name);
            let own = own.expect("callers have what their callees are set to");
            instance.values.insert(*dim, Expr::read(own, setting.ty, span));
        }
        for extent in &extents {
            self.check_extent(function, extent, instance, span, out);
        }
    }

    /// Solves an extent for its only unbound name, if it is linear in it.
    fn solve(&mut self, extent: &Extent, instance: &mut Instance, span: Span, out: &mut Vec<Stmt>) -> bool {
        let unknown: Vec<VarId> = unbound(&extent.expected, instance).into_iter().collect();
        let [unknown] = unknown[..] else { return false };
        let Some(Linear { factor, rest }) = linear(&extent.expected, unknown) else { return false };
        if factor.as_int() == Some(0) {
            return false;
        }
        let (factor, rest) = (self.over_caller(&factor, instance), self.over_caller(&rest, instance));
        if factor.as_int().is_none() {
            let cond = Expr::long(BinOp::Ne, factor.clone(), Expr::int(0, span));
            out.push(require(cond, FaultKind::Shape, Vec::new(), span));
        }
        let size = quotient(sub(extent.found.clone(), rest, span), factor, span);
        let size = self.held(size, "size", out);
        let cond = Expr::long(BinOp::Ge, size.clone(), Expr::int(0, span));
        if !is_true(&cond) {
            out.push(require(cond, FaultKind::NegativeSize, vec![(String::new(), size.clone())], span));
        }
        instance.values.insert(unknown, size);
        true
    }

    fn check_extent(&mut self, function: &Func, extent: &Extent, instance: &Instance, span: Span, out: &mut Vec<Stmt>) {
        if !unbound(&extent.expected, instance).is_empty() {
            let never = Expr { kind: ExprKind::Const(Const::Bool(false)), ty: Ty::BOOL, span };
            out.push(require(never, FaultKind::Shape, Vec::new(), span));
            return;
        }
        let expected = self.over_caller(&extent.expected, instance);
        if same(&expected, &extent.found) {
            return;
        }
        let expected = self.held(expected, "expected", out);
        let (name, position) = (&function.vars[extent.param].name, extent.position);
        let values = vec![
            (format!("dimension {position} of `{name}`"), expected.clone()),
            ("the argument's".to_string(), extent.found.clone()),
        ];
        let cond = Expr::long(BinOp::Eq, expected, extent.found.clone());
        out.push(require(cond, FaultKind::Shape, values, span));
    }

    /// A callee's expression over bound names and scalar parameters, over the caller's variables.
    fn over_caller(&self, expr: &Expr, instance: &Instance) -> Expr {
        let mut expr = expr.clone();
        visit::substitute_expr(&mut expr, |var| match (instance.values.get(&var), instance.vars.get(&var)) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(scalar)) => {
                let ty = self.func.vars[*scalar].ty;
                Some(Expr::read(*scalar, ty, self.func.span))
            }
            (None, None) => None,
        });
        expr
    }
}

fn extents(function: &Func, instance: &Instance) -> Vec<Extent> {
    let mut extents = Vec::new();
    for param in &function.params {
        let Some(found) = instance.extents.get(param) else { continue };
        for (position, (expected, found)) in function.vars[*param].shape.iter().zip(found).enumerate() {
            extents.push(Extent { param: *param, position, expected: expected.clone(), found: found.clone() });
        }
    }
    extents
}

fn unbound(expr: &Expr, instance: &Instance) -> OrdSet<VarId> {
    let mut unbound = OrdSet::new();
    visit::walk_expr_vars(expr, |var, _| {
        if !instance.values.contains_key(&var) && !instance.vars.contains_key(&var) {
            unbound.insert(var);
        }
    });
    unbound
}

/// A statement that faults unless `cond`.
pub(super) fn require(cond: Expr, fault: FaultKind, values: Vec<(String, Expr)>, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Require { cond, fault, values }, span }
}

/// `a / b` of a divisor that is not zero.
fn quotient(a: Expr, b: Expr, span: Span) -> Expr {
    match b.as_int() {
        Some(1) => a,
        Some(_) | None => {
            let (left, right) = (Box::new(a), Box::new(b));
            Expr { kind: ExprKind::Binary { op: BinOp::Div, left, right, checked: false }, ty: Ty::LONG, span }
        }
    }
}

/// Whether a comparison of constants holds.
pub(super) fn is_true(cond: &Expr) -> bool {
    let ExprKind::Binary { op, left, right, checked: _ } = &cond.kind else { return false };
    let (Some(left), Some(right)) = (left.as_int(), right.as_int()) else { return false };
    match op {
        BinOp::Lt => left < right,
        BinOp::Le => left <= right,
        BinOp::Gt => left > right,
        BinOp::Ge => left >= right,
        BinOp::Eq => left == right,
        BinOp::Ne => left != right,
        BinOp::Add
        | BinOp::Sub
        | BinOp::Mul
        | BinOp::Div
        | BinOp::Rem
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::Shl
        | BinOp::Shr => false,
    }
}

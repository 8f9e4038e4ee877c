//! Binding a function's dimensions from the shapes of its arguments.

use super::super::{BinOp, Expr, ExprKind, FaultKind, Func, UnOp, VarId, VarKind};
use super::{Machine, Run, Slot};
use hidp_syntax::index::Id;

/// Why the shapes do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) kind: FaultKind,
    pub(super) values: Vec<i64>,
    /// The parameter and the position of the extent.
    param: VarId,
    position: usize,
    /// The parameter that bound the name, if the extent is a name.
    bound_by: Option<VarId>,
}

impl Mismatch {
    pub(super) fn describe(&self, function: &Func) -> String {
        let name = |var: VarId| &function.vars[var].name;
        let extent = format!("dimension {} of `{}`", self.position, name(self.param));
        let by = self.bound_by.map(|by| format!(" (from `{}`)", name(by))).unwrap_or_default();
        match (self.kind, self.values.as_slice()) {
            (FaultKind::Shape, [expected, found]) => format!("{extent} is {found}, not {expected}{by}"),
            (FaultKind::NegativeSize, [size]) => format!("{extent} makes a dimension {size}"),
            _ => format!("{extent} does not bind its dimension"),
        }
    }
}

/// `factor · name + rest`
struct Linear {
    factor: i64,
    rest: i64,
}

impl<'p> Machine<'p> {
    /// Binds the dimensions from the arrays that are in the frame, then checks every extent. Names bind first, then
    /// expressions in one unbound name that are linear in it, in order of the parameters.
    pub(super) fn bind(&mut self, function: &'p Func) -> Run<Result<(), Mismatch>> {
        let extents: Vec<(VarId, usize, &'p Expr, i64)> = self.extents(function);
        let mut bound_by: Vec<Option<VarId>> = vec![None; function.vars.len()];
        for (param, _, expr, found) in &extents {
            if let ExprKind::Read(dim) = expr.kind
                && function.vars[dim].kind == VarKind::Dim
                && bound_by[dim.index()].is_none()
            {
                self.frame[dim.index()] = Slot::Scalar((*found).into());
                bound_by[dim.index()] = Some(*param);
            }
        }
        loop {
            let mut progress = false;
            for (param, position, expr, found) in &extents {
                let Some(unknown) = self.only_unknown(expr) else { continue };
                let Some(linear) = self.linear(expr, unknown)? else { continue };
                if linear.factor == 0 {
                    continue;
                }
                let size = found.wrapping_sub(linear.rest).wrapping_div(linear.factor);
                if size < 0 {
                    let (param, position) = (*param, *position);
                    let values = vec![size];
                    let kind = FaultKind::NegativeSize;
                    return Ok(Err(Mismatch { kind, values, param, position, bound_by: None }));
                }
                self.frame[unknown.index()] = Slot::Scalar(size.into());
                bound_by[unknown.index()] = Some(*param);
                progress = true;
            }
            if !progress {
                break;
            }
        }
        for (dim, value) in self.program.usual_settings(function) {
            self.frame[dim.index()] = Slot::Scalar(value.into());
        }
        self.check_extents(&extents, &bound_by)
    }

    /// Every extent of every array parameter, with the argument's.
    fn extents(&self, function: &'p Func) -> Vec<(VarId, usize, &'p Expr, i64)> {
        let mut extents = Vec::new();
        for param in &function.params {
            for (position, expr) in function.vars[*param].shape.iter().enumerate() {
                let shape = &self.memory.get(self.buffer(*param)).shape;
                extents.push((*param, position, expr, shape[position]));
            }
        }
        extents
    }

    fn check_extents(
        &mut self,
        extents: &[(VarId, usize, &'p Expr, i64)],
        bound_by: &[Option<VarId>],
    ) -> Run<Result<(), Mismatch>> {
        for (param, position, expr, found) in extents {
            let mismatch = |kind, values, bound_by| {
                Ok(Err(Mismatch { kind, values, param: *param, position: *position, bound_by }))
            };
            if !self.unknowns(expr).is_empty() {
                return mismatch(FaultKind::Shape, vec![], None);
            }
            let expected = self.long(expr)?;
            if expected != *found {
                let by = match expr.kind {
                    ExprKind::Read(dim) => bound_by[dim.index()],
                    _ => None,
                };
                return mismatch(FaultKind::Shape, vec![expected, *found], by);
            }
        }
        Ok(Ok(()))
    }

    fn unknowns(&self, expr: &Expr) -> Vec<VarId> {
        let mut unknown = Vec::new();
        super::super::visit::walk_expr_vars(expr, |var, _| {
            if matches!(self.frame[var.index()], Slot::Unset) && !unknown.contains(&var) {
                unknown.push(var);
            }
        });
        unknown
    }

    fn only_unknown(&self, expr: &Expr) -> Option<VarId> {
        match self.unknowns(expr).as_slice() {
            [unknown] => Some(*unknown),
            _ => None,
        }
    }

    /// The expression as a linear function of `unknown`, if it has that form.
    fn linear(&mut self, expr: &'p Expr, unknown: VarId) -> Run<Option<Linear>> {
        if self.unknowns(expr).is_empty() {
            return Ok(Some(Linear { factor: 0, rest: self.long(expr)? }));
        }
        Ok(match &expr.kind {
            ExprKind::Read(var) => (*var == unknown).then_some(Linear { factor: 1, rest: 0 }),
            ExprKind::Convert { operand, mode: _ } => self.linear(operand, unknown)?,
            ExprKind::Unary(UnOp::Neg, operand) => self
                .linear(operand, unknown)?
                .map(|of| Linear { factor: of.factor.wrapping_neg(), rest: of.rest.wrapping_neg() }),
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), left, right, checked: _ } => {
                match (self.linear(left, unknown)?, self.linear(right, unknown)?) {
                    (Some(left), Some(right)) => combine(*op, &left, &right),
                    (None, _) | (_, None) => None,
                }
            }
            ExprKind::Const(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        })
    }
}

fn combine(op: BinOp, left: &Linear, right: &Linear) -> Option<Linear> {
    let (factor, rest) = match op {
        BinOp::Add => (left.factor.checked_add(right.factor)?, left.rest.checked_add(right.rest)?),
        BinOp::Sub => (left.factor.checked_sub(right.factor)?, left.rest.checked_sub(right.rest)?),
        BinOp::Mul if left.factor == 0 => (left.rest.checked_mul(right.factor)?, left.rest.checked_mul(right.rest)?),
        BinOp::Mul if right.factor == 0 => (left.factor.checked_mul(right.rest)?, left.rest.checked_mul(right.rest)?),
        _ => return None,
    };
    Some(Linear { factor, rest })
}

//! Calls in expressions: their order of evaluation, and whether they are evaluated at all, are preserved.

use super::*;
use hidp_ir::par::effects::expr_may_fault;

impl Inliner<'_> {
    /// Appends the bodies of what `expr` calls, and leaves their results in the place of the calls.
    pub(super) fn expr(&mut self, expr: &mut Expr, out: &mut Vec<Stmt>) {
        if !self.calls(expr) {
            return;
        }
        match &mut expr.kind {
            ExprKind::Const(_) | ExprKind::Read(_) => {}
            ExprKind::Load(place) => self.operands(self.movable(place).iter_mut().collect(), out),
            ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
                self.expr(operand, out);
            }
            ExprKind::Binary { left, right, .. } => self.operands(vec![left, right], out),
            ExprKind::Lazy { left, right, .. } if self.branchless || !self.calls(right) => self.expr(left, out),
            ExprKind::Select { cond, then, otherwise }
                if self.branchless || !self.calls(then) && !self.calls(otherwise) =>
            {
                self.expr(cond, out);
            }
            ExprKind::Lazy { and, left, right } => {
                let known = Expr { kind: ExprKind::Const(Const::Bool(!*and)), ty: Ty::BOOL, span: expr.span };
                let (left, right) = (taken(left), taken(right));
                let (then, otherwise) = if *and { (right, known) } else { (known, right) };
                *expr = self.branch(left, then, otherwise, out);
            }
            ExprKind::Select { cond, then, otherwise } => {
                let (cond, then, otherwise) = (taken(cond), taken(then), taken(otherwise));
                *expr = self.branch(cond, then, otherwise, out);
            }
            ExprKind::Math(_, operands) | ExprKind::Struct(_, operands) => {
                self.operands(operands.iter_mut().collect(), out);
            }
            ExprKind::Call(function, args) => {
                let function = *function;
                self.operands(args.iter_mut().collect(), out);
                if self.takes(function) {
                    let args = std::mem::take(args);
                    let result = self.put(function, args, expr.span, out);
                    *expr = Expr::read(result, expr.ty, expr.span);
                }
            }
        }
    }

    /// The indices whose calls may move. Each is tested before the next is evaluated, so what may fault behind such a test stays there.
    pub(super) fn movable<'e>(&self, place: &'e mut Place) -> &'e mut [Expr] {
        let behind_a_test = |dim: &usize| {
            let tested = place.unproved & ((1 << (*dim).min(31)) - 1) != 0;
            tested && expr_may_fault(self.program, &place.index[*dim])
        };
        let end = (1..place.index.len()).find(behind_a_test).unwrap_or(place.index.len());
        &mut place.index[..end]
    }

    /// Expressions that are evaluated one after the other.
    pub(super) fn operands(&mut self, mut operands: Vec<&mut Expr>, out: &mut Vec<Stmt>) {
        let Some(last) = operands.iter().rposition(|operand| self.calls(operand)) else { return };
        for operand in &mut operands[..last] {
            self.expr(operand, out);
            self.keep_faults(operand, out);
        }
        self.expr(operands[last], out);
    }

    /// What may fault in `expr` is computed here. Nothing else is: a product that moved away from its sum would not be contracted with it.
    fn keep_faults(&mut self, expr: &mut Expr, out: &mut Vec<Stmt>) {
        if !expr_may_fault(self.program, expr) {
            return;
        }
        match &mut expr.kind {
            ExprKind::Const(_) | ExprKind::Read(_) => {}
            ExprKind::Unary(_, operand) | ExprKind::Field(operand, _) => self.keep_faults(operand, out),
            ExprKind::Binary { left, right, checked: false, .. } => {
                self.keep_faults(left, out);
                self.keep_faults(right, out);
            }
            ExprKind::Math(_, operands) | ExprKind::Struct(_, operands) => {
                operands.iter_mut().for_each(|operand| self.keep_faults(operand, out));
            }
            ExprKind::Load(_)
            | ExprKind::Binary { checked: true, .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Call(..) => {
                let var = self.local("value", expr.ty, expr.span);
                let read = Expr::read(var, expr.ty, expr.span);
                self.give(var, std::mem::replace(expr, read), out);
            }
        }
    }

    /// An expression that evaluates some operands only where they are needed becomes a branch, with the calls inside.
    fn branch(&mut self, cond: Expr, then: Expr, otherwise: Expr, out: &mut Vec<Stmt>) -> Expr {
        let (ty, span) = (then.ty, cond.span);
        let var = self.local("value", ty, span);
        let set = |value: Expr| Block { stmts: vec![Stmt { span: value.span, kind: StmtKind::Assign { var, value } }] };
        let (then, otherwise) = (set(then), set(otherwise));
        out.push(Stmt { kind: StmtKind::Declare { var, zero: false }, span });
        self.stmt(Stmt { kind: StmtKind::If { cond, then, otherwise }, span }, out);
        Expr::read(var, ty, span)
    }
}

/// An operand that is put elsewhere.
fn taken(operand: &mut Expr) -> Expr {
    let (ty, span) = (operand.ty, operand.span);
    std::mem::replace(operand, Expr { kind: ExprKind::Const(Const::Bool(false)), ty, span })
}

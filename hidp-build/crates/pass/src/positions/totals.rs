//! Sums of all flags, which the last elements give.

use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, FaultKind, Place, Stmt, StmtKind, VarId, same};
use hidp_syntax::ty::Ty;

use super::Sum;

/// What a value is converted from.
pub(super) fn converted(value: &Expr) -> &Expr {
    match &value.kind {
        ExprKind::Convert { operand, .. } => operand,
        _ => value,
    }
}

/// The places of a sum of all flags: the last position, and beside an exclusive one the last flag.
pub(super) fn is_total<'e>(value: &'e Expr, sum: &Sum) -> Option<Vec<&'e Place>> {
    let last = |expr: &'e Expr, array: VarId| match &expr.kind {
        ExprKind::Load(place) if place.array == array && place.path.is_empty() => {
            let [index] = &place.index[..] else { return None };
            let end = Expr::long(BinOp::Sub, sum.size.clone(), Expr::int(1, sum.span));
            same::expr(index, &end).then_some(place)
        }
        _ => None,
    };
    if !sum.exclusive {
        return last(value, sum.places).map(|place| vec![place]);
    }
    let ExprKind::Binary { op: BinOp::Add, left, right, .. } = &value.kind else { return None };
    let both = |places: &'e Expr, flag: &'e Expr| Some((last(places, sum.places)?, last(flag, sum.flag)?));
    match both(left, right) {
        Some((places, flag)) => Some(vec![places, flag]),
        None => both(right, left).map(|(places, flag)| vec![flag, places]),
    }
}

/// Puts the sum of all flags where the last elements give it.
pub(super) struct Totals<'a> {
    pub(super) sum: &'a Sum,
    pub(super) total: VarId,
    /// How many there were.
    pub(super) known: usize,
}

impl Totals<'_> {
    pub(super) fn of_stmt(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        if let StmtKind::Assign { value, .. } = &stmt.kind {
            stmts.extend(self.first_doubt(value));
        }
        let tested = !stmts.is_empty();
        let mut block = Block { stmts: vec![stmt.clone()] };
        let (sum, total) = (self.sum, self.total);
        visit::map_exprs(&mut block, |expr| {
            let sure =
                is_total(expr, sum).is_some_and(|places| tested || places.iter().all(|place| place.unproved == 0));
            if sure {
                *expr = Expr::read(total, sum.op.ty, expr.span);
                self.known += 1;
            }
        });
        stmts.extend(block.stmts);
        stmts
    }

    /// The test of the first element that may not be there, before all of a value.
    fn first_doubt(&self, value: &Expr) -> Option<Stmt> {
        let places = is_total(converted(value), self.sum)?;
        let place = places.into_iter().find(|place| place.unproved != 0)?;
        let (index, zero) = (place.index[0].clone(), Expr::int(0, place.span));
        let kind = ExprKind::Binary {
            op: BinOp::Ge,
            left: Box::new(index.clone()),
            right: Box::new(zero.clone()),
            checked: false,
        };
        let cond = Expr { kind, ty: Ty::BOOL, span: place.span };
        let values = [("index", index), ("extent", self.sum.size.clone()), ("dimension", zero)];
        let values = values.map(|(name, value)| (name.to_string(), value)).to_vec();
        Some(Stmt { kind: StmtKind::Require { cond, fault: FaultKind::Index, values }, span: place.span })
    }
}

//! `#pragma hidp schedule(i + j)`: an order of cells that the program asks for.

use hidp_ir::par::{BinOp, ConvertMode, Expr, ExprKind, Iter, Nest, UnOp, VarId};
use hidp_prove::order::Row;
use hidp_syntax::ast::{self, DirectiveKind};
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;

use super::super::cx::Cx;

/// The largest factor of an index: numbers of steps stay far from what wraps.
const LARGEST: i64 = 64;

/// A schedule before a recurrence.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) rows: Vec<Row>,
    pub(super) span: Span,
}

impl Cx<'_> {
    /// The schedule before a recurrence with these indices, if there is one.
    pub(super) fn schedule(&mut self, item: &ast::Recurrence, index: &[Iter]) -> Option<Schedule> {
        let mut schedules = item.directives.iter().filter_map(|directive| match &directive.kind {
            DirectiveKind::Schedule(rows) => Some((rows, directive.span)),
            DirectiveKind::Level(_)
            | DirectiveKind::Ordered
            | DirectiveKind::Unordered
            | DirectiveKind::Unchecked
            | DirectiveKind::NoContract
            | DirectiveKind::BlockSize(_)
            | DirectiveKind::Unroll(_)
            | DirectiveKind::Pin(_)
            | DirectiveKind::Allow(_) => None,
        });
        let (written, span) = schedules.next()?;
        if let Some((_, again)) = schedules.next() {
            return self.error(
                Diagnostic::new(Code::DirectiveArgument, again, "a recurrence has one schedule")
                    .label("a second one")
                    .also(span, "the first one"),
            );
        }
        self.push_scope();
        for (written, iter) in item.index.iter().zip(index) {
            self.bind(&written.name.name, iter.var);
        }
        let rows = written.iter().map(|row| self.schedule_row(row, index)).collect::<Option<_>>();
        self.pop_scope();
        Some(Schedule { rows: rows?, span })
    }

    fn schedule_row(&mut self, written: &ast::Expr, index: &[Iter]) -> Option<Row> {
        let value = self.long(written, "a row of a schedule", ConvertMode::Cast)?;
        let row = sum(&value, index).filter(|sum| sum.last() == Some(&0)).map(|mut sum| {
            sum.pop();
            sum
        });
        let fits =
            |row: &Row| row.iter().all(|factor| factor.abs() <= LARGEST) && row.iter().any(|factor| *factor != 0);
        row.filter(fits).or_else(|| {
            self.error(
                Diagnostic::new(
                    Code::DirectiveArgument,
                    written.span,
                    "a schedule is made of sums of multiples of indices",
                )
                .label(format!("no such sum, or a factor that is not from -{LARGEST} to {LARGEST}"))
                .help("steps are numbered by the indices alone: `schedule(i + j)`"),
            )
        })
    }

    /// The schedules of recurrences that use each other, where one has a schedule: each its own, or that of another one whose
    /// indices have the same names.
    pub(super) fn schedules(
        &mut self,
        tables: &[(VarId, &[Iter])],
        known: &OrdMap<VarId, Schedule>,
    ) -> Option<Vec<Schedule>> {
        let first = tables.iter().find_map(|(array, _)| known.get(array))?.clone();
        let names =
            |index: &[Iter]| -> Vec<String> { index.iter().map(|iter| self.vars[iter.var].name.clone()).collect() };
        let mut all = Vec::new();
        for (array, index) in tables {
            let alike = tables.iter().filter(|(_, other)| names(other) == names(index));
            let own = known.get(array).or_else(|| alike.into_iter().find_map(|(other, _)| known.get(other)));
            let Some(own) = own else {
                let var = &self.vars[*array];
                let headline = format!("`{}` has no schedule", var.name);
                let diagnostic = Diagnostic::new(Code::DirectiveArgument, var.span, headline)
                    .label("has other indices")
                    .also(first.span, "a recurrence that it uses, and that uses it, has one");
                return self.error(diagnostic);
            };
            if own.rows.len() != first.rows.len() {
                let headline = "schedules of recurrences that use each other have the same number of sums";
                let diagnostic = Diagnostic::new(Code::DirectiveArgument, own.span, headline)
                    .label(own.rows.len().to_string())
                    .also(first.span, first.rows.len().to_string());
                return self.error(diagnostic);
            }
            all.push(own.clone());
        }
        Some(all)
    }
}

/// The directions of loops over the indices as they are written, if these rows mean such loops.
pub(super) fn directions(rows: &[Row]) -> Option<Row> {
    let mut flips = Row::new();
    for (at, row) in rows.iter().enumerate() {
        if row.len() != rows.len() || row.iter().enumerate().any(|(other, factor)| other != at && *factor != 0) {
            return None;
        }
        flips.push(row[at].signum());
    }
    Some(flips)
}

/// The same loops for all tables.
pub(super) fn nest(schedules: &[Schedule], ranks: Vec<u32>) -> Option<Nest> {
    let mut all = schedules.iter().map(|schedule| directions(&schedule.rows));
    let flips = all.next()??;
    all.all(|other| other.as_ref() == Some(&flips)).then_some(Nest { flips, ranks })
}

/// Factors of the indices in a sum, and the constant behind them.
fn sum(expr: &Expr, index: &[Iter]) -> Option<Vec<i64>> {
    let constant = |value: i64| {
        let mut sum = vec![0; index.len() + 1];
        sum[index.len()] = value;
        sum
    };
    let joined = |left: Vec<i64>, right: Vec<i64>, sign: i64| -> Option<Vec<i64>> {
        left.iter().zip(&right).map(|(left, right)| left.checked_add(right.checked_mul(sign)?)).collect()
    };
    match &expr.kind {
        ExprKind::Const(_) => Some(constant(i64::try_from(expr.as_int()?).ok()?)),
        ExprKind::Read(var) => {
            let at = index.iter().position(|iter| iter.var == *var)?;
            let mut sum = constant(0);
            sum[at] = 1;
            Some(sum)
        }
        ExprKind::Convert { operand, mode: ConvertMode::Cast } => sum(operand, index),
        ExprKind::Unary(UnOp::Neg, operand) => joined(constant(0), sum(operand, index)?, -1),
        ExprKind::Binary { op, left, right, .. } => {
            let (left, right) = (sum(left, index)?, sum(right, index)?);
            match op {
                BinOp::Add => joined(left, right, 1),
                BinOp::Sub => joined(left, right, -1),
                BinOp::Mul => {
                    let is_constant = |sum: &[i64]| sum[..index.len()].iter().all(|factor| *factor == 0);
                    let (factor, other) = if is_constant(&left) { (left, right) } else { (right, left) };
                    is_constant(&factor).then(|| joined(constant(0), other, factor[index.len()]))?
                }
                BinOp::Div
                | BinOp::Rem
                | BinOp::Shl
                | BinOp::Shr
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Lt
                | BinOp::Le
                | BinOp::Gt
                | BinOp::Ge
                | BinOp::Eq
                | BinOp::Ne => None,
            }
        }
        ExprKind::Unary(..)
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Load(_)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

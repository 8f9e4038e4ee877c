//! Borders of loops in vector lanes.
//!
//! A comparison of the loop's variable with a position, `j == 0` or `n - 1 - j == 0`, holds in one iteration at most, usually the first or the
//! last. An order, `j > 0` or `j + 1 < n`, usually holds in all but the first or the last. Vectorised, both sides of such a branch run in all
//! iterations, with masked loads and stores; if a C++ compiler has none for these accesses, it does not vectorise the loop. So the first and the
//! last iteration run by themselves, and between them runs a copy of the loop in which each comparison has its usual value. If a border is
//! elsewhere, the loop runs unchanged.

use std::mem;

use super::decided::decide;
use super::{copy, make, unswitch};
use hidp_ir::imp::visit::{
    child_blocks, child_blocks_mut, each_expr, each_stmt, each_subexpr, introduced, operands_mut, overwritten,
    stmt_exprs,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::BinOp;
use hidp_plan::target::LoopRules;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

/// Rewrites all such loops of a function.
pub(super) fn apart(function: &mut Function, rules: LoopRules) {
    in_block(&mut function.body, &function.params, &mut function.vars, rules);
}

fn in_block(block: &mut Block, params: &[VarId], vars: &mut Arena<VarId, Var>, rules: LoopRules) {
    for mut stmt in mem::take(&mut block.stmts) {
        if let Stmt::Loop(node) = &stmt {
            let borders = Borders::of(node, params, vars);
            if (1..=rules.borders as usize).contains(&borders.found.len()) {
                split(node, &borders, vars, block, rules);
                continue;
            }
            if let Some(branch) = unswitch::choices(node, vars, rules) {
                block.stmts.push(branch);
                continue;
            }
        }
        child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, params, vars, rules));
        block.stmts.push(stmt);
    }
}

/// Where a comparison of a loop's variable is not what it is in most iterations.
#[derive(Clone, PartialEq)]
enum Border {
    /// In this iteration.
    At(Expr),
    /// Before or behind all others: where this order does not hold.
    Beyond(Expr),
}

/// Where a loop's variable is compared with what keeps its value.
struct Borders<'a> {
    var: VarId,
    /// The function's: extents are among them.
    params: &'a [VarId],
    /// What the loop changes.
    changed: OrdSet<VarId>,
    found: Vec<Border>,
}

impl<'a> Borders<'a> {
    /// Those on which a branch depends that loads or stores, a choice between indices, or whether an operand loads. None of a loop that is
    /// not in lanes, or folds others than integers.
    fn of(node: &Loop, params: &'a [VarId], vars: &Arena<VarId, Var>) -> Borders<'a> {
        let mut changed = OrdSet::from([node.var]);
        each_stmt(&node.body, &mut |stmt| {
            changed.extend(introduced(stmt));
            changed.extend(overwritten(stmt));
        });
        let mut borders = Borders { var: node.var, params, changed, found: Vec::new() };
        let is_integer =
            |var: VarId| matches!(vars[var].kind, VarKind::Value(Ty::Scalar(scalar)) if scalar.is_integer());
        let in_lanes =
            matches!(&node.kind, LoopKind::Simd { reductions } if reductions.iter().all(|(var, _)| is_integer(*var)));
        if in_lanes && make::as_int(&node.step) == Some(1) {
            each_stmt(&node.body, &mut |stmt| borders.of_stmt(stmt));
        }
        borders
    }

    fn of_stmt(&mut self, stmt: &Stmt) {
        if let Stmt::If { cond, .. } = stmt
            && child_blocks(stmt).into_iter().any(touches_memory)
        {
            self.of_condition(cond);
        }
        for expr in stmt_exprs(stmt) {
            each_subexpr(expr, &mut |sub| {
                // What is chosen is loaded, or, as a `long`, perhaps an index.
                if let ExprKind::Select(cond, then, otherwise) = &sub.kind
                    && (sub.ty == Ty::LONG || loads(then) || loads(otherwise))
                {
                    self.of_condition(cond);
                }
                if let ExprKind::Lazy(_, left, right) = &sub.kind
                    && loads(right)
                {
                    self.of_condition(left);
                }
            });
        }
    }

    fn of_condition(&mut self, cond: &Expr) {
        each_subexpr(cond, &mut |sub| {
            if let Some((border, _)) = self.compared(sub)
                && !self.found.contains(&border)
            {
                self.found.push(border);
            }
        });
    }

    /// The border of an expression that compares the variable, and what the expression is between borders.
    fn compared(&self, expr: &Expr) -> Option<(Border, bool)> {
        let ExprKind::Binary(op, left, right) = &expr.kind else { return None };
        let usual = match op {
            BinOp::Eq => false,
            BinOp::Ne => true,
            _ => return self.ordered(expr),
        };
        let ((left, rest), (right, other)) = (self.linear(left)?, self.linear(right)?);
        match left - right {
            1 => Some((Border::At(make::sub(other, rest)), usual)),
            -1 => Some((Border::At(make::sub(rest, other)), usual)),
            _ => None,
        }
    }

    /// Of `j` or `j + 1` beside 0 or 1, which most iterations lie above, or what may be an extent, which they lie below. Neither of both wraps,
    /// so the order changes once at most.
    fn ordered(&self, expr: &Expr) -> Option<(Border, bool)> {
        let ExprKind::Binary(op, left, right) = &expr.kind else { return None };
        let (iterates, other) = match op {
            BinOp::Gt | BinOp::Ge => (left, right),
            BinOp::Lt | BinOp::Le => (right, left),
            _ => return None,
        };
        // `iterates` is greater, if the variable is there.
        let (position, is_greater) = match (self.linear(iterates)?, self.linear(other)?) {
            ((1, rest), (0, position)) if matches!(make::as_int(&rest), Some(0 | 1)) => (position, true),
            ((0, position), (1, rest)) if matches!(make::as_int(&rest), Some(0 | 1)) => (position, false),
            _ => return None,
        };
        let lies_above = match make::as_int(&position) {
            Some(number) if (0..=1).contains(&number) => true,
            Some(_) => return None,
            None if self.is_extent(&position) => false,
            None => return None,
        };
        let usual = lies_above == is_greater;
        Some((Border::Beyond(if usual { expr.clone() } else { make::not(expr.clone()) }), usual))
    }

    /// Whether it may be the extent of an array, or that and a number. What other loops count is none: a triangle has no borders.
    fn is_extent(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Var(var) => self.params.contains(var),
            ExprKind::Binary(BinOp::Add | BinOp::Sub, left, right) => {
                self.is_extent(left) && make::as_int(right).is_some()
            }
            _ => false,
        }
    }

    /// Whether iteration `at` lies on a border or beyond.
    fn is_on(&self, border: &Border, at: &Expr) -> Expr {
        match border {
            Border::At(position) => make::binary(BinOp::Eq, position.clone(), at.clone()),
            Border::Beyond(order) => make::not(self.with_variable(order, at)),
        }
    }

    /// Whether one of the iterations from `low` to below `high` does.
    fn is_within(&self, border: &Border, low: &Expr, high: &Expr) -> Expr {
        match border {
            Border::At(position) => {
                let above = make::binary(BinOp::Ge, position.clone(), low.clone());
                make::binary(BinOp::And, above, make::binary(BinOp::Lt, position.clone(), high.clone()))
            }
            Border::Beyond(_) => {
                let end = make::sub(high.clone(), make::long(1));
                or(self.is_on(border, low), self.is_on(border, &end))
            }
        }
    }

    fn with_variable(&self, expr: &Expr, at: &Expr) -> Expr {
        let mut of = expr.clone();
        self.replace(&mut of, at);
        of
    }

    fn replace(&self, expr: &mut Expr, at: &Expr) {
        if matches!(expr.kind, ExprKind::Var(var) if var == self.var) {
            *expr = at.clone();
            return;
        }
        operands_mut(expr).into_iter().for_each(|operand| self.replace(operand, at));
    }

    /// How often an expression has the variable, and what is added to that: nothing that can fault, or that the loop changes.
    fn linear(&self, expr: &Expr) -> Option<(i64, Expr)> {
        if expr.ty != Ty::LONG {
            return None;
        }
        match &expr.kind {
            ExprKind::Int(_) => Some((0, expr.clone())),
            ExprKind::Var(var) if *var == self.var => Some((1, make::long(0))),
            ExprKind::Var(var) if !self.changed.contains(var) => Some((0, expr.clone())),
            ExprKind::Binary(op, left, right) => {
                let ((left, rest), (right, other)) = (self.linear(left)?, self.linear(right)?);
                match op {
                    BinOp::Add => Some((left + right, make::add(rest, other))),
                    BinOp::Sub => Some((left - right, make::sub(rest, other))),
                    BinOp::Mul if left == 0 && right == 0 => Some((0, make::mul(rest, other))),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A block where the variable is on none of the borders.
    fn decide(&self, block: &mut Block) {
        decide(block, &|expr| self.compared(expr).and_then(|(at, usual)| self.found.contains(&at).then_some(usual)));
    }
}

pub(super) fn loads(expr: &Expr) -> bool {
    let mut found = false;
    each_subexpr(expr, &mut |sub| found |= matches!(sub.kind, ExprKind::Load(_)));
    found
}

fn touches_memory(block: &Block) -> bool {
    let mut found = false;
    each_stmt(block, &mut |stmt| found |= matches!(stmt, Stmt::Store { .. }));
    each_expr(block, &mut |expr| found |= loads(expr));
    found
}

/// Two rounds of the loop as it is, for the first and the last or for all of them, and the copy after the first.
fn split(node: &Loop, borders: &Borders<'_>, vars: &mut Arena<VarId, Var>, block: &mut Block, rules: LoopRules) {
    let mut stmts = Vec::new();
    let mut let_long = |name: &str, init: Expr| {
        let var = vars.push(Var { name: name.to_owned(), kind: VarKind::Value(Ty::LONG) });
        stmts.push(Stmt::Let { var, init: Some(init) });
        make::var(var, Ty::LONG)
    };
    let (lo, hi) = (let_long("lo", node.lo.clone()), let_long("hi", node.hi.clone()));
    let is_some = make::binary(BinOp::Lt, node.lo.clone(), node.hi.clone());
    let mut named = |border: &Border| match border {
        Border::At(position) => Border::At(let_long("border", position.clone())),
        Border::Beyond(order) => Border::Beyond(order.clone()),
    };
    let each: Vec<Border> = borders.found.iter().map(&mut named).collect();
    let is_one = |of: &dyn Fn(&Border) -> Expr| each.iter().map(of).reduce(or).expect("a border");
    let end = make::sub(hi.clone(), make::long(1));
    let first = is_one(&|border| borders.is_on(border, &lo));
    let last = is_one(&|border| borders.is_on(border, &end));
    let one_if = |cond: Expr| make::select(cond, make::long(1), make::long(0));
    let low = let_long("low", make::add(lo.clone(), one_if(first)));
    let high = let_long("high", make::sub(hi.clone(), one_if(last)));
    let elsewhere = is_one(&|border| borders.is_within(border, &low, &high));
    let all_or = |part: Expr| make::select(elsewhere.clone(), hi.clone(), part);
    let begin = let_long("begin", all_or(make::min(low.clone(), hi.clone())));
    let end = let_long("end", all_or(make::max(high.clone(), begin.clone())));
    let mut between = Loop { lo: begin.clone(), hi: end.clone(), ..node.clone() };
    borders.decide(&mut between.body);
    let between = copy::of(between, vars);
    let between = unswitch::choices(&between, vars, rules).unwrap_or(Stmt::Loop(between));
    let round = vars.push(Var { name: "round".to_owned(), kind: VarKind::Value(Ty::LONG) });
    let is_first = make::binary(BinOp::Eq, make::var(round, Ty::LONG), make::long(0));
    let border = Loop {
        lo: make::select(is_first.clone(), lo, end),
        hi: make::select(is_first.clone(), begin, hi),
        ..node.clone()
    };
    let body = Block { stmts: vec![Stmt::Loop(border), make::when(is_first, vec![between])] };
    let (lo, hi, step) = (make::long(0), make::long(2), make::long(1));
    stmts.push(Stmt::Loop(Loop { var: round, lo, hi, step, kind: LoopKind::Seq, body }));
    // Without iterations, an order that holds nowhere would put its ends far apart.
    if each.iter().any(|border| matches!(border, Border::Beyond(_))) {
        block.stmts.push(make::when(is_some, stmts));
    } else {
        block.stmts.extend(stmts);
    }
}

fn or(left: Expr, right: Expr) -> Expr {
    make::binary(BinOp::Or, left, right)
}

//! Borders of loops in vector lanes.
//!
//! A comparison of the loop's variable with a position, `j == 0` or `n - 1 - j == 0`, holds in one iteration at most, usually the first or the
//! last. A branch on it is run in lanes for all iterations, both sides of it, by masked loads and stores; where a C++ compiler has none for
//! these accesses, it makes no lanes at all. So the first and the last iteration run by themselves, and between them a copy of the loop in
//! which those comparisons are false. Where such a position lies elsewhere, the loop runs as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::make;
use hidp_ir::imp::visit::{
    child_blocks, child_blocks_mut, each_expr, each_stmt, each_subexpr, expr_name_mut, introduced, names_mut,
    operands_mut, overwritten, stmt_exprs, stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, UnOp};
use hidp_syntax::index::Arena;
use hidp_syntax::ty::Ty;

/// With more positions the loop is left as it is.
const MOST: usize = 4;

/// Rewrites all such loops of a function.
pub(super) fn apart(function: &mut Function) {
    in_block(&mut function.body, &mut function.vars);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>) {
    for mut stmt in mem::take(&mut block.stmts) {
        if let Stmt::Loop(node) = &stmt {
            let positions = Positions::of(node);
            if (1..=MOST).contains(&positions.found.len()) {
                split(node, &positions, vars, block);
                continue;
            }
        }
        child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars));
        block.stmts.push(stmt);
    }
}

/// Where a loop's variable is compared with what keeps its value.
struct Positions {
    var: VarId,
    /// What the loop changes.
    changed: BTreeSet<VarId>,
    found: Vec<Expr>,
}

impl Positions {
    /// Those on which a branch depends that loads or stores, or a choice between indices. None of a loop that is not in lanes, or folds.
    fn of(node: &Loop) -> Positions {
        let mut changed = BTreeSet::from([node.var]);
        each_stmt(&node.body, &mut |stmt| {
            changed.extend(introduced(stmt));
            changed.extend(overwritten(stmt));
        });
        let mut positions = Positions { var: node.var, changed, found: Vec::new() };
        let in_lanes = matches!(&node.kind, LoopKind::Simd { reductions } if reductions.is_empty());
        if in_lanes && make::as_int(&node.step) == Some(1) {
            each_stmt(&node.body, &mut |stmt| positions.of_stmt(stmt));
        }
        positions
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
            });
        }
    }

    fn of_condition(&mut self, cond: &Expr) {
        each_subexpr(cond, &mut |sub| {
            if let Some((position, _)) = self.compared(sub)
                && !self.found.contains(&position)
            {
                self.found.push(position);
            }
        });
    }

    /// The position that an expression compares the variable with, and whether it is true there rather than everywhere else.
    fn compared(&self, expr: &Expr) -> Option<(Expr, bool)> {
        let ExprKind::Binary(op, left, right) = &expr.kind else { return None };
        let there = match op {
            BinOp::Eq => true,
            BinOp::Ne => false,
            _ => return None,
        };
        let ((left, rest), (right, other)) = (self.linear(left)?, self.linear(right)?);
        match left - right {
            1 => Some((make::sub(other, rest), there)),
            -1 => Some((make::sub(rest, other), there)),
            _ => None,
        }
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

    /// An expression where the variable is at none of the positions.
    fn between(&self, expr: &mut Expr) {
        if let Some((position, there)) = self.compared(expr)
            && self.found.contains(&position)
        {
            expr.kind = ExprKind::Bool(!there);
            return;
        }
        operands_mut(expr).into_iter().for_each(|operand| self.between(operand));
        let truth = |expr: &Expr| if let ExprKind::Bool(value) = expr.kind { Some(value) } else { None };
        let decided = match &expr.kind {
            ExprKind::Unary(UnOp::Not, operand) => truth(operand).map(|value| ExprKind::Bool(!value)),
            ExprKind::Lazy(and, left, right) => match truth(left) {
                Some(value) if value == *and => Some(right.kind.clone()),
                Some(value) => Some(ExprKind::Bool(value)),
                None => (truth(right) == Some(*and)).then(|| left.kind.clone()),
            },
            ExprKind::Select(cond, then, otherwise) => {
                truth(cond).map(|value| if value { then.kind.clone() } else { otherwise.kind.clone() })
            }
            _ => None,
        };
        if let Some(kind) = decided {
            expr.kind = kind;
        }
    }
}

fn loads(expr: &Expr) -> bool {
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

/// Two rounds of the loop as it is, for the first and the last iteration or for all of them, and the copy after the first.
fn split(node: &Loop, positions: &Positions, vars: &mut Arena<VarId, Var>, block: &mut Block) {
    let mut let_long = |name: &str, init: Expr| {
        let var = vars.push(Var { name: name.to_owned(), kind: VarKind::Value(Ty::LONG) });
        block.stmts.push(Stmt::Let { var, init: Some(init) });
        make::var(var, Ty::LONG)
    };
    let (lo, hi) = (let_long("lo", node.lo.clone()), let_long("hi", node.hi.clone()));
    let each: Vec<Expr> = positions.found.iter().map(|position| let_long("border", position.clone())).collect();
    let is_one = |of: &dyn Fn(&Expr) -> Expr| each.iter().map(of).reduce(or).expect("a position");
    let end = make::sub(hi.clone(), make::long(1));
    let first = is_one(&|position| make::binary(BinOp::Eq, position.clone(), lo.clone()));
    let last = is_one(&|position| make::binary(BinOp::Eq, position.clone(), end.clone()));
    let one_if = |cond: Expr| make::select(cond, make::long(1), make::long(0));
    let low = let_long("low", make::add(lo.clone(), one_if(first)));
    let high = let_long("high", make::sub(hi.clone(), one_if(last)));
    let elsewhere = is_one(&|position| {
        let above = make::binary(BinOp::Ge, position.clone(), low.clone());
        make::binary(BinOp::And, above, make::binary(BinOp::Lt, position.clone(), high.clone()))
    });
    let all_or = |part: Expr| make::select(elsewhere.clone(), hi.clone(), part);
    let begin = let_long("begin", all_or(make::min(low.clone(), hi.clone())));
    let end = let_long("end", all_or(make::max(high.clone(), begin.clone())));
    let between = Copied { positions, vars, renamed: BTreeMap::new() }.all(Loop {
        lo: begin.clone(),
        hi: end.clone(),
        ..node.clone()
    });
    let round = vars.push(Var { name: "round".to_owned(), kind: VarKind::Value(Ty::LONG) });
    let is_first = make::binary(BinOp::Eq, make::var(round, Ty::LONG), make::long(0));
    let border = Loop {
        lo: make::select(is_first.clone(), lo, end),
        hi: make::select(is_first.clone(), begin, hi),
        ..node.clone()
    };
    let body = Block { stmts: vec![Stmt::Loop(border), make::when(is_first, vec![Stmt::Loop(between)])] };
    let (lo, hi, step) = (make::long(0), make::long(2), make::long(1));
    block.stmts.push(Stmt::Loop(Loop { var: round, lo, hi, step, kind: LoopKind::Seq, body }));
}

fn or(left: Expr, right: Expr) -> Expr {
    make::binary(BinOp::Or, left, right)
}

/// A copy of a loop, for iterations between the positions, with variables of its own.
struct Copied<'a> {
    positions: &'a Positions,
    vars: &'a mut Arena<VarId, Var>,
    renamed: BTreeMap<VarId, VarId>,
}

impl Copied<'_> {
    fn all(mut self, mut node: Loop) -> Loop {
        self.decide(&mut node.body);
        self.introduce(node.var);
        each_stmt(&node.body, &mut |stmt| introduced(stmt).into_iter().for_each(|var| self.introduce(var)));
        self.rename(&mut node.var);
        self.block(&mut node.body);
        node
    }

    /// Leaves out branches that are not taken.
    fn decide(&self, block: &mut Block) {
        for mut stmt in mem::take(&mut block.stmts) {
            stmt_exprs_mut(&mut stmt).into_iter().for_each(|expr| self.positions.between(expr));
            child_blocks_mut(&mut stmt).into_iter().for_each(|child| self.decide(child));
            match stmt {
                Stmt::If { cond: Expr { kind: ExprKind::Bool(value), .. }, then, otherwise } => {
                    block.stmts.extend(if value { then.stmts } else { otherwise.stmts });
                }
                other => block.stmts.push(other),
            }
        }
    }

    fn introduce(&mut self, var: VarId) {
        let copy = self.vars.push(self.vars[var].clone());
        self.renamed.insert(var, copy);
    }

    fn rename(&self, var: &mut VarId) {
        if let Some(copy) = self.renamed.get(var) {
            *var = *copy;
        }
    }

    fn block(&self, block: &mut Block) {
        for stmt in &mut block.stmts {
            names_mut(stmt).into_iter().for_each(|var| self.rename(var));
            stmt_exprs_mut(stmt).into_iter().for_each(|expr| self.expr(expr));
            child_blocks_mut(stmt).into_iter().for_each(|child| self.block(child));
        }
    }

    fn expr(&self, expr: &mut Expr) {
        if let Some(var) = expr_name_mut(expr) {
            self.rename(var);
        }
        operands_mut(expr).into_iter().for_each(|operand| self.expr(operand));
    }
}

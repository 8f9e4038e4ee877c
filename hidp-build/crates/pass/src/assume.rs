//! `assume`: what tests inside a nest ask is asked once before it, where sizes and scalars say it; the nest stands there twice.
//!
//! The copy for which the answer is yes has no tests. The other one is the nest as it was, so faults and their order are, too.

use std::collections::BTreeSet;

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{BinOp, Block, ConvertMode, Expr, ExprKind, Func, FuncId, Program, Stmt, StmtKind, Var, VarId};
use hidp_prove::{self as prove, Assumptions, Condition, Sum};
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::Pass;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "assume",
    about: "tests once before a nest what its own tests ask, where sizes and scalars say it, and runs a copy without them",
    run,
};

fn run(program: &mut Program) {
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for id in funcs {
        if !has_tests(&program.funcs[id].body) {
            continue;
        }
        let mut wanted = prove::assumptions(program, id);
        while !wanted.is_empty() {
            let before = program.funcs[id].clone();
            let func = &mut program.funcs[id];
            let mut body = std::mem::take(&mut func.body);
            Doubled { vars: &mut func.vars, wanted: &wanted }.visit_block(&mut body);
            func.body = body;
            prove::bounds(program, id);
            let tested = still_tested(&program.funcs[id], &wanted);
            if tested.is_empty() {
                break;
            }
            program.funcs[id] = before;
            wanted.retain(|assumptions| !tested.contains(&assumptions.nest));
        }
    }
}

/// A nest that stands twice, and what is tested before it.
#[derive(Debug)]
pub struct Tested {
    /// The nest.
    pub nest: Span,
    /// What holds where the copy without tests runs.
    pub conditions: Vec<Expr>,
}

/// The nests of a block that stand twice.
pub fn tested(block: &Block) -> Vec<Tested> {
    let mut found = Vec::new();
    visit::walk_stmts(block, |stmt| {
        if let StmtKind::If { cond, then, otherwise } = &stmt.kind
            && stands_twice(then, otherwise)
        {
            found.push(Tested { nest: stmt.span, conditions: conditions(cond) });
        }
    });
    found
}

/// A block as it runs where all that is tested before its nests holds.
pub fn where_all_holds(block: &mut Block) {
    struct DropOthers;
    impl Mutator for DropOthers {
        fn visit_stmt(&mut self, stmt: &mut Stmt) {
            if let StmtKind::If { then, otherwise, .. } = &mut stmt.kind
                && stands_twice(then, otherwise)
            {
                otherwise.stmts.clear();
            }
            change::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, _: &mut Expr) {}
    }
    DropOthers.visit_block(block);
}

/// Only copies have the same place in the text, and only those of this pass differ in their tests.
fn stands_twice(then: &Block, otherwise: &Block) -> bool {
    if has_tests(then) || !has_tests(otherwise) {
        return false;
    }
    let [then, otherwise] = [then, otherwise].map(|block| match block.stmts.as_slice() {
        [Stmt { kind: StmtKind::Map(_), span }] => Some(span),
        _ => None,
    });
    then.is_some() && then == otherwise
}

fn conditions(cond: &Expr) -> Vec<Expr> {
    match &cond.kind {
        ExprKind::Lazy { and: true, left, right } => [conditions(left), conditions(right)].concat(),
        _ => vec![cond.clone()],
    }
}

/// Puts every nest of which something is assumed into a branch, and its copy into the other.
struct Doubled<'a> {
    vars: &'a mut Arena<VarId, Var>,
    wanted: &'a [Assumptions],
}

impl Mutator for Doubled<'_> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        let span = stmt.span;
        let StmtKind::Map(map) = &stmt.kind else { return change::walk_stmt(self, stmt) };
        let first = map.iters.first().map(|iter| iter.var);
        let Some(assumed) = self.wanted.iter().find(|assumed| Some(assumed.nest) == first) else { return };
        let cond = all(&assumed.conditions, self.vars, span);
        let map = std::mem::replace(&mut stmt.kind, StmtKind::Break);
        let otherwise = Block { stmts: vec![Stmt { kind: map, span }] };
        let then = visit::duplicate_block(&otherwise, self.vars);
        stmt.kind = StmtKind::If { cond, then, otherwise };
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// The nests whose copies have tests nevertheless.
fn still_tested(func: &Func, wanted: &[Assumptions]) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    visit::walk_stmts(&func.body, |stmt| {
        let StmtKind::If { then, otherwise, .. } = &stmt.kind else { return };
        let Some(Stmt { kind: StmtKind::Map(map), .. }) = otherwise.stmts.first() else { return };
        let Some(first) = map.iters.first() else { return };
        if wanted.iter().any(|assumed| assumed.nest == first.var) && has_tests(then) {
            found.insert(first.var);
        }
    });
    found
}

/// Whether an index, a divisor, a count of a shift or a conversion is tested.
fn has_tests(block: &Block) -> bool {
    let mut found = false;
    visit::walk_places(block, |place, _| found |= place.unproved != 0);
    visit::walk_exprs(block, |expr| {
        found |= match &expr.kind {
            ExprKind::Binary { checked, .. } => *checked,
            ExprKind::Convert { mode, .. } => *mode == ConvertMode::Checked,
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => false,
        };
    });
    found
}

fn all(conditions: &[Condition], vars: &Arena<VarId, Var>, span: Span) -> Expr {
    let both = |left: Expr, right: Expr| Expr {
        kind: ExprKind::Lazy { and: true, left: Box::new(left), right: Box::new(right) },
        ty: Ty::BOOL,
        span,
    };
    let compared =
        |Condition { low, high }: &Condition| Expr::long(BinOp::Le, sum(low, vars, span), sum(high, vars, span));
    conditions.iter().map(compared).reduce(both).expect("something is assumed")
}

fn sum(sum: &Sum, vars: &Arena<VarId, Var>, span: Span) -> Expr {
    let constant = (sum.constant != 0 || sum.terms.is_empty()).then(|| Expr::int(sum.constant, span));
    let all = sum.terms.iter().fold(constant, |so_far, (factor, product)| {
        let value = product.iter().map(|var| read(*var, vars, span)).reduce(|a, b| Expr::long(BinOp::Mul, a, b));
        let value = value.expect("a term has a variable");
        let times = |factor: i64| match factor {
            1 => value.clone(),
            _ => Expr::long(BinOp::Mul, Expr::int(factor, span), value.clone()),
        };
        Some(match (so_far, factor.checked_neg()) {
            (Some(so_far), Some(less @ 1..)) => Expr::long(BinOp::Sub, so_far, times(less)),
            (Some(so_far), _) => Expr::long(BinOp::Add, so_far, times(*factor)),
            (None, _) => times(*factor),
        })
    });
    all.expect("a sum has a part")
}

/// A variable's value as a `long`.
fn read(var: VarId, vars: &Arena<VarId, Var>, span: Span) -> Expr {
    let value = Expr::read(var, vars[var].ty, span);
    if vars[var].ty == Ty::LONG {
        return value;
    }
    Expr { kind: ExprKind::Convert { operand: Box::new(value), mode: ConvertMode::Cast }, ty: Ty::LONG, span }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_ir::par::{print, read, verify};

    const PROGRAM: &str = r#"
func f(x, y, off, n) dims (M, N) {
  vars { M: long dim; N: long dim; off: long input; n: int input; x: double[M] input; y: double[N] inout;
    s: double local; k: int local; i: long iter; }
  map (i = 0 .. N by 1) {
    declare s; s = 0.0; declare k; k = 0:int;
    loop (k < n) { s = (s + x[(INDEX)?]); } step { k = (k + 1:int); }
    y[i] = s;
  }
}
entries (f)
"#;

    fn ran(index: &str) -> Program {
        let mut program = read(&PROGRAM.replace("INDEX", index)).expect("a program");
        run(&mut program);
        verify(&program).expect("well formed");
        program
    }

    #[test]
    fn a_nest_stands_twice_and_once_without_tests() {
        let program = ran("long(k) + off");
        let func = &program.funcs[program.entries[0]];
        let [Stmt { kind: StmtKind::If { then, otherwise, cond }, .. }] = func.body.stmts.as_slice() else {
            panic!("{}", print(&program));
        };
        assert!(!has_tests(then) && has_tests(otherwise), "{}", print(&program));
        // `0 <= off` and `off <= M - n`, which does not wrap.
        assert_eq!(conditions(cond).len(), 2);
        let found = tested(&func.body);
        assert_eq!(found.iter().map(|tested| tested.conditions.len()).collect::<Vec<_>>(), [2]);
        let mut fast = func.body.clone();
        where_all_holds(&mut fast);
        assert!(!has_tests(&fast));
    }

    /// The original is untouched, so what it faults with is, too.
    #[test]
    fn where_a_test_fails_the_nest_runs_as_it_was() {
        let before = read(&PROGRAM.replace("INDEX", "long(k) + off")).expect("a program");
        let program = ran("long(k) + off");
        let StmtKind::If { otherwise, .. } = &program.funcs[program.entries[0]].body.stmts[0].kind else { panic!() };
        assert_eq!(*otherwise, before.funcs[before.entries[0]].body);
    }

    #[test]
    fn what_nothing_answers_stays_alone() {
        for index in ["long(k) * off", "long(k) * long(k)"] {
            let program = ran(index);
            assert!(tested(&program.funcs[program.entries[0]].body).is_empty(), "{}", print(&program));
        }
    }
}

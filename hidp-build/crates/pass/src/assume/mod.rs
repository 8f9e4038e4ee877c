//! `assume`: replaces tests inside a nest by one before it, if sizes, scalars and the extreme elements of inputs decide them; the nest is
//! duplicated.
//!
//! The copy behind a successful test has no tests. The other one is the original nest, so faults and their order are unchanged.

mod sections;
mod worth;

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    BinOp, Block, ConvertMode, Expr, ExprKind, Func, FuncId, Program, Stmt, StmtKind, Var, VarId, VarKind, same,
};
use hidp_prove::{self as prove, Assumptions, Condition, Extreme, Known, Sum};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::Pass;
use super::extremes::{elements, find};
use worth::{Look, Worth};

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "assume",
    about: "tests once before a nest what its own tests ask, where sizes, scalars and extreme elements say it, and runs a copy without them",
    run,
};

fn run(program: &mut Program) {
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for id in funcs {
        if !has_tests(&program.funcs[id].body) {
            continue;
        }
        let mut wanted = worthwhile(program, id);
        while !wanted.is_empty() {
            let before = program.funcs[id].clone();
            let func = &mut program.funcs[id];
            let mut body = std::mem::take(&mut func.body);
            Doubled { vars: &mut func.vars, wanted: &wanted, in_loop: false, looks: Vec::new() }.visit_block(&mut body);
            func.body = body;
            if wanted.iter().any(|nest| nest.of_sections) {
                prove::bounds_by_cases(program, id);
            } else {
                prove::bounds(program, id);
            }
            let tested = still_tested(&program.funcs[id], &wanted);
            if tested.is_empty() {
                break;
            }
            program.funcs[id] = before;
            wanted.retain(|nest| !tested.contains(&nest.assumed.nest));
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

/// A nest that is to stand twice.
struct Wanted {
    assumed: Assumptions,
    /// What is looked at before it.
    looks: Vec<Look>,
    /// Whether the conditions are about ends of sections.
    of_sections: bool,
}

fn worthwhile(program: &Program, id: FuncId) -> Vec<Wanted> {
    let func = &program.funcs[id];
    let by_nest = |found: Vec<Assumptions>| -> OrdMap<VarId, Assumptions> {
        found.into_iter().map(|assumed| (assumed.nest, assumed)).collect()
    };
    let assumed = by_nest(prove::assumptions(program, id));
    let of_sections = sections::are_taken(func).then(|| by_nest(prove::assumptions_of_sections(program, id)));
    let mut wanted = Vec::new();
    visit::walk_stmts(&func.body, |stmt| {
        let StmtKind::Map(map) = &stmt.kind else { return };
        let Some(first) = map.iters.first().map(|iter| iter.var) else { return };
        if is_large(stmt) {
            return;
        }
        let assumed = assumed.get(&first).map(|assumed| (assumed, arrays(&assumed.conditions)));
        // Sizes and scalars cost nothing to test; ends of sections ask for less than extremes that stand for all elements.
        if let Some(of_sections) = of_sections.as_ref().and_then(|found| found.get(&first))
            && !assumed.as_ref().is_some_and(|(_, arrays)| arrays.is_empty())
            && let Some(looks) = sections::looks(func, map, stmt.span, &arrays(&of_sections.conditions))
        {
            wanted.push(Wanted { assumed: of_sections.clone(), looks, of_sections: true });
        } else if let Some((assumed, arrays)) = assumed
            && let Some(looks) = worth::looks(func, map, stmt.span, &arrays)
        {
            wanted.push(Wanted { assumed: assumed.clone(), looks, of_sections: false });
        }
    });
    wanted
}

/// The arrays whose extremes conditions are about.
fn arrays(conditions: &[Condition]) -> OrdSet<VarId> {
    let sums = conditions.iter().flat_map(|condition| [&condition.low, &condition.high]);
    let known = sums.flat_map(|sum| &sum.terms).flat_map(|(_, product)| product);
    let array = |known: &Known| match known {
        Known::Value(_) => None,
        Known::Extreme(array, _) => Some(*array),
    };
    known.filter_map(array).collect()
}

/// Puts every nest of which something is assumed into a branch, and its copy into the other.
struct Doubled<'a> {
    vars: &'a mut Arena<VarId, Var>,
    wanted: &'a [Wanted],
    /// What is looked at does not change, so it is looked at before the outermost loop.
    in_loop: bool,
    /// Statements that look at arrays, to stand before the one that is visited.
    looks: Vec<Stmt>,
}

impl Mutator for Doubled<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            self.visit_stmt(&mut stmt);
            if !self.in_loop {
                block.stmts.append(&mut self.looks);
            }
            block.stmts.push(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        let (span, outside) = (stmt.span, self.in_loop);
        let StmtKind::Map(map) = &stmt.kind else {
            self.in_loop |= matches!(stmt.kind, StmtKind::Loop(_));
            change::walk_stmt(self, stmt);
            self.in_loop = outside;
            return;
        };
        let first = map.iters.first().map(|iter| iter.var);
        let Some(wanted) = self.wanted.iter().find(|wanted| Some(wanted.assumed.nest) == first) else { return };
        let cond = self.tests(wanted, span);
        let map = std::mem::replace(&mut stmt.kind, StmtKind::Break);
        let otherwise = Block { stmts: vec![Stmt { kind: map, span }] };
        let then = visit::duplicate_block(&otherwise, self.vars);
        stmt.kind = StmtKind::If { cond, then, otherwise };
    }

    fn visit_expr(&mut self, _: &mut Expr) {}
}

impl Doubled<'_> {
    /// What is tested before a nest, after looking at arrays.
    fn tests(&mut self, wanted: &Wanted, span: Span) -> Expr {
        let mut extremes = Extremes::new();
        let mut conds: Vec<Expr> = Vec::new();
        for look in &wanted.looks {
            let ty = self.vars[look.array].ty;
            let name = self.vars[look.array].name.clone();
            let mut local = |end: &str| {
                let (name, kind) = (format!("{end}_{name}"), VarKind::Local);
                self.vars.push(Var { name, ty, shape: Vec::new(), kind, span })
            };
            let found = ["least", "most"].map(&mut local);
            self.looks.extend(found.map(|var| Stmt { kind: StmtKind::Declare { var, zero: true }, span }));
            let worth = match &look.worth {
                Worth::Often(worth) => worth.clone(),
                // Ends that were not looked at are the least number there is.
                Worth::Rows(ends) => {
                    let twice = Expr::long(BinOp::Mul, Expr::int(2, span), read(extremes[ends][1], self.vars, span));
                    Expr::long(BinOp::Le, elements(self.vars, look.array), twice)
                }
            };
            if !conds.iter().any(|known| same::expr(known, &worth)) {
                conds.push(worth.clone());
            }
            let mut shape = self.vars[look.array].shape.clone();
            let all = Box::new(shape[0].clone());
            let kind = ExprKind::Select { cond: Box::new(worth), then: all, otherwise: Box::new(Expr::int(0, span)) };
            shape[0] = Expr { kind, ty: Ty::LONG, span };
            let look_at = find(self.vars, look.array, shape, found);
            self.looks.push(look_at);
            extremes.insert(look.array, found);
        }
        let compared = |Condition { low, high }: &Condition| {
            Expr::long(BinOp::Le, sum(low, &extremes, self.vars, span), sum(high, &extremes, self.vars, span))
        };
        conds.extend(wanted.assumed.conditions.iter().map(compared));
        conds.into_iter().reduce(both).expect("something is assumed")
    }
}

/// The variables of the smallest and the largest element of arrays.
type Extremes = OrdMap<VarId, [VarId; 2]>;

/// The nests whose copies have tests nevertheless.
fn still_tested(func: &Func, wanted: &[Wanted]) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    visit::walk_stmts(&func.body, |stmt| {
        let StmtKind::If { then, otherwise, .. } = &stmt.kind else { return };
        let Some(Stmt { kind: StmtKind::Map(map), .. }) = otherwise.stmts.first() else { return };
        let Some(first) = map.iters.first() else { return };
        if wanted.iter().any(|wanted| wanted.assumed.nest == first.var) && has_tests(then) {
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

/// A nest of more expressions than this stands once.
const LARGE: usize = 2000;

fn is_large(nest: &Stmt) -> bool {
    let mut expressions = 0;
    visit::walk_exprs(&Block { stmts: vec![nest.clone()] }, |_| expressions += 1);
    expressions > LARGE
}

fn both(left: Expr, right: Expr) -> Expr {
    let span = left.span;
    Expr { kind: ExprKind::Lazy { and: true, left: Box::new(left), right: Box::new(right) }, ty: Ty::BOOL, span }
}

fn sum(sum: &Sum, extremes: &Extremes, vars: &Arena<VarId, Var>, span: Span) -> Expr {
    let value = |known: &Known| match known {
        Known::Value(var) => read(*var, vars, span),
        Known::Extreme(array, Extreme::Least) => read(extremes[array][0], vars, span),
        Known::Extreme(array, Extreme::Most) => read(extremes[array][1], vars, span),
    };
    let constant = (sum.constant != 0 || sum.terms.is_empty()).then(|| Expr::int(sum.constant, span));
    let all = sum.terms.iter().fold(constant, |so_far, (factor, product)| {
        let value = product.iter().map(value).reduce(|a, b| Expr::long(BinOp::Mul, a, b));
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
    use hidp_ir::par::interp::{Arg, Array, Options, run_with};
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

    /// Rows of `x` that data name, summed; the places of `?` are tested.
    const SPARSE: &str = r#"
func f(p, col, x, y) dims (R, Z, C, M) {
  vars { R: long dim; Z: long dim; C: long dim; M: long dim; p: int[(R + 1)] input; col: int[Z] input;
    x: double[C, M] input; y: double[R, M] inout; v: double local; s: double local; t: long local;
    r: long iter; j: long iter; k: long iter; }
  map (r = 0 .. R by 1, j = 0 .. M by 1) {
    declare s;
    map (k = long(p[r]) .. long(p[(r + 1)]) by 1) {
      declare v; v = x[long(col[k?])?, j];
    } fold reduce "+" double neutral 0.0 value v over (k) into s;
    y[r, j] = s; }
}
entries (f)
"#;

    fn sparse(changes: &[(&str, &str)]) -> Program {
        let text = changes.iter().fold(SPARSE.to_owned(), |text, (from, to)| text.replace(from, to));
        let mut program = read(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        run(&mut program);
        verify(&program).expect("well formed");
        program
    }

    #[test]
    fn arrays_of_indices_are_looked_at_before_a_nest_that_reads_them_often() {
        let program = sparse(&[]);
        let stmts = &program.funcs[program.entries[0]].body.stmts;
        let maps = stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Map(_))).count();
        assert_eq!(maps, 2, "{}", print(&program));
        let Some(Stmt { kind: StmtKind::If { then, otherwise, .. }, .. }) = stmts.last() else { panic!() };
        assert!(!has_tests(then) && has_tests(otherwise), "{}", print(&program));
    }

    /// Each row is compared with itself: its elements are read as often as it is long.
    const SECTIONS: &str = r#"
func f(p, x, y) dims (R, M) {
  vars { R: long dim; M: long dim; p: long[(R + 1)] input; x: int[M] input; y: int[R] inout; low: long local; high: long local;
    s: int local; k: long local; l: long local; r: long iter; }
  map (r = 0 .. R by 1) {
    declare low; low = p[r]; declare high; high = p[(r + 1)];
    require ((high <= low) || ((low >= 0) && (high <= M))) fault Segment ("low" low, "high" high, "extent" M);
    declare s; s = 0:int; declare k; k = 0;
    loop (k < max((high - low), 0)) {
      declare l; l = 0;
      loop (l < max((high - low), 0)) { s = (s + (x[(low + k)?] * x[(low + l)?])); } step { l = (l + 1); }
    } step { k = (k + 1); }
    require (high >= low) fault Index ("index" (high - low), "extent" 1, "dimension" 0);
    y[r] = s;
  }
}
entries (f)
"#;

    #[test]
    fn ends_of_sections_are_looked_at_before_a_nest_that_loops_over_them() {
        let before = read(SECTIONS).expect("a program");
        let mut program = before.clone();
        run(&mut program);
        verify(&program).expect("well formed");
        let found = tested(&program.funcs[program.entries[0]].body);
        // Sections are long; their ends are in range.
        assert_eq!(found.iter().map(|tested| tested.conditions.len()).collect::<Vec<_>>(), [3], "{}", print(&program));
        let ends = [vec![0, 20, 24], vec![24, 20, 3], vec![0, 20, 25], vec![-1, 20, 24], vec![i64::MIN, 3, 24]];
        for p in ends {
            let (x, y) = (Array::vector((0..24).collect::<Vec<i32>>()), Array::vector(vec![0; 2]));
            let args = [Arg::from(Array::vector(p)), x.into(), y.into()];
            let call = |program: &Program| run_with(program, program.entries[0], args.to_vec(), &Options::default());
            assert_eq!(call(&before), call(&program));
        }
    }

    #[test]
    fn what_is_looked_at_in_a_loop_is_looked_at_before_it() {
        let program = sparse(&[
            ("  map (r =", "declare t; t = 0; loop (t < Z) { map (r ="),
            ("y[r, j] = s; }", "y[r, j] = s; } } step { t = (t + 1); }"),
        ]);
        let stmts = &program.funcs[program.entries[0]].body.stmts;
        let [.., Stmt { kind: StmtKind::Map(_), .. }, Stmt { kind: StmtKind::Loop(node), .. }] = stmts.as_slice()
        else {
            panic!("{}", print(&program));
        };
        assert!(matches!(node.body.stmts.as_slice(), [Stmt { kind: StmtKind::If { .. }, .. }]), "{}", print(&program));
    }

    /// A part of an array may be little of it, and what is read once takes as long as the look.
    #[test]
    fn arrays_are_not_looked_at_where_that_may_take_longer_than_the_nest() {
        let once = [(", j = 0 .. M by 1", ""), ("?, j]", "?, 0]"), ("y[r, j]", "y[r, 0]")];
        let some_rows = [("r = 0 .. R", "r = 0 .. C")];
        let one_row = [("k = long(p[r])", "k = long(p[0])")];
        let perhaps = [
            (
                "map (r = 0 .. R by 1, j = 0 .. M by 1) {",
                "map (r = 0 .. R by 1) { if (p[r] < p[0]) { map (j = 0 .. M by 1) {",
            ),
            ("y[r, j] = s; }", "y[r, j] = s; } } }"),
        ];
        for changes in [&once[..], &some_rows, &one_row, &perhaps] {
            let program = sparse(changes);
            assert!(tested(&program.funcs[program.entries[0]].body).is_empty(), "{}", print(&program));
        }
    }

    #[test]
    fn what_nothing_answers_stays_alone() {
        for index in ["long(k) * off", "long(k) * long(k)"] {
            let program = ran(index);
            assert!(tested(&program.funcs[program.entries[0]].body).is_empty(), "{}", print(&program));
        }
    }
}

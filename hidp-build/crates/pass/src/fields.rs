//! Pass `fields`: structs that iterations with loops keep for themselves become one variable for each number.
//!
//! Lanes hold numbers. A struct that is constructed from its fields, copied, and read and assigned field by field is only a name for them.
//! Structs that are loaded from memory or returned by a C++ function as a whole stay structs, and so do values and results of folds, and structs
//! that sizes of arrays depend on.

use std::ops::Range;

use super::Pass;
use super::inline::has_loop;
use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{Block, Expr, ExprKind, Fold, Map, Program, Stmt, StmtKind, Struct, Target, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{StructId, Ty};

/// The pass.
pub(super) const PASS: Pass =
    Pass { name: "fields", about: "keeps structs of iterations with loops as separate numbers", run };

/// A struct of more numbers stays one.
const MOST: usize = 16;

fn run(program: &mut Program) {
    let structs = &program.structs;
    for (_, func) in program.funcs.iter_mut() {
        Outermost { structs, vars: &mut func.vars }.visit_block(&mut func.body);
    }
}

/// Looks for the outermost maps.
struct Outermost<'a> {
    structs: &'a Arena<StructId, Struct>,
    vars: &'a mut Arena<VarId, Var>,
}

impl Mutator for Outermost<'_> {
    fn visit_map(&mut self, map: &mut Map) {
        if has_loop(&map.body) {
            let parts = self.separate(map);
            Split { structs: self.structs, vars: self.vars, parts }.visit_block(&mut map.body);
        }
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

impl Outermost<'_> {
    /// The structs of a map's iterations that can be separate numbers, with a variable for each of those.
    fn separate(&mut self, map: &Map) -> OrdMap<VarId, Vec<VarId>> {
        let mut found = Candidates::default();
        found.visit_map(map);
        let extents = self.vars.iter().flat_map(|(_, var)| &var.shape);
        extents.for_each(|extent| visit::walk_expr_vars(extent, |var, _| _ = found.whole.insert(var)));
        let mut parts = OrdMap::new();
        for var in found.declared.difference(&found.whole) {
            let Var { ty: Ty::Struct(id), ref shape, .. } = self.vars[*var] else { continue };
            let mut numbers = Vec::new();
            leaves(self.structs, id, &self.vars[*var].name, &mut numbers);
            if !shape.is_empty() || numbers.len() > MOST {
                continue;
            }
            let pattern = self.vars[*var].clone();
            let fresh = numbers.into_iter().map(|(name, ty)| self.vars.push(Var { name, ty, ..pattern.clone() }));
            parts.insert(*var, fresh.collect());
        }
        parts
    }
}

/// The numbers of a struct in order, with names.
fn leaves(structs: &Arena<StructId, Struct>, id: StructId, name: &str, into: &mut Vec<(String, Ty)>) {
    for (field, ty) in &structs[id].fields {
        let name = format!("{name}.{field}");
        match ty {
            Ty::Scalar(_) => into.push((name, *ty)),
            Ty::Struct(inner) => leaves(structs, *inner, &name, into),
        }
    }
}

/// How many numbers a value of this type has.
fn width(structs: &Arena<StructId, Struct>, ty: Ty) -> usize {
    match ty {
        Ty::Scalar(_) => 1,
        Ty::Struct(id) => structs[id].fields.iter().map(|(_, ty)| width(structs, *ty)).sum(),
    }
}

/// Which variables are declared, and which are needed as a whole.
#[derive(Default)]
struct Candidates {
    declared: OrdSet<VarId>,
    whole: OrdSet<VarId>,
}

impl Visitor for Candidates {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } = &stmt.kind
            && !is_made_of_fields(value)
        {
            self.whole.insert(*var);
        }
        look::walk_stmt(self, stmt);
    }
    fn visit_fold(&mut self, fold: &Fold) {
        self.whole.insert(fold.value);
        look::walk_fold(self, fold);
    }
    fn visit_target(&mut self, target: &Target) {
        if let Target::Scalar(var) = target {
            self.whole.insert(*var);
        }
        look::walk_target(self, target);
    }
    fn visit_var(&mut self, var: &VarId, role: Role) {
        match role {
            Role::Declare => {
                self.declared.insert(*var);
            }
            Role::Argument { .. } => {
                self.whole.insert(*var);
            }
            Role::Iterate | Role::Read | Role::Write | Role::Update => {}
        }
    }
}

/// Whether a value is a number, or a struct whose fields are known one by one.
fn is_made_of_fields(value: &Expr) -> bool {
    match (&value.ty, &value.kind) {
        (Ty::Scalar(_), _) | (_, ExprKind::Read(_)) => true,
        (_, ExprKind::Struct(_, fields)) => fields.iter().all(is_made_of_fields),
        (_, ExprKind::Field(of, _)) => is_made_of_fields(of),
        (_, ExprKind::Select { then, otherwise, .. }) => is_made_of_fields(then) && is_made_of_fields(otherwise),
        (
            _,
            ExprKind::Const(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..),
        ) => false,
    }
}

/// Puts numbers in the place of structs.
struct Split<'a> {
    structs: &'a Arena<StructId, Struct>,
    vars: &'a mut Arena<VarId, Var>,
    /// The numbers of each struct that goes, in order.
    parts: OrdMap<VarId, Vec<VarId>>,
}

impl Mutator for Split<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut stmts = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            change::walk_stmt(self, &mut stmt);
            self.stmt(stmt, &mut stmts);
        }
        block.stmts = stmts;
    }

    /// A struct that goes, read as a whole, is made of its numbers; a field of it is one of them.
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        match &mut expr.kind {
            ExprKind::Read(var) if self.parts.contains_key(var) => {
                let mut numbers = self.parts[var].clone().into_iter();
                *expr = self.made_of(expr.ty, &mut numbers, expr.span);
            }
            ExprKind::Field(of, position) => {
                let position = *position as usize;
                if let ExprKind::Struct(_, fields) = &mut of.kind
                    && fields.iter().all(is_plain)
                {
                    *expr = fields.swap_remove(position);
                }
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Struct(..) => {}
        }
    }
}

/// Whether nothing is lost where an expression is not evaluated.
fn is_plain(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Read(_) => true,
        ExprKind::Struct(_, fields) => fields.iter().all(is_plain),
        ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..) => false,
    }
}

impl Split<'_> {
    fn made_of(&self, ty: Ty, numbers: &mut impl Iterator<Item = VarId>, span: Span) -> Expr {
        let kind = match ty {
            Ty::Scalar(_) => ExprKind::Read(numbers.next().expect("a variable for each number")),
            Ty::Struct(id) => {
                let fields = self.structs[id].fields.iter().map(|(_, ty)| self.made_of(*ty, numbers, span));
                ExprKind::Struct(id, fields.collect())
            }
        };
        Expr { kind, ty, span }
    }

    /// Appends what `stmt`, whose expressions are done, becomes.
    fn stmt(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        let Stmt { kind, span } = stmt;
        match kind {
            StmtKind::Declare { var, zero } if self.parts.contains_key(&var) => {
                let declare = |var: &VarId| Stmt { kind: StmtKind::Declare { var: *var, zero }, span };
                out.extend(self.parts[&var].iter().map(declare));
            }
            StmtKind::Assign { var, value } if self.parts.contains_key(&var) => {
                let numbers = self.parts[&var].clone();
                self.assign(&numbers, value, out);
            }
            StmtKind::AssignField { var, path, value } if self.parts.contains_key(&var) => {
                let numbers = self.parts[&var][self.range(self.vars[var].ty, &path)].to_vec();
                self.assign(&numbers, value, out);
            }
            kind => out.push(Stmt { kind, span }),
        }
    }

    /// `numbers = value`. All of the value is computed before any of the numbers changes.
    fn assign(&mut self, numbers: &[VarId], value: Expr, out: &mut Vec<Stmt>) {
        let Expr { kind, ty, span } = value;
        let stmt = |kind| Stmt { kind, span };
        match kind {
            ExprKind::Select { cond, then, otherwise } if matches!(ty, Ty::Struct(_)) => {
                let (mut yes, mut no) = (Block::default(), Block::default());
                self.assign(numbers, *then, &mut yes.stmts);
                self.assign(numbers, *otherwise, &mut no.stmts);
                out.push(stmt(StmtKind::If { cond: *cond, then: yes, otherwise: no }));
            }
            kind => {
                let mut values = Vec::new();
                self.flatten(Expr { kind, ty, span }, &mut values);
                let mut later = Vec::new();
                if values.len() > 1 && values.iter().any(|value| reads_any(value, numbers)) {
                    for (var, value) in numbers.iter().zip(&mut values) {
                        let fresh = self.vars.push(self.vars[*var].clone());
                        let new = std::mem::replace(value, Expr::read(fresh, value.ty, value.span));
                        later.push(stmt(StmtKind::Declare { var: fresh, zero: false }));
                        later.push(stmt(StmtKind::Assign { var: fresh, value: new }));
                    }
                }
                out.extend(later);
                let assign = |(var, value): (&VarId, Expr)| stmt(StmtKind::Assign { var: *var, value });
                out.extend(numbers.iter().zip(values).map(assign));
            }
        }
    }

    /// The numbers of a value, in order.
    fn flatten(&self, value: Expr, into: &mut Vec<Expr>) {
        match (value.ty, value.kind) {
            (Ty::Scalar(_), kind) => into.push(Expr { kind, ..value }),
            (Ty::Struct(_), ExprKind::Struct(_, fields)) => {
                fields.into_iter().for_each(|field| self.flatten(field, into))
            }
            (Ty::Struct(id), kind) => {
                let whole = Expr { kind, ..value };
                for (position, (_, ty)) in (0..).zip(&self.structs[id].fields) {
                    let of = Box::new(whole.clone());
                    self.flatten(Expr { kind: ExprKind::Field(of, position), ty: *ty, span: whole.span }, into);
                }
            }
        }
    }

    /// Where the field of a struct lies among its numbers.
    fn range(&self, ty: Ty, path: &[u32]) -> Range<usize> {
        let Some((first, rest)) = path.split_first() else { return 0..width(self.structs, ty) };
        let Ty::Struct(id) = ty else { unreachable!("numbers have no fields") };
        let fields = &self.structs[id].fields;
        let before: usize = fields[..*first as usize].iter().map(|(_, ty)| width(self.structs, *ty)).sum();
        let inner = self.range(fields[*first as usize].1, rest);
        before + inner.start..before + inner.end
    }
}

fn reads_any(value: &Expr, vars: &[VarId]) -> bool {
    let mut found = false;
    visit::walk_expr_vars(value, |var, _| found |= vars.contains(&var));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_ir::par::interp::{Arg, Array, Options, run_with};
    use hidp_ir::par::{print, read, verify};

    const STRUCTS: &str = "struct Complex { re: int, im: int }\nstruct Pair { a: Complex, n: int }\n";

    /// Results for `x` before and after the pass, which must agree; and how many structs are left.
    fn both(vars: &str, stmts: &str, x: &[i32]) -> (Vec<i32>, usize) {
        both_with("", vars, stmts, x)
    }

    fn both_with(functions: &str, vars: &str, stmts: &str, x: &[i32]) -> (Vec<i32>, usize) {
        let text = format!(
            "{STRUCTS}{functions}
func f(x, y) dims (N) {{
  vars {{ N: long dim; x: int[N] input; y: int[N] inout; i: long iter; k: long iter; t: int local; {vars} }}
  map (i = 0 .. N by 1) {{
    declare t zero;
    loop (t < 2:int) {{ t = (t + 1:int); }} step {{ }}
    {stmts}
  }}
}}
entries (f)"
        );
        let mut program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        verify(&program).unwrap_or_else(|errors| panic!("{errors:?}"));
        let go = |program: &Program| {
            let array = |values: &[i32]| Arg::Array(Array::vector(values.to_vec()));
            let args = vec![array(x), array(&vec![0; x.len()])];
            let results = run_with(program, program.entries[0], args, &Options::default()).expect("results");
            let Arg::Array(y) = &results.args[1] else { panic!("no array") };
            y.data.values().iter().map(|value| value.as_integer().expect("an integer") as i32).collect::<Vec<_>>()
        };
        let before = go(&program);
        run(&mut program);
        verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{}", print(&program)));
        assert_eq!(before, go(&program), "{}", print(&program));
        let mut left = 0;
        let func = &program.funcs[program.entries[0]];
        visit::walk_stmts(&func.body, |stmt| {
            if let StmtKind::Declare { var, .. } = stmt.kind {
                left += usize::from(matches!(func.vars[var].ty, Ty::Struct(_)));
            }
        });
        (before, left)
    }

    #[test]
    fn structs_become_their_numbers() {
        let vars = "c: Complex local; d: Complex local;";
        let stmts = "declare c zero; declare d zero;
          c = new Complex{x[i], 3:int};
          c = new Complex{((field(c, 0) * field(c, 0)) - field(c, 1)), (field(c, 0) * field(c, 1))};
          d = c;
          d@1 = (field(d, 1) + field(c, 0));
          c = select((x[i] > 1:int), d, c);
          y[i] = ((100:int * field(c, 0)) + field(c, 1));";
        // (x² - 3, 3 x), and the first added to the second where x > 1.
        assert_eq!(both(vars, stmts, &[1, 2, 5]), (vec![-197, 107, 2237], 0));
    }

    #[test]
    fn structs_in_structs() {
        let vars = "p1: Pair local; q: Pair local;";
        let stmts = "declare p1 zero; declare q zero;
          p1 = new Pair{new Complex{x[i], 2:int}, 7:int};
          q@0 = new Complex{field(field(p1, 0), 1), field(field(p1, 0), 0)};
          q@0@1 = (field(field(q, 0), 1) + 1:int);
          q@1 = 5:int;
          y[i] = ((100:int * field(field(q, 0), 0)) + ((10:int * field(field(q, 0), 1)) + field(q, 1)));";
        assert_eq!(both(vars, stmts, &[1, 4]), (vec![225, 255], 0));
    }

    #[test]
    fn what_comes_from_memory_stays_whole_and_what_goes_there_is_made() {
        let vars = "c: Complex local; d: Complex local; kept: Complex[2] local;";
        let stmts = "declare c zero; declare d zero; declare kept zero;
          c = new Complex{x[i], 3:int};
          kept[1] = c;
          kept[0]@1 = field(c, 0);
          d = kept[1];
          y[i] = ((100:int * field(d, 1)) + field(kept[0], 1));";
        assert_eq!(both(vars, stmts, &[4, 9]), (vec![304, 309], 2));
    }

    #[test]
    fn results_of_folds_and_what_sizes_are_made_of_stay_whole() {
        let better = "fn better(a, b) -> Complex { vars { a: Complex input; b: Complex input; } return select((field(a, 0) < field(b, 0)), b, a); }";
        let vars = "c: Complex local; v: Complex local; s: Complex local; own: int[long(field(s, 1))] local;";
        let stmts = "declare c zero;
          map (k = 0 .. N by 1) { declare v zero; v = new Complex{x[k], int(k)}; }
          fold reduce better Complex neutral new Complex{-1:int, 0:int} value v over (k) into c;
          declare s zero;
          s = new Complex{0:int, 3:int};
          declare own zero;
          own[2?] = field(c, 1);
          y[i] = ((100:int * field(c, 0)) + own[2?]);";
        let (results, left) = both_with(better, vars, stmts, &[4, 9, 2]);
        assert_eq!((results, left), (vec![901; 3], 3));
    }

    /// The map of the other tests has no folds of its own.
    #[test]
    fn values_that_the_outermost_map_folds_stay_whole() {
        let text = format!(
            "{STRUCTS}fn better(a, b) -> Complex {{ vars {{ a: Complex input; b: Complex input; }} return select((field(a, 0) < field(b, 0)), b, a); }}
func f(x, best) dims (N) {{
  vars {{ N: long dim; x: int[N] input; best: Complex output; i: long iter; t: int local; v: Complex local; c: Complex local; }}
  map (i = 0 .. N by 1) {{
    declare t zero; declare v zero; declare c zero;
    loop (t < 2:int) {{ t = (t + 1:int); }} step {{ }}
    c = new Complex{{x[i], t}};
    v = new Complex{{field(c, 0), int(i)}};
  }}
  fold reduce better Complex neutral new Complex{{-1:int, 0:int}} value v over (i) into best;
}}
entries (f)"
        );
        let mut program = read(&text).unwrap_or_else(|error| panic!("{error}"));
        verify(&program).unwrap_or_else(|errors| panic!("{errors:?}"));
        run(&mut program);
        verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{}", print(&program)));
        let func = &program.funcs[program.entries[0]];
        let declared = visit::declared(&func.body);
        let whole = declared.iter().filter(|var| matches!(func.vars[**var].ty, Ty::Struct(_)));
        assert_eq!(whole.map(|var| func.vars[*var].name.as_str()).collect::<Vec<_>>(), ["v"]);
    }
}

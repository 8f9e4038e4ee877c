//! Checks the invariants that [`super`] lists. Run after every pass, so that a failure names the pass that is to blame.
//!
//! One invariant is not checked here: that accesses marked exclusive are ([`super::Access`]); that takes a proof.

use std::fmt;

use super::{Block, Expr, Func, FuncId, Program, ScalarFn, StmtKind, Var, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{StructId, Ty};

mod expr;
mod prim;
mod recur;
mod stmt;
#[cfg(test)]
mod tests;

/// Which invariant does not hold; the numbers are those of the list in [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// 1: types.
    Types,
    /// 2: scopes.
    Scopes,
    /// 3: ranks, and arrays where arrays belong.
    Ranks,
    /// 4: folds.
    Folds,
    /// 5: jumps.
    Jumps,
    /// 7: calls of functions.
    Calls,
    /// 8: what may be written where.
    Writes,
    /// 9: the fields of a primitive's call.
    Prims,
    /// 10: the program's tables.
    Tables,
    /// 11: recurrences.
    Recurrences,
}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The function, or struct.
    pub function: String,
    /// The kind of statement; empty outside statements.
    pub stmt: &'static str,
    /// Where that comes from.
    pub span: Option<Span>,
    /// The invariant.
    pub rule: Rule,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in `{}`", self.function)?;
        if !self.stmt.is_empty() {
            write!(f, ", {}", self.stmt)?;
        }
        if let Some(span) = self.span {
            write!(f, " at {:?}:{}..{}", span.file, span.start, span.end)?;
        }
        write!(f, ": {} ({:?})", self.what, self.rule)
    }
}

/// Checks a whole program.
pub fn verify(program: &Program) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    tables(program, &mut errors);
    if errors.is_empty() {
        for (_, function) in program.scalar_fns.iter() {
            scalar_fn(program, function, &mut errors);
        }
        for (_, function) in program.funcs.iter() {
            func(program, function, &mut errors);
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// What must hold before anything may be looked up by its id.
fn tables(program: &Program, errors: &mut Vec<VerifyError>) {
    let mut report = |function: &str, what: String| {
        let (function, stmt) = (function.to_string(), "");
        errors.push(VerifyError { function, stmt, span: None, rule: Rule::Tables, what });
    };
    for (id, strukt) in program.structs.iter() {
        for (name, ty) in &strukt.fields {
            if let Ty::Struct(field) = ty
                && *field >= id
            {
                report(&strukt.name, format!("field `{name}` is of a struct that does not come earlier"));
            }
        }
    }
    for entry in &program.entries {
        if program.funcs.get(*entry).is_none() {
            report("entries", format!("{entry:?} does not exist"));
        }
    }
    let known = |ty: Ty| match ty {
        Ty::Scalar(_) => true,
        Ty::Struct(id) => program.structs.get(id).is_some(),
    };
    let scalar_fns = program.scalar_fns.iter().map(|(_, f)| (&f.name, &f.vars, &f.params, f.result));
    for (name, vars, params, result) in scalar_fns {
        if !known(result) || vars.iter().any(|(_, var)| !known(var.ty)) {
            report(name, "a type does not exist".into());
        }
        if params.iter().any(|param| vars.get(*param).is_none()) {
            report(name, "a parameter does not exist".into());
        }
    }
    for (_, func) in program.funcs.iter() {
        if func.vars.iter().any(|(_, var)| !known(var.ty)) {
            report(&func.name, "a type does not exist".into());
        }
        let of_tables = func.recur.iter().flat_map(|recur| &recur.systems).flat_map(|system| &system.tables);
        if of_tables.clone().any(|table| func.vars.get(table.array).is_none()) {
            report(&func.name, "the array of a table does not exist".into());
        }
        if func.params.iter().chain(&func.dims).any(|var| func.vars.get(*var).is_none()) {
            report(&func.name, "a parameter or dimension does not exist".into());
        }
    }
    recursion(program, &mut report);
}

/// Functions and scalar functions that reach themselves.
fn recursion(program: &Program, report: &mut impl FnMut(&str, String)) {
    use super::visit::{self, Visitor, look};
    #[derive(Default)]
    struct Calls {
        funcs: OrdSet<FuncId>,
        scalar_fns: OrdSet<super::ScalarFnId>,
    }
    impl Visitor for Calls {
        fn visit_stmt(&mut self, stmt: &super::Stmt) {
            if let StmtKind::Call { callee, .. } = &stmt.kind {
                self.funcs.insert(*callee);
            }
            visit::look::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &Expr) {
            if let super::ExprKind::Call(callee, _) = &expr.kind {
                self.scalar_fns.insert(*callee);
            }
            look::walk_expr(self, expr);
        }
    }
    let calls = |block: Option<&Block>| {
        let mut calls = Calls::default();
        block.into_iter().for_each(|block| calls.visit_block(block));
        calls
    };
    let func_edges: Vec<OrdSet<FuncId>> = program.funcs.iter().map(|(_, func)| calls(Some(&func.body)).funcs).collect();
    let scalar_edges: Vec<OrdSet<super::ScalarFnId>> =
        program.scalar_fns.iter().map(|(_, function)| calls(function.body.as_ref()).scalar_fns).collect();
    for id in cyclic(&func_edges) {
        report(&program.funcs[id].name, "calls itself".into());
    }
    for id in cyclic(&scalar_edges) {
        report(&program.scalar_fns[id].name, "calls itself".into());
    }
}

/// The nodes that reach themselves.
fn cyclic<I: Id>(edges: &[OrdSet<I>]) -> Vec<I> {
    let reaches_itself = |start: I| {
        let mut seen = OrdSet::new();
        let mut work: Vec<I> = vec![start];
        while let Some(node) = work.pop() {
            for next in edges.get(node.index()).into_iter().flatten() {
                if *next == start {
                    return true;
                }
                if seen.insert(*next) {
                    work.push(*next);
                }
            }
        }
        false
    };
    (0..edges.len()).map(I::new).filter(|id| reaches_itself(*id)).collect()
}

/// The state while one function is checked.
struct Check<'a> {
    program: &'a Program,
    vars: &'a Arena<VarId, Var>,
    function: &'a str,
    /// For a scalar function, its result.
    result: Option<Ty>,
    /// In the body of a cell, its type.
    cell: Option<Ty>,
    /// Per variable in scope, the number of maps around its declaration.
    live: Vec<Option<usize>>,
    /// Locals and iterators that have been declared somewhere.
    declared: OrdSet<VarId>,
    /// Number of maps around the present statement.
    depth: usize,
    /// Loops and scopes around the present statement since the last map.
    loops: usize,
    scopes: usize,
    stmt: &'static str,
    span: Option<Span>,
    errors: &'a mut Vec<VerifyError>,
}

impl<'a> Check<'a> {
    fn new(
        program: &'a Program,
        vars: &'a Arena<VarId, Var>,
        function: &'a str,
        errors: &'a mut Vec<VerifyError>,
    ) -> Self {
        Check {
            program,
            vars,
            function,
            result: None,
            cell: None,
            live: vec![None; vars.len()],
            declared: OrdSet::new(),
            depth: 0,
            loops: 0,
            scopes: 0,
            stmt: "",
            span: None,
            errors,
        }
    }

    fn report(&mut self, rule: Rule, what: impl Into<String>) {
        let (function, stmt, span) = (self.function.to_string(), self.stmt, self.span);
        self.errors.push(VerifyError { function, stmt, span, rule, what: what.into() });
    }

    fn require(&mut self, holds: bool, rule: Rule, what: impl FnOnce() -> String) {
        if !holds {
            self.report(rule, what());
        }
    }

    fn name(&self, var: VarId) -> String {
        match self.vars.get(var) {
            Some(known) => format!("`{}` ({var:?})", known.name),
            None => format!("{var:?}"),
        }
    }

    /// The variable, if it exists and is in scope; reports otherwise.
    fn use_var(&mut self, var: VarId) -> Option<&'a Var> {
        let known = self.vars.get(var);
        match known {
            None => self.report(Rule::Scopes, format!("{var:?} does not exist")),
            Some(_) if self.live[var.index()].is_none() => {
                self.report(Rule::Scopes, format!("{} is not in scope", self.name(var)));
                return None;
            }
            Some(_) => {}
        }
        known
    }

    /// The number of maps around the declaration of a variable in scope.
    fn depth_of(&self, var: VarId) -> usize {
        self.live.get(var.index()).copied().flatten().unwrap_or(0)
    }

    /// Runs `inner` in a scope of its own.
    fn scoped(&mut self, inner: impl FnOnce(&mut Self)) {
        let before = self.live.clone();
        inner(self);
        self.live = before;
    }

    fn field_ty(&mut self, mut ty: Ty, path: &[u32]) -> Option<Ty> {
        for &field in path {
            let next = match ty {
                Ty::Struct(id) => self.program.structs[id].fields.get(field as usize).map(|(_, ty)| *ty),
                Ty::Scalar(_) => None,
            };
            let Some(next) = next else {
                self.report(Rule::Types, format!("{} has no field {field}", self.ty_name(ty)));
                return None;
            };
            ty = next;
        }
        Some(ty)
    }

    fn ty_name(&self, ty: Ty) -> String {
        match ty {
            Ty::Scalar(scalar) => scalar.to_string(),
            Ty::Struct(id) => self.struct_name(id),
        }
    }

    fn struct_name(&self, id: StructId) -> String {
        self.program.structs.get(id).map_or_else(|| format!("{id:?}"), |strukt| strukt.name.clone())
    }

    fn same_ty(&mut self, what: &str, found: Ty, expected: Ty) {
        if found != expected {
            let (found, expected) = (self.ty_name(found), self.ty_name(expected));
            self.report(Rule::Types, format!("{what} is `{found}`, not `{expected}`"));
        }
    }
}

fn scalar_fn(program: &Program, function: &ScalarFn, errors: &mut Vec<VerifyError>) {
    let mut check = Check::new(program, &function.vars, &function.name, errors);
    check.result = Some(function.result);
    check.params(&function.params);
    for (id, var) in function.vars.iter() {
        let known = matches!(var.kind, VarKind::Local | VarKind::Param(Direction::Input));
        check.require(known && !var.is_array(), Rule::Tables, || {
            format!("{id:?} is no scalar local or input, as all of a scalar function must be")
        });
    }
    if let Some(body) = &function.body {
        check.block(body);
        let returns = always_returns(body);
        check.require(returns, Rule::Jumps, || "a path does not end in `return`".into());
    }
}

fn func(program: &Program, func: &Func, errors: &mut Vec<VerifyError>) {
    let mut check = Check::new(program, &func.vars, &func.name, errors);
    for dim in &func.dims {
        let var = &func.vars[*dim];
        let fits = var.kind == VarKind::Dim && var.ty == Ty::LONG && !var.is_array();
        check.require(fits, Rule::Tables, || format!("dimension {dim:?} is not a `long` of kind dimension"));
        check.live[dim.index()] = Some(0);
    }
    check.params(&func.params);
    for (id, var) in func.vars.iter() {
        let listed = match var.kind {
            VarKind::Dim => func.dims.contains(&id),
            VarKind::Param(_) => func.params.contains(&id),
            VarKind::Local => true,
            VarKind::Iter => var.ty == Ty::LONG && !var.is_array(),
        };
        check.require(listed, Rule::Tables, || format!("`{}` ({id:?}) is not listed as what it is", var.name));
    }
    check.block(&func.body);
    if let Some(recur) = &func.recur {
        check.recur(func, recur);
    }
}

impl Check<'_> {
    fn params(&mut self, params: &[VarId]) {
        let mut seen = OrdSet::new();
        for param in params {
            let is_param = matches!(self.vars[*param].kind, VarKind::Param(_));
            self.require(is_param, Rule::Tables, || format!("parameter {param:?} is not of that kind"));
            self.require(seen.insert(*param), Rule::Tables, || format!("parameter {param:?} is listed twice"));
            self.live[param.index()] = Some(0);
        }
        for param in params {
            for extent in &self.vars[*param].shape {
                self.param_extent(extent);
            }
        }
    }

    /// Extents of parameters hold dimensions, scalar inputs and constants only.
    fn param_extent(&mut self, extent: &Expr) {
        self.long("an extent", extent);
        let mut outside = Vec::new();
        super::visit::walk_expr_vars(extent, |var, _| {
            let fits = self.vars.get(var).is_none_or(|known| {
                let fixed = matches!(known.kind, VarKind::Dim | VarKind::Param(Direction::Input));
                fixed && !known.is_array()
            });
            if !fits {
                outside.push(var);
            }
        });
        for var in outside {
            self.report(Rule::Scopes, format!("a parameter's extent depends on {}", self.name(var)));
        }
    }
}

/// Whether a block of a scalar function never reaches its end.
fn always_returns(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { then, otherwise, .. } => always_returns(then) && always_returns(otherwise),
        StmtKind::Loop(node) => {
            let endless = matches!(node.cond.kind, super::ExprKind::Const(super::Const::Bool(true)));
            endless && !breaks(&node.body)
        }
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Map(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => false,
    })
}

/// Whether a loop's body holds a `break` of that loop.
fn breaks(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::If { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        StmtKind::Scope(block) => breaks(block),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Loop(_)
        | StmtKind::Continue
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Map(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => false,
    })
}

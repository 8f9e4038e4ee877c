//! Pass `instantiate`: every call of a function over arrays is replaced by the function's body.
//!
//! Callees come before their callers, so a body that is put in holds no call. Its variables become fresh ones; its
//! dimensions become expressions over the caller's extents ([`bind`]), with a test where two bindings are not known to agree;
//! sections become accesses to the array itself or copies ([`section`]). What the program does, faults and their order
//! included, stays as the interpreter runs the call.
//!
//! Adds the invariant: there is no `Call`, and all functions are entries or other forms of entries.

use super::Pass;
use hidp_ir::par::effects::may_jump;
use hidp_ir::par::visit::{self, Mutator, Visitor, look};
use hidp_ir::par::{
    Alternative, Block, CallArg, Const, Expr, ExprKind, Func, FuncId, Place, Program, Stmt, StmtKind, Var, VarId,
    VarKind,
};
use hidp_prove as prove;
use hidp_syntax::ast::Direction;
use hidp_syntax::diag::Sink;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

mod bind;
mod guard;
mod linear;
mod piece;
mod section;
mod stable;
#[cfg(test)]
mod tests;

pub(super) use section::inside_all;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "instantiate",
    about: "replaces calls of functions over arrays by their bodies, for the shapes of the arguments",
    run,
};

fn run(program: &mut Program) {
    for id in callees_first(program) {
        let calls = calls_of(&program.funcs[id].body);
        if calls.all.is_empty() {
            continue;
        }
        // What is proved inside a callee need not be tested again where it is put in.
        calls.with_sections.iter().for_each(|callee| prove::bounds(program, *callee));
        let func = inlined(program, id);
        program.funcs[id] = func;
        if calls.inside_maps {
            // Which iterations touch what can be known only now. Errors were reported when the call was checked.
            prove::races(program, id, &mut Sink::new());
        }
    }
    keep_entries(program);
}

/// Drops every function that is neither an entry nor another form of one.
fn keep_entries(program: &mut Program) {
    let mut funcs = Arena::new();
    let mut kept: OrdMap<FuncId, FuncId> = OrdMap::new();
    let mut keep = |id: &mut FuncId| *id = *kept.entry(*id).or_insert_with(|| funcs.push(program.funcs[*id].clone()));
    program.entries.iter_mut().for_each(&mut keep);
    for Alternative { entry, func, .. } in &mut program.alternatives {
        [entry, func].into_iter().for_each(&mut keep);
    }
    program.funcs = funcs;
}

/// What a body calls.
#[derive(Default)]
struct Calls {
    all: OrdSet<FuncId>,
    with_sections: OrdSet<FuncId>,
    inside_maps: bool,
    depth: usize,
}

impl Visitor for Calls {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Call { callee, args } => {
                self.all.insert(*callee);
                self.inside_maps |= self.depth > 0;
                if args.iter().any(|arg| matches!(arg, CallArg::Section(_))) {
                    self.with_sections.insert(*callee);
                }
            }
            StmtKind::Map(map) => {
                self.depth += 1;
                look::walk_map(self, map);
                self.depth -= 1;
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Require { .. } => look::walk_stmt(self, stmt),
        }
    }
    fn visit_expr(&mut self, _: &Expr) {}
}

fn calls_of(block: &Block) -> Calls {
    let mut calls = Calls::default();
    calls.visit_block(block);
    calls
}

/// All functions, each after those that it calls.
fn callees_first(program: &Program) -> Vec<FuncId> {
    fn add(program: &Program, id: FuncId, done: &mut OrdSet<FuncId>, order: &mut Vec<FuncId>) {
        if done.insert(id) {
            calls_of(&program.funcs[id].body).all.iter().for_each(|callee| add(program, *callee, done, order));
            order.push(id);
        }
    }
    let (mut done, mut order) = (OrdSet::new(), Vec::new());
    program.funcs.ids().for_each(|id| add(program, id, &mut done, &mut order));
    order
}

/// The function with the bodies of its callees in the place of its calls.
fn inlined(program: &Program, id: FuncId) -> Func {
    let mut func = program.funcs[id].clone();
    let mut body = std::mem::take(&mut func.body);
    let known = stable::stable_scalars(&func.vars, &body);
    let mut inliner = Inliner {
        program,
        func: &mut func,
        stable: known,
        depth: 0,
        born: OrdMap::new(),
        extents: OrdMap::new(),
        ends: OrdMap::new(),
    };
    let mut stmts = inliner.fix_params();
    inliner.visit_block(&mut body);
    stmts.append(&mut body.stmts);
    body.stmts = stmts;
    func.body = body;
    func
}

/// The state while one function's calls are replaced.
struct Inliner<'a> {
    program: &'a Program,
    func: &'a mut Func,
    /// Scalars of one value wherever they are in scope.
    stable: OrdSet<VarId>,
    /// Maps around the present statement.
    depth: usize,
    /// Maps around the declaration of each local array.
    born: OrdMap<VarId, usize>,
    /// Extents of every array so far, as expressions that mean the same as long as it lives.
    extents: OrdMap<VarId, Vec<Expr>>,
    /// Where the iterators around end, of those that count from 0 by ones.
    ends: OrdMap<VarId, Expr>,
}

impl Mutator for Inliner<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            match stmt.kind {
                StmtKind::Call { callee, args } => self.call(callee, args, stmt.span, &mut out),
                StmtKind::Declare { var, zero } => {
                    self.fix_extents(var, &mut out);
                    out.push(Stmt { kind: StmtKind::Declare { var, zero }, span: stmt.span });
                }
                StmtKind::Map(ref mut map) => {
                    self.depth += 1;
                    let counting = map.iters.iter();
                    let counting = counting.filter(|i| i.lo.as_int() == Some(0) && i.step.as_int() == Some(1));
                    self.ends.extend(counting.map(|iter| (iter.var, iter.hi.clone())));
                    self.visit_block(&mut map.body);
                    self.depth -= 1;
                    out.push(stmt);
                }
                StmtKind::Assign { .. }
                | StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::If { .. }
                | StmtKind::Loop(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Return(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Require { .. } => {
                    self.visit_stmt(&mut stmt);
                    out.push(stmt);
                }
            }
        }
        block.stmts = out;
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// What stands for the callee's variables, and what is to be done after its body.
#[derive(Default)]
struct Instance {
    /// Caller's variables for parameters.
    vars: OrdMap<VarId, VarId>,
    /// Caller's expressions for scalar inputs and dimensions.
    values: OrdMap<VarId, Expr>,
    /// Sections that are accessed in place, by the callee's parameter.
    views: OrdMap<VarId, section::View>,
    /// Extents of the arguments of array parameters.
    extents: OrdMap<VarId, Vec<Expr>>,
    after: Vec<Stmt>,
}

impl Inliner<'_> {
    fn call(&mut self, callee: FuncId, args: Vec<CallArg>, span: Span, out: &mut Vec<Stmt>) {
        let program = self.program;
        let function = &program.funcs[callee];
        let mut instance = Instance::default();
        for (param, arg) in function.params.iter().zip(args) {
            self.argument(function, *param, arg, &mut instance, span, out);
        }
        self.bind(function, &mut instance, span, out);
        let body = self.body(function, &instance);
        if may_jump(&body) {
            out.push(Stmt { kind: StmtKind::Scope(body), span });
        } else {
            out.extend(body.stmts);
        }
        out.append(&mut instance.after);
        self.func.contract &= function.contract;
    }

    /// The callee's body over the caller's variables.
    fn body(&mut self, function: &Func, instance: &Instance) -> Block {
        let mut map = instance.vars.clone();
        // Expressions go in when the names are the caller's: until then a variable of its own stands for each.
        let mut values: OrdMap<VarId, &Expr> = OrdMap::new();
        for (var, value) in &instance.values {
            let stand_in = self.func.vars.push(Var { kind: VarKind::Local, ..function.vars[*var].clone() });
            map.insert(*var, stand_in);
            values.insert(stand_in, value);
        }
        let mut views: OrdMap<VarId, &section::View> = OrdMap::new();
        for (param, view) in &instance.views {
            let stand_in = self.func.vars.push(function.vars[*param].clone());
            map.insert(*param, stand_in);
            views.insert(stand_in, view);
        }
        for stand_in in values.keys().chain(views.keys()) {
            self.func.vars[*stand_in].shape.clear();
            self.func.vars[*stand_in].kind = VarKind::Local;
        }
        let mut body = visit::clone_block(&function.body, &function.vars, &mut self.func.vars, &mut map);
        let value_of = |var: VarId| values.get(&var).map(|value| (*value).clone());
        visit::substitute(&mut body, value_of);
        for fresh in visit::declared(&body) {
            self.func.vars[fresh].shape.iter_mut().for_each(|extent| visit::substitute_expr(extent, value_of));
        }
        guard::add_tests(self.program, &mut body, |array| views.get(&array).map(|view| view.extents()));
        section::access_in_place(&mut body, &views);
        let known = stable::stable_scalars(&self.func.vars, &body);
        self.stable.extend(known);
        body
    }

    fn argument(
        &mut self,
        function: &Func,
        param: VarId,
        arg: CallArg,
        instance: &mut Instance,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let known = &function.vars[param];
        let direction = match known.kind {
            VarKind::Param(direction) => direction,
            VarKind::Dim | VarKind::Local | VarKind::Iter => Direction::Inout,
        };
        match arg {
            CallArg::Value(value) => {
                let value = self.held(value, &known.name, out);
                instance.values.insert(param, value);
            }
            CallArg::Scalar(var) => match direction {
                Direction::Input => {
                    let read = Expr::read(var, known.ty, span);
                    let value = self.held(read, &known.name, out);
                    instance.values.insert(param, value);
                }
                Direction::Output => {
                    out.push(assign(var, zero(self.program, known.ty, span), span));
                    instance.vars.insert(param, var);
                }
                Direction::Inout => {
                    instance.vars.insert(param, var);
                }
            },
            CallArg::Element(place) => self.element(known, param, place, direction, instance, out),
            CallArg::Array(array) => {
                if self.depth > self.born.get(&array).copied().unwrap_or(0) && section::is_swapped(function, param) {
                    let whole = section::whole(&self.extents_of(array), array, span);
                    self.section(function, param, whole, direction, instance, out);
                } else {
                    instance.vars.insert(param, array);
                    instance.extents.insert(param, self.extents_of(array));
                }
            }
            CallArg::Section(section) => self.section(function, param, section, direction, instance, out),
        }
    }

    /// An element that is passed by reference: a copy stands for it.
    fn element(
        &mut self,
        known: &Var,
        param: VarId,
        mut place: Place,
        direction: Direction,
        instance: &mut Instance,
        out: &mut Vec<Stmt>,
    ) {
        let span = place.span;
        place.index = place.index.into_iter().map(|index| self.held(index, "index", out)).collect();
        let load = Expr { kind: ExprKind::Load(place.clone()), ty: known.ty, span };
        let copy = self.declared(&known.name, known.ty, span, out);
        if direction == Direction::Output {
            out.extend(section::inside_all(&place, &self.extents_of(place.array)));
            out.push(assign(copy, zero(self.program, known.ty, span), span));
        } else {
            out.push(assign(copy, load, span));
        }
        if direction != Direction::Input {
            let value = Expr::read(copy, known.ty, span);
            instance.after.push(Stmt { kind: StmtKind::Store { place, value }, span });
        }
        instance.vars.insert(param, copy);
    }

    /// The value as it is now, in an expression that may stand anywhere later on.
    fn held(&mut self, value: Expr, name: &str, out: &mut Vec<Stmt>) -> Expr {
        if stable::may_move(&self.func.vars, &self.stable, &value) {
            return value;
        }
        let (ty, span) = (value.ty, value.span);
        let var = self.declared(name, ty, span, out);
        out.push(assign(var, value, span));
        self.stable.insert(var);
        Expr::read(var, ty, span)
    }

    /// A new scalar.
    fn declared(&mut self, name: &str, ty: Ty, span: Span, out: &mut Vec<Stmt>) -> VarId {
        let var = Var { name: name.into(), ty, shape: Vec::new(), kind: VarKind::Local, span };
        let var = self.func.vars.push(var);
        out.push(Stmt { kind: StmtKind::Declare { var, zero: false }, span });
        var
    }

    /// Makes the extents of a local array expressions that mean the same as long as it lives.
    fn fix_extents(&mut self, var: VarId, out: &mut Vec<Stmt>) {
        let shape = self.func.vars[var].shape.clone();
        let fixed = shape.into_iter().map(|extent| self.held(extent, "extent", out)).collect();
        self.func.vars[var].shape = fixed;
        self.born.insert(var, self.depth);
    }

    /// Keeps the extents of parameters that depend on what the function may write.
    fn fix_params(&mut self) -> Vec<Stmt> {
        let mut out = Vec::new();
        for param in self.func.params.clone() {
            let shape = self.func.vars[param].shape.clone();
            let fixed = shape.into_iter().map(|extent| self.held(extent, "extent", &mut out)).collect();
            self.extents.insert(param, fixed);
        }
        out
    }

    /// The extents of an array of the caller.
    pub(super) fn extents_of(&self, array: VarId) -> Vec<Expr> {
        self.extents.get(&array).unwrap_or(&self.func.vars[array].shape).clone()
    }
}

fn assign(var: VarId, value: Expr, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Assign { var, value }, span }
}

/// Zero of a type.
fn zero(program: &Program, ty: Ty, span: Span) -> Expr {
    let kind = match ty {
        Ty::Scalar(Scalar::Bool) => ExprKind::Const(Const::Bool(false)),
        Ty::Scalar(scalar) if scalar.is_float() => ExprKind::Const(Const::Float(0.0)),
        Ty::Scalar(_) => ExprKind::Const(Const::Int(0)),
        Ty::Struct(id) => {
            let fields = program.structs[id].fields.iter().map(|(_, ty)| zero(program, *ty, span));
            ExprKind::Struct(id, fields.collect())
        }
    };
    Expr { kind, ty, span }
}

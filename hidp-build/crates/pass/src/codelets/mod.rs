//! Pass `codelets`: each alternative of an entry becomes a function, in which every call names the body that it takes.
//!
//! A body of a choice is a copy of the function or codelet, with its tunables as constants; `run` tunables are further dimensions of it
//! and of its callers. Where a codelet has a condition, the body
//! is one `if` with a call on either side. Equal choices of one function share a copy. What follows, calls, sections and maps, is
//! `instantiate`'s and the later passes', as of every other function.
//!
//! Adds the invariant: there are no spectra.

use super::{Pass, expand};
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Block, CallArg, Choice, Codelet, Expr, Func, FuncId, Program, Setting, Stmt, StmtKind, Tunable, Var, VarId,
    VarKind, sites,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

#[cfg(test)]
mod tests;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "codelets",
    about: "makes a function of each alternative of an entry, whose calls take the bodies that were chosen",
    run,
};

fn run(program: &mut Program) {
    if program.spectra.is_empty() {
        return;
    }
    let choosing = program.choosing();
    let mut made = Vec::new();
    for at in 0..program.alternatives.len() {
        let (entry, choice) = (program.alternatives[at].entry, program.alternatives[at].choice.clone());
        let form = make(program, entry, &choice, &choosing, &mut made);
        let form = set_all(program, entry, form);
        program.alternatives[at].func = form;
    }
    // Codelets are never called themselves, so the passes can skip them.
    for spectrum in std::mem::take(&mut program.spectra) {
        spectrum.codelets.iter().for_each(|codelet| program.funcs[codelet.func].body = Block::default());
    }
}

/// What a choice of a function became.
struct Made {
    function: FuncId,
    choice: Choice,
    func: FuncId,
}

/// The function that runs what was chosen for calls of `function`.
fn make(
    program: &mut Program,
    function: FuncId,
    choice: &Choice,
    choosing: &OrdSet<FuncId>,
    made: &mut Vec<Made>,
) -> FuncId {
    if let Some(known) = made.iter().find(|known| known.function == function && known.choice == *choice) {
        return known.func;
    }
    let codelet = (!choice.codelet.is_empty()).then(|| {
        let known = program.spectrum_of(function).and_then(|spectrum| spectrum.taken(choice));
        known.expect("choices name codelets of their functions").clone()
    });
    let func = codelet.as_ref().map_or(function, |codelet| codelet.func);
    let mut body = program.funcs[func].clone();
    let values = codelet.as_ref().map(|codelet| values(&mut body, codelet, choice)).unwrap_or_default();
    fix(&mut body, &values);
    let (sites, _) = sites(&body.body, choosing);
    assert_eq!(sites.len(), choice.calls.len(), "every call with a choice has one");
    let calls = sites.into_iter().zip(&choice.calls);
    let calls: Vec<FuncId> = calls.map(|(site, of)| make(program, site.callee, of, choosing, made)).collect();
    calls.iter().for_each(|callee| add_settings(&mut body, &program.funcs[*callee]));
    Redirect { choosing, calls: calls.into_iter() }.visit_block(&mut body.body);
    // Maps can be views of every second element, which primitives cannot.
    expand::function(&mut body);
    let mut func = program.funcs.push(body);
    if let Some(Codelet { when: Some(mut when), span, .. }) = codelet {
        let otherwise = choice.otherwise.as_deref().expect("where a condition does not hold another body runs");
        visit::substitute_expr(&mut when, |var| value_of(&values, var));
        let other = make(program, function, otherwise, choosing, made);
        func = branch(program, function, (when, span), [func, other]);
        if !program.conditions.contains(&span) {
            program.conditions.push(span);
        }
    }
    made.push(Made { function, choice: choice.clone(), func });
    func
}

/// The tunables of a codelet with their values: of those of calls the dimension that is added to the body.
fn values(body: &mut Func, codelet: &Codelet, choice: &Choice) -> Vec<(VarId, Expr)> {
    let mut of = |tunable: &Tunable| {
        let known = body.vars[tunable.var].clone();
        if tunable.run {
            let name = Setting::name_of(&choice.function, &known.name);
            return (tunable.var, Expr::read(setting(body, &name, known.span), known.ty, known.span));
        }
        let chosen = choice.tunables.iter().find(|(name, _)| *name == known.name);
        let (_, value) = chosen.expect("choices have a value for each tunable of versions");
        (tunable.var, Expr::int(*value, known.span))
    };
    codelet.tunables.iter().map(&mut of).collect()
}

/// The dimension that stands for a setting, which is added if there is none.
fn setting(func: &mut Func, name: &str, span: Span) -> VarId {
    if let Some(known) = func.dims.iter().find(|dim| func.vars[**dim].name == name) {
        return *known;
    }
    let var = Var { name: name.to_owned(), ty: Ty::LONG, shape: Vec::new(), kind: VarKind::Dim, span };
    let dim = func.vars.push(var);
    func.dims.push(dim);
    dim
}

/// Adds what a callee is set to.
fn add_settings(func: &mut Func, callee: &Func) {
    for dim in callee.dims.iter().map(|dim| &callee.vars[*dim]).filter(|dim| dim.is_setting()) {
        setting(func, &dim.name, dim.span);
    }
}

/// The form of an entry with all that calls of the entry set, in their order.
fn set_all(program: &mut Program, entry: FuncId, form: FuncId) -> FuncId {
    let names: Vec<String> = program.settings_of(entry).into_iter().map(|setting| setting.name.clone()).collect();
    if names.is_empty() {
        return form;
    }
    let mut func = program.funcs[form].clone();
    let span = func.span;
    let settings: Vec<VarId> = names.iter().map(|name| setting(&mut func, name, span)).collect();
    func.dims.truncate(program.funcs[entry].dims.len());
    func.dims.extend(settings);
    program.funcs.push(func)
}

fn value_of(values: &[(VarId, Expr)], var: VarId) -> Option<Expr> {
    values.iter().find(|(other, _)| *other == var).map(|(_, value)| value.clone())
}

/// Puts constants in the place of tunables, which a body begins with.
fn fix(body: &mut Func, values: &[(VarId, Expr)]) {
    body.body.stmts.drain(..2 * values.len());
    visit::substitute(&mut body.body, |var| value_of(values, var));
    for (_, var) in body.vars.iter_mut() {
        var.shape.iter_mut().for_each(|extent| visit::substitute_expr(extent, |var| value_of(values, var)));
    }
}

/// Gives the calls with a choice their functions, in order.
struct Redirect<'a, C> {
    choosing: &'a OrdSet<FuncId>,
    calls: C,
}

impl<C: Iterator<Item = FuncId>> Mutator for Redirect<'_, C> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        if let StmtKind::Call { callee, .. } = &mut stmt.kind
            && self.choosing.contains(callee)
        {
            *callee = self.calls.next().expect("calls are met in the order of their sites");
        }
        change::walk_stmt(self, stmt);
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// A function that calls the first of two where `when` holds, else the second. All have the header of `function`. The branch stands at `at`.
fn branch(program: &mut Program, function: FuncId, (mut when, at): (Expr, Span), callees: [FuncId; 2]) -> FuncId {
    let like = &program.funcs[function];
    let header = like.params.len() + like.dims.len();
    assert!(like.params.iter().all(|param| param.index() < header), "headers have the first numbers");
    let mut arena: Arena<VarId, Var> = Arena::new();
    for (_, var) in like.vars.iter().take(header) {
        arena.push(var.clone());
    }
    let contract = callees.iter().all(|callee| program.funcs[*callee].contract);
    let mut func = Func { body: Block::default(), vars: arena, contract, recur: None, ..like.clone() };
    callees.iter().for_each(|callee| add_settings(&mut func, &program.funcs[*callee]));
    // Settings have other numbers than in the body that the condition is of.
    let vars = &program.funcs[callees[0]].vars;
    visit::substitute_expr(&mut when, |var| {
        let known = vars.get(var).filter(|known| known.is_setting())?;
        Some(Expr::read(setting(&mut func, &known.name, known.span), known.ty, known.span))
    });
    let arg = |param: &VarId| {
        let var = &func.vars[*param];
        match var.kind {
            _ if var.is_array() => CallArg::Array(*param),
            VarKind::Param(Direction::Input) => CallArg::Value(Expr::read(*param, var.ty, func.span)),
            VarKind::Param(Direction::Output | Direction::Inout) | VarKind::Dim | VarKind::Local | VarKind::Iter => {
                CallArg::Scalar(*param)
            }
        }
    };
    let args: Vec<CallArg> = func.params.iter().map(arg).collect();
    let span = func.span;
    let [then, otherwise] = callees.map(|callee| {
        let kind = StmtKind::Call { callee, args: args.clone() };
        Block { stmts: vec![Stmt { kind, span }] }
    });
    func.body = Block { stmts: vec![Stmt { kind: StmtKind::If { cond: when, then, otherwise }, span: at }] };
    program.funcs.push(func)
}

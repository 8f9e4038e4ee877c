//! Bodies of functions, the graph of their calls, and the entries.

use hidp_ir::par::visit;
use hidp_ir::par::{self, Block, FuncId, Program, ScalarFnId, StmtKind, VarId, VarKind};
use hidp_prove as prove;
use hidp_syntax::ast::{self, Direction};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::{FileId, Span};
use hidp_syntax::ty::Ty;

use super::codelets::Checked;
use super::collect::Collected;
use super::counters;
use super::cx::{BodyKind, Cx};
use super::directives;
use super::ordered::Asked;
use super::recurrence::SystemFunc;

/// How many functions may call one another in a row. Every phase follows calls, so this bounds the stack that any program needs.
const DEEPEST: usize = 64;

/// How many statements a function may have when the bodies of those that it calls stand in the place of the calls.
const LARGEST: usize = 10_000;

/// Calls made by one function.
type Calls<I> = Vec<(I, Span)>;

/// Checks every body and gives the program.
pub(super) fn check_bodies(collected: &Collected<'_>, sink: &mut Sink) -> Program {
    let mut program = Program { structs: collected.globals.structs.clone(), ..Program::default() };
    let mut scalar_calls = Vec::new();
    for (file, f) in &collected.scalars {
        let (function, calls) = scalar_function(collected, sink, *file, f);
        program.scalar_fns.push(function);
        scalar_calls.push(calls);
    }
    let mut func_calls = Vec::new();
    let mut asked = Vec::new();
    let mut good = Vec::new();
    for (file, f) in &collected.funcs {
        let (func, calls, said, failed) = function(collected, sink, *file, f);
        asked.push(said);
        program.funcs.push(func);
        func_calls.push(calls);
        good.push(!failed);
    }
    for system in &collected.globals.systems {
        good.push(system.func.is_some());
        program.funcs.push(system.func.clone().unwrap_or_else(|| no_function(system)));
        func_calls.push(Vec::new());
        asked.push(Asked::default());
    }
    let first_codelet = program.funcs.len();
    let codelets = super::codelets::check(collected, &good, first_codelet, sink);
    for codelet in &codelets {
        program.funcs.push(codelet.body.clone());
        func_calls.push(codelet.calls.clone());
        asked.push(codelet.ordered.clone());
        good.push(!codelet.failed);
    }
    let scalar_names: Vec<&str> = collected.scalars.iter().map(|(_, f)| f.name.name.as_str()).collect();
    let func_names: Vec<String> = program.funcs.iter().map(|(_, f)| f.name.clone()).collect();
    let func_names: Vec<&str> = func_names.iter().map(String::as_str).collect();
    callees_first(&index_calls::<ScalarFnId>(&scalar_calls), &scalar_names, sink);
    let order = callees_first(&index_calls::<FuncId>(&func_calls), &func_names, sink);
    program.entries = entries(collected, &func_calls[..first_codelet], &codelets);
    let mut doubts = Vec::new();
    if let Some(order) = order {
        refuse_growth(&program, &order, &func_calls, sink);
        for at in order {
            good[at] &= func_calls[at].iter().all(|(callee, _)| good[callee.index()]);
            if !good[at] {
                continue;
            }
            let id = FuncId::new(at);
            match (collected.funcs.get(at), at.checked_sub(first_codelet)) {
                (Some((_, function)), _) => super::outputs::settle(&mut program, id, &function.params, sink),
                (None, Some(number)) => good[at] &= super::codelets::settle(&mut program, &codelets[number], sink),
                // Those of recurrences are checked already.
                (None, None) => continue,
            }
            doubts.push((id, prove::races(&mut program, id, sink)));
        }
    }
    program.spectra = super::codelets::spectra(codelets);
    if !sink.has_errors() {
        super::lints::lint(&program, &doubts, collected.globals.sources, sink);
        super::ordered::settle(&mut program, &asked, sink);
    }
    program
}

/// Stands for recurrences with an error.
fn no_function(system: &SystemFunc) -> par::Func {
    let span = system.inputs.first().map_or_else(|| Span::new(FileId::new(0), 0, 0), |input| input.span);
    par::Func {
        name: String::new(),
        doc: Vec::new(),
        params: Vec::new(),
        dims: Vec::new(),
        vars: Arena::new(),
        body: Block::default(),
        recur: None,
        contract: true,
        unchecked: false,
        span,
    }
}

/// Functions that are called by nothing but their own codelets.
fn entries(collected: &Collected<'_>, calls: &[Calls<FuncId>], codelets: &[Checked]) -> Vec<FuncId> {
    let mut called: OrdSet<FuncId> = calls.iter().flatten().map(|(id, _)| *id).collect();
    for Checked { meaning, calls, .. } in codelets {
        called.extend(calls.iter().map(|(id, _)| *id).filter(|id| id != meaning));
    }
    let own = collected.funcs.iter().enumerate();
    own.filter(|(_, (_, f))| !f.is_static).map(|(at, _)| FuncId::new(at)).filter(|id| !called.contains(id)).collect()
}

fn index_calls<I: Id>(calls: &[Calls<I>]) -> Vec<Vec<(usize, Span)>> {
    calls.iter().map(|list| list.iter().map(|(id, span)| (id.index(), *span)).collect()).collect()
}

/// Reports functions that their calls make too large: once for what they have in common, and not their callers.
fn refuse_growth(program: &Program, order: &[usize], calls: &[Calls<FuncId>], sink: &mut Sink) {
    let mut sizes: Vec<Option<usize>> = vec![None; calls.len()];
    for &at in order {
        let mut size = 0;
        let func = &program.funcs[FuncId::new(at)];
        let tables = func.recur.iter().flat_map(|recur| &recur.systems).flat_map(|system| &system.tables);
        for body in tables.map(|table| &table.body).chain([&func.body]) {
            visit::walk_stmts(body, |_| size += 1);
        }
        let own = size;
        let fits = calls[at].iter().try_fold(size, |sum, (callee, _)| Some(sum + sizes[callee.index()]?));
        sizes[at] = fits.filter(|size| *size <= LARGEST.max(own));
        if let (Some(size), None, Some((_, span))) = (fits, sizes[at], calls[at].last()) {
            let name = &program.funcs[FuncId::new(at)].name;
            let headline = format!("the calls in `{name}` make {size} statements of it");
            let diagnostic = Diagnostic::new(Code::TooManyCalls, *span, headline);
            sink.push(diagnostic.label(format!("at most {LARGEST} are possible")).help("put what repeats into a loop"));
        }
    }
}

/// Reports cycles of calls and chains that are too long. Without any, gives the functions in an order in which callees come before
/// callers.
fn callees_first(calls: &[Vec<(usize, Span)>], names: &[&str], sink: &mut Sink) -> Option<Vec<usize>> {
    let mut search = Search {
        calls,
        names,
        state: vec![State::New; calls.len()],
        path: Vec::new(),
        order: Vec::new(),
        lengths: vec![1; calls.len()],
        refused: false,
    };
    for at in 0..calls.len() {
        search.visit(at, sink);
    }
    (!search.refused).then_some(search.order)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

struct Search<'a> {
    calls: &'a [Vec<(usize, Span)>],
    names: &'a [&'a str],
    state: Vec<State>,
    /// Functions on the way here, each with the place of the call that leads on.
    path: Vec<(usize, Span)>,
    order: Vec<usize>,
    /// Of the longest chain of calls that begins with a function, itself included.
    lengths: Vec<usize>,
    refused: bool,
}

impl Search<'_> {
    fn visit(&mut self, at: usize, sink: &mut Sink) {
        if self.state[at] != State::New {
            return;
        }
        self.state[at] = State::Open;
        for (callee, span) in &self.calls[at] {
            self.path.push((at, *span));
            if self.path.len() >= DEEPEST {
                self.refuse_chain(*span, sink);
                self.path.pop();
                break;
            }
            match self.state[*callee] {
                State::New => self.visit(*callee, sink),
                State::Open => self.report(*callee, sink),
                State::Done => {}
            }
            self.path.pop();
            let length = self.lengths[*callee] + 1;
            if length > DEEPEST {
                self.refuse_chain(*span, sink);
            }
            self.lengths[at] = self.lengths[at].max(length.min(DEEPEST));
        }
        self.state[at] = State::Done;
        self.order.push(at);
    }

    /// Reports a chain, of those that share functions only one.
    fn refuse_chain(&mut self, span: Span, sink: &mut Sink) {
        if !std::mem::replace(&mut self.refused, true) {
            let diagnostic = Diagnostic::new(Code::TooManyCalls, span, "a chain of calls is too long");
            sink.push(diagnostic.label(format!("at most {DEEPEST} functions may call one another in a row")));
        }
    }

    fn report(&mut self, callee: usize, sink: &mut Sink) {
        self.refused = true;
        let start = self.path.iter().position(|(at, _)| *at == callee).unwrap_or(0);
        let cycle = &self.path[start..];
        let mut names: Vec<&str> = cycle.iter().map(|(at, _)| self.names[*at]).collect();
        names.push(self.names[callee]);
        let (_, last) = cycle[cycle.len() - 1];
        let mut diagnostic = Diagnostic::new(Code::Recursion, last, format!("`{}` calls itself", self.names[callee]))
            .label("this call closes the cycle")
            .note(format!("the cycle is {}", names.join(" -> ")))
            .note("every call is inlined, so none may lead back to its function");
        for (at, span) in &cycle[..cycle.len() - 1] {
            diagnostic = diagnostic.also(*span, format!("called by `{}`", self.names[*at]));
        }
        sink.push(diagnostic);
    }
}

// ---- scalar functions

fn scalar_function(
    collected: &Collected<'_>,
    sink: &mut Sink,
    file: FileId,
    f: &ast::ScalarFunction,
) -> (par::ScalarFn, Calls<ScalarFnId>) {
    let globals = &collected.globals;
    let result = globals.type_of(file, &f.result.name);
    let mut cx = Cx::new(globals, sink, file, BodyKind::Scalar(result));
    let _ = cx.type_name(&f.result);
    let (no_contract, _) = directives::of_function(&mut cx, &f.directives, f.span);
    let params: Vec<VarId> = f
        .params
        .iter()
        .map(|param| {
            let ty = cx.type_name(&param.ty);
            let kind = VarKind::Param(Direction::Input);
            let var = cx.new_var(&param.name.name, ty.unwrap_or(Ty::LONG), Vec::new(), kind, param.name.span);
            cx.info_mut(var).poisoned = ty.is_none();
            cx.declare(&param.name, var);
            var
        })
        .collect();
    let body = f.body.as_ref().map(|body| {
        let mut block = Block::default();
        cx.stmts(&body.stmts, &mut block.stmts);
        if cx.assigned.is_some() && !cx.failed {
            let end = Span { start: body.span.end.saturating_sub(1), ..body.span };
            let _: Option<()> = cx.error(
                Diagnostic::new(
                    Code::MissingReturn,
                    end,
                    format!("not every path of `{}` returns a value", f.name.name),
                )
                .label("reached without `return`")
                .also(f.result.span, format!("a `{}` is promised here", f.result.name)),
            );
        }
        block
    });
    cx.warn_unused(body.is_some());
    let function = par::ScalarFn {
        name: f.name.name.clone(),
        params,
        result: result.unwrap_or(Ty::LONG),
        vars: cx.vars,
        body,
        contract: !no_contract,
        span: f.name.span,
    };
    (function, cx.scalar_calls)
}

// ---- functions over arrays

fn function(
    collected: &Collected<'_>,
    sink: &mut Sink,
    file: FileId,
    f: &ast::Function,
) -> (par::Func, Calls<FuncId>, Asked, bool) {
    let mut cx = Cx::new(&collected.globals, sink, file, BodyKind::Func);
    let (no_contract, unchecked) = directives::of_function(&mut cx, &f.directives, f.span);
    let (params, dims) = cx.header(&f.params);
    cx.refuse_clashing_parameters(&f.params);
    let mut stmts = Vec::new();
    cx.stmts(&f.body.stmts, &mut stmts);
    cx.refuse_unwritten_outputs(&params);
    cx.warn_unused(true);
    let body = Block { stmts };
    let mut stmts = counters::tests(&cx.vars, &body);
    stmts.extend(body.stmts);
    let func = par::Func {
        name: f.name.name.clone(),
        doc: f.doc.clone(),
        params,
        dims,
        vars: cx.vars,
        body: Block { stmts },
        recur: None,
        contract: !no_contract,
        unchecked: unchecked || cx.unchecked,
        span: f.name.span,
    };
    (func, cx.calls, cx.ordered, cx.failed)
}

impl Cx<'_> {
    /// Two parameters that differ in the underscore only would be one in Rust.
    fn refuse_clashing_parameters(&mut self, params: &[ast::Param]) {
        let bare = |name: &str| name.strip_prefix('_').unwrap_or(name).to_string();
        for (at, param) in params.iter().enumerate() {
            let clash = params[..at]
                .iter()
                .find(|other| other.name.name != param.name.name && bare(&other.name.name) == bare(&param.name.name));
            if let Some(other) = clash {
                let _: Option<()> = self.error(
                    Diagnostic::new(
                        Code::DuplicateName,
                        param.name.span,
                        format!("`{}` and `{}` would be one parameter in Rust", other.name.name, param.name.name),
                    )
                    .label("the same without its underscore")
                    .also(other.name.span, "the other parameter"),
                );
            }
        }
    }

    fn refuse_unwritten_outputs(&mut self, params: &[VarId]) {
        for param in params {
            let unwritten = self.vars[*param].kind == VarKind::Param(Direction::Output) && !self.info(*param).written;
            if unwritten && !self.failed {
                let name = self.vars[*param].name.clone();
                let span = self.vars[*param].span;
                let _: Option<()> = self.error(
                    Diagnostic::new(Code::UnwrittenOutput, span, format!("output `{name}` is never written"))
                        .label("no statement writes it")
                        .help("assign it, or declare it as `input`"),
                );
            }
        }
    }

    /// Warns of variables that nothing reads.
    pub(super) fn warn_unused(&mut self, has_body: bool) {
        if self.failed || !has_body {
            return;
        }
        for (var, info) in self.vars.ids().zip(self.info.clone()) {
            let known = &self.vars[var];
            let unread = match known.kind {
                VarKind::Local => !info.read,
                VarKind::Param(Direction::Input) => !info.read && !self.shapes_mention(var),
                VarKind::Param(Direction::Inout) => !info.read && !info.written,
                VarKind::Param(Direction::Output) | VarKind::Dim | VarKind::Iter => false,
            };
            if !unread {
                continue;
            }
            let local = known.kind == VarKind::Local;
            let what = if info.written && local { "assigned, but never read" } else { "never used" };
            let code = if local { Code::UnusedLocal } else { Code::UnusedParameter };
            self.sink.push(Diagnostic::new(code, known.span, format!("`{}` is {what}", known.name)).label(what));
        }
    }

    fn shapes_mention(&self, var: VarId) -> bool {
        self.vars.iter().any(|(_, other)| other.shape.iter().any(|extent| super::shape::mentions(extent, var)))
    }
}

/// Whether a block holds a statement that ends the function early.
pub(super) fn leaves(block: &Block) -> bool {
    let mut found = false;
    par::visit::walk_stmts(block, |s| found |= matches!(s.kind, StmtKind::Leave));
    found
}

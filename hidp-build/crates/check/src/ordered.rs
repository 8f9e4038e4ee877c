//! `ordered` functions, codelets and calls: floats are folded in the order of iterations, whichever body a call takes.
//!
//! A call that says so takes the *view* of its function: the same body with its folds in order, those of the calls in it too, and of its
//! codelets those that promise the same bits, or that compute no floats. Where that is all of them and nothing changes, the view is the
//! function itself.

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Block, Codelet, Expr, Fold, FoldOp, Func, FuncId, Map, PrimCall, Program, Spectrum, Stmt, StmtKind,
};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

/// What a body says of the order of its folds.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Where `ordered` stands before the function or codelet.
    pub(super) whole: Option<Span>,
    /// Calls with `ordered` before them.
    pub(super) calls: Vec<Span>,
}

/// Gives calls their views; `asked` is what each function's body says.
pub(super) fn settle(program: &mut Program, asked: &[Asked], sink: &mut Sink) {
    if asked.iter().all(|asked| asked.whole.is_none() && asked.calls.is_empty()) {
        return;
    }
    let mut views = Views { program, asked, sink, of: OrdMap::new() };
    let ids: Vec<FuncId> = views.program.funcs.ids().take(asked.len()).collect();
    let codelets = views.program.spectra.iter().flat_map(|spectrum| {
        let promised = spectrum.codelets.iter().filter(|codelet| codelet.ordered);
        promised.map(|codelet| (spectrum.meaning, codelet.span))
    });
    let codelets: Vec<(FuncId, Span)> = codelets.collect();
    let bodies: Vec<FuncId> = views.program.spectra.iter().flat_map(Spectrum::bodies).collect();
    for (id, asked) in ids.iter().zip(asked) {
        if let Some(span) = asked.whole.filter(|_| !bodies.contains(id)) {
            views.view(*id, span);
        }
    }
    for (function, span) in codelets {
        views.view(function, span);
    }
    for (id, asked) in ids.iter().zip(asked) {
        let mut body = std::mem::take(&mut views.program.funcs[*id].body);
        views.redirect(&mut body, &|span| asked.calls.contains(&span));
        views.program.funcs[*id].body = body;
    }
}

struct Views<'a> {
    program: &'a mut Program,
    asked: &'a [Asked],
    sink: &'a mut Sink,
    /// Nothing where an error was reported.
    of: OrdMap<FuncId, Option<FuncId>>,
}

impl Views<'_> {
    /// What calls of a function take that fold in order, as the text at `because` asks.
    fn view(&mut self, function: FuncId, because: Span) -> Option<FuncId> {
        if let Some(known) = self.of.get(&function) {
            return *known;
        }
        self.of.insert(function, None);
        let mut func = self.program.funcs[function].clone();
        if !self.put_in_order(&mut func, because) {
            return None;
        }
        let own = self.program.spectrum_of(function).map(|spectrum| spectrum.codelets.clone()).unwrap_or_default();
        let (kept, others): (Vec<Codelet>, Vec<Codelet>) =
            own.into_iter().partition(|codelet| codelet.ordered || !self.computes_floats(codelet.func));
        let whole = self.asked(function).whole.is_some();
        others.iter().filter(|_| whole).for_each(|codelet| self.refuse_codelet(function, codelet));
        let itself = whole || others.is_empty() && func == self.program.funcs[function];
        let view = if itself {
            self.program.funcs[function] = func;
            function
        } else {
            self.program.funcs.push(func)
        };
        self.of.insert(function, Some(view));
        for Codelet { func, span, .. } in kept.iter().filter(|codelet| codelet.ordered) {
            let mut body = self.program.funcs[*func].clone();
            if self.put_in_order(&mut body, *span) {
                self.program.funcs[*func] = body;
            }
        }
        match self.program.spectra.iter_mut().find(|spectrum| spectrum.meaning == view) {
            Some(spectrum) => spectrum.ordered = true,
            None if kept.is_empty() => {}
            None => self.program.spectra.push(Spectrum { meaning: view, codelets: kept, ordered: true }),
        }
        Some(view)
    }

    fn asked(&self, function: FuncId) -> Asked {
        self.asked.get(function.index()).cloned().unwrap_or_default()
    }

    /// Whether it could be done.
    fn put_in_order(&mut self, func: &mut Func, because: Span) -> bool {
        let name = func.name.clone();
        let mut fits = true;
        for body in bodies(func) {
            if let Some(span) = unordered(body) {
                let headline = format!("`{name}` is to be `ordered`, but gives the order up");
                let diagnostic = Diagnostic::new(Code::NotOrdered, because, headline).label("asks for iteration order");
                self.sink.push(diagnostic.also(span, "`unordered` stands before this"));
                return false;
            }
            InOrder { program: self.program }.visit_block(body);
            fits &= self.redirect(body, &|_| true);
        }
        fits
    }

    /// Gives calls at these places their views; false where there are none.
    fn redirect(&mut self, body: &mut Block, at: &dyn Fn(Span) -> bool) -> bool {
        let mut calls: Vec<(FuncId, Span)> = Vec::new();
        visit::walk_stmts(body, |stmt| {
            if let StmtKind::Call { callee, .. } = &stmt.kind
                && at(stmt.span)
            {
                calls.push((*callee, stmt.span));
            }
        });
        let views: Vec<Option<FuncId>> = calls.into_iter().map(|(callee, span)| self.view(callee, span)).collect();
        let fits = views.iter().all(Option::is_some);
        Redirect { at, views: views.into_iter() }.visit_block(body);
        fits
    }

    fn computes_floats(&self, func: FuncId) -> bool {
        self.program.funcs[func].vars.iter().any(|(_, var)| has_floats(self.program, var.ty))
    }

    fn refuse_codelet(&mut self, function: FuncId, codelet: &Codelet) {
        let name = &self.program.funcs[function].name;
        let headline = format!("`{name}` is `ordered`, but its codelet \"{}\" is not", codelet.tag);
        let diagnostic = Diagnostic::new(Code::NotOrdered, codelet.span, headline).label("may fold in another order");
        self.sink.push(diagnostic.help("write `#pragma hidp ordered` before the codelet, or leave one of the two out"));
    }
}

/// The blocks of a function.
fn bodies(func: &mut Func) -> impl Iterator<Item = &mut Block> {
    let systems = func.recur.iter_mut().flat_map(|recur| &mut recur.systems);
    let tables = systems.flat_map(|system| &mut system.tables).map(|table| &mut table.body);
    std::iter::once(&mut func.body).chain(tables)
}

/// The first statement that gives the order up.
fn unordered(body: &Block) -> Option<Span> {
    let mut found = None;
    visit::walk_stmts(body, |stmt| {
        let gives_up = matches!(&stmt.kind, StmtKind::Map(map) if map.directives.unordered)
            || matches!(&stmt.kind, StmtKind::Prim(call) if call.directives.unordered);
        found = found.or(gives_up.then_some(stmt.span));
    });
    found
}

fn has_floats(program: &Program, ty: Ty) -> bool {
    match ty {
        Ty::Scalar(scalar) => Scalar::is_float(scalar),
        Ty::Struct(id) => program.structs[id].fields.iter().any(|(_, ty)| has_floats(program, *ty)),
    }
}

/// Does what `ordered` does before every map and primitive that folds floats.
struct InOrder<'a> {
    program: &'a Program,
}

impl Mutator for InOrder<'_> {
    fn visit_map(&mut self, map: &mut Map) {
        map.directives.ordered |= map.folds.iter().any(|Fold { op, .. }| has_floats(self.program, op.ty));
        change::walk_map(self, map);
    }
    fn visit_prim(&mut self, call: &mut PrimCall) {
        call.directives.ordered |= call.op.as_ref().is_some_and(|op| has_floats(self.program, op.ty));
        change::walk_prim(self, call);
    }
    fn visit_fold_op(&mut self, op: &mut FoldOp) {
        op.ordered |= has_floats(self.program, op.ty);
    }
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        // Updates of one element by several iterations have no order that could be kept.
        if !matches!(stmt.kind, StmtKind::Atomic { .. }) {
            change::walk_stmt(self, stmt);
        }
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// Gives the calls at some places other functions, in the order of the text.
struct Redirect<'a, V> {
    at: &'a dyn Fn(Span) -> bool,
    views: V,
}

impl<V: Iterator<Item = Option<FuncId>>> Mutator for Redirect<'_, V> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        if let StmtKind::Call { callee, .. } = &mut stmt.kind
            && (self.at)(stmt.span)
        {
            *callee = self.views.next().flatten().unwrap_or(*callee);
        }
        change::walk_stmt(self, stmt);
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

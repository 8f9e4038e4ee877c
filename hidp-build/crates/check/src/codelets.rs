//! Codelets: their functions, names, tunables and conditions, and that they write what their functions write.

use hidp_ir::par::visit::walk_subexprs;
use hidp_ir::par::{
    BinOp, Block, Codelet, Const, ConvertMode, Expr, ExprKind, Func, FuncId, Program, Spectrum, Stmt, StmtKind,
    Tunable, VarId, VarKind,
};
use hidp_prove::Facts;
use hidp_syntax::ast::{self, Direction, Knob, PieceWay, Values};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{FileId, Span};
use hidp_syntax::ty::Ty;

use super::access::stmt;
use super::collect::Collected;
use super::cx::{BodyKind, Cx};
use super::items::Global;
use super::ordered::Asked;
use super::value::{UntypedKind, Val};
use super::{counters, directives, fold, outputs};

/// Tunables of a codelet, and values of a tunable.
const TUNABLES: usize = 4;
const VALUES: usize = 16;
/// The largest value.
const LARGEST: i128 = i32::MAX as i128;
/// Codelets of a function.
const CODELETS: usize = 16;

/// A codelet that was checked.
pub(super) struct Checked {
    pub(super) meaning: FuncId,
    pub(super) codelet: Codelet,
    pub(super) body: Func,
    pub(super) calls: Vec<(FuncId, Span)>,
    pub(super) ordered: Asked,
    /// Outputs that nothing writes.
    unwritten: Vec<VarId>,
    pub(super) failed: bool,
}

/// Checks the codelets of all files; `good` are the functions without an error, and `first` is the number of the first codelet's body.
pub(super) fn check(collected: &Collected<'_>, good: &[bool], first: usize, sink: &mut Sink) -> Vec<Checked> {
    let mut checked: Vec<Checked> = Vec::new();
    let mut tags: OrdMap<FuncId, Vec<(String, Span)>> = OrdMap::new();
    let mut chosen: OrdMap<FuncId, Vec<(String, Span)>> = OrdMap::new();
    for (file, item) in &collected.codelets {
        let Some(meaning) = function(collected, *file, item, sink) else { continue };
        if !tag_fits(item, tags.entry(meaning).or_default(), sink) || !good[meaning.index()] {
            continue;
        }
        let (of, function) = collected.funcs[meaning.index()];
        if !header_fits(item, function, sink) || !calls_choose_once(item, chosen.entry(meaning).or_default(), sink) {
            continue;
        }
        for tiles in PieceWay::ALL {
            let id = FuncId::new(first + checked.len());
            let known = body(collected, (of, function), (*file, item, tiles), (meaning, id), sink);
            // Elements in another order are folded in another order.
            let open = known.codelet.tiles.is_some() && !known.codelet.ordered && !known.failed;
            checked.push(known);
            if !open {
                break;
            }
        }
    }
    checked
}

/// The function that a codelet is of.
fn function(collected: &Collected<'_>, file: FileId, item: &ast::Codelet, sink: &mut Sink) -> Option<FuncId> {
    let name = &item.function.name;
    let what = match collected.globals.lookup(file, name) {
        Some(Global::Func(id)) => return Some(id),
        Some(Global::Poisoned) => return None,
        Some(global) => format!("`{name}` is a {}, which has no codelets", global.noun()),
        None => format!("there is no function `{name}` for this codelet"),
    };
    let diagnostic = Diagnostic::new(Code::NoFunction, item.function.span, what).label("no function over arrays");
    sink.push(diagnostic.help(format!("say what it computes: `function {name} input … {{ … }}`")));
    None
}

fn tag_fits(item: &ast::Codelet, known: &mut Vec<(String, Span)>, sink: &mut Sink) -> bool {
    let (name, span) = (&item.function.name, item.tag_span);
    let plain = !item.tag.is_empty() && item.tag.chars().all(|c| c.is_ascii_alphanumeric() || " _-".contains(c));
    if !plain {
        let headline = "a codelet's name is made of letters, digits, blanks, `_` and `-`";
        sink.push(Diagnostic::new(Code::CodeletTag, span, headline).label("no such name"));
        return false;
    }
    if let Some((_, first)) = known.iter().find(|(tag, _)| *tag == item.tag) {
        let headline = format!("`{name}` has two codelets \"{}\"", item.tag);
        let diagnostic = Diagnostic::new(Code::CodeletTag, span, headline).label("again here");
        sink.push(diagnostic.also(*first, "first here"));
        return false;
    }
    if known.len() == CODELETS {
        let headline = format!("`{name}` has more than {CODELETS} codelets");
        sink.push(Diagnostic::new(Code::CodeletTag, span, headline).label("one too many"));
        return false;
    }
    known.push((item.tag.clone(), span));
    true
}

/// What calls choose is found by the names of function and tunable.
fn calls_choose_once(item: &ast::Codelet, known: &mut Vec<(String, Span)>, sink: &mut Sink) -> bool {
    for ast::Tunable { name, .. } in item.tunables.iter().filter(|tunable| tunable.run) {
        if let Some((_, first)) = known.iter().find(|(other, _)| *other == name.name) {
            let headline = format!("codelets of `{}` have two `run` tunables `{}`", item.function.name, name.name);
            let diagnostic = Diagnostic::new(Code::BadTunable, name.span, headline).label("again here");
            sink.push(diagnostic.also(*first, "first here").help("calls choose it by its name: give it another one"));
            return false;
        }
        known.push((name.name.clone(), name.span));
    }
    true
}

fn header_fits(item: &ast::Codelet, function: &ast::Function, sink: &mut Sink) -> bool {
    let header = hidp_syntax::header(&function.params);
    if item.params.is_empty() || hidp_syntax::header(&item.params) == header {
        return true;
    }
    let differs = item.params.iter().zip(&function.params).find(|(own, of)| {
        hidp_syntax::header(std::slice::from_ref(*own)) != hidp_syntax::header(std::slice::from_ref(*of))
    });
    let span = differs.map_or(item.function.span, |(own, _)| own.span);
    let of = differs.map_or(function.name.span, |(_, of)| of.span);
    let headline = format!("the header of this codelet is not that of `{}`", item.function.name);
    let diagnostic = Diagnostic::new(Code::CodeletHeader, span, headline).label("differs").also(of, "the function's");
    sink.push(diagnostic.help("leave the parameters out: a codelet has those of its function"));
    false
}

fn body(
    collected: &Collected<'_>,
    (of, function): (FileId, &ast::Function),
    (file, item, tiles): (FileId, &ast::Codelet, PieceWay),
    (meaning, id): (FuncId, FuncId),
    sink: &mut Sink,
) -> Checked {
    let mut cx = Cx::new(&collected.globals, sink, of, BodyKind::Func);
    // Names in the header mean what they mean where the function stands.
    let (params, dims) = cx.header(&function.params);
    cx.file = file;
    cx.tiles = Some(tiles);
    let (no_contract, unchecked) = directives::of_function(&mut cx, &item.directives, item.span);
    let mut stmts = Vec::new();
    let tunables = cx.codelet_tunables(&item.tunables, &mut stmts);
    let when = item.when.as_ref().and_then(|when| cx.codelet_condition(when));
    let mut body = Vec::new();
    cx.stmts(&item.body.stmts, &mut body);
    let body = Block { stmts: body };
    stmts.extend(counters::tests(&cx.vars, &body));
    stmts.extend(body.stmts);
    if unchecked || cx.unchecked {
        cx.refuse_unchecked_codelet(item.tag_span);
    }
    let is_output = |var: &VarId| cx.vars[*var].kind == VarKind::Param(Direction::Output);
    let unwritten = params.iter().copied().filter(|var| is_output(var) && !cx.info(*var).written).collect();
    let inputs: Vec<VarId> = params.clone();
    inputs.into_iter().for_each(|param| cx.info_mut(param).read = true);
    cx.warn_unused(true);
    let tiles = cx.has_tiles.then_some(tiles);
    let ordered = cx.ordered.whole.is_some();
    let codelet = Codelet { tag: item.tag.clone(), tiles, func: id, when, tunables, ordered, span: item.tag_span };
    let body = Func {
        name: function.name.name.clone(),
        doc: Vec::new(),
        params,
        dims,
        vars: cx.vars,
        body: Block { stmts },
        recur: None,
        contract: !no_contract,
        unchecked: false,
        span: item.tag_span,
    };
    let (calls, ordered, mut failed) = (cx.calls, cx.ordered, cx.failed);
    failed |= !failed && !is_ever_taken(&codelet, &body, sink);
    Checked { meaning, codelet, body, calls, ordered, unwritten, failed }
}

/// Whether some call may take the codelet.
fn is_ever_taken(codelet: &Codelet, body: &Func, sink: &mut Sink) -> bool {
    let Some(when) = &codelet.when else { return true };
    let range = |tunable: &Tunable| {
        let (least, most) = (tunable.values.iter().min()?, tunable.values.iter().max()?);
        Some((tunable.var, *least..=*most))
    };
    let ranges: Vec<_> = codelet.tunables.iter().filter_map(range).collect();
    if !Facts::new(body).never(when, &ranges) {
        return true;
    }
    let headline = format!("no call takes codelet \"{}\"", codelet.tag);
    let diagnostic = Diagnostic::new(Code::NeverTaken, when.span, headline).label("holds for no sizes");
    sink.push(diagnostic.also(codelet.span, "of this codelet"));
    false
}

impl Cx<'_> {
    /// Declares the tunables, each with its first value.
    fn codelet_tunables(&mut self, items: &[ast::Tunable], out: &mut Vec<Stmt>) -> Vec<Tunable> {
        if let Some(item) = items.get(TUNABLES) {
            let headline = format!("a codelet has at most {TUNABLES} tunables");
            let _: Option<()> =
                self.error(Diagnostic::new(Code::BadTunable, item.name.span, headline).label("one too many"));
        }
        let mut tunables = Vec::new();
        for item in items {
            let values = match &item.values {
                Values::Listed(values) => self.tunable_values(item, values),
                Values::OfModel(knob) => self.values_of_model(item, *knob),
            };
            let span = item.name.span;
            let var = self.new_var(&item.name.name, Ty::LONG, Vec::new(), VarKind::Local, span);
            self.declare(&item.name, var);
            self.tunables.insert(var);
            let info = self.info_mut(var);
            (info.fixed, info.written, info.poisoned) = (true, true, values.is_none());
            let Some(values) = values else { continue };
            let first = Expr::int(values[0], span);
            out.push(stmt(StmtKind::Declare { var, zero: true }, span));
            out.push(stmt(StmtKind::Assign { var, value: first }, span));
            tunables.push(Tunable { var, values, run: item.run });
        }
        tunables
    }

    fn tunable_is_long(&mut self, item: &ast::Tunable) -> Option<()> {
        let ty = self.type_name(&item.ty)?;
        if ty == Ty::LONG {
            return Some(());
        }
        self.error(
            Diagnostic::new(Code::BadTunable, item.ty.span, "a tunable is a `long`").label("another type").suggest(
                item.ty.span,
                "long",
                "sizes are `long`",
            ),
        )
    }

    /// `width`, `parts`
    fn values_of_model(&mut self, item: &ast::Tunable, knob: Knob) -> Option<Vec<i64>> {
        self.tunable_is_long(item)?;
        let domains = self.globals.domains;
        let values = match knob {
            Knob::Width => &domains.width,
            Knob::Parts => &domains.parts,
        };
        Some(values.clone())
    }

    fn tunable_values(&mut self, item: &ast::Tunable, list: &[ast::Expr]) -> Option<Vec<i64>> {
        self.tunable_is_long(item)?;
        if list.is_empty() || list.len() > VALUES {
            let count = list.len();
            let headline = format!("tunable `{}` has {count} values", item.name.name);
            let diagnostic = Diagnostic::new(Code::BadTunable, item.span, headline);
            return self.error(diagnostic.label(format!("one to {VALUES} are possible")));
        }
        let mut values = Vec::new();
        for value in list {
            let constant = match self.expr(value)? {
                Val::Untyped(untyped) => match untyped.kind {
                    UntypedKind::Int(constant) => Some(constant),
                    _ => None,
                },
                Val::Typed { expr, .. } => match fold::eval(&expr) {
                    Some(Const::Int(constant)) => Some(constant),
                    _ => None,
                },
            };
            let Some(constant) = constant.filter(|constant| (1..=LARGEST).contains(constant)) else {
                let headline = format!("values of a tunable are constants from 1 to {LARGEST}");
                return self.error(Diagnostic::new(Code::BadTunable, value.span, headline).label("no such number"));
            };
            let constant = constant as i64;
            if values.contains(&constant) {
                let headline = format!("tunable `{}` has the value {constant} twice", item.name.name);
                return self.error(Diagnostic::new(Code::BadTunable, value.span, headline).label("again"));
            }
            values.push(constant);
        }
        Some(values)
    }

    /// `when (…)`
    fn codelet_condition(&mut self, when: &ast::Expr) -> Option<Expr> {
        let mut condition = self.condition(when)?;
        self.settle_divisions(&mut condition);
        let mut wrong = None;
        walk_subexprs(&condition, |expr| {
            let fits = match &expr.kind {
                ExprKind::Const(_)
                | ExprKind::Unary(..)
                | ExprKind::Lazy { .. }
                | ExprKind::Select { .. }
                | ExprKind::Math(..) => true,
                ExprKind::Read(var) => match self.vars[*var].kind {
                    VarKind::Dim => true,
                    VarKind::Param(direction) => direction == Direction::Input,
                    VarKind::Local | VarKind::Iter => self.tunables.contains(var),
                },
                ExprKind::Binary { checked, .. } => !checked,
                ExprKind::Convert { mode, .. } => *mode == ConvertMode::Cast,
                ExprKind::Load(_) | ExprKind::Call(..) | ExprKind::Field(..) | ExprKind::Struct(..) => false,
            };
            if !fits {
                wrong.get_or_insert(expr.span);
            }
        });
        if let Some(span) = wrong {
            return self.error(
                Diagnostic::new(Code::BadWhen, span, "this is not known before the call, or may fault")
                    .label("`when` is decided before the body runs")
                    .help("use dimensions, scalar inputs, tunables and constants"),
            );
        }
        if let ExprKind::Const(Const::Bool(holds)) = condition.kind {
            let what = if holds { "always" } else { "never" };
            let diagnostic = Diagnostic::new(Code::BadWhen, when.span, format!("this condition {what} holds"));
            return self.error(diagnostic.label("a constant"));
        }
        Some(condition)
    }

    /// Divisions by tunables and by constants other than 0 are never by 0.
    fn settle_divisions(&self, condition: &mut Expr) {
        hidp_ir::par::visit::map_subexprs(condition, |expr| {
            if let ExprKind::Binary { op: BinOp::Div | BinOp::Rem, right, checked, .. } = &mut expr.kind {
                let positive = match right.kind {
                    ExprKind::Const(Const::Int(value)) => value > 0,
                    ExprKind::Read(var) => self.tunables.contains(&var),
                    _ => false,
                };
                *checked &= !positive;
            }
        });
    }

    fn refuse_unchecked_codelet(&mut self, span: Span) {
        let _: Option<()> = self.error(
            Diagnostic::new(Code::NotSupported, span, "codelets without checks are not supported by this version")
                .label("`unchecked`"),
        );
    }
}

/// Writes what the codelets of a program are, and reports those that do not write what their functions write. The functions' outputs are
/// settled, and bodies have their places in the program.
pub(super) fn settle(program: &mut Program, codelet: &Checked, sink: &mut Sink) -> bool {
    let Checked { meaning, codelet: Codelet { func, tag, span, .. }, unwritten, .. } = codelet;
    let kept = outputs::kept(program, *func, outputs::Calls::Sections);
    let params = program.funcs[*meaning].params.clone();
    let mut fits = true;
    for param in params {
        let kind = program.funcs[*meaning].vars[param].kind;
        program.funcs[*func].vars[param].kind = kind;
        if kind != VarKind::Param(Direction::Output) {
            continue;
        }
        let why = match kept.iter().find(|(var, _)| *var == param) {
            None if unwritten.contains(&param) => "is never written",
            None => continue,
            Some((_, outputs::Reason::Read)) => "may be read before it is written",
            Some((_, outputs::Reason::Left)) => "is not written where the body returns early",
            Some((_, outputs::Reason::Part)) => "is not certainly written in full",
        };
        let known = &program.funcs[*meaning].vars[param];
        let headline = format!("output `{}` {why} by codelet \"{tag}\"", known.name);
        let diagnostic = Diagnostic::new(Code::CodeletOutputs, *span, headline)
            .label("the function writes all of it")
            .also(known.span, "this output");
        sink.push(if known.is_array() {
            diagnostic.help(format!("begin with `{} = 0;`", known.name))
        } else {
            diagnostic
        });
        fits = false;
    }
    fits
}

/// The functions that have codelets.
pub(super) fn spectra(codelets: Vec<Checked>) -> Vec<Spectrum> {
    let mut spectra: Vec<Spectrum> = Vec::new();
    for Checked { meaning, codelet, .. } in codelets {
        match spectra.iter_mut().find(|spectrum| spectrum.meaning == meaning) {
            Some(spectrum) => spectrum.codelets.push(codelet),
            None => spectra.push(Spectrum { meaning, codelets: vec![codelet], ordered: false }),
        }
    }
    spectra
}

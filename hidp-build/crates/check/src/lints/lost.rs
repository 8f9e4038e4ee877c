//! Updates of elements in which iterations may meet: one of them reads the old value, another writes, and its result is lost.
//!
//! ```text
//! map { i := [0:N); counts[bucket[i]] += 1; }
//! ```

use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{
    Access, BinOp, Block, Expr, ExprKind, Func, Map, MathFn, Place, Stmt, StmtKind, VarId, VarKind, same,
};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::{SourceMap, Span};
use hidp_syntax::ty::{Scalar, Ty};

use super::super::shape;
use super::or_allow;

/// Warns of updates that may be lost. `races` has found out which elements other iterations may touch.
pub(super) fn lint(func: &Func, sources: &SourceMap, sink: &mut Sink) {
    let mut lost = Lost { func, sources, sink, levels: OrdMap::new(), maps: Vec::new(), data: from_data(func) };
    lost.block(&func.body);
}

struct Lost<'a> {
    func: &'a Func,
    sources: &'a SourceMap,
    sink: &'a mut Sink,
    /// How many maps are around the declaration of a local array.
    levels: OrdMap<VarId, usize>,
    /// The maps around, outermost first, and their statements.
    maps: Vec<(Span, &'a Map)>,
    /// Scalars that differ from iteration to iteration as data say.
    data: OrdSet<VarId>,
}

impl<'a> Lost<'a> {
    fn block(&mut self, block: &'a Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Declare { var, .. } => {
                self.levels.insert(*var, self.maps.len());
            }
            StmtKind::Store { place, value } => self.store(stmt.span, place, value),
            StmtKind::If { then, otherwise, .. } => {
                self.block(then);
                self.block(otherwise);
            }
            StmtKind::Loop(node) => {
                self.block(&node.body);
                self.block(&node.step);
            }
            StmtKind::Scope(block) => self.block(block),
            StmtKind::Map(map) => {
                self.maps.push((stmt.span, map));
                self.block(&map.body);
                self.maps.pop();
            }
            StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        }
    }

    fn store(&mut self, span: Span, place: &Place, value: &Expr) {
        let level = self.levels.get(&place.array).copied().unwrap_or(0);
        let Some((_, outermost)) = self.maps.get(level) else { return };
        if place.access != Access::Shared || !self.may_meet(place, level) {
            return;
        }
        let label = match self.reads(outermost, place, value) {
            Read::Never => return,
            Read::Here => "read and written: of two updates at the same time one is lost",
            Read::Before => "read before in the iteration: what another one writes meanwhile is lost",
        };
        let name = &self.func.vars[place.array].name;
        let headline = format!("updates of `{name}` may be lost: iterations may meet in one element");
        let diagnostic = Diagnostic::new(Code::LostUpdate, place.span, headline).label(label);
        self.sink.push(or_allow(self.advice(diagnostic, span, place, value, level)));
    }

    /// Whether an iteration reads the element that it writes, so that what it writes may depend on it.
    fn reads(&self, map: &Map, target: &Place, value: &Expr) -> Read {
        let is_target = |place: &Place| same::place(place, target);
        if matches!(&value.kind, ExprKind::Load(place) if is_target(place)) {
            return Read::Never;
        }
        let mut found = Read::Never;
        visit::walk_subexprs(value, |node| {
            if matches!(&node.kind, ExprKind::Load(place) if is_target(place)) {
                found = Read::Here;
            }
        });
        // A value that is the same in all iterations is as good from any of them.
        if found == Read::Never && self.varies(value) {
            visit::walk_places(&map.body, |place, role| {
                if role == Role::Read && is_target(place) {
                    found = Read::Before;
                }
            });
        }
        found
    }

    /// Whether a value may differ between iterations.
    fn varies(&self, value: &Expr) -> bool {
        let mut varies = false;
        visit::walk_subexprs(value, |node| {
            varies |= match &node.kind {
                ExprKind::Load(_) => true,
                ExprKind::Read(var) => self.data.contains(var) || self.func.vars[*var].kind == VarKind::Iter,
                _ => false,
            };
        });
        varies
    }

    /// Whether two iterations may mean one element: some iterator has no dimension of its own, and data or an operator that gives
    /// one result for several operands say which element it is.
    fn may_meet(&self, place: &Place, level: usize) -> bool {
        let iterators = self.maps[level..].iter().flat_map(|(_, map)| &map.iters);
        let has_own = |var: VarId| place.index.iter().any(|index| is_next_to(index, var));
        !iterators.map(|iter| iter.var).all(has_own) && place.index.iter().any(|index| self.merges(index))
    }

    fn merges(&self, index: &Expr) -> bool {
        let mut merges = false;
        visit::walk_subexprs(index, |node| {
            merges |= match &node.kind {
                ExprKind::Load(_) | ExprKind::Call(..) | ExprKind::Select { .. } => true,
                ExprKind::Read(var) => self.data.contains(var),
                ExprKind::Binary { op, .. } => {
                    matches!(op, BinOp::Div | BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Shr)
                }
                ExprKind::Math(function, _) => matches!(function, MathFn::Min | MathFn::Max | MathFn::Abs),
                ExprKind::Const(_)
                | ExprKind::Unary(..)
                | ExprKind::Lazy { .. }
                | ExprKind::Convert { .. }
                | ExprKind::Field(..)
                | ExprKind::Struct(..) => false,
            };
        });
        merges
    }

    /// What to write instead.
    fn advice(&self, diagnostic: Diagnostic, span: Span, place: &Place, value: &Expr, level: usize) -> Diagnostic {
        let update = Update::of(place, value);
        let wide = matches!(value.ty, Ty::Scalar(scalar) if scalar.size() >= 4);
        let float = value.ty.scalar().is_some_and(Scalar::is_float);
        let histogram = update.as_ref().and_then(|update| self.histogram(place, update, level));
        let atomic = update.as_ref().filter(|update| wide && update.is_atomic(float) && self.is_alone(place, level));
        let mut diagnostic = diagnostic;
        if let Some(update) = atomic {
            let text = update.atomic(self.sources, span, place);
            diagnostic = diagnostic.suggest(span, text, "update the element indivisibly");
        }
        if let Some((whole, text)) = histogram {
            diagnostic = diagnostic.suggest(whole, text, "let a primitive do it, with the same bits on every run");
        }
        match diagnostic.suggestions.is_empty() {
            true if float => diagnostic.help(
                "keys and values in arrays are summed by `histogram(\"+\", keys, values, out, size)`; `atomic` adds floats below `#pragma hidp unordered`",
            ),
            true => diagnostic.help(
                "`atomic x op= e` updates an element indivisibly where nothing else touches its array; `histogram(op, keys, values, out, size)` \
                 combines values by keys",
            ),
            false => diagnostic,
        }
    }

    /// Whether nothing else in the outermost map touches the array, as `atomic` demands.
    fn is_alone(&self, place: &Place, level: usize) -> bool {
        let mut uses = 0;
        let body = &self.maps[level].1.body;
        visit::walk_vars(body, |var, _| uses += usize::from(var == place.array));
        uses == 2
    }

    /// `histogram(op, keys, values, out, n);`, or `histogram(keys, out, n);`, in the place of a map that does nothing else.
    fn histogram(&self, place: &Place, update: &Update<'_>, level: usize) -> Option<(Span, String)> {
        let [(span, map)] = self.maps[level..] else { return None };
        let ([iter], [stmt], [key]) = (&map.iters[..], &map.body.stmts[..], &place.index[..]) else { return None };
        let whole = iter.lo.as_int() == Some(0) && iter.step.as_int() == Some(1) && map.folds.is_empty() && level == 0;
        if !whole || !matches!(stmt.kind, StmtKind::Store { .. }) || !place.path.is_empty() {
            return None;
        }
        let keys = self.row(key, iter.var, &iter.hi, false)?;
        let name = |var: VarId| &self.func.vars[var].name;
        let size = self.sources.snippet(iter.hi.span);
        let counts = update.operator()? == "+" && update.operand.as_int() == Some(1);
        if counts && keys != place.array && self.func.vars[place.array].ty.scalar().is_some_and(Scalar::is_integer) {
            return Some((span, format!("histogram({}, {}, {size});", name(keys), name(place.array))));
        }
        let values = self.row(update.operand, iter.var, &iter.hi, true)?;
        let apart = keys != place.array && values != place.array;
        let same_type = self.func.vars[values].ty == self.func.vars[place.array].ty;
        let text = format!(
            "histogram(\"{}\", {}, {}, {}, {size});",
            update.operator()?,
            name(keys),
            name(values),
            name(place.array)
        );
        (apart && same_type).then_some((span, text))
    }

    /// The array of which an expression is this iteration's element, if that is one for each iteration.
    fn row(&self, expr: &Expr, iter: VarId, size: &Expr, exact: bool) -> Option<VarId> {
        match &expr.kind {
            ExprKind::Convert { operand, .. } if !exact => self.row(operand, iter, size, exact),
            ExprKind::Load(Place { array, index, path, .. }) if path.is_empty() => {
                let [Expr { kind: ExprKind::Read(var), .. }] = index[..] else { return None };
                let [extent] = &self.func.vars[*array].shape[..] else { return None };
                (var == iter && shape::same(extent, size)).then_some(*array)
            }
            _ => None,
        }
    }
}

/// Where an iteration reads the element that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Never,
    /// In the value that it writes.
    Here,
    /// Elsewhere.
    Before,
}

/// `target op= operand`
struct Update<'e> {
    op: Op,
    operand: &'e Expr,
}

#[derive(Clone, Copy)]
enum Op {
    Infix(BinOp),
    Math(MathFn),
}

impl<'e> Update<'e> {
    fn of(target: &Place, value: &'e Expr) -> Option<Update<'e>> {
        let is_old = |expr: &Expr| matches!(&expr.kind, ExprKind::Load(place) if same::place(place, target));
        let (op, left, right) = match &value.kind {
            ExprKind::Binary { op, left, right, .. } => (Op::Infix(*op), &**left, &**right),
            ExprKind::Math(function, operands) => match &operands[..] {
                [left, right] => (Op::Math(*function), left, right),
                _ => return None,
            },
            _ => return None,
        };
        let commutes = !matches!(op, Op::Infix(BinOp::Sub | BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr));
        let operand = match (is_old(left), is_old(right)) {
            (true, false) => right,
            (false, true) if commutes => left,
            _ => return None,
        };
        let mut again = false;
        visit::walk_subexprs(operand, |node| again |= is_old(node));
        (!again).then_some(Update { op, operand })
    }

    /// Whether `atomic` does it.
    fn is_atomic(&self, float: bool) -> bool {
        match self.op {
            Op::Infix(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor) => !float,
            Op::Math(function) => matches!(function, MathFn::Min | MathFn::Max),
            Op::Infix(_) => false,
        }
    }

    /// Its name for primitives.
    fn operator(&self) -> Option<&'static str> {
        match self.op {
            Op::Infix(BinOp::Add) => Some("+"),
            Op::Infix(BinOp::Mul) => Some("*"),
            Op::Infix(BinOp::And) => Some("&"),
            Op::Infix(BinOp::Or) => Some("|"),
            Op::Infix(BinOp::Xor) => Some("^"),
            Op::Math(MathFn::Min) => Some("min"),
            Op::Math(MathFn::Max) => Some("max"),
            Op::Infix(_) | Op::Math(_) => None,
        }
    }

    /// The statement at `span` as an atomic update.
    fn atomic(&self, sources: &SourceMap, span: Span, place: &Place) -> String {
        let written = sources.snippet(span);
        let target = sources.snippet(place.span);
        let plain = written.strip_prefix(target).is_some_and(|rest| rest.trim_start().starts_with('='));
        match (self.op, plain) {
            (Op::Infix(op), true) => {
                let operand = sources.snippet(self.operand.span);
                format!("atomic {target} {}= {operand};", shape::bin_op(op))
            }
            (Op::Infix(_), false) | (Op::Math(_), _) => format!("atomic {written}"),
        }
    }
}

/// `i`, `i + 1`, `i - 1`
fn is_next_to(index: &Expr, iter: VarId) -> bool {
    match &index.kind {
        ExprKind::Read(var) => *var == iter,
        ExprKind::Binary { op: BinOp::Add | BinOp::Sub, left, right, .. } => {
            is_next_to(left, iter) && matches!(right.kind, ExprKind::Const(_))
        }
        _ => false,
    }
}

/// Scalars of maps that elements decide, directly or by others.
fn from_data(func: &Func) -> OrdSet<VarId> {
    let mut data = OrdSet::new();
    loop {
        let mut found = Found { data: &data, inside: false, new: OrdSet::new() };
        found.visit_block(&func.body);
        let before = data.len();
        let new = found.new;
        data.extend(new);
        if data.len() == before {
            return data;
        }
    }
}

struct Found<'a> {
    data: &'a OrdSet<VarId>,
    inside: bool,
    new: OrdSet<VarId>,
}

impl Visitor for Found<'_> {
    fn visit_map(&mut self, map: &Map) {
        let outside = std::mem::replace(&mut self.inside, true);
        look::walk_map(self, map);
        self.inside = outside;
    }

    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } = &stmt.kind {
            let mut decided = false;
            visit::walk_subexprs(value, |node| {
                decided |= match &node.kind {
                    ExprKind::Load(_) => true,
                    ExprKind::Read(var) => self.data.contains(var),
                    _ => false,
                };
            });
            if decided && self.inside {
                self.new.insert(*var);
            }
        }
        if let StmtKind::Prim(call) = &stmt.kind
            && let Some(hidp_ir::par::Target::Scalar(var)) = &call.result
            && self.inside
        {
            self.new.insert(*var);
        }
        look::walk_stmt(self, stmt);
    }
}

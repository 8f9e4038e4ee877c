//! Whether it pays to scan an index array before the nest that uses it.
//!
//! It does if the nest reads all of its elements, each several times: then the scan takes a small part of the nest's time.

use hidp_ir::par::visit::{Role, Visitor, look};
use hidp_ir::par::{
    BinOp, ConvertMode, Expr, ExprKind, Func, Iter, Map, MathFn, Place, Stmt, StmtKind, Var, VarId, VarKind,
};
use hidp_prove::Facts;
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// How often an element has to be read.
pub(super) const OFTEN: i64 = 8;
/// So many elements at the ends of an array may be left out.
const ENDS: i64 = 4;

/// An array that is looked at before a nest.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// The array.
    pub(super) array: VarId,
    /// Where that pays.
    pub(super) worth: Worth,
}

/// Where it pays to look at an array.
#[derive(Clone, Debug)]
pub(super) enum Worth {
    /// Where this holds, a condition on dimensions and scalar inputs.
    Often(Expr),
    /// Where the rows that the nest reads are most of it. Their ends are the elements of this array, which is looked at before.
    Rows(VarId),
}

/// What to look at before a nest to know the extremes of `arrays`. `None` where that does not pay.
pub(super) fn looks(func: &Func, nest: &Map, span: Span, arrays: &OrdSet<VarId>) -> Option<Vec<Look>> {
    let found = reads(func, nest, span, arrays);
    if found.len() < arrays.len() {
        return None;
    }
    let (mut ends, mut looks) = (OrdMap::new(), Vec::new());
    for (array, read) in &found {
        let look = match (&read.ends, &read.often) {
            // Ends are few, so what says that rows are read often is enough for them.
            (Some(of), Some(often)) => {
                ends.insert(*of, often.clone());
                Look { array: *array, worth: Worth::Rows(*of) }
            }
            (None, Some(often)) => Look { array: *array, worth: Worth::Often(often.clone()) },
            (None, None) if found.values().any(|other| other.ends == Some(*array) && other.often.is_some()) => continue,
            (_, None) => return None,
        };
        looks.push(look);
    }
    looks.retain(|look| !ends.contains_key(&look.array));
    let ends = ends.into_iter().map(|(array, often)| Look { array, worth: Worth::Often(often) });
    Some(ends.chain(looks).collect())
}

/// Whether each element of these arrays is read by an iteration of the nest.
pub(super) fn are_read(func: &Func, nest: &Map, span: Span, arrays: &OrdSet<VarId>) -> bool {
    let found = reads(func, nest, span, arrays);
    found.len() == arrays.len() && found.values().all(|read| read.ends.is_none())
}

fn reads(func: &Func, nest: &Map, span: Span, arrays: &OrdSet<VarId>) -> OrdMap<VarId, Read> {
    let mut reads =
        Reads { func, facts: Facts::new(func), arrays, scope: Vec::new(), perhaps: false, found: OrdMap::new() };
    reads.visit_stmt(&Stmt { kind: StmtKind::Map(nest.clone()), span });
    reads.found
}

/// How a nest reads all of an array.
struct Read {
    /// A condition: each element several times.
    often: Option<Expr>,
    /// Row by row, between neighbouring elements of this array.
    ends: Option<VarId>,
}

/// How a nest reads arrays.
struct Reads<'a> {
    func: &'a Func,
    facts: Facts<'a>,
    arrays: &'a OrdSet<VarId>,
    /// The iterators of the maps around a place.
    scope: Vec<Iter>,
    /// Whether a place is in a branch or a loop.
    perhaps: bool,
    found: OrdMap<VarId, Read>,
}

impl Visitor for Reads<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        let StmtKind::Map(map) = &stmt.kind else {
            let outside = self.perhaps;
            self.perhaps |= matches!(stmt.kind, StmtKind::If { .. } | StmtKind::Loop(_));
            look::walk_stmt(self, stmt);
            self.perhaps = outside;
            return;
        };
        // What may not run at all does not pay for a look.
        if self.perhaps {
            return;
        }
        map.iters.iter().for_each(|iter| look::walk_iter(self, iter));
        let outside = self.scope.len();
        self.scope.extend(map.iters.iter().cloned());
        self.visit_block(&map.body);
        map.folds.iter().for_each(|fold| look::walk_fold(self, fold));
        self.scope.truncate(outside);
    }

    fn visit_place(&mut self, place: &Place, role: Role) {
        look::walk_place(self, place, role);
        if self.arrays.contains(&place.array)
            && !self.found.contains_key(&place.array)
            && let Some(read) = self.read(place)
        {
            self.found.insert(place.array, read);
        }
    }
}

impl Reads<'_> {
    /// `None` where a part of the array is read, or it is not known which.
    fn read(&self, place: &Place) -> Option<Read> {
        let mut names = OrdSet::new();
        let mut ends = None;
        for (dim, index) in place.index.iter().enumerate() {
            let iter = self.iterator(index)?;
            names.insert(iter.var);
            if self.runs_over(iter, place.array, dim) {
                continue;
            }
            let (rows, row) = self.row_by_row(iter)?;
            let of_rows = self.iterator(row).filter(|iter| self.runs_over(iter, rows, 0))?;
            names.insert(of_rows.var);
            let looked_at = place.index.len() == 1 && self.arrays.contains(&rows);
            ends = Some(rows).filter(|_| looked_at);
            ends?;
        }
        let others = self.scope.iter().filter(|iter| !names.contains(&iter.var));
        let largest = |a: Expr, b: Expr| {
            let span = a.span;
            Expr { kind: ExprKind::Math(MathFn::Max, vec![a, b]), ty: Ty::LONG, span }
        };
        let times = others.filter_map(|iter| self.turns(iter)).reduce(largest);
        let often = times.map(|times| Expr::long(BinOp::Le, Expr::int(OFTEN, place.span), times));
        Some(Read { often, ends })
    }

    /// The iterator that an index is.
    fn iterator(&self, index: &Expr) -> Option<&Iter> {
        let ExprKind::Read(var) = index.kind else { return None };
        self.scope.iter().find(|iter| iter.var == var && iter.step.as_int() == Some(1))
    }

    /// Whether a dimension of an array is what an iterator runs over.
    fn runs_over(&self, iter: &Iter, array: VarId, dim: usize) -> bool {
        let most = Expr::long(BinOp::Sub, self.func.vars[array].shape[dim].clone(), Expr::int(ENDS, iter.span));
        iter.lo.as_int().is_some_and(|lo| (0..=ENDS.into()).contains(&lo))
            && is_fixed(&self.func.vars, &iter.hi)
            && self.facts.proves_le(&most, &iter.hi)
    }

    /// Where an iterator runs from an element of an array to the next one: the array, and the index of the former.
    fn row_by_row<'b>(&self, iter: &'b Iter) -> Option<(VarId, &'b Expr)> {
        let (low, high) = (element(&iter.lo)?, element(&iter.hi)?);
        let ([from], [to]) = (low.index.as_slice(), high.index.as_slice()) else { return None };
        let next = Expr::long(BinOp::Add, from.clone(), Expr::int(1, iter.span));
        (low.array == high.array && self.facts.proves_eq(&next, to)).then_some((low.array, from))
    }

    /// How many iterations an iterator has, if that is known before the nest.
    fn turns(&self, iter: &Iter) -> Option<Expr> {
        let fixed = iter.step.as_int() == Some(1)
            && [&iter.lo, &iter.hi].map(|end| is_fixed(&self.func.vars, end)) == [true; 2];
        fixed.then(|| Expr::long(BinOp::Sub, iter.hi.clone(), iter.lo.clone()))
    }
}

/// The element that a value is, in whichever type.
fn element(value: &Expr) -> Option<&Place> {
    match &value.kind {
        ExprKind::Load(place) if place.path.is_empty() => Some(place),
        ExprKind::Convert { operand, mode: ConvertMode::Cast } => element(operand),
        _ => None,
    }
}

/// Whether a value is of dimensions and scalar inputs alone, and cannot fault.
pub(super) fn is_fixed(vars: &Arena<VarId, Var>, value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Const(_) => true,
        ExprKind::Read(var) => matches!(vars[*var].kind, VarKind::Dim | VarKind::Param(Direction::Input)),
        ExprKind::Convert { operand, mode: ConvertMode::Cast } => is_fixed(vars, operand),
        ExprKind::Binary { left, right, checked: false, .. } => is_fixed(vars, left) && is_fixed(vars, right),
        ExprKind::Binary { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

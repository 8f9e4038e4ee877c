//! Measures: numbers that a call's arguments give before it runs, at little cost.
//!
//! | measure | is |
//! |---|---|
//! | `parallel` | iterations of the outermost map: the degree of parallelism |
//! | `inner` | iterations inside each of them, or their mean: where it depends on data, the extent of an array that is read in order tells the sum |
//! | `total` | iterations in all: `parallel` times `inner` |
//! | `width` | iterations of the outermost map's last iterator, where it has several: the lanes' share of `parallel` |
//! | `longest` | the longest segment, where the segments' bounds are arguments and there are few |
//! | `balance` | all segments' elements over the longest: how many threads the segments keep busy |
//!
//! Entries whose lanes leave what is too long for them have this too:
//!
//! | measure | is |
//! |---|---|
//! | `section` | elements of the longest of an iteration's sections, on average |
//!
//! Entries that have compositions of codelets have this too:
//!
//! | measure | is |
//! |---|---|
//! | `size` | all dimensions multiplied |
//!
//! Entries that have versions for a device have these too, for contexts that have one:
//!
//! | measure | is |
//! |---|---|
//! | `operations` | what is computed, as vector lanes do them: see [`super::work`] |
//! | `copied` | bytes that would go between the host's memory and the device's |
//! | `intensity` | `operations` for every 1024 bytes of `copied` |

use super::{inner_maps, iterators};
use hidp_ir::par::visit::{self, substitute_expr};
use hidp_ir::par::{
    ArrayRef, BinOp, ConvertMode, Expr, ExprKind, Extent, Func, Iter, Map, MathFn, Place, PrimCall, StmtKind, UnOp,
    VarId, VarKind,
};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::{Scalar, Ty};

/// Names of measures.
pub(super) const SIZE: &str = "size";
pub(super) const PARALLEL: &str = "parallel";
pub(super) const INNER: &str = "inner";
pub(super) const TOTAL: &str = "total";
pub(super) const WIDTH: &str = "width";
pub(super) const SECTION: &str = "section";
pub(super) const LONGEST: &str = "longest";
pub(super) const BALANCE: &str = "balance";
pub(super) const OPERATIONS: &str = "operations";
pub(super) const COPIED: &str = "copied";
pub(super) const INTENSITY: &str = "intensity";

/// A number that the arguments of a call give.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// See the table above.
    pub name: &'static str,
    /// Over dimensions and scalar parameters: the number itself, or how many segments are looked at.
    pub value: Expr,
    /// What is asked of segments.
    pub of: MeasureOf,
}

/// What a measure looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureOf {
    /// Shapes and scalars alone.
    Shapes,
    /// The lengths of segments: the longest.
    Longest(Bounds),
    /// The lengths of segments: their sum over the longest.
    Balance(Bounds),
    /// What is computed, with a device in mind.
    Work,
    /// The arguments that are in the host's memory.
    Copied,
    /// The value, as work, and those arguments.
    Intensity,
}

/// Where the bounds of segments stand: elements of parameters, from an offset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// First indices.
    pub low: (VarId, i64),
    /// One past the last indices.
    pub high: (VarId, i64),
}

impl Measure {
    fn new(name: &'static str, value: Expr) -> Measure {
        Measure { name, value, of: MeasureOf::Shapes }
    }

    /// What it is where dimensions have these sizes; nothing where data, or where arguments are, decide.
    pub(crate) fn at(&self, known: &OrdMap<VarId, i64>) -> Option<i64> {
        match self.of {
            MeasureOf::Shapes => self.value.value(known),
            MeasureOf::Longest(_)
            | MeasureOf::Balance(_)
            | MeasureOf::Work
            | MeasureOf::Copied
            | MeasureOf::Intensity => None,
        }
    }
}

/// Measures for contexts that have a device.
pub(super) fn of_copies(func: &Func, work: Option<Expr>) -> Vec<Measure> {
    let measure = |name, value, of| Measure { name, value, of };
    let mut measures = vec![measure(COPIED, Expr::int(0, func.span), MeasureOf::Copied)];
    if let Some(work) = work {
        measures.push(measure(OPERATIONS, work.clone(), MeasureOf::Work));
        measures.push(measure(INTENSITY, work, MeasureOf::Intensity));
    }
    measures
}

/// All dimensions multiplied; none if there are none.
pub(super) fn of_size(func: &Func) -> Option<Measure> {
    let dims = func.dims.iter().map(|dim| Expr::read(*dim, func.vars[*dim].ty, func.vars[*dim].span));
    dims.reduce(|product, dim| Expr::long(BinOp::Mul, product, dim)).map(|value| Measure::new(SIZE, value))
}

/// The measures of a nest; none if its iterations cannot be counted before it runs.
pub(super) fn of_nest(func: &Func, map: &Map) -> Vec<Measure> {
    let Some(parallel) = volume(func, map) else { return Vec::new() };
    let mut measures = vec![Measure::new(PARALLEL, parallel.clone())];
    measures.extend(inner_and_total(inside(func, map, &parallel), &parallel));
    if let [_, .., last] = &map.iters[..] {
        measures.extend(closed(func, length(last)).map(|value| Measure::new(WIDTH, value)));
    }
    measures.extend(segment_measures(bounds_inside(func, map), &parallel));
    measures
}

/// The mean length of the sections of vectors that iterations copy, of which there are so many; the longest one's of several.
pub(super) fn of_sections(func: &Func, map: &Map, parallel: &Expr) -> Option<Measure> {
    let mut extents: Vec<&Expr> = Vec::new();
    visit::walk_stmts(&map.body, |stmt| {
        let StmtKind::Map(copy) = &stmt.kind else { return };
        let [iter] = &copy.iters[..] else { return };
        visit::walk_places(&copy.body, |place, _| {
            let var = &func.vars[place.array];
            let is_section = matches!(&place.index[..], [index] if begins_elsewhere(func, index, iter.var));
            if is_section && matches!(var.kind, VarKind::Param(_)) && !extents.contains(&&var.shape[0]) {
                extents.push(&var.shape[0]);
            }
        });
    });
    let longest = |left: Expr, right: Expr| Expr {
        ty: Ty::LONG,
        span: left.span,
        kind: ExprKind::Math(MathFn::Max, vec![left, right]),
    };
    let total = extents.into_iter().cloned().reduce(longest)?;
    Some(Measure::new(SECTION, mean(closed(func, total)?, parallel)?))
}

/// Whether it is the iterator and what data or an iterator around say.
fn begins_elsewhere(func: &Func, index: &Expr, iter: VarId) -> bool {
    let ExprKind::Binary { op: BinOp::Add, left, right, .. } = &index.kind else { return false };
    let mut differs = false;
    visit::walk_expr_vars(left, |var, _| differs |= matches!(func.vars[var].kind, VarKind::Local | VarKind::Iter));
    differs && matches!(right.kind, ExprKind::Read(read) if read == iter)
}

/// Measures of the first primitive of a function without nests. It has one version, but tuners may vary how it runs.
pub(super) fn of_primitive(func: &Func) -> Vec<Measure> {
    let mut found: Option<PrimCall> = None;
    visit::walk_stmts(&func.body, |stmt| {
        if let (StmtKind::Prim(call), None) = (&stmt.kind, &found) {
            found = Some(call.as_ref().clone());
        }
    });
    let Some(call) = found else { return Vec::new() };
    let (parallel, inner, bounds) = match &call.extent {
        Extent::Whole { size } => (size.clone(), None, None),
        Extent::Segment { .. } => (call.input.len.clone(), None, None),
        Extent::Vectors { low, high } => {
            (low.len.clone(), mean(call.input.len.clone(), &low.len), section_bounds(func, low, high))
        }
        Extent::Regular { seg_size, num_seg } => (num_seg.clone(), Some(seg_size.clone()), None),
    };
    let Some(parallel) = closed(func, parallel) else { return Vec::new() };
    let mut measures = vec![Measure::new(PARALLEL, parallel.clone())];
    measures.extend(inner_and_total(inner.and_then(|value| closed(func, value)), &parallel));
    measures.extend(segment_measures(bounds, &parallel));
    measures
}

/// The iterations inside one of `parallel`, and those of all: where the former are a mean, what that was made from.
fn inner_and_total(inner: Option<Expr>, parallel: &Expr) -> Vec<Measure> {
    let Some(inner) = inner else { return Vec::new() };
    let total = if let ExprKind::Binary { op: BinOp::Div, left, right, .. } = &inner.kind
        && **right == *parallel
    {
        left.as_ref().clone()
    } else {
        Expr::long(BinOp::Mul, parallel.clone(), inner.clone())
    };
    vec![Measure::new(INNER, inner), Measure::new(TOTAL, total)]
}

fn segment_measures(bounds: Option<Bounds>, count: &Expr) -> Vec<Measure> {
    let Some(bounds) = bounds else { return Vec::new() };
    let measure = |name, of| Measure { name, value: count.clone(), of };
    vec![measure(LONGEST, MeasureOf::Longest(bounds)), measure(BALANCE, MeasureOf::Balance(bounds))]
}

/// Bounds that are sections of parameters.
fn section_bounds(func: &Func, low: &ArrayRef, high: &ArrayRef) -> Option<Bounds> {
    let bound = |section: &ArrayRef| {
        let offset = section.offset.as_int().and_then(|offset| i64::try_from(offset).ok())?;
        (section.prefix.is_empty() && is_bounds(func, section.array)).then_some((section.array, offset))
    };
    Some(Bounds { low: bound(low)?, high: bound(high)? })
}

/// Bounds of the ranges, or of the segments of a primitive, directly inside a map of one iterator from 0 by 1.
fn bounds_inside(func: &Func, map: &Map) -> Option<Bounds> {
    let [iter] = &map.iters[..] else { return None };
    if iter.lo.as_int() != Some(0) || iter.step.as_int() != Some(1) {
        return None;
    }
    let pair = |low: &Expr, high: &Expr| {
        Some(Bounds { low: bound_at(func, low, iter.var)?, high: bound_at(func, high, iter.var)? })
    };
    if let Some(inner) = inner_maps(&map.body).first().and_then(|inner| inner.iters.first()) {
        return pair(&inner.lo, &inner.hi);
    }
    let mut found = None;
    visit::walk_stmts(&map.body, |stmt| {
        if let (StmtKind::Prim(call), None) = (&stmt.kind, &found)
            && let Extent::Segment { low, high } = &call.extent
        {
            found = pair(low, high);
        }
    });
    found
}

/// `array[var + offset]`, converted or not.
fn bound_at(func: &Func, expr: &Expr, var: VarId) -> Option<(VarId, i64)> {
    if let ExprKind::Convert { operand, .. } = &expr.kind {
        return bound_at(func, operand, var);
    }
    let ExprKind::Load(Place { array, index, path, .. }) = &expr.kind else { return None };
    let ([index], true) = (&index[..], path.is_empty() && is_bounds(func, *array)) else { return None };
    if matches!(index.kind, ExprKind::Read(read) if read == var) {
        return Some((*array, 0));
    }
    let ExprKind::Binary { op: BinOp::Add, left, right, .. } = &index.kind else { return None };
    let offset = right.as_int().and_then(|offset| i64::try_from(offset).ok())?;
    matches!(left.kind, ExprKind::Read(read) if read == var).then_some((*array, offset))
}

/// Whether the run time can read bounds from this: a vector of `int` or `long` that is a parameter.
fn is_bounds(func: &Func, array: VarId) -> bool {
    let var = &func.vars[array];
    let integer = matches!(var.ty.scalar(), Some(Scalar::I32 | Scalar::I64));
    integer && var.shape.len() == 1 && func.params.contains(&array)
}

/// Iterators of a nest; the elements that a primitive works on count as one more.
pub(super) fn levels(map: &Map) -> usize {
    let mut primitives = false;
    visit::walk_stmts(&map.body, |stmt| primitives |= matches!(stmt.kind, StmtKind::Prim(_)));
    iterators(map).len() + usize::from(primitives)
}

/// Number of iterations of a map whose ranges depend on nothing but sizes.
pub(super) fn volume(func: &Func, map: &Map) -> Option<Expr> {
    product(map.iters.iter().map(|iter| closed(func, length(iter))))
}

/// Number of iterations of what is inside an iteration of `map`, which itself has `parallel`. `None` if there is nothing
/// inside, or nothing is known of it.
fn inside(func: &Func, map: &Map, parallel: &Expr) -> Option<Expr> {
    let deepest = |(at, map): &(usize, &Map)| (levels(map), usize::MAX - at);
    let Some((_, inner)) = inner_maps(&map.body).into_iter().enumerate().max_by_key(deepest) else {
        return segments(func, map, parallel);
    };
    let own = product(inner.iters.iter().map(|iter| closed(func, at_middle(map, length(iter)))));
    match own {
        None => ragged(func, inner, parallel),
        Some(own) => match inside(func, inner, parallel) {
            Some(rest) => Some(Expr::long(BinOp::Mul, own, rest)),
            None => Some(own),
        },
    }
}

/// Number of iterations of `inner` in all `count` iterations of the map `outer` around it.
pub(super) fn extent_of_inner(func: &Func, outer: &Map, inner: &Map, count: &Expr) -> Option<Expr> {
    match product(inner.iters.iter().map(|iter| closed(func, at_middle(outer, length(iter))))) {
        Some(own) => Some(Expr::long(BinOp::Mul, count.clone(), own)),
        None => closed(func, ragged_extent(func, inner)?.clone()),
    }
}

/// The length that a range has halfway through the iterations of `outer`.
fn at_middle(outer: &Map, mut length: Expr) -> Expr {
    for iter in &outer.iters {
        let sum = Expr::long(BinOp::Add, iter.lo.clone(), iter.hi.clone());
        let middle = Expr::long(BinOp::Div, sum, Expr::int(2, iter.span));
        substitute_expr(&mut length, |var| (var == iter.var).then(|| middle.clone()));
    }
    length
}

/// Mean length of ranges that depend on data.
fn ragged(func: &Func, map: &Map, parallel: &Expr) -> Option<Expr> {
    mean(closed(func, ragged_extent(func, map)?.clone())?, parallel)
}

/// The extent of the first array that the map's last iterator runs through: about as many iterations as all instances of a
/// map with ranges that depend on data have together.
pub fn ragged_extent<'f>(func: &'f Func, map: &Map) -> Option<&'f Expr> {
    let iter = map.iters.last()?.var;
    let mut extent = None;
    visit::walk_places(&map.body, |place, _| {
        let direct = matches!(place.index.last().map(|index| &index.kind), Some(ExprKind::Read(var)) if *var == iter);
        if direct && place.index.len() == 1 && extent.is_none() {
            extent = func.vars[place.array].shape.last();
        }
    });
    extent
}

/// Mean length of the segments that a primitive inside the map works on.
fn segments(func: &Func, map: &Map, parallel: &Expr) -> Option<Expr> {
    let mut found = None;
    visit::walk_stmts(&map.body, |stmt| {
        if let (StmtKind::Prim(call), None) = (&stmt.kind, &found) {
            found = match &call.extent {
                Extent::Segment { .. } => {
                    closed(func, call.input.len.clone()).and_then(|elements| mean(elements, parallel))
                }
                Extent::Whole { size } => closed(func, size.clone()),
                Extent::Vectors { .. } | Extent::Regular { .. } => None,
            };
        }
    });
    found
}

fn mean(elements: Expr, parallel: &Expr) -> Option<Expr> {
    Some(Expr::long(BinOp::Div, elements, parallel.clone()))
}

fn product(factors: impl Iterator<Item = Option<Expr>>) -> Option<Expr> {
    factors.reduce(|left, right| Some(Expr::long(BinOp::Mul, left?, right?))).flatten()
}

fn length(iter: &Iter) -> Expr {
    let range = match iter.lo.as_int() {
        Some(0) => iter.hi.clone(),
        Some(_) | None => Expr::long(BinOp::Sub, iter.hi.clone(), iter.lo.clone()),
    };
    match iter.step.as_int() {
        Some(1) => range,
        Some(_) | None => Expr::long(BinOp::Div, range, iter.step.clone()),
    }
}

/// The expression, if it is made of dimensions, integer parameters that are scalars, and constants, by integer arithmetic.
pub(super) fn closed(func: &Func, expr: Expr) -> Option<Expr> {
    is_closed(func, &expr).then_some(expr)
}

fn is_closed(func: &Func, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) => expr.as_int().is_some(),
        ExprKind::Read(var) => is_size(func, *var),
        ExprKind::Unary(UnOp::Neg, operand) | ExprKind::Convert { operand, mode: ConvertMode::Checked } => {
            is_closed(func, operand)
        }
        ExprKind::Convert { operand, mode: ConvertMode::Cast } => {
            operand.ty.scalar().is_some_and(|scalar| scalar.is_integer()) && is_closed(func, operand)
        }
        ExprKind::Binary { op, left, right, checked: _ } => {
            !op.is_comparison() && is_closed(func, left) && is_closed(func, right)
        }
        ExprKind::Math(MathFn::Min | MathFn::Max, operands) => {
            expr.ty.scalar().is_some_and(|scalar| scalar.is_integer())
                && operands.iter().all(|operand| is_closed(func, operand))
        }
        ExprKind::Math(..)
        | ExprKind::Load(_)
        | ExprKind::Unary(UnOp::Not | UnOp::BitNot, _)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

fn is_size(func: &Func, var: VarId) -> bool {
    let item = &func.vars[var];
    match item.kind {
        VarKind::Dim => true,
        VarKind::Param(_) => item.shape.is_empty() && item.ty.scalar().is_some_and(|scalar| scalar.is_integer()),
        VarKind::Local | VarKind::Iter => false,
    }
}

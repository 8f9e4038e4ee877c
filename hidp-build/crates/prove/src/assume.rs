//! What has to be known before a nest of maps so that none of its tests is needed: conditions on sizes and scalars, which cost nothing
//! beside the nest, and on the smallest and the largest element of inputs.
//!
//! A test that cannot be proved to pass asks for `goal >= 0`. Values that the nest changes are replaced by their bounds, the newest
//! first, until all that is left keeps one value throughout the nest; elements of inputs are replaced by the extreme ones, as if all were read; what says so then is the condition. Arithmetic that might wrap is taken not to, which is a
//! goal like others. Nothing rests on this: with the conditions in a branch around the nest, `bounds` proves what it can prove.

use hidp_ir::par::{BinOp, Block, ConvertMode, Expr, ExprKind, FuncId, Map, Place, PrimCall, Program, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Scalar;

use super::context::{Context, MAX_EXTENT, Position};
use super::linear::{AtomId, AtomKey, Extreme, Interval, Lin, Op};
use super::term::Term;
use super::walk::{Client, Use, walk};

/// Steps that one test is worth.
const STEPS: u32 = 60;
/// More conditions than this cost more than they save.
const MOST_CONDITIONS: usize = 8;
/// Sums of values up to this are far from wrapping.
const SMALL: i128 = 2 * MAX_EXTENT as i128;
/// An end of a range beyond this comes of a type, not of what the program does.
const MOST_OF_A_TYPE: i128 = 1 << 16;

/// What keeps one value throughout a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// A dimension or a scalar input.
    Value(VarId),
    /// The smallest or largest element of an input.
    Extreme(VarId, Extreme),
}

/// `constant + Σ factor × product of values`. Computed in `long` from the left, it does not wrap where the conditions before it hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Factors, and the values whose product they multiply.
    pub terms: Vec<(i64, Vec<Known>)>,
    /// The constant.
    pub constant: i64,
}

/// `low <= high`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The smaller side.
    pub low: Sum,
    /// The larger side.
    pub high: Sum,
}

/// Conditions under which no index, divisor, shift count or narrowing of a nest has to be tested.
#[derive(Clone, Debug)]
pub struct Assumptions {
    /// The first iterator of the nest's outermost map.
    pub nest: VarId,
    /// All of them together, to be tested in this order.
    pub conditions: Vec<Condition>,
}

/// Those of all nests in which a test stands in a loop or an inner map. A test in the only loop of a nest is made at the ends of its range anyway.
pub fn assumptions(program: &Program, func: FuncId) -> Vec<Assumptions> {
    let function = &program.funcs[func];
    let mut finder = Finder::default();
    let mut body: Block = function.body.clone();
    walk(&function.vars, &mut body, &mut finder, super::start(program, func));
    finder.found
}

/// The same where the ends of the sections that nests take are in range, as the extreme elements of the arrays that say them are; of nests
/// whose sections are tested in their iterations.
pub fn assumptions_of_sections(program: &Program, func: FuncId) -> Vec<Assumptions> {
    let function = &program.funcs[func];
    let mut finder = Finder { with_sections: true, ..Finder::default() };
    let mut body: Block = function.body.clone();
    walk(&function.vars, &mut body, &mut finder, super::start(program, func));
    finder.found
}

#[derive(Default)]
struct Finder {
    found: Vec<Assumptions>,
    current: Option<Nest>,
    /// Whether the ends of sections are assumed to be in range.
    with_sections: bool,
}

/// A nest that is being walked.
struct Nest {
    map: VarId,
    /// Each of these, if it is not negative, answers some test.
    goals: OrdSet<Lin>,
    /// And with each of these the sections are in range.
    sections: OrdSet<Lin>,
    /// Whether a test cannot be answered.
    lost: bool,
    /// Whether a test stands deeper than in the outermost map, or in a loop, or is of data.
    deep: bool,
}

impl Finder {
    fn want(&mut self, cx: &mut Context<'_>, goals: &[Option<Lin>], deep: bool) {
        let Some(nest) = self.current.as_mut().filter(|nest| !nest.lost) else { return };
        nest.deep |= deep;
        for goal in goals {
            // What sizes and scalars say costs less than what data say.
            let mut settled = |data: bool| {
                let mut search = Search { steps: STEPS, data };
                goal.as_ref().is_some_and(|goal| settle(cx, goal, &mut nest.goals, &mut search))
            };
            nest.lost |= !settled(false) && !settled(true);
        }
        let of_data = |atom| matches!(cx.atoms.key(atom), AtomKey::Extreme(..));
        nest.deep |= nest.goals.iter().flat_map(Lin::atoms).any(of_data);
    }
}

impl Client for Finder {
    fn place(&mut self, cx: &mut Context<'_>, place: &mut Place, _how: Use, conditional: bool) {
        if self.current.is_none() || place.unproved == 0 {
            return;
        }
        let extents = cx.extents.get(&place.array).cloned().unwrap_or_default();
        for (dim, index) in place.index.iter().enumerate().take(32) {
            if place.unproved & (1 << dim) != 0 {
                let index = cx.lin(index);
                let below = extents.get(dim).and_then(|extent| extent.sub(&index)?.offset(-1));
                self.want(cx, &[Some(index), below], conditional || cx.map_depth > 1);
            }
        }
    }

    fn expr(&mut self, cx: &mut Context<'_>, expr: &mut Expr) {
        if self.current.is_none() {
            return;
        }
        let goals = match &expr.kind {
            ExprKind::Binary { op: BinOp::Div | BinOp::Rem, right, checked: true, .. } => {
                vec![cx.lin(right).offset(-1)]
            }
            ExprKind::Binary { op: BinOp::Shl | BinOp::Shr, left, right, checked: true } => {
                let (count, bits) = (cx.lin(right), 8 * i128::try_from(left.scalar().size()).unwrap_or(1));
                vec![Some(count.clone()), Lin::constant(bits - 1).sub(&count)]
            }
            ExprKind::Convert { operand, mode: ConvertMode::Checked } => {
                let (value, range) = (cx.lin(operand), expr.ty.scalar().and_then(Interval::of));
                let Some(range) = range else { return self.want(cx, &[None], false) };
                vec![value.offset(-range.lo), Lin::constant(range.hi).sub(&value)]
            }
            _ => return,
        };
        self.want(cx, &goals, true);
    }

    fn enter_map(&mut self, cx: &mut Context<'_>, map: &Map, _positions: &[Position], _conditional: bool) {
        if let ([first, ..], None, 1) = (map.iters.as_slice(), &self.current, cx.map_depth) {
            // An element that is not there is tested for before it is used.
            cx.loads_anyway = true;
            cx.looks_beside = self.with_sections;
            self.current =
                Some(Nest { map: first.var, goals: OrdSet::new(), sections: OrdSet::new(), lost: false, deep: false });
        }
    }

    fn leave_map(&mut self, cx: &mut Context<'_>, map: &Map) {
        let leaves =
            self.current.as_ref().is_some_and(|nest| map.iters.first().is_some_and(|iter| iter.var == nest.map));
        let Some(mut nest) = self.current.take_if(|_| leaves) else { return };
        cx.loads_anyway = false;
        cx.looks_beside = false;
        let sections = std::mem::take(&mut nest.sections);
        nest.goals.extend(sections);
        if !nest.lost
            && nest.deep
            && let Some(conditions) = conditions(cx, &nest.goals)
            && !conditions.is_empty()
        {
            self.found.push(Assumptions { nest: nest.map, conditions });
        }
    }

    /// What a test of a section's ends asks where there is something between them is taken to hold for both ends.
    fn always_holds(&mut self, cx: &mut Context<'_>, cond: &Expr) -> bool {
        if let Some(nest) = self.current.as_mut().filter(|nest| self.with_sections && !nest.lost)
            && cx.map_depth == 1
            && let Some([low, high, extent]) = ends(cx, cond)
        {
            let goals = [&low, &high].map(|end| [Some(end.clone()), extent.sub(end)]);
            let goals: Option<Vec<Lin>> = goals.into_iter().flatten().collect();
            let mut search = Search { steps: STEPS, data: true };
            if let Some(goals) = goals
                && goals.iter().all(|goal| settle(cx, goal, &mut nest.sections, &mut search))
            {
                goals.into_iter().for_each(|goal| cx.fact(goal));
            }
        }
        false
    }

    /// Its segments are tested by the run time, whatever is known of them.
    fn prim(&mut self, _cx: &mut Context<'_>, _call: &mut PrimCall, _conditional: bool) {
        if let Some(nest) = &mut self.current {
            nest.lost = true;
        }
    }
}

/// `high <= low || low >= 0 && high <= extent`: the ends and the extent.
fn ends(cx: &mut Context<'_>, cond: &Expr) -> Option<[Lin; 3]> {
    let ExprKind::Lazy { and: false, right, .. } = &cond.kind else { return None };
    let ExprKind::Lazy { and: true, left, right } = &right.kind else { return None };
    let ExprKind::Binary { op: BinOp::Ge, left: low, right: zero, .. } = &left.kind else { return None };
    let ExprKind::Binary { op: BinOp::Le, left: high, right: extent, .. } = &right.kind else { return None };
    (zero.as_int() == Some(0)).then(|| [low, high, extent].map(|part| cx.lin(part)))
}

/// Whether an atom has one value throughout a call.
fn is_fixed(cx: &Context<'_>, atom: AtomId) -> bool {
    match cx.atoms.key(atom) {
        AtomKey::Var(var) => matches!(cx.vars[*var].kind, VarKind::Dim | VarKind::Param(Direction::Input)),
        AtomKey::Extreme(..) => true,
        AtomKey::Fresh(_) | AtomKey::Load(..) | AtomKey::Turns(..) | AtomKey::Op(..) => false,
    }
}

/// A search for what answers one test.
struct Search {
    /// Steps that are left.
    steps: u32,
    /// Whether elements may be replaced by the extreme ones.
    data: bool,
}

/// Adds what has to be not negative so that `goal` is not; `false` if nothing is found.
fn settle(cx: &mut Context<'_>, goal: &Lin, found: &mut OrdSet<Lin>, search: &mut Search) -> bool {
    let Some(left) = search.steps.checked_sub(1) else { return false };
    search.steps = left;
    let data = search.data;
    if found.contains(goal) || cx.proves(goal) {
        return true;
    }
    let Some(atom) = goal.atoms().filter(|atom| !is_fixed(cx, *atom)).max() else {
        // A sum of constants is not to be had by any test.
        return goal.as_constant().is_none() && found.insert(goal.clone());
    };
    let Some((factor, rest)) = split(goal, atom) else { return false };
    let mut with = |cx: &mut Context<'_>, product: Option<Lin>, more: Vec<Lin>| {
        let Some(goal) = product.and_then(|product| product.add(&rest)) else { return false };
        let mut trial = found.clone();
        let holds = more.iter().chain([&goal]).all(|goal| settle(cx, goal, &mut trial, search));
        if holds {
            *found = trial;
        }
        holds
    };
    if let Some((exact, range)) = unwrapped(cx, atom) {
        let fits = [exact.offset(-range.lo), Lin::constant(range.hi).sub(&exact)];
        return fits.into_iter().collect::<Option<Vec<Lin>>>().is_some_and(|fits| with(cx, factor.mul(&exact), fits));
    }
    let lower = cx.proves(&factor);
    if !lower && !factor.scale(-1).is_some_and(|negated| cx.proves(&negated)) {
        return false;
    }
    let extreme = if lower { Extreme::Least } else { Extreme::Most };
    let extreme = if data { extreme_of(cx, atom, extreme) } else { None };
    let extreme = extreme.and_then(|extreme| factor.mul(&extreme));
    if bounds_of(cx, atom, &factor, lower).into_iter().chain(extreme).any(|product| with(cx, Some(product), Vec::new()))
    {
        return true;
    }
    let Some(goals) = all_cases(cx, atom, &factor, &rest) else { return false };
    let mut trial = found.clone();
    let holds = goals.iter().all(|goal| settle(cx, goal, &mut trial, search));
    if holds {
        *found = trial;
    }
    holds
}

/// `factor * atom + rest` for each value that the atom may have, as the larger one of two.
fn all_cases(cx: &Context<'_>, atom: AtomId, factor: &Lin, rest: &Lin) -> Option<Vec<Lin>> {
    let cases = cx.cases.get(&atom)?;
    cases.iter().map(|case| factor.mul(&case.value)?.add(rest)).collect()
}

/// `goal` as `factor * atom + rest`. `None` where the atom is multiplied by itself.
fn split(goal: &Lin, atom: AtomId) -> Option<(Lin, Lin)> {
    let (mut factor, mut rest) = (Lin::default(), Lin::constant(goal.constant));
    for &(term, number) in goal.terms.iter() {
        let others: Term = term.atoms().filter(|other| *other != atom).collect();
        let summand = Lin::product(others, number);
        match term.degree() - others.degree() {
            0 => rest = rest.add(&summand)?,
            1 => factor = factor.add(&summand)?,
            _ => return None,
        }
    }
    Some((factor, rest))
}

/// What an operation gives that does not wrap, and the range in which it does not.
fn unwrapped(cx: &Context<'_>, atom: AtomId) -> Option<(Lin, Interval)> {
    let AtomKey::Op(op, ty, operands) = cx.atoms.key(atom) else { return None };
    let exact = match (op, operands.as_slice()) {
        (Op::Add, [a, b]) => a.add(b),
        (Op::Sub, [a, b]) => a.sub(b),
        (Op::Mul, [a, b]) => a.mul(b),
        (Op::Neg, [a]) => a.scale(-1),
        (Op::Convert, [a]) => Some(a.clone()),
        _ => None,
    };
    Some((exact?, Interval::of(*ty)?))
}

/// Older values that `factor * atom` cannot be less than, where the factor is not negative (`lower`), or not positive.
fn bounds_of(cx: &Context<'_>, atom: AtomId, factor: &Lin, lower: bool) -> Vec<Lin> {
    let sign = if lower { 1 } else { -1 };
    let of_fact = |fact: &Lin| {
        let (of_atom, rest) = split(fact, atom)?;
        let of_atom = of_atom.as_constant().filter(|of_atom| of_atom.signum() == sign)?;
        let older = rest.atoms().all(|other| other < atom || is_fixed(cx, other));
        let times = match factor.as_constant() {
            // A remainder is `a - b * (a / b)`, and what is known of it is so many times the quotient.
            Some(factor) => Lin::constant(Some(factor / of_atom).filter(|_| factor % of_atom == 0)?),
            None => factor.scale(sign).filter(|_| of_atom.abs() == 1)?,
        };
        times.mul(&rest).filter(|_| older)?.scale(-1)
    };
    let range = cx.atoms.range(atom);
    // Of data only the type is known. That all values of a type are indices is seldom so.
    let known = Scalar::ALL.iter().all(|ty| Interval::of(*ty) != Some(range));
    let end = Some(if lower { range.lo } else { range.hi }).filter(|end| known && end.abs() <= MOST_OF_A_TYPE);
    cx.facts.iter().rev().filter_map(of_fact).chain(end.and_then(|end| factor.scale(end))).collect()
}

/// The extreme element of the array of which an atom is one, if its elements are integers.
fn extreme_of(cx: &mut Context<'_>, atom: AtomId, extreme: Extreme) -> Option<Lin> {
    let AtomKey::Load(array, _, path) = cx.atoms.key(atom) else { return None };
    let (array, range) = (*array, cx.atoms.range(atom));
    let fits = cx.vars[array].ty.scalar().is_some_and(|ty| ty.is_integer() && ty.converts_to(Scalar::I64));
    (path.is_empty() && fits).then(|| Lin::atom(cx.atoms.intern(AtomKey::Extreme(array, extreme), range)))
}

/// Goals as conditions, without those that follow from others. `None` if they are too many, or a sum cannot be computed without wrapping.
fn conditions(cx: &mut Context<'_>, goals: &OrdSet<Lin>) -> Option<Vec<Condition>> {
    let mut single: Vec<Lin> = Vec::new();
    let mut sums: Vec<Lin> = Vec::new();
    for goal in goals {
        let large: OrdSet<AtomId> = goal.atoms().filter(|atom| !is_small(cx, &Lin::atom(*atom))).collect();
        if is_alone(goal, &large) {
            single.push(goal.clone());
            continue;
        }
        for atom in large {
            let value = Lin::atom(atom);
            single.extend(Lin::constant(MAX_EXTENT.into()).sub(&value));
            single.extend(value.offset(MAX_EXTENT.into()));
        }
        sums.push(goal.clone());
    }
    // What holds for one value of a scalar alone, or for none, is not worth a copy.
    let all: Vec<Lin> = goals.iter().cloned().collect();
    if all.iter().any(|goal| goal.scale(-1).is_some_and(|negated| goals.contains(&negated))) || cx.refutes(&all, 0) {
        return None;
    }
    // Sums can be computed where what stands before them holds, so these do not follow from sums.
    let single = without_implied(cx, &[], single);
    let sums = without_implied(cx, &single, sums);
    if single.len() + sums.len() > MOST_CONDITIONS {
        return None;
    }
    cx.trial(|cx| {
        let first: Option<Vec<Condition>> = single.iter().map(|goal| alone(cx, goal)).collect();
        single.iter().for_each(|goal| cx.fact(goal.clone()));
        let then: Option<Vec<Condition>> = sums.iter().map(|goal| condition(cx, goal)).collect();
        Some(first?.into_iter().chain(then?).collect())
    })
}

/// Whether sums of a few such values do not wrap.
fn is_small(cx: &Context<'_>, lin: &Lin) -> bool {
    cx.proves_le(lin, &Lin::constant(SMALL)) && cx.proves_le(&Lin::constant(-SMALL), lin)
}

/// Whether the only large value can stand on a side of its own.
fn is_alone(goal: &Lin, large: &OrdSet<AtomId>) -> bool {
    let mut factors = large.iter().map(|atom| split(goal, *atom).and_then(|(factor, _)| factor.as_constant()));
    match (factors.next(), factors.next()) {
        (None, _) => true,
        (Some(Some(factor)), None) => factor.abs() == 1,
        (Some(_), _) => false,
    }
}

fn without_implied(cx: &mut Context<'_>, known: &[Lin], mut goals: Vec<Lin>) -> Vec<Lin> {
    let mut at = 0;
    while at < goals.len() {
        let goal = goals.remove(at);
        let follows = cx.trial(|cx| {
            known.iter().chain(&goals).for_each(|other| cx.fact(other.clone()));
            cx.proves(&goal)
        });
        if !follows {
            goals.insert(at, goal);
            at += 1;
        }
    }
    goals
}

/// `goal >= 0` with its large value alone on a side.
fn alone(cx: &Context<'_>, goal: &Lin) -> Option<Condition> {
    let large = goal.atoms().find(|atom| !is_small(cx, &Lin::atom(*atom)));
    let Some(atom) = large else { return condition(cx, goal) };
    let (factor, rest) = split(goal, atom)?;
    let value = Lin::atom(atom);
    match factor.as_constant()? {
        1 => compared(cx, &rest.scale(-1)?, &value),
        _ => compared(cx, &value, &rest),
    }
}

/// `goal >= 0` with what is subtracted on the other side.
fn condition(cx: &Context<'_>, goal: &Lin) -> Option<Condition> {
    let low = Lin { constant: goal.constant.min(0), terms: goal.terms.filter(|_, factor| factor < 0) };
    let high = Lin { constant: goal.constant.max(0), terms: goal.terms.filter(|_, factor| factor > 0) };
    compared(cx, &low.scale(-1)?, &high)
}

/// `low <= high`. Where a constant is beyond the type, the last of the type stands for it, which asks for a little more.
fn compared(cx: &Context<'_>, low: &Lin, high: &Lin) -> Option<Condition> {
    let of = |lin: &Lin, constant: i128| sum(cx, &Lin { constant, terms: lin.terms.clone() });
    let low = of(low, low.constant.max(i64::MIN.into()))?;
    Some(Condition { low, high: of(high, high.constant.min(i64::MAX.into()))? })
}

/// The sum as it is computed, with what is subtracted last, if no part of it wraps.
fn sum(cx: &Context<'_>, lin: &Lin) -> Option<Sum> {
    let fits = |lin: &Lin| cx.fits(lin, Scalar::I64);
    let mut sum = Sum { constant: i64::try_from(lin.constant).ok()?, terms: Vec::new() };
    let mut so_far = Lin::constant(lin.constant);
    let (added, subtracted): (Vec<_>, Vec<_>) = lin.terms.iter().partition(|(_, factor)| *factor > 0);
    for &(term, factor) in added.into_iter().chain(subtracted) {
        let product = |factor| Lin::product(term, factor);
        so_far = so_far.add(&product(factor))?;
        if !fits(&product(1)) || !fits(&product(factor)) || !fits(&so_far) {
            return None;
        }
        let known = |atom: AtomId| match cx.atoms.key(atom) {
            AtomKey::Var(var) => Some(Known::Value(*var)),
            AtomKey::Extreme(array, extreme) => Some(Known::Extreme(*array, *extreme)),
            AtomKey::Fresh(_) | AtomKey::Load(..) | AtomKey::Turns(..) | AtomKey::Op(..) => None,
        };
        let product: Option<Vec<Known>> = term.atoms().map(known).collect();
        sum.terms.push((i64::try_from(factor).ok()?, product?));
    }
    Some(sum)
}

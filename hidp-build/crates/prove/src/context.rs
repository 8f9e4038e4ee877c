//! What is known where a statement runs, and the proofs made from it.
//!
//! # What the proofs rely on
//! - The wrapper refuses an argument with an extent above [`MAX_EXTENT`], and a negative value of a dimension. It evaluates the
//!   extents of a header exactly: what does not fit is an error of the call. No array has more elements than [`MAX_EXTENT`],
//!   because no machine has the memory (an array with an extent 0 has none, however large its others).
//! - Elements of arrays that nothing in the function writes do not change during a call, and have no other owner.
//! - An access runs only where the conditions that guard it hold: whoever executes it speculatively must clamp its index.
//! - What follows a failed `Require` in its block does not run, nor, outside maps, what follows any failed test. In maps other
//!   tests end nothing (lanes of a vector that failed are reported after the loop), so nothing is concluded from them there. But
//!   that divisions succeed tells stores apart to arrays of which a map does nothing else: a store too many in a call that fails
//!   is seen by nobody.

use hidp_ir::par::{ExprKind, Iter, Var, VarId, VarKind};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Scalar;

use super::linear::{AtomId, AtomKey, Atoms, Interval, Lin};
use super::solve::{infeasible, infeasible_with_products, relevant};
use super::term::Term;

/// Largest extent, and largest number of elements, that an array can have: no machine has memory for more bytes.
pub const MAX_EXTENT: i64 = 1 << 56;

/// Facts that one proof looks at.
const NEAR_FACTS: usize = 40;
/// Products of facts that one proof makes.
const PRODUCTS: usize = 64;
/// Case distinctions that one proof nests.
pub(crate) const SPLITS: usize = 3;

/// Atoms beside a proof's own whose cases are distinguished, each by itself.
const CASES_BESIDE: usize = 4;

/// One of the values an atom may have, and when: all of `when` are not negative then.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Condition.
    pub when: Vec<Lin>,
    /// Value.
    pub value: Lin,
}

/// The smallest and the largest element among the first ones of an array that nothing writes, found by a map.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    /// The array.
    pub array: VarId,
    /// Elements with indices below these were looked at.
    pub below: Vec<Lin>,
    /// The smallest of them.
    pub least: Lin,
    /// The largest of them.
    pub most: Lin,
}

/// What a refutation assumes beyond what is known: one case each of some atoms.
#[derive(Clone, Debug, Default)]
struct Assumed {
    facts: Vec<Lin>,
    /// The case of each.
    distinguished: Distinguished,
}

/// Atoms with the number of one of their cases.
type Distinguished = OrdMap<AtomId, usize>;
/// What came of distinctions that were made already, in whichever order.
type Outcomes = OrdMap<Distinguished, bool>;

impl Assumed {
    /// In this case of `atom`, the one of this number, too. `None` if it cannot be expressed.
    fn and(&self, atom: AtomId, number: usize, case: &Case) -> Option<Assumed> {
        let mut narrower = self.clone();
        let above = Lin::atom(atom).sub(&case.value)?;
        let below = above.scale(-1)?;
        narrower.distinguished.insert(atom, number);
        narrower.facts.extend([above, below]);
        narrower.facts.extend(case.when.iter().cloned());
        Some(narrower)
    }
}

/// An iterator of a map that is being walked.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    /// The iterator.
    pub var: VarId,
    /// Different in different iterations: the value, or with a constant stride above 1 the number of strides from the start.
    pub atom: AtomId,
    /// First value.
    pub lo: Lin,
    /// Value that it does not pass.
    pub last: Option<Lin>,
    /// The stride, if it is constant.
    pub stride: Option<i128>,
    /// That the value lies in the range: true in iterations, not for a fold over an empty range.
    pub facts: Vec<Lin>,
}

impl Position {
    /// The iterator's value after `count` strides from `lo`, and the atom's. `None` unless the stride is constant.
    pub(crate) fn at(&self, lo: &Lin, count: i128) -> Option<(Lin, Lin)> {
        let stride = self.stride.filter(|stride| *stride > 0)?;
        let value = lo.offset(stride.checked_mul(count)?)?;
        let atom = if stride > 1 { Lin::constant(count) } else { value.clone() };
        Some((value, atom))
    }
}

/// What is known where a statement runs.
#[derive(Clone, Debug)]
pub(crate) struct Context<'f> {
    /// The function's variables.
    pub vars: &'f Arena<VarId, Var>,
    /// Values.
    pub atoms: Atoms,
    /// Each is not negative here. Scopes truncate it.
    pub facts: Vec<Lin>,
    /// Current values of scalar variables; parameters and dimensions that are not in it have their first value.
    pub env: OrdMap<VarId, Lin>,
    /// Extents of arrays in scope.
    pub extents: OrdMap<VarId, Vec<Lin>>,
    /// Dimensions that are an extent of an argument which the wrapper has tested.
    pub named_extents: OrdSet<VarId>,
    /// Arrays that nothing writes.
    pub constant_arrays: OrdSet<VarId>,
    /// What is known of their elements.
    pub contents: Vec<Contents>,
    /// How many maps enclose this.
    pub map_depth: usize,
    /// Whether arithmetic is known not to wrap (headers).
    pub exact: bool,
    /// Whether an unproved load counts as a function of its index: who asks reads no memory by it, and a load that fails gives
    /// either a fault or one certain element.
    pub loads_anyway: bool,
    /// Whether proofs distinguish cases of atoms beside their own, which takes several times as long.
    pub looks_beside: bool,
    /// Whether quotients and remainders are those of divisors that are not 0: who asks looks at iterations that end.
    pub divisions_succeed: bool,
    /// How many conditions enclose this that the facts do not imply.
    pub vague: usize,
    /// Atoms that are one of several values.
    pub cases: OrdMap<AtomId, Vec<Case>>,
}

impl<'f> Context<'f> {
    /// Nothing is known.
    pub(crate) fn new(vars: &'f Arena<VarId, Var>) -> Self {
        Context {
            vars,
            atoms: Atoms::default(),
            facts: Vec::new(),
            env: OrdMap::new(),
            extents: OrdMap::new(),
            named_extents: OrdSet::new(),
            constant_arrays: OrdSet::new(),
            contents: Vec::new(),
            map_depth: 0,
            exact: false,
            loads_anyway: false,
            looks_beside: false,
            divisions_succeed: false,
            vague: 0,
            cases: OrdMap::new(),
        }
    }

    /// Extents of all parameters but `except`, tested by the wrapper or not.
    pub(crate) fn enter_params(&mut self, except: &OrdSet<VarId>, by_wrapper: bool) {
        let vars = self.vars;
        let is_known = |id: &VarId, var: &Var| matches!(var.kind, VarKind::Param(_)) && !except.contains(id);
        let params: Vec<VarId> = vars.iter().filter(|(id, var)| is_known(id, var)).map(|(id, _)| id).collect();
        if by_wrapper {
            let extents = params.iter().flat_map(|&id| &vars[id].shape);
            self.named_extents = extents
                .filter_map(|extent| match extent.kind {
                    ExprKind::Read(dim) => Some(dim),
                    _ => None,
                })
                .collect();
        }
        params.into_iter().for_each(|id| self.enter_param(id, by_wrapper));
    }

    /// Extents of a parameter, and what its existence says about them; more if the wrapper has tested them.
    fn enter_param(&mut self, param: VarId, by_wrapper: bool) {
        let vars = self.vars;
        self.exact = by_wrapper;
        let extents: Vec<Lin> = vars[param].shape.iter().map(|extent| self.lin(extent)).collect();
        self.exact = false;
        if extents.is_empty() {
            return;
        }
        self.array_exists(&extents, by_wrapper);
        self.extents.insert(param, extents);
    }

    /// An array of these extents exists: none is negative, and their product is not too large. Nor is one of them, if that was
    /// tested `of_each` or there are no others that might be 0.
    pub(crate) fn array_exists(&mut self, extents: &[Lin], of_each: bool) {
        let mut total = Some(Lin::constant(1));
        for extent in extents {
            self.fact(extent.clone());
            if of_each || extents.len() == 1 {
                self.fact_opt(Lin::constant(MAX_EXTENT.into()).sub(extent));
            }
            total = total.and_then(|product| product.mul(extent));
        }
        if let Some((first, others)) = extents.split_first()
            && !others.is_empty()
            && others.iter().all(|other| other == first)
        {
            let largest = root(MAX_EXTENT.into(), extents.len());
            self.fact_opt(Lin::constant(largest).sub(first));
        }
        if extents.len() > 1 {
            self.fact_opt(total.and_then(|product| Lin::constant(MAX_EXTENT.into()).sub(&product)));
        }
    }

    /// `lin >= 0` holds from here to the end of the scope.
    pub(crate) fn fact(&mut self, lin: Lin) {
        let known = self.atoms.lin_range(&lin).is_some_and(|range| range.lo >= 0);
        if !known && !self.facts.contains(&lin) {
            self.facts.push(lin);
        }
    }

    /// As [`Context::fact`]; nothing if it could not be expressed, which the result says.
    pub(crate) fn fact_opt(&mut self, lin: Option<Lin>) -> bool {
        let expressed = lin.is_some();
        if let Some(lin) = lin {
            self.fact(lin);
        }
        expressed
    }

    /// What `attempt` makes (atoms, their cases) and assumes is forgotten after it.
    pub(crate) fn trial<T>(&mut self, attempt: impl FnOnce(&mut Self) -> T) -> T {
        let (mark, facts) = (self.atoms.mark(), self.facts.clone());
        let result = attempt(self);
        self.facts = facts;
        self.atoms.truncate(mark);
        self.cases.split_off(&mark);
        result
    }

    /// Both are equal from here to the end of the scope.
    pub(crate) fn fact_equal(&mut self, a: &Lin, b: &Lin) -> bool {
        self.fact_opt(a.sub(b)) && self.fact_opt(b.sub(a))
    }

    /// A value of which only the type is known.
    pub(crate) fn unknown(&mut self, ty: Scalar) -> Lin {
        let range = Interval::of(ty).unwrap_or(Interval { lo: i64::MIN.into(), hi: u64::MAX.into() });
        Lin::atom(self.atoms.fresh(range))
    }

    /// The variable may have any value from here.
    pub(crate) fn havoc(&mut self, var: VarId) {
        match self.vars[var].ty.scalar() {
            Some(ty) if !ty.is_float() && !self.vars[var].is_array() => {
                let value = self.unknown(ty);
                self.env.insert(var, value);
            }
            _ => {
                self.env.remove(&var);
            }
        }
    }

    /// The current value of a scalar variable.
    pub(crate) fn value(&mut self, var: VarId) -> Lin {
        if let Some(lin) = self.env.get(&var) {
            return lin.clone();
        }
        let ty = self.vars[var].ty.scalar().unwrap_or(Scalar::I64);
        let full = Interval::of(ty).unwrap_or(Interval { lo: i64::MIN.into(), hi: u64::MAX.into() });
        match self.vars[var].kind {
            VarKind::Dim => {
                let hi = if self.named_extents.contains(&var) { MAX_EXTENT } else { i64::MAX };
                let lo = i128::from(self.vars[var].is_setting());
                let range = Interval { lo, hi: hi.into() };
                Lin::atom(self.atoms.intern(AtomKey::Var(var), range))
            }
            VarKind::Param(_) => Lin::atom(self.atoms.intern(AtomKey::Var(var), full)),
            // Not assigned in what was walked: a caller asks about a place inside without having walked to it.
            VarKind::Local | VarKind::Iter => Lin::atom(self.atoms.intern(AtomKey::Var(var), full)),
        }
    }

    /// The iterator takes a value of its range, whose bounds were converted outside the map. With a constant stride the
    /// value is `lo + stride × position`, and the position's atom is what distinguishes iterations. Its facts are not yet
    /// assumed.
    pub(crate) fn enter_iter(&mut self, iter: &Iter, [lo, hi, step]: &[Lin; 3]) -> Position {
        let low = self.atoms.lin_range(lo).map_or(i64::MIN.into(), |range| range.lo);
        let last = hi.offset(-1);
        let last_range = last.as_ref().and_then(|lin| self.atoms.lin_range(lin));
        let high = last_range.map_or(i64::MAX.into(), |range| range.hi);
        let (atom, value) = match step.as_constant() {
            Some(stride) if stride > 1 => {
                let span = high.saturating_sub(low).max(0) / stride;
                let atom = self.atoms.fresh(Interval { lo: 0, hi: span });
                (atom, Lin::atom(atom).scale(stride).and_then(|lin| lin.add(lo)))
            }
            _ => {
                let atom = self.atoms.fresh(Interval { lo: low, hi: high.max(low) });
                (atom, Some(Lin::atom(atom)))
            }
        };
        let value = value.unwrap_or_else(|| self.unknown(Scalar::I64));
        let below = last.as_ref().and_then(|last| last.sub(&value));
        let facts = [value.sub(lo), below].into_iter().flatten().collect();
        self.env.insert(iter.var, value);
        Position { var: iter.var, atom, lo: lo.clone(), last, stride: step.as_constant(), facts }
    }

    /// Whether `goal >= 0` follows.
    pub(crate) fn proves(&self, goal: &Lin) -> bool {
        if self.atoms.lin_range(goal).is_some_and(|range| range.lo >= 0) {
            return true;
        }
        let Some(negated) = goal.scale(-1).and_then(|lin| lin.offset(-1)) else {
            return false;
        };
        self.refutes(&[negated], SPLITS)
    }

    /// Whether `a <= b` follows.
    pub(crate) fn proves_le(&self, a: &Lin, b: &Lin) -> bool {
        b.sub(a).is_some_and(|goal| self.proves(&goal))
    }

    /// Whether `a < b` follows.
    pub(crate) fn proves_lt(&self, a: &Lin, b: &Lin) -> bool {
        b.sub(a).and_then(|lin| lin.offset(-1)).is_some_and(|goal| self.proves(&goal))
    }

    /// Whether `a == b` follows.
    pub(crate) fn proves_eq(&self, a: &Lin, b: &Lin) -> bool {
        a == b || (self.proves_le(a, b) && self.proves_le(b, a))
    }

    /// Whether `lin` lies in the range of `ty`.
    pub(crate) fn fits(&self, lin: &Lin, ty: Scalar) -> bool {
        let Some(target) = Interval::of(ty) else {
            return false;
        };
        if self.atoms.lin_range(lin).is_some_and(|range| range.within(target)) {
            return true;
        }
        lin.offset(-target.lo).is_some_and(|goal| self.proves(&goal))
            && Lin::constant(target.hi).sub(lin).is_some_and(|goal| self.proves(&goal))
    }

    /// Whether `extra` (each not negative) contradicts what is known.
    pub(crate) fn refutes(&self, extra: &[Lin], splits: usize) -> bool {
        self.refutes_in_case(extra, &Assumed::default(), splits, &mut Outcomes::new())
    }

    fn refutes_in_case(&self, extra: &[Lin], assumed: &Assumed, splits: usize, known: &mut Outcomes) -> bool {
        if let Some(&outcome) = known.get(&assumed.distinguished) {
            return outcome;
        }
        let outcome = self.refutes_without_cases(extra, assumed)
            || (splits > 0 && self.refutes_by_cases(extra, assumed, splits - 1, known));
        known.insert(assumed.distinguished.clone(), outcome);
        outcome
    }

    fn refutes_without_cases(&self, extra: &[Lin], assumed: &Assumed) -> bool {
        let seed = extra.iter().flat_map(Lin::atoms);
        let near = relevant(seed, self.facts.iter().chain(&assumed.facts), NEAR_FACTS);
        let mut rows: Vec<&Lin> = extra.iter().collect();
        rows.extend(near);
        infeasible_with_products(&rows, &self.atoms, |rows| self.products(rows))
    }

    /// Distinguishes the cases of one atom of `extra`.
    fn refutes_by_cases(&self, extra: &[Lin], assumed: &Assumed, splits: usize, known: &mut Outcomes) -> bool {
        let mut tried: OrdSet<AtomId> = assumed.distinguished.keys().copied().collect();
        let terms: OrdSet<Term> = extra.iter().flat_map(|row| row.terms.iter().map(|(term, _)| *term)).collect();
        let own: OrdSet<AtomId> = terms.into_iter().flat_map(Term::atoms).collect();
        let beside = if self.looks_beside && tried.is_empty() { self.beside(&own) } else { Vec::new() };
        own.into_iter().chain(beside).filter(|atom| tried.insert(*atom)).any(|atom| {
            let Some(cases) = self.cases.get(&atom) else {
                return false;
            };
            cases.iter().enumerate().all(|(number, case)| {
                let narrower = assumed.and(atom, number, case);
                narrower.is_some_and(|narrower| self.refutes_in_case(extra, &narrower, splits, known))
            })
        })
    }

    /// Atoms with cases of which the latest facts about these atoms speak.
    fn beside(&self, atoms: &OrdSet<AtomId>) -> Vec<AtomId> {
        let about = |fact: &&Lin| fact.atoms().any(|atom| atoms.contains(&atom));
        let others = self.facts.iter().rev().filter(about).flat_map(Lin::atoms);
        let mut found: Vec<AtomId> = Vec::new();
        for atom in others.filter(|atom| !atoms.contains(atom) && self.cases.contains_key(atom)) {
            if !found.contains(&atom) {
                found.push(atom);
            }
            if found.len() == CASES_BESIDE {
                break;
            }
        }
        found
    }

    /// That each of the terms lies in its range.
    fn ranges(&self, terms: &OrdSet<Term>) -> Vec<Lin> {
        let mut rows = Vec::new();
        for &term in terms {
            if let Some(range) = self.atoms.term_range(term) {
                rows.extend(Lin::product(term, 1).offset(range.lo.saturating_neg()));
                rows.extend(Lin::product(term, -1).offset(range.hi));
            }
        }
        rows
    }

    /// For each product of atoms that occurs: the linear facts about one factor times the others, where those are not
    /// negative.
    fn products(&self, rows: &[&Lin]) -> OrdSet<Lin> {
        let terms: OrdSet<Term> = rows.iter().flat_map(|row| row.terms.iter().map(|(term, _)| *term)).collect();
        let (products, single): (OrdSet<Term>, OrdSet<Term>) = terms.into_iter().partition(|term| term.degree() > 1);
        let mut linear: Vec<Lin> = rows.iter().filter(|row| row.is_linear()).copied().cloned().collect();
        linear.extend(self.ranges(&single));
        let factors: OrdSet<AtomId> = products.iter().flat_map(|term| term.atoms()).collect();
        for &factor in &factors {
            linear.extend(Lin::atom(factor).offset(self.atoms.range(factor).lo.saturating_neg()));
        }
        let not_negative: OrdSet<AtomId> =
            factors.into_iter().filter(|&factor| self.atom_not_negative(factor, &linear)).collect();
        let mut made = OrdSet::new();
        for term in &products {
            for (at, atom) in term.atoms().enumerate() {
                let others = term.without(at);
                if !others.atoms().all(|other| not_negative.contains(&other)) {
                    continue;
                }
                let others = Lin::product(others, 1);
                let about = linear.iter().filter(|fact| fact.terms.contains(Term::of(atom)));
                made.extend(about.filter_map(|fact| fact.mul(&others)));
                if made.len() > PRODUCTS {
                    break;
                }
            }
        }
        made
    }

    fn atom_not_negative(&self, atom: AtomId, linear: &[Lin]) -> bool {
        if self.atoms.range(atom).lo >= 0 {
            return true;
        }
        let negative = Lin::atom(atom).scale(-1).and_then(|lin| lin.offset(-1));
        negative.is_some_and(|negative| {
            let about = linear.iter().filter(|row| row.terms.contains(Term::of(atom)));
            infeasible(&about.chain([&negative]).collect::<Vec<_>>(), |_| None)
        })
    }
}

/// The largest number whose power of this degree is at most `value`.
fn root(value: i128, degree: usize) -> i128 {
    let (mut low, mut high) = (0, value);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        let power = (0..degree).try_fold(1i128, |power, _| power.checked_mul(middle));
        if power.is_some_and(|power| power <= value) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

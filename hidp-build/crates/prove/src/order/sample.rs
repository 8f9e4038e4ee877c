//! Assignments of small values to all atoms of a call that satisfy what is known of it.
//!
//! What a sample contradicts cannot be proved, so samples screen candidates. Where nothing in a call is data, a sample is an
//! example: what it shows happens.

use hidp_ir::par::{VarId, VarKind};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Scalar;

use super::model::Model;
use crate::linear::{AtomId, AtomKey, Interval, Lin, Op};

/// Samples that one search gives.
const SAMPLES: usize = 96;
/// Values that one search tries.
const TRIED: usize = 3000;
/// Values that an atom takes.
const VALUES: usize = 6;

/// What each atom is.
pub(super) type Assignment = OrdMap<AtomId, i128>;

/// Sizes of a search: what scalar parameters and dimensions are, if they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// A few each, not all the same.
    Nominal,
    /// All the same.
    Equal(i128),
}

/// Sizes in the order in which they are tried.
pub(super) const SIZES: [Sizes; 5] =
    [Sizes::Nominal, Sizes::Equal(2), Sizes::Equal(4), Sizes::Equal(1), Sizes::Equal(64)];

/// A search for assignments.
struct Sampler<'m, 'f> {
    model: &'m Model<'f>,
    /// Atoms, operands before what is made of them.
    atoms: Vec<AtomId>,
    /// Facts, each with the number of its last atom.
    facts: Vec<(usize, Lin)>,
    sizes: Sizes,
    tried: usize,
    limit: usize,
    assigned: Assignment,
    /// Values of loads by array, indices and field.
    loads: OrdMap<(VarId, Vec<i128>, Vec<u32>), i128>,
    found: Vec<Assignment>,
}

impl Model<'_> {
    /// Assignments that satisfy all of `facts` and agree with `fixed`; they name the atoms of `facts` and `about`.
    pub(super) fn assignments(
        &mut self,
        about: &[Lin],
        facts: &[Lin],
        fixed: &Assignment,
        sizes: Sizes,
        limit: usize,
    ) -> Vec<Assignment> {
        let atoms: Vec<AtomId> = self.closure(about.iter().chain(facts)).into_iter().collect();
        let last = |lin: &Lin| lin.atoms().filter_map(|atom| atoms.binary_search(&atom).ok()).max().unwrap_or(0);
        let facts = facts.iter().map(|fact| (last(fact), fact.clone())).collect();
        let (assigned, loads, found) = (fixed.clone(), OrdMap::new(), Vec::new());
        let mut sampler = Sampler { model: self, atoms, facts, sizes, tried: 0, limit, assigned, loads, found };
        sampler.from(0);
        let (tried, found) = (sampler.tried, sampler.found);
        self.work.tried += tried;
        found
    }

    /// Samples of a call that reaches a cell.
    pub(super) fn samples(&mut self, call: usize, sizes: Sizes) -> Vec<Assignment> {
        let call = &self.calls[call];
        let mut about = call.at.clone();
        about.extend(self.tables[call.caller].index.iter().map(|&atom| Lin::atom(atom)));
        let facts: Vec<Lin> = call.path.iter().chain(&call.within).cloned().collect();
        self.assignments(&about, &facts, &Assignment::new(), sizes, SAMPLES)
    }

    /// All atoms that these need, those in operations and their cases too.
    fn closure<'a>(&self, lins: impl Iterator<Item = &'a Lin>) -> OrdSet<AtomId> {
        let mut found = OrdSet::new();
        let mut open: Vec<AtomId> = lins.flat_map(Lin::atoms).collect();
        while let Some(atom) = open.pop() {
            if !found.insert(atom) {
                continue;
            }
            match self.cx.atoms.key(atom) {
                AtomKey::Var(_) | AtomKey::Fresh(_) | AtomKey::Extreme(..) => {}
                AtomKey::Load(_, operands, _) | AtomKey::Op(_, _, operands) => {
                    open.extend(operands.iter().flat_map(Lin::atoms));
                }
                AtomKey::Turns(_, sum) => open.extend(sum.atoms()),
            }
            for case in self.cx.cases.get(&atom).into_iter().flatten() {
                open.extend(case.when.iter().chain([&case.value]).flat_map(Lin::atoms));
            }
        }
        found
    }
}

/// The value of a sum.
pub(super) fn value(lin: &Lin, assigned: &Assignment) -> Option<i128> {
    lin.terms.iter().try_fold(lin.constant, |sum, &(term, factor)| {
        let product = term.atoms().try_fold(factor, |product, atom| product.checked_mul(*assigned.get(&atom)?))?;
        sum.checked_add(product)
    })
}

impl Sampler<'_, '_> {
    /// Assigns the atoms from this one on in all ways.
    fn from(&mut self, number: usize) {
        let Some(&atom) = self.atoms.get(number) else {
            self.found.push(self.assigned.clone());
            return;
        };
        if let Some(&fixed) = self.assigned.get(&atom) {
            return self.with(number, atom, fixed);
        }
        let range = self.model.cx.atoms.range(atom);
        match self.model.cx.atoms.key(atom).clone() {
            AtomKey::Op(op, ty, operands) => {
                let operands: Option<Vec<i128>> = operands.iter().map(|lin| value(lin, &self.assigned)).collect();
                if let Some(result) = operands.and_then(|operands| compute(op, ty, &operands)) {
                    self.with(number, atom, result);
                }
            }
            AtomKey::Turns(ty, sum) => {
                if let (Some(sum), Some(all)) = (value(&sum, &self.assigned), Interval::of(ty)) {
                    self.with(number, atom, (sum - all.lo).div_euclid(all.hi - all.lo + 1));
                }
            }
            AtomKey::Load(array, index, path) => {
                let index: Option<Vec<i128>> = index.iter().map(|lin| value(lin, &self.assigned)).collect();
                let Some(index) = index else { return };
                let element = (array, index, path);
                match self.loads.get(&element) {
                    Some(&same) => self.with(number, atom, same),
                    None => {
                        for choice in self.choices(number, atom, range) {
                            self.loads.insert(element.clone(), choice);
                            self.with(number, atom, choice);
                        }
                        self.loads.remove(&element);
                    }
                }
            }
            AtomKey::Var(var) => {
                let choices = match self.model.cx.vars[var].kind {
                    VarKind::Dim | VarKind::Param(_) => self.size(number, atom, range),
                    VarKind::Local | VarKind::Iter => self.choices(number, atom, range),
                };
                choices.into_iter().for_each(|choice| self.with(number, atom, choice));
            }
            AtomKey::Extreme(..) => {
                let choices = self.choices(number, atom, range);
                choices.into_iter().for_each(|choice| self.with(number, atom, choice));
            }
            AtomKey::Fresh(_) => match self.model.cx.cases.get(&atom) {
                Some(cases) => {
                    let holds = |lin: &Lin| value(lin, &self.assigned).is_some_and(|value| value >= 0);
                    let possible = cases.iter().filter(|case| case.when.iter().all(holds));
                    let values: Vec<i128> = possible.filter_map(|case| value(&case.value, &self.assigned)).collect();
                    values.into_iter().for_each(|choice| self.with(number, atom, choice));
                }
                None => {
                    let choices = self.choices(number, atom, range);
                    choices.into_iter().for_each(|choice| self.with(number, atom, choice));
                }
            },
        }
    }

    /// With this value, unless it contradicts a fact.
    fn with(&mut self, number: usize, atom: AtomId, choice: i128) {
        if self.found.len() >= self.limit || self.tried >= TRIED {
            return;
        }
        self.tried += 1;
        let before = self.assigned.insert(atom, choice);
        let mut decided = self.facts.iter().filter(|(last, _)| *last == number);
        if decided.all(|(_, fact)| value(fact, &self.assigned).is_some_and(|value| value >= 0)) {
            self.from(number + 1);
        }
        match before {
            Some(before) => self.assigned.insert(atom, before),
            None => self.assigned.remove(&atom),
        };
    }

    /// What the facts that are decided by this atom leave of its range.
    fn narrowed(&self, number: usize, atom: AtomId, mut range: Interval) -> Option<Interval> {
        for (_, fact) in self.facts.iter().filter(|(last, _)| *last == number) {
            let (mut factor, mut rest) = (0i128, fact.constant);
            for &(term, coefficient) in fact.terms.iter() {
                let others = term.atoms().filter(|other| *other != atom);
                let product = others
                    .clone()
                    .try_fold(coefficient, |product, other| product.checked_mul(*self.assigned.get(&other)?))?;
                match term.degree() - others.count() {
                    0 => rest = rest.checked_add(product)?,
                    1 => factor = factor.checked_add(product)?,
                    _ => return Some(range),
                }
            }
            // factor * atom + rest >= 0
            match factor.signum() {
                1 => range.lo = range.lo.max(-rest.div_euclid(factor)),
                -1 => range.hi = range.hi.min(rest.div_euclid(-factor)),
                _ => {}
            }
        }
        (range.lo <= range.hi).then_some(range)
    }

    /// A few values, small ones first, then the ends of the range.
    fn choices(&self, number: usize, atom: AtomId, range: Interval) -> Vec<i128> {
        let Some(range) = self.narrowed(number, atom, range) else { return Vec::new() };
        if range.hi - range.lo < VALUES as i128 {
            return (range.lo..=range.hi).collect();
        }
        let near = 0.max(range.lo).min(range.hi);
        let mut choices = Vec::new();
        for choice in [near, near + 1, range.lo, range.hi, near + 2, near - 1, near + 3, near + 4] {
            if range.lo <= choice && choice <= range.hi && !choices.contains(&choice) && choices.len() < VALUES {
                choices.push(choice);
            }
        }
        choices
    }

    /// One value, for a size.
    fn size(&self, number: usize, atom: AtomId, range: Interval) -> Vec<i128> {
        let wanted = match self.sizes {
            Sizes::Nominal => 4 + (number % 3) as i128,
            Sizes::Equal(size) => size,
        };
        let range = self.narrowed(number, atom, range);
        range.map(|range| wanted.max(range.lo).min(range.hi)).into_iter().collect()
    }
}

/// What an operation gives.
fn compute(op: Op, ty: Scalar, operands: &[i128]) -> Option<i128> {
    let all = Interval::of(ty)?;
    let modulus = all.hi - all.lo + 1;
    let wrap = |value: i128| Some((value - all.lo).rem_euclid(modulus) + all.lo);
    let bits = ty.size() * 8;
    match (op, operands) {
        (Op::Add, [a, b]) => wrap(a.checked_add(*b)?),
        (Op::Sub, [a, b]) => wrap(a.checked_sub(*b)?),
        (Op::Mul, [a, b]) => wrap(a.checked_mul(*b)?),
        (Op::Div, [a, b]) => wrap(a.checked_div(*b)?),
        (Op::Rem, [a, b]) => wrap(a.checked_rem(*b)?),
        (Op::Min, [a, b]) => Some(*a.min(b)),
        (Op::Max, [a, b]) => Some(*a.max(b)),
        (Op::Abs, [a]) => wrap(a.abs()),
        (Op::Neg, [a]) => wrap(-a),
        (Op::And, [a, b]) => Some(a & b),
        (Op::Or, [a, b]) => Some(a | b),
        (Op::Xor, [a, b]) => Some(a ^ b),
        (Op::Not, [a]) => wrap(!a),
        (Op::Shl, [a, b]) => {
            let count = u32::try_from(*b).ok().filter(|count| (*count as usize) < bits)?;
            wrap(a.checked_mul(1i128 << count)?)
        }
        (Op::Shr, [a, b]) => {
            let count = u32::try_from(*b).ok().filter(|count| (*count as usize) < bits)?;
            Some(a >> count)
        }
        (Op::Convert, [a]) => wrap(*a),
        (Op::Piece, [extent, pieces]) => wrap((extent.max(&1) - 1).checked_div(*pieces)? + 1),
        (
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Rem
            | Op::Min
            | Op::Max
            | Op::Abs
            | Op::Neg
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Not
            | Op::Shl
            | Op::Shr
            | Op::Convert
            | Op::Piece,
            _,
        ) => None,
    }
}

//! Whether inequalities contradict each other: what is known of equal ones, else a search for a solution, else elimination.

use hidp_syntax::ordered::{OrdMap, OrdSet};
use std::cell::RefCell;

use super::eliminate::{given, has_contradiction};
use super::linear::{AtomId, Atoms, Interval, Lin};
use super::term::Term;
use super::witness;

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// What came of systems that were solved before. Of a program's nineteen in twenty differ from an earlier one in their atoms at most: each
/// pass asks again what it can rely on.
#[derive(Default)]
struct Known {
    outcomes: OrdMap<Vec<u8>, bool>,
    /// Of all keys.
    bytes: usize,
}

impl Known {
    /// More bytes than this, and all is forgotten.
    const MOST: usize = 8 << 20;

    fn note(&mut self, key: Vec<u8>, outcome: bool) {
        if self.bytes + key.len() > Self::MOST {
            *self = Known::default();
        }
        self.bytes += key.len();
        self.outcomes.insert(key, outcome);
    }
}

/// Whether no integers satisfy all of `rows >= 0` where each term lies in its range. `false` when it cannot tell.
pub(crate) fn infeasible(rows: &[&Lin], range: impl Fn(Term) -> Option<Interval>) -> bool {
    let columns = Columns::of(rows, range);
    known_or(key(rows, &columns, &[]), || contradict(rows, &columns))
}

/// As [`infeasible`] in the ranges of `atoms`. If there are products of atoms, also with the rows that `products` makes of these rows: it
/// looks at nothing but them and the ranges, and at atoms only by their order.
pub(crate) fn infeasible_with_products(
    rows: &[&Lin],
    atoms: &Atoms,
    products: impl FnOnce(&[&Lin]) -> OrdSet<Lin>,
) -> bool {
    let columns = Columns::of(rows, |term| atoms.term_range(term));
    if columns.are_atoms() {
        return known_or(key(rows, &columns, &[]), || contradict(rows, &columns));
    }
    known_or(key(rows, &columns, &columns.factors(atoms)), || {
        contradict(rows, &columns) || {
            let made = products(rows);
            let all: Vec<&Lin> = rows.iter().copied().chain(&made).collect();
            contradict(&all, &Columns::of(&all, |term| atoms.term_range(term)))
        }
    })
}

/// What is known of this key, or else what `outcome` says.
fn known_or(key: Vec<u8>, outcome: impl FnOnce() -> bool) -> bool {
    if let Some(outcome) = KNOWN.with_borrow(|known| known.outcomes.get(&key).copied()) {
        return outcome;
    }
    let outcome = outcome();
    KNOWN.with_borrow_mut(|known| known.note(key, outcome));
    outcome
}

fn contradict(rows: &[&Lin], columns: &Columns) -> bool {
    let given = given(rows, columns);
    !witness::is_found(&given, columns) && has_contradiction(given, columns.count())
}

/// The terms that occur, in their order, with the values that they may have.
pub(crate) struct Columns(Vec<(Term, Option<Interval>)>);

impl Columns {
    pub(crate) fn of(rows: &[&Lin], range: impl Fn(Term) -> Option<Interval>) -> Columns {
        let mut columns = Columns(Vec::with_capacity(32));
        for row in rows {
            for &(term, _) in row.terms.iter() {
                let at = columns.place(term);
                if columns.0.get(at).is_none_or(|(other, _)| *other != term) {
                    columns.0.insert(at, (term, range(term)));
                }
            }
        }
        columns
    }
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
    /// The range of each.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Option<Interval>> + '_ {
        self.0.iter().map(|(_, range)| *range)
    }
    /// Whether none is a product of several atoms.
    fn are_atoms(&self) -> bool {
        self.0.iter().all(|(term, _)| term.degree() == 1)
    }
    /// Of which atoms each is the product: the range of each atom, in their order, and of each column its atoms by their numbers.
    fn factors(&self, atoms: &Atoms) -> Vec<u8> {
        let occurring: OrdSet<AtomId> = self.0.iter().flat_map(|(term, _)| term.atoms()).collect();
        let mut text = Vec::with_capacity(occurring.len() * 8 + self.count() * 3);
        number(occurring.len() as u128, &mut text);
        for &atom in &occurring {
            let range = atoms.range(atom);
            signed(range.lo, &mut text);
            signed(range.hi, &mut text);
        }
        for (term, _) in &self.0 {
            number(term.degree() as u128, &mut text);
            for atom in term.atoms() {
                number(occurring.range(..atom).count() as u128, &mut text);
            }
        }
        text
    }
    /// The number of the first term that is not before this one.
    pub(crate) fn place(&self, term: Term) -> usize {
        let (mut low, mut high) = (0, self.0.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.0[middle].0 < term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// All that the outcome depends on: of which atoms the columns are products if that matters, how many columns there are and their ranges,
/// and of each row the factors with their columns, how many these are, and the constant.
fn key(rows: &[&Lin], columns: &Columns, factors: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(rows.len() * 8 + columns.count() * 12 + factors.len());
    number(factors.len() as u128, &mut key);
    key.extend_from_slice(factors);
    number(columns.count() as u128, &mut key);
    for range in columns.ranges() {
        key.push(u8::from(range.is_some()));
        if let Some(range) = range {
            signed(range.lo, &mut key);
            signed(range.hi, &mut key);
        }
    }
    for row in rows {
        number(row.terms.len() as u128, &mut key);
        for &(term, factor) in row.terms.iter() {
            number(columns.place(term) as u128, &mut key);
            signed(factor, &mut key);
        }
        signed(row.constant, &mut key);
    }
    key
}

/// The sign is the lowest bit.
fn signed(value: i128, key: &mut Vec<u8>) {
    number((value << 1 ^ value >> 127).cast_unsigned(), key);
}

/// Seven bits a byte, the lowest first; the eighth says that there are more.
fn number(mut value: u128, key: &mut Vec<u8>) {
    while value > 0x7f {
        key.push(value as u8 | 0x80);
        value >>= 7;
    }
    key.push(value as u8);
}

/// The rows of `facts` that share atoms with `seed`, directly or through others, nearest first, at most `limit`.
pub(crate) fn relevant<'a>(
    seed: impl IntoIterator<Item = AtomId>,
    facts: impl IntoIterator<Item = &'a Lin>,
    limit: usize,
) -> Vec<&'a Lin> {
    let mut atoms = AtomSet::default();
    seed.into_iter().for_each(|atom| atoms.insert(atom));
    let mut chosen: Vec<&Lin> = Vec::new();
    let mut rest: Vec<(&Lin, u64)> = facts.into_iter().map(|fact| (fact, fact.mask())).collect();
    loop {
        let (nearer, mut far) = (chosen.len(), Vec::new());
        for (fact, mask) in rest {
            if !atoms.meets(fact, mask) {
                far.push((fact, mask));
            } else if chosen.len() == limit {
                return chosen;
            } else {
                chosen.push(fact);
            }
        }
        if chosen.len() == nearer {
            return chosen;
        }
        for fact in &chosen[nearer..] {
            fact.atoms().for_each(|atom| atoms.insert(atom));
        }
        rest = far;
    }
}

/// Atoms, a bit each.
#[derive(Default)]
struct AtomSet {
    words: Vec<u64>,
    /// All words together.
    mask: u64,
}

impl AtomSet {
    fn insert(&mut self, atom: AtomId) {
        let word = atom.0 as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (atom.0 % 64);
        self.mask |= 1 << (atom.0 % 64);
    }
    fn contains(&self, atom: AtomId) -> bool {
        self.words.get(atom.0 as usize / 64).is_some_and(|word| word >> (atom.0 % 64) & 1 == 1)
    }
    /// Whether an atom of the sum is in it, whose mask is given.
    fn meets(&self, lin: &Lin, mask: u64) -> bool {
        if self.mask & mask == 0 {
            return false;
        }
        for (term, _) in lin.terms.iter() {
            for atom in term.atoms() {
                if self.contains(atom) {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use hidp_syntax::index::Arena;

    /// Eliminating a column of a system without structure makes some hundred rows, and again from these, unless rows that
    /// say nothing new are left out.
    #[test]
    fn dense_systems_stay_small() {
        let mut atoms = Atoms::default();
        let xs: Vec<Lin> = (0..6).map(|_| Lin::atom(atoms.fresh(Interval { lo: 0, hi: 9 }))).collect();
        let mut number = 7u64;
        let mut rows = Vec::new();
        for constant in 0..10 {
            let mut row = Lin::constant(40 + constant);
            for x in &xs {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                row = row.plus(x, i128::from((number >> 33) % 5) - 2).unwrap();
            }
            rows.push(row);
        }
        let impossible = xs.iter().fold(Lin::constant(-1), |sum, x| sum.plus(x, -1).unwrap());
        rows.extend(xs.iter().cloned());
        let all: Vec<&Lin> = rows.iter().collect();
        assert!(!infeasible(&all, |_| None));
        assert!(infeasible(&[all, vec![&impossible]].concat(), |_| None));
    }

    /// Systems of a row in two columns and one with opposite factors, of the same columns or of exchanged ones: some contradict each other.
    #[test]
    fn what_is_known_of_a_system_is_of_no_other() {
        let mut atoms = Atoms::default();
        let [x, y] = [(); 2].map(|()| Lin::atom(atoms.fresh(Interval { lo: 0, hi: 9 })));
        let factors = [-128, -3, -1, 0, 1, 3, 128];
        let row = |[x, y]: [&Lin; 2], number: usize| {
            let row = Lin::constant(factors[number % 7]).plus(x, factors[number / 7 % 7]);
            row.and_then(|row| row.plus(y, factors[number / 49 % 7])).unwrap()
        };
        let mut outcomes = [0, 0];
        for (number, opposite) in (0..343).flat_map(|number| [(number, 684), (number, 685), (number, 686)]) {
            for columns in [[&x, &y], [&y, &x]] {
                let system = [&row([&x, &y], number), &row(columns, opposite - number)];
                let columns = Columns::of(&system, |_| None);
                let outcome = has_contradiction(given(&system, &columns), columns.count());
                assert_eq!(infeasible(&system, |_| None), outcome, "{system:?}");
                outcomes[usize::from(outcome)] += 1;
            }
        }
        assert!(outcomes.iter().all(|&count| count > 250), "{outcomes:?}");
    }

    /// `x >= 2` and `y >= 3` contradict `xy <= 5`, and not `xz <= 5`, whose columns are like those of the first.
    #[test]
    fn what_is_known_of_products_is_of_the_same_factors() {
        let vars = Arena::new();
        let mut context = Context::new(&vars);
        let [x, y, z] = [(); 3].map(|()| Lin::atom(context.atoms.fresh(Interval { lo: 0, hi: 9 })));
        let refutes = |product: Option<Lin>| {
            let most = product.and_then(|product| Lin::constant(5).sub(&product)).unwrap();
            context.refutes(&[x.offset(-2).unwrap(), y.offset(-3).unwrap(), most], 0)
        };
        assert!(refutes(x.mul(&y)));
        assert!(!refutes(x.mul(&z)));
        assert!(refutes(x.mul(&y)), "asked again");
    }

    #[test]
    fn ranges_are_rows_and_part_of_what_is_known() {
        let mut atoms = Atoms::default();
        let x = Lin::atom(atoms.fresh(Interval { lo: 3, hi: 9 }));
        let row = |constant| x.scale(-1).and_then(|row| row.offset(constant)).unwrap();
        let within = |row: &Lin, lo, hi| infeasible(&[row], |_| Some(Interval { lo, hi }));
        assert!(infeasible(&[&row(2)], |term| atoms.term_range(term)), "x <= 2");
        assert!(!infeasible(&[&row(3)], |term| atoms.term_range(term)), "x <= 3");
        assert!(!infeasible(&[&row(2)], |_| None));
        assert!(within(&row(4), 5, 9) && !within(&row(4), 4, 9) && within(&row(4), 9, 4));
    }

    #[test]
    fn what_is_known_stays_small() {
        let mut known = Known::default();
        for number in 0..40u8 {
            known.note(vec![number; Known::MOST / 16], true);
            assert!(known.bytes <= Known::MOST);
            assert_eq!(known.outcomes.keys().map(Vec::len).sum::<usize>(), known.bytes);
        }
        assert!(known.outcomes.contains_key(&vec![39; Known::MOST / 16]));
    }

    #[test]
    fn integer_tightening_finds_contradictions_between_rationals() {
        let mut atoms = Atoms::default();
        let x = Lin::atom(atoms.fresh(Interval { lo: 0, hi: 9 }));
        // 1 <= 2x <= 1 has a rational solution and no integer one.
        let low = x.scale(2).unwrap().offset(-1).unwrap();
        let high = x.scale(-2).unwrap().offset(1).unwrap();
        assert!(infeasible(&[&low, &high], |_| None));
        assert!(!infeasible(&[&low], |_| None));
    }
}

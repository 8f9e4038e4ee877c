//! Judges pairs of accesses.

use crate::Doubt;
use crate::context::Context;
use crate::linear::{AtomId, AtomKey, Lin};
use hidp_ir::par::{VarId, VarKind};
use hidp_syntax::ordered::{OrdMap, OrdSet};

use super::multiples;
use super::record::{Accessed, Doing, Frame};
use crate::rename::Renamer;

/// Case distinctions nested in one refutation.
const SPLITS: usize = 2;
/// Pairs of iterations tried as witnesses of a conflict.
const WITNESSES: usize = 1024;
/// Pairs of accesses to one array that are looked at in one outermost map. With more of them the rest counts as not disjoint, and
/// is not reported.
const PAIRS: usize = 4096;
/// Largest distance between the iterations of a witness.
const FARTHEST: i128 = 64;

/// What two accesses can be to each other at worst. Of several in one array the first of these is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    AtomicAndPlain,
    BothWrite,
    ReadWrite,
    Primitive,
}

impl Kind {
    fn of(p: &Accessed, q: &Accessed) -> Kind {
        if (p.doing == Doing::Atomic) != (q.doing == Doing::Atomic) {
            Kind::AtomicAndPlain
        } else if p.prim.is_some() || q.prim.is_some() {
            Kind::Primitive
        } else if p.doing == Doing::Write && q.doing == Doing::Write {
            Kind::BothWrite
        } else {
            Kind::ReadWrite
        }
    }
}

/// What is wrong with two accesses.
#[derive(Debug)]
pub(super) enum Problem {
    /// Two iterations certainly write one element.
    BothWrite(Witness),
    /// One iteration certainly reads what another writes; the read comes first.
    ReadWrite(Witness),
    /// One is atomic, the other is not.
    AtomicAndPlain,
    /// A primitive works on elements that another iteration may touch.
    Primitive,
}

/// Two iterations that touch one element.
#[derive(Debug)]
pub(super) struct Witness {
    /// The map whose iterations they are, counted from the outermost.
    pub level: usize,
    /// For each iterator of that map, by how many strides the second access is later.
    pub distance: Vec<i128>,
    /// Whether it is the same for all iterations.
    pub uniform: bool,
}

/// Two accesses that conflict.
#[derive(Debug)]
pub(super) struct Conflict<'a> {
    pub first: &'a Accessed,
    pub second: &'a Accessed,
    pub problem: Problem,
}

/// What was found out about the accesses of an outermost map.
#[derive(Debug, Default)]
pub(super) struct Findings<'a> {
    /// Numbers of the places that other iterations may touch.
    pub shared: OrdSet<usize>,
    /// Numbers of the calls of primitives whose segments may overlap those of other iterations.
    pub shared_calls: OrdSet<usize>,
    /// What is to be reported, at most one an array.
    pub conflicts: Vec<Conflict<'a>>,
    /// For each array and map in which it is shared: two accesses that could not be told apart.
    pub doubts: Vec<Doubt>,
}

/// Judges all pairs of accesses in one outermost map.
pub(super) fn judge<'a>(cx: &mut Context<'_>, accesses: &'a [Accessed], levels: &OrdMap<VarId, usize>) -> Findings<'a> {
    let mut findings = Findings::default();
    let arrays: OrdSet<VarId> = accesses.iter().map(|access| access.array).collect();
    for array in arrays {
        let of_array = accesses.iter().filter(|access| access.array == array).collect();
        let mut judge = Judge::new(cx, of_array, &mut findings);
        judge.all(levels.get(&array).copied().unwrap_or(0));
        let conflict = judge.conflict.map(|(_, conflict)| conflict);
        findings.conflicts.extend(conflict);
    }
    findings
}

/// Judges the accesses of one array.
struct Judge<'j, 'f, 'a> {
    cx: &'j mut Context<'f>,
    accesses: Vec<&'a Accessed>,
    findings: &'j mut Findings<'a>,
    /// The maps in which all accesses of the array are shared already.
    shared: OrdSet<usize>,
    /// The conflict to report: of the worst kind, the first.
    conflict: Option<(Kind, Conflict<'a>)>,
    /// Pairs that may still be looked at.
    pairs: usize,
}

impl<'j, 'f, 'a> Judge<'j, 'f, 'a> {
    fn new(cx: &'j mut Context<'f>, accesses: Vec<&'a Accessed>, findings: &'j mut Findings<'a>) -> Self {
        Judge { cx, accesses, findings, shared: OrdSet::new(), conflict: None, pairs: PAIRS }
    }

    fn all(&mut self, level: usize) {
        for at in 0..self.accesses.len() {
            for other in at..self.accesses.len() {
                let (p, q) = (self.accesses[at], self.accesses[other]);
                if may_conflict(p, q) {
                    (level..common_maps(p, q)).for_each(|map| self.pair(p, q, map));
                }
            }
        }
    }

    /// Shares what must be shared, and keeps what is to be reported. Where everything is shared already, a pair matters only
    /// for the report.
    fn pair(&mut self, p: &'a Accessed, q: &'a Accessed, map: usize) {
        let (frame, kind) = (p.chain[map].map, Kind::of(p, q));
        let is_shared = self.shared.contains(&frame);
        let tells_more = self.conflict.as_ref().is_none_or(|(known, _)| kind < *known);
        if is_shared && !tells_more {
            return;
        }
        let takes_proof = kind != Kind::AtomicAndPlain;
        if takes_proof && self.pairs == 0 {
            self.share(frame);
            return;
        }
        self.pairs -= usize::from(takes_proof);
        // A certain conflict is the cheaper to look for, and rare.
        let found = if is_shared { conflict(self.cx, p, q, map, kind) } else { None };
        if is_shared && found.is_none() || takes_proof && disjoint(self.cx, p, q, map) {
            return;
        }
        let found = found.or_else(|| if tells_more { conflict(self.cx, p, q, map, kind) } else { None });
        let (fixed, found) = match found {
            Some(found) if is_of_fixed_element(&found, map) => (Some(found), None),
            found => (None, found),
        };
        self.doubt(p, q, map, kind, fixed.is_some());
        self.share(frame);
        self.conflict = found.map(|found| (kind, found)).or(self.conflict.take());
    }

    /// Notes the first two accesses that make the array shared in this map, or the first that certainly do. Primitives are no matter of
    /// single elements.
    fn doubt(&mut self, p: &Accessed, q: &Accessed, map: usize, kind: Kind, is_certain: bool) {
        let frame = &p.chain[map];
        let doubts = &mut self.findings.doubts;
        let of_map = |doubt: &Doubt| frame.positions.first().is_some_and(|position| doubt.map == position.var);
        let known = doubts.iter().position(|doubt| doubt.array == p.array && of_map(doubt));
        if self.shared.contains(&frame.map) && !is_certain || known.is_some_and(|at| doubts[at].is_certain) {
            return;
        }
        let (first, second) = match kind {
            Kind::BothWrite => (p, q),
            Kind::ReadWrite if p.doing == Doing::Read => (p, q),
            Kind::ReadWrite => (q, p),
            Kind::AtomicAndPlain | Kind::Primitive => return,
        };
        if let Some(position) = frame.positions.first() {
            let (first, second, both_write) = (first.span, second.span, kind == Kind::BothWrite);
            let doubt = Doubt { array: p.array, map: position.var, first, second, both_write, is_certain };
            known.map(|at| doubts.remove(at));
            doubts.push(doubt);
        }
    }

    /// All accesses to the array in this map are shared.
    fn share(&mut self, map: usize) {
        if self.shared.insert(map) {
            for access in self.accesses.iter().filter(|access| access.chain.iter().any(|frame| frame.map == map)) {
                self.findings.shared.extend(access.number);
                self.findings.shared_calls.extend(access.call);
            }
        }
    }
}

/// What is to be reported if two accesses are not disjoint.
fn conflict<'a>(
    cx: &mut Context<'_>,
    p: &'a Accessed,
    q: &'a Accessed,
    map: usize,
    kind: Kind,
) -> Option<Conflict<'a>> {
    let conflict = |problem| Conflict { first: p, second: q, problem };
    match kind {
        Kind::AtomicAndPlain => Some(conflict(Problem::AtomicAndPlain)),
        Kind::Primitive => {
            // Segments of one primitive that overlap are a fault when it runs.
            let same_segments = p.prim == q.prim && p.prim.as_ref().is_some_and(|prim| prim.region.is_some());
            (!same_segments).then(|| conflict(Problem::Primitive))
        }
        Kind::BothWrite => Some(conflict(Problem::BothWrite(witness(cx, p, q, map)?))),
        Kind::ReadWrite if p.doing == Doing::Read => Some(conflict(Problem::ReadWrite(witness(cx, p, q, map)?))),
        Kind::ReadWrite => {
            let witness = witness(cx, p, q, map)?;
            let distance = witness.distance.iter().map(|distance| -distance).collect();
            Some(Conflict { first: q, second: p, problem: Problem::ReadWrite(Witness { distance, ..witness }) })
        }
    }
}

/// Whether iterations read, where another one writes, an element that is the same for all of them along some dimensions, as `p[0]` and
/// `a[k][j]`, and as the writer has it along the others. It has a value from before the map, which is what is meant as a rule.
fn is_of_fixed_element(found: &Conflict<'_>, map: usize) -> bool {
    let first_atom = found.first.chain[map].first_atom;
    let is_fixed = |index: &Lin| index.atoms().all(|atom| atom < first_atom);
    let mut dims = found.first.index.iter().zip(&found.second.index);
    matches!(found.problem, Problem::ReadWrite(_)) && dims.all(|(read, written)| read == written || is_fixed(read))
}

fn may_conflict(p: &Accessed, q: &Accessed) -> bool {
    let both_read = p.doing == Doing::Read && q.doing == Doing::Read;
    let both_atomic = p.doing == Doing::Atomic && q.doing == Doing::Atomic;
    let same_field = p.path.iter().zip(&q.path).all(|(a, b)| a == b);
    !both_read && !both_atomic && same_field
}

/// How many maps enclose both, from the outermost.
fn common_maps(p: &Accessed, q: &Accessed) -> usize {
    p.chain.iter().zip(&q.chain).take_while(|(a, b)| a.map == b.map).count()
}

/// Whether no two different iterations of the map, within one iteration of the maps around it, touch one element.
fn disjoint(cx: &mut Context<'_>, p: &Accessed, q: &Accessed, map: usize) -> bool {
    let frame = &p.chain[map];
    let folded = folded_iterators(p, q, map);
    let same_fold_level = folded.is_some();
    let folded = folded.unwrap_or_default();
    let mixed = same_fold_level && p.fold_over.is_some() != q.fold_over.is_some();
    if mixed && !refuted(cx, p, q, frame, &[], None) {
        // A fold's target is written when several iterations are over: whichever they are, they must not touch it.
        return false;
    }
    let mut equal = Vec::new();
    for (number, position) in frame.positions.iter().enumerate() {
        if folded.contains(&position.var) {
            continue;
        }
        let orders: &[bool] = if std::ptr::eq(p, q) { &[true] } else { &[true, false] };
        if !orders.iter().all(|&up| refuted(cx, p, q, frame, &equal, Some((number, up)))) {
            return false;
        }
        equal.push(number);
    }
    true
}

/// If one of them is a fold of this very map: the iterators that all such folds of the pair fold over.
fn folded_iterators(p: &Accessed, q: &Accessed, map: usize) -> Option<Vec<VarId>> {
    let over = |access: &Accessed| access.fold_over.clone().filter(|_| access.chain.len() == map + 1);
    match (over(p), over(q)) {
        (Some(a), Some(b)) => Some(a.into_iter().filter(|var| b.contains(var)).collect()),
        (Some(over), None) | (None, Some(over)) => Some(over),
        (None, None) => None,
    }
}

/// Whether the indices cannot be equal in two iterations that agree in the iterators `equal` and differ, upwards or
/// downwards, in another.
fn refuted(
    cx: &mut Context<'_>,
    p: &Accessed,
    q: &Accessed,
    frame: &Frame,
    equal: &[usize],
    differ: Option<(usize, bool)>,
) -> bool {
    cx.trial(|cx| {
        let kept = || equal.iter().map(|&number| frame.positions[number].atom);
        let mut sigma = Renamer::new(frame.first_atom, kept());
        let mut tau = Renamer::new(frame.first_atom, kept());
        let mut facts = Vec::new();
        for (renamer, access) in [(&mut sigma, p), (&mut tau, q)] {
            for fact in &access.facts {
                facts.extend(renamer.lin(cx, fact));
            }
        }
        let mut equalities = Vec::new();
        for (a, b) in p.index.iter().zip(&q.index) {
            let (Some(a), Some(b)) = (sigma.lin(cx, a), tau.lin(cx, b)) else { continue };
            equalities.push([a.sub(&b), b.sub(&a)]);
        }
        let mut rows = Vec::new();
        if let Some((number, up)) = differ {
            let atom = frame.positions[number].atom;
            let (a, b) = (sigma.atom(cx, atom), tau.atom(cx, atom));
            let difference = if up { b.sub(&a) } else { a.sub(&b) };
            rows.extend(difference.and_then(|lin| lin.offset(-1)));
        }
        cx.facts.clear();
        for fact in facts {
            cx.fact(fact);
        }
        let remainders = multiples::remainders(cx, p, q, frame);
        if !remainders.is_empty() {
            multiples::settle_sums(cx);
        }
        for remainder in remainders {
            rows.extend(multiples::apart(cx, &remainder, [&mut sigma, &mut tau]).into_iter().flatten());
        }
        let refutes = |indices: &[[Option<Lin>; 2]]| {
            let all: Vec<Lin> = indices.iter().flatten().flatten().chain(&rows).cloned().collect();
            cx.refutes(&all, SPLITS)
        };
        // One dimension is enough as a rule, and the facts about several may be more than are looked at together.
        equalities.chunks(1).any(refutes) || equalities.len() > 1 && refutes(&equalities)
    })
}

/// Two iterations of the map that exist whenever its ranges are long enough, and touch one element.
fn witness(cx: &mut Context<'_>, p: &Accessed, q: &Accessed, map: usize) -> Option<Witness> {
    let certain = |access: &Accessed| access.exact && access.unconditional_from <= map;
    let mixed = p.fold_over.is_some() != q.fold_over.is_some();
    if !certain(p) || !certain(q) || mixed {
        return None;
    }
    let counts = candidate_counts(cx, p, q, map)?;
    cx.trial(|cx| cheapest_witness(cx, p, q, map, &counts))
}

fn cheapest_witness(cx: &mut Context<'_>, p: &Accessed, q: &Accessed, map: usize, counts: &[i128]) -> Option<Witness> {
    let left = instances(cx, p, map, counts);
    let right = instances(cx, q, map, counts);
    let folded = folded_iterators(p, q, map).unwrap_or_default();
    let iterators = p.chain[map].positions.iter();
    let compared: Vec<bool> = iterators.map(|position| !folded.contains(&position.var)).collect();
    let mut best: Option<(i128, Witness)> = None;
    for a in &left {
        for b in &right {
            let here = compared.len();
            let differs = (0..here).any(|number| compared[number] && a.counts[number] != b.counts[number]);
            if !differs || a.index != b.index {
                continue;
            }
            let cost = a.counts.iter().chain(&b.counts).sum();
            if best.as_ref().is_some_and(|(least, _)| *least <= cost) {
                continue;
            }
            let exists: Vec<Lin> = a.exists.iter().chain(&b.exists).cloned().collect();
            if !cx.refutes(&exists, SPLITS) {
                let distance = (0..here).map(|number| b.counts[number] - a.counts[number]).collect();
                best = Some((cost, Witness { level: map, distance, uniform: is_uniform(p, q) }));
            }
        }
    }
    best.map(|(_, witness)| witness)
}

/// Whether the indices differ by constants when the iterations are the same.
fn is_uniform(p: &Accessed, q: &Accessed) -> bool {
    p.index.iter().zip(&q.index).all(|(a, b)| a.terms == b.terms)
}

/// How many strides from the start the iterators of a witness are: at most one, or the distances that the subscripts suggest
/// where sizes of arguments alone say how long the ranges are. A range that a scalar limits may always be short.
fn candidate_counts(cx: &Context<'_>, p: &Accessed, q: &Accessed, map: usize) -> Option<Vec<i128>> {
    let iterators = |access: &Accessed| access.chain[map..].iter().map(|frame| frame.positions.len()).sum::<usize>();
    let mut counts = vec![0, 1];
    if [p, q].into_iter().all(|access| ranges_over_dimensions(cx, access, map)) {
        for distance in p.index.iter().zip(&q.index).flat_map(|(a, b)| distances(a, b)).chain([2]) {
            if !counts.contains(&distance) {
                counts.push(distance);
            }
        }
    }
    let exponent = u32::try_from(iterators(p) + iterators(q)).ok()?;
    while counts.len() > 1 && counts.len().checked_pow(exponent).is_none_or(|all| all > WITNESSES) {
        counts.pop();
    }
    (counts.len() > 1).then_some(counts)
}

/// Numbers of iterations after which `b` may be what `a` was.
fn distances(a: &Lin, b: &Lin) -> Vec<i128> {
    let is_fixed = a.terms.is_empty() || b.terms.is_empty();
    let difference = a.constant.checked_sub(b.constant).filter(|_| is_fixed || a.terms == b.terms).unwrap_or(0);
    let terms = if a.terms.is_empty() { &b.terms } else { &a.terms };
    let factors = terms.iter().map(|(_, factor)| factor).filter(|factor| difference % **factor == 0);
    factors.map(|factor| (difference / factor).abs()).filter(|distance| *distance <= FARTHEST).collect()
}

/// Whether the bounds of all iterators from this map inward depend on dimensions alone.
fn ranges_over_dimensions(cx: &Context<'_>, access: &Accessed, map: usize) -> bool {
    let is_dimension = |atom: AtomId| match cx.atoms.key(atom) {
        AtomKey::Var(var) => cx.vars[*var].kind == VarKind::Dim,
        AtomKey::Fresh(_) | AtomKey::Extreme(..) | AtomKey::Load(..) | AtomKey::Turns(..) | AtomKey::Op(..) => false,
    };
    let positions = access.chain[map..].iter().flat_map(|frame| &frame.positions);
    let mut bounds = positions.flat_map(|position| position.last.iter().chain([&position.lo]));
    bounds.all(|bound| bound.atoms().all(is_dimension))
}

/// An access in one iteration of its maps.
struct Instance {
    /// Strides from the start, for each iterator from the map in question inward.
    counts: Vec<i128>,
    /// The iteration exists if none of these is negative.
    exists: Vec<Lin>,
    index: Vec<Lin>,
}

fn instances(cx: &mut Context<'_>, access: &Accessed, map: usize, counts: &[i128]) -> Vec<Instance> {
    let iterators: usize = access.chain[map..].iter().map(|frame| frame.positions.len()).sum();
    let mut chosen = vec![0usize; iterators];
    let mut found = Vec::new();
    loop {
        let values: Vec<i128> = chosen.iter().map(|&number| counts[number]).collect();
        found.extend(instance(cx, access, map, values));
        let Some(next) = chosen.iter().position(|&number| number + 1 < counts.len()) else { return found };
        chosen[next] += 1;
        chosen[..next].fill(0);
    }
}

fn instance(cx: &mut Context<'_>, access: &Accessed, map: usize, counts: Vec<i128>) -> Option<Instance> {
    let mut renamer = Renamer::new(access.chain[map].first_atom, []);
    let mut exists = Vec::new();
    let positions = access.chain[map..].iter().flat_map(|frame| &frame.positions);
    for (position, &count) in positions.zip(&counts) {
        let lo = renamer.lin(cx, &position.lo)?;
        let last = renamer.lin(cx, position.last.as_ref()?)?;
        let (value, atom) = position.at(&lo, count)?;
        exists.push(last.sub(&value)?);
        renamer.set(position.atom, atom);
    }
    let index = access.index.iter().map(|index| renamer.lin(cx, index)).collect::<Option<_>>()?;
    Some(Instance { counts, exists, index })
}

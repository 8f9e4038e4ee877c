//! Multiples of one divisor in two iterations are equal, or at least the divisor apart.
//!
//! A butterfly writes `2 * (t - t % w) + t % w` and `w` behind it. That no other iteration does follows from three cases of `t - t % w`, in each
//! of which all is linear: both are equal, or the one or the other is larger by the magnitude of `w` or more.

use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Scalar;

use crate::context::{Case, Context};
use crate::linear::{AtomId, AtomKey, Interval, Lin, Op};
use crate::rename::Renamer;

use super::record::{Accessed, Frame};

/// Remainders that one pair of accesses is told about.
const MOST: usize = 2;

/// A remainder that differs between iterations.
pub(super) struct Remainder {
    rest: AtomId,
    dividend: Lin,
    divisor: Lin,
}

/// The remainders in what is known about two accesses.
pub(super) fn remainders(cx: &Context<'_>, p: &Accessed, q: &Accessed, frame: &Frame) -> Vec<Remainder> {
    let mut found: Vec<Remainder> = Vec::new();
    let about = p.index.iter().chain(&q.index).chain(&p.facts).chain(&q.facts);
    for rest in about.flat_map(Lin::atoms).filter(|atom| *atom >= frame.first_atom) {
        let AtomKey::Op(Op::Rem, _, operands) = cx.atoms.key(rest) else { continue };
        if let [dividend, divisor] = operands.as_slice()
            && found.len() < MOST
            && found.iter().all(|known| known.rest != rest)
        {
            found.push(Remainder { rest, dividend: dividend.clone(), divisor: divisor.clone() });
        }
    }
    found
}

/// Sums that wrap nowhere in what is known are exact. A proof with rational numbers does not find out by itself.
pub(super) fn settle_sums(cx: &mut Context<'_>) {
    let atoms: OrdSet<AtomId> = cx.facts.iter().flat_map(Lin::atoms).collect();
    for atom in atoms {
        let (turns, none) = (Lin::atom(atom), Lin::constant(0));
        if matches!(cx.atoms.key(atom), AtomKey::Turns(..)) && cx.proves_eq(&turns, &none) {
            cx.fact_equal(&turns, &none);
        }
    }
}

/// What a remainder in one iteration and the same in another have to do with each other, if they have one divisor. The atoms in it
/// have cases.
pub(super) fn apart(cx: &mut Context<'_>, remainder: &Remainder, mut both: [&mut Renamer; 2]) -> Option<Vec<Lin>> {
    let [divisor, other] = both.each_mut().map(|iteration| iteration.lin(cx, &remainder.divisor));
    let divisor = divisor.filter(|divisor| other.as_ref() == Some(divisor))?;
    let magnitude = magnitude(cx, &divisor)?;
    let (mut rows, mut multiples) = (Vec::new(), Vec::new());
    for iteration in both {
        let rest = iteration.atom(cx, remainder.rest);
        multiples.push(iteration.lin(cx, &remainder.dividend)?.sub(&rest)?);
        rows.push(magnitude.sub(&rest)?.offset(-1)?);
        rows.push(magnitude.add(&rest)?.offset(-1)?);
    }
    let difference = multiples[0].sub(&multiples[1])?;
    let range = Interval { lo: i128::from(i64::MIN) * 2, hi: i128::from(i64::MAX) * 2 };
    let atom = cx.atoms.fresh(range);
    let far = Lin::atom(atom);
    rows.extend([far.sub(&difference)?, difference.sub(&far)?]);
    let larger = |more: Lin| Some(Case { when: vec![more.sub(&magnitude)?], value: difference.clone() });
    let equal = Case { when: Vec::new(), value: Lin::constant(0) };
    let cases = vec![equal, larger(difference.clone())?, larger(difference.scale(-1)?)?];
    cx.cases.insert(atom, cases);
    Some(rows)
}

/// The magnitude of a divisor, if it is not 0.
fn magnitude(cx: &mut Context<'_>, divisor: &Lin) -> Option<Lin> {
    if cx.proves(&divisor.offset(-1)?) {
        return Some(divisor.clone());
    }
    if !cx.divisions_succeed {
        return None;
    }
    let negated = divisor.scale(-1)?;
    let range = Interval { lo: 1, hi: Interval::of(Scalar::U64)?.hi };
    let atom = cx.atoms.fresh(range);
    let above = Case { when: vec![divisor.offset(-1)?], value: divisor.clone() };
    let below = Case { when: vec![negated.offset(-1)?], value: negated };
    cx.cases.insert(atom, vec![above, below]);
    Some(Lin::atom(atom))
}

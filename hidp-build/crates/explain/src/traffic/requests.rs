//! Costs of the accesses of a warp: sectors of global memory, turns of the banks of shared memory.

use hidp_syntax::ordered::{OrdMap, OrdSet};

use super::atoms::Atoms;
use super::lanes::LANES;
use super::poly::Poly;
use super::{BANK_BYTES, BANKS, Pattern, SECTOR};

/// How the places of an access lie to each other, in elements; `places` has one for each lane that takes part.
pub(super) fn pattern(places: &[Poly], atoms: &Atoms) -> Pattern {
    let [first, rest @ ..] = places else { return Pattern::OneLane };
    let Some(second) = rest.first() else { return Pattern::OneLane };
    let steps: OrdSet<Poly> = places.windows(2).map(|pair| pair[1].minus(&pair[0])).collect();
    if steps.len() > 1 {
        return runs(places);
    }
    let step = second.minus(first);
    match step.known() {
        Some(0) => Pattern::Broadcast,
        Some(1) => Pattern::Neighbours,
        Some(_) | None => Pattern::Strided(atoms.text(&step)),
    }
}

/// Lanes that fall into runs of neighbours of one length, or of one place.
fn runs(places: &[Poly]) -> Pattern {
    let length = |step: i64| {
        let ends = places.windows(2).position(|pair| pair[1].minus(&pair[0]).known() != Some(step));
        ends.map_or(places.len(), |end| end + 1)
    };
    let neighbours = length(1);
    if neighbours > 1 { Pattern::Runs(neighbours as u32) } else { Pattern::Groups(length(0) as u32) }
}

/// Bytes that each place begins at, by what is not known of it.
fn by_origin(places: &[Poly], size: u32, offset: u32) -> OrdMap<Poly, OrdSet<i64>> {
    let mut found: OrdMap<Poly, OrdSet<i64>> = OrdMap::new();
    for place in places {
        let (known, rest) = place.split();
        found.entry(rest).or_default().insert(known * i64::from(size) + i64::from(offset));
    }
    found
}

/// Sectors that one request touches, and those that as many bytes next to each other would. What is not known of an index counts as
/// a multiple of a sector, and places that differ in it as being in different sectors.
pub(super) fn sectors(places: &[Poly], size: u32, (offset, width): (u32, u32)) -> (u32, u32) {
    let origins = by_origin(places, size, offset);
    let touched = |bytes: &OrdSet<i64>| {
        let spans = bytes.iter().flat_map(|first| {
            let last = first + i64::from(width.max(1)) - 1;
            first.div_euclid(SECTOR.into())..=last.div_euclid(SECTOR.into())
        });
        spans.collect::<OrdSet<i64>>().len() as u32
    };
    let distinct: usize = origins.values().map(OrdSet::len).sum();
    (origins.values().map(touched).sum(), (distinct as u32 * width).div_ceil(SECTOR).max(1))
}

/// How many turns the banks need, and how many they would without conflicts. Of what is wider than a bank's word, as many lanes as fill
/// all banks come at a time; they need as many turns as one bank has different words. `lanes` says which lane each place is of.
pub(super) fn turns(lanes: &[usize], places: &[Poly], size: u32, (offset, width): (u32, u32)) -> (u32, u32) {
    let words = width.max(1).div_ceil(BANK_BYTES);
    let at_a_time = (LANES / words.next_power_of_two() as usize).max(1);
    let numbered: Vec<(usize, &Poly)> = lanes.iter().map(|lane| lane / at_a_time).zip(places).collect();
    let parts = numbered.chunk_by(|(part, _), (next, _)| part == next);
    let needed = parts.map(|part| {
        let part: Vec<Poly> = part.iter().map(|(_, place)| (*place).clone()).collect();
        let mut banks: OrdMap<i64, OrdSet<(Poly, i64)>> = OrdMap::new();
        for (rest, bytes) in by_origin(&part, size, offset) {
            for first in bytes {
                for word in 0..i64::from(words) {
                    let word = first.div_euclid(BANK_BYTES.into()) + word;
                    banks.entry(word.rem_euclid(BANKS.into())).or_default().insert((rest.clone(), word));
                }
            }
        }
        (banks.values().map(OrdSet::len).max().unwrap_or(0) as u32, words.div_ceil(BANKS))
    });
    needed.fold((0, 0), |(turns, least), (more, at_least)| (turns + more, least + at_least))
}

#[cfg(test)]
mod tests {
    use super::super::atoms::Facts;
    use super::*;

    fn places(lanes: impl Fn(i64) -> Poly) -> Vec<Poly> {
        (0..32).map(lanes).collect()
    }

    fn of_all(places: &[Poly], size: u32) -> (u32, u32) {
        turns(&(0..LANES).collect::<Vec<_>>(), places, size, (0, size))
    }

    /// Sectors and the least of them, turns.
    fn cost(size: u32, step: i64, first: i64) -> (u32, u32, u32) {
        let places = places(|lane| Poly::constant(first + lane * step));
        let (sectors, least) = sectors(&places, size, (0, size));
        (sectors, least, of_all(&places, size).0)
    }

    #[test]
    fn constant_distances() {
        assert_eq!(cost(4, 1, 0), (4, 4, 1));
        assert_eq!(cost(4, 1, 1), (5, 4, 1), "one beside the line touches a sector more");
        assert_eq!(cost(8, 1, 0), (8, 8, 2), "each half of the lanes fills all banks");
        assert_eq!(cost(4, 0, 7), (1, 1, 1));
        assert_eq!(cost(4, 2, 0), (8, 4, 2));
        assert_eq!(cost(4, 32, 0), (32, 4, 32));
        assert_eq!(cost(4, 33, 0), (32, 4, 1), "padding spreads a column over the banks");
        assert_eq!(cost(8, 33, 0), (32, 8, 2));
        assert_eq!(cost(8, 32, 0), (32, 8, 32));
        assert_eq!(cost(1, 1, 0), (1, 1, 1));
    }

    #[test]
    fn lanes_that_take_part_come_with_those_of_their_part() {
        let eight = |first: usize, apart: usize| {
            let lanes: Vec<usize> = (0..8).map(|lane| first + lane * apart).collect();
            let places: Vec<Poly> = (0..8).map(Poly::constant).collect();
            turns(&lanes, &places, 8, (0, 8))
        };
        assert_eq!(eight(0, 1), (1, 1), "all in the first half");
        assert_eq!(eight(0, 4), (2, 2), "four in each half");
        assert_eq!(eight(12, 1), (2, 2), "half of them in each half");
    }

    #[test]
    fn distances_that_are_not_known() {
        let rows = places(|lane| Poly::atom(0).times_known(lane));
        assert_eq!(sectors(&rows, 4, (0, 4)), (32, 4));
        let mut atoms = Atoms::default();
        atoms.atom("W", "W", Facts::NONE);
        assert_eq!(pattern(&rows, &atoms), Pattern::Strided("W".into()));
        let groups = places(|lane| Poly::atom(0).times_known(lane / 8).plus(&Poly::constant(lane % 8)));
        assert_eq!(sectors(&groups, 4, (0, 4)), (4, 4));
        assert_eq!(pattern(&groups, &atoms), Pattern::Runs(8));
        let same = places(|lane| Poly::atom(0).times_known(lane / 4));
        assert_eq!((sectors(&same, 4, (0, 4)), pattern(&same, &atoms)), ((8, 1), Pattern::Groups(4)));
    }

    #[test]
    fn fields_of_structs_leave_the_rest_out() {
        let places = places(Poly::constant);
        assert_eq!(sectors(&places, 16, (8, 8)), (16, 8));
        assert_eq!(sectors(&places, 16, (0, 16)), (16, 16));
    }
}

//! What the model claims of an access, or the reason why it does not.

use hidp_syntax::ordered::OrdMap;

use super::atoms::Atoms;
use super::poly::Poly;
use super::{BANK_BYTES, BANKS, SECTOR, requests};

/// The size of dimensions where none is given: a multiple of all tiles.
pub const USUAL: i64 = 4096;

/// Why the model does not say for sure what is counted of an access for given sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its places follow from data, or from what changes as the program runs.
    Data,
    /// Its places hold a quotient or remainder that may change inside a warp.
    Quotient,
    /// A bound may keep some lanes of a warp inside, and not others.
    Bound,
    /// A condition chooses between places.
    Choice,
    /// A request may begin anywhere in a sector, and what it costs depends on that.
    Begin,
    /// Lanes are apart by a distance that may be shorter than a sector.
    Distance,
    /// Lanes may go different ways before it.
    Branch,
    /// There may be less to do than lanes.
    Tail,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 8] = [
        Reason::Data,
        Reason::Quotient,
        Reason::Bound,
        Reason::Choice,
        Reason::Begin,
        Reason::Distance,
        Reason::Branch,
        Reason::Tail,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Data => "data",
            Reason::Quotient => "quotient",
            Reason::Bound => "bound",
            Reason::Choice => "choice",
            Reason::Begin => "begin",
            Reason::Distance => "distance",
            Reason::Branch => "branch",
            Reason::Tail => "tail",
        }
    }

    /// What it means.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Data => "places follow from data, or from what changes as the program runs",
            Reason::Quotient => "a quotient or remainder may change inside a warp",
            Reason::Bound => "a bound may keep some lanes of a warp inside, and not others",
            Reason::Choice => "a condition chooses between places",
            Reason::Begin => "a request may begin anywhere in a sector, and what it costs depends on that",
            Reason::Distance => "lanes may be apart by less than a sector",
            Reason::Branch => "lanes may go different ways before it",
            Reason::Tail => "there may be less to do than lanes",
        }
    }
}

/// The bytes of an element that are accessed: its size, where they begin, how many they are. Those of several neighbours begin at a multiple of
/// their number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) size: u32,
    pub(super) first: u32,
    pub(super) width: u32,
    pub(super) aligned: bool,
}

/// The sectors that a request touches, if they are as many whatever the values of atoms are.
pub(super) fn sectors(places: &[Poly], bytes: Bytes, atoms: &Atoms) -> Result<u32, Reason> {
    let origins = by_origin(places, bytes);
    let mut sum = 0;
    for (rest, offsets) in &origins {
        let own: Vec<Poly> =
            places.iter().map(Poly::split).filter(|own| own.1 == *rest).map(|own| Poly::constant(own.0)).collect();
        let cost = |begin: i64| requests::sectors(&own, bytes.size, (bytes.first + begin as u32, bytes.width)).0;
        sum += wherever(begins(rest, offsets, bytes, SECTOR.into(), atoms), cost)?;
    }
    let apart = |(one, own): (&Poly, &Vec<i64>), (other, others): (&Poly, &Vec<i64>)| {
        let least = atoms.least(&one.minus(other)).map(|least| least.saturating_mul(bytes.size.into()));
        let (low, high) = (own[0].min(others[0]), own[own.len() - 1].max(others[others.len() - 1]));
        let is_whole = |rest| atoms.step(rest).saturating_mul(bytes.size.into()) % i64::from(SECTOR) == 0;
        let last = i64::from(bytes.width) - 1;
        // Of what begins at sectors, sectors are compared, else bytes.
        let (needed, unit) = if is_whole(one) && is_whole(other) {
            let sector = i64::from(SECTOR);
            ((high + last).div_euclid(sector) - low.div_euclid(sector), sector)
        } else {
            (high + last - low + i64::from(SECTOR) - 1, 1)
        };
        least.is_some_and(|least| least / unit > needed)
    };
    all_pairs(&origins, apart).map(|()| sum)
}

/// The same of the turns of banks. To move all places of a request by whole words changes nothing. `lanes` says which lane each place is of.
pub(super) fn turns(lanes: &[usize], places: &[Poly], bytes: Bytes, atoms: &Atoms) -> Result<u32, Reason> {
    let origins = by_origin(places, bytes);
    let word = i64::from(BANK_BYTES);
    let cost = |begin: i64| requests::turns(lanes, places, bytes.size, (bytes.first + begin as u32, bytes.width)).0;
    if let (1, Some((rest, offsets))) = (origins.len(), origins.first_key_value()) {
        return wherever(begins(rest, offsets, bytes, word, atoms), cost);
    }
    let row = word * i64::from(BANKS);
    let is_whole = |rest: &Poly| atoms.step(rest).saturating_mul(bytes.size.into()) % row == 0;
    if !origins.keys().all(is_whole) {
        return Err(Reason::Begin);
    }
    all_pairs(&origins, |(one, own), (other, others)| {
        let (low, high) = (own[0].min(others[0]), own[own.len() - 1].max(others[others.len() - 1]));
        let least = atoms.least(&one.minus(other)).map(|least| least.saturating_mul(bytes.size.into()));
        least.is_some_and(|least| least > high - low + i64::from(bytes.width))
    })
    .map(|()| cost(0))
}

/// What a request costs, if that is the same wherever it may begin. Where it may begin nowhere, nothing is asked, and any cost is right.
fn wherever(mut begins: impl Iterator<Item = i64>, cost: impl Fn(i64) -> u32) -> Result<u32, Reason> {
    let first = cost(begins.next().unwrap_or(0));
    if begins.any(|begin| cost(begin) != first) { Err(Reason::Begin) } else { Ok(first) }
}

type Origins = OrdMap<Poly, Vec<i64>>;

/// Bytes that places begin at, in order, by what is not known of them.
fn by_origin(places: &[Poly], bytes: Bytes) -> Origins {
    let mut found = Origins::new();
    for place in places {
        let (known, rest) = place.split();
        found.entry(rest).or_default().push(known * i64::from(bytes.size) + i64::from(bytes.first));
    }
    found.values_mut().for_each(|offsets| offsets.sort_unstable());
    found
}

/// Where what is not known may lie in a unit of so many bytes.
fn begins(rest: &Poly, offsets: &[i64], bytes: Bytes, unit: i64, atoms: &Atoms) -> impl Iterator<Item = i64> {
    let (first, width) = (offsets[0], i64::from(bytes.width));
    let fits = move |begin: &i64| !bytes.aligned || (begin + first) % gcd(width, unit) == 0;
    atoms.rests(rest, bytes.size.into(), unit).into_iter().filter(fits)
}

fn all_pairs(origins: &Origins, apart: impl Fn((&Poly, &Vec<i64>), (&Poly, &Vec<i64>)) -> bool) -> Result<(), Reason> {
    let all = origins.iter().enumerate().all(|(at, one)| origins.iter().skip(at + 1).all(|other| apart(one, other)));
    if all { Ok(()) } else { Err(Reason::Distance) }
}

pub(super) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::super::atoms::{Facts, Range};
    use super::*;

    const FLOAT: Bytes = Bytes { size: 4, first: 0, width: 4, aligned: false };

    struct World {
        atoms: Atoms,
        /// Anything; a multiple of 8; from 0 to 3; 64; a third of that; anything from 64 on.
        any: Poly,
        eighth: Poly,
        small: Poly,
        width: Poly,
        third: Poly,
        long: Poly,
    }

    fn world() -> World {
        let mut atoms = Atoms::default();
        let mut atom = |name: &str, step, range| atoms.atom(name, name, Facts { step, range });
        let any = atom("any", 1, Range::ALL);
        let eighth = atom("eighth", 8, Range::ALL);
        let small = atom("small", 1, Range::up_to(Some(3)));
        let width = atom("width", 64, Range::known(64));
        let third = atom("third", 1, Range::known(21));
        let long = atom("long", 1, Range { low: Some(64), high: None });
        World { atoms, any, eighth, small, width, third, long }
    }

    fn lanes(of: impl Fn(i64) -> Poly) -> Vec<Poly> {
        (0..32).map(of).collect()
    }

    fn apart(base: &Poly, step: i64) -> Vec<Poly> {
        lanes(|lane| base.plus(&Poly::constant(lane * step)))
    }

    #[test]
    fn rows_begin_at_sectors_or_it_does_not_matter() {
        let World { atoms, any, eighth, small, .. } = world();
        let of = |places: &[Poly]| sectors(places, FLOAT, &atoms);
        assert_eq!(of(&apart(&eighth, 1)), Ok(4));
        assert_eq!(of(&apart(&any, 1)), Err(Reason::Begin), "4 sectors or 5");
        assert_eq!(of(&apart(&any, 0)), Ok(1), "one, wherever it is");
        assert_eq!(of(&apart(&any, 8)), Ok(32), "one for each lane");
        assert_eq!(of(&apart(&eighth.plus(&small), 4)), Ok(16), "two lanes in each sector");
        assert_eq!(of(&apart(&eighth.plus(&any), 4)), Err(Reason::Begin));
        let four = Bytes { width: 16, aligned: true, ..FLOAT };
        assert_eq!(sectors(&apart(&any, 0), four, &atoms), Ok(1), "from a multiple of 16 bytes on");
        assert_eq!(sectors(&apart(&any, 0), Bytes { aligned: false, ..four }, &atoms), Err(Reason::Begin));
    }

    #[test]
    fn rows_that_always_begin_inside_of_a_sector_touch_one_more() {
        let World { atoms, eighth, width, third, .. } = world();
        let row = apart(&eighth.plus(&third), 1);
        assert_eq!(sectors(&row, FLOAT, &atoms), Ok(5));
        let rows = lanes(|lane| width.times_known(lane / 8).plus(&third).plus(&Poly::constant(lane % 8)));
        assert_eq!(sectors(&rows, FLOAT, &atoms), Ok(8));
    }

    #[test]
    fn rows_are_apart_by_more_than_a_sector_or_it_is_not_known() {
        let World { atoms, any, small, width, long, .. } = world();
        let of = |row: &Poly| sectors(&lanes(|lane| row.times_known(lane)), FLOAT, &atoms);
        assert_eq!(of(&width), Ok(32));
        assert_eq!(of(&long), Ok(32), "it need not be known how much");
        assert_eq!(of(&any), Err(Reason::Distance));
        assert_eq!(of(&small), Err(Reason::Distance));
        let rows = lanes(|lane| width.times_known(lane / 8).plus(&Poly::constant(lane % 8)));
        assert_eq!(sectors(&rows, FLOAT, &atoms), Ok(4));
        let overlapping = lanes(|lane| width.times_known(lane / 8).plus(&Poly::constant(lane % 8 * 10)));
        assert_eq!(sectors(&overlapping, FLOAT, &atoms), Err(Reason::Distance), "64 is within 7 * 10");
    }

    #[test]
    fn banks_do_not_mind_whole_words() {
        let World { atoms, any, small, width, .. } = world();
        let all: Vec<usize> = (0..32).collect();
        let of = |places: &[Poly], bytes: Bytes| turns(&all, places, bytes, &atoms);
        assert_eq!(of(&apart(&any, 33), FLOAT), Ok(1));
        let short = Bytes { size: 2, first: 0, width: 2, aligned: false };
        assert_eq!(of(&apart(&any, 1), short), Ok(1), "a turn, with or without half a word before");
        assert_eq!(of(&apart(&any, 64), short), Ok(32));
        assert_eq!(of(&lanes(|lane| width.times_known(lane / 16).plus(&Poly::constant(lane % 16))), FLOAT), Ok(2));
        assert_eq!(of(&lanes(|lane| small.times_known(lane)), FLOAT), Err(Reason::Begin));
    }
}

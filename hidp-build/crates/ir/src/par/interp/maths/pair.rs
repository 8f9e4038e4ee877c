//! Numbers as the sum of two: what rounding loses in a step is carried to the end of a function.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::lane::*;

#[derive(Clone, Copy)]
pub(super) struct Pair<F> {
    pub(super) high: F,
    pub(super) low: F,
}

pub(super) fn pair<F: Lane>(high: F, low: F) -> Pair<F> {
    Pair { high, low }
}

/// a + b, exactly, where a is not the smaller one.
pub(super) fn sum_ordered<F: Lane>(a: F, b: F) -> Pair<F> {
    let sum = a + b;
    pair(sum, b - (sum - a))
}

/// a + b, exactly.
pub(super) fn sum<F: Lane>(a: F, b: F) -> Pair<F> {
    let sum = a + b;
    let of_b = sum - a;
    pair(sum, (a - (sum - of_b)) + (b - of_b))
}

/// a * b, exactly: where mul_add rounds twice, from products of halves.
pub(super) fn product<F: Lane>(a: F, b: F) -> Pair<F> {
    let whole = a * b;
    pair(whole, mul_add(a, b, -whole))
}

pub(super) fn product_of_pairs<F: Lane>(a: Pair<F>, b: Pair<F>) -> Pair<F> {
    let whole = product(a.high, b.high);
    sum_ordered(whole.high, whole.low + mul_add(a.high, b.low, a.low * b.high))
}

/// The same, but the second part may be some units of the first one's last place.
pub(super) fn product_open<F: Lane>(a: Pair<F>, b: Pair<F>) -> Pair<F> {
    let whole = product(a.high, b.high);
    pair(whole.high, whole.low + mul_add(a.high, b.low, a.low * b.high))
}

/// By one division: what the first part misses, it gets from the second.
pub(super) fn quotient<F: Lane>(a: Pair<F>, b: Pair<F>) -> Pair<F> {
    let inverse = F::of(1.0) / b.high;
    let whole = a.high * inverse;
    let back = product(whole, b.high);
    let rest = ((a.high - back.high) - back.low) + mul_add(-whole, b.low, a.low);
    pair(whole, rest * inverse)
}

/// 0 of 0.
pub(super) fn root_of_pair<F: Lane>(a: Pair<F>) -> Pair<F> {
    let whole = square_root(a.high);
    let back = product(whole, whole);
    let rest = ((a.high - back.high) - back.low) + a.low;
    pair(whole, select(whole > F::of(0.0), rest / (whole + whole), F::of(0.0)))
}

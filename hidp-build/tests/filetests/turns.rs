//! Which calls of device code are enough for a day. The executor takes thousands of times as long as a GPU, nearly all of it for large
//! calls; so plans and sizes take turns there, and of the others all but one are made in one order of lanes. `HIDP_RUN=all` makes all calls, and
//! so does who names the orders (`HIDP_SEEDS`).

use crate::device::orders;
use crate::run::is_full;
use crate::subject::Request;

/// The largest dimension of calls that are made with every plan.
const SMALL: i64 = 20;

/// The largest product of their dimensions.
const SMALL_PRODUCT: i64 = 4000;

/// Which plans are called with some arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// All of them, in all orders of lanes where the arguments are small.
    Every,
    /// All of them, each in one order.
    EveryOnce,
    /// Those whose turn it is: this is one of so many larger calls of an entry.
    OfTurn { number: usize, of: usize },
}

/// The shares of an entry's calls with these dimensions: with larger ones, plans take turns; the small one before the last shows whether
/// results depend on the order of lanes.
pub(crate) fn shares<'d>(calls: impl Iterator<Item = &'d [i64]>) -> Vec<Share> {
    let is_large: Vec<bool> = calls.map(|dims| !is_small(dims)).collect();
    let of = is_large.iter().filter(|&&is_large| is_large).count();
    let small: Vec<usize> = (0..is_large.len()).filter(|&at| !is_large[at]).collect();
    let in_all_orders = small.iter().rev().nth(1).or(small.last()).copied();
    let mut numbers = (0..of).peekable();
    let share = |(at, is_large): (usize, bool)| match numbers.next_if(|_| is_large) {
        _ if has_all() || Some(at) == in_all_orders => Share::Every,
        Some(number) => Share::OfTurn { number, of },
        None => Share::EveryOnce,
    };
    is_large.into_iter().enumerate().map(share).collect()
}

impl Share {
    /// Whether of an entry's larger calls this is the one that such a number chooses.
    pub(crate) fn is_of(self, chosen: usize) -> bool {
        match self {
            Share::Every | Share::EveryOnce => true,
            Share::OfTurn { number, of } => number == chosen % of,
        }
    }

    /// Whether it is the turn of this one of so many plans. Each plan has one of the larger calls at least, and each of these calls one plan.
    fn has(self, plan: usize, plans: usize) -> bool {
        match self {
            Share::Every | Share::EveryOnce => true,
            Share::OfTurn { number, of } => (number + plan).is_multiple_of(plans.min(of)),
        }
    }
}

/// In which orders of lanes a plan, one of so many, is called: in order or backwards, and at random, or in one of both, which one depends on
/// plan and arguments.
pub(crate) fn orders_in_turn(request: &Request, plan: usize, plans: usize) -> Vec<u64> {
    let number = number(request);
    let all = orders(number);
    if has_all() || request.share == Share::Every && is_small(&request.dims) {
        return all;
    }
    let chosen = (number / 2) as usize + plan;
    if request.share.has(plan, plans) { vec![all[chosen % all.len()]] } else { Vec::new() }
}

/// By which calls with these arguments differ from others.
pub(crate) fn number(request: &Request) -> u64 {
    request.dims.iter().fold(0, |sum, &dim| sum * 3 + dim as u64)
}

fn is_small(dims: &[i64]) -> bool {
    dims.iter().all(|&dim| dim <= SMALL) && dims.iter().product::<i64>() <= SMALL_PRODUCT
}

/// Whether nothing takes turns.
fn has_all() -> bool {
    is_full() || std::env::var_os("HIDP_SEEDS").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plan_and_each_larger_call_has_its_turn() {
        for (plans, of) in (1..9).flat_map(|plans| (1..9).map(move |of| (plans, of))) {
            let has = |number, plan| Share::OfTurn { number, of }.has(plan, plans);
            assert!((0..plans).all(|plan| (0..of).any(|number| has(number, plan))), "{plans} plans, {of} calls");
            assert!((0..of).all(|number| (0..plans).any(|plan| has(number, plan))), "{plans} plans, {of} calls");
            assert!(
                (0..9).all(|chosen| (0..of).filter(|&at| Share::OfTurn { number: at, of }.is_of(chosen)).count() == 1)
            );
            let made = (0..of).map(|number| (0..plans).filter(|&plan| has(number, plan)).count()).sum::<usize>();
            assert!(made <= plans.max(of) * 2, "{made} of {plans} plans and {of} calls");
        }
    }

    #[test]
    fn larger_calls_are_numbered() {
        if !has_all() {
            let calls: [&[i64]; 6] = [&[1], &[3, 2], &[64, 2], &[20, 20], &[11, 13, 7, 19], &[0, 130]];
            let turn = |number| Share::OfTurn { number, of: 3 };
            let expected = [Share::EveryOnce, Share::Every, turn(0), Share::EveryOnce, turn(1), turn(2)];
            assert_eq!(shares(calls.into_iter()), expected);
            assert_eq!(shares([[7].as_slice()].into_iter()), [Share::Every]);
        }
    }
}

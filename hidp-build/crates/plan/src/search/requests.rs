//! Which lanes of warps are active, and how often: in whole warps, and at the ends of ranges. Warps beyond an end request nothing.

use super::facts::SiteNumbers;
use super::lanes::{Digit, Lanes, Reach, Starts, along};

/// Requests of warps with the same lanes at work.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) count: f64,
    pub(super) lanes: Lanes,
}

/// Where the lanes of requests are.
pub(super) struct Reaches {
    /// How often which.
    requests: Vec<(f64, Reach)>,
    /// Warps that make each.
    warps: f64,
}

impl Reaches {
    /// Of an access in a nest whose iterators have so many iterations.
    pub(super) fn of(requests: &[Request], site: &SiteNumbers, counts: &[f64], warps: f64) -> Reaches {
        let reach = |request: &Request| {
            let starts = Starts::of(site, &request.lanes, counts);
            (request.count, request.lanes.reach(site, starts))
        };
        Reaches { requests: requests.iter().map(reach).collect(), warps }
    }

    /// Parts of memory of so many bytes that they all touch, of which each lane wants `size`.
    pub(super) fn touched(&self, size: f64, bytes: u32) -> f64 {
        self.requests.iter().map(|(count, reach)| count * reach.touched(size, bytes)).sum::<f64>() * self.warps
    }
}

/// So many requests whose lanes are all at the same iteration.
pub(super) fn all(count: f64) -> Vec<Request> {
    vec![Request { count, lanes: Lanes::default() }]
}

/// How many there are.
pub(super) fn total(requests: &[Request]) -> f64 {
    requests.iter().map(|request| request.count).sum()
}

/// Requests of a launch whose warps have these lanes, for all iterations of iterators that have so many.
pub(super) fn requests(digits: &[Digit], counts: &[f64]) -> Vec<Request> {
    let of_digit = |requests: Vec<Request>, digit: &Digit| -> Vec<Request> {
        let own = groups(*digit, counts[digit.iter]);
        let with = |request: Request| {
            own.iter().map(move |(groups, lanes)| Request {
                count: request.count * groups,
                lanes: Lanes::default()
                    .within(request.lanes.0.iter().copied().chain([Digit { count: *lanes, ..*digit }])),
            })
        };
        requests.into_iter().flat_map(with).collect()
    };
    digits.iter().fold(all(1.0), of_digit)
}

/// How often so many lanes along an iterator have work, in a range that they share with others like them. A lane may take several
/// iterations in a row.
fn groups(digit: Digit, range: f64) -> Vec<(f64, u32)> {
    let cover = f64::from(digit.count) * digit.step;
    let full = (range / cover).floor();
    let rest = range - full * cover;
    let lanes = (rest / digit.step).floor();
    let more = (rest - lanes * digit.step).ceil();
    let groups = [(full * digit.step, digit.count), (more, lanes as u32 + 1), (digit.step - more, lanes as u32)];
    groups.into_iter().filter(|(groups, lanes)| *groups > 0.0 && *lanes > 0).collect()
}

/// Requests of a warp with so many lanes along iterators of a map inside, which share them as one index of so many values.
pub(super) fn shared(own: std::ops::Range<usize>, counts: &[f64], values: f64, lanes: u32) -> Vec<Request> {
    let full = (values / f64::from(lanes)).floor();
    let rest = (values - full * f64::from(lanes)).ceil();
    let of = |(count, at_work): (f64, u32)| {
        let mut digits = along(own.clone(), counts, at_work);
        if let [digit] = &mut digits[..] {
            digit.apart = f64::from(lanes);
        }
        Request { count, lanes: Lanes::default().within(digits) }
    };
    let groups = [(full, lanes), (1.0, rest as u32)];
    groups.into_iter().filter(|(count, lanes)| *count > 0.0 && *lanes > 0).map(of).collect()
}

/// Each of the requests outside makes those inside, whose lanes are nearer to each other.
pub(super) fn within(outer: &[Request], inner: &[Request]) -> Vec<Request> {
    let of = |outer: &Request| -> Vec<Request> {
        let with = |inner: &Request| Request {
            count: outer.count * inner.count,
            lanes: outer.lanes.within(inner.lanes.0.iter().copied()),
        };
        inner.iter().map(with).collect()
    };
    outer.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes at work in each request, of ranges that are taken one by one.
    #[test]
    fn lanes_at_work_are_those_in_the_range() {
        for range in [0u32, 1, 3, 31, 32, 33, 64, 70, 100] {
            for (count, step) in [(1u32, 1), (4, 1), (32, 1), (8, 2), (32, 3), (16, 8)] {
                let digit = Digit { step: f64::from(step), ..Digit::next(0, count) };
                let cover = count * step;
                let mut expected = Vec::new();
                for group in 0..range.div_ceil(cover) {
                    for turn in 0..step {
                        let lanes = (0..count).filter(|lane| group * cover + lane * step + turn < range).count();
                        expected.extend((lanes > 0).then_some(lanes as u32));
                    }
                }
                expected.sort();
                let found = requests(&[digit], &[f64::from(range)]);
                let mut found: Vec<u32> =
                    found.iter().flat_map(|request| vec![request.lanes.count(); request.count as usize]).collect();
                found.sort();
                assert_eq!(found, expected, "{range} by {count} lanes of {step}");
            }
        }
    }
}

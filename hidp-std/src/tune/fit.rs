//! From measured times to rules.
//!
//! The HiDP paper fits a line to the times of each version and switches where lines cross. What a user pays for is not a bad fit
//! but a bad choice, so rules are a small decision tree ([`hidp_fit`]) that makes the mean loss, `ln(time of the choice / time of the best)`,
//! small directly. [`regression`] is the paper's way, for comparison.

use std::collections::BTreeSet;

use crate::rt::entry::MOST_MEASURES;
pub(super) use hidp_fit::{Choice, Test, between};
use hidp_fit::{FORBIDDEN, Priced};

/// Times of all versions for one set of arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) name: String,
    /// -1 where nothing is known.
    pub(super) values: [i64; MOST_MEASURES],
    /// Seconds a call of each arm; `None` for what failed, or gave other results.
    pub(super) times: Vec<Option<f64>>,
    /// The version that runs without records, which is also the number of an arm.
    pub(super) untuned: usize,
}

impl Point {
    pub(super) fn best(&self) -> f64 {
        self.times.iter().flatten().copied().fold(f64::INFINITY, f64::min)
    }
    /// The arm that takes least time.
    pub(super) fn fastest(&self) -> usize {
        (0..self.times.len()).min_by(|a, b| self.loss(*a).total_cmp(&self.loss(*b))).unwrap_or(0)
    }
    /// How much more than the best an arm costs: 0 for the best.
    pub(super) fn loss(&self, version: usize) -> f64 {
        self.times[version].map_or(f64::INFINITY, |time| (time / self.best()).ln())
    }
}

/// Arms that must not be chosen at points: they were shown to be slower than what runs there without rules.
pub(super) type Vetoes = BTreeSet<(String, usize)>;

/// A point, and what choosing each arm costs there.
fn priced(point: &Point, arms: usize, vetoes: &Vetoes) -> Priced {
    let untuned = point.loss(point.untuned);
    let price = |arm: usize| {
        let loss = point.loss(arm);
        if loss.is_infinite() || vetoes.contains(&(point.name.clone(), arm)) {
            return FORBIDDEN;
        }
        hidp_fit::price(loss, untuned)
    };
    Priced { values: point.values.to_vec(), prices: (0..arms).map(price).collect(), usual: point.untuned }
}

/// Rules, the first that holds decides, the last always does.
pub(super) fn fit(points: &[&Point], arms: usize, vetoes: &Vetoes) -> Vec<Choice> {
    let priced: Vec<Priced> = points.iter().map(|point| priced(point, arms, vetoes)).collect();
    hidp_fit::fit(&priced)
}

/// The version that the rules choose for a point.
pub(super) fn chosen(rules: &[Choice], point: &Point) -> usize {
    rules
        .iter()
        .find(|(tests, _)| tests.iter().all(|test| test.holds(&point.values)))
        .map_or(0, |(_, version)| *version)
}

/// Mean loss, as a factor of time, of a way to choose.
pub(super) fn mean_loss(points: &[&Point], choose: impl Fn(&Point) -> usize) -> f64 {
    let sum: f64 = points.iter().map(|point| point.loss(choose(point))).sum();
    (sum / points.len().max(1) as f64).exp()
}

/// Largest loss, as a factor of time.
pub(super) fn worst_loss(points: &[&Point], choose: impl Fn(&Point) -> usize) -> f64 {
    points.iter().map(|point| point.loss(choose(point))).fold(0.0, f64::max).exp()
}

/// For each version `ln t = a + b ln(parallel + 1) + c ln(inner + 1)` by least squares, and the version whose line is lowest.
pub(super) fn regression(points: &[&Point], versions: usize) -> impl Fn(&Point) -> usize + use<> {
    let lines: Vec<Option<[f64; 3]>> = (0..versions).map(|version| line(points, version)).collect();
    move |point| {
        let x = features(point);
        let at = |line: &[f64; 3]| line.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
        let known = lines.iter().enumerate().filter_map(|(version, line)| Some((version, at(line.as_ref()?))));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(version, _)| version)
    }
}

fn features(point: &Point) -> [f64; 3] {
    let log = |value: i64| (value.max(0) as f64 + 1.0).ln();
    [1.0, log(point.values[0]), log(point.values[1])]
}

fn line(points: &[&Point], version: usize) -> Option<[f64; 3]> {
    let mut rows = [[0.0f64; 4]; 3];
    for point in points {
        let (x, y) = (features(point), point.times[version]?.ln());
        for (i, row) in rows.iter_mut().enumerate() {
            (0..3).for_each(|j| row[j] += x[i] * x[j]);
            row[3] += x[i] * y;
        }
    }
    // A measure that never varies gets no weight rather than no solution.
    (0..3).for_each(|i| rows[i][i] += 1e-9);
    for i in 0..3 {
        for j in (0..3).filter(|&j| j != i) {
            let factor = rows[j][i] / rows[i][i];
            let pivot = rows[i];
            rows[j].iter_mut().zip(pivot).for_each(|(a, b)| *a -= factor * b);
        }
    }
    Some([rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(parallel: i64, inner: i64, times: &[f64]) -> Point {
        let times = times.iter().map(|&time| Some(time)).collect();
        let mut values = [-1; MOST_MEASURES];
        (values[0], values[1]) = (parallel, inner);
        Point { name: String::new(), values, times, untuned: 0 }
    }

    #[test]
    fn one_version_that_is_always_best_needs_no_test() {
        let points = [point(1, 1, &[1.0, 2.0]), point(100, 1, &[1.0, 1.5])];
        assert_eq!(fit(&points.each_ref(), 2, &Vetoes::new()), [(vec![], 0)]);
    }

    #[test]
    fn the_switching_point_lies_between_the_measurements() {
        let points: Vec<Point> = (0..8)
            .map(|e| point(1 << (2 * e), 1 << (14 - 2 * e), if e < 3 { &[3.0, 1.0] } else { &[1.0, 3.0] }))
            .collect();
        let points: Vec<&Point> = points.iter().collect();
        let rules = fit(&points, 2, &Vetoes::new());
        let [(first, 1), (last, 0)] = &rules[..] else { panic!("{rules:?}") };
        assert_eq!(first[..], [Test { measure: 0, least: false, bound: 32 }]);
        assert!(last.is_empty());
        assert_eq!(mean_loss(&points, |point| chosen(&rules, point)), 1.0);
        assert!(mean_loss(&points, |_| 0) > 1.3);
        assert_eq!(worst_loss(&points, |_| 0).round(), 3.0);
    }

    #[test]
    fn corners_take_two_tests() {
        let mut points = Vec::new();
        for parallel in [1, 10, 100] {
            for inner in [1, 10, 100] {
                let corner = parallel < 10 && inner > 10;
                points.push(point(parallel, inner, if corner { &[9.0, 1.0] } else { &[1.0, 2.0] }));
            }
        }
        let points: Vec<&Point> = points.iter().collect();
        let rules = fit(&points, 2, &Vetoes::new());
        assert_eq!(mean_loss(&points, |point| chosen(&rules, point)), 1.0, "{rules:?}");
        assert!(rules.len() == 3, "{rules:?}");
    }

    #[test]
    fn noise_does_not_make_rules() {
        let points: Vec<Point> =
            (0..10).map(|e| point(1 << e, 1, if e % 2 == 0 { &[1.0, 1.01] } else { &[1.01, 1.0] })).collect();
        assert_eq!(fit(&points.iter().collect::<Vec<_>>(), 2, &Vetoes::new()), [(vec![], 0)]);
    }

    #[test]
    fn a_band_in_the_middle_is_found() {
        // One split gains nothing: both sides still want both versions.
        let points: Vec<Point> =
            (0..12).map(|e| point(1 << e, 1, if (5..7).contains(&e) { &[1.3, 1.0] } else { &[1.0, 1.3] })).collect();
        let points: Vec<&Point> = points.iter().collect();
        let rules = fit(&points, 2, &Vetoes::new());
        assert_eq!(worst_loss(&points, |point| chosen(&rules, point)), 1.0, "{rules:?}");
    }

    #[test]
    fn what_was_slower_is_not_chosen_again() {
        let points: Vec<Point> =
            (0..4).map(|e| Point { name: e.to_string(), ..point(1 << e, 1, &[1.2, 1.0]) }).collect();
        let points: Vec<&Point> = points.iter().collect();
        assert_eq!(fit(&points, 2, &Vetoes::new()), [(vec![], 1)]);
        let rules = fit(&points, 2, &Vetoes::from([("3".to_owned(), 1)]));
        assert_eq!(points.iter().map(|point| chosen(&rules, point)).collect::<Vec<_>>(), [1, 1, 1, 0]);
    }

    #[test]
    fn a_version_that_failed_is_never_chosen() {
        let mut wrong = point(1, 1, &[9.0, 1.0]);
        wrong.times[1] = None;
        let points = [wrong, point(2, 1, &[9.0, 1.0]), point(4, 1, &[9.0, 1.0])];
        let points = points.each_ref();
        let rules = fit(&points, 2, &Vetoes::new());
        assert_eq!(chosen(&rules, points[0]), 0, "{rules:?}");
        assert_eq!(chosen(&rules, points[2]), 1, "{rules:?}");
    }

    #[test]
    fn lines_cross_where_they_should() {
        // Times p and 64: lines in log-log, crossing at 64.
        let points: Vec<Point> = (0..12).map(|e| point(1 << e, 1, &[(1 << e) as f64 + 1.0, 65.0])).collect();
        let points: Vec<&Point> = points.iter().collect();
        let choose = regression(&points, 2);
        assert_eq!(points.iter().map(|point| choose(point)).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    }
}

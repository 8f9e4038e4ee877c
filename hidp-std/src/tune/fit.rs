//! From measured times to rules.
//!
//! The HiDP paper fits a line to the times of each version and switches where lines cross. What a user pays for is not a bad fit
//! but a bad choice, so rules are a small decision tree that makes the mean loss, `ln(time of the choice / time of the best)`,
//! small directly. [`regression`] is the paper's way, for comparison.

use std::collections::BTreeSet;

use crate::rt::entry::MOST_MEASURES;

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

/// A comparison of a measure with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) measure: usize,
    pub(super) least: bool,
    pub(super) bound: i64,
}

impl Test {
    /// Nothing is said of a measure that has no value.
    pub(super) fn holds(&self, point: &Point) -> bool {
        let value = point.values[self.measure];
        value >= 0 && (value >= self.bound) == self.least
    }
}

/// A rule: all tests must hold.
pub(super) type Choice = (Vec<Test>, usize);

/// Splits of the tree below one another.
const MOST_DEPTH: usize = 6;
/// What a split must save at least: in total, and for each point.
const SAVED: f64 = 0.05;
const SAVED_EACH: f64 = 0.001;
/// A loss that users should never see, and how much worse than smaller ones it counts.
pub(super) const TOLERATED: f64 = 0.04;
const BEYOND: f64 = 4.0;
/// How much slower than untuned an arm may seem before that counts as much.
const CHANCE: f64 = 0.02;
/// What an arm costs where it failed, or was shown to be slower than what runs untuned.
const FORBIDDEN: f64 = 1e3;

/// Arms that must not be chosen at points: they were shown to be slower than what runs there without rules.
pub(super) type Vetoes = BTreeSet<(String, usize)>;

/// A point, and what choosing each arm costs there.
struct Priced<'a> {
    point: &'a Point,
    prices: Vec<f64>,
}

impl<'a> Priced<'a> {
    fn new(point: &'a Point, arms: usize, vetoes: &Vetoes) -> Self {
        let untuned = point.loss(point.untuned);
        let price = |arm: usize| {
            let loss = point.loss(arm);
            if loss.is_infinite() || vetoes.contains(&(point.name.clone(), arm)) {
                return FORBIDDEN;
            }
            let slower = if untuned.is_finite() { (loss - untuned - CHANCE).max(0.0) } else { 0.0 };
            loss + BEYOND * ((loss - TOLERATED).max(0.0) + slower)
        };
        Priced { point, prices: (0..arms).map(price).collect() }
    }
}

/// Rules, the first that holds decides, the last always does.
pub(super) fn fit(points: &[&Point], arms: usize, vetoes: &Vetoes) -> Vec<Choice> {
    let priced: Vec<Priced<'_>> = points.iter().map(|point| Priced::new(point, arms, vetoes)).collect();
    let mut rules = Vec::new();
    if !priced.is_empty() {
        split(&priced.iter().collect::<Vec<_>>(), MOST_DEPTH, &[], &mut rules);
    }
    without_repetition(rules)
}

/// Leaves out a rule where the next one would choose alike.
fn without_repetition(mut rules: Vec<Choice>) -> Vec<Choice> {
    let covers = |wide: &[Test], narrow: &[Test]| {
        wide.iter().all(|w| narrow.iter().any(|n| n.measure == w.measure && n.bound <= w.bound))
    };
    let mut at = rules.len();
    while at >= 2 {
        at -= 1;
        let [(narrow, one), (wide, other)] = &rules[at - 1..=at] else { break };
        if one == other && covers(wide, narrow) {
            rules.remove(at - 1);
            at = rules.len().min(at + 1);
        }
    }
    rules
}

/// The version that the rules choose for a point.
pub(super) fn chosen(rules: &[Choice], point: &Point) -> usize {
    rules.iter().find(|(tests, _)| tests.iter().all(|test| test.holds(point))).map_or(0, |(_, version)| *version)
}

/// Points of a node of the tree.
type Node<'a> = [&'a Priced<'a>];

/// The arm with the smallest sum of prices, and that. Of equals the one that runs at most of the points anyway.
fn single(node: &Node<'_>) -> (usize, f64) {
    let arms = node.first().map_or(0, |point| point.prices.len());
    let price = |arm: usize| node.iter().map(|point| point.prices[arm]).sum::<f64>();
    let usual = |arm: usize| node.iter().filter(|point| point.point.untuned == arm).count();
    let order = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then(usual(b.0).cmp(&usual(a.0)));
    (0..arms).map(|arm| (arm, price(arm))).min_by(order).unwrap_or((0, 0.0))
}

fn split(node: &Node<'_>, depth: usize, path: &[Test], rules: &mut Vec<Choice>) {
    let (arm, price) = single(node);
    let best = if depth == 0 { None } else { best_split(node) };
    match best {
        Some((test, after)) if after < price => {
            let (low, high) = parted(node, test);
            // Bounds of one measure only become smaller along a path.
            let others = path.iter().copied().filter(|other| other.measure != test.measure);
            let below: Vec<Test> = others.chain([test]).collect();
            split(&low, depth - 1, &below, rules);
            // What comes after the rules below the bound is not below it.
            split(&high, depth - 1, path, rules);
        }
        Some(_) | None => {
            rules.push((path.to_vec(), arm));
        }
    }
}

/// Those for which the test holds, and the others: also those of which nothing is known, as in calls.
fn parted<'a>(node: &Node<'a>, test: Test) -> (Vec<&'a Priced<'a>>, Vec<&'a Priced<'a>>) {
    node.iter().partition(|point| test.holds(point.point))
}

/// What a split costs.
fn cost_of_split(points: usize) -> f64 {
    SAVED + SAVED_EACH * points as f64
}

/// The split after which least is lost if each side has one arm or, at a cost, is split once more.
fn best_split(node: &Node<'_>) -> Option<(Test, f64)> {
    let mut best: Option<(Test, f64)> = None;
    for test in tests(node) {
        let (low, high) = parted(node, test);
        let side = |node: &Node<'_>| {
            let price = single(node).1;
            if price > cost_of_split(node.len()) { price.min(once_more(node)) } else { price }
        };
        let after = side(&low) + side(&high) + cost_of_split(node.len());
        if best.as_ref().is_none_or(|(_, least)| after < *least) {
            best = Some((test, after));
        }
    }
    best
}

/// What the best split costs whose sides have one arm each.
fn once_more(node: &Node<'_>) -> f64 {
    let of = |test: Test| {
        let (low, high) = parted(node, test);
        single(&low).1 + single(&high).1
    };
    tests(node).into_iter().map(of).fold(f64::INFINITY, f64::min) + cost_of_split(node.len())
}

/// Bounds between neighbouring values of each measure.
fn tests(node: &Node<'_>) -> Vec<Test> {
    let mut tests = Vec::new();
    for measure in 0..MOST_MEASURES {
        let mut values: Vec<i64> = node.iter().map(|point| point.point.values[measure]).collect();
        values.sort_unstable();
        values.dedup();
        let pairs = values.windows(2).filter(|pair| pair[0] >= 0);
        tests.extend(pairs.map(|pair| Test { measure, least: false, bound: between(pair[0], pair[1]) }));
    }
    tests
}

/// The geometric mean of two sizes, above the first.
pub(super) fn between(a: i64, b: i64) -> i64 {
    let mean = (a.max(1) as f64 * b as f64).sqrt().ceil() as i64;
    mean.clamp(a + 1, b)
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
    fn rules_that_choose_alike_are_one() {
        let test = |measure, bound| Test { measure, least: false, bound };
        let rules = vec![
            (vec![test(0, 8), test(1, 4)], 2),
            (vec![test(0, 2)], 1),
            (vec![test(0, 8), test(1, 9)], 2),
            (vec![test(0, 8)], 2),
            (vec![], 0),
        ];
        let kept = [rules[0].clone(), rules[1].clone(), rules[3].clone(), rules[4].clone()];
        assert_eq!(without_repetition(rules), kept);
        let all_alike = vec![(vec![test(1, 3)], 1), (vec![test(0, 2)], 1), (vec![], 1)];
        assert_eq!(without_repetition(all_alike), [(vec![], 1)]);
    }

    #[test]
    fn noise_does_not_make_rules() {
        let points: Vec<Point> =
            (0..10).map(|e| point(1 << e, 1, if e % 2 == 0 { &[1.0, 1.01] } else { &[1.01, 1.0] })).collect();
        assert_eq!(fit(&points.iter().collect::<Vec<_>>(), 2, &Vetoes::new()), [(vec![], 0)]);
    }

    #[test]
    fn what_is_unknown_is_below_no_bound() {
        // The second measure is known of half of the points alone, as lengths of segments are where there are many.
        let points: Vec<Point> = (0..8)
            .map(|e| point(1 << e, if e < 4 { 1 << e } else { -1 }, if e < 2 { &[2.0, 1.0] } else { &[1.0, 2.0] }))
            .collect();
        let rules = vec![(vec![Test { measure: 1, least: false, bound: 1 << 40 }], 1), (vec![], 0)];
        assert_eq!(chosen(&rules, &points[7]), 0);
        let points: Vec<&Point> = points.iter().collect();
        let test = Test { measure: 1, least: false, bound: 3 };
        let priced: Vec<Priced<'_>> = points.iter().map(|point| Priced::new(point, 2, &Vetoes::new())).collect();
        let (low, high) = parted(&priced.iter().collect::<Vec<_>>(), test);
        assert_eq!((low.len(), high.len()), (2, 6));
        let rules = fit(&points, 2, &Vetoes::new());
        assert_eq!(worst_loss(&points, |point| chosen(&rules, point)), 1.0, "{rules:?}");
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

//! Fits rules between versions to their costs at sample points: a small decision tree. The tuner has measured times, the compiler predicted ones.

/// A comparison of a measure with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// Which of the measures.
    pub measure: usize,
    /// Whether the measure has to reach the number, rather than to be less.
    pub least: bool,
    /// The number.
    pub bound: i64,
}

impl Test {
    /// False for a measure without value, which is negative.
    pub fn holds(&self, values: &[i64]) -> bool {
        let value = values[self.measure];
        value >= 0 && (value >= self.bound) == self.least
    }
}

/// A rule: all tests must hold for this version to run.
pub type Choice = (Vec<Test>, usize);

/// A point, and what each version costs there: 0 for the best.
#[derive(Clone, Debug)]
pub struct Priced {
    /// The measures; those without value are negative.
    pub values: Vec<i64>,
    /// A price for each version.
    pub prices: Vec<f64>,
    /// The version that runs without rules.
    pub usual: usize,
}

/// A loss that users should never see, and how much worse than smaller ones it counts.
pub const TOLERATED: f64 = 0.04;
const BEYOND: f64 = 4.0;
/// How much slower than what runs without rules a version may seem before that counts as much.
const CHANCE: f64 = 0.02;
/// What a version costs that must not run.
pub const FORBIDDEN: f64 = 1e3;

/// The price of a loss, which is the logarithm of a time beside the best one, where what runs without rules has another.
pub fn price(loss: f64, usual: f64) -> f64 {
    let slower = if usual.is_finite() { (loss - usual - CHANCE).max(0.0) } else { 0.0 };
    loss + BEYOND * ((loss - TOLERATED).max(0.0) + slower)
}

/// Splits of the tree below one another.
const MOST_DEPTH: usize = 6;
/// What a split must save at least: in total, and for each point.
const SAVED: f64 = 0.05;
const SAVED_EACH: f64 = 0.001;

/// Rules that make the sum of prices small: the first that holds decides, the last always does.
pub fn fit(points: &[Priced]) -> Vec<Choice> {
    let mut rules = Vec::new();
    if !points.is_empty() {
        split(&Node::of(points), MOST_DEPTH, &[], &mut rules);
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

/// Points of a node of the tree, once for each measure in the order of its values: those without value come first.
struct Node<'a> {
    points: &'a [Priced],
    ordered: Vec<Vec<usize>>,
}

impl<'a> Node<'a> {
    fn of(points: &'a [Priced]) -> Self {
        let of_measure = |measure: usize| {
            let mut all: Vec<usize> = (0..points.len()).collect();
            all.sort_by_key(|at| value(&points[*at], measure));
            all
        };
        // Without measures there is one order still.
        let measures = points.first().map_or(0, |point| point.values.len()).max(1);
        Node { points, ordered: (0..measures).map(of_measure).collect() }
    }

    fn count(&self) -> usize {
        self.ordered[0].len()
    }

    /// The version with the smallest sum of prices, and that. Of equals the one that runs at most of the points anyway.
    fn single(&self) -> (usize, f64) {
        let prices = self.sums(self.ordered[0].iter());
        let usual = |arm: usize| self.ordered[0].iter().filter(|at| self.points[**at].usual == arm).count();
        let order = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then_with(|| usual(b.0).cmp(&usual(a.0)));
        prices.into_iter().enumerate().min_by(order).unwrap_or((0, 0.0))
    }

    /// What each version costs at all of these points.
    fn sums<'p>(&self, points: impl Iterator<Item = &'p usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.points[0].prices.len()];
        for at in points {
            add(&mut sums, &self.points[*at].prices);
        }
        sums
    }

    /// Those for which the test holds, and the others: also those of which nothing is known, as in calls.
    fn parted(&self, test: Test) -> (Node<'a>, Node<'a>) {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for points in &self.ordered {
            let (below, others): (Vec<usize>, Vec<usize>) =
                points.iter().partition(|at| test.holds(&self.points[**at].values));
            low.push(below);
            high.push(others);
        }
        (Node { points: self.points, ordered: low }, Node { points: self.points, ordered: high })
    }

    /// Bounds between neighbouring values of each measure.
    fn tests(&self) -> Vec<Test> {
        let mut tests = Vec::new();
        for (measure, points) in self.ordered.iter().enumerate() {
            let known = points.iter().map(|at| value(&self.points[*at], measure)).filter(|value| *value >= 0);
            let mut before = None;
            for value in known {
                if let Some(before) = before.filter(|before| *before < value) {
                    tests.push(Test { measure, least: false, bound: between(before, value) });
                }
                before = Some(value);
            }
        }
        tests
    }

    /// The split after which least is lost if each side has one version or, at a cost, is split once more.
    fn best_split(&self) -> Option<(Test, f64)> {
        let mut best: Option<(Test, f64)> = None;
        for test in self.tests() {
            let (low, high) = self.parted(test);
            let after = low.at_best() + high.at_best() + cost_of_split(self.count());
            if best.as_ref().is_none_or(|(_, least)| after < *least) {
                best = Some((test, after));
            }
        }
        best
    }

    /// What it costs with one version, or two if that is less.
    fn at_best(&self) -> f64 {
        let price = least(&self.sums(self.ordered[0].iter()));
        if price > cost_of_split(self.count()) { price.min(self.once_more()) } else { price }
    }

    /// What the best split costs whose sides have one version each.
    fn once_more(&self) -> f64 {
        let mut best = f64::INFINITY;
        for (measure, points) in self.ordered.iter().enumerate() {
            let value = |at: usize| value(&self.points[at], measure);
            let known = points.partition_point(|at| value(*at) < 0);
            // From each point on, with those without value.
            let mut above = vec![self.sums(points[..known].iter())];
            for at in points[known..].iter().rev() {
                let mut sums = above[above.len() - 1].clone();
                add(&mut sums, &self.points[*at].prices);
                above.push(sums);
            }
            let mut below = vec![0.0; above[0].len()];
            for at in known + 1..points.len() {
                add(&mut below, &self.points[points[at - 1]].prices);
                if value(points[at - 1]) < value(points[at]) {
                    best = best.min(least(&below) + least(&above[points.len() - at]));
                }
            }
        }
        best + cost_of_split(self.count())
    }
}

/// A measure; negative where there is none.
fn value(point: &Priced, measure: usize) -> i64 {
    point.values.get(measure).copied().unwrap_or(-1)
}

fn add(sums: &mut [f64], prices: &[f64]) {
    for (sum, price) in sums.iter_mut().zip(prices) {
        *sum += price;
    }
}

fn least(sums: &[f64]) -> f64 {
    sums.iter().copied().fold(f64::INFINITY, f64::min)
}

fn split(node: &Node<'_>, depth: usize, path: &[Test], rules: &mut Vec<Choice>) {
    let (arm, price) = node.single();
    // No split saves what is not lost.
    let best = if depth == 0 || price <= cost_of_split(node.count()) { None } else { node.best_split() };
    match best {
        Some((test, after)) if after < price => {
            let (low, high) = node.parted(test);
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

/// What a split costs.
fn cost_of_split(points: usize) -> f64 {
    SAVED + SAVED_EACH * points as f64
}

/// The geometric mean of two sizes, above the first.
pub fn between(a: i64, b: i64) -> i64 {
    let mean = (a.max(1) as f64 * b as f64).sqrt().ceil() as i64;
    mean.clamp(a + 1, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(values: &[i64], prices: &[f64]) -> Priced {
        Priced { values: values.to_vec(), prices: prices.to_vec(), usual: 0 }
    }

    fn test(measure: usize, bound: i64) -> Test {
        Test { measure, least: false, bound }
    }

    /// What the rules choose at each point.
    fn chosen(rules: &[Choice], points: &[Priced]) -> Vec<usize> {
        let at = |point: &Priced| rules.iter().find(|(tests, _)| tests.iter().all(|test| test.holds(&point.values)));
        points.iter().map(|point| at(point).expect("the last rule always holds").1).collect()
    }

    #[test]
    fn rules_that_choose_alike_are_one() {
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
        // The second holds for less than the first.
        let narrower = vec![(vec![test(0, 8)], 1), (vec![test(0, 4)], 1), (vec![], 0)];
        assert_eq!(without_repetition(narrower.clone()), narrower);
    }

    #[test]
    fn tests_hold_from_a_bound_on_or_below_it() {
        let holds = |least: bool| [2, 3, 4, -1].map(|value| Test { measure: 0, least, bound: 3 }.holds(&[value]));
        assert_eq!(holds(true), [false, true, true, false]);
        assert_eq!(holds(false), [true, false, false, false]);
    }

    #[test]
    fn bounds_lie_above_the_smaller_size() {
        let pairs = [(0, 1), (1, 2), (3, 4), (4, 16), (1 << 62, (1 << 62) + 1)];
        assert_eq!(pairs.map(|(a, b)| between(a, b)), [1, 2, 4, 8, (1 << 62) + 1]);
    }

    #[test]
    fn what_users_should_not_see_costs_more() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        near(price(0.04, f64::INFINITY), 0.04);
        near(price(0.1, f64::INFINITY), 0.1 + BEYOND * 0.06);
        near(price(0.1, 0.1), 0.1 + BEYOND * 0.06);
        // The version that runs without rules loses nothing there: what is over the chance counts as well.
        near(price(0.03, 0.0), 0.03 + BEYOND * 0.01);
    }

    #[test]
    fn splits_save_what_they_cost() {
        let lost = |price: f64| [point(&[1], &[0.0, price]), point(&[2], &[price, 0.0])];
        assert_eq!(fit(&lost(0.051)), [(vec![], 0)]);
        assert_eq!(fit(&lost(0.053)), [(vec![test(0, 2)], 0), (vec![], 1)]);
    }

    #[test]
    fn of_equals_the_usual_one_runs() {
        let usual = |usual: usize| fit(&[Priced { usual, ..point(&[1], &[0.0, 0.0, 0.0]) }]);
        assert_eq!([0, 1, 2].map(usual), [0, 1, 2].map(|version| vec![(vec![], version)]));
    }

    /// No split of one measure saves anything by itself.
    #[test]
    fn splits_look_at_those_below_them() {
        let points = [(1, 1, 0), (1, 2, 1), (2, 1, 1), (2, 2, 0)];
        let points = points.map(|(a, b, best)| point(&[a, b], &[f64::from(best), f64::from(1 - best)]));
        assert_eq!(chosen(&fit(&points), &points), [0, 1, 1, 0]);
    }

    #[test]
    fn trees_are_of_so_many_splits() {
        let alternating: Vec<Priced> =
            (0..200).map(|at| point(&[at], &[(at % 2) as f64, (1 - at % 2) as f64])).collect();
        let rules = fit(&alternating);
        assert!((9..=1 << MOST_DEPTH).contains(&rules.len()), "{}", rules.len());
        assert!(rules.iter().all(|(tests, _)| tests.len() <= 1), "bounds of one measure become smaller: {rules:?}");
    }

    #[test]
    fn what_is_unknown_is_below_no_bound() {
        // The second measure is known of half of the points alone, as lengths of segments are where there are many.
        let prices = |e: i64| if e < 2 { [1.0, 0.0] } else { [0.0, 1.0] };
        let points: Vec<Priced> =
            (0..8).map(|e| point(&[1 << e, if e < 4 { 1 << e } else { -1 }], &prices(e))).collect();
        let (low, high) = Node::of(&points).parted(test(1, 3));
        assert_eq!((low.count(), high.count()), (2, 6));
        let rules = fit(&points);
        assert_eq!(chosen(&rules, &points), [1, 1, 0, 0, 0, 0, 0, 0], "{rules:?}");
    }

    #[test]
    fn a_split_costs_what_its_best_versions_do() {
        let prices = [[3.0, 0.0, 1.0], [0.5, 0.0, 2.0], [0.0, 4.0, 1.0], [0.0, 1.0, 0.25]];
        let points: Vec<Priced> =
            prices.iter().enumerate().map(|(at, prices)| point(&[at as i64 - 1], prices)).collect();
        // The first has no value and is above every bound: between 0 and 1 that leaves 0.0 and 2.25, between 1 and 2 0.5 and 1.0.
        let expected = 1.5 + cost_of_split(4);
        assert!((Node::of(&points).once_more() - expected).abs() < 1e-12);
    }

    #[test]
    fn without_measures_one_version_runs() {
        let points = [point(&[], &[1.0, 0.0]), point(&[], &[0.0, 0.5])];
        assert_eq!(fit(&points), [(vec![], 1)]);
        assert_eq!(fit(&[]), []);
    }
}

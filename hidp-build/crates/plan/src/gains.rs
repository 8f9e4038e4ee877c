//! From predicted times to rules: when a version runs instead of the usual one. Either a rule is one comparison of a measure, or one with a
//! multiple of the threads and one more, and has to gain at every point that it is for; or rules are fitted as the tuner does it.

use crate::dispatch::{Bound, Condition, Rule};
use hidp_fit::{Choice, FORBIDDEN, Priced, Test};
use hidp_syntax::ordered::OrdSet;

/// Rules for the versions of one entry that are compared.
const MOST: usize = 3;
/// How much more a version may take where it does what the usual one does, or where points are far.
const EVEN: f64 = 1.02;

/// Versions at one point, on so many threads.
pub(crate) struct Compared {
    /// The measures there.
    pub(crate) measures: Vec<Option<i64>>,
    pub(crate) threads: i64,
    /// Whether more is long at once than at most points: a rule may hold here, and need not gain.
    pub(crate) far: bool,
    /// The time of the version that runs without what is compared.
    pub(crate) usual: f64,
    /// Each version that is compared; none if its time cannot be told.
    pub(crate) forms: Vec<Option<Form>>,
}

/// A version at one point.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) time: f64,
    /// Whether it does nothing else than the usual one there, by a plan of its own.
    pub(crate) declined: bool,
}

impl Compared {
    fn meets(&self, all: &[Condition]) -> bool {
        let meets = |when: &Condition| self.measures[when.measure].is_some_and(|value| when.holds(value, self.threads));
        all.iter().all(meets)
    }

    /// What a version takes beside the usual one.
    pub(crate) fn ratio(&self, form: usize) -> Option<f64> {
        Some(self.forms[form]?.time / self.usual)
    }

    pub(crate) fn declines(&self, form: usize) -> bool {
        self.forms[form].is_some_and(|form| form.declined)
    }
}

/// The rules under which versions of these names save so much: the first that holds decides. Each compares one measure, or, where none
/// saves more, one with a multiple of the threads and another one: these are `paired`.
pub(crate) fn gaining(places: &[Compared], names: &[&str], paired: &[[usize; 2]], gain: f64) -> Vec<Rule> {
    let mut chosen: Vec<Option<usize>> = vec![None; places.len()];
    let mut rules: Vec<Rule> = Vec::new();
    while rules.len() < MOST {
        let best_of = |conditions: Vec<Vec<Condition>>| best(places, &chosen, (conditions, names.len()), gain);
        let found = best_of(alone(places)).or_else(|| best_of(together(places, paired)));
        let Some((form, conditions)) = found else { break };
        for (at, place) in places.iter().enumerate() {
            if place.meets(&conditions) {
                chosen[at] = Some(form);
            }
        }
        rules.insert(0, Rule { conditions, plan: names[form].to_owned() });
    }
    rules
}

/// The version and the conditions under which it gains most.
fn best(
    places: &[Compared],
    chosen: &[Option<usize>],
    (conditions, forms): (Vec<Vec<Condition>>, usize),
    gain: f64,
) -> Option<(usize, Vec<Condition>)> {
    let better = |a: &Worth, b: &Worth| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let candidates = conditions.iter().flat_map(|when| (0..forms).map(move |form| (form, when)));
    let worth = candidates.filter_map(|rule| Some((value_of(places, chosen, rule, gain)?, rule)));
    let (_, (form, when)) = worth.max_by(|a, b| better(&a.0, &b.0))?;
    Some((form, when.clone()))
}

/// The values that a measure has.
fn values(places: &[Compared], measure: usize) -> OrdSet<i64> {
    places.iter().filter_map(|place| place.measures[measure]).collect()
}

/// A condition for each value that a measure has at a point.
fn alone(places: &[Compared]) -> Vec<Vec<Condition>> {
    let mut found = Vec::new();
    for measure in 0..places.first().map_or(0, |place| place.measures.len()) {
        for value in values(places, measure) {
            found.extend([true, false].map(|least| vec![Condition { measure, least, bound: Bound::Fixed(value) }]));
        }
    }
    found
}

/// Where a version does in order what the usual one shares out, one measure says how many threads make up for it, and another one that there
/// is enough to do.
fn together(places: &[Compared], paired: &[[usize; 2]]) -> Vec<Vec<Condition>> {
    let mut found = Vec::new();
    for [first, second] in paired {
        for per_thread in values(places, *first) {
            let first = Condition { measure: *first, least: true, bound: Bound::PerThread(per_thread) };
            let with = |value| vec![first, Condition { measure: *second, least: true, bound: Bound::Fixed(value) }];
            found.extend(values(places, *second).into_iter().map(with));
        }
    }
    found
}

/// What a rule gains over all points together, and how many it need not be for: of equal gains the rule for fewer of those is better.
type Worth = (f64, std::cmp::Reverse<usize>);

/// What a rule is worth, if it gains at each point that it is for, or loses nothing where points are far or its version is none of its own. A multiple of the
/// threads has to be met on any number of them: else it says nothing of threads.
fn value_of(
    places: &[Compared],
    chosen: &[Option<usize>],
    (form, when): (usize, &Vec<Condition>),
    gain: f64,
) -> Option<Worth> {
    let (mut all, mut needless) = (0.0, 0);
    let mut met: OrdSet<i64> = OrdSet::new();
    for (place, chosen) in places.iter().zip(chosen) {
        // Where another rule has chosen the same, nothing changes.
        if !place.meets(when) || *chosen == Some(form) {
            continue;
        }
        let before = chosen.and_then(|form| place.ratio(form)).unwrap_or(1.0);
        let (after, declined) = (place.ratio(form)?, place.declines(form));
        if after > before * if declined || place.far { EVEN } else { gain } {
            return None;
        }
        if declined || after > before * gain {
            needless += 1;
        } else if !place.far {
            all += (before / after).ln();
            met.insert(place.threads);
        }
    }
    let by_threads = when.iter().any(|when| matches!(when.bound, Bound::PerThread(_)));
    if by_threads && places.iter().any(|place| !met.contains(&place.threads)) {
        return None;
    }
    (all > 0.0).then_some((all, std::cmp::Reverse(needless)))
}

/// What is known of the versions of an entry at one point.
pub(crate) struct Point {
    /// The measures there.
    pub(crate) measures: Vec<Option<i64>>,
    /// The time of each version; none if it cannot be told.
    pub(crate) times: Vec<Option<f64>>,
}

/// Rules between versions of these names where thresholds gave others: as the tuner fits them to times, if they save the time of what thresholds
/// choose down to this part of it at some point. Where nothing is known of what runs, it stays: rules for such versions are left as they are.
pub(crate) fn fitted(points: &[Point], names: &[&str], rules: Vec<Rule>, gain: f64) -> Vec<Rule> {
    let chosen: Vec<Option<usize>> = points.iter().map(|point| chosen_at(point, names, &rules)).collect();
    let Some(stay) = staying(points, names, &rules, &chosen) else { return rules };
    let left = points.iter().zip(&chosen).filter(|(point, _)| !stay.iter().any(|rule| holds(point, rule)));
    let left: Option<Vec<(Priced, &Point, usize)>> =
        left.map(|(point, chosen)| Some((priced(point, (*chosen)?)?, point, (*chosen)?))).collect();
    // Nothing is known of what runs where no rule holds.
    let Some(left) = left else { return rules };
    let priced: Vec<Priced> = left.iter().map(|(priced, ..)| priced.clone()).collect();
    let choices = hidp_fit::fit(&priced);
    let saves = |(priced, point, usual): &(Priced, &Point, usize)| {
        let choice = choices.iter().find(|(tests, _)| tests.iter().all(|test| test.holds(&priced.values)));
        let times = choice.and_then(|(_, version)| point.times[*version].zip(point.times[*usual]));
        times.is_some_and(|(after, before)| after <= gain * before)
    };
    if !left.iter().any(saves) {
        return rules;
    }
    let condition =
        |test: &Test| Condition { measure: test.measure, least: test.least, bound: Bound::Fixed(test.bound) };
    let rule = |(tests, version): &Choice| Rule {
        conditions: tests.iter().map(condition).collect(),
        plan: names[*version].to_owned(),
    };
    stay.into_iter().cloned().chain(choices.iter().map(rule)).collect()
}

/// Which version rules choose: the first where none decides.
pub(crate) fn chosen_at(point: &Point, names: &[&str], rules: &[Rule]) -> Option<usize> {
    let decides = rules.iter().find(|rule| holds(point, rule));
    decides.map_or(Some(0), |rule| names.iter().position(|name| *name == rule.plan))
}

fn holds(point: &Point, rule: &Rule) -> bool {
    let meets = |when: &Condition| point.measures[when.measure].is_some_and(|value| when.holds(value, 1));
    rule.conditions.iter().all(meets)
}

/// The rules for versions of which nothing is known, but for those that others always overrule; nothing if they would choose otherwise alone.
fn staying<'r>(points: &[Point], names: &[&str], rules: &'r [Rule], chosen: &[Option<usize>]) -> Option<Vec<&'r Rule>> {
    let version = |rule: &Rule| names.iter().position(|name| *name == rule.plan);
    let is_known = |rule: &Rule| version(rule).is_some_and(|at| points.iter().any(|point| point.times[at].is_some()));
    let decides = |rule: &Rule| {
        let met = || points.iter().zip(chosen).filter(|(point, _)| holds(point, rule));
        met().next().is_none() || met().any(|(_, chosen)| *chosen == version(rule))
    };
    let stay: Vec<&Rule> = rules.iter().filter(|rule| !is_known(rule) && decides(rule)).collect();
    let agrees = |(point, chosen): (&Point, &Option<usize>)| {
        stay.iter().find(|rule| holds(point, rule)).is_none_or(|rule| version(rule) == *chosen)
    };
    points.iter().zip(chosen).all(agrees).then_some(stay)
}

/// What versions cost at a point, if it is known of the one that runs.
fn priced(point: &Point, usual: usize) -> Option<Priced> {
    let best = point.times.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let loss = |time: f64| (time / best).ln();
    let usual_loss = loss(point.times[usual]?);
    let price = |time: &Option<f64>| time.map_or(FORBIDDEN, |time| hidp_fit::price(loss(time), usual_loss));
    let values = point.measures.iter().map(|value| value.unwrap_or(-1)).collect();
    Some(Priced { values, prices: point.times.iter().map(price).collect(), usual })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules for a version that takes `after`, of the time `before`, by two measures at each point and threads.
    fn by_threads(times: impl Fn([i64; 2], f64) -> (f64, f64), paired: &[[usize; 2]]) -> Vec<Rule> {
        let mut places = Vec::new();
        for (first, second) in [1, 16, 256, 4096].into_iter().flat_map(|first| [16, 4096].map(|second| (first, second)))
        {
            for threads in [1, 8] {
                let (usual, time) = times([first, second], threads as f64);
                let forms = vec![Some(Form { time, declined: false })];
                let measures = vec![Some(first), Some(second)];
                places.push(Compared { measures, threads, far: false, usual, forms });
            }
        }
        gaining(&places, &["in order"], paired, 0.8)
    }

    #[test]
    fn rules_of_what_runs_in_order_ask_for_threads() {
        // `first` operations of each of `second` iterations are shared out; else there are 64 in order, if that is worth beginning.
        let times = |[first, second]: [i64; 2], threads: f64| {
            let (each, count) = (first as f64, second as f64);
            (each * count / threads, 64.0 * count + if count < 100.0 { 1e9 } else { 0.0 })
        };
        let per_thread = Condition { measure: 0, least: true, bound: Bound::PerThread(256) };
        let enough = Condition { measure: 1, least: true, bound: Bound::Fixed(4096) };
        let expected = Rule { conditions: vec![per_thread, enough], plan: "in order".to_owned() };
        assert_eq!(by_threads(times, &[[0, 1], [1, 0]]), [expected]);
        assert_eq!(by_threads(times, &[]), []);
        // A rule may be for points that another one has already.
        let twice = |[first, second]: [i64; 2], threads: f64| {
            let all = (first * second) as f64 / threads;
            (all, if first >= 256 || second >= 4096 { all / 2.0 } else { all * 2.0 })
        };
        assert_eq!(by_threads(twice, &[]), [rule_by(0, 256, "in order"), rule_by(1, 4096, "in order")]);
        // What gains on one thread alone says nothing of threads.
        let alone = |[first, second]: [i64; 2], threads: f64| {
            let (all, best) = ((first * second) as f64, threads < 2.0 && first >= 256 && second >= 4096);
            (all / threads, if best { all / 2.0 } else { all })
        };
        assert_eq!(by_threads(alone, &[[0, 1], [1, 0]]), []);
        // One comparison is enough where it is.
        let always = |[first, second]: [i64; 2], threads: f64| {
            let all = (first * second) as f64 / threads;
            (all, if first >= 256 { all / 2.0 } else { all * 2.0 })
        };
        assert_eq!(by_threads(always, &[[0, 1], [1, 0]]), [rule_by(0, 256, "in order")]);
    }

    #[test]
    fn far_points_bound_rules_and_need_not_gain() {
        let place = |value, far, ratio| Compared {
            measures: vec![Some(value)],
            threads: 1,
            far,
            usual: 1.0,
            forms: vec![Some(Form { time: ratio, declined: false })],
        };
        let rules_with = |ratio| gaining(&[place(1, false, 0.5), place(16, true, ratio)], &["a"], &[], 0.8);
        let small = Rule {
            conditions: vec![Condition { measure: 0, least: false, bound: Bound::Fixed(16) }],
            plan: "a".to_owned(),
        };
        assert_eq!(rules_with(1.5), [small]);
        let large = [place(1, false, 1.0), place(16, false, 0.5), place(256, true, 1.0)];
        assert_eq!(gaining(&large, &["a"], &[], 0.8), [rule_by(0, 16, "a")]);
        // What gains there alone is no reason for a rule.
        assert_eq!(gaining(&[place(1, false, 1.0), place(16, true, 0.1)], &["a"], &[], 0.8), []);
    }

    fn rule_by(measure: usize, bound: i64, plan: &str) -> Rule {
        let when = Condition { measure, least: true, bound: Bound::Fixed(bound) };
        Rule { conditions: vec![when], plan: plan.to_owned() }
    }

    fn rule(least: bool, bound: i64, plan: &str) -> Rule {
        let when = Condition { measure: 0, least, bound: Bound::Fixed(bound) };
        Rule { conditions: vec![when], plan: plan.to_owned() }
    }

    fn otherwise(plan: &str) -> Rule {
        Rule { conditions: Vec::new(), plan: plan.to_owned() }
    }

    /// The rules between `a`, `b` and `c` where these times are at 1, 16, 256 …
    fn between_three(times: &[[Option<f64>; 3]], rules: Vec<Rule>) -> Vec<Rule> {
        let point = |(at, times): (usize, &[Option<f64>; 3])| Point {
            measures: vec![Some(1 << (4 * at))],
            times: times.to_vec(),
        };
        let points: Vec<Point> = times.iter().enumerate().map(point).collect();
        fitted(&points, &["a", "b", "c"], rules, 0.9)
    }

    #[test]
    fn another_version_runs_where_it_takes_less() {
        let times = [[Some(1.0), Some(2.0), None], [Some(2.0), Some(1.0), None], [Some(4.0), Some(1.0), None]];
        assert_eq!(between_three(&times, Vec::new()), [rule(false, 4, "a"), otherwise("b")]);
        // Less than a tenth is no reason for rules of its own.
        let times = [[Some(1.0), Some(2.0), None], [Some(1.05), Some(1.0), None]];
        assert_eq!(between_three(&times, vec![rule(true, 1000, "b")]), [rule(true, 1000, "b")]);
        let times = [[Some(4.0), Some(1.0), None], [Some(1.0), Some(1.3), None], [Some(4.0), Some(1.0), None]];
        assert_eq!(between_three(&times, Vec::new()), [rule(false, 4, "b"), rule(false, 64, "a"), otherwise("b")]);
    }

    #[test]
    fn what_is_not_predicted_stays() {
        let times = [[Some(4.0), Some(1.0), None], [Some(1.0), Some(4.0), None], [Some(4.0), Some(1.0), None]];
        let unknown = rule(true, 200, "c");
        let fits = vec![unknown.clone(), rule(false, 4, "b"), otherwise("a")];
        assert_eq!(between_three(&times, vec![unknown.clone(), rule(true, 10, "a")]), fits);
        // It comes after a rule that never stands in its way, or always does.
        assert_eq!(between_three(&times, vec![rule(false, 10, "a"), unknown.clone()]), fits);
        let overruled = between_three(&times, vec![rule(true, 100, "a"), unknown.clone()]);
        assert_eq!(overruled, [rule(false, 4, "b"), rule(false, 64, "a"), otherwise("b")]);
        // At sizes beyond all points.
        let beyond = between_three(&times, vec![rule(true, 1000, "c")]);
        assert_eq!(beyond, [rule(true, 1000, "c"), rule(false, 4, "b"), rule(false, 64, "a"), otherwise("b")]);
        // Sometimes: rules that say so would be others.
        let sometimes = vec![rule(true, 200, "a"), rule(true, 10, "c")];
        assert_eq!(between_three(&times, sometimes.clone()), sometimes);
        // Nothing is known of what runs anyway.
        let times = [[None, Some(1.0), None], [None, Some(1.0), None]];
        assert_eq!(between_three(&times, Vec::new()), []);
    }
}

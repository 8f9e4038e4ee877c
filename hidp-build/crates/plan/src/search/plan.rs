//! The plans that the search makes: each nest has the mapping that is best for it at some sizes, where that promises more than every other plan.

use super::facts::{Facts, Numbers, known_at};
use super::known::{Known, Predictions, Times};
use super::{Domain, Fastest, Space, cost, fastest, space_of};
use crate::blame::span_of;
use crate::dispatch::Rule;
use crate::gains::{Point, chosen_at, fitted};
use crate::mapping::Mapping;
use crate::measures::Measure;
use crate::refusal::{Constraint, GAIN, PREDICTED, Refusal};
use crate::target::DeviceModel;
use crate::{Plan, SEARCHED, inner_maps};
use hidp_ir::par::{Func, Map, Program, VarId};
use hidp_syntax::ordered::OrdMap;

/// Steps between the binary logarithms of sizes.
pub(super) const STEP: usize = 4;

/// The nests of an entry, with what is known of those that the search looks at: they have maps inside.
pub(super) struct Entry<'a> {
    program: &'a Program,
    func: &'a Func,
    maps: &'a [&'a Map],
    facts: Vec<Option<Facts<'a>>>,
    model: &'a DeviceModel,
    /// Sizes, and what was predicted there so far.
    known: Known,
}

/// What was found with some of a nest's numbers.
type Looked = OrdMap<usize, Fastest>;

impl<'a> Entry<'a> {
    pub(super) fn of(
        program: &'a Program,
        func: &'a Func,
        maps: &'a [&'a Map],
        facts: Vec<Option<Facts<'a>>>,
        model: &'a DeviceModel,
        known: Option<Known>,
    ) -> Self {
        let known = known.unwrap_or_else(|| Known::of(func, &facts, model));
        Entry { program, func, maps, facts, model, known }
    }

    /// The times of a nest under a mapping, but for those that are known.
    fn times(&self, nest: usize, mapping: &Mapping, known: impl Fn(usize) -> Option<f64>) -> Times {
        let Some(facts) = &self.facts[nest] else { return Vec::new() };
        let predicted = |numbers: &Numbers| Some(cost::predict(facts, numbers, mapping, self.model)?.total());
        let time = |(number, own): (usize, &Numbers)| known(number).or_else(|| predicted(own));
        self.known.numbers[nest].iter().enumerate().map(time).collect()
    }

    /// The time of the nests that are searched, which have these numbers; nothing if one of them is not predicted.
    fn time(&self, nests: &[&Times], numbers: &[usize]) -> Option<f64> {
        let nests = self.facts.iter().zip(nests).zip(numbers);
        nests.filter(|((facts, _), _)| facts.is_some()).map(|((_, times), number)| times[*number]).sum()
    }

    /// The mappings that a plan's lines come to.
    pub(super) fn read(&self, plan: &Plan) -> Option<Vec<Mapping>> {
        read(self.program, self.func, self.maps, plan)
    }

    /// The spaces of the nests that are searched.
    fn spaces(&self) -> Vec<Option<Space>> {
        let domain = (self.model, Domain::PLANNED);
        let nests = self.facts.iter().zip(self.maps);
        nests.map(|(facts, map)| Some(space_of(self.program, self.func, map, domain, facts.as_ref()?))).collect()
    }

    /// Rows of the spaces of all nests, each the best at some of the sizes; of nests that are not searched the first. Besides, what was found with
    /// each of a nest's numbers.
    fn candidates(&self, spaces: &[Option<Space>], is_asked: &dyn Fn(usize) -> bool) -> (Vec<Vec<usize>>, Vec<Looked>) {
        let mut known: Vec<Looked> = spaces.iter().map(|_| OrdMap::new()).collect();
        // The best at other sizes.
        let mut likely = vec![0; spaces.len()];
        let mut best_of = |nest: usize, number: usize| {
            let (Some(facts), Some(space)) = (&self.facts[nest], &spaces[nest]) else { return Some(0) };
            let numbers = &self.known.numbers[nest][number];
            let best = || fastest(facts, space, numbers, self.model, likely[nest]);
            let found = known[nest].entry(number).or_insert_with(best).row;
            likely[nest] = found.unwrap_or(likely[nest]);
            found
        };
        let mut rows =
            |numbers: &[usize]| numbers.iter().enumerate().map(|(nest, number)| best_of(nest, *number)).collect();
        let asked = self.known.points.iter().enumerate().filter(|(at, _)| is_asked(*at));
        let mut found: Vec<Vec<usize>> = asked.filter_map(|(_, (_, numbers))| rows(numbers)).collect();
        found.sort();
        found.dedup();
        (found, known)
    }

    /// The times of each of these rows of all nests at each point, and with each of a nest's numbers.
    fn times_of_rows(
        &self,
        spaces: &[Option<Space>],
        candidates: &[Vec<usize>],
        looked: &[Looked],
    ) -> (Vec<Point>, Vec<OrdMap<usize, Times>>) {
        let mut known: Vec<OrdMap<usize, Times>> = spaces.iter().map(|_| OrdMap::new()).collect();
        for (nest, space) in spaces.iter().enumerate() {
            for row in candidates.iter().map(|rows| rows[nest]) {
                let found = |number: usize| looked[nest].get(&number)?.times[row];
                let times = || space.as_ref().map_or(Vec::new(), |space| self.times(nest, &space.rows[row].1, found));
                known[nest].entry(row).or_insert_with(times);
            }
        }
        let of_nests = |rows: &Vec<usize>| -> Vec<&Times> {
            known.iter().zip(rows).filter_map(|(known, row)| known.get(row)).collect()
        };
        let nests: Vec<Vec<&Times>> = candidates.iter().map(of_nests).collect();
        let times = |numbers: &[usize]| nests.iter().map(|nests| self.time(nests, numbers)).collect();
        let points = self.known.points.iter();
        let points = points.map(|(_, numbers)| Point { measures: Vec::new(), times: times(numbers) }).collect();
        (points, known)
    }

    /// Measures where dimensions have these sizes.
    pub(super) fn measures(&self, measures: &[Measure], sizes: &[i64]) -> Vec<Option<i64>> {
        let known: OrdMap<VarId, i64> = self.func.dims.iter().copied().zip(sizes.iter().copied()).collect();
        measures.iter().map(|measure| measure.at(&known)).collect()
    }

    /// The sizes at which plans are compared.
    pub(super) fn sizes(&self) -> impl Iterator<Item = &[i64]> {
        self.known.points.iter().map(|(sizes, _)| &sizes[..])
    }

    /// The times of plans with these mappings at other sizes.
    pub(super) fn times_at(&self, sizes: &[i64], plans: [&[Mapping]; 2]) -> Option<[f64; 2]> {
        let known = known_at(self.func, sizes);
        let mut times = [0.0; 2];
        for (nest, facts) in self.facts.iter().enumerate() {
            let Some(facts) = facts else { continue };
            let numbers = facts.where_known(known.clone(), &self.model.machine);
            for (time, mappings) in times.iter_mut().zip(plans) {
                *time += cost::predict(facts, &numbers, &mappings[nest], self.model)?.total();
            }
        }
        Some(times)
    }

    /// The search's plans, or what speaks against any; nothing where other plans cannot be read.
    fn searched(
        &mut self,
        plans: &[Plan],
        (measures, rules): (&[Measure], &[Rule]),
    ) -> Option<Result<Vec<Plan>, (&'static Constraint, String)>> {
        let planned: Vec<Option<Vec<Mapping>>> = plans.iter().map(|plan| self.read(plan)).collect();
        let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
        let points = self.compared(&planned, measures);
        let chosen: Vec<Option<usize>> = points.iter().map(|point| chosen_at(point, &names, rules)).collect();
        // Where nothing is known of what runs, it stays.
        let is_asked = |at: usize| chosen[at].is_some_and(|chosen| points[at].times[chosen].is_some());
        let others = planned.first()?.as_ref()?;
        let spaces = self.spaces();
        let (candidates, looked) = self.candidates(&spaces, &is_asked);
        let (times, of_rows) = self.times_of_rows(&spaces, &candidates, &looked);
        let found = Candidates { points, chosen, times, gain: part_left(self.model.search_gain) };
        let best = found.best(self.model.search_plans as usize);
        if best.is_empty() {
            let why =
                format!("no mapping saves {} % of the others' predicted time at any sizes", self.model.search_gain);
            return Some(Err((&GAIN, why)));
        }
        let best = found.that_rules_choose(best, &names, rules, part_left(self.model.rule_gain));
        if best.is_empty() {
            return Some(Err((&GAIN, "no rule over the entry's measures says where it saves time".to_owned())));
        }
        for (nest, (space, of_rows)) in spaces.iter().zip(&of_rows).enumerate() {
            for row in best.iter().map(|at| candidates[*at][nest]) {
                if let (Some(space), Some(times)) = (space, of_rows.get(&row)) {
                    self.known.keep(nest, &space.rows[row].1, times.clone());
                }
            }
        }
        let plan = |(number, at): (usize, usize)| {
            let mapping = |((space, row), other): ((&'_ Option<Space>, &usize), &Mapping)| match space {
                Some(space) => space.rows[*row].1.clone(),
                None => other.clone(),
            };
            let mappings = spaces.iter().zip(&candidates[at]).zip(others).map(mapping);
            Plan::new(
                searched_name(number),
                self.maps.iter().zip(mappings).map(|(map, own)| own.lines(self.func, map)).collect(),
            )
        };
        Some(Ok(best.into_iter().enumerate().map(plan).collect()))
    }

    /// What is known of plans with these mappings at each point. It is predicted where it is not yet.
    pub(super) fn compared(&mut self, plans: &[Option<Vec<Mapping>>], measures: &[Measure]) -> Vec<Point> {
        // Plans have the same mapping of many nests.
        for (nest, mapping) in plans.iter().flatten().flat_map(|mappings| mappings.iter().enumerate()) {
            if self.known.times(nest, mapping).is_none() {
                let times = self.times(nest, mapping, |_| None);
                self.known.keep(nest, mapping, times);
            }
        }
        let times_of = |(nest, mapping): (usize, &Mapping)| self.known.times(nest, mapping);
        let of_nests = |mappings: &Vec<Mapping>| mappings.iter().enumerate().filter_map(times_of).collect();
        let nests: Vec<Option<Vec<&Times>>> = plans.iter().map(|plan| plan.as_ref().map(of_nests)).collect();
        let of = |(sizes, numbers): &(Vec<i64>, Vec<usize>)| {
            let time = |nests: &Option<Vec<&Times>>| self.time(nests.as_ref()?, numbers);
            Point { measures: self.measures(measures, sizes), times: nests.iter().map(time).collect() }
        };
        self.known.points.iter().map(of).collect()
    }
}

/// The part of a time that is left where so many percent are saved.
pub(super) fn part_left(gain: u32) -> f64 {
    1.0 - f64::from(gain) / 100.0
}

/// The mappings that a plan's lines come to.
fn read(program: &Program, func: &Func, maps: &[&Map], plan: &Plan) -> Option<Vec<Mapping>> {
    maps.iter().zip(&plan.nests).map(|(map, nest)| Mapping::read(program, func, map, nest).ok()).collect()
}

/// What is known of each nest that the search looks at, if it looks at any: else why not at the first that has maps inside.
pub(super) fn facts_of<'a>(
    program: &'a Program,
    func: &'a Func,
    maps: &[&'a Map],
) -> Result<Vec<Option<Facts<'a>>>, Refusal> {
    let mut refused = None;
    let facts = maps.iter().map(|map| {
        let found = is_deep(map).then(|| Facts::of(program, func, map))?;
        found.map_err(|why| refused.get_or_insert(PREDICTED.refused(span_of(map), why))).ok()
    });
    let facts: Vec<_> = facts.collect();
    match refused {
        Some(refused) if facts.iter().all(Option::is_none) => Err(refused),
        Some(_) | None => Ok(facts),
    }
}

/// A nest that is not searched and does not run alike in all plans: times say nothing then.
pub(super) fn differs(facts: &[Option<Facts<'_>>], plans: &[Plan]) -> Option<usize> {
    let differs = |at: &usize| plans.iter().any(|plan| plan.nests.get(*at) != plans[0].nests.get(*at));
    (0..facts.len()).filter(|at| facts[*at].is_none()).find(differs)
}

fn is_deep(map: &Map) -> bool {
    !inner_maps(&map.body).is_empty()
}

/// The plans, if any promises to save enough of the time of all others at sizes of some shape, and rules choose it there; nothing where no nest has
/// maps inside.
pub(crate) fn searched_plans<'p>(
    program: &'p Program,
    func: &'p Func,
    maps: &[&'p Map],
    plans: &[Plan],
    (measures, rules): (&[Measure], &[Rule]),
    (model, predictions): (&'p DeviceModel, &mut Predictions<'p>),
) -> Option<Result<Vec<Plan>, Refusal>> {
    let deep = maps.iter().find(|map| is_deep(map))?;
    let facts = match facts_of(program, func, maps) {
        Ok(facts) => facts,
        Err(refusal) => return Some(Err(refusal)),
    };
    if let Some(at) = differs(&facts, plans) {
        let why = "it is not searched, and runs differently from plan to plan";
        return Some(Err(PREDICTED.refused(span_of(maps[at]), why)));
    }
    let mut entry = Entry::of(program, func, maps, facts, model, None);
    let found = entry.searched(plans, (measures, rules));
    *predictions = Predictions::of(func, model, entry.known);
    Some(found?.map_err(|(constraint, why)| constraint.refused(span_of(deep), why)))
}

/// `searched`, `searched2`, `searched3` …
pub(super) fn searched_name(number: usize) -> String {
    if number == 0 { SEARCHED.to_owned() } else { format!("{SEARCHED}{}", number + 1) }
}

/// What is known of an entry's plans, and of those that the search may add.
struct Candidates {
    /// The plans' times.
    points: Vec<Point>,
    /// What thresholds choose.
    chosen: Vec<Option<usize>>,
    /// The candidates' times at the same points.
    times: Vec<Point>,
    /// The part of a time that is left where enough is saved.
    gain: f64,
}

impl Candidates {
    /// Those that together save most, at most so many: each saves enough somewhere beside all plans and those before it.
    fn best(&self, most: usize) -> Vec<usize> {
        let least = |(point, chosen): (&Point, &Option<usize>)| {
            // Nothing is known of what runs: it stays.
            (*chosen).and_then(|chosen| point.times[chosen])?;
            point.times.iter().flatten().copied().min_by(f64::total_cmp)
        };
        let mut least: Vec<Option<f64>> = self.points.iter().zip(&self.chosen).map(least).collect();
        let mut best = Vec::new();
        while best.len() < most {
            let worth = |at: usize| {
                let times = self.times.iter().zip(&least).filter_map(|(point, least)| point.times[at].zip(*least));
                times
                    .filter(|(time, least)| *time <= self.gain * least)
                    .map(|(time, least)| (least / time).ln())
                    .sum::<f64>()
            };
            let count = self.times.first().map_or(0, |point| point.times.len());
            let worths = (0..count).map(|at| (worth(at), at));
            let next: Option<(f64, usize)> =
                worths.filter(|(worth, _)| *worth > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((_, next)) = next else { break };
            for (point, least) in self.times.iter().zip(&mut least) {
                *least = (*least).map(|least| point.times[next].map_or(least, |time| time.min(least)));
            }
            best.push(next);
        }
        best
    }

    /// Those of them that rules choose where they save enough.
    fn that_rules_choose(&self, best: Vec<usize>, names: &[&str], rules: &[Rule], rule_gain: f64) -> Vec<usize> {
        let own: Vec<String> = (0..best.len()).map(searched_name).collect();
        let names: Vec<&str> = names.iter().copied().chain(own.iter().map(String::as_str)).collect();
        let with = |(point, times): (&Point, &Point)| Point {
            measures: point.measures.clone(),
            times: point.times.iter().copied().chain(best.iter().map(|at| times.times[*at])).collect(),
        };
        let points: Vec<Point> = self.points.iter().zip(&self.times).map(with).collect();
        let fitted = fitted(&points, &names, rules.to_vec(), rule_gain);
        let plans = names.len() - own.len();
        let is_chosen = |number: &usize| {
            points.iter().any(|point| {
                let others = point.times[..plans].iter().flatten().copied().fold(f64::INFINITY, f64::min);
                let time = point.times[plans + number].filter(|time| *time <= self.gain * others);
                time.is_some() && chosen_at(point, &names, &fitted) == Some(plans + number)
            })
        };
        (0..best.len()).filter(is_chosen).map(|number| best[number]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a plan of the search is kept beside another, each with a time at these measures, that has to save a fifth.
    fn is_kept(points: &[(i64, f64, f64)]) -> bool {
        let point = |measure: i64, time: f64| Point { measures: vec![Some(measure)], times: vec![Some(time)] };
        let candidates = Candidates {
            points: points.iter().map(|(measure, other, _)| point(*measure, *other)).collect(),
            chosen: vec![Some(0); points.len()],
            times: points.iter().map(|(measure, _, own)| point(*measure, *own)).collect(),
            gain: 0.8,
        };
        !candidates.that_rules_choose(vec![0], &["thread"], &[], 0.95).is_empty()
    }

    #[test]
    fn plans_are_kept_where_a_rule_chooses_them_and_they_save_enough() {
        assert!(is_kept(&[(1, 1.0, 0.5), (256, 1.0, 10.0)]));
        // No measure says where it is.
        assert!(!is_kept(&[(1, 1.0, 0.5), (1, 1.0, 10.0)]));
        // A rule chooses it, but where it saves a tenth.
        assert!(!is_kept(&[(1, 1.0, 0.5), (1, 1.0, 10.0), (256, 1.0, 0.9), (512, 1.0, 0.9), (1024, 1.0, 0.9)]));
    }
}

//! The plan that the search makes: each nest has the mapping that is best for it, where that promises more than every other plan; and when it
//! runs untuned.

use std::collections::BTreeMap;

use super::facts::{Facts, Numbers};
use super::{Domain, Space, best, cost, space_of};
use crate::blame::span_of;
use crate::dispatch::{Rule, deciding};
use crate::gains::{Compared, gaining};
use crate::mapping::Mapping;
use crate::measures::Measure;
use crate::refusal::{Constraint, GAIN, PREDICTED, Refusal};
use crate::sizes::points_of;
use crate::target::DeviceModel;
use crate::{Plan, SEARCHED, inner_maps};
use hidp_ir::par::{Func, Map, Program, VarId};

/// Steps between the binary logarithms of sizes.
pub(super) const STEP: usize = 4;

/// The nests of an entry, with what is known of those that the search looks at: they have maps inside.
pub(super) struct Entry<'a> {
    program: &'a Program,
    func: &'a Func,
    maps: &'a [&'a Map],
    facts: Vec<Option<Facts<'a>>>,
    model: &'a DeviceModel,
    /// Sizes at which plans are compared, and what they make of each nest.
    pub(super) points: Vec<(Vec<i64>, Vec<Option<Numbers>>)>,
}

impl<'a> Entry<'a> {
    pub(super) fn of(
        program: &'a Program,
        func: &'a Func,
        maps: &'a [&'a Map],
        facts: Vec<Option<Facts<'a>>>,
        model: &'a DeviceModel,
        sizes: Vec<Vec<i64>>,
    ) -> Self {
        let numbers = |sizes: &Vec<i64>| -> Vec<Option<Numbers>> {
            facts.iter().map(|facts| Some(facts.as_ref()?.at(sizes, &model.machine))).collect()
        };
        let points = sizes.into_iter().map(|sizes| (numbers(&sizes), sizes));
        let points = points.map(|(numbers, sizes)| (sizes, numbers)).collect();
        Entry { program, func, maps, facts, model, points }
    }

    /// The time of the nests that are searched; nothing if one of them is not predicted.
    pub(super) fn time(&self, mappings: &[Mapping], numbers: &[Option<Numbers>]) -> Option<f64> {
        let nests = self.facts.iter().zip(mappings).zip(numbers);
        let searched =
            nests.filter_map(|((facts, mapping), numbers)| Some((facts.as_ref()?, mapping, numbers.as_ref()?)));
        let times =
            searched.map(|(facts, mapping, numbers)| Some(cost::predict(facts, numbers, mapping, self.model)?.total()));
        times.sum()
    }

    /// The mappings that a plan's lines come to.
    pub(super) fn read(&self, plan: &Plan) -> Option<Vec<Mapping>> {
        read(self.program, self.func, self.maps, plan)
    }

    /// Mappings of all nests, each the best of its space at some of the sizes; nests that are not searched have those of another plan.
    fn candidates(&self, others: &[Mapping]) -> Vec<Vec<Mapping>> {
        let domain = (self.model, Domain::PLANNED);
        let nests = self.facts.iter().zip(self.maps);
        let spaces: Vec<Option<Space>> =
            nests.map(|(facts, map)| Some(space_of(self.program, self.func, map, domain, facts.as_ref()?))).collect();
        let best = |at: usize, numbers: &Option<Numbers>| match (&self.facts[at], &spaces[at], numbers) {
            (Some(facts), Some(space), Some(numbers)) => Some(best(facts, space, numbers, self.model).first()?.0),
            (None, _, _) | (_, None, _) | (_, _, None) => Some(0),
        };
        let rows =
            |numbers: &[Option<Numbers>]| numbers.iter().enumerate().map(|(at, numbers)| best(at, numbers)).collect();
        let mut found: Vec<Vec<usize>> = self.points.iter().filter_map(|(_, numbers)| rows(numbers)).collect();
        found.sort();
        found.dedup();
        let of = |((space, row), other): ((&Option<Space>, &usize), &Mapping)| match space {
            Some(space) => space.rows[*row].1.clone(),
            None => other.clone(),
        };
        found.iter().map(|rows| spaces.iter().zip(rows).zip(others).map(of).collect()).collect()
    }

    /// Measures where dimensions have these sizes.
    pub(super) fn measures(&self, measures: &[Measure], sizes: &[i64]) -> Vec<Option<i64>> {
        let known: BTreeMap<VarId, i64> = self.func.dims.iter().copied().zip(sizes.iter().copied()).collect();
        measures.iter().map(|measure| measure.at(&known)).collect()
    }

    /// When mappings run rather than what other rules choose.
    fn rules(&self, own: &[Mapping], plans: &[Plan], (measures, rules): (&[Measure], &[Rule])) -> Vec<Rule> {
        let planned: Vec<Option<Vec<Mapping>>> = plans.iter().map(|plan| self.read(plan)).collect();
        let at = |(sizes, numbers): &(Vec<i64>, Vec<Option<Numbers>>)| {
            let measures = self.measures(measures, sizes);
            let rule = deciding(rules, &measures, 1);
            let usual = rule.and_then(|rule| plans.iter().position(|plan| plan.name == rule.plan)).unwrap_or(0);
            let usual = planned.get(usual).and_then(|mappings| self.time(mappings.as_ref()?, numbers));
            let own = self.time(own, numbers).filter(|_| usual.is_some());
            Compared { measures, usual: vec![usual.unwrap_or(f64::INFINITY)], forms: vec![own.map(|time| vec![time])] }
        };
        let places: Vec<Compared> = self.points.iter().map(at).collect();
        gaining(&places, &[SEARCHED], self.gain())
    }

    /// The part of a time that is left where enough is saved.
    fn gain(&self) -> f64 {
        1.0 - f64::from(self.model.search_gain) / 100.0
    }
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

/// The plan, if it promises to save enough of the time of all others at sizes of some shape, and a rule can say when it saves as much of the
/// time of what would run; nothing where no nest has maps inside.
pub(crate) fn searched_plan(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    plans: &[Plan],
    (measures, rules): (&[Measure], &[Rule]),
    model: &DeviceModel,
) -> Option<Result<Plan, Refusal>> {
    let deep = maps.iter().find(|map| is_deep(map))?;
    let refused = |constraint: &'static Constraint, why: String| Err(constraint.refused(span_of(deep), why));
    let facts = match facts_of(program, func, maps) {
        Ok(facts) => facts,
        Err(refusal) => return Some(Err(refusal)),
    };
    if let Some(at) = differs(&facts, plans) {
        let why = "it is not searched, and runs differently from plan to plan";
        return Some(Err(PREDICTED.refused(span_of(maps[at]), why)));
    }
    let planned: Vec<Vec<Mapping>> = plans.iter().map(|plan| read(program, func, maps, plan)).collect::<Option<_>>()?;
    let near = planned.iter().position(|mappings| mappings.iter().any(|mapping| !mapping.staging.is_empty()));
    if let Some(near) = near {
        return Some(refused(
            &PREDICTED,
            format!("times of what blocks of `{}` keep near are not predicted", plans[near].name),
        ));
    }
    let others = planned.first()?;
    let entry = Entry::of(program, func, maps, facts, model, points_of(func, STEP));
    let least = |numbers: &[Option<Numbers>]| {
        planned.iter().filter_map(|mappings| entry.time(mappings, numbers)).min_by(f64::total_cmp)
    };
    let usual: Vec<Option<f64>> = entry.points.iter().map(|(_, numbers)| least(numbers)).collect();
    let worth = |mappings: &[Mapping]| {
        let times = entry.points.iter().zip(&usual);
        let times = times.filter_map(|((_, numbers), usual)| Some((entry.time(mappings, numbers)?, (*usual)?)));
        let saved = times.filter(|(time, usual)| *time <= entry.gain() * usual);
        saved.map(|(time, usual)| (usual / time).ln()).sum::<f64>()
    };
    let candidates = entry.candidates(others).into_iter().map(|mappings| (worth(&mappings), mappings));
    let best = candidates.filter(|(worth, _)| *worth > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, mappings)) = best else {
        let why = format!("no mapping saves {} % of the others' predicted time at any sizes", model.search_gain);
        return Some(refused(&GAIN, why));
    };
    if entry.rules(&mappings, plans, (measures, rules)).is_empty() {
        return Some(refused(&GAIN, "no rule over the entry's measures says where it saves time".to_owned()));
    }
    let nests = maps.iter().zip(&mappings).map(|(map, mapping)| mapping.lines(func, map));
    Some(Ok(Plan::new(SEARCHED, nests.collect())))
}

/// When that plan runs rather than what other rules choose.
pub(crate) fn searched_rules(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    plans: &[Plan],
    (measures, rules): (&[Measure], &[Rule]),
    model: &DeviceModel,
) -> Vec<Rule> {
    let Some(own) = plans.iter().find(|plan| plan.name == SEARCHED) else { return Vec::new() };
    let Ok(facts) = facts_of(program, func, maps) else { return Vec::new() };
    let entry = Entry::of(program, func, maps, facts, model, points_of(func, STEP));
    entry.read(own).map_or(Vec::new(), |own| entry.rules(&own, plans, (measures, rules)))
}

//! The plan that the search makes: each nest has the mapping that is best for it, where that promises more than every other plan; and when it
//! runs untuned.

use std::collections::BTreeMap;

use super::facts::Numbers;
use super::{Domain, Search, cost};
use crate::dispatch::{Rule, deciding};
use crate::gains::{Compared, gaining};
use crate::mapping::Mapping;
use crate::measures::Measure;
use crate::sizes::points_of;
use crate::target::DeviceModel;
use crate::{Plan, SEARCHED, inner_maps};
use hidp_ir::par::{Func, Map, Program, VarId};

/// Steps between the binary logarithms of sizes.
const STEP: usize = 4;

/// The nests of an entry, with the search for those that have maps inside.
struct Entry<'a> {
    program: &'a Program,
    func: &'a Func,
    maps: &'a [&'a Map],
    searches: Vec<Option<Search<'a>>>,
    model: &'a DeviceModel,
    /// Sizes at which plans are compared, and what each search makes of them.
    points: Vec<(Vec<i64>, Vec<Option<Numbers>>)>,
}

impl<'a> Entry<'a> {
    fn of(program: &'a Program, func: &'a Func, maps: &'a [&'a Map], model: &'a DeviceModel) -> Self {
        let search = |map: &&'a Map| {
            let is_deep = !inner_maps(&map.body).is_empty();
            Search::of(program, func, map, (model, Domain::PLANNED)).ok().filter(|_| is_deep)
        };
        let searches: Vec<Option<Search<'_>>> = maps.iter().map(search).collect();
        let numbers = |sizes: &Vec<i64>| -> Vec<Option<Numbers>> {
            searches.iter().map(|search| Some(search.as_ref()?.facts.at(sizes, &model.machine))).collect()
        };
        let points = points_of(func, STEP).into_iter().map(|sizes| (numbers(&sizes), sizes));
        let points = points.map(|(numbers, sizes)| (sizes, numbers)).collect();
        Entry { program, func, maps, searches, model, points }
    }

    /// The time of the nests that are searched; nothing if one of them is not predicted.
    fn time(&self, mappings: &[Mapping], numbers: &[Option<Numbers>]) -> Option<f64> {
        let nests = self.searches.iter().zip(mappings).zip(numbers);
        let searched =
            nests.filter_map(|((search, mapping), numbers)| Some((search.as_ref()?, mapping, numbers.as_ref()?)));
        let times = searched.map(|(search, mapping, numbers)| {
            Some(cost::predict(&search.facts, numbers, mapping, self.model)?.total())
        });
        times.sum()
    }

    /// The mappings that a plan's lines come to.
    fn read(&self, plan: &Plan) -> Option<Vec<Mapping>> {
        let nests = self.maps.iter().zip(&plan.nests);
        nests.map(|(map, nest)| Mapping::read(self.program, self.func, map, nest).ok()).collect()
    }

    /// Rows of each nest that are best at some sizes.
    fn best(&self, numbers: &[Option<Numbers>]) -> Option<Vec<usize>> {
        let best = |(search, numbers): (&Option<Search<'_>>, &Option<Numbers>)| match (search, numbers) {
            (Some(search), Some(numbers)) => Some(search.best(numbers).first()?.0),
            (None, _) | (_, None) => Some(0),
        };
        self.searches.iter().zip(numbers).map(best).collect()
    }

    /// Those rows as mappings; nests that are not searched have those of another plan.
    fn mappings(&self, rows: &[usize], others: &[Mapping]) -> Vec<Mapping> {
        let of = |((search, row), other): ((&Option<Search<'_>>, &usize), &Mapping)| match search {
            Some(search) => search.space.rows[*row].1.clone(),
            None => other.clone(),
        };
        self.searches.iter().zip(rows).zip(others).map(of).collect()
    }

    /// When mappings run rather than what other rules choose.
    fn rules(&self, own: &[Mapping], plans: &[Plan], (measures, rules): (&[Measure], &[Rule])) -> Vec<Rule> {
        let planned: Vec<Option<Vec<Mapping>>> = plans.iter().map(|plan| self.read(plan)).collect();
        let at = |(sizes, numbers): &(Vec<i64>, Vec<Option<Numbers>>)| {
            let known: BTreeMap<VarId, i64> = self.func.dims.iter().copied().zip(sizes.iter().copied()).collect();
            let measures: Vec<Option<i64>> = measures.iter().map(|measure| measure.at(&known)).collect();
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

/// The plan, if it promises to save enough of the time of all others at sizes of some shape, and a rule can say when it saves as much of the
/// time of what would run.
pub(crate) fn searched_plan(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    plans: &[Plan],
    (measures, rules): (&[Measure], &[Rule]),
    model: &DeviceModel,
) -> Option<Plan> {
    let entry = Entry::of(program, func, maps, model);
    let planned: Vec<Vec<Mapping>> = plans.iter().map(|plan| entry.read(plan)).collect::<Option<_>>()?;
    // What blocks keep near is not predicted.
    let near = planned.iter().flatten().any(|mapping| !mapping.staging.is_empty());
    if near || entry.searches.iter().all(Option::is_none) {
        return None;
    }
    // Nests that are not searched have to run alike in all plans, or times say nothing.
    let is_alike = |at: usize| plans.iter().all(|plan| plan.nests.get(at) == plans[0].nests.get(at));
    if !(0..maps.len()).all(|at| entry.searches[at].is_some() || is_alike(at)) {
        return None;
    }
    let others = planned.first()?;
    let least = |numbers: &[Option<Numbers>]| {
        planned.iter().filter_map(|mappings| entry.time(mappings, numbers)).min_by(f64::total_cmp)
    };
    let usual: Vec<Option<f64>> = entry.points.iter().map(|(_, numbers)| least(numbers)).collect();
    let mut rows: Vec<Vec<usize>> = entry.points.iter().filter_map(|(_, numbers)| entry.best(numbers)).collect();
    rows.sort();
    rows.dedup();
    let worth = |mappings: &[Mapping]| {
        let times = entry.points.iter().zip(&usual);
        let times = times.filter_map(|((_, numbers), usual)| Some((entry.time(mappings, numbers)?, (*usual)?)));
        let saved = times.filter(|(time, usual)| *time <= entry.gain() * usual);
        saved.map(|(time, usual)| (usual / time).ln()).sum::<f64>()
    };
    let found = rows.iter().map(|rows| entry.mappings(rows, others)).map(|mappings| (worth(&mappings), mappings));
    let (worth, mappings) = found.max_by(|a, b| a.0.total_cmp(&b.0))?;
    if worth <= 0.0 || entry.rules(&mappings, plans, (measures, rules)).is_empty() {
        return None;
    }
    let nests = maps.iter().zip(&mappings).map(|(map, mapping)| mapping.lines(func, map));
    Some(Plan::new(SEARCHED, nests.collect()))
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
    let entry = Entry::of(program, func, maps, model);
    entry.read(own).map_or(Vec::new(), |own| entry.rules(&own, plans, (measures, rules)))
}

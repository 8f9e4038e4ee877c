//! Schedules of one row: small coefficients, the best of those that are proved.

use std::rc::Rc;

use super::model::{Dependence, Level, Model};
use super::sample::SIZES;
use super::{Row, Schedule, dot};

/// Largest coefficient.
pub(super) const LARGEST: i64 = 2;
/// Extent of every index when numbers of steps are compared.
const NOMINAL: i64 = 16;
/// Choices of rows for all tables that one search compares with samples, and that it keeps.
pub(super) const SCREENED: usize = 20_000;
const KEPT: usize = 256;
/// Choices that one search fails to prove before it gives up.
const FAILURES: usize = 24;
/// Schedules of a system.
const SCHEDULES: usize = 3;

/// A cell and one that it calls.
pub(super) type Pair = (Vec<i64>, Vec<i64>);

/// What a call demands of a row.
pub(super) struct Demand {
    pub call: usize,
    /// Samples to which it applies.
    pub pairs: Rc<[Pair]>,
    /// By how much the caller has to be ahead, at least.
    pub least: i64,
}

impl Demand {
    /// By how much the caller is ahead in each sample.
    pub(super) fn ahead<'a>(&'a self, calls: &[Dependence], level: &'a Level) -> impl Iterator<Item = i64> + 'a {
        let Dependence { caller, callee, .. } = calls[self.call];
        self.pairs.iter().map(move |(from, to)| dot(&level[caller], from) - dot(&level[callee], to))
    }

    fn met(&self, calls: &[Dependence], level: &Level) -> bool {
        self.ahead(calls, level).all(|ahead| ahead >= self.least)
    }
}

/// What is preferred comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    /// Steps, for equal extents.
    pub steps: i64,
    /// Coefficients, those of the last indices first: along an index with coefficient 0 lie neighbours in memory.
    sizes: Vec<i64>,
    negative: usize,
}

pub(super) fn cost(level: &Level) -> Cost {
    let sum = |part: fn(i64) -> i64| level.iter().map(move |row| row.iter().map(|&factor| part(factor)).sum::<i64>());
    let last = sum(|factor| factor.max(0)).max().unwrap_or(0);
    let first = sum(|factor| factor.min(0)).min().unwrap_or(0);
    Cost {
        steps: 1 + (last - first) * (NOMINAL - 1),
        sizes: level.iter().flat_map(|row| row.iter().rev().map(|factor| factor.abs())).collect(),
        negative: level.iter().flatten().filter(|factor| **factor < 0).count(),
    }
}

/// All rows of an arity, the preferred first.
fn rows(arity: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![Vec::new()];
    for _ in 0..arity {
        let longer = |row: &Row| (-LARGEST..=LARGEST).map(|factor| [row.as_slice(), &[factor]].concat()).collect();
        rows = rows.iter().flat_map(|row| -> Vec<Row> { longer(row) }).collect();
    }
    rows.sort_by_cached_key(|row| cost(&vec![row.clone()]));
    rows
}

impl Model<'_> {
    /// Valid schedules, the preferred first. Tables of equal index lists have equal rows, unless there are none such.
    pub(super) fn search(&mut self) -> Vec<Schedule> {
        let mut groupings = vec![self.groups.clone(), (0..self.tables.len()).collect()];
        groupings.dedup();
        for groups in &groupings {
            self.regroup(groups);
            let found = self.one_row();
            if !found.is_empty() {
                return found;
            }
        }
        for groups in &groupings {
            self.regroup(groups);
            if let Some(found) = self.several_rows() {
                return vec![found];
            }
        }
        Vec::new()
    }

    fn regroup(&mut self, groups: &[usize]) {
        if self.groups != groups {
            self.groups = groups.to_vec();
            self.calls.iter_mut().for_each(|call| call.pairs = None);
        }
    }

    fn one_row(&mut self) -> Vec<Schedule> {
        let calls: Vec<usize> = self.live().collect();
        let least = |call: &Dependence| i64::from(call.caller == call.callee);
        let demands: Vec<Demand> = calls.into_iter().map(|call| self.demand(call, least(&self.calls[call]))).collect();
        let choices = self.choices(&demands);
        self.best(choices)
    }

    pub(super) fn demand(&mut self, call: usize, least: i64) -> Demand {
        Demand { call, pairs: self.pairs(call), least }
    }

    /// Samples of a call.
    pub(super) fn pairs(&mut self, call: usize) -> Rc<[Pair]> {
        if let Some(known) = &self.calls[call].pairs {
            return known.clone();
        }
        let pairs = match self.constant_pair(call) {
            Some(pair) => vec![pair],
            None => self.sampled_pairs(call),
        };
        let pairs: Rc<[Pair]> = pairs.into();
        self.calls[call].pairs = Some(pairs.clone());
        pairs
    }

    /// By how much the caller is ahead in each sample of a call.
    pub(super) fn sampled(&mut self, call: usize, level: &Level) -> Vec<i64> {
        self.demand(call, 0).ahead(&self.calls, level).collect()
    }

    /// A pair that stands for all where a table calls itself at a constant distance.
    fn constant_pair(&self, call: usize) -> Option<Pair> {
        let Dependence { caller, callee, distance, .. } = &self.calls[call];
        let distance = distance.as_ref().filter(|_| self.groups[*caller] == self.groups[*callee])?;
        Some((distance.clone(), vec![0; distance.len()]))
    }

    fn sampled_pairs(&mut self, call: usize) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = Vec::new();
        for (number, sizes) in SIZES.into_iter().enumerate() {
            // Others only where these are too small for what is known.
            if number < 2 || pairs.is_empty() {
                for sample in self.samples(call, sizes) {
                    pairs.extend(self.pair(call, &sample));
                }
            }
        }
        let Dependence { caller, callee, .. } = self.calls[call];
        if self.groups[caller] == self.groups[callee] {
            // Only the distance counts.
            for (from, to) in &mut pairs {
                for (from, to) in from.iter_mut().zip(to) {
                    (*from, *to) = (*from - *to, 0);
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Which tables have one row in common: those with equal lists of indices.
    fn classes(&self) -> Vec<Vec<usize>> {
        let mut classes: Vec<Vec<usize>> = vec![Vec::new(); self.tables.len()];
        for (table, &group) in self.groups.iter().enumerate() {
            classes[group].push(table);
        }
        classes.retain(|class| !class.is_empty());
        classes
    }

    /// Rows for all tables that no sample contradicts, the preferred first.
    pub(super) fn choices(&mut self, demands: &[Demand]) -> Vec<Level> {
        let classes = self.classes();
        let class_of = |table: usize| classes.iter().position(|class| class.contains(&table));
        let mut partial = Vec::new();
        for class in &classes {
            let own = |demand: &&Demand| {
                let Dependence { caller, callee, .. } = self.calls[demand.call];
                class.contains(&caller) && class.contains(&callee)
            };
            let own: Vec<&Demand> = demands.iter().filter(own).collect();
            let possible = rows(self.tables[class[0]].index.len()).into_iter().filter(|row| {
                let level = self.with_row(&self.no_rows(), class, row);
                own.iter().all(|demand| demand.met(&self.calls, &level))
            });
            partial.push(possible.collect::<Vec<Row>>());
        }
        // Those with the fewest possibilities first.
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by_key(|&class| partial[class].len());
        let mut open = vec![self.no_rows()];
        let mut chosen: Vec<usize> = Vec::new();
        for class in order {
            chosen.push(class);
            let known = |table: usize| class_of(table).is_some_and(|class| chosen.contains(&class));
            let between = |demand: &&Demand| {
                let Dependence { caller, callee, .. } = self.calls[demand.call];
                let crosses = class_of(caller) != class_of(callee);
                let new = class_of(caller) == Some(class) || class_of(callee) == Some(class);
                crosses && new && known(caller) && known(callee)
            };
            let between: Vec<&Demand> = demands.iter().filter(between).collect();
            let mut wider = Vec::new();
            for level in &open {
                for row in &partial[class] {
                    if self.work.screened >= SCREENED {
                        break;
                    }
                    self.work.screened += 1;
                    let level = self.with_row(level, &classes[class], row);
                    if between.iter().all(|demand| demand.met(&self.calls, &level)) {
                        wider.push(level);
                    }
                }
            }
            wider.sort_by_cached_key(cost);
            wider.truncate(KEPT);
            open = wider;
        }
        open
    }

    fn no_rows(&self) -> Level {
        self.tables.iter().map(|table| vec![0; table.index.len()]).collect()
    }

    fn with_row(&self, level: &Level, class: &[usize], row: &Row) -> Level {
        let mut level = level.clone();
        for &table in class {
            level[table].clone_from(row);
        }
        level
    }

    /// The best of these, and those that may be better for other sizes.
    fn best(&mut self, choices: Vec<Level>) -> Vec<Schedule> {
        let mut found: Vec<(Level, Schedule)> = Vec::new();
        let mut failures = 0;
        let mut rest = choices.as_slice();
        while let Some(first) = rest.first() {
            let steps = cost(first).steps;
            let (same, others) = rest.split_at(rest.iter().take_while(|level| cost(level).steps == steps).count());
            rest = others;
            let mut equal: Vec<(Level, Schedule)> = Vec::new();
            for level in same {
                if failures >= FAILURES || found.len() + equal.len() >= SCHEDULES {
                    break;
                }
                if found.iter().chain(&equal).any(|(better, _)| dominates(better, level)) {
                    continue;
                }
                match self.ranks(std::slice::from_ref(level)) {
                    Ok(ranks) => equal.push((level.clone(), self.schedule(std::slice::from_ref(level), &ranks))),
                    Err(_) => failures += 1,
                }
            }
            // Stable: what is equal stays in the order of cost.
            equal.sort_by_key(|(_, schedule)| kept(schedule));
            found.extend(equal);
        }
        found.into_iter().map(|(_, schedule)| schedule).collect()
    }
}

/// Whether no size makes the second need fewer steps.
fn dominates(better: &Level, other: &Level) -> bool {
    let mut factors = better.iter().flatten().zip(other.iter().flatten());
    factors.all(|(better, other)| better.abs() <= other.abs())
}

/// What the windows of a schedule keep: unknown ones more than any known.
fn kept(schedule: &Schedule) -> (usize, u32) {
    let windows = || schedule.tables.iter().map(|table| table.window);
    (windows().filter(Option::is_none).count(), windows().flatten().sum())
}

//! Schedules of several rows.

use std::cmp::Reverse;

use super::Schedule;
use super::model::{Ahead, Level, Model};
use super::search::{Demand, Pair, cost};

/// Rows of one level that are tried to prove.
const TRIED: usize = 8;

impl Model<'_> {
    /// Row by row, each never against a call and ahead for as many as possible; what is left is ordered by the next ones.
    pub(super) fn several_rows(&mut self) -> Option<Schedule> {
        let most = self.tables.iter().map(|table| table.index.len()).max()?;
        let mut levels: Vec<Level> = Vec::new();
        let mut demands: Vec<Demand> = self.live().map(|call| self.demand(call, 0)).collect();
        while levels.len() < most {
            let level = self.greedy(&levels, &demands)?;
            levels.push(level);
            let mut left = Vec::new();
            for demand in demands {
                if self.ahead(demand.call, &levels) != Ahead::Strictly {
                    left.push(self.equal_so_far(&demand, &levels));
                }
            }
            demands = left;
            let same_step: Vec<usize> = demands.iter().map(|demand| demand.call).collect();
            if let Ok(ranks) = self.topological(&same_step) {
                return Some(self.schedule(&levels, &ranks));
            }
        }
        None
    }

    /// A row that is proved to be never against a call and is ahead for the most.
    fn greedy(&mut self, levels: &[Level], demands: &[Demand]) -> Option<Level> {
        let mut choices = self.choices(demands);
        choices.sort_by_cached_key(|level| {
            let ahead = |demand: &&Demand| demand.ahead(&self.calls, level).all(|ahead| ahead > 0);
            let samples = |demand: &Demand| demand.ahead(&self.calls, level).filter(|ahead| *ahead > 0).count();
            let sometimes = demands.iter().map(samples).sum::<usize>();
            (Reverse(demands.iter().filter(ahead).count()), Reverse(sometimes), cost(level))
        });
        choices.into_iter().take(TRIED).find(|level| {
            let tried: Vec<Level> = levels.iter().chain([level]).cloned().collect();
            let helps = demands.iter().any(|demand| demand.ahead(&self.calls, level).any(|ahead| ahead > 0));
            helps && demands.iter().all(|demand| self.ahead(demand.call, &tried) != Ahead::Unproved)
        })
    }

    /// What a call demands of the next row: where the last one was ahead, nothing.
    fn equal_so_far(&self, demand: &Demand, levels: &[Level]) -> Demand {
        let Some(last) = levels.last() else {
            return Demand { call: demand.call, pairs: demand.pairs.clone(), least: 0 };
        };
        let ahead = demand.ahead(&self.calls, last);
        let pairs: Vec<Pair> =
            demand.pairs.iter().zip(ahead).filter(|(_, ahead)| *ahead == 0).map(|(pair, _)| pair.clone()).collect();
        Demand { call: demand.call, pairs: pairs.into(), least: 0 }
    }
}

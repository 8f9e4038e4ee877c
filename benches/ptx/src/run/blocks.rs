//! Blocks: one after the other, or those of a grid that wait for each other.

use super::{Run, Stop};
use crate::cost;
use crate::counts::Counts;
use crate::warp::{BlockVote, Warp};

/// Barriers over the grid after which a launch counts as one that does not end.
const MOST_PARTS: usize = 100_000;

/// A block under way.
pub(super) struct Block {
    place: [u32; 3],
    shared: Vec<u8>,
    warps: Vec<Warp>,
    /// Whether each has not returned, and whether it waits for the others of the block.
    going: Vec<bool>,
    waiting: Vec<bool>,
    /// When what is counted at present began.
    since: u64,
}

impl Run<'_> {
    /// Runs all blocks together. What they do before each barrier over the grid, and after the last one.
    pub(super) fn together(mut self, places: impl Iterator<Item = [u32; 3]>) -> Result<Vec<Counts>, String> {
        let mut all: Vec<Block> = places.map(|place| self.start(place)).collect();
        let mut parts = Vec::new();
        while !all.is_empty() && parts.len() < MOST_PARTS {
            let mut left = Vec::new();
            for mut block in all {
                if !self.block(&mut block)? {
                    left.push(block);
                }
            }
            all = left;
            self.touched.next_part();
            let Counts { kernel, blocks, threads, .. } = &self.counts;
            let (kernel, blocks, threads) = (kernel.clone(), *blocks, *threads);
            let next = Counts { kernel, blocks, threads, goes_on: true, ..Counts::default() };
            parts.push(std::mem::replace(&mut self.counts, next));
        }
        if all.is_empty() { Ok(parts) } else { Err(format!("`{}` does not end", self.counts.kernel)) }
    }

    pub(super) fn start(&self, place: [u32; 3]) -> Block {
        let threads = self.counts.threads;
        let warps: Vec<Warp> = (0..threads.div_ceil(32)).map(|at| Warp::new(self.kernel, 32 * at, threads)).collect();
        let (going, waiting) = (vec![true; warps.len()], vec![false; warps.len()]);
        // Shared memory holds anything at first.
        Block { place, shared: vec![0xcd; self.shared_bytes], warps, going, waiting, since: 0 }
    }

    /// Runs a block until it has ended or waits for others. Whether it has ended.
    pub(super) fn block(&mut self, block: &mut Block) -> Result<bool, String> {
        self.touched.next_block();
        self.position.block = block.place;
        std::mem::swap(&mut self.shared, &mut block.shared);
        let ended = self.until_others(block);
        std::mem::swap(&mut self.shared, &mut block.shared);
        let last = block.warps.iter().map(|warp| warp.clock.now()).max().unwrap_or(0);
        self.counts.alone += last - block.since;
        self.counts.slowest = self.counts.slowest.max(last - block.since);
        block.since = last;
        ended.map_err(|why| format!("`{}`, block {:?}: {why}", self.counts.kernel, block.place))
    }

    fn until_others(&mut self, Block { warps, going, waiting: at_barrier, .. }: &mut Block) -> Result<bool, String> {
        while going.iter().any(|one| *one) {
            let mut sleeps = false;
            let able = warps.iter_mut().zip(going.iter_mut()).zip(at_barrier.iter_mut());
            for ((warp, goes), waits) in able.filter(|((_, goes), waits)| **goes && !**waits) {
                match self.warp(warp)? {
                    Stop::AtBarrier => *waits = true,
                    Stop::Sleeps => sleeps = true,
                    Stop::Returned => *goes = false,
                }
            }
            if sleeps {
                return Ok(false);
            }
            at_barrier.fill(false);
            let waiting = || warps.iter().zip(going.iter()).filter(|(_, goes)| **goes).map(|(warp, _)| warp);
            let time = waiting().map(|warp| warp.clock.now()).max().unwrap_or(0) + cost::MEETING;
            let votes: Vec<BlockVote> = waiting().filter_map(|warp| warp.vote).collect();
            if !votes.is_empty() && votes.len() < waiting().count() {
                return Err("warps wait at different barriers".into());
            }
            let (some, all) = (votes.iter().any(|vote| vote.holds), votes.iter().all(|vote| vote.holds));
            for (warp, _) in warps.iter_mut().zip(going.iter()).filter(|(_, goes)| **goes) {
                warp.clock.wait_until(time);
                if let Some(vote) = warp.vote.take() {
                    warp.set(vote.target, &[u64::from(if vote.any { some } else { all }); 32], u32::MAX);
                }
            }
        }
        Ok(true)
    }
}

//! The requests of the warps of a nest under a mapping.

use super::facts::{Facts, LoopNumbers, Numbers, SiteNumbers};
use super::lanes::{Digit, resident};
use super::requests::{Reaches, Request, all, requests, shared, total, within};
use super::slots::Form;
use crate::blocks::{BlockLine, Blocks};
use crate::mapping::{Exec, Mapping, Recipe};
use crate::notation::FoldOption;
use crate::target::DeviceModel;
use hidp_ir::par::VarId;
use hidp_syntax::ast::Level;
use hidp_syntax::place::{Axis, Place};

/// Arrays of this part of a multiprocessor's cache stay there.
const SMALL: f64 = 4.0;

/// What warps ask for.
pub(super) struct Asked<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) numbers: &'a Numbers,
    pub(super) mapping: &'a Mapping,
    pub(super) model: &'a DeviceModel,
    /// Threads of a block.
    pub(super) block: u32,
    /// Warps that are started, and groups of 32 lanes' worth of work.
    pub(super) warps: f64,
    /// Issue slots of warps, and what they would be if all lanes had work of their own.
    pub(super) issued: f64,
    pub(super) useful: f64,
    /// The same of all warps that are started, as if none were without work.
    pub(super) slots: f64,
    /// The same of the warps with the longest ranges, as if all had these.
    pub(super) longest: f64,
    /// Issue slots of warps that fold across lanes.
    pub(super) combined: f64,
    /// Lines that multiprocessors look up.
    pub(super) lines: f64,
    /// Sectors that requests touch, those of another launch for parts too.
    pub(super) sectors: f64,
    /// Bytes that come from the second-level cache.
    pub(super) fetched: f64,
    /// Of each array: bytes that are needed, and those that are fetched or stored.
    pub(super) arrays: Vec<[f64; 2]>,
    /// Times that loads take which wait for each other, of all warps that are started.
    pub(super) waits: f64,
    pub(super) launches: f64,
    /// Times of further launches besides their starts.
    pub(super) folding: f64,
    /// The time above which nothing more is counted, and whether it was reached.
    pub(super) limit: f64,
    pub(super) is_over: bool,
}

/// What is around a map.
#[derive(Clone)]
pub(super) struct Around {
    /// How often warps that have work run an iteration of the map around, those too that wait for lanes of longer ranges.
    pub(super) executions: f64,
    /// The part of warps that have work.
    pub(super) busy: f64,
    /// How often a warp with the longest ranges runs it, relative to the mean.
    pub(super) longest: f64,
    /// How often lanes would, of 32 that have work.
    pub(super) useful: f64,
    /// How often which lanes of a warp are there, or of one warp of a block whose lanes are all at the same iteration.
    pub(super) requests: Vec<Request>,
    /// The group whose lanes share what is inside.
    pub(super) scope: Level,
    /// What a lane takes one after the other, the innermost first.
    pub(super) turns: Vec<Turns>,
    /// Iterations of the map inside from one turn of its lanes to the next, for each lane that it has.
    pub(super) apart: f64,
    /// Iterations whose loads are under way together.
    pub(super) together: f64,
    /// Iterations of the outermost map that a lane takes.
    pub(super) of_lane: f64,
    /// Those of them that it takes side by side.
    pub(super) beside: f64,
    /// How a lane comes to those of this one.
    pub(super) form: Form,
}

/// Iterations that a lane takes one after the other.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    iter: usize,
    count: f64,
    /// Iterations from one to the next.
    apart: f64,
}

impl Turns {
    /// Bytes from one turn's access to the next one's.
    fn stride(&self, site: &SiteNumbers) -> Option<f64> {
        site.strides[self.iter].map(|stride| (stride * self.apart).abs())
    }
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        facts: &'a Facts<'a>,
        numbers: &'a Numbers,
        mapping: &'a Mapping,
        model: &'a DeviceModel,
    ) -> Self {
        let block = mapping.blocks.values().next().copied().unwrap_or(model.block);
        Asked {
            facts,
            numbers,
            mapping,
            model,
            block,
            warps: 0.0,
            issued: 0.0,
            useful: 0.0,
            slots: 0.0,
            longest: 0.0,
            combined: 0.0,
            lines: 0.0,
            sectors: 0.0,
            fetched: 0.0,
            arrays: vec![[0.0; 2]; facts.arrays.len()],
            waits: 0.0,
            launches: 1.0,
            folding: 0.0,
            limit: f64::INFINITY,
            is_over: false,
        }
    }

    pub(super) fn loop_at(&self, at: usize) -> &'a LoopNumbers {
        &self.numbers.loops[at]
    }

    pub(super) fn warps_of_block(&self) -> f64 {
        f64::from(self.block.div_ceil(self.model.warp).max(1))
    }

    /// The outermost map.
    pub(super) fn launched(&mut self, at: usize) -> Option<()> {
        let node = &self.facts.loops[at];
        let items = self.loop_at(at).iterations;
        let (around, started) = match &self.mapping.recipe {
            Recipe::Near(_) | Recipe::Tiled(_) | Recipe::Lanes(_) | Recipe::Wide(_) => return None,
            Recipe::Blocks(blocks) => self.shaped(at, blocks)?,
            Recipe::Plain if self.mapping.is_split() => return self.split(at),
            Recipe::Plain if !node.map.folds.is_empty() => return None,
            Recipe::Plain => match self.mapping.exec(node.map.iters.last()?.var)? {
                Exec::Device(Level::Kernel) => return None,
                Exec::Device(Level::Block) => {
                    let executions = items * self.warps_of_block();
                    let around = self.around(all(items), items);
                    (Around { executions, scope: Level::Block, ..around }, executions)
                }
                Exec::Device(level) => {
                    let lanes = self.model.warp / self.model.lanes(level, self.block).max(1);
                    let digits = self.fastest_first(at, lanes);
                    let together = node.map.iters.last().and_then(|iter| self.mapping.items.get(&iter.var)).copied();
                    let together = f64::from(together.unwrap_or(1));
                    let around = self.around(requests(&digits, &self.numbers.counts), items);
                    let started = around.executions;
                    (Around { together, of_lane: together, scope: level, ..around }, started)
                }
                Exec::Team | Exec::Thread | Exec::Lanes | Exec::Simd | Exec::Wide | Exec::Seq => return None,
            },
        };
        self.warps = (started / around.of_lane).ceil();
        self.body(at, &around);
        Some(())
    }

    /// Iterations of a launched map that single lanes take.
    pub(super) fn around(&self, requests: Vec<Request>, items: f64) -> Around {
        Around {
            executions: total(&requests),
            busy: 1.0,
            longest: 1.0,
            useful: items / f64::from(self.model.warp),
            requests,
            scope: Level::Thread,
            turns: Vec::new(),
            apart: 1.0,
            together: 1.0,
            of_lane: 1.0,
            beside: 1.0,
            form: Form::Items,
        }
    }

    /// Lanes along the iterators of a launched map, as the launch lays them out.
    pub(super) fn fastest_first(&self, at: usize, lanes: u32) -> Vec<Digit> {
        let node = &self.facts.loops[at];
        let dim = |iter: usize| {
            let var = node.map.iters[iter - node.first].var;
            self.mapping.levels.get(&var).map_or(0, |level| level.dim)
        };
        let mut iters: Vec<usize> = (node.first..node.first + node.map.iters.len()).collect();
        iters.sort_by_key(|iter| dim(*iter));
        let mut left = lanes;
        let mut digits = Vec::new();
        for (order, iter) in iters.iter().enumerate() {
            let filled =
                (self.numbers.counts[*iter].max(1.0).min(f64::from(left)) as u32).next_power_of_two().min(left);
            let count = if order + 1 == iters.len() { left } else { filled };
            digits.push(Digit::next(*iter, count));
            left /= count.max(1);
        }
        digits
    }

    /// Lanes of a warp that the iterations of a launched map can fill.
    pub(super) fn filled(&self, at: usize) -> u32 {
        let warp = f64::from(self.model.warp);
        (self.loop_at(at).iterations.clamp(1.0, warp) as u32).next_power_of_two()
    }

    /// Blocks of the shape that lines say, and how many warps are started, times what each takes.
    fn shaped(&self, at: usize, blocks: &Blocks) -> Option<(Around, f64)> {
        let node = &self.facts.loops[at];
        let number = |var: VarId| node.map.iters.iter().position(|iter| iter.var == var).map(|at| node.first + at);
        let (mut started, mut digits) = (self.warps_of_block(), Vec::new());
        let (mut turns, mut of_lane) = (Vec::new(), 1.0);
        for iter in &node.map.iters {
            let lines: Vec<_> = blocks.of(iter.var).collect();
            let (own, count) = (number(iter.var)?, self.numbers.counts[number(iter.var)?]);
            let sized: f64 = lines.iter().filter_map(|line| line.size).map(f64::from).product();
            let lanes: f64 = lines
                .iter()
                .filter(|line| matches!(line.place, Place::Thread(_)))
                .filter_map(|line| line.size)
                .map(f64::from)
                .product();
            started *= (count / sized).ceil() * sized / lanes;
            let in_turn = lines.iter().find(|line| matches!(line.place, Place::Seq | Place::Reg));
            if let Some(line) = in_turn {
                let taken = line.size.map_or((count / sized).ceil(), f64::from);
                of_lane *= taken;
                turns.insert(0, Turns { iter: own, count: taken.min(count).max(1.0), apart: lanes });
            }
        }
        for axis in Axis::ALL {
            for line in blocks.lines.iter().filter(|line| line.place == Place::Thread(axis)).rev() {
                // Iterations from a lane to the next: what the lines below take.
                let below: f64 = blocks
                    .of(line.var)
                    .skip_while(|other| *other != line)
                    .skip(1)
                    .filter_map(|line| line.size)
                    .map(f64::from)
                    .product();
                digits.push(Digit { step: below, ..Digit::next(number(line.var)?, line.size?) });
            }
        }
        let mut left = self.model.warp;
        for digit in &mut digits {
            digit.count = digit.count.min(left);
            digit.apart = f64::from(digit.count);
            left /= digit.count.max(1);
        }
        // What no lanes of a warp lie along, warps take one after the other.
        let alone = (node.first..node.first + node.map.iters.len())
            .filter(|iter| digits.iter().all(|digit| digit.iter != *iter))
            .map(|iter| Digit::next(iter, 1));
        let digits: Vec<Digit> = digits.iter().copied().chain(alone).collect();
        let around = self.around(requests(&digits, &self.numbers.counts), self.loop_at(at).iterations);
        let busy = (around.executions / started.max(1.0)).min(1.0);
        let is_beside = |line: &&BlockLine| {
            line.place == Place::Reg
                && self.facts.beside.is_some_and(|beside| self.facts.iters[beside.iter].var == line.var)
        };
        let beside = blocks.lines.iter().filter(is_beside).filter_map(|line| line.size).map(f64::from).product();
        Some((Around { busy, turns, of_lane, beside, ..around }, started))
    }

    /// An iteration of a map, and what is inside.
    fn body(&mut self, at: usize, around: &Around) {
        let slots = self.slots_of(at, around.form, around.beside);
        let alone = around.form.alone(self.loop_at(at).iterations);
        let useful = if alone == around.form { slots } else { self.slots_of(at, alone, around.beside) };
        let issued = around.executions * slots;
        self.issued += issued;
        // Cycles between dependent instructions, of which a near load takes several.
        let machine = &self.model.machine;
        let waits = self.facts.loops[at].chained * f64::from(machine.near_latency) / f64::from(machine.dependent);
        let slots = (issued + around.executions * waits) / around.busy.max(f64::MIN_POSITIVE);
        self.slots += slots;
        self.longest += slots * around.longest;
        self.useful += around.useful * useful;
        self.accesses(at, around);
        let facts = self.facts;
        for inner in &facts.loops[at].inside {
            if self.has_reached_limit() {
                return;
            }
            let iterations = self.loop_at(*inner).iterations;
            self.shared(*inner, around, iterations);
        }
    }

    /// All iterations of a map inside.
    pub(super) fn shared(&mut self, at: usize, around: &Around, iterations: f64) {
        let node = &self.facts.loops[at];
        let numbers = self.loop_at(at);
        let own = node.first..node.first + node.map.iters.len();
        let last = self.facts.last(at);
        let exec = self.mapping.exec(self.facts.iters[last].var);
        let folds = node.map.folds.len() as f64;
        let times = around.executions * numbers.weight;
        let along = |lanes: u32| shared(own.clone(), &self.numbers.counts, iterations, lanes);
        // Warps that share iterations.
        let warps = if around.scope == Level::Block { self.warps_of_block() } else { 1.0 };
        let (width, requests, scope, sharing) = match exec {
            Some(Exec::Device(Level::Thread)) if around.scope != Level::Thread => {
                let width = self.model.lanes(around.scope, self.block);
                self.combined += times * folds * self.steps(width);
                (width, along(width.min(self.model.warp)), Level::Thread, warps)
            }
            Some(Exec::Device(over)) if around.scope == Level::Block => {
                self.combined += times * folds * self.steps(self.block);
                let group = self.model.lanes(over, self.block).max(1);
                ((self.block / group).max(1), along((self.model.warp / group).max(1)), over, warps)
            }
            Some(Exec::Device(_) | Exec::Team | Exec::Thread | Exec::Lanes | Exec::Simd | Exec::Wide | Exec::Seq)
            | None => (1, all(iterations), around.scope, 1.0),
        };
        let trips = (iterations / f64::from(width)).ceil();
        let executions = times / sharing * total(&requests);
        let busy = around.busy * (executions / (times * trips).max(f64::MIN_POSITIVE)).min(1.0);
        let mut waiting = 1.0;
        let side_by_side = |requests: &[Request]| requests.iter().any(|request| request.lanes.count() > 1);
        if numbers.ragged && side_by_side(&around.requests) {
            // The lanes of a warp wait for those with the longest ranges.
            let longest = (iterations / f64::from(width) * f64::from(self.model.machine.unequal)).ceil();
            waiting = longest.max(trips) / trips.max(1.0);
        }
        // What reaches no array by itself or inside requests nothing.
        let requests = if node.sites.is_empty() && node.inside.is_empty() {
            Vec::new()
        } else {
            let mut requests = within(&around.requests, &requests);
            requests.iter_mut().for_each(|request| request.count *= numbers.weight);
            requests
        };
        let own = Turns { iter: last, count: trips.max(1.0), apart: around.apart * f64::from(width) };
        let inside = Around {
            executions: executions * waiting,
            busy,
            longest: around.longest * (numbers.longest / numbers.iterations.max(1.0)).max(1.0),
            useful: around.useful * numbers.weight * iterations,
            requests,
            scope,
            turns: [own].into_iter().chain(around.turns.iter().copied()).collect(),
            apart: 1.0,
            together: f64::from(self.model.machine.under_way).min(trips.max(1.0)),
            of_lane: 1.0,
            beside: around.beside,
            form: if width == 1 { Form::InOrder(trips) } else { Form::Shared(trips) },
        };
        self.body(at, &inside);
    }

    /// Issue slots of a warp that folds across so many lanes, and for barriers where other warps take part.
    fn steps(&self, lanes: u32) -> f64 {
        let step = f64::from(self.model.slots.meeting);
        let own = step * f64::from(lanes.min(self.model.warp).ilog2());
        let others = lanes / self.model.warp;
        if others > 1 { own + step * f64::from(others.ilog2()) + step * f64::from(others) } else { own }
    }

    pub(super) fn accesses(&mut self, at: usize, around: &Around) {
        let (machine, numbers) = (self.model.machine, self.loop_at(at));
        let processors = f64::from(machine.multiprocessors).min(self.warps.max(1.0));
        let resident = resident(self.block, self.model).min((self.warps / processors).ceil().max(1.0));
        let moves = self.mapping.cut(self.facts.loops[at].map).and_then(|cut| cut.number(FoldOption::Moves));
        let (mut loaded, mut all) = (0.0, 0.0);
        for site in &numbers.sites {
            let reaches = self.reaches(around, site);
            let of_sectors = reaches.touched(site.size, machine.sector);
            let sectors = of_sectors / total(&around.requests).max(f64::MIN_POSITIVE);
            // Of a row of its own, a lane moves several elements at once.
            let in_row =
                around.turns.first().and_then(|turns| turns.stride(site)).is_some_and(|stride| stride == site.size);
            let at_once = moves.filter(|_| in_row).map_or(1.0, f64::from);
            let shared = self.shared_by(site, around.beside);
            let lines = site.weight * shared / at_once * reaches.touched(site.size, machine.line);
            // A request of several elements for each lane touches no fewer than one after the other does, but all at once.
            let at_once = if at_once == 1.0 {
                of_sectors
            } else {
                reaches.touched(site.size * at_once, machine.sector) / at_once
            };
            let of_requests = site.weight * shared * at_once;
            let asked = site.weight * of_sectors * f64::from(machine.sector);
            self.lines += lines;
            self.sectors += of_requests;
            if !site.is_first {
                continue;
            }
            let asked = asked * self.again(site, &around.turns, resident * sectors * f64::from(machine.sector));
            // What a multiprocessor's cache holds it fetches once.
            let needed = self.needed(at, site);
            let is_small = !site.write && needed * SMALL <= f64::from(machine.near_cache);
            let bytes = if is_small { asked.min(needed * processors) } else { asked };
            self.fetched += bytes;
            if !site.write {
                all += bytes;
                loaded += sectors * f64::from(machine.sector) * around.together;
            }
            let [reached, fetched] = &mut self.arrays[site.array];
            *reached = (*reached + needed).min(site.whole);
            *fetched += bytes;
        }
        if all > 0.0 {
            let under_way = loaded.max(f64::from(machine.sector)) * around.busy;
            self.waits += all / under_way.max(f64::MIN_POSITIVE);
        }
    }

    /// The part of what turns ask for that those before have not brought: nothing of the first, of which a multiprocessor holds so many bytes.
    fn again(&self, site: &SiteNumbers, turns: &[Turns], mut held: f64) -> f64 {
        let machine = &self.model.machine;
        let mut again = 1.0;
        for turns in turns {
            let Some(stride) = turns.stride(site) else { break };
            if stride > 0.0 && held > f64::from(machine.near_cache) {
                break;
            }
            let further = (stride / f64::from(machine.sector)).max(1.0 / turns.count).min(1.0);
            again *= further;
            held *= further * turns.count;
        }
        again
    }

    /// Where the lanes of all requests of an access are.
    pub(super) fn reaches(&self, around: &Around, site: &SiteNumbers) -> Reaches {
        // All warps of a block load what its lanes share, one stores it.
        let warps = if around.scope == Level::Block && !site.write { self.warps_of_block() } else { 1.0 };
        Reaches::of(&around.requests, site, &self.numbers.counts, warps)
    }

    /// Bytes that all iterations together reach.
    fn needed(&self, at: usize, site: &SiteNumbers) -> f64 {
        let mut reached = site.size;
        let last = self.facts.last(at);
        for (stride, count) in site.strides[..=last].iter().zip(&self.numbers.counts) {
            match stride {
                Some(0.0) => {}
                Some(_) | None => reached *= count,
            }
        }
        reached.min(site.whole)
    }
}

//! What the warps of a nest ask for, as a mapping has them.

use super::facts::{Facts, LoopNumbers, Numbers, SiteNumbers};
use super::lanes::{Digit, Lanes, along, resident};
use crate::MOST_MOVED;
use crate::blocks::Blocks;
use crate::mapping::{Exec, Mapping, Recipe, Strategy};
use crate::notation::FoldOption;
use crate::target::DeviceModel;
use hidp_ir::par::VarId;
use hidp_syntax::ast::Level;
use hidp_syntax::place::{Axis, Place};

/// Arrays of this part of a multiprocessor's cache stay there.
const SMALL: f64 = 4.0;

/// What warps ask for.
pub(super) struct Asked<'a> {
    facts: &'a Facts<'a>,
    numbers: &'a Numbers,
    mapping: &'a Mapping,
    model: &'a DeviceModel,
    /// Threads of a block.
    pub(super) block: u32,
    /// Warps that are started, and groups of 32 lanes' worth of work.
    pub(super) warps: f64,
    /// Instructions of warps, and what they would be if all lanes had work.
    pub(super) issued: f64,
    pub(super) useful: f64,
    /// Instructions of warps that fold across lanes.
    pub(super) combined: f64,
    /// Lines that multiprocessors look up.
    pub(super) lines: f64,
    /// Sectors that requests touch.
    pub(super) sectors: f64,
    /// Bytes that come from the second-level cache.
    pub(super) fetched: f64,
    /// Of each array: bytes that are needed, those that are fetched or stored, and those of loads among them.
    pub(super) arrays: Vec<[f64; 3]>,
    /// Bytes that a warp has under way, where most is fetched; and how much that is.
    pub(super) under_way: (f64, f64),
    pub(super) launches: f64,
    /// Times of further launches besides their starts.
    pub(super) folding: f64,
}

/// What is around a map.
#[derive(Clone)]
struct Around {
    /// How often warps run an iteration of the map around.
    executions: f64,
    /// How often lanes would, of 32 that have work.
    useful: f64,
    lanes: Lanes,
    /// The group whose lanes share what is inside.
    scope: Level,
    /// The iterator whose iterations a lane takes one after the other, how many, and how far they are apart.
    turns: Option<(usize, f64, f64)>,
    /// Iterations of the map inside from one turn of its lanes to the next, for each lane that it has.
    apart: f64,
    /// Iterations whose loads are under way together.
    together: f64,
    /// Iterations of the outermost map that a lane takes.
    of_lane: f64,
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
            combined: 0.0,
            lines: 0.0,
            sectors: 0.0,
            fetched: 0.0,
            arrays: vec![[0.0; 3]; facts.arrays.len()],
            under_way: (0.0, 0.0),
            launches: 1.0,
            folding: 0.0,
        }
    }

    fn loop_at(&self, at: usize) -> &'a LoopNumbers {
        &self.numbers.loops[at]
    }

    pub(super) fn warps_of_block(&self) -> f64 {
        f64::from(self.block.div_ceil(self.model.warp).max(1))
    }

    /// The outermost map.
    pub(super) fn launched(&mut self, at: usize) -> Option<()> {
        let node = &self.facts.loops[at];
        let items = self.loop_at(at).iterations;
        let (warp, wide) = (self.model.warp, f64::from(self.model.warp));
        let plain = |executions: f64, digits: Vec<Digit>, scope: Level| Around {
            executions,
            useful: items / wide,
            lanes: Lanes::default().within(digits),
            scope,
            turns: None,
            apart: 1.0,
            together: 1.0,
            of_lane: 1.0,
        };
        let around = match &self.mapping.recipe {
            Recipe::Near(_) | Recipe::Tiled(_) | Recipe::Lanes(_) | Recipe::Wide(_) => return None,
            Recipe::Blocks(blocks) => self.shaped(at, blocks)?,
            Recipe::Plain if self.mapping.is_split() => return self.split(at),
            Recipe::Plain if !node.map.folds.is_empty() => return None,
            Recipe::Plain => match self.mapping.exec(node.map.iters.last()?.var)? {
                Exec::Device(Level::Kernel) => return None,
                Exec::Device(Level::Block) => plain(items * self.warps_of_block(), Vec::new(), Level::Block),
                Exec::Device(level) => {
                    let lanes = warp / self.model.lanes(level, self.block).max(1);
                    let digits = self.fastest_first(at, lanes);
                    let filled: f64 = digits
                        .iter()
                        .map(|digit| {
                            let count = self.numbers.counts[digit.iter];
                            (count / f64::from(digit.count)).ceil() * f64::from(digit.count) / count.max(1.0)
                        })
                        .product();
                    let together = node.map.iters.last().and_then(|iter| self.mapping.items.get(&iter.var)).copied();
                    let together = f64::from(together.unwrap_or(1));
                    let executions = (items * filled / f64::from(lanes)).ceil();
                    Around { together, of_lane: together, ..plain(executions, digits, level) }
                }
                Exec::Team | Exec::Thread | Exec::Lanes | Exec::Simd | Exec::Wide | Exec::Seq => return None,
            },
        };
        self.warps = (around.executions / around.of_lane).ceil();
        self.body(at, &around);
        Some(())
    }

    /// Lanes along the iterators of a launched map, as the launch lays them out.
    fn fastest_first(&self, at: usize, lanes: u32) -> Vec<Digit> {
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
            digits.push(Digit { iter: *iter, count, step: 1.0 });
            left /= count.max(1);
        }
        digits
    }

    /// Lanes of a warp that the iterations of a launched map can fill.
    fn filled(&self, at: usize) -> u32 {
        let warp = f64::from(self.model.warp);
        (self.loop_at(at).iterations.clamp(1.0, warp) as u32).next_power_of_two()
    }

    /// Blocks of the shape that lines say.
    fn shaped(&self, at: usize, blocks: &Blocks) -> Option<Around> {
        let node = &self.facts.loops[at];
        let number = |var: VarId| node.map.iters.iter().position(|iter| iter.var == var).map(|at| node.first + at);
        let (mut executions, mut digits, mut useful) = (1.0, Vec::new(), 1.0);
        let (mut turns, mut of_lane) = (None, 1.0);
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
            executions *= (count / sized).ceil() * sized / lanes;
            useful *= count;
            let in_turn = lines.iter().find(|line| matches!(line.place, Place::Seq | Place::Reg));
            if let Some(line) = in_turn {
                let trips = line.size.map_or((count / sized).ceil(), f64::from);
                of_lane *= trips;
                turns = Some((own, trips, if trips > 1.0 { lanes } else { 1.0 }));
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
                digits.push(Digit { iter: number(line.var)?, count: line.size?, step: below });
            }
        }
        let mut left = self.model.warp;
        for digit in &mut digits {
            digit.count = digit.count.min(left);
            left /= digit.count.max(1);
        }
        Some(Around {
            executions: executions * self.warps_of_block(),
            useful: useful / f64::from(self.model.warp),
            lanes: Lanes::default().within(digits),
            scope: Level::Thread,
            turns,
            apart: 1.0,
            together: 1.0,
            of_lane,
        })
    }

    /// Groups of their own take parts of the fold inside.
    fn split(&mut self, at: usize) -> Option<()> {
        let inner = self.facts.inside(at).next()?;
        let (results, terms) = (self.loop_at(at).iterations.max(1.0), self.loop_at(inner).iterations.max(1.0));
        let cut = self.mapping.cut(self.facts.loops[inner].map);
        let least = |word: fn(u32) -> FoldOption| cut.and_then(|cut| cut.number(word)).map_or(1.0, f64::from);
        let parts = match self.mapping.parts {
            Some(parts) => f64::from(parts).min(terms),
            None => {
                (least(FoldOption::Groups) / results).floor().max(1.0).min((terms / least(FoldOption::Terms)).ceil())
            }
        };
        let of_part = (terms / parts).ceil();
        let by_blocks = self.mapping.strategy == Strategy::Device(Level::Block);
        let wide = f64::from(self.model.warp);
        let (executions, digits, scope, apart) = if by_blocks {
            (results * parts * self.warps_of_block(), Vec::new(), Level::Block, 1.0)
        } else {
            // Lanes that the results leave without work take parts, which have neighbouring terms.
            let mut digits = self.fastest_first(at, self.filled(at));
            let of_results: u32 = digits.iter().map(|digit| digit.count).product();
            let of_parts = self.model.warp / of_results.max(1);
            digits.push(Digit { iter: self.facts.last(inner), count: of_parts, step: 1.0 });
            let executions = (results / f64::from(of_results)).ceil() * (parts / f64::from(of_parts)).ceil();
            (executions, digits, Level::Thread, parts)
        };
        self.warps = executions;
        let around = Around {
            executions,
            useful: results * parts / wide,
            lanes: Lanes::default().within(digits),
            scope,
            turns: None,
            apart,
            together: 1.0,
            of_lane: 1.0,
        };
        self.shared(inner, &around, of_part);
        // What the first launch leaves, the second reads; a warp folds a result, or a block where parts are many.
        let many = cut.and_then(|cut| cut.number(FoldOption::Many)).is_some_and(|many| parts >= f64::from(many));
        let folding = f64::from(if many { self.block } else { self.model.warp });
        let left = results * parts * 2.0 * f64::from(MOST_MOVED) / 2.0;
        let machine = &self.model.machine;
        let turns = (parts / (folding * f64::from(machine.under_way))).ceil();
        self.launches += 1.0;
        self.folding += left / f64::from(machine.bandwidth) + turns * f64::from(machine.latency);
        Some(())
    }

    /// An iteration of a map, and what is inside.
    fn body(&mut self, at: usize, around: &Around) {
        let node = &self.facts.loops[at];
        let sites = &self.loop_at(at).sites;
        let accesses: f64 = sites.iter().map(|site| site.weight).sum();
        self.issued += around.executions * (node.operations + accesses + 1.0);
        self.useful += around.useful * (node.operations + accesses + 1.0);
        self.accesses(at, around);
        for inner in self.facts.inside(at).collect::<Vec<_>>() {
            let iterations = self.loop_at(inner).iterations;
            self.shared(inner, around, iterations);
        }
    }

    /// All iterations of a map inside.
    fn shared(&mut self, at: usize, around: &Around, iterations: f64) {
        let node = &self.facts.loops[at];
        let numbers = self.loop_at(at);
        let own = node.first..node.first + node.map.iters.len();
        let last = self.facts.last(at);
        let exec = self.mapping.exec(self.facts.iters[last].var);
        let folds = node.map.folds.len() as f64;
        let times = around.executions * numbers.weight;
        let (width, digits, scope) = match exec {
            Some(Exec::Device(Level::Thread)) if around.scope != Level::Thread => {
                let width = self.model.lanes(around.scope, self.block);
                let digits = along(own, &self.numbers.counts, width.min(self.model.warp));
                self.combined += times * folds * self.steps(width);
                (width, digits, Level::Thread)
            }
            Some(Exec::Device(over)) if around.scope == Level::Block => {
                self.combined += times * folds * self.steps(self.block);
                ((self.block / self.model.lanes(over, self.block).max(1)).max(1), Vec::new(), over)
            }
            Some(Exec::Device(_) | Exec::Team | Exec::Thread | Exec::Lanes | Exec::Simd | Exec::Wide | Exec::Seq)
            | None => (1, Vec::new(), around.scope),
        };
        let mut trips = (iterations / f64::from(width)).ceil();
        if numbers.ragged && around.lanes.count() > 1 {
            // The lanes of a warp wait for those with the longest ranges.
            trips = trips.max(iterations / f64::from(width) * f64::from(self.model.machine.unequal)).ceil();
        }
        let inside = Around {
            executions: times * trips,
            useful: around.useful * numbers.weight * iterations,
            lanes: around.lanes.within(digits),
            scope,
            turns: Some((last, trips.max(1.0), around.apart * f64::from(width))),
            apart: 1.0,
            together: f64::from(self.model.machine.under_way).min(trips.max(1.0)),
            of_lane: 1.0,
        };
        self.body(at, &inside);
    }

    /// Instructions of a warp that folds across so many lanes: two for each step, and barriers where other warps take part.
    fn steps(&self, lanes: u32) -> f64 {
        let own = 2.0 * f64::from(lanes.min(self.model.warp).ilog2());
        let others = lanes / self.model.warp;
        if others > 1 { own + 2.0 * f64::from(others.ilog2()) + 2.0 * f64::from(others) } else { own }
    }

    fn accesses(&mut self, at: usize, around: &Around) {
        let (machine, numbers) = (self.model.machine, self.loop_at(at));
        let processors = f64::from(machine.multiprocessors).min(self.warps.max(1.0));
        let resident = resident(self.block, self.model).min((self.warps / processors).ceil().max(1.0));
        let moves = self.mapping.cut(self.facts.loops[at].map).and_then(|cut| cut.number(FoldOption::Moves));
        let (mut loaded, mut all) = (0.0, 0.0);
        for site in &numbers.sites {
            let executions = around.executions * site.weight;
            let sectors = around.lanes.touched(site, machine.sector);
            let stride =
                around.turns.map(|(iter, trips, step)| (site.strides[iter].map(|stride| (stride * step).abs()), trips));
            // Of a row of its own, a lane moves several elements at once.
            let in_row = stride.and_then(|(stride, _)| stride).is_some_and(|stride| stride == site.size);
            let at_once = moves.filter(|_| in_row).map_or(1.0, f64::from);
            self.lines += executions / at_once * around.lanes.touched(site, machine.line);
            // A request of several elements for each lane touches no fewer than one after the other does, but all at once.
            self.sectors += executions / at_once * around.lanes.touched_by(site, site.size * at_once, machine.sector);
            if !site.is_first {
                continue;
            }
            let kept = resident * sectors * f64::from(machine.sector) <= f64::from(machine.near_cache);
            // What the iterations before have brought.
            let again = match stride {
                Some((Some(0.0), trips)) => 1.0 / trips,
                Some((Some(stride), _)) if kept => (stride / f64::from(machine.sector)).min(1.0),
                Some(_) | None => 1.0,
            };
            let asked = executions * sectors * f64::from(machine.sector) * again;
            // What a multiprocessor's cache holds it fetches once.
            let needed = self.needed(at, site);
            let is_small = !site.write && needed * SMALL <= f64::from(machine.near_cache);
            let bytes = if is_small { asked.min(needed * processors) } else { asked };
            self.fetched += bytes;
            if !site.write {
                all += bytes;
                loaded += sectors * f64::from(machine.sector) * around.together;
            }
            let [reached, fetched, of_loads] = &mut self.arrays[site.array];
            *reached = (*reached + needed).min(site.whole);
            *fetched += bytes;
            *of_loads += if site.write { 0.0 } else { bytes };
        }
        if all > self.under_way.1 {
            self.under_way = (loaded.max(f64::from(machine.sector)), all);
        }
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

//! The hardware model of graphics processors.

use std::sync::LazyLock;

use super::document::{self, DocumentError};
use super::reading::{Reading, Row};
use super::{CallLevels, Codelets, Tunable};
use hidp_syntax::ast::Level;

/// A model of a graphics processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceModel {
    /// Levels, outermost first.
    pub levels: Vec<DeviceLevel>,
    /// Threads of a warp.
    pub warp: u32,
    /// Threads of a block at most.
    pub most_threads: u32,
    /// The same where iterations have loops, in plans that are searched for: what loops keep takes registers.
    pub most_threads_with_loops: u32,
    /// Threads of a multiprocessor at most.
    pub resident: u32,
    /// Lanes of a warp that lie next to each other along the columns of a tile of results, where there are as many.
    pub warp_columns: u32,
    /// Bytes of loads that a multiprocessor needs under way at a time to use all of the memory's bandwidth.
    pub in_flight: u32,
    /// Bytes that the threads of a block share.
    pub shared: u32,
    /// Blocks of a multiprocessor at most.
    pub resident_blocks: u32,
    /// Registers of a multiprocessor.
    pub registers: u32,
    /// How many registers a warp gets at a time.
    pub register_step: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_of_multiprocessor: u32,
    /// Bytes of it that the device takes of each block for itself.
    pub shared_of_block: u32,
    /// Bytes of it that a block gets at a time.
    pub shared_step: u32,
    /// Bytes a private array of a thread may have to be kept in registers or its own memory.
    pub small_array: u32,
    /// Bytes of the arrays that iterations declare, of all iterations that run at a time.
    pub scratch: u32,
    /// Default number of threads per block.
    pub block: u32,
    /// Iterations that a block folds before its result is written.
    pub run: u32,
    /// Results of blocks that one block folds in the end.
    pub most_runs: u32,
    /// Iterations that a block folds before its result is written, where each holds maps of its own.
    pub heavy_run: u32,
    /// Iterations of a row from which on a warp takes it alone: at least two for each lane.
    pub warp_row: u32,
    /// What programs leave open for codelets.
    pub codelets: Codelets,
    /// Levels at which calls of functions with codelets run.
    pub calls: CallLevels,
    /// How many positions a thread takes at a time.
    pub items: DeviceItems,
    /// Bytes that a lane moves at once along a row of its own, into registers.
    pub moved_bytes: u32,
    /// Arrays of which it does so at most.
    pub moved_arrays: u32,
    /// Elements of a tile's operand that it moves at once at most.
    pub moved_elements: u32,
    /// Tiles of iterations that share what they read.
    pub near: DeviceNear,
    /// Bytes that come from the host's memory, or go there, in a microsecond.
    pub copy_bandwidth: u32,
    /// Times that a thread of the processor is faster than a lane.
    pub host_speed: u32,
    /// Microseconds of a call that works on copies, however small they are.
    pub copy_latency: u32,
    /// The number of iterations of the outermost map from which on a level is chosen, the lowest level first.
    pub thresholds: Vec<(Level, u32)>,
    /// Elements of rows, which are apart, from which on groups of a level do not take them, the lowest level first.
    pub short_rows: Vec<(Level, u32)>,
    /// What a tuner may vary.
    pub tunables: Vec<Tunable>,
    /// Tiles of results that a block makes from what it keeps in shared memory, the largest first.
    pub tiles: Vec<DeviceTile>,
    /// Folds of which groups of their own take parts.
    pub split: DeviceSplit,
    /// Percent of the time that a plan of the search has to promise.
    pub search_gain: u32,
    /// How many plans of the search there are at most.
    pub search_plans: u32,
    /// Percent of the time that rules by predicted times have to promise somewhere.
    pub rule_gain: u32,
    /// What times are predicted from.
    pub machine: DeviceMachine,
    /// What iterations take besides what they compute.
    pub slots: DeviceSlots,
}

/// Issue slots of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSlots {
    /// Of an item of a launch: whether it is one, and where.
    pub item: u32,
    /// To find an iterator in an index that several share.
    pub quotient: u32,
    /// The same where the program has the number of iterations.
    pub known_quotient: u32,
    /// To find where an access is.
    pub place: u32,
    /// Of a loop, for each turn.
    pub turn: u32,
    /// Turns of a loop at most that are written out, if the program has their number.
    pub written_out: u32,
    /// To fold with another lane.
    pub meeting: u32,
}

/// What a device does at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMachine {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Cycles in a microsecond.
    pub clock: u32,
    /// Warps of a multiprocessor that begin an instruction in a cycle.
    pub schedulers: u32,
    /// Cycles from an instruction of a warp to one that uses its result.
    pub dependent: u32,
    /// Bytes of memory in a nanosecond.
    pub bandwidth: u32,
    /// Bytes of the second-level cache in a nanosecond.
    pub cache_bandwidth: u32,
    /// Bytes that the second-level cache holds.
    pub cache: u32,
    /// Bytes that a multiprocessor's own cache holds.
    pub near_cache: u32,
    /// Nanoseconds of a load from memory.
    pub latency: u32,
    /// Bytes of memory that come at a time at least.
    pub sector: u32,
    /// Bytes that a multiprocessor's cache looks up in a cycle.
    pub line: u32,
    /// Nanoseconds of a launch.
    pub launch: u32,
    /// Assumed registers per thread, before compilation.
    pub thread_registers: u32,
    /// Iterations of a loop whose loads are under way together.
    pub under_way: u32,
    /// How much longer the longest of a warp's ranges is than their mean, where data give their lengths.
    pub unequal: u32,
    /// Iterations of a loop or range of which nothing is known.
    pub unknown: u32,
}

/// Tiles of iterations that share what they read: iterations along the lanes, and across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNear {
    /// Of a stencil in two dimensions.
    pub flat: (u32, u32),
    /// Of one in three.
    pub deep: (u32, u32),
    /// Of arrays that lanes would load with gaps.
    pub across: (u32, u32),
    /// Planes that a block takes one after the other.
    pub planes: u32,
    /// Loads of an iteration that an element serves at least, where lanes would load it without gaps.
    pub least_reads: u32,
}

/// A tile of results whose operands a block keeps in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTile {
    /// Rows of results.
    pub rows: u32,
    /// Columns of results.
    pub columns: u32,
    /// Terms of the folds whose operands are there at a time.
    pub depth: u32,
    /// Rows that a lane has.
    pub lane_rows: u32,
    /// Columns that a lane has.
    pub lane_columns: u32,
    /// The number of results from which on it is chosen.
    pub from: u32,
    /// Bytes of the largest element for which registers are enough.
    pub widest: u32,
    /// Blocks that there should be, where other blocks take other parts of the folds; 0 if folds stay whole.
    pub split: u32,
    /// Terms of a fold from which on such a tile is chosen.
    pub terms: u32,
}

/// Folds of which groups of their own take parts, where results are few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSplit {
    /// Threads that there should be, where neighbouring ones take neighbouring results, and terms of a thread's part at least.
    pub threads: u32,
    /// See above.
    pub thread_terms: u32,
    /// Blocks that there should be, where the lanes of a block share a part.
    pub blocks: u32,
    /// Terms of a fold from which on it is split, however few results there are.
    pub long: u32,
    /// Results from which on shorter folds are too, where neighbouring threads take neighbouring results.
    pub several: u32,
    /// Terms of those folds at least.
    pub short: u32,
    /// Parts from which on a block folds those of a result, rather than a warp: more than a warp has under way in two turns.
    pub many: u32,
    /// Depths of tiles that a part has at least: while the lanes work on one, the next is on its way.
    pub depths: u32,
}

/// How many positions a thread takes side by side, and for how many blocks a kernel leaves registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceItems {
    /// Positions at most: each repeats the kernel's code.
    pub most: u32,
    /// Bytes of the loads of a thread's positions that its registers have room for, besides all else.
    pub bytes: u32,
    /// Bytes of a thread's loads from which on nvcc, left alone, takes so many registers that few threads run: it computes the
    /// addresses of many loads before the loop.
    pub many: u32,
    /// Registers of a thread with which half the threads that a multiprocessor can have still run, nearly.
    pub registers: u32,
    /// How many of those are for other things than what it loads.
    pub for_others: u32,
}

/// An execution level of a graphics processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLevel {
    /// Which.
    pub level: Level,
    /// How many groups of this level are in one of the level above; `None` where the device or the size of a block tells.
    pub parallelism: Option<u32>,
}

impl DeviceTile {
    /// Threads of a block that makes such a tile.
    pub fn threads(&self) -> u32 {
        (self.rows / self.lane_rows.max(1)) * (self.columns / self.lane_columns.max(1))
    }
}

impl DeviceModel {
    /// The model of processors that CUDA programs.
    pub fn cuda() -> DeviceModel {
        static MODEL: LazyLock<DeviceModel> = LazyLock::new(|| {
            DeviceModel::read(include_str!("../../targets/cuda.toml")).expect("the built-in model is well formed")
        });
        MODEL.clone()
    }

    /// Reads a model.
    pub fn read(text: &str) -> Result<DeviceModel, DocumentError> {
        let document = document::parse(text)?;
        let reading = Reading::new(text, &document);
        let int = |table: &str, key: &str| reading.int(table, key);
        let threshold = |level: Level| Ok((level, int("dispatch", level.name())?));
        let chosen = [Level::Thread, Level::Subwarp2, Level::Subwarp, Level::Warp, Level::Block];
        let thresholds: Result<Vec<_>, DocumentError> = chosen.into_iter().map(threshold).collect();
        let short = |level: Level| Ok((level, int("rows", level.name())?));
        let short_rows: Result<Vec<_>, DocumentError> =
            [Level::Thread, Level::Subwarp2, Level::Subwarp].into_iter().map(short).collect();
        let model = DeviceModel {
            levels: reading.rows("level").map(level).collect::<Result<_, _>>()?,
            warp: int("lanes", "warp")?,
            codelets: reading.codelets(int("lanes", "warp")?)?,
            calls: CallLevels::of(&reading)?,
            most_threads: int("lanes", "most")?,
            most_threads_with_loops: int("lanes", "most_with_loops")?,
            resident: int("lanes", "resident")?,
            warp_columns: int("lanes", "warp_columns")?,
            in_flight: int("memory", "in_flight")?,
            shared: int("memory", "shared")?,
            resident_blocks: int("multiprocessor", "blocks")?,
            registers: int("multiprocessor", "registers")?,
            register_step: int("multiprocessor", "register_step")?,
            shared_of_multiprocessor: int("multiprocessor", "shared")?,
            shared_of_block: int("multiprocessor", "shared_of_block")?,
            shared_step: int("multiprocessor", "shared_step")?,
            small_array: int("memory", "small_array")?,
            scratch: int("memory", "scratch")?,
            block: int("work", "block")?,
            run: int("work", "run")?,
            most_runs: int("work", "most_runs")?,
            heavy_run: int("work", "heavy_run")?,
            warp_row: int("work", "warp_row")?,
            items: DeviceItems {
                most: int("items", "most")?,
                bytes: int("items", "bytes")?,
                many: int("items", "many")?,
                registers: int("items", "registers")?,
                for_others: int("items", "for_others")?,
            },
            moved_bytes: int("moves", "bytes")?,
            moved_arrays: int("moves", "arrays")?,
            moved_elements: int("moves", "elements")?,
            near: DeviceNear {
                flat: (int("near", "flat_columns")?, int("near", "flat_rows")?),
                deep: (int("near", "deep_columns")?, int("near", "deep_rows")?),
                across: (int("near", "across_columns")?, int("near", "across_rows")?),
                planes: int("near", "planes")?,
                least_reads: int("near", "least_reads")?,
            },
            copy_bandwidth: int("copies", "bandwidth")?,
            host_speed: int("copies", "slower")?,
            copy_latency: int("copies", "latency")?,
            thresholds: thresholds?,
            short_rows: short_rows?,
            tunables: reading.tunables()?,
            tiles: reading.rows("tile").map(tile).collect::<Result<_, _>>()?,
            split: DeviceSplit {
                threads: int("split", "threads")?,
                thread_terms: int("split", "thread_terms")?,
                blocks: int("split", "blocks")?,
                long: int("split", "long")?,
                several: int("split", "several")?,
                short: int("split", "short")?,
                many: int("split", "many")?,
                depths: int("split", "depths")?,
            },
            search_gain: int("search", "gain")?,
            search_plans: int("search", "plans")?,
            rule_gain: int("search", "rules")?,
            machine: DeviceMachine {
                multiprocessors: int("machine", "multiprocessors")?,
                clock: int("machine", "clock")?,
                schedulers: int("machine", "schedulers")?,
                dependent: int("machine", "dependent")?,
                bandwidth: int("machine", "bandwidth")?,
                cache_bandwidth: int("machine", "cache_bandwidth")?,
                cache: int("machine", "cache")?,
                near_cache: int("machine", "near_cache")?,
                latency: int("machine", "latency")?,
                sector: int("machine", "sector")?,
                line: int("machine", "line")?,
                launch: int("machine", "launch")?,
                thread_registers: int("machine", "registers")?,
                under_way: int("machine", "under_way")?,
                unequal: int("machine", "unequal")?,
                unknown: int("machine", "unknown")?,
            },
            slots: DeviceSlots {
                item: int("slots", "item")?,
                quotient: int("slots", "quotient")?,
                known_quotient: int("slots", "known_quotient")?,
                place: int("slots", "place")?,
                turn: int("slots", "turn")?,
                written_out: int("slots", "written_out")?,
                meeting: int("slots", "meeting")?,
            },
        };
        reading.finish()?;
        Ok(model)
    }

    /// A level.
    pub fn level(&self, level: Level) -> Option<&DeviceLevel> {
        self.levels.iter().find(|row| row.level == level)
    }

    /// Lanes of a group of a level, in blocks of `block` threads.
    pub fn lanes(&self, level: Level, block: u32) -> u32 {
        let parts = |level| self.level(level).and_then(|row| row.parallelism).unwrap_or(1).max(1);
        match level {
            Level::Kernel | Level::Block => block,
            Level::Warp => self.warp,
            Level::Subwarp | Level::Subwarp2 => self.warp / parts(level),
            Level::Thread => 1,
        }
    }

    /// Whether a block can have so many threads: full warps, as far as the device has them.
    pub fn is_block(&self, threads: u32) -> bool {
        threads.is_multiple_of(self.warp) && (self.warp..=self.most_threads).contains(&threads)
    }

    /// The sizes of blocks next to a number: what is below, and what is not.
    pub fn blocks_around(&self, threads: u32) -> (u32, u32) {
        let low = (threads / self.warp * self.warp).clamp(self.warp, self.most_threads);
        (low, threads.next_multiple_of(self.warp).clamp(self.warp, self.most_threads))
    }
}

fn level(row: Row<'_>) -> Result<DeviceLevel, DocumentError> {
    let named = |name: &str| Level::ALL.into_iter().find(|level| level.name() == name);
    let level = row.name("name", "the name of a level", named)?;
    Ok(DeviceLevel { level, parallelism: Some(row.natural("parallelism")?).filter(|parts| *parts > 0) })
}

fn tile(row: Row<'_>) -> Result<DeviceTile, DocumentError> {
    Ok(DeviceTile {
        rows: row.natural("rows")?,
        columns: row.natural("columns")?,
        depth: row.natural("depth")?,
        lane_rows: row.natural("lane_rows")?,
        lane_columns: row.natural("lane_columns")?,
        from: row.natural("from")?,
        widest: row.natural("widest")?,
        split: row.natural("split")?,
        terms: row.natural("terms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many groups of a level are in one of the level above, and how many lanes they have, as in HiDP's Table 4.
    fn widths(model: &DeviceModel) -> String {
        let row = |level: &DeviceLevel| {
            let parts = level.parallelism.map_or("any".to_owned(), |parts| parts.to_string());
            format!("{:<9}{parts:<4}{}\n", level.level.name(), model.lanes(level.level, model.block))
        };
        model.levels.iter().map(row).collect()
    }

    #[test]
    fn levels_are_those_of_the_paper() {
        let model = DeviceModel::cuda();
        let expected = "\
kernel   1   256
block    any 256
warp     any 32
subwarp  4   8
subwarp2 8   4
thread   any 1
";
        assert_eq!(widths(&model), expected);
    }

    #[test]
    fn blocks_are_full_warps() {
        let model = DeviceModel::cuda();
        assert_eq!(
            [0, 1, 32, 33, 100, 1024, 1056].map(|threads| model.is_block(threads)),
            [false, false, true, false, false, true, false]
        );
        assert_eq!([1, 100, 5000].map(|threads| model.blocks_around(threads)), [(32, 32), (96, 128), (1024, 1024)]);
    }

    #[test]
    fn missing_keys_are_named() {
        let text = include_str!("../../targets/cuda.toml").replace("in_flight = ", "split = ");
        let wrong = |text: &str| DeviceModel::read(text).unwrap_err().message;
        assert_eq!(wrong(&text), "`memory.in_flight` is missing: expected a number of at most 32 bits");
        let text = include_str!("../../targets/cuda.toml").replace("name = \"warp\"", "name = \"wrap\"");
        assert_eq!(wrong(&text), "`level.name` is not the name of a level");
    }
}

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
    /// Threads per warp.
    pub warp: u32,
    /// Maximum number of threads per block.
    pub most_threads: u32,
    /// The same for iterations with loops, in plans of the search: loops need registers.
    pub most_threads_with_loops: u32,
    /// Maximum number of threads per multiprocessor.
    pub resident: u32,
    /// Lanes of a warp that are adjacent along the columns of a tile of results, if the tile has as many.
    pub warp_columns: u32,
    /// Bytes of loads that a multiprocessor needs in flight to saturate the memory bandwidth.
    pub in_flight: u32,
    /// Bytes of shared memory per block.
    pub shared: u32,
    /// Maximum number of blocks per multiprocessor.
    pub resident_blocks: u32,
    /// Registers per multiprocessor.
    pub registers: u32,
    /// Granularity of the allocation of registers to a warp.
    pub register_step: u32,
    /// Bytes of shared memory per multiprocessor.
    pub shared_of_multiprocessor: u32,
    /// Bytes of it that the device reserves per block.
    pub shared_of_block: u32,
    /// Granularity in bytes of its allocation to a block.
    pub shared_step: u32,
    /// Maximum bytes of a thread's private array that is kept in registers or local memory.
    pub small_array: u32,
    /// Maximum bytes of the arrays that iterations declare, over all concurrent iterations.
    pub scratch: u32,
    /// Default number of threads per block.
    pub block: u32,
    /// The same where threads of a block share nothing.
    pub apart: u32,
    /// Iterations that a block folds before its result is written.
    pub run: u32,
    /// Results of blocks that one block folds at the end.
    pub most_runs: u32,
    /// Iterations that a block folds before its result is written, if each contains maps.
    pub heavy_run: u32,
    /// Minimum length of a row that gets a warp of its own: at least two iterations per lane.
    pub warp_row: u32,
    /// Maximum iterations that a lane takes side by side, and maximum unroll factor of its loops.
    pub unrolled: u32,
    /// Values for what codelets leave open.
    pub codelets: Codelets,
    /// Levels at which calls of functions with codelets run.
    pub calls: CallLevels,
    /// Bytes of shared memory per thread of a block for copies of arrays that the block updates atomically.
    pub copied_bytes: u32,
    /// Minimum number of operations of a launch per element of all blocks' copies.
    pub copied_element: u32,
    /// Positions that a thread takes at a time, and registers for them.
    pub items: DeviceItems,
    /// Bytes that a lane loads at once along a row of its own.
    pub moved_bytes: u32,
    /// Maximum number of arrays that it loads so.
    pub moved_arrays: u32,
    /// Maximum number of elements of a tile's operand that it moves at once.
    pub moved_elements: u32,
    /// Tiles of iterations that share what they read.
    pub near: DeviceNear,
    /// Bandwidth of copies from and to host memory, in bytes per microsecond.
    pub copy_bandwidth: u32,
    /// Speed of a processor thread relative to a lane.
    pub host_speed: u32,
    /// Fixed cost in microseconds of a call with copies.
    pub copy_latency: u32,
    /// Minimum number of iterations of the outermost map for each level, the lowest level first.
    pub thresholds: Vec<(Level, u32)>,
    /// Length of non-adjacent rows from which groups of a level do not take them, the lowest level first.
    pub short_rows: Vec<(Level, u32)>,
    /// What a tuner may vary.
    pub tunables: Vec<Tunable>,
    /// Tiles of results with operands in shared memory, the largest first.
    pub tiles: Vec<DeviceTile>,
    /// Split folds.
    pub split: DeviceSplit,
    /// Predicted saving in percent that a plan of the search needs.
    pub search_gain: u32,
    /// Maximum number of plans of the search.
    pub search_plans: u32,
    /// Predicted saving in percent that rules by predicted times need at some sizes.
    pub rule_gain: u32,
    /// Peak rates and latencies for predictions.
    pub machine: DeviceMachine,
    /// Issue slots of iterations beside their arithmetic.
    pub slots: DeviceSlots,
    /// Loops that are written out.
    pub written_out: WrittenOut,
    /// Kernels that have `int`s for `long`s where these fit.
    pub narrow: NarrowKernels,
}

/// Which kernels have `int`s for `long`s where these fit: such a kernel is compiled twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NarrowKernels {
    /// Minimum number of operations that have `int`s.
    pub operations: u32,
    /// Maximum number of products in the bound that is tested before a launch.
    pub terms: u32,
}

/// Which loops are written out, since they compute again what they did in the turn before of a loop around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenOut {
    /// Maximum constant trip count, of such loops inside each other together.
    pub turns: u32,
    /// Maximum number of values that are computed once instead, of all turns.
    pub values: u32,
    /// Maximum number of expressions, of all turns.
    pub expressions: u32,
}

/// Issue slots of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSlots {
    /// Per item of a launch: the bounds test and the position.
    pub item: u32,
    /// To extract an iterator from an index that several share.
    pub quotient: u32,
    /// The same with a constant number of iterations.
    pub known_quotient: u32,
    /// Per access: the address.
    pub place: u32,
    /// Per iteration of a loop.
    pub turn: u32,
    /// Maximum constant trip count of a loop that is unrolled.
    pub written_out: u32,
    /// To fold with another lane.
    pub meeting: u32,
}

/// Peak rates and latencies of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMachine {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Cycles per microsecond.
    pub clock: u32,
    /// Instructions issued per cycle and multiprocessor, in warps.
    pub schedulers: u32,
    /// Latency in cycles from an instruction to one that uses its result.
    pub dependent: u32,
    /// Latency in cycles of a load that the multiprocessor's cache holds.
    pub near_latency: u32,
    /// Memory bandwidth in bytes per nanosecond.
    pub bandwidth: u32,
    /// Bandwidth of the second-level cache in bytes per nanosecond.
    pub cache_bandwidth: u32,
    /// Size of the second-level cache in bytes.
    pub cache: u32,
    /// Size of a multiprocessor's first-level cache in bytes.
    pub near_cache: u32,
    /// Latency of a load from memory in nanoseconds.
    pub latency: u32,
    /// Minimum size of a memory transaction in bytes.
    pub sector: u32,
    /// Bytes that a multiprocessor's cache looks up per cycle.
    pub line: u32,
    /// Cost of a launch in nanoseconds.
    pub launch: u32,
    /// The same of a barrier over the grid.
    pub barrier: u32,
    /// Assumed registers per thread, before compilation.
    pub thread_registers: u32,
    /// Iterations of a loop whose loads are in flight together.
    pub under_way: u32,
    /// Ratio of the longest of a warp's ranges to their mean, if data give their lengths.
    pub unequal: u32,
    /// Assumed trip count of a loop or range that is unknown.
    pub unknown: u32,
}

/// Tiles of iterations that share what they read: iterations along the lanes, and across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNear {
    /// For stencils in two dimensions.
    pub flat: (u32, u32),
    /// For stencils in three dimensions.
    pub deep: (u32, u32),
    /// For arrays that lanes would load with a stride.
    pub across: (u32, u32),
    /// Planes that a block takes one after the other.
    pub planes: u32,
    /// Minimum number of loads that a staged element serves, if lanes would load it contiguously.
    pub least_reads: u32,
}

/// A tile of results whose operands a block keeps in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTile {
    /// Rows of results.
    pub rows: u32,
    /// Columns of results.
    pub columns: u32,
    /// Terms of the folds per stage.
    pub depth: u32,
    /// Rows per lane.
    pub lane_rows: u32,
    /// Columns per lane.
    pub lane_columns: u32,
    /// Minimum number of results.
    pub from: u32,
    /// Bytes of the largest element type that fits the registers.
    pub widest: u32,
    /// Target number of blocks with split folds; 0 if folds stay whole.
    pub split: u32,
    /// Minimum number of terms of a fold.
    pub terms: u32,
}

/// Split folds, for few results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSplit {
    /// Target number of threads, if neighbouring ones take neighbouring results.
    pub threads: u32,
    /// Minimum number of terms per thread.
    pub thread_terms: u32,
    /// Target number of blocks, if the lanes of a block share a part.
    pub blocks: u32,
    /// Minimum length of a fold that is split for any number of results.
    pub long: u32,
    /// Minimum number of results for splitting shorter folds, if neighbouring threads take neighbouring results.
    pub several: u32,
    /// Minimum number of terms of those folds.
    pub short: u32,
    /// Number of parts from which a block folds those of a result, rather than a warp: more than a warp has in flight in two iterations.
    pub many: u32,
    /// Minimum number of stages per part: while the lanes work on one, the next is loaded.
    pub depths: u32,
}

/// Positions that a thread takes at a time, and blocks that a kernel leaves registers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceItems {
    /// Maximum number of positions: each repeats the kernel's code.
    pub most: u32,
    /// Bytes of loads of a thread's positions that fit its registers, beside everything else.
    pub bytes: u32,
    /// Bytes of a thread's loads from which on nvcc, left alone, takes so many registers that few threads run: it computes the
    /// addresses of many loads before the loop.
    pub many: u32,
    /// Registers per thread at nearly half occupancy.
    pub registers: u32,
    /// How many of those are not for loaded values.
    pub for_others: u32,
}

/// An execution level of a graphics processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLevel {
    /// The level.
    pub level: Level,
    /// Groups of this level per group of the level above; `None` if the device or the block size determines it.
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
            apart: int("work", "apart")?,
            run: int("work", "run")?,
            most_runs: int("work", "most_runs")?,
            heavy_run: int("work", "heavy_run")?,
            warp_row: int("work", "warp_row")?,
            unrolled: int("work", "unrolled")?,
            copied_bytes: int("updates", "bytes")?,
            copied_element: int("updates", "element")?,
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
                barrier: int("machine", "barrier")?,
                thread_registers: int("machine", "registers")?,
                near_latency: int("machine", "near_latency")?,
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
            written_out: WrittenOut {
                turns: int("slots", "written_out")?,
                values: int("written_out", "values")?,
                expressions: int("written_out", "expressions")?,
            },
            narrow: NarrowKernels { operations: int("narrow", "operations")?, terms: int("narrow", "terms")? },
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

//! Hardware models: data that says which levels a target has, how wide they are and what its memories hold.

mod device;
pub(crate) mod document;
mod levels;
mod primitives;
mod reading;

use std::sync::LazyLock;

use reading::Reading;

use hidp_syntax::ast::Domains;

/// Bytes of the elements by which lanes are counted.
const FLOAT: u32 = 4;

pub use device::{
    DeviceItems, DeviceLevel, DeviceMachine, DeviceModel, DeviceSplit, DeviceTile, NarrowKernels, WrittenOut,
};
pub use document::DocumentError;
pub use levels::{CallLevel, CallLevels, Capability};
pub use primitives::Primitives;

/// A hardware model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Bytes of the widest vector register that code is shaped for.
    pub vector_bytes: u32,
    /// Vector registers.
    pub vector_registers: u32,
    /// Vector registers that a tile of sums leaves free, beside a row of vectors.
    pub spare_registers: u32,
    /// Bytes of a cache line.
    pub line: u32,
    /// Bytes ahead of a fold's loads that it prefetches.
    pub ahead: u32,
    /// Bytes of a second-level cache.
    pub l2: u32,
    /// Bytes of what the rows of tiles load, in one pass of all columns of tiles over them.
    pub pass: u32,
    /// Outputs of at least this many bytes bypass the caches.
    pub stream: u64,
    /// Elements folded in one run before results combine pairwise.
    pub fold_block: u32,
    /// Minimum number of element operations that justify a thread.
    pub thread_work: u32,
    /// Rows taken in turn when their lengths depend on data.
    pub irregular_rows: u32,
    /// Rows of a register tile.
    pub tile_rows: u32,
    /// The same of lanes that hold whole iterations: sums of iterations of a map inside that run together.
    pub jam_rows: u32,
    /// Vectors per row of a register tile.
    pub tile_vectors: u32,
    /// Columns of a first-level cache tile.
    pub lane_tile: u32,
    /// Iterations of a reduction that a first-level cache tile takes at once.
    pub lane_unroll: u32,
    /// Minimum number of lanes for tiles of lanes.
    pub narrow: u32,
    /// Minimum number of whole iterations in lanes.
    pub narrow_whole: u32,
    /// The same where lanes go through loops together.
    pub narrow_together: u32,
    /// Iterations per thread from which lanes may take a way of their own, where those in order have another.
    pub own_way: u32,
    /// Minimum length of a reduction that fills its lanes.
    pub short_row: u32,
    /// The same when loads follow indices.
    pub short_gather: u32,
    /// Minimum number of element operations of a row that all threads share, if there are fewer rows than threads.
    pub team_row: u32,
    /// Minimum number of chunks of irregular rows.
    pub irregular_parts: u32,
    /// Iterations in lanes that are sorted by length at once.
    pub sorted_rows: u32,
    /// Chunks of such iterations should not be fewer.
    pub sorted_parts: u32,
    /// Assumed length of a range that only data knows.
    pub unknown_length: u32,
    /// Element operations that an iteration of a ragged range counts: its loops are short, and what it loads follows indices.
    pub ragged_element: u32,
    /// Minimum number of operations per element of private copies that threads update.
    pub copied_element: u32,
    /// Maximum number of elements of such a copy.
    pub most_copied: u32,
    /// Elements per tile of a compaction, or of prefixes.
    pub packed_tile: u32,
    /// Minimum number of operations of an iteration whose update targets are computed in lanes.
    pub update_operations: u32,
    /// Iterations per tile of such updates, or of maths functions behind maps.
    pub update_tile: u32,
    /// Unroll factor of updates of such copies.
    pub copied_turns: u32,
    /// The same for copies of more elements than `near_copies`.
    pub far_copied_turns: u32,
    /// Maximum number of elements of copies that stay in a first-level cache.
    pub near_copies: u32,
    /// Operations of primitives per element.
    pub primitives: Primitives,
    /// Minimum number of neighbours for tiles of lanes rather than rows.
    pub fewest_lanes: u32,
    /// Lanes that are so many times narrower than ends of their loops compare these again when the next lane ends.
    pub narrow_lanes: u32,
    /// Rows that load what they need in full lines, each by itself, sooner than from a copy made for all.
    pub few_rows: u32,
    /// Tiles one below the other from which on a copy of what their lanes load is worth it.
    pub copied_tiles: u32,
    /// Iterations of a run of a fold where each holds maps or is irregular.
    pub heavy_block: u32,
    /// The same with whole iterations in lanes.
    pub wide_block: u32,
    /// Vectors of whole iterations in lanes that are in flight where loops wait for what they carry.
    pub flight: u32,
    /// Vector registers of an instruction set from which on so many are.
    pub flight_registers: u32,
    /// Numbers in lanes that such a loop may keep alive.
    pub flight_live: u32,
    /// The same where an instruction set has fewer registers.
    pub flight_few: u32,
    /// Groups of so many vectors that a range has at least, where lanes leave loops at different times.
    pub flight_groups: u32,
    /// Vectors of their last group, if these hold what is left.
    pub flight_last: u32,
    /// Operators of an iteration up to which it may have more than one copy in lanes.
    pub flight_operators: u32,
    /// Elements of a block of prefixes.
    pub scan_block: u32,
    /// Statements of a reduction up to which several of its iterations are written out.
    pub repeated_statements: u32,
    /// Lengths of rows up to which a reduction is written out, with lanes over rows.
    pub written_row: u32,
    /// Statements of a reduction up to which it is written out.
    pub written_statements: u32,
    /// Loads of a reduction up to which it is written out.
    pub written_loads: u32,
    /// Sums side by side of a reduction whose loads follow indices.
    pub gathered_sums: u32,
    /// Vectors of sums side by side of a reduction with few accesses.
    pub fold_vectors: u32,
    /// Accesses of such a reduction at most.
    pub fold_accesses: u32,
    /// Bytes a private array may have to be kept on the stack.
    pub small_array: u32,
    /// Tiles one below the other that a pass has at least.
    pub pass_tiles: u32,
    /// The same of a chunk that copies what the lanes of their column load.
    pub part_tiles: u32,
    /// Parts of an expression up to which an estimate of work substitutes it for a variable.
    pub known_parts: u32,
    /// How a loop is written.
    pub loops: LoopRules,
    /// Operations on vector lanes that a thread does in a microsecond.
    pub operations: u32,
    /// How many of them an operation outside of vectors counts for.
    pub scalar_operation: u32,
    /// What compositions of codelets are weighed by.
    pub estimates: Estimates,
    /// What programs leave open for codelets.
    pub codelets: Codelets,
    /// Levels at which calls of functions with codelets run.
    pub calls: CallLevels,
    /// When all threads share what is inside each iteration.
    pub dispatch: TeamRules,
    /// What the parts of a plan's score weigh.
    pub weights: Weights,
    /// What a tuner may vary.
    pub tunables: Vec<Tunable>,
}

/// How a loop is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopRules {
    /// Smallest divisor of the loop's variable for which strips of one quotient run in lanes.
    pub strip: u32,
    /// Iterations that are computed before their angles are compared with what a short reduction covers.
    pub angles: u32,
    /// Maximum number of borders that are iterations of their own.
    pub borders: u32,
    /// Maximum number of conditions on what to load of which the usual values have a copy of the loop.
    pub choices: u32,
    /// Minimum distance of stores that are across an array, in elements.
    pub apart: u32,
    /// Maximum bytes of elements that no instruction gathers, and of which a vector holds more than iterations are left.
    pub small: u32,
    /// Maximum bytes of elements that loops across an array take into registers by blocks, if their distance is no constant.
    pub turned: u32,
    /// Minimum number of constants that a value is compared with at once: a C++ compiler makes a test of a bit of as many.
    pub members: u32,
    /// Minimum number of operations on floats for each narrow element that lanes take from where data say.
    pub gathered: u32,
}

/// What compositions of codelets are weighed by: picoseconds of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimates {
    /// An operation on a lane of a vector.
    pub vector: u32,
    /// A load of neighbours, for each lane.
    pub load: u32,
    /// A load of anything else into a lane.
    pub gathered: u32,
    /// An operation or access outside of vectors.
    pub scalar: u32,
    /// The first and the last iterations of a map inside whose lanes are its own.
    pub ends: u32,
    /// The same of one that folds: lanes have to meet.
    pub folded_ends: u32,
    /// A nest before its first iteration and after its last: host code decides on threads and calls it.
    pub nest: u32,
    /// A division of integers.
    pub division: u32,
    /// An atomic update.
    pub atomic: u32,
    /// The same where threads meet, of all threads' time.
    pub contended: u32,
    /// A byte of an array that no cache holds.
    pub byte: u32,
    /// The start of all threads.
    pub launch: u32,
    /// Threads that are assumed.
    pub threads: u32,
    /// Percent of the time that a composition has to promise to be chosen.
    pub gain: u32,
    /// Percent more than the best that a composition may take to be a version.
    pub near: u32,
    /// Percent of the loops that an entry's own plans have, which compositions without a rule may have together.
    pub loops: u32,
}

/// What programs with codelets leave open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codelets {
    /// Values of tunables.
    pub domains: Domains,
}

/// What the targets of a build say of tunables: values of the first one first.
pub fn domains<'m>(models: impl IntoIterator<Item = &'m Codelets>) -> Domains {
    let mut all = Domains { width: Vec::new(), parts: Vec::new() };
    for Codelets { domains, .. } in models {
        for (known, more) in [(&mut all.width, &domains.width), (&mut all.parts, &domains.parts)] {
            let new: Vec<i64> = more.iter().copied().filter(|value| !known.contains(value)).collect();
            known.extend(new);
        }
    }
    all
}

/// When, untuned, all threads share what is inside each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamRules {
    /// Iterations for each thread below which they do.
    pub parallel: u32,
    /// Threads that what is inside one has to be worth.
    pub worth: u32,
    /// Times that the longest iteration has to be in all of them, for the rest to count more.
    pub balance: u32,
}

/// What the parts of a plan's score weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Neighbouring lanes access neighbouring elements.
    pub coalescing: u32,
    /// Iterations are shared out over threads.
    pub parallelism: u32,
    /// Iterations take equally long.
    pub divergence: u32,
    /// Loads serve several iterations.
    pub reuse: u32,
}

/// A number that a tuner may vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Its name: of a field of the model, or of what a call takes.
    pub name: String,
    /// When it takes effect.
    pub stage: Stage,
    /// The values worth trying.
    pub domain: Vec<u32>,
}

/// When a tunable takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A version is compiled for each value.
    Build,
    /// Each call can have another value.
    Run,
}

impl Model {
    /// The model of multicore processors.
    pub fn cpu() -> Model {
        static MODEL: LazyLock<Model> = LazyLock::new(|| {
            Model::read(include_str!("../../targets/cpu.toml")).expect("the built-in model is well formed")
        });
        MODEL.clone()
    }

    /// Reads a model.
    pub fn read(text: &str) -> Result<Model, DocumentError> {
        let document = document::parse(text)?;
        let reading = Reading::new(text, &document);
        let int = |table: &str, key: &str| reading.int(table, key);
        let model = Model {
            vector_bytes: int("vector", "bytes")?,
            vector_registers: int("vector", "registers")?,
            spare_registers: int("vector", "spare")?,
            line: int("memory", "line")?,
            ahead: int("memory", "ahead")?,
            l2: int("memory", "l2")?,
            pass: int("memory", "pass")?,
            stream: u64::from(int("memory", "stream")?),
            fold_block: int("work", "fold_block")?,
            thread_work: int("work", "thread_work")?,
            irregular_rows: int("work", "irregular_rows")?,
            tile_rows: int("work", "tile_rows")?,
            jam_rows: int("work", "jam_rows")?,
            tile_vectors: int("work", "tile_vectors")?,
            lane_tile: int("work", "lane_tile")?,
            lane_unroll: int("work", "lane_unroll")?,
            narrow: int("work", "narrow")?,
            narrow_whole: int("work", "narrow_whole")?,
            narrow_together: int("work", "narrow_together")?,
            own_way: int("work", "own_way")?,
            short_row: int("work", "short_row")?,
            short_gather: int("work", "short_gather")?,
            team_row: int("work", "team_row")?,
            irregular_parts: int("work", "irregular_parts")?,
            sorted_rows: int("work", "sorted_rows")?,
            sorted_parts: int("work", "sorted_parts")?,
            unknown_length: int("work", "unknown_length")?,
            ragged_element: int("work", "ragged_element")?,
            copied_element: int("work", "copied_element")?,
            most_copied: int("work", "most_copied")?,
            packed_tile: int("work", "packed_tile")?,
            update_operations: int("work", "update_operations")?,
            update_tile: int("work", "update_tile")?,
            copied_turns: int("work", "copied_turns")?,
            far_copied_turns: int("work", "far_copied_turns")?,
            near_copies: int("work", "near_copies")?,
            primitives: Primitives::of(&reading)?,
            fewest_lanes: int("work", "fewest_lanes")?,
            narrow_lanes: int("work", "narrow_lanes")?,
            few_rows: int("work", "few_rows")?,
            copied_tiles: int("work", "copied_tiles")?,
            heavy_block: int("work", "heavy_block")?,
            wide_block: int("work", "wide_block")?,
            flight: int("work", "flight")?,
            flight_registers: int("work", "flight_registers")?,
            flight_live: int("work", "flight_live")?,
            flight_few: int("work", "flight_few")?,
            flight_groups: int("work", "flight_groups")?,
            flight_last: int("work", "flight_last")?,
            flight_operators: int("work", "flight_operators")?,
            scan_block: int("work", "scan_block")?,
            repeated_statements: int("work", "repeated_statements")?,
            written_row: int("work", "written_row")?,
            written_statements: int("work", "written_statements")?,
            written_loads: int("work", "written_loads")?,
            gathered_sums: int("work", "gathered_sums")?,
            fold_vectors: int("work", "fold_vectors")?,
            fold_accesses: int("work", "fold_accesses")?,
            small_array: int("work", "small_array")?,
            operations: int("speed", "operations")?,
            scalar_operation: int("speed", "scalar")?,
            pass_tiles: int("work", "pass_tiles")?,
            part_tiles: int("work", "part_tiles")?,
            known_parts: int("work", "known_parts")?,
            loops: LoopRules {
                strip: int("loops", "strip")?,
                angles: int("loops", "angles")?,
                borders: int("loops", "borders")?,
                choices: int("loops", "choices")?,
                apart: int("loops", "apart")?,
                small: int("loops", "small")?,
                turned: int("loops", "turned")?,
                members: int("loops", "members")?,
                gathered: int("loops", "gathered")?,
            },
            estimates: Estimates {
                vector: int("estimate", "vector")?,
                load: int("estimate", "load")?,
                gathered: int("estimate", "gathered")?,
                ends: int("estimate", "ends")?,
                folded_ends: int("estimate", "folded_ends")?,
                nest: int("estimate", "nest")?,
                scalar: int("estimate", "scalar")?,
                division: int("estimate", "division")?,
                atomic: int("estimate", "atomic")?,
                contended: int("estimate", "contended")?,
                byte: int("estimate", "byte")?,
                launch: int("estimate", "launch")?,
                threads: int("estimate", "threads")?,
                gain: int("estimate", "gain")?,
                near: int("estimate", "near")?,
                loops: int("estimate", "loops")?,
            },
            codelets: reading.codelets(int("vector", "bytes")? / FLOAT)?,
            calls: CallLevels::of(&reading)?,
            dispatch: TeamRules {
                parallel: int("dispatch", "parallel")?,
                worth: int("dispatch", "worth")?,
                balance: int("dispatch", "balance")?,
            },
            weights: Weights {
                coalescing: int("score", "coalescing")?,
                parallelism: int("score", "parallelism")?,
                divergence: int("score", "divergence")?,
                reuse: int("score", "reuse")?,
            },
            tunables: reading.tunables()?,
        };
        reading.finish()?;
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../targets/cpu.toml");

    /// What is wrong with a model, and the line that it is said of.
    fn wrong(text: &str) -> (String, String) {
        let error = Model::read(text).unwrap_err();
        (error.message, text.lines().nth(error.line - 1).unwrap().to_owned())
    }

    #[test]
    fn missing_keys_are_named() {
        let number = "`memory.l2` is missing: expected a number of at most 32 bits".to_owned();
        assert_eq!(wrong(&TEXT.replace("l2 = ", "l9 = ")), (number, "[memory]".to_owned()));
        let (message, _) = wrong(&TEXT.replace("[memory]", "[store]"));
        assert_eq!(message, "`memory` is missing: expected a table with `line`");
        let (message, line) = wrong(&TEXT.replace("l2 = 1048576", "l2 = 0"));
        assert_eq!((message.as_str(), line.as_str()), ("`memory.l2` is 0: expected at least 1", "l2 = 0"));
        let (message, line) = wrong(&TEXT.replacen("stage = \"build\"", "stage = \"test\"", 1));
        assert_eq!((message.as_str(), line.as_str()), ("`tunable.stage` is not `build` or `run`", "stage = \"test\""));
    }

    #[test]
    fn keys_that_nobody_reads_are_refused() {
        let with = |key: &str, after: &str| {
            let text = TEXT.replacen(after, &format!("{after}{key} = 1\n"), 1);
            let (message, line) = wrong(&text);
            assert_eq!(
                line,
                text.lines().find(|line| line.ends_with(&format!("{} = 1", key.lines().last().unwrap()))).unwrap()
            );
            message
        };
        assert_eq!(with("l1", "[memory]\n"), "`memory.l1` is read by nobody");
        assert_eq!(with("width", "[[tunable]]\n"), "`tunable.width` is read by nobody");
        assert_eq!(with("[levels]\nmost", "\n"), "`levels.most` is read by nobody");
    }
}

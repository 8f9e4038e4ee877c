//! THE primitive table: one row for each primitive, from which checking, planning and emission are driven.

/// A primitive of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prim {
    /// Smallest element.
    Min,
    /// Largest element.
    Max,
    /// Fold of a segment.
    Reduce,
    /// Inclusive prefix fold.
    Scan,
    /// Exclusive prefix fold.
    Exscan,
    /// Stable sort, with or without values.
    Sort,
    /// Stable partition by a predicate and a pivot.
    Partition,
    /// Reversal.
    Reverse,
    /// Reversal in place.
    ReverseInplace,
    /// `out[keys[i]] op= vals[i]`.
    Histogram,
}

/// Where the segments of a primitive come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// One segment `[0, size)`.
    Whole,
    /// One segment `[low, high)` an instance inside a map; with vectors outside a map, segment i is `[low[i], high[i])`.
    Segments,
    /// `num_seg` segments of `seg_size` each, one after the other.
    Regular,
}

/// What a primitive leaves in its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Result {
    /// One value a segment.
    PerSegment,
    /// The elements of each segment, at their places: segments of one call must not overlap.
    InPlaceOfEach,
    /// Values in places that the keys say.
    Scattered,
}

/// What holds whatever the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Laws {
    /// Takes an operator, which must be associative and need not be commutative.
    pub operator: bool,
    /// Elements that compare equal keep their order.
    pub stable: bool,
    /// Input and output may be one array.
    pub aliasing: bool,
    /// The output is not overwritten but added to.
    pub accumulates: bool,
}

/// A function of the run-time library and the header, without folder and extension, that declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The function.
    pub function: &'static str,
    /// The header.
    pub header: &'static str,
}

/// How a primitive runs on the CPU: what generated code calls, and the headers `<level>_<primitive>` that do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// All threads on one segment. None: such calls become maps or loops before emission.
    pub whole: Option<Symbol>,
    /// All threads on the segments between two vectors.
    pub segmented: Option<Symbol>,
    /// All threads on segments of one size.
    pub regular: Option<Symbol>,
    /// One worker on its own segment, inside a map.
    pub worker: Option<Symbol>,
    /// Likewise where other iterations may touch the segment at the same time, if that makes a difference.
    pub shared_worker: Option<Symbol>,
    /// Headers of each level: `thread` (one worker, one segment), `simd` (lanes inside of one), `team` (all threads).
    pub levels: &'static [&'static str],
}

/// How a primitive runs on a GPU: functions of the headers in `cuda/prim`.
///
/// What the host calls takes the arguments of the CPU's functions: `kernel_scan(host, memory, in, out, …)` those of `run_scan`.
/// It returns false after a fault, if it takes a site. `kernel_reduce<T, Op>(host, memory, in, n, &result)` folds a segment that
/// is not empty; `kernel_check_disjoint` is `run_check_disjoint`. Arrays are on the device, results in scalars on the host.
///
/// What a group calls takes the arguments of the CPU's `worker_*`, and is called by all lanes of the group with the same ones:
/// `warp_sort(worker, data, scratch, [values, scratch_values,] n, descending)`. Beside those there are
/// `warp_scan<T, Op>(worker, in, out, n, neutral, has_neutral, exclusive)` and `warp_reduce<T, Op>(worker, in, n, &result)`.
/// Before the call, what the group wrote must be visible to it (`Sync`); after the call, what the primitive wrote is, and a
/// fault of a function of the program is raised in all lanes or in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The whole device on one segment, called by the host function.
    pub whole: Option<Symbol>,
    /// The whole device on the segments between two vectors.
    pub segmented: Option<Symbol>,
    /// The whole device on segments of one size.
    pub regular: Option<Symbol>,
    /// One group of lanes on its own segment, inside a kernel: a function for each of [`GROUPS`].
    pub group: Option<&'static [Symbol; GROUPS.len()]>,
    /// Headers of each level.
    pub levels: &'static [&'static str],
}

/// The execution levels of groups of lanes, from the smallest: 1, 4, 8, 32, and all lanes of a block.
pub const GROUPS: [&str; 5] = ["thread", "subwarp2", "subwarp", "warp", "block"];

impl Device {
    /// What a group of the level calls.
    pub fn of_group(&self, level: &str) -> Option<Symbol> {
        let position = GROUPS.iter().position(|&name| name == level)?;
        self.group.map(|symbols| symbols[position])
    }
}

/// Everything that the compiler knows of a primitive by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub prim: Prim,
    /// Its name, for the forms `Whole` and `Segments`.
    pub name: &'static str,
    /// Its name for regular segments.
    pub regular: Option<&'static str>,
    /// Its value stands on the right of an assignment; otherwise it is a statement.
    pub is_value: bool,
    /// May stand in a map and take vectors of bounds.
    pub segments: bool,
    /// What it leaves in its output.
    pub result: Result,
    /// What holds whatever the arguments.
    pub laws: Laws,
    /// How it runs on the CPU.
    pub cpu: Cpu,
    /// How it runs on a GPU.
    pub device: Device,
}

const PLAIN: Laws = Laws { operator: false, stable: false, aliasing: false, accumulates: false };
const FOLDS: Laws = Laws { operator: true, ..PLAIN };
const SCANS: Laws = Laws { operator: true, aliasing: true, ..PLAIN };

const fn whole(function: &'static str) -> Option<Symbol> {
    Some(Symbol { function, header: "run_whole" })
}
const fn many(function: &'static str) -> Option<Symbol> {
    Some(Symbol { function, header: "run_segments" })
}
const fn worker(function: &'static str) -> Option<Symbol> {
    Some(Symbol { function, header: "worker_prims" })
}

const REDUCE: Cpu = Cpu {
    whole: None,
    segmented: many("run_segmented_reduce"),
    regular: many("run_regular_reduce"),
    worker: None,
    shared_worker: None,
    levels: &["simd_reduce", "team_reduce", "team_segmented"],
};
const SCAN: Cpu = Cpu {
    whole: whole("run_scan"),
    segmented: many("run_segmented_scan"),
    regular: many("run_regular_scan"),
    worker: None,
    shared_worker: None,
    levels: &["simd_scan", "team_scan", "team_segmented"],
};

/// One function a group level, each in the header of its level.
macro_rules! groups {
    ($name:literal in $header:literal) => {
        Some(&[
            Symbol { function: concat!("thread_", $name), header: concat!("thread_", $header) },
            Symbol { function: concat!("subwarp2_", $name), header: concat!("subwarp2_", $header) },
            Symbol { function: concat!("subwarp_", $name), header: concat!("subwarp_", $header) },
            Symbol { function: concat!("warp_", $name), header: concat!("warp_", $header) },
            Symbol { function: concat!("block_", $name), header: concat!("block_", $header) },
        ])
    };
}

/// The headers of all levels.
macro_rules! headers {
    ($name:literal) => {
        &[
            concat!("thread_", $name),
            concat!("subwarp2_", $name),
            concat!("subwarp_", $name),
            concat!("warp_", $name),
            concat!("block_", $name),
            concat!("kernel_", $name),
            concat!("kernel_segmented_", $name),
        ]
    };
}

const fn kernel(function: &'static str, header: &'static str) -> Option<Symbol> {
    Some(Symbol { function, header })
}

const DEVICE_REDUCE: Device = Device {
    whole: kernel("kernel_reduce", "kernel_reduce"),
    segmented: kernel("kernel_segmented_reduce", "kernel_segmented_reduce"),
    regular: kernel("kernel_regular_reduce", "kernel_segmented_reduce"),
    group: groups!("reduce" in "reduce"),
    levels: headers!("reduce"),
};
const DEVICE_SCAN: Device = Device {
    whole: kernel("kernel_scan", "kernel_scan"),
    segmented: kernel("kernel_segmented_scan", "kernel_segmented_scan"),
    regular: kernel("kernel_regular_scan", "kernel_segmented_scan"),
    group: groups!("scan" in "scan"),
    levels: headers!("scan"),
};

/// The table, in the order of [`Prim`].
pub const TABLE: &[Row] = &[
    Row {
        prim: Prim::Min,
        name: "min",
        regular: Some("reg_min"),
        is_value: true,
        segments: true,
        result: Result::PerSegment,
        laws: PLAIN,
        cpu: REDUCE,
        device: DEVICE_REDUCE,
    },
    Row {
        prim: Prim::Max,
        name: "max",
        regular: Some("reg_max"),
        is_value: true,
        segments: true,
        result: Result::PerSegment,
        laws: PLAIN,
        cpu: REDUCE,
        device: DEVICE_REDUCE,
    },
    Row {
        prim: Prim::Reduce,
        name: "reduce",
        regular: Some("reg_reduce"),
        is_value: false,
        segments: true,
        result: Result::PerSegment,
        laws: FOLDS,
        cpu: REDUCE,
        device: DEVICE_REDUCE,
    },
    Row {
        prim: Prim::Scan,
        name: "scan",
        regular: Some("reg_scan"),
        is_value: false,
        segments: true,
        result: Result::InPlaceOfEach,
        laws: SCANS,
        cpu: SCAN,
        device: DEVICE_SCAN,
    },
    Row {
        prim: Prim::Exscan,
        name: "exscan",
        regular: Some("reg_exscan"),
        is_value: false,
        segments: true,
        result: Result::InPlaceOfEach,
        laws: SCANS,
        cpu: SCAN,
        device: DEVICE_SCAN,
    },
    Row {
        prim: Prim::Sort,
        name: "sort",
        regular: Some("reg_sort"),
        is_value: false,
        segments: true,
        result: Result::InPlaceOfEach,
        laws: Laws { stable: true, aliasing: true, ..PLAIN },
        cpu: Cpu {
            whole: whole("run_sort"),
            segmented: many("run_segmented_sort"),
            regular: many("run_regular_sort"),
            worker: worker("worker_sort"),
            shared_worker: worker("worker_sort"),
            levels: &["thread_sort", "team_sort", "team_segmented"],
        },
        device: Device {
            whole: kernel("kernel_sort", "kernel_sort"),
            segmented: kernel("kernel_segmented_sort", "kernel_segmented_sort"),
            regular: kernel("kernel_regular_sort", "kernel_segmented_sort"),
            group: groups!("sort" in "sort"),
            levels: headers!("sort"),
        },
    },
    Row {
        prim: Prim::Partition,
        name: "partition",
        regular: None,
        is_value: false,
        segments: true,
        result: Result::InPlaceOfEach,
        laws: Laws { stable: true, ..PLAIN },
        cpu: Cpu {
            whole: whole("run_partition"),
            segmented: many("run_segmented_partition"),
            regular: None,
            worker: worker("worker_partition"),
            shared_worker: worker("worker_shared_partition"),
            levels: &["thread_partition", "team_partition", "team_segmented"],
        },
        device: Device {
            whole: kernel("kernel_partition", "kernel_partition"),
            segmented: kernel("kernel_segmented_partition", "kernel_segmented_partition"),
            regular: None,
            group: groups!("partition" in "partition"),
            levels: headers!("partition"),
        },
    },
    Row {
        prim: Prim::Reverse,
        name: "reverse",
        regular: Some("reg_reverse"),
        is_value: false,
        segments: true,
        result: Result::InPlaceOfEach,
        laws: PLAIN,
        cpu: Cpu {
            whole: whole("run_reverse"),
            segmented: many("run_segmented_reverse"),
            regular: many("run_regular_reverse"),
            worker: worker("worker_reverse"),
            shared_worker: worker("worker_shared_reverse"),
            levels: &["thread_reverse", "team_reverse", "team_segmented"],
        },
        device: Device {
            whole: kernel("kernel_reverse", "kernel_reverse"),
            segmented: kernel("kernel_segmented_reverse", "kernel_segmented_reverse"),
            regular: kernel("kernel_regular_reverse", "kernel_segmented_reverse"),
            group: groups!("reverse" in "reverse"),
            levels: headers!("reverse"),
        },
    },
    Row {
        prim: Prim::ReverseInplace,
        name: "reverse_inplace",
        // `reg_reverse` with one array.
        regular: None,
        is_value: false,
        segments: true,
        result: Result::InPlaceOfEach,
        laws: Laws { aliasing: true, ..PLAIN },
        cpu: Cpu {
            whole: whole("run_reverse_inplace"),
            segmented: many("run_segmented_reverse_inplace"),
            regular: many("run_regular_reverse_inplace"),
            worker: worker("worker_reverse_inplace"),
            shared_worker: worker("worker_shared_reverse_inplace"),
            levels: &["thread_reverse", "team_reverse", "team_segmented"],
        },
        device: Device {
            whole: kernel("kernel_reverse_inplace", "kernel_reverse"),
            segmented: kernel("kernel_segmented_reverse_inplace", "kernel_segmented_reverse"),
            regular: kernel("kernel_regular_reverse_inplace", "kernel_segmented_reverse"),
            group: groups!("reverse_inplace" in "reverse"),
            levels: headers!("reverse"),
        },
    },
    Row {
        prim: Prim::Histogram,
        name: "histogram",
        regular: None,
        is_value: false,
        segments: false,
        result: Result::Scattered,
        laws: Laws { operator: true, accumulates: true, ..PLAIN },
        cpu: Cpu {
            whole: whole("run_histogram"),
            segmented: None,
            regular: None,
            worker: None,
            shared_worker: None,
            levels: &["thread_histogram", "team_histogram"],
        },
        device: Device {
            whole: kernel("kernel_histogram", "kernel_histogram"),
            segmented: None,
            regular: None,
            group: None,
            levels: &["block_histogram", "kernel_histogram"],
        },
    },
];

impl Prim {
    /// Its row.
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
    /// Whether it gives one value a segment.
    pub fn per_segment(self) -> bool {
        self.row().result == Result::PerSegment
    }
    /// Whether it writes the elements of its segments.
    pub fn writes_segments(self) -> bool {
        self.row().result == Result::InPlaceOfEach
    }
}

/// The primitive of a name, and whether it is the form for regular segments.
pub fn named(name: &str) -> Option<(Prim, bool)> {
    TABLE.iter().find_map(|row| {
        let regular = row.regular == Some(name);
        (regular || row.name == name).then_some((row.prim, regular))
    })
}

/// The names of all primitives that are called as statements.
pub fn statements() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|row| [(!row.is_value).then_some(row.name), row.regular]).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum() {
        for (number, row) in TABLE.iter().enumerate() {
            assert_eq!(row.prim as usize, number, "{}", row.name);
            assert_eq!(row.prim.row().name, row.name);
        }
    }

    #[test]
    fn every_group_level_has_its_function() {
        for row in TABLE {
            for level in GROUPS {
                let symbol = row.device.of_group(level);
                assert_eq!(symbol.is_some(), row.segments, "{}", row.name);
                let starts = symbol.is_none_or(|symbol| symbol.function.starts_with(&format!("{level}_")));
                assert!(starts, "{} at {level}", row.name);
            }
            assert_eq!(row.device.of_group("kernel"), None);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = TABLE.iter().flat_map(|row| [Some(row.name), row.regular]).flatten().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

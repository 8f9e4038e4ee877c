//! What the kernels of a device unit ask of memory: for each access how the places of a warp's lanes lie to each other, the sectors
//! that one request touches beside those it needs, the path that a load takes, and the turns that the banks of shared memory need.
//!
//! Lanes are followed through the kernel with one symbolic value each. Assumed of what is not known: arrays begin at a line of memory, rows
//! are multiples of a sector and longer than a warp, clamped indices are inside.

mod lanes;
mod occupancy;
mod poly;
mod requests;
mod walk;

pub use occupancy::{Limit, Occupancy, Resources, occupancy};

use hidp_ir::imp::{Grid, Kernel, KernelId, Stmt, Unit, shared_bytes, visit};
use hidp_ir::par::Program;
use hidp_plan::target::DeviceModel;
use hidp_syntax::ty::{Scalar, Ty};

/// Bytes of memory that come at a time at least.
pub const SECTOR: u32 = 32;
/// Banks of shared memory.
pub const BANKS: u32 = 32;
/// Bytes of a bank that come at a time.
pub const BANK_BYTES: u32 = 4;

/// What a kernel asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Which of the unit's kernels.
    pub id: KernelId,
    /// Its role, `map0`.
    pub kernel: String,
    /// Who takes an item.
    pub grid: Grid,
    /// Bytes of arrays that the threads of a block share.
    pub shared: u32,
    /// Accesses in the order of the text; equal ones once.
    pub accesses: Vec<Access>,
}

/// An access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// What is done.
    pub action: Action,
    /// The array.
    pub array: String,
    /// The element that the first lane of a warp accesses.
    pub index: String,
    /// How many loops of the kernel are around it.
    pub depth: u32,
    /// How often it stands in the kernel.
    pub times: u32,
    /// Where that is: see [`hidp_ir::imp::Numbers`].
    pub sites: Vec<u32>,
    /// Lanes of a warp that take part, where all items of its groups are there.
    pub lanes: u32,
    /// How the lanes' places lie to each other.
    pub pattern: Pattern,
    /// What it costs.
    pub cost: Cost,
}

/// What is done to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Plain load.
    Load,
    /// Load of what other groups may write.
    LoadRelaxed,
    /// Store.
    Store,
    /// Atomic update.
    Update,
}

impl Action {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Load | Action::LoadRelaxed => "load",
            Action::Store => "store",
            Action::Update => "update",
        }
    }
}

/// How the places of a warp's lanes lie to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Only one lane takes part.
    OneLane,
    /// All in one.
    Broadcast,
    /// Each next to the one before: coalesced.
    Neighbours,
    /// So many elements apart.
    Strided(String),
    /// So many lanes next to each other, then elsewhere.
    Runs(u32),
    /// So many lanes in one place, then elsewhere.
    Groups(u32),
    /// As data says.
    Irregular,
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pattern::OneLane => f.write_str("one lane"),
            Pattern::Broadcast => f.write_str("broadcast"),
            Pattern::Neighbours => f.write_str("coalesced"),
            Pattern::Strided(step) => write!(f, "strided by {step}"),
            Pattern::Runs(lanes) => write!(f, "runs of {lanes} lanes"),
            Pattern::Groups(lanes) => write!(f, "{lanes} lanes at each place"),
            Pattern::Irregular => f.write_str("irregular"),
        }
    }
}

/// What one request of a warp costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Of the device's memory.
    Global {
        /// Sectors that are touched; for irregular accesses as many as there can be.
        sectors: u32,
        /// Sectors that as many bytes would fill.
        least: u32,
        /// Whether the load goes through the read-only path, since nobody writes the array while the kernel runs.
        read_only: bool,
    },
    /// Of the block's shared memory.
    Shared {
        /// Turns of the banks; for irregular accesses as many as there can be.
        turns: u32,
        /// Turns without conflicts: more than 1 where a lane's bytes are more than a bank's word.
        least: u32,
    },
}

/// What the kernels of a device unit ask for.
pub fn traffic(program: &Program, unit: &Unit, model: &DeviceModel) -> Vec<Traffic> {
    let of = |kernel: &Kernel, id, grid| Traffic {
        id,
        kernel: kernel.name.clone(),
        grid,
        shared: shared_bytes(program, &kernel.function) as u32,
        accesses: walk::accesses(program, kernel, grid, dimensions(unit, id), model),
    };
    unit.kernels.iter().filter_map(|(id, kernel)| kernel.grid.map(|grid| of(kernel, id, grid))).collect()
}

/// Dimensions of a kernel's launches: so many of its last parameters are positions.
fn dimensions(unit: &Unit, id: KernelId) -> usize {
    let mut found = 1;
    visit::each_stmt(&unit.host.body, &mut |stmt| {
        if let Stmt::LaunchGrid { kernel, extents, .. } = stmt
            && *kernel == id
        {
            found = extents.len();
        }
    });
    found
}

/// Bytes of a value in memory.
fn size_of(program: &Program, ty: Ty) -> u32 {
    layout(program, ty).0
}

/// Bytes and alignment, as C has them.
fn layout(program: &Program, ty: Ty) -> (u32, u32) {
    match ty {
        Ty::Scalar(scalar) => (scalar.size() as u32, scalar.size() as u32),
        Ty::Struct(id) => {
            let fields = program.structs[id].fields.iter().map(|(_, ty)| layout(program, *ty));
            let (end, align) = fields.fold((0u32, 1u32), |(end, most), (size, align)| {
                (end.next_multiple_of(align.max(1)) + size, most.max(align))
            });
            (end.next_multiple_of(align), align)
        }
    }
}

/// Where a field lies in a value, and its bytes.
fn field(program: &Program, ty: Ty, path: &[u32]) -> (u32, u32) {
    match (ty, path) {
        (Ty::Struct(id), [at, rest @ ..]) => {
            let mut start = 0u32;
            for (number, (_, ty)) in program.structs[id].fields.iter().enumerate() {
                let (size, align) = layout(program, *ty);
                start = start.next_multiple_of(align.max(1));
                if number == *at as usize {
                    let (inner, width) = field(program, *ty, rest);
                    return (start + inner, width);
                }
                start += size;
            }
            (0, layout(program, ty).0)
        }
        (Ty::Struct(_) | Ty::Scalar(_), _) => (0, size_of(program, ty)),
    }
}

/// Whether lanes can hold such a value in an index.
fn is_integer(ty: Ty) -> bool {
    ty.scalar().is_some_and(Scalar::is_integer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::pipeline::testing::{input, optimised};
    use crate::compiler::pipeline::{Options, lower_entry};
    use hidp_ir::imp::UnitTarget;
    use hidp_plan::target::Model;

    /// The accesses of the kernels of a program's only entry under a plan, a line each.
    fn lines(text: &str, plan: &str) -> Vec<String> {
        let input = input(text, Options { cuda: true, ..Options::default() });
        let program = optimised(&input);
        let lowered = lower_entry(&input, &program, program.entries[0], &Model::cpu());
        let unit = lowered.entry.units_for(UnitTarget::Device).find(|unit| unit.plan == plan).unwrap();
        let found = traffic(&program, unit, &DeviceModel::cuda());
        found.iter().flat_map(|kernel| &kernel.accesses).map(line).collect()
    }

    fn line(access: &Access) -> String {
        let Access { action, array, index, pattern, cost, .. } = access;
        let cost = match cost {
            Cost::Global { sectors, least, read_only } => {
                format!("{sectors}/{least}{}", if *read_only { " read-only" } else { "" })
            }
            Cost::Shared { turns, least } => format!("{turns}/{least} turns"),
        };
        format!("{} {array}[{index}] {pattern}: {cost}", action.name())
    }

    #[test]
    fn neighbours_in_a_stencil() {
        let found = lines(
            "function f input float a[H][W]; inout float b[H][W];
            { map { y := [1:H-2]; x := [1:W-2]; b[y][x] = a[y-1][x] + a[y][x+1] + a[y][x]; } }",
            "thread",
        );
        println!("{found:#?}");
        let expected = [
            "load a[item.x + item.y*W + 1] coalesced: 5/4 read-only",
            "load a[item.x + item.y*W + W + 2] coalesced: 5/4 read-only",
            "load a[item.x + item.y*W + W + 1] coalesced: 5/4 read-only",
            "store b[item.x + item.y*W + W + 1] coalesced: 5/4",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn one_side_of_a_transposed_copy_is_strided() {
        let found = lines(
            "function f input float a[H][W]; output float b[W][H]; { map { i := [0:H); j := [0:W); b[j][i] = a[i][j]; } }",
            "thread",
        );
        println!("{found:#?}");
        assert!(found[0].starts_with("load a[") && found[0].ends_with("coalesced: 4/4 read-only"));
        assert!(found[1].starts_with("store b[") && found[1].ends_with("strided by H: 32/4"));
    }

    const ROWS: &str = "function f input float A[R][C], x[C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = A[r][c] * x[c]; } reduce(\"+\", y[r], _t, c := [*]); }";

    #[test]
    fn lanes_of_groups_read_pieces_of_rows() {
        let has = |plan: &str, expected: &[&str]| {
            let found = lines(ROWS, plan);
            println!("{plan} {found:#?}");
            for (line, end) in found.iter().zip(expected) {
                assert!(line.ends_with(end), "{plan}: `{line}` should end with `{end}`");
            }
            assert_eq!(found.len(), expected.len());
        };
        has("warp", &["coalesced: 4/4 read-only", "coalesced: 4/4 read-only", "one lane: 1/1"]);
        has("block", &["coalesced: 4/4 read-only", "coalesced: 4/4 read-only", "one lane: 1/1"]);
        has("subwarp", &["runs of 8 lanes: 4/4 read-only", "runs of 8 lanes: 1/1 read-only", "coalesced: 1/1"]);
        // Neighbours at once; then those that are left.
        let moved = ["strided by C: 32/16 read-only", "broadcast: 1/1 read-only"];
        let left = ["strided by C: 32/4 read-only", "broadcast: 1/1 read-only"];
        has("thread", &[&moved[..], &left, &["coalesced: 4/4"]].concat());
    }

    #[test]
    fn tiles_of_transposed_arrays_are_coalesced_and_meet_no_bank_twice() {
        for elem in ["float", "double", "short"] {
            let text = format!(
                "function f input {elem} a[H][W]; output {elem} b[W][H];
                {{ map {{ i := [0:H); j := [0:W); b[j][i] = a[i][j]; }} }}"
            );
            let found = lines(&text, "near");
            println!("{found:#?}");
            let full: u32 = if elem == "double" {
                8
            } else if elem == "float" {
                4
            } else {
                2
            };
            assert!(
                found[0].starts_with("load a[") && found[0].ends_with(&format!("coalesced: {full}/{full} read-only"))
            );
            assert!(
                found[1].starts_with("store near_a[")
                    && found[1].ends_with(&format!("coalesced: {0}/{0} turns", full.div_ceil(4)))
            );
            assert!(
                found[2].starts_with("load near_a[")
                    && found[2].ends_with(&format!("strided by 33: {0}/{0} turns", full.div_ceil(4)))
            );
            assert!(found[3].starts_with("store b[") && found[3].ends_with(&format!("coalesced: {full}/{full}")));
        }
    }

    #[test]
    fn what_data_says_is_irregular() {
        let found = lines(
            "function f input int at[N]; input float x[M]; inout float y[N]; { map { i := [0:N); y[i] = y[i] + x[at[i]]; } }",
            "thread",
        );
        println!("{found:#?}");
        assert!(found.iter().any(|line| line == "load x[…] irregular: 32/4 read-only"));
        assert!(found.iter().any(|line| line.starts_with("load y[") && line.ends_with("coalesced: 4/4")));
        assert!(found.iter().any(|line| line.starts_with("load at[") && line.ends_with("coalesced: 4/4 read-only")));
    }
}

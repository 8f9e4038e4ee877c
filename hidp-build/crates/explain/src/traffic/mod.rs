//! Memory requests of the kernels of a device unit: for each access the pattern of a warp's lanes, the sectors that one request touches beside
//! the minimum, the path of a load, and the turns of the banks of shared memory.
//!
//! Lanes are followed through the kernel with one symbolic value each. Assumptions about unknowns: arrays begin at a line of memory, rows are
//! multiples of a sector and longer than a warp, clamped indices are inside. For each access the model states whether it is certain for given
//! sizes, or the [`Reason`] why not.

mod atoms;
mod claim;
mod eval;
mod host;
mod lanes;
mod occupancy;
mod poly;
mod requests;
mod walk;

pub use claim::{Reason, USUAL};
pub use occupancy::{Limit, Occupancy, Resources, occupancy};

use hidp_ir::imp::{Grid, Kernel, KernelId, Unit, shared_bytes};
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
    /// Whether each request of all its lanes costs that.
    pub cost_claim: Result<(), Reason>,
    /// Whether each request is of all its lanes.
    pub lanes_claim: Result<(), Reason>,
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
        /// Whether the load goes through the read-only path, since the kernel never writes the array.
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

impl Cost {
    /// The same with the number that is known for the given sizes, if one is.
    fn claimed(self, claimed: Option<u32>) -> Cost {
        match self {
            Cost::Global { sectors, least, read_only } => {
                Cost::Global { sectors: claimed.unwrap_or(sectors), least, read_only }
            }
            Cost::Shared { turns, least } => Cost::Shared { turns: claimed.unwrap_or(turns), least },
        }
    }
}

/// What the kernels of a device unit ask for. Claims are of calls with dimensions of these sizes, in order; the list repeats.
pub fn traffic(program: &Program, unit: &Unit, model: &DeviceModel, sizes: &[i64]) -> Vec<Traffic> {
    let mut launches = host::launches(program, unit, model, sizes);
    let mut of = |kernel: &Kernel, id, grid| Traffic {
        id,
        kernel: kernel.name.clone(),
        grid,
        shared: shared_bytes(program, &kernel.function) as u32,
        accesses: walk::accesses(program, kernel, grid, &launches.remove(&id).unwrap_or_default(), model),
    };
    unit.kernels.iter().filter_map(|(id, kernel)| kernel.grid.map(|grid| of(kernel, id, grid))).collect()
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

/// Whether it holds no numbers below 0.
fn is_unsigned(ty: Ty) -> bool {
    ty.scalar().is_some_and(|scalar| scalar.is_integer() && !scalar.is_signed())
}

#[cfg(test)]
mod tests;

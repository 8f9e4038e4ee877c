//! Units for graphics processors.
//!
//! | file | what it lowers |
//! |---|---|
//! | `behind` | loads that processors want in front of conditions |
//! | `blocks` | host-level maps whose blocks have a shape of the plan's |
//! | `copies` | small arrays that all iterations update, of which blocks have copies |
//! | `differences` | sums of absolute differences of narrow integers |
//! | `grid` | host-level maps: grids, positions |
//! | `group` | maps inside of a kernel: shared by the lanes of a group, or run by all of them together |
//! | `memory` | loads, stores and atomic updates of several lanes at once |
//! | `moved` | rows of single lanes, 16 bytes at a time |
//! | `near` | maps whose blocks keep parts of arrays in shared memory |
//! | `private` | arrays of iterations, in registers, in shared memory or allocated before the launch |
//! | `reduce` | reductions of host-level maps: runs of blocks, then a block |
//! | `registers` | arrays of which each lane of a group has an element |
//! | `rows` | runs of whole rows, one a warp |
//! | `scan` | prefix folds of host-level maps |
//! | `split` | folds of which groups of their own take parts, which another launch folds |
//! | `prim` | calls of the run-time library |
//! | `record`, `log` | segments that iterations write through primitives: one an iteration and call, or any number |
//! | `written` | short loops that are written out |
//! | `values` | reductions whose iterations leave their values first |
//! | `tried` | folds with checks: done without branches first |
//! | `tiled`, `tiled_parts` | nests whose results share operands: tiles of results, operands in shared memory |
//! | `tiled_split` | such tiles of parts of the folds |
//! | `sync` | barriers where a lane sees what another one wrote |
//!
//! Whatever is not here is shared with units for the CPU.

mod behind;
mod beside;
mod blocks;
mod copies;
mod differences;
mod grid;
mod group;
mod log;
mod memory;
mod moved;
mod narrow;
mod near;
mod prim;
mod private;
mod record;
mod reduce;
mod registers;
mod rows;
mod scan;
mod split;
mod sync;
#[cfg(test)]
mod tests;
mod tiled;
mod tiled_parts;
mod tiled_split;
mod tried;
mod values;
mod written;

use super::build::Role;
use super::{DEVICE, Defect, Lowerer, UnitTarget, sound};
use hidp_ir::imp::visit::each_stmt;
use hidp_ir::imp::{Entry, Function, Level, Loop, LoopKind, Site, SiteId, Stmt, Unit, VarId, VarKind, shared_bytes};
use hidp_ir::par::{Func, FuncId, Program};
use hidp_plan::Plan;
use hidp_plan::target::{DeviceModel, Model};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;

pub(super) use behind::loaded_behind_conditions;
pub(super) use moved::Moved;
pub(super) use near::Copied;

/// What lowering a device's unit adds to the state.
pub(super) struct State<'a> {
    model: &'a DeviceModel,
    /// In a kernel: the level of the groups that run the code at hand together.
    scope: Level,
    /// Memory of iterations, as the host allocated it for the kernel under construction.
    privates: Vec<private::Given>,
    /// Where the iterations of the current host-level map note the segments that they write.
    records: Vec<record::Record>,
    /// What tells the block that ends last, if a launch asks for it.
    ticket: Option<VarId>,
    /// Where lanes share a map: what they have of one another's elements.
    exchanged: registers::Exchanged,
}

/// Adds to an entry its units for a device, one per plan but for those whose defects it gives.
pub fn lower_device(
    program: &Program,
    func: FuncId,
    plans: &[Plan],
    (model, device): (&Model, &DeviceModel),
    entry: &mut Entry,
) -> Vec<Defect> {
    let func = &program.funcs[func];
    let units = plans.iter().map(|plan| unit(program, func, plan, (model, device), &mut entry.sites));
    let (units, defects) = sound(units.collect());
    entry.units.extend(units);
    defects
}

fn unit(
    program: &Program,
    func: &Func,
    plan: &Plan,
    (model, device): (&Model, &DeviceModel),
    sites: &mut Arena<SiteId, Site>,
) -> Result<Unit, Vec<Defect>> {
    let mut lowerer = Lowerer::new(program, func, plan, model, sites);
    lowerer.device = Some(State {
        model: device,
        scope: Level::Thread,
        privates: Vec::new(),
        records: Vec::new(),
        ticket: None,
        exchanged: registers::Exchanged::default(),
    });
    let mut unit = lowerer.unit(UnitTarget::Device)?;
    join_what_fits(program, &mut unit, device.shared as usize);
    let mut positions = OrdMap::new();
    each_stmt(&unit.host.body, &mut |stmt| {
        if let Stmt::LaunchGrid { kernel, extents, .. } = stmt {
            positions.insert(*kernel, extents.len());
        }
    });
    for (id, kernel) in unit.kernels.iter_mut() {
        written::out(&mut kernel.function, device.written_out);
        differences::summed(&mut kernel.function);
        let grid = kernel.grid.filter(|grid| grid.level == Level::Thread || is_by_lanes(&kernel.function));
        if let (Some(grid), Some(positions)) = (grid, positions.get(&id)) {
            kernel.narrow = narrow::of(&kernel.function, *positions, grid.block, device.narrow);
        }
    }
    Ok(unit)
}

/// Whether the threads of a group have iterations of their own, and share nothing: other groups share the instructions of an item, tiles, or
/// arrays with an element in a register of each lane, who is found by loops over `long`s.
fn is_by_lanes(function: &Function) -> bool {
    let (mut has_lanes, mut spreads) = (false, false);
    each_stmt(&function.body, &mut |stmt| {
        has_lanes |= matches!(stmt, Stmt::Lanes { .. });
        spreads |= matches!(stmt, Stmt::Loop(Loop { kind: LoopKind::Spread { .. }, .. }));
    });
    let shares = |kind| match kind {
        VarKind::Shared { .. } => true,
        VarKind::Registers { .. } => spreads,
        VarKind::Value(_)
        | VarKind::Buffer { .. }
        | VarKind::HostCell { .. }
        | VarKind::Tile { .. }
        | VarKind::Divisor(_)
        | VarKind::Wide { .. }
        | VarKind::WideTile { .. } => false,
    };
    has_lanes && !function.vars.iter().any(|(_, var)| shares(var.kind))
}

/// What does several launches has the shared arrays of all: kernels for which there is no room any more are launched alone.
fn join_what_fits(program: &Program, unit: &mut Unit, most: usize) {
    let mut joined: OrdMap<u32, usize> = OrdMap::new();
    for (_, kernel) in unit.kernels.iter_mut() {
        let own = shared_bytes(program, &kernel.function);
        if let Some(grid) = kernel.grid.as_mut().filter(|grid| grid.joined) {
            let taken = joined.entry(grid.block).or_default();
            grid.joined = *taken + own <= most;
            *taken += if grid.joined { own } else { 0 };
        }
    }
}

impl<'a> Lowerer<'a> {
    /// The level of the group that runs the code at hand; a single lane where there are no groups.
    pub(super) fn group_here(&self) -> Level {
        self.device.as_ref().map_or(Level::Thread, |state| state.scope)
    }

    /// In a device's kernel: the level of a group whose lanes all run the code at hand.
    fn shared_scope(&self) -> Option<Level> {
        let shared = self.body.role == Role::Kernel && self.group_here() != Level::Thread;
        shared.then(|| self.group_here())
    }

    /// Builds something that groups of another level run.
    fn in_scope<T>(&mut self, level: Level, build: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.group_here();
        self.set_scope(level);
        let built = build(self);
        self.set_scope(before);
        built
    }

    fn set_scope(&mut self, level: Level) {
        if let Some(state) = &mut self.device {
            state.scope = level;
        }
    }

    /// Whether the function under construction is the host's, and arrays are elsewhere.
    pub(super) fn is_device_host(&self) -> bool {
        self.device.is_some() && self.body.role == Role::Host
    }

    /// Bytes that a private array of constant size may have.
    pub(super) fn small_array(&self) -> u32 {
        self.device.as_ref().map_or(self.model.small_array, |state| state.model.small_array)
    }

    /// A number of the device's model.
    fn of_model(&mut self, number: impl FnOnce(&DeviceModel) -> u32) -> u32 {
        match self.device_model() {
            Some(model) => number(model),
            None => {
                self.defect(DEVICE);
                1
            }
        }
    }

    fn device_model(&self) -> Option<&'a DeviceModel> {
        self.device.as_ref().map(|state| state.model)
    }
}

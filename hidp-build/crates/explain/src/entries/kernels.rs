//! The kernels of a plan for a GPU: their memory requests, and the resources that the device compiler reports.

use crate::traffic::{Access, Cost, Occupancy, Resources, Traffic, USUAL, occupancy, traffic};
use hidp_emit::c_like::name;
use hidp_ir::imp;
use hidp_ir::par::Program;
use hidp_plan::target::DeviceModel;

/// The kernels of one version.
pub(super) struct PlanKernels {
    pub(super) plan: String,
    pub(super) kernels: Vec<KernelFacts>,
}

/// A kernel.
pub(super) struct KernelFacts {
    pub(super) traffic: Traffic,
    /// Warps of a multiprocessor as far as blocks and shared memory limit them.
    pub(super) occupancy: Occupancy,
    /// What each architecture's code needs, and how many warps that leaves.
    pub(super) compiled: Vec<(Resources, Occupancy)>,
}

/// The kernels of an entry's versions for a device.
pub(super) fn kernels(program: &Program, entry: &imp::Entry, resources: &[Resources]) -> Vec<PlanKernels> {
    let model = DeviceModel::cuda();
    let facts = |unit: &imp::Unit, traffic: Traffic| {
        let symbol = format!("entry_{}::{}_items<", name::symbol(&entry.symbol), name::usual_kernel(unit, traffic.id));
        let plain = symbol.trim_end_matches('<');
        let own = resources.iter().filter(|found| found.kernel == plain || found.kernel.starts_with(&symbol));
        let with = |registers, shared| occupancy(traffic.grid.block, registers, shared, &model);
        let compiled = own.map(|found| (found.clone(), with(found.registers, found.shared))).collect();
        KernelFacts { occupancy: with(1, traffic.shared), traffic, compiled }
    };
    let units = entry.units_for(imp::UnitTarget::Device);
    units
        .map(|unit| PlanKernels {
            plan: unit.plan.clone(),
            kernels: traffic(program, unit, &model, &[USUAL]).into_iter().map(|traffic| facts(unit, traffic)).collect(),
        })
        .collect()
}

impl KernelFacts {
    /// The kernel and its accesses, a line each.
    pub(super) fn text(&self) -> String {
        let Traffic { id: _, kernel, grid, shared, accesses } = &self.traffic;
        let items = if grid.items > 1 { format!(", {} items side by side", grid.items) } else { String::new() };
        let mut lines = vec![format!(
            "{kernel}: a {} an item{items}, blocks of {} threads, {shared} bytes of shared memory",
            grid.level.name(),
            grid.block
        )];
        lines.extend(self.compiled.iter().map(|(found, occupancy)| {
            let Resources { kernel: _, arch, registers, spilled, stack, shared } = found;
            format!(
                "  {arch}: {registers} registers, {spilled} bytes spilled, {stack} of stack, {shared} shared; {}",
                warps(*occupancy)
            )
        }));
        if self.compiled.is_empty() {
            lines.push(format!("  registers apart: {}", warps(self.occupancy)));
        }
        let what: Vec<String> = accesses.iter().map(what).collect();
        let width = what.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let patterns: Vec<String> = accesses.iter().map(|access| access.pattern.to_string()).collect();
        let wide = patterns.iter().map(String::len).max().unwrap_or(0);
        lines.extend(
            what.iter()
                .zip(&patterns)
                .zip(accesses)
                .map(|((what, pattern), access)| format!("  {what:<width$}  {pattern:<wide$}  {}", cost(access.cost))),
        );
        lines.join("\n")
    }
}

fn what(access: &Access) -> String {
    let times = if access.times > 1 { format!(", {} times", access.times) } else { String::new() };
    let depth = match access.depth {
        0 => String::new(),
        1 => ", in a loop".to_owned(),
        depth => format!(", in {depth} loops"),
    };
    format!("{:<6} {}[{}]{times}{depth}", access.action.name(), access.array, access.index)
}

fn cost(cost: Cost) -> String {
    match cost {
        Cost::Global { sectors, least, read_only } => {
            let path = if read_only { ", read-only path" } else { "" };
            format!("{sectors} sectors for {least}{path}")
        }
        Cost::Shared { turns, least } if turns == least => "shared, no bank conflict".to_owned(),
        Cost::Shared { turns, least } => format!("shared, {turns} turns of the banks for {least}"),
    }
}

fn warps(occupancy: Occupancy) -> String {
    let Occupancy { warps, most, limit } = occupancy;
    format!("{warps} of {most} warps ({}%), limited by {}", occupancy.percent(), limit.name())
}

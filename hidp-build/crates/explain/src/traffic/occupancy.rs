//! Occupancy: how many warps of a kernel a multiprocessor holds, from the kernel's resources.

use hidp_plan::target::DeviceModel;

/// What the device's compiler made of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// The kernel's name in the generated text.
    pub kernel: String,
    /// For which architecture.
    pub arch: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of registers' contents of a thread that are kept in memory for want of registers.
    pub spilled: u32,
    /// Bytes of stack of a thread.
    pub stack: u32,
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

/// Of what there is not enough for more blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// A multiprocessor has no more threads.
    Threads,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
    /// A multiprocessor takes no more blocks.
    Blocks,
}

impl Limit {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Threads => "threads",
            Limit::Registers => "registers",
            Limit::Shared => "shared memory",
            Limit::Blocks => "blocks",
        }
    }
}

/// What a multiprocessor holds of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Warps at a time.
    pub warps: u32,
    /// Warps that it could hold.
    pub most: u32,
    /// What limits them.
    pub limit: Limit,
}

impl Occupancy {
    /// In percent.
    pub fn percent(&self) -> u32 {
        self.warps * 100 / self.most.max(1)
    }
}

/// The occupancy of a kernel with blocks of so many threads. Of several limits the first one is named.
pub fn occupancy(block: u32, registers: u32, shared: u32, model: &DeviceModel) -> Occupancy {
    let warps = block.div_ceil(model.warp).max(1);
    // Registers are given to warps in steps, shared memory with what the device keeps for itself.
    let of_warp = (registers.max(1) * model.warp).next_multiple_of(model.register_step.max(1));
    let of_block = (shared + model.shared_of_block).next_multiple_of(model.shared_step.max(1)).max(1);
    let limits = [
        (model.resident / (warps * model.warp).max(1), Limit::Threads),
        (model.registers / of_warp / warps, Limit::Registers),
        (model.shared_of_multiprocessor / of_block, Limit::Shared),
        (model.resident_blocks, Limit::Blocks),
    ];
    let (blocks, limit) = limits.into_iter().min().unwrap_or((0, Limit::Blocks));
    Occupancy { warps: blocks * warps, most: model.resident / model.warp.max(1), limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of NVIDIA's occupancy calculator for compute capability 9.0.
    #[test]
    fn the_scarcest_resource_limits() {
        let model = DeviceModel::cuda();
        let of = |block, registers, shared| {
            let found = occupancy(block, registers, shared, &model);
            (found.warps, found.percent(), found.limit)
        };
        assert_eq!(of(256, 32, 0), (64, 100, Limit::Threads));
        assert_eq!(of(256, 40, 0), (48, 75, Limit::Registers));
        assert_eq!(of(256, 128, 0), (16, 25, Limit::Registers));
        assert_eq!(of(256, 32, 49152), (32, 50, Limit::Shared));
        assert_eq!(of(32, 16, 0), (32, 50, Limit::Blocks));
        assert_eq!(of(1024, 64, 0), (32, 50, Limit::Registers));
    }
}

//! Memory requests of the kernels of a call, as a simulated device counts them.

use std::fmt;

/// Memory requests of the warps of a kernel, summed over all launches of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelTraffic {
    /// Its name in the generated code.
    pub name: String,
    /// Number of launches.
    pub launches: u64,
    /// Blocks of all launches.
    pub blocks: u64,
    /// Threads of all blocks.
    pub threads: u64,
    /// Distinct sectors of 32 bytes of device memory that a block requests, summed over blocks: the traffic with an unbounded cache per block.
    pub block_sectors: u64,
    /// Distinct sectors of device memory that a launch requests, summed over launches: the traffic with an unbounded cache per device.
    pub launch_sectors: u64,
    /// The same per access of the kernel.
    pub sites: Vec<SiteTraffic>,
}

/// Requests of the warps of a kernel at one access. Lanes of a warp that reach it together make one request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteTraffic {
    /// The `.hdp` file, or a header of the run time.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The number of the access in the kernel, in the order of the generated text. 0 for accesses of the run time.
    pub site: u32,
    /// The kind of request.
    pub what: Together,
    /// Whether it is shared memory.
    pub shared: bool,
    /// Bytes per lane.
    pub bytes: u32,
    /// Number of requests.
    pub requests: u64,
    /// Active lanes, summed over requests.
    pub lanes: u64,
    /// Inactive lanes of the same warps.
    pub idle: u64,
    /// Sectors of 32 bytes for device memory, bank turns for shared memory, words of 4 bytes for shuffles, 1 per barrier or vote.
    pub cost: u64,
    /// The same with contiguous lanes and without bank conflicts.
    pub least: u64,
    /// As [`KernelTraffic::block_sectors`], for this access alone.
    pub block_sectors: u64,
    /// As [`KernelTraffic::launch_sectors`], for this access alone.
    pub launch_sectors: u64,
    /// For atomic updates: the most lanes of a request that update one address, summed over requests.
    pub clashes: u64,
    /// For atomic updates: the number of distinct addresses.
    pub updated: u64,
    /// For atomic updates: the most updates of one address in one launch.
    pub most_updates: u64,
}

/// The kind of a request of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Together {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic update.
    Update,
    /// A barrier of the block.
    BlockBarrier,
    /// A barrier within a warp.
    WarpBarrier,
    /// A shuffle within a warp.
    Shuffle,
    /// A vote of a warp.
    Vote,
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Together::Load => "load",
            Together::Store => "store",
            Together::Update => "update",
            Together::BlockBarrier => "barrier",
            Together::WarpBarrier => "warp barrier",
            Together::Shuffle => "shuffle",
            Together::Vote => "vote",
        })
    }
}

/// A table: a line for the kernel, and one per access.
impl fmt::Display for KernelTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, launches, blocks, threads, block_sectors, launch_sectors, sites } = self;
        let plural = if *launches == 1 { "" } else { "es" };
        writeln!(
            f,
            "{name}: {launches} launch{plural}, {blocks} blocks, {threads} threads; \
             {block_sectors} different sectors in blocks, {launch_sectors} in launches"
        )?;
        sites.iter().try_for_each(|site| writeln!(f, "  {site}"))
    }
}

impl fmt::Display for SiteTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, site, what, shared, bytes, requests, lanes, idle, cost, least, .. } = self;
        let file = file.rsplit('/').next().unwrap_or(file);
        let place = if *site == 0 { format!("{file}:{line}") } else { format!("{file}:{line} #{site}") };
        write!(f, "{place:<28} {what:<12} {requests:>9} requests, {lanes:>10} lanes, {idle:>9} idle")?;
        match what {
            Together::Load | Together::Store | Together::Update => {
                let unit = if *shared { "turns" } else { "sectors" };
                write!(f, ", {bytes:>2} bytes each, {cost:>9} {unit} for {least}")?;
            }
            Together::Shuffle => write!(f, ", {cost:>9} words")?,
            Together::BlockBarrier | Together::WarpBarrier | Together::Vote => {}
        }
        if *what == Together::Update {
            write!(f, ", {} at one address at most", self.most_updates)?;
        }
        Ok(())
    }
}

//! What the kernels of a call what of memory, as a simulated device counts it.

use std::fmt;

/// What the warps of a kernel what for in a call, all launches together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelTraffic {
    /// Its name in the generated code.
    pub name: String,
    /// How often it was launched.
    pub launches: u64,
    /// Blocks of all launches.
    pub blocks: u64,
    /// Threads of all blocks.
    pub threads: u64,
    /// Different sectors of device memory that a block what for, added up over blocks: what caches of blocks would ask for that hold
    /// whatever they have had.
    pub block_sectors: u64,
    /// Different sectors of device memory that a launch what for, added up over launches: what memory would deliver to such a cache of
    /// the whole device.
    pub launch_sectors: u64,
    /// By place in the kernel.
    pub sites: Vec<SiteTraffic>,
}

/// What the warps of a kernel what for at one place. Lanes of a warp that come to it together make one request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteTraffic {
    /// The file.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The number of the access in the kernel, in the order of the generated text. 0 for what the run time does by itself.
    pub site: u32,
    /// What lanes ask for.
    pub what: Together,
    /// Whether it is memory of the block.
    pub shared: bool,
    /// Bytes of one lane.
    pub bytes: u32,
    /// How often a warp what.
    pub requests: u64,
    /// Lanes that took part, in all requests.
    pub lanes: u64,
    /// Lanes of the same warps that did not: they had gone another way, or had no part in it.
    pub idle: u64,
    /// Sectors of 32 bytes for device memory, turns of the banks for memory of blocks, words of 4 bytes for shuffles, 1 a barrier or vote.
    pub cost: u64,
    /// The same if lanes were next to each other and met no bank twice.
    pub least: u64,
    /// As [`KernelTraffic::block_sectors`], of this place alone.
    pub block_sectors: u64,
    /// As [`KernelTraffic::launch_sectors`], of this place alone.
    pub launch_sectors: u64,
    /// Of updates: lanes of a request that update one address, the most of them, added up over requests.
    pub clashes: u64,
    /// Of updates: different addresses.
    pub updated: u64,
    /// Of updates: those of one address in one launch, the most of them.
    pub most_updates: u64,
}

/// What the lanes of a warp ask for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Together {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An indivisible update.
    Update,
    /// A barrier of the block.
    BlockBarrier,
    /// A barrier of lanes of a warp.
    WarpBarrier,
    /// Values of other lanes of the warp.
    Shuffle,
    /// What the lanes of a warp say.
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

/// A table: a line for the kernel, and one for each place.
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

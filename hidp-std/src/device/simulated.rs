//! A device whose memory is the host's, for tests of what stands above drivers, and of device code that a host compiler made for the
//! executor in `hidp/simt`.
//!
//! Its stream is as late as a real one may be: what goes into it happens when somebody waits for it. Its memory starts as garbage, and
//! copies to where no memory is are errors.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::driver::{Driver, DriverError, Event, Facts, Rows};
use super::error::NoDevice;
use super::executed::Executed;
use super::find::{Built, Platform};
use super::machine::Machine;

/// The driver of a simulated device.
#[derive(Debug)]
pub(crate) struct Simulated {
    facts: Facts,
    world: World,
}

/// What is known of a simulated device from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct World(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Blocks of both kinds by their addresses.
    blocks: HashMap<usize, Block>,
    made: usize,
    limit: Option<usize>,
    /// Every operation fails so from now on.
    broken: Option<DriverError>,
    stream: VecDeque<Work>,
    /// Where the stream is, and where it will be when it is empty.
    done: u64,
    filled: u64,
    /// Where the stream was filled to when each event was recorded.
    events: HashMap<usize, u64>,
    next_event: usize,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    layout: Layout,
    pinned: bool,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Copy { to: usize, from: usize, bytes: usize },
    Zero { to: usize, bytes: usize },
    Free { block: usize },
}

/// A machine with so many devices, and a program for them.
#[derive(Debug)]
pub(crate) struct Simulation {
    pub(crate) world: World,
    pub(crate) devices: u32,
    /// The order in which blocks and threads of generated code run.
    pub(crate) seed: u64,
}

impl Simulation {
    pub(crate) fn machine(self) -> Machine {
        let program = [Built { architectures: vec![90], toolkit: 13000 }];
        Machine::Other { platform: Arc::new(self), program: program.into() }
    }
}

impl Platform for Simulation {
    fn version(&self) -> Result<i32, NoDevice> {
        Ok(13000)
    }
    fn count(&self) -> Result<u32, NoDevice> {
        Ok(self.devices)
    }
    fn facts(&self, ordinal: u32) -> Result<Facts, NoDevice> {
        let name = "simulated".into();
        Ok(Facts { ordinal, name, architecture: 90, multiprocessors: 2, threads_per_multiprocessor: 256 })
    }
    fn open(&self, ordinal: u32) -> Result<Box<dyn Driver>, NoDevice> {
        if let Some(executed) = Executed::new(self.facts(ordinal)?, self.seed) {
            return Ok(Box::new(executed));
        }
        Ok(Box::new(self.world.driver(self.facts(ordinal)?)))
    }
}

const ALIGNMENT: usize = 256;
const GARBAGE: u8 = 0xa5;

impl World {
    pub(crate) fn driver(&self, facts: Facts) -> Simulated {
        Simulated { facts, world: self.clone() }
    }
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl World {
    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.lock().blocks.len()
    }
    /// How many blocks were ever made.
    pub(crate) fn made(&self) -> usize {
        self.lock().made
    }
    pub(crate) fn events(&self) -> usize {
        self.lock().events.len()
    }
    /// No more than this many bytes from now on.
    pub(crate) fn limit(&self, bytes: usize) {
        self.lock().limit = Some(bytes);
    }
    /// Nothing works any more.
    pub(crate) fn break_down(&self) {
        self.lock().broken = Some(DriverError { code: Some(700), text: "an illegal memory access".into() });
    }
}

impl State {
    fn works(&self) -> Result<(), DriverError> {
        self.broken.clone().map_or(Ok(()), Err)
    }
    fn allocate(&mut self, bytes: usize, pinned: bool) -> Result<*mut u8, DriverError> {
        self.works()?;
        let used: usize = self.blocks.values().map(|block| block.layout.size()).sum();
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).ok();
        let layout = layout.filter(|_| self.limit.is_none_or(|limit| used + bytes <= limit));
        // SAFETY: the layout has a size.
        let block = layout.map(|layout| (layout, unsafe { alloc(layout) })).filter(|(_, block)| !block.is_null());
        let Some((layout, block)) = block else {
            return Err(DriverError { code: Some(2), text: "out of memory".into() });
        };
        // SAFETY: so large is the block.
        unsafe { block.write_bytes(GARBAGE, layout.size()) }
        self.made += 1;
        self.blocks.insert(block.expose_provenance(), Block { layout, pinned });
        Ok(block)
    }
    fn free(&mut self, block: usize) {
        if let Some(Block { layout, .. }) = self.blocks.remove(&block) {
            // SAFETY: made with this layout, and freed once.
            unsafe { dealloc(std::ptr::with_exposed_provenance_mut(block), layout) }
        }
    }
    /// Whether so many bytes of one kind of memory are there.
    fn holds(&self, address: usize, bytes: usize, pinned: bool) -> Result<(), DriverError> {
        let inside = |(&start, block): (&usize, &Block)| {
            block.pinned == pinned && start <= address && address + bytes <= start + block.layout.size()
        };
        if self.blocks.iter().any(inside) {
            Ok(())
        } else {
            Err(DriverError { code: Some(1), text: format!("no {bytes} bytes are at {address:#x}, pinned: {pinned}") })
        }
    }
    fn push(&mut self, work: Work) -> Result<(), DriverError> {
        self.works()?;
        self.stream.push_back(work);
        self.filled += 1;
        Ok(())
    }
    /// Works until the stream is there.
    fn run_to(&mut self, position: u64) -> Result<(), DriverError> {
        self.works()?;
        while self.done < position {
            let Some(work) = self.stream.pop_front() else { break };
            self.done += 1;
            match work {
                // SAFETY: looked at when the work was put into the stream; blocks are freed in the stream's order.
                Work::Copy { to, from, bytes } => unsafe {
                    let from = std::ptr::with_exposed_provenance::<u8>(from);
                    std::ptr::with_exposed_provenance_mut::<u8>(to).copy_from(from, bytes);
                },
                // SAFETY: as above.
                Work::Zero { to, bytes } => unsafe {
                    std::ptr::with_exposed_provenance_mut::<u8>(to).write_bytes(0, bytes);
                },
                Work::Free { block } => self.free(block),
            }
        }
        Ok(())
    }
}

impl Driver for Simulated {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    /// Whoever asks does work of its own, so that all before it is done.
    fn stream(&self) -> *mut c_void {
        let _ = self.synchronize();
        null_mut()
    }
    fn enter(&self) -> Result<(), DriverError> {
        self.world.lock().works()
    }
    fn allocate(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        self.world.lock().allocate(bytes, false)
    }
    unsafe fn release(&self, block: *mut u8) {
        let mut state = self.world.lock();
        if state.push(Work::Free { block: block.addr() }).is_err() {
            state.free(block.addr());
        }
    }
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        self.world.lock().allocate(bytes, true)
    }
    unsafe fn release_pinned(&self, block: *mut u8) {
        self.world.lock().free(block.addr());
    }
    unsafe fn to_device(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.holds(to.addr(), bytes, false)?;
        state.holds(from.addr(), bytes, true)?;
        state.push(Work::Copy { to: to.addr(), from: from.addr(), bytes })
    }
    unsafe fn to_host(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.holds(to.addr(), bytes, true)?;
        state.holds(from.addr(), bytes, false)?;
        state.push(Work::Copy { to: to.addr(), from: from.addr(), bytes })
    }
    unsafe fn copy_rows(&self, to: Rows, from: Rows, width: usize, rows: usize) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        for row in 0..rows {
            let (to, from) = (to.first.addr() + row * to.pitch, from.first.addr() + row * from.pitch);
            state.holds(to, width, false)?;
            state.holds(from, width, false)?;
            state.push(Work::Copy { to, from, bytes: width })?;
        }
        Ok(())
    }
    unsafe fn zero(&self, to: *mut u8, bytes: usize) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.holds(to.addr(), bytes, false)?;
        state.push(Work::Zero { to: to.addr(), bytes })
    }
    fn new_event(&self) -> Result<Event, DriverError> {
        let mut state = self.world.lock();
        state.works()?;
        state.next_event += 1;
        let event = state.next_event;
        state.events.insert(event, 0);
        Ok(Event(std::ptr::without_provenance_mut(event)))
    }
    fn free_event(&self, event: Event) {
        self.world.lock().events.remove(&event.0.addr());
    }
    fn record(&self, event: &Event) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.works()?;
        let filled = state.filled;
        state.events.insert(event.0.addr(), filled);
        Ok(())
    }
    fn has_come_to(&self, event: &Event) -> Result<bool, DriverError> {
        let state = self.world.lock();
        state.works()?;
        Ok(state.events.get(&event.0.addr()).is_none_or(|position| *position <= state.done))
    }
    fn wait_for(&self, event: &Event) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        let position = state.events.get(&event.0.addr()).copied().unwrap_or(0);
        state.run_to(position)
    }
    fn synchronize(&self) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        let filled = state.filled;
        state.run_to(filled)
    }
    fn explain(&self, code: i32) -> String {
        format!("simulated error {code}")
    }
}

impl Drop for Simulated {
    /// What is in a stream that is given up still happens.
    fn drop(&mut self) {
        let _ = self.synchronize();
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let blocks: Vec<usize> = self.blocks.keys().copied().collect();
        blocks.into_iter().for_each(|block| self.free(block));
    }
}

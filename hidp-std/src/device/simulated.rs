//! A device whose memory is the host's, for tests of what stands above drivers, and of device code that a host compiler made for the
//! executor in `hidp/simt`.
//!
//! Its streams are as late as real ones may be: work in one happens when something waits for it, or for a stream that waits for it. Its
//! memory starts as garbage, and copies to where no memory is, or is no more when they happen, are errors.

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
    stream: u64,
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
    /// Calls from this one on fail, so many of them.
    fails: Option<(u64, u64)>,
    calls: u64,
    /// Whether devices may not copy from one another.
    apart: bool,
    streams: HashMap<u64, Stream>,
    next_stream: u64,
    /// Where its stream was filled to when each event was recorded.
    events: HashMap<usize, Position>,
    next_event: usize,
    recorded: usize,
}

#[derive(Debug, Default)]
struct Stream {
    work: VecDeque<Work>,
    /// Where it is, and where it will be when it is empty.
    done: u64,
    filled: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Position {
    stream: u64,
    at: u64,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    layout: Layout,
    kind: Kind,
}

/// Whose memory a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Page-locked, on the host.
    Pinned,
    /// Of the device of this number.
    Device(u32),
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Copy { to: usize, from: usize, bytes: usize },
    Zero { to: usize, bytes: usize },
    Free { block: usize },
    Wait(Position),
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
        let stream = self.lock().open();
        Simulated { facts, world: self.clone(), stream }
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
    /// How many events were ever recorded.
    pub(crate) fn recorded(&self) -> usize {
        self.lock().recorded
    }
    /// Whether all that was put into streams has happened.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().streams.values().all(|stream| stream.work.is_empty())
    }
    pub(crate) fn streams(&self) -> usize {
        self.lock().streams.len()
    }
    /// No more than this many bytes from now on.
    pub(crate) fn limit(&self, bytes: usize) {
        self.lock().limit = Some(bytes);
    }
    /// Counts calls that may fail from 1 again; those from number `first` on fail, so many of them.
    pub(crate) fn fail(&self, first: u64, count: u64) {
        let mut state = self.lock();
        (state.calls, state.fails) = (0, Some((first, count)));
    }
    /// No call fails from now on. How many there were.
    pub(crate) fn works(&self) -> u64 {
        let mut state = self.lock();
        state.fails = None;
        state.calls
    }
    /// Devices may not copy from one another.
    pub(crate) fn part(&self) {
        self.lock().apart = true;
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
    /// Begins a call that may fail.
    fn call(&mut self) -> Result<(), DriverError> {
        self.works()?;
        self.calls += 1;
        match self.fails {
            Some((first, count)) if self.calls >= first && self.calls - first < count => {
                if count == u64::MAX {
                    self.stop();
                }
                Err(DriverError { code: Some(2), text: "told to fail".into() })
            }
            Some(_) | None => Ok(()),
        }
    }
    /// Nothing that was asked for happens any more; what was given back is.
    fn stop(&mut self) {
        for stream in self.streams.values_mut() {
            stream.work.retain(|work| matches!(work, Work::Free { .. }));
            stream.done = stream.filled - stream.work.len() as u64;
        }
    }
    fn open(&mut self) -> u64 {
        self.next_stream += 1;
        self.streams.insert(self.next_stream, Stream::default());
        self.next_stream
    }
    fn allocate(&mut self, bytes: usize, kind: Kind) -> Result<*mut u8, DriverError> {
        self.call()?;
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
        self.blocks.insert(block.expose_provenance(), Block { layout, kind });
        Ok(block)
    }
    fn free(&mut self, block: usize) {
        if let Some(Block { layout, .. }) = self.blocks.remove(&block) {
            // SAFETY: made with this layout, and freed once.
            unsafe { dealloc(std::ptr::with_exposed_provenance_mut(block), layout) }
        }
    }
    fn kind_of(&self, address: usize, bytes: usize) -> Option<Kind> {
        let inside = |(&start, block): (&usize, &Block)| {
            (start <= address && address + bytes <= start + block.layout.size()).then_some(block.kind)
        };
        self.blocks.iter().find_map(inside)
    }
    /// Whether so many bytes of one kind of memory are there.
    fn holds(&self, address: usize, bytes: usize, kind: Kind) -> Result<(), DriverError> {
        if self.kind_of(address, bytes) == Some(kind) {
            Ok(())
        } else {
            Err(DriverError { code: Some(1), text: format!("no {bytes} bytes are at {address:#x} of {kind:?}") })
        }
    }
    fn copy(&mut self, stream: u64, to: (usize, Kind), from: (usize, Kind), bytes: usize) -> Result<(), DriverError> {
        self.call()?;
        self.holds(to.0, bytes, to.1)?;
        self.holds(from.0, bytes, from.1)?;
        self.push(stream, Work::Copy { to: to.0, from: from.0, bytes });
        Ok(())
    }
    fn push(&mut self, stream: u64, work: Work) {
        let stream = self.streams.entry(stream).or_default();
        stream.work.push_back(work);
        stream.filled += 1;
    }
    fn filled(&self, stream: u64) -> Position {
        Position { stream, at: self.streams.get(&stream).map_or(0, |stream| stream.filled) }
    }
    fn has_come_to(&self, position: Position) -> bool {
        self.streams.get(&position.stream).is_none_or(|stream| stream.done >= position.at)
    }
    /// Works until the stream is there.
    fn run_to(&mut self, position: Position) -> Result<(), DriverError> {
        self.works()?;
        while !self.has_come_to(position) {
            let Some(stream) = self.streams.get_mut(&position.stream) else { break };
            let Some(work) = stream.work.pop_front() else { break };
            stream.done += 1;
            self.work(work)?;
        }
        Ok(())
    }
    fn work(&mut self, work: Work) -> Result<(), DriverError> {
        let there = |address, bytes| {
            let text = || format!("no {bytes} bytes are at {address:#x} any more");
            self.kind_of(address, bytes).map(|_| ()).ok_or_else(|| DriverError { code: Some(700), text: text() })
        };
        let fine = match work {
            Work::Copy { to, from, bytes } => there(to, bytes).and_then(|()| there(from, bytes)),
            Work::Zero { to, bytes } => there(to, bytes),
            Work::Free { .. } | Work::Wait(_) => Ok(()),
        };
        if let Err(error) = fine {
            self.broken = Some(error.clone());
            return Err(error);
        }
        match work {
            // SAFETY: both are there.
            Work::Copy { to, from, bytes } => unsafe {
                let from = std::ptr::with_exposed_provenance::<u8>(from);
                std::ptr::with_exposed_provenance_mut::<u8>(to).copy_from(from, bytes);
            },
            // SAFETY: as above.
            Work::Zero { to, bytes } => unsafe {
                std::ptr::with_exposed_provenance_mut::<u8>(to).write_bytes(0, bytes);
            },
            Work::Free { block } => self.free(block),
            Work::Wait(position) => return self.run_to(position),
        }
        Ok(())
    }
}

impl Simulated {
    fn memory(&self) -> Kind {
        Kind::Device(self.facts.ordinal)
    }
    fn of(driver: &dyn Driver) -> Option<&Simulated> {
        (driver as &dyn std::any::Any).downcast_ref()
    }
}

impl Driver for Simulated {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    /// Whoever asks does work of its own, so that all before it is done.
    fn stream(&self) -> *mut c_void {
        let mut state = self.world.lock();
        let filled = state.filled(self.stream);
        let _ = state.run_to(filled);
        null_mut()
    }
    fn fork(&self) -> Result<Box<dyn Driver>, DriverError> {
        self.world.lock().call()?;
        Ok(Box::new(self.world.driver(self.facts.clone())))
    }
    fn is_same_device(&self, other: &dyn Driver) -> bool {
        Self::of(other).is_some_and(|other| {
            Arc::ptr_eq(&self.world.0, &other.world.0) && self.facts.ordinal == other.facts.ordinal
        })
    }
    fn can_copy_from(&self, other: &dyn Driver) -> Result<bool, DriverError> {
        let mut state = self.world.lock();
        state.call()?;
        let together = Self::of(other).is_some_and(|other| Arc::ptr_eq(&self.world.0, &other.world.0));
        Ok(together && !state.apart)
    }
    fn enter(&self) -> Result<(), DriverError> {
        self.world.lock().call()
    }
    fn allocate(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        self.world.lock().allocate(bytes, self.memory())
    }
    unsafe fn release(&self, block: *mut u8) {
        let mut state = self.world.lock();
        match state.works() {
            Ok(()) => state.push(self.stream, Work::Free { block: block.addr() }),
            Err(_) => state.free(block.addr()),
        }
    }
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        self.world.lock().allocate(bytes, Kind::Pinned)
    }
    unsafe fn release_pinned(&self, block: *mut u8) {
        self.world.lock().free(block.addr());
    }
    unsafe fn to_device(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        let (to, from) = ((to.addr(), self.memory()), (from.addr(), Kind::Pinned));
        self.world.lock().copy(self.stream, to, from, bytes)
    }
    unsafe fn to_host(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        let (to, from) = ((to.addr(), Kind::Pinned), (from.addr(), self.memory()));
        self.world.lock().copy(self.stream, to, from, bytes)
    }
    unsafe fn copy_rows(&self, to: Rows, from: Rows, width: usize, rows: usize) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        for row in 0..rows {
            let (to, from) = (to.first.addr() + row * to.pitch, from.first.addr() + row * from.pitch);
            state.copy(self.stream, (to, self.memory()), (from, self.memory()), width)?;
        }
        Ok(())
    }
    unsafe fn zero(&self, to: *mut u8, bytes: usize) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.call()?;
        state.holds(to.addr(), bytes, self.memory())?;
        state.push(self.stream, Work::Zero { to: to.addr(), bytes });
        Ok(())
    }
    unsafe fn copy_from_peer(
        &self,
        to: *mut u8,
        other: &dyn Driver,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DriverError> {
        let Some(other) = Self::of(other) else {
            return Err(DriverError { code: Some(1), text: "the memory is of another driver".into() });
        };
        let (to, from) = ((to.addr(), self.memory()), (from.addr(), other.memory()));
        self.world.lock().copy(self.stream, to, from, bytes)
    }
    fn new_event(&self) -> Result<Event, DriverError> {
        let mut state = self.world.lock();
        state.call()?;
        state.next_event += 1;
        let event = state.next_event;
        state.events.insert(event, Position::default());
        Ok(Event(std::ptr::without_provenance_mut(event)))
    }
    fn free_event(&self, event: Event) {
        self.world.lock().events.remove(&event.0.addr());
    }
    fn record(&self, event: &Event) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.call()?;
        let filled = state.filled(self.stream);
        state.events.insert(event.0.addr(), filled);
        state.recorded += 1;
        Ok(())
    }
    fn has_come_to(&self, event: &Event) -> Result<bool, DriverError> {
        let mut state = self.world.lock();
        state.call()?;
        Ok(state.events.get(&event.0.addr()).is_none_or(|position| state.has_come_to(*position)))
    }
    fn wait_for(&self, event: &Event) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.call()?;
        let position = state.events.get(&event.0.addr()).copied().unwrap_or_default();
        state.run_to(position)
    }
    fn wait_in_stream(&self, event: &Event) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.call()?;
        let position = state.events.get(&event.0.addr()).copied().unwrap_or_default();
        state.push(self.stream, Work::Wait(position));
        Ok(())
    }
    fn synchronize(&self) -> Result<(), DriverError> {
        let mut state = self.world.lock();
        state.call()?;
        let filled = state.filled(self.stream);
        state.run_to(filled)
    }
    fn explain(&self, code: i32) -> String {
        format!("simulated error {code}")
    }
}

impl Drop for Simulated {
    /// What is in a stream that is given up still happens.
    fn drop(&mut self) {
        let mut state = self.world.lock();
        let filled = state.filled(self.stream);
        let _ = state.run_to(filled);
        state.streams.remove(&self.stream);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let blocks: Vec<usize> = self.blocks.keys().copied().collect();
        blocks.into_iter().for_each(|block| self.free(block));
    }
}

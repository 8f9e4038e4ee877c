//! Reuse of blocks: in steady state the system allocates nothing.

use std::collections::HashMap;

use super::driver::DriverError;

/// Memory of one kind, in size classes. Knows which blocks there are, not what they are.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// By class.
    idle: Vec<Vec<usize>>,
    /// Class of each block that is in use.
    taken: HashMap<usize, usize>,
    held_bytes: usize,
    idle_bytes: usize,
}

/// Where a pool gets blocks from.
pub(crate) trait Source {
    fn make(&self, bytes: usize) -> Result<*mut u8, DriverError>;
    /// # Safety
    /// `block` came from `make`, and has no user left.
    unsafe fn free(&self, block: *mut u8);
}

/// Largest classes are of this many bytes.
const MOST: usize = 1 << 46;
const SMALLEST: usize = 256;
/// Classes from one power of two to the next: at most an eighth is wasted.
const STEPS: usize = 8;
/// Idle bytes that are kept whatever the use.
const KEPT: usize = 64 << 20;

impl Pool {
    /// A block of at least this many bytes.
    pub(crate) fn take(&mut self, bytes: usize, source: &impl Source) -> Result<*mut u8, DriverError> {
        let class = class_of(bytes).ok_or_else(|| too_large(bytes))?;
        let block = match self.idle.get_mut(class).and_then(Vec::pop) {
            Some(block) => {
                self.idle_bytes -= class_bytes(class);
                std::ptr::with_exposed_provenance_mut(block)
            }
            None => self.make(class, source)?,
        };
        self.taken.insert(block.expose_provenance(), class);
        Ok(block)
    }

    fn make(&mut self, class: usize, source: &impl Source) -> Result<*mut u8, DriverError> {
        let bytes = class_bytes(class);
        let in_use = self.held_bytes - self.idle_bytes;
        self.release_idle(in_use.saturating_add(bytes).saturating_add(KEPT), source);
        let block = source.make(bytes).or_else(|_| {
            self.release_idle(0, source);
            source.make(bytes)
        })?;
        self.held_bytes += bytes;
        Ok(block)
    }

    /// Takes a block back. What is not the pool's is ignored.
    pub(crate) fn give(&mut self, block: *mut u8) {
        let Some(class) = self.taken.remove(&block.addr()) else { return };
        if self.idle.len() <= class {
            self.idle.resize_with(class + 1, Vec::new);
        }
        self.idle[class].push(block.addr());
        self.idle_bytes += class_bytes(class);
    }

    /// Gives the block away.
    #[cfg_attr(not(any(feature = "cuda", test)), allow(dead_code))]
    pub(crate) fn forget(&mut self, block: *mut u8) {
        if let Some(class) = self.taken.remove(&block.addr()) {
            self.held_bytes -= class_bytes(class);
        }
    }

    /// Bytes of all blocks, in use or not.
    pub(crate) fn bytes(&self) -> usize {
        self.held_bytes
    }

    /// Gives idle blocks back to the system, largest first, until at most `limit` bytes of them are left.
    pub(crate) fn release_idle(&mut self, limit: usize, source: &impl Source) {
        for class in (0..self.idle.len()).rev() {
            while self.idle_bytes > limit {
                let Some(block) = self.idle[class].pop() else { break };
                self.idle_bytes -= class_bytes(class);
                self.held_bytes -= class_bytes(class);
                // SAFETY: it came from `make`, and was given back.
                unsafe { source.free(std::ptr::with_exposed_provenance_mut(block)) }
            }
        }
    }
}

const fn class_bytes(class: usize) -> usize {
    ((STEPS + class % STEPS) * (SMALLEST / STEPS)) << (class / STEPS)
}

fn class_of(bytes: usize) -> Option<usize> {
    if bytes > MOST {
        return None;
    }
    let bytes = bytes.max(SMALLEST);
    let power = bytes.ilog2() - SMALLEST.ilog2();
    let step = (SMALLEST / STEPS) << power;
    // The next power of two has the number STEPS, which is class 0 of the next row.
    let steps = (bytes - (SMALLEST << power)).div_ceil(step);
    Some(STEPS * power as usize + steps)
}

fn too_large(bytes: usize) -> DriverError {
    DriverError { code: None, text: format!("no device has {bytes} bytes of memory") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// Numbers as blocks, of which only so many bytes exist.
    #[derive(Default)]
    struct Numbers {
        made: Cell<usize>,
        limit: Cell<usize>,
        live: RefCell<HashMap<usize, usize>>,
    }

    impl Numbers {
        fn live_bytes(&self) -> usize {
            self.live.borrow().values().sum()
        }
    }

    impl Source for Numbers {
        fn make(&self, bytes: usize) -> Result<*mut u8, DriverError> {
            if self.live_bytes() + bytes > self.limit.get() {
                return Err(DriverError { code: Some(2), text: "full".into() });
            }
            self.made.set(self.made.get() + 1);
            self.live.borrow_mut().insert(self.made.get(), bytes);
            Ok(std::ptr::without_provenance_mut(self.made.get()))
        }
        unsafe fn free(&self, block: *mut u8) {
            assert!(self.live.borrow_mut().remove(&block.addr()).is_some(), "{block:?} is not there");
        }
    }

    fn unlimited() -> Numbers {
        Numbers { limit: Cell::new(usize::MAX), ..Numbers::default() }
    }

    #[test]
    fn classes_hold_what_is_asked_and_waste_little() {
        for bytes in (0..5000).chain([1 << 20, (1 << 20) + 1, (1 << 33) - 1, MOST - 1, MOST]) {
            let class = class_of(bytes).unwrap();
            let held = class_bytes(class);
            assert!(held >= bytes && held.is_multiple_of(32), "{bytes} in {held}");
            assert!(bytes <= SMALLEST || held - bytes <= bytes / 8 + 1, "{bytes} in {held}");
            assert!(class == 0 || class_bytes(class - 1) < bytes.max(1), "{bytes} fits class {} too", class - 1);
        }
        assert_eq!(class_of(MOST + 1), None);
    }

    #[test]
    fn steady_state_makes_nothing() {
        let (mut pool, source) = (Pool::default(), unlimited());
        for round in 0..5 {
            let blocks: Vec<_> = [10, 1000, 1000, 70_000].map(|bytes| pool.take(bytes, &source).unwrap()).into();
            assert_eq!(source.made.get(), 4, "round {round}");
            blocks.into_iter().for_each(|block| pool.give(block));
        }
        assert_eq!(pool.bytes(), source.live_bytes());
        pool.release_idle(0, &source);
        assert_eq!((pool.bytes(), source.live_bytes()), (0, 0));
    }

    #[test]
    fn what_lies_idle_makes_room() {
        let (mut pool, source) = (Pool::default(), Numbers { limit: Cell::new(3000), ..Numbers::default() });
        let first = pool.take(2000, &source).unwrap();
        assert!(pool.take(2000, &source).is_err());
        pool.give(first);
        pool.take(2500, &source).expect("the idle block is given up");
        assert_eq!(source.live.borrow().len(), 1);
    }

    #[test]
    fn idle_blocks_do_not_pile_up() {
        let (mut pool, source) = (Pool::default(), unlimited());
        for step in 0..100 {
            let block = pool.take((16 << 20) + (step << 21), &source).unwrap();
            pool.give(block);
        }
        assert!(pool.bytes() < 1 << 30, "{}", pool.bytes());
    }

    #[test]
    fn foreign_and_forgotten_blocks_stay_out() {
        let (mut pool, source) = (Pool::default(), unlimited());
        pool.give(std::ptr::without_provenance_mut(77));
        let block = pool.take(1000, &source).unwrap();
        pool.forget(block);
        pool.give(block);
        assert_eq!(pool.bytes(), 0);
        assert_ne!(pool.take(1000, &source).unwrap(), block);
    }
}

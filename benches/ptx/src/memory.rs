//! Memory that kernels reach.

use std::collections::BTreeMap;

use crate::instr::Space;

/// Where generic addresses of shared and of local memory begin; no address of a process is there.
const SHARED: u64 = 1 << 60;
const LOCAL: u64 = 2 << 60;
/// The same of parameters.
const PARAM: u64 = 3 << 60;

/// Blocks of the host's memory that stand for device memory.
#[derive(Debug, Default)]
pub struct Memory {
    blocks: BTreeMap<u64, u64>,
}

impl Memory {
    /// Kernels may use these bytes from now on.
    ///
    /// # Safety
    ///
    /// They stay readable and writable until `forbid`, and nothing else uses them while a kernel runs.
    pub unsafe fn allow(&mut self, address: *mut u8, bytes: usize) {
        self.blocks.insert(address as u64, bytes as u64);
    }

    /// Takes back what `allow` gave.
    pub fn forbid(&mut self, address: *mut u8) {
        self.blocks.remove(&(address as u64));
    }

    pub(crate) fn has(&self, address: u64, bytes: u64) -> bool {
        let block = self.blocks.range(..=address).next_back();
        block.is_some_and(|(start, size)| address + bytes <= start + size)
    }
}

/// The space that a generic address is of, and where in it.
pub(crate) fn resolved(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Generic if address >= PARAM => (Space::Param, address - PARAM),
        Space::Generic if address >= LOCAL => (Space::Local, address - LOCAL),
        Space::Generic if address >= SHARED => (Space::Shared, address - SHARED),
        Space::Generic => (Space::Global, address),
        Space::Global | Space::Shared | Space::Local | Space::Constant | Space::Param => (space, address),
    }
}

/// What a generic address has and one of a space has not.
pub(crate) fn generic(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        Space::Param => PARAM,
        Space::Generic | Space::Global | Space::Constant => 0,
    }
}

/// # Safety
///
/// So many bytes there are readable.
pub(crate) unsafe fn read(address: *const u8, bytes: u64) -> u64 {
    let mut value = [0u8; 8];
    // SAFETY: the caller's promise; no element is wider than 8 bytes.
    unsafe { std::ptr::copy_nonoverlapping(address, value.as_mut_ptr(), bytes as usize) };
    u64::from_le_bytes(value)
}

/// # Safety
///
/// So many bytes there are writable.
pub(crate) unsafe fn write(address: *mut u8, value: u64, bytes: u64) {
    // SAFETY: the caller's promise; no element is wider than 8 bytes.
    unsafe { std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), address, bytes as usize) };
}

//! Arrays in memory.

use super::value::{Array, Data, Value};

/// A buffer: a position in [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BufferId(usize);

#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub(super) shape: Vec<i64>,
    pub(super) data: Data,
    /// The number of maps that were running when it came to life.
    pub(super) born: usize,
}

/// All arrays that are alive: a stack, cut back when a function ends.
#[derive(Debug, Default)]
pub(super) struct Memory {
    buffers: Vec<Buffer>,
    /// Bytes that locals take.
    pub(super) bytes: u64,
}

impl Memory {
    pub(super) fn add(&mut self, array: Array, born: usize) -> BufferId {
        self.buffers.push(Buffer { shape: array.shape, data: array.data, born });
        BufferId(self.buffers.len() - 1)
    }
    pub(super) fn get(&self, buffer: BufferId) -> &Buffer {
        &self.buffers[buffer.0]
    }
    pub(super) fn get_mut(&mut self, buffer: BufferId) -> &mut Buffer {
        &mut self.buffers[buffer.0]
    }
    pub(super) fn load(&self, buffer: BufferId, index: usize) -> Value {
        self.buffers[buffer.0].data.get(index)
    }
    pub(super) fn array(&self, buffer: BufferId) -> Array {
        let buffer = self.get(buffer);
        Array { shape: buffer.shape.clone(), data: buffer.data.clone() }
    }
    /// Exchanges the contents of two buffers of one shape.
    pub(super) fn swap(&mut self, left: BufferId, right: BufferId) {
        if left != right {
            let taken = std::mem::replace(&mut self.get_mut(left).data, Data::Bool(Vec::new()));
            let taken = std::mem::replace(&mut self.get_mut(right).data, taken);
            self.get_mut(left).data = taken;
        }
    }
    /// Where [`Self::cut_back`] goes back to.
    pub(super) fn mark(&self) -> (usize, u64) {
        (self.buffers.len(), self.bytes)
    }
    pub(super) fn cut_back(&mut self, mark: (usize, u64)) {
        self.buffers.truncate(mark.0);
        self.bytes = mark.1;
    }
}

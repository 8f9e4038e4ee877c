//! Arguments of measured calls: as they were made, and as calls find and leave them, in the host's memory or on a device.

use std::sync::Arc;

use super::data::Data;
use crate::Error;
use crate::device::{Memory, Queue};
use crate::rt::Arg;
use crate::rt::entry::{Entry, Param};

/// See the module.
pub(super) struct Arguments<'a> {
    entry: &'static Entry,
    pristine: &'a [Data],
    working: Vec<Data>,
    resident: Option<Resident>,
    /// Whether calls find them in the host's memory, whatever is on a device.
    at_home: bool,
}

/// Arrays on a device.
struct Resident {
    queue: Arc<Queue>,
    /// One a parameter.
    blocks: Vec<Memory>,
}

impl<'a> Arguments<'a> {
    /// With a queue, arrays are on its device.
    pub(super) fn new(entry: &'static Entry, pristine: &'a [Data], queue: Option<&Arc<Queue>>) -> Result<Self, Error> {
        let mut arguments =
            Self { entry, pristine, working: pristine.to_vec(), resident: None, at_home: queue.is_none() };
        if let Some(queue) = queue {
            queue.enter()?;
            let resident = arguments.resident.insert(Resident { queue: queue.clone(), blocks: Vec::new() });
            for data in pristine {
                resident.blocks.push(Memory::new(queue, data.bytes())?);
            }
            arguments.upload(|_| true)?;
        }
        Ok(arguments)
    }

    /// Whether calls find arrays in the host's memory. They are as they were made there.
    pub(super) fn stay_at_home(&mut self, at_home: bool) {
        self.at_home = at_home || self.resident.is_none();
        self.restore_working();
    }
    pub(super) fn are_at_home(&self) -> bool {
        self.at_home
    }

    /// Makes what calls write as it was. Whatever that takes is done when this returns.
    pub(super) fn restore(&mut self) -> Result<(), Error> {
        self.restore_working();
        if self.at_home { Ok(()) } else { self.upload(|param| param.writes) }
    }
    fn restore_working(&mut self) {
        for ((working, pristine), param) in self.working.iter_mut().zip(self.pristine).zip(self.entry.params) {
            if param.writes {
                working.restore(pristine);
            }
        }
    }

    fn upload(&self, wanted: impl Fn(&Param) -> bool) -> Result<(), Error> {
        let Some(Resident { queue, blocks }) = &self.resident else { return Ok(()) };
        queue.enter()?;
        for ((block, data), param) in blocks.iter().zip(self.pristine).zip(self.entry.params) {
            if data.bytes() > 0 && wanted(param) {
                // SAFETY: the block was taken for so many bytes.
                unsafe { queue.upload(block.first(), data.address().cast(), data.bytes()) }?;
            }
        }
        Ok(queue.synchronize()?)
    }

    /// What calls get.
    pub(super) fn args(&mut self) -> Vec<Arg<'_>> {
        let resident = self.resident.as_ref().filter(|_| !self.at_home);
        let args = self.working.iter_mut().enumerate().map(|(at, data)| match resident {
            Some(Resident { blocks, .. }) if !data.shape().is_empty() => data.arg().on_device(&blocks[at]),
            Some(_) | None => data.arg(),
        });
        args.collect()
    }

    /// What is in them now.
    pub(super) fn values(&mut self) -> Result<&[Data], Error> {
        if let Some(Resident { queue, blocks }) = self.resident.as_ref().filter(|_| !self.at_home) {
            queue.enter()?;
            for ((block, data), param) in blocks.iter().zip(&mut self.working).zip(self.entry.params) {
                if data.bytes() > 0 && param.writes {
                    // SAFETY: the block was taken for so many bytes.
                    unsafe { queue.download(data.address_mut().cast(), block.first(), data.bytes()) }?;
                }
            }
        }
        Ok(&self.working)
    }
}

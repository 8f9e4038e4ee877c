//! Arguments of a call on a device: arrays of the host are copied as the entry reads and writes them, and no more.

use std::ffi::c_void;

use super::args::Arg;
use super::entry::{Entry, Param};
use crate::device::{Access, Copies, Notes, Queue};
use crate::{ArrayText, Error};

/// What a call of `entry` on a device copies: arrays of the host as it reads and writes them. The same as [`OnQueue`] does.
pub(super) fn copies(entry: &Entry, args: &[Arg<'_>]) -> Copies {
    let mut copies = Copies::default();
    for (number, (param, arg)) in entry.params.iter().zip(args).enumerate() {
        if !is_copied(param, arg) || same_array_before(entry, args, number).is_some() {
            continue;
        }
        if param.reads {
            copies.to_device += 1;
            copies.bytes_to_device += arg.bytes as u64;
        }
        if param.writes {
            copies.to_host += 1;
            copies.bytes_to_host += arg.bytes as u64;
        }
    }
    copies
}

/// Whether the argument is an array in the host's memory with something in it.
fn is_copied(param: &Param, arg: &Arg<'_>) -> bool {
    arg.memory.is_none() && !param.shape.is_empty() && arg.bytes > 0
}

fn access(param: &Param) -> Access {
    if param.writes { Access::Write } else { Access::Read }
}

/// The same elements may be passed several times, if nothing writes them.
fn same_array_before(entry: &Entry, args: &[Arg<'_>], number: usize) -> Option<usize> {
    let arg = &args[number];
    (0..number).find(|&before| {
        let other = &args[before];
        is_copied(&entry.params[before], other) && other.address == arg.address && other.bytes == arg.bytes
    })
}

/// Arguments where the device's code finds them. Gives back what it took.
pub(super) struct OnQueue<'a> {
    queue: &'a Queue,
    entry: &'static Entry,
    args: &'a [Arg<'a>],
    /// One a parameter.
    addresses: &'a mut [*mut c_void],
    /// The copy of each array of the host; null for the others.
    blocks: &'a mut [*mut c_void],
}

impl<'a> OnQueue<'a> {
    /// Brings the arguments to the device. `addresses` and `blocks` have a null for each of them.
    pub(super) fn bind(
        queue: &'a Queue,
        entry: &'static Entry,
        args: &'a [Arg<'a>],
        addresses: &'a mut [*mut c_void],
        blocks: &'a mut [*mut c_void],
    ) -> Result<Self, Error> {
        queue.enter()?;
        let mut this = Self { queue, entry, args, addresses, blocks };
        for (number, param) in entry.params.iter().enumerate().take(args.len()) {
            this.addresses[number] = this.place(number, param)?;
        }
        Ok(this)
    }

    fn place(&mut self, number: usize, param: &Param) -> Result<*mut c_void, Error> {
        let arg = &self.args[number];
        match arg.memory {
            Some(_) if arg.bytes == 0 => Ok(self.queue.zeros().cast()),
            Some(memory) if self.queue.is_same_device(memory.queue()) => {
                memory.prepare(self.queue, access(param))?;
                Ok(arg.address)
            }
            Some(_) => {
                let array = ArrayText::new(self.entry, number);
                Err(Error::Elsewhere { entry: self.entry.name, array, on_device: true })
            }
            None if param.shape.is_empty() => Ok(arg.address),
            None if arg.bytes == 0 => Ok(self.queue.zeros().cast()),
            None => match same_array_before(self.entry, self.args, number) {
                Some(before) => Ok(self.addresses[before]),
                None => self.copy(number, param),
            },
        }
    }

    fn copy(&mut self, number: usize, param: &Param) -> Result<*mut c_void, Error> {
        let arg = &self.args[number];
        let block = self.queue.take(arg.bytes)?;
        self.blocks[number] = block.cast();
        if param.reads {
            // SAFETY: the array has so many bytes, and so has the block.
            unsafe { self.queue.upload(block, arg.address.cast_const().cast(), arg.bytes) }?;
        }
        Ok(block.cast())
    }

    pub(super) fn addresses(&self) -> &[*mut c_void] {
        self.addresses
    }

    /// The device's code was run, whatever came of it.
    pub(super) fn has_run(&self) -> Result<(), Error> {
        let mut notes = Notes::new(self.queue);
        for (param, arg) in self.entry.params.iter().zip(self.args) {
            if let Some(memory) = arg.memory {
                notes.note(memory, access(param))?;
            }
        }
        Ok(())
    }

    /// Brings what the entry wrote to the host. Waits for it; not at all if that is nothing.
    pub(super) fn bring_back(self) -> Result<(), Error> {
        for (number, (param, arg)) in self.entry.params.iter().zip(self.args).enumerate() {
            let block = self.blocks[number];
            if param.writes && !block.is_null() {
                // SAFETY: the array has so many bytes, and so has the block.
                unsafe { self.queue.download(arg.address.cast(), block.cast_const().cast(), arg.bytes) }?;
            }
        }
        Ok(())
    }
}

impl Drop for OnQueue<'_> {
    fn drop(&mut self) {
        for block in self.blocks.iter().filter(|block| !block.is_null()) {
            self.queue.give(block.cast());
        }
    }
}

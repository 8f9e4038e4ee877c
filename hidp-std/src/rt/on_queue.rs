//! Arguments of a call on a device: arrays of the host are copied as the entry reads and writes them, and no more.

use std::ffi::c_void;

use super::args::Arg;
use super::entry::{Entry, Param};
use crate::device::{Access, Copies, HostBlock, Memory, Notes, Queue, Scattered};
use crate::view::Away;
use crate::{ArrayText, Error};

/// What a call of `entry` on a device copies: arrays of the host as it reads and writes them. The same as [`OnQueue`] does.
pub(super) fn copies(entry: &Entry, args: &[Arg<'_>]) -> Copies {
    let mut copies = Copies::default();
    for (number, (param, arg)) in entry.params.iter().zip(args).enumerate() {
        if let Some(Away::Mirrored(mirror)) = arg.away {
            let same =
                |arg: &Arg<'_>| matches!(arg.away, Some(Away::Mirrored(other)) if std::ptr::addr_eq(other, mirror));
            let copied_before = || args[..number].iter().any(same);
            let (arrays, bytes) = if param.reads && !copied_before() { mirror.to_copy() } else { (0, 0) };
            copies.to_device += arrays;
            copies.bytes_to_device += bytes;
        }
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
    let on_host = match arg.away {
        None => true,
        Some(Away::Scattered(section)) => section.memory().is_none(),
        Some(Away::Adjacent(..) | Away::Mirrored(_)) => false,
    };
    on_host && !param.shape.is_empty() && arg.bytes > 0
}

fn access(param: &Param) -> Access {
    if param.writes { Access::Write } else { Access::Read }
}

/// The same elements may be passed several times, if nothing writes them.
fn same_array_before(entry: &Entry, args: &[Arg<'_>], number: usize) -> Option<usize> {
    let arg = &args[number];
    (0..number).find(|&before| {
        let other = &args[before];
        let adjacent = arg.away.is_none() && other.away.is_none() && is_copied(&entry.params[before], other);
        adjacent && other.address == arg.address && other.bytes == arg.bytes
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
        match arg.away {
            Some(_) if arg.bytes == 0 => Ok(self.queue.zeros().cast()),
            Some(Away::Adjacent(memory, _)) => {
                self.check(number, memory)?;
                memory.prepare(self.queue, access(param))?;
                Ok(arg.address)
            }
            Some(Away::Scattered(section)) => self.pack(number, param, section),
            Some(Away::Mirrored(mirror)) => match mirror.on_queue(self.queue, param.reads, param.writes)? {
                Some(address) => Ok(address),
                // The copy is on another device.
                None => self.copy(number, param, mirror.on_host(false)?),
            },
            None if param.shape.is_empty() => Ok(arg.address),
            None if arg.bytes == 0 => Ok(self.queue.zeros().cast()),
            None => match same_array_before(self.entry, self.args, number) {
                Some(before) => Ok(self.addresses[before]),
                None => self.copy(number, param, arg.address),
            },
        }
    }

    /// Whether the device of the call can use the memory.
    fn check(&self, number: usize, memory: &Memory) -> Result<(), Error> {
        if self.queue.is_same_device(memory.queue()) {
            return Ok(());
        }
        let array = ArrayText::new(self.entry, number);
        Err(Error::Elsewhere { entry: self.entry.name, array, on_device: true })
    }

    /// A section goes to a block of its own, next to each other.
    fn pack(&mut self, number: usize, param: &Param, section: &dyn Scattered) -> Result<*mut c_void, Error> {
        let bytes = self.args[number].bytes;
        let Some(memory) = section.memory() else {
            let packed = HostBlock::of(section, bytes, param.reads)?;
            return self.copy(number, param, packed.first().cast());
        };
        self.check(number, memory)?;
        let block = self.queue.take(bytes)?;
        self.blocks[number] = block.cast();
        if param.reads {
            // SAFETY: the block has as many bytes.
            unsafe { section.pack(self.queue, block) }?;
        }
        Ok(block.cast())
    }

    /// `from` is the array on the host.
    fn copy(&mut self, number: usize, param: &Param, from: *mut c_void) -> Result<*mut c_void, Error> {
        let arg = &self.args[number];
        let block = self.queue.take(arg.bytes)?;
        self.blocks[number] = block.cast();
        if param.reads {
            // SAFETY: the array has so many bytes, and so has the block.
            unsafe { self.queue.upload(block, from.cast_const().cast(), arg.bytes) }?;
        }
        Ok(block.cast())
    }

    pub(super) fn addresses(&self) -> &[*mut c_void] {
        self.addresses
    }

    /// The device's code was run, and did what it should or not.
    pub(super) fn has_run(&self, succeeded: bool) -> Result<(), Error> {
        let mut notes = Notes::new(self.queue);
        for (number, (param, arg)) in self.entry.params.iter().zip(self.args).enumerate() {
            match arg.away {
                Some(Away::Adjacent(memory, _)) => notes.note(memory, access(param))?,
                Some(Away::Mirrored(mirror)) if self.blocks[number].is_null() => {
                    mirror.has_run(&mut notes, param.writes, succeeded)?;
                }
                // These have blocks of the call's own.
                Some(Away::Mirrored(_) | Away::Scattered(_)) | None => {}
            }
        }
        Ok(())
    }

    /// Brings what the entry wrote where it belongs. Waits for what is the host's; not at all if that is nothing.
    pub(super) fn bring_back(self) -> Result<(), Error> {
        for (number, (param, arg)) in self.entry.params.iter().zip(self.args).enumerate() {
            let block: *mut u8 = self.blocks[number].cast();
            if !param.writes || block.is_null() {
                continue;
            }
            let download = |to: *mut c_void| {
                // SAFETY: the array has so many bytes, and so has the block.
                unsafe { self.queue.download(to.cast(), block, arg.bytes) }
            };
            match arg.away {
                None | Some(Away::Adjacent(..)) => download(arg.address)?,
                Some(Away::Mirrored(mirror)) => download(mirror.on_host(true)?)?,
                Some(Away::Scattered(section)) if section.memory().is_some() => {
                    // SAFETY: the block has as many bytes; the section is borrowed to write to.
                    unsafe { section.spread(self.queue, block) }?;
                }
                Some(Away::Scattered(section)) => {
                    let packed = HostBlock::of(section, arg.bytes, false)?;
                    download(packed.first().cast())?;
                    packed.spread(section);
                }
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

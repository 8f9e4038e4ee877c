//! Arguments of a call on the processor that are not contiguous in host memory.

use std::ffi::c_void;

use super::args::{Arg, empty};
use super::entry::Entry;
use crate::device::{HostBlock, Scattered};
use crate::view::Away;
use crate::{ArrayText, Error};

/// Arguments where the processor's code finds them.
pub(super) struct OnHost<'a> {
    /// One per parameter.
    addresses: Vec<*mut c_void>,
    /// Copies of sections, and whether they are written.
    packed: Vec<(HostBlock, &'a dyn Scattered, bool)>,
}

impl<'a> OnHost<'a> {
    pub(super) fn bind(entry: &'static Entry, args: &[Arg<'a>]) -> Result<Self, Error> {
        let mut this = Self { addresses: Vec::with_capacity(args.len()), packed: Vec::new() };
        for (number, (param, arg)) in entry.params.iter().zip(args).enumerate() {
            let address = match arg.away {
                None => arg.address,
                Some(Away::Mirrored(_)) if arg.bytes == 0 => empty(),
                Some(Away::Mirrored(mirror)) => mirror.on_host(param.writes)?,
                Some(Away::Scattered(section)) if section.memory().is_none() => {
                    let block = HostBlock::of(section, arg.bytes, param.reads)?;
                    let address = block.first().cast();
                    this.packed.push((block, section, param.writes));
                    address
                }
                Some(Away::Scattered(_) | Away::Adjacent(..)) => {
                    let array = ArrayText::new(entry, number);
                    return Err(Error::Elsewhere { entry: entry.name, array, on_device: false });
                }
            };
            this.addresses.push(address);
        }
        Ok(this)
    }
    pub(super) fn addresses(&self) -> &[*mut c_void] {
        &self.addresses
    }
    /// Puts what the entry wrote where it belongs.
    pub(super) fn bring_back(self) {
        for (block, section, _) in self.packed.iter().filter(|(_, _, writes)| *writes) {
            block.spread(*section);
        }
    }
}

//! What was copied.

use std::fmt;
use std::ops::Sub;

/// Counts of copies between host and device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copies {
    /// Arrays, or sections of arrays, that went to the device.
    pub to_device: u64,
    /// Arrays, or sections of arrays, that came from the device.
    pub to_host: u64,
    /// Bytes that went to the device.
    pub bytes_to_device: u64,
    /// Bytes that came from the device.
    pub bytes_to_host: u64,
}

/// `3 arrays of 36 bytes to it, 2 arrays of 24 bytes from it`; nothing where nothing was copied.
impl fmt::Display for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Copies { to_device, to_host, bytes_to_device, bytes_to_host } = *self;
        let mut comma = "";
        for (arrays, bytes, whither) in [(to_device, bytes_to_device, "to"), (to_host, bytes_to_host, "from")] {
            if arrays > 0 {
                write!(f, "{comma}{arrays} array{} of {bytes} bytes {whither} it", if arrays == 1 { "" } else { "s" })?;
                comma = ", ";
            }
        }
        Ok(())
    }
}

impl Sub for Copies {
    type Output = Copies;
    fn sub(self, before: Copies) -> Copies {
        Copies {
            to_device: self.to_device - before.to_device,
            to_host: self.to_host - before.to_host,
            bytes_to_device: self.bytes_to_device - before.bytes_to_device,
            bytes_to_host: self.bytes_to_host - before.bytes_to_host,
        }
    }
}

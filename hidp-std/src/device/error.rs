//! What goes wrong with devices.

use std::fmt;
use std::sync::Arc;

use super::driver::DriverError;
use crate::ViewError;

/// A device or its driver failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError {
    doing: &'static str,
    code: Option<i32>,
    text: Arc<str>,
    lost: bool,
}

impl DeviceError {
    pub(crate) fn new(doing: &'static str, error: &DriverError, lost: bool) -> Self {
        Self { doing, code: error.code, text: error.text.as_str().into(), lost }
    }
    /// The same of a device that is lost, or is not.
    pub(crate) fn and_lost(self, lost: bool) -> Self {
        Self { lost, ..self }
    }
    /// The driver's error number.
    pub fn code(&self) -> Option<i32> {
        self.code
    }
    /// Whether the device is lost to this process, permanently. The processor can still be used, by [`crate::Context::cpu`].
    pub fn is_lost(&self) -> bool {
        self.lost
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the device could not {}: {}", self.doing, self.text)?;
        if self.lost {
            f.write_str("; it is lost to this process, which may go on with `Context::cpu()`")?;
        }
        Ok(())
    }
}

impl std::error::Error for DeviceError {}

/// Why there is no device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoDevice {
    /// `hidp-std` was built without its feature `cuda`.
    NotBuilt,
    /// The program has no code for devices.
    NoCode,
    /// There is no driver library.
    NoDriver,
    /// The driver is older than the code.
    OldDriver {
        /// Its version in CUDA's form: 12080 for 12.8.
        version: i32,
        /// The oldest version that is sufficient.
        needed: i32,
    },
    /// The driver failed.
    Driver {
        /// The driver's message.
        text: Arc<str>,
    },
    /// There are fewer devices.
    Missing {
        /// The requested number.
        ordinal: u32,
        /// Number of devices.
        count: u32,
    },
    /// The program's code is for other devices.
    Architecture {
        /// The device.
        device: Arc<str>,
        /// The architectures of the code: `sm_80, sm_90`.
        compiled: Arc<str>,
    },
}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDevice::NotBuilt => f.write_str("hidp-std was built without its feature `cuda`"),
            NoDevice::NoCode => f.write_str("this program has no code for devices: it was built without nvcc"),
            NoDevice::NoDriver => f.write_str("there is no driver: the library libcuda was not found"),
            NoDevice::OldDriver { version, needed } => {
                write!(f, "the driver is for CUDA {}, needed is {}", Cuda(*version), Cuda(*needed))
            }
            NoDevice::Driver { text } => write!(f, "the driver says: {text}"),
            NoDevice::Missing { ordinal: _, count: 0 } => f.write_str("the driver knows no device"),
            NoDevice::Missing { ordinal, count: 1 } => write!(f, "there is no device {ordinal}, only device 0"),
            NoDevice::Missing { ordinal, count } => {
                write!(f, "there is no device {ordinal}, only devices 0 to {}", count - 1)
            }
            NoDevice::Architecture { device, compiled } => {
                write!(f, "{device} cannot run code for {compiled}")
            }
        }
    }
}

/// A version as CUDA counts.
struct Cuda(i32);

impl fmt::Display for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

impl std::error::Error for NoDevice {}

/// An invalid operation on a [`crate::DeviceArray`], outside calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayError {
    /// A section is outside the array.
    Section {
        /// Which dimension, from 0.
        axis: usize,
        /// The extent of that dimension.
        extent: usize,
    },
    /// A section has a negative step, which copies do not support.
    Backwards {
        /// Which dimension, from 0.
        axis: usize,
    },
    /// The two sides of a copy have different shapes.
    Shape {
        /// The shape of the array or section on the device.
        device: Box<[usize]>,
        /// The shape of the other side.
        other: Box<[usize]>,
    },
    /// No array has such a shape.
    Size,
    /// The other side of a copy cannot be viewed as an array.
    View(ViewError),
    /// The two arrays are not in the memory of one device.
    OtherDevice,
}

impl fmt::Display for ArrayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrayError::Section { axis, extent } => {
                write!(f, "dimension {axis} of the section is no part of the array's 0..{extent}")
            }
            ArrayError::Backwards { axis } => {
                write!(
                    f,
                    "dimension {axis} of the section has a negative step; take it forwards and reverse it on the host (`invert_axis`)"
                )
            }
            ArrayError::Shape { device, other } => {
                write!(f, "the array on the device has shape {device:?}, the other one {other:?}")
            }
            ArrayError::Size => f.write_str("no array can have so many elements"),
            ArrayError::View(reason) => reason.fmt(f),
            ArrayError::OtherDevice => f.write_str("the two arrays are not in the memory of one device"),
        }
    }
}

impl std::error::Error for ArrayError {}

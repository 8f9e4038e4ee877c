//! Errors of calls and contexts.

use std::fmt;
use std::sync::Arc;

use crate::device::{ArrayError, DeviceError, NoDevice};
use crate::rt::entry::{Code, Entry, Version};
use crate::{Fault, Isa, ViewError};

/// Why a call, or making a context, failed. Nothing ran unless it is an [`Error::Fault`] or an [`Error::Device`].
/// `Debug` prints the message too, because `main` and `unwrap` show that.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// A check in the kernel failed. Arrays that it writes hold valid values of their type, but not all results.
    Fault(Fault),
    /// Two arrays disagree about a dimension.
    ShapeMismatch {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The dimension's name.
        dimension: &'static str,
        /// An array that has it, as in the header: `A[M][K]`.
        first: ArrayText,
        /// Its size there.
        first_size: i64,
        /// The other array.
        second: ArrayText,
        /// Its size there.
        second_size: i64,
    },
    /// An extent of an array differs from the header.
    WrongExtent {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The array.
        array: ArrayText,
        /// Which dimension, from 0.
        axis: usize,
        /// The size that the header asks for.
        expected: i64,
        /// The size that the argument has.
        found: i64,
        /// Which array bound the first dimension name of the extent.
        because: Option<Binding>,
    },
    /// An argument cannot be viewed as an array.
    View {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The parameter.
        array: ArrayText,
        /// Why it cannot.
        reason: ViewError,
    },
    /// The size of an array makes a dimension's name negative.
    NegativeDimension {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The dimension's name.
        dimension: &'static str,
        /// The value that it would need.
        value: i64,
        /// The array whose extent requires it.
        array: ArrayText,
        /// Which dimension, from 0.
        axis: usize,
        /// The size that the argument has.
        size: i64,
    },
    /// No value of a dimension's name gives an array the size it has.
    UnsolvableDimension {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The dimension's name.
        dimension: &'static str,
        /// The array whose extent requires it.
        array: ArrayText,
        /// Which dimension, from 0.
        axis: usize,
        /// The size that the argument has.
        size: i64,
    },
    /// An extent of the header cannot be computed: it overflows or divides by zero.
    UndefinedExtent {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The array.
        array: ArrayText,
        /// Which dimension, from 0.
        axis: usize,
    },
    /// Out of host memory: for a context, an array, or the scratch of a library function.
    Allocation,
    /// The system cannot provide the requested number of threads. No context is made with fewer: request a smaller number.
    Threads {
        /// Number of threads requested.
        asked: u32,
        /// Number of threads available.
        available: u32,
        /// The system's error number.
        code: i32,
    },
    /// The device that was asked for cannot be used.
    NoDevice {
        /// Its number.
        ordinal: u32,
        /// Why not.
        reason: NoDevice,
    },
    /// A device or its driver failed. The contents of device arrays that the call writes are undefined; host arrays are unchanged.
    Device(DeviceError),
    /// The entry has no version for devices, and the context runs calls on its device only.
    NoDeviceVersion {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The forced plan, if there is one.
        plan: Option<Arc<str>>,
        /// The context's device.
        device: Arc<str>,
    },
    /// The forced plan is for devices, and the context has none.
    DevicePlan {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The plan.
        plan: &'static str,
        /// Why the context has no device.
        why: Arc<str>,
    },
    /// An argument is in a device's memory where the call cannot use it.
    Elsewhere {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The parameter.
        array: ArrayText,
        /// Whether the call runs on a device, which is then another one.
        on_device: bool,
    },
    /// An invalid operation on a [`crate::DeviceArray`].
    Array(ArrayError),
    /// More values than a library function accepts.
    TooLong {
        /// Number of values.
        length: usize,
        /// The maximum.
        most: usize,
    },
    /// A setting, of the environment or of [`crate::Builder`], is invalid.
    Setting {
        /// Name of the variable.
        name: &'static str,
        /// Its value.
        value: Arc<str>,
        /// The valid values.
        expected: &'static str,
    },
    /// This machine lacks the requested instruction set.
    UnsupportedIsa {
        /// The requested one.
        asked: Isa,
        /// The best one of this machine.
        detected: Isa,
    },
    /// The entry has no such plan.
    UnknownPlan {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The requested name.
        plan: Arc<str>,
        /// The entry's plans.
        plans: PlanNames,
    },
    /// The entry was not compiled for the requested instruction set, or for any that this machine has.
    NoCode {
        /// The entry, `file::function`.
        entry: &'static str,
        /// The plan.
        plan: &'static str,
        /// The instruction set.
        isa: Isa,
        /// The instruction sets it was compiled for.
        compiled: IsaNames,
    },
}

/// An array parameter, printed as in the header: `A[M][K]`.
#[derive(Clone, Copy)]
pub struct ArrayText {
    entry: &'static Entry,
    param: usize,
}

impl ArrayText {
    pub(crate) fn new(entry: &'static Entry, param: usize) -> Self {
        Self { entry, param }
    }
    /// The array's name.
    pub fn name(&self) -> &'static str {
        self.entry.params.get(self.param).map_or("", |param| param.name)
    }
    /// Its extents as written in the header.
    pub fn extents(&self) -> &'static [&'static str] {
        self.entry.params.get(self.param).map_or(&[], |param| param.shape_text)
    }
    fn extent(&self, axis: usize) -> &'static str {
        self.extents().get(axis).copied().unwrap_or("")
    }
}

impl fmt::Display for ArrayText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.extents().iter().try_for_each(|extent| write!(f, "[{extent}]"))
    }
}

impl fmt::Debug for ArrayText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The value of a dimension name, and the array that bound it.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The name.
    pub dimension: &'static str,
    /// Its value.
    pub value: i64,
    /// The first array that carries the name.
    pub array: ArrayText,
}

/// The plans of an entry.
#[derive(Clone, Copy)]
pub struct PlanNames(pub(crate) &'static [Version]);

impl fmt::Display for PlanNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.0.iter().map(|version| version.plan))
    }
}

impl fmt::Debug for PlanNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The instruction sets that a version was compiled for.
#[derive(Clone, Copy)]
pub struct IsaNames(pub(crate) &'static [Code]);

impl fmt::Display for IsaNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.0.iter().map(|code| code.isa.name()))
    }
}

impl fmt::Debug for IsaNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

fn list(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'static str>) -> fmt::Result {
    for (index, name) in names.enumerate() {
        write!(f, "{}`{name}`", if index == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Fault(fault) => fault.fmt(f),
            Error::ShapeMismatch { entry, dimension, first, first_size, second, second_size } => {
                write!(f, "{entry}: dimension {dimension} is {first_size} in {first} and {second_size} in {second}")
            }
            Error::WrongExtent { entry, array, axis, expected, found, because } => {
                let extent = array.extent(*axis);
                write!(f, "{entry}: dimension {axis} of {array} is {found}, but {extent} is {expected}")?;
                match because {
                    Some(Binding { dimension, value, array }) if extent != *dimension => {
                        write!(f, "; {dimension} is {value} because of {array}")
                    }
                    Some(Binding { array, .. }) => write!(f, " because of {array}"),
                    None => Ok(()),
                }
            }
            Error::View { entry, array, reason: ViewError::NotContiguous } => write!(
                f,
                "{entry}: the argument for {array} is not contiguous in row-major order; pass a copy made by \
                 `.as_standard_layout()`"
            ),
            Error::View { entry, array, reason } => write!(f, "{entry}: argument for {array}: {reason}"),
            Error::NegativeDimension { entry, dimension, value, array, axis, size } => {
                write!(f, "{entry}: dimension {axis} of {array} is {size}, which makes {dimension} {value}")
            }
            Error::UnsolvableDimension { entry, dimension, array, axis, size } => {
                let extent = array.extent(*axis);
                write!(
                    f,
                    "{entry}: no {dimension} gives {array} the size it has: dimension {axis}, {extent}, is {size}"
                )
            }
            Error::UndefinedExtent { entry, array, axis } => {
                let extent = array.extent(*axis);
                write!(
                    f,
                    "{entry}: dimension {axis} of {array} cannot be computed: {extent} overflows or divides by zero"
                )
            }
            Error::Allocation => f.write_str("not enough memory"),
            Error::Threads { asked, available, code } => {
                let reason = std::io::Error::from_raw_os_error(*code);
                write!(f, "the system has {available} of the {asked} threads that the context is to have: {reason}")
            }
            Error::NoDevice { ordinal, reason } => write!(f, "cuda:{ordinal} cannot be used: {reason}"),
            Error::Device(error) => error.fmt(f),
            Error::NoDeviceVersion { entry, plan: None, device } => {
                write!(f, "{entry} has no version for devices, and the context is for {device} alone")
            }
            Error::NoDeviceVersion { entry, plan: Some(plan), device } => {
                write!(f, "{entry}: plan `{plan}` is for the processor, and the context is for {device} alone")
            }
            Error::DevicePlan { entry, plan, why } => {
                write!(f, "{entry}: plan `{plan}` is for devices, and the context has none: {why}")
            }
            Error::Elsewhere { entry, array, on_device: true } => {
                write!(f, "{entry}: the argument for {array} is in the memory of another device")
            }
            Error::Elsewhere { entry, array, on_device: false } => {
                write!(f, "{entry}: the argument for {array} is in a device's memory, but the processor runs this call")
            }
            Error::Array(error) => error.fmt(f),
            Error::TooLong { length, most } => write!(f, "{length} values, but at most {most} are taken at a time"),
            Error::Setting { name, value, expected } => write!(f, "{name} is `{value}`, expected {expected}"),
            Error::UnsupportedIsa { asked, detected } => {
                write!(f, "this machine does not have instruction set `{asked}`; the best it has is `{detected}`")
            }
            Error::UnknownPlan { entry, plan, plans } => {
                write!(f, "{entry} has no plan `{plan}`; it has {plans}")
            }
            Error::NoCode { entry, plan, isa, compiled } => {
                write!(
                    f,
                    "{entry}: plan `{plan}` was not compiled for `{isa}`, only for {compiled}: see `HIDP_ISAS`, read when it is built"
                )
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        Error::Device(error)
    }
}

impl From<ArrayError> for Error {
    fn from(error: ArrayError) -> Self {
        Error::Array(error)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Fault(fault)
    }
}

//! A context's report on where it runs.

use std::fmt;
use std::sync::Arc;

/// The device or processor that a context runs on, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub(crate) ordinal: Option<u32>,
    pub(crate) name: Arc<str>,
    pub(crate) why: Arc<str>,
}

impl Device {
    pub(crate) fn processor(why: &str) -> Self {
        Self { ordinal: None, name: "cpu".into(), why: why.into() }
    }
    /// The number of the device, as `Context::cuda` takes it; `None` for the processor.
    pub fn ordinal(&self) -> Option<u32> {
        self.ordinal
    }
    /// Whether it is the processor.
    pub fn is_cpu(&self) -> bool {
        self.ordinal.is_none()
    }
    /// `cpu`, or number, name and architecture: `cuda:0 (NVIDIA H200, sm_90)`.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The reason: `asked for`, or why there is no device.
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

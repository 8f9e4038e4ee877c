//! The devices that a context may be opened on.

use std::sync::Arc;

use super::driver::Driver;
use super::error::NoDevice;
use super::find::{Asked, Built, Platform, find, find_any, program};
use super::info::Device;
use super::queue::Queue;
use crate::Error;

/// This machine and program, or stand-ins for them.
#[derive(Clone, Debug, Default)]
pub(crate) enum Machine {
    /// Those that are there.
    #[default]
    Real,
    #[cfg(any(test, feature = "simulated-device"))]
    Other { platform: Arc<dyn Platform>, program: Arc<[Built]> },
}

impl Machine {
    /// Where a context runs that asks so.
    pub(crate) fn open(&self, asked: Asked) -> Result<(Device, Option<Arc<Queue>>), Error> {
        match asked {
            Asked::Cpu => Ok((Device::processor("asked for"), None)),
            Asked::Cuda(ordinal) => {
                let driver = self.with(|platform, program| find(platform, program, ordinal));
                let driver = driver.map_err(|reason| Error::NoDevice { ordinal, reason })?;
                started(driver, "asked for").map_err(Error::Device)
            }
            Asked::Auto => match self.with(find_any) {
                Ok(driver) => Ok(started(driver, "it can run this program's kernels").unwrap_or_else(|error| {
                    log::warn!("no device is used: {error}");
                    (Device::processor(&error.to_string()), None)
                })),
                Err(reason) => Ok((Device::processor(&reason.to_string()), None)),
            },
        }
    }

    fn with(
        &self,
        find: impl FnOnce(&dyn Platform, &[Built]) -> Result<Box<dyn Driver>, NoDevice>,
    ) -> Result<Box<dyn Driver>, NoDevice> {
        match self {
            #[cfg(any(test, feature = "simulated-device"))]
            Machine::Other { platform, program } => find(&**platform, program),
            #[cfg(feature = "cuda")]
            Machine::Real => find(&crate::cuda::Cuda, &program()),
            #[cfg(not(feature = "cuda"))]
            Machine::Real => {
                let _ = (find, program);
                Err(NoDevice::NotBuilt)
            }
        }
    }
}

fn started(driver: Box<dyn Driver>, why: &str) -> Result<(Device, Option<Arc<Queue>>), super::DeviceError> {
    let queue = Queue::new(driver)?;
    let facts = queue.facts();
    let device = Device { ordinal: Some(facts.ordinal), name: facts.to_string().into(), why: why.into() };
    Ok((device, Some(Arc::new(queue))))
}

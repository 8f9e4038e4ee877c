//! NVIDIA's driver, by `cudarc`, which looks for its library when the program runs.

mod driver;
mod slice;

use std::ffi::c_int;
use std::sync::OnceLock;

use cudarc::driver::{result, sys};

use crate::NoDevice;
use crate::device::{Driver, Facts, Platform};
use driver::Stream;

/// The devices that the driver knows.
#[derive(Debug)]
pub(crate) struct Cuda;

/// What `cudarc` would panic without. All drivers since CUDA 11.2 have them.
const NEEDED: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceCanAccessPeer",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuInit",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemcpy2DAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// Whether the driver's library is there, and is one.
fn library() -> Result<(), NoDevice> {
    static FOUND: OnceLock<Result<(), NoDevice>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            // SAFETY: loads the driver, whose initialisation does no harm.
            if !unsafe { sys::is_culib_present() } {
                return Err(NoDevice::NoDriver);
            }
            // SAFETY: it is there; the symbols are only looked for.
            let lacks = |name: &&&str| unsafe { sys::culib().get::<*const ()>(name.as_bytes()).is_err() };
            match NEEDED.iter().find(lacks) {
                None => Ok(()),
                Some(name) => Err(NoDevice::Driver { text: format!("its library has no {name}").into() }),
            }
        })
        .clone()
}

fn said(error: result::DriverError) -> NoDevice {
    NoDevice::Driver { text: driver::error(error).text.into() }
}

fn start() -> Result<(), NoDevice> {
    library()?;
    result::init().map_err(said)
}

impl Platform for Cuda {
    fn version(&self) -> Result<i32, NoDevice> {
        library()?;
        let mut version: c_int = 0;
        // SAFETY: writes one number.
        unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(said)?;
        Ok(version)
    }
    fn count(&self) -> Result<u32, NoDevice> {
        start()?;
        let count = result::device::get_count().map_err(said)?;
        Ok(u32::try_from(count).unwrap_or(0))
    }
    fn facts(&self, ordinal: u32) -> Result<Facts, NoDevice> {
        start()?;
        driver::facts(ordinal).map_err(said)
    }
    fn open(&self, ordinal: u32) -> Result<Box<dyn Driver>, NoDevice> {
        start()?;
        Ok(Box::new(Stream::open(ordinal).map_err(said)?))
    }
}

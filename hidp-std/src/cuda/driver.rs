//! A stream in a device's primary context, which the run-time library of generated code shares.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::device::{Driver, DriverError, Event, Facts, Rows};

/// See the module.
#[derive(Debug)]
pub(super) struct Stream {
    facts: Facts,
    context: Arc<CudaContext>,
    /// There until `self` is dropped.
    stream: ManuallyDrop<Arc<CudaStream>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.stream) };
        // `cudarc` keeps what goes wrong there for who calls next, which may be another stream of the same context.
        if let Err(failure) = self.context.check_err() {
            log::debug!("a stream was not freed: {}", error(failure));
        }
    }
}

/// The number, its name and what it means.
pub(super) fn error(error: result::DriverError) -> DriverError {
    let text = |text: Result<&std::ffi::CStr, _>| {
        text.map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned())
    };
    let text = format!("{} ({})", text(error.error_string()), text(error.error_name()));
    DriverError { code: Some(error.0 as i32), text }
}

/// What a device is. The driver is initialised.
pub(super) fn facts(ordinal: u32) -> Result<Facts, result::DriverError> {
    let device = result::device::get(c_int::try_from(ordinal).unwrap_or(c_int::MAX))?;
    // SAFETY: the device is there.
    let attribute = |attribute| unsafe { result::device::get_attribute(device, attribute) };
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Facts {
        ordinal,
        name: result::device::get_name(device)?,
        architecture: u32::try_from(10 * major + minor).unwrap_or(0),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        threads_per_multiprocessor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
    })
}

impl Stream {
    pub(super) fn open(ordinal: u32) -> Result<Self, result::DriverError> {
        let context = CudaContext::new(ordinal as usize)?;
        let facts = facts(ordinal)?;
        let stream = ManuallyDrop::new(context.new_stream()?);
        Ok(Self { facts, context, stream })
    }
    pub(super) fn cuda_stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
    fn raw(&self) -> sys::CUstream {
        self.stream.cu_stream()
    }
}

fn of_cuda(driver: &dyn Driver) -> Option<&Stream> {
    (driver as &dyn std::any::Any).downcast_ref()
}

/// An address as the driver counts.
pub(super) fn device_address(address: *const u8) -> sys::CUdeviceptr {
    address.expose_provenance() as sys::CUdeviceptr
}

fn pointer(address: sys::CUdeviceptr) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

fn event(event: &Event) -> sys::CUevent {
    event.0.cast()
}

impl Driver for Stream {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn stream(&self) -> *mut c_void {
        self.raw().cast()
    }
    fn fork(&self) -> Result<Box<dyn Driver>, DriverError> {
        let stream = ManuallyDrop::new(self.context.new_stream().map_err(error)?);
        Ok(Box::new(Self { facts: self.facts.clone(), context: self.context.clone(), stream }))
    }
    fn is_same_device(&self, other: &dyn Driver) -> bool {
        of_cuda(other).is_some_and(|other| *other.context == *self.context)
    }
    fn can_copy_from(&self, other: &dyn Driver) -> Result<bool, DriverError> {
        let Some(other) = of_cuda(other) else { return Ok(false) };
        let mut can: c_int = 0;
        // SAFETY: writes one number.
        let asked =
            unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, self.context.cu_device(), other.context.cu_device()) };
        asked.result().map_err(error)?;
        Ok(can != 0)
    }
    fn enter(&self) -> Result<(), DriverError> {
        self.context.bind_to_thread().map_err(error)
    }

    fn allocate(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        // SAFETY: the stream exists; the memory is written before it is read.
        let address = unsafe {
            if self.context.has_async_alloc() {
                result::malloc_async(self.raw(), bytes)
            } else {
                result::malloc_sync(bytes)
            }
        };
        address.map(pointer).map_err(error)
    }
    unsafe fn release(&self, block: *mut u8) {
        // SAFETY: the caller's promise; memory that is not freed in the stream's order is freed after it.
        let freed = unsafe {
            if self.context.has_async_alloc() {
                result::free_async(device_address(block), self.raw())
            } else {
                let _ = result::stream::synchronize(self.raw());
                result::free_sync(device_address(block))
            }
        };
        if let Err(failure) = freed {
            log::debug!("device memory was not freed: {}", error(failure));
        }
    }
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DriverError> {
        // SAFETY: the memory is written before it is read.
        unsafe { result::malloc_host(bytes, 0) }.map(<*mut c_void>::cast).map_err(error)
    }
    unsafe fn release_pinned(&self, block: *mut u8) {
        // SAFETY: the caller's promise.
        if let Err(failure) = unsafe { result::free_host(block.cast()) } {
            log::debug!("page-locked memory was not freed: {}", error(failure));
        }
    }

    unsafe fn to_device(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: the caller's promise.
        let copied = unsafe {
            let from = std::slice::from_raw_parts(from, bytes);
            result::memcpy_htod_async(device_address(to), from, self.raw())
        };
        copied.map_err(error)
    }
    unsafe fn to_host(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: the caller's promise; pinned memory holds bytes of some value.
        let copied = unsafe {
            let to = std::slice::from_raw_parts_mut(to, bytes);
            result::memcpy_dtoh_async(to, device_address(from), self.raw())
        };
        copied.map_err(error)
    }
    unsafe fn copy_rows(&self, to: Rows, from: Rows, width: usize, rows: usize) -> Result<(), DriverError> {
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: std::ptr::null(),
            srcDevice: device_address(from.first),
            srcArray: std::ptr::null_mut(),
            srcPitch: from.pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: device_address(to.first),
            dstArray: std::ptr::null_mut(),
            dstPitch: to.pitch,
            WidthInBytes: width,
            Height: rows,
        };
        // SAFETY: the caller's promise.
        unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, self.raw()) }.result().map_err(error)
    }
    unsafe fn zero(&self, to: *mut u8, bytes: usize) -> Result<(), DriverError> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { result::memset_d8_async(device_address(to), 0, bytes, self.raw()) }.map_err(error)
    }

    unsafe fn copy_from_peer(
        &self,
        to: *mut u8,
        other: &dyn Driver,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DriverError> {
        let Some(other) = of_cuda(other) else {
            return Err(DriverError { code: None, text: "the memory is of another driver".into() });
        };
        let (to, from) = (device_address(to), device_address(from));
        // SAFETY: the caller's promise.
        let copied = unsafe {
            let (ours, theirs) = (self.context.cu_ctx(), other.context.cu_ctx());
            result::memcpy_peer_async(ours, to, theirs, from, bytes, self.raw())
        };
        copied.map_err(error)
    }

    fn new_event(&self) -> Result<Event, DriverError> {
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(error)?;
        Ok(Event(event.cast()))
    }
    fn free_event(&self, old: Event) {
        // SAFETY: it came from `new_event`, and is given up.
        if let Err(failure) = unsafe { result::event::destroy(event(&old)) } {
            log::debug!("an event was not freed: {}", error(failure));
        }
    }
    fn record(&self, mark: &Event) -> Result<(), DriverError> {
        // SAFETY: both are there.
        unsafe { result::event::record(event(mark), self.raw()) }.map_err(error)
    }
    fn has_come_to(&self, mark: &Event) -> Result<bool, DriverError> {
        // SAFETY: it is there.
        match unsafe { result::event::query(event(mark)) } {
            Ok(()) => Ok(true),
            Err(result::DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(failure) => Err(error(failure)),
        }
    }
    fn wait_for(&self, mark: &Event) -> Result<(), DriverError> {
        // SAFETY: it is there.
        unsafe { result::event::synchronize(event(mark)) }.map_err(error)
    }
    fn wait_in_stream(&self, mark: &Event) -> Result<(), DriverError> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both are there.
        unsafe { result::stream::wait_event(self.raw(), event(mark), flags) }.map_err(error)
    }
    fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: it is there.
        unsafe { result::stream::synchronize(self.raw()) }.map_err(error)
    }
    fn explain(&self, code: i32) -> String {
        let known = MEANINGS.iter().find(|(number, _)| *number == code).map(|(_, text)| *text);
        format!("{} (cudaError {code})", known.unwrap_or("the CUDA run time failed"))
    }
}

/// What errors of generated code mean that are likely.
const MEANINGS: &[(i32, &str)] = &[
    (1, "invalid argument"),
    (2, "out of memory"),
    (9, "invalid launch configuration"),
    (35, "the driver is older than the code"),
    (46, "the device is busy or unavailable"),
    (98, "invalid device function"),
    (100, "no device"),
    (209, "the code is not for this device"),
    (214, "uncorrectable memory error"),
    (700, "illegal memory access"),
    (701, "too many resources for a launch"),
    (702, "the launch took too long"),
    (715, "illegal instruction"),
    (716, "misaligned address"),
    (717, "invalid address space"),
    (718, "invalid program counter"),
    (719, "a launch failed"),
];

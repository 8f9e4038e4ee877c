//! Device code on the host: compiles generated CUDA for the executor of `hidp/simt`, and calls it on devices whose memory is
//! checked. What the executor reports is an error of the test.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock, PoisonError};

use hidp_build::compiler::emit::openmp::FLAGS;
use hidp_sys::{
    HIDP_FAULT, HIDP_OK, hidp_call, hidp_device, hidp_entry, hidp_fault, hidp_kernel_counts, hidp_site_counts,
    hidp_tunables,
};
use libloading::os::unix::Library;

use crate::made::{self, Compiler, First, LOST, folder, hash};
use crate::native::{self, open, open_for_others};

/// How a call ended that did not go well.
pub(crate) enum Ended {
    /// With a fault of the program.
    Fault(hidp_fault),
    /// With a defect of the code: what the executor found.
    Wrong(String),
}

/// What the warps of a kernel asked for in the last call.
pub(crate) struct KernelCounts {
    pub(crate) name: String,
    /// Of the kernel; its addresses are those of the executor.
    pub(crate) all: hidp_kernel_counts,
    pub(crate) sites: Vec<hidp_site_counts>,
}

/// Device code for the executor.
pub(crate) struct DeviceKernels {
    /// Never unloaded: addresses of its functions are kept.
    library: &'static Library,
    path: PathBuf,
}

/// Orders of blocks and lanes for the call of this number: in order or backwards, and one at random. `HIDP_SEEDS=first..last`
/// gives others.
pub(crate) fn orders(number: u64) -> Vec<u64> {
    let range = std::env::var("HIDP_SEEDS").ok();
    let range = range.as_deref().and_then(|range| range.split_once(".."));
    let parsed = range.and_then(|(first, last)| Some(first.parse().ok()?..last.parse().ok()?));
    parsed.map_or_else(|| vec![number % 2, 2 + number], Iterator::collect)
}

/// Everything device code includes, compiled once.
const HEADER: &str = "#include <hidp/cuda/core.cuh>\n";

/// How much the compiler does for device code: what it takes to compile and what it takes to run are to be little together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    /// For what is called often.
    Some,
    /// For what is called a few times.
    Least,
}

/// The product's flags, but that exceptions end calls in which something was found, and that compiling is to be quick.
fn flags(effort: Effort) -> Vec<&'static str> {
    let kept = FLAGS.iter().copied().filter(|flag| !["-O3", "-fno-exceptions"].contains(flag));
    let own = match effort {
        Effort::Some => "-Og",
        Effort::Least => "-O0",
    };
    kept.chain(LOST)
        .chain([own, "-fPIC", "-fopenmp-simd", "-DHIDP_SIMT=1", "-DHIDP_ISA=simt", "-DHIDP_SIMT_LIBRARY=1"])
        .collect()
}

/// Who compiles device code. Without optimisation Clang takes two thirds of the time that GCC takes, with it twice as much.
fn compiler(effort: Effort) -> &'static Compiler {
    match effort {
        Effort::Some => made::compiler(),
        Effort::Least => native::clang().unwrap_or(made::compiler()),
    }
}

/// Flags by which files include the header that everything includes first.
fn precompiled(effort: Effort) -> First {
    static HEADERS: Mutex<BTreeMap<Effort, First>> = Mutex::new(BTreeMap::new());
    let by = compiler(effort);
    let make = || by.precompiled("simt", HEADER, by.all_headers_hash(), &flags(effort));
    HEADERS.lock().unwrap_or_else(PoisonError::into_inner).entry(effort).or_insert_with(make).clone()
}

/// The executor, compiled once and loaded before device code so that it finds its symbols.
fn executor() -> &'static Library {
    static EXECUTOR: OnceLock<Library> = OnceLock::new();
    EXECUTOR.get_or_init(|| {
        made::executor().and_then(|path| open_for_others(&path)).unwrap_or_else(|why| panic!("the executor: {why}"))
    })
}

/// # Safety
/// The symbol of the executor has this type.
unsafe fn of_executor<T: Copy>(name: &[u8]) -> T {
    // SAFETY: the caller's promise.
    let found = unsafe { executor().get::<T>(name) };
    *found.unwrap_or_else(|error| panic!("{}: {error}", String::from_utf8_lossy(name)))
}

/// The library of a generated file, named after all that it is made from.
fn output(stem: &str, cu: &str, effort: Effort) -> PathBuf {
    let key =
        flags(effort).into_iter().fold(compiler(effort).all_headers_hash(), |state, flag| hash(state, flag.as_bytes()));
    folder().join(format!("{stem}-{:016x}.cu.so", hash(key, cu.as_bytes())))
}

impl DeviceKernels {
    /// Compiles a generated file.
    pub(crate) fn build(stem: &str, cu: &str) -> Result<DeviceKernels, String> {
        DeviceKernels::build_with(stem, cu, Effort::Some)
    }

    pub(crate) fn build_with(stem: &str, cu: &str, effort: Effort) -> Result<DeviceKernels, String> {
        executor();
        let precompiled = precompiled(effort)?;
        let output = output(stem, cu, effort);
        let source = output.with_extension("");
        fs::write(&source, cu).map_err(|error| error.to_string())?;
        let first: Vec<&str> = precompiled.iter().map(String::as_str).collect();
        let flags = [&flags(effort)[..], &["-shared"], &first, &["-x", "c++"]].concat();
        compiler(effort).compile(&output, &flags, &[source])?;
        Ok(DeviceKernels { library: Box::leak(Box::new(open(&output)?)), path: output })
    }

    /// Where the library is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is compiled already.
    pub(crate) fn is_built(stem: &str, cu: &str, effort: Effort) -> bool {
        output(stem, cu, effort).is_file()
    }

    /// A new device: the seed says in which order blocks and lanes run.
    pub(crate) fn device(&self, seed: u64, multiprocessors: i32) -> Device<'_> {
        type New = unsafe extern "C" fn(u64, i32) -> *mut hidp_device;
        // SAFETY: the header defines the function with this type; any numbers are allowed.
        let device = unsafe { of_executor::<New>(b"hidp_simt_new")(seed, multiprocessors) };
        Device { kernels: self, device }
    }

    /// `<symbol>_simt`
    fn entry(&self, symbol: &str) -> hidp_entry {
        let name = format!("{symbol}_simt");
        // SAFETY: every symbol of this form is an entry.
        let entry = unsafe { self.library.get::<hidp_entry>(name.as_bytes()) };
        *entry.unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// A device with memory of its own.
pub(crate) struct Device<'k> {
    kernels: &'k DeviceKernels,
    device: *mut hidp_device,
}

impl Device<'_> {
    /// Memory that nobody has written yet.
    pub(crate) fn take(&self, bytes: usize) -> *mut c_void {
        // SAFETY: the device is alive, its functions are set.
        unsafe { (*self.device).take.expect("not null")((*self.device).state, bytes) }
    }

    /// What reports call a block.
    pub(crate) fn name(&self, block: *mut c_void, name: &str) {
        type Name = unsafe extern "C" fn(*mut hidp_device, *mut c_void, *const c_char);
        let name = CString::new(name).expect("no zeros");
        // SAFETY: the header defines the function with this type; it copies the name.
        unsafe { of_executor::<Name>(b"hidp_simt_name")(self.device, block, name.as_ptr()) };
    }

    /// # Safety
    /// `from` is readable for so many bytes.
    pub(crate) unsafe fn copy_in(&self, to: *mut c_void, from: *const c_void, bytes: usize) {
        type Copy = unsafe extern "C" fn(*mut hidp_device, *mut c_void, *const c_void, usize);
        // SAFETY: the header defines the function with this type; the rest is the caller's promise.
        unsafe { of_executor::<Copy>(b"hidp_simt_copy_in")(self.device, to, from, bytes) };
    }

    /// # Safety
    /// `to` is writable for so many bytes.
    pub(crate) unsafe fn copy_out(&self, to: *mut c_void, from: *const c_void, bytes: usize) {
        type Copy = unsafe extern "C" fn(*mut hidp_device, *mut c_void, *const c_void, usize);
        // SAFETY: the header defines the function with this type; the rest is the caller's promise.
        unsafe { of_executor::<Copy>(b"hidp_simt_copy_out")(self.device, to, from, bytes) };
    }

    /// Calls `<symbol>_simt`.
    ///
    /// # Safety
    /// `params` and `dims` are what the entry expects: device addresses of arrays, host addresses of scalars.
    pub(crate) unsafe fn call(&self, symbol: &str, params: &[*mut c_void], dims: &[i64]) -> Result<(), Ended> {
        type Call = unsafe extern "C" fn(*mut hidp_device, hidp_entry, *mut hidp_call) -> i32;
        let fault = hidp_fault { site: u32::MAX, count: 0, values: [0; 4] };
        let (params, dims) = (params.as_ptr(), dims.as_ptr());
        let mut call =
            hidp_call { context: null_mut(), device: self.device, params, dims, fault, tunables: hidp_tunables::USUAL };
        // SAFETY: every symbol of this form is an entry; the rest is the caller's promise.
        let result = unsafe {
            let entry = self.kernels.entry(symbol);
            of_executor::<Call>(b"hidp_simt_call")(self.device, entry, &raw mut call)
        };
        match self.reports() {
            reports if !reports.is_empty() => Err(Ended::Wrong(reports)),
            _ if result == HIDP_OK as i32 => Ok(()),
            _ if result == HIDP_FAULT as i32 => Err(Ended::Fault(call.fault)),
            _ => Err(Ended::Wrong(format!("ended with {result}, error {}", call.fault.values[0]))),
        }
    }

    /// Counts what the calls after this one ask for.
    pub(crate) fn count(&self) {
        type Count = unsafe extern "C" fn(*mut hidp_device, i32);
        // SAFETY: the header defines the function with this type.
        unsafe { of_executor::<Count>(b"hidp_simt_count")(self.device, 1) };
    }

    /// What the last call asked for.
    pub(crate) fn counts(&self) -> Vec<KernelCounts> {
        type Counts = unsafe extern "C" fn(*mut hidp_device, *mut *const hidp_kernel_counts) -> usize;
        let mut rows = std::ptr::null();
        // SAFETY: the header defines the function with this type.
        let length = unsafe { of_executor::<Counts>(b"hidp_simt_counts")(self.device, &raw mut rows) };
        let counted = |kernel: hidp_kernel_counts| {
            // SAFETY: names and places stay until the next call; there are so many places.
            let (name, sites) = unsafe {
                (CStr::from_ptr(kernel.name), (0..kernel.site_count).map(|at| *kernel.sites.add(at)).collect())
            };
            KernelCounts { name: name.to_string_lossy().into_owned(), all: kernel, sites }
        };
        // SAFETY: there are so many rows, until the next call.
        (0..length).map(|at| counted(unsafe { *rows.add(at) })).collect()
    }

    /// A line for each thing that was wrong.
    pub(crate) fn reports(&self) -> String {
        type Reports = unsafe extern "C" fn(*mut hidp_device) -> *const c_char;
        // SAFETY: the header defines the function with this type; it returns a string that lives long enough.
        let text = unsafe { CStr::from_ptr(of_executor::<Reports>(b"hidp_simt_reports")(self.device)) };
        text.to_string_lossy().into_owned()
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        // SAFETY: the header defines the function with this type; nothing uses the device any more.
        unsafe { of_executor::<unsafe extern "C" fn(*mut hidp_device)>(b"hidp_simt_free")(self.device) };
    }
}

//! The side of NVIDIA's driver: what is asked of its library, and what happens where it is missing or says no.
//!
//! The library is a stand-in (`driver/libcuda.c`), which a child process finds in the place of the real one.
#![cfg(all(feature = "cuda", target_os = "linux"))]

#[path = "driver/failing.rs"]
mod failing;
mod fake;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaSlice};
use fake::axpy;
use hidp_std::{Context, DeviceArray, Error, NoDevice, PinnedArray};
use ndarray::{Array2, s};

/// A folder with the stand-in for the driver's library.
fn stand_in() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver/libcuda.c");
        library("stand_in", &["-O1", source])
    })
}

/// A folder with a `libcuda.so` that the C compiler makes of this.
fn library(name: &str, args: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    // Another run may be using the one that is there.
    let fresh = folder.join(format!("libcuda.{}", std::process::id()));
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    let status = cc.args(["-shared", "-fPIC", "-o"]).arg(&fresh).args(args).status().expect("a C compiler");
    assert!(status.success());
    std::fs::rename(fresh, folder.join("libcuda.so")).unwrap();
    folder
}

/// Runs a part of this program where the driver is the one of a folder, and returns what it says.
fn child(part: &str, library: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", part]).env("LD_LIBRARY_PATH", library);
    command.env_remove("HIDP_DEVICE").env("HIDP_THREADS", "1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

#[test]
fn everything_on_a_driver() {
    for pools in ["1", "0"] {
        let report = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report.{}.{pools}", std::process::id()));
        child(
            "part_everything",
            stand_in(),
            &[
                ("STAND_IN_REPORT", report.to_str().unwrap()),
                ("STAND_IN_POOLS", pools),
                ("STAND_IN_DEVICES", "2"),
                ("STAND_IN_PEERS", pools),
            ],
        );
        let left = std::fs::read_to_string(&report).unwrap();
        assert_eq!(left.trim(), "device 0, pinned 0, streams 0, events 0, contexts 0", "with pools: {pools}");
        std::fs::remove_file(report).unwrap();
    }
}

#[test]
#[ignore = "a part of `everything_on_a_driver`"]
fn part_everything() {
    fake::add_device_code(&[800, 900]);
    let cx = Context::new().unwrap();
    assert_eq!(cx.device().to_string(), "cuda:0 (Stand-in 0, sm_90): it can run this program's kernels");
    calls(&cx);
    arrays(&cx);
    devices(&cx);
    slices(&cx);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..3).for_each(|_| calls(&cx)));
        }
    });
    broken(cx);
}

fn calls(cx: &Context) {
    let (x, mut y) = (vec![1.0, 2.0, 3.0], vec![10.0; 3]);
    axpy(cx, 2.0, &x, &mut y).unwrap();
    assert_eq!(y, [12.0, 14.0, 16.0]);
    let run = cx.last_run().unwrap();
    assert_eq!(
        run.to_string(),
        "axpy::axpy: plan thread, cuda:0, 2 arrays of 24 bytes to it, 1 array of 12 bytes from it (no rule holds)"
    );
    let error = axpy(cx, 2.0, &[1.0, -1.0], &mut [0.0; 2]).unwrap_err();
    assert!(matches!(&error, Error::Fault(fault) if fault.values() == [1, 0, 0]), "{error}");
    let large = vec![1.0; 3 << 20];
    let mut y = large.clone();
    axpy(cx, 1.0, &large, &mut y).unwrap();
    assert!(y.iter().all(|y| *y == 2.0));
}

fn arrays(cx: &Context) {
    let matrix = Array2::from_shape_fn((7, 9), |(row, column)| (10 * row + column) as u32);
    let mut array = DeviceArray::from_host(cx, &matrix).unwrap();
    assert_eq!(array.to_array().unwrap(), matrix);
    let part = array.section(s![1..;2, 2..5]).unwrap();
    assert_eq!(part.to_array().unwrap(), matrix.slice(s![1..;2, 2..5]));
    array.section_mut(s![.., ..;4]).unwrap().copy_from(&Array2::zeros((7, 3))).unwrap();
    let mut expected = matrix.clone();
    expected.slice_mut(s![.., ..;4]).fill(0);
    assert_eq!(array.to_array().unwrap(), expected);
    assert_eq!(DeviceArray::<f64, 1>::zeros(cx, [1000]).unwrap().to_vec().unwrap(), [0.0; 1000]);
    let error = DeviceArray::<u64, 1>::zeros(cx, [1 << 40]).unwrap_err();
    assert!(error.to_string().starts_with("the device could not allocate memory: "), "{error}");
}

/// Arrays from one device to another, by themselves or through the host.
fn devices(cx: &Context) {
    let (other, fork) = (Context::cuda(1).unwrap(), cx.fork().unwrap());
    let elements: Vec<u32> = (0..3_000_000).collect();
    let array = DeviceArray::from_host(cx, &elements).unwrap();
    let peers = std::env::var("STAND_IN_PEERS").unwrap() == "1";
    let copy = array.to_context(&other).unwrap();
    assert_eq!(other.copies().to_device, u64::from(!peers));
    let back = copy.to_context(&fork).unwrap();
    drop((array, copy));
    let buffer = back.download_in(cx, PinnedArray::zeros(cx, [elements.len()]).unwrap()).wait().unwrap();
    assert!(buffer.as_slice().unwrap() == elements);
    let error = axpy(&other, 1.0, &DeviceArray::from_host(cx, &[1.0]).unwrap(), &mut [1.0]).unwrap_err();
    assert!(error.to_string().ends_with("is in the memory of another device"), "{error}");
}

/// Memory of `cudarc` from its own context and stream, as a user of it has.
fn slices(cx: &Context) {
    let theirs = CudaContext::new(0).unwrap();
    let stream = theirs.new_stream().unwrap();
    let slice = stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let address = address(&slice);
    let mut array = DeviceArray::from_cuda_slice(cx, slice, [4]).unwrap();
    let before = cx.copies();
    let x = DeviceArray::from_host(cx, &[1.0; 4]).unwrap();
    axpy(cx, 2.0, &x, &mut array).unwrap();
    assert_eq!((cx.copies() - before).to_device, 1, "x alone");
    assert_eq!(array.to_vec().unwrap(), [3.0, 4.0, 5.0, 6.0]);
    let back = array.into_cuda_slice().unwrap();
    assert_eq!((self::address(&back), Arc::ptr_eq(back.stream(), &stream)), (address, true));
    assert_eq!(stream.clone_dtoh(&back).unwrap(), [3.0, 4.0, 5.0, 6.0]);

    // Memory of an array, which `cudarc` frees.
    let held = cx.device_pool_bytes();
    let own = x.into_cuda_slice().unwrap();
    assert!(cx.device_pool_bytes() < held);
    assert_eq!(own.stream().clone_dtoh(&own).unwrap(), [1.0; 4]);
    // One that is dropped as an array.
    drop(DeviceArray::from_cuda_slice(cx, own, [2, 2]).unwrap());

    let slice = stream.alloc_zeros::<f32>(6).unwrap();
    let error = DeviceArray::from_cuda_slice(cx, slice, [2, 2]).unwrap_err();
    assert_eq!(error.to_string(), "the array on the device has shape [2, 2], the other one [6]");
    let cpu = Context::cpu().unwrap();
    assert!(DeviceArray::from_cuda_slice(&cpu, stream.alloc_zeros::<f32>(4).unwrap(), [4]).is_err());
    assert!(DeviceArray::from_host(&cpu, &[1.0_f32]).unwrap().into_cuda_slice().is_err());
}

fn address(slice: &CudaSlice<f32>) -> u64 {
    use cudarc::driver::DevicePtr;
    slice.device_ptr(slice.stream()).0
}

/// An illegal access: the driver refuses everything from then on.
fn broken(cx: Context) {
    let y = DeviceArray::from_host(&cx, &[1.0]).unwrap();
    // SAFETY: the other threads are done.
    unsafe { std::env::set_var("STAND_IN_BROKEN", "1") };
    for _ in 0..2 {
        let error = y.to_vec().unwrap_err();
        assert!(
            matches!(&error, Error::Device(failure) if failure.is_lost() && failure.code() == Some(700)),
            "{error}"
        );
    }
    assert!(axpy(&cx, 1.0, &[1.0], &mut [1.0]).is_err());
    let mut y = [1.0];
    axpy(&Context::cpu().unwrap(), 1.0, &[1.0], &mut y).unwrap();
    assert_eq!(y, [2.0]);
    // SAFETY: as above. (So that what is left is counted.)
    unsafe { std::env::remove_var("STAND_IN_BROKEN") };
}

/// Every call of the driver fails once, in every way: see the part.
#[test]
fn any_call_of_the_driver_may_fail() {
    for pools in ["1", "0"] {
        let text = child("failing::part_every_call", stand_in(), &[("STAND_IN_POOLS", pools)]);
        let calls = text.lines().find_map(|line| line.strip_prefix("calls: ")).expect(&text);
        assert!(calls.parse::<u32>().is_ok_and(|calls| calls > 100), "{calls}");
    }
}

#[test]
fn the_driver_may_say_no() {
    let empty = library("empty", &["-x", "c", "/dev/null"]);
    let ask = |library: &Path, variables: &[(&str, &str)]| {
        let text = child("part_reasons", library, variables);
        text.lines().find_map(|line| line.strip_prefix("reason: ").map(str::to_owned)).expect(&text)
    };
    assert_eq!(ask(stand_in(), &[]), "none");
    assert_eq!(ask(stand_in(), &[("STAND_IN_DEVICES", "0")]), "the driver knows no device");
    assert_eq!(ask(stand_in(), &[("STAND_IN_VERSION", "12080")]), "the driver is for CUDA 12.8, needed is 13.0");
    assert_eq!(
        ask(stand_in(), &[("STAND_IN_ARCHITECTURE", "75")]),
        "cuda:0 (Stand-in 0, sm_75) cannot run code for sm_80, sm_90"
    );
    assert_eq!(ask(stand_in(), &[("STAND_IN_INIT", "999")]), "the driver says: an error of the stand-in (CUDA_ERROR)");
    assert_eq!(ask(&empty, &[]), "the driver says: its library has no cuCtxGetCurrent");
    assert_eq!(ask(stand_in(), &[("HIDP_DEVICE", "cpu")]), "asked for");
}

/// With the reason that `Context::cuda` gives, `Context::new` runs on the processor.
#[test]
#[ignore = "a part of `the_driver_may_say_no`"]
fn part_reasons() {
    fake::add_device_code(&[800, 900]);
    let cx = Context::new().unwrap();
    if !cx.device().is_cpu() {
        println!("\nreason: none");
        return;
    }
    println!("\nreason: {}", cx.device().why());
    if let Err(Error::NoDevice { ordinal: 0, reason }) = Context::cuda(0) {
        assert_eq!(reason.to_string(), cx.device().why());
    }
    let mut y = [1.0];
    axpy(&cx, 1.0, &[1.0], &mut y).unwrap();
    assert_eq!(y, [2.0]);
}

#[test]
fn without_device_code_the_driver_is_not_asked() {
    let cx = Context::new().unwrap();
    assert!(cx.device().is_cpu() && cx.device().why().contains("built without nvcc"), "{}", cx.device());
    let error = Context::cuda(0).unwrap_err();
    assert!(matches!(error, Error::NoDevice { ordinal: 0, reason: NoDevice::NoCode }), "{error}");
}

/// A machine without a driver: the loader finds none, and nothing panics.
#[test]
fn without_a_driver_the_processor_runs_everything() {
    if !child("part_library", Path::new("/nonexistent"), &[]).contains("library: false") {
        eprintln!("this machine has NVIDIA's driver: a machine without one is not tested");
        return;
    }
    let text = child("part_reasons", Path::new("/nonexistent"), &[]);
    assert!(text.contains("reason: there is no driver: the library libcuda was not found"), "{text}");
}

#[test]
#[ignore = "a part of `without_a_driver_the_processor_runs_everything`"]
fn part_library() {
    // SAFETY: loads the library, if there is one.
    println!("\nlibrary: {}", unsafe { cudarc::driver::sys::is_culib_present() });
}

/// The program itself needs no library of CUDA to start.
#[test]
fn no_library_of_cuda_is_linked() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let needed = needed_libraries(&program);
    assert!(needed.iter().any(|name| name.starts_with("libc.so")), "{needed:?}");
    assert!(needed.iter().all(|name| !name.contains("cuda")), "{needed:?}");
}

/// The names under DT_NEEDED of a 64-bit little-endian ELF file: what `readelf -d` shows.
fn needed_libraries(file: &[u8]) -> Vec<String> {
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let half = |at: usize| usize::from(u16::from_le_bytes(file[at..at + 2].try_into().unwrap()));
    assert_eq!((&file[..4], file[4], file[5]), (&b"\x7fELF"[..], 2, 1));
    let (sections, size, count) = (word(40), half(58), half(60));
    let section = |number: usize| sections + number * size;
    let kind = |at: usize| u32::from_le_bytes(file[at + 4..at + 8].try_into().unwrap());
    let dynamic = (0..count).map(section).find(|at| kind(*at) == 6).expect("a dynamic section");
    let strings = word(section(u32::from_le_bytes(file[dynamic + 40..dynamic + 44].try_into().unwrap()) as usize) + 24);
    let (first, bytes) = (word(dynamic + 24), word(dynamic + 32));
    let entries = (first..first + bytes).step_by(16).map(|at| (word(at), word(at + 8)));
    let text = |at: usize| file[at..].iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    entries.filter(|(tag, _)| *tag == 1).map(|(_, offset)| text(strings + offset)).collect()
}

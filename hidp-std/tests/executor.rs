//! What the executor of simulated devices reports is the call's error.

mod fake;

use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Mutex, MutexGuard};

use fake::axpy;
use hidp_std::{Context, DeviceArray, Error, Together};
use hidp_sys::{
    HIDP_COUNTED_LOAD, hidp_call, hidp_device, hidp_entry, hidp_executor, hidp_kernel_counts, hidp_site_counts,
    hidp_widest,
};

/// Blocks of all devices, and what was found.
static BLOCKS: Mutex<Option<HashMap<usize, Layout>>> = Mutex::new(None);
static REPORTS: Mutex<Option<CString>> = Mutex::new(None);

fn blocks() -> MutexGuard<'static, Option<HashMap<usize, Layout>>> {
    BLOCKS.lock().expect("no panic holds it")
}

unsafe extern "C" fn take(_: *mut c_void, bytes: usize) -> *mut c_void {
    let layout = Layout::from_size_align(bytes.max(1), 256).expect("a small block");
    // SAFETY: the layout has a size.
    let block = unsafe { alloc(layout) };
    blocks().get_or_insert_default().insert(block.addr(), layout);
    block.cast()
}
unsafe extern "C" fn give(_: *mut c_void, block: *mut c_void) {
    let layout = blocks().as_mut().and_then(|blocks| blocks.remove(&block.addr())).expect("a block");
    // SAFETY: made with this layout, and freed once.
    unsafe { dealloc(block.cast(), layout) }
}
unsafe extern "C" fn open(seed: u64, multiprocessors: i32) -> *mut hidp_device {
    assert_eq!(seed, 7);
    Box::into_raw(Box::new(hidp_device {
        state: std::ptr::null_mut(),
        stream: std::ptr::null_mut(),
        ordinal: 0,
        multiprocessors,
        threads_per_multiprocessor: 512,
        take: Some(take),
        give: Some(give),
        take_pinned: Some(take),
        give_pinned: Some(give),
    }))
}
unsafe extern "C" fn close(device: *mut hidp_device) {
    // SAFETY: made by `open`.
    drop(unsafe { Box::from_raw(device) });
}
/// Finds something where an array begins with 666.
unsafe extern "C" fn run(_: *mut hidp_device, entry: hidp_entry, call: *mut hidp_call) -> i32 {
    // SAFETY: the run time's call.
    unsafe {
        let result = entry.expect("an entry")(call);
        if *(*(*call).params.add(1)).cast::<f32>() == 666.0 {
            *REPORTS.lock().expect("no panic holds it") = Some(c"k.hdp:3: data race: two threads".into());
            return 3;
        }
        result
    }
}
unsafe extern "C" fn copy(_: *mut hidp_device, to: *mut c_void, from: *const c_void, bytes: usize) {
    // SAFETY: both are memory of this process.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(from.cast(), bytes) }
}
unsafe extern "C" fn reports(_: *mut hidp_device) -> *const c_char {
    REPORTS.lock().expect("no panic holds it").as_ref().map_or(c"".as_ptr(), |text| text.as_ptr())
}

unsafe extern "C" fn count(_: *mut hidp_device, _: i32) {}
/// One kernel with a load.
unsafe extern "C" fn counts(_: *mut hidp_device, kernels: *mut *const hidp_kernel_counts) -> usize {
    let widest = hidp_widest { lanes: 32, requests: 1, lowest: 4, highest: 4 };
    let site = hidp_site_counts {
        file: c"k.hdp".as_ptr(),
        memory: c"".as_ptr(),
        line: 3,
        site: 1,
        what: HIDP_COUNTED_LOAD,
        shared: 0,
        bytes: 4,
        requests: 1,
        lanes: 32,
        idle: 0,
        cost: 4,
        least: 4,
        block_sectors: 4,
        launch_sectors: 4,
        clashes: 0,
        updated: 0,
        most_updates: 0,
        widest,
    };
    let sites = Box::leak(Box::new(site));
    let (name, launches, blocks, threads) = (c"map0_items".as_ptr(), 1, 1, 32);
    let kernel = hidp_kernel_counts {
        name,
        launches,
        blocks,
        threads,
        block_sectors: 4,
        launch_sectors: 4,
        sites,
        site_count: 1,
    };
    // SAFETY: there is room for the address.
    unsafe { *kernels = Box::leak(Box::new(kernel)) };
    1
}

static EXECUTOR: hidp_executor = hidp_executor {
    open: Some(open),
    close: Some(close),
    call: Some(run),
    copy_in: Some(copy),
    copy_out: Some(copy),
    reports: Some(reports),
    count: Some(count),
    counts: Some(counts),
};

#[test]
fn what_is_reported_is_an_error() {
    // SAFETY: it stays as it is.
    unsafe { hidp_sys::hidp2_executor_set(&raw const EXECUTOR) };
    let cx = Context::builder().threads(1).simulated(7).build().unwrap();
    let mut y = DeviceArray::from_host(&cx, &[10.0, 20.0]).unwrap();
    axpy(&cx, 2.0, &[1.0, 2.0], &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [12.0, 24.0]);
    assert!(matches!(axpy(&cx, 1.0, &[-1.0], &mut [0.0]), Err(Error::Fault(_))));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|_| axpy(&cx, 1.0, &[1.0; 9], &mut [1.0; 9]).unwrap()));
        }
    });

    assert!(cx.last_run().unwrap().traffic().is_empty(), "nobody asked for it");

    let counting = Context::builder().threads(1).simulated(7).counting(true).build().unwrap();
    axpy(&counting, 2.0, &[1.0, 2.0], &mut [1.0, 2.0]).unwrap();
    let run = counting.last_run().unwrap();
    let [kernel] = run.traffic() else { panic!("{run:?}") };
    assert_eq!((kernel.name.as_str(), kernel.threads, kernel.sites[0].what), ("map0_items", 32, Together::Load));
    let table = "map0_items: 1 launch, 1 blocks, 32 threads; 4 different sectors in blocks, 4 in launches\n  \
        k.hdp:3 #1                   load                 1 requests,         32 lanes,         0 idle,  4 bytes each,         4 sectors for 4\n";
    assert_eq!(kernel.to_string(), table);
    drop(counting);
    let processor = Context::builder().cpu().counting(true).build().unwrap_err();
    let expected = "Builder::counting is `true`, expected a simulated device that runs generated code";
    assert_eq!(processor.to_string(), expected);

    let error = axpy(&cx, 1.0, &[666.0], &mut [0.0]).unwrap_err();
    let expected = "the device could not run the kernels: k.hdp:3: data race: two threads";
    assert_eq!(error.to_string(), expected);
    drop((y, cx));
    assert_eq!(blocks().as_ref().map(HashMap::len), Some(0), "everything was given back");
}

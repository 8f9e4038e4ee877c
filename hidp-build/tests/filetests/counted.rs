//! What the executor counts of the kernels in `tests/simt/counted.cu` is what a person counts.

use std::ffi::c_void;
use std::sync::OnceLock;

use hidp_sys::{
    HIDP_COUNTED_BLOCK_BARRIER, HIDP_COUNTED_LOAD, HIDP_COUNTED_SHUFFLE, HIDP_COUNTED_STORE, HIDP_COUNTED_UPDATE,
    HIDP_COUNTED_VOTE, HIDP_COUNTED_WARP_BARRIER, hidp_site_counts,
};

use crate::device::{DeviceKernels, Ended, KernelCounts};

const KERNELS: &str = include_str!("../simt/counted.cu");

/// Elements of each array.
const COUNT: usize = 4096;

fn kernels() -> &'static DeviceKernels {
    static KERNELS_BUILT: OnceLock<DeviceKernels> = OnceLock::new();
    let text = format!("#line 1 \"counted.cu\"\n{KERNELS}");
    KERNELS_BUILT.get_or_init(|| DeviceKernels::build("counted", &text).expect("compiles"))
}

/// What is counted of an entry's only kernel, the same in all orders of lanes and blocks.
fn counts(name: &str) -> KernelCounts {
    let [first, rest @ ..] = [0, 1, 2, 3].map(|seed| of_seed(name, seed));
    for other in rest {
        assert_eq!(shown(&other), shown(&first), "{name}");
    }
    first
}

fn of_seed(name: &str, seed: u64) -> KernelCounts {
    let numbers: Vec<i32> = (0..COUNT as i32).collect();
    let bytes = size_of_val(numbers.as_slice());
    let device = kernels().device(seed, 2);
    device.count();
    let params: Vec<*mut c_void> = (0..3).map(|_| device.take(bytes)).collect();
    // SAFETY: the entries take three arrays of this size and no dimensions.
    let ended = unsafe {
        params.iter().for_each(|param| device.copy_in(*param, numbers.as_ptr().cast::<c_void>(), bytes));
        device.copy_in(params[2], vec![0; COUNT].as_ptr().cast::<c_void>(), bytes);
        device.call(&format!("hidp2_{name}"), &params, &[])
    };
    match ended {
        Ok(()) => {}
        Err(Ended::Wrong(why)) => panic!("{name}: {why}"),
        Err(Ended::Fault(_)) => panic!("{name}: a fault"),
    }
    let mut found = device.counts();
    assert_eq!(found.len(), 1, "{name}");
    found.remove(0)
}

fn shown(kernel: &KernelCounts) -> String {
    let rows = kernel.sites.iter().map(|site| {
        let hidp_site_counts { file: _, memory: _, .. } = site;
        format!("{:?}", hidp_site_counts { file: std::ptr::null(), memory: std::ptr::null(), ..*site })
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// Requests, lanes, cost and the least of each numbered access.
fn costs(name: &str) -> Vec<(u32, u64, u64, u64, u64)> {
    let kernel = counts(name);
    assert_eq!(kernel.name, name);
    kernel.sites.iter().map(|site| (site.site, site.requests, site.lanes, site.cost, site.least)).collect()
}

#[test]
fn sectors_follow_from_places() {
    assert_eq!(costs("coalesced"), [(1, 2, 64, 8, 8), (2, 2, 64, 8, 8)]);
    // 128 bytes that begin 4 bytes behind a sector reach into one more.
    assert_eq!(costs("beside"), [(1, 2, 64, 10, 8), (2, 2, 64, 8, 8)]);
    assert_eq!(costs("strided"), [(1, 1, 32, 32, 4), (2, 1, 32, 8, 4)]);
    // All want one number; then each of eight numbers is wanted by four lanes.
    assert_eq!(costs("broadcast"), [(1, 1, 32, 1, 1), (2, 1, 32, 1, 1), (3, 1, 32, 4, 4)]);
    // 1, 2, 8, 16, 8 bytes a lane are loaded, 16 and 4 are stored.
    let wide = [1, 2, 8, 16, 8, 16, 4];
    let expected: Vec<_> = (1..).zip(wide).map(|(site, bytes)| (site, 1, 32, bytes, bytes)).collect();
    assert_eq!(costs("widths"), expected);
}

#[test]
fn warps_that_are_not_full_have_fewer_lanes() {
    let kernel = counts("parts");
    // Three blocks of a whole warp and one of 8 lanes, each of which makes a request.
    assert_eq!(costs("parts"), [(1, 6, 120, 15, 15), (2, 6, 120, 15, 15)]);
    assert!(kernel.sites.iter().all(|site| site.idle == 0));
    let widest = kernel.sites[0].widest;
    assert_eq!((widest.lanes, widest.requests, widest.lowest, widest.highest), (32, 3, 4, 4));
    // Each block reads the same 5 sectors, and writes 5 of its own.
    let distinct = |site: &hidp_site_counts| (site.block_sectors, site.launch_sectors);
    assert_eq!(kernel.sites.iter().map(distinct).collect::<Vec<_>>(), [(15, 5), (15, 15)]);
    let all = kernel.all;
    assert_eq!((all.launches, all.blocks, all.threads, all.block_sectors, all.launch_sectors), (1, 3, 120, 30, 20));
}

/// Requests and lanes of each numbered access.
fn requests(name: &str) -> Vec<(u32, u64, u64)> {
    costs(name).into_iter().map(|(site, requests, lanes, ..)| (site, requests, lanes)).collect()
}

#[test]
fn lanes_come_together_again() {
    // Half the lanes, then a quarter, then all.
    assert_eq!(requests("branches"), [(1, 1, 32), (2, 1, 16), (3, 1, 8), (4, 1, 32)]);
    let idle: Vec<u64> = counts("branches").sites.iter().map(|site| site.idle).collect();
    assert_eq!(idle, [0, 16, 24, 0]);
    // 9 iterations of all lanes and one of the odd ones. In each a quarter of the lanes, and in the last one half of the odd ones, as k
    // is odd too. Those that leave do not come to the last load: the even ones in the ninth iteration, the odd ones in the tenth.
    assert_eq!(requests("turns"), [(2, 10, 9 * 32 + 16), (3, 10, 9 * 8 + 8), (4, 9, 8 * 32 + 16), (6, 1, 32)]);
    // Iteration k has the lanes above k.
    assert_eq!(requests("ragged"), [(2, 31, 31 * 32 / 2), (4, 1, 32)]);
    // The second inner iteration has half of the lanes.
    assert_eq!(requests("nested"), [(3, 6, 3 * (32 + 16)), (5, 3, 96), (7, 1, 32)]);
    assert_eq!(requests("single"), [(0, 2, 64), (1, 2, 2), (2, 2, 2), (3, 2, 64)]);
}

#[test]
fn lanes_that_wait_for_others_do_not_keep_them() {
    // Each lane holds the lock once. All lanes try, then all but the one that had it …
    assert_eq!(requests("lock"), [(2, 32, 32 * 33 / 2), (3, 32, 32), (4, 32, 32), (5, 32, 32)]);
    // Here how often lanes try follows from the executor's patience.
    let held: Vec<_> = of_seed("spin", 0).sites.iter().filter(|site| site.site > 1).map(|site| site.lanes).collect();
    assert_eq!(held, [32, 32, 32]);
}

#[test]
fn banks_take_turns() {
    let expected = [
        (1, 33, 33 * 32, 33, 33),
        (2, 1, 32, 1, 1),
        (3, 1, 32, 2, 1),
        (4, 1, 32, 32, 1),
        (5, 1, 32, 1, 1),
        (6, 1, 32, 1, 1),
        // 16 bytes a lane: 8 lanes at a time, each a bank's word four times over.
        (7, 1, 32, 4, 4),
        (8, 1, 32, 4, 4),
        // Of 8 bytes 16 lanes at a time, all of which want the same two banks.
        (9, 1, 32, 32, 2),
        // 8 lanes are in one half of the warp.
        (10, 1, 8, 1, 1),
    ];
    let found = costs("banks");
    let of_memory: Vec<_> = found.into_iter().filter(|found| found.0 != 0).collect();
    assert_eq!(of_memory, expected);
}

#[test]
fn updates_of_one_place_are_told_apart() {
    let kernel = counts("updates");
    let found: Vec<_> = kernel
        .sites
        .iter()
        .map(|site| {
            assert_eq!(site.what, HIDP_COUNTED_UPDATE);
            (site.requests, site.clashes, site.updated, site.most_updates)
        })
        .collect();
    // Two blocks of two warps.
    assert_eq!(found, [(4, 4 * 32, 1, 128), (4, 4 * 4, 8, 16), (4, 4, 64, 2)]);
}

#[test]
fn meetings_are_counted_once() {
    let kernel = counts("meetings");
    let found: Vec<_> = kernel.sites.iter().map(|site| (site.what, site.requests, site.lanes, site.cost)).collect();
    let expected = [
        (HIDP_COUNTED_BLOCK_BARRIER, 2, 128, 2),
        (HIDP_COUNTED_BLOCK_BARRIER, 2, 128, 2),
        // Two groups of each of four warps exchange two words a lane.
        (HIDP_COUNTED_SHUFFLE, 8, 128, 16),
        (HIDP_COUNTED_VOTE, 4, 128, 4),
        (HIDP_COUNTED_WARP_BARRIER, 4, 128, 4),
    ];
    assert_eq!(found, expected);
}

#[test]
fn launches_of_a_kernel_add_up() {
    let kernel = counts("twice");
    assert_eq!((kernel.name.as_str(), kernel.all.launches, kernel.all.threads), ("coalesced", 2, 128));
    let found: Vec<_> = kernel.sites.iter().map(|site| (site.what, site.requests, site.launch_sectors)).collect();
    assert_eq!(found, [(HIDP_COUNTED_LOAD, 4, 16), (HIDP_COUNTED_STORE, 4, 16)]);
}

#[test]
fn nothing_is_counted_unless_asked_for() {
    let device = kernels().device(0, 1);
    let params: Vec<*mut c_void> = (0..3).map(|_| device.take(4 * COUNT)).collect();
    // SAFETY: the entry takes three arrays of this size.
    let _ = unsafe { device.call("hidp2_coalesced", &params, &[]) };
    assert!(device.counts().is_empty());
}

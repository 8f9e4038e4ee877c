//! Calls allocate nothing on the Rust side.

mod fake;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fake::{gather, gemm, shapes_of};
use hidp_std::Context;
use ndarray::Array2;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn calls_allocate_nothing() {
    let cx = Context::builder().threads(1).build().unwrap();
    let forced = cx.with_plan("twice");
    let a = Array2::<f32>::eye(8);
    let (b, rows) = (vec![1.0; 64], Array2::<f64>::zeros((4, 6)));
    let mut c = Array2::zeros((8, 8));
    let mut out = [0; 3];
    let mut y = vec![0.0; 3];
    let before = ALLOCATIONS.get();
    assert_ne!(before, 0, "the allocator counts");
    for _ in 0..10 {
        gemm(&cx, &a, &(&b, [8, 8]), &mut c).unwrap();
        shapes_of(&cx, &[0; 4], &rows, 3, &mut out).unwrap();
        gather(&forced, 1.0, &[1.0, 2.0], &[0, 1, 0], &mut y).unwrap();
        let _ = cx.clone().last_run();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    let _ = gather(&cx, 1.0, &[1.0, 2.0], &[0, 1, 9], &mut y).unwrap_err();
    assert_eq!(ALLOCATIONS.get() - before, 0, "nor do faults");
}

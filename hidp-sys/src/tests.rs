use std::ptr;

use super::*;

mod team;

struct Context(*mut hidp_context);

impl Context {
    fn new(threads: u32) -> Self {
        // SAFETY: any number of threads is allowed.
        let context = unsafe { hidp2_context_new(threads) };
        assert!(!context.is_null());
        Self(context)
    }
    fn take(&self, bytes: usize) -> *mut u8 {
        // SAFETY: the context lives as long as `self`.
        unsafe { hidp2_pool_take(self.0, bytes).cast() }
    }
    fn give(&self, block: *mut u8) {
        // SAFETY: tests give what they took.
        unsafe { hidp2_pool_give(self.0, block.cast()) }
    }
    fn limit(&self, most: usize, room: hidp_room) {
        // SAFETY: rooms of tests use no context.
        unsafe { hidp2_pool_limit(self.0, most, room) }
    }
    fn bytes(&self) -> usize {
        // SAFETY: the context lives as long as `self`.
        unsafe { hidp2_pool_bytes(self.0) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nothing uses the context any more.
        unsafe { hidp2_context_free(self.0) }
    }
}

// SAFETY: the ABI allows use from several threads.
unsafe impl Sync for Context {}

#[test]
fn zero_threads_means_all() {
    let (all, three) = (Context::new(0), Context::new(3));
    // SAFETY: both contexts live.
    unsafe {
        assert!(hidp2_context_threads(all.0) >= 1);
        assert_eq!(hidp2_context_threads(three.0), 3);
    }
}

#[test]
fn every_size_is_aligned_and_writable() {
    let context = Context::new(1);
    for bytes in [0, 1, 63, 64, 256, 257, 4095, 4096, 65_537, 3 << 20] {
        let block = context.take(bytes);
        assert!(!block.is_null());
        assert_eq!(block as usize % 64, 0);
        // SAFETY: the block has so many bytes.
        unsafe { ptr::write_bytes(block, 0xa5, bytes) };
        context.give(block);
    }
}

#[test]
fn steady_state_asks_the_system_for_nothing() {
    let context = Context::new(1);
    let round = |context: &Context| {
        let blocks: Vec<_> = [100, 5000, 1 << 20, 1 << 20, 9 << 20].iter().map(|&n| context.take(n)).collect();
        blocks.iter().for_each(|&block| context.give(block));
    };
    round(&context);
    let held = context.bytes();
    (0..100).for_each(|_| round(&context));
    assert_eq!(context.bytes(), held);
}

#[test]
fn idle_storage_does_not_grow_without_bound() {
    let context = Context::new(1);
    for size in 1..400_usize {
        let block = context.take(size << 20);
        context.give(block);
    }
    assert!(context.bytes() < 6 * (400 << 20), "{}", context.bytes());
}

#[test]
fn bases_of_equal_sizes_are_staggered() {
    let context = Context::new(1);
    let mut offsets: Vec<_> = (0..16).map(|_| context.take(1 << 16) as usize % 4096).collect();
    offsets.sort_unstable();
    offsets.dedup();
    assert_eq!(offsets.len(), 16);
    assert!(offsets.windows(2).all(|pair| pair[1] - pair[0] >= 128), "{offsets:?}");
}

#[test]
fn an_impossible_size_gives_null() {
    let context = Context::new(1);
    assert!(context.take(usize::MAX).is_null());
    assert!(context.take(usize::MAX / 2 - 1).is_null());
    assert!(context.take(1 << 60).is_null());
    assert!(!context.take(64).is_null());
}

#[test]
fn a_pool_holds_as_much_as_its_limit_and_no_more() {
    let context = Context::new(1);
    context.limit(8 << 20, None);
    let first = context.take(6 << 20);
    assert!(!first.is_null());
    assert!(context.take(3 << 20).is_null());
    assert!(!context.take(100).is_null());
    context.give(first);
    assert!(!context.take(3 << 20).is_null(), "idle blocks make room");
    assert!(context.bytes() <= 8 << 20, "{}", context.bytes());
}

#[test]
fn large_blocks_need_room_in_the_system() {
    unsafe extern "C" fn room() -> usize {
        22 << 20
    }
    let context = Context::new(1);
    context.limit(usize::MAX, Some(room));
    assert!(context.take(24 << 20).is_null());
    assert!(!context.take(17 << 20).is_null());
    context.limit(usize::MAX, None);
    assert!(!context.take(24 << 20).is_null());
}

#[test]
fn threads_share_a_pool() {
    let context = Context::new(1);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let context = &context;
            scope.spawn(move || {
                for round in 0..200_usize {
                    let bytes = 64 + round * 37;
                    let block = context.take(bytes);
                    // SAFETY: the block has so many bytes and belongs to this thread.
                    unsafe {
                        ptr::write_bytes(block, thread, bytes);
                        assert!((0..bytes).all(|at| *block.add(at) == thread));
                    }
                    context.give(block);
                }
            });
        }
    });
}

#[test]
fn device_code_adds_itself() {
    // SAFETY: what is added lives as long as the program and is not touched any more.
    unsafe {
        assert!(hidp2_device_code_first().is_null(), "these tests have no device code");
        for architectures in [&[900, 1000][..], &[800]] {
            let count = architectures.len() as i32;
            let code = hidp_device_code {
                architectures: architectures.as_ptr(),
                count,
                toolkit: 13000,
                next: ptr::null_mut(),
            };
            hidp2_device_code_add(Box::leak(Box::new(code)));
        }
        let first = hidp2_device_code_first();
        let second = (*first).next;
        assert_eq!((*(*first).architectures, (*second).count, (*second).next), (800, 2, ptr::null_mut()));
    }
}

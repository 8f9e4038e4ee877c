//! The team of threads behind calls: forked processes, systems without threads to give, callers of all kinds.
#![cfg(all(feature = "prim", target_os = "linux"))]

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use hidp_std::prim::{self, Op, Order};
use hidp_std::{Context, Error};
use rayon::prelude::*;

/// More than one launch, with waits of threads for one another, and sums whose bits depend on their order.
fn calls(cx: &Context, seed: u64) -> (Vec<f32>, Vec<u32>) {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let terms: Vec<f32> = (0..400_000).map(|_| next() as f32 / 1e17).collect();
    let mut sums = terms;
    prim::scan(cx, &mut sums, Op::Add).unwrap();
    let mut keys: Vec<u32> = (0..100_000).map(|_| next() as u32).collect();
    prim::sort(cx, &mut keys, Order::Ascending).unwrap();
    assert!(keys.is_sorted());
    (sums, keys)
}

fn context(threads: u32) -> Context {
    Context::builder().cpu().threads(threads).build().expect("a context")
}

#[test]
fn the_last_run_says_how_many_threads_came() {
    let cx = context(2);
    prim::sort(&cx, &mut [3, 1, 2], Order::Ascending).unwrap();
    let run = cx.last_run().unwrap();
    assert_eq!((run.ran, run.threads), (1, 2));
    assert!(run.to_string().contains("1 of 2 threads ("), "{run}");
    // The helper may be without a processor for a whole call, but not for all of them.
    let both = |seed| {
        calls(&cx, seed);
        cx.last_run().unwrap().ran == 2
    };
    assert!((0..100).any(both));
}

/// Runs `child` in a forked process; whether it came to its end in time.
fn forked(child: impl FnOnce()) -> bool {
    // SAFETY: the child calls nothing that a lock of another thread could keep waiting but malloc, which glibc makes ready for it, and what
    // is tested here; it leaves without running the rest of this program.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            libc::alarm(60);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).is_ok();
            libc::_exit(if done { 0 } else { 1 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }
}

#[test]
fn forked_processes_have_threads_of_their_own() {
    part("part_forks");
}

#[test]
#[ignore = "a part, for a process of its own"]
fn part_forks() {
    let cx = context(4);
    let expected = calls(&cx, 1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Forks meet launches at any point.
        for seed in 2..4 {
            let (cx, done) = (&cx, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    calls(cx, seed);
                }
            });
        }
        let good = (0..12).all(|_| {
            forked(|| {
                assert_eq!(calls(&cx, 1), expected, "a context of the parent's");
                assert_eq!(calls(&context(3), 1), expected, "one of the child's own");
                assert_eq!(threads(), 4);
                assert!(forked(|| assert_eq!(calls(&cx, 1), expected)), "a child of the child");
            })
        });
        done.store(true, Ordering::Relaxed);
        assert!(good);
    });
}

#[test]
fn jobs_of_rayon_and_many_threads() {
    let contexts: Vec<Context> = (1..=5).map(context).collect();
    let expected: Vec<_> = (0..4).map(|seed| calls(&contexts[0], seed)).collect();
    (0..60_usize).into_par_iter().for_each(|job| {
        assert_eq!(calls(&contexts[job % 5], job as u64 % 4), expected[job % 4], "{} threads", job % 5 + 1);
        if job % 7 == 0 {
            let panicked = std::panic::catch_unwind(|| {
                calls(&context(3), 1);
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            assert!(panicked.is_err());
        }
    });
}

#[test]
fn a_system_without_threads() {
    part("part_no_threads");
}

#[test]
fn threads_end_with_the_last_context() {
    part("part_threads_end");
}

#[test]
fn a_process_ends_while_threads_sleep() {
    part("part_end");
}

/// Runs a part of this program, alone in a process.
fn part(name: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--ignored", "--exact", "--nocapture", name]).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// How many this process has.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
#[ignore = "a part, for a process of its own"]
fn part_no_threads() {
    let before = threads();
    let few = context(2);
    let expected = calls(&few, 5);
    // A limit of threads does not bind root, but each needs a stack.
    let kilobytes = std::fs::read_to_string("/proc/self/status").unwrap();
    let used = kilobytes.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let used: u64 = used.trim().trim_end_matches(" kB").parse().unwrap();
    let limit = libc::rlimit { rlim_cur: (used << 10) + (600 << 20), rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    let error = Context::builder().cpu().threads(1024).build().unwrap_err();
    let Error::Threads { asked: 1024, available, code } = error else { panic!("{error}") };
    assert!((2..1024).contains(&available), "{error}");
    assert_eq!(code, libc::EAGAIN, "{error}");
    let message = format!("the system has {available} of the 1024 threads that the context is to have: ");
    assert!(error.to_string().starts_with(&message), "{error}");
    assert_eq!(threads(), before + 1, "those that were started have ended");
    assert_eq!(calls(&few, 5), expected, "contexts that have theirs go on");
    assert_eq!(calls(&context(8), 5), expected);
    // The child's stacks are there already, of threads that it does not have; so here it is their number, of a user who is not root.
    assert!(forked(|| {
        let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: plain system calls.
        unsafe {
            assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit), 0);
            assert!(libc::geteuid() != 0 || libc::setuid(65534) == 0);
        }
        let error = prim::sort(&few, &mut [2, 1], Order::Ascending).unwrap_err();
        assert!(matches!(error, Error::Threads { asked: 2, available: 1, .. }), "{error}");
    }));
}

#[test]
#[ignore = "a part, for a process of its own"]
fn part_threads_end() {
    let before = threads();
    for _ in 0..20 {
        let (three, five) = (context(3), context(5));
        assert!(threads() >= before + 4);
        calls(&five, 1);
        let clone = three.clone();
        drop((three, five));
        assert!(threads() >= before + 4, "a clone needs them");
        calls(&clone, 1);
        drop(clone);
        assert_eq!(threads(), before);
    }
}

#[test]
#[ignore = "a part, for a process of its own"]
fn part_end() {
    let cx = context(6);
    calls(&cx, 1);
    std::mem::forget(cx);
}

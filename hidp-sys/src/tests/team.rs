//! Launches of the team: all that is claimed is done once, whoever calls, from wherever, and whatever goes on beside.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::*;

impl Context {
    fn started(threads: u32) -> Self {
        let context = Self::new(threads);
        // SAFETY: may be called at any time.
        unsafe { hidp2_team_use() };
        let mut available = 0;
        // SAFETY: the context lives.
        assert_eq!(unsafe { hidp2_context_start(context.0, &raw mut available) }, 0);
        assert_eq!(available, threads);
        context
    }
    /// Calls `body(member)` on up to `wanted` threads.
    fn run(&self, wanted: i64, body: impl Fn(i64) + Sync) {
        self.run_as(wanted, false, body);
    }
    fn run_as(&self, wanted: i64, brief: bool, body: impl Fn(i64) + Sync) {
        unsafe extern "C" fn call<B: Fn(i64) + Sync>(state: *mut c_void, member: i64) {
            // SAFETY: `state` is the `body` below, which lives until the launch is over.
            unsafe { (*state.cast::<B>())(member) }
        }
        fn address<B: Fn(i64) + Sync>(_: &B) -> hidp_team_body {
            Some(call::<B>)
        }
        // SAFETY: the context lives; `call` takes a `body`, which may be called from several threads.
        unsafe { hidp2_team_run(self.0, wanted, brief.into(), address(&body), ptr::from_ref(&body).cast_mut().cast()) }
    }
    /// A launch that claims `parts` parts, each of which calls `part`; how many threads came.
    fn claim(&self, wanted: i64, parts: i64, part: impl Fn(i64) + Sync) -> u32 {
        let (next, members) = (AtomicI64::new(0), AtomicU64::new(0));
        self.run(wanted, |member| {
            assert!((0..wanted).contains(&member));
            let before = members.fetch_or(1 << (member % 64), Ordering::Relaxed);
            assert!(wanted > 64 || before & (1 << member) == 0, "member {member} was called twice");
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= parts {
                    return;
                }
                part(number);
            }
        });
        members.into_inner().count_ones()
    }
    /// The same, and every part is done once when the launch returns.
    fn check(&self, wanted: i64, parts: i64) {
        let done: Vec<AtomicI64> = (0..parts).map(|_| AtomicI64::new(0)).collect();
        self.claim(wanted, parts, |number| {
            done[number as usize].fetch_add(1, Ordering::Relaxed);
        });
        assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }
}

/// Numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The process has one team: tests that count its threads must not run beside others that use them.
fn alone() -> MutexGuard<'static, ()> {
    static TEAM: Mutex<()> = Mutex::new(());
    TEAM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for another thread, but not for ever.
fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn helpers_come_at_the_same_time() {
    let _alone = alone();
    let context = Context::started(4);
    let here = AtomicI64::new(0);
    // Nobody leaves before all four are there: helpers that sleep are woken, all of them.
    let came = context.claim(4, 4, |_| {
        here.fetch_add(1, Ordering::SeqCst);
        wait_for("four threads", || here.load(Ordering::SeqCst) == 4);
    });
    assert_eq!(came, 4);
}

/// Two parts of so much time, as a brief launch; how many threads came.
fn brief(context: &Context, part: Duration) -> u32 {
    let (next, came) = (AtomicI64::new(0), AtomicI64::new(0));
    context.run_as(2, true, |_| {
        came.fetch_add(1, Ordering::Relaxed);
        while next.fetch_add(1, Ordering::Relaxed) < 2 {
            let start = Instant::now();
            while start.elapsed() < part {}
        }
    });
    came.into_inner() as u32
}

#[test]
fn brief_launches_wake_sleepers_if_they_follow_each_other() {
    let _alone = alone();
    let context = Context::started(2);
    // So long that whoever is woken comes, whatever else runs.
    let alone = || {
        std::thread::sleep(Duration::from_millis(5));
        brief(&context, Duration::from_millis(10)) == 1
    };
    for _ in 0..2 {
        wait_for("launches that wake nobody", || (0..5).all(|_| alone()));
        wait_for("one of many to have company", || brief(&context, Duration::from_micros(100)) == 2);
    }
}

#[test]
fn sleepers_wake_one_another() {
    let _alone = alone();
    let context = Context::started(40);
    for _ in 0..20 {
        // Long enough for all to fall asleep.
        std::thread::sleep(Duration::from_millis(2));
        let here = AtomicI64::new(0);
        context.claim(40, 40, |_| {
            here.fetch_add(1, Ordering::SeqCst);
            wait_for("forty threads", || here.load(Ordering::SeqCst) == 40);
        });
    }
}

#[test]
fn a_helper_that_does_not_come_is_not_waited_for() {
    let _alone = alone();
    let (context, other) = (Context::started(2), Context::started(2));
    let (busy, release) = (AtomicI64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Keeps all helpers that there are: those of tests that run beside, too.
            let wanted = 1024;
            other.run(wanted, |_| {
                busy.fetch_add(1, Ordering::SeqCst);
                wait_for("the other launches", || release.load(Ordering::SeqCst));
            });
        });
        wait_for("a busy helper", || busy.load(Ordering::SeqCst) >= 2);
        (0..100).for_each(|_| context.check(2, 50));
        release.store(true, Ordering::SeqCst);
    });
}

#[test]
fn launches_inside_of_launches() {
    let _alone = alone();
    let context = Context::started(3);
    let inner = AtomicI64::new(0);
    context.claim(3, 12, |_| {
        context.claim(3, 12, |_| {
            context.claim(2, 3, |_| {
                inner.fetch_add(1, Ordering::Relaxed);
            });
        });
    });
    assert_eq!(inner.into_inner(), 12 * 12 * 3);
}

/// Callers of different contexts, more threads than processors, pauses in which helpers fall asleep, and contexts that come and go.
#[test]
fn stress() {
    let _alone = alone();
    let contexts = [Context::started(2), Context::started(5), Context::started(9)];
    std::thread::scope(|scope| {
        for caller in 0..4_u64 {
            let contexts = &contexts;
            scope.spawn(move || {
                let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ caller);
                for _ in 0..1500 {
                    let context = &contexts[random.below(3) as usize];
                    context.check(1 + random.below(12) as i64, random.below(60) as i64);
                    match random.below(64) {
                        0 => std::thread::sleep(Duration::from_micros(random.below(400))),
                        1 => Context::started(1 + random.below(6) as u32).check(4, 20),
                        _ => {}
                    }
                }
            });
        }
    });
}

#[test]
fn a_context_without_threads_of_its_own_runs_alone() {
    let _alone = alone();
    // SAFETY: may be called at any time.
    unsafe { hidp2_team_use() };
    let context = Context::new(7);
    // SAFETY: the context lives.
    assert_eq!(unsafe { hidp2_context_started(context.0) }, 0);
    context.check(7, 100);
    Context::started(1).check(1, 100);
}

//! Waits until the process's other threads sleep.
//!
//! Threads of OpenMP look for more work for milliseconds after a parallel region, on processors that whoever is measured next wants for
//! threads of its own.

use std::time::{Duration, Instant};

/// Longer than any library's threads look for work before they sleep.
const LONGEST: Duration = Duration::from_millis(500);

/// Returns when no other thread of this process runs. Where the system does not say so, after a time in which all that are measured fall
/// asleep.
pub fn wait() {
    let start = Instant::now();
    while others_run() != Some(false) && start.elapsed() < LONGEST {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether another thread of this process runs, or is ready to.
fn others_run() -> Option<bool> {
    let own = std::fs::read_link("/proc/thread-self").ok()?;
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let others = threads.flatten().filter(|thread| own.file_name() != Some(&thread.file_name()));
    // A thread that has ended since has no state.
    let states = others.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    Some(states.into_iter().any(|stat| is_running(&stat)))
}

/// The state stands after the name in brackets, which may hold any character.
fn is_running(stat: &str) -> bool {
    stat.rsplit_once(") ").is_some_and(|(_, after)| after.starts_with('R'))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn it_waits_for_threads_that_look_for_work() {
        assert!(is_running("7 (a) b) R 1 2") && !is_running("7 (R) S 1 2"));
        if !cfg!(target_os = "linux") {
            return;
        }
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(30) {
                    std::hint::spin_loop();
                }
                ended.store(true, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(600));
            });
            wait();
            assert!(ended.load(Ordering::Relaxed), "it waits for the other thread");
        });
    }
}

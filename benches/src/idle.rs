//! Waits until the process's other threads sleep, and those of the processes that it began: peers in Python.
//!
//! Threads of OpenMP look for more work for milliseconds after a parallel region, on processors that whoever is measured next wants for
//! threads of its own.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longer than any library's threads look for work before they sleep.
const LONGEST: Duration = Duration::from_millis(500);

/// Returns when no other thread of this process and of its children runs. Where the system does not say so, after a time in which all that are measured fall
/// asleep.
pub fn wait() {
    let start = Instant::now();
    while others_run() != Some(false) && start.elapsed() < LONGEST {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether another thread runs, or is ready to.
fn others_run() -> Option<bool> {
    let own = std::fs::read_link("/proc/thread-self").ok()?;
    let threads = threads_of(Path::new("/proc/self"))?;
    let children = threads.iter().flat_map(|thread| children_of(thread)).flat_map(|child| threads_of(&child));
    let others = threads.iter().filter(|thread| own.file_name() != thread.file_name()).cloned();
    // A thread that has ended since has no state.
    let states =
        others.chain(children.flatten()).filter_map(|thread| std::fs::read_to_string(thread.join("stat")).ok());
    Some(states.into_iter().any(|stat| is_running(&stat)))
}

/// Where the system describes each thread of a process.
fn threads_of(process: &Path) -> Option<Vec<PathBuf>> {
    Some(std::fs::read_dir(process.join("task")).ok()?.flatten().map(|thread| thread.path()).collect())
}

/// The processes that a thread began and that have not ended; none where the system does not say.
fn children_of(thread: &Path) -> Vec<PathBuf> {
    let numbers = std::fs::read_to_string(thread.join("children")).unwrap_or_default();
    numbers.split_whitespace().map(|number| Path::new("/proc").join(number)).collect()
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

    #[test]
    fn it_waits_for_processes_that_it_began() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let busy = "i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done; exec sleep 5";
        let mut child = std::process::Command::new("sh").args(["-c", busy]).spawn().expect("a shell");
        let state = format!("/proc/{}/stat", child.id());
        while !is_running(&std::fs::read_to_string(&state).expect("it lives")) {
            std::hint::spin_loop();
        }
        wait();
        let is_asleep = !is_running(&std::fs::read_to_string(&state).expect("it lives"));
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert!(is_asleep, "it waits for the other process");
    }
}

//! Compilers that run at once: as many as cargo's jobserver grants.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use jobserver::{Acquired, Client, HelperThread};

use crate::cargo;

/// Does the work for every item; gives the results in the order of the items.
pub(crate) fn run_all<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    run_under(inherited(), cargo::jobs(), items, work)
}

/// The jobserver that cargo passes to build scripts.
fn inherited() -> Option<&'static Client> {
    static CLIENT: OnceLock<Option<Client>> = OnceLock::new();
    // SAFETY: the descriptors that the environment names are cargo's, open as long as this process lives, and nobody else here
    // takes them.
    CLIENT.get_or_init(|| unsafe { Client::from_env_ext(false) }.client.ok()).as_ref()
}

/// The first worker runs on the permission that this process was started with; every other asks for one.
fn run_under<T: Sync, R: Send>(
    client: Option<&Client>,
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let step = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(index) else { return false };
        let result = work(item);
        *results[index].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
        true
    };
    let is_done = || next.load(Ordering::Relaxed) >= items.len();
    let others = jobs.min(items.len()).saturating_sub(1);
    let permissions = client.filter(|_| others > 0).and_then(|client| Permissions::ask(client, others));
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                let permission = permissions.as_ref().map(|permissions| permissions.wait(is_done));
                if !matches!(permission, Some(None)) {
                    while step() {}
                }
            });
        }
        while step() {}
    });
    let filled = results.into_iter().map(|slot| slot.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()));
    filled.flatten().collect()
}

/// Permissions to run one more compiler, as the jobserver gives them.
struct Permissions {
    granted: Mutex<Receiver<Acquired>>,
    /// Waits for the jobserver until it is dropped.
    _asking: HelperThread,
}

impl Permissions {
    /// `None` where no thread can ask: the number of jobs alone is the limit then.
    fn ask(client: &Client, count: usize) -> Option<Self> {
        let (sender, granted) = mpsc::channel();
        let pass_on = move |permission: std::io::Result<Acquired>| {
            // Once all work is done the send fails, and the token goes back.
            let _ = permission.map(|permission| sender.send(permission));
        };
        let asking = client.clone().into_helper_thread(pass_on).ok()?;
        (0..count).for_each(|_| asking.request_token());
        Some(Self { granted: Mutex::new(granted), _asking: asking })
    }

    /// Waits for one; `None` when there is nothing left to do.
    fn wait(&self, is_done: impl Fn() -> bool) -> Option<Acquired> {
        const PAUSE: Duration = Duration::from_millis(5);
        while !is_done() {
            let granted = self.granted.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            match granted.recv_timeout(PAUSE) {
                Ok(permission) => return Some(permission),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// The results, and how many items were worked on at once at most; each waits a while for `expected` ones.
    fn observed(client: Option<&Client>, jobs: usize, expected: usize) -> (Vec<usize>, usize) {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items: Vec<usize> = (0..20).collect();
        let results = run_under(client, jobs, &items, |item| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let start = Instant::now();
            while most.load(Ordering::SeqCst) < expected && start.elapsed() < Duration::from_secs(10) {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(1));
            running.fetch_sub(1, Ordering::SeqCst);
            item * item
        });
        (results, most.into_inner())
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let squares: Vec<usize> = (0..20).map(|item| item * item).collect();
        for (jobs, most) in [(0, 1), (1, 1), (4, 4), (100, 20)] {
            assert_eq!(observed(None, jobs, most), (squares.clone(), most));
        }
        assert!(run_all(&[0; 0], |_| ()).is_empty());
    }

    #[test]
    fn the_jobserver_is_the_limit() {
        let client = Client::new(2).unwrap();
        let (results, most) = observed(Some(&client), 8, 3);
        assert_eq!((results.len(), most), (20, 3), "two permissions, and the one that every process has");
        assert_eq!(client.available().unwrap(), 2, "permissions are given back");
    }
}

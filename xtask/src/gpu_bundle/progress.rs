//! A line now and then that says how many CUDA files are compiled: nvcc takes minutes for all.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// Watches a build until it ends.
pub(super) struct Progress {
    is_done: Arc<AtomicBool>,
    watcher: JoinHandle<()>,
}

impl Progress {
    /// `packages`: the start of the names of folders below `build` in which objects appear.
    pub(super) fn start(build: &Path, packages: &'static str, files: usize) -> Progress {
        let is_done = Arc::new(AtomicBool::new(false));
        let watcher = thread::spawn({
            let (is_done, build, since) = (Arc::clone(&is_done), build.to_owned(), SystemTime::now());
            move || watch(&is_done, &build, packages, files, since)
        });
        Progress { is_done, watcher }
    }
    pub(super) fn end(self) {
        self.is_done.store(true, Ordering::Relaxed);
        // It only prints.
        let _ = self.watcher.join();
    }
}

fn watch(is_done: &AtomicBool, build: &Path, packages: &str, files: usize, since: SystemTime) {
    let mut said = 0;
    while !is_done.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(500));
        let compiled = objects(build, packages).into_iter().filter(|path| is_newer(path, since)).count();
        if compiled > said {
            said = compiled;
            eprintln!("{compiled} CUDA files are compiled, of {files} if all have changed");
        }
    }
}

fn is_newer(path: &Path, since: SystemTime) -> bool {
    fs::metadata(path).and_then(|metadata| metadata.modified()).is_ok_and(|modified| modified > since)
}

fn objects(build: &Path, packages: &str) -> Vec<PathBuf> {
    let (folder, start) = packages.rsplit_once('/').unwrap_or(("", packages));
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_package = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
    entries(build.join(folder))
        .filter(of_package)
        .flat_map(|path| entries(path.join("out")))
        .filter(|path| path.to_string_lossy().ends_with(".cuda.o"))
        .collect()
}

//! A line that says how far the tuner is, and how long it may take yet.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

const WIDTH: usize = 24;

/// Progress of one stage.
pub(super) struct Progress {
    title: String,
    done: usize,
    skipped: usize,
    all: usize,
    start: Instant,
    stop: Instant,
}

impl Progress {
    /// A stage of `all` steps that ends at `stop` whatever is done by then.
    pub(super) fn new(entry: &str, stage: &str, all: usize, stop: Instant) -> Progress {
        Progress { title: format!("{entry}, {stage}"), done: 0, skipped: 0, all, start: Instant::now(), stop }
    }
    /// A step that was done in an earlier run.
    pub(super) fn skip(&mut self) {
        self.skipped += 1;
    }
    pub(super) fn step(&mut self) {
        self.done += 1;
    }
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.stop
    }
    fn left(&self) -> Duration {
        let rest = self.all.saturating_sub(self.done + self.skipped) as f64;
        let limit = self.stop.saturating_duration_since(Instant::now());
        if self.done == 0 { limit } else { limit.min(self.start.elapsed().mul_f64(rest / self.done as f64)) }
    }
    fn text(&self) -> String {
        let at = self.done + self.skipped;
        let filled = at * WIDTH / self.all.max(1);
        let bar = "#".repeat(filled) + &".".repeat(WIDTH - filled.min(WIDTH));
        format!("{} [{bar}] {at} of {}, at most {} s left", self.title, self.all, self.left().as_secs())
    }
    /// A bar on a terminal; a line for each stage elsewhere.
    pub(super) fn show(&self) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K{}", self.text());
            let _ = std::io::stderr().flush(); // only a picture
        } else if self.done == 0 {
            eprintln!("{}", self.text());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_fill_the_bar() {
        let mut progress = Progress::new("a::b", "versions", 4, Instant::now() + Duration::from_secs(100));
        assert!(progress.text().starts_with("a::b, versions [........................] 0 of 4, at most 99 s"));
        progress.skip();
        progress.step();
        assert!(progress.text().starts_with("a::b, versions [############............] 2 of 4, at most 0 s left"));
        assert!(!progress.is_over() && Progress::new("", "", 0, Instant::now()).is_over());
    }
}

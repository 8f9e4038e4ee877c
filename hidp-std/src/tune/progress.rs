//! A progress line: how far the tuner is, and the estimated time left.

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
    /// When it ends whatever is done by then.
    stop: Option<Instant>,
}

impl Progress {
    /// A stage of `all` steps that ends at `stop`, if that is given, whatever is done by then.
    pub(super) fn new(entry: &str, stage: &str, all: usize, stop: Option<Instant>) -> Progress {
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
        self.stop.is_some_and(|stop| Instant::now() >= stop)
    }
    /// How long the steps that are left take, as those before did; unknown before the first.
    fn rest(&self) -> Option<Duration> {
        let rest = self.all.saturating_sub(self.done + self.skipped) as f64;
        (self.done > 0).then(|| self.start.elapsed().mul_f64(rest / self.done as f64))
    }
    /// How long all steps take that were not done in an earlier run; unknown before the first.
    pub(super) fn needed(&self) -> Option<Duration> {
        self.rest().map(|rest| self.start.elapsed() + rest)
    }
    fn left(&self) -> String {
        let limit = self.stop.map(|stop| stop.saturating_duration_since(Instant::now()));
        match (limit, self.rest()) {
            (Some(limit), rest) => format!(", at most {} s left", rest.map_or(limit, |rest| limit.min(rest)).as_secs()),
            (None, Some(rest)) => format!(", about {} s left", rest.as_secs()),
            (None, None) => String::new(),
        }
    }
    fn text(&self) -> String {
        let at = self.done + self.skipped;
        let filled = at * WIDTH / self.all.max(1);
        let bar = "#".repeat(filled) + &".".repeat(WIDTH - filled.min(WIDTH));
        format!("{} [{bar}] {at} of {}{}", self.title, self.all, self.left())
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
        let stop = Instant::now() + Duration::from_secs(100);
        let mut progress = Progress::new("a::b", "versions", 4, Some(stop));
        assert!(progress.text().starts_with("a::b, versions [........................] 0 of 4, at most 99 s"));
        progress.skip();
        progress.step();
        assert!(progress.text().starts_with("a::b, versions [############............] 2 of 4, at most 0 s left"));
        assert!(!progress.is_over() && Progress::new("", "", 0, Some(Instant::now())).is_over());
    }

    #[test]
    fn a_stage_without_an_end_says_what_it_needs() {
        let mut progress = Progress::new("a::b", "versions", 3, None);
        assert!(progress.text().ends_with("0 of 3") && progress.needed().is_none());
        std::thread::sleep(Duration::from_millis(2));
        progress.step();
        assert!(progress.text().ends_with("1 of 3, about 0 s left") && !progress.is_over());
        assert!(progress.needed() >= Some(Duration::from_millis(6)));
    }
}

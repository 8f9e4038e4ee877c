//! How fast the machine is while tests run: other programs, and other guests of the same processors, change that within minutes.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::processor;

/// Compiles the same text again and again while it is there, as most kinds compile most of the time.
pub(super) struct Pace(Arc<Mutex<Vec<Sample>>>);

/// A compilation that ended.
#[derive(Clone, Copy)]
struct Sample {
    end: Instant,
    processor: Duration,
}

/// Between two compilations. They take a hundredth of that on each processor.
const PAUSE: Duration = Duration::from_secs(15);

/// A kind may be shorter than the pause: compilations so long before and after it count as well.
const BESIDE: Duration = Duration::from_secs(20);

const TEXT: &str = "#include <map>\n#include <string>\nstd::map<std::string, std::string> m;\n";

impl Pace {
    pub(super) fn watch(compiler: String) -> Pace {
        let samples = Arc::default();
        let weak = Arc::downgrade(&samples);
        thread::spawn(move || sample(&compiler, &weak));
        Pace(samples)
    }

    /// What the compilation took on average between two times; nothing where none ended.
    pub(super) fn between(&self, first: Instant, last: Instant) -> Option<Duration> {
        mean(&self.0.lock().unwrap_or_else(PoisonError::into_inner), first, last)
    }
}

fn sample(compiler: &str, samples: &Weak<Mutex<Vec<Sample>>>) {
    while let Some(samples) = samples.upgrade() {
        // What cannot be compiled or timed says nothing of the machine.
        let Some(processor) = compilation(compiler) else { return };
        samples.lock().unwrap_or_else(PoisonError::into_inner).push(Sample { end: Instant::now(), processor });
        drop(samples);
        thread::sleep(PAUSE);
    }
}

fn compilation(compiler: &str) -> Option<Duration> {
    let mut command = Command::new(compiler);
    command.args(["-x", "c++", "-fsyntax-only", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(TEXT.as_bytes()).ok()?;
    let (status, processor) = processor::of_child(&mut child).ok()?;
    processor.filter(|_| status.success())
}

fn mean(samples: &[Sample], first: Instant, last: Instant) -> Option<Duration> {
    let counts = |sample: &&Sample| sample.end + BESIDE >= first && sample.end <= last + BESIDE;
    let (sum, count) = samples
        .iter()
        .filter(counts)
        .fold((Duration::ZERO, 0), |(sum, count), sample| (sum + sample.processor, count + 1));
    (count > 0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::cxx;

    #[test]
    fn compilations_beside_a_kind_count() {
        let start = Instant::now();
        let sample = |at: u64, took: u64| Sample {
            end: start + Duration::from_secs(at),
            processor: Duration::from_millis(took),
        };
        let samples = [sample(0, 100), sample(50, 200), sample(60, 400), sample(200, 900)];
        let between = |first: u64, last: u64| {
            mean(&samples, start + Duration::from_secs(first), start + Duration::from_secs(last))
        };
        assert_eq!(between(55, 80), Some(Duration::from_millis(300)));
        assert_eq!(between(0, 10), Some(Duration::from_millis(100)));
        assert_eq!(between(100, 150), None);
    }

    #[test]
    fn the_compilation_is_one_that_works() {
        assert!(compilation(&cxx()).is_some_and(|took| took > Duration::ZERO));
        assert_eq!(compilation("there is no such compiler"), None);
    }
}

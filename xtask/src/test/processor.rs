//! Processor time of the programs that were started.

use std::fs;
use std::time::Duration;

/// What all programs that have ended took together. `None` where the system does not say so in `/proc`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processor(Option<Duration>);

/// Linux counts in hundredths of a second, whatever the machine.
const TICK: Duration = Duration::from_millis(10);

impl Processor {
    pub(super) fn of_children() -> Processor {
        Processor(fs::read_to_string("/proc/self/stat").ok().and_then(|text| children(&text)))
    }
    pub(super) fn since(self, before: Processor) -> Option<Duration> {
        Some(self.0?.saturating_sub(before.0?))
    }
}

/// Time of children in the program and for it in the system: fields 16 and 17.
fn children(stat: &str) -> Option<Duration> {
    // The program's name, the second field, may hold blanks.
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut ticks = after_name.split(' ').skip(13).map(str::parse::<u32>);
    Some(TICK * (ticks.next()?.ok()? + ticks.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_children_are_read() {
        let stat = "77 (a) b) S 1 77 77 0 -1 4194304 100 2000 0 0 5 6 700 34 20 0 1 0 12345 1 1 1";
        assert_eq!(children(stat), Some(Duration::from_millis(7340)));
        assert_eq!(children("77 (a"), None);
    }
}

//! Processor time of the programs that were started.

use std::fs;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use anyhow::Result;

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

/// What a program that was started and those that it waited for took, once it has ended, which this waits for.
pub(super) fn of_child(child: &mut Child) -> Result<(ExitStatus, Option<Duration>)> {
    let path = format!("/proc/{}/stat", child.id());
    // It stays a zombie until its exit status is read.
    let processor = loop {
        match fs::read_to_string(&path).ok().and_then(|text| ended(&text)) {
            Some(Ended::Took(time)) => break Some(time),
            Some(Ended::Not) => thread::sleep(Duration::from_millis(2)),
            None => break None,
        }
    };
    Ok((child.wait()?, processor))
}

enum Ended {
    Not,
    Took(Duration),
}

/// The third field is the state, those from the 14th the time of the program, in it and for it, and of its children.
fn ended(stat: &str) -> Option<Ended> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    if !after_name.starts_with('Z') {
        return Some(Ended::Not);
    }
    let ticks = after_name.split(' ').skip(11).take(4).map(str::parse::<u32>);
    Some(Ended::Took(TICK * ticks.sum::<std::result::Result<u32, _>>().ok()?))
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

    #[test]
    fn times_of_programs_that_have_ended_are_read() {
        let stat =
            |state: char| format!("77 (a) b) {state} 1 77 77 0 -1 4194304 100 2000 0 0 5 6 700 34 20 0 1 0 12345 1");
        assert!(matches!(ended(&stat('Z')), Some(Ended::Took(time)) if time == Duration::from_millis(7450)));
        assert!(matches!(ended(&stat('S')), Some(Ended::Not)));
        assert!(ended("77 (a").is_none());
    }

    #[test]
    fn what_a_child_took_is_what_it_did() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let (status, processor) = of_child(&mut child).unwrap();
        assert!(status.success() && processor.is_none_or(|time| time < Duration::from_secs(5)));
    }
}

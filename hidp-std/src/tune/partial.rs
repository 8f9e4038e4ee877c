//! Measurements of an interrupted run: one line per point, appended as soon as it is measured.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::arms::Arms;
use super::cannot_write;
use super::fit::Point;
use crate::Context;
use crate::rt::entry::Entry;
use crate::tuning::Device;

/// The file, and what is in it.
pub(super) struct Partial {
    path: PathBuf,
    lines: Vec<String>,
}

impl Partial {
    /// The file beside the report: not beside the records, where a build would take notice of each point.
    pub(super) fn open(report: &Path, fresh: bool) -> Result<Partial, String> {
        let mut path = report.as_os_str().to_owned();
        path.push(".partial");
        let path = PathBuf::from(path);
        if fresh {
            let _ = fs::remove_file(&path); // nothing to remove is as good
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The last line may be cut off: the next one must not go on there.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        if !text.is_empty() && !text.ends_with('\n') {
            fs::write(&path, format!("{whole}\n")).map_err(|error| cannot_write(&path, &error))?;
        }
        Ok(Partial { path, lines: whole.lines().map(str::to_owned).collect() })
    }

    /// The point of this name, if all `arms` were measured for the same entry under the same conditions. The last line counts.
    pub(super) fn find(&self, arms: &Arms, cx: &Context, name: &str) -> Option<Point> {
        let stamp = stamp(arms.entry, cx, name);
        self.lines.iter().rev().find_map(|line| read(arms, line.strip_prefix(&stamp)?, name))
    }

    /// Adds a point.
    pub(super) fn add(&mut self, arms: &Arms, cx: &Context, point: &Point) -> Result<(), String> {
        let line = stamp(arms.entry, cx, &point.name) + &text(arms, point);
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.and_then(|mut file| writeln!(file, "{line}")).map_err(|error| cannot_write(&self.path, &error))?;
        self.lines.push(line);
        Ok(())
    }

    /// Everything was used.
    pub(super) fn finish(self) {
        let _ = fs::remove_file(&self.path); // what stays behind is used, or does not fit, next time
    }
}

fn stamp(entry: &Entry, cx: &Context, name: &str) -> String {
    let dispatch = &entry.dispatch;
    let (source, toolchain, device) = match cx.queue() {
        None => (dispatch.source, dispatch.toolchain, Device::this().name.clone()),
        Some(queue) => (dispatch.device_source, dispatch.device_toolchain, Device::of(queue.facts()).name),
    };
    format!("{}\t{source}\t{toolchain}\t{device}\t{}\t{}\t{name}\t", entry.name, cx.isa().name(), cx.threads())
}

/// Measures, what runs untuned, then each arm and its time.
fn text(arms: &Arms, point: &Point) -> String {
    let values = point.values.map(|value| value.to_string()).join(" ");
    let mut text = format!("{values}\t{}", point.untuned);
    for (arm, time) in point.times.iter().enumerate() {
        let time = time.map_or("-".into(), |time| format!("{time:e}"));
        text.push_str(&format!("\t{}\t{time}", arms.name(arm)));
    }
    text
}

fn read(arms: &Arms, text: &str, name: &str) -> Option<Point> {
    let mut parts = text.split('\t');
    let values: Vec<i64> = parts.next()?.split(' ').filter_map(|value| value.parse().ok()).collect();
    let untuned = parts.next()?.parse().ok().filter(|untuned| *untuned < arms.entry.versions.len())?;
    let mut times = vec![None; arms.len()];
    let mut known = vec![false; arms.len()];
    while let Some(arm) = parts.next() {
        let time = parts.next()?;
        if let Some(arm) = arms.find(arm) {
            times[arm] = time.parse().ok().filter(|time| *time > 0.0);
            known[arm] = true;
        }
    }
    let values = values.try_into().ok()?;
    known.iter().all(|known| *known).then(|| Point { name: name.into(), values, times, untuned })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::entry::MOST_MEASURES;
    use crate::tuning::testing::SUMS;

    #[test]
    fn measurements_survive() {
        let folder = std::env::temp_dir().join(format!("hidp-partial-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let records = folder.join("tune.toml");
        let context = |threads| Context::builder().threads(threads).build().unwrap();
        let (one, two) = (context(1), context(2));
        let mut arms = Arms::new(&SUMS);
        let mut values = [-1; MOST_MEASURES];
        values[0] = 3;
        let point = Point { name: "R = 3".into(), values, times: vec![Some(1.5e-6), None], untuned: 1 };
        let mut partial = Partial::open(&records, true).unwrap();
        partial.add(&arms, &one, &point).unwrap();
        fs::write(&partial.path, fs::read_to_string(&partial.path).unwrap() + "sums::rows\tcut").unwrap();
        let mut partial = Partial::open(&records, false).unwrap();
        assert_eq!(partial.find(&arms, &one, "R = 3"), Some(point.clone()));
        assert_eq!(partial.find(&arms, &two, "R = 3"), None);
        assert_eq!(partial.find(&arms, &one, "R = 4"), None);

        // What is measured later is only found where it was.
        assert_eq!(arms.with_settings(0, &two).len(), 1);
        assert_eq!(partial.find(&arms, &one, "R = 3"), None);
        let more = Point { times: vec![Some(1.5e-6), None, Some(1e-6)], ..point };
        partial.add(&arms, &one, &more).unwrap();
        let partial = Partial::open(&records, false).unwrap();
        assert_eq!(partial.find(&arms, &one, "R = 3"), Some(more));
        partial.finish();
        assert!(Partial::open(&records, false).unwrap().lines.is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}

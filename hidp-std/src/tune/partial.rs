//! What an interrupted run measured: a line a point, appended as soon as it is known.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

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
    /// The file beside that of the records.
    pub(super) fn open(records: &Path, fresh: bool) -> Result<Partial, String> {
        let mut path = records.as_os_str().to_owned();
        path.push(".partial");
        let path = PathBuf::from(path);
        if fresh {
            let _ = fs::remove_file(&path); // nothing to remove is as good
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The last line may be cut off.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        Ok(Partial { path, lines: whole.lines().map(str::to_owned).collect() })
    }

    /// The point of this name, if it was measured for the same entry under the same conditions.
    pub(super) fn find(&self, entry: &Entry, cx: &Context, name: &str) -> Option<Point> {
        let stamp = stamp(entry, cx, name);
        self.lines.iter().find_map(|line| read(entry, line.strip_prefix(&stamp)?, name))
    }

    /// Adds a point.
    pub(super) fn add(&mut self, entry: &Entry, cx: &Context, point: &Point) -> Result<(), String> {
        let line = stamp(entry, cx, &point.name) + &text(point);
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
    let (source, toolchain, device) = (entry.dispatch.source, entry.dispatch.toolchain, &Device::this().name);
    format!("{}\t{source}\t{toolchain}\t{device}\t{}\t{}\t{name}\t", entry.name, cx.isa().name(), cx.threads())
}

fn text(point: &Point) -> String {
    let values = point.values.map(|value| value.to_string()).join(" ");
    let times: Vec<String> =
        point.times.iter().map(|time| time.map_or("-".into(), |time| format!("{time:e}"))).collect();
    format!("{values}\t{}\t{}", point.untuned, times.join(" "))
}

fn read(entry: &Entry, text: &str, name: &str) -> Option<Point> {
    let mut parts = text.split('\t');
    let values: Vec<i64> = parts.next()?.split(' ').filter_map(|value| value.parse().ok()).collect();
    let untuned = parts.next()?.parse().ok().filter(|untuned| *untuned < entry.versions.len())?;
    let times: Vec<Option<f64>> = parts.next()?.split(' ').map(|time| time.parse().ok()).collect();
    let fits = times.len() == entry.versions.len() && times.iter().flatten().all(|time| *time > 0.0);
    let values = values.try_into().ok()?;
    fits.then(|| Point { name: name.into(), values, times, untuned })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::testing::SUMS;

    #[test]
    fn measurements_survive() {
        let folder = std::env::temp_dir().join(format!("hidp-partial-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let records = folder.join("tune.toml");
        let (one, two) =
            (Context::builder().threads(1).build().unwrap(), Context::builder().threads(2).build().unwrap());
        let point = Point { name: "R = 3".into(), values: [3, -1], times: vec![Some(1.5e-6), None], untuned: 1 };
        let mut partial = Partial::open(&records, true).unwrap();
        partial.add(&SUMS, &one, &point).unwrap();
        fs::write(&partial.path, fs::read_to_string(&partial.path).unwrap() + "sums::rows\tcut").unwrap();
        let partial = Partial::open(&records, false).unwrap();
        assert_eq!(partial.find(&SUMS, &one, "R = 3"), Some(point));
        assert_eq!(partial.find(&SUMS, &two, "R = 3"), None);
        assert_eq!(partial.find(&SUMS, &one, "R = 4"), None);
        partial.finish();
        assert!(Partial::open(&records, false).unwrap().lines.is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}

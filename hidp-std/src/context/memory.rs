//! How much memory local arrays of a context may take.

use std::fs;
use std::path::{Path, PathBuf};

/// The limit of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// What the machine, and each control group of the process, has free when a large block is needed.
    Free,
    /// So many bytes in all, whatever is free.
    Bytes(usize),
}

impl Memory {
    /// `free`, or a number of bytes with a binary unit, such as `1500M`.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text == "free" {
            return Some(Memory::Free);
        }
        let digits = text.trim_end_matches(|end: char| end.is_ascii_alphabetic());
        let unit: usize = match &text[digits.len()..] {
            "" => 1,
            "K" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            "T" => 1 << 40,
            _ => return None,
        };
        Some(Memory::Bytes(digits.parse::<usize>().ok()?.checked_mul(unit)?))
    }

    /// Sets the limit of a new context.
    pub(super) fn apply(self, context: std::ptr::NonNull<hidp_sys::hidp_context>) {
        let (most, room): (usize, hidp_sys::hidp_room) = match self {
            Memory::Free => (usize::MAX, Some(room)),
            Memory::Bytes(most) => (most, None),
        };
        // SAFETY: the context lives, and `room` uses none.
        unsafe { hidp_sys::hidp2_pool_limit(context.as_ptr(), most, room) }
    }
}

/// Bytes that the system can still give this process; no limit where the system does not say.
extern "C" fn room() -> usize {
    room_below(Path::new("/"))
}

/// The same of the system whose root is this folder.
fn room_below(root: &Path) -> usize {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let machine = read("proc/meminfo").and_then(|text| available(&text));
    let groups = read("proc/self/cgroup").map_or_else(Vec::new, |text| group_folders(&text));
    let of_groups = groups.iter().filter_map(|(version, folder)| version.room(&root.join(folder)));
    machine.into_iter().chain(of_groups).min().unwrap_or(usize::MAX)
}

/// `MemAvailable` of `/proc/meminfo`: what programs can take before the system swaps.
fn available(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse::<usize>().ok()?.checked_mul(1 << 10)
}

/// How a control group's files are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    fn limit_and_usage(self) -> (&'static str, &'static str) {
        match self {
            Version::One => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
            Version::Two => ("memory.max", "memory.current"),
        }
    }
    /// Cached files that the system drops when memory is short, in `memory.stat`: they count as used.
    fn cached(self) -> &'static str {
        match self {
            Version::One => "total_inactive_file ",
            Version::Two => "inactive_file ",
        }
    }

    /// What one group has left. Nothing for a group without a limit (`max` in version 2), or that is not to be seen from here.
    fn room(self, folder: &Path) -> Option<usize> {
        let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<usize>().ok();
        let (limit, usage) = self.limit_and_usage();
        let (limit, usage) = (number(limit)?, number(usage)?);
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix(self.cached())?.parse::<usize>().ok()).unwrap_or(0);
        Some(limit.saturating_sub(usage.saturating_sub(cached)))
    }
}

/// From `/proc/self/cgroup`, the groups that bound the process's memory, relative to the root: its own and all that it is in. Containers
/// show their own group where others have the root's, whatever the path.
fn group_folders(groups: &str) -> Vec<(Version, PathBuf)> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let (version, mount) = match controllers {
            "" => (Version::Two, "sys/fs/cgroup"),
            controllers if controllers.split(',').any(|name| name == "memory") => {
                (Version::One, "sys/fs/cgroup/memory")
            }
            _ => continue,
        };
        let path = path.trim_start_matches('/');
        folders.extend(Path::new(path).ancestors().map(|group| (version, Path::new(mount).join(group))));
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       24612072 kB\nMemFree:          812072 kB\nMemAvailable:   20000000 kB\n";

    /// The room of a system with these files.
    fn room_of(files: &[(&str, &str)]) -> usize {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        room_below(root.path())
    }

    #[test]
    fn limits_have_units() {
        assert_eq!(Memory::read("free"), Some(Memory::Free));
        for (text, bytes) in
            [("0", 0), ("12", 12), ("3K", 3 << 10), ("1500M", 1500 << 20), ("2G", 2 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(Memory::read(text), Some(Memory::Bytes(bytes)), "{text}");
        }
        for text in ["", "G", "-1", "1.5G", "2g", "2GB", "all", "20000000T", "1 G"] {
            assert_eq!(Memory::read(text), None, "{text}");
        }
    }

    #[test]
    fn the_machine_has_what_is_available() {
        assert_eq!(room_of(&[("proc/meminfo", MEMINFO)]), 20_000_000 << 10);
        assert_eq!(room_of(&[("proc/meminfo", "MemFree: 1 kB\n")]), usize::MAX);
        assert_eq!(room_of(&[]), usize::MAX);
    }

    #[test]
    fn every_group_around_the_process_counts() {
        let files = [
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "0::/outer/inner\n"),
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "1000\n"),
            ("sys/fs/cgroup/outer/memory.max", "5000000\n"),
            ("sys/fs/cgroup/outer/memory.current", "4000000\n"),
            ("sys/fs/cgroup/outer/memory.stat", "anon 12\ninactive_file 300000\n"),
        ];
        assert_eq!(room_of(&files), 1_300_000);
        assert_eq!(room_of(&files[..4]), 20_000_000 << 10);
    }

    #[test]
    fn groups_of_version_1_count_too() {
        let files = [
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "12:cpu,cpuacct:/other\n4:hugetlb,memory:/job\n"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9000\n"),
            ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "10000\n"),
            ("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 7\ntotal_inactive_file 2500\n"),
            ("sys/fs/cgroup/other/memory.max", "1\n"),
            ("sys/fs/cgroup/other/memory.current", "1\n"),
        ];
        assert_eq!(room_of(&files), 1500);
        assert_eq!(room_of(&files[..4]), 0);
    }

    #[test]
    fn a_container_sees_its_group_as_the_root() {
        let files = [
            ("proc/self/cgroup", "0::/elsewhere\n"),
            ("sys/fs/cgroup/memory.max", "700\n"),
            ("sys/fs/cgroup/memory.current", "100\n"),
        ];
        assert_eq!(room_of(&files), 600);
    }
}

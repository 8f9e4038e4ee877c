//! What can run for an entry: its versions, and versions with other settings.

use std::fmt;

use crate::Context;
use crate::rt::entry::{Entry, Settings};

/// A version and what it runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arm {
    pub(super) version: usize,
    pub(super) settings: Settings,
}

/// Arms by number: first the versions with usual settings in the order of the entry, then the others.
#[derive(Clone, Debug)]
pub(super) struct Arms {
    pub(super) entry: &'static Entry,
    list: Vec<Arm>,
    /// Whether it is about versions for devices.
    on_device: bool,
}

/// The version whose results are right, and which has nothing to set.
const ORACLE: &str = "serial";

impl Arms {
    /// The versions, of which those for the processor run.
    pub(super) fn new(entry: &'static Entry) -> Arms {
        let list = (0..entry.versions.len()).map(|version| Arm { version, settings: Settings::USUAL }).collect();
        Arms { entry, list, on_device: false }
    }
    /// The versions, of which those run that the context prefers: on its device, if it has one.
    pub(super) fn of(entry: &'static Entry, cx: &Context) -> Arms {
        Arms { on_device: cx.queue().is_some(), ..Arms::new(entry) }
    }
    pub(super) fn are_on_device(&self) -> bool {
        self.on_device
    }
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }
    pub(super) fn get(&self, arm: usize) -> Arm {
        self.list[arm]
    }
    /// Whether it is one of those that are compared.
    pub(super) fn runs(&self, arm: usize) -> bool {
        self.entry.versions[self.list[arm].version].code.on_device() == self.on_device
    }
    /// The arm with the same version and usual settings.
    pub(super) fn usual(&self, arm: usize) -> usize {
        self.list[arm].version
    }
    pub(super) fn name(&self, arm: usize) -> String {
        let Arm { version, settings } = self.list[arm];
        format!("{}{settings}", self.entry.versions[version].plan)
    }
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        (0..self.len()).find(|&arm| self.name(arm) == name)
    }
    /// The arm that everything is compared with.
    pub(super) fn oracle(&self) -> usize {
        self.entry.versions.iter().position(|version| version.plan == ORACLE).unwrap_or(0)
    }
    /// Adds `version` with every other setting of one tunable; gives their numbers.
    pub(super) fn with_settings(&mut self, version: usize, cx: &Context) -> Vec<usize> {
        let before = self.list.len();
        if self.entry.versions[version].plan == ORACLE || !self.runs(version) {
            return Vec::new();
        }
        let dispatch = &self.entry.dispatch;
        // These are about threads of the processor.
        let of_threads = if self.on_device { &[] } else { dispatch.tunables };
        for tunable in of_threads {
            let values = tunable.domain.iter().filter(|&&value| tunable.name != "threads" || value < cx.threads());
            values.for_each(|&value| self.with_setting(version, tunable.name, value.into()));
        }
        for setting in dispatch.settings.iter().filter(|setting| setting.versions.contains(&version)) {
            setting.values.iter().for_each(|&value| self.with_setting(version, setting.name, value));
        }
        (before..self.list.len()).collect()
    }
    fn with_setting(&mut self, version: usize, name: &str, value: i64) {
        let settings = Settings::USUAL.with_any(self.entry, name, value);
        let arm = settings.map(|settings| Arm { version, settings });
        self.list.extend(arm.filter(|arm| !self.list.contains(arm)));
    }
}

impl fmt::Display for Arms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = (0..self.len()).map(|arm| self.name(arm)).collect();
        f.write_str(&names.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::entry::{Codes, Dispatch, Setting, Tunable, Version};

    #[test]
    fn settings_come_from_the_domains() {
        static ENTRY: Entry = Entry {
            name: "a::b",
            params: &[],
            dims: &[],
            versions: &[
                Version { plan: "rows", hash: "", code: Codes::Cpu(&[]) },
                Version { plan: "serial", hash: "", code: Codes::Cpu(&[]) },
                Version { plan: "team", hash: "", code: Codes::Cpu(&[]) },
            ],
            dispatch: Dispatch {
                tunables: &[
                    Tunable { name: "threads", domain: &[1, 2, 4] },
                    Tunable { name: "thread_work", domain: &[4096] },
                ],
                settings: &[Setting { name: "sum.least", values: &[16, 64, 4096], versions: &[0] }],
                ..Dispatch::NONE
            },
            sites: &[],
        };
        let cx = Context::builder().threads(2).build().unwrap();
        let mut arms = Arms::new(&ENTRY);
        assert_eq!(arms.with_settings(0, &cx), [3, 4, 5, 6]);
        assert_eq!(arms.with_settings(0, &cx), [0; 0], "once");
        assert_eq!(arms.with_settings(1, &cx), [0; 0], "the oracle has nothing to set");
        let of_codelets = "rows with sum.least = 64; rows with sum.least = 4096";
        let of_threads = "rows with threads = 1; rows with thread_work = 4096";
        assert_eq!(arms.to_string(), format!("rows; serial; team; {of_threads}; {of_codelets}"));
        assert_eq!((arms.find("rows with threads = 1"), arms.usual(3), arms.oracle()), (Some(3), 0, 1));
        assert_eq!(arms.with_settings(2, &cx), [7, 8], "a version does not have all codelets");
    }
}

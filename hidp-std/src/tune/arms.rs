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
        // What there is to set is about threads of the processor.
        if self.entry.versions[version].plan == ORACLE || self.on_device || !self.runs(version) {
            return Vec::new();
        }
        for tunable in self.entry.dispatch.tunables {
            let values = tunable.domain.iter().filter(|&&value| tunable.name != "threads" || value < cx.threads());
            for &value in values {
                let settings = Settings::USUAL.with(tunable.name, value.into());
                let arm = settings.map(|settings| Arm { version, settings });
                self.list.extend(arm.filter(|arm| !self.list.contains(arm)));
            }
        }
        (before..self.list.len()).collect()
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
    use crate::rt::entry::{Codes, Dispatch, Tunable, Version};

    #[test]
    fn settings_come_from_the_domains() {
        static ENTRY: Entry = Entry {
            name: "a::b",
            params: &[],
            dims: &[],
            versions: &[
                Version { plan: "rows", code: Codes::Cpu(&[]) },
                Version { plan: "serial", code: Codes::Cpu(&[]) },
            ],
            dispatch: Dispatch {
                tunables: &[
                    Tunable { name: "threads", domain: &[1, 2, 4] },
                    Tunable { name: "thread_work", domain: &[4096] },
                ],
                ..Dispatch::NONE
            },
            sites: &[],
        };
        let cx = Context::builder().threads(2).build().unwrap();
        let mut arms = Arms::new(&ENTRY);
        assert_eq!(arms.with_settings(0, &cx), [2, 3]);
        assert_eq!(arms.with_settings(0, &cx), [0; 0], "once");
        assert_eq!(arms.with_settings(1, &cx), [0; 0], "the oracle has nothing to set");
        assert_eq!(arms.to_string(), "rows; serial; rows with threads = 1; rows with thread_work = 4096");
        assert_eq!((arms.find("rows with threads = 1"), arms.usual(2), arms.oracle()), (Some(2), 0, 1));
    }
}

//! Entries as tools get them.

use super::entry::Entry;

/// The entries of a build whose wrappers are safe.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    modules: &'static [&'static [&'static Entry]],
}

impl Entries {
    /// Entries by module.
    ///
    /// # Safety
    /// Each describes its functions truly, and these are safe to call with any arguments that agree with the description.
    pub const unsafe fn new(modules: &'static [&'static [&'static Entry]]) -> Self {
        Self { modules }
    }
    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = &'static Entry> {
        self.modules.iter().flat_map(|module| module.iter().copied())
    }
}

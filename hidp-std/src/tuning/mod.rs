//! Tuning records: rules that were measured on a device, embedded at build or read from a file.
//!
//! A record holds for one entry as it was compiled when it was measured, for one instruction set and number of threads, or for devices. Among
//! those that hold, one for this same processor or device wins, then one for its architecture, then one for its vendor; without any the compiler's
//! own rules decide. Stale, malformed and impossible records are ignored and logged.

mod device;
mod file;
mod rules;
mod select;

#[cfg(feature = "tune")]
pub(crate) use device::Device;
#[cfg(feature = "tune")]
pub(crate) use file::FORMAT;
pub(crate) use file::TuneFile;
#[cfg(feature = "tune")]
pub(crate) use rules::named;
pub(crate) use rules::parse;
#[cfg(feature = "tune")]
pub(crate) use rules::print;
pub(crate) use rules::print_rule;
#[cfg(feature = "tune")]
pub(crate) use select::processor;
#[cfg(all(test, feature = "tune"))]
pub(crate) use select::tests as testing;
pub(crate) use select::tuned;

/// Where a context takes tuning records from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Tuning {
    /// Nowhere.
    Off,
    /// From the build.
    #[default]
    Embedded,
    /// From a file, else from the build.
    File(&'static TuneFile),
}

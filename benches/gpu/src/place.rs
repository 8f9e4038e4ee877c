//! The device under test.

use hidp_std::{Context, Error};

/// Which device runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The GPU of this number.
    Gpu(u32),
    /// The executor, with this order of blocks and lanes.
    Simulated(u64),
}

impl Place {
    /// A new context there. Nothing of it runs on the processor.
    pub fn context(self) -> Result<Context, Error> {
        let builder = Context::builder().threads(1);
        match self {
            Place::Gpu(ordinal) => builder.cuda(ordinal),
            Place::Simulated(seed) => builder.simulated(seed),
        }
        .build()
    }

    /// The arguments that say so to a child.
    pub fn args(self) -> [String; 2] {
        match self {
            Place::Gpu(ordinal) => ["--gpu".into(), ordinal.to_string()],
            Place::Simulated(seed) => ["--simulated".into(), seed.to_string()],
        }
    }

    /// What says so to C++ in a child, which sees no arguments.
    pub fn variables(self) -> Option<(&'static str, String)> {
        match self {
            Place::Gpu(ordinal) => Some(("HIDP_CHECK_GPU", ordinal.to_string())),
            Place::Simulated(_) => None,
        }
    }
}

//! What generated code calls. Not for use by hand: everything here may change with any version.

pub mod entry;

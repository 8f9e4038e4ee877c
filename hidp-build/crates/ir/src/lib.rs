//! The two intermediate representations: [`par`] (what is computed) and [`imp`] (how a machine does it).
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

pub mod imp;
pub mod par;

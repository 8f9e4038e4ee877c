//! The two intermediate representations: [`par`] (what is computed) and [`imp`] (how a machine does it).

pub mod imp;
pub mod par;

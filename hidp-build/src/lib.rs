//! Compiles HiDP programs from a build script.

pub mod compiler;

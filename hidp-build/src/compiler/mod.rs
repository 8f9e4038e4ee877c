//! The compiler: PURE. Sources, options and tuning records in; files and diagnostics out.
//! Nothing below this module touches the file system, the environment, a process, a clock or hash order.
//!
//! Layers (a module uses its own tree or strictly lower layers; `cargo xtask tidy` checks it):
//!
//! | layer | modules |
//! |---|---|
//! | 0 | [`source`], [`index`] |
//! | 1 | [`diag`], [`ty`] |
//! | 2 | [`prim`], [`syntax`] |
//! | 3 | `check`, [`ir`], [`prove`], [`target`] |
//! | 4 | `pass`, [`plan`], [`lower`], `emit` |
//! | 5 | [`pipeline`] |

pub mod index;
pub mod source;

pub mod diag;
pub mod ty;

pub mod prim;
pub mod syntax;

pub mod check;
pub mod ir;
pub mod prove;

pub mod target;

pub mod lower;
pub mod pass;
pub mod plan;

pub mod emit;

pub mod pipeline;

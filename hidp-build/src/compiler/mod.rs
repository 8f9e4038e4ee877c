//! The compiler: PURE. Sources, options and tuning records in; files and diagnostics out.
//! Nothing below this module touches the file system, the environment, a process, a clock or hash order.
//!
//! Layers (a module uses its own tree or strictly lower layers; `cargo xtask tidy` checks it):
//!
//! | layer | modules |
//! |---|---|
//! | 0 | [`index`] |
//! | 1 | [`source`] |
//! | 2 | [`diag`], [`ty`] |
//! | 3 | [`prim`], [`syntax`] |
//! | 4 | [`ir`], [`target`] |
//! | 5 | [`prove`], [`traffic`] |
//! | 6 | [`check`], [`pass`], [`plan`] |
//! | 7 | [`lower`], [`emit`] |
//! | 8 | [`pipeline`] |
//! | 9 | [`explain`] |

pub mod index;
pub mod source;

pub mod diag;
pub mod ty;

pub mod prim;
pub mod syntax;

pub mod check;
pub mod ir;
pub mod prove;
pub mod traffic;

pub mod target;

pub mod lower;
pub mod pass;
pub mod plan;

pub mod emit;

pub mod explain;
pub mod pipeline;

//! The compiler: PURE. Sources, options and tuning records in; files and diagnostics out.
//! Nothing of it touches the file system, the environment, a process, a clock or hash order.
//!
//! Its phases are crates of their own below `hidp-build/crates`, so that cargo builds them side by side. They are reached by the
//! names here. None of it is a stable interface: that is what `hidp_build` itself documents.
//!
//! Layers (a module uses its own tree or strictly lower layers; crates and `cargo xtask tidy` check it):
//!
//! | layer | modules | crate |
//! |---|---|---|
//! | 0 | [`index`] | `hidp-syntax` |
//! | 0 | `hidp_fit` | `hidp-fit`, which the tuner has too |
//! | 1 | [`source`] | `hidp-syntax` |
//! | 2 | [`diag`], [`ty`] | `hidp-syntax` |
//! | 3 | [`prim`], [`syntax`] | `hidp-syntax` |
//! | 4 | [`ir`] | `hidp-ir` |
//! | 4 | [`target`] | `hidp-plan` |
//! | 5 | [`prove`] | `hidp-prove` |
//! | 6 | [`check`] | `hidp-check` |
//! | 6 | [`pass`] | `hidp-pass` |
//! | 6 | [`plan`] | `hidp-plan` |
//! | 7 | [`lower`] | `hidp-lower` |
//! | 7 | [`emit`] | `hidp-emit` |
//! | 8 | [`pipeline`] | `hidp-build` |
//! | 9 | `hidp_explain` | `hidp-explain`, which build scripts do not have |

pub use hidp_plan::target;
pub use hidp_syntax::{diag, index, ordered, prim, source, ty};
pub use {
    hidp_check as check, hidp_emit as emit, hidp_ir as ir, hidp_lower as lower, hidp_pass as pass, hidp_plan as plan,
    hidp_prove as prove, hidp_syntax as syntax,
};

pub mod pipeline;

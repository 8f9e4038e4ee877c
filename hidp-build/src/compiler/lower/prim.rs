//! Calls of the run-time library.

use super::Lowerer;
use crate::compiler::ir::par::PrimCall;

impl Lowerer<'_> {
    /// A primitive.
    pub(super) fn prim(&mut self, call: &PrimCall) {
        let _ = call;
    }
}

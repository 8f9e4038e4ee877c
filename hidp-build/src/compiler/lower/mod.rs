//! Lowering: from a planned entry of [`par`](crate::compiler::ir::par) to [`imp`](crate::compiler::ir::imp).

use crate::compiler::index::Arena;
use crate::compiler::ir::imp;
use crate::compiler::ir::par::{FuncId, Program};
use crate::compiler::plan::Plan;
use crate::compiler::target::Model;

/// Lowers an entry after the pass pipeline, one unit a plan. `symbol` is `<file stem>_<function>`.
pub fn lower(program: &Program, func: FuncId, symbol: &str, plans: &[Plan], model: &Model) -> imp::Entry {
    let _ = (program, func, plans, model);
    imp::Entry { symbol: symbol.to_string(), sites: Arena::new(), units: Vec::new() }
}

//! How many items a thread takes side by side, so that enough loads are under way at a time.

use crate::compiler::ir::imp::visit::{each_expr, each_stmt};
use crate::compiler::ir::imp::{Element, ExprKind, Function, Stmt, VarKind};
use crate::compiler::target::DeviceModel;
use crate::compiler::ty::Ty;

/// Items at most: each repeats the kernel's code.
const MOST: u32 = 4;

/// For a kernel of threads. More than one only where all loads of all of a thread's items can come before their stores: in straight code
/// without faults.
pub(super) fn side_by_side(function: &Function, model: &DeviceModel) -> u32 {
    let bytes = loaded(function);
    if bytes == 0 || !is_straight(function) {
        return 1;
    }
    let wanted = (model.in_flight / model.resident.max(1)).div_ceil(bytes);
    wanted.clamp(1, MOST).next_power_of_two()
}

fn is_straight(function: &Function) -> bool {
    let mut straight = true;
    each_stmt(&function.body, &mut |stmt| {
        straight &= matches!(stmt, Stmt::At(_) | Stmt::Let { .. } | Stmt::Set { .. } | Stmt::Store { .. });
    });
    straight
}

/// Bytes that an item loads, each element counted once.
fn loaded(function: &Function) -> u32 {
    let mut seen: Vec<&Element> = Vec::new();
    each_expr(&function.body, &mut |node| {
        if let ExprKind::Load(element) = &node.kind {
            let in_memory = matches!(function.vars[element.base].kind, VarKind::Buffer { .. });
            if in_memory && !seen.contains(&element) {
                seen.push(element);
            }
        }
    });
    let bytes = |element: &&Element| match function.vars[element.base].kind {
        VarKind::Buffer { elem: Ty::Scalar(scalar), .. } => scalar.size() as u32,
        // Of a struct at least a word; those are larger anyhow.
        VarKind::Buffer { .. }
        | VarKind::Value(_)
        | VarKind::HostCell { .. }
        | VarKind::Tile { .. }
        | VarKind::Shared { .. }
        | VarKind::Registers { .. } => 8,
    };
    seen.iter().map(bytes).sum()
}

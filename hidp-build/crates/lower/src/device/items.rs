//! How many items a thread takes side by side, and how many threads run at a time, so that enough loads are under way.

use hidp_ir::imp::visit::{each_expr, each_stmt};
use hidp_ir::imp::{Element, ExprKind, Function, Grid, Stmt, VarKind};
use hidp_ir::par::MathFn;
use hidp_plan::target::DeviceModel;
use hidp_syntax::ty::Ty;

/// For a kernel of threads. More than one only where all loads of all of a thread's items can come before their stores: in straight code
/// without faults.
pub(super) fn side_by_side(function: &Function, model: &DeviceModel) -> u32 {
    let loads = Loads::of(function);
    if loads.bytes == 0 || !is_straight(function) {
        return 1;
    }
    let wanted = (model.in_flight / model.resident.max(1)).div_ceil(loads.of_memory);
    let room = (model.items.bytes / loads.bytes).max(1);
    let room = if room.is_power_of_two() { room } else { room.next_power_of_two() / 2 };
    wanted.clamp(1, model.items.most).next_power_of_two().min(room)
}

/// Blocks that registers are to be enough for, of a kernel with so many `copies` of its code, of which a thread runs one. One is what
/// nvcc does by itself.
pub(super) fn at_once(function: &Function, grid: Grid, copies: u32, model: &DeviceModel) -> u32 {
    let bytes = Loads::of(function).bytes / copies.max(1) * grid.items;
    let items = &model.items;
    if bytes <= items.many || bytes / 4 + items.for_others > items.registers || !is_plain(function) {
        return 1;
    }
    (model.registers / items.registers / grid.block.max(1)).max(1)
}

/// Nothing that keeps registers across calls, or needs many itself, and no arrays of the thread.
fn is_plain(function: &Function) -> bool {
    let mut plain =
        !function.vars.iter().any(|(_, var)| matches!(var.kind, VarKind::Tile { .. } | VarKind::Registers { .. }));
    each_stmt(&function.body, &mut |stmt| {
        plain &= !matches!(stmt, Stmt::Fault { .. } | Stmt::CheckTrap | Stmt::Prim(_) | Stmt::Atomic { .. });
    });
    each_expr(&function.body, &mut |node| {
        plain &= match &node.kind {
            ExprKind::Math(function, _) => matches!(function, MathFn::Abs | MathFn::Min | MathFn::Max | MathFn::Fma),
            ExprKind::Near(..) | ExprKind::Call(..) => false,
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Var(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::MulAdd(..)
            | ExprKind::Lazy(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerIndex
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..)
            | ExprKind::Broadcast(..) => true,
        };
    });
    plain
}

fn is_straight(function: &Function) -> bool {
    let mut straight = true;
    each_stmt(&function.body, &mut |stmt| {
        straight &= matches!(stmt, Stmt::At(_) | Stmt::Let { .. } | Stmt::Set { .. } | Stmt::Store { .. });
    });
    straight
}

/// What an item loads.
struct Loads {
    /// Bytes, each element counted once.
    bytes: u32,
    /// Those that come from memory: of several elements of an array one, since the others are those of items around it, and in a cache.
    of_memory: u32,
}

impl Loads {
    fn of(function: &Function) -> Self {
        let mut seen: Vec<&Element> = Vec::new();
        let mut loads = Self { bytes: 0, of_memory: 0 };
        each_expr(&function.body, &mut |node| {
            let ExprKind::Load(element) = &node.kind else { return };
            let VarKind::Buffer { elem, .. } = &function.vars[element.base].kind else { return };
            if seen.contains(&element) {
                return;
            }
            let bytes = match elem {
                Ty::Scalar(scalar) => scalar.size() as u32,
                // Of a struct at least a word; those are larger anyhow.
                Ty::Struct(_) => 8,
            };
            loads.bytes += bytes;
            if seen.iter().all(|other| other.base != element.base) {
                loads.of_memory += bytes;
            }
            seen.push(element);
        });
        loads
    }
}

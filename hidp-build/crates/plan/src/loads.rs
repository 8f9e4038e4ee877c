//! Loads in flight: from what an iteration of a launched map loads, how many iterations a thread takes at a time, and for how many threads
//! registers are left.

use hidp_ir::par::effects::may_fault;
use hidp_ir::par::same;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Expr, ExprKind, FoldFn, Func, Map, MathFn, Place, Program, StmtKind, VarId};
use hidp_syntax::ty::Ty;

use crate::target::DeviceModel;

/// Bytes of a struct that count: at least a word, and those are larger anyhow.
const STRUCT: u32 = 8;

/// What an iteration loads.
struct Loads {
    /// Bytes, each element counted once.
    bytes: u32,
    /// Those that come from memory: of several elements of an array one, since the others are those of iterations around it, and in a
    /// cache.
    of_memory: u32,
}

impl Loads {
    fn of(func: &Func, map: &Map) -> Self {
        let own = visit::declared(&map.body);
        let mut seen: Vec<Place> = Vec::new();
        let mut loads = Self { bytes: 0, of_memory: 0 };
        visit::walk_places(&map.body, |place, role| {
            if role != Role::Read || own.contains(&place.array) || seen.iter().any(|other| same::place(other, place)) {
                return;
            }
            let bytes = match func.vars[place.array].ty {
                Ty::Scalar(scalar) => scalar.size() as u32,
                Ty::Struct(_) => STRUCT,
            };
            loads.bytes += bytes;
            if seen.iter().all(|other| other.array != place.array) {
                loads.of_memory += bytes;
            }
            seen.push(place.clone());
        });
        loads
    }
}

/// Whether a thread can take several iterations of a launched map side by side: all their loads come before their stores, in straight code
/// without faults and arrays of its own.
pub(crate) fn can_be_side_by_side(program: &Program, func: &Func, map: &Map) -> bool {
    let plain = map.body.stmts.iter().all(|stmt| match &stmt.kind {
        StmtKind::Declare { var, .. } => !func.vars[*var].is_array(),
        StmtKind::Assign { .. } | StmtKind::AssignField { .. } | StmtKind::Store { .. } => true,
        StmtKind::Atomic { .. }
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Map(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => false,
    });
    map.folds.is_empty() && plain && !faults(program, func, map)
}

/// How many iterations a thread takes side by side.
pub(crate) fn side_by_side(func: &Func, map: &Map, model: &DeviceModel) -> u32 {
    let loads = Loads::of(func, map);
    if loads.bytes == 0 {
        return 1;
    }
    let wanted = (model.in_flight / model.resident.max(1)).div_ceil(loads.of_memory);
    let room = (model.items.bytes / loads.bytes).max(1);
    let room = if room.is_power_of_two() { room } else { room.next_power_of_two() / 2 };
    wanted.clamp(1, model.items.most).next_power_of_two().min(room)
}

/// Threads of a multiprocessor that registers are to be enough for, if a thread takes so many iterations at a time; none if that is left to
/// nvcc.
pub(crate) fn resident(program: &Program, func: &Func, map: &Map, items: u32, model: &DeviceModel) -> Option<u32> {
    let bytes = Loads::of(func, map).bytes * items;
    let own = &model.items;
    let few = bytes <= own.many || bytes / 4 + own.for_others > own.registers;
    (!few && is_light(program, func, map)).then_some(model.registers / own.registers)
}

/// Nothing that keeps registers across calls, or needs many itself, and no arrays of the thread.
fn is_light(program: &Program, func: &Func, map: &Map) -> bool {
    let array = |var: &VarId| func.vars[*var].is_array();
    let mut light = !faults(program, func, map) && !visit::declared(&map.body).iter().any(array);
    light &= !map.folds.iter().any(|fold| matches!(fold.op.func, FoldFn::Fn(_)));
    visit::walk_stmts(&map.body, |stmt| {
        light &= !matches!(stmt.kind, StmtKind::Prim(_) | StmtKind::Atomic { .. });
        if let StmtKind::Map(inner) = &stmt.kind {
            light &= !inner.folds.iter().any(|fold| matches!(fold.op.func, FoldFn::Fn(_)));
        }
    });
    visit::walk_exprs(&map.body, |expr: &Expr| {
        light &= match &expr.kind {
            ExprKind::Math(function, _) => matches!(function, MathFn::Abs | MathFn::Min | MathFn::Max | MathFn::Fma),
            ExprKind::Call(..) => false,
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => true,
        };
    });
    light
}

fn faults(program: &Program, func: &Func, map: &Map) -> bool {
    !func.unchecked && may_fault(program, &func.vars, &map.body)
}

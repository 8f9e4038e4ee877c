//! Rows of inputs that are packed: where each lane goes along its own row of an array, again and again, neighbouring lanes read elements
//! that are a row apart. A copy that has the lanes' elements side by side is made once for each group.

use std::collections::BTreeSet;

use super::Classes;
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{Role, Visitor, look};
use hidp_ir::par::{Expr, ExprKind, Func, Iter, Map, Place, Program, Stmt, StmtKind, Var, VarId};

/// Bytes of packed rows of one lane, of all arrays together: 16 KiB of them for two vectors of AVX-512.
const MOST_PACKED: usize = 512;

/// An array of which each lane of a group reads its own row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The array.
    pub array: VarId,
    /// As many elements as a packed row may have. Nests with longer ones run in order.
    pub most: u32,
}

/// The arrays of a map whose rows are packed.
pub fn packed(program: &Program, func: &Func, map: &Map, classes: &Classes) -> Vec<Packed> {
    let Some(lane) = map.iters.last() else { return Vec::new() };
    let mut look = Look { classes, lane: lane.var, depth: 0, arrays: BTreeSet::new() };
    look.visit_block(&map.body);
    let written = Effects::of_block(program, &func.vars, &map.body).writes;
    let sized = |array: VarId| func.vars[array].ty.scalar().map(|scalar| (array, scalar.size()));
    let read = look.arrays.into_iter().filter(|array| !written.contains(array) && is_walked(&func.vars[*array], lane));
    let arrays: Vec<(VarId, usize)> = read.filter_map(sized).collect();
    let each = MOST_PACKED / arrays.len().max(1);
    arrays.into_iter().map(|(array, size)| Packed { array, most: (each / size) as u32 }).collect()
}

/// Whether the iterations are as many as an array has rows, so that any row can be read before it is known which are.
fn is_walked(array: &Var, lane: &Iter) -> bool {
    lane.lo.as_int() == Some(0) && array.shape.first().is_some_and(|rows| same(&lane.hi, rows))
}

/// Whether lanes that access this go along rows of their own, all in the same column.
pub fn is_row(lane: VarId, classes: &Classes, place: &Place) -> bool {
    match &place.index[..] {
        [] | [_] => false,
        [row, columns @ ..] => {
            let own = matches!(row.kind, ExprKind::Read(var) if var == lane);
            own && place.path.is_empty() && !columns.iter().any(|column| classes.varies(column))
        }
    }
}

/// Whether both are the same constant or dimension.
fn same(left: &Expr, right: &Expr) -> bool {
    match (&left.kind, &right.kind) {
        (ExprKind::Read(a), ExprKind::Read(b)) => a == b,
        _ => left.as_int().is_some() && left.as_int() == right.as_int(),
    }
}

struct Look<'a> {
    classes: &'a Classes,
    lane: VarId,
    /// Loops and maps around.
    depth: usize,
    arrays: BTreeSet<VarId>,
}

impl Visitor for Look<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        let deeper = usize::from(matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_)));
        self.depth += deeper;
        look::walk_stmt(self, stmt);
        self.depth -= deeper;
    }

    fn visit_place(&mut self, place: &Place, role: Role) {
        // A row that one loop reads once costs as much to pack.
        if self.depth > 1 && is_row(self.lane, self.classes, place) {
            self.arrays.insert(place.array);
        }
        look::walk_place(self, place, role);
    }
}

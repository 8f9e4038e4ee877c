//! Packed rows of inputs: if each lane traverses its own row of an array repeatedly, neighbouring lanes read elements that are a row apart. Once
//! per group, a copy is made with the lanes' elements adjacent. An element of a vector counts as a row of one: compilers do not hoist a masked
//! load out of loops.

use super::Classes;
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{Role, Visitor, look};
use hidp_ir::par::{Expr, ExprKind, Func, Iter, Map, Place, Program, Stmt, StmtKind, VarId, VarKind};
use hidp_syntax::ordered::OrdSet;

/// Bytes of packed rows of one lane, of all arrays together: 16 KiB of them for two vectors of AVX-512.
const MOST_PACKED: usize = 512;

/// An array of which each lane of a group reads its own row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The array.
    pub array: VarId,
    /// As many elements as a packed row may have. Nests with longer ones run in order.
    pub most: u32,
    /// Whether every iteration has a row. Else that is tested once before the nest, which runs in order if some have none.
    pub is_walked: bool,
}

/// The arrays of a map whose rows are packed.
pub fn packed(program: &Program, func: &Func, map: &Map, classes: &Classes) -> Vec<Packed> {
    let Some(lane) = map.iters.last() else { return Vec::new() };
    let mut look = Look { classes, lane: lane.var, depth: 0, arrays: OrdSet::new() };
    look.visit_block(&map.body);
    let written = Effects::of_block(program, &func.vars, &map.body).writes;
    let read = look.arrays.into_iter().filter(|array| !written.contains(array));
    let sized = read.filter_map(|array| Some((array, func.vars[array].ty.scalar()?.size())));
    let (vectors, rows): (Vec<_>, Vec<_>) = sized.partition(|(array, _)| func.vars[*array].shape.len() == 1);
    let each = MOST_PACKED / rows.len().max(1);
    let is_walked = |array| is_walked(func, array, lane);
    let rows = rows.into_iter().map(|(array, size)| {
        let most = (each / size) as u32;
        Packed { array, most, is_walked: is_walked(array) }
    });
    // The test needs a copy of the nest that runs in order, which rows have anyhow.
    let vectors = vectors.into_iter().filter(|(array, _)| is_walked(*array));
    vectors.map(|(array, _)| Packed { array, most: 1, is_walked: true }).chain(rows).collect()
}

/// Whether no iteration is outside of an array's rows, so that any row can be read before it is known which are.
fn is_walked(func: &Func, array: VarId, lane: &Iter) -> bool {
    let begins_inside = lane.lo.as_int().is_some_and(|first| first >= 0);
    begins_inside && func.vars[array].shape.first().is_some_and(|rows| same_size(func, &lane.hi, rows))
}

/// Whether lanes that access this go along rows of their own, all in the same column.
pub fn is_row(lane: VarId, differs: impl Fn(&Expr) -> bool, place: &Place) -> bool {
    match &place.index[..] {
        [] => false,
        [row, columns @ ..] => {
            let own = matches!(row.kind, ExprKind::Read(var) if var == lane);
            own && place.path.is_empty() && !columns.iter().any(differs)
        }
    }
}

/// Whether both are the same constant or dimension. A variable may have changed after it gave an array its size.
pub(crate) fn same_size(func: &Func, left: &Expr, right: &Expr) -> bool {
    let constant = |expr: &Expr| expr.as_int();
    let dimension = |expr: &Expr| match expr.kind {
        ExprKind::Read(var) => Some(var).filter(|var| func.vars[*var].kind == VarKind::Dim),
        ExprKind::Const(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    };
    (constant(left).is_some() && constant(left) == constant(right))
        || (dimension(left).is_some() && dimension(left) == dimension(right))
}

struct Look<'a> {
    classes: &'a Classes,
    lane: VarId,
    /// Loops and maps around.
    depth: usize,
    arrays: OrdSet<VarId>,
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
        let least = if place.index.len() == 1 { 1 } else { 2 };
        if self.depth >= least && is_row(self.lane, |column| self.classes.varies(column), place) {
            self.arrays.insert(place.array);
        }
        look::walk_place(self, place, role);
    }
}

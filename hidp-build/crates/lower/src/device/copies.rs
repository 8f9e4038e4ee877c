//! Atomic updates of small arrays: each block has a copy in shared memory.
//!
//! Where the array is too large for that, or there is too little to do beside it, updates are those of the array itself.

use super::super::{Binding, DEVICE, Lowerer, make};
use hidp_ir::imp::{BlockCopy, Expr, ExprKind, Grid, Level, VarId};
use hidp_ir::par::{self, BinOp, FoldOp, Map};
use hidp_syntax::ty::Ty;

/// An array of which blocks may have copies, on the host.
pub(super) struct Target {
    all: VarId,
    op: FoldOp,
    /// Elements of the array.
    elements: Expr,
    /// The same if blocks have copies, or 0.
    count: Expr,
    most: u32,
}

impl Lowerer<'_> {
    /// What blocks of a launch over so many iterations have copies of.
    pub(super) fn block_copies(&mut self, map: &Map, grid: Grid, total: &Expr) -> Vec<Target> {
        let arrays = self.copied_arrays(map);
        if arrays.is_empty() || self.inside_team {
            return Vec::new();
        }
        let bytes = self.copied_bytes(grid) / arrays.len() as u32;
        let mut targets: Vec<Target> =
            arrays.into_iter().filter_map(|(array, op)| self.target(array, op, bytes)).collect();
        let each = self.of_model(|model| model.copied_element);
        let work = self.work_of(map, total.clone());
        let blocks = Expr { kind: ExprKind::GroupCount(Grid::new(Level::Block, grid.block)), ty: Ty::LONG };
        let elements = targets.iter().map(|target| target.elements.clone()).fold(make::long(0), make::add);
        let elements = self.body.fix("elements", make::mul(elements, make::mul(blocks, make::long(each.into()))));
        let pays = self.body.fix("pays", make::binary(BinOp::Ge, work.operations, elements));
        for target in &mut targets {
            let fits = make::binary(BinOp::Le, target.elements.clone(), make::long(target.most.into()));
            let has_copies = make::binary(BinOp::And, pays.clone(), fits);
            target.count = self.body.fix("own", make::select(has_copies, target.elements.clone(), make::long(0)));
        }
        targets
    }

    /// Bytes of a block's copies, which leave room for what primitives share.
    fn copied_bytes(&mut self, grid: Grid) -> u32 {
        match self.device_model() {
            Some(model) => (model.copied_bytes * grid.block).min(model.shared / 2),
            None => {
                self.defect(DEVICE);
                0
            }
        }
    }

    fn target(&mut self, array: par::VarId, op: FoldOp, bytes: u32) -> Option<Target> {
        let Binding::Array(binding) = self.binding(array) else {
            self.defect("what blocks have copies of is an array that they update");
            return None;
        };
        let elements = binding.extents.iter().cloned().fold(make::long(1), make::mul);
        let elements = self.body.fix("count", elements);
        let most = bytes / self.size_of(op.ty) as u32;
        Some(Target { all: binding.base, op, elements, count: make::long(0), most })
    }

    /// In the kernel: its parameters.
    pub(super) fn import_copies(&mut self, targets: &[Target]) -> Vec<BlockCopy> {
        let mut copies = Vec::new();
        for target in targets {
            let all = self.capture(target.all);
            self.body.mark_written(all);
            match self.import(&target.count).kind {
                ExprKind::Var(count) => copies.push(BlockCopy { all, count, op: target.op.func, most: target.most }),
                _ => self.defect("how many elements blocks have copies of is a variable of the host"),
            }
        }
        copies
    }
}

//! Host-level maps: each becomes a grid of positions, one to three dimensions.

use super::super::map::turns;
use super::super::space::Range;
use super::super::{Binding, GROUPS, ITERATORS, Lowerer, make};
use super::private::Given;
use hidp_ir::imp::{Expr, ExprKind, Grid, KernelId, Level, Stmt};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::{self, BinOp, Block, FoldKind, Map, StmtKind};
use hidp_plan::{self as plan, Exec, Recipe};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

/// Dimensions of a grid at most.
pub(super) const MOST_DIMENSIONS: usize = 3;

impl Lowerer<'_> {
    /// A map that the host meets.
    pub(in super::super) fn device_map(&mut self, map: &Map, span: Span) {
        if !self.inside_team && !self.enter_nest(map) {
            return;
        }
        if let (Recipe::Near(near), false) = (&self.mapping.recipe, self.inside_team) {
            let near = near.clone();
            self.near_map(map, &near, span);
        } else if let (Recipe::Blocks(blocks), false) = (&self.mapping.recipe, self.inside_team) {
            let blocks = blocks.clone();
            self.blocks_map(map, &blocks, span);
        } else if map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) {
            self.device_scan(map, span);
        } else if !map.folds.is_empty() {
            self.device_fold(map, span);
        } else if self.exec_of(map) == Exec::Device(Level::Kernel) {
            self.host_loop(map, span);
        } else {
            self.grid_map(map, span);
        }
    }

    /// How the plan runs a map's iterations.
    pub(super) fn exec_of(&self, map: &Map) -> Exec {
        plan::key(map).and_then(|key| self.mapping.exec(key)).unwrap_or(Exec::Seq)
    }

    /// Threads of a block, as planned for a map that is launched.
    pub(super) fn block_of(&mut self, map: &Map) -> u32 {
        let planned = plan::key(map).and_then(|key| self.mapping.blocks.get(&key)).copied().unwrap_or(1);
        if !self.device_model().is_some_and(|model| model.is_block(planned)) {
            self.defect(format!("blocks of {planned} threads are full warps"));
        }
        planned
    }

    /// Iterations one after the other on the host; the maps and primitives inside take the whole device.
    fn host_loop(&mut self, map: &Map, span: Span) {
        let ranges = self.ranges(map);
        let (_, total) = self.strides(&ranges);
        let logged = self.logs_segments(map);
        let log = logged.then(|| self.open_device_log(map, span, &total, make::long(1), &[]));
        if !logged {
            self.prepare_records(map, &total);
        }
        self.inside_team = true;
        self.outer_loops(&ranges, &mut |this, range| {
            let count = range.count.clone();
            this.range_loop(range, make::long(0), count, turns(map), &mut |this| {
                this.enter_iteration(map);
                this.stmts(&map.body.stmts);
                this.free_locals(&map.body);
                this.leave_iteration();
            });
        });
        self.inside_team = false;
        self.close_device_log(log, span);
        self.compare_records(&total);
    }

    /// One group an iteration.
    fn grid_map(&mut self, map: &Map, span: Span) {
        match (self.tiling(map), self.dealt(map)) {
            (Some(tiling), Some(dealt)) => return self.split_tiles(map, &tiling, &dealt, span),
            (Some(tiling), None) => return self.tiled_map(map, &tiling, span),
            (None, Some(dealt)) => return self.split_map(map, &dealt, span),
            (None, None) => {}
        }
        let Exec::Device(level) = self.exec_of(map) else { return self.defect(GROUPS) };
        let grid = self.grid_of(map, level);
        let ranges = self.ranges(map);
        let (strides, total) = self.strides(&ranges);
        let logged = self.logs_segments(map);
        if !self.inside_team && !logged {
            self.prepare_records(map, &total);
        }
        let (given, most) = self.allocate_privates(map, (&ranges, &strides, &total), grid, &total);
        let log = self.open_launch_log(map, span, &total, &most, &given);
        let dims = self.dimensions(map);
        let targets = self.block_copies(map, grid, &total);
        let mut copies = Vec::new();
        let (kernel, args) = self.grid_kernel("map", span, grid, dims.len(), given.clone(), |this, positions| {
            this.mark_outputs(map);
            copies = this.import_copies(&targets);
            let ranges = this.import_ranges(&ranges);
            this.bind_dimensions(&ranges, &dims, positions);
            this.iteration(map, &[]);
        });
        self.kernels[kernel].copies = copies;
        let extents = dims.iter().map(|dim| self.extent(&ranges, dim)).collect();
        self.body.push(Stmt::LaunchGrid { kernel, args, extents, most });
        self.free_privates(&given);
        self.close_device_log(log, span);
        if !self.inside_team {
            self.compare_records(&total);
        }
    }

    /// How the groups of a level run a map that is launched, as planned.
    pub(super) fn grid_of(&mut self, map: &Map, level: Level) -> Grid {
        let block = self.block_of(map);
        let key = plan::key(map);
        let items = key.and_then(|key| self.mapping.items.get(&key)).copied().unwrap_or(1);
        self.leaving_registers(map, Grid { items, joined: self.mapping.joined, ..Grid::new(level, block) })
    }

    /// A grid that leaves registers for as many blocks as the plan of a launch says.
    pub(super) fn leaving_registers(&self, map: &Map, grid: Grid) -> Grid {
        let resident = plan::key(map).and_then(|key| self.mapping.resident.get(&key)).copied().unwrap_or(1);
        Grid { at_once: (resident / grid.block.max(1)).max(1), ..grid }
    }

    /// The ranges of each dimension of the launch, outermost dimension first. Ranges beyond the third share the first one.
    pub(super) fn dimensions(&self, map: &Map) -> Vec<Vec<usize>> {
        let dim = |at: &usize| self.mapping.levels.get(&map.iters[*at].var).map_or(0, |level| level.dim);
        let mut order: Vec<usize> = (0..map.iters.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(dim(at)));
        let own = order.split_off(order.len().saturating_sub(MOST_DIMENSIONS - 1));
        let first = (!order.is_empty()).then_some(order);
        first.into_iter().chain(own.into_iter().map(|at| vec![at])).collect()
    }

    pub(super) fn extent(&mut self, ranges: &[Range], dim: &[usize]) -> Expr {
        let count = dim.iter().map(|at| ranges[*at].count.clone()).fold(make::long(1), make::mul);
        self.body.fix("extent", count)
    }

    /// Binds iterators to what the positions of a launch mean.
    pub(super) fn bind_dimensions(&mut self, ranges: &[Range], dims: &[Vec<usize>], positions: &[Expr]) {
        for (dim, position) in dims.iter().zip(positions) {
            let mut rest = position.clone();
            for (number, at) in dim.iter().enumerate() {
                if number + 1 == dim.len() {
                    self.bind_position(&ranges[*at], rest.clone());
                    break;
                }
                let below = dim[number + 1..].iter().map(|at| ranges[*at].count.clone()).fold(make::long(1), make::mul);
                let below = self.body.fix("below", below);
                let own = self.body.fix("own", make::div(rest.clone(), below.clone()));
                rest = self.body.fix("rest", make::sub(rest, make::mul(own.clone(), below)));
                self.bind_position(&ranges[*at], own);
            }
        }
    }

    /// Binds iterators to what a position in the product of their ranges means. `narrow` says whether it fits 32 bits, whose
    /// division costs a fraction.
    pub(super) fn bind_linear(&mut self, ranges: &[Range], strides: &[Expr], narrow: &Expr, position: Expr) {
        let mut rest = position;
        let Some((last, outer)) = ranges.split_last() else { return self.defect(ITERATORS) };
        for (range, stride) in outer.iter().zip(strides) {
            let own = self.quotient(&rest, stride, narrow);
            rest = self.body.fix("rest", make::sub(rest, make::mul(own.clone(), stride.clone())));
            self.bind_position(range, own);
        }
        self.bind_position(last, rest);
    }

    fn quotient(&mut self, value: &Expr, divisor: &Expr, narrow: &Expr) -> Expr {
        let quotient = self.body.slot("quotient", Ty::LONG, None);
        let short = |value: &Expr| make::cast(value.clone(), Scalar::U32);
        let in_32 = make::cast(make::binary(BinOp::Div, short(value), short(divisor)), Scalar::I64);
        let in_64 = make::div(value.clone(), divisor.clone());
        self.branch(
            narrow.clone(),
            |this| this.body.push(make::set(quotient, in_32)),
            |this| this.body.push(make::set(quotient, in_64)),
        );
        self.body.fix("own", make::var(quotient, Ty::LONG))
    }

    /// On the host: whether all positions below `total` fit 32 bits.
    pub(super) fn is_narrow(&mut self, total: &Expr) -> Expr {
        self.body.fix("narrow", make::binary(BinOp::Lt, total.clone(), make::long(1 << 31)))
    }

    /// A kernel run by the groups of a grid; and the launch's arguments before the positions.
    pub(super) fn grid_kernel(
        &mut self,
        role: &str,
        span: Span,
        grid: Grid,
        positions: usize,
        given: Vec<Given>,
        build: impl FnOnce(&mut Self, &[Expr]),
    ) -> (KernelId, Vec<Expr>) {
        if let Some(state) = &mut self.device {
            state.scope = grid.level;
            state.privates = given;
        }
        let (kernel, args) = self.kernel_of(role, span, Some(grid), positions, build);
        let mut given = Vec::new();
        if let Some(state) = &mut self.device {
            state.scope = Level::Thread;
            given = std::mem::take(&mut state.privates);
        }
        let function = &mut self.kernels[kernel].function;
        let is_given =
            |arg: &Expr| matches!(arg.kind, ExprKind::Var(var) if given.iter().any(|given| given.holds(var)));
        let params = function.params.iter().zip(&args);
        let private = params.filter(|(_, arg)| is_given(arg)).map(|(param, _)| *param).collect();
        super::sync::insert(function, grid.level, &private);
        (kernel, args)
    }

    /// One lane for each position below `count`, in blocks of so many.
    pub(super) fn launch_over(
        &mut self,
        role: &str,
        span: Span,
        (count, block): (&Expr, u32),
        build: impl FnOnce(&mut Self, &Expr),
    ) {
        let grid = Grid::new(Level::Thread, block);
        let (kernel, args) =
            self.grid_kernel(role, span, grid, 1, Vec::new(), |this, positions| build(this, &positions[0]));
        self.body.push(Stmt::LaunchGrid { kernel, args, extents: vec![count.clone()], most: None });
    }

    /// In a kernel, before all else: what its iterations write is known as written wherever it is read.
    pub(super) fn mark_outputs(&mut self, map: &Map) {
        let stmt = par::Stmt { kind: StmtKind::Map(map.clone()), span: self.func.span };
        let whole = Block { stmts: vec![stmt] };
        let effects = Effects::of_block(self.program, &self.func.vars, &whole);
        for var in effects.outer_writes().into_iter().filter(|var| self.func.vars[*var].is_array()) {
            if let Binding::Array(array) = self.binding(var) {
                self.body.mark_written(array.base);
            }
        }
    }
}

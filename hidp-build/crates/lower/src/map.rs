//! Maps: strategies, kernels, and the loops of one thread.

use std::mem;

use super::build::{ArrayBinding, Binding, Body, Role};
use super::fold::Acc;
use super::packed::Rest;
use super::space::Range;
use super::{ITERATORS, Lowerer, make};
use hidp_ir::imp::{Expr, ExprKind, Grid, Kernel, KernelId, LoopKind, Schedule, Stmt, VarId, VarKind, Work};
use hidp_ir::par::once::Test;
use hidp_ir::par::{self, BinOp, FoldKind, Map};
use hidp_plan::notation::Property;
use hidp_plan::{self as plan, Exec, Mapping, Recipe, Strategy, WideShape};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// Iterations that a launch shares out.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    ranges: &'a [Range],
    strides: &'a [Expr],
    total: &'a Expr,
    pub(super) work: &'a Work,
}

/// How a loop runs the iterations of a map one after the other: written out as often as a directive says.
pub(super) fn turns(map: &Map) -> LoopKind {
    map.directives.unroll.map_or(LoopKind::Seq, LoopKind::Unroll)
}

impl Lowerer<'_> {
    /// A map, on the host or inside a kernel.
    pub(super) fn map(&mut self, map: &Map, span: Span) {
        if self.is_device_host() {
            return self.device_map(map, span);
        }
        let log = self.open_log(map, span);
        match self.body.role {
            Role::Kernel if self.device.is_some() => self.group_map(map),
            Role::Kernel => self.thread_map(map),
            Role::Host => self.host_map(map, span),
        }
        self.close_log(log, span);
    }

    fn host_map(&mut self, map: &Map, span: Span) {
        if !self.inside_team && !self.enter_nest(map) {
            return;
        }
        match self.rest.take() {
            Some(Rest::Of(rest)) => self.host_nest(&rest, span),
            Some(Rest::Nothing) => {}
            None => self.host_nest(map, span),
        }
    }

    /// A nest whose lines are known, or a map inside of a team's iterations.
    fn host_nest(&mut self, map: &Map, span: Span) {
        let scans = map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce);
        match self.mapping.strategy {
            _ if scans => self.host_scan(map, span),
            _ if !map.folds.is_empty() => self.host_fold(map, span),
            Strategy::Team if !self.inside_team => self.team_map(map),
            Strategy::Lanes if !self.inside_team => self.lane_map(map, span),
            Strategy::Rows
            | Strategy::Lanes
            | Strategy::Wide
            | Strategy::Team
            | Strategy::Serial
            | Strategy::Device(_) => {
                self.in_tiles_or(
                    map,
                    |this, tiles| this.launch_tiles_of_iteration(map, span, tiles),
                    |this| {
                        this.share_map(map, span);
                    },
                );
            }
        }
    }

    /// Reads what the plan says about the next nest; it is a defect if those lines are none for it.
    pub(super) fn enter_nest(&mut self, map: &Map) -> bool {
        let nest = self.plan.nests.get(self.nest);
        self.nest += 1;
        // How many nests there are is compared at the end.
        let Some(nest) = nest else { return false };
        match Mapping::read(self.program, self.func, map, nest) {
            Ok(mapping) => {
                self.streamed = mapping.streamed.clone();
                self.mapping = mapping;
                true
            }
            Err(why) => {
                self.defect(why.to_string());
                false
            }
        }
    }

    /// Makes the tests that all iterations of a map share, if there is one.
    pub(super) fn test_once(&mut self, ranges: &[Range], tests: &[Test]) {
        let some = |range: &Range| make::binary(BinOp::Gt, range.count.clone(), make::long(0));
        let all = ranges.iter().map(some).reduce(|all, some| make::binary(BinOp::And, all, some));
        let Some(all) = all.filter(|_| !tests.is_empty()) else { return };
        self.body.enter();
        for Test { index, array, dim, span } in tests {
            let Binding::Array(ArrayBinding { extents, .. }) = self.binding(*array) else {
                return self.defect("what is indexed is an array");
            };
            let index = self.expr(index);
            let index = self.body.fix("index", index);
            self.require_index(index, extents[*dim].clone(), *dim, *span);
        }
        let tests = self.body.leave();
        self.body.push(make::when(all, tests.stmts));
    }

    /// Outer iterations in order on the host; the maps inside each are launched.
    fn team_map(&mut self, map: &Map) {
        self.inside_team = true;
        let ranges = self.ranges(map);
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
    }

    /// Iterations shared out over threads, all iterators collapsed. Rows fewer than threads, and long, go to all threads one
    /// after the other: the results are the same to the bit.
    pub(super) fn share_map(&mut self, map: &Map, span: Span) {
        let ranges = self.ranges(map);
        if let Some(channels) = self.channels(map, &ranges) {
            return self.share_channels(map, span, &ranges, channels);
        }
        let (strides, total) = self.strides(&ranges);
        let work = self.work_of(map, total.clone());
        let shared = Shared { ranges: &ranges, strides: &strides, total: &total, work: &work };
        let Some(together) = self.mapping.number(Property::Together).filter(|_| !self.inside_team) else {
            return self.share_updates(map, span, &shared);
        };
        let workers = Expr { kind: ExprKind::WorkerCount, ty: Ty::LONG };
        let few = make::binary(BinOp::Lt, make::mul(total.clone(), make::long(2)), make::add(workers, make::long(1)));
        let each = make::mul(total.clone(), make::long(together.into()));
        let long = make::binary(BinOp::Ge, work.operations.clone(), each);
        self.branch(
            make::binary(BinOp::And, few, long),
            |this| this.team_map(map),
            |this| this.share_updates(map, span, &shared),
        );
    }

    pub(super) fn share_ranges(&mut self, map: &Map, span: Span, shared: &Shared<'_>) {
        self.in_lanes_or_order(map, shared.ranges, |this| this.share_parts(map, span, shared));
    }

    fn share_parts(&mut self, map: &Map, span: Span, shared: &Shared<'_>) {
        // Of the maps inside of a team's iterations those that are unequal.
        let in_turn = plan::irregular(map) || self.mapping.strategy == Strategy::Rows;
        if let (Some(most), true) = (self.mapping.number(Property::Turns), in_turn) {
            return self.share_in_turn(map, span, shared, most);
        }
        let Shared { ranges, strides, total, work } = *shared;
        let stream = self.stream_flag(total);
        let (kernel, args) = self.kernel("map", span, |this, begin, end| {
            this.shared_part(map, ranges, strides, stream.as_ref(), begin, end);
        });
        let grain = if plan::inner_maps(&map.body).is_empty() { self.model.line } else { self.lanes_together() };
        let schedule = self.schedule(grain, work.clone());
        self.body.push(Stmt::Launch { kernel, args, extent: total.clone(), schedule });
    }

    /// How many iterations a part should not be cut below: those of a vector.
    fn lanes_together(&self) -> u32 {
        match self.mapping.recipe {
            Recipe::Wide(WideShape { bits, groups: _ }) => self.model.vector_bytes * 8 / u32::from(bits),
            Recipe::Plain | Recipe::Lanes(_) | Recipe::Near(_) | Recipe::Tiled(_) | Recipe::Blocks(_) => 1,
        }
    }

    /// Iterations of unequal length are taken in turn, in parts whose size follows from the number of iterations alone.
    fn share_in_turn(&mut self, map: &Map, span: Span, shared: &Shared<'_>, most: u32) {
        let Shared { ranges, strides, total, work } = *shared;
        let most = make::long(most.into());
        let part = match self.mapping.number(Property::Parts) {
            Some(parts) => {
                make::min(make::add(make::div(total.clone(), make::long(parts.into())), make::long(1)), most)
            }
            None => most,
        };
        // Groups of lanes would be cut at the ends of parts: four vectors of 4-byte elements have as many lanes as one has bytes.
        let most_lanes = make::long(self.model.vector_bytes.into());
        let part = match self.mapping.strategy {
            Strategy::Wide => make::mul(make::ceil_div(part, most_lanes.clone()), most_lanes),
            Strategy::Rows | Strategy::Lanes | Strategy::Team | Strategy::Serial | Strategy::Device(_) => part,
        };
        let part = self.body.fix("part", part);
        let parts = self.body.fix("parts", make::ceil_div(total.clone(), part.clone()));
        let (kernel, args) = self.kernel("map", span, |this, begin, end| {
            let (part, total) = (this.import(&part), this.import(total));
            let begin = this.body.fix("from", make::mul(begin, part.clone()));
            let end = this.body.fix("to", make::min(make::mul(end, part), total));
            let apart = this.mapping.strategy == Strategy::Rows && this.runs_apart(map) && {
                let ranges = this.import_ranges(ranges);
                ranges.first().is_some_and(|range| this.run_apart(map, range, [begin.clone(), end.clone()]))
            };
            if !apart {
                this.shared_part(map, ranges, strides, None, begin, end);
            }
        });
        let schedule = self.in_turn(work.clone());
        self.body.push(Stmt::Launch { kernel, args, extent: parts, schedule });
    }

    fn shared_part(
        &mut self,
        map: &Map,
        ranges: &[Range],
        strides: &[Expr],
        stream: Option<&Expr>,
        begin: Expr,
        end: Expr,
    ) {
        self.bind_copies();
        let ranges = self.import_ranges(ranges);
        let ranges = self.in_whole_rows(map, ranges);
        let strides: Vec<Expr> = strides.iter().take(ranges.len()).map(|stride| self.import(stride)).collect();
        let stream = stream.map(|flag| self.import(flag));
        let Some(last) = ranges.last().cloned() else { return self.defect(ITERATORS) };
        self.clipped(&ranges, &strides, begin, end, &mut |this, low, high| match &stream {
            Some(flag) => {
                let (low2, high2) = (low.clone(), high.clone());
                this.branch(
                    flag.clone(),
                    |this| this.stream_loop(map, &last, low, high),
                    |this| this.innermost(map, &last, low2, high2, &[]),
                );
            }
            None => this.innermost(map, &last, low, high, &[]),
        });
    }

    /// A kernel whose body `build` makes from the bounds of its part; and the launch's arguments.
    pub(super) fn kernel(
        &mut self,
        role: &str,
        span: Span,
        build: impl FnOnce(&mut Self, Expr, Expr),
    ) -> (KernelId, Vec<Expr>) {
        self.kernel_of(role, span, None, 2, |this, bounds| {
            if let [begin, end] = bounds {
                build(this, begin.clone(), end.clone());
            }
        })
    }

    /// A kernel whose last parameters are so many `long` values; and the launch's arguments before them.
    pub(super) fn kernel_of(
        &mut self,
        role: &str,
        span: Span,
        grid: Option<Grid>,
        positions: usize,
        build: impl FnOnce(&mut Self, &[Expr]),
    ) -> (KernelId, Vec<Expr>) {
        let host = mem::replace(&mut self.body, Body::new(Role::Kernel));
        (self.body.here, self.body.span) = (host.here, Some(span));
        self.host = Some(host);
        let name = |at: usize| match (grid, at) {
            (None, 0) => "begin",
            (None, _) => "end",
            (Some(_), _) => "position",
        };
        let last: Vec<VarId> =
            (0..positions).map(|at| self.body.unlisted_param(name(at), VarKind::Value(Ty::LONG))).collect();
        let values: Vec<Expr> = last.iter().map(|var| make::var(*var, Ty::LONG)).collect();
        build(self, &values);
        // Kernels do not begin inside of others, so it is the one that was put there above.
        let host = self.host.take().unwrap_or_else(|| Body::new(Role::Host));
        let mut body = mem::replace(&mut self.body, host);
        body.params.extend(last);
        let mut args = Vec::new();
        for (outer, inner) in mem::take(&mut body.captures) {
            let ty = match body.vars[inner].kind {
                VarKind::Value(ty) => ty,
                VarKind::Buffer { elem, writable } => {
                    if writable {
                        self.body.mark_written(outer);
                    }
                    elem
                }
                VarKind::HostCell { elem, .. }
                | VarKind::Tile { elem, .. }
                | VarKind::Shared { elem, .. }
                | VarKind::Registers { elem, .. } => elem,
                // A group takes none.
                VarKind::Divisor(elem) | VarKind::Wide { elem, .. } | VarKind::WideTile { elem, .. } => elem.into(),
            };
            args.push(make::var(outer, ty));
        }
        let name = format!("{role}{}", self.kernels.len());
        let kernel =
            self.kernels.push(Kernel { name, grid, copies: Vec::new(), function: body.finish(), narrow: None, span });
        (kernel, args)
    }

    /// Equal parts on all threads, or everything on one.
    pub(super) fn schedule(&self, grain: u32, work: Work) -> Schedule {
        if self.mapping.strategy == Strategy::Serial {
            Schedule::Serial
        } else {
            Schedule::Static { grain, least: 1, threads: self.mapping.threads, work }
        }
    }

    /// Parts in turn. Logs of segments want each thread's iterations in order.
    pub(super) fn in_turn(&self, work: Work) -> Schedule {
        Schedule::Dynamic { grain: 1, threads: self.mapping.threads, work, in_order: !self.logs.is_empty() }
    }

    /// A map inside a kernel: loops of one thread.
    pub(super) fn thread_map(&mut self, map: &Map) {
        if map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) {
            self.thread_scan(map);
        } else if map.folds.is_empty() {
            self.in_tiles_or(
                map,
                |this, tiles| this.tiles_of_iteration(map, tiles),
                |this| {
                    let ranges = this.ranges(map);
                    this.outer_loops(&ranges, &mut |this, range| {
                        let count = range.count.clone();
                        this.innermost(map, range, make::long(0), count, &[]);
                    });
                },
            );
        } else {
            self.thread_fold(map);
        }
    }

    /// Lowers something whose iterators run in vector lanes, whatever the plan says of them elsewhere.
    pub(super) fn with_lanes(&mut self, iterators: &[par::VarId], build: impl FnOnce(&mut Self)) {
        let planned = self.mapping.levels.clone();
        for var in iterators {
            self.mapping.levels.entry(*var).and_modify(|level| level.exec = Exec::Simd);
        }
        build(self);
        self.mapping.levels = planned;
    }

    /// Whether a map's innermost loop runs in vector lanes.
    pub(super) fn in_lanes(&self, map: &Map) -> bool {
        let exec = plan::key(map).and_then(|key| self.mapping.exec(key));
        let planned = matches!(exec, Some(Exec::Simd | Exec::Lanes));
        planned && plan::vectorisable(self.program, self.func, map)
    }

    /// One iteration: its statements, then what it adds to the folds.
    pub(super) fn iteration(&mut self, map: &Map, accs: &[Acc<'_>]) {
        self.enter_iteration(map);
        let factors = self.fused_product(map, accs);
        let plain = map.body.stmts.len() - usize::from(factors.is_some());
        self.stmts(&map.body.stmts[..plain]);
        self.free_locals(&map.body);
        match factors {
            Some((a, b)) => self.fold_product(&accs[0], a, b),
            None => accs.iter().for_each(|acc| self.fold_step(acc)),
        }
        self.leave_iteration();
    }
}

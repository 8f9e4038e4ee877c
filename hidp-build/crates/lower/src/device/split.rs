//! Split folds: groups of their own take parts of a fold. One launch folds the parts into scratch arrays, another folds those in order and runs
//! the rest of the iteration. The number of parts follows from sizes alone.

use super::super::fold::Acc;
use super::super::space::Range;
use super::super::{GROUPS, Lowerer, POSITIONS, make};
use hidp_ir::imp::{Expr, Grid, Level, LoopKind, Stmt, VarId};
use hidp_ir::par::{self, BinOp, FoldFn, Map, StmtKind};
use hidp_plan::notation::FoldOption;
use hidp_plan::{self as plan, Exec};
use hidp_syntax::source::Span;

/// How the plan deals out the folds inside a nest.
pub(super) struct Dealt<'m> {
    pub(super) inner: &'m Map,
    pub(super) parts: Parts,
}

/// Into how many parts the folds of a nest are cut.
#[derive(Clone, Copy)]
pub(super) enum Parts {
    /// As many as make so many groups with all results, with so many terms at least.
    Of {
        /// The groups.
        groups: u32,
        /// The terms.
        terms: u32,
    },
    /// So many at most: none is empty.
    Most(u32),
}

/// What the parts of folds leave.
pub(super) struct Scratch {
    /// For each fold an array.
    pub(super) partials: Vec<VarId>,
    pub(super) parts: Expr,
    pub(super) results: Expr,
    /// Whether neighbours in the arrays are those of neighbouring results, rather than neighbouring parts of a result.
    pub(super) along_results: bool,
}

impl Lowerer<'_> {
    /// How the plan deals out the folds of the nest at hand, if it does.
    pub(super) fn dealt<'m>(&self, map: &'m Map) -> Option<Dealt<'m>> {
        let inner = *plan::inner_maps(&map.body).first()?;
        if self.inside_team {
            return None;
        }
        if let Some(parts) = self.mapping.parts {
            return Some(Dealt { inner, parts: Parts::Most(parts) });
        }
        let cut = self.mapping.cut(inner)?;
        let terms = cut.number(FoldOption::Terms).unwrap_or(1);
        Some(Dealt { inner, parts: Parts::Of { groups: cut.number(FoldOption::Groups)?, terms } })
    }

    /// One group a part of a fold, or a lane.
    pub(super) fn split_map(&mut self, map: &Map, dealt: &Dealt<'_>, span: Span) {
        let Exec::Device(level) = self.exec_of(map) else { return self.defect(GROUPS) };
        let grid = Grid::new(level, self.block_of(map));
        let inner = dealt.inner;
        let ranges = self.ranges(map);
        let (_, results) = self.strides(&ranges);
        let terms = self.ranges(inner);
        let (strides, total) = self.strides(&terms);
        let narrow = self.is_narrow(&total);
        let parts = self.parts_for(dealt, &results, &total);
        // Where neighbouring lanes have neighbouring parts, they take neighbouring terms if the operators allow it.
        let in_order = inner.folds.iter().any(|fold| matches!(fold.op.func, FoldFn::Fn(_)));
        let in_turn = level == Level::Thread && !in_order;
        let (least, parts) = self.terms_of_parts(&total, &parts, level, in_turn);
        let scratch = self.scratch_of_parts(inner, results, parts, false);
        let dims = self.dimensions(map);
        let (kernel, args) =
            self.grid_kernel("part", span, grid, part_dimensions(&dims), Vec::new(), |this, positions| {
                let (ranges, terms) = (this.import_ranges(&ranges), this.import_ranges(&terms));
                let strides: Vec<Expr> = strides.iter().map(|stride| this.import(stride)).collect();
                let (least, total, narrow) = (this.import(&least), this.import(&total), this.import(&narrow));
                let parts = this.import(&scratch.parts);
                let part = this.bind_part(&ranges, &dims, positions);
                this.stmts(before(map));
                let accs = this.accumulators_of(&inner.folds);
                let mut body = |this: &mut Self, position: Expr| {
                    this.bind_linear(&terms, &strides, &narrow, position);
                    this.iteration(inner, &accs);
                };
                if in_turn {
                    let rest = make::sub(total, make::mul(least.clone(), parts.clone()));
                    let one_more = make::binary(BinOp::Lt, part.clone(), rest);
                    let count = make::add(least, make::select(one_more, make::long(1), make::long(0)));
                    let count = this.body.fix("count", count);
                    let turn = this.body.enter_loop("turn");
                    let at = make::add(make::mul(make::var(turn, hidp_syntax::ty::Ty::LONG), parts), part.clone());
                    let at = this.body.fix("at", at);
                    body(this, at);
                    let turns = match (inner.directives.unroll, dealt.parts) {
                        (Some(times), _) | (None, Parts::Of { terms: times, .. }) => LoopKind::Unroll(times),
                        (None, Parts::Most(_)) => LoopKind::Seq,
                    };
                    this.body.leave_loop(turn, make::long(0), count, turns);
                } else {
                    let from = this.body.fix("from", make::mul(part.clone(), least.clone()));
                    let to = this.body.fix("to", make::min(make::add(from.clone(), least), total));
                    this.spread(Level::Thread, &accs, from, to, &mut body);
                }
                let number = this.number_of(&ranges);
                this.leave_part(&scratch, &accs, &number, &part);
            });
        let extents = self.part_extents(&ranges, &dims, &scratch.parts);
        self.body.push(Stmt::LaunchGrid { kernel, args, extents, most: None });
        let combine = |this: &mut Self, level: Level| this.combine_parts(map, inner, &ranges, &scratch, level, span);
        match self.option_of(inner, FoldOption::Many) {
            Some(many) => {
                let many = make::binary(BinOp::Ge, scratch.parts.clone(), make::long(many.into()));
                self.branch(many, |this| combine(this, Level::Block), |this| combine(this, Level::Warp));
            }
            None => combine(self, Level::Warp),
        }
        scratch.partials.iter().for_each(|partial| self.body.push(Stmt::Free(*partial)));
    }

    /// As many parts as the plan says, or as there should be groups, and none shorter than it says; none at all of nothing.
    fn parts_for(&mut self, dealt: &Dealt<'_>, results: &Expr, total: &Expr) -> Expr {
        let (groups, terms) = match dealt.parts {
            Parts::Of { groups, terms } => (groups, terms),
            Parts::Most(parts) => return self.body.fix("parts", make::min(make::long(parts.into()), total.clone())),
        };
        let wanted = make::div(make::long(groups.into()), make::max(results.clone(), make::long(1)));
        let most = make::ceil_div(total.clone(), make::long(terms.max(1).into()));
        self.body.fix("parts", make::min(make::max(wanted, make::long(1)), most))
    }

    /// The number of terms that each part has, and of parts: where they take turns, some have one more; where each has a run, the last
    /// one may have fewer. Runs of blocks begin where a warp's accesses do.
    fn terms_of_parts(&mut self, total: &Expr, parts: &Expr, level: Level, in_turn: bool) -> (Expr, Expr) {
        let some = make::max(parts.clone(), make::long(1));
        if in_turn {
            return (self.body.fix("least", make::div(total.clone(), some)), parts.clone());
        }
        let warp = make::long(if level == Level::Block { self.of_model(|model| model.warp).into() } else { 1 });
        let warps = make::ceil_div(make::ceil_div(total.clone(), some), warp.clone());
        let run = self.body.fix("run", make::mul(make::max(warps, make::long(1)), warp));
        let parts = self.body.fix("parts", make::ceil_div(total.clone(), run.clone()));
        (run, parts)
    }

    /// Arrays for what the parts leave.
    pub(super) fn scratch_of_parts(&mut self, inner: &Map, results: Expr, parts: Expr, along_results: bool) -> Scratch {
        let count = self.body.fix("partials", make::mul(results.clone(), parts.clone()));
        let partials = inner.folds.iter().map(|fold| self.partials(fold, &count)).collect();
        Scratch { partials, parts, results, along_results }
    }

    /// Extents of a launch over parts and the iterations of a map: parts take the first dimension, or share it.
    fn part_extents(&mut self, ranges: &[Range], dims: &[Vec<usize>], parts: &Expr) -> Vec<Expr> {
        let mut extents: Vec<Expr> = dims.iter().map(|dim| self.extent(ranges, dim)).collect();
        if part_dimensions(dims) > dims.len() {
            extents.insert(0, parts.clone());
        } else if let Some(first) = extents.first_mut() {
            *first = self.body.fix("extent", make::mul(parts.clone(), first.clone()));
        }
        extents
    }

    /// In the kernel: binds the iterators, and gives the part.
    fn bind_part(&mut self, ranges: &[Range], dims: &[Vec<usize>], positions: &[Expr]) -> Expr {
        let Some((first, rest)) = positions.split_first() else {
            self.defect(POSITIONS);
            return make::long(0);
        };
        if part_dimensions(dims) > dims.len() {
            self.bind_dimensions(ranges, dims, rest);
            return first.clone();
        }
        let extent = dims[0].iter().map(|at| ranges[*at].count.clone()).fold(make::long(1), make::mul);
        let (part, own) = self.part_and_rest(first, extent);
        let own: Vec<Expr> = std::iter::once(own).chain(rest.iter().cloned()).collect();
        self.bind_dimensions(ranges, dims, &own);
        part
    }

    /// Both of a position that a part shares with something of this extent.
    pub(super) fn part_and_rest(&mut self, position: &Expr, extent: Expr) -> (Expr, Expr) {
        let part = self.body.fix("part", make::div(position.clone(), extent.clone()));
        let rest = make::sub(position.clone(), make::mul(part.clone(), extent));
        (part, self.body.fix("rest", rest))
    }

    /// The number of the iteration at hand, the last iterator fastest.
    pub(super) fn number_of(&mut self, ranges: &[Range]) -> Expr {
        let extents: Vec<Expr> = ranges.iter().map(|range| range.count.clone()).collect();
        let position = |range: &Range| make::div(make::sub(self.read(range.var), range.lo.clone()), range.step.clone());
        let positions = ranges.iter().map(position).collect();
        let number = self.linear(&extents, positions);
        self.body.fix("number", number)
    }

    fn place_of(&mut self, scratch: &Scratch, number: &Expr, part: &Expr) -> Expr {
        let place = if scratch.along_results {
            let results = self.import(&scratch.results);
            make::add(make::mul(part.clone(), results), number.clone())
        } else {
            let parts = self.import(&scratch.parts);
            make::add(make::mul(number.clone(), parts), part.clone())
        };
        self.body.fix("place", place)
    }

    /// In the kernel: what a part folded goes to its place.
    fn leave_part(&mut self, scratch: &Scratch, accs: &[Acc<'_>], number: &Expr, part: &Expr) {
        let place = self.place_of(scratch, number, part);
        accs.iter().zip(&scratch.partials).for_each(|(acc, partial)| self.store_partial(acc, *partial, place.clone()));
    }

    /// Another launch: groups fold the parts of a result each, and do the rest of the iteration.
    pub(super) fn combine_parts(
        &mut self,
        map: &Map,
        inner: &Map,
        ranges: &[Range],
        scratch: &Scratch,
        level: Level,
        span: Span,
    ) {
        let grid = Grid::new(level, self.block_of(map));
        let dims = self.dimensions(map);
        let (kernel, args) = self.grid_kernel("combine", span, grid, dims.len(), Vec::new(), |this, positions| {
            this.mark_outputs(map);
            let ranges = this.import_ranges(ranges);
            this.bind_dimensions(&ranges, &dims, positions);
            this.enter_iteration(map);
            this.stmts(before(map));
            let number = this.number_of(&ranges);
            let parts = this.import(&scratch.parts);
            let partials: Vec<VarId> = scratch.partials.iter().map(|partial| this.capture(*partial)).collect();
            let accs = this.accumulators_of(&inner.folds);
            this.spread(Level::Thread, &accs, make::long(0), parts, &mut |this, part| {
                let place = this.place_of(scratch, &number, &part);
                for (acc, partial) in accs.iter().zip(&partials) {
                    let value = make::load(make::element(*partial, place.clone()), acc.fold.op.ty);
                    this.fold_value(acc, value);
                }
            });
            this.deliver(&accs);
            this.stmts(after(map));
            this.leave_iteration();
        });
        let extents = dims.iter().map(|dim| self.extent(ranges, dim)).collect();
        self.body.push(Stmt::LaunchGrid { kernel, args, extents, most: None });
    }
}

/// Dimensions of a launch over parts too: at most as many as there are.
fn part_dimensions(dims: &[Vec<usize>]) -> usize {
    (dims.len() + 1).min(super::grid::MOST_DIMENSIONS)
}

fn fold_at(map: &Map) -> usize {
    map.body.stmts.iter().position(|stmt| matches!(stmt.kind, StmtKind::Map(_))).unwrap_or(0)
}

/// What an iteration does before its fold, and after it.
fn before(map: &Map) -> &[par::Stmt] {
    &map.body.stmts[..fold_at(map)]
}

fn after(map: &Map) -> &[par::Stmt] {
    map.body.stmts.get(fold_at(map) + 1..).unwrap_or(&[])
}

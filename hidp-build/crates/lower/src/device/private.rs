//! Arrays of iterations, and copies that primitives work on. What the lanes of a group share is in [registers](super::registers), or in the
//! shared memory of its block, if that has room. The host allocates the rest for all groups that run at a time; arrays of single lanes are interleaved, so that neighbouring lanes
//! access neighbouring elements.

use super::super::build::ArrayBinding;
use super::super::flagged::flag_is;
use super::super::space::Range;
use super::super::{DEVICE, Lowerer, make};
use super::reduce::Folded;
use hidp_ir::imp::{Expr, ExprKind, Grid, Level, Stmt, VarId, VarKind};
use hidp_ir::par::{self, BinOp, Const, FaultKind, Fold, FoldFn, FoldKind, FoldOp, Map, StmtKind, Target};
use hidp_plan::{Exec, Home, Private, Store, homes, private_arrays, scope_of};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// No array has more elements.
const MOST_ELEMENTS: i64 = 1 << 56;

/// Memory of iterations.
#[derive(Clone, Debug)]
pub(in super::super) enum Given {
    /// As the host allocated it.
    Allocated(Allocated),
    /// In the shared memory of blocks.
    Shared(Shared),
    /// An array of which each lane of a group has an element.
    Held(par::VarId),
}

#[derive(Clone, Debug)]
pub(in super::super) struct Allocated {
    store: Store,
    /// Buffers of the host function: one of an array; of a primitive's copies two for the keys, and two for the values.
    bases: Vec<VarId>,
    /// Elements of one iteration.
    count: Expr,
    /// How many iterations have some, if neighbouring elements are that far apart.
    apart: Option<Expr>,
}

/// An array of which each group of a block has a part.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Shared {
    array: par::VarId,
    /// Elements of a group.
    count: u32,
    /// Groups of a block.
    groups: u32,
}

impl Given {
    /// Elements of all iterations that run at a time, if it is an array.
    pub(super) fn of_array(&self, array: par::VarId, slots: &Expr) -> Option<Expr> {
        let count = match self {
            Given::Allocated(memory) => (memory.store == Store::Array(array)).then(|| memory.count.clone()),
            Given::Shared(memory) => (memory.array == array).then(|| make::long(memory.count.into())),
            Given::Held(_) => None,
        };
        count.map(|count| make::mul(count, slots.clone()))
    }

    /// Buffers of the host function.
    fn bases(&self) -> &[VarId] {
        match self {
            Given::Allocated(memory) => &memory.bases,
            Given::Shared(_) | Given::Held(_) => &[],
        }
    }

    /// Whether a buffer of the host function is part of it.
    pub(super) fn holds(&self, base: VarId) -> bool {
        self.bases().contains(&base)
    }
}

impl Lowerer<'_> {
    /// Allocates what the iterations of a launched map need; how many groups may run at a time then. `items` is how many groups
    /// there can be anything for.
    pub(super) fn allocate_privates(
        &mut self,
        map: &Map,
        space: (&[Range], &[Expr], &Expr),
        grid: Grid,
        items: &Expr,
    ) -> (Vec<Given>, Option<Expr>) {
        let levels = self.mapping.levels.clone();
        let exec = |var: par::VarId| levels.get(&var).map(|level| level.exec);
        let level = scope_of(map, &exec);
        let privates = private_arrays(self.program, self.func, map, level, &exec, self.small_array());
        let privates = privates.unwrap_or_else(|name| {
            self.defect(format!("the size of `{name}` is known before the launch"));
            Vec::new()
        });
        if privates.is_empty() && !self.logs_segments(map) {
            return (Vec::new(), None);
        }
        let (shared, privates) = self.of_groups_and_others((map, &exec), privates, (level, grid.block));
        if privates.is_empty() && !self.logs_segments(map) {
            return (shared, None);
        }
        let mut counts = Vec::new();
        let mut bytes = make::long(1);
        for private in &privates {
            let count = if private.varies { self.largest(map, space, private) } else { self.product_of(private) };
            let count = self.body.fix("count", count);
            let each: usize = self.elements_of(map, private).iter().map(|ty| self.size_of(*ty)).sum();
            bytes = make::add(bytes, make::mul(count.clone(), make::long(each as i64)));
            counts.push(count);
        }
        let slots = self.slots(grid, items, bytes);
        let given = privates.iter().zip(counts).map(|(private, count)| {
            let apart = (grid.level == Level::Thread && !private.contiguous).then(|| slots.clone());
            let all = self.body.fix("all", make::max(make::mul(count.clone(), slots.clone()), make::long(1)));
            let types = self.elements_of(map, private);
            let bases = types.iter().map(|ty| self.given_buffer(private, *ty, &all)).collect();
            Given::Allocated(Allocated { store: private.store, bases, count, apart })
        });
        (given.chain(shared).collect(), Some(slots))
    }

    /// What lanes and blocks have for themselves, and what the host allocates.
    fn of_groups_and_others(
        &mut self,
        launched: (&Map, &dyn Fn(par::VarId) -> Option<Exec>),
        privates: Vec<Private>,
        (level, block): (Level, u32),
    ) -> (Vec<Given>, Vec<Private>) {
        let Some(model) = self.device_model() else {
            self.defect(DEVICE);
            return (Vec::new(), privates);
        };
        let copies = !self.mapping.copied.is_empty();
        let homes = homes(self.program, self.func, launched, &privates, (level, block, copies), model);
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (private, home) in privates.into_iter().zip(homes) {
            match (home, private.store) {
                (Home::Shared { count, groups }, Store::Array(array)) => {
                    own.push(Given::Shared(Shared { array, count, groups }));
                }
                (Home::Registers, Store::Array(array)) => own.push(Given::Held(array)),
                (Home::Registers | Home::Shared { .. } | Home::Scratch(_), Store::Array(_) | Store::Copies(_)) => {
                    others.push(private);
                }
            }
        }
        (own, others)
    }

    /// As many as run at a time, as there are iterations, as memory allows; at least one.
    fn slots(&mut self, grid: Grid, items: &Expr, bytes: Expr) -> Expr {
        let at_once = Expr { kind: ExprKind::GroupCount(grid), ty: Ty::LONG };
        let budget = make::long(self.of_model(|model| model.scratch).into());
        let bytes = self.body.fix("bytes", bytes);
        let fitting = make::div(budget, make::max(bytes, make::long(1)));
        let slots = make::min(make::min(at_once, items.clone()), fitting);
        self.body.fix("slots", make::max(slots, make::long(1)))
    }

    fn given_buffer(&mut self, private: &Private, elem: Ty, count: &Expr) -> VarId {
        let (name, span) = match private.store {
            Store::Array(var) => (self.func.vars[var].name.clone(), self.func.vars[var].span),
            Store::Copies(span) => ("copies".to_owned(), span),
        };
        let var = self.body.declare(&name, VarKind::Buffer { elem, writable: true });
        let names = if matches!(private.store, Store::Array(_)) { Vec::new() } else { vec![String::new()] };
        let site = self.site(FaultKind::Allocation, span, names);
        self.body.push(Stmt::Alloc { var, count: count.clone(), zero: false, site });
        var
    }

    /// The element types of the buffers.
    fn elements_of(&self, map: &Map, private: &Private) -> Vec<Ty> {
        match private.store {
            Store::Array(var) => vec![self.func.vars[var].ty],
            Store::Copies(span) => {
                let mut types = Vec::new();
                par::visit::walk_stmts(&map.body, |stmt| {
                    if let StmtKind::Prim(call) = &stmt.kind
                        && call.span == span
                    {
                        let keys = self.func.vars[call.input.array].ty;
                        let values = call.values.as_ref().map(|(values, _)| self.func.vars[values.array].ty);
                        types = [Some(keys), Some(keys), values, values].into_iter().flatten().collect();
                    }
                });
                types
            }
        }
    }

    /// Gives everything back after the launch.
    pub(super) fn free_privates(&mut self, given: &[Given]) {
        for base in given.iter().rev().flat_map(|given| given.bases().iter().rev()) {
            self.body.push(Stmt::Free(*base));
        }
    }

    /// Elements of an array whose extents are known before the launch: 0 where the iteration will fault.
    fn product_of(&mut self, private: &Private) -> Expr {
        let extents = self.exprs(&private.extents);
        self.capped(extents)
    }

    /// The product of extents; 0 if one is negative or it is too large.
    fn capped(&mut self, extents: Vec<Expr>) -> Expr {
        let mut count = make::long(1);
        for extent in extents {
            let extent = self.body.fix("extent", make::max(extent, make::long(0)));
            let most = make::div(make::long(MOST_ELEMENTS), make::max(extent.clone(), make::long(1)));
            let fits = make::binary(BinOp::Le, count.clone(), most);
            count = self.body.fix("count", make::select(fits, make::mul(count, extent), make::long(0)));
        }
        count
    }

    /// The most elements that an iteration needs, found by a launch of its own.
    fn largest(&mut self, map: &Map, (ranges, strides, total): (&[Range], &[Expr], &Expr), private: &Private) -> Expr {
        let span = self.func.span;
        let runs = self.usual_runs(total);
        let folded = Folded::by_lanes((ranges, strides, total), self.block_of(map), runs, span);
        let folds = [maximum(span)];
        let partials = self.fold_runs_on_device("size", &folded, &folds, &mut |this, accs| {
            let count = this.body.slot("count", Ty::LONG, Some(make::long(0)));
            let bad = this.flagged(&private.slice, &private.extents, |this| {
                this.stmts(&private.slice.stmts);
                let extents = this.exprs(&private.extents);
                let found = this.capped(extents);
                this.body.push(make::set(count, found));
            });
            let count = make::select(flag_is(BinOp::Eq, bad), make::var(count, Ty::LONG), make::long(0));
            let count = this.body.fix("count", count);
            this.fold_value(&accs[0], count);
        });
        let result = self.body.slot("largest", Ty::LONG, Some(make::long(0)));
        let some = make::binary(BinOp::Gt, folded.runs.clone(), make::long(0));
        let found = make::load(make::element(partials[0], make::long(0)), Ty::LONG);
        self.body.push(make::when(some, vec![make::set(result, found)]));
        self.body.push(Stmt::Free(partials[0]));
        self.body.fix("largest", make::var(result, Ty::LONG))
    }

    /// In a kernel: what stands for a declared array, if the host allocated it. Zeros are this iteration's business.
    pub(in super::super) fn given_array(
        &mut self,
        var: par::VarId,
        extents: &[Expr],
        count: &Expr,
        zero: bool,
    ) -> Option<ArrayBinding> {
        if self.is_held(var) {
            return Some(self.held_array(var, extents.to_vec()));
        }
        let array = match self.shared(var) {
            Some(shared) => self.part_of_block(shared, extents.to_vec()),
            None => {
                let given = self.given(Store::Array(var))?;
                self.part_of(&given, 0, extents.to_vec())
            }
        };
        if zero {
            let ty = self.func.vars[var].ty;
            let value = self.zero_value(ty);
            self.spread(Level::Thread, &[], make::long(0), count.clone(), &mut |this, at| {
                let index = array.stride.clone().map_or(at.clone(), |stride| make::mul(at, stride));
                let index = array.window.clone().map_or(index.clone(), |window| make::add(window, index));
                this.push_store(make::element(array.base, index), value.clone());
            });
        }
        Some(array)
    }

    /// In a kernel: the buffers that a primitive works on, and where this group's part of them starts.
    pub(super) fn given_copies(&mut self, call: Span) -> Option<Vec<(VarId, Expr)>> {
        let given = self.given(Store::Copies(call))?;
        let parts = (0..given.bases.len()).map(|at| {
            let part = self.part_of(&given, at, Vec::new());
            (part.base, part.window.unwrap_or(make::long(0)))
        });
        Some(parts.collect())
    }

    fn given(&self, store: Store) -> Option<Allocated> {
        self.device.as_ref()?.privates.iter().find_map(|given| match given {
            Given::Allocated(memory) => (memory.store == store).then(|| memory.clone()),
            Given::Shared(_) | Given::Held(_) => None,
        })
    }

    fn shared(&self, array: par::VarId) -> Option<Shared> {
        self.device.as_ref()?.privates.iter().find_map(|given| match given {
            Given::Shared(memory) => (memory.array == array).then_some(*memory),
            Given::Allocated(_) | Given::Held(_) => None,
        })
    }

    /// This group's part of a new array of the block.
    fn part_of_block(&mut self, shared: Shared, extents: Vec<Expr>) -> ArrayBinding {
        let Shared { array, count, groups } = shared;
        let declared = &self.func.vars[array];
        let kind = VarKind::Shared { elem: declared.ty, len: (count * groups).max(1), declared: true };
        let base = self.body.declare(&declared.name, kind);
        self.body.push(Stmt::Let { var: base, init: None });
        let window = (groups > 1).then(|| {
            let slot = Expr { kind: ExprKind::WorkerIndex, ty: Ty::LONG };
            let own = make::binary(BinOp::Rem, slot, make::long(groups.into()));
            self.body.fix("slot", make::mul(own, make::long(count.into())))
        });
        ArrayBinding { base, extents, window, stride: None }
    }

    /// This group's part of a buffer.
    fn part_of(&mut self, given: &Allocated, at: usize, extents: Vec<Expr>) -> ArrayBinding {
        let base = self.capture(given.bases[at]);
        self.body.mark_written(base);
        let slot = Expr { kind: ExprKind::WorkerIndex, ty: Ty::LONG };
        let apart = given.apart.as_ref().map(|apart| self.import(apart));
        let window = match apart {
            Some(_) => slot,
            None => make::mul(slot, self.import(&given.count)),
        };
        let window = self.body.fix("slot", window);
        ArrayBinding { base, extents, window: Some(window), stride: apart }
    }

    /// Whether a buffer of a kernel is memory of its iterations.
    pub(in super::super) fn is_given(&self, base: VarId) -> bool {
        let outer = self.body.captures.iter().find(|(_, inner)| *inner == base).map(|(outer, _)| *outer);
        let privates = self.device.as_ref().map_or(&[][..], |state| &state.privates);
        outer.is_some_and(|outer| privates.iter().any(|given| given.holds(outer)))
    }
}

/// The largest of values that are not negative.
fn maximum(span: Span) -> Fold {
    let zero = par::Expr { kind: par::ExprKind::Const(Const::Int(0)), ty: Ty::LONG, span };
    let nowhere: par::VarId = hidp_syntax::index::Id::new(0);
    Fold {
        kind: FoldKind::Reduce,
        op: FoldOp { func: FoldFn::Max, ty: Ty::LONG, neutral: Some(Box::new(zero)), ordered: false },
        target: Target::Scalar(nowhere),
        value: nowhere,
        over: Vec::new(),
        span,
    }
}

//! What a body costs at given sizes without the calls that have a choice, and how often and with which sizes it makes those.
//!
//! An estimate, in operations on one lane of a vector: it orders compositions, and nothing else.

use crate::counted::counted;
use crate::target::{CallLevels, Capability};
use hidp_ir::par::visit;
use hidp_ir::par::{
    CallArg, Expr, ExprKind, Extent, Func, FuncId, Map, Piece, PrimCall, Program, Section, SectionDim, Stmt, StmtKind,
    VarId, sites,
};
use hidp_syntax::ast::PieceWay;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// A body at given sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Weighed {
    /// The cost of everything but the calls.
    pub(super) own: f64,
    /// Calls in the order of the text.
    pub(super) calls: Vec<Weight>,
}

/// A call with a choice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weight {
    pub(super) callee: FuncId,
    /// The level that it is made at.
    pub(super) level: usize,
    /// How often it counts.
    pub(super) times: f64,
    /// The callee's dimensions.
    pub(super) sizes: Vec<i64>,
}

/// Weighs a body at a level, whose dimensions have these sizes, and whose tunables these values. Its outermost maps with calls are
/// dealt to the level `dealt`. Nothing if no level can run a map further in.
pub(super) fn weigh(
    program: &Program,
    body: &Func,
    sizes: &[i64],
    tunables: &[(VarId, i64)],
    (level, dealt): (usize, Option<usize>),
    (choosing, levels): (&OrdSet<FuncId>, &CallLevels),
) -> Option<Weighed> {
    let known = known(body, sizes, tunables);
    let mut scale = Scale { program, body, choosing, levels, known, level, dealt, way: None, stuck: false };
    let mut weighed = Weighed::default();
    // A tunable's declaration would forget its value.
    scale.stmts(&body.body.stmts[2 * tunables.len()..], &mut weighed);
    (!scale.stuck).then_some(weighed)
}

/// Values of dimensions and tunables.
pub(super) fn known(body: &Func, sizes: &[i64], tunables: &[(VarId, i64)]) -> OrdMap<VarId, i64> {
    body.dims.iter().copied().zip(sizes.iter().copied()).chain(tunables.iter().copied()).collect()
}

/// Whether a condition holds, if sizes and tunables say so.
pub(super) fn holds(condition: &Expr, known: &OrdMap<VarId, i64>) -> Option<bool> {
    condition.value(known).map(|value| value != 0)
}

struct Scale<'a> {
    program: &'a Program,
    body: &'a Func,
    choosing: &'a OrdSet<FuncId>,
    levels: &'a CallLevels,
    known: OrdMap<VarId, i64>,
    /// Where statements run.
    level: usize,
    /// Where the next map with calls goes that is dealt.
    dealt: Option<usize>,
    /// How the level around cuts `tiles`.
    way: Option<PieceWay>,
    /// Whether there is a map with calls that no level can run.
    stuck: bool,
}

impl Scale<'_> {
    fn stmts(&mut self, stmts: &[Stmt], weighed: &mut Weighed) {
        stmts.iter().for_each(|stmt| self.stmt(stmt, weighed));
    }

    fn stmt(&mut self, stmt: &Stmt, weighed: &mut Weighed) {
        match &stmt.kind {
            StmtKind::Declare { var, .. } => {
                self.known.remove(var);
                let elements = self.body.vars[*var].shape.iter().map(|extent| self.long(extent) as f64);
                let elements: f64 = elements.product();
                if self.body.vars[*var].is_array() {
                    weighed.own += self.shared(elements);
                }
            }
            StmtKind::Assign { var, value: of } => {
                weighed.own += self.operations(of);
                match of.value(&self.known) {
                    Some(value) => self.known.insert(*var, value),
                    None => self.known.remove(var),
                };
            }
            StmtKind::AssignField { value, .. } | StmtKind::Store { value, .. } | StmtKind::Return(value) => {
                weighed.own += self.operations(value);
            }
            StmtKind::Atomic { value, .. } => weighed.own += 8.0 + self.operations(value),
            StmtKind::If { cond, then, otherwise } => {
                weighed.own += self.operations(cond);
                self.stmts(&then.stmts, weighed);
                self.stmts(&otherwise.stmts, weighed);
            }
            StmtKind::Loop(node) => {
                let mut turn = Weighed::default();
                // The counter changes in the loop: its start is needed before.
                let turns = counted(node, &self.known).unwrap_or(self.levels.unknown.into());
                for block in [&node.body, &node.step] {
                    visit::walk_vars(block, |var, role| {
                        if role == visit::Role::Write {
                            self.known.remove(&var);
                        }
                    });
                }
                self.stmts(&node.body.stmts, &mut turn);
                self.stmts(&node.step.stmts, &mut turn);
                weighed.add(turn, turns * f64::from(self.levels.turn), turns);
            }
            StmtKind::Scope(block) => self.stmts(&block.stmts, weighed),
            StmtKind::Map(map) => self.map(map, weighed),
            StmtKind::Prim(call) => {
                let elements = self.elements(call) * f64::from(self.levels.primitive);
                weighed.own += self.shared(elements);
            }
            StmtKind::Call { callee, args } => self.call(*callee, args, weighed),
            StmtKind::Break | StmtKind::Continue | StmtKind::Leave | StmtKind::Swap(..) | StmtKind::Require { .. } => {}
        }
    }

    /// Work that the lanes of a level share, if that is worth starting them.
    fn shared(&self, work: f64) -> f64 {
        let level = &self.levels.all[self.level];
        work.min(work / f64::from(level.lanes) + f64::from(level.start) + f64::from(level.wait))
    }

    fn map(&mut self, map: &Map, weighed: &mut Weighed) {
        let ranges = map.iters.iter().map(|iter| {
            let step = self.long(&iter.step).max(1);
            ((self.long(&iter.hi) - self.long(&iter.lo)).max(0) as f64 / step as f64).ceil()
        });
        let iterations: f64 = ranges.product();
        let calls = !sites(&map.body, self.choosing).0.is_empty();
        let (level, dealt, way) = (self.level, self.dealt, self.way);
        let own = &self.levels.all[level];
        let usual = own.deals.first().map(|(to, _)| *to);
        let inner = self.dealt.or(usual);
        self.stuck |= calls && inner.is_none() && !own.can(Capability::Serial);
        let to = inner.unwrap_or(level);
        self.way = own.deals.iter().find(|(known, _)| *known == to).map(|(_, way)| *way).or(way);
        (self.level, self.dealt) = (to, self.levels.all[to].deals.first().map(|(to, _)| *to));
        let mut each = Weighed { own: map.folds.len() as f64, calls: Vec::new() };
        self.stmts(&map.body.stmts, &mut each);
        (self.level, self.dealt, self.way) = (level, dealt, way);
        if !calls {
            weighed.own += self.shared(iterations * each.own);
        } else if to == level {
            weighed.add(each, iterations, iterations);
        } else {
            let turns = (iterations * f64::from(own.groups) / f64::from(self.levels.all[to].groups)).ceil();
            weighed.own += f64::from(own.start) + f64::from(own.wait);
            weighed.add(each, turns, turns);
        }
    }

    fn call(&mut self, callee: FuncId, args: &[CallArg], weighed: &mut Weighed) {
        let function = &self.program.funcs[callee];
        let mut bound: OrdMap<VarId, i64> = OrdMap::new();
        for (param, arg) in function.params.iter().zip(args) {
            let extents = match arg {
                CallArg::Array(array) => self.body.vars[*array].shape.iter().map(|extent| self.long(extent)).collect(),
                CallArg::Section(section) => self.section(section),
                CallArg::Value(_) | CallArg::Scalar(_) | CallArg::Element(_) => Vec::new(),
            };
            for (expected, extent) in function.vars[*param].shape.iter().zip(extents) {
                if let ExprKind::Read(dim) = expected.kind {
                    bound.entry(dim).or_insert(extent);
                }
            }
        }
        weighed.own += args.iter().map(|arg| self.unlike_level(arg)).sum::<f64>();
        let unknown = i64::from(self.levels.unknown);
        let sizes: Vec<i64> = function.dims.iter().map(|dim| bound.get(dim).copied().unwrap_or(unknown)).collect();
        if self.choosing.contains(&callee) {
            weighed.calls.push(Weight { callee, level: self.level, times: 1.0, sizes });
        } else {
            let known = known(function, &sizes, &[]);
            let mut inner = Scale { body: function, known, ..*self };
            inner.stmts(&function.body.stmts, weighed);
        }
    }

    /// What it costs that pieces are not cut as the level prefers: each element is a load or store by itself.
    fn unlike_level(&self, arg: &CallArg) -> f64 {
        let CallArg::Section(section) = arg else { return 0.0 };
        let other = |dim: &SectionDim| match dim {
            SectionDim::Piece(piece) => self.way.is_some_and(|way| way != piece.way),
            SectionDim::At(_) | SectionDim::Range { .. } => false,
        };
        // The other dimensions decide where elements lie, but for the last.
        if !section.dims.last().is_some_and(other) {
            return 0.0;
        }
        let elements: f64 = self.section(section).iter().map(|extent| *extent as f64).product();
        elements * f64::from(self.levels.gathered)
    }

    fn section(&self, section: &Section) -> Vec<i64> {
        let extents = &self.body.vars[section.array].shape;
        let count = |(dim, extent): (&SectionDim, &Expr)| {
            let extent = self.long(extent);
            match dim {
                SectionDim::At(_) => None,
                SectionDim::Range { low, high, step } => {
                    let step = self.long(step).max(1);
                    Some((self.long(high) - self.long(low)).max(0).saturating_add(step - 1) / step)
                }
                SectionDim::Piece(Piece { way, by, length, .. }) => {
                    let length = self.long(length).max(1);
                    let of = extent.max(0).saturating_add(length - 1) / length;
                    Some(if *by && *way == PieceWay::Adjacent { length.min(extent) } else { of })
                }
            }
        };
        section.dims.iter().zip(extents).filter_map(count).collect()
    }

    fn elements(&self, call: &PrimCall) -> f64 {
        let size = match &call.extent {
            Extent::Whole { size } => self.long(size),
            Extent::Segment { low, high } => self.long(high) - self.long(low),
            Extent::Regular { seg_size, num_seg } => self.long(seg_size).saturating_mul(self.long(num_seg)),
            Extent::Vectors { .. } => self.long(&call.input.len),
        };
        size.max(0) as f64
    }

    /// A size, or what is assumed of one that only data knows.
    fn long(&self, expr: &Expr) -> i64 {
        expr.value(&self.known).unwrap_or(self.levels.unknown.into())
    }

    /// Operations of an expression.
    fn operations(&self, expr: &Expr) -> f64 {
        let mut count = 1.0;
        visit::walk_subexprs(expr, |expr| {
            count += match expr.kind {
                ExprKind::Math(..) | ExprKind::Call(..) => 16.0,
                ExprKind::Binary { .. } | ExprKind::Load(_) | ExprKind::Select { .. } => 1.0,
                ExprKind::Const(_)
                | ExprKind::Read(_)
                | ExprKind::Unary(..)
                | ExprKind::Lazy { .. }
                | ExprKind::Convert { .. }
                | ExprKind::Field(..)
                | ExprKind::Struct(..) => 0.0,
            };
        });
        count * f64::from(self.levels.all[self.level].scalar)
    }
}

impl Weighed {
    fn add(&mut self, other: Weighed, work: f64, times: f64) {
        self.own += other.own * work;
        self.calls.extend(other.calls.into_iter().map(|call| Weight { times: call.times * times, ..call }));
    }
}

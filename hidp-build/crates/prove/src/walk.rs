//! Walks a function in execution order with what is known at each place, and shows a [`Client`] what it meets.

mod loops;
mod operands;

use hidp_ir::par::visit::walk_subexprs;
use hidp_ir::par::{
    Block, Const, ConvertMode, Expr, ExprKind, Map, Place, PrimCall, Stmt, StmtKind, Var, VarId, VarKind,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};

use super::context::{Context, Position};
use super::linear::Lin;
use super::written;

/// How a place is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Loaded.
    Read,
    /// Stored to.
    Write,
    /// Both (an element passed to a function).
    ReadWrite,
    /// Updated indivisibly.
    Atomic,
    /// Target of this fold of the innermost map.
    Fold(usize),
}

/// What a walk is for.
pub(crate) trait Client {
    /// After the operands of an expression; [`Client::place`] has been called for a load.
    fn expr(&mut self, cx: &mut Context<'_>, expr: &mut Expr) {
        let _ = (cx, expr);
    }
    /// After the index expressions of an access.
    fn place(&mut self, cx: &mut Context<'_>, place: &mut Place, how: Use, conditional: bool) {
        let _ = (cx, place, how, conditional);
    }
    /// Whether the test of a condition that stands on its own may go, because it always passes.
    fn always_holds(&mut self, cx: &mut Context<'_>, cond: &Expr) -> bool {
        let _ = (cx, cond);
        false
    }
    /// A local comes to life.
    fn declare(&mut self, cx: &mut Context<'_>, var: VarId) {
        let _ = (cx, var);
    }
    /// Before the body of a map; its iterators are known.
    fn enter_map(&mut self, cx: &mut Context<'_>, map: &Map, positions: &[Position], conditional: bool) {
        let _ = (cx, map, positions, conditional);
    }
    /// After the folds of a map, its iterators still have values but nothing is known of them.
    fn leave_map(&mut self, cx: &mut Context<'_>, map: &Map) {
        let _ = (cx, map);
    }
    /// After the operands of a primitive.
    fn prim(&mut self, cx: &mut Context<'_>, call: &mut PrimCall, conditional: bool) {
        let _ = (cx, call, conditional);
    }
    /// After the arguments of a call.
    fn call(&mut self, cx: &mut Context<'_>, stmt: &Stmt, conditional: bool) {
        let _ = (cx, stmt, conditional);
    }
}

/// Who runs a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A wrapper, which has tested the arguments.
    Entry,
    /// Another function, perhaps in a map.
    Called,
}

/// A walk over one function.
pub(crate) struct Walker<'f, 'c> {
    pub cx: Context<'f>,
    client: &'c mut dyn Client,
    /// Arrays whose extents a swap may change.
    pub unstable: OrdSet<VarId>,
    /// Extents of locals as the client left them.
    pub shapes: OrdMap<VarId, Vec<Expr>>,
    /// How many conditions, loops and possible exits lie between the innermost map (or the function) and this place.
    conditions: usize,
    /// Not 0 while statements are tried that the client must not see.
    dry: usize,
    /// How many loops enclose this.
    loops: usize,
    /// What was found of loops in the outermost one around this, by their addresses: the loops around are walked several times.
    found: OrdMap<usize, Vec<(VarId, bool)>>,
    /// Conditions `a || b` that hold: the facts of either side.
    choices: Vec<[Vec<Lin>; 2]>,
}

/// What a loop does not change.
#[derive(Clone, Debug)]
struct Invariant {
    var: VarId,
    /// Value before the loop.
    bound: Lin,
    /// At least the bound, rather than at most.
    grows: bool,
}

impl<'f, 'c> Walker<'f, 'c> {
    /// Knows what holds when the function starts.
    pub(crate) fn new(
        vars: &'f Arena<VarId, Var>,
        body: &Block,
        client: &'c mut dyn Client,
        unstable: OrdSet<VarId>,
        start: Start,
    ) -> Self {
        let mut cx = Context::new(vars);
        cx.map_depth = match start {
            Start::Entry => 0,
            Start::Called => 1,
        };
        cx.enter_params(&unstable, start == Start::Entry);
        let written = written::arrays(body);
        // What another function gives may change while this one runs: other iterations of its map may write it.
        let inputs = vars.iter().filter(|_| start == Start::Entry);
        cx.constant_arrays = inputs
            .filter(|(id, var)| var.kind == VarKind::Param(Direction::Input) && !written.contains(id))
            .map(|(id, _)| id)
            .collect();
        Walker {
            cx,
            client,
            unstable,
            shapes: OrdMap::new(),
            conditions: 0,
            dry: 0,
            loops: 0,
            found: OrdMap::new(),
            choices: Vec::new(),
        }
    }

    /// Goes on from what is known in `cx`, in which no array is swapped.
    pub(crate) fn within(cx: Context<'f>, client: &'c mut dyn Client) -> Self {
        let (unstable, shapes) = (OrdSet::new(), OrdMap::new());
        Walker {
            cx,
            client,
            unstable,
            shapes,
            conditions: 0,
            dry: 0,
            loops: 0,
            found: OrdMap::new(),
            choices: Vec::new(),
        }
    }

    /// Walks statements; what they teach ends with them.
    pub(crate) fn block(&mut self, block: &mut Block) {
        let facts = self.cx.facts.len();
        let (conditions, vague, choices) = (self.conditions, self.cx.vague, self.choices.len());
        for stmt in &mut block.stmts {
            self.stmt(stmt);
        }
        (self.conditions, self.cx.vague) = (conditions, vague);
        self.choices.truncate(choices);
        self.cx.facts.truncate(facts);
    }

    fn conditional(&self) -> bool {
        self.conditions > 0
    }

    fn havoc(&mut self, vars: &OrdSet<VarId>) {
        for &var in vars {
            self.cx.havoc(var);
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Declare { var, .. } => self.declare(*var),
            StmtKind::Assign { var, value } => {
                self.expr(value);
                self.assign(*var, value);
            }
            StmtKind::AssignField { value, .. } | StmtKind::Return(value) => self.expr(value),
            StmtKind::Store { place, value } => {
                self.expr(value);
                self.place(place, Use::Write);
            }
            StmtKind::Atomic { place, op, value } => {
                self.fold_op(op);
                self.expr(value);
                self.place(place, Use::Atomic);
            }
            StmtKind::If { cond, then, otherwise } => self.branch(cond, then, otherwise),
            StmtKind::Loop(sequential) => self.sequential(sequential),
            // What follows in this block runs only if this was not reached on the way.
            StmtKind::Break | StmtKind::Continue | StmtKind::Leave => {}
            StmtKind::Scope(body) => self.scope(body),
            StmtKind::Map(map) => self.map(map),
            StmtKind::Prim(call) => self.prim(call),
            StmtKind::Swap(a, b) => self.swap(*a, *b),
            StmtKind::Call { .. } => self.call(stmt),
            StmtKind::Require { cond, values, .. } => {
                self.expr(cond);
                for (_, value) in values {
                    self.expr(value);
                }
                // Proofs rest on the tests in a condition, so one that may fault stays.
                let holds = self.dry == 0 && !may_fault(cond) && self.client.always_holds(&mut self.cx, cond);
                self.require(cond);
                if holds {
                    cond.kind = ExprKind::Const(Const::Bool(true));
                }
            }
        }
    }

    /// What follows in this block runs only if `cond` holds. Of `a || b` it is not known which: remembered until it is.
    fn require(&mut self, cond: &Expr) {
        self.cx.assume(cond, true);
        if let ExprKind::Lazy { and: false, left, right } = &cond.kind {
            let [left, right] = [left, right].map(|side| {
                let known = self.cx.facts.len();
                self.cx.assume(side, true);
                self.cx.facts.split_off(known)
            });
            self.choices.push([left, right]);
        }
    }

    /// Of every `a || b`, what is left when one of them is impossible here.
    fn settle_choices(&mut self) {
        for [left, right] in self.choices.clone() {
            if self.cx.refutes(&left, 0) {
                right.into_iter().for_each(|fact| self.cx.fact(fact));
            } else if self.cx.refutes(&right, 0) {
                left.into_iter().for_each(|fact| self.cx.fact(fact));
            }
        }
    }

    fn declare(&mut self, var: VarId) {
        let vars = self.cx.vars;
        if vars[var].is_array() {
            let mut shape = vars[var].shape.clone();
            for extent in &mut shape {
                self.expr(extent);
            }
            let extents: Vec<Lin> = if self.unstable.contains(&var) {
                shape.iter().map(|extent| self.cx.unknown(extent.scalar())).collect()
            } else {
                shape.iter().map(|extent| self.cx.lin(extent)).collect()
            };
            if self.cx.map_depth == 0 {
                self.cx.array_exists(&extents, false);
            }
            self.cx.extents.insert(var, extents);
            self.shapes.insert(var, shape);
        } else {
            self.cx.havoc(var);
        }
        if self.dry == 0 {
            self.client.declare(&mut self.cx, var);
        }
    }

    fn assign(&mut self, var: VarId, value: &Expr) {
        if value.ty.scalar().is_some_and(|ty| !ty.is_float()) {
            let value = self.cx.lin(value);
            self.cx.env.insert(var, value);
        } else {
            self.cx.havoc(var);
        }
    }

    /// Runs `inner` where `cond` has this truth value.
    fn under(&mut self, cond: &Expr, truth: bool, inner: impl FnOnce(&mut Self)) {
        let (facts, vague) = (self.cx.facts.len(), self.cx.vague);
        self.conditions += 1;
        self.cx.vague += usize::from(!self.cx.assume(cond, truth));
        inner(self);
        self.conditions -= 1;
        self.cx.vague = vague;
        self.cx.facts.truncate(facts);
    }

    fn branch(&mut self, cond: &mut Expr, then: &mut Block, otherwise: &mut Block) {
        self.expr(cond);
        let before = self.cx.env.clone();
        self.under(cond, true, |walker| walker.block(then));
        let after_then = std::mem::replace(&mut self.cx.env, before.clone());
        self.under(cond, false, |walker| walker.block(otherwise));
        match (falls_through(then), falls_through(otherwise)) {
            (true, true) => self.merge(&after_then),
            (false, _) => self.keep_after(cond, false, before),
            (true, false) => {
                self.cx.env = after_then;
                self.keep_after(cond, true, before);
            }
        }
        self.conditions += usize::from(written::jumps(then) || written::jumps(otherwise));
        let sometimes = |branch: &Block| falls_through(branch) && written::jumps(branch);
        self.cx.vague += usize::from(sometimes(then) || sometimes(otherwise));
    }

    /// What follows runs only if the condition had this truth value, on the values from before its branches.
    fn keep_after(&mut self, cond: &Expr, truth: bool, before: OrdMap<VarId, Lin>) {
        let after = std::mem::replace(&mut self.cx.env, before);
        self.cx.vague += usize::from(!self.cx.assume(cond, truth));
        self.cx.env = after;
    }

    /// Variables that the two branches leave with different values become unknown.
    fn merge(&mut self, other: &OrdMap<VarId, Lin>) {
        let both = self.cx.env.keys().chain(other.keys()).copied();
        let changed: OrdSet<VarId> = both.filter(|var| self.cx.env.get(var) != other.get(var)).collect();
        self.havoc(&changed);
    }
}

/// Whether evaluating a condition may fail a test. Of a call it is not known.
pub(crate) fn may_fault(cond: &Expr) -> bool {
    let mut found = false;
    walk_subexprs(cond, |expr| {
        found |= match &expr.kind {
            ExprKind::Load(place) => place.unproved != 0,
            ExprKind::Binary { checked, .. } => *checked,
            ExprKind::Convert { mode, .. } => *mode == ConvertMode::Checked,
            ExprKind::Call(..) => true,
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Math(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => false,
        };
    });
    found
}

/// Whether control can reach the end of the block.
fn falls_through(block: &Block) -> bool {
    !block.stmts.last().is_some_and(|stmt| {
        matches!(stmt.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Leave | StmtKind::Return(_))
    })
}

/// A client that looks at nothing.
pub(crate) struct Nothing;

impl Client for Nothing {}

/// Walks `body` for `client` with the arrays whose extents swaps may change already known.
pub(crate) fn walk(
    vars: &Arena<VarId, Var>,
    body: &mut Block,
    client: &mut dyn Client,
    start: Start,
) -> OrdMap<VarId, Vec<Expr>> {
    let unstable = unstable_arrays(vars, body, start);
    let mut copy = std::mem::take(body);
    let mut walker = Walker::new(vars, &copy, client, unstable, start);
    walker.block(&mut copy);
    let shapes = std::mem::take(&mut walker.shapes);
    *body = copy;
    shapes
}

fn unstable_arrays(vars: &Arena<VarId, Var>, body: &Block, start: Start) -> OrdSet<VarId> {
    let mut unstable = OrdSet::new();
    if !written::swaps_unlike(vars, body) {
        return unstable;
    }
    let mut copy = body.clone();
    loop {
        let known = unstable.len();
        let mut nothing = Nothing;
        let mut walker = Walker::new(vars, &copy.clone(), &mut nothing, unstable, start);
        walker.block(&mut copy);
        unstable = std::mem::take(&mut walker.unstable);
        if unstable.len() == known {
            return unstable;
        }
    }
}

//! A function under construction: its variables, its open blocks and what program variables stand for in it.

use super::make;
use hidp_ir::imp::{Block, Element, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind, WideStmt};
use hidp_ir::par;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// What a program variable stands for.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// A value that never changes.
    Fixed(Expr),
    /// A variable; a scalar parameter is written through to its buffer.
    Slot {
        /// Holds the value.
        var: VarId,
        /// Where the caller sees it.
        backing: Option<VarId>,
    },
    /// An element of a tile, one for each lane.
    Lane(Element),
    /// An array.
    Array(ArrayBinding),
}

/// What an array stands for.
#[derive(Clone, Debug)]
pub(super) struct ArrayBinding {
    /// Buffer or tile.
    pub(super) base: VarId,
    /// Extents, values that never change.
    pub(super) extents: Vec<Expr>,
    /// Element 0 of the array is this element of the base: a window of a tile, one of many private arrays.
    pub(super) window: Option<Expr>,
    /// Neighbouring elements of the array are so many elements of the base apart, if that is not 1.
    pub(super) stride: Option<Expr>,
}

/// Which kind of function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The host function of a unit.
    Host,
    /// A kernel.
    Kernel,
}

/// A function under construction.
pub(super) struct Body {
    pub(super) role: Role,
    pub(super) vars: Arena<VarId, Var>,
    pub(super) params: Vec<VarId>,
    pub(super) bindings: OrdMap<par::VarId, Binding>,
    /// Variables of the host function that this kernel takes, in order.
    pub(super) captures: Vec<(VarId, VarId)>,
    /// Buffers that no other worker touches.
    pub(super) alone: Vec<VarId>,
    /// Labels of the open scopes.
    pub(super) scopes: Vec<u32>,
    pub(super) labels: u32,
    /// Of a kernel: where its nest stands.
    pub(super) span: Option<Span>,
    /// Where what is being lowered comes from.
    pub(super) here: Option<Span>,
    /// In a group of lanes: the mask of those that execute what is being lowered.
    pub(super) lanes: Option<VarId>,
    open: Vec<Vec<Stmt>>,
    /// For each open block, where its last statement comes from.
    places: Vec<Option<Span>>,
    /// The same for the lanes that execute it.
    lanes_said: Vec<Option<VarId>>,
    /// Values that never change after they were introduced, and the depth of the block that did it.
    fixed: OrdMap<VarId, usize>,
    /// Index parts computed ahead: depth, expression, variable.
    ahead: Vec<(usize, Expr, VarId)>,
    /// Whether a block was closed that was not open.
    unbalanced: bool,
}

impl Body {
    pub(super) fn new(role: Role) -> Self {
        Body {
            role,
            vars: Arena::new(),
            params: Vec::new(),
            bindings: OrdMap::new(),
            captures: Vec::new(),
            alone: Vec::new(),
            scopes: Vec::new(),
            labels: 0,
            span: None,
            here: None,
            lanes: None,
            open: vec![Vec::new()],
            places: vec![None],
            lanes_said: vec![None],
            fixed: OrdMap::new(),
            ahead: Vec::new(),
            unbalanced: false,
        }
    }

    /// Whether blocks were not closed as they were opened.
    pub(super) fn is_unbalanced(&self) -> bool {
        self.unbalanced || self.open.len() != 1
    }

    /// The finished function.
    pub(super) fn finish(mut self) -> Function {
        let stmts = self.open.pop().unwrap_or_default();
        Function { params: self.params, vars: self.vars, body: Block { stmts } }
    }

    /// Whether a variable is memory of one lane, whatever iterations its elements are written by.
    pub(super) fn is_own(&self, base: VarId) -> bool {
        match self.vars[base].kind {
            VarKind::Tile { .. } | VarKind::Registers { .. } => true,
            VarKind::WideTile { .. } => true,
            VarKind::Value(_)
            | VarKind::Buffer { .. }
            | VarKind::HostCell { .. }
            | VarKind::Shared { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. } => self.alone.contains(&base),
        }
    }

    /// Appends a statement to the innermost open block.
    pub(super) fn push(&mut self, stmt: Stmt) {
        let (Some(block), Some(place), Some(lanes)) =
            (self.open.last_mut(), self.places.last_mut(), self.lanes_said.last_mut())
        else {
            self.unbalanced = true;
            return;
        };
        if *place != self.here {
            *place = self.here;
            block.extend(self.here.map(Stmt::At));
        }
        if *lanes != self.lanes {
            *lanes = self.lanes;
            block.extend(self.lanes.map(|mask| Stmt::Wide(WideStmt::Here(mask))));
        }
        block.push(stmt);
    }

    /// Opens a block.
    pub(super) fn enter(&mut self) {
        self.open.push(Vec::new());
        self.places.push(None);
        self.lanes_said.push(self.lanes_said.last().copied().flatten());
    }

    /// Closes the innermost block and gives its statements.
    pub(super) fn leave(&mut self) -> Block {
        let depth = self.open.len().saturating_sub(1);
        self.unbalanced |= depth == 0;
        self.ahead.retain(|(at, _, _)| *at < depth);
        self.places.pop();
        self.lanes_said.pop();
        Block { stmts: self.open.pop().unwrap_or_default() }
    }

    /// A parameter.
    pub(super) fn param(&mut self, name: &str, kind: VarKind) -> VarId {
        let var = self.unlisted_param(name, kind);
        self.params.push(var);
        var
    }

    /// A parameter whose place in the list is given later.
    pub(super) fn unlisted_param(&mut self, name: &str, kind: VarKind) -> VarId {
        let var = self.vars.push(Var { name: name.to_string(), kind });
        self.fixed.insert(var, 0);
        var
    }

    /// A label of a scope, or of what else is left.
    pub(super) fn new_label(&mut self) -> u32 {
        let label = self.labels;
        self.labels += 1;
        label
    }

    /// A variable without statement.
    pub(super) fn declare(&mut self, name: &str, kind: VarKind) -> VarId {
        self.vars.push(Var { name: name.to_string(), kind })
    }

    /// A variable that may change.
    pub(super) fn slot(&mut self, name: &str, ty: Ty, init: Option<Expr>) -> VarId {
        let var = self.declare(name, VarKind::Value(ty));
        self.push(Stmt::Let { var, init });
        var
    }

    /// A tile.
    pub(super) fn tile(&mut self, name: &str, elem: Ty, len: u32) -> VarId {
        let var = self.declare(name, VarKind::Tile { elem, len });
        self.push(Stmt::Let { var, init: None });
        var
    }

    /// A value that can be used any number of times and never changes: the expression itself if it is one, or a variable.
    pub(super) fn fix(&mut self, name: &str, value: Expr) -> Expr {
        if self.is_fixed(&value) {
            return value;
        }
        let ty = value.ty;
        let var = self.slot(name, ty, Some(value));
        self.fixed.insert(var, self.open.len() - 1);
        make::var(var, ty)
    }

    /// Whether an expression is a constant or a variable that never changes.
    pub(super) fn is_fixed(&self, expr: &Expr) -> bool {
        match expr.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) => true,
            ExprKind::Var(var) => self.fixed.contains_key(&var),
            _ => false,
        }
    }

    /// The depth at which integer arithmetic over unchanging values can be computed, if it is that.
    fn depth_of(&self, expr: &Expr) -> Option<usize> {
        match &expr.kind {
            ExprKind::Int(_) => Some(0),
            ExprKind::Var(var) => self.fixed.get(var).copied(),
            ExprKind::Binary(par::BinOp::Add | par::BinOp::Sub | par::BinOp::Mul, left, right) => {
                Some(self.depth_of(left)?.max(self.depth_of(right)?))
            }
            _ => None,
        }
    }

    /// Computes integer arithmetic as far outside as its operands allow, once.
    pub(super) fn compute_ahead(&mut self, expr: Expr) -> Expr {
        let Some(depth) = self.depth_of(&expr) else { return expr };
        if self.is_fixed(&expr) {
            return expr;
        }
        let known = self.ahead.iter().find(|(at, other, _)| *at == depth && *other == expr);
        if let Some((_, _, var)) = known {
            return make::var(*var, Ty::LONG);
        }
        if depth + 1 >= self.open.len() {
            return expr;
        }
        let var = self.declare("row", VarKind::Value(Ty::LONG));
        self.open[depth].push(Stmt::Let { var, init: Some(expr.clone()) });
        self.fixed.insert(var, depth);
        self.ahead.push((depth, expr, var));
        make::var(var, Ty::LONG)
    }

    /// Opens the body of a loop; gives the loop's variable.
    pub(super) fn enter_loop(&mut self, name: &str) -> VarId {
        self.enter();
        let var = self.declare(name, VarKind::Value(Ty::LONG));
        self.fixed.insert(var, self.open.len() - 1);
        var
    }

    /// Closes the body of a loop with step 1 and appends the loop.
    pub(super) fn leave_loop(&mut self, var: VarId, lo: Expr, hi: Expr, kind: LoopKind) {
        self.leave_loop_step(var, lo, hi, make::long(1), kind);
    }

    /// Closes the body of a loop and appends the loop.
    pub(super) fn leave_loop_step(&mut self, var: VarId, lo: Expr, hi: Expr, step: Expr, kind: LoopKind) {
        let body = self.leave();
        self.push(Stmt::Loop(Loop { var, lo, hi, step, kind, body }));
    }

    /// Makes a buffer one that is stored to.
    pub(super) fn mark_written(&mut self, base: VarId) {
        if let VarKind::Buffer { writable, .. } = &mut self.vars[base].kind {
            *writable = true;
        }
    }
}

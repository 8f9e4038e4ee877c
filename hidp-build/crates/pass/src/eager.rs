//! `eager`: loads narrow elements behind `&&`, `||`, `?:` and in short branches in every iteration, if they are proved to be there in every
//! iteration.
//!
//! An element that is loaded in some iterations only needs a load under a mask, in vector lanes. AVX2 has none of 8 and 16 bits (nor has AArch64), so that a C++
//! compiler leaves the loop scalar. Wider elements have masked loads, and cost more memory traffic where the condition is rarely true.

use hidp_ir::par::doubt::every_dimension;
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Access, BinOp, Block, ConvertMode, Expr, ExprKind, FuncId, Map, Place, Program, Stmt, StmtKind, Var, VarId,
    VarKind, same,
};
use hidp_prove as prove;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;

use super::Pass;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "eager",
    about: "loads narrow elements that are there in any case in front of the conditions they stand behind",
    run,
};

/// An element of at most so many bytes has no masked load with AVX2.
const NARROW: usize = 2;

/// A statement with more such elements is no short condition, one with more statements no short branch.
const MOST: usize = 8;

fn run(program: &mut Program) {
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for id in funcs {
        let func = &mut program.funcs[id];
        let mut maps = Maps { vars: &mut func.vars, loaded: OrdMap::new() };
        maps.visit_block(&mut func.body);
        let loaded = maps.loaded;
        if !loaded.is_empty() {
            prove::bounds(program, id);
            Undo { loaded, doubtful: Vec::new() }.visit_block(&mut program.funcs[id].body);
        }
    }
}

/// Loads in front of conditions in all innermost maps, as if all elements were there.
struct Maps<'a> {
    vars: &'a mut Arena<VarId, Var>,
    /// The variables that are loaded, and what stood in their place.
    loaded: OrdMap<VarId, Expr>,
}

impl Mutator for Maps<'_> {
    fn visit_map(&mut self, map: &mut Map) {
        change::walk_map(self, map);
        let is_simple = |stmt: &Stmt| visit::child_blocks(stmt).is_empty();
        let plain = map.body.stmts.iter().all(|stmt| is_simple(stmt) || is_short(stmt, self.vars));
        if let (Some(last), true) = (map.iters.last().map(|iter| iter.var), plain) {
            self.body(&mut map.body, last);
        }
    }

    fn visit_expr(&mut self, _: &mut Expr) {}
}

impl Maps<'_> {
    fn body(&mut self, body: &mut Block, last: VarId) {
        let set: Vec<VarId> = visit::declared(body);
        for mut stmt in std::mem::take(&mut body.stmts) {
            let mut found = Behind { vars: self.vars, set: &set, last, conditional: false, loads: Vec::new() };
            if let StmtKind::Assign { value, .. } | StmtKind::Store { value, .. } = &mut stmt.kind {
                found.visit_expr(value);
            } else {
                found.branch(&mut stmt);
            }
            let loads = found.loads;
            if loads.len() <= MOST {
                for load in loads {
                    let var = self.load(&load, &mut body.stmts);
                    Replace { load: &load, var }.visit_stmt(&mut stmt);
                }
            }
            body.stmts.push(stmt);
        }
    }

    /// A variable that takes an element, with all its bounds in doubt.
    fn load(&mut self, load: &Expr, before: &mut Vec<Stmt>) -> VarId {
        let (ty, span) = (load.ty, load.span);
        let mut value = load.clone();
        let mut name = String::new();
        if let ExprKind::Load(place) = &mut value.kind {
            place.unproved = every_dimension(place.index.len());
            name.clone_from(&self.vars[place.array].name);
        }
        let var = self.vars.push(Var { name, kind: VarKind::Local, shape: Vec::new(), ty, span });
        before.push(Stmt { kind: StmtKind::Declare { var, zero: false }, span });
        before.push(Stmt { kind: StmtKind::Assign { var, value }, span });
        self.loaded.insert(var, load.clone());
        var
    }
}

/// Whether a branch does little, all of which vectors have under masks: it sets variables, and elements that are not narrow. So it sets none
/// that is loaded in front of it.
fn is_short(stmt: &Stmt, vars: &Arena<VarId, Var>) -> bool {
    let (mut count, mut short) = (0, true);
    visit::walk_stmts(&Block { stmts: vec![stmt.clone()] }, |stmt| {
        count += 1;
        short &= match &stmt.kind {
            StmtKind::If { .. } | StmtKind::Assign { .. } => true,
            StmtKind::Declare { var, .. } => !vars[*var].is_array(),
            StmtKind::Store { place, .. } => !is_narrow(&vars[place.array]),
            StmtKind::AssignField { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => false,
        };
    });
    short && count <= MOST
}

fn is_narrow(array: &Var) -> bool {
    array.ty.scalar().is_some_and(|scalar| scalar.size() <= NARROW)
}

/// Finds the loads that stand behind a condition and may be worth a vector load.
struct Behind<'a> {
    vars: &'a Arena<VarId, Var>,
    /// What the body sets.
    set: &'a [VarId],
    last: VarId,
    conditional: bool,
    loads: Vec<Expr>,
}

impl Behind<'_> {
    /// The blocks of a branch stand behind its condition.
    fn branch(&mut self, stmt: &mut Stmt) {
        if let StmtKind::If { cond, then, otherwise } = &mut stmt.kind {
            self.visit_expr(cond);
            self.conditional = true;
            self.visit_block(then);
            self.visit_block(otherwise);
        }
    }

    fn under(&mut self, operand: &mut Expr) {
        let before = std::mem::replace(&mut self.conditional, true);
        self.visit_expr(operand);
        self.conditional = before;
    }

    /// Whether a place is a narrow element of a parameter, beside those of the iterations before and after.
    fn is_row(&self, place: &Place) -> bool {
        let array = &self.vars[place.array];
        let plain =
            matches!(array.kind, VarKind::Param(_)) && place.access == Access::Exclusive && place.path.is_empty();
        let Some((along, others)) = place.index.split_last() else { return false };
        is_narrow(array)
            && plain
            && self.steps(along) == Some(true)
            && others.iter().all(|index| self.steps(index) == Some(false))
    }

    /// Whether an index grows by one with the last iterator, or not at all; `None` for all other indices.
    fn steps(&self, index: &Expr) -> Option<bool> {
        match &index.kind {
            ExprKind::Const(_) => Some(false),
            ExprKind::Read(var) => (!self.set.contains(var)).then_some(*var == self.last),
            ExprKind::Convert { operand, mode: ConvertMode::Cast } => self.steps(operand).filter(|steps| !steps),
            ExprKind::Binary { op, left, right, checked: false } => sum(*op, self.steps(left)?, self.steps(right)?),
            ExprKind::Binary { checked: true, .. }
            | ExprKind::Convert { mode: ConvertMode::Checked, .. }
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        }
    }
}

/// Whether `left op right` grows by one if its operands do.
fn sum(op: BinOp, left: bool, right: bool) -> Option<bool> {
    if op == BinOp::Add && !(left && right) {
        Some(left || right)
    } else if op == BinOp::Sub && !right {
        Some(left)
    } else {
        (op == BinOp::Mul && !left && !right).then_some(false)
    }
}

impl Mutator for Behind<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Lazy { left, right, .. } => {
                self.visit_expr(left);
                self.under(right);
            }
            ExprKind::Select { cond, then, otherwise } => {
                self.visit_expr(cond);
                self.under(then);
                self.under(otherwise);
            }
            ExprKind::Load(place) => {
                if self.conditional && self.is_row(place) && !self.loads.iter().any(|load| is_same(load, expr)) {
                    self.loads.push(expr.clone());
                }
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => change::walk_expr(self, expr),
        }
    }
}

/// Whether an expression loads the same element as `load`, and as much was proved about it: it is put back as that.
fn is_same(load: &Expr, other: &Expr) -> bool {
    let unproved = |expr: &Expr| if let ExprKind::Load(place) = &expr.kind { Some(place.unproved) } else { None };
    unproved(load) == unproved(other) && same::expr(load, other) && !has_tests(other)
}

/// Whether an index is tested where it is computed.
fn has_tests(expr: &Expr) -> bool {
    let mut found = false;
    visit::walk_subexprs(expr, |node| {
        found |= matches!(
            node.kind,
            ExprKind::Binary { checked: true, .. } | ExprKind::Convert { mode: ConvertMode::Checked, .. }
        );
    });
    found
}

/// Puts a variable in the place of a load.
struct Replace<'a> {
    load: &'a Expr,
    var: VarId,
}

impl Mutator for Replace<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        if is_same(self.load, expr) {
            expr.kind = ExprKind::Read(self.var);
        } else {
            change::walk_expr(self, expr);
        }
    }
}

/// Puts loads back whose elements are not proved to be there.
struct Undo {
    loaded: OrdMap<VarId, Expr>,
    doubtful: Vec<VarId>,
}

impl Mutator for Undo {
    fn visit_block(&mut self, block: &mut Block) {
        for stmt in &block.stmts {
            if let StmtKind::Assign { var, value: Expr { kind: ExprKind::Load(place), .. } } = &stmt.kind
                && place.unproved != 0
                && self.loaded.contains_key(var)
            {
                self.doubtful.push(*var);
            }
        }
        block.stmts.retain(|stmt| match &stmt.kind {
            StmtKind::Declare { var, .. } | StmtKind::Assign { var, .. } => !self.doubtful.contains(var),
            _ => true,
        });
        change::walk_block(self, block);
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if let ExprKind::Read(var) = &expr.kind
            && self.doubtful.contains(var)
            && let Some(load) = self.loaded.get(var)
        {
            *expr = load.clone();
        }
    }
}

//! What differs from lane to lane: variables, and where lanes part.
//!
//! A variable is *varying* if a lane may see another value in it than its neighbours do, otherwise *uniform*: one scalar for all lanes. It is
//! varying if something varying is assigned, or if only some lanes assign it and one of the others reads it later before it assigns
//! it anew. Where the others come back, what is live there (`joins`) answers that; the same question tells lowering which assignments need
//! a mask.
//!
//! A loop or scope is *masked* if lanes leave it at different times.

use std::ptr;

use super::live::{self, Jumps, Live};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Block, Expr, Iter, Loop, Map, Stmt, StmtKind, Target, VarId};
use hidp_syntax::ordered::OrdSet;

/// What differs from lane to lane in a map whose last iterator runs along the lanes.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    varying: OrdSet<VarId>,
    masked: OrdSet<usize>,
}

/// What lanes that are elsewhere read when they come back.
pub type Joins = Live;

impl Classes {
    /// Those of a map.
    pub fn of(map: &Map) -> Classes {
        let mut classes = Classes::default();
        classes.varying.extend(map.iters.last().map(|iter| iter.var));
        loop {
            let known = (classes.varying.len(), classes.masked.len());
            let mut walk = Walk { classes, around: Vec::new() };
            walk.block(&map.body, &live::folded(map), &Jumps::default(), &Joins::new());
            classes = walk.classes;
            if known == (classes.varying.len(), classes.masked.len()) {
                return classes;
            }
        }
    }

    /// Whether a variable differs from lane to lane; of an array in iterations, whether it is one for each lane.
    pub fn is_varying(&self, var: VarId) -> bool {
        self.varying.contains(&var)
    }

    /// Whether an expression does.
    pub fn varies(&self, expr: &Expr) -> bool {
        Effects::of_expr(expr).iter().any(|var| self.varying.contains(var))
    }

    /// All that differs.
    pub fn varying(&self) -> &OrdSet<VarId> {
        &self.varying
    }

    /// Whether lanes leave a loop at different times.
    pub fn is_masked_loop(&self, node: &Loop) -> bool {
        self.masked.contains(&ptr::from_ref(node).addr())
    }

    /// Whether lanes leave a scope at different times.
    pub fn is_masked_scope(&self, body: &Block) -> bool {
        self.masked.contains(&ptr::from_ref(body).addr())
    }

    /// Whether the range of a map inside differs from lane to lane.
    pub fn is_ragged(&self, map: &Map) -> bool {
        map.iters.iter().any(|iter| [&iter.lo, &iter.hi, &iter.step].into_iter().any(|bound| self.varies(bound)))
    }
}

/// What lanes read that are not on this side of a branch: where it ends, and, of the first side, on the other one.
pub fn joins_of_branch(joins: &Joins, after: &Live, other: Option<&Live>) -> Joins {
    joins.iter().chain(after).chain(other.into_iter().flatten()).copied().collect()
}

/// What lanes read that have left a loop, or have gone on to its step.
pub fn joins_of_loop(joins: &Joins, jumps: &Jumps, continues: bool) -> Joins {
    let next = continues.then_some(&jumps.next);
    joins.iter().chain(&jumps.past).chain(next.into_iter().flatten()).copied().collect()
}

/// Whether a `continue` of this very loop is in a block.
pub fn continues(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Continue => true,
        StmtKind::If { then, otherwise, .. } => continues(then) || continues(otherwise),
        StmtKind::Scope(body) => continues(body),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Map(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => false,
    })
}

/// What a statement is inside of.
enum Around {
    /// A branch that some lanes take.
    Parted,
    Loop(usize),
    Scope(usize),
}

struct Walk {
    classes: Classes,
    around: Vec<Around>,
}

impl Walk {
    fn block(&mut self, block: &Block, after: &Live, jumps: &Jumps, joins: &Joins) {
        let (afters, _) = live::in_block(block, after, jumps);
        for (stmt, after) in block.stmts.iter().zip(&afters) {
            self.stmt(stmt, after, jumps, joins);
        }
    }

    fn assigned(&mut self, var: VarId, varies: bool, joins: &Joins) {
        if varies || joins.contains(&var) {
            self.classes.varying.insert(var);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, after: &Live, jumps: &Jumps, joins: &Joins) {
        match &stmt.kind {
            StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } => {
                self.assigned(*var, self.classes.varies(value), joins);
            }
            StmtKind::Store { place, value } | StmtKind::Atomic { place, value, .. } => {
                let varies = self.classes.varies(value) || place.index.iter().any(|index| self.classes.varies(index));
                self.assigned(place.array, varies, joins);
            }
            StmtKind::If { cond, then, otherwise } => {
                if !self.classes.varies(cond) {
                    self.block(then, after, jumps, joins);
                    self.block(otherwise, after, jumps, joins);
                    return;
                }
                self.around.push(Around::Parted);
                let other = live::before_block(otherwise, after, jumps);
                self.block(then, after, jumps, &joins_of_branch(joins, after, Some(&other)));
                self.block(otherwise, after, jumps, &joins_of_branch(joins, after, None));
                self.around.pop();
            }
            StmtKind::Loop(node) => self.sequential(node, after, jumps, joins),
            StmtKind::Scope(body) => {
                let id = ptr::from_ref(body).addr();
                let masked = self.classes.masked.contains(&id);
                let joins = if masked { joins_of_branch(joins, after, None) } else { joins.clone() };
                self.around.push(Around::Scope(id));
                self.block(body, after, &Jumps { left: after.clone(), ..jumps.clone() }, &joins);
                self.around.pop();
            }
            StmtKind::Break | StmtKind::Continue => self.jump(|around| matches!(around, Around::Loop(_))),
            StmtKind::Leave => self.jump(|around| matches!(around, Around::Scope(_))),
            StmtKind::Map(map) => self.map(map, after, joins),
            // It has one call in each lane.
            StmtKind::Prim(_) => visit::walk_vars(&Block { stmts: vec![stmt.clone()] }, |var, role| match role {
                Role::Write | Role::Update => {
                    self.classes.varying.insert(var);
                }
                Role::Declare | Role::Iterate | Role::Read | Role::Argument { .. } => {}
            }),
            // What an array of an iteration is like is known where it is stored to; values of others are none of these.
            StmtKind::Declare { .. }
            | StmtKind::Return(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        }
    }

    fn sequential(&mut self, node: &Loop, after: &Live, jumps: &Jumps, joins: &Joins) {
        let id = ptr::from_ref(node).addr();
        if self.classes.varies(&node.cond) {
            self.classes.masked.insert(id);
        }
        let (head, inside) = live::of_loop(node, after, jumps);
        let masked = self.classes.masked.contains(&id);
        let in_body = if masked { joins_of_loop(joins, &inside, continues(&node.body)) } else { joins.clone() };
        let in_step = if masked { joins_of_loop(joins, &inside, false) } else { joins.clone() };
        self.around.push(Around::Loop(id));
        self.block(&node.body, &inside.next, &inside, &in_body);
        self.around.pop();
        self.block(&node.step, &head, jumps, &in_step);
    }

    fn map(&mut self, map: &Map, after: &Live, joins: &Joins) {
        let ragged = self.classes.is_ragged(map);
        if ragged {
            let differs = |iter: &&Iter| self.classes.varies(&iter.lo) || self.classes.varies(&iter.hi);
            let differing: Vec<VarId> = map.iters.iter().filter(differs).map(|iter| iter.var).collect();
            self.classes.varying.extend(differing);
            self.around.push(Around::Parted);
        }
        let head = live::of_map(map, after);
        let joins = if ragged { joins_of_branch(joins, after, None) } else { joins.clone() };
        self.block(&map.body, &head, &Jumps::default(), &joins);
        for fold in &map.folds {
            let begins = fold.op.neutral.as_ref().is_some_and(|neutral| self.classes.varies(neutral));
            let varies = ragged || begins || self.classes.is_varying(fold.value);
            match &fold.target {
                Target::Scalar(var) => self.assigned(*var, varies, &joins),
                Target::Element(place) => {
                    let varies = varies || place.index.iter().any(|index| self.classes.varies(index));
                    self.assigned(place.array, varies, &joins);
                }
            }
        }
        if ragged {
            self.around.pop();
        }
    }

    /// A jump to the innermost of these: where only some lanes come to it, they leave what it leaves alone.
    fn jump(&mut self, target: impl Fn(&Around) -> bool) {
        let Some(at) = self.around.iter().rposition(target) else { return };
        let masked = &mut self.classes.masked;
        let parted = |around: &Around| match around {
            Around::Parted => true,
            Around::Loop(id) | Around::Scope(id) => masked.contains(id),
        };
        if !self.around[at..].iter().any(parted) {
            return;
        }
        for around in &self.around[at..] {
            match around {
                Around::Parted => {}
                Around::Loop(id) | Around::Scope(id) => {
                    masked.insert(*id);
                }
            }
        }
    }
}

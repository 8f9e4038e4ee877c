//! Groups of lanes: who executes a statement, and whose values it reads.
//!
//! [`WideStmt::Here`] says which lanes execute what follows. From it and from how masks are made of each other (`sets`) follows for
//! each variable in which lanes it has the value that the program gives it: those that assigned it last, and those that kept what they
//! had. A lane that reads another one's (`value`) is an error of lowering: of its liveness, or of a mask.
//!
//! | file | what it knows |
//! |---|---|
//! | `sets` | sets of lanes, where paths join, what turns of loops keep |
//! | `value` | the lanes in which a value is right |

mod sets;
mod value;

use super::Checker;
use crate::imp::visit::{each_stmt, introduced, overwritten, stmt_exprs};
use crate::imp::{
    Block, Expr, ExprKind, Group, InTurn, Loop, SetLanes, Stmt, VarId, VarKind, Wide, WideElement, WideStmt,
};
use crate::par::UnOp;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Scalar;
use sets::{ALL, Head, Sets, State, Union, all, join};

const NOT_HERE: &str = "lanes that store, or keep others as they are, are those that are here";
const FOR_ALL: &str = "a value for all lanes is known in all of them";

/// Checks the lanes of a group.
pub(super) fn check(checker: &mut Checker<'_>, group: &Group) {
    let mut walk = Walk { checker, sets: Sets::new(), loops: Vec::new(), scopes: OrdMap::new() };
    walk.block(&group.body, State::new(group.here));
}

/// Where jumps of a loop come from.
#[derive(Clone, Default)]
struct Turns {
    breaks: Option<State>,
    continues: Option<State>,
}

impl Turns {
    /// As those know it that are behind the loop, or at its next turn.
    fn among(self, here: VarId) -> Self {
        let among = |state: State| state.among(here);
        Self { breaks: self.breaks.map(among), continues: self.continues.map(among) }
    }
}

struct Walk<'c, 'a> {
    checker: &'c mut Checker<'a>,
    sets: Sets,
    /// The loops around.
    loops: Vec<Turns>,
    /// The scopes around, and where they were left.
    scopes: OrdMap<u32, Option<State>>,
}

impl Walk<'_, '_> {
    /// What is known where one comes from either of two points, of which some are never left.
    fn either(&mut self, a: Option<State>, b: Option<State>) -> Option<State> {
        match (a, b) {
            (Some(a), Some(b)) => Some(join(&mut self.sets, &a, &b)),
            (a, b) => a.or(b),
        }
    }

    /// What is known behind a block; nothing, if it ends in a jump.
    fn block(&mut self, block: &Block, mut state: State) -> Option<State> {
        let here = state.here;
        for stmt in &block.stmts {
            self.checker.at(stmt);
            state = self.stmt(stmt, state)?;
        }
        Some(state.among(here))
    }

    fn stmt(&mut self, stmt: &Stmt, mut state: State) -> Option<State> {
        match stmt {
            Stmt::Wide(stmt) => self.in_lanes(stmt, &mut state),
            Stmt::Let { var, init } => {
                let right = init.as_ref().map_or_else(all, |init| self.scalar(init, &state));
                state.give(*var, right);
            }
            Stmt::Set { var, path, value } => {
                self.common(value, &state);
                let here = Union::from([state.here()]);
                let right = if path.is_empty() { here } else { self.sets.meet(&here, &state.right_of(*var)) };
                state.give(*var, right);
            }
            Stmt::If { cond, then, otherwise } => {
                self.common(cond, &state);
                let (some, none) = asked(cond);
                let (mut on_true, mut on_false) = (state.clone(), state);
                on_true.some.extend(some.map(|mask| on_true.set_of(mask)));
                on_false.some.extend(none.map(|mask| on_false.set_of(mask)));
                let on_true = self.block(then, on_true);
                let on_false = self.block(otherwise, on_false);
                return self.either(on_true, on_false);
            }
            Stmt::Loop(node) => return self.counted(node, state),
            Stmt::Forever { body, step } => return self.forever(body, step, state),
            Stmt::Break | Stmt::Continue => {
                if let Some(mut turns) = self.loops.pop() {
                    if *stmt == Stmt::Break {
                        turns.breaks = self.either(turns.breaks, Some(state));
                    } else {
                        turns.continues = self.either(turns.continues, Some(state));
                    }
                    self.loops.push(turns);
                }
                return None;
            }
            Stmt::Scope { label, body } => {
                self.scopes.insert(*label, None);
                let here = state.here;
                let end = self.block(body, state);
                let left = self.scopes.remove(label).flatten().map(|left| left.among(here));
                return self.either(end, left);
            }
            Stmt::Leave(label) => {
                // Of what begins the group anew nothing is known.
                if let Some(label) = label
                    && let Some(left) = self.scopes.remove(label)
                {
                    let left = self.either(left, Some(state));
                    self.scopes.insert(*label, left);
                }
                return None;
            }
            Stmt::InTurn(turn) => return Some(self.in_turn(turn, state)),
            Stmt::Store { target, .. } => {
                stmt_exprs(stmt).into_iter().for_each(|node| self.common(node, &state));
                self.stored(target.base, &mut state);
            }
            // What else there is stands where lanes take turns.
            Stmt::At(_)
            | Stmt::Group(_)
            | Stmt::Atomic { .. }
            | Stmt::Fault { .. }
            | Stmt::CheckTrap
            | Stmt::Alloc { .. }
            | Stmt::Free(_)
            | Stmt::Scratch { .. }
            | Stmt::Part { .. }
            | Stmt::Either { .. }
            | Stmt::Prefetch { .. }
            | Stmt::Swap(..)
            | Stmt::Run { .. }
            | Stmt::Launch { .. }
            | Stmt::LaunchGrid { .. }
            | Stmt::Single { .. }
            | Stmt::Sync(_)
            | Stmt::Lanes { .. }
            | Stmt::Shuffle(_)
            | Stmt::Move { .. }
            | Stmt::StreamOut { .. }
            | Stmt::Prim(_) => stmt_exprs(stmt).into_iter().for_each(|node| self.common(node, &state)),
        }
        Some(state)
    }

    /// An array of which the lanes that are here have changed an element, whatever the others find there.
    fn stored(&mut self, base: VarId, state: &mut State) {
        if !matches!(self.checker.kind(base), VarKind::Buffer { .. }) {
            let right = self.sets.meet(&state.right_of(base), &Union::from([state.here()]));
            state.give(base, right);
        }
    }

    fn in_lanes(&mut self, stmt: &WideStmt, state: &mut State) {
        match stmt {
            WideStmt::Here(mask) => {
                self.named(*mask, state);
                state.here = *mask;
            }
            WideStmt::Anew(var) | WideStmt::Let { var, init: None } => state.give(*var, all()),
            WideStmt::Let { var, init: Some(init) } => self.assign(*var, init, None, state),
            WideStmt::Set { var, value, lanes } => self.assign(*var, value, Some(*lanes), state),
            WideStmt::Store { target, value } | WideStmt::Update { target, value, .. } => {
                let value = self.wide(value, state);
                self.read_by(state.here(), &value.right);
                self.element(target, state);
                self.stores(target, state);
            }
            WideStmt::AddUp { sum, mask, value } => {
                let lanes = self.named(*mask, state);
                self.are_here(*mask, state);
                self.read_by(lanes, &state.right_of(*value));
                self.read_by(lanes, &state.right_of(*sum));
                state.give(*sum, Union::from([lanes]));
            }
        }
    }

    fn stores(&mut self, target: &WideElement, state: &mut State) {
        match target.mask {
            Some(mask) => self.are_here(mask, state),
            None => self.stored(target.base, state),
        }
    }

    fn are_here(&mut self, mask: VarId, state: &State) {
        let same = state.set_of(mask) == state.here();
        self.checker.require(same, NOT_HERE);
    }

    /// A wide variable gets its first value, or another one in some lanes.
    fn assign(&mut self, var: VarId, value: &Wide, lanes: Option<SetLanes>, state: &mut State) {
        let known = self.wide(value, state);
        let (mut right, mut within) = (known.right, known.within);
        match lanes {
            None => {}
            Some(SetLanes::All) => {
                self.checker.require(right.contains(&ALL), FOR_ALL);
                right = all();
            }
            Some(SetLanes::Here) => {
                self.read_by(state.here(), &right);
                right = Union::from([state.here()]);
            }
            Some(SetLanes::Only(mask)) => {
                self.are_here(mask, state);
                self.read_by(state.here(), &right);
                right = state.right_of(var);
                right.insert(state.here());
                within = within.intersection(self.sets.around(state.set_of(var))).copied().collect();
            }
        }
        if value.ty == Scalar::Bool {
            let copied = match (&value.kind, lanes) {
                (crate::imp::WideKind::Var(of), None | Some(SetLanes::All | SetLanes::Here)) => {
                    state.masks.get(of).copied()
                }
                _ => None,
            };
            let set = copied.unwrap_or_else(|| self.sets.add(&within));
            state.masks.insert(var, set);
        }
        state.give(var, right);
    }

    fn in_turn(&mut self, turn: &InTurn, state: State) -> State {
        let lanes = self.named(turn.mask, &state);
        self.are_here(turn.mask, &state);
        for taken in &turn.taken {
            self.read_by(lanes, &state.right_of(taken.wide));
        }
        let mut alone = state.clone();
        alone.some.insert(lanes);
        match self.block(&turn.body, alone) {
            Some(after) => join(&mut self.sets, &state, &after),
            None => state,
        }
    }

    fn counted(&mut self, node: &Loop, mut state: State) -> Option<State> {
        let mut right = all();
        for bound in [&node.lo, &node.hi, &node.step] {
            self.common(bound, &state);
            let bound = self.scalar(bound, &state);
            right = self.sets.meet(&right, &bound);
        }
        state.give(node.var, right);
        let mut turn = |this: &mut Self, head: State| this.block(&node.body, head);
        let (head, turns) = self.turns(&state, &[&node.body], &mut turn);
        self.either(Some(head), turns.breaks)
    }

    fn forever(&mut self, body: &Block, step: &Block, state: State) -> Option<State> {
        let here = state.here;
        let mut turn = |this: &mut Self, head: State| {
            let end = this.block(body, head);
            let continues = this.loops.last_mut().and_then(|turns| turns.continues.take());
            let continues = continues.map(|state| state.among(here));
            let end = this.either(end, continues)?;
            this.block(step, end)
        };
        self.turns(&state, &[body, step], &mut turn).1.breaks
    }

    /// The head of a loop, and where its jumps come from, when all turns have been seen.
    fn turns(
        &mut self,
        state: &State,
        blocks: &[&Block],
        turn: &mut dyn FnMut(&mut Self, State) -> Option<State>,
    ) -> (State, Turns) {
        let mut head = Head::new(&mut self.sets, state, assigned(blocks));
        let (errors, loops, scopes) = (self.checker.errors.len(), self.loops.clone(), self.scopes.clone());
        loop {
            self.loops.push(Turns::default());
            let end = turn(self, head.state.clone());
            let turns = self.loops.pop().unwrap_or_default().among(state.here);
            let back = self.either(end, turns.continues.clone());
            let changed = back.is_some_and(|back| head.keep(&mut self.sets, &back));
            if !changed {
                return (head.state, turns);
            }
            self.checker.errors.truncate(errors);
            (self.loops, self.scopes) = (loops.clone(), scopes.clone());
        }
    }
}

/// The masks that have a lane if a condition holds, and if it does not.
fn asked(cond: &Expr) -> (Option<VarId>, Option<VarId>) {
    match &cond.kind {
        ExprKind::Any(mask) => (Some(*mask), None),
        ExprKind::Unary(UnOp::Not, of) => match of.kind {
            ExprKind::Any(mask) => (None, Some(mask)),
            _ => (None, None),
        },
        _ => (None, None),
    }
}

/// The variables and arrays from outside of blocks that these assign to.
fn assigned(blocks: &[&Block]) -> Vec<VarId> {
    let mut found = OrdSet::new();
    let mut inside = OrdSet::new();
    for block in blocks {
        each_stmt(block, &mut |stmt| {
            found.extend(overwritten(stmt));
            inside.extend(introduced(stmt));
            match stmt {
                Stmt::Store { target, .. } => {
                    found.insert(target.base);
                }
                Stmt::Wide(WideStmt::Store { target, .. }) => {
                    found.insert(target.base);
                }
                Stmt::Wide(WideStmt::Anew(var)) => {
                    found.insert(*var);
                }
                _ => {}
            }
        });
    }
    found.difference(&inside).copied().collect()
}

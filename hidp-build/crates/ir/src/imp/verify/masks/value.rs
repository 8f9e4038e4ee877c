//! The lanes in which values are what the program says.

use super::Walk;
use super::sets::{ALL, OWN, Set, State, Union, all};
use crate::imp::visit::operands;
use crate::imp::{Expr, ExprKind, VarId, Wide, WideCall, WideElement, WideIndex, WideKind, wide_operands};
use crate::par::{BinOp, UnOp};

const NAMED: &str = "lanes that are named have an iteration, and all lanes know who they are";
const OTHERS: &str = "lanes read what was given to them";
const NOBODY: &str = "what is the same in all lanes is loaded, and divided by, where some lane is";

/// What is known of a wide value.
pub(super) struct Known {
    /// The lanes in which it is what the program says.
    pub(super) right: Union,
    /// Of a mask: sets that hold all lanes for which it is true.
    pub(super) within: Union,
}

fn is_constant(node: &Expr) -> bool {
    matches!(node.kind, ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_))
}

impl Walk<'_, '_> {
    /// The set of a mask that says who does something.
    pub(super) fn named(&mut self, mask: VarId, state: &State) -> Set {
        let set = state.set_of(mask);
        let known = self.sets.is_within(set, OWN) && state.right_of(mask).contains(&ALL);
        self.checker.require(known, NAMED);
        set
    }

    /// Requires that a value is right in some lanes.
    pub(super) fn read_by(&mut self, lanes: Set, right: &Union) {
        let theirs = self.sets.covers(right, lanes);
        self.checker.require(theirs, OTHERS);
    }

    /// That some lane is here.
    fn somebody(&mut self, state: &State) {
        let somebody = state.has_lane(&self.sets, state.here());
        self.checker.require(somebody, NOBODY);
    }

    /// A value that all lanes that are here have in common.
    pub(super) fn common(&mut self, node: &Expr, state: &State) {
        let right = self.scalar(node, state);
        self.read_by(state.here(), &right);
    }

    /// The lanes in which a scalar is what the program says.
    pub(super) fn scalar(&mut self, node: &Expr, state: &State) -> Union {
        let mut right = all();
        for operand in operands(node) {
            let of_operand = self.scalar(operand, state);
            right = self.sets.meet(&right, &of_operand);
        }
        match &node.kind {
            ExprKind::Var(var) => right = state.right_of(*var),
            ExprKind::Any(mask) => {
                let known = state.right_of(*mask).contains(&ALL);
                self.checker.require(known, NAMED);
            }
            ExprKind::Least { of, mask } => {
                let lanes = self.named(*mask, state);
                self.read_by(lanes, &state.right_of(*of));
            }
            ExprKind::Load(element) => {
                self.somebody(state);
                self.read_by(state.here(), &right);
                right = self.sets.meet(&right, &state.right_of(element.base));
            }
            ExprKind::Binary(BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr, _, by) if !is_constant(by) => {
                self.somebody(state);
                self.read_by(state.here(), &right);
            }
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::MulAdd(..)
            | ExprKind::AbsDiffAdd(..)
            | ExprKind::Gather(..)
            | ExprKind::Lazy(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Near(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerIndex
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..)
            | ExprKind::Broadcast(..)
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters => {}
        }
        right
    }

    /// Checks who accesses elements. The lanes in which what they hold is right.
    pub(super) fn element(&mut self, element: &WideElement, state: &State) -> Union {
        let mut right = state.right_of(element.base);
        let lanes = match element.mask {
            Some(mask) => {
                let lanes = self.named(mask, state);
                right = self.sets.meet(&right, &Union::from([lanes]));
                lanes
            }
            None => state.here(),
        };
        match &element.index {
            WideIndex::Own(index) => {
                if !is_constant(index) {
                    self.somebody(state);
                }
                self.common(index, state);
            }
            WideIndex::Every { first, stride } => {
                for part in [first, stride] {
                    let part = self.scalar(part, state);
                    self.read_by(lanes, &part);
                }
            }
            WideIndex::Each(index) => {
                let index = self.wide(index, state);
                self.read_by(lanes, &index.right);
            }
        }
        right
    }

    /// What is known of a wide value.
    pub(super) fn wide(&mut self, wide: &Wide, state: &State) -> Known {
        let right = match &wide.kind {
            WideKind::Splat(of) | WideKind::Iota(of) => self.scalar(of, state),
            WideKind::Var(var) => {
                let within = self.sets.around(state.set_of(*var)).clone();
                return Known { right: state.right_of(*var), within };
            }
            WideKind::Load(element) => self.element(element, state),
            WideKind::Binary(op, a, b) => return self.binary(*op, a, b, state),
            WideKind::Select(cond, then, otherwise) => self.choice(cond, then, otherwise, state),
            WideKind::Call(call) => self.call(call, state),
            WideKind::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot, _)
            | WideKind::MulAdd(..)
            | WideKind::Cast(_)
            | WideKind::Math(..) => {
                let mut right = all();
                for operand in wide_operands(wide) {
                    let operand = self.wide(operand, state).right;
                    right = self.sets.meet(&right, &operand);
                }
                right
            }
        };
        Known { right, within: all() }
    }

    fn binary(&mut self, op: BinOp, a: &Wide, b: &Wide, state: &State) -> Known {
        let (left, right) = (self.wide(a, state), self.wide(b, state));
        let both = self.sets.meet(&left.right, &right.right);
        match op {
            BinOp::And => {
                // Where a mask is false, it does not matter what it is combined with.
                let mut known = both;
                for (mask, other) in [(&left, &right), (&right, &left)] {
                    if !mask.within.is_disjoint(&other.right) {
                        known.extend(&mask.right);
                    }
                }
                Known { right: known, within: left.within.union(&right.within).copied().collect() }
            }
            BinOp::Or => Known { right: both, within: left.within.intersection(&right.within).copied().collect() },
            BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr => {
                // Its other side is a constant.
                if let WideKind::Select(cond, ..) = &b.kind
                    && !a.ty.is_float()
                {
                    let WideKind::Var(mask) = cond.kind else {
                        self.checker.require(false, NAMED);
                        return Known { right: both, within: all() };
                    };
                    let lanes = self.named(mask, state);
                    self.read_by(lanes, &right.right);
                }
                Known { right: both, within: all() }
            }
            BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Xor
            | BinOp::Lt
            | BinOp::Le
            | BinOp::Gt
            | BinOp::Ge
            | BinOp::Eq
            | BinOp::Ne => Known { right: both, within: all() },
        }
    }

    fn choice(&mut self, cond: &Wide, then: &Wide, otherwise: &Wide, state: &State) -> Union {
        let cond = self.wide(cond, state);
        let (then, otherwise) = (self.wide(then, state).right, self.wide(otherwise, state).right);
        let right = self.sets.meet(&cond.right, &otherwise);
        // Lanes that do not choose a side may have anything there.
        if cond.within.is_disjoint(&then) { self.sets.meet(&right, &then) } else { right }
    }

    fn call(&mut self, call: &WideCall, state: &State) -> Union {
        let lanes = self.named(call.mask, state);
        for arg in &call.args {
            let arg = self.wide(arg, state);
            self.read_by(lanes, &arg.right);
        }
        Union::from([lanes])
    }
}

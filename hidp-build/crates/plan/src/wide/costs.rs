//! Rough tenths of a cycle per iteration, alone and as one of a group of lanes; instruction sets differ by more than a finer model would resolve.
//! A gather costs as many loads, plus storing their addresses and merging their values, which is more per load than a scalar loop pays.

use super::numbers;
use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{BinOp, Expr, ExprKind, MathFn, Program, ScalarFnId, Stmt, StmtKind};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Scalar;

/// What something costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) in_order: f64,
    pub(super) in_lanes: f64,
    /// If one lane after the other does it: how that is said.
    pub(super) slow: Option<&'static str>,
}

const fn vector(in_order: f64, in_lanes: f64) -> Cost {
    Cost { in_order, in_lanes, slow: None }
}
const fn lane_by_lane(in_order: f64, in_lanes: f64, slow: &'static str) -> Cost {
    Cost { in_order, in_lanes, slow: Some(slow) }
}

/// An operator, a load of neighbours.
pub(super) const OPERATION: Cost = vector(5.0, 1.0);
/// A root, a function that vectors have, and a quotient of floats.
pub(super) const ROOT: Cost = vector(60.0, 12.0);
pub(super) const MATHS: Cost = vector(150.0, 20.0);
pub(super) const RATIO: Cost = vector(40.0, 8.0);
/// Data that decide where to go on are guessed wrong.
pub(super) const BRANCH: Cost = vector(15.0, 3.0);
/// They halve what is left to search: every other one is wrong.
pub(super) const SEARCH: Cost = vector(75.0, 3.0);
/// A number of neighbouring structs: their places need not be kept.
pub(super) const FIELD: Cost = lane_by_lane(5.0, 12.0, "a loop accesses elements one lane after the other");
/// One for all lanes, which each of them loads.
pub(super) const SAME: Cost = lane_by_lane(5.0, 60.0, "a loop accesses elements one lane after the other");
pub(super) const ELEMENT: Cost = lane_by_lane(5.0, 25.0, "a loop accesses elements one lane after the other");
/// With the bus locked, or in a copy of each thread.
pub(super) const ATOMIC: Cost = lane_by_lane(200.0, 220.0, "a loop updates elements one lane after the other");
/// What an iteration folds.
pub(super) const ADDED: Cost = lane_by_lane(10.0, 40.0, "the outermost map folds values one lane after the other");
pub(super) const UPDATE: Cost = lane_by_lane(10.0, 22.0, "a loop updates elements one lane after the other");
/// By a constant: a product and shifts.
pub(super) const QUOTIENT: Cost = vector(10.0, 4.0);
/// The same of 64 bits: a product of floats and one of integers, conversions, and a correction.
pub(super) const LONG_QUOTIENT: Cost = vector(10.0, 8.0);
/// A quotient of floats, and conversions.
pub(super) const DIVISION: Cost = vector(60.0, 20.0);
pub(super) const LONG_DIVISION: Cost = vector(100.0, 20.0);
pub(super) const CALL: Cost = lane_by_lane(100.0, 120.0, "a loop calls a function one lane after the other");
pub(super) const PRIMITIVE: Cost = lane_by_lane(500.0, 530.0, "a loop calls a primitive one lane after the other");
pub(super) const LIBRARY: Cost =
    lane_by_lane(100.0, 120.0, "a loop calls a function of the C library one lane after the other");
/// An operand of a call, or a number of its result: lanes go through memory.
const OPERAND: f64 = 3.0;

/// What the operator of an expression costs, without operands; of a call, none.
pub(super) fn of_operator(expr: &Expr) -> Option<Cost> {
    let scalar = expr.ty.scalar();
    let integer = scalar.is_some_and(Scalar::is_integer);
    let narrow = scalar.is_some_and(|scalar| scalar.size() <= 4);
    match &expr.kind {
        ExprKind::Binary { op: BinOp::Div | BinOp::Rem, right, .. } if integer => {
            let shifts = |by: i128| by & (by - 1) == 0;
            Some(match right.as_int().filter(|by| *by > 0) {
                Some(by) if narrow || shifts(by) => QUOTIENT,
                Some(_) => LONG_QUOTIENT,
                None if narrow => DIVISION,
                None => LONG_DIVISION,
            })
        }
        ExprKind::Binary { op: BinOp::Div, .. } => Some(RATIO),
        ExprKind::Math(MathFn::Tgamma | MathFn::Lgamma | MathFn::Fmod, _) => Some(LIBRARY),
        ExprKind::Math(MathFn::Min | MathFn::Max | MathFn::Abs | MathFn::Fma, _) => Some(OPERATION),
        ExprKind::Math(MathFn::Sqrt, _) => Some(ROOT),
        ExprKind::Math(..) => Some(MATHS),
        ExprKind::Unary(..) | ExprKind::Binary { .. } | ExprKind::Lazy { .. } | ExprKind::Select { .. } => {
            Some(OPERATION)
        }
        // Places are looked at by themselves.
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Call(..)
        | ExprKind::Convert { .. }
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

/// Calls of functions. Lanes call one after the other, in a loop of which compilers make vectors if the function has none, once for each number of
/// its result.
pub(super) struct Calls<'a> {
    program: &'a Program,
    /// Functions that were looked into: what calls others twice would be looked into as often as there are ways to it.
    known: OrdMap<ScalarFnId, Cost>,
}

impl<'a> Calls<'a> {
    pub(super) fn of(program: &'a Program) -> Self {
        Calls { program, known: OrdMap::new() }
    }

    /// What a call costs, without operands.
    pub(super) fn cost(&mut self, function: ScalarFnId) -> Cost {
        if let Some(known) = self.known.get(&function) {
            return *known;
        }
        let cost = self.look_into(function);
        self.known.insert(function, cost);
        cost
    }

    fn look_into(&mut self, function: ScalarFnId) -> Cost {
        let program = self.program;
        let item = &program.scalar_fns[function];
        let Some(block) = &item.body else { return CALL };
        let count = |ty| numbers(program, ty).len() as f64;
        let operands: f64 = item.params.iter().map(|param| count(item.vars[*param].ty)).sum();
        let mut body = Body { calls: self, cost: vector(0.0, OPERAND * (operands + 1.0)) };
        body.visit_block(block);
        let cost = body.cost;
        if cost.slow.is_some() { CALL } else { vector(cost.in_order, cost.in_lanes * count(item.result)) }
    }
}

struct Body<'a, 'p> {
    calls: &'a mut Calls<'p>,
    cost: Cost,
}

impl Body<'_, '_> {
    fn add(&mut self, cost: Cost) {
        self.cost.in_order += cost.in_order;
        self.cost.in_lanes += cost.in_lanes;
        self.cost.slow = self.cost.slow.or(cost.slow);
    }
}

impl Visitor for Body<'_, '_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if matches!(stmt.kind, StmtKind::Loop(_)) {
            self.add(CALL);
        }
        if matches!(stmt.kind, StmtKind::If { .. }) {
            self.add(BRANCH);
        }
        look::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &Expr) {
        if let ExprKind::Call(function, _) = &expr.kind {
            let cost = self.calls.cost(*function);
            self.add(cost);
        }
        if let Some(cost) = of_operator(expr) {
            self.add(cost);
        }
        look::walk_expr(self, expr);
    }
}

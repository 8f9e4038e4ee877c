//! Groups of lanes: what stands in them, types of wide values, masks.

use super::expr::is_integer;
use super::{Checker, Surroundings, masks};
use crate::imp::{
    Expr, ExprKind, Group, InTurn, Lanes, SetLanes, Stmt, Taken, UnitTarget, VarId, VarKind, Wide, WideCall,
    WideElement, WideIndex, WideKind, WideStmt,
};
use crate::par::numbers::numbers;
use crate::par::{BinOp, FoldFn, MathFn, UnOp};
use hidp_syntax::ty::{Scalar, Ty};

impl Checker<'_> {
    pub(super) fn group_of_lanes(&mut self, group: &Group, around: &Surroundings) {
        self.of_processors();
        self.require(around.lanes.is_none(), "groups of lanes do not nest");
        self.lanes_exist(group.lanes);
        self.typed(&group.lo, Ty::LONG);
        self.typed(&group.hi, Ty::LONG);
        let before = self.visible.len();
        self.require(self.kind(group.first) == VarKind::Value(Ty::LONG), "a group's first position is a `long` value");
        for var in [group.first, group.here] {
            self.introduce(var);
            self.read_only.insert(var);
        }
        self.mask(group.here, Some(group.lanes));
        // A `break` would leave the loop over groups.
        let outside = Surroundings { in_loop: false, labels: Vec::new(), ..around.clone() };
        let labels = group.again.iter().map(|again| self.new_label(again.label)).collect();
        let inside = Surroundings { labels, lanes: Some(group.lanes), ..outside.clone() };
        let errors = self.errors.len();
        self.block(&group.body, &inside);
        // It takes what stands there as it should be.
        if self.errors.len() == errors {
            masks::check(self, group);
        }
        // The mask is of the lanes alone.
        self.visible.truncate(before);
        if let Some(again) = &group.again {
            self.visible.push(group.first);
            self.block(&again.body, &outside);
            self.visible.truncate(before);
        }
    }

    pub(super) fn of_processors(&mut self) {
        let in_kernel = self.kernel.is_some() && self.unit.target == UnitTarget::Cpu;
        self.require(in_kernel, "groups of lanes are in kernels of CPU units only");
    }

    pub(super) fn lanes_exist(&mut self, Lanes { bits, groups }: Lanes) {
        let known = [8, 16, 32, 64].contains(&bits) && [1, 2, 4, 8].contains(&groups);
        self.require(known, "lanes have 8, 16, 32 or 64 bits, and a group 1, 2, 4 or 8 vectors of them");
    }

    /// One statement of a group.
    pub(super) fn in_lanes(&mut self, stmt: &Stmt) {
        let fits = match stmt {
            Stmt::At(_)
            | Stmt::Let { .. }
            | Stmt::Set { .. }
            | Stmt::If { .. }
            | Stmt::Loop(_)
            | Stmt::Forever { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Scope { .. }
            | Stmt::Leave(Some(_))
            | Stmt::InTurn(_)
            | Stmt::Wide(_)
            // What is wrong with it is said there.
            | Stmt::Group(_) => true,
            // What is the same in all lanes may be an array.
            Stmt::Store { target, .. } => matches!(self.kind(target.base), VarKind::Tile { .. }),
            Stmt::Atomic { .. }
            | Stmt::Leave(None)
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
            | Stmt::Prim(_) => false,
        };
        self.require(fits, "groups of lanes hold only values, branches, loops, and statements about wide values");
    }

    /// Lanes one after the other: what they do has no lanes, and may begin the group anew.
    pub(super) fn in_turn(&mut self, turn: &InTurn, around: &Surroundings) {
        let Some(lanes) = around.lanes else {
            return self.fail("lanes take turns in their group");
        };
        self.mask(turn.mask, Some(lanes));
        let before = self.visible.len();
        self.require(self.kind(turn.lane) == VarKind::Value(Ty::LONG), "the number of a lane is a `long` value");
        self.introduce(turn.lane);
        self.read_only.insert(turn.lane);
        for Taken { scalar, wide } in &turn.taken {
            self.use_var(*wide);
            let fits = match (self.kind(*scalar), self.kind(*wide)) {
                (VarKind::Value(ty), VarKind::Wide { elem, lanes: own }) => ty == elem.into() && own == lanes,
                _ => false,
            };
            self.require(fits, "what is taken of a lane is a number of a wide value");
            self.introduce(*scalar);
            self.read_only.insert(*scalar);
        }
        let alone = Surroundings { lanes: None, in_loop: false, ..around.clone() };
        self.block(&turn.body, &alone);
        self.visible.truncate(before);
    }

    pub(super) fn wide_stmt(&mut self, stmt: &WideStmt, around: &Surroundings) {
        let Some(lanes) = around.lanes else {
            return self.fail("statements about wide values stand in a group of lanes");
        };
        match stmt {
            WideStmt::Let { var, init } => {
                match (self.kind(*var), init) {
                    (VarKind::Wide { elem, lanes: own }, init) => {
                        self.require(own == lanes, "a wide value has the lanes of its group");
                        init.iter().for_each(|init| self.wide_of(init, elem, lanes));
                    }
                    (VarKind::WideTile { lanes: own, len: Some(_), .. }, None) => {
                        self.require(own == lanes, "a wide tile has the lanes of its group");
                    }
                    _ => self.fail("wide values, and wide tiles without a first value but of known length, are introduced in a group"),
                }
                self.introduce(*var);
            }
            WideStmt::Here(mask) => self.mask(*mask, Some(lanes)),
            WideStmt::Anew(var) => {
                self.use_var(*var);
                let outside = matches!(self.kind(*var), VarKind::WideTile { len: None, .. });
                self.require(outside, "what begins anew is an array of lanes from outside of the group");
            }
            WideStmt::Set { var, value, lanes: whose } => {
                self.use_var(*var);
                self.require(!self.read_only.contains(var), "the lanes of a group are read only");
                let VarKind::Wide { elem, .. } = self.kind(*var) else { return self.fail("only wide values are set") };
                self.wide_of(value, elem, lanes);
                if let SetLanes::Only(mask) = whose {
                    self.mask(*mask, Some(lanes));
                }
            }
            WideStmt::Store { target, value } => {
                let elem = self.wide_element(target, lanes);
                self.wide_of(value, elem, lanes);
                self.writable_lanes(target);
            }
            WideStmt::Update { target, op, value } => {
                let elem = self.wide_element(target, lanes);
                self.wide_of(value, elem, lanes);
                self.writable_lanes(target);
                let buffer = matches!(self.kind(target.base), VarKind::Buffer { .. });
                let fits = match op {
                    FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max => elem != Scalar::Bool,
                    FoldFn::And | FoldFn::Or | FoldFn::Xor => elem.is_integer(),
                    FoldFn::Fn(_) => false,
                };
                self.require(
                    buffer && elem.size() >= 4 && fits,
                    "updates of lanes are built-in ones of 32- and 64-bit elements of buffers",
                );
            }
            WideStmt::AddUp { sum, mask, value } => {
                [*sum, *value].into_iter().for_each(|var| self.use_var(var));
                self.mask(*mask, Some(lanes));
                let fits = match (self.kind(*sum), self.kind(*value)) {
                    (VarKind::Value(ty), VarKind::Wide { elem, lanes: own }) => {
                        elem.is_integer() && ty == elem.into() && own == lanes
                    }
                    _ => false,
                };
                self.require(fits && !self.read_only.contains(sum), "lanes add up integers to a value of their type");
            }
        }
    }

    fn writable_lanes(&mut self, target: &WideElement) {
        let is_read_only = matches!(self.kind(target.base), VarKind::Buffer { writable: false, .. });
        self.require(!is_read_only, "a read-only buffer is not written");
    }

    /// A mask, of these lanes if they are known.
    pub(super) fn mask(&mut self, var: VarId, lanes: Option<Lanes>) {
        self.use_var(var);
        let VarKind::Wide { elem, lanes: own } = self.kind(var) else { return self.fail("a mask is a wide value") };
        let fits = elem == Scalar::Bool && lanes.is_none_or(|lanes| lanes == own);
        self.require(fits, "a mask is of type `bool` and has the lanes of its group");
    }

    /// A wide variable of whole numbers.
    pub(super) fn wide_long(&mut self, var: VarId) {
        self.use_var(var);
        let is_long = matches!(self.kind(var), VarKind::Wide { elem: Scalar::I64, .. });
        self.require(is_long, "the least is that of a wide `long` value");
    }

    /// A wide value of a given type.
    fn wide_of(&mut self, wide: &Wide, elem: Scalar, lanes: Lanes) {
        self.wide(wide, lanes);
        if wide.ty != elem {
            self.fail(format!("a wide value of type {} stands where one of type {elem} must", wide.ty));
        }
    }

    fn wide_element(&mut self, element: &WideElement, lanes: Lanes) -> Scalar {
        self.use_var(element.base);
        element.mask.iter().for_each(|mask| self.mask(*mask, Some(lanes)));
        match &element.index {
            WideIndex::Own(index) => self.typed(index, Ty::LONG),
            WideIndex::Every { first, stride } => {
                self.typed(first, Ty::LONG);
                self.typed(stride, Ty::LONG);
            }
            WideIndex::Each(index) => self.wide_of(index, Scalar::I64, lanes),
        }
        match (self.kind(element.base), &element.index) {
            (
                VarKind::Buffer { elem, .. } | VarKind::Tile { elem, .. },
                WideIndex::Every { .. } | WideIndex::Each(_),
            ) => {
                self.require(element.mask.is_some(), "who accesses what lanes share says which of them do");
                let Ty::Scalar(elem) = self.path(elem, &element.path) else {
                    self.fail("lanes access numbers, of structs their fields");
                    return Scalar::I64;
                };
                elem
            }
            (VarKind::WideTile { elem, lanes: own, .. }, WideIndex::Own(_) | WideIndex::Each(_)) => {
                self.require(
                    element.path.is_empty() && !element.relaxed,
                    "a wide tile holds numbers of its lanes alone",
                );
                self.require(own == lanes, "a wide tile has the lanes of its group");
                let each = matches!(element.index, WideIndex::Each(_));
                self.require(!each || element.mask.is_some(), "lanes that follow their own indices are named");
                elem
            }
            _ => {
                self.fail("lanes access buffers and tiles, from lane to lane or each its own, and wide tiles");
                Scalar::I64
            }
        }
    }

    fn wide(&mut self, wide: &Wide, lanes: Lanes) {
        self.require(wide.lanes == lanes, "a wide value has the lanes of its group");
        let ty = wide.ty;
        match &wide.kind {
            WideKind::Splat(of) => self.typed(of, ty.into()),
            WideKind::Iota(first) => {
                self.typed(first, Ty::LONG);
                self.require(ty == Scalar::I64, "positions of lanes are `long`");
            }
            WideKind::Var(var) => {
                self.use_var(*var);
                let fits = matches!(self.kind(*var), VarKind::Wide { elem, .. } if elem == ty);
                self.require(fits, "a wide variable has its own type");
            }
            WideKind::Load(element) => {
                let elem = self.wide_element(element, lanes);
                self.require(elem == ty, "a load has the type of the elements");
            }
            WideKind::Unary(op, a) => {
                self.wide_of(a, ty, lanes);
                let fits = match op {
                    UnOp::Neg => ty != Scalar::Bool,
                    UnOp::Not => ty == Scalar::Bool,
                    UnOp::BitNot => ty.is_integer(),
                };
                self.require(fits, "the operand of a prefix operator has a type that it is made for");
            }
            WideKind::Binary(op, a, b) => self.wide_binary(ty, *op, a, b, lanes),
            WideKind::MulAdd(a, b, c) => [a, b, c].into_iter().for_each(|operand| self.wide_of(operand, ty, lanes)),
            WideKind::Select(c, a, b) => {
                self.wide_of(c, Scalar::Bool, lanes);
                self.wide_of(a, ty, lanes);
                self.wide_of(b, ty, lanes);
            }
            WideKind::Cast(a) => self.wide(a, lanes),
            WideKind::Math(function, args) => {
                let tells = matches!(function, MathFn::Isnan | MathFn::Isinf | MathFn::Isfinite);
                let of = if tells { args.first().map_or(ty, |arg| arg.ty) } else { ty };
                self.require(!tells || ty == Scalar::Bool, "what tells a kind of number is a mask");
                self.require(args.len() == function.arity(), "a maths function has as many operands as it takes");
                args.iter().for_each(|arg| self.wide_of(arg, of, lanes));
            }
            WideKind::Call(call) => self.wide_call(call, ty, lanes),
        }
    }

    fn wide_call(&mut self, call: &WideCall, ty: Scalar, lanes: Lanes) {
        self.mask(call.mask, Some(lanes));
        let function = &self.program.scalar_fns[call.function];
        let params = function.params.iter().flat_map(|var| numbers(self.program, function.vars[*var].ty));
        let params: Vec<Scalar> = params.map(|number| number.ty).collect();
        let fits = params.len() == call.args.len() && self.path(function.result, &call.path) == Ty::Scalar(ty);
        self.require(fits, "arguments of a scalar function have its parameters' types");
        for (param, arg) in params.into_iter().zip(&call.args) {
            self.wide_of(arg, param, lanes);
        }
        let raises = crate::imp::can_trap(self.program, call.function);
        self.require(!raises, "what is called in lanes cannot fault");
    }

    fn wide_binary(&mut self, ty: Scalar, op: BinOp, a: &Wide, b: &Wide, lanes: Lanes) {
        self.wide(a, lanes);
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        self.wide_of(b, if shift { b.ty } else { a.ty }, lanes);
        self.require(
            ty == if op.is_comparison() { Scalar::Bool } else { a.ty },
            "an operator gives what it gives in one lane",
        );
        let masks = matches!(op, BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Eq | BinOp::Ne);
        self.require(a.ty != Scalar::Bool || masks, "masks are combined by `&`, `|`, `^`, `==` and `!=`");
        let demands = shift || (matches!(op, BinOp::Div | BinOp::Rem) && is_integer(a.ty.into()));
        let harmless = match &b.kind {
            WideKind::Select(_, _, otherwise) => is_constant(otherwise),
            WideKind::Splat(of) => match &of.kind {
                ExprKind::Select(_, _, otherwise) => is_int(otherwise),
                _ => is_int(of),
            },
            _ => false,
        };
        self.require(!demands || harmless, "divisors and counts are harmless in lanes that are elsewhere");
    }
}

fn is_constant(wide: &Wide) -> bool {
    matches!(&wide.kind, WideKind::Splat(of) if is_int(of))
}

fn is_int(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Int(_))
}

//! Follows the lanes of a warp through a kernel.

use std::collections::{BTreeMap, BTreeSet};

use super::lanes::{Atoms, LANES, Value};
use super::poly::Poly;
use super::requests::{pattern, sectors, turns};
use super::{Access, Action, Cost, Pattern, field, is_integer, size_of};
use hidp_ir::imp::{
    Block, Element, Expr, ExprKind, Function, Grid, Kernel, Level, Loop, LoopKind, Numbers, PrimArg, Share, Stmt,
    VarId, VarKind, visit,
};
use hidp_ir::par::{BinOp, MathFn, Program, UnOp};
use hidp_plan::target::DeviceModel;
use hidp_syntax::index::Id as _;

/// The accesses of a kernel to memory that several lanes see; its last `positions` parameters are positions.
pub(super) fn accesses(
    program: &Program,
    kernel: &Kernel,
    grid: Grid,
    positions: usize,
    model: &DeviceModel,
) -> Vec<Access> {
    // A variable that is set in a way that lanes may differ in is unknown. Which ones are, shows while others are taken for known.
    let mut differing = BTreeSet::new();
    let numbers = Numbers::of(&kernel.function);
    loop {
        let mut walk = Walk::new(program, kernel, grid, model, &numbers, differing.clone());
        walk.positions(positions);
        walk.block(&kernel.function.body);
        if walk.differing == differing {
            return walk.found;
        }
        differing = walk.differing;
    }
}

struct Walk<'a> {
    program: &'a Program,
    function: &'a Function,
    grid: Grid,
    model: &'a DeviceModel,
    numbers: &'a Numbers,
    atoms: Atoms,
    values: BTreeMap<VarId, Value>,
    /// Variables that are assigned more than once.
    changed: BTreeSet<VarId>,
    differing: BTreeSet<VarId>,
    /// Lanes of the warp that execute what is at hand.
    active: Vec<usize>,
    /// Whether lanes may have gone different ways.
    divergent: bool,
    depth: u32,
    found: Vec<Access>,
}

impl<'a> Walk<'a> {
    fn new(
        program: &'a Program,
        kernel: &'a Kernel,
        grid: Grid,
        model: &'a DeviceModel,
        numbers: &'a Numbers,
        differing: BTreeSet<VarId>,
    ) -> Self {
        let mut changed = BTreeSet::new();
        visit::each_stmt(&kernel.function.body, &mut |stmt| changed.extend(visit::overwritten(stmt)));
        Walk {
            program,
            function: &kernel.function,
            grid,
            model,
            numbers,
            atoms: Atoms::default(),
            values: BTreeMap::new(),
            changed,
            differing,
            active: (0..LANES).collect(),
            divergent: false,
            depth: 0,
            found: Vec::new(),
        }
    }

    /// Lanes of a warp that a group has.
    fn width(&self, level: Level) -> usize {
        (self.model.lanes(level, self.grid.block) as usize).clamp(1, LANES)
    }

    /// The item's number varies fastest from group to group.
    fn positions(&mut self, count: usize) {
        let params = &self.function.params;
        let Some(last) = params.last().copied() else { return };
        for (&param, name) in params.iter().rev().take(count).zip(["item.x", "item.y", "item.z"]) {
            let base = self.atoms.atom(name, name);
            let width = self.width(self.grid.level);
            let step = |lane: usize| Poly::constant((lane / width) as i64);
            let value = if param == last { Value::spread(&base, step) } else { Value::Uniform(base) };
            self.values.insert(param, value);
        }
    }

    fn own_atom(&mut self, var: VarId) -> Poly {
        self.atoms.atom(&format!("x{}", var.index()), &self.function.vars[var].name)
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::At(_) => {}
            Stmt::Let { var, init } => {
                let value = init.as_ref().map(|init| self.eval(init));
                self.assign(*var, value);
            }
            Stmt::Set { var, path, value } => {
                let value = self.eval(value);
                self.assign(*var, Some(if path.is_empty() { value } else { Value::Unknown }));
            }
            Stmt::Store { target, value } => {
                self.eval(value);
                self.access(target, Action::Store, 1);
            }
            Stmt::Move { to, from, count } => {
                self.access(from, Action::Load, *count);
                self.access(to, Action::Store, *count);
            }
            Stmt::Atomic { target, op: _, value } => {
                self.eval(value);
                self.access(target, Action::Update, 1);
            }
            Stmt::If { cond, then, otherwise } => {
                let around = self.divergent;
                self.divergent |= !self.eval(cond).is_uniform();
                self.block(then);
                self.block(otherwise);
                self.divergent = around;
            }
            Stmt::Loop(node) => self.counted(node),
            Stmt::Forever { body, step } => self.deeper(|this| {
                this.block(body);
                this.block(step);
            }),
            Stmt::Scope { body, .. } => self.block(body),
            Stmt::Lanes { group, lane, body } => {
                // Of the group's first warp.
                let width = self.width(*group);
                let number = Value::spread(&Poly::default(), |lane| Poly::constant((lane % width) as i64));
                self.values.insert(*lane, number);
                self.block(body);
            }
            Stmt::Single { group, body } => {
                let width = self.width(*group);
                self.among(|lane| lane % width == 0, |this| this.block(body));
            }
            Stmt::Prim(prim) => {
                for arg in &prim.args {
                    match arg {
                        PrimArg::Value(value) | PrimArg::Address { offset: value, .. } => {
                            self.eval(value);
                        }
                        PrimArg::Out(var) => {
                            let value = self.of_group(*var, self.grid.level);
                            self.assign(*var, Some(value));
                        }
                    }
                }
            }
            Stmt::Fault { values, .. } => values.iter().for_each(|value| {
                self.eval(value);
            }),
            // Without accesses, or of the host or the CPU.
            Stmt::Sync(_)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Leave(_)
            | Stmt::CheckTrap
            | Stmt::Alloc { .. }
            | Stmt::Free(_)
            | Stmt::Scratch { .. }
            | Stmt::Swap(..)
            | Stmt::Launch { .. }
            | Stmt::LaunchGrid { .. }
            | Stmt::StreamOut { .. } => {}
        }
    }

    fn deeper(&mut self, inside: impl FnOnce(&mut Self)) {
        self.depth += 1;
        inside(self);
        self.depth -= 1;
    }

    fn among(&mut self, takes_part: impl Fn(usize) -> bool, inside: impl FnOnce(&mut Self)) {
        let around = self.active.clone();
        self.active.retain(|lane| takes_part(*lane));
        inside(self);
        self.active = around;
    }

    fn assign(&mut self, var: VarId, value: Option<Value>) {
        if !self.changed.contains(&var) {
            let value = match value {
                Some(value) => value,
                None => Value::Uniform(self.own_atom(var)),
            };
            self.values.insert(var, value);
            return;
        }
        let differs = self.divergent || value.is_some_and(|value| !value.is_uniform());
        if differs {
            self.differing.insert(var);
        }
        let value = if self.differing.contains(&var) { Value::Unknown } else { Value::Uniform(self.own_atom(var)) };
        self.values.insert(var, value);
    }

    fn counted(&mut self, node: &Loop) {
        let (low, step) = (self.eval(&node.lo), self.eval(&node.step));
        self.eval(&node.hi);
        let turns = Value::Uniform(self.own_atom(node.var));
        // Of a loop that begins at a constant its variable is that plus whole steps.
        let start =
            if matches!(&low, Value::Uniform(low) if low.known() == Some(0)) { turns } else { low.plus(&turns) };
        let first = match &node.kind {
            LoopKind::Seq | LoopKind::Unroll(_) | LoopKind::Simd { .. } => start,
            LoopKind::Spread { group, over, share, reductions } => {
                for reduction in reductions {
                    self.values.insert(reduction.var, Value::Unknown);
                }
                let (width, part) = (self.width(*group), self.width(*over));
                let rank = Value::spread(&Poly::default(), |lane| Poly::constant((lane % width / part) as i64));
                let length = match share {
                    Share::Cyclic => Value::known(1),
                    Share::Blocked => Value::Uniform(self.atoms.atom("part", "part")),
                };
                start.plus(&rank.times(&length).times(&step))
            }
        };
        self.values.insert(node.var, first);
        self.deeper(|this| this.block(&node.body));
        if let LoopKind::Spread { group, reductions, .. } = &node.kind {
            for reduction in reductions {
                let value = self.of_group(reduction.var, *group);
                self.values.insert(reduction.var, value);
            }
        }
    }

    /// What the lanes of a group found together: the same in all of a warp if that is one group.
    fn of_group(&mut self, var: VarId, group: Level) -> Value {
        if self.width(group) == LANES { Value::Uniform(self.own_atom(var)) } else { Value::Unknown }
    }

    fn eval(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Int(value) => i64::try_from(*value).map_or(Value::Unknown, Value::known),
            ExprKind::Var(var) => self.value_of(*var),
            ExprKind::Load(element) => {
                let value = self.access(element, Action::Load, 1);
                self.opaque(expr, &[value])
            }
            ExprKind::Unary(UnOp::Neg, operand) if is_integer(expr.ty) => {
                let operand = self.eval(operand);
                Value::known(0).minus(&operand)
            }
            ExprKind::Binary(op, left, right) => {
                let (first, second) = (self.eval(left), self.eval(right));
                if is_integer(left.ty) {
                    self.arithmetic(expr, *op, &first, &second)
                } else {
                    self.opaque(expr, &[first, second])
                }
            }
            ExprKind::Cast(operand) => {
                let value = self.eval(operand);
                if is_integer(expr.ty) && is_integer(operand.ty) { value } else { self.opaque(expr, &[value]) }
            }
            ExprKind::Math(MathFn::Min | MathFn::Max, operands) => {
                let values: Vec<Value> = operands.iter().map(|operand| self.eval(operand)).collect();
                self.clamped(expr, &values)
            }
            ExprKind::Select(cond, then, otherwise) => {
                let cond = self.eval(cond);
                let values = [self.eval(then), self.eval(otherwise)];
                if cond.is_uniform() && values[0] == values[1] {
                    values[0].clone()
                } else {
                    self.clamped(expr, &values)
                }
            }
            ExprKind::Broadcast(group, inner) => {
                let width = self.width(*group);
                let mut value = Value::Unknown;
                self.among(|lane| lane % width == 0, |this| value = this.eval(inner));
                if width == LANES { self.opaque(expr, &[]) } else { self.opaque(expr, &[value]) }
            }
            ExprKind::WorkerIndex => {
                let (base, width) = (self.atoms.atom("group", "group"), self.width(self.grid.level));
                Value::spread(&base, |lane| Poly::constant((lane / width) as i64))
            }
            ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Unary(..)
            | ExprKind::MulAdd(..)
            | ExprKind::Lazy(..)
            | ExprKind::Math(..)
            | ExprKind::Near(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..) => {
                let values: Vec<Value> = visit::operands(expr).into_iter().map(|operand| self.eval(operand)).collect();
                self.opaque(expr, &values)
            }
        }
    }

    fn value_of(&mut self, var: VarId) -> Value {
        match self.values.get(&var) {
            Some(value) => value.clone(),
            None => Value::Uniform(self.own_atom(var)),
        }
    }

    fn arithmetic(&mut self, expr: &Expr, op: BinOp, left: &Value, right: &Value) -> Value {
        let divisor = match right {
            Value::Uniform(right) => right.known().filter(|right| *right > 0),
            Value::Lanes(_) | Value::Unknown => None,
        };
        match (op, divisor) {
            (BinOp::Add, _) => left.plus(right),
            (BinOp::Sub, _) => left.minus(right),
            (BinOp::Mul, _) => left.times(right),
            (BinOp::Div, Some(divisor)) => left.over(divisor, &mut self.atoms),
            (BinOp::Rem, Some(divisor)) if !left.is_uniform() => left.modulo(divisor),
            (BinOp::Rem, Some(_)) => self.opaque(expr, std::slice::from_ref(left)),
            // Rows are longer than a warp.
            (BinOp::Div, None) if right.is_uniform() && *left != Value::Unknown => self.opaque(expr, &[]),
            (BinOp::Rem, None) if right.is_uniform() && *left != Value::Unknown => {
                let turns = self.opaque(expr, &[]);
                left.minus(&turns.times(right))
            }
            (
                BinOp::Div
                | BinOp::Rem
                | BinOp::Shl
                | BinOp::Shr
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Eq
                | BinOp::Ne
                | BinOp::Lt
                | BinOp::Le
                | BinOp::Gt
                | BinOp::Ge,
                _,
            ) => self.opaque(expr, &[left.clone(), right.clone()]),
        }
    }

    /// A value that a bound or a condition keeps inside: it is taken for inside.
    fn clamped(&mut self, expr: &Expr, values: &[Value]) -> Value {
        let mut lanes = values.iter().filter(|value| !value.is_uniform());
        match (lanes.next(), lanes.next()) {
            (Some(only), None) => only.clone(),
            _ => self.opaque(expr, values),
        }
    }

    /// Something that is not looked into: the same in all lanes if all that it is made of is.
    fn opaque(&mut self, expr: &Expr, of: &[Value]) -> Value {
        if of.iter().all(Value::is_uniform) {
            Value::Uniform(self.atoms.atom(&format!("{:?}", expr.kind), &self.name(expr)))
        } else {
            Value::Unknown
        }
    }

    /// A short name for readers.
    fn name(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Load(element) => format!("{}[…]", self.function.vars[element.base].name),
            ExprKind::Broadcast(_, inner) => self.name(inner),
            _ => "…".to_owned(),
        }
    }

    /// Notes an access to so many elements. Gives the index.
    fn access(&mut self, element: &Element, action: Action, count: u32) -> Value {
        let index = self.eval(&element.index);
        let (elem, writable, shared) = match self.function.vars[element.base].kind {
            VarKind::Buffer { elem, writable } => (elem, writable, false),
            VarKind::Shared { elem, .. } => (elem, true, true),
            VarKind::Tile { .. } | VarKind::Registers { .. } => return Value::Unknown,
            VarKind::Value(_) | VarKind::HostCell { .. } => return index,
        };
        let action = if action == Action::Load && element.relaxed { Action::LoadRelaxed } else { action };
        let places = index.lanes().map(|lanes| self.active.iter().map(|lane| lanes[*lane].clone()).collect::<Vec<_>>());
        let read_only = action == Action::Load && !writable;
        let (size, (first, bytes)) = (size_of(self.program, elem), field(self.program, elem, &element.path));
        let part = (first, bytes * count);
        let access = Access {
            action,
            array: self.function.vars[element.base].name.clone(),
            index: places.as_ref().map_or("…".to_owned(), |places| self.atoms.text(&places[0])),
            depth: self.depth,
            times: 1,
            sites: self.numbers.access(element).into_iter().collect(),
            lanes: self.active.len() as u32,
            pattern: self.pattern_of(places.as_deref()),
            cost: self.cost(places.as_deref(), (size, part), shared, read_only),
        };
        self.note(access);
        index
    }

    fn pattern_of(&self, places: Option<&[Poly]>) -> Pattern {
        match places {
            _ if self.active.len() == 1 => Pattern::OneLane,
            Some(places) => pattern(places, &self.atoms),
            None => Pattern::Irregular,
        }
    }

    fn cost(&self, places: Option<&[Poly]>, (size, part): (u32, (u32, u32)), shared: bool, read_only: bool) -> Cost {
        let lanes = self.active.len() as u32;
        match (places, shared) {
            (Some(places), true) => {
                let (turns, least) = turns(&self.active, places, size, part);
                Cost::Shared { turns, least }
            }
            (None, true) => Cost::Shared { turns: lanes, least: 1 },
            (Some(places), false) => {
                let (sectors, least) = sectors(places, size, part);
                Cost::Global { sectors, least, read_only }
            }
            (None, false) => Cost::Global {
                sectors: lanes * part.1.div_ceil(super::SECTOR),
                least: (lanes * part.1).div_ceil(super::SECTOR).max(1),
                read_only,
            },
        }
    }

    fn note(&mut self, access: Access) {
        let same =
            |other: &&mut Access| Access { times: 1, sites: access.sites.clone(), ..(**other).clone() } == access;
        match self.found.iter_mut().find(same) {
            Some(known) => {
                known.times += 1;
                known.sites.extend(&access.sites);
            }
            None => self.found.push(access),
        }
    }
}

//! Functions of units, statement by statement; of a group of lanes, all lanes of a statement.
//!
//! A lane that is not here holds, where an assignment may leave anything, a value that shows up in results.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hidp_build::compiler::ir::imp::{
    self, Block, Element, Expr, ExprKind, Function, Group, InTurn, PrimArg, SetLanes, SiteId, Stmt, VarId, VarKind,
    Wide, WideElement, WideIndex, WideStmt,
};
use hidp_build::compiler::ir::par::interp::{Value, cast, fold_step};
use hidp_build::compiler::ir::par::{FoldFn, Program};
use hidp_build::compiler::ty::{Scalar, Ty};

/// Why a run has no results.
pub(super) enum Stop {
    /// It has something that is not interpreted here.
    Unknown(&'static str),
    /// It does what no unit may do.
    Wrong(String),
}

pub(super) type Run<T> = Result<T, Stop>;

pub(super) type Memory = Rc<RefCell<Vec<Value>>>;

/// What a variable holds.
#[derive(Clone)]
pub(super) enum Slot {
    Value(Value),
    /// Elements, from one on.
    Buffer(Memory, usize),
    /// A value in each lane.
    Wide(Vec<Value>),
    /// An array in each lane: for each element what lanes have there.
    Tile(Vec<Vec<Value>>),
}

/// How a block ends.
pub(super) enum Flow {
    On,
    Break,
    Continue,
    Leave(Option<u32>),
    Fault(SiteId, Vec<i64>),
}

/// A function that runs.
pub(super) struct Machine<'u> {
    pub(super) program: &'u Program,
    pub(super) unit: &'u imp::Unit,
    pub(super) function: &'u Function,
    pub(super) slots: BTreeMap<VarId, Slot>,
    /// How many lanes there are.
    pub(super) count: usize,
    /// The mask of those that are here.
    pub(super) here: Option<VarId>,
    /// Whether the statement before ran a kernel.
    pub(super) has_run: bool,
}

/// What shows up in results.
pub(super) fn garbage(program: &Program, ty: Ty) -> Value {
    match ty {
        Ty::Scalar(Scalar::F32) => Value::F32(f32::NAN),
        Ty::Scalar(Scalar::F64) => Value::F64(f64::NAN),
        Ty::Scalar(Scalar::Bool) => Value::Bool(true),
        Ty::Scalar(scalar) => cast(&Value::I64(0x5a5a_5a5a_5a5a_5a5a), scalar),
        Ty::Struct(_) => Value::zero(program, ty),
    }
}

pub(super) fn integer(value: &Value) -> i64 {
    value.as_integer().unwrap_or(0) as i64
}

pub(super) fn truth(value: &Value) -> bool {
    *value == Value::Bool(true)
}

/// The same value, with another one at the end of a path.
fn replaced(of: Value, path: &[u32], new: Value) -> Value {
    match (path.split_first(), of) {
        (Some((field, rest)), Value::Struct(fields)) => {
            let mut fields = (*fields).clone();
            let field = *field as usize;
            fields[field] = replaced(fields[field].clone(), rest, new);
            Value::Struct(Rc::new(fields))
        }
        (_, _) => new,
    }
}

pub(super) fn field_of(of: &Value, path: &[u32]) -> Value {
    path.iter().fold(of.clone(), |value, field| match &value {
        Value::Struct(fields) => fields[*field as usize].clone(),
        _ => value,
    })
}

impl<'u> Machine<'u> {
    pub(super) fn kind(&self, var: VarId) -> VarKind {
        self.function.vars[var].kind
    }

    pub(super) fn slot(&self, var: VarId) -> Run<&Slot> {
        self.slots.get(&var).ok_or_else(|| Stop::Wrong(format!("{var:?} has no value")))
    }

    pub(super) fn lanes_of(&self, var: VarId) -> Run<Vec<Value>> {
        match self.slot(var)? {
            Slot::Wide(lanes) => Ok(lanes.clone()),
            Slot::Value(_) | Slot::Buffer(..) | Slot::Tile(_) => Err(Stop::Wrong(format!("{var:?} is not wide"))),
        }
    }

    /// Which lanes a mask holds: those that are here, if none is named.
    pub(super) fn mask(&self, mask: Option<VarId>) -> Run<Vec<bool>> {
        match mask.or(self.here) {
            Some(mask) => Ok(self.lanes_of(mask)?.iter().map(truth).collect()),
            None => Ok(vec![true; self.count]),
        }
    }

    pub(super) fn buffer(&self, var: VarId) -> Run<(Memory, usize)> {
        match self.slot(var)? {
            Slot::Buffer(memory, first) => Ok((memory.clone(), *first)),
            Slot::Value(_) | Slot::Wide(_) | Slot::Tile(_) => Err(Stop::Wrong(format!("{var:?} is no buffer"))),
        }
    }

    /// Where an element is. The first of an empty buffer may be read.
    pub(super) fn load_at(&self, base: VarId, index: i64) -> Run<Value> {
        let (memory, first) = self.buffer(base)?;
        let memory = memory.borrow();
        match usize::try_from(first as i64 + index).ok().and_then(|at| memory.get(at)) {
            Some(value) => Ok(value.clone()),
            None if index == 0 => Ok(garbage(self.program, self.kind(base).element())),
            None => Err(Stop::Wrong(format!("element {index} of {base:?} is loaded, which has {}", memory.len()))),
        }
    }

    fn store_at(&self, base: VarId, index: i64, path: &[u32], value: Value) -> Run<()> {
        let (memory, first) = self.buffer(base)?;
        let mut memory = memory.borrow_mut();
        let count = memory.len();
        let at = usize::try_from(first as i64 + index).ok().and_then(|at| memory.get_mut(at));
        let Some(at) = at else {
            return Err(Stop::Wrong(format!("element {index} of {base:?} is stored, which has {count}")));
        };
        *at = replaced(at.clone(), path, value);
        Ok(())
    }

    fn update_at(&self, (base, index, path): (VarId, i64, &[u32]), op: FoldFn, value: &Value) -> Run<()> {
        let before = field_of(&self.load_at(base, index)?, path);
        self.store_at(base, index, path, fold_step(op, &before, value))
    }

    fn store(&self, target: &Element, value: Value) -> Run<()> {
        let index = self.long(&target.index)?;
        self.store_at(target.base, index, &target.path, value)
    }

    pub(super) fn block(&mut self, block: &'u Block) -> Run<Flow> {
        let here = self.here;
        for stmt in &block.stmts {
            match self.stmt(stmt)? {
                Flow::On => {}
                other => {
                    self.here = here;
                    return Ok(other);
                }
            }
        }
        self.here = here;
        Ok(Flow::On)
    }

    fn stmt(&mut self, stmt: &'u Stmt) -> Run<Flow> {
        match stmt {
            Stmt::At(_) | Stmt::Free(_) => {}
            Stmt::Let { var, init } => self.declare(*var, init.as_ref())?,
            Stmt::Set { var, path, value } => {
                let value = self.eval(value)?;
                let before = match self.slots.get(var) {
                    Some(Slot::Value(before)) => before.clone(),
                    _ => value.clone(),
                };
                self.slots.insert(*var, Slot::Value(replaced(before, path, value)));
            }
            Stmt::Store { target, value } => self.store(target, self.eval(value)?)?,
            Stmt::Atomic { target, op, value } => {
                let at = (target.base, self.long(&target.index)?, &target.path[..]);
                self.update_at(at, *op, &self.eval(value)?)?;
            }
            Stmt::If { cond, then, otherwise } => {
                let side = if truth(&self.eval(cond)?) { then } else { otherwise };
                return self.block(side);
            }
            Stmt::Loop(node) => return self.counted(node),
            Stmt::Forever { body, step } => return self.forever(body, step),
            Stmt::Break => return Ok(Flow::Break),
            Stmt::Continue => return Ok(Flow::Continue),
            Stmt::Scope { label, body } => {
                return Ok(match self.block(body)? {
                    Flow::Leave(Some(left)) if left == *label => Flow::On,
                    other => other,
                });
            }
            Stmt::Leave(label) => return Ok(Flow::Leave(*label)),
            Stmt::Fault { site, values } => {
                let values = values.iter().map(|value| self.long(value)).collect::<Run<_>>()?;
                return Ok(Flow::Fault(*site, values));
            }
            Stmt::Alloc { var, count, zero, .. } | Stmt::Scratch { var, count, zero, .. } => {
                self.allocate(*var, count, *zero)?;
            }
            Stmt::Part { var, of, first } => {
                let (memory, from) = self.buffer(*of)?;
                let first = self.long(first)? as usize;
                self.slots.insert(*var, Slot::Buffer(memory, from + first));
            }
            Stmt::Either { var, cond, then, otherwise } => {
                let of = if truth(&self.eval(cond)?) { then } else { otherwise };
                let chosen = self.slot(*of)?.clone();
                self.slots.insert(*var, chosen);
            }
            Stmt::Prefetch { of, index } => {
                self.buffer(*of)?;
                self.long(index)?;
            }
            Stmt::Swap(a, b) => {
                let (of_a, of_b) = (self.slot(*a)?.clone(), self.slot(*b)?.clone());
                self.slots.insert(*a, of_b);
                self.slots.insert(*b, of_a);
            }
            Stmt::Launch { kernel, args, extent, .. } => return self.run(*kernel, args, [0, self.long(extent)?]),
            // A fault goes on from there.
            Stmt::Run { kernel, args, begin, end } => {
                let range = [self.long(begin)?, self.long(end)?];
                self.has_run = true;
                return self.run(*kernel, args, range);
            }
            Stmt::Group(group) => return self.group(group),
            Stmt::InTurn(turn) => return self.in_turn(turn),
            Stmt::Wide(stmt) => self.wide_stmt(stmt)?,
            Stmt::CheckTrap if std::mem::take(&mut self.has_run) => {}
            Stmt::CheckTrap => return Err(Stop::Unknown("functions that can fault")),
            Stmt::Prim(call) if call.function == "worker_order" => self.ordered(&call.args)?,
            Stmt::Prim(_) => return Err(Stop::Unknown("primitives")),
            Stmt::Move { .. } | Stmt::StreamOut { .. } => return Err(Stop::Unknown("copies of rows")),
            Stmt::LaunchGrid { .. } | Stmt::Single { .. } | Stmt::Sync(_) | Stmt::Lanes { .. } | Stmt::Shuffle(_) => {
                return Err(Stop::Unknown("units for devices"));
            }
        }
        Ok(Flow::On)
    }

    /// The numbers of iterations by their lengths, the longest ones first.
    fn ordered(&mut self, args: &[PrimArg]) -> Run<()> {
        let [
            PrimArg::Address { base: lengths, .. },
            PrimArg::Address { base: order, .. },
            PrimArg::Value(first),
            PrimArg::Value(count),
        ] = args
        else {
            return Err(Stop::Wrong("lengths, an order, the first iteration and how many there are".to_owned()));
        };
        let (first, count) = (self.long(first)?, self.long(count)?);
        let mut places: Vec<(i64, i64)> = Vec::new();
        for at in 0..count {
            match self.load_at(*lengths, at)? {
                Value::I64(length) => places.push((length, at)),
                other => return Err(Stop::Wrong(format!("a length is {other:?}"))),
            }
        }
        places.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let (memory, from) = self.buffer(*order)?;
        for (place, (_, at)) in places.into_iter().enumerate() {
            memory.borrow_mut()[from + place] = Value::I64(first + at);
        }
        Ok(())
    }

    fn declare(&mut self, var: VarId, init: Option<&Expr>) -> Run<()> {
        let slot = match (self.kind(var), init) {
            (_, Some(init)) => Slot::Value(self.eval(init)?),
            (VarKind::Tile { elem, len }, None) => {
                let none = garbage(self.program, elem);
                Slot::Buffer(Rc::new(RefCell::new(vec![none; len as usize])), 0)
            }
            (kind, None) => Slot::Value(garbage(self.program, kind.element())),
        };
        self.slots.insert(var, slot);
        Ok(())
    }

    fn allocate(&mut self, var: VarId, count: &Expr, zero: bool) -> Run<()> {
        let count = self.long(count)? as usize;
        let elem = self.kind(var).element();
        let none = if zero { Value::zero(self.program, elem) } else { garbage(self.program, elem) };
        let slot = match self.kind(var) {
            VarKind::WideTile { .. } => Slot::Tile(vec![vec![none; self.count]; count]),
            _ => Slot::Buffer(Rc::new(RefCell::new(vec![none; count])), 0),
        };
        self.slots.insert(var, slot);
        Ok(())
    }

    fn counted(&mut self, node: &'u imp::Loop) -> Run<Flow> {
        let (lo, hi, step) = (self.long(&node.lo)?, self.long(&node.hi)?, self.long(&node.step)?);
        let mut at = lo;
        while at < hi {
            self.slots.insert(node.var, Slot::Value(Value::I64(at)));
            match self.block(&node.body)? {
                Flow::On | Flow::Continue => {}
                Flow::Break => break,
                other => return Ok(other),
            }
            at += step;
        }
        Ok(Flow::On)
    }

    fn forever(&mut self, body: &'u Block, step: &'u Block) -> Run<Flow> {
        loop {
            match self.block(body)? {
                Flow::On | Flow::Continue => {}
                Flow::Break => return Ok(Flow::On),
                other => return Ok(other),
            }
            self.block(step)?;
        }
    }

    /// One call over all positions.
    fn run(&mut self, kernel: imp::KernelId, args: &'u [Expr], range: [i64; 2]) -> Run<Flow> {
        let function = &self.unit.kernels[kernel].function;
        let mut slots = BTreeMap::new();
        for (param, arg) in function.params.iter().zip(args) {
            let slot = match (function.vars[*param].kind, &arg.kind) {
                (VarKind::Buffer { .. }, ExprKind::Var(var)) => self.slot(*var)?.clone(),
                _ => Slot::Value(self.eval(arg)?),
            };
            slots.insert(*param, slot);
        }
        for (param, position) in function.params[args.len()..].iter().zip(range) {
            slots.insert(*param, Slot::Value(Value::I64(position)));
        }
        let (program, unit, count) = (self.program, self.unit, self.count);
        let mut inside = Machine { program, unit, function, slots, count, here: None, has_run: false };
        Ok(match inside.block(&function.body)? {
            Flow::On | Flow::Leave(None) => Flow::On,
            other => other,
        })
    }

    fn group(&mut self, group: &'u Group) -> Run<Flow> {
        let (mut first, hi) = (self.long(&group.lo)?, self.long(&group.hi)?);
        while first < hi {
            if group.is_whole && first + self.count as i64 > hi {
                return Err(Stop::Wrong("a whole group has lanes without an iteration".to_owned()));
            }
            let here = (0..self.count as i64).map(|lane| Value::Bool(first + lane < hi)).collect();
            self.slots.insert(group.first, Slot::Value(Value::I64(first)));
            self.slots.insert(group.here, Slot::Wide(here));
            self.here = Some(group.here);
            let end = self.block(&group.body);
            self.here = None;
            let end = match (end?, &group.again) {
                (Flow::Leave(Some(left)), Some(again)) if left == again.label => self.block(&again.body)?,
                (end, _) => end,
            };
            match end {
                Flow::On => {}
                other => return Ok(other),
            }
            first += self.count as i64;
        }
        Ok(Flow::On)
    }

    fn in_turn(&mut self, turn: &'u InTurn) -> Run<Flow> {
        for (lane, takes) in self.mask(Some(turn.mask))?.into_iter().enumerate() {
            if !takes {
                continue;
            }
            self.slots.insert(turn.lane, Slot::Value(Value::I64(lane as i64)));
            for taken in &turn.taken {
                let value = self.lanes_of(taken.wide)?[lane].clone();
                self.slots.insert(taken.scalar, Slot::Value(value));
            }
            match self.block(&turn.body)? {
                Flow::On => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::On)
    }

    fn wide_stmt(&mut self, stmt: &'u WideStmt) -> Run<()> {
        match stmt {
            WideStmt::Here(mask) => self.here = Some(*mask),
            WideStmt::Let { var, init: Some(init) } => {
                let lanes = self.wide(init)?;
                self.slots.insert(*var, Slot::Wide(lanes));
            }
            WideStmt::Let { var, init: None } | WideStmt::Anew(var) => {
                let len = match (self.kind(*var), self.slots.get(var)) {
                    (VarKind::WideTile { len: Some(len), .. }, _) => len as usize,
                    (_, Some(Slot::Tile(elements))) => elements.len(),
                    (_, _) => 0,
                };
                let none = garbage(self.program, self.kind(*var).element());
                self.slots.insert(*var, Slot::Tile(vec![vec![none; self.count]; len]));
            }
            WideStmt::Set { var, value, lanes } => self.set_lanes(*var, value, *lanes)?,
            WideStmt::Store { target, value } => {
                let values = self.wide(value)?;
                self.store_lanes(target, values, None)?;
            }
            WideStmt::Update { target, op, value } => {
                let values = self.wide(value)?;
                self.store_lanes(target, values, Some(*op))?;
            }
            WideStmt::AddUp { sum, mask, value } => self.add_up(*sum, *mask, *value)?,
        }
        Ok(())
    }

    fn add_up(&mut self, sum: VarId, mask: VarId, value: VarId) -> Run<()> {
        let Slot::Value(mut total) = self.slot(sum)?.clone() else {
            return Err(Stop::Wrong(format!("{sum:?} is no value")));
        };
        let lanes = self.mask(Some(mask))?.into_iter().zip(self.lanes_of(value)?);
        for (_, value) in lanes.filter(|(takes, _)| *takes) {
            total = fold_step(FoldFn::Add, &total, &value);
        }
        self.slots.insert(sum, Slot::Value(total));
        Ok(())
    }

    fn set_lanes(&mut self, var: VarId, value: &'u Wide, lanes: SetLanes) -> Run<()> {
        let before = self.lanes_of(var)?;
        let new = self.wide(value)?;
        let none = garbage(self.program, value.ty.into());
        let all = vec![true; self.count];
        let (whose, others) = match lanes {
            SetLanes::All => (all, before),
            SetLanes::Here => (self.mask(None)?, vec![none; self.count]),
            SetLanes::Only(mask) => (self.mask(Some(mask))?, before),
        };
        let mixed = whose.into_iter().zip(new).zip(others);
        let mixed = mixed.map(|((takes, new), other)| if takes { new } else { other }).collect();
        self.slots.insert(var, Slot::Wide(mixed));
        Ok(())
    }

    /// Where each lane's element is.
    pub(super) fn places(&self, element: &WideElement) -> Run<Vec<i64>> {
        match &element.index {
            WideIndex::Own(index) => Ok(vec![self.long(index)?; self.count]),
            WideIndex::Every { first, stride } => {
                let (first, stride) = (self.long(first)?, self.long(stride)?);
                Ok((0..self.count as i64).map(|lane| first.wrapping_add(lane.wrapping_mul(stride))).collect())
            }
            WideIndex::Each(index) => Ok(self.wide(index)?.iter().map(integer).collect()),
        }
    }

    fn store_lanes(&mut self, target: &WideElement, values: Vec<Value>, op: Option<FoldFn>) -> Run<()> {
        let (places, whose) = (self.places(target)?, self.mask(target.mask)?);
        let none = garbage(self.program, self.kind(target.base).element());
        for (lane, ((at, takes), value)) in places.into_iter().zip(whose).zip(values).enumerate() {
            match self.slots.get_mut(&target.base) {
                Some(Slot::Tile(elements)) => {
                    let count = elements.len();
                    let element = usize::try_from(at).ok().and_then(|at| elements.get_mut(at));
                    match (takes, element) {
                        (true, Some(element)) => element[lane] = value,
                        // Without a mask others are left anything.
                        (false, Some(element)) if target.mask.is_none() => element[lane] = none.clone(),
                        (true, None) => return Err(Stop::Wrong(format!("element {at} of {count} is stored"))),
                        (false, _) => {}
                    }
                }
                _ if !takes => {}
                _ => match op {
                    Some(op) => self.update_at((target.base, at, &target.path), op, &value)?,
                    None => self.store_at(target.base, at, &target.path, value)?,
                },
            }
        }
        Ok(())
    }
}

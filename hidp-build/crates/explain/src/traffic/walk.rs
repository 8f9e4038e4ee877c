//! Follows the lanes of a warp through a kernel.

use super::atoms::{Atoms, Facts, Range};
use super::claim::{self, Bytes, Reason};
use super::host::Launched;
use super::lanes::{LANES, Value};
use super::poly::Poly;
use super::requests::{pattern, sectors, turns};
use super::{Access, Action, Cost, Pattern, field, is_integer, size_of};
use hidp_ir::imp::{
    Block, Element, Function, Grid, Kernel, Level, Loop, LoopKind, Numbers, PrimArg, Share, Stmt, VarId, VarKind, visit,
};
use hidp_ir::par::Program;
use hidp_plan::target::DeviceModel;
use hidp_syntax::index::Id as _;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// The accesses of a kernel to memory that several lanes see, as it is launched.
pub(super) fn accesses(
    program: &Program,
    kernel: &Kernel,
    grid: Grid,
    launched: &Launched,
    model: &DeviceModel,
) -> Vec<Access> {
    // A variable that is set in a way that lanes may differ in is unknown, and a loop that lanes may leave at different times is one
    // that not all go through. Which ones are, shows while others are taken for the same in all.
    let (mut differing, mut ragged) = (OrdSet::new(), OrdSet::new());
    let numbers = Numbers::of(&kernel.function);
    loop {
        let mut walk = Walk::new(program, ("kernel", &kernel.function), grid, model, launched.atoms.clone());
        (walk.numbers, walk.differing, walk.ragged) = (Some(&numbers), differing.clone(), ragged.clone());
        walk.copied = kernel.copies.iter().map(|copy| copy.all).collect();
        walk.launched(launched);
        walk.block(&kernel.function.body);
        if walk.differing == differing && walk.ragged == ragged {
            return walk.found;
        }
        (differing, ragged) = (walk.differing, walk.ragged);
    }
}

/// Names of an item's numbers, fastest first.
pub(super) const POSITIONS: [&str; 3] = ["item.x", "item.y", "item.z"];

pub(super) struct Walk<'a> {
    program: &'a Program,
    /// Tells the function's atoms from those of another one.
    pub(super) scope: &'static str,
    pub(super) function: &'a Function,
    pub(super) grid: Grid,
    model: &'a DeviceModel,
    numbers: Option<&'a Numbers>,
    pub(super) atoms: Atoms,
    pub(super) values: OrdMap<VarId, Value>,
    /// Variables that are assigned more than once.
    changed: OrdSet<VarId>,
    differing: OrdSet<VarId>,
    /// Loops that lanes may leave at different times, by their number in the text; loops met so far; the ones around what is at hand.
    ragged: OrdSet<usize>,
    loops: usize,
    around: Vec<usize>,
    /// Lanes of the warp that execute what is at hand.
    active: Vec<usize>,
    /// Why not all of them may come to what is at hand.
    pub(super) apart: Option<Reason>,
    depth: u32,
    /// Arrays of which blocks may have copies: sizes say where updates go.
    copied: OrdSet<VarId>,
    found: Vec<Access>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        program: &'a Program,
        (scope, function): (&'static str, &'a Function),
        grid: Grid,
        model: &'a DeviceModel,
        atoms: Atoms,
    ) -> Self {
        let mut changed = OrdSet::new();
        visit::each_stmt(&function.body, &mut |stmt| changed.extend(visit::overwritten(stmt)));
        Walk {
            program,
            scope,
            function,
            grid,
            model,
            numbers: None,
            atoms,
            values: OrdMap::new(),
            changed,
            differing: OrdSet::new(),
            ragged: OrdSet::new(),
            loops: 0,
            around: Vec::new(),
            active: (0..LANES).collect(),
            apart: None,
            depth: 0,
            copied: OrdSet::new(),
            found: Vec::new(),
        }
    }

    /// Lanes of a warp that a group has.
    pub(super) fn width(&self, level: Level) -> usize {
        (self.model.lanes(level, self.grid.block) as usize).clamp(1, LANES)
    }

    /// What the host says: the values of parameters, and of how many items there are. The item's number varies fastest from group to group.
    fn launched(&mut self, launched: &Launched) {
        let count = launched.extents.len();
        let params = &self.function.params;
        let (given, positions) = params.split_at(params.len() - count.min(params.len()));
        for (&param, value) in given.iter().zip(&launched.args) {
            if let VarKind::Value(ty) = self.function.vars[param].kind
                && is_integer(ty)
                && let Value::Uniform(value, None) = value
            {
                self.values.insert(param, Value::uniform(value.clone()));
            }
        }
        let width = self.width(self.grid.level);
        let groups = (LANES / width) as i64;
        let whole = launched.extents.last().is_some_and(|extent| self.atoms.step(extent) % groups == 0);
        if !whole || launched.limited {
            self.apart = Some(Reason::Tail);
        }
        for (at, (&param, name)) in positions.iter().rev().zip(POSITIONS).enumerate() {
            let more = |lane: usize| Poly::constant((lane / width) as i64);
            let along = Some(&param) == params.last();
            let base = self.atoms.atom(name, name, Facts::NONE);
            let step = if along && !launched.limited { groups } else { 1 };
            let last = launched.extents.iter().rev().nth(at).and_then(|extent| self.atoms.range(extent).high);
            // Of the first lane of a warp.
            let last = last.map(|last| if step > 1 { (last - 1) / step * step } else { last - 1 });
            self.atoms.learn(name, Facts { step, range: Range::up_to(last) });
            let value = if along { Value::spread(&base, more) } else { Value::uniform(base) };
            self.values.insert(param, value);
        }
    }

    pub(super) fn set(&mut self, var: VarId, value: Value) {
        self.values.insert(var, value);
    }

    pub(super) fn own_atom(&mut self, var: VarId) -> Poly {
        self.own(var, Facts::NONE)
    }

    fn own(&mut self, var: VarId, facts: Facts) -> Poly {
        let key = format!("{} x{}", self.scope, var.index());
        self.atoms.atom(&key, &self.function.vars[var].name, facts)
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) {
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
                let cond = self.eval(cond);
                let around = self.apart;
                if !cond.is_surely_uniform() {
                    self.apart = self.apart.or(Some(Reason::Branch));
                }
                self.block(then);
                self.block(otherwise);
                self.apart = around;
            }
            Stmt::Loop(node) => self.counted(node),
            Stmt::Forever { body, step } => self.in_loop(None, |this| {
                this.block(body);
                this.block(step);
            }),
            Stmt::Scope { body, .. } => self.block(body),
            Stmt::Lanes { group, lane, body } => {
                let width = self.width(*group);
                // Of the group's first warp, and so many more in others.
                let first = if *group == Level::Block {
                    let last = i64::from(self.grid.block) - LANES as i64;
                    self.own(*lane, Facts { step: LANES as i64, range: Range::up_to(Some(last)) })
                } else {
                    Poly::default()
                };
                let number = Value::spread(&first, |lane| Poly::constant((lane % width) as i64));
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
            Stmt::Break | Stmt::Continue => self.leaves(self.around.last().copied()),
            Stmt::Leave(_) => self.leaves(None),
            // Without accesses, or of the host or the CPU. A fault ends what is counted.
            Stmt::Sync(_)
            | Stmt::Shuffle(_)
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
            | Stmt::StreamOut { .. }
            | Stmt::Group(_)
            | Stmt::InTurn(_)
            | Stmt::Wide(_) => {}
        }
    }

    /// What is inside a loop, in which lanes may be apart for a reason.
    fn in_loop(&mut self, reason: Option<Reason>, inside: impl FnOnce(&mut Self)) {
        let (around, number) = (self.apart, self.loops);
        self.loops += 1;
        let left = self.ragged.contains(&number).then_some(Reason::Branch);
        self.apart = self.apart.or(reason).or(left);
        self.around.push(number);
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.around.pop();
        self.apart = around;
    }

    /// Some lanes may leave a loop, or all of them.
    fn leaves(&mut self, one: Option<usize>) {
        if self.apart.is_some() {
            let all = self.around.clone();
            self.ragged.extend(one.map_or(all, |one| vec![one]));
        }
    }

    pub(super) fn among(&mut self, takes_part: impl Fn(usize) -> bool, inside: impl FnOnce(&mut Self)) {
        let around = self.active.clone();
        self.active.retain(|lane| takes_part(*lane));
        inside(self);
        self.active = around;
    }

    fn assign(&mut self, var: VarId, value: Option<Value>) {
        if !self.changed.contains(&var) {
            let value = match value {
                Some(value) => value,
                None => Value::uniform(self.own_atom(var)),
            };
            self.values.insert(var, value);
            return;
        }
        let differs = self.apart == Some(Reason::Branch) || value.is_some_and(|value| !value.is_uniform());
        if differs {
            self.differing.insert(var);
        }
        let value = if self.differing.contains(&var) { Value::Unknown } else { Value::uniform(self.own_atom(var)) };
        self.values.insert(var, value);
    }

    fn counted(&mut self, node: &Loop) {
        let (low, high, step) = (self.eval(&node.lo), self.eval(&node.hi), self.eval(&node.step));
        let length = high.minus(&low);
        let stride = match &step {
            Value::Uniform(step, None) => self.atoms.step(step),
            Value::Uniform(..) | Value::Lanes(..) | Value::Unknown => 1,
        };
        let (ranks, apart) = match &node.kind {
            LoopKind::Seq | LoopKind::Unroll(_) | LoopKind::Simd { .. } | LoopKind::Across | LoopKind::Pack => {
                (1, (!length.is_surely_uniform() || !step.is_surely_uniform()).then_some(Reason::Branch))
            }
            LoopKind::Spread { group, over, share, reductions } => {
                reductions.iter().for_each(|reduction| self.set(reduction.var, Value::Unknown));
                let ranks = (self.width(*group) / self.width(*over)) as i64;
                let whole = match (&length, share) {
                    (Value::Uniform(length, None), Share::Cyclic) => self.atoms.step(length) % (ranks * stride) == 0,
                    (Value::Uniform(..) | Value::Lanes(..) | Value::Unknown, _) => false,
                };
                (ranks, (!whole).then_some(Reason::Tail))
            }
        };
        let range = match &length {
            Value::Uniform(length, _) => self.atoms.range(length),
            Value::Lanes(..) | Value::Unknown => Range::ALL,
        };
        // A loop that does not begin has no values.
        let last = range.high.map(|length| ((length - 1).max(0) / (ranks * stride)) * ranks * stride);
        let facts = Facts { step: ranks * stride, range: Range::up_to(last) };
        let turns = Value::uniform(self.own(node.var, facts));
        // Of a loop that begins at a constant its variable is that plus whole steps.
        let is_zero = matches!(&low, Value::Uniform(low, None) if low.known() == Some(0));
        let start = if is_zero { turns } else { low.plus(&turns) };
        let first = match &node.kind {
            LoopKind::Seq | LoopKind::Unroll(_) | LoopKind::Simd { .. } | LoopKind::Across | LoopKind::Pack => start,
            LoopKind::Spread { group, over, share, reductions: _ } => {
                let (width, part) = (self.width(*group), self.width(*over));
                let rank = Value::spread(&Poly::default(), |lane| Poly::constant((lane % width / part) as i64));
                let length = match share {
                    Share::Cyclic => Value::known(1),
                    Share::Blocked => Value::uniform(self.atoms.atom("part", "part", Facts::NONE)),
                };
                start.plus(&rank.times(&length).times(&step))
            }
        };
        self.set(node.var, first);
        self.in_loop(apart, |this| this.block(&node.body));
        if let LoopKind::Spread { group, reductions, .. } = &node.kind {
            for reduction in reductions {
                let value = self.of_group(reduction.var, *group);
                self.set(reduction.var, value);
            }
        }
    }

    /// What the lanes of a group found together: the same in all of a warp if that is one group.
    fn of_group(&mut self, var: VarId, group: Level) -> Value {
        if self.width(group) == LANES { Value::uniform(self.own_atom(var)) } else { Value::Unknown }
    }

    /// Notes an access to so many elements. Gives the index.
    pub(super) fn access(&mut self, element: &Element, action: Action, count: u32) -> Value {
        let index = self.eval(&element.index);
        let (elem, writable, shared) = match self.function.vars[element.base].kind {
            VarKind::Buffer { elem, writable } => (elem, writable, false),
            VarKind::Shared { elem, .. } => (elem, true, true),
            VarKind::Tile { .. } | VarKind::Registers { .. } => return Value::Unknown,
            VarKind::Value(_) | VarKind::HostCell { .. } => return index,
            // Of processors.
            VarKind::Divisor(_) | VarKind::Wide { .. } | VarKind::WideTile { .. } => return Value::Unknown,
        };
        let action = if action == Action::Load && element.relaxed { Action::LoadRelaxed } else { action };
        let places = index.lanes().map(|lanes| self.active.iter().map(|lane| lanes[*lane].clone()).collect::<Vec<_>>());
        let read_only = action == Action::Load && !writable;
        let (size, (first, width)) = (size_of(self.program, elem), field(self.program, elem, &element.path));
        let bytes = Bytes { size, first, width: width * count, aligned: count > 1 };
        let doubt = index.doubt();
        let doubt = doubt.or(self.copied.contains(&element.base).then_some(Reason::Choice));
        let claimed = match (places.as_deref(), doubt) {
            (None, _) => Err(Reason::Data),
            (Some(_), Some(doubt)) => Err(doubt),
            (Some(places), None) if shared => claim::turns(&self.active, places, bytes, &self.atoms),
            (Some(places), None) => claim::sectors(places, bytes, &self.atoms),
        };
        let access = Access {
            action,
            array: self.function.vars[element.base].name.clone(),
            index: places.as_ref().map_or("…".to_owned(), |places| self.atoms.text(&places[0])),
            depth: self.depth,
            times: 1,
            sites: self.numbers.and_then(|numbers| numbers.access(element)).into_iter().collect(),
            lanes: self.active.len() as u32,
            pattern: self.pattern_of(places.as_deref()),
            cost: self.cost(places.as_deref(), bytes, shared, read_only).claimed(claimed.ok()),
            cost_claim: claimed.map(|_| ()),
            lanes_claim: self.apart.map_or(Ok(()), Err),
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

    fn cost(&self, places: Option<&[Poly]>, bytes: Bytes, shared: bool, read_only: bool) -> Cost {
        let (size, part) = (bytes.size, (bytes.first, bytes.width));
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

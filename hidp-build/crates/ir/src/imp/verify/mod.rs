//! The verifier of `imp`: checks the invariants that the module's documentation lists.

mod device;
mod expr;
mod launch;
mod masks;
mod shared;
mod simd;
mod stmt;
mod wide;

use std::fmt;

pub use shared::shared_bytes;

use super::print::stmt_head;
use super::{Entry, Function, KernelId, Lanes, Narrow, Stmt, Unit, UnitTarget, VarId, VarKind, trap_sites};
use crate::imp::visit::each_stmt;
use crate::par::Program;
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::{Scalar, Ty};

const INT: Ty = Ty::Scalar(Scalar::I32);

/// More than this endangers a thread's stack.
const MOST_IN_TILES: usize = 256 << 10;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// `rows host`, `rows k0 map0`.
    pub function: String,
    /// The first line of the statement; empty where it is the function itself.
    pub statement: String,
    /// What is wrong.
    pub rule: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.function, self.rule)?;
        if self.statement.is_empty() { Ok(()) } else { write!(f, ", in `{}`", self.statement) }
    }
}

/// Checks every version of an entry.
pub fn verify(program: &Program, entry: &Entry) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    if entry.units.is_empty() {
        errors.push(error("entry", "an entry has at least one version"));
    }
    let mut plans = OrdSet::new();
    for unit in &entry.units {
        if !plans.insert(&unit.plan) || !is_identifier(&unit.plan) {
            errors.push(error(&unit.plan, "plans have different names, which are identifiers"));
        }
        check_unit(program, entry, unit, &mut errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn error(function: &str, rule: &str) -> VerifyError {
    VerifyError { function: function.to_owned(), statement: String::new(), rule: rule.to_owned() }
}

/// Whether kernels and plans can be called so: names in C++ and in Rust are made from theirs.
pub fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn check_unit(program: &Program, entry: &Entry, unit: &Unit, errors: &mut Vec<VerifyError>) {
    let name = format!("{} host", unit.plan);
    if !host_params_are_in_order(&unit.host) {
        errors.push(error(&name, "a host function takes buffers and then `long` values"));
    }
    Checker::new(program, entry, unit, &unit.host, None, name, errors).function();
    for (id, kernel) in unit.kernels.iter() {
        let name = format!("{} {id:?} {}", unit.plan, kernel.name);
        if !is_identifier(&kernel.name) {
            errors.push(error(&name, "a kernel's name is an identifier"));
        }
        if unit.target == UnitTarget::Cpu && !ends_in_a_range(&kernel.function) {
            errors.push(error(&name, "the last two parameters of a kernel are `long` values"));
        }
        if kernel.grid.is_some() != (unit.target == UnitTarget::Device) {
            errors.push(error(&name, "kernels of device units, and no others, have a grid"));
        }
        if kernel.grid.is_some_and(|grid| grid.joined) && !kernel.copies.is_empty() {
            errors.push(error(&name, "blocks of launches that may be joined to others have no copies of arrays"));
        }
        if let Some(Narrow { function, .. }) = kernel.narrow.as_deref() {
            let name = format!("{name} narrow");
            if unit.target != UnitTarget::Device || !has_params_of(function, &kernel.function) {
                errors.push(error(
                    &name,
                    "a narrow function is a device's, with the other one's parameters, but `int` positions",
                ));
            }
            Checker::new(program, entry, unit, function, Some(id), name, errors).function();
        }
        Checker::new(program, entry, unit, &kernel.function, Some(id), name, errors).function();
    }
}

fn has_params_of(narrow: &Function, wide: &Function) -> bool {
    let alike = |var: &VarId| match (narrow.vars.get(*var), wide.vars.get(*var)) {
        (Some(own), Some(other)) => {
            own.kind == other.kind || (own.kind == VarKind::Value(INT) && other.kind == VarKind::Value(Ty::LONG))
        }
        (None, _) | (_, None) => false,
    };
    narrow.params == wide.params && narrow.params.iter().all(alike)
}

fn is_long(function: &Function, var: VarId) -> bool {
    function.vars.get(var).is_some_and(|var| var.kind == VarKind::Value(Ty::LONG))
}

fn host_params_are_in_order(host: &Function) -> bool {
    let is_address = |kind: VarKind| matches!(kind, VarKind::Buffer { .. } | VarKind::HostCell { .. });
    let is_buffer = |var: &VarId| host.vars.get(*var).is_some_and(|var| is_address(var.kind));
    let buffers = host.params.iter().take_while(|var| is_buffer(var)).count();
    host.params[buffers..].iter().all(|var| is_long(host, *var))
}

fn ends_in_a_range(kernel: &Function) -> bool {
    kernel.params.len() >= 2 && kernel.params[kernel.params.len() - 2..].iter().all(|var| is_long(kernel, *var))
}

/// What surrounds a statement.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    /// In a loop that `Break` and `Continue` mean.
    in_loop: bool,
    /// Labels that `Leave` may name.
    labels: Vec<u32>,
    /// In a simd loop.
    in_simd: bool,
    /// In a group of lanes.
    lanes: Option<Lanes>,
    /// In a kernel of a device: who runs this together.
    scope: Option<device::Scope>,
}

struct Checker<'a> {
    program: &'a Program,
    entry: &'a Entry,
    unit: &'a Unit,
    function: &'a Function,
    kernel: Option<KernelId>,
    name: String,
    errors: &'a mut Vec<VerifyError>,
    /// Variables that can be used here.
    visible: Vec<VarId>,
    /// Variables introduced anywhere before.
    introduced: OrdSet<VarId>,
    /// Variables that no statement may overwrite: of loops.
    read_only: OrdSet<VarId>,
    labels: OrdSet<u32>,
    statement: String,
}

impl<'a> Checker<'a> {
    fn new(
        program: &'a Program,
        entry: &'a Entry,
        unit: &'a Unit,
        function: &'a Function,
        kernel: Option<KernelId>,
        name: String,
        errors: &'a mut Vec<VerifyError>,
    ) -> Self {
        Self {
            program,
            entry,
            unit,
            function,
            kernel,
            name,
            errors,
            visible: Vec::new(),
            introduced: OrdSet::new(),
            read_only: OrdSet::new(),
            labels: OrdSet::new(),
            statement: String::new(),
        }
    }

    fn function(&mut self) {
        for &var in &self.function.params {
            self.introduce(var);
            match self.kind(var) {
                VarKind::Tile { .. } | VarKind::Shared { .. } | VarKind::Registers { .. } => {
                    self.fail("tiles, shared arrays and registers are no parameters");
                }
                VarKind::HostCell { .. } => {
                    let fits = self.on_device() && self.is_host();
                    self.require(fits, "host cells are parameters of host functions of device units only");
                }
                VarKind::Divisor(_) => self.fail("divisors are no parameters"),
                VarKind::Wide { .. } | VarKind::WideTile { .. } => self.fail("no parameter differs from lane to lane"),
                VarKind::Value(_) | VarKind::Buffer { .. } => {}
            }
        }
        let grid = self.kernel.and_then(|id| self.unit.kernels[id].grid);
        grid.into_iter().for_each(|grid| self.grid(grid));
        let scope = grid.map(|grid| device::Scope { level: grid.level, ..device::Scope::default() });
        self.block(&self.function.body, &Surroundings { scope, ..Surroundings::default() });
        self.tiles();
        self.shared_arrays();
        let copies = self.kernel.map_or(&[][..], |id| &self.unit.kernels[id].copies);
        copies.iter().for_each(|copy| self.block_copy(*copy));
    }

    fn is_host(&self) -> bool {
        self.kernel.is_none()
    }

    fn on_device(&self) -> bool {
        self.unit.target == UnitTarget::Device
    }

    fn fail(&mut self, rule: impl Into<String>) {
        let statement = self.statement.clone();
        self.errors.push(VerifyError { function: self.name.clone(), statement, rule: rule.into() });
    }

    fn require(&mut self, holds: bool, rule: &str) {
        if !holds {
            self.fail(rule);
        }
    }

    fn at(&mut self, stmt: &Stmt) {
        self.statement = stmt_head(self.program, self.function, stmt);
    }

    /// What a variable holds; a `long` value for ids that are not in the function, which are reported where they are used.
    fn kind(&self, var: VarId) -> VarKind {
        self.function.vars.get(var).map_or(VarKind::Value(Ty::LONG), |var| var.kind)
    }

    fn introduce(&mut self, var: VarId) {
        if var.index() >= self.function.vars.len() {
            return self.fail(format!("{var:?} is no variable of the function"));
        }
        if !self.introduced.insert(var) {
            self.fail(format!("{var:?} is introduced twice"));
        }
        self.visible.push(var);
    }

    fn use_var(&mut self, var: VarId) {
        if !self.visible.contains(&var) {
            self.fail(format!("{var:?} is used where it is not introduced"));
        }
    }

    fn tiles(&mut self) {
        let bytes = |kind: VarKind| match kind {
            VarKind::Tile { elem, len } | VarKind::Registers { elem, len } => {
                len as usize * size_of_ty(self.program, elem)
            }
            VarKind::WideTile { elem, len: Some(len), lanes } => len as usize * elem.size() * lanes.most(),
            VarKind::Value(_)
            | VarKind::Buffer { .. }
            | VarKind::HostCell { .. }
            | VarKind::Shared { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. }
            | VarKind::WideTile { len: None, .. } => 0,
        };
        let all: usize = self.function.vars.iter().map(|(_, var)| bytes(var.kind)).sum();
        self.statement.clear();
        self.require(all <= MOST_IN_TILES, "the tiles of a function have at most 256 KiB");
    }

    /// Every site that a called scalar function can raise is in the entry.
    fn sites_of_function(&mut self, callee: crate::par::ScalarFnId) -> bool {
        let sites = trap_sites(self.program, callee);
        let is_known = sites.iter().all(|site| self.entry.find_site(site.kind, site.span).is_some());
        self.require(is_known, "the entry has a site for everything that a called scalar function can raise");
        !sites.is_empty()
    }
}

/// Bytes of a value, without padding.
fn size_of_ty(program: &Program, ty: Ty) -> usize {
    match ty {
        Ty::Scalar(scalar) => scalar.size(),
        Ty::Struct(id) => program.structs[id].fields.iter().map(|(_, field)| size_of_ty(program, *field)).sum(),
    }
}

/// Whether a block holds a statement, at any depth, for which this is true.
fn holds(block: &super::Block, is: impl Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    each_stmt(block, &mut |stmt| found |= is(stmt));
    found
}

#[cfg(test)]
mod tests;

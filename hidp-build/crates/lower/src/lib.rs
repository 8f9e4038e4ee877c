//! Lowering: from a planned entry of [`par`] to [`imp`].
//!
//! | file | what it lowers |
//! |---|---|
//! | `build`, `make` | functions under construction, small expressions |
//! | `defect` | broken expectations |
//! | `expr` | expressions, checks, element accesses |
//! | `stmt` | statements other than maps |
//! | `copies` | atomic updates of small arrays, of which each thread has a copy |
//! | `updates` | such updates, with targets computed in lanes |
//! | `exchange` | arrays of the caller that exchange names |
//! | `space` | ranges of iterators, shared and clipped index spaces |
//! | `work` | the number of operations of a launch, which decides whether threads gain from it |
//! | `apart` | iterations that several kernels run |
//! | `map` | maps: which strategy, kernels, loops of one thread |
//! | `vector` | loops in vector lanes, guarded and short ones |
//! | `channels` | lanes that take a few iterations each |
//! | `whole_rows` | iterators that run as one |
//! | `short_rows` | lanes over rows of a few elements |
//! | `lane_fold` | reductions of floats in vector lanes |
//! | `fold` | reductions: in lanes, in blocks, pairwise |
//! | `scan` | prefix folds |
//! | `packed` | compaction by prefix sums |
//! | `lanes`, `tile_fold`, `panels` | tiles of rows and lanes, their reductions, packed panels |
//! | `inside` | tiles of lanes over maps inside of iterations |
//! | `wide` | whole iterations in vector lanes |
//! | `stream` | outputs that bypass the caches |
//! | `prim`, `prim_worker` | calls of the run-time library, on the host and in kernels |
//! | `record` | segments that iterations write through primitives |
//! | `divisors` | integers by what keeps its value in a loop |
//! | `shared` | choices that all iterations of a loop in lanes make alike |
//! | `gathers` | narrow elements that lanes take from where data say |
//! | `members` | tests for several constants in lanes |
//! | `angles` | `sin`, `cos` and `tan` in lanes: small angles first |
//! | `device` | units for graphics processors |
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

use hidp_ir::imp::{self, Entry, Kernel, KernelId, Site, SiteId, Unit, UnitTarget, VarId};
use hidp_ir::par::{self, FaultKind, Func, FuncId, Program, VarKind};
use hidp_plan::target::Model;
use hidp_plan::{Mapping, Plan, Strategy};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

mod across;
mod angles;
mod apart;
mod borders;
mod build;
mod channels;
mod copies;
mod copy;
mod decided;
mod defect;
mod device;
mod divisors;
mod exchange;
mod expr;
mod flagged;
mod fold;
mod gathers;
mod inside;
mod kept;
mod lane_fold;
mod lanes;
#[cfg(test)]
mod line_tests;
mod make;
mod map;
mod members;
mod packed;
mod panels;
mod passes;
mod prefetch;
mod prim;
mod prim_worker;
mod record;
mod remainder;
mod scan;
mod scan_tiles;
mod shared;
mod short_rows;
mod space;
mod stmt;
mod stream;
mod strips;
mod tails;
#[cfg(test)]
mod tests;
mod tile_fold;
mod unswitch;
mod updates;
mod vector;
mod whole_rows;
mod wide;
mod work;

use build::{ArrayBinding, Binding, Body, Role};
pub use defect::Defect;
use defect::{BOUNDS, DEVICE, FOLD, GROUPS, ITERATORS, OPERATOR, OUTPUT, POSITIONS, PREDICATE};
pub use device::lower_device;

/// Lowers an entry after the pass pipeline, one unit per plan but for those that meet a defect. `symbol` is
/// `<file stem>_<function>`.
pub fn lower(program: &Program, func: FuncId, symbol: &str, plans: &[Plan], model: &Model) -> (Entry, Vec<Defect>) {
    let mut entry = Entry { symbol: symbol.to_string(), sites: Arena::new(), units: Vec::new() };
    let units = plans.iter().map(|plan| unit(program, &program.funcs[func], plan, model, &mut entry.sites));
    let (units, defects) = sound(units.collect());
    entry.units = units;
    (entry, defects)
}

/// Adds to an entry the units of another form of it, which has its parameters and dimensions.
pub fn lower_also(program: &Program, func: FuncId, plans: &[Plan], model: &Model, entry: &mut Entry) -> Vec<Defect> {
    let units = plans.iter().map(|plan| unit(program, &program.funcs[func], plan, model, &mut entry.sites));
    let (units, defects) = sound(units.collect());
    entry.units.extend(units);
    defects
}

/// The units without defects, and the defects of the others.
fn sound(lowered: Vec<Result<Unit, Vec<Defect>>>) -> (Vec<Unit>, Vec<Defect>) {
    let (mut units, mut defects) = (Vec::new(), Vec::new());
    for lowered in lowered {
        match lowered {
            Ok(unit) => units.push(unit),
            Err(met) => defects.extend(met),
        }
    }
    (units, defects)
}

fn unit(
    program: &Program,
    func: &Func,
    plan: &Plan,
    model: &Model,
    sites: &mut Arena<SiteId, Site>,
) -> Result<Unit, Vec<Defect>> {
    let mut unit = Lowerer::new(program, func, plan, model, sites).unit(UnitTarget::Cpu)?;
    for (_, kernel) in unit.kernels.iter_mut() {
        gathers::elsewhere(&mut kernel.function);
        across::in_registers(&mut kernel.function, model.loops);
        borders::apart(&mut kernel.function, model.loops);
        unswitch::apart(&mut kernel.function);
        remainder::in_lanes(&mut kernel.function, model);
        strips::of_quotients(&mut kernel.function, model.loops);
        angles::small_first(&mut kernel.function, model.loops);
        kept::before_loops(&mut kernel.function);
        shared::before_loops(&mut kernel.function);
        gathers::in_words(&mut kernel.function, model.loops);
        divisors::before_loops(&mut kernel.function);
        members::at_once(&mut kernel.function, model.loops);
    }
    Ok(unit)
}

impl<'a> Lowerer<'a> {
    fn new(
        program: &'a Program,
        func: &'a Func,
        plan: &'a Plan,
        model: &'a Model,
        sites: &'a mut Arena<SiteId, Site>,
    ) -> Self {
        Lowerer {
            program,
            func,
            model,
            plan,
            device: None,
            nest: 0,
            mapping: Mapping::new(Strategy::Serial),
            inside_team: false,
            streamed: Vec::new(),
            redirects: Vec::new(),
            panels: Vec::new(),
            near: Vec::new(),
            moved: Vec::new(),
            logs: Vec::new(),
            wide: None,
            fits: false,
            noted: Vec::new(),
            enclosing: Vec::new(),
            known_ranges: OrdMap::new(),
            pairs: exchange::pairs(func),
            copies: Vec::new(),
            rest: None,
            sites,
            kernels: Arena::new(),
            host: None,
            body: Body::new(Role::Host),
            checks: Checks::Fault,
            lane: None,
            defects: Vec::new(),
        }
    }

    /// The whole function.
    fn unit(mut self, target: UnitTarget) -> Result<Unit, Vec<Defect>> {
        self.bind_params();
        self.begin_pair(None);
        self.stmts(&self.func.body.stmts);
        self.end_pairs();
        if self.nest != self.plan.nests.len() {
            self.defect(format!("the plan has {} nests, as the function does", self.nest));
        }
        if self.body.is_unbalanced() {
            self.defect("each block that ends was begun");
        }
        if !self.defects.is_empty() {
            return Err(self.defects);
        }
        let (plan, plan_text) = (self.plan.name.clone(), self.plan.to_string());
        let ticket = self.make_ticket();
        let mut host = self.body.finish();
        host.body.stmts.splice(0..0, ticket);
        Ok(Unit { plan, plan_text, target, host, kernels: self.kernels })
    }
}

/// What a check does when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checks {
    /// Records the fault and leaves the function.
    Fault,
    /// Sets this `long` to something else than 0; values are clamped and the work is done again with faults.
    Flag(VarId),
    /// Leaves the group of lanes, by this label; its iterations are done again one after the other, with faults.
    Again(u32),
}

/// The state of lowering one unit.
struct Lowerer<'a> {
    program: &'a Program,
    func: &'a Func,
    model: &'a Model,
    plan: &'a Plan,
    /// Set when the unit is one for a device.
    device: Option<device::State<'a>>,
    /// Number of the next host-level map.
    nest: usize,
    /// How the current nest runs, as its lines say.
    mapping: Mapping,
    /// Whether an outer map runs on the host, so that maps inside it are launched.
    inside_team: bool,
    /// Arrays of the current nest that bypass the caches when they are large.
    streamed: Vec<par::VarId>,
    /// Stores that go to a tile for now.
    redirects: Vec<stream::Redirect>,
    /// Loads that a copy of the element serves.
    panels: Vec<panels::Panel>,
    /// Copies in a block's shared memory that the iteration at hand reads.
    near: Vec<device::Copied>,
    /// Neighbours in a lane's registers that the iteration at hand reads.
    moved: Vec<device::Moved>,
    /// The group of lanes under construction.
    wide: Option<wide::State>,
    /// Whether sizes were found to be those that lanes hold, before the launch.
    fits: bool,
    /// Where the host-level maps around note segments, outermost first.
    logs: Vec<VarId>,
    /// The outputs of primitives that are noted.
    noted: Vec<record::Key>,
    /// The maps around, outermost first.
    enclosing: Vec<record::Frame>,
    /// Ranges of iterators, as the current function sees them.
    known_ranges: OrdMap<par::VarId, space::Range>,
    /// Arrays of the caller that exchange names with one other array only.
    pairs: Vec<exchange::Pair>,
    /// Arrays of which each thread of the next launch has a copy.
    copies: Vec<copies::Copied>,
    /// What is left to do of the next nest.
    rest: Option<packed::Rest>,
    sites: &'a mut Arena<SiteId, Site>,
    kernels: Arena<KernelId, Kernel>,
    /// The host function while a kernel is under construction.
    host: Option<Body>,
    /// The function under construction.
    body: Body,
    checks: Checks,
    /// The variable of the loop in lanes around.
    lane: Option<VarId>,
    /// What should not have happened.
    defects: Vec<Defect>,
}

impl Lowerer<'_> {
    /// The host function's parameters: arrays and scalars as buffers, then dimensions.
    fn bind_params(&mut self) {
        let func = self.func;
        let mut buffers = Vec::new();
        for &param in &func.params {
            let var = &func.vars[param];
            let writable = !matches!(var.kind, VarKind::Param(Direction::Input));
            let elem = var.ty;
            let kind = if self.device.is_some() && !var.is_array() {
                imp::VarKind::HostCell { elem, writable }
            } else {
                imp::VarKind::Buffer { elem, writable }
            };
            buffers.push((param, self.body.param(&var.name, kind), writable));
        }
        for &dim in &func.dims {
            let var = self.body.param(&func.vars[dim].name, imp::VarKind::Value(Ty::LONG));
            self.body.bindings.insert(dim, Binding::Fixed(make::var(var, Ty::LONG)));
        }
        let (arrays, scalars): (Vec<_>, Vec<_>) =
            buffers.into_iter().partition(|(param, _, _)| func.vars[*param].is_array());
        for (param, buffer, writable) in scalars {
            let var = &func.vars[param];
            let value = make::load(make::element(buffer, make::long(0)), var.ty);
            let binding = if writable {
                Binding::Slot { var: self.body.slot(&var.name, var.ty, Some(value)), backing: Some(buffer) }
            } else {
                Binding::Fixed(self.body.fix(&var.name, value))
            };
            self.body.bindings.insert(param, binding);
        }
        for (param, base, _) in arrays {
            let extents = func.vars[param].shape.iter().map(|extent| self.fixed("extent", extent)).collect();
            self.body
                .bindings
                .insert(param, Binding::Array(ArrayBinding { base, extents, window: None, stride: None }));
        }
    }

    /// What a variable stands for here. Kernels take what they use of the host function as parameters.
    fn binding(&mut self, var: par::VarId) -> Binding {
        if let Some(binding) = self.body.bindings.get(&var) {
            return binding.clone();
        }
        let outer = self.host.as_ref().and_then(|host| host.bindings.get(&var)).cloned();
        let binding = match outer {
            Some(Binding::Fixed(value)) => Binding::Fixed(self.import(&value)),
            Some(Binding::Slot { var: slot, .. }) => {
                Binding::Fixed(self.import(&make::var(slot, self.func.vars[var].ty)))
            }
            Some(Binding::Array(array)) => {
                let base = self.capture(array.base);
                let extents = array.extents.iter().map(|extent| self.import(extent)).collect();
                Binding::Array(ArrayBinding { base, extents, window: None, stride: None })
            }
            Some(Binding::Lane(_)) | None => {
                self.defect(format!("`{}` stands for something here", self.func.vars[var].name));
                Binding::Fixed(expr::zero_of(self.func.vars[var].ty))
            }
        };
        self.body.bindings.insert(var, binding.clone());
        binding
    }

    /// The kernel's parameter for a variable of the host function.
    fn capture(&mut self, outer: VarId) -> VarId {
        if let Some((_, inner)) = self.body.captures.iter().find(|(host, _)| *host == outer) {
            return *inner;
        }
        let Some(host) = &self.host else { return outer };
        let mut var = host.vars[outer].clone();
        if let imp::VarKind::Buffer { writable, .. } = &mut var.kind {
            *writable = false;
        }
        let inner = self.body.param(&var.name, var.kind);
        self.body.captures.push((outer, inner));
        inner
    }

    /// A constant or variable of the host function, inside a kernel.
    fn import(&mut self, outer: &imp::Expr) -> imp::Expr {
        match outer.kind {
            imp::ExprKind::Var(var) => make::var(self.capture(var), outer.ty),
            _ => outer.clone(),
        }
    }

    /// The fault site of this description.
    fn site(&mut self, kind: FaultKind, span: Span, names: Vec<String>) -> SiteId {
        let site = Site { kind, span, names };
        let known = self.sites.iter().find(|(_, other)| **other == site).map(|(id, _)| id);
        known.unwrap_or_else(|| self.sites.push(site))
    }
}

//! Functions with several bodies, and which of them the calls of an entry take.

use super::visit::{self, Visitor, look};
use super::{Block, Expr, Func, FuncId, Map, Piece, Program, Section, SectionDim, Stmt, StmtKind, VarId};
use hidp_syntax::ast::PieceWay;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

/// A function and its other bodies. Calls name the function, whichever body runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// The function: what a call means.
    pub meaning: FuncId,
    /// Its codelets, in the order of the files and of their text.
    pub codelets: Vec<Codelet>,
    /// Whether the function folds floats in the order of iterations: its `ordered` codelets give the same bits.
    pub ordered: bool,
}

impl Spectrum {
    /// The codelets' bodies.
    pub fn bodies(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.codelets.iter().map(|codelet| codelet.func)
    }

    /// The codelet that a call takes, if it does not take the function itself.
    pub fn taken(&self, choice: &Choice) -> Option<&Codelet> {
        self.codelets.iter().find(|codelet| codelet.tag == choice.codelet && codelet.tiles == choice.tiles)
    }
}

/// Another body of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Codelet {
    /// Its own name.
    pub tag: String,
    /// How its `tiles` are cut, if it has any: there is another codelet of this name for the other way.
    pub tiles: Option<PieceWay>,
    /// Its body. Parameters and dimensions are those of the function, under the same numbers.
    pub func: FuncId,
    /// It computes what the function does where this holds: over dimensions, scalar inputs and tunables of `func`.
    pub when: Option<Expr>,
    /// What it leaves open. The body begins by declaring each and assigning its first value.
    pub tunables: Vec<Tunable>,
    /// Whether it says that it folds floats in the function's order.
    pub ordered: bool,
    /// The codelet's name where it is declared.
    pub span: Span,
}

impl Codelet {
    /// Whether a version has one value of this tunable.
    pub fn fixes(&self, var: VarId) -> bool {
        self.tunables.iter().any(|tunable| tunable.var == var && !tunable.run)
    }
}

/// A number that a codelet leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct Tunable {
    /// A `long` local of the codelet's body.
    pub var: VarId,
    /// What it can be, the usual value first.
    pub values: Vec<i64>,
    /// Whether each call has a value, rather than each version.
    pub run: bool,
}

/// A `run` tunable of codelets that forms of an entry have: a further dimension of these forms, which no shape binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// `sum.least`: the function's name and the tunable's.
    pub name: String,
    /// What it can be, the usual value first.
    pub values: Vec<i64>,
}

impl Setting {
    /// What the `run` tunable of a function's codelet is called.
    pub fn name_of(function: &str, tunable: &str) -> String {
        format!("{function}.{tunable}")
    }
}

/// Which body a call takes, and those of the calls in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The function.
    pub function: String,
    /// The codelet's name; empty for the function itself.
    pub codelet: String,
    /// The level at which the call runs, by the name that the target's model has for it.
    pub level: String,
    /// Values of tunables, by name, but for those of calls.
    pub tunables: Vec<(String, i64)>,
    /// How the codelet's `tiles` are cut.
    pub tiles: Option<PieceWay>,
    /// How arrays are cut, those `tiles` included, in the order of the text.
    pub pieces: Vec<PieceWay>,
    /// The calls in the body that have a choice themselves, in the order of the text.
    pub calls: Vec<Choice>,
    /// What runs instead where the codelet's condition does not hold.
    pub otherwise: Option<Box<Choice>>,
}

/// An entry with other bodies in the place of its calls, or of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The entry.
    pub entry: FuncId,
    /// What it becomes: a function with the entry's parameters and dimensions.
    pub func: FuncId,
    /// Begins the names of its plans.
    pub name: String,
    /// Whether it was chosen for a device, rather than for processors.
    pub on_device: bool,
    /// Which bodies they are.
    pub choice: Choice,
    /// What each call sets.
    pub settings: Vec<Setting>,
}

impl Program {
    /// Whether wrappers alone call a function: they test what is passed.
    pub fn is_called_from_outside(&self, func: FuncId) -> bool {
        self.entries.contains(&func) || self.alternatives.iter().any(|alternative| alternative.func == func)
    }

    /// The other forms of an entry.
    pub fn alternatives_of(&self, entry: FuncId) -> impl Iterator<Item = &Alternative> {
        self.alternatives.iter().filter(move |alternative| alternative.entry == entry)
    }

    /// What calls of an entry set: of all its forms, which have these in this order after the entry's dimensions.
    pub fn settings_of(&self, entry: FuncId) -> Vec<&Setting> {
        let mut found: Vec<&Setting> = Vec::new();
        for setting in self.alternatives_of(entry).flat_map(|form| &form.settings) {
            if !found.iter().any(|known| known.name == setting.name) {
                found.push(setting);
            }
        }
        found
    }

    /// What is usually set of a form of an entry.
    pub fn usual_settings(&self, form: &Func) -> Vec<(VarId, i64)> {
        let usual = |dim: &VarId| {
            let mut all = self.alternatives.iter().flat_map(|alternative| &alternative.settings);
            let setting = all.find(|setting| setting.name == form.vars[*dim].name);
            Some((*dim, setting?.values[0]))
        };
        form.dims.iter().filter(|dim| form.vars[**dim].is_setting()).filter_map(usual).collect()
    }

    /// The spectrum of a function that has several bodies.
    pub fn spectrum_of(&self, meaning: FuncId) -> Option<&Spectrum> {
        self.spectra.iter().find(|spectrum| spectrum.meaning == meaning)
    }

    /// Functions whose calls have a choice: those with codelets, and those that call such functions.
    pub fn choosing(&self) -> OrdSet<FuncId> {
        let mut found: OrdSet<FuncId> = self.spectra.iter().map(|spectrum| spectrum.meaning).collect();
        loop {
            let known = found.len();
            for (id, func) in self.funcs.iter() {
                visit::walk_stmts(&func.body, |stmt| {
                    if matches!(&stmt.kind, StmtKind::Call { callee, .. } if found.contains(callee)) {
                        found.insert(id);
                    }
                });
            }
            if found.len() == known {
                return found;
            }
        }
    }
}

/// A call with a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The function.
    pub callee: FuncId,
    /// How many maps are around the call.
    pub depth: usize,
}

/// What a body leaves to choices: its calls of functions in `choosing`, and how it cuts arrays, both in the order of the text.
pub fn sites(body: &Block, choosing: &OrdSet<FuncId>) -> (Vec<Site>, Vec<PieceWay>) {
    let mut walk = Sites { choosing, depth: 0, sites: Vec::new(), pieces: Vec::new() };
    walk.visit_block(body);
    (walk.sites, walk.pieces)
}

struct Sites<'a> {
    choosing: &'a OrdSet<FuncId>,
    depth: usize,
    sites: Vec<Site>,
    pieces: Vec<PieceWay>,
}

impl Visitor for Sites<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Call { callee, .. } = &stmt.kind
            && self.choosing.contains(callee)
        {
            self.sites.push(Site { callee: *callee, depth: self.depth });
        }
        look::walk_stmt(self, stmt);
    }
    fn visit_map(&mut self, map: &Map) {
        self.depth += 1;
        look::walk_map(self, map);
        self.depth -= 1;
    }
    fn visit_section(&mut self, section: &Section, _: visit::Role) {
        let way = |dim: &SectionDim| match dim {
            SectionDim::Piece(Piece { way, .. }) => Some(*way),
            SectionDim::At(_) | SectionDim::Range { .. } => None,
        };
        self.pieces.extend(section.dims.iter().filter_map(way));
    }
    fn visit_expr(&mut self, _: &Expr) {}
}

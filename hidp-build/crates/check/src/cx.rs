//! The state of checking one body: variables, scopes, enclosing maps, what is assigned so far.

use hidp_ir::par::doubt::every_dimension;
use hidp_ir::par::{self, Access, Expr, Place, Stmt, StmtKind, Var, VarId, VarKind};
use hidp_syntax::ast::{self, Direction, PieceWay};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::{FileId, Span};
use hidp_syntax::ty::Ty;

use super::items::{Global, Globals};
use super::ordered::Asked;
use super::parallel::Parallel;
use super::recurrence::Instance;

/// The most dimensions an array may have.
pub(super) const MAX_RANK: usize = 8;

/// What checking knows of a variable beyond [`Var`].
#[derive(Clone, Debug)]
pub(super) struct Info {
    /// How many maps enclose the declaration.
    pub(super) level: usize,
    /// How many iterators enclose the declaration.
    pub(super) iters: usize,
    /// Made by its first assignment in a map: must be assigned before it is read.
    pub(super) implicit: bool,
    /// Its declaration had an error: no further messages about it.
    pub(super) poisoned: bool,
    /// Made by the compiler and assigned once.
    pub(super) fixed: bool,
    pub(super) read: bool,
    pub(super) written: bool,
}

/// Names of one block.
#[derive(Debug, Default)]
struct Scope {
    names: OrdMap<String, VarId>,
    /// How many maps enclose it.
    level: usize,
}

/// An enclosing map.
#[derive(Debug, Default)]
pub(super) struct MapFrame {
    /// Scalars made by first assignments.
    pub(super) implicit: Vec<VarId>,
    /// Index of the scope of its body.
    scope: usize,
    /// Loops around the map, at the level outside.
    outer_loops: usize,
    /// `unordered` stands before it.
    pub(super) unordered: bool,
}

/// What kind of body is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// A function over arrays.
    Func,
    /// A scalar function with this result, if it is known.
    Scalar(Option<Ty>),
    /// The body of a recurrence with this type of cells, if it is known.
    Cell(Option<Ty>),
    /// A constant: no variables.
    Const,
}

/// What a name means where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    Scalar(VarId),
    Array(VarId),
    /// `_x` that means this iteration's element of array `x`.
    ElementOf(VarId),
    Global(Global),
    Poisoned,
}

/// Checks one body.
pub(super) struct Cx<'a> {
    pub(super) globals: &'a Globals<'a>,
    pub(super) sink: &'a mut Sink,
    pub(super) file: FileId,
    pub(super) kind: BodyKind,
    pub(super) vars: Arena<VarId, Var>,
    pub(super) info: Vec<Info>,
    scopes: Vec<Scope>,
    pub(super) maps: Vec<MapFrame>,
    /// Iterators of all enclosing maps, outermost first.
    pub(super) iters: Vec<VarId>,
    /// Those of them that count from 0 by ones.
    pub(super) counting: OrdSet<VarId>,
    /// Numbers that a codelet leaves open.
    pub(super) tunables: OrdSet<VarId>,
    /// How `tiles` are cut, where they can stand.
    pub(super) tiles: Option<PieceWay>,
    /// Whether there are any.
    pub(super) has_tiles: bool,
    /// Loops around the statement within the innermost map.
    pub(super) loops: usize,
    /// Implicit scalars assigned on every path to here; `None` where no path leads here.
    pub(super) assigned: Option<OrdSet<VarId>>,
    /// Set while the right side of a data-parallel statement is checked.
    pub(super) parallel: Option<Parallel>,
    /// Directives before the statement that is checked, until something takes them.
    pub(super) pending: Vec<ast::Directive>,
    /// Whether an error was reported for this body.
    pub(super) failed: bool,
    /// Unknown names that were reported.
    pub(super) unknown: OrdSet<String>,
    /// Calls of functions over arrays, with their places.
    pub(super) calls: Vec<(par::FuncId, Span)>,
    /// Calls of scalar functions, with their places.
    pub(super) scalar_calls: Vec<(par::ScalarFnId, Span)>,
    /// Set by `unchecked`.
    pub(super) unchecked: bool,
    /// Set by `ordered` before the function and before calls.
    pub(super) ordered: Asked,
    /// In bodies of recurrences: the arrays of cells, by recurrence.
    pub(super) tables: OrdMap<usize, VarId>,
    /// Statements that go before the one that is checked, by the number of maps around it.
    pub(super) before: Vec<Vec<Stmt>>,
    /// Recurrences that are computed before the statements that are checked.
    pub(super) instances: Vec<Instance>,
    /// Where this is, if no recurrence can be used here.
    pub(super) no_cells: Option<&'static str>,
}

impl<'a> Cx<'a> {
    pub(super) fn new(globals: &'a Globals<'a>, sink: &'a mut Sink, file: FileId, kind: BodyKind) -> Self {
        Cx {
            globals,
            sink,
            file,
            kind,
            vars: Arena::new(),
            info: Vec::new(),
            scopes: vec![Scope::default()],
            maps: Vec::new(),
            iters: Vec::new(),
            counting: OrdSet::new(),
            tunables: OrdSet::new(),
            tiles: None,
            has_tiles: false,
            loops: 0,
            assigned: Some(OrdSet::new()),
            parallel: None,
            pending: Vec::new(),
            failed: false,
            unknown: OrdSet::new(),
            calls: Vec::new(),
            scalar_calls: Vec::new(),
            unchecked: false,
            ordered: Asked::default(),
            tables: OrdMap::new(),
            before: vec![Vec::new()],
            instances: Vec::new(),
            no_cells: None,
        }
    }

    // ---- messages

    /// Reports an error. Gives `None`, so that `return self.error(…)` ends whatever was being built.
    pub(super) fn error<T>(&mut self, diagnostic: Diagnostic) -> Option<T> {
        self.failed = true;
        self.sink.push(diagnostic);
        None
    }

    pub(super) fn text(&self, span: Span) -> &'a str {
        self.globals.sources.snippet(span)
    }

    pub(super) fn show_ty(&self, ty: Ty) -> String {
        self.globals.show_ty(ty)
    }

    // ---- variables and scopes

    /// How many maps enclose this place.
    pub(super) fn level(&self) -> usize {
        self.maps.len()
    }

    pub(super) fn in_map(&self) -> bool {
        !self.maps.is_empty()
    }

    /// A new variable without a name in scope.
    pub(super) fn new_var(&mut self, name: &str, ty: Ty, shape: Vec<Expr>, kind: VarKind, span: Span) -> VarId {
        self.info.push(Info {
            level: self.level(),
            iters: self.iters.len(),
            implicit: false,
            poisoned: false,
            fixed: false,
            read: false,
            written: false,
        });
        self.vars.push(Var { name: name.to_string(), ty, shape, kind, span })
    }

    pub(super) fn info(&self, var: VarId) -> &Info {
        &self.info[var.index()]
    }

    pub(super) fn info_mut(&mut self, var: VarId) -> &mut Info {
        &mut self.info[var.index()]
    }

    pub(super) fn push_scope(&mut self) {
        let level = self.level();
        self.scopes.push(Scope { names: OrdMap::new(), level });
    }

    pub(super) fn pop_scope(&mut self) {
        self.scopes.pop();
    }

    /// Enters a map: its iterators and its body's names go into a new scope.
    pub(super) fn enter_map(&mut self) {
        self.maps.push(MapFrame {
            implicit: Vec::new(),
            scope: self.scopes.len(),
            outer_loops: self.loops,
            unordered: false,
        });
        self.loops = 0;
        self.before.push(Vec::new());
        self.push_scope();
    }

    /// Leaves a map.
    pub(super) fn leave_map(&mut self) -> MapFrame {
        self.pop_scope();
        self.before.pop();
        let frame = self.maps.pop().expect("enter_map came before");
        self.loops = frame.outer_loops;
        frame
    }

    /// Puts a variable into the innermost scope. Reports names that may not be declared.
    pub(super) fn declare(&mut self, name: &ast::Ident, var: VarId) {
        self.refuse_reserved(&name.name, name.span);
        let in_scope = self.scopes.last().and_then(|scope| scope.names.get(&name.name)).copied();
        if let Some(old) = in_scope.filter(|old| !matches!(self.vars[*old].kind, VarKind::Dim)) {
            let old_span = self.vars[old].span;
            let _: Option<()> = self.error(
                Diagnostic::new(Code::DuplicateName, name.span, format!("`{}` is declared twice", name.name))
                    .label("declared again here")
                    .also(old_span, "first declared here"),
            );
            // The first one keeps the name, so that its uses bring no further messages.
            return;
        }
        let outer = self.find(&name.name, &|_, _| true);
        if outer.is_some_and(|old| self.refuse_shadowing(&name.name, name.span, old)) {
            return;
        }
        let scope = self.scopes.last_mut().expect("there is always a scope");
        scope.names.insert(name.name.clone(), var);
    }

    /// Gives a variable a name in the innermost scope, without any question.
    pub(super) fn bind(&mut self, name: &str, var: VarId) {
        let scope = self.scopes.last_mut().expect("there is always a scope");
        scope.names.insert(name.to_string(), var);
    }

    /// Reports a declaration under the name of a primitive.
    pub(super) fn refuse_reserved(&mut self, name: &str, span: Span) {
        if super::prims::is_primitive(name) {
            let _: Option<()> = self.error(
                Diagnostic::new(Code::TakenName, span, format!("`{name}` is the name of a primitive"))
                    .label("reserved")
                    .suggest(span, format!("my_{name}"), "choose another name"),
            );
        }
    }

    /// Reports a declaration that would hide a dimension or an iterator.
    fn refuse_shadowing(&mut self, name: &str, span: Span, old: VarId) -> bool {
        let what = match self.vars[old].kind {
            VarKind::Dim => "a dimension",
            VarKind::Iter => "an iterator",
            VarKind::Local if self.tunables.contains(&old) => "a tunable",
            VarKind::Param(_) | VarKind::Local => return false,
        };
        let code = if self.tunables.contains(&old) { Code::TunableChanged } else { Code::ShadowsDimension };
        let old_span = self.vars[old].span;
        let _: Option<()> = self.error(
            Diagnostic::new(code, span, format!("`{name}` is already the name of {what}"))
                .label("would hide it")
                .also(old_span, format!("`{name}` is {what}")),
        );
        true
    }

    /// The innermost variable of this exact name that `accept` takes, given the scope's map level.
    fn find(&self, name: &str, accept: &dyn Fn(VarId, usize) -> bool) -> Option<VarId> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.names.get(name).copied().filter(|var| accept(*var, scope.level)))
    }

    fn is_plain_scalar(&self, var: VarId) -> bool {
        !self.vars[var].is_array() && matches!(self.vars[var].kind, VarKind::Local | VarKind::Param(_))
    }

    /// What a name means here, in the order that the language fixes; `None` if nothing has it.
    pub(super) fn lookup(&self, name: &str) -> Option<Named> {
        let found = match name.strip_prefix('_').filter(|rest| !rest.is_empty()) {
            Some(rest) => self.lookup_underscored(name, rest),
            None => self.find(name, &|_, _| true).map(|var| self.named(var)),
        };
        found.or_else(|| self.globals.lookup(self.file, name).map(Named::Global))
    }

    fn named(&self, var: VarId) -> Named {
        if self.info(var).poisoned {
            Named::Poisoned
        } else if self.vars[var].is_array() {
            Named::Array(var)
        } else {
            Named::Scalar(var)
        }
    }

    fn lookup_underscored(&self, name: &str, rest: &str) -> Option<Named> {
        let local = |scope: &Scope| {
            [name, rest].iter().find_map(|n| scope.names.get(*n).copied().filter(|var| self.is_plain_scalar(*var)))
        };
        let of_a_map = self.scopes.iter().rev().filter(|scope| scope.level > 0).find_map(local);
        let of_the_function = |n: &str| self.find(n, &|var, level| level == 0 && self.is_plain_scalar(var));
        let scalar = of_a_map.or_else(|| of_the_function(name)).or_else(|| of_the_function(rest));
        if let Some(var) = scalar {
            return Some(self.named(var));
        }
        let is_array = |var: VarId, _: usize| self.vars[var].is_array();
        match self.find(rest, &is_array) {
            Some(array) if self.info(array).poisoned => Some(Named::Poisoned),
            Some(array) => Some(Named::ElementOf(array)),
            None => self.find(name, &|_, _| true).map(|var| self.named(var)),
        }
    }

    /// Every name that could stand here, for "did you mean".
    pub(super) fn names_in_scope(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.scopes.iter().rev().flat_map(|scope| scope.names.keys().map(String::as_str)).collect();
        if let Some(globals) = self.globals.visible.get(&self.file) {
            names.extend(globals.keys().map(String::as_str));
        }
        names
    }

    /// Makes a map-local scalar in the innermost map's body, as the first assignment of `_x` does.
    pub(super) fn make_implicit(&mut self, name: &str, ty: Option<Ty>, span: Span) -> VarId {
        let var = self.new_var(name, ty.unwrap_or(Ty::LONG), Vec::new(), VarKind::Local, span);
        let info = self.info_mut(var);
        info.implicit = true;
        info.poisoned = ty.is_none();
        let frame = self.maps.last_mut().expect("implicit scalars live in maps");
        frame.implicit.push(var);
        let scope = frame.scope;
        self.scopes[scope].names.insert(name.to_string(), var);
        var
    }

    /// Where a statement that would have made a scalar of the iteration failed: the name exists, and nothing is said of it.
    pub(super) fn poison_new(&mut self, target: &ast::Expr) {
        if let ast::ExprKind::Name(name) = &target.kind
            && self.in_map()
            && name.len() > 1
            && name.starts_with('_')
            && self.lookup(name).is_none()
        {
            self.make_implicit(name, None, target.span);
        }
    }

    /// A compiler-made scalar that is assigned once, here.
    pub(super) fn temporary(&mut self, name: &str, value: Expr, out: &mut Vec<Stmt>) -> Expr {
        let (ty, span) = (value.ty, value.span);
        let var = self.new_var(name, ty, Vec::new(), VarKind::Local, span);
        let info = self.info_mut(var);
        (info.fixed, info.read, info.written) = (true, true, true);
        out.push(Stmt { kind: StmtKind::Declare { var, zero: true }, span });
        out.push(Stmt { kind: StmtKind::Assign { var, value }, span });
        Expr::read(var, ty, span)
    }

    // ---- places

    /// An element of `array`.
    pub(super) fn place(&self, array: VarId, index: Vec<Expr>, span: Span) -> Place {
        let unproved = every_dimension(index.len());
        let access = if self.in_map() { Access::Shared } else { Access::Exclusive };
        Place { array, index, path: Vec::new(), unproved, access, span }
    }

    /// The index of this iteration's element of `array`, if the rank fits.
    pub(super) fn iteration_index(&self, array: VarId, span: Span) -> Option<Vec<Expr>> {
        let since = &self.iters[self.info(array).iters.min(self.iters.len())..];
        let fits = !since.is_empty() && since.len() == self.vars[array].shape.len();
        fits.then(|| since.iter().map(|iter| Expr::read(*iter, Ty::LONG, span)).collect())
    }

    // ---- what is assigned

    pub(super) fn mark_assigned(&mut self, var: VarId) {
        self.info_mut(var).written = true;
        if let Some(assigned) = &mut self.assigned {
            assigned.insert(var);
        }
    }

    /// Notes a read of a scalar; reports one that may come before the first assignment.
    pub(super) fn mark_read(&mut self, var: VarId, span: Span) -> Option<()> {
        self.info_mut(var).read = true;
        let early = self.info(var).implicit && self.assigned.as_ref().is_some_and(|set| !set.contains(&var));
        if !early {
            return Some(());
        }
        let name = self.vars[var].name.clone();
        let first = self.vars[var].span;
        let ty = self.show_ty(self.vars[var].ty);
        self.info_mut(var).poisoned = true;
        self.error(
            Diagnostic::new(Code::ReadBeforeAssigned, span, format!("`{name}` may be read before it is assigned"))
                .label("no value on some path to here")
                .also(first, "made by this assignment")
                .help(format!("declare it before, which makes it 0: `{ty} {name};`")),
        )
    }

    /// Joins the paths of two branches.
    pub(super) fn join(a: Option<OrdSet<VarId>>, b: Option<OrdSet<VarId>>) -> Option<OrdSet<VarId>> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.intersection(&b).copied().collect()),
            (a, b) => a.or(b),
        }
    }

    /// Whether the variable is a parameter that must not be written.
    pub(super) fn is_input(&self, var: VarId) -> bool {
        self.vars[var].kind == VarKind::Param(Direction::Input)
    }
}

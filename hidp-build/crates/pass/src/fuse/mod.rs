//! `fuse`: maps of one block that run over the same iterations become one map.
//!
//! Two maps fuse when the nested shape of one is a prefix of the other's and every dependence between them stays inside one
//! iteration: what one writes at an index, the other touches at the same index only, or at one that no iteration has. Statements between
//! them move out of the way if nothing depends on their place. Maps that depend on each other fuse to keep elements in registers, independent ones to
//! load what they share once. Of two maps that fuse, at most one can fault, since their iterations change places.
//!
//! [`report`] returns what does not fuse, and why.

mod checks;
mod depend;
mod search;
mod shape;

use std::cell::OnceCell;

use super::Pass;
use hidp_ir::par::effects::{Effects, may_fault, may_jump};
use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{
    Block, Directives, Expr, ExprKind, Fold, FoldKind, Func, Map, Program, Stmt, StmtKind, Target, Var, VarId, VarKind,
};
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "fuse",
    about: "joins maps over the same iterations whose dependences stay inside one iteration",
    run,
};

/// Most arrays that independent maps may touch together when they are joined to share loads.
const MAX_STREAMS: usize = 16;

/// Most statements that a joined map has. What is joined is looked through once for each map that may join it.
const LARGEST: usize = 256;

/// How many maps behind one are looked at: for pairs of all maps of a long block there is no time.
const REACH: usize = 16;

/// Why two maps of one block stayed two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The first map.
    pub first: Span,
    /// The second map.
    pub second: Span,
    /// A sentence part: `the second reads \`x\` at another index`.
    pub reason: String,
}

fn run(program: &mut Program) {
    let before = program.clone();
    for (id, func) in program.funcs.iter_mut() {
        let mut body = std::mem::take(&mut func.body);
        Fuse::new(&before, &before.funcs[id], &mut func.vars).visit_block(&mut body);
        func.body = body;
    }
}

/// Why neighbouring maps of `func` are not one map: one note for each pair that has anything in common.
pub fn report(program: &Program, func: &Func) -> Vec<Note> {
    let mut search = Report { program, func, notes: Vec::new() };
    search.visit_block(&func.body);
    search.notes
}

struct Report<'p> {
    program: &'p Program,
    func: &'p Func,
    notes: Vec<Note>,
}

impl Visitor for Report<'_> {
    fn visit_block(&mut self, block: &Block) {
        let maps = block.stmts.iter().enumerate().filter(|(_, stmt)| matches!(stmt.kind, StmtKind::Map(_)));
        let positions: Vec<usize> = maps.map(|(at, _)| at).collect();
        for pair in positions.windows(2) {
            let mut vars = self.func.vars.clone();
            let mut fuse = Fuse::new(self.program, self.func, &mut vars);
            if let Err(Some(reason)) = fuse.join(&block.stmts[pair[0]..=pair[1]]) {
                let (first, second) = (block.stmts[pair[0]].span, block.stmts[pair[1]].span);
                self.notes.push(Note { first, second, reason });
            }
        }
        look::walk_block(self, block);
    }
    fn visit_expr(&mut self, _: &Expr) {}
}

struct Fuse<'p, 'v> {
    program: &'p Program,
    /// The function as it was, for what is known of its variables.
    known: &'p Func,
    vars: &'v mut Arena<VarId, Var>,
    /// How often the function mentions each variable, computed on demand.
    mentions: OnceCell<OrdMap<VarId, usize>>,
}

impl Mutator for Fuse<'_, '_> {
    fn visit_block(&mut self, block: &mut Block) {
        search::join_all(self, &mut block.stmts);
        // Maps that have come together inside a joined map may fuse in turn.
        change::walk_block(self, block);
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// Why two maps are not joined; `None` if there is nothing to say: they have nothing in common.
type Refusal = Option<String>;

fn refuse<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Some(reason.into()))
}

impl<'p, 'v> Fuse<'p, 'v> {
    fn new(program: &'p Program, known: &'p Func, vars: &'v mut Arena<VarId, Var>) -> Self {
        Fuse { program, known, vars, mentions: OnceCell::new() }
    }

    /// Joins the first and the last of `stmts`, two maps; what stands between moves before or behind.
    fn join(&mut self, stmts: &[Stmt]) -> Result<Vec<Stmt>, Refusal> {
        let [first, .., last] = stmts else { return Err(None) };
        let (StmtKind::Map(a), StmtKind::Map(b)) = (&first.kind, &last.kind) else { return Err(None) };
        let pair = self.pair((a, &self.effects(a)), (b, &self.effects(b)))?;
        self.join_pair(pair, stmts)
    }

    /// Two maps that can be one, the second over the iterators of the first. What stands between them may object.
    fn pair(&self, a: (&Map, &Effects), b: (&Map, &Effects)) -> Result<Pair, Refusal> {
        self.is_worthwhile(a, b)?;
        let (a, b) = shape::align(self.known, a.0, b.0)?;
        let iters: OrdMap<VarId, VarId> =
            b.iters.iter().zip(&a.iters).map(|(of_b, of_a)| (of_b.var, of_a.var)).collect();
        let b = rename_map(b, |var| iters.get(&var).copied().unwrap_or(var));
        self.is_compatible(&a, &b)?;
        depend::stays_inside(self.program, self.vars, &a, &b)?;
        Ok(Pair { a, b, iters })
    }

    fn join_pair(&mut self, pair: Pair, stmts: &[Stmt]) -> Result<Vec<Stmt>, Refusal> {
        let [first, between @ .., last] = stmts else { return Err(None) };
        let Pair { a: mut map, b, iters } = pair;
        let (mut joined, behind) = self.part(&map, first, between, last)?;
        self.rename_extents(&b, |var| iters.get(&var).copied().unwrap_or(var));
        map.body.stmts.extend(b.body.stmts);
        map.folds.extend(b.folds);
        if map.directives == Directives::default() {
            map.directives = b.directives;
        }
        joined.push(Stmt { kind: StmtKind::Map(map), span: first.span });
        joined.extend(behind);
        Ok(joined)
    }

    /// Whether joining gains anything: elements that both touch.
    fn is_worthwhile(&self, (a, a_effects): (&Map, &Effects), (b, b_effects): (&Map, &Effects)) -> Result<(), Refusal> {
        let arrays = |effects: &Effects| -> OrdSet<VarId> {
            effects.free().into_iter().filter(|var| self.vars[*var].is_array()).collect()
        };
        let (of_a, of_b) = (arrays(a_effects), arrays(b_effects));
        if of_a.is_disjoint(&of_b) {
            return Err(None);
        }
        if size(a) + size(b) > LARGEST {
            return refuse("together they would have too many statements");
        }
        let feeds = of_b.iter().any(|array| a_effects.writes.contains(array));
        let nested = |map: &Map| map.body.stmts.iter().any(|stmt| !is_flat(stmt));
        if feeds {
            return Ok(());
        }
        if a.iters.len() != b.iters.len() {
            return refuse("they only share loads, and one runs over more iterators than the other");
        }
        if nested(a) != nested(b) || nested(a) && a.iters.len() > 1 {
            return refuse("they only share loads, and one of them is a nest that is better left alone");
        }
        if of_a.union(&of_b).count() > MAX_STREAMS {
            return refuse("together they would touch too many arrays");
        }
        let in_other_order =
            |array: &VarId| matches!((across(a, *array), across(b, *array)), (Some(of_a), Some(of_b)) if of_a != of_b);
        if of_a.intersection(&of_b).any(in_other_order) {
            return refuse(
                "they only share loads, and vector lanes take neighbours of one iteration in one of them, of neighbouring ones in the other",
            );
        }
        Ok(())
    }

    fn effects(&self, map: &Map) -> Effects {
        Effects::of_stmt(self.program, self.vars, &stmt_of(map))
    }

    /// Extents of arrays that live in the body of the second map follow it.
    fn rename_extents(&mut self, map: &Map, renamed: impl Fn(VarId) -> VarId) {
        for array in visit::declared(&map.body) {
            self.vars[array].shape.iter_mut().for_each(|extent| visit::rename_expr_vars(extent, &renamed));
        }
    }

    /// What does not depend on elements: folds, directives, faults.
    fn is_compatible(&self, a: &Map, b: &Map) -> Result<(), Refusal> {
        let none = Directives::default();
        if a.directives != b.directives && a.directives != none && b.directives != none {
            return refuse("their directives differ");
        }
        if a.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) {
            return refuse("the first is a scan, of which nothing is complete before its end");
        }
        if b.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) && !self.vanishes_into(a, b) {
            return refuse("the second is a scan, which computes its values more than once");
        }
        let effects = self.effects(b);
        for fold in &a.folds {
            if let Target::Scalar(var) = fold.target
                && (effects.reads.contains(&var) || effects.writes.contains(&var))
            {
                return refuse(format!("the second needs the complete fold `{}`", self.vars[var].name));
            }
        }
        let b_faults = || {
            let folds = b.folds.iter().any(|fold| fold.op.neutral.is_none());
            folds || may_fault(self.program, self.vars, &checks::not_made_by(a, b, &self.effects(a), &effects))
        };
        if may_fault(self.program, self.vars, &Block { stmts: vec![stmt_of(a)] }) && b_faults() {
            return refuse("both can fault, and joined they would not report the first fault first");
        }
        Ok(())
    }

    /// Whether all that `a` leaves behind are elements of local arrays that only `b` reads, so that no store remains.
    fn vanishes_into(&self, a: &Map, b: &Map) -> bool {
        let mentions = |block: &Block| {
            let mut all: OrdMap<VarId, usize> = OrdMap::new();
            visit::walk_vars(block, |var, role| {
                if role != Role::Declare {
                    *all.entry(var).or_default() += 1;
                }
            });
            all
        };
        let count = |all: &OrdMap<VarId, usize>, var: VarId| all.get(&var).copied().unwrap_or(0);
        let everywhere = self.mentions.get_or_init(|| mentions(&self.known.body));
        let (in_a, in_b) = (mentions(&a.body), mentions(&b.body));
        a.folds.is_empty()
            && self.effects(a).outer_writes().into_iter().all(|var| {
                self.vars[var].kind == VarKind::Local && count(everywhere, var) == count(&in_a, var) + count(&in_b, var)
            })
    }

    fn why_between(&self, folds: &[Fold], stmt: &Stmt) -> String {
        let effects = Effects::of_stmt(self.program, self.vars, stmt);
        let fold = folds.iter().find_map(|fold| match fold.target {
            Target::Scalar(var) => effects.reads.contains(&var).then(|| self.vars[var].name.clone()),
            Target::Element(_) => None,
        });
        match fold {
            Some(name) => format!("a statement between them needs the complete fold `{name}`"),
            None => "a statement between them must stay between".into(),
        }
    }

    /// Where the statements between two maps go: before the joined map, or behind it.
    fn part(&self, a: &Map, first: &Stmt, between: &[Stmt], last: &Stmt) -> Result<(Vec<Stmt>, Vec<Stmt>), Refusal> {
        let moving = |stmt: &Stmt| Moving {
            effects: Effects::of_stmt(self.program, self.vars, stmt),
            faults: may_fault(self.program, self.vars, &Block { stmts: vec![stmt.clone()] }),
            jumps: may_jump(&Block { stmts: vec![stmt.clone()] }),
        };
        let (first, last) = (moving(first), moving(last));
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        let mut sunk: Vec<Moving> = Vec::new();
        for stmt in between {
            let this = moving(stmt);
            if this.passes(&first) && sunk.iter().all(|other| this.passes(other)) {
                before.push(stmt.clone());
            } else if this.passes(&last) && !teaches(self.vars, stmt, &this) {
                behind.push(stmt.clone());
                sunk.push(this);
            } else {
                return refuse(self.why_between(&a.folds, stmt));
            }
        }
        Ok((before, behind))
    }
}

/// Two maps over the same iterators.
struct Pair {
    a: Map,
    b: Map,
    /// Iterators of the first map for those that the second had.
    iters: OrdMap<VarId, VarId>,
}

/// The map over other iterators.
fn rename_map(mut map: Map, renamed: impl Fn(VarId) -> VarId) -> Map {
    for iter in &mut map.iters {
        iter.var = renamed(iter.var);
    }
    visit::rename_vars(&mut map.body, &renamed);
    map.directives.pins.iter_mut().for_each(|pin| pin.rename(&renamed));
    for fold in &mut map.folds {
        fold.over.iter_mut().for_each(|var| *var = renamed(*var));
        if let Target::Element(place) = &mut fold.target {
            place.index.iter_mut().for_each(|index| visit::rename_expr_vars(index, &renamed));
        }
    }
    map
}

struct Moving {
    effects: Effects,
    faults: bool,
    jumps: bool,
}

impl Moving {
    fn passes(&self, other: &Moving) -> bool {
        let both_fault = self.faults && other.faults;
        let jumps = self.jumps || other.jumps;
        self.effects.independent_of(&other.effects) && !both_fault && !jumps
    }
}

/// Whether proofs about what follows may rest on a statement having passed: a test, an array having been made. Such a statement
/// may come earlier, never later.
fn teaches(vars: &Arena<VarId, Var>, stmt: &Stmt, moving: &Moving) -> bool {
    moving.faults || matches!(stmt.kind, StmtKind::Declare { var, .. } if vars[var].is_array())
}

/// The number of statements, those inside of others included.
fn size(map: &Map) -> usize {
    let mut size = 0;
    visit::walk_stmts(&map.body, |_| size += 1);
    size
}

fn stmt_of(map: &Map) -> Stmt {
    let span = map.iters.first().map_or_else(|| Span::new(Id::new(0), 0, 0), |iter| iter.span);
    Stmt { kind: StmtKind::Map(map.clone()), span }
}

/// Whether iterations of a nest that are neighbours load neighbouring elements of a matrix, rather than each iteration by itself. `None` if
/// not all loads say the same.
fn across(map: &Map, array: VarId) -> Option<bool> {
    let mut found: OrdSet<Option<bool>> = OrdSet::new();
    let inner: OrdSet<VarId> = visit::declared(&map.body).into_iter().collect();
    visit::walk_places(&map.body, |place, _| {
        if place.array == array && place.index.len() > 1 {
            found.insert(place.index.last().and_then(|last| match last.kind {
                ExprKind::Read(var) if map.iters.iter().any(|iter| iter.var == var) => Some(true),
                ExprKind::Read(var) if inner.contains(&var) => Some(false),
                _ => None,
            }));
        }
    });
    if found.len() == 1 { found.pop_first().flatten() } else { None }
}

/// Whether a statement holds no map, loop or primitive.
pub(super) fn is_flat(stmt: &Stmt) -> bool {
    let mut flat = true;
    let block = Block { stmts: vec![stmt.clone()] };
    visit::walk_stmts(&block, |inner| {
        flat &= !matches!(inner.kind, StmtKind::Map(_) | StmtKind::Loop(_) | StmtKind::Prim(_));
    });
    flat
}

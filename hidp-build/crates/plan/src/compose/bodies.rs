//! What the search asks of functions and codelets in every state: found once.

use super::admit::{Lack, Needs};
use super::is_second_way;
use crate::target::{CallLevel, CallLevels};
use hidp_ir::par::{Codelet, FuncId, Program, VarId, sites};
use hidp_syntax::ast::PieceWay;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// The bodies of a program's functions that have a choice.
pub(super) struct Bodies<'a> {
    pub(super) program: &'a Program,
    pub(super) choosing: &'a OrdSet<FuncId>,
    pub(super) levels: &'a CallLevels,
    /// Functions that reach one another, by the number of their component.
    component: OrdMap<FuncId, usize>,
    /// Of each function the one that it is, then its codelets, those that are looked at second last.
    of: OrdMap<FuncId, Vec<Body<'a>>>,
}

/// A function or a codelet of it.
pub(super) struct Body<'a> {
    /// Nothing for the function itself.
    pub(super) codelet: Option<&'a Codelet>,
    pub(super) func: FuncId,
    pub(super) needs: Needs,
    /// How it cuts arrays.
    pub(super) pieces: Vec<PieceWay>,
    /// Whether it calls its own component.
    pub(super) recursive: bool,
    /// Values of its tunables that are looked at.
    pub(super) combinations: Vec<Vec<(VarId, i64)>>,
    /// Whether these are all.
    pub(super) all: bool,
}

impl<'a> Bodies<'a> {
    /// At most so many combinations of a codelet's tunables are looked at.
    pub(super) fn new(
        program: &'a Program,
        (choosing, levels): (&'a OrdSet<FuncId>, &'a CallLevels),
        most: usize,
    ) -> Self {
        let component = components(program, choosing);
        let own = |a: FuncId, b: FuncId| component.get(&a) == component.get(&b);
        let body = |function: FuncId, codelet: Option<&'a Codelet>| {
            let func = codelet.map_or(function, |codelet| codelet.func);
            let (calls, pieces) = sites(&program.funcs[func].body, choosing);
            let recursive = calls.iter().any(|site| own(site.callee, function));
            let needs = Needs::of(program, &program.funcs[func], choosing);
            let (combinations, all) = combinations(codelet, most);
            Body { codelet, func, needs, pieces, recursive, combinations, all }
        };
        let bodies = |function: &FuncId| {
            let spectrum = program.spectrum_of(*function);
            let mut codelets: Vec<&Codelet> = spectrum.into_iter().flat_map(|spectrum| &spectrum.codelets).collect();
            codelets.sort_by_key(|codelet| is_second_way(codelet, levels));
            let all = std::iter::once(None).chain(codelets.into_iter().map(Some));
            (*function, all.map(|codelet| body(*function, codelet)).collect())
        };
        let of = choosing.iter().map(bodies).collect();
        Bodies { program, choosing, levels, component, of }
    }

    /// The function itself, then its codelets.
    pub(super) fn of(&self, function: FuncId) -> &[Body<'a>] {
        &self.of[&function]
    }

    /// What each level lacks to run a codelet, if none can.
    pub(super) fn refused(&self, function: FuncId, codelet: &Codelet) -> Vec<(String, Lack)> {
        let own = self.of(function).iter().find(|body| body.func == codelet.func);
        let lack = |level: &CallLevel| Some((level.name.clone(), own?.needs.lack(level)?));
        let found: Vec<_> = self.levels.all.iter().filter_map(lack).collect();
        if found.len() == self.levels.all.len() { found } else { Vec::new() }
    }

    /// Whether functions call one another.
    pub(super) fn together(&self, a: FuncId, b: FuncId) -> bool {
        self.component[&a] == self.component[&b]
    }
}

/// Combinations of the first values of a codelet's tunables, of each about as many, the last one's next to each other; and whether
/// these are all. What calls choose has its usual value.
fn combinations(codelet: Option<&Codelet>, most: usize) -> (Vec<Vec<(VarId, i64)>>, bool) {
    let tunables = codelet.map_or(&[][..], |codelet| &codelet.tunables);
    let mut counts = vec![1; tunables.len()];
    loop {
        let before = counts.clone();
        for (at, tunable) in tunables.iter().enumerate() {
            let others: usize = counts.iter().product::<usize>() / counts[at];
            let more = !tunable.run && counts[at] < tunable.values.len();
            counts[at] += usize::from(more && others * (counts[at] + 1) <= most);
        }
        if counts == before {
            break;
        }
    }
    let mut found = vec![Vec::new()];
    for (tunable, count) in tunables.iter().zip(&counts) {
        let longer = |known: &Vec<(VarId, i64)>| {
            let each = tunable.values.iter().take(*count).map(|value| (tunable.var, *value));
            each.map(|next| known.iter().copied().chain([next]).collect()).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(longer).collect();
    }
    (found, tunables.iter().zip(&counts).all(|(tunable, count)| tunable.run || tunable.values.len() == *count))
}

/// Functions that reach one another, codelets included, have the same number.
fn components(program: &Program, choosing: &OrdSet<FuncId>) -> OrdMap<FuncId, usize> {
    let callees = |function: FuncId| -> OrdSet<FuncId> {
        let codelets = program.spectrum_of(function).into_iter().flat_map(|spectrum| &spectrum.codelets);
        let bodies = codelets.map(|codelet| codelet.func).chain([function]);
        bodies.flat_map(|body| sites(&program.funcs[body].body, choosing).0).map(|site| site.callee).collect()
    };
    let mut reached: OrdMap<FuncId, OrdSet<FuncId>> = choosing.iter().map(|id| (*id, callees(*id))).collect();
    loop {
        let before: usize = reached.values().map(OrdSet::len).sum();
        for id in choosing {
            let further: Vec<FuncId> =
                reached[id].iter().filter_map(|next| reached.get(next)).flatten().copied().collect();
            reached.entry(*id).or_default().extend(further);
        }
        if reached.values().map(OrdSet::len).sum::<usize>() == before {
            break;
        }
    }
    let reaches = |a: &FuncId, b: &FuncId| a == b || reached[a].contains(b) && reached[b].contains(a);
    let first = |id: &FuncId| choosing.iter().position(|other| reaches(id, other)).unwrap_or(0);
    choosing.iter().map(|id| (*id, first(id))).collect()
}

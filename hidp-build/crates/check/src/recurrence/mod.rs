//! Recurrences.
//!
//! Recurrences that reach each other, and all that these reach, are one function over arrays: its inputs are theirs together, its
//! outputs are their tables ([`system`]). A use declares the tables as local arrays and calls that function ([`uses`]), so that
//! binding of inputs and dimensions, sections, and uses in maps are those of calls.

mod begin;
mod domain;
mod folds;
mod inside;
mod names;
mod refusal;
mod rows;
mod schedule;
mod system;
mod uses;

use hidp_ir::par::{self, FuncId};
use hidp_syntax::ast::{self, Direction};
use hidp_syntax::diag::Sink;
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::{FileId, Span};

use super::items::{Global, Globals, ParamSig};

pub(super) use uses::Instance;

/// What users know of a recurrence.
#[derive(Clone, Debug)]
pub(super) struct RecurSig {
    pub(super) name: String,
    /// How many indices a cell has.
    pub(super) rank: usize,
    pub(super) span: Span,
    /// The function that computes it: position in [`Globals::systems`].
    pub(super) system: usize,
}

/// Recurrences and all that they reach.
#[derive(Clone, Debug)]
pub(super) struct SystemFunc {
    /// In the order of the program.
    pub(super) members: Vec<usize>,
    /// The function; no body had an error if there is one.
    pub(super) func: Option<par::Func>,
    pub(super) id: FuncId,
    /// Inputs in the function's order.
    pub(super) inputs: Vec<ParamSig>,
    /// The indices of the first element of each table of the function.
    first: begin::First,
}

impl Globals<'_> {
    /// The table of a recurrence, in the function that computes it.
    fn table_of(&self, id: usize) -> Option<(&SystemFunc, &par::Table)> {
        let system = &self.systems[self.recurrences[id].system];
        let func = system.func.as_ref()?;
        let member = system.members.iter().position(|member| *member == id)?;
        let array = func.params.get(system.inputs.len() + member)?;
        let mut tables = func.recur.iter().flat_map(|recur| &recur.systems).flat_map(|system| &system.tables);
        Some((system, tables.find(|table| table.array == *array)?))
    }
}

type Items<'a> = [(FileId, &'a ast::Recurrence)];

/// Checks all recurrences. Their functions come behind the `written` ones.
pub(super) fn collect(globals: &mut Globals<'_>, items: &Items<'_>, written: usize, sink: &mut Sink) {
    let reach = reached(globals, items);
    let mut systems: Vec<Vec<usize>> = Vec::new();
    for (index, (_, item)) in items.iter().enumerate() {
        let members: Vec<usize> =
            reach[index].iter().copied().chain([index]).collect::<OrdSet<_>>().into_iter().collect();
        let system = systems.iter().position(|known| *known == members).unwrap_or_else(|| {
            systems.push(members);
            systems.len() - 1
        });
        globals.recurrences.push(RecurSig {
            name: item.name.name.clone(),
            rank: item.index.len(),
            span: item.name.span,
            system,
        });
    }
    for members in systems {
        let components = components(&members, &reach);
        let params = system::inputs(globals, items, &members, sink);
        let checked = system::check(globals, items, &components, &params, sink);
        let (func, first) = checked.map(|checked| (checked.func, checked.first)).unzip();
        let inputs = params.iter().map(|param| signature(globals, items[members[0]].0, param)).collect();
        let id = FuncId::new(written + globals.systems.len());
        globals.systems.push(SystemFunc { members, func, id, inputs, first: first.unwrap_or_default() });
    }
}

fn signature(globals: &Globals<'_>, file: FileId, param: &ast::Param) -> ParamSig {
    ParamSig {
        name: param.name.name.clone(),
        direction: Direction::Input,
        ty: globals.type_of(file, &param.ty.name),
        rank: param.dims.len(),
        span: param.span,
    }
}

/// For each recurrence, those that its body uses, and those that they use.
fn reached(globals: &Globals<'_>, items: &Items<'_>) -> Vec<OrdSet<usize>> {
    let used = |(file, item): &(FileId, &ast::Recurrence)| -> OrdSet<usize> {
        let names = names::used(&item.body);
        let globals = names.iter().filter_map(|name| globals.lookup(*file, name));
        globals
            .filter_map(|global| match global {
                Global::Recurrence(index) => Some(index),
                Global::Const(_) | Global::Struct(_) | Global::Scalar(_) | Global::Func(_) | Global::Poisoned => None,
            })
            .collect()
    };
    let edges: Vec<OrdSet<usize>> = items.iter().map(used).collect();
    let from = |start: usize| {
        let mut seen = OrdSet::new();
        let mut work: Vec<usize> = edges[start].iter().copied().collect();
        while let Some(next) = work.pop() {
            if seen.insert(next) {
                work.extend(&edges[next]);
            }
        }
        seen
    };
    (0..items.len()).map(from).collect()
}

/// The members in groups that reach each other, those first that others use.
fn components(members: &[usize], reach: &[OrdSet<usize>]) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = members.to_vec();
    let mut groups = Vec::new();
    while !left.is_empty() {
        let group_of = |at: usize| -> Vec<usize> {
            left.iter().copied().filter(|m| *m == at || reach[at].contains(m) && reach[*m].contains(&at)).collect()
        };
        let is_ready = |group: &[usize]| {
            group.iter().all(|at| reach[*at].iter().all(|used| group.contains(used) || !left.contains(used)))
        };
        let group = left.iter().map(|at| group_of(*at)).find(|group| is_ready(group));
        // Groups are nodes of a graph without cycles.
        let group = group.expect("some group uses no other that is left");
        left.retain(|at| !group.contains(at));
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_after_what_they_use() {
        // 0 and 2 use each other, 1 uses both, 3 uses itself.
        let sets: [&[usize]; 4] = [&[0, 2], &[0, 2], &[0, 2], &[3]];
        let reach: Vec<OrdSet<usize>> = sets.iter().map(|set| set.iter().copied().collect()).collect();
        assert_eq!(components(&[0, 1, 2], &reach), [vec![0, 2], vec![1]]);
        assert_eq!(components(&[3], &reach), [vec![3]]);
        assert_eq!(components(&[1, 2, 0], &reach), [vec![2, 0], vec![1]]);
    }
}

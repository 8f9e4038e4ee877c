//! The names by which lines know the iterators and arrays of a nest. Of several with one name the second is `i.2`.

use super::super::iterators;
use hidp_ir::par::visit;
use hidp_ir::par::{Func, Map, Target, VarId};
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// The names of a nest's iterators, outermost first, and of the arrays that it uses.
pub(crate) struct Names {
    iters: Vec<(VarId, String)>,
    arrays: Vec<(VarId, String)>,
}

impl Names {
    pub(crate) fn of(func: &Func, map: &Map) -> Self {
        let mut arrays: OrdSet<VarId> = OrdSet::new();
        visit::walk_vars(&map.body, |var, _| {
            arrays.insert(var);
        });
        arrays.extend(map.folds.iter().filter_map(|fold| match &fold.target {
            Target::Element(place) => Some(place.array),
            Target::Scalar(_) => None,
        }));
        let arrays = arrays.into_iter().filter(|var| func.vars[*var].is_array());
        Self { iters: numbered(func, iterators(map)), arrays: numbered(func, arrays) }
    }

    /// The name of an iterator of the nest.
    pub(crate) fn iter(&self, var: VarId) -> String {
        name_in(&self.iters, var)
    }
    /// The name of an array that the nest uses.
    pub(crate) fn array(&self, var: VarId) -> String {
        name_in(&self.arrays, var)
    }
    pub(crate) fn iter_called(&self, name: &str) -> Option<VarId> {
        called(&self.iters, name)
    }
    pub(crate) fn array_called(&self, name: &str) -> Option<VarId> {
        called(&self.arrays, name)
    }
    /// Every iterator, outermost first.
    pub(crate) fn iters(&self) -> impl Iterator<Item = (VarId, &str)> {
        self.iters.iter().map(|(var, name)| (*var, name.as_str()))
    }
}

fn numbered(func: &Func, vars: impl IntoIterator<Item = VarId>) -> Vec<(VarId, String)> {
    let mut seen: OrdMap<&str, u32> = OrdMap::new();
    let name = |var: VarId| {
        let name = func.vars[var].name.as_str();
        let number = seen.entry(name).and_modify(|number| *number += 1).or_insert(1);
        (var, if *number == 1 { name.to_owned() } else { format!("{name}.{number}") })
    };
    vars.into_iter().map(name).collect()
}

/// Every variable that a mapping names is one of the nest: an empty name reads back as none.
fn name_in(names: &[(VarId, String)], var: VarId) -> String {
    names.iter().find(|(other, _)| *other == var).map_or(String::new(), |(_, name)| name.clone())
}

fn called(names: &[(VarId, String)], name: &str) -> Option<VarId> {
    names.iter().find(|(_, other)| other == name).map(|(var, _)| *var)
}

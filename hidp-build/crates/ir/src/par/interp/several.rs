//! Which values an element may have in the end where several iterations of a map write it.
//!
//! A write replaces those that come before it in every order of iterations; those of iterations that run at the same time stay.

use super::memory::BufferId;
use super::races::{Path, at_once};
use super::{Machine, Running, Value};
use hidp_syntax::ordered::OrdMap;

/// Values of elements, by the number of a parameter and the position in it.
pub(in crate::par) type Values = OrdMap<(usize, usize), Vec<Value>>;

/// What is known of some parameters.
#[derive(Debug, Default)]
pub(super) struct Several {
    /// Their buffers, with their numbers.
    pub(super) watched: Vec<(BufferId, usize)>,
    paths: Vec<Path>,
    /// The path of the present iteration, if it has written anything.
    present: Option<usize>,
    /// What iterations of the present outermost map have written, with their paths.
    written: OrdMap<(usize, usize), Vec<(usize, Value)>>,
    /// What was written last before it.
    pub(super) values: Values,
}

impl Several {
    /// Another iteration, or another map.
    pub(super) fn moved_on(&mut self, maps: &[Running]) {
        self.present = None;
        if maps.is_empty() {
            self.paths.clear();
            for (at, written) in std::mem::take(&mut self.written) {
                self.values.insert(at, written.into_iter().map(|(_, value)| value).collect());
            }
        }
    }

    fn note(&mut self, maps: &[Running], (buffer, index): (BufferId, usize), value: &Value) {
        let Some((_, param)) = self.watched.iter().find(|(watched, _)| *watched == buffer) else { return };
        let at = (*param, index);
        if maps.is_empty() {
            self.values.insert(at, vec![value.clone()]);
            return;
        }
        let path = *self.present.get_or_insert_with(|| {
            self.paths.push(maps.iter().map(|map| (map.number, map.iteration)).collect());
            self.paths.len() - 1
        });
        let written = self.written.entry(at).or_default();
        written.retain(|(other, _)| at_once(&self.paths[*other], &self.paths[path]));
        written.push((path, value.clone()));
    }
}

impl Machine<'_> {
    /// Notes that an element is stored.
    pub(super) fn note(&mut self, at: (BufferId, usize), value: &Value) {
        if !self.several.watched.is_empty() {
            self.several.note(&self.maps, at, value);
        }
    }
}

//! Watches which iterations touch which elements, to catch accesses that are wrongly marked as exclusive.
//!
//! Two accesses of one element conflict if one of them writes and they come from two iterations of one run of a map, and if one of
//! them claims to be alone. Elements count as a whole, whatever field is touched; primitives are left out, their segments are
//! checked elsewhere. Of the readers of an element a few are remembered, so not every wrong claim is seen.

use super::super::Access;
use super::memory::BufferId;
use super::{Error, Machine, Run, Running};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;

/// So many readers of an element are remembered.
const MAX_READERS: usize = 8;

/// The maps around an access, outermost first: which run of a map, and which iteration of it.
pub(super) type Path = Vec<(u64, i64)>;

#[derive(Clone, Debug)]
struct Touch {
    /// Index into [`Watch::paths`].
    path: usize,
    access: Access,
    span: Span,
}

#[derive(Clone, Debug, Default)]
struct Element {
    writer: Option<Touch>,
    readers: Vec<Touch>,
}

/// What is known of the present outermost map.
#[derive(Debug, Default)]
pub(super) struct Watch {
    paths: Vec<Path>,
    /// The path of the present iteration, if it has touched anything.
    present: Option<usize>,
    elements: OrdMap<(BufferId, usize), Element>,
}

impl Watch {
    /// Another iteration, or another map.
    pub(super) fn moved_on(&mut self, maps: &[Running]) {
        self.present = None;
        if maps.is_empty() {
            self.paths.clear();
            self.elements.clear();
        }
    }

    /// New contents.
    pub(super) fn forget(&mut self, buffer: BufferId) {
        let old: Vec<_> = self.elements.range((buffer, 0)..=(buffer, usize::MAX)).map(|(key, _)| *key).collect();
        old.iter().for_each(|key| drop(self.elements.remove(key)));
    }

    fn path(&mut self, maps: &[Running]) -> usize {
        *self.present.get_or_insert_with(|| {
            self.paths.push(maps.iter().map(|map| (map.number, map.iteration)).collect());
            self.paths.len() - 1
        })
    }

    /// Notes an access; the other one if two conflict.
    fn touch(&mut self, maps: &[Running], at: (BufferId, usize), touch: (bool, Access, Span)) -> Option<Span> {
        let (writes, access, span) = touch;
        let path = self.path(maps);
        let element = self.elements.entry(at).or_default();
        let readers = element.readers.iter().filter(|_| writes);
        let clash = element.writer.iter().chain(readers).find(|other| {
            let alone = access == Access::Exclusive || other.access == Access::Exclusive;
            alone && other.path != path && at_once(&self.paths[other.path], &self.paths[path])
        });
        if let Some(clash) = clash {
            return Some(clash.span);
        }
        let touch = Touch { path, access, span };
        if writes {
            element.writer = Some(touch);
        } else if element.readers.len() < MAX_READERS {
            element.readers.push(touch);
        } else {
            element.readers[MAX_READERS - 1] = touch;
        }
        None
    }
}

/// Whether two iterations may run at the same time: they part at two iterations of one map.
pub(super) fn at_once(a: &Path, b: &Path) -> bool {
    let parting = a.iter().zip(b).find(|(a, b)| a != b);
    parting.is_some_and(|((map, _), (other, _))| map == other)
}

impl Machine<'_> {
    /// Notes an access to an element if races are watched for.
    pub(super) fn touch(&mut self, at: (BufferId, usize), writes: bool, access: Access, span: Span) -> Run<()> {
        if self.maps.is_empty() {
            return Ok(());
        }
        let Some(watch) = &mut self.watch else { return Ok(()) };
        match watch.touch(&self.maps, at, (writes, access, span)) {
            Some(first) => Err(Box::new(Error::Race { first, second: span })),
            None => Ok(()),
        }
    }
}

//! Maps that would run in vector lanes if it were known that their iterations touch different elements, and those that read one element
//! which one of their iterations certainly writes.
//!
//! ```text
//! map { i := [0:N); p[i] = p[i] - f * p[k]; }
//! ```

use hidp_ir::par::ahead::read_ahead;
use hidp_ir::par::lanes::vectorisable;
use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{Access, ExprKind, Func, FuncId, Map, Place, Program, Stmt, StmtKind, VarId, same};
use hidp_prove::{self as prove, Doubt};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::source::{SourceMap, Span};

use super::super::shape::Linear;
use super::copies;
use super::or_allow;

/// Ranges that are known to be shorter than this gain nothing from lanes.
const FEWEST: i128 = 8;

/// Warns of maps that accesses in doubt keep from vector lanes, once for each doubt.
pub(super) fn lint(program: &Program, doubts: &[(FuncId, Vec<Doubt>)], sources: &SourceMap, sink: &mut Sink) {
    let doubts = doubts.iter().filter(|(_, doubts)| !doubts.is_empty());
    let mut proved: Option<Program> = None;
    for (id, doubts) in doubts {
        // Tests that can be proved to pass keep no map from lanes.
        let program = proved.get_or_insert_with(|| program.clone());
        prove::bounds(program, *id);
        let func = &program.funcs[*id];
        let mut lanes = Lanes { program, func, sources, sink, doubts: doubts.iter().collect(), maps: Vec::new() };
        lanes.visit_block(&func.body);
    }
}

struct Lanes<'a> {
    program: &'a Program,
    func: &'a Func,
    sources: &'a SourceMap,
    sink: &'a mut Sink,
    /// What is not reported yet.
    doubts: Vec<&'a Doubt>,
    /// The maps around, outermost first, and their statements.
    maps: Vec<(Span, Map)>,
}

impl Visitor for Lanes<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        let StmtKind::Map(map) = &stmt.kind else { return look::walk_stmt(self, stmt) };
        self.maps.push((stmt.span, map.clone()));
        // Of a map outside of others some reads are made before it.
        let mended = self.maps.len() == 1 && read_ahead(self.program, self.func, map).is_some();
        let loses_lanes = !mended && self.loses_lanes(map);
        self.report(map, loses_lanes);
        look::walk_stmt(self, stmt);
        self.maps.pop();
    }
}

impl Lanes<'_> {
    /// Whether nothing but possible races keeps a map from vector lanes.
    fn loses_lanes(&self, map: &Map) -> bool {
        let Some(last) = map.iters.last() else { return false };
        let long = match (last.lo.as_int(), last.hi.as_int()) {
            (Some(lo), Some(hi)) => hi.saturating_sub(lo) >= FEWEST,
            (Some(_), None) | (None, _) => true,
        };
        if !long || map.directives.unroll.is_some() || vectorisable(self.program, self.func, map) {
            return false;
        }
        let mut written = Vec::new();
        visit::walk_places(&map.body, |place, role| written.extend((role != Role::Read).then(|| place.clone())));
        // Lanes that write one element do not run side by side, whatever is known of others.
        let evenly = |place: &Place| place.index.iter().any(|index| Linear::of(index).is_linear_in(last.var));
        if !written.iter().all(|place| place.access == Access::Exclusive || evenly(place)) {
            return false;
        }
        let mut apart = map.clone();
        visit::map_places(&mut apart.body, |place, role| {
            // What others may write would be read before the map.
            if place.access == Access::Shared && role == Role::Read && !is_among(place, &written) {
                place.unproved = 0;
            }
            place.access = Access::Exclusive;
        });
        vectorisable(self.program, self.func, &apart)
    }

    fn report(&mut self, inner: &Map, loses_lanes: bool) {
        for at in (0..self.doubts.len()).rev() {
            let doubt = self.doubts[at];
            let level = self.maps.iter().position(|(_, map)| map.iters.iter().any(|iter| iter.var == doubt.map));
            if let Some(level) = level.filter(|_| (loses_lanes || doubt.is_certain) && shares(inner, doubt.array)) {
                self.doubts.remove(at);
                let diagnostic = self.diagnostic(doubt, level, inner, loses_lanes);
                self.sink.push(or_allow(diagnostic));
            }
        }
    }

    fn diagnostic(&self, doubt: &Doubt, level: usize, inner: &Map, loses_lanes: bool) -> Diagnostic {
        let name = &self.func.vars[doubt.array].name;
        let headline = match (doubt.is_certain, loses_lanes) {
            (false, _) => {
                format!("iterations may touch the same element of `{name}`, which costs this map its vector lanes")
            }
            (true, true) => {
                format!(
                    "iterations read an element of `{name}` that one of them writes, which costs this map its vector lanes"
                )
            }
            (true, false) => format!("iterations read an element of `{name}` that one of them writes: old or new"),
        };
        let diagnostic = Diagnostic::new(Code::RacesCostLanes, doubt.first, headline);
        let diagnostic = match (doubt.both_write, doubt.first == doubt.second) {
            (true, true) => diagnostic.label("as far as is known, two iterations may write one element"),
            (true, false) => {
                diagnostic.label("written here").also(doubt.second, "and here, perhaps by another iteration")
            }
            (false, _) if doubt.is_certain => diagnostic
                .label("read by all iterations")
                .also(doubt.second, "written by each, and by one this element"),
            (false, _) => {
                diagnostic.label("read here").also(doubt.second, "written here, perhaps by another iteration")
            }
        };
        let outer = level + 1 < self.maps.len();
        let diagnostic = match inner.iters.first().filter(|_| outer && loses_lanes) {
            Some(iter) => diagnostic.also(iter.span, "the map that runs without lanes"),
            None => diagnostic,
        };
        let (span, map) = &self.maps[level];
        if doubt.both_write {
            return diagnostic.help(self.dimensions(name, level));
        }
        let copied = copies::before(self.func, self.sources, *span, map, doubt.array).filter(|_| level == 0);
        match copied {
            Some(text) => diagnostic.suggest(*span, text, "read before the map what other iterations may write"),
            None => diagnostic.help(format!(
                "read before the map what other iterations may write, or write to a second array and exchange it with `{name}` after the map (`swap`)"
            )),
        }
    }

    /// How an array is written so that each iteration of the maps from this level inward is seen to have an element of its own.
    fn dimensions(&self, name: &str, level: usize) -> String {
        if self.maps[level..].iter().any(|(_, map)| is_ragged(map)) {
            format!(
                "ranges that arrays give may overlap: write `{name}` in a map over all of its elements, with an array that holds the row of each"
            )
        } else {
            format!(
                "give `{name}` a dimension for each iterator that selects an element: rows of one length make a matrix, `{name}[R][C]`"
            )
        }
    }
}

/// Whether arrays say how long the ranges of a map are.
fn is_ragged(map: &Map) -> bool {
    let mut loads = false;
    for iter in &map.iters {
        for bound in [&iter.lo, &iter.hi] {
            visit::walk_subexprs(bound, |node| loads |= matches!(node.kind, ExprKind::Load(_)));
        }
    }
    loads
}

/// Whether other iterations may touch what a map accesses of an array.
fn shares(map: &Map, array: VarId) -> bool {
    let mut found = false;
    visit::walk_places(&map.body, |place, _| found |= place.array == array && place.access == Access::Shared);
    found
}

fn is_among(place: &Place, places: &[Place]) -> bool {
    places.iter().any(|other| same::place(place, other))
}

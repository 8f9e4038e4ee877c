//! Strides of a nest's accesses along the iterators that processors vectorise.

use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{Access, Func, Map, Place, Program, VarId, text};
use hidp_plan::{Stride, coefficient, stride_of};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::SourceMap;

/// Accesses of one nest that are written alike.
#[derive(PartialEq, Eq)]
pub(super) struct AccessFacts {
    pub(super) place: String,
    pub(super) action: &'static str,
    /// `A[r][c]`
    pub(super) text: String,
    /// The last iterator of the innermost map around it.
    pub(super) along: String,
    /// How far two elements lie apart that follow each other along it.
    pub(super) stride: String,
    /// Whether other iterations may touch the element, so that it is accessed by itself.
    pub(super) shared: bool,
}

/// The accesses of a nest in the order of its text.
pub(super) fn accesses(sources: &SourceMap, program: &Program, func: &Func, map: &Map) -> Vec<AccessFacts> {
    let mut search = Search { sources, program, func, around: Vec::new(), found: Vec::new() };
    search.visit_map(map);
    search.found
}

struct Search<'a> {
    sources: &'a SourceMap,
    program: &'a Program,
    func: &'a Func,
    /// The last iterators of the maps around, outermost first, and what differs between their iterations.
    around: Vec<(VarId, OrdSet<VarId>)>,
    found: Vec<AccessFacts>,
}

impl Visitor for Search<'_> {
    fn visit_map(&mut self, map: &Map) {
        let Some(last) = map.iters.last() else { return look::walk_map(self, map) };
        self.around.push((last.var, visit::declared(&map.body).into_iter().collect()));
        look::walk_map(self, map);
        self.around.pop();
    }

    fn visit_place(&mut self, place: &Place, role: Role) {
        look::walk_place(self, place, role);
        let Some((along, varying)) = self.around.last() else { return };
        let subscript = |index| format!("[{}]", text::hidp_expr(self.program, &self.func.vars, index));
        let subscripts: String = place.index.iter().map(subscript).collect();
        let facts = AccessFacts {
            place: super::place(self.sources, place.span),
            action: match role {
                Role::Read => "load",
                Role::Write => "store",
                Role::Update | Role::Argument { .. } | Role::Declare | Role::Iterate => "update",
            },
            text: format!("{}{subscripts}", self.func.vars[place.array].name),
            along: self.func.vars[*along].name.clone(),
            stride: self.stride(place, *along, varying),
            shared: place.access == Access::Shared,
        };
        if !self.found.contains(&facts) {
            self.found.push(facts);
        }
    }
}

impl Search<'_> {
    fn stride(&self, place: &Place, along: VarId, varying: &OrdSet<VarId>) -> String {
        match stride_of(place, along, varying) {
            Stride::Invariant => "one element".to_owned(),
            Stride::Unit => "next to each other".to_owned(),
            Stride::Irregular => "where data or locals say".to_owned(),
            Stride::Strided => format!("{} apart", self.distance(place, along, varying)),
        }
    }

    /// `2 * C`: elements between what two iterations after each other mean.
    fn distance(&self, place: &Place, along: VarId, varying: &OrdSet<VarId>) -> String {
        let shape = &self.func.vars[place.array].shape;
        let factors = place.index.iter().map(|index| coefficient(index, along, varying).unwrap_or(0));
        let mut terms = Vec::new();
        for (dim, factor) in factors.enumerate().filter(|(_, factor)| *factor != 0) {
            let extents = shape[dim + 1..].iter().map(|extent| text::hidp_expr(self.program, &self.func.vars, extent));
            let factor = Some(factor.to_string()).filter(|_| factor != 1 || dim + 1 == shape.len());
            terms.push(factor.into_iter().chain(extents).collect::<Vec<_>>().join(" * "));
        }
        terms.join(" + ")
    }
}

impl AccessFacts {
    /// What is done to what.
    pub(super) fn what(&self) -> String {
        format!("{:<6} {}", self.action, self.text)
    }

    /// How it lies.
    pub(super) fn how(&self) -> String {
        let shared = if self.shared { ", perhaps touched by others: by itself" } else { "" };
        format!("{} along {}{shared}", self.stride, self.along)
    }
}

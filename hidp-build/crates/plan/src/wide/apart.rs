//! Maps inside that have no good vectors along neighbours of their own, though their iterations are independent.

use super::Classes;
use crate::inner_maps;
use crate::shape::{Stride, stride_of, vectorisable};
use crate::target::Model;
use hidp_ir::par::effects;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{ExprKind, Fold, FoldKind, Func, Map, Place, Program, Target, VarId};
use hidp_syntax::ordered::OrdSet;

/// Whether a map inside of `map` is better run with lanes over the iterations around it.
pub(super) fn apart(program: &Program, func: &Func, map: &Map, classes: &Classes, model: &Model) -> bool {
    let Some(lane) = map.iters.last() else { return false };
    let faults = !func.unchecked && effects::may_fault(program, &func.vars, &map.body);
    let nest = Nest { program, func, classes, lane: lane.var, faults, model };
    nest.has(map)
}

struct Nest<'a> {
    program: &'a Program,
    func: &'a Func,
    classes: &'a Classes,
    lane: VarId,
    /// Whether a check remains in an iteration.
    faults: bool,
    model: &'a Model,
}

impl Nest<'_> {
    fn has(&self, map: &Map) -> bool {
        let inner = inner_maps(&map.body);
        inner.iter().any(|inner| {
            let vectors = vectorisable(self.program, self.func, inner);
            vectors && (self.is_short(inner) || self.takes_structs_apart(inner))
                || self.sums_across(inner)
                || self.has(inner)
        })
    }

    /// Whether it has too few iterations for lanes, and compilers make no vectors of the loop around it: it calls functions, or may end early.
    fn is_short(&self, map: &Map) -> bool {
        let count = map.iters.last().and_then(|iter| Some(iter.hi.as_int()? - iter.lo.as_int()?));
        let is_short = count.is_some_and(|count| count < i128::from(self.model.short_row));
        let mut calls = false;
        visit::walk_exprs(&map.body, |expr| calls |= matches!(expr.kind, ExprKind::Call(..)));
        is_short && (calls || self.faults)
    }

    /// Whether it has prefixes, which are no vectors of its own, of elements that are neighbours in the iterations around alone.
    fn sums_across(&self, map: &Map) -> bool {
        let prefixes = |fold: &Fold| fold.kind != FoldKind::Reduce;
        let Some(own) = map.iters.last().filter(|_| map.folds.iter().any(prefixes)) else { return false };
        let none = OrdSet::new();
        let mut others: OrdSet<VarId> = self.classes.varying().clone();
        others.remove(&self.lane);
        let across = |place: &Place| {
            let along = stride_of(place, own.var, &none);
            !matches!(along, Stride::Unit | Stride::Invariant) && stride_of(place, self.lane, &others) == Stride::Unit
        };
        let (mut some, mut all) = (false, true);
        visit::walk_places(&map.body, |place, _| all &= across(place));
        for fold in map.folds.iter().filter(|fold| prefixes(fold)) {
            if let Target::Element(place) = &fold.target {
                some = true;
                all &= across(place);
            }
        }
        some && all
    }

    /// Whether its lanes load numbers of neighbouring structs, which iterations around would all load from one place.
    fn takes_structs_apart(&self, map: &Map) -> bool {
        let Some(own) = map.iters.last() else { return false };
        let mut others: OrdSet<VarId> = self.classes.varying().clone();
        others.remove(&self.lane);
        let none = OrdSet::new();
        let mut found = false;
        visit::walk_places(&map.body, |place, role| {
            found |= role == Role::Read
                && self.func.vars[place.array].ty.scalar().is_none()
                && stride_of(place, own.var, &none) == Stride::Unit
                && !self.classes.is_varying(place.array)
                && stride_of(place, self.lane, &others) == Stride::Invariant;
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::target::Model;
    use crate::testing::optimised;
    use crate::{Limits, explore};

    fn first(text: &str) -> String {
        let program = optimised(text);
        explore(&program, program.entries[0], &Model::cpu(), Limits::default()).plans[0].name.clone()
    }

    #[test]
    fn structs_that_all_points_share_have_lanes_over_points() {
        let text = |load: &str| {
            format!(
                "struct Atom {{ float x, charge; }}
                function f input Atom t[A], u[P]; input float x[A], charge[A]; output float y[P];
                {{ map {{ p := [0:P); float s;
                   map {{ a := [0:A); float d = (float)p - {load}; _e = charge[a] / sqrt(d * d); }} reduce(\"+\", s, _e, a := [*]);
                   y[p] = s; }} }}"
            )
        };
        assert_eq!(first(&text("t[a].x")), "wide");
        assert_eq!(first(&text("x[a]")), "rows", "vectors of neighbours");
        assert_eq!(first(&text("u[p].x * x[a]")), "rows", "one per point");
    }

    #[test]
    fn short_folds_that_call_have_lanes_over_what_is_around() {
        let text = |count: &str, value: &str| {
            format!(
                "function float h(float t) {{ if (t < 0.5f) {{ return 1 - t / 3; }} return erf(t) / sqrt(t); }}
                function f input float x[N], w[8]; output float y[N];
                {{ map {{ i := [0:N); float s; map {{ k := [0:{count}); _t = {value}; }} reduce(\"+\", s, _t, k := [*]); y[i] = s; }} }}"
            )
        };
        assert_eq!(first(&text("3", "h(x[i] * w[k])")), "wide");
        assert_eq!(first(&text("3", "x[i] * w[k]")), "rows", "compilers make vectors of the loop around");
        assert_eq!(first(&text("300", "h(x[i] * w[min(k, 7)])")), "rows", "enough for vectors of its own");
    }

    #[test]
    fn prefixes_across_rows_have_lanes_over_columns() {
        let text = |scan: &str| {
            format!(
                "function f input float a[H][W]; output float s[H][W];
                {{ map {{ i := [0:H); j := [0:W); _v = a[i][j]; }} {scan}; }}"
            )
        };
        assert_eq!(first(&text("scan(\"+\", s[i][j], _v, i := [*])")), "wide");
        assert_eq!(first(&text("exscan(\"max\", s[i][j], _v, i := [*])")), "wide");
        assert_eq!(first(&text("scan(\"+\", s[i][j], _v, j := [*])")), "rows", "along rows");
        let turned =
            text("scan(\"+\", s[i][j], _v, i := [*])").replace("= a[i][j]", "= a[j][i]").replace("a[H]", "a[W]");
        assert_eq!(first(&turned.replace("[W][W]; output", "[W][H]; output")), "rows", "a transposed operand");
    }

    #[test]
    fn searches_run_in_lanes() {
        let text = |range: &str, next: &str| {
            format!(
                "function f input float x[N], edge[64]; output long y[N];
                {{ map {{ i := [0:N); long s;
                   map {{ j := [{range}); float v = x[i] * x[j]; int low = 0, high = 64;
                     while (low < high) {{ int middle = (low + high) / 2; if (v < edge[middle]) {{ high = middle; }} else {{ {next} }} }}
                     _t = low; }} reduce(\"+\", s, _t, j := [*]);
                   y[i] = s; }} }}"
            )
        };
        assert_eq!(first(&text("0:N", "low = middle + 1;")), "wide");
        assert_eq!(first(&text("i + 1:N", "low = middle + 1;")), "wide", "ranges of neighbours are about as long");
        assert_eq!(first(&text("(long)x[i]:N", "low = middle + 1;")), "rows", "lanes wait for each other");
    }
}

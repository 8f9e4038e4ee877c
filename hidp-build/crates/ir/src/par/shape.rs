//! The nested shape of a map: the ranges of its iterators and those of the maps inside, `{[0:M,0:N],[0:K]}`.

use super::text::hidp_expr;
use super::visit::{Visitor, map_subexprs, rename_expr_vars};
use super::{Expr, ExprKind, Map, Program, Var, VarId};
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{FileId, Span};

/// The shape of a map and of the maps inside it.
#[derive(Clone, Debug, PartialEq)]
pub struct NestedShape {
    /// One range an iterator, outermost first.
    pub ranges: Vec<Range>,
    /// The maps directly inside, in source order.
    pub inner: Vec<NestedShape>,
}

/// The range of an iterator: `lo, lo + step, …` below `hi`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The iterator, which the ranges of inner maps may use.
    pub var: VarId,
    /// First value.
    pub lo: Expr,
    /// One past the last.
    pub hi: Expr,
    /// Stride.
    pub step: Expr,
}

/// The shape of a map.
pub fn nested(map: &Map) -> NestedShape {
    let ranges = map
        .iters
        .iter()
        .map(|iter| Range { var: iter.var, lo: iter.lo.clone(), hi: iter.hi.clone(), step: iter.step.clone() })
        .collect();
    let mut inner = Inner { shapes: Vec::new() };
    inner.visit_block(&map.body);
    NestedShape { ranges, inner: inner.shapes }
}

struct Inner {
    shapes: Vec<NestedShape>,
}

impl Visitor for Inner {
    fn visit_map(&mut self, map: &Map) {
        self.shapes.push(nested(map));
    }
    fn visit_expr(&mut self, _: &Expr) {}
}

impl NestedShape {
    /// `{[0:M,0:N],[0:K]}`; alternatives inside one map stand in parentheses, `{[0:M],([0:K]|[0:L])}`, and strides follow a
    /// second colon.
    pub fn print(&self, program: &Program, vars: &Arena<VarId, Var>) -> String {
        format!("{{{}}}", self.levels(program, vars))
    }

    fn levels(&self, program: &Program, vars: &Arena<VarId, Var>) -> String {
        let text = |expr: &Expr| hidp_expr(program, vars, expr);
        let range = |range: &Range| {
            let bounds = format!("{}:{}", text(&range.lo), text(&range.hi));
            if range.step.as_int() == Some(1) { bounds } else { format!("{bounds}:{}", text(&range.step)) }
        };
        let own = format!("[{}]", self.ranges.iter().map(range).collect::<Vec<_>>().join(","));
        let inner: Vec<String> = self.inner.iter().map(|shape| shape.levels(program, vars)).collect();
        match inner.as_slice() {
            [] => own,
            [only] => format!("{own},{only}"),
            several => format!("{own},({})", several.join("|")),
        }
    }

    /// Number of levels: maps inside one another.
    pub fn depth(&self) -> usize {
        1 + self.inner.iter().map(NestedShape::depth).max().unwrap_or(0)
    }

    /// Whether `other` is this shape with more inside: further iterators in the innermost map, or further maps inside it.
    /// Names of iterators do not matter; everything else must be written alike.
    pub fn is_prefix_of(&self, other: &NestedShape) -> bool {
        self.starts(other, &mut OrdMap::new())
    }

    fn starts(&self, other: &NestedShape, renamed: &mut OrdMap<VarId, VarId>) -> bool {
        let innermost = self.inner.is_empty();
        let fits = if innermost {
            self.ranges.len() <= other.ranges.len()
        } else {
            self.ranges.len() == other.ranges.len() && self.inner.len() == other.inner.len()
        };
        // Bounds do not use iterators of their own map, so these get their names afterwards.
        let ranges = fits
            && self.ranges.iter().zip(&other.ranges).all(|(a, b)| {
                let same = |a: &Expr, b: &Expr| alike(a, b, renamed);
                same(&a.lo, &b.lo) && same(&a.hi, &b.hi) && same(&a.step, &b.step)
            });
        renamed.extend(self.ranges.iter().zip(&other.ranges).map(|(a, b)| (a.var, b.var)));
        ranges && (innermost || self.inner.iter().zip(&other.inner).all(|(a, b)| a.starts(b, renamed)))
    }
}

/// Whether two expressions are the same but for positions and the names of iterators.
fn alike(a: &Expr, b: &Expr, renamed: &OrdMap<VarId, VarId>) -> bool {
    let mut a = a.clone();
    rename_expr_vars(&mut a, |var| renamed.get(&var).copied().unwrap_or(var));
    without_positions(&a) == without_positions(b)
}

fn without_positions(expr: &Expr) -> Expr {
    let nowhere = Span::new(FileId::new(0), 0, 0);
    let mut expr = expr.clone();
    map_subexprs(&mut expr, |expr| {
        expr.span = nowhere;
        if let ExprKind::Load(place) = &mut expr.kind {
            place.span = nowhere;
        }
    });
    expr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::par::{StmtKind, read, visit};

    /// The shapes of the outermost maps of a function over `rowptr`, `M` and `N`.
    fn shapes(body: &str) -> (Program, Vec<NestedShape>) {
        let text = format!(
            "func f(rowptr) dims (M, N) {{
               vars {{ M: long dim; N: long dim; rowptr: int[(M + N)] input; i: long iter; j: long iter; k: long iter;
                 a: long iter; b: long iter; c: long iter; }} {body} }}
             entries (f)"
        );
        let program = read(&text).unwrap_or_else(|error| panic!("{error}"));
        let mut found = Vec::new();
        for stmt in &program.funcs[program.entries[0]].body.stmts {
            if let StmtKind::Map(map) = &stmt.kind {
                found.push(nested(map));
            }
        }
        (program, found)
    }

    fn printed(body: &str) -> Vec<String> {
        let (program, shapes) = shapes(body);
        shapes.iter().map(|shape| shape.print(&program, &program.funcs[program.entries[0]].vars)).collect()
    }

    #[test]
    fn shapes_print_as_in_the_paper() {
        assert_eq!(
            printed("map (i = 0 .. M by 1, j = 0 .. N by 1) { map (k = 0 .. (M - 2) by 1) { } }"),
            ["{[0:M,0:N],[0:M - 2]}"]
        );
        let ragged =
            "map (i = 0 .. M by 4) { if (i < 3) { map (k = long(rowptr[i]) .. long(rowptr[(i + 1)]) by 1) { } } }";
        assert_eq!(printed(ragged), ["{[0:M:4],[rowptr[i]:rowptr[i + 1]]}"]);
        let two = "map (i = 0 .. M by 1) { map (j = 0 .. N by 1) { } map (k = 0 .. M by 1) { } }";
        assert_eq!(printed(two), ["{[0:M],([0:N]|[0:M])}"]);
    }

    #[test]
    fn prefixes_ignore_the_names_of_iterators() {
        let (_, shapes) = shapes(
            "map (i = 0 .. M by 1) { }
             map (j = 0 .. M by 1, k = 0 .. N by 1) { }
             map (a = 0 .. M by 1) { map (b = a .. N by 1) { } }
             map (c = 0 .. M by 2) { }",
        );
        let [row, matrix, triangle, strided] = &shapes[..] else { panic!("four maps") };
        assert!(row.is_prefix_of(row) && row.is_prefix_of(matrix) && row.is_prefix_of(triangle));
        assert!(!matrix.is_prefix_of(row) && !triangle.is_prefix_of(row) && !triangle.is_prefix_of(matrix));
        assert!(!row.is_prefix_of(strided) && !strided.is_prefix_of(row));
        assert_eq!((row.depth(), matrix.depth(), triangle.depth()), (1, 1, 2));
        let mut copy = triangle.clone();
        let other = VarId::new(77);
        copy.ranges[0].var = other;
        let old = triangle.ranges[0].var;
        rename_expr_vars(&mut copy.inner[0].ranges[0].lo, |var| if var == old { other } else { var });
        assert!(copy.is_prefix_of(triangle));
    }

    #[test]
    fn expressions_print_with_as_few_parentheses_as_c_allows() {
        let text = "
struct P { v: float, n: long }
fn twice(x) -> long { vars { x: long input; } return (x * 2); }
func f(A, p, n) dims (N) {
  vars { N: long dim; A: P[N, N] input; p: P input; n: long inout; }
  n = ((n - (N - 1)) * twice((N + 2)));
  n = select((((n & 1) == 0) && ((N < n) || true)), neg(n), (-3 - n));
  n = (field(p, 1) + A[n, (N - 1)]@1);
  n = long((float(n) * 0.1:float));
  n = long(field(new P{0.5:float, n}, 0));
  n = int?(N);
}
entries (f)";
        let text = text.replace("n = int?(N);", "n = long(int?(N));");
        let program = read(&text).unwrap_or_else(|error| panic!("{error}"));
        let func = &program.funcs[program.entries[0]];
        let mut found = Vec::new();
        visit::walk_stmts(&func.body, |stmt| {
            if let StmtKind::Assign { value, .. } = &stmt.kind {
                found.push(hidp_expr(&program, &func.vars, value));
            }
        });
        assert_eq!(
            found,
            [
                "(n - (N - 1)) * twice(N + 2)",
                "(n & 1) == 0 && (N < n || true) ? -n : -3 - n",
                "p.n + A[n][N - 1].n",
                "long(n * 0.1)",
                "long(P{v: 0.5, n: n}.v)",
                "N",
            ]
        );
    }
}

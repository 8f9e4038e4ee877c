//! Arrays of iterations: each lane has its own, interleaved element by element with those of other lanes. Small ones of constant size are on
//! the stack. For others each part of a launch allocates memory before its first group, so their sizes must be known by then.

use super::left::unknown;
use super::{Classes, numbers};
use crate::refusal::{MEMORY_SIZE, Refusal};
use hidp_ir::par::effects::{Effects, expr_may_fault};
use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{Func, Map, Program, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

/// Bytes of the elements of an iteration's arrays on the stack: as many as a few lanes may have there.
const MOST_ON_STACK: usize = 1 << 10;
/// The same of arrays that are allocated: 1 MiB of them for two vectors of AVX-512, as much as a cache of one core holds.
const MOST_ALLOCATED: usize = 1 << 15;

/// An array of iterations for which memory is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocated {
    /// The array.
    pub array: VarId,
    /// As many elements as it may have in an iteration. Nests with longer ones run in order.
    pub most: u32,
    /// Where it is declared.
    pub at: Span,
}

/// The arrays of a map's iterations that are allocated, if all can be had in lanes.
pub fn allocated(program: &Program, func: &Func, map: &Map, classes: &Classes) -> Result<Vec<Allocated>, Refusal> {
    let unknown = unknown(program, func, map);
    let mut look = Look { program, func, classes, unknown, stack: 0, found: Vec::new(), refused: None };
    look.visit_block(&map.body);
    let Look { found, refused, .. } = look;
    if let Some(refusal) = refused {
        return Err(refusal);
    }
    let each = MOST_ALLOCATED / found.len().max(1);
    let limit = |need: Need| match need.elements {
        Some(elements) if elements.saturating_mul(need.size) > each => Err(too_long(need.at)),
        Some(_) | None => Ok(Allocated { array: need.array, most: (each / need.size) as u32, at: need.at }),
    };
    found.into_iter().map(limit).collect()
}

fn too_long(at: Span) -> Refusal {
    MEMORY_SIZE.refused(at, format!("an iteration's arrays have more than {MOST_ALLOCATED} bytes"))
}

/// An array that does not stand on the stack.
struct Need {
    array: VarId,
    /// Bytes of an element.
    size: usize,
    /// How many, if that is constant.
    elements: Option<usize>,
    at: Span,
}

struct Look<'a> {
    program: &'a Program,
    func: &'a Func,
    classes: &'a Classes,
    /// What is not known before the first group.
    unknown: OrdSet<VarId>,
    /// Bytes on the stack so far.
    stack: usize,
    found: Vec<Need>,
    refused: Option<Refusal>,
}

impl Look<'_> {
    fn array(&mut self, array: VarId, at: Span) {
        let declared = &self.func.vars[array];
        let size = numbers(self.program, declared.ty).iter().map(|number| number.ty.size()).sum::<usize>().max(1);
        let constant = declared.shape.iter().map(|extent| extent.as_int().and_then(|n| usize::try_from(n).ok()));
        let elements = constant.reduce(|all, extent| all?.checked_mul(extent?)).flatten();
        let bytes = elements.map(|elements| elements.saturating_mul(size));
        if let Some(bytes) = bytes.filter(|bytes| self.stack.saturating_add(*bytes) <= MOST_ON_STACK) {
            self.stack += bytes;
            return;
        }
        let known =
            |extent| Effects::of_expr(extent).is_disjoint(&self.unknown) && !expr_may_fault(self.program, extent);
        let refused = if !self.classes.is_varying(array) {
            let what = "an array that is the same in all lanes";
            Some(format!("{what} has no constant size, or more than {MOST_ON_STACK} bytes"))
        } else if !declared.shape.iter().all(known) {
            Some("the size of an array is known in the iteration alone".to_owned())
        } else if elements.is_none() && declared.shape.iter().all(|extent| extent.as_int().is_some()) {
            Some("an array has a size that no memory has".to_owned())
        } else {
            None
        };
        match refused {
            Some(why) => {
                self.refused.get_or_insert(MEMORY_SIZE.refused(at, why));
            }
            None => self.found.push(Need { array, size, elements, at }),
        }
    }
}

impl Visitor for Look<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Declare { var, .. } = &stmt.kind
            && self.func.vars[*var].is_array()
        {
            self.array(*var, stmt.span);
        }
        look::walk_stmt(self, stmt);
    }
}

#[cfg(test)]
mod tests {
    use crate::target::Model;
    use crate::testing::optimised;
    use crate::{Limits, explore};

    /// What became of `wide` if iterations declare this and keep what differs in it.
    fn fate(declared: &str) -> String {
        let text = format!(
            "function f input int x[N]; input int k; output int y[N][M];
            {{ map {{ i := [0:N); j := [0:M); int n = x[i]; {declared}
               for (int t = 0; t < n; t = t + 1) {{ v[t % 2] = v[t % 2] + t + int(j); }}
               y[i][j] = v[0]; }} }}"
        );
        let program = optimised(&text);
        let explored = explore(&program, program.entries[0], &Model::cpu(), Limits::default());
        // The nest stands after what looks at its data.
        let row = explored.candidates.iter().rfind(|row| row.name == "wide").expect("a row");
        row.fate.to_string()
    }

    #[test]
    fn arrays_of_sizes_that_are_known_before_run_in_lanes() {
        for size in ["M + 2", "k", "i + 2", "2000", "8000"] {
            assert_eq!(fate(&format!("int v[{size}];")), "kept", "{size}");
        }
        assert_eq!(fate("int v[n];"), "excluded: the size of an array is known in the iteration alone");
        assert_eq!(fate("int v[j + 2];"), "excluded: the size of an array is known in the iteration alone");
        let no_size = "int w[4294967296][4294967296]; for (int t = 0; t < n; t = t + 1) { w[t & 7][0] = int(j); } int v[4]; v[0] = w[0][0];";
        assert_eq!(fate(no_size), "excluded: an array has a size that no memory has");
        assert_eq!(fate("int v[8193];"), "excluded: an iteration's arrays have more than 32768 bytes");
        let both = "int v[4097]; int w[4096]; for (int t = 0; t < n; t = t + 1) { w[t & 7] = int(j); } v[0] = w[0];";
        assert_eq!(fate(both), "excluded: an iteration's arrays have more than 32768 bytes");
    }
}

//! Sections of arrays in directives: which elements an iteration reaches.

use hidp_ir::par::{Map, PinDim, VarId};
use hidp_syntax::ast::{self, BinaryOp, ExprKind, Subscript};
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;

use super::cx::Cx;
use super::maps::collect_names;

/// An index: an iterator, or several that are called alike, and what is added; or a number.
type Offset = (Vec<VarId>, i64);

impl Cx<'_> {
    /// The dimensions of an array's section; none of an array alone.
    pub(super) fn pin_section(
        &mut self,
        array: VarId,
        written: &[Subscript],
        span: Span,
        map: &Map,
    ) -> Option<Vec<PinDim>> {
        let (name, rank) = (self.vars[array].name.clone(), self.vars[array].shape.len());
        if written.is_empty() {
            return Some(Vec::new());
        }
        if written.len() != rank {
            let headline = format!("`{name}` has {rank} dimensions, and its section {}", written.len());
            return self.error(Diagnostic::new(Code::DirectiveArgument, span, headline));
        }
        let dims: Vec<Option<PinDim>> = written.iter().map(|dim| self.pin_dim(dim, map)).collect();
        dims.into_iter().collect()
    }

    fn pin_dim(&mut self, written: &Subscript, map: &Map) -> Option<PinDim> {
        match written {
            Subscript::All(_) => Some(PinDim::All),
            Subscript::At(index) => {
                let (iters, at) = self.pin_bound(index, map)?;
                Some(PinDim::Range { iters, low: at, high: at + 1 })
            }
            Subscript::Range(range) => {
                let (low, high) = (self.pin_bound(&range.low, map), self.pin_bound(&range.high, map));
                let ((iters, low), (others, high)) = (low?, high?);
                let (low, high) = (low + i64::from(!range.low_inclusive), high + i64::from(range.high_inclusive));
                let wrong = if let Some(step) = &range.step {
                    Some((step.span, "a section that a block keeps has no gaps"))
                } else if iters != others {
                    Some((range.span, "both bounds of a section have the same iterator, or none"))
                } else if high <= low {
                    Some((range.span, "the section has no element"))
                } else {
                    None
                };
                match wrong {
                    Some((at, headline)) => self.error(Diagnostic::new(Code::DirectiveArgument, at, headline)),
                    None => Some(PinDim::Range { iters, low, high }),
                }
            }
            Subscript::Piece(piece) => {
                let headline = "pieces of arrays are arguments of codelets";
                self.error(Diagnostic::new(Code::DirectiveArgument, piece.span, headline))
            }
        }
    }

    /// `i`, `i - 1`, `2`
    fn pin_bound(&mut self, e: &ast::Expr, map: &Map) -> Option<Offset> {
        let mut names = Vec::new();
        collect_names(e, &mut names);
        if names.iter().all(|(name, _)| self.iterators_there(name, map).is_empty()) {
            return match self.whole_number(e)?.and_then(small) {
                Some(number) => Some((Vec::new(), number)),
                None => self.no_bound(e),
            };
        }
        if let ExprKind::Name(name) = &e.kind {
            return Some((self.iterators_there(name, map), 0));
        }
        let ExprKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), left, right, .. } = &e.kind else {
            return self.no_bound(e);
        };
        let ((left, a), (right, b)) = (self.pin_bound(left, map)?, self.pin_bound(right, map)?);
        match (*op == BinaryOp::Add, left.is_empty(), right.is_empty()) {
            (true, _, true) => Some((left, a + b)),
            (true, true, false) => Some((right, a + b)),
            (false, _, true) => Some((left, a - b)),
            (true, false, false) | (false, _, false) => self.no_bound(e),
        }
    }

    /// The iterators of this name: of the map, of maps inside, or of those around.
    fn iterators_there(&self, name: &str, map: &Map) -> Vec<VarId> {
        let own = self.iterators_called(name, map);
        if !own.is_empty() {
            return own;
        }
        self.iters.iter().rev().copied().find(|var| self.vars[*var].name == name).into_iter().collect()
    }

    fn no_bound<T>(&mut self, e: &ast::Expr) -> Option<T> {
        self.error(
            Diagnostic::new(Code::DirectiveArgument, e.span, "a section goes from an iterator on, or from a number")
                .label("not an iterator with a constant added, and no small constant")
                .help("it looks like `shared(u[i-1:i+2)[j])`"),
        )
    }
}

/// Numbers of elements; sums of some of them are no larger than there are numbers.
fn small(number: i128) -> Option<i64> {
    const MOST: i128 = 1 << 30;
    (-MOST..=MOST).contains(&number).then_some(number as i64)
}

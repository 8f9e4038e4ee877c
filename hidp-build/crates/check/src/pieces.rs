//! Pieces of arrays as arguments: `x[adjacent t of p]`.

use hidp_ir::par::{ConvertMode, Expr, Piece, SectionDim, Stmt, VarId, VarKind};
use hidp_syntax::ast::{self, PieceWay, Subscript};
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::access::Sub;
use super::cx::{Cx, Named};

impl Cx<'_> {
    /// The dimensions of a section, or of an element, that is an argument.
    pub(super) fn section_dims(
        &mut self,
        array: VarId,
        subscripts: &[Subscript],
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Option<Vec<SectionDim>> {
        // A piece has the rank of a whole dimension.
        let plain: Vec<Subscript> = subscripts
            .iter()
            .map(|subscript| match subscript {
                Subscript::Piece(piece) => Subscript::All(piece.span),
                Subscript::At(_) | Subscript::Range(_) | Subscript::All(_) => subscript.clone(),
            })
            .collect();
        let subs = self.subscripts(array, &plain, span)?;
        let dims = subs.into_iter().zip(subscripts).map(|(sub, subscript)| match (subscript, sub) {
            (Subscript::Piece(piece), _) => self.piece(piece, out).map(SectionDim::Piece),
            (_, Sub::At(index)) => Some(SectionDim::At(self.hoisted(index, out))),
            (_, Sub::Range { lo, hi, step }) => Some(SectionDim::Range {
                low: self.hoisted(lo, out),
                high: self.hoisted(hi, out),
                step: self.hoisted(step, out),
            }),
        });
        dims.collect()
    }

    fn piece(&mut self, piece: &ast::Piece, out: &mut Vec<Stmt>) -> Option<Piece> {
        self.has_tiles |= piece.way.is_none();
        let Some(way) = piece.way.or(self.tiles) else {
            return self.error(
                Diagnostic::new(Code::BadPiece, piece.span, "`tiles` leaves open which elements a piece has")
                    .label("a function says what is computed; only codelets leave something open")
                    .help("write `adjacent` or `strided`"),
            );
        };
        if piece.by && piece.way != Some(PieceWay::Adjacent) {
            let word = piece.way.map_or(PieceWay::OPEN, PieceWay::name);
            return self.error(
                Diagnostic::new(Code::BadPiece, piece.span, format!("{word} pieces have no length of their own"))
                    .label("`by` is for adjacent pieces")
                    .help(format!("say how many there are: `[{word} {} of p]`", piece.iter.name)),
            );
        }
        let at = self.numbering(piece)?;
        let length = self.long(&piece.length, "the length of a piece", ConvertMode::Checked)?;
        if length.as_int().is_some_and(|length| length < 1) {
            let what = if piece.by { "a piece has at least one element" } else { "there is at least one piece" };
            return self.error(Diagnostic::new(Code::BadPiece, length.span, what).label("less than 1"));
        }
        Some(Piece { way, at, by: piece.by, length: self.hoisted(length, out) })
    }

    /// The iterator that numbers the pieces.
    fn numbering(&mut self, piece: &ast::Piece) -> Option<Expr> {
        let ast::Ident { name, span } = &piece.iter;
        let var = match self.lookup(name) {
            Some(Named::Scalar(var)) if self.vars[var].kind == VarKind::Iter => var,
            Some(Named::Poisoned) => return self.silent(),
            Some(_) => {
                return self.error(
                    Diagnostic::new(Code::BadPiece, *span, format!("`{name}` is no iterator of a map around"))
                        .label("numbers the pieces")
                        .help(format!("the map counts them: `map {{ {name} := [0:p); … }}`")),
                );
            }
            None => return self.unknown_name(name, *span),
        };
        if !self.counting.contains(&var) {
            let declared = self.vars[var].span;
            return self.error(
                Diagnostic::new(Code::BadPiece, *span, format!("`{name}` does not count pieces"))
                    .label("they are numbered from 0, by ones")
                    .also(declared, "this range begins or goes on otherwise"),
            );
        }
        self.mark_read(var, *span)?;
        Some(Expr::read(var, Ty::LONG, *span))
    }

    /// Reports the pieces of an array that is an input of a recurrence.
    pub(super) fn refuse_pieces(&mut self, value: &ast::Expr) -> Option<()> {
        let ast::ExprKind::Index { subscripts, .. } = &value.kind else { return Some(()) };
        for subscript in subscripts {
            if let Subscript::Piece(piece) = subscript {
                return self.misplaced_piece(piece.span);
            }
        }
        Some(())
    }

    /// Reports a piece that is no argument of a function over arrays.
    pub(super) fn misplaced_piece<T>(&mut self, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::BadPiece, span, "a piece of an array stands where only elements and sections can")
                .label("not an argument of a function over arrays")
                .help("write the bounds: `x[lo:hi)`"),
        )
    }
}

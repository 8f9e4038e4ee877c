//! The operands of a tile: their loads into registers of the lanes that fetch them, and their stores to shared memory.

use super::super::{Lowerer, make};
use super::tiled::{Edge, Place, Tiling};
use hidp_ir::imp::{Element, Expr, ExprKind, Stmt, VarId, VarKind};
use hidp_ir::par::BinOp;
use hidp_plan::Operand;
use hidp_syntax::ty::Ty;

use super::super::space::Range;

/// An operand in shared memory.
pub(super) struct Part {
    pub(super) operand: Operand,
    pub(super) elem: Ty,
    /// One part of the folds each; where there is a single one, it is filled when all lanes are done with it.
    buffers: Vec<VarId>,
    /// Elements from one term to the next.
    pub(super) pitch: u32,
    /// What a lane fetches.
    fetched: VarId,
    /// Elements that a lane fetches, and that it fetches at once.
    each: u32,
    vector: u32,
    /// Whether neighbours can be fetched at once.
    aligned: Expr,
}

impl Part {
    pub(super) fn of_rows(&self) -> bool {
        self.operand.of_rows
    }

    /// Where parts of the folds are, which take turns.
    pub(super) fn buffer(&self, turn: usize) -> VarId {
        self.buffers[turn % self.buffers.len()]
    }
}

/// Where in the part of an operand something that a lane fetches belongs.
struct Spot {
    /// Term of the fold, and result.
    term: Expr,
    result: Expr,
}

impl Place {
    /// Whether neighbours of all operands can be fetched at once; nothing where that cannot be.
    pub(super) fn all_aligned(&self) -> Option<Expr> {
        let wide = self.parts.iter().all(|part| part.vector > 1);
        let all = self.parts.iter().map(|part| part.aligned.clone());
        all.reduce(|all, one| make::binary(BinOp::And, all, one)).filter(|_| wide)
    }
}

impl Lowerer<'_> {
    /// Shared memory and registers for the operands, and how each can be fetched.
    pub(super) fn parts(&mut self, tiling: &Tiling, rows: &Edge, columns: &Edge, depth: &Range) -> Vec<Part> {
        let stored = tiling.shape.operands.iter().zip(&tiling.stored);
        let mut parts = Vec::new();
        for (operand, staging) in stored {
            let elem = self.func.vars[operand.place.array].ty;
            let kind = VarKind::Shared { elem, len: staging.elements(), declared: false };
            let buffers: Vec<VarId> = (0..staging.buffers.max(1)).map(|_| self.body.declare("near", kind)).collect();
            buffers.iter().for_each(|var| self.body.push(Stmt::Let { var: *var, init: None }));
            let all = tiling.depth * tiling.side(operand.of_rows).tile;
            let (each, vector) = (all / tiling.threads(), tiling.vector);
            let fetched = self.registers("fetched", elem, each);
            let edge = if operand.of_rows { rows } else { columns };
            let aligned = self.is_aligned(operand, edge, depth, vector);
            let pitch = staging.pitch();
            parts.push(Part { operand: operand.clone(), elem, buffers, pitch, fetched, each, vector, aligned });
        }
        parts
    }

    /// Whether all runs of so many neighbours begin at a multiple of their bytes.
    fn is_aligned(&mut self, operand: &Operand, edge: &Edge, depth: &Range, vector: u32) -> Expr {
        let no = Expr { kind: ExprKind::Bool(false), ty: Ty::BOOL };
        if vector < 2 {
            return no;
        }
        let bytes = self.size_of(self.func.vars[operand.place.array].ty) as u32 * vector;
        let at = |this: &mut Self, result: i64, term: i64| {
            this.bind_position(&edge.range, make::long(result));
            this.bind_position(depth, make::long(term));
            let (element, _) = this.element(&operand.place);
            (element.base, this.body.fix("at", *element.index))
        };
        let (base, first) = at(self, 0, 0);
        let next = if operand.along_results { at(self, 0, 1).1 } else { at(self, 1, 0).1 };
        let (_, near) = if operand.along_results { at(self, 1, 0) } else { at(self, 0, 1) };
        let whole = |value: Expr| {
            let rest = make::binary(BinOp::Rem, value, make::long(vector.into()));
            make::binary(BinOp::Eq, rest, make::long(0))
        };
        let both = |a: Expr, b: Expr| make::binary(BinOp::And, a, b);
        let neighbours = make::binary(BinOp::Eq, make::sub(near, first.clone()), make::long(1));
        let mut all = both(Expr { kind: ExprKind::IsAligned(base, bytes), ty: Ty::BOOL }, neighbours);
        all = both(both(all, whole(first.clone())), whole(make::sub(next, first)));
        if operand.along_results {
            all = both(all, whole(edge.range.count.clone()));
        }
        self.body.fix("aligned", all)
    }

    /// The terms from `start` on come to registers; there is at least one.
    pub(super) fn fetch(&mut self, place: &Place, start: &Expr) {
        let depth = make::long(place.tiling.depth.into());
        let left = make::sub(place.depth.count.clone(), start.clone());
        let whole = self.body.fix("whole", make::binary(BinOp::Ge, left, depth));
        for part in &place.parts {
            if part.vector < 2 {
                self.fetch_by(place, part, start, 1);
                continue;
            }
            let at_once = make::binary(BinOp::And, whole.clone(), part.aligned.clone());
            self.branch(
                at_once,
                |this| this.fetch_by(place, part, start, part.vector),
                |this| this.fetch_by(place, part, start, 1),
            );
        }
    }

    /// The terms from `start` on come to registers, all of which are there, of operands that are aligned.
    pub(super) fn fetch_whole(&mut self, place: &Place, start: &Expr) {
        place.parts.iter().for_each(|part| self.fetch_by(place, part, start, part.vector));
    }

    /// So many neighbours at once. What is beyond an edge is replaced by the last that there is, and never used.
    fn fetch_by(&mut self, place: &Place, part: &Part, start: &Expr, count: u32) {
        let edge = place.edge(part.of_rows()).clone();
        let last = |range: &Range, count: u32| make::sub(range.count.clone(), make::long(count.into()));
        let (along_results, along_terms) = if part.operand.along_results { (count, 1) } else { (1, count) };
        self.each_lane(|this, lane| {
            this.unrolled("run", part.each / part.vector, |this, run| {
                let spot = this.spot(place, part, &lane, &run);
                for at in (0..part.vector).step_by(count as usize) {
                    let moved = |value: &Expr, moves: bool| {
                        if moves { make::add(value.clone(), make::long(at.into())) } else { value.clone() }
                    };
                    let result = make::add(edge.first.clone(), moved(&spot.result, part.operand.along_results));
                    let term = make::add(start.clone(), moved(&spot.term, !part.operand.along_results));
                    this.bind_position(&edge.range, make::min(result, last(&edge.range, along_results)));
                    let term = if count > 1 { term } else { make::min(term, last(&place.depth, along_terms)) };
                    this.bind_position(&place.depth, term);
                    let to = make::add(make::mul(run.clone(), make::long(part.vector.into())), make::long(at.into()));
                    let to = make::element(part.fetched, to);
                    let (from, _) = this.element(&part.operand.place);
                    this.body.push(move_or_store(to, from, part.elem, count));
                }
            });
        });
    }

    /// What is in registers goes to a buffer.
    pub(super) fn keep(&mut self, place: &Place, buffer: usize) {
        for part in &place.parts {
            let along = part.operand.along_results;
            self.each_lane(|this, lane| {
                this.unrolled("run", part.each / part.vector, |this, run| {
                    let spot = this.spot(place, part, &lane, &run);
                    let row = make::mul(spot.term, make::long(part.pitch.into()));
                    let to = this.body.fix("to", make::add(row, spot.result));
                    let from = make::mul(run, make::long(part.vector.into()));
                    let count = if along { part.vector } else { 1 };
                    let step = if along { 1 } else { part.pitch };
                    for at in (0..part.vector).step_by(count as usize) {
                        let to = make::add(to.clone(), make::long((at * step).into()));
                        let from = make::element(part.fetched, make::add(from.clone(), make::long(at.into())));
                        this.body.push(move_or_store(make::element(part.buffer(buffer), to), from, part.elem, count));
                    }
                });
            });
        }
    }

    /// The first of the neighbours that a lane fetches in one of its runs.
    fn spot(&mut self, place: &Place, part: &Part, lane: &Expr, run: &Expr) -> Spot {
        let tiling = &place.tiling;
        let vector = part.vector;
        let number = make::add(make::mul(run.clone(), make::long(tiling.threads().into())), lane.clone());
        let number = self.body.fix("number", number);
        let row = if part.operand.along_results { tiling.side(part.of_rows()).tile } else { tiling.depth } / vector;
        let across = self.body.fix("across", make::div(number.clone(), make::long(row.into())));
        let along = make::binary(BinOp::Rem, number, make::long(row.into()));
        let along = self.body.fix("along", make::mul(along, make::long(vector.into())));
        if part.operand.along_results {
            Spot { term: across, result: along }
        } else {
            Spot { term: along, result: across }
        }
    }
}

/// So many neighbours at once.
pub(super) fn move_or_store(to: Element, from: Element, elem: Ty, count: u32) -> Stmt {
    if count > 1 { Stmt::Move { to, from, count } } else { Stmt::Store { target: to, value: make::load(from, elem) } }
}

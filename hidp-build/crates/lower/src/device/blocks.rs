//! Maps whose plan gives the shape of blocks: positions of the grid, lanes and sequential iterations are digits of the iterators.

use super::super::map::turns;
use super::super::space::Range;
use super::super::{Lowerer, make};
use super::beside::side_by_side;
use hidp_ir::imp::{Expr, Grid, Level, Loop, LoopKind, Stmt};
use hidp_ir::par::{BinOp, Map, VarId};
use hidp_plan::{BlockLine, Blocks};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::place::Place;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// What a kernel of blocks knows of the iteration at hand.
struct Digits<'a> {
    map: &'a Map,
    blocks: &'a Blocks,
    ranges: Vec<Range>,
    /// What the line without size of each iterator takes.
    rest: OrdMap<VarId, Expr>,
    /// The value of each line so far.
    known: OrdMap<usize, Expr>,
}

impl Lowerer<'_> {
    /// One block a position of the grid.
    pub(super) fn blocks_map(&mut self, map: &Map, blocks: &Blocks, span: Span) {
        let threads = self.block_of(map);
        let grid =
            self.leaving_registers(map, Grid { joined: self.mapping.joined, ..Grid::new(Level::Block, threads) });
        let ranges = self.ranges(map);
        let mut rest = OrdMap::new();
        for range in &ranges {
            let sized: u32 = blocks.of(range.var).map(|line| line.size.unwrap_or(1)).product();
            let count = make::ceil_div(range.count.clone(), make::long(sized.into()));
            rest.insert(range.var, self.body.fix("rest", count));
        }
        let dims = blocks.along(Place::Grid);
        let host = Digits { map, blocks, ranges: Vec::new(), rest: rest.clone(), known: OrdMap::new() };
        let size = |at: &usize| host.size(&blocks.lines[*at]);
        let extents: Vec<Expr> =
            dims.iter().map(|lines| lines.iter().map(size).fold(make::long(1), make::mul)).collect();
        let extents: Vec<Expr> = extents.into_iter().map(|extent| self.body.fix("blocks", extent)).collect();
        let (kernel, args) = self.grid_kernel("blocks", span, grid, dims.len(), Vec::new(), |this, positions| {
            this.mark_outputs(map);
            let ranges = this.import_ranges(&ranges);
            let rest = rest.iter().map(|(var, rest)| (*var, this.import(rest))).collect();
            let mut digits = Digits { map, blocks, ranges, rest, known: OrdMap::new() };
            for (lines, position) in dims.iter().zip(positions) {
                this.take_digits(&mut digits, lines, position.clone());
            }
            this.each_lane(|this, lane| {
                let lanes = blocks.along(Place::Thread).concat();
                this.take_digits(&mut digits, &lanes, lane);
                let turns: Vec<usize> = (0..blocks.lines.len()).filter(|at| is_turn(blocks.lines[*at].place)).collect();
                this.turns_of_lane(&mut digits, &turns);
            });
        });
        self.body.push(Stmt::LaunchGrid { kernel, args, extents, most: None });
    }

    /// Splits a position into the digits of several lines, the last one fastest.
    fn take_digits(&mut self, digits: &mut Digits<'_>, lines: &[usize], position: Expr) {
        let mut above = position;
        for (number, at) in lines.iter().enumerate().rev() {
            let own = if number == 0 {
                above.clone()
            } else {
                let size = digits.size(&digits.blocks.lines[*at]);
                let own = self.body.fix("own", make::binary(BinOp::Rem, above.clone(), size.clone()));
                above = self.body.fix("above", make::div(above, size));
                own
            };
            digits.known.insert(*at, own);
        }
    }

    /// Loops of a lane, outermost first, around an iteration.
    fn turns_of_lane(&mut self, digits: &mut Digits<'_>, lines: &[usize]) {
        let Some((number, inner)) = lines.split_first() else { return self.iteration_of_lane(digits) };
        let most = self.of_model(|model| model.unrolled);
        let beside =
            lines.iter().map(|at| Some(&digits.blocks.lines[*at]).filter(|line| line.place == Place::Reg)?.size);
        let beside = beside.product::<Option<u32>>().filter(|times| *times <= most);
        if let Some(times) = beside {
            return self.side_by_side_in_lane(digits, lines, times);
        }
        let line = &digits.blocks.lines[*number];
        let at = self.body.enter_loop("turn");
        digits.known.insert(*number, make::var(at, Ty::LONG));
        self.turns_of_lane(digits, inner);
        let kind = match line.place {
            Place::Unroll | Place::Reg => line.size.map_or(LoopKind::Seq, |times| LoopKind::Unroll(times.min(most))),
            Place::Seq if digits.blocks.written_out(digits.map) == Some(*number) => turns(digits.map),
            Place::Seq
            | Place::Host
            | Place::Grid(_)
            | Place::Thread(_)
            | Place::Threads
            | Place::Lanes
            | Place::Vec => LoopKind::Seq,
        };
        self.body.leave_loop(at, make::long(0), digits.size(line), kind);
    }

    /// So many iterations side by side, where all of them are some.
    fn side_by_side_in_lane(&mut self, digits: &mut Digits<'_>, lines: &[usize], times: u32) {
        let turn = self.body.enter_loop("turn");
        self.take_digits(digits, lines, make::var(turn, Ty::LONG));
        self.iteration_of_lane(digits);
        let (lo, hi, step) = (make::long(0), make::long(times.into()), make::long(1));
        let turns = Loop { var: turn, lo, hi, step, kind: LoopKind::Unroll(times), body: self.body.leave() };
        let written_out = self.of_model(|model| model.slots.written_out);
        match side_by_side(&turns, (times, written_out), &mut self.body.vars) {
            Some(stmts) => stmts.into_iter().for_each(|stmt| self.body.push(stmt)),
            None => self.body.push(Stmt::Loop(turns)),
        }
    }

    /// The iteration that the digits name, if there is one.
    fn iteration_of_lane(&mut self, digits: &Digits<'_>) {
        let mut inside: Option<Expr> = None;
        let mut positions = Vec::new();
        for range in &digits.ranges {
            let position = digits.position(range.var);
            let position = self.body.fix("at", position);
            let this_one = make::binary(BinOp::Lt, position.clone(), range.count.clone());
            positions.push(position);
            inside = Some(match inside {
                Some(before) => make::binary(BinOp::And, before, this_one),
                None => this_one,
            });
        }
        self.body.enter();
        for (range, position) in digits.ranges.iter().zip(positions) {
            self.bind_position(range, position);
        }
        self.iteration(digits.map, &[]);
        let iteration = self.body.leave();
        if let Some(inside) = inside {
            self.body.push(make::when(inside, iteration.stmts));
        }
    }
}

impl Digits<'_> {
    /// How many values the digit of a line has.
    fn size(&self, line: &BlockLine) -> Expr {
        let rest = || self.rest.get(&line.var).cloned().unwrap_or(make::long(1));
        line.size.map_or_else(rest, |size| make::long(size.into()))
    }

    /// The mixed-radix number of an iterator's digits, the outermost line most significant.
    fn position(&self, var: VarId) -> Expr {
        let mut position: Option<Expr> = None;
        for (number, digit) in &self.known {
            let line = &self.blocks.lines[*number];
            if line.var != var {
                continue;
            }
            position = Some(match position {
                Some(above) => make::add(make::mul(above, self.size(line)), digit.clone()),
                None => digit.clone(),
            });
        }
        position.unwrap_or(make::long(0))
    }
}

/// Whether lanes take such iterations one after the other.
fn is_turn(place: Place) -> bool {
    match place {
        Place::Seq | Place::Unroll | Place::Reg => true,
        Place::Host | Place::Grid(_) | Place::Thread(_) | Place::Threads | Place::Lanes | Place::Vec => false,
    }
}

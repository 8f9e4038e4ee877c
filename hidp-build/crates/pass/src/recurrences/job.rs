//! The job of computing one system of recurrences.

use hidp_ir::par::effects::may_fault;
use hidp_ir::par::visit;
use hidp_ir::par::{Access, Block, Course, Expr, ExprKind, FuncId, Place, Program, Stmt, StmtKind, System, VarId};
use hidp_prove as prove;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

use super::asked::Asks;
use super::build::{self, Builder};
use super::columns;
use super::contents::Contents;
use super::difference::{self, Differences};
use super::made::{Kept, Tests, Unmet, Way, Why};
use super::narrow::{self, Doubt, Narrow};
use super::prefix::Prefix;
use super::profile::Profiles;
use super::twin::{copied, fit_int, twin, with_own_tables};
use super::window::{self, Cells, Window};
use super::{Around, cell, declared, demand, letters, separate, sweep, wave};

/// What is to be made of a system.
pub(super) struct Job {
    pub(super) id: FuncId,
    pub(super) around: Around,
    /// What the function gives of it.
    pub(super) asks: Asks,
    /// Whether the function has no other system.
    pub(super) alone: bool,
    /// Whether the tables are outputs.
    pub(super) kept: bool,
    /// Brings tables that are no outputs to life.
    pub(super) locals: Vec<Stmt>,
}

/// What a system became.
pub(super) struct Built {
    pub(super) stmts: Vec<Stmt>,
    pub(super) way: Way,
    /// Why it is not computed as was wanted.
    pub(super) unmet: Option<Unmet>,
}

/// Whether cells are to be narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bits {
    /// Where that is possible.
    Chosen,
    Narrow,
    Declared,
}

/// A system whose cells cannot fault where a condition holds.
struct Tested {
    tests: Tests,
    cond: Expr,
    contents: Contents,
    system: System,
    bodies: Vec<Block>,
}

impl Job {
    /// Computes a system in the course that is wanted, or the one that suits it.
    pub(super) fn system(&self, program: &mut Program, system: &System, wanted: Option<Course>) -> Built {
        let (bodies, faults) = self.proved(program, system, None);
        if !faults {
            let contents = Contents::new(&Builder::new(&mut program.funcs[self.id]), system);
            return self.without_faults(program, system, bodies, &contents, wanted);
        }
        let Some(Tested { tests, cond, contents, system: twin, bodies: twins }) = self.tested(program, system, &bodies)
        else {
            let (stmts, way) = self.with_faults(program, system, bodies);
            let unmet = (wanted.is_some() && wanted != way.course()).then_some(Unmet::Faults);
            return Built { stmts, way, unmet };
        };
        let Built { stmts: then, way: fits, unmet } = self.without_faults(program, &twin, twins, &contents, wanted);
        let then = with_own_tables(&mut program.funcs[self.id].vars, system, then);
        let (otherwise, other) = self.with_faults(program, system, bodies);
        let mut stmts = contents.before;
        stmts.push(build::either(cond, then, otherwise));
        Built { stmts, way: Way::Tested { tests, passed: Box::new(fits), otherwise: Box::new(other) }, unmet }
    }

    /// A copy of the system whose cells cannot fault where tests of sizes, of data or of both pass; with as few tests as possible.
    fn tested(&self, program: &mut Program, system: &System, bodies: &[Block]) -> Option<Tested> {
        let sideways = self.around == Around::Host || !self.whole(system);
        let sized = (sideways && wave::is_wide(system)).then(|| {
            let small = fit_int(program, self.id, system);
            let twin = twin(program, self.id, system);
            let (bodies, faults) = self.proved(program, &twin, Some(small.clone()));
            (small, twin, bodies, faults)
        });
        let builder = Builder::new(&mut program.funcs[self.id]);
        let none = Contents::new(&builder, system);
        let sized = match sized {
            Some((cond, system, bodies, false)) => {
                return Some(Tested { tests: Tests::Sizes, cond, contents: none, system, bodies });
            }
            Some((cond, system, bodies, true)) => Some((cond, system, bodies)),
            None => None,
        };
        let (copy, bodies) = copied(builder.vars, system, bodies);
        let by_data = (Tests::Data, None, copy, bodies);
        let by_both = sized.map(|(cond, system, bodies)| (Tests::Both, Some(cond), system, bodies));
        for (tests, small, system, mut bodies) in [Some(by_data), by_both].into_iter().flatten() {
            let mut contents = none.clone();
            contents.indices(&mut Builder::new(&mut program.funcs[self.id]), &mut bodies);
            let block = Block { stmts: bodies.iter().flat_map(|body| body.stmts.clone()).collect() };
            if !may_fault(program, &program.funcs[self.id].vars, &block) {
                let conds = small.into_iter().chain(std::mem::take(&mut contents.conds)).collect();
                let cond = build::all(conds, system.tables[0].span);
                return Some(Tested { tests, cond, contents, system, bodies });
            }
        }
        None
    }

    /// Whether each element of the tables that are asked is a cell.
    fn asks_boxes(&self, system: &System) -> bool {
        let is_box = |array: &VarId| system.tables.iter().any(|table| table.array == *array && table.is_box());
        let cells = self.asks.cells.iter().map(|ask| &ask.table);
        let folds = self.asks.folds.iter().map(|fold| &fold.table);
        cells.chain(folds).chain(self.asks.kept.iter().map(|kept| &kept.table)).all(is_box)
    }

    /// Whether all of the table is needed, and not only cells that are asked for.
    fn whole(&self, system: &System) -> bool {
        self.kept || !self.alone || !self.asks_boxes(system)
    }

    /// Tables of cells that cannot fault: in any order.
    fn without_faults(
        &self,
        program: &mut Program,
        system: &System,
        bodies: Vec<Block>,
        contents: &Contents,
        wanted: Option<Course>,
    ) -> Built {
        if let Some((job, system, bodies)) = separate::fields(self, program, system, &bodies) {
            return job.without_faults(program, &system, bodies, contents, wanted);
        }
        let mut builder = Builder::new(&mut program.funcs[self.id]);
        let done = wanted.map(|course| self.in_course(&mut builder, system, &bodies, contents, course));
        match done {
            Some(Ok((stmts, way))) => Built { stmts, way, unmet: None },
            Some(Err(unmet)) => {
                let (stmts, way) = self.in_best_course(&mut builder, system, bodies, contents);
                Built { stmts, way, unmet: Some(unmet) }
            }
            None => {
                let (stmts, way) = self.in_best_course(&mut builder, system, bodies, contents);
                Built { stmts, way, unmet: None }
            }
        }
    }

    /// In one course, or why not.
    fn in_course(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        contents: &Contents,
        course: Course,
    ) -> Result<(Vec<Stmt>, Way), Unmet> {
        let in_map = self.around == Around::Map;
        let (narrow, profile) = match course {
            Course::Loops => {
                return Ok((self.swept(builder, system, bodies.to_vec()), Way::Sweep(Why::Pinned)));
            }
            Course::Tiles { .. } if in_map => return Err(Unmet::Iteration),
            Course::Tiles { sides } => {
                return self.by_differences(builder, system, bodies, Some(sides)).ok_or(Unmet::Difference);
            }
            Course::Blocks { sides } => {
                return self.in_blocks(builder, system, bodies, sides).ok_or(Unmet::Behind);
            }
            Course::Intervals { side } => {
                return self.by_intervals(builder, system, bodies, side).ok_or(Unmet::Split);
            }
            Course::Prefix { .. } if in_map => return Err(Unmet::Linear),
            Course::Prefix { part } => {
                let prefix = Prefix::of(builder, system, bodies).ok_or(Unmet::Linear)?;
                let stmts = prefix.made(builder, part);
                return Ok((self.around_tables(builder, system, stmts), Way::Prefix { part, short: None }));
            }
            Course::Rows if !in_map => return Err(Unmet::Host),
            Course::Rows => return self.by_differences(builder, system, bodies, None).ok_or(Unmet::Difference),
            Course::Table | Course::Twin | Course::Window { .. } if !wave::is_wide(system) => return Err(Unmet::Wide),
            Course::Table | Course::Twin if in_map => return Err(Unmet::Iteration),
            Course::Table => {
                let stmts = wave::system(builder, system, bodies.to_vec(), self.around, None);
                return Ok((self.around_tables(builder, system, stmts), Way::Wave(Kept::Table)));
            }
            Course::Twin => return self.with_copies(builder, system, bodies).ok_or(Unmet::Twin),
            Course::Window { narrow, profile } => (narrow, profile),
        };
        let whole = self.whole(system);
        if in_map && !suits_iterations(system, bodies, whole) {
            return Err(Unmet::Iteration);
        }
        let windows = self.windows(builder, system, bodies, Cells::Declared).ok_or(Unmet::Window)?;
        let way = Way::Wave(if whole { Kept::Both } else { Kept::Window });
        let bits = if narrow { Bits::Narrow } else { Bits::Declared };
        if profile {
            return self.profiled(builder, system, bodies, contents, (&windows, bits), &way);
        }
        let narrow = self.in_bits(builder, system, bodies, (contents, None), bits)?;
        Ok(self.narrow_or_wide(builder, system, bodies.to_vec(), (&windows, None), narrow, way))
    }

    fn in_best_course(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: Vec<Block>,
        contents: &Contents,
    ) -> (Vec<Stmt>, Way) {
        let whole = self.whole(system);
        let apart = self.around == Around::Map && !suits_iterations(system, &bodies, whole);
        if self.around == Around::Host
            && system.order.pinned.is_none()
            && let Some(prefix) = Prefix::of(builder, system, &bodies)
        {
            let parts = prefix.made(builder, Course::PART);
            let (copy, copies) = copied(builder.vars, system, &bodies);
            let loops = self.loops(builder, &copy, copies);
            let stmts = vec![build::either(prefix.is_long(), parts, loops)];
            let short = Some(Box::new(Way::Sweep(Why::Narrow)));
            return (self.around_tables(builder, system, stmts), Way::Prefix { part: Course::PART, short });
        }
        if apart || !wave::is_wide(system) {
            let why = if self.around == Around::Map { Why::Iteration } else { Why::Narrow };
            return (self.swept(builder, system, bodies), Way::Sweep(why));
        }
        let skewed = wave::is_skewed(system);
        // Rows are for lanes with a table each: of other sizes, tables run one after the other, and have lanes of their own.
        let alike = self.around == Around::Host || !self.asks.ragged;
        if skewed && alike && system.order.pinned.is_none() {
            let sides = (self.around == Around::Host).then_some([Course::SIDE; 2]);
            if let Some(done) = self.by_differences(builder, system, &bodies, sides) {
                return done;
            }
        }
        if skewed
            && !alike
            && system.order.pinned.is_none()
            && let Some(short) = self.short(builder, system, &bodies)
        {
            let (long, way) = self.across(builder, system, bodies, contents);
            let mut out = short.before;
            out.push(build::either(short.fits, short.then, long));
            return (out, Way::Short { otherwise: Box::new(way) });
        }
        if skewed
            && !alike
            && system.order.pinned.is_none()
            && !self.whole(system)
            && let Some(columns) = columns::of(builder, system, &bodies, contents, &self.asks)
        {
            let (alone, way) = self.across(builder, system, bodies, contents);
            let mut out = columns.before;
            out.push(build::either(columns.fits, columns.then, alone));
            return (out, Way::Columns { otherwise: Box::new(way) });
        }
        self.across(builder, system, bodies, contents)
    }

    /// Short tables of unlike sizes, from differences of neighbours.
    fn short(&self, builder: &mut Builder<'_>, system: &System, bodies: &[Block]) -> Option<difference::Made> {
        let ask = Differences::asked(&self.asks).filter(|_| !self.whole(system))?;
        let (twin, twins) = copied(builder.vars, system, bodies);
        let table = Differences::of(builder, &twin, &twins)?;
        Some(table.short_rows(builder, (ask, self.asks.around.as_ref())))
    }

    /// In steps of many cells, or as suits those.
    fn across(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: Vec<Block>,
        contents: &Contents,
    ) -> (Vec<Stmt>, Way) {
        let (whole, skewed) = (self.whole(system), wave::is_skewed(system));
        // Across a table that is kept, every cell of a step has a cache line of its own.
        if skewed
            && whole
            && system.order.pinned.is_none()
            && let Some(done) = self.in_blocks(builder, system, &bodies, Course::BLOCK)
        {
            return done;
        }
        let windows = if whole && !skewed { None } else { self.windows(builder, system, &bodies, Cells::Declared) };
        match windows {
            Some(windows) => {
                let way = Way::Wave(if whole { Kept::Both } else { Kept::Window });
                // Tables of one size have a lane each, in which pairs of data choose one after the other anyhow.
                let bits = (&windows, Bits::Chosen);
                let laid_out = self.around == Around::Host || self.asks.ragged;
                let profiled = laid_out.then(|| self.profiled(builder, system, &bodies, contents, bits, &way).ok());
                profiled.flatten().unwrap_or_else(|| {
                    let narrow = self.narrow(builder, system, &bodies, contents, None);
                    self.narrow_or_wide(builder, system, bodies, (&windows, None), narrow, way)
                })
            }
            None if self.around == Around::Map => (self.swept(builder, system, bodies), Way::Sweep(Why::Iteration)),
            // Across a table, cells that do little each are computed sooner one after the other.
            None if skewed && system.order.pinned.is_none() && !bodies.iter().any(has_loop) => {
                (self.swept(builder, system, bodies), Way::Sweep(Why::Across))
            }
            None => {
                let unpinned = system.order.pinned.is_none();
                let tiles = unpinned.then(|| self.by_intervals(builder, system, &bodies, Course::SPAN)).flatten();
                tiles.or_else(|| self.with_copies(builder, system, &bodies)).unwrap_or_else(|| {
                    let stmts = wave::system(builder, system, bodies, self.around, None);
                    (self.around_tables(builder, system, stmts), Way::Wave(Kept::Table))
                })
            }
        }
    }

    /// From differences of neighbours where they fit 8 bits, from wide cells elsewhere.
    fn by_differences(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        sides: Option<[u32; 2]>,
    ) -> Option<(Vec<Stmt>, Way)> {
        let ask = Differences::asked(&self.asks).filter(|_| !self.whole(system))?;
        let (twin, twins) = copied(builder.vars, system, bodies);
        let table = Differences::of(builder, &twin, &twins)?;
        let made = match sides {
            Some(sides) => table.tiles(builder, ask, sides),
            None => table.rows(builder, ask),
        };
        let windows = self.windows(builder, system, bodies, Cells::Declared).filter(|_| wave::is_wide(system));
        let (wide, way) = match windows {
            Some(windows) => {
                let wide = self.in_windows(builder, system, bodies.to_vec(), (&windows, None));
                (wide, Way::Wave(Kept::Window))
            }
            None => (self.swept(builder, system, bodies.to_vec()), Way::Sweep(Why::Across)),
        };
        let mut out = made.before;
        out.push(build::either(made.fits, made.then, wide));
        Some((out, Way::Difference { sides, otherwise: Box::new(way) }))
    }

    /// The same in windows with profiles, behind the condition under which there are any; wide cells without them elsewhere.
    fn profiled(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        contents: &Contents,
        (windows, bits): (&OrdMap<VarId, Window>, Bits),
        way: &Way,
    ) -> Result<(Vec<Stmt>, Way), Unmet> {
        let mut contents = contents.inside();
        let (twin, twins) = copied(builder.vars, system, bodies);
        let profiles = Profiles::of(builder, &twin, &twins, &mut contents, self.around).ok_or(Unmet::Profile)?;
        let own = self.windows(builder, &twin, &twins, Cells::Declared).ok_or(Unmet::Window)?;
        let narrow = self.in_bits(builder, &twin, &twins, (&contents, Some(&profiles)), bits)?;
        let with = (&own, Some(&profiles));
        let (cells, by_profiles) = self.narrow_or_wide(builder, &twin, twins, with, narrow, way.clone());
        let cells = with_own_tables(builder.vars, &twin, cells);
        let wide = self.in_windows(builder, system, bodies.to_vec(), (windows, None));
        let mut then = profiles.made(builder);
        then.extend(cells);
        let mut out = std::mem::take(&mut contents.before);
        let cond = build::all(std::mem::take(&mut contents.conds), system.tables[0].span);
        out.push(build::either(cond, then, wide));
        Ok((out, Way::Profiled { passed: Box::new(by_profiles), otherwise: Box::new(way.clone()) }))
    }

    /// Cells of 16 bits where that is enough, of the declared type elsewhere.
    fn narrow_or_wide(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        mut bodies: Vec<Block>,
        (windows, profiles): (&OrdMap<VarId, Window>, Option<&Profiles>),
        narrow: Option<(Narrow, Vec<Stmt>)>,
        way: Way,
    ) -> (Vec<Stmt>, Way) {
        if let Some(profiles) = profiles {
            profiles.apply(builder, system, &mut bodies);
        }
        let wide = self.in_windows(builder, system, bodies, (windows, profiles));
        match narrow {
            Some(narrow) => (self.narrow_or(builder, narrow, wide), Way::Narrow(Box::new(way))),
            None => (wide, way),
        }
    }

    /// What narrow cells need, if there are to be such.
    fn in_bits(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        (contents, profiles): (&Contents, Option<&Profiles>),
        bits: Bits,
    ) -> Result<Option<(Narrow, Vec<Stmt>)>, Unmet> {
        if bits == Bits::Declared {
            return Ok(None);
        }
        let narrow = self.narrow(builder, system, bodies, contents, profiles);
        if bits == Bits::Narrow && narrow.is_none() { Err(Unmet::Narrow) } else { Ok(narrow) }
    }

    /// A wave that keeps windows.
    fn in_windows(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        mut bodies: Vec<Block>,
        (windows, profiles): (&OrdMap<VarId, Window>, Option<&Profiles>),
    ) -> Vec<Stmt> {
        let whole = self.whole(system);
        let none = Asks::default();
        let asks = if whole { &none } else { &self.asks };
        let kept = wave::Windows { windows, asks, profiles };
        let mut stmts = letters::taken(builder, system, (self.around, &self.asks), &mut bodies);
        stmts.extend(wave::system(builder, system, bodies, self.around, Some(kept)));
        if whole { self.around_tables(builder, system, stmts) } else { stmts }
    }

    /// The same with narrow cells, behind what it needs and the condition under which they fit.
    fn narrow(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        contents: &Contents,
        profiles: Option<&Profiles>,
    ) -> Option<(Narrow, Vec<Stmt>)> {
        let (system, bodies) = copied(builder.vars, system, bodies);
        let ends = wave::ends(builder, &system);
        let mut narrow = narrow::of(builder, &system, &bodies, contents.inside(), &ends, !self.whole(&system))?;
        let keeps_cells = self.asks.kept.iter().any(|kept| narrow::is_wide(builder.vars[kept.array].ty));
        // Whether a sum depends on a cell that is beyond all others is not seen from its result.
        let doubted = |doubt: &Doubt| {
            let extremes = self.asks.folds.iter().map(|fold| fold.extreme(builder));
            extremes.into_iter().all(|found| found.is_some_and(|(extreme, _)| doubt.is_about(extreme)))
        };
        if !narrow.doubt.as_ref().is_none_or(|doubt| doubted(doubt) && !keeps_cells) {
            return None;
        }
        let mut bodies = std::mem::take(&mut narrow.bodies);
        if let Some(profiles) = profiles {
            profiles.apply(builder, &system, &mut bodies);
        }
        let windows = self.windows(builder, &system, &bodies, narrow.cells)?;
        let stmts = self.in_windows(builder, &system, bodies, (&windows, profiles));
        Some((narrow, with_own_tables(builder.vars, &system, stmts)))
    }

    /// What is kept of the tables, if a few steps of them are.
    fn windows(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        cells: Cells,
    ) -> Option<OrdMap<VarId, Window>> {
        let rows: Vec<&[i64]> = system.order.steps.iter().map(|steps| steps.rows[0].as_slice()).collect();
        let kept = (self.around, self.whole(system));
        window::of(builder, system, bodies, |at| wave::following(rows[at]), kept, (cells, &self.asks))
    }

    /// Narrow cells where they fit; wide ones elsewhere, and where there is doubt about a narrow one that is given.
    fn narrow_or(
        &self,
        builder: &mut Builder<'_>,
        (narrow, mut then): (Narrow, Vec<Stmt>),
        wide: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let span = narrow.fits.span;
        let mut out = narrow.before;
        let Some(doubt) = narrow.doubt else {
            out.push(build::either(narrow.fits, then, wide));
            return out;
        };
        let narrow_is_right = builder.local("right", Ty::BOOL, span);
        out.extend([build::declare(narrow_is_right, span), build::assign(narrow_is_right, narrow.fits)]);
        let right = || Expr::read(narrow_is_right, Ty::BOOL, span);
        let of_cells = self.asks.cells.iter().map(|ask| {
            let cell = build::cast(Expr::read(ask.cell, builder.vars[ask.cell].ty, span), Ty::LONG);
            build::all(vec![ask.exists(builder.vars, span), doubt.about(cell)], span)
        });
        let extremes = self.asks.folds.iter().filter_map(|fold| fold.extreme(builder));
        let of_folds = extremes.map(|(_, value)| doubt.about(build::cast(value, Ty::LONG)));
        let wrong = build::assign(narrow_is_right, build::constant(false, span));
        then.extend(of_cells.chain(of_folds).map(|doubted| build::guarded(doubted, vec![wrong.clone()])));
        out.push(build::guarded(right(), then));
        out.push(build::either(right(), Vec::new(), wide));
        out
    }

    /// Tables of cells that may fault: in the order of the meaning.
    fn with_faults(&self, program: &mut Program, system: &System, bodies: Vec<Block>) -> (Vec<Stmt>, Way) {
        let mut builder = Builder::new(&mut program.funcs[self.id]);
        let upwards = system.order.nest.as_ref().is_some_and(|nest| nest.flips.iter().all(|flip| *flip > 0));
        if upwards && system.tables.len() == 1 {
            if self.around == Around::Map
                && goes_along_first(system)
                && suits_iterations(system, &bodies, self.whole(system))
                && let Some(windows) = self.windows(&mut builder, system, &bodies, Cells::Declared)
            {
                let stmts = self.in_windows(&mut builder, system, bodies, (&windows, None));
                return (stmts, Way::Wave(Kept::Window));
            }
            return (self.swept(&mut builder, system, bodies), Way::Sweep(Why::Fault));
        }
        let stmts = demand::system(&mut builder, system, self.around);
        (self.around_tables(&mut builder, system, stmts), Way::Demand)
    }

    /// Cells one after the other.
    fn swept(&self, builder: &mut Builder<'_>, system: &System, bodies: Vec<Block>) -> Vec<Stmt> {
        let stmts = self.loops(builder, system, bodies);
        self.around_tables(builder, system, stmts)
    }

    fn loops(&self, builder: &mut Builder<'_>, system: &System, bodies: Vec<Block>) -> Vec<Stmt> {
        match &system.order.nest {
            Some(nest) => sweep::system(builder, system, nest, bodies, self.around),
            None => wave::system(builder, system, bodies, self.around, None),
        }
    }

    /// Where tables are no outputs: their declarations, and the cells that are taken from them.
    pub(super) fn around_tables(&self, builder: &mut Builder<'_>, system: &System, stmts: Vec<Stmt>) -> Vec<Stmt> {
        if self.kept {
            return stmts;
        }
        let mut out = if self.alone { declared(system) } else { Vec::new() };
        out.extend(stmts);
        for ask in &self.asks.cells {
            let span = builder.vars[ask.cell].span;
            let index = ask.index.iter().map(|index| build::read(*index, span)).collect();
            let place =
                Place { array: ask.table, index, path: ask.path.clone(), unproved: 0, access: Access::Exclusive, span };
            let value = Expr { kind: ExprKind::Load(place), ty: builder.vars[ask.cell].ty, span };
            out.push(build::guarded(ask.exists(builder.vars, span), vec![build::assign(ask.cell, value)]));
        }
        let span = system.tables[0].span;
        out.extend(self.asks.folds.iter().flat_map(|fold| fold.over_table(builder, span)));
        for kept in &self.asks.kept {
            let at = system.tables.iter().position(|table| table.array == kept.table).expect("a table of the system");
            out.push(kept.of_table(builder, &system.order.steps[at].rows[0], span));
        }
        out
    }

    /// Bodies that store their cells, without the tests that are proved to pass, and whether any test is left; if so wanted, where a
    /// condition holds.
    fn proved(&self, program: &mut Program, system: &System, cond: Option<Expr>) -> (Vec<Block>, bool) {
        let stored = system.tables.iter().map(|table| build::nest_of_maps(&table.index, cell::stored(table)));
        let (stored, guarded) = (stored.collect(), cond.is_some());
        let mut stmts = self.locals.clone();
        match cond {
            Some(cond) => stmts.push(build::guarded(cond, stored)),
            None => stmts.extend(stored),
        }
        program.funcs[self.id].body = Block { stmts };
        prove::bounds(program, self.id);
        let mut body = std::mem::take(&mut program.funcs[self.id].body);
        body.stmts.drain(..self.locals.len());
        if guarded && let Some(StmtKind::If { then, .. }) = body.stmts.pop().map(|stmt| stmt.kind) {
            body = then;
        }
        let faults = may_fault(program, &program.funcs[self.id].vars, &body);
        let tables = body.stmts.into_iter().zip(&system.tables);
        (tables.map(|(stmt, table)| build::inside(stmt, table.index.len())).collect(), faults)
    }
}

/// Whether iterations of a map do well to keep windows. Across a table, a loop over others does not run in lanes, and steps cost more than they save.
fn suits_iterations(system: &System, bodies: &[Block], whole: bool) -> bool {
    let across = wave::is_wide(system) && wave::is_skewed(system);
    !whole && (!across || !bodies.iter().any(has_loop))
}

/// Whether steps are those of the first index, so that they come in the order of the meaning.
fn goes_along_first(system: &System) -> bool {
    let is_first = |row: &Vec<i64>| row[0] == 1 && row[1..].iter().all(|factor| *factor == 0);
    wave::is_wide(system) && system.order.steps.iter().all(|steps| is_first(&steps.rows[0]))
}

fn has_loop(body: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(body, |stmt| found |= matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_)));
    found
}

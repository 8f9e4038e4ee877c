//! Lee et al.'s space: for each level of a nest a dimension of the block, lanes along it, and how much of the range a block or lane takes. Rows of
//! data, which constraints prune as early as possible to those that lines can express.
//!
//! Levels are the iterators of the outermost map, then the maps inside, by depth: lanes share all iterators of such a map as one index, and
//! maps at one depth alike. What a row comes to is a [`Mapping`], as the planner has others.

use std::fmt;

use super::carry::Carrier;
use crate::mapping::Mapping;
use crate::refusal::{BLOCK_THREADS, Constraint, DIMS, GROUP, OUTERMOST, SHAPE};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::place::Axis;

/// How much of a level's range is where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    /// Span(1): an iteration for each lane of the level; the grid takes the rest.
    One,
    /// Span(n): so many for each.
    Some(u32),
    /// So many for each lane side by side, which computes and loads once what they share.
    Beside(u32),
    /// Span(all): the lanes of a block take all.
    All,
    /// Split(k): so many blocks or lanes take parts of all, and another launch folds what they leave; without a number as many as
    /// sizes ask for.
    Split(Option<u32>),
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Span::One => Ok(()),
            Span::Some(count) => write!(f, " span({count})"),
            Span::Beside(count) => write!(f, " reg({count})"),
            Span::All => f.write_str(" span(all)"),
            Span::Split(None) => f.write_str(" split"),
            Span::Split(Some(parts)) => write!(f, " split({parts})"),
        }
    }
}

/// How a level runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level {
    /// The dimension of the block, if there are lanes along the level.
    pub dim: Option<Axis>,
    /// Lanes along it.
    pub size: u32,
    /// How much of its range they take.
    pub span: Span,
}

/// A mapping: how each level runs, the outermost first.
pub type Row = Vec<Level>;

/// What levels may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Lanes along a level, ascending.
    pub sizes: &'static [u32],
    /// Spans of iterators of the outermost map.
    pub outer: &'static [Span],
    /// Spans of maps inside.
    pub inner: &'static [Span],
}

impl Domain {
    /// All that Lee et al.'s parameters can say.
    pub const WHOLE: Domain = Domain { sizes: &SIZES, outer: &SPANS, inner: &SPANS };
    /// What the planner looks at: numbers of spans follow from sizes, and what is parallel is shared out.
    pub const PLANNED: Domain =
        Domain { sizes: &SIZES, outer: &[Span::One, Span::Beside(4)], inner: &[Span::All, Span::Split(None)] };
}

const SIZES: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

const SPANS: [Span; 9] = [
    Span::One,
    Span::Some(2),
    Span::Some(4),
    Span::Some(8),
    Span::All,
    Span::Split(None),
    Span::Split(Some(8)),
    Span::Split(Some(64)),
    Span::Split(Some(512)),
];

/// Levels that may have lanes, from the innermost on: a block has as many dimensions.
const WITH_LANES: usize = Axis::ALL.len();

/// What the rows of a nest have come to.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// Those that can run.
    pub rows: Vec<(Row, Mapping)>,
    /// How many rows, and beginnings of rows, each constraint has cut.
    pub cuts: OrdMap<&'static str, usize>,
    /// Those that say nothing which another row does not, as launches lay out neighbours by themselves.
    pub alike: usize,
    /// Rows and beginnings of rows that were looked at.
    pub steps: usize,
}

/// Why a row is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// A constraint.
    By(&'static Constraint),
    /// Another row has the same lines.
    Alike,
}

impl Space {
    /// All rows of a nest that lines can say.
    pub(super) fn of(carrier: &Carrier<'_>, domain: Domain) -> Space {
        let mut space = Space::default();
        space.extend(carrier, domain, &mut Vec::new());
        let block = carrier.usual_block();
        let threads = |row: &Row| row.iter().map(|level| level.size).product::<u32>();
        space.rows.sort_by_key(|(row, _)| threads(row) != block);
        space
    }

    /// Rows that end with these levels, the innermost first.
    fn extend(&mut self, carrier: &Carrier<'_>, domain: Domain, inner: &mut Row) {
        let Some(at) = carrier.levels().checked_sub(inner.len() + 1) else {
            let row: Row = inner.iter().rev().copied().collect();
            match carrier.mapping(&row) {
                Ok(mapping) => self.rows.push((row, mapping)),
                Err(cut) => self.cut(cut),
            }
            return;
        };
        let spans = if carrier.is_outer(at) { domain.outer } else { domain.inner };
        for span in spans.iter().filter(|span| carrier.may_be_beside(at, **span)) {
            self.steps += 1;
            // Lanes along the level are looked at with it.
            let any = Level { dim: Some(Axis::X), size: 1, span: *span };
            match carrier.span(at, *span).and_then(|()| carrier.beside((at, any), inner.iter().rev())) {
                Ok(()) => self.with_lanes(carrier, domain, inner, (at, *span)),
                Err(cut) => self.cut(cut),
            }
        }
    }

    /// The same with all lanes that the next level may have.
    fn with_lanes(&mut self, carrier: &Carrier<'_>, domain: Domain, inner: &mut Row, (at, span): (usize, Span)) {
        let others: u32 = inner.iter().map(|other| other.size).product();
        for size in domain.sizes {
            self.steps += 1;
            if others * size > carrier.most_threads() {
                // Larger ones are too many all the more.
                return self.cut(Cut::By(&BLOCK_THREADS));
            }
            let dims = if *size == 1 { &[None][..] } else { &DIMENSIONS[..carrier.levels().min(WITH_LANES)] };
            for dim in dims {
                self.steps += 1;
                let level = Level { dim: *dim, size: *size, span };
                match fits(carrier, at, level, inner) {
                    Ok(()) => {
                        inner.push(level);
                        self.extend(carrier, domain, inner);
                        inner.pop();
                    }
                    Err(cut) => self.cut(cut),
                }
            }
        }
    }

    fn cut(&mut self, cut: Cut) {
        match cut {
            Cut::By(constraint) => *self.cuts.entry(constraint.id).or_default() += 1,
            Cut::Alike => self.alike += 1,
        }
    }
}

const DIMENSIONS: [Option<Axis>; 3] = [Some(Axis::X), Some(Axis::Y), Some(Axis::Z)];

/// Whether a level can run so around these, the innermost first.
fn fits(carrier: &Carrier<'_>, at: usize, level: Level, inner: &[Level]) -> Result<(), Cut> {
    let taken = inner.iter().any(|other| other.dim == level.dim);
    if level.dim.is_some() && (taken || inner.len() >= WITH_LANES) {
        return Err(Cut::By(&DIMS));
    }
    carrier.beside((at, level), inner.iter().rev())?;
    carrier.lanes(at, level)
}

/// Whether lanes of a level inside are a group: neighbours, as many as exchange values, or perhaps all of the block.
pub(super) fn is_group(level: Level, deep: bool) -> Result<(), Cut> {
    let along = match level.dim {
        None | Some(Axis::X) => matches!(level.size, 1 | 4 | 8 | 32) || level.size >= 64,
        // Warps of a block, each of which shares what is inside.
        Some(Axis::Y) => deep,
        Some(Axis::Z) => false,
    };
    if along { Ok(()) } else { Err(Cut::By(&GROUP)) }
}

/// Of a map inside: lanes of one block take all of its range, or other groups parts of its folds.
pub(super) fn inner_span(span: Span, split: &Result<(), &'static Constraint>) -> Result<(), Cut> {
    match span {
        Span::One | Span::Some(_) | Span::Beside(_) => Err(Cut::By(&OUTERMOST)),
        Span::All => Ok(()),
        Span::Split(_) => (*split).map_err(Cut::By),
    }
}

/// Of an iterator of the outermost map: nothing is folded along it.
pub(super) fn outer_span(span: Span, blocks: &Result<(), &'static Constraint>) -> Result<(), Cut> {
    match span {
        Span::One => Ok(()),
        Span::Some(_) | Span::Beside(_) | Span::All => (*blocks).map_err(Cut::By),
        Span::Split(_) => Err(Cut::By(&SHAPE)),
    }
}

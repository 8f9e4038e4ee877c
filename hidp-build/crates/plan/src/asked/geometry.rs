//! hiCUDA's extents of grids and blocks, and iterators that are shared out over them.

use super::{AskedIter, AskedLine, Clash};
use hidp_ir::par::{Func, Map, Pin, PinArg, VarId};
use hidp_syntax::ast::PinWord;
use hidp_syntax::place::{Axis, Place};
use hidp_syntax::source::Span;

/// The extents of a grid or of a block, and where they stand.
struct Extents {
    sizes: Vec<u32>,
    span: Span,
}

/// How iterations are shared out over something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Runs of neighbours.
    Block,
    /// In turn.
    Cyclic,
}

/// An iterator, and what it is shared out over.
struct Partition {
    vars: Vec<VarId>,
    tblock: Option<How>,
    thread: Option<How>,
    span: Span,
}

/// The lines of all iterators that directives partition.
pub(super) fn lines(func: &Func, map: &Map, pins: &[&Pin]) -> Result<Vec<AskedIter>, Clash> {
    let tblock = extents(pins, PinWord::Tblock)?;
    let thread = extents(pins, PinWord::Thread)?;
    let written: Vec<&PinArg> =
        pins.iter().filter(|pin| pin.word == PinWord::Partition).flat_map(|pin| &pin.args).collect();
    let mut parts = Vec::new();
    for arg in written {
        parts.push(partition(arg)?);
    }
    let Some(span) = tblock.as_ref().or(thread.as_ref()).map(|extents| extents.span) else {
        let Some(first) = parts.first() else { return Ok(Vec::new()) };
        return over(func, &parts, &tblock, &thread, first.span);
    };
    if parts.is_empty() {
        // Without a word about iterators, all of the map's are meant.
        let both = |var| Partition { vars: vec![var], tblock: Some(How::Block), thread: Some(How::Cyclic), span };
        parts = map.iters.iter().map(|iter| both(iter.var)).collect();
        if thread.is_none() {
            parts.iter_mut().for_each(|part| part.thread = None);
        }
    }
    over(func, &parts, &tblock, &thread, span)
}

fn extents(pins: &[&Pin], word: PinWord) -> Result<Option<Extents>, Clash> {
    let mut found: Option<Extents> = None;
    for pin in pins.iter().filter(|pin| pin.word == word) {
        if let Some(first) = &found {
            return Err(Clash {
                at: pin.span,
                headline: format!("a nest has one `{}`", word.name()),
                label: "a second one".to_owned(),
                other: Some((first.span, "the first one".to_owned())),
            });
        }
        let sizes = pin.args.iter().filter_map(|arg| arg.values.first()?.size).collect();
        found = Some(Extents { sizes, span: pin.span });
    }
    Ok(found)
}

fn partition(arg: &PinArg) -> Result<Partition, Clash> {
    let mut part = Partition { vars: arg.vars.clone(), tblock: None, thread: None, span: arg.span };
    for value in &arg.values {
        let how = match value.how.as_deref() {
            Some("cyclic") => Some(How::Cyclic),
            Some(_) => Some(How::Block),
            None => None,
        };
        let (place, usual) = match value.word.as_str() {
            "tblock" => (&mut part.tblock, How::Block),
            _ => (&mut part.thread, How::Cyclic),
        };
        if place.replace(how.unwrap_or(usual)).is_some() {
            return Err(Clash {
                at: arg.span,
                headline: format!("`{}` stands there twice", value.word),
                label: "an iterator is shared out over blocks once, and over threads once".to_owned(),
                other: None,
            });
        }
    }
    Ok(part)
}

/// Extents go to iterators in the order of both, and the last one is `x`.
fn over(
    func: &Func,
    parts: &[Partition],
    tblock: &Option<Extents>,
    thread: &Option<Extents>,
    span: Span,
) -> Result<Vec<AskedIter>, Clash> {
    let grids = parts.iter().filter(|part| part.tblock.is_some()).count();
    let lanes = parts.iter().filter(|part| part.thread.is_some()).count();
    let first = parts.first().map_or(span, |part| part.span);
    counts_match("tblock", "blocks", tblock, grids, first)?;
    counts_match("thread", "threads", thread, lanes, first)?;
    if let (None, Some(part)) = (thread, parts.iter().find(|part| part.thread.is_some())) {
        return Err(Clash {
            at: part.span,
            headline: format!(
                "`{}` is shared out over threads, of which nobody says how many",
                func.vars[part.vars[0]].name
            ),
            label: "write `thread(n)` before the outermost map".to_owned(),
            other: None,
        });
    }
    if grids > Axis::ALL.len() || lanes > Axis::ALL.len() {
        return Err(Clash {
            at: first,
            headline: format!("{} iterators are shared out at once", grids.max(lanes)),
            label: "a grid and a block have three dimensions".to_owned(),
            other: None,
        });
    }
    let (mut grid, mut lane) = (0, 0);
    let mut found = Vec::new();
    for part in parts {
        let at_grid = part.tblock.map(|how| {
            grid += 1;
            let size = tblock.as_ref().and_then(|extents| extents.sizes.get(grid - 1)).copied();
            (how, AskedLine::new(Place::Grid(Axis::ALL[grids - grid]), size))
        });
        let at_lane = part.thread.map(|how| {
            lane += 1;
            let size = thread.as_ref().and_then(|extents| extents.sizes.get(lane - 1)).copied();
            (how, AskedLine::new(Place::Thread(Axis::ALL[lanes - lane]), size))
        });
        let lines = shared_out(at_grid, at_lane);
        found.extend(part.vars.iter().map(|var| AskedIter { var: *var, lines: lines.clone(), span: part.span }));
    }
    Ok(found)
}

fn counts_match(word: &str, what: &str, extents: &Option<Extents>, iterators: usize, parts: Span) -> Result<(), Clash> {
    match extents {
        Some(extents) if extents.sizes.len() != iterators => {
            let count = extents.sizes.len();
            let other = (parts != extents.span).then(|| (parts, "what is shared out".to_owned()));
            Err(Clash {
                at: extents.span,
                headline: format!(
                    "`{word}` has {count} extents, and iterators that are shared out over {what} are {iterators}"
                ),
                label: "one extent for each such iterator".to_owned(),
                other,
            })
        }
        Some(_) | None => Ok(()),
    }
}

/// The lines of an iterator over blocks and threads: where the grid has a number of blocks, each of them takes what it gets in turns.
fn shared_out(grid: Option<(How, AskedLine)>, lane: Option<(How, AskedLine)>) -> Vec<AskedLine> {
    let turns = AskedLine::new(Place::Seq, None);
    let (over_grid, over_lanes) = (grid.map(|(_, line)| line), lane.map(|(_, line)| line));
    let both = [over_grid, over_lanes];
    let sized = over_grid.is_none_or(|line| line.size.is_some());
    let how = |part: Option<(How, AskedLine)>| part.map(|(how, _)| how);
    let order = match (how(grid), how(lane)) {
        (Some(_) | None, Some(_) | None) if !sized => vec![over_grid, over_lanes],
        (Some(How::Cyclic), Some(_) | None) => [Some(turns)].into_iter().chain(both).collect(),
        (Some(How::Block) | None, Some(How::Block)) => vec![over_grid, over_lanes, Some(turns)],
        (Some(How::Block) | None, Some(How::Cyclic) | None) => vec![over_grid, Some(turns), over_lanes],
    };
    order.into_iter().flatten().collect()
}

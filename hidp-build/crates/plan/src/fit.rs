//! Whether pinned lines are those of a nest that the planner would make, but for the numbers that a line may change.

use super::choices::{self, Numbers};
use super::mapping::{Mapping, Recipe, Strategy};
use super::notation::{FoldOption, FoldRange, Line, Nest, Place, Property, Size, Stage, StageOption, Step};
use crate::target::DeviceModel;

/// Most elements in a tile of lanes.
const MOST_TILE: u32 = 1 << 14;

/// A line of a pinned nest, as the file has them by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The line `nest` itself.
    Head,
    /// One whose position counts.
    Step(usize),
    Fold(usize),
    Place(usize),
    Property(usize),
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfit {
    pub(super) part: Part,
    pub(super) expected: String,
}

/// How far a pinned nest follows another one: lines that are alike, those that are not, and the first of these.
pub(super) struct Compared {
    pub(super) alike: usize,
    pub(super) wrong: usize,
    pub(super) unfit: Option<Unfit>,
}

/// Compares a pinned nest with one of the planner's, which is that `mapping`.
pub(super) fn compare(pinned: &Nest, usual: &Nest, mapping: &Mapping, model: &DeviceModel) -> Compared {
    let free = Free { mapping, model };
    let (mut alike, mut wrong) = (0, 0);
    let mut first: Option<Unfit> = None;
    let mut note = |found: Option<(Part, String)>| match found {
        None => alike += 1,
        Some((part, expected)) => {
            wrong += 1;
            first.get_or_insert(Unfit { part, expected });
        }
    };
    // A thread may take one iteration where the planner has it take several side by side.
    let one_by_one = !pinned.steps.iter().any(is_side_by_side);
    let steps: Vec<&Step> = usual.steps.iter().filter(|step| !(one_by_one && is_side_by_side(step))).collect();
    for at in 0..pinned.steps.len().max(steps.len()) {
        note(match (pinned.steps.get(at), steps.get(at).copied()) {
            (Some(pinned), Some(usual)) => free.step(pinned, usual).err().map(|wrong| (Part::Step(at), wrong)),
            (Some(_), None) => Some((Part::Step(at), "no more lines for iterators".to_owned())),
            (None, Some(Step::Line(line))) => Some((Part::Head, format!("a line `{line}` at the end"))),
            (None, Some(Step::Stage(stage))) => Some((Part::Head, format!("a line `{stage}` at the end"))),
            (None, None) => None,
        });
    }
    for (at, fold) in pinned.folds.iter().enumerate() {
        let usual = usual.folds.iter().find(|usual| usual.iters == fold.iters);
        note(match usual {
            Some(usual) => free.fold(fold, usual).err().map(|wrong| (Part::Fold(at), wrong)),
            None => Some((Part::Fold(at), "no line for this fold: its range is not cut".to_owned())),
        });
    }
    let left_out = |usual: &&FoldRange| !pinned.folds.iter().any(|fold| fold.iters == usual.iters);
    for usual in
        usual.folds.iter().filter(left_out).filter(|usual| !usual.options.iter().all(|option| is_free(*option)))
    {
        note(Some((Part::Head, format!("a line `{}`", fold_text(usual)))));
    }
    // Arrays that bypass the caches may be left out.
    for (at, place) in pinned.places.iter().enumerate() {
        let known = usual.places.contains(place);
        note((!known).then(|| (Part::Place(at), "an array among the planner's `place` lines".to_owned())));
    }
    for (at, property) in pinned.properties.iter().enumerate() {
        note(free.property(at, *property, &usual.properties).err().map(|wrong| (Part::Property(at), wrong)));
    }
    for (at, property) in usual.properties.iter().enumerate() {
        // What runs besides where sizes allow it may be left out.
        match property {
            Property::Block(threads) if pinned.properties.len() <= at => {
                note(Some((Part::Head, format!("a line `block({threads})`"))));
            }
            Property::Block(_)
            | Property::Resident(_)
            | Property::Together(_)
            | Property::Written(_)
            | Property::Within(_)
            | Property::Fewest(_)
            | Property::Alone(_)
            | Property::Copied(_)
            | Property::Columns(_)
            | Property::Turns(_)
            | Property::Parts(_)
            | Property::WarpColumns(_)
            | Property::Joined
            | Property::Updates(_)
            | Property::Flight(_)
            | Property::Registers(_)
            | Property::FlightGroups(_)
            | Property::Last(_)
            | Property::Ends(_)
            | Property::Sorted(_) => {}
        }
    }
    let others = [pinned.tables.len(), pinned.narrow.len(), pinned.assumptions.len()];
    note(others.iter().any(|count| *count > 0).then(|| (Part::Head, "no lines about recurrences".to_owned())));
    if first.is_none() && mapping.strategy == Strategy::Lanes {
        first = large_tile(pinned);
    }
    Compared { alike, wrong, unfit: first }
}

fn large_tile(pinned: &Nest) -> Option<Unfit> {
    let sizes = pinned.steps.iter().enumerate().filter_map(|(at, step)| match step {
        Step::Line(Line { size: Size::Count(count), .. }) => Some((at, u64::from(*count))),
        Step::Line(_) | Step::Stage(_) => None,
    });
    let sizes: Vec<(usize, u64)> = sizes.collect();
    let elements: u64 = sizes.iter().map(|(_, count)| count).product();
    let (last, _) = *sizes.last()?;
    let expected = format!("at most {MOST_TILE} elements in a tile, not {elements}");
    (elements > u64::from(MOST_TILE)).then_some(Unfit { part: Part::Step(last), expected })
}

/// The numbers that a line may change.
struct Free<'a> {
    mapping: &'a Mapping,
    model: &'a DeviceModel,
}

impl Free<'_> {
    fn step(&self, pinned: &Step, usual: &Step) -> Result<(), String> {
        match (pinned, usual) {
            _ if pinned == usual => Ok(()),
            (Step::Line(pinned), Step::Line(usual)) => self.line(pinned, usual),
            (Step::Stage(pinned), Step::Stage(usual)) if is_staged_so(pinned, usual) => Ok(()),
            (_, Step::Line(usual)) => Err(format!("`{usual}`")),
            (_, Step::Stage(usual)) => Err(format!("`{usual}`")),
        }
    }

    /// Sides of a tile of lanes may differ, and vector lanes may be given up.
    fn line(&self, pinned: &Line, usual: &Line) -> Result<(), String> {
        let on_threads = self.is_on_threads();
        let same_index = pinned.index == usual.index;
        let given_up = (pinned.place, usual.place) == (Place::Seq, Place::Lanes) && usual.size == Size::Rest;
        match (&pinned.size, &usual.size) {
            (Size::Rest, Size::Rest) if on_threads && same_index && given_up => Ok(()),
            // How many is judged when the lines are read.
            (Size::Count(_), Size::Count(_)) if same_index && (pinned.place, usual.place) == SIDE_BY_SIDE => Ok(()),
            (Size::Count(side), Size::Count(_)) if on_threads && same_index && pinned.place == usual.place => {
                Numbers::From(2, MOST_TILE).check(*side).map_err(|range| format!("`{usual}`, or {range} in it"))
            }
            _ => Err(format!("`{usual}`")),
        }
    }

    fn is_on_threads(&self) -> bool {
        !matches!(self.mapping.strategy, Strategy::Device(_))
    }

    /// Runs may have other lengths, and parts go to more or fewer groups.
    fn fold(&self, pinned: &FoldRange, usual: &FoldRange) -> Result<(), String> {
        let on_threads = self.is_on_threads();
        let wrong = || Err(format!("`{}`", fold_text(usual)));
        for pinned in &pinned.options {
            let usual = usual.options.iter().find(|usual| usual.name() == pinned.name());
            let may_change = is_free(*pinned) || matches!(pinned, FoldOption::Runs(_) | FoldOption::Most(_));
            if usual.is_none() || (usual != Some(pinned) && !on_threads && !may_change) {
                return wrong();
            }
            let range = choices::numbers_of_option(*pinned, !on_threads);
            in_range(pinned.number(), range).map_err(|range| format!("`{}` of {range}", pinned.name()))?;
        }
        Ok(())
    }

    fn property(&self, at: usize, pinned: Property, usual: &[Property]) -> Result<(), String> {
        let word = |property: Property| property.name();
        match (pinned, usual.get(at)) {
            (Property::Block(pinned), Some(Property::Block(usual))) => self.block(pinned, *usual),
            // Whether a nest's launches can leave registers is judged when the lines are read.
            (Property::Resident(_) | Property::Joined, _) => Ok(()),
            _ if !usual.iter().any(|usual| word(*usual) == word(pinned)) => {
                Err(format!("no line `{}`: it is not for this nest", word(pinned)))
            }
            (Property::Block(_), _) => Err("one `block` line for each size, before other properties".to_owned()),
            (
                Property::Together(_)
                | Property::Written(_)
                | Property::Within(_)
                | Property::Fewest(_)
                | Property::Alone(_)
                | Property::Copied(_)
                | Property::Columns(_)
                | Property::Turns(_)
                | Property::Parts(_)
                | Property::WarpColumns(_)
                | Property::Updates(_)
                | Property::Flight(_)
                | Property::Registers(_)
                | Property::FlightGroups(_)
                | Property::Last(_)
                | Property::Ends(_)
                | Property::Sorted(_),
                _,
            ) => {
                let range = choices::numbers_of_property(pinned, !self.is_on_threads());
                in_range(pinned.number(), range).map_err(|range| format!("`{}` of {range}", word(pinned)))
            }
        }
    }

    /// Blocks of tiles have as many threads as the tiles' lanes.
    fn block(&self, pinned: u32, usual: u32) -> Result<(), String> {
        match self.mapping.recipe {
            _ if pinned == usual => Ok(()),
            Recipe::Tiled(_) => Err(format!("`block({usual})`: the lanes of the tiles")),
            Recipe::Blocks(_) => Err(format!("`block({usual})`: the lanes of the lines")),
            Recipe::Plain | Recipe::Lanes(_) | Recipe::Wide(_) | Recipe::Near(_) if self.model.is_block(pinned) => {
                Ok(())
            }
            Recipe::Plain | Recipe::Lanes(_) | Recipe::Wide(_) | Recipe::Near(_) => {
                let (warp, most) = (self.model.warp, self.model.most_threads);
                Err(format!("threads of a block: a multiple of {warp}, at most {most}"))
            }
        }
    }
}

/// Where iterations run that a thread takes side by side.
const SIDE_BY_SIDE: (Place, Place) = (Place::Unroll, Place::Unroll);

fn is_side_by_side(step: &Step) -> bool {
    matches!(step, Step::Line(line) if line.place == Place::Unroll)
}

/// Whether parts differ in padding and in how many elements move at once alone, which is judged when the lines are read.
fn is_staged_so(pinned: &Stage, usual: &Stage) -> bool {
    let fixed = |stage: &Stage| -> Vec<StageOption> {
        let is_fixed = |option: &&StageOption| {
            !matches!(option, StageOption::Pad(_) | StageOption::Wide(_) | StageOption::Bufs(_))
        };
        stage.options.iter().filter(is_fixed).copied().collect()
    };
    let same = (&pinned.array, &pinned.near, &pinned.extents, &pinned.layout)
        == (&usual.array, &usual.near, &usual.extents, &usual.layout);
    same && fixed(pinned) == fixed(usual)
}

/// Whether a fold on a device may have another number there.
fn is_free(option: FoldOption) -> bool {
    match option {
        FoldOption::Groups(_) | FoldOption::Many(_) | FoldOption::Row(_) | FoldOption::Moves(_) => true,
        FoldOption::Runs(_)
        | FoldOption::Most(_)
        | FoldOption::Terms(_)
        | FoldOption::Short(_)
        | FoldOption::Sums(_)
        | FoldOption::Vectors(_)
        | FoldOption::Apart(_)
        | FoldOption::Repeat(_)
        | FoldOption::Packs(_) => false,
    }
}

/// Whether a line's number, if it has one, is one of these.
fn in_range(given: Option<u32>, range: Option<Numbers>) -> Result<(), String> {
    match (given, range) {
        (Some(given), Some(numbers)) => numbers.check(given),
        (None, _) | (_, None) => Ok(()),
    }
}

fn fold_text(fold: &FoldRange) -> String {
    let nest = Nest { folds: vec![fold.clone()], ..Nest::default() };
    nest.to_string().lines().nth(1).unwrap_or_default().trim().to_owned()
}

//! The notation of plans: ordered lines that say where each iterator runs.
//!
//! ```text
//! plan tiled
//! nest
//!   m grid.y
//!   n grid.x
//!   k seq
//!   stage A shared(8x128) pad(4) bufs(2) turned
//!   stage B shared(8x128) bufs(2)
//!   k seq(8)
//!   m thread.y(16)
//!   n thread.x(16)
//!   m reg(8)
//!   n reg(8)
//! ```
//!
//! An iterator's value is the mixed-radix number of its lines, the outermost one most significant; a line without size takes
//! what the others leave. Lines stand outside in. `docs/design/plan.md` is the registry of the words, and says what they mean.
//!
//! These are types, a reader and a printer. They know no program: names are names, and other modules judge whether a plan fits. Reading
//! what was printed gives the same plan.

use hidp_syntax::ast::Level;

mod lex;
mod print;
mod read;
#[cfg(test)]
mod tests;
mod words;

pub use hidp_syntax::place::{Axis, Place};
pub(crate) use read::Building;
pub use read::{Wrong, read};
pub use words::{FoldOption, KeptPart, Memory, NarrowHow, Near, Pieces, Property, StageOption, Word, words};

/// How one version of an entry runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// An identifier, unique among the entry's plans.
    pub name: String,
    /// Which bodies its calls take, if there is a choice.
    pub composition: Option<Choice>,
    /// Host-level maps in the order of the program text.
    pub nests: Vec<Nest>,
}

impl Plan {
    /// A plan without a composition.
    pub fn new(name: impl Into<String>, nests: Vec<Nest>) -> Self {
        Plan { name: name.into(), composition: None, nests }
    }

    /// Whether two plans run alike.
    pub fn same_as(&self, other: &Plan) -> bool {
        self.nests == other.nests && self.composition == other.composition
    }

    /// Whether it is for devices. One without nests is if it is called like a level of theirs.
    pub fn is_for_device(&self) -> bool {
        let level = || Level::ALL.iter().any(|level| level.name() == self.name);
        if self.nests.is_empty() { level() } else { self.nests.iter().any(Nest::is_for_device) }
    }
}

impl Nest {
    /// Whether it is for devices.
    pub fn is_for_device(&self) -> bool {
        let lines = || {
            self.steps.iter().filter_map(|step| match step {
                Step::Line(line) => Some(line.place),
                Step::Stage(_) => None,
            })
        };
        let launched = self.properties.iter().any(|property| matches!(property, Property::Block(_)));
        // Of what the host takes one after the other, primitives may be all that is launched.
        let on_host = !self.steps.is_empty() && lines().all(|place| place == Place::Host);
        launched || on_host || lines().any(|place| matches!(place, Place::Grid(_) | Place::Thread(_)))
    }
}

/// Which body of a function runs where, and the same of its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The function.
    pub function: String,
    /// The codelet's name; empty for the function itself.
    pub codelet: String,
    /// The level of its target at which it runs.
    pub level: String,
    /// Values of its tunables, by name.
    pub tunables: Vec<(String, u32)>,
    /// How its arrays are cut, in the order of its text.
    pub pieces: Vec<Pieces>,
    /// The calls in its body, in the order of its text.
    pub calls: Vec<Choice>,
    /// What runs instead where the codelet's condition does not hold.
    pub otherwise: Option<Box<Choice>>,
}

/// How one nest runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nest {
    /// Where iterators run and where parts of arrays are loaded, outermost first.
    pub steps: Vec<Step>,
    /// How the ranges of folds are cut.
    pub folds: Vec<FoldRange>,
    /// Arrays that do not live where they would by default.
    pub places: Vec<Placement>,
    /// What is kept of the tables of recurrences.
    pub tables: Vec<Kept>,
    /// Types narrower than the program's.
    pub narrow: Vec<Narrow>,
    /// What holds of every call that runs the plan.
    pub assumptions: Vec<Assumption>,
    /// Everything else.
    pub properties: Vec<Property>,
}

/// A line whose position counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Where an iterator runs.
    Line(Line),
    /// What is loaded here.
    Stage(Stage),
}

/// Where an iterator runs: `k seq(8)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What is iterated over.
    pub index: Index,
    /// Where.
    pub place: Place,
    /// How much of it.
    pub size: Size,
}

/// What a line iterates over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    /// An iterator. Of several with one name in a nest the second is `k.2`.
    Iter(String),
    /// Several as one, the last fastest: `m, n`.
    Joined(Vec<String>),
    /// Steps of a sweep, in which a sum of iterators grows: `i + j`.
    Sweep(Vec<Term>),
    /// No iterator: what is inside the iterations of this one, where no map is.
    Inside(String),
}

impl Index {
    /// Where an iterator stands among those of a line.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        match self {
            Index::Iter(own) => (own == name).then_some(0),
            Index::Joined(all) => all.iter().position(|own| own == name),
            Index::Sweep(_) | Index::Inside(_) => None,
        }
    }
}

/// A part of a sum of iterators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// What it is multiplied with; not 0.
    pub factor: i32,
    /// Which.
    pub iter: String,
}

/// How many iterations a line has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// As many as other lines leave.
    Rest,
    /// So many.
    Count(u32),
    /// As many as a vector of the instruction set has lanes of so many bits.
    Bits(u32),
    /// One number for each iterator: of what is joined, or of a sweep.
    Extents(Vec<u32>),
}

/// A part of an array that is kept near: `stage A shared(8x128) pad(4)`. Which part follows from the lines below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The array. Of several with one name the second is `t.2`.
    pub array: String,
    /// Where the part is kept.
    pub near: Near,
    /// Extents of the part as it is stored, outermost first; none if they follow from the lines below.
    pub extents: Vec<u32>,
    /// Iterators that index it as it is stored, outermost first; none if it keeps the array's order.
    pub layout: Vec<String>,
    /// How, in ascending order, each kind at most once.
    pub options: Vec<StageOption>,
}

/// How the range of a fold is cut: `fold i runs(8192)`. The shape of its tree depends on this and on sizes alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldRange {
    /// The iterators of the map that folds.
    pub iters: Vec<String>,
    /// How, in ascending order, each kind at most once.
    pub options: Vec<FoldOption>,
}

/// Where an array lives: `place C stream`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The array. Of several with one name the second is `t.2`.
    pub array: String,
    /// Where.
    pub memory: Memory,
}

/// What is kept of a recurrence's table: `keep d window(3)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The table.
    pub table: String,
    /// How much of it.
    pub part: KeptPart,
}

/// A narrower type: `narrow d int8 difference`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrow {
    /// The table or array.
    pub table: String,
    /// The language's name of the type.
    pub ty: String,
    /// What is kept in it.
    pub how: NarrowHow,
}

/// A bound of a dimension or scalar: `assume K <= 2147483647`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Its name.
    pub name: String,
    /// The comparison.
    pub sign: Sign,
    /// With what.
    pub bound: i64,
}

/// How a name and its bound compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// At most.
    Most,
    /// At least.
    Least,
    /// Equal.
    Equal,
}

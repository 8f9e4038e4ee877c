//! What the pass makes of each use of a recurrence, for explanations.

use std::fmt;

use super::{narrow, prefix, wave};
use hidp_ir::par::{Course, Func, FuncId, PinnedCourse, Program, System, Table, interp, text, visit};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// How tables are computed where a function uses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The function of the tables, before the pass.
    pub tables: FuncId,
    /// Which of its systems.
    pub system: usize,
    /// The function that uses it.
    pub user: FuncId,
    /// Where.
    pub span: Span,
    /// Whether it stands in a map.
    pub in_map: bool,
    /// What it needs of them.
    pub wants: Wants,
    /// How the tables are computed.
    pub way: Way,
    /// The fate of each course; empty unless requested.
    pub fates: Vec<(Course, Fate)>,
    /// The course that is pinned, where that is, and why it cannot be.
    pub unmet: Option<(PinnedCourse, Unmet)>,
}

/// What is needed of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wants {
    /// All that they have.
    Tables,
    /// So many cells.
    Cells(usize),
    /// So many folds over all cells.
    Folds(usize),
    /// A field of all cells, along which a loop walks, and so many cells and folds.
    Field {
        /// Bytes of the field.
        bytes: u64,
        /// Cells.
        cells: usize,
        /// Folds over all cells.
        folds: usize,
    },
}

/// What became of a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is taken, at least where tests pass.
    Chosen,
    /// It could be pinned.
    Possible,
    /// It cannot be.
    Forbidden(Unmet),
}

/// What a course demands that a use has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// Steps have many cells.
    Wide,
    /// No cell can fault.
    Faults,
    /// It is at host level, or needs little there.
    Iteration,
    /// Cells are needed soon.
    Window,
    /// Few bits are enough.
    Narrow,
    /// Pairs of data choose.
    Profile,
    /// Differences are small.
    Difference,
    /// It is in a map.
    Host,
    /// Cells are linear in the few before them.
    Linear,
    /// Cells need none that is ahead along an index.
    Behind,
    /// Cells are loaded along a first index.
    Twin,
    /// Cells fold over the places where intervals are split.
    Split,
}

impl Unmet {
    /// All of them.
    pub const ALL: [Unmet; 12] = [
        Unmet::Behind,
        Unmet::Difference,
        Unmet::Faults,
        Unmet::Host,
        Unmet::Iteration,
        Unmet::Linear,
        Unmet::Narrow,
        Unmet::Profile,
        Unmet::Split,
        Unmet::Twin,
        Unmet::Wide,
        Unmet::Window,
    ];

    /// Its name in messages.
    pub fn id(self) -> &'static str {
        match self {
            Unmet::Wide => "wide",
            Unmet::Faults => "fault-order",
            Unmet::Iteration => "iteration",
            Unmet::Window => "window",
            Unmet::Narrow => "narrow",
            Unmet::Profile => "profile",
            Unmet::Difference => "difference",
            Unmet::Host => "host",
            Unmet::Linear => "linear",
            Unmet::Behind => "behind",
            Unmet::Twin => "twin",
            Unmet::Split => "split",
        }
    }

    /// What is demanded.
    pub fn text(self) -> &'static str {
        match self {
            Unmet::Wide => "steps have many cells: a table has two indices or more, and one sum says the step",
            Unmet::Faults => "no cell can fault, or tests of sizes and data show that none does",
            Unmet::Iteration => "in a map, the last steps alone are kept, and cells across a table have no loops",
            Unmet::Window => {
                "each cell is needed a constant number of steps later, at most 7, in maps 3, and an index counts once in the step"
            }
            Unmet::Narrow => {
                "cells are integers of more than 16 bits, made of cells by sums with plain values, `min`, `max` and conditions"
            }
            Unmet::Difference => {
                "one cell of one table is asked for, which comes from the three before it by sums with small plain values, `min`, `max` and conditions, such that differences of neighbours fit 8 bits"
            }
            Unmet::Host => "it is in a map, where each iteration has its own table; at host level threads share tiles",
            Unmet::Linear => {
                "it is at host level, and integers of one table with one index are sums of plain values and of the up to 4 cells before them, times plain values"
            }
            Unmet::Behind => {
                "it is at host level, tables have two indices, and each cell needs those a constant distance back along both, or along one"
            }
            Unmet::Twin => {
                "it is at host level, and loops or folds of a cell go along the first of two indices of a table"
            }
            Unmet::Split => {
                "it is at host level, the one table has cells `(i, j)` with `j >= i`, and each folds cells `(i, k)` and `(k, j)`, up to constants, over all `k` between, in any order"
            }
            Unmet::Profile => "steps are `i + j`, and two data choose from a table of integers, one for each index",
        }
    }
}

/// How tables are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// All cells of a step at once.
    Wave(Kept),
    /// The same with 16 bits for what is kept of a cell, where that is enough.
    Narrow(Box<Way>),
    /// Where data choose values from a table in pairs, with these laid out along the steps if they fit.
    Profiled {
        /// With values laid out.
        passed: Box<Way>,
        /// With a look for each cell.
        otherwise: Box<Way>,
    },
    /// From differences of neighbours, in 8 bits, where those of the first row and column are small.
    Difference {
        /// The sides of tiles that threads share; none where cells are computed row by row.
        sides: Option<[u32; 2]>,
        /// Elsewhere.
        otherwise: Box<Way>,
    },
    /// Of tables of unlike sizes the short ones row by row, from differences of neighbours in 8 bits where they fit.
    Short {
        /// The others.
        otherwise: Box<Way>,
    },
    /// Where iterations are in lanes and tables have a side in common, line after line along it, with 16 bits for each cell, where that is enough.
    Columns {
        /// Elsewhere.
        otherwise: Box<Way>,
    },
    /// Tiles of the table that threads share, in each one cell after the other.
    Blocks {
        /// Cells of a tile along each index.
        sides: [u32; 2],
    },
    /// Tiles of a table of intervals that threads share, whose folds are products of tiles.
    Intervals {
        /// Cells of a tile along each index.
        side: u32,
    },
    /// A linear recurrence in parts that threads share.
    Prefix {
        /// Cells of a part.
        part: u32,
        /// What short tables have; none where these have parts as well.
        short: Option<Box<Way>>,
    },
    /// One cell after the other.
    Sweep(Why),
    /// Each cell when it is needed.
    Demand,
    /// One where tests show that no cell can fault, another elsewhere.
    Tested {
        /// What is looked at.
        tests: Tests,
        /// Where no cell can fault.
        passed: Box<Way>,
        /// Elsewhere.
        otherwise: Box<Way>,
    },
}

/// What is looked at before cells are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// Extents.
    Sizes,
    /// The elements of arrays that are used as indices.
    Data,
    /// Both.
    Both,
}

/// What is kept of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The last steps.
    Window,
    /// The table, and the last steps beside it.
    Both,
    /// The table.
    Table,
    /// The table, and a transposed copy where cells are loaded along the first index.
    Twin,
}

/// Why cells are computed one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Each iteration of a map has its own tables.
    Iteration,
    /// A cell may fault.
    Fault,
    /// Steps have a cell each, or are steps within steps.
    Narrow,
    /// Cells of a step are far apart.
    Across,
    /// It is pinned.
    Pinned,
}

impl Made {
    /// How the tables of a system are computed and what is kept of them, in lines. `program` is the one that the pass was given.
    pub fn text(&self, program: &Program, system: &System) -> String {
        let memory = Memory::of(program, &program.funcs[self.tables], system, self.in_map);
        Described(&self.way, &memory).to_string()
    }
}

/// Bytes that are kept of tables, as sums of products of extents.
struct Memory {
    table: String,
    /// Of the last steps, where each cell is needed for a few: with cells as they are declared, and with narrow ones.
    window: Option<[String; 2]>,
}

impl Memory {
    fn of(program: &Program, func: &Func, system: &System, in_map: bool) -> Memory {
        let bytes = |table: &Table, size: u64, steps: u64, without: Option<usize>| {
            let extents = func.vars[table.array].shape.iter().enumerate().filter(|(at, _)| Some(*at) != without);
            let extents = extents.map(|(_, extent)| factor(text::hidp_expr(program, &func.vars, extent)));
            let numbers = [steps, size].into_iter().filter(|number| *number != 1).map(|number| number.to_string());
            numbers.chain(extents).collect::<Vec<_>>().join(" * ")
        };
        let declared = |table: &Table| interp::size_of(program, func.vars[table.array].ty);
        let fields = |table: &Table| fields(program, func, system, table);
        let kept = |table: &Table| fields(table).map_or(declared(table), |fields| sizes(program, &fields, |ty| ty));
        let tables = system.tables.iter().zip(&system.order.steps);
        let longest = system.order.steps.iter().filter_map(|steps| steps.window).max();
        let of_window = |size: &dyn Fn(&Table) -> u64| -> Option<String> {
            let parts = tables.clone().map(|(table, steps)| {
                let length = if in_map { longest? } else { steps.window? };
                Some(bytes(table, size(table), length.into(), Some(wave::following(&steps.rows[0])?)))
            });
            Some(parts.collect::<Option<Vec<_>>>()?.join(" + "))
        };
        let parts: Vec<String> = system.tables.iter().map(|table| bytes(table, declared(table), 1, None)).collect();
        let narrow = |table: &Table| {
            let fields = fields(table).unwrap_or(vec![func.vars[table.array].ty]);
            sizes(program, &fields, |ty| if narrow::is_wide(ty) { narrow::TY } else { ty })
        };
        let window = of_window(&kept).zip(of_window(&narrow)).map(|(declared, narrow)| [declared, narrow]);
        Memory { table: parts.join(" + "), window }
    }
}

/// The fields of a table of structs that cells load, which have windows of their own. `None` where structs are loaded as a whole.
fn fields(program: &Program, func: &Func, system: &System, table: &Table) -> Option<Vec<Ty>> {
    let Ty::Struct(id) = func.vars[table.array].ty else { return None };
    let mut loaded: Option<OrdSet<u32>> = Some(OrdSet::new());
    for body in system.tables.iter().map(|table| &table.body) {
        visit::walk_places(body, |place, _| {
            if place.array == table.array {
                match (place.path.first(), &mut loaded) {
                    (Some(field), Some(loaded)) => _ = loaded.insert(*field),
                    (Some(_) | None, _) => loaded = None,
                }
            }
        });
    }
    let all = &program.structs[id].fields;
    Some(loaded?.into_iter().map(|field| all[field as usize].1).collect())
}

/// Bytes of values in the types that are made of theirs.
fn sizes(program: &Program, types: &[Ty], kept: impl Fn(Ty) -> Ty) -> u64 {
    types.iter().map(|ty| interp::size_of(program, kept(*ty))).sum()
}

/// An extent as a factor: in parentheses if it has an operator outside of such.
fn factor(extent: String) -> String {
    let mut depth = 0;
    let is_sum = extent.chars().any(|character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        depth == 0 && character == ' '
    });
    if is_sum { format!("({extent})") } else { extent }
}

/// A way, with what it keeps.
struct Described<'a>(&'a Way, &'a Memory);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Described(way, memory) = self;
        // Lines about a way that has another beside it stand further in.
        let inner = |way| Described(way, memory).to_string().replace('\n', "\n  ");
        let table = &memory.table;
        let [window, narrow] = memory.window.as_ref().map_or(["", ""], |[window, narrow]| [window, narrow]);
        match way {
            Way::Wave(Kept::Window) => {
                write!(f, "all cells of a step at once; the last steps are kept ({window} bytes)")
            }
            Way::Wave(Kept::Both) => write!(
                f,
                "all cells of a step at once; the table is kept ({table} bytes), and beside it the last steps, which cells are computed from ({window} bytes)"
            ),
            Way::Wave(Kept::Table) => write!(f, "all cells of a step at once; the table is kept ({table} bytes)"),
            Way::Wave(Kept::Twin) => write!(
                f,
                "all cells of a step at once; the table is kept ({table} bytes), and a transposed copy of what is loaded along a first index"
            ),
            Way::Narrow(way) => write!(
                f,
                "{}\nof the last steps, cells are kept in 16 bits ({narrow} bytes) where sizes, scalars and the elements of input arrays show that they fit",
                Described(way, memory)
            ),
            Way::Profiled { passed, otherwise } => write!(
                f,
                "{}\nwhat pairs of data choose from a table is laid out along the steps, where it fits 8 bits and there are few letters\notherwise: {}",
                inner(passed),
                inner(otherwise)
            ),
            Way::Difference { sides, otherwise } => {
                let order = match sides {
                    Some([rows, columns]) => format!(
                        "tiles of {rows} x {columns} cells, in each all cells of a step at once; differences of neighbours are kept along the edges of tiles"
                    ),
                    None => "row by row; differences of neighbours are kept along a row".to_owned(),
                };
                write!(
                    f,
                    "{order}, in 8 bits, where sizes, the first row and the first column show that they fit\notherwise: {}",
                    inner(otherwise)
                )
            }
            Way::Short { otherwise } => write!(
                f,
                "short ones row by row, from differences of neighbours in 8 bits, where the first row and the first column show that they fit\notherwise: {}",
                inner(otherwise)
            ),
            Way::Columns { otherwise } => write!(
                f,
                "where iterations are in lanes: line after line along the side that tables have in common, in 16 bits, where sizes, scalars and the elements of input arrays show that they fit\notherwise: {}",
                inner(otherwise)
            ),
            Way::Blocks { sides: [rows, columns] } => write!(
                f,
                "tiles of {rows} x {columns} cells, those of a diagonal at once, in each one cell after the other; the table is kept ({table} bytes)"
            ),
            Way::Intervals { side } => write!(
                f,
                "tiles of {side} x {side} cells, those of a diagonal at once, with products of tiles for folds; the table is kept ({table} bytes), and a transposed copy of the tiles on the first diagonal"
            ),
            Way::Prefix { part, short } => {
                let parts = format!(
                    "parts of {part} cells at once, each twice: what it makes of the cells before it, and its cells; the table is kept ({table} bytes)"
                );
                match short {
                    Some(short) => {
                        write!(f, "of {} cells and more, {parts}\notherwise: {}", prefix::FEWEST, inner(short))
                    }
                    None => f.write_str(&parts),
                }
            }
            Way::Sweep(why) => write!(f, "one cell after the other, since {why}; the table is kept ({table} bytes)"),
            Way::Demand => write!(
                f,
                "each cell when it is needed, since a cell may fault and the first fault is that of plain recursion; the table is kept ({table} bytes)"
            ),
            Way::Tested { tests, passed, otherwise } => {
                write!(f, "where {tests}: {}\notherwise: {}", inner(passed), inner(otherwise))
            }
        }
    }
}

impl fmt::Display for Tests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tests::Sizes => "all extents fit `int`",
            Tests::Data => "all data that are used as indices are in range",
            Tests::Both => "all extents fit `int` and all data that are used as indices are in range",
        })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Iteration => "each iteration of the map has a table of its own",
            Why::Pinned => "a file of plans says so",
            Why::Fault => "a cell may fault",
            Why::Narrow => "steps have few cells",
            Why::Across => "cells of a step are far apart and do little each",
        })
    }
}

impl Way {
    /// The course where no cell can fault; `None` where each cell is computed when it is needed.
    pub fn course(&self) -> Option<Course> {
        match self {
            Way::Wave(Kept::Window | Kept::Both) => Some(Course::Window { narrow: false, profile: false }),
            Way::Wave(Kept::Table) => Some(Course::Table),
            Way::Wave(Kept::Twin) => Some(Course::Twin),
            Way::Difference { sides: Some(sides), .. } => Some(Course::Tiles { sides: *sides }),
            Way::Difference { sides: None, .. } => Some(Course::Rows),
            Way::Blocks { sides } => Some(Course::Blocks { sides: *sides }),
            Way::Intervals { side } => Some(Course::Intervals { side: *side }),
            Way::Prefix { part, .. } => Some(Course::Prefix { part: *part }),
            Way::Sweep(_) => Some(Course::Loops),
            Way::Demand => None,
            Way::Tested { passed, .. } => passed.course(),
            Way::Short { otherwise } | Way::Columns { otherwise } => otherwise.course(),
            Way::Narrow(way) => match way.course()? {
                Course::Window { profile, .. } => Some(Course::Window { narrow: true, profile }),
                other @ (Course::Table
                | Course::Twin
                | Course::Loops
                | Course::Tiles { .. }
                | Course::Rows
                | Course::Blocks { .. }
                | Course::Intervals { .. }
                | Course::Prefix { .. }) => Some(other),
            },
            Way::Profiled { passed, .. } => match passed.course()? {
                Course::Window { narrow, .. } => Some(Course::Window { narrow, profile: true }),
                other @ (Course::Table
                | Course::Twin
                | Course::Loops
                | Course::Tiles { .. }
                | Course::Rows
                | Course::Blocks { .. }
                | Course::Intervals { .. }
                | Course::Prefix { .. }) => Some(other),
            },
        }
    }

    /// The course by which this way is pinned; `None` where sizes choose between a course and something else, which no lines say.
    pub fn pin(&self) -> Option<Course> {
        match self {
            Way::Short { .. } | Way::Columns { .. } | Way::Prefix { short: Some(_), .. } => None,
            Way::Tested { passed, .. } => passed.pin(),
            Way::Wave(_)
            | Way::Narrow(_)
            | Way::Profiled { .. }
            | Way::Difference { .. }
            | Way::Blocks { .. }
            | Way::Intervals { .. }
            | Way::Prefix { short: None, .. }
            | Way::Sweep(_)
            | Way::Demand => self.course(),
        }
    }

    /// Whether cells are computed in the order in which they are needed, at least where tests pass.
    pub(super) fn is_by_demand(&self) -> bool {
        match self {
            Way::Demand => true,
            Way::Wave(_)
            | Way::Narrow(_)
            | Way::Difference { .. }
            | Way::Short { .. }
            | Way::Columns { .. }
            | Way::Blocks { .. }
            | Way::Intervals { .. }
            | Way::Prefix { .. }
            | Way::Sweep(_) => false,
            Way::Tested { passed, .. } | Way::Profiled { passed, .. } => passed.is_by_demand(),
        }
    }
}

//! Recurrences: functions whose outputs are tables of cells that are computed from other cells.

use super::{Block, Iter, VarId, visit};
use hidp_syntax::source::Span;

/// What a function does that computes tables.
///
/// Each cell of each system's tables is computed by the table's body, once. Its value, and the first fault, are those of plain
/// recursion with memory: system by system, the cells are asked for table by table in lexicographic order of their indices, and a
/// cell that is not computed yet when a body loads it is computed then.
#[derive(Clone, Debug, PartialEq)]
pub struct Recur {
    /// Tables that use each other, those that others use first.
    pub systems: Vec<System>,
}

/// Tables that use each other's cells.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// The tables in the order of the program.
    pub tables: Vec<Table>,
    /// An order in which no cell comes before one that it loads: proved by `check`.
    pub order: Order,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// An `output` parameter. Its element at the indices is the cell; other elements stay as they are.
    pub array: VarId,
    /// The indices, outermost first; with stride 1. Bounds may depend on earlier indices.
    pub index: Vec<Iter>,
    /// Computes a cell: declarations of scalars, assignments, branches, loops, maps that fold into scalars, and on every path a
    /// [`Return`](super::StmtKind::Return) outside of maps. Nothing is stored.
    pub body: Block,
    /// The name in its declaration.
    pub span: Span,
}

impl Table {
    /// Whether its cells fill a box from 0 on.
    pub fn is_box(&self) -> bool {
        let mut depends = false;
        for index in &self.index {
            visit::walk_expr_vars(&index.hi, |var, _| depends |= self.index.iter().any(|other| other.var == var));
        }
        !depends && self.index.iter().all(|index| index.lo.as_int() == Some(0))
    }
}

/// An order of the cells of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// For each table, when its cells are computed.
    pub steps: Vec<Steps>,
    /// Loops that do, where there are such.
    pub nest: Option<Nest>,
    /// The program's directive that asks for it, if it does.
    pub pinned: Option<Span>,
}

/// Loops over the indices as they are written, with all tables in the innermost body, that compute every cell after those that it loads.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// For each index whether it goes up (1) or down (-1).
    pub flips: Vec<i64>,
    /// For each table its position in the innermost body.
    pub ranks: Vec<u32>,
}

/// When the cells of a table are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// Coefficients of the indices in each row. Cells are ordered by the rows' values, the first row first; then by rank. Cells that
    /// are equal in both are independent.
    pub rows: Vec<Vec<i64>>,
    /// Position among the tables of a step.
    pub rank: u32,
    /// How many steps of the first row, this one included, a cell is needed for, if a small number is proved.
    pub window: Option<u32>,
}

/// How the tables of a system are computed where no cell can fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Course {
    /// Steps after each other, the cells of each at once, from the last steps.
    Window {
        /// With fewer bits for what is kept of a cell.
        narrow: bool,
        /// With what pairs of data choose laid out along the steps.
        profile: bool,
    },
    /// The same from the tables.
    Table,
    /// The same, with transposed copies of tables whose cells are loaded along the first index.
    Twin,
    /// Differences of neighbours in few bits: tiles of the table, and in each of them steps after each other.
    Tiles {
        /// Cells of a tile along each index.
        sides: [u32; 2],
    },
    /// Differences of neighbours in few bits: one cell after the other, from the differences along a row.
    Rows,
    /// Tiles of the table, those of a diagonal at once, and in each of them cells after each other.
    Blocks {
        /// Cells of a tile along each index.
        sides: [u32; 2],
    },
    /// Tiles of a table of intervals, those of a diagonal at once, with the folds of each tile's cells by products of tiles.
    Intervals {
        /// Cells of a tile along each index.
        side: u32,
    },
    /// Parts of a linear recurrence, each twice: cells after each other, first to find what they make of those before the part.
    Prefix {
        /// Cells of a part.
        part: u32,
    },
    /// Cells after each other.
    Loops,
}

impl Course {
    /// Cells of a tile along each index where nobody says how many: steps are long enough for vectors, and a first-level cache holds their windows.
    pub const SIDE: u32 = 4096;

    /// Cells of a tile along each index where cells come after each other: rows are long enough to be fetched ahead, and a second-level cache holds a tile.
    pub const BLOCK: [u32; 2] = [128, 512];

    /// The same for intervals: three tiles fit a first-level cache.
    pub const SPAN: u32 = 64;

    /// Cells of a part where nobody says how many: composing the parts costs little beside them.
    pub const PART: u32 = 4096;

    /// All of them; tiles and parts with sizes that nobody has chosen.
    pub const ALL: [Course; 12] = [
        Course::Tiles { sides: [Course::SIDE; 2] },
        Course::Rows,
        Course::Window { narrow: true, profile: true },
        Course::Window { narrow: false, profile: true },
        Course::Window { narrow: true, profile: false },
        Course::Window { narrow: false, profile: false },
        Course::Prefix { part: Course::PART },
        Course::Intervals { side: Course::SPAN },
        Course::Twin,
        Course::Table,
        Course::Blocks { sides: Course::BLOCK },
        Course::Loops,
    ];
}

/// A course that is pinned for the uses of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedCourse {
    /// The declaration of the function that uses it, which its copies share.
    pub user: Span,
    /// The names of its tables.
    pub tables: Vec<String>,
    /// The course.
    pub course: Course,
    /// Where it is asked for.
    pub span: Span,
}

/// Lines below `recurrence` in a file of plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourseLines {
    /// Names of tables, as they stand there.
    pub tables: String,
    /// Lines, each with one blank between words.
    pub lines: Vec<String>,
    /// The line that begins with `recurrence`.
    pub span: Span,
}

/// A row as a program writes it: `i + 2*j`.
pub fn row_text(row: &[i64], names: &[&str]) -> String {
    let mut text = String::new();
    for (factor, name) in row.iter().zip(names).filter(|(factor, _)| **factor != 0) {
        let sign = match (text.is_empty(), *factor < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let times = if factor.abs() == 1 { String::new() } else { format!("{}*", factor.abs()) };
        text += &format!("{sign}{times}{name}");
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

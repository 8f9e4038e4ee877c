//! What the pass makes of each use of a recurrence, for explanations.

use std::fmt;

use hidp_ir::par::{FuncId, Program};

/// How tables are computed where a function uses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The function of the tables, before the pass.
    pub tables: FuncId,
    /// Which of its systems.
    pub system: usize,
    /// The function that uses it.
    pub user: FuncId,
    /// How many cells it reads; `None`: whole tables.
    pub cells: Option<usize>,
    /// How the tables are computed.
    pub way: Way,
}

/// How tables are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// All cells of a step at once.
    Wave(Kept),
    /// One cell after the other.
    Sweep(Why),
    /// Each cell when it is needed.
    Demand,
    /// The first where all extents fit `int`.
    BySize(Box<Way>, Box<Way>),
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
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Wave(Kept::Window) => f.write_str("all cells of a step at once; the last steps are kept"),
            Way::Wave(Kept::Both) => {
                f.write_str("all cells of a step at once; the table is kept, and beside it the last steps, which cells are computed from")
            }
            Way::Wave(Kept::Table) => f.write_str("all cells of a step at once; the table is kept"),
            Way::Sweep(why) => write!(f, "one cell after the other, since {why}; the table is kept"),
            Way::Demand => f.write_str(
                "each cell when it is needed, since a cell may fault and the first fault is that of plain recursion; the table is kept",
            ),
            Way::BySize(fits, other) => write!(f, "where all extents fit `int`: {fits}\notherwise: {other}"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Iteration => "each iteration of the map has a table of its own",
            Why::Fault => "a cell may fault",
            Why::Narrow => "steps have few cells",
            Why::Across => "cells of a step are far apart and do little each",
        })
    }
}

/// What the pass makes of each use in a program that `check` gave.
pub fn recurrences(program: &Program) -> Vec<Made> {
    super::transformed(&mut program.clone())
}

//! In which order the cells of recurrences can be computed.
//!
//! A recurrence is a function from the integer points of a domain to values, whose body calls cells of itself or of other
//! recurrences of its system. A *schedule* gives each table rows of integer coefficients; cells run by `rows · indices`
//! lexicographically, then by the rank of their table, and cells that agree in both are independent. It is valid if every call
//! reaches a cell that comes earlier. That is proved from the domains, the conditions around each call, and the ranges of loops
//! and maps; nothing is assumed about data, and arithmetic that may wrap counts as data.
//!
//! Schedules as linear functions of indices are Lamport's ("The parallel execution of DO loops", CACM 1974) and those of
//! Karp, Miller and Winograd for uniform recurrences ("The organization of computations for uniform recurrence equations", JACM
//! 1967). Which of them a compiler for dynamic programming should choose, by the fewest steps, and the window of steps that it has to
//! keep, follow Cartey, Lyngsø and de Moor ("Synthesising graphics card programs from DSLs", PLDI 2012, sections 3 and 4); they search
//! small coefficients as is done here. Where one row is not enough, rows are found greedily, each ahead for as many calls as possible:
//! Feautrier, "Some efficient solutions to the affine scheduling problem, part II, multidimensional time" (IJPP 1992), section 3.
//!
//! | module | what |
//! |---|---|
//! | `read` | tables and calls from `par` |
//! | `model` | tables, calls, and the questions that are proved |
//! | `sample` | assignments of small values that satisfy all that is known of a call |
//! | `search` | candidates, screened by samples, then proved |
//! | `levels` | several rows |
//! | `nest` | loops over the indices as they are written |
//! | `window` | how many steps are kept |
//! | `refuse`, `cycle`, `outside` | why there is no order |

use hidp_ir::par::{Block, Iter, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;

mod cycle;
mod levels;
mod model;
mod nest;
mod outside;
mod read;
mod refuse;
mod sample;
mod search;
#[cfg(test)]
mod tests;
mod window;

use model::Model;

/// One recurrence of a system.
#[derive(Clone, Copy, Debug)]
pub struct Recurrence<'a> {
    /// Array of which loads are calls.
    pub array: VarId,
    /// Indices with half-open ranges, which may read earlier indices; strides are 1.
    pub index: &'a [Iter],
    /// Computes one cell.
    pub body: &'a Block,
}

/// The coefficients of one row, one for each index of a table.
pub type Row = Vec<i64>;

/// How the cells of a system can be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Valid schedules, the preferred first, at least one. Others need fewer steps for other sizes.
    pub schedules: Vec<Schedule>,
    /// Loops over the indices as they are written that meet every called cell earlier.
    pub nest: Option<Nest>,
    /// Every call, in the order in which a walk meets it.
    pub calls: Vec<Call>,
}

/// When each cell of a system is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// For each table. All have the same number of rows.
    pub tables: Vec<TableOrder>,
}

/// When the cells of a table are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOrder {
    /// Cells are computed by the products of these rows with their indices, lexicographically.
    pub rows: Vec<Row>,
    /// Within a step, tables are computed by rank. Cells of one step and rank are independent.
    pub rank: u32,
    /// How many values of the first row some later step may call for, its own included; if not known, all.
    pub window: Option<u32>,
}

/// Loops over indices, the first outermost, and the tables by rank inside of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    /// For each index: 1 if it runs upwards, -1 if downwards.
    pub flips: Row,
    /// For each table.
    pub ranks: Vec<u32>,
}

/// A call of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Where.
    pub span: Span,
    /// Table whose body it is in.
    pub caller: usize,
    /// Table that it calls.
    pub callee: usize,
    /// Whether the cell is proved to lie in the domain, if no input changes meanwhile.
    pub inside: bool,
    /// Indices of the caller minus those of the cell that it calls, if these are constants.
    pub distance: Option<Vec<i64>>,
}

/// Why a system is not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub kind: RefusalKind,
    /// Calls that it is due to; those of a cycle in their order.
    pub calls: Vec<Blamed>,
}

/// What is wrong with a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Cells certainly need each other.
    Cycle,
    /// The called cells are not proved to come earlier under any schedule that was looked at.
    Unproved,
    /// Some cell, if there is one, certainly calls one outside of the domain.
    Outside,
    /// The called cells are not proved to come earlier under the schedule that was asked for.
    Pinned,
}

/// A call that a refusal is due to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// Where.
    pub span: Span,
    /// Table whose body it is in.
    pub caller: usize,
    /// Table that it calls.
    pub callee: usize,
    /// What is known where it runs, as `i >= 1`.
    pub facts: Vec<String>,
    /// An example.
    pub witness: Option<Witness>,
    /// Whether an index depends on data, or on arithmetic that may wrap.
    pub data: bool,
}

/// A cell and the one that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Sizes and data for which it does, by name.
    pub values: Vec<(String, i128)>,
    /// Indices of the cell.
    pub caller: Vec<i128>,
    /// Indices of the called one.
    pub callee: Vec<i128>,
}

/// Finds out in which order the cells of a system can be computed.
///
/// # Errors
/// If no order is proved to be valid, or some cell certainly calls one outside of the domain.
pub fn order(vars: &Arena<VarId, Var>, tables: &[Recurrence<'_>]) -> Result<Order, Refusal> {
    Model::read(vars, tables).order()
}

/// As [`order`] with these rows for each table instead of a search.
///
/// # Errors
/// If they are not proved to be valid, or some cell certainly calls one outside of the domain.
pub fn pinned(vars: &Arena<VarId, Var>, tables: &[Recurrence<'_>], rows: &[Vec<Row>]) -> Result<Order, Refusal> {
    Model::read(vars, tables).pinned(rows)
}

impl Order {
    fn new(model: &mut Model<'_>, schedules: Vec<Schedule>) -> Order {
        let nest = model.nest();
        let calls = model.calls.iter().map(|call| Call {
            span: call.span,
            caller: call.caller,
            callee: call.callee,
            inside: call.inside,
            distance: call.distance.clone(),
        });
        Order { schedules, nest, calls: calls.collect() }
    }
}

impl Model<'_> {
    fn order(&mut self) -> Result<Order, Refusal> {
        self.refuse_outside()?;
        let schedules = self.search();
        if schedules.is_empty() {
            return Err(self.refuse_cycle().unwrap_or_else(|| self.refuse_unproved()));
        }
        Ok(Order::new(self, schedules))
    }

    fn pinned(&mut self, rows: &[Vec<Row>]) -> Result<Order, Refusal> {
        self.refuse_outside()?;
        let levels = self.by_level(rows);
        match self.ranks(&levels) {
            Ok(ranks) => {
                let schedule = self.schedule(&levels, &ranks);
                Ok(Order::new(self, vec![schedule]))
            }
            Err(violated) => Err(self.refuse_pinned(&levels, &violated)),
        }
    }
}

/// The product of a row with indices.
fn dot(row: &[i64], cell: &[i64]) -> i64 {
    row.iter().zip(cell).map(|(factor, value)| factor * value).sum()
}

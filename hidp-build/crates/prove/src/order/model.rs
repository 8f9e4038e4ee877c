//! Tables and calls, and the questions that are proved of them.

use std::rc::Rc;

use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;

use super::search::Pair;
use super::{Row, Schedule, TableOrder};
use crate::context::{Context, SPLITS};
use crate::linear::{AtomId, Lin};

/// One row for each table.
pub(super) type Level = Vec<Row>;

/// A system of recurrences.
pub(super) struct Model<'f> {
    /// Atoms and their cases. Its facts are those that hold for all calls.
    pub cx: Context<'f>,
    pub tables: Vec<Table>,
    pub calls: Vec<Dependence>,
    /// For each table: tables of one group have rows in common.
    pub groups: Vec<usize>,
    /// What the analysis has cost so far.
    pub work: Work,
}

/// What an analysis may cost. When it is used up, nothing more is proved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// Systems of inequalities that were looked at.
    pub proofs: usize,
    /// Values that were tried in the search for samples.
    pub tried: usize,
    /// Choices of rows that were compared with samples.
    pub screened: usize,
}

/// Systems of inequalities that one analysis may look at, for each call and beyond that.
const PROOFS_PER_CALL: usize = 60;
const PROOFS: usize = 200;

/// A recurrence.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Names of the indices.
    pub names: Vec<String>,
    /// Values of the indices.
    pub index: Vec<AtomId>,
    /// For each index: first and last value, in earlier indices.
    pub bounds: Vec<[Lin; 2]>,
    /// What is known of a cell of the domain.
    pub facts: Vec<Lin>,
    /// Opaque values that the bounds need are made from here on.
    pub first_atom: AtomId,
}

/// A call: a cell of `caller` needs one of `callee`.
#[derive(Clone, Debug)]
pub(super) struct Dependence {
    pub span: Span,
    pub caller: usize,
    pub callee: usize,
    /// The called cell.
    pub at: Vec<Lin>,
    /// What is known where the call runs; the caller's indices are atoms of its table.
    pub path: Vec<Lin>,
    /// That the called cell is in its domain. Outside of it nothing is called: the call is a fault.
    pub within: Vec<Lin>,
    /// Whether `within` follows from `path`.
    pub inside: bool,
    /// Whether the call certainly runs where `path` holds, and nothing in it is data.
    pub certain: bool,
    /// Whether an index is, or holds, data.
    pub data: bool,
    /// Whether it never runs.
    pub dead: bool,
    /// The caller's indices minus the called cell's, if these are constants.
    pub distance: Option<Vec<i64>>,
    /// Names of values.
    pub names: OrdMap<AtomId, String>,
    /// Samples, computed on demand.
    pub pairs: Option<Rc<[Pair]>>,
}

/// How a called cell lies to its caller's under some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Always earlier.
    Strictly,
    /// Never later.
    Weakly,
    /// Not known.
    Unproved,
}

impl Model<'_> {
    /// From rows for each table to rows for each level, at least one. What is missing is 0.
    pub(super) fn by_level(&self, rows: &[Vec<Row>]) -> Vec<Level> {
        let levels = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let row = |(number, table): (usize, &Table), level: usize| {
            let mut row = rows.get(number).and_then(|rows| rows.get(level)).cloned().unwrap_or_default();
            row.resize(table.index.len(), 0);
            row
        };
        let level = |level: usize| self.tables.iter().enumerate().map(|table| row(table, level)).collect();
        (0..levels).map(level).collect()
    }

    /// The calls that may run.
    pub(super) fn live(&self) -> impl Iterator<Item = usize> + use<> {
        let live: Vec<usize> = (0..self.calls.len()).filter(|&call| !self.calls[call].dead).collect();
        live.into_iter()
    }

    /// A table's row times its indices.
    fn step(&self, row: &[i64], index: impl Iterator<Item = Lin>) -> Option<Lin> {
        index.zip(row).try_fold(Lin::default(), |sum, (value, &factor)| sum.plus(&value, factor.into()))
    }

    /// By how much the caller's value of a row exceeds that of the called cell.
    pub(super) fn difference(&self, call: usize, level: &Level) -> Option<Lin> {
        let call = &self.calls[call];
        let caller = self.tables[call.caller].index.iter().map(|&atom| Lin::atom(atom));
        let caller = self.step(&level[call.caller], caller)?;
        caller.sub(&self.step(&level[call.callee], call.at.iter().cloned())?)
    }

    /// Whether `goal >= 0` follows where the call runs and reaches a cell, and all of `zero` are 0.
    pub(super) fn proves(&mut self, call: usize, zero: &[Lin], goal: &Lin) -> bool {
        if let (Some(value), true) = (goal.as_constant(), zero.is_empty()) {
            return value >= 0;
        }
        let negated = goal.scale(-1).and_then(|lin| lin.offset(-1));
        let negative: Option<Vec<Lin>> = zero.iter().map(|lin| lin.scale(-1)).collect();
        let (Some(negated), Some(negative)) = (negated, negative) else { return false };
        let mut extra = vec![negated];
        extra.extend(zero.iter().cloned().chain(negative));
        self.refutes(call, &extra)
    }

    /// Whether a call that reaches a cell contradicts `extra`, each not negative.
    pub(super) fn refutes(&mut self, call: usize, extra: &[Lin]) -> bool {
        if self.work.proofs >= PROOFS + PROOFS_PER_CALL * self.calls.len() {
            return false;
        }
        self.work.proofs += 1;
        let Dependence { path, within, .. } = &self.calls[call];
        let facts = path.iter().chain(within).cloned().collect();
        let before = std::mem::replace(&mut self.cx.facts, facts);
        let refuted = self.cx.refutes(extra, SPLITS);
        self.cx.facts = before;
        refuted
    }

    /// How the called cell lies to its caller's under these rows.
    pub(super) fn ahead(&mut self, call: usize, levels: &[Level]) -> Ahead {
        let mut zero = Vec::new();
        for level in levels {
            let Some(difference) = self.difference(call, level) else { return Ahead::Unproved };
            if difference.offset(-1).is_some_and(|goal| self.proves(call, &zero, &goal)) {
                return Ahead::Strictly;
            }
            if !self.proves(call, &zero, &difference) {
                return Ahead::Unproved;
            }
            if difference.as_constant() != Some(0) {
                zero.push(difference);
            }
        }
        Ahead::Weakly
    }

    /// The ranks of tables within a step, if these rows are valid; otherwise the calls that they violate.
    pub(super) fn ranks(&mut self, levels: &[Level]) -> Result<Vec<u32>, Vec<usize>> {
        let (mut same_step, mut violated) = (Vec::new(), Vec::new());
        for call in self.live() {
            match self.ahead(call, levels) {
                Ahead::Strictly => {}
                Ahead::Weakly => same_step.push(call),
                Ahead::Unproved => violated.push(call),
            }
        }
        if !violated.is_empty() {
            return Err(violated);
        }
        self.topological(&same_step)
    }

    /// The smallest rank for each table so that it exceeds those of the tables that it calls; otherwise the calls that stand in each
    /// other's way.
    pub(super) fn topological(&self, calls: &[usize]) -> Result<Vec<u32>, Vec<usize>> {
        let mut ranks = vec![0u32; self.tables.len()];
        for _ in 0..=self.tables.len() {
            let mut late = Vec::new();
            for &call in calls {
                let Dependence { caller, callee, .. } = self.calls[call];
                if ranks[caller] <= ranks[callee] {
                    ranks[caller] = ranks[callee] + 1;
                    late.push(call);
                }
            }
            if late.is_empty() {
                return Ok(ranks);
            }
        }
        let circular = |call: &usize| self.reaches(calls, self.calls[*call].callee, self.calls[*call].caller);
        Err(calls.iter().copied().filter(circular).collect())
    }

    /// Whether some of `calls` lead from one table to another.
    fn reaches(&self, calls: &[usize], from: usize, to: usize) -> bool {
        let mut reached = vec![from];
        let mut next = 0;
        while let Some(&table) = reached.get(next) {
            next += 1;
            for call in calls.iter().map(|&call| &self.calls[call]).filter(|call| call.caller == table) {
                if !reached.contains(&call.callee) {
                    reached.push(call.callee);
                }
            }
        }
        reached.contains(&to)
    }

    /// A schedule of rows that are valid.
    pub(super) fn schedule(&mut self, levels: &[Level], ranks: &[u32]) -> Schedule {
        let windows = self.windows(&levels[0]);
        let tables = windows.into_iter().zip(ranks).enumerate().map(|(table, (window, &rank))| {
            let rows = levels.iter().map(|level| level[table].clone()).collect();
            TableOrder { rows, rank, window }
        });
        Schedule { tables: tables.collect() }
    }
}

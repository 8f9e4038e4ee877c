//! Tables of recurrences: plain recursion with memory.
//!
//! A body that loads a cell which is not computed yet is given up, and starts again when that cell is there: bodies have no effects,
//! so that is recursion without its stack.

use super::super::{Expr, FaultKind, Func, Place, Recur, System, Table};
use super::memory::BufferId;
use super::{Error, Fault, Flow, Machine, Run, Slot};
use hidp_syntax::index::Id;

/// How far a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    /// Begun: it waits for another.
    Open,
    Done,
}

/// The tables of the system that is being computed.
#[derive(Debug)]
pub(super) struct Cells {
    tables: Vec<(BufferId, Vec<State>)>,
    /// The cell that a body could not load.
    missing: Option<Cell>,
}

/// A table's number and the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    table: usize,
    element: usize,
}

impl<'p> Machine<'p> {
    /// What a function does.
    pub(super) fn function(&mut self, function: &'p Func) -> Run<()> {
        match &function.recur {
            Some(recur) => self.recur(recur),
            None => self.block(&function.body).map(|_| ()),
        }
    }

    fn recur(&mut self, recur: &'p Recur) -> Run<()> {
        for system in &recur.systems {
            let tables = system.tables.iter().map(|table| {
                let buffer = self.buffer(table.array);
                (buffer, vec![State::New; self.memory.get(buffer).data.len()])
            });
            let cells = Cells { tables: tables.collect(), missing: None };
            let outer = self.cells.replace(cells);
            for (number, table) in system.tables.iter().enumerate() {
                self.ask_all(system, number, table, 0)?;
            }
            self.cells = outer;
        }
        Ok(())
    }

    /// Asks for all cells of a table whose first indices are set.
    fn ask_all(&mut self, system: &'p System, number: usize, table: &'p Table, known: usize) -> Run<()> {
        let Some(index) = table.index.get(known) else {
            let element = self.cell_element(table)?;
            return self.ask(system, Cell { table: number, element });
        };
        let (low, high) = (self.long(&index.lo)?, self.long(&index.hi)?);
        for value in low..high {
            // Other cells, computed meanwhile, have the same indices.
            let outer: Vec<Slot> =
                table.index[..known].iter().map(|iter| self.frame[iter.var.index()].clone()).collect();
            self.frame[index.var.index()] = Slot::Scalar(value.into());
            self.ask_all(system, number, table, known + 1)?;
            for (iter, slot) in table.index.iter().zip(outer) {
                self.frame[iter.var.index()] = slot;
            }
        }
        Ok(())
    }

    /// The element of a table at its indices.
    fn cell_element(&mut self, table: &'p Table) -> Run<usize> {
        let shape = self.memory.get(self.buffer(table.array)).shape.clone();
        let mut element = 0;
        for (dim, (iter, extent)) in table.index.iter().zip(shape).enumerate() {
            let at = self.long_var(iter.var);
            if at < 0 || at >= extent {
                return self.unsound(table, vec![at, extent, dim as i64]);
            }
            element = element * extent + at;
        }
        Ok(element as usize)
    }

    /// `check` has proved that this does not happen.
    fn unsound<T>(&self, table: &Table, values: Vec<i64>) -> Run<T> {
        Err(Box::new(Error::Unsound(Fault { kind: FaultKind::Index, span: table.span, values })))
    }

    /// Computes a cell and all that it needs.
    fn ask(&mut self, system: &'p System, cell: Cell) -> Run<()> {
        let mut waiting = vec![cell];
        while let Some(cell) = waiting.last().copied() {
            let table = &system.tables[cell.table];
            match self.state(cell) {
                Some(State::Done) => {
                    waiting.pop();
                    continue;
                }
                Some(State::New | State::Open) => self.set_state(cell, State::Open),
                None => {}
            }
            self.set_indices(table, cell)?;
            let maps = self.maps.len();
            match self.block(&table.body) {
                Ok(Flow::Return(value)) => {
                    self.store((self.buffer(table.array), cell.element), &[], value);
                    self.set_state(cell, State::Done);
                    waiting.pop();
                }
                Ok(Flow::Next | Flow::Break | Flow::Continue | Flow::Leave) => {
                    unreachable!("every path of a cell's body returns")
                }
                Err(error) => {
                    let missing = self.cells.as_mut().and_then(|cells| cells.missing.take());
                    let Some(missing) = missing else { return Err(error) };
                    self.maps.truncate(maps);
                    if self.state(missing) != Some(State::New) {
                        return self.unsound(&system.tables[missing.table], vec![missing.element as i64]);
                    }
                    waiting.push(missing);
                }
            }
        }
        Ok(())
    }

    fn state(&self, cell: Cell) -> Option<State> {
        self.cells.as_ref().map(|cells| cells.tables[cell.table].1[cell.element])
    }

    fn set_state(&mut self, cell: Cell, state: State) {
        if let Some(cells) = &mut self.cells {
            cells.tables[cell.table].1[cell.element] = state;
        }
    }

    /// Gives the indices the values of a cell, which has to be one of the domain.
    fn set_indices(&mut self, table: &'p Table, cell: Cell) -> Run<()> {
        let shape = self.memory.get(self.buffer(table.array)).shape.clone();
        let mut rest = cell.element as i64;
        let mut at = vec![0; shape.len()];
        for (at, extent) in at.iter_mut().zip(&shape).rev() {
            *at = rest % extent;
            rest /= extent;
        }
        for (iter, at) in table.index.iter().zip(&at) {
            let bounds: (&'p Expr, &'p Expr) = (&iter.lo, &iter.hi);
            let (low, high) = (self.long(bounds.0)?, self.long(bounds.1)?);
            if *at < low || *at >= high {
                return self.unsound(table, vec![*at, low, high]);
            }
            self.frame[iter.var.index()] = Slot::Scalar((*at).into());
        }
        Ok(())
    }

    /// Before an element is loaded: if it is a cell that is not there yet, the body has to wait.
    pub(super) fn cell_is_there(&mut self, at: (BufferId, usize), place: &Place) -> Run<()> {
        let Some(cells) = &mut self.cells else { return Ok(()) };
        let Some(table) = cells.tables.iter().position(|(buffer, _)| *buffer == at.0) else { return Ok(()) };
        if cells.tables[table].1[at.1] == State::Done {
            return Ok(());
        }
        cells.missing = Some(Cell { table, element: at.1 });
        // Never leaves the interpreter: `ask` looks for the missing cell first.
        Err(Box::new(Error::Unsound(Fault { kind: FaultKind::Index, span: place.span, values: Vec::new() })))
    }
}

//! What a body asks of the level at which it runs.

use crate::target::{CallLevel, Capability};
use hidp_ir::par::visit::{Role, Visitor, look};
use hidp_ir::par::{Block, Func, FuncId, Map, Program, Stmt, StmtKind, VarId, VarKind, sites};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdSet;
use std::fmt;

/// What a body needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// Whether it makes calls that have a choice.
    compound: bool,
    /// Whether it has maps.
    maps: bool,
    /// Whether something reads what the iterations of a map wrote.
    waits: bool,
}

impl Needs {
    pub(super) fn of(program: &Program, body: &Func, choosing: &OrdSet<FuncId>) -> Needs {
        let compound = !sites(&body.body, choosing).0.is_empty();
        let mut found = Needs { compound, maps: false, waits: false };
        let mut written: OrdSet<VarId> = OrdSet::new();
        for stmt in flat(&body.body) {
            let mut of =
                Uses { program, body, choosing, compound, maps: false, reads: OrdSet::new(), writes: OrdSet::new() };
            of.visit_stmt(stmt);
            // What a turn of a loop writes the next one may read.
            let again = matches!(stmt.kind, StmtKind::Loop(_)) && of.maps;
            found.waits |= !of.reads.is_disjoint(&written) || again && !of.reads.is_disjoint(&of.writes);
            if of.maps {
                found.maps = true;
                written.extend(of.writes);
            }
        }
        found
    }

    /// Whether it has maps whose iterations go to a level further in, where there is one.
    pub(super) fn deals(self) -> bool {
        self.compound && self.maps
    }

    /// Whether groups of a level can run the body.
    pub(super) fn met_by(self, level: &CallLevel) -> bool {
        self.lack(level).is_none()
    }

    /// What groups of a level lack that the body needs.
    pub(super) fn lack(self, level: &CallLevel) -> Option<Lack> {
        let waits = !self.waits || level.can(Capability::Sync);
        let lacks = |lack: Lack, unless: bool| (!unless).then_some(lack);
        match (self.compound, self.maps) {
            // Its calls have levels of their own.
            (true, false) => None,
            (true, true) if level.can(Capability::Serial) => None,
            (true, true) if level.deals.is_empty() => Some(Lack::Dealing),
            (true, true) => lacks(Lack::Waiting, waits),
            (false, _) if level.can(Capability::Plans) => None,
            (false, false) => lacks(Lack::Computing, level.can(Capability::Scalar)),
            // Lanes that share maps see what others wrote once they have waited.
            (false, true) if level.can(Capability::Vector) => lacks(Lack::Waiting, waits),
            (false, true) if level.can(Capability::Scalar) => lacks(Lack::Lanes, !self.waits),
            (false, true) => Some(Lack::Computing),
        }
    }
}

/// Why groups of a level cannot run a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Iterations of its maps make calls.
    Dealing,
    /// Something reads what iterations of a map wrote.
    Waiting,
    /// The same, where nothing but lanes could.
    Lanes,
    /// It computes something.
    Computing,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lack::Dealing => "can neither deal out the iterations of its maps nor run them in order",
            Lack::Waiting => "cannot wait for what the iterations of its maps write",
            Lack::Lanes => "has no lanes that share its maps and wait for one another",
            Lack::Computing => "computes nothing by itself",
        })
    }
}

/// The statements of a block, without scopes around them.
fn flat(block: &Block) -> Vec<&Stmt> {
    let mut all = Vec::new();
    for stmt in &block.stmts {
        if let StmtKind::Scope(inner) = &stmt.kind {
            all.extend(flat(inner));
        } else {
            all.push(stmt);
        }
    }
    all
}

/// The arrays that a statement reads and writes.
struct Uses<'a> {
    program: &'a Program,
    body: &'a Func,
    choosing: &'a OrdSet<FuncId>,
    /// Whether only maps count that make calls with a choice.
    compound: bool,
    /// Whether there is such a map.
    maps: bool,
    reads: OrdSet<VarId>,
    writes: OrdSet<VarId>,
}

impl Visitor for Uses<'_> {
    fn visit_map(&mut self, map: &Map) {
        self.maps |= !self.compound || !sites(&map.body, self.choosing).0.is_empty();
        look::walk_map(self, map);
    }
    fn visit_var(&mut self, var: &VarId, role: Role) {
        if !self.body.vars[*var].is_array() {
            return;
        }
        let (reads, writes) = match role {
            Role::Declare | Role::Iterate => (false, false),
            Role::Read => (true, false),
            Role::Write => (false, true),
            Role::Update => (true, true),
            Role::Argument { callee, position } => {
                let function = &self.program.funcs[callee];
                match function.vars[function.params[position]].kind {
                    VarKind::Param(Direction::Input) => (true, false),
                    VarKind::Param(Direction::Output) => (false, true),
                    VarKind::Param(Direction::Inout) | VarKind::Dim | VarKind::Local | VarKind::Iter => (true, true),
                }
            }
        };
        self.reads.extend(reads.then_some(*var));
        self.writes.extend(writes.then_some(*var));
    }
}

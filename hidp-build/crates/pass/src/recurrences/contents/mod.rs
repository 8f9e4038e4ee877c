//! Ranges of input arrays: their smallest and largest element, found once before any cell is computed.
//!
//! Cells use data as indices (`sub[s[i-1]][t[j-1]]`) and add elements of arrays. Both are unknown before the program runs, but scanning all
//! elements takes little time compared with the cells. If all are valid indices, no cell faults by them, so cells may be computed in any order.

#[cfg(test)]
mod tests;

use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{BinOp, Block, ConvertMode, Expr, ExprKind, Stmt, StmtKind, System, VarId, same};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::{Scalar, Ty};

use super::build::{self, Builder};
use crate::extremes::{elements, find, integers};

/// An array with more elements than this for each cell is not looked at.
const MOST_FOR_A_CELL: i64 = 16;

/// Constants that are added to indices are not further from 0.
const LARGE: i64 = 1 << 16;

/// Through how many variables, one set to the other, it is looked for data.
const MOST_VARIABLES: u32 = 4;

/// What is known of arrays, and how it is found out.
#[derive(Clone)]
pub(super) struct Contents {
    /// The smallest and the largest element of each array, in variables of the elements' type.
    known: OrdMap<VarId, [VarId; 2]>,
    /// How many cells there are.
    cells: Expr,
    /// Finds the elements.
    pub(super) before: Vec<Stmt>,
    /// Whether they are found, and are what they have to be.
    pub(super) conds: Vec<Expr>,
}

impl Contents {
    pub(super) fn new(builder: &Builder<'_>, system: &System) -> Contents {
        let cells = system.tables.iter().map(|table| elements(builder.vars, table.array)).reduce(build::add);
        let cells = cells.expect("a system has a table");
        Contents { known: OrdMap::new(), cells, before: Vec::new(), conds: Vec::new() }
    }

    /// The same arrays are known where it was found out what they contain.
    pub(super) fn inside(&self) -> Contents {
        Contents { before: Vec::new(), conds: Vec::new(), ..self.clone() }
    }

    /// The smallest and the largest element of an input array, as values of its type; anything where the array is too large, which
    /// `conds` exclude. `None` for what is no such array of integers.
    pub(super) fn extremes(&mut self, builder: &mut Builder<'_>, array: VarId) -> Option<[Expr; 2]> {
        let ty = integers(builder.vars, array)?;
        let span = builder.vars[array].span;
        let found = match self.known.get(&array) {
            Some(found) => *found,
            None => {
                let found = ["least", "most"].map(|name| builder.local(name, Ty::Scalar(ty), span));
                self.before.extend(found.map(|var| build::declare(var, span)));
                let most = Expr::long(BinOp::Mul, self.cells.clone(), Expr::int(MOST_FOR_A_CELL, span));
                let few = Expr::long(BinOp::Le, elements(builder.vars, array), most);
                let shape = builder.vars[array].shape.clone();
                self.before.push(build::guarded(few.clone(), vec![find(builder.vars, array, shape, found)]));
                self.conds.push(few);
                self.known.insert(array, found);
                found
            }
        };
        Some(found.map(|var| Expr::read(var, Ty::Scalar(ty), span)))
    }

    /// One more condition, if it is none yet.
    pub(super) fn require(&mut self, cond: Expr) {
        if !self.conds.iter().any(|known| same::expr(known, &cond)) {
            self.conds.push(cond);
        }
    }

    /// Accesses that have data for indices are proved where these are all in range, which `conds` say.
    pub(super) fn indices(&mut self, builder: &mut Builder<'_>, bodies: &mut [Block]) {
        for body in bodies {
            let set = set_once(body);
            Indices { contents: self, builder, set }.visit_block(body);
        }
    }
}

/// Variables that one assignment sets and nothing else, with its value.
fn set_once(body: &Block) -> OrdMap<VarId, Expr> {
    let mut writes: OrdMap<VarId, usize> = OrdMap::new();
    visit::walk_vars(body, |var, role| match role {
        Role::Read | Role::Declare => {}
        Role::Iterate | Role::Write | Role::Update | Role::Argument { .. } => *writes.entry(var).or_default() += 1,
    });
    let mut set = OrdMap::new();
    visit::walk_stmts(body, |stmt| {
        if let StmtKind::Assign { var, value } = &stmt.kind
            && writes.get(var) == Some(&1)
        {
            set.insert(*var, value.clone());
        }
    });
    set
}

/// An index that is an element of an array with a constant added to it.
struct Element {
    array: VarId,
    more: i64,
    /// What it is instead before a variable is set.
    others: Vec<i64>,
}

impl Element {
    fn plus(mut self, more: i64) -> Element {
        self.more += more;
        self.others.iter_mut().for_each(|other| *other += more);
        self
    }
}

struct Indices<'a, 'b> {
    contents: &'a mut Contents,
    builder: &'a mut Builder<'b>,
    /// Variables that are set once.
    set: OrdMap<VarId, Expr>,
}

impl Indices<'_, '_> {
    /// Looks through so many variables.
    fn element(&self, expr: &Expr, variables: u32) -> Option<Element> {
        match &expr.kind {
            ExprKind::Load(place) if place.unproved == 0 && place.path.is_empty() => {
                integers(self.builder.vars, place.array)?;
                Some(Element { array: place.array, more: 0, others: Vec::new() })
            }
            ExprKind::Read(var) => {
                let mut element = self.element(self.set.get(var)?, variables.checked_sub(1)?)?;
                element.others.push(0);
                Some(element)
            }
            ExprKind::Convert { operand, mode: ConvertMode::Cast } => {
                let element = self.element(operand, variables)?;
                self.fits(&element, expr.ty).then_some(element)
            }
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), left, right, .. } => {
                let more = right
                    .as_int()
                    .and_then(|more| i64::try_from(more).ok())
                    .filter(|more| (-LARGE..=LARGE).contains(more))?;
                let more = if *op == BinOp::Add { more } else { -more };
                let element = self.element(left, variables)?.plus(more);
                self.fits(&element, expr.ty).then_some(element)
            }
            ExprKind::Const(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        }
    }

    /// Whether a type holds all values that an index can have, so that it has not wrapped.
    fn fits(&self, element: &Element, ty: Ty) -> bool {
        let range = |ty: Ty| ty.scalar().and_then(Scalar::integer_range);
        let (Some((low, high)), Some((least, most))) = (range(ty), range(self.builder.vars[element.array].ty)) else {
            return false;
        };
        let more = i128::from(element.more);
        let holds = |value: i128| low <= value && value <= high;
        holds(least + more) && holds(most + more) && element.others.iter().all(|other| holds((*other).into()))
    }
}

impl Mutator for Indices<'_, '_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        let ExprKind::Load(place) = &mut expr.kind else { return };
        for at in 0..place.index.len() {
            if place.unproved & 1 << at == 0 {
                continue;
            }
            let Some(element) = self.element(&place.index[at], MOST_VARIABLES) else { continue };
            let Some(extremes) = self.contents.extremes(self.builder, element.array) else { continue };
            let span = place.span;
            let [least, most] = extremes.map(|value| build::cast(value, Ty::LONG));
            let more = Expr::int(element.more, span);
            let extent = self.builder.vars[place.array].shape[at].clone();
            let mut conds = vec![
                Expr::long(BinOp::Ge, build::add(least, more.clone()), Expr::int(0, span)),
                Expr::long(BinOp::Lt, build::add(most, more), extent.clone()),
            ];
            let within = |other: &i64| build::within(&Expr::int(*other, span), Expr::int(0, span), extent.clone());
            conds.extend(element.others.iter().flat_map(within));
            conds.into_iter().for_each(|cond| self.contents.require(cond));
            place.unproved &= !(1 << at);
        }
    }
}

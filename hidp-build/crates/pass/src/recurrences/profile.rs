//! Profiles: elements of a table that pairs of data select (`costs[s[i-1]][t[j-1]]`), laid out contiguously for the cells of a step.
//!
//! In lanes such a load is a gather, which takes longer than the rest of a cell. But for one letter of `t`, the values follow the order of `s`. So
//! the *profile* has a row of values per letter, computed once. The cells of the next steps then need a section of a row for each letter of `t`,
//! transposed so that each step has a row: the *front*. Processors transpose it in registers (a copy across an array).
//!
//! Values are bytes. If they do not fit, or there are too many letters, the look-up stays.

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    BinOp, Block, ConvertMode, Expr, ExprKind, Place, Stmt, StmtKind, System, Table, Var, VarId, VarKind,
};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::Around;
use super::build::{self, Builder};
use super::contents::Contents;
use super::window::Linear;
use crate::extremes::integers;

/// What is kept of a value.
const TY: Ty = Ty::Scalar(Scalar::I8);

/// For so many steps at once: as many bytes as most processors load at once.
const STEPS: i64 = 32;

/// Rows of the profile are read by so much before their first value and after their last one.
const AROUND: i64 = STEPS;

/// A profile has a row for each of so many letters at most.
const MOST_LETTERS: i64 = 256;

/// And each row is used so often, on average.
const LEAST_USES: i64 = 2;

/// Where there are more loads, none is laid out.
pub(super) const MOST: usize = 4;

/// Letters are not further than this from the cell.
const FARTHEST: i64 = 1 << 16;

/// Data that choose a row or a column: an element of an array, which one index of the cell says.
#[derive(Clone)]
pub(super) struct Letters {
    pub(super) array: VarId,
    /// What is added to the index.
    pub(super) more: i64,
}

/// A load that two data choose: those of the index that follows from the step, and those of the other one.
#[derive(Clone)]
pub(super) struct Lookup {
    /// The table.
    pub(super) from: Place,
    pub(super) following: Letters,
    pub(super) other: Letters,
    /// Which index of the load the other one says.
    pub(super) row: usize,
}

/// The profile of a load.
struct Profile {
    lookup: Lookup,
    rows: VarId,
    front: VarId,
    /// What the other index says in each column; in maps, where the array is a section whose indices are tested.
    letters: VarId,
}

/// All profiles of a system.
pub(super) struct Profiles {
    each: Vec<Profile>,
    /// Which row of a front is of this step.
    slot: VarId,
    span: Span,
}

impl Profiles {
    /// Those of all loads of bodies whose steps are `i + j`, with what must hold for them in `contents`. `None` where there are none.
    pub(super) fn of(
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        contents: &mut Contents,
        around: Around,
    ) -> Option<Profiles> {
        if !system.order.steps.iter().all(|steps| matches!(&steps.rows[..], [row] if row[..] == [1, 1])) {
            return None;
        }
        let span = system.tables[0].span;
        let mut found: Vec<Lookup> = Vec::new();
        for (table, body) in system.tables.iter().zip(bodies) {
            visit::walk_exprs(body, |expr| {
                if let Some(lookup) = lookup(builder, table, expr)
                    && !found.iter().any(|known| known.is_same(&lookup))
                {
                    found.push(lookup);
                }
            });
        }
        if found.is_empty() || found.len() > MOST {
            return None;
        }
        let mut each = Vec::new();
        for lookup in found {
            lookup.conditions(builder, contents)?;
            let margin = Expr::int(2 * AROUND, span);
            let shape = vec![lookup.letters(builder), build::add(lookup.length(builder), margin)];
            let rows = array(builder, "profile", shape, span);
            let shape = vec![Expr::int(STEPS, span), lookup.width(builder)];
            let front = array(builder, "front", shape, span);
            let letters = match around {
                Around::Host => lookup.other.array,
                Around::Map => {
                    let of = builder.vars[lookup.other.array].clone();
                    builder.vars.push(Var { kind: VarKind::Local, ..of })
                }
            };
            each.push(Profile { lookup, rows, front, letters });
        }
        Some(Profiles { each, slot: builder.local("slot", Ty::LONG, span), span })
    }

    /// Makes the profiles.
    pub(super) fn made(&self, builder: &mut Builder<'_>) -> Vec<Stmt> {
        let mut out = vec![build::declare(self.slot, self.span)];
        for profile in &self.each {
            out.extend([build::declare(profile.rows, self.span), build::declare(profile.front, self.span)]);
            out.push(profile.rows_made(builder, self.span));
            if profile.letters != profile.lookup.other.array {
                out.extend([build::declare(profile.letters, self.span), profile.letters_taken(builder, self.span)]);
            }
        }
        out
    }

    /// Before the cells of a step: its slot, and where the last front is used up, the next one.
    pub(super) fn of_step(&self, builder: &mut Builder<'_>, step: &Expr) -> Vec<Stmt> {
        let last = Expr::int(STEPS - 1, self.span);
        let turn: Vec<Stmt> = self.each.iter().map(|profile| profile.front_made(builder, step)).collect();
        let is_first = Expr::long(BinOp::Eq, build::read(self.slot, self.span), Expr::int(0, self.span));
        vec![build::assign(self.slot, Expr::long(BinOp::And, step.clone(), last)), build::guarded(is_first, turn)]
    }

    /// Makes the bodies load from fronts.
    pub(super) fn apply(&self, builder: &Builder<'_>, system: &System, bodies: &mut [Block]) {
        for (table, body) in system.tables.iter().zip(bodies) {
            Apply { profiles: self, builder, table }.visit_block(body);
        }
    }
}

fn array(builder: &mut Builder<'_>, name: &str, shape: Vec<Expr>, span: Span) -> VarId {
    builder.vars.push(Var { name: name.into(), ty: TY, shape, kind: VarKind::Local, span })
}

/// An element that is certainly there.
fn element(array: VarId, index: Vec<Expr>, span: Span) -> Place {
    Place { unproved: 0, ..build::place(array, index, span) }
}

fn load(builder: &Builder<'_>, place: Place) -> Expr {
    let (ty, span) = (builder.vars[place.array].ty, place.span);
    Expr { kind: ExprKind::Load(place), ty, span }
}

impl Profile {
    /// For each letter, what it chooses with each letter of the other sequence.
    fn rows_made(&self, builder: &mut Builder<'_>, span: Span) -> Stmt {
        let [letter, at] = ["letter", "at"].map(|name| builder.iterator(name, span));
        let lookup = &self.lookup;
        let other =
            build::cast(load(builder, element(lookup.following.array, vec![build::read(at, span)], span)), Ty::LONG);
        let index = if lookup.row == 0 {
            vec![build::read(letter, span), other]
        } else {
            vec![other, build::read(letter, span)]
        };
        let value = build::cast(load(builder, Place { index, ..lookup.from.clone() }), TY);
        let place = element(
            self.rows,
            vec![build::read(letter, span), build::add(build::read(at, span), Expr::int(AROUND, span))],
            span,
        );
        let none = Expr::int(0, span);
        let iters = vec![
            build::iter(letter, none.clone(), lookup.letters(builder)),
            build::iter(at, none, lookup.length(builder)),
        ];
        build::map(iters, vec![Stmt { kind: StmtKind::Store { place, value }, span }])
    }

    /// A copy of what the other index says.
    fn letters_taken(&self, builder: &mut Builder<'_>, span: Span) -> Stmt {
        let at = builder.iterator("at", span);
        let element = |array: VarId| element(array, vec![build::read(at, span)], span);
        let value = load(builder, element(self.lookup.other.array));
        let store = build::store(element(self.letters), value);
        build::map(vec![build::iter(at, Expr::int(0, span), self.lookup.width(builder))], vec![store])
    }

    /// What the cells of the next steps find: of each letter of the other sequence, as many elements of its row.
    fn front_made(&self, builder: &mut Builder<'_>, step: &Expr) -> Stmt {
        let span = step.span;
        let [at, later] = ["at", "later"].map(|name| builder.iterator(name, span));
        let Lookup { following, other, .. } = &self.lookup;
        // The cell of step `step` with the letter `at` has the letter `start - at` of the other sequence.
        let start = build::add(step.clone(), Expr::int(following.more + other.more, span));
        let one = Expr::int(1, span);
        let none = Expr::int(0, span);
        let first = build::add(build::sub(start.clone(), self.lookup.length(builder)), one);
        let stop = build::add(start.clone(), Expr::int(STEPS, span));
        let letter = build::cast(load(builder, element(self.letters, vec![build::read(at, span)], span)), Ty::LONG);
        let from = build::sub(build::add(start, Expr::int(AROUND, span)), build::read(at, span));
        let value = load(builder, element(self.rows, vec![letter, build::add(from, build::read(later, span))], span));
        let place = element(self.front, vec![build::read(later, span), build::read(at, span)], span);
        let iters = vec![
            build::iter(at, build::max(none.clone(), first), build::min(self.lookup.width(builder), stop)),
            build::iter(later, none, Expr::int(STEPS, span)),
        ];
        build::map(iters, vec![Stmt { kind: StmtKind::Store { place, value }, span }])
    }
}

impl Lookup {
    pub(super) fn is_same(&self, other: &Lookup) -> bool {
        let letters = |lookup: &Lookup| [&lookup.following, &lookup.other].map(|letters| (letters.array, letters.more));
        (self.from.array, self.row, letters(self)) == (other.from.array, other.row, letters(other))
    }

    /// How many letters of the other sequence there can be.
    fn letters(&self, builder: &Builder<'_>) -> Expr {
        builder.vars[self.from.array].shape[self.row].clone()
    }

    fn length(&self, builder: &Builder<'_>) -> Expr {
        builder.vars[self.following.array].shape[0].clone()
    }

    fn width(&self, builder: &Builder<'_>) -> Expr {
        builder.vars[self.other.array].shape[0].clone()
    }

    /// All data are letters, values fit, and it pays.
    fn conditions(&self, builder: &mut Builder<'_>, contents: &mut Contents) -> Option<()> {
        let uses = (self.letters(builder), self.width(builder));
        self.required(builder, contents, [i8::MIN.into(), i8::MAX.into()], uses)
    }

    /// The same, where values are between others, and there are so many letters, for a line of such a length.
    pub(super) fn required(
        &self,
        builder: &mut Builder<'_>,
        contents: &mut Contents,
        ends: [i64; 2],
        (letters, length): (Expr, Expr),
    ) -> Option<()> {
        let span = self.from.span;
        let ends = ends.map(|value| Expr::int(value, span));
        let mut conds = between(contents.extremes(builder, self.from.array)?, ends);
        for (array, at) in [(self.other.array, self.row), (self.following.array, 1 - self.row)] {
            let last = build::sub(builder.vars[self.from.array].shape[at].clone(), Expr::int(1, span));
            conds.extend(between(contents.extremes(builder, array)?, [Expr::int(0, span), last]));
        }
        let uses = Expr::long(BinOp::Div, length, Expr::int(LEAST_USES, span));
        for most in [Expr::int(MOST_LETTERS, span), uses] {
            conds.push(Expr::long(BinOp::Le, letters.clone(), most));
        }
        for cond in conds {
            contents.require(cond);
        }
        Some(())
    }
}

/// That the least and the most are between others.
fn between([least, most]: [Expr; 2], [low, high]: [Expr; 2]) -> Vec<Expr> {
    let [least, most] = [least, most].map(|value| build::cast(value, Ty::LONG));
    vec![Expr::long(BinOp::Ge, least, low), Expr::long(BinOp::Le, most, high)]
}

/// A load that is certainly made from where it says, chosen by a letter of each sequence.
pub(super) fn lookup(builder: &Builder<'_>, table: &Table, expr: &Expr) -> Option<Lookup> {
    let ExprKind::Load(from) = &expr.kind else { return None };
    let [first, second] = &from.index[..] else { return None };
    integers(builder.vars, from.array)?;
    if from.unproved != 0 || !from.path.is_empty() {
        return None;
    }
    let [following, other] = &table.index[..] else { return None };
    let letters = |index: &Expr, of: VarId| letters(builder, index, of);
    let pair = |row: usize, following_index: &Expr, other_index: &Expr| {
        let (following, other) = (letters(following_index, following.var)?, letters(other_index, other.var)?);
        Some(Lookup { from: from.clone(), following, other, row })
    };
    pair(1, first, second).or_else(|| pair(0, second, first))
}

/// The element of an array that this index of a cell says.
fn letters(builder: &Builder<'_>, expr: &Expr, index: VarId) -> Option<Letters> {
    match &expr.kind {
        ExprKind::Convert { operand, mode: ConvertMode::Cast } => {
            let holds = |ty: Ty| ty.scalar()?.integer_range();
            let (from, to) = (holds(operand.ty)?, holds(expr.ty)?);
            (to.0 <= from.0 && from.1 <= to.1).then(|| letters(builder, operand, index)).flatten()
        }
        ExprKind::Load(place) => {
            let [at] = &place.index[..] else { return None };
            integers(builder.vars, place.array)?;
            let more = Linear::of(at)?.past(index)?;
            let is_near = (-FARTHEST..=FARTHEST).contains(&more);
            (is_near && place.path.is_empty() && place.unproved == 0).then_some(Letters { array: place.array, more })
        }
        ExprKind::Const(_)
        | ExprKind::Read(_)
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

struct Apply<'a, 'b> {
    profiles: &'a Profiles,
    builder: &'a Builder<'b>,
    table: &'a Table,
}

impl Mutator for Apply<'_, '_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        let Some(found) = lookup(self.builder, self.table, expr) else { return };
        let Some(profile) = self.profiles.each.iter().find(|profile| profile.lookup.is_same(&found)) else { return };
        let span = expr.span;
        let at = build::read(self.table.index[1].var, span);
        let more = found.other.more;
        let at = if more < 0 { build::sub(at, Expr::int(-more, span)) } else { build::add(at, Expr::int(more, span)) };
        let place = element(profile.front, vec![build::read(self.profiles.slot, span), at], span);
        *expr = build::cast(load(self.builder, place), expr.ty);
    }
}

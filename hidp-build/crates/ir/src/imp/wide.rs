//! Whole iterations in vector lanes: groups, and the values that their lanes have.
//!
//! A [`Group`] takes consecutive iterations of a map together, one in each lane. Control in it is that of all lanes: scalar conditions and
//! loops, of which [`ExprKind::Any`](super::ExprKind::Any) asks a mask. What differs from lane to lane is a [`Wide`] value, also masks,
//! which are wide values of type `bool`. How many lanes a group has is the instruction set's: [`Lanes`] says it in bits.

use super::{Block, Expr, VarId};
use crate::par::{BinOp, FoldFn, MathFn, ScalarFnId, UnOp};
use hidp_syntax::ty::Scalar;

/// Bits of the widest vectors of an instruction set.
const WIDEST: usize = 512;

/// How many lanes: as many as a vector of the instruction set has elements of `bits`, and that `groups` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// 8, 16, 32 or 64.
    pub bits: u8,
    /// 1 to 8.
    pub groups: u8,
}

impl Lanes {
    /// Lanes on the widest vectors that there are.
    pub const fn most(self) -> usize {
        WIDEST / self.bits as usize * self.groups as usize
    }
}

/// A loop over positions `[lo, hi)`, as many at a time as there are lanes: lane l has position `first + l`, if that is below `hi`.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The lanes.
    pub lanes: Lanes,
    /// The position of the first lane: a `long` value, read only.
    pub first: VarId,
    /// The lanes that have an iteration: a mask, read only. The first one always has.
    pub here: VarId,
    /// First position.
    pub lo: Expr,
    /// One past the last.
    pub hi: Expr,
    /// Whether all lanes have an iteration: positions are a multiple of the lanes.
    pub is_whole: bool,
    /// Body.
    pub body: Block,
    /// What a check that fails goes on with.
    pub again: Option<Again>,
}

/// The iterations of a group once more, one after the other, so that the first of them that faults is found. Whatever the lanes have
/// stored until then is stored anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// What `Leave` names in the group's body.
    pub label: u32,
    /// Body, outside of the lanes.
    pub body: Block,
}

/// What lanes of a group do one after the other, in their order, each as one iteration does it alone.
#[derive(Clone, Debug, PartialEq)]
pub struct InTurn {
    /// The lanes.
    pub mask: VarId,
    /// The number of the lane: a `long` value, read only.
    pub lane: VarId,
    /// What the body reads of it.
    pub taken: Vec<Taken>,
    /// Body, outside of the lanes.
    pub body: Block,
}

/// A wide value of which a lane's is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The lane's value, read only.
    pub scalar: VarId,
    /// Those of all.
    pub wide: VarId,
}

/// A statement about wide values.
#[derive(Clone, Debug, PartialEq)]
pub enum WideStmt {
    /// Introduces a wide value, or, without `init`, an array with an element for each lane.
    Let {
        /// The variable.
        var: VarId,
        /// First value.
        init: Option<Wide>,
    },
    /// The lanes that are here: they execute what follows in this block, up to the next such, and in blocks inside of it. Does nothing.
    Here(VarId),
    /// An array from outside of the group begins anew: no lane reads what it held. Does nothing.
    Anew(VarId),
    /// `var = value`.
    Set {
        /// A wide value.
        var: VarId,
        /// New value.
        value: Wide,
        /// Whose value it is.
        lanes: SetLanes,
    },
    /// `target = value`, in the lanes of the target's mask, in their order.
    Store {
        /// Where to.
        target: WideElement,
        /// New value.
        value: Wide,
    },
    /// `target = op(target, value)`, in the lanes of the target's mask, in their order; indivisible where the target is relaxed.
    Update {
        /// What is updated: elements of a buffer.
        target: WideElement,
        /// A built-in operator.
        op: FoldFn,
        /// The other operand.
        value: Wide,
    },
    /// `sum = sum + value`, of each lane: integers, the order of which does not matter.
    AddUp {
        /// A value of no lane.
        sum: VarId,
        /// The lanes.
        mask: VarId,
        /// What they add: a wide value.
        value: VarId,
    },
}

/// What an assignment does to lanes that are not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetLanes {
    /// The value is that of all lanes, wherever they are: who goes on.
    All,
    /// They hold anything afterwards: none of them reads the variable before it sets it.
    Here,
    /// They keep what they have; this is the mask of those that are here.
    Only(VarId),
}

/// Elements of a buffer, or of an array that has one for each lane.
#[derive(Clone, Debug, PartialEq)]
pub struct WideElement {
    /// Buffer or wide tile.
    pub base: VarId,
    /// Where.
    pub index: WideIndex,
    /// The field, inside of an element that is a struct.
    pub path: Vec<u32>,
    /// Whether others may access it at the same time: one lane after the other, each access whole.
    pub relaxed: bool,
    /// The lanes that access their element; none only of a lane's own array.
    pub mask: Option<VarId>,
}

impl WideElement {
    /// Whether numbers are accessed in another way than elements of arrays are: fields, and what others may access at the same time.
    pub fn has_own_way(&self) -> bool {
        self.relaxed || !self.path.is_empty()
    }
}

/// Which element a lane accesses.
#[derive(Clone, Debug, PartialEq)]
pub enum WideIndex {
    /// Of a wide tile: each lane its own at this `long` index.
    Own(Box<Expr>),
    /// Of a buffer: lane l that at `first + l * stride`, both `long`.
    Every {
        /// Of the first lane.
        first: Box<Expr>,
        /// From lane to lane.
        stride: Box<Expr>,
    },
    /// Each lane that at its `long` index; of a wide tile, its own.
    Each(Box<Wide>),
}

/// A value in each lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Wide {
    /// What it is.
    pub kind: WideKind,
    /// Type in a lane; a mask is `bool`.
    pub ty: Scalar,
    /// The lanes.
    pub lanes: Lanes,
}

/// What a wide expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum WideKind {
    /// The same in all lanes.
    Splat(Box<Expr>),
    /// A `long` value plus the number of the lane.
    Iota(Box<Expr>),
    /// A wide variable.
    Var(VarId),
    /// Elements; anything in lanes that are not in the mask.
    Load(WideElement),
    /// Prefix.
    Unary(UnOp, Box<Wide>),
    /// Infix; integers wrap. Of masks `&`, `|`, `^`, `==` and `!=`.
    Binary(BinOp, Box<Wide>, Box<Wide>),
    /// `a * b + c`, as in one lane.
    MulAdd(Box<Wide>, Box<Wide>, Box<Wide>),
    /// `c ? a : b`, both computed.
    Select(Box<Wide>, Box<Wide>, Box<Wide>),
    /// Rust's `as`.
    Cast(Box<Wide>),
    /// Maths.
    Math(MathFn, Vec<Wide>),
    /// A scalar function that cannot fault, in the lanes of a mask.
    Call(WideCall),
}

/// A call of a scalar function, lane by lane.
#[derive(Clone, Debug, PartialEq)]
pub struct WideCall {
    /// What is called.
    pub function: ScalarFnId,
    /// The numbers of its operands, in order: a struct has several.
    pub args: Vec<Wide>,
    /// The lanes that call it.
    pub mask: VarId,
    /// The fields that lead to the number, in a result that is a struct.
    pub path: Vec<u32>,
}

/// Of a reference to a kind of wide value, whether or not it may be changed.
macro_rules! operands_in {
    ($kind:expr $(, $mutable:ident)?) => {
        match $kind {
            WideKind::Splat(_) | WideKind::Iota(_) | WideKind::Var(_) => Vec::new(),
            WideKind::Load(WideElement { index, .. }) => match index {
                WideIndex::Each(index) => vec![&$($mutable)? **index],
                WideIndex::Own(_) | WideIndex::Every { .. } => Vec::new(),
            },
            WideKind::Unary(_, a) | WideKind::Cast(a) => vec![&$($mutable)? **a],
            WideKind::Binary(_, a, b) => vec![&$($mutable)? **a, &$($mutable)? **b],
            WideKind::MulAdd(a, b, c) | WideKind::Select(a, b, c) => {
                vec![&$($mutable)? **a, &$($mutable)? **b, &$($mutable)? **c]
            }
            WideKind::Math(_, args) | WideKind::Call(WideCall { args, .. }) => Vec::from_iter(args),
        }
    };
}

/// The scalar expressions directly in an index.
fn scalars_in(index: &WideIndex) -> Vec<&Expr> {
    match index {
        WideIndex::Own(index) => vec![&**index],
        WideIndex::Every { first, stride } => vec![&**first, &**stride],
        WideIndex::Each(_) => Vec::new(),
    }
}

/// The operands of a wide value.
pub fn wide_operands(wide: &Wide) -> Vec<&Wide> {
    operands_in!(&wide.kind)
}

/// Visits a wide value and everything in it.
pub fn each_wide<'a>(wide: &'a Wide, visit: &mut dyn FnMut(&'a Wide)) {
    visit(wide);
    wide_operands(wide).into_iter().for_each(|operand| each_wide(operand, visit));
}

/// The wide values directly in a statement.
pub fn wides_of(stmt: &WideStmt) -> Vec<&Wide> {
    match stmt {
        WideStmt::Let { init, .. } => init.iter().collect(),
        WideStmt::Here(_) | WideStmt::Anew(_) | WideStmt::AddUp { .. } => Vec::new(),
        WideStmt::Set { value, .. } => vec![value],
        WideStmt::Store { target, value } | WideStmt::Update { target, value, .. } => match &target.index {
            WideIndex::Each(index) => vec![&**index, value],
            WideIndex::Own(_) | WideIndex::Every { .. } => vec![value],
        },
    }
}

/// The elements that a statement changes.
fn target(stmt: &WideStmt) -> Option<&WideElement> {
    match stmt {
        WideStmt::Store { target, .. } | WideStmt::Update { target, .. } => Some(target),
        WideStmt::Let { .. }
        | WideStmt::Here(_)
        | WideStmt::Anew(_)
        | WideStmt::Set { .. }
        | WideStmt::AddUp { .. } => None,
    }
}

/// The scalar expressions of a statement about wide values.
pub(super) fn scalars(stmt: &WideStmt) -> Vec<&Expr> {
    let mut found = Vec::new();
    for value in wides_of(stmt) {
        each_wide(value, &mut |wide| match &wide.kind {
            WideKind::Splat(of) | WideKind::Iota(of) => found.push(&**of),
            WideKind::Load(element) => found.extend(scalars_in(&element.index)),
            WideKind::Var(_)
            | WideKind::Unary(..)
            | WideKind::Binary(..)
            | WideKind::MulAdd(..)
            | WideKind::Select(..)
            | WideKind::Cast(_)
            | WideKind::Math(..)
            | WideKind::Call(_) => {}
        });
    }
    if let Some(target) = target(stmt) {
        found.extend(scalars_in(&target.index));
    }
    found
}

/// The same, to be replaced.
pub(super) fn scalars_mut(stmt: &mut WideStmt) -> Vec<&mut Expr> {
    let mut found = Vec::new();
    match stmt {
        WideStmt::Let { init, .. } => init.iter_mut().for_each(|init| in_wide_mut(init, &mut found)),
        WideStmt::Here(_) | WideStmt::Anew(_) | WideStmt::AddUp { .. } => {}
        WideStmt::Set { value, .. } => in_wide_mut(value, &mut found),
        WideStmt::Store { target, value } | WideStmt::Update { target, value, .. } => {
            in_index_mut(&mut target.index, &mut found);
            in_wide_mut(value, &mut found);
        }
    }
    found
}

fn in_wide_mut<'a>(wide: &'a mut Wide, found: &mut Vec<&'a mut Expr>) {
    match &mut wide.kind {
        WideKind::Splat(of) | WideKind::Iota(of) => found.push(&mut **of),
        WideKind::Load(element) => in_index_mut(&mut element.index, found),
        kind @ (WideKind::Var(_)
        | WideKind::Unary(..)
        | WideKind::Binary(..)
        | WideKind::MulAdd(..)
        | WideKind::Select(..)
        | WideKind::Cast(_)
        | WideKind::Math(..)
        | WideKind::Call(_)) => operands_in!(kind, mut).into_iter().for_each(|operand| in_wide_mut(operand, found)),
    }
}

fn in_index_mut<'a>(index: &'a mut WideIndex, found: &mut Vec<&'a mut Expr>) {
    match index {
        WideIndex::Each(index) => in_wide_mut(index, found),
        WideIndex::Own(index) => found.push(&mut **index),
        WideIndex::Every { first, stride } => found.extend([&mut **first, &mut **stride]),
    }
}

/// The variables that a statement about wide values uses, of its masks and arrays too.
pub(super) fn used(stmt: &WideStmt) -> Vec<VarId> {
    let mut found = Vec::new();
    for value in wides_of(stmt) {
        each_wide(value, &mut |wide| match &wide.kind {
            WideKind::Var(var) => found.push(*var),
            WideKind::Load(element) => found.extend([element.base].into_iter().chain(element.mask)),
            WideKind::Call(call) => found.push(call.mask),
            WideKind::Splat(_)
            | WideKind::Iota(_)
            | WideKind::Unary(..)
            | WideKind::Binary(..)
            | WideKind::MulAdd(..)
            | WideKind::Select(..)
            | WideKind::Cast(_)
            | WideKind::Math(..) => {}
        });
    }
    match stmt {
        WideStmt::Set { lanes: SetLanes::Only(mask), .. } => found.push(*mask),
        // What is said of lanes alone is no use.
        WideStmt::Let { .. } | WideStmt::Here(_) | WideStmt::Anew(_) | WideStmt::Set { .. } => {}
        WideStmt::Store { target, .. } | WideStmt::Update { target, .. } => {
            found.extend([target.base].into_iter().chain(target.mask));
        }
        WideStmt::AddUp { sum, mask, value } => found.extend([*sum, *mask, *value]),
    }
    found
}

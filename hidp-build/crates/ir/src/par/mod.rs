//! `par`: nested maps and collectives over typed variables with symbolic shapes.
//!
//! `check` builds it from the syntax tree, passes transform it, `lower` turns a planned entry into [`super::imp`]. It is the
//! only place where front and back meet. Its interpreter is the meaning of the language.
//!
//! # Invariants (the verifier checks each after every pass)
//! 1. Every expression carries its exact type; operands of [`BinOp`] arithmetic, comparison and bit operations have one
//!    type (shifts: any integer on the right). Implicit conversions are explicit [`ExprKind::Convert`] nodes. Index and extent
//!    expressions are `long`. Conditions are `bool`.
//! 2. A variable is used only where it is in scope: parameters and dimensions everywhere, locals after their
//!    [`StmtKind::Declare`] in the same or an inner block, iterators inside their map (not in its own bounds). Each local has
//!    one `Declare`, each iterator one map. Extents of parameters hold dimensions, scalar `input` parameters and
//!    constants only.
//! 3. `index.len()` of a load, store or atomic equals the array's rank. Arrays never stand as values. No bit of `unproved`
//!    lies beyond the rank.
//! 4. Every fold's value is a scalar declared in the map's body, alive at its end; its `over` are iterators of its own map,
//!    without repetition; its target is of the operator's type and reads no iterator that is folded over; a scalar target
//!    only when all iterators are. Built-in operators have their neutral element.
//! 5. `Break` and `Continue` are inside the body of a [`Loop`] of the same map level; `Leave` is inside its
//!    [`StmtKind::Scope`] and not across a map boundary; every path of a scalar function ends in `Return`, which stands nowhere else.
//! 6. Iterations of a map write no element that another writes or reads unless the access says [`Access::Shared`] (or is atomic).
//! 7. A [`StmtKind::Call`] has an argument for each parameter, of its type and rank, a variable where the parameter is
//!    written, and no variable twice of which one is written. After `instantiate` there is none. (Each pass documents what it
//!    adds: after `split` a map has `reduce` folds over all its iterators into scalars, or one iterator and prefix folds.)
//! 8. Dimensions, iterators and `input` parameters are never written. Inside a map no scalar of an outer level is assigned, and
//!    no array of an outer level is swapped.
//! 9. The fields of a [`PrimCall`] are those that its row of the verifier's table names. Outputs of folding primitives are of
//!    the operator's type, to which the elements convert; those of moving ones are of the inputs' type.
//! 10. Ids exist; structs hold earlier structs only; no function reaches itself; parameters, dimensions and iterators are listed
//!     where they belong; a scalar function holds scalars and the statements that [`ScalarFn`] lists (and [`StmtKind::Scope`]).
//! 11. The tables of a [`Recur`] are `output` parameters, whose ranks are the numbers of their indices; bodies of cells hold what
//!     [`Table::body`] lists. After pass `recurrences` there is none.
//! 12. Codelets and alternatives have the parameters and dimensions of their functions; nobody calls them, so that a codelet may call
//!     its own function. After `codelets`, what is chosen by the call follows the dimensions ([`Setting`]).

mod expr;
mod known;
mod pins;
mod prim;
mod recur;
mod spectrum;
mod stmt;

pub use expr::*;
pub use pins::*;
pub use prim::*;
pub use recur::*;
pub use spectrum::*;
pub use stmt::*;

use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::index::define_id;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{StructId, Ty};

pub mod agree;
pub mod ahead;
pub mod doubt;
pub mod effects;
pub mod interp;
pub mod lanes;
pub mod layout;
pub mod numbers;
pub mod once;
pub mod same;
pub mod shape;
pub mod text;
mod verify;
pub mod visit;

pub use text::{ReadError, print, read};
pub use verify::{Rule, VerifyError, verify};

define_id! {
    /// A variable of one function: parameter, dimension, local, iterator.
    VarId, "v"
}
define_id! {
    /// A function over arrays.
    FuncId, "f"
}
define_id! {
    /// A scalar function.
    ScalarFnId, "s"
}

/// A whole build: all files together.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Struct types.
    pub structs: Arena<StructId, Struct>,
    /// Scalar functions, native ones included. None calls itself, directly or not.
    pub scalar_fns: Arena<ScalarFnId, ScalarFn>,
    /// Functions over arrays. None calls itself, directly or not.
    pub funcs: Arena<FuncId, Func>,
    /// The functions that get a wrapper, in source order.
    pub entries: Vec<FuncId>,
    /// Functions with several bodies. After pass `codelets` there is none.
    pub spectra: Vec<Spectrum>,
    /// Other forms of entries, which that pass makes.
    pub alternatives: Vec<Alternative>,
    /// Where codelets have conditions that became branches: the spans of those, which no other statement has.
    pub conditions: Vec<Span>,
    /// Courses that are pinned, for pass `recurrences`.
    pub courses: Vec<PinnedCourse>,
    /// A function of one `bool` that gives `false`. Where whole iterations run in lanes, its value is `true`, and for `true` on devices
    /// too: that pass asks for it where these do better by other statements, of the same results.
    pub lanes: Option<ScalarFnId>,
}

/// A struct type.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// Name.
    pub name: String,
    /// Fields in order: name and type. A field is a scalar or an earlier struct.
    pub fields: Vec<(String, Ty)>,
    /// Whether a C header defines it.
    pub native: bool,
    /// Comment above it.
    pub doc: Vec<String>,
    /// Declaration.
    pub span: Span,
}

/// A function of scalars. Its parameters and locals are variables of its own arena; its body holds only `Declare` of
/// scalars, `Assign`, `If`, `Loop`, `Break`, `Continue` and `Return`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarFn {
    /// Name.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<VarId>,
    /// Result.
    pub result: Ty,
    /// Variables.
    pub vars: Arena<VarId, Var>,
    /// Body; `None` when a C++ header defines it. Every path ends in `Return`.
    pub body: Option<Block>,
    /// Whether contraction to fused multiply-add is allowed.
    pub contract: bool,
    /// Declaration.
    pub span: Span,
}

/// A function over arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Func {
    /// Name.
    pub name: String,
    /// Comment above it.
    pub doc: Vec<String>,
    /// Parameters in the header's order.
    pub params: Vec<VarId>,
    /// Dimension names in order of first appearance; each is a `long` variable of kind [`VarKind::Dim`].
    pub dims: Vec<VarId>,
    /// Variables.
    pub vars: Arena<VarId, Var>,
    /// Body. Empty where `recur` says what the function does.
    pub body: Block,
    /// The tables that it computes; pass `recurrences` makes a body of them.
    pub recur: Option<Box<Recur>>,
    /// Whether contraction to fused multiply-add is allowed.
    pub contract: bool,
    /// Set by `unchecked`: bounds checks are dropped and the wrapper is `unsafe`.
    pub unchecked: bool,
    /// Name in the header.
    pub span: Span,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Name as the user knows it; compiler-made ones describe their role and need not be unique.
    pub name: String,
    /// Type of the value or of the elements.
    pub ty: Ty,
    /// Extents, outermost first; empty for scalars. Expressions over dimensions, scalar parameters and constants
    /// (parameters), or over anything in scope at the declaration (locals; evaluated there, once).
    pub shape: Vec<Expr>,
    /// What it is.
    pub kind: VarKind,
    /// Where it was declared.
    pub span: Span,
}

impl Var {
    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        !self.shape.is_empty()
    }

    /// Whether it is a [`Setting`]: names that programs give to dimensions have no dot.
    pub fn is_setting(&self) -> bool {
        self.kind == VarKind::Dim && self.name.contains('.')
    }
}

/// What a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarKind {
    /// A dimension name: a `long` that the arguments' shapes bind.
    Dim,
    /// A parameter. An `output` that is not provably written in full keeps its old contents elsewhere.
    Param(Direction),
    /// A local of the host level or of a map's body, or a temporary of the compiler.
    Local,
    /// An iterator of a map: a `long`, never assigned.
    Iter,
}

/// A fault has at most so many values; of more, the first are kept.
pub const FAULT_VALUES: usize = 4;

/// What can go wrong while a program runs. The run time holds the same numbers (`hidp_std::rt::FaultKind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum FaultKind {
    /// Values: index, extent, dimension (from 0).
    Index = 1,
    /// Values: low, high, length of the array.
    Segment = 2,
    /// Values: the two extents.
    Shape = 3,
    /// Values: stride.
    Stride = 4,
    /// Values: the size.
    NegativeSize = 5,
    /// Values: dividend.
    DivisionByZero = 6,
    /// Values: shift count, width in bits.
    Shift = 7,
    /// Values: the value.
    Narrowing = 8,
    /// No values.
    EmptyFold = 9,
    /// Values: bytes asked for.
    Allocation = 10,
    /// Values: the factors.
    SizeOverflow = 11,
    /// Values: key, number of bins.
    HistogramKey = 12,
    /// Values: dir.
    SortDirection = 13,
    /// Values: two segments (linear numbers) whose outputs overlap.
    SegmentOverlap = 14,
}

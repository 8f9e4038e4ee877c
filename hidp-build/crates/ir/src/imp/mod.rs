//! `imp`: buffers, loops tagged with a level, guards, launches and host control flow. Emitters print it and nothing else.
//!
//! A [`Unit`] is one version (one plan) of one entry: a host function and the kernels it launches. A kernel is a plain function that one worker
//! runs over a part `[begin, end)` of the launch's index space; its buffers are restrict parameters, as compilers vectorise those best.
//!
//! # Invariants (the verifier checks each)
//! 1. Every variable is introduced once: as a parameter, by `Let`, `Alloc`, or as a loop's variable, and used where that dominates.
//! 2. Indices are linear, `long` (in a [`Narrow`] function perhaps `int`), in elements of the buffer, and in bounds whenever they are evaluated: what is not proved is guarded
//!    by a statement before. Loads in a [`LoopKind::Simd`] body whose guard comes later have clamped indices; index 0 of
//!    every buffer is readable, even of an empty one.
//! 3. Integer division and remainder have a non-zero divisor, shifts a count below the width, when they are evaluated.
//! 4. Evaluating an expression has no effect but, through a trapping scalar function, on the worker's trap. Such a function is
//!    called only in the values of `Let`, `Set`, `Store` and `Atomic`, or passed to a `Prim`, and `CheckTrap` follows in the same
//!    block. What it raises it raises at the entry's site of that kind and position: [`trap_sites`] lists those to add.
//! 5. `Launch`, `Alloc` and `Free` stand in the host function only; `Scratch`, `Run` and `WorkerIndex` in kernels only. A kernel runs those before it
//!    only, and `CheckTrap` follows.
//! 6. `Break` and `Continue` are inside a loop of the same function. Simd loops hold only values, plain stores, branches and
//!    other counted loops; what one iteration leaves for another is a reduction.
//!
//! # Units for a device
//! A kernel of a [`UnitTarget::Device`] runs once an *item*: a position of its launch's grid. A *group* of lanes takes one item
//! after the other; its width follows from the level of the kernel's [`Grid`] (thread: 1 lane, sub-warp2 4, sub-warp 8, warp
//! 32, block: all threads of a block). Outside of `Spread` and `Single` all lanes of the group execute the same statements on
//! the same values: such code is at the *scope* of the grid's level. The body of a `Spread { over, .. }` is at the scope `over`.
//!
//! 7. `Grid`s, `LaunchGrid`, `Spread`, `Single`, `Sync`, `Broadcast`, `GroupCount` and host cells are in device units only,
//!    `Launch`, `Run`, `Scratch`, `StreamOut`, simd loops, loops across an array and `WorkerCount` in CPU units only.
//! 8. `Spread`, `Single`, `Sync` and `Broadcast` name the level of the scope that they stand in, as `group`; so does a `Prim` of
//!    a kernel, which all lanes of the group call. A `Spread` goes to a lower level. None of them stands in a `Single`.
//! 9. At the scope of a level above `thread`, what all lanes compute is the same in all: a buffer that the kernel writes is
//!    loaded as a `Broadcast` only, which is the whole value of a `Let` or `Set`; buffers are written in `Single` only; no tile
//!    is written inside of a `Spread` that it lives outside of. A `Set` in a `Spread` or `Single` is of a variable that lives
//!    inside, or of one of the loop's reductions.
//! 10. `Single` holds values, stores, atomic updates, branches and sequential loops, and nothing that faults. No jump leaves a
//!     `Spread` or `Single`, but `Fault` and `CheckTrap` stop what the lane does in the innermost `Spread`: when all lanes of the
//!     group have come to its end, the fault at the lowest position is the group's, and is treated as one of the statement.
//! 11. A variable under [`Reduction`] holds the neutral element when its loop starts, or its `seen` is false.
//! 12. Shared arrays are in kernels of groups only, introduced outside of `Spread`, `Single` and `Lanes`, with 48 KiB at most in a
//!     kernel; those of the compiler in kernels of blocks. Like buffers that the kernel writes, one lane stores, and loads for all. No
//!     lane accesses what another one wrote, or writes what another one read, before a `Sync` of the group; so no body of a `Spread` or
//!     `Lanes` both reads and writes a shared array, unless the program declares it: then no two iterations of a map conflict there, which
//!     `check` found. What an item leaves there the next one finds: the end of the kernel is followed by its start.
//! 13. `Lanes` names the level of its scope, is in no `Single`, and holds nothing that faults; its body is at the scope `thread`,
//!     and everything of rule 9 and 10 for `Spread` holds for it. Registers are introduced in the scope of a group, and accessed
//!     where a lane is alone and it is known which one: in `Lanes`, in a `Broadcast`, and in a cyclic `Spread` to threads of a
//!     warp or less that runs by 1 from 0 to at most the number of its lanes.
//! 14. `Shuffle` names the level of its scope, a warp or less, and is in no `Single`; its registers have one element.
//!
//! # Whole iterations in lanes
//! 15. `Group`s are in kernels of CPU units only, in no simd loop and no other group. Wide values, masks and wide tiles are introduced inside
//!     of one, with its number of lanes. In it stand values, branches, loops, and statements about wide values; nothing that faults, is
//!     called from the run-time library, or stores to memory otherwise. What is done again instead stands outside of the lanes, and so
//!     does what lanes do one after the other (`InTurn`), each with its own values. Integers may be added up at once (`AddUp`).
//! 16. `Here` says which lanes execute what follows. A `Store`, and each access to a buffer, names the lanes that make it; those that store
//!     are those that are here. Whoever is named has an iteration, and all lanes know who it is: a mask is made of the group's by what
//!     can only take lanes out.
//! 17. The right operand of an integer division is a choice between what the program divides by, in the lanes of a mask, and a constant
//!     other than 0, or a constant; that of a shift likewise with 0: lanes that are elsewhere hold anything.
//! 18. A lane reads only what it was given: a value that was assigned while it was here, or that it kept. `Set` leaves anything in lanes
//!     that are elsewhere unless it says that they keep theirs (`Only`), or that the value is that of all (`All`). The same holds for
//!     scalars and arrays, which all lanes have in common, and along all ways through branches and loops.
//! 19. What all lanes have in common is loaded, divided or shifted by, and is the index of a wide tile, only where some lane is known to
//!     be: at the start of the group, where `Any` said so, and in what such lanes are among.

mod across;
mod expr;
mod grid;
mod narrow;
mod near;
mod numbers;
mod prim;
mod print;
mod schedule;
mod trap;
mod verify;
pub mod visit;
mod wide;
mod wide_print;

pub use across::{CopiedRow, PackedRows};
pub use expr::{Element, Expr, ExprKind};
pub use grid::{BlockCopy, Grid};
pub use narrow::{Narrow, Size, Sum};
pub use near::NearFn;
pub use numbers::Numbers;
pub use prim::{Prim, PrimArg, TemplateArg};
pub use print::print;
pub use schedule::{Assumed, Assumption, Schedule, Work};
pub use trap::{can_trap, trap_sites};
pub use verify::{VerifyError, is_identifier, shared_bytes, verify};
pub use wide::{
    Again, Group, InTurn, Lanes, SetLanes, Taken, Wide, WideCall, WideElement, WideIndex, WideKind, WideStmt,
    each_wide, wide_operands, wides_of,
};

use crate::par::{FaultKind, FoldFn};
pub use hidp_syntax::ast::Level;
use hidp_syntax::index::Arena;
use hidp_syntax::index::define_id;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

define_id! {
    /// A variable of one function of a unit.
    VarId, "x"
}
define_id! {
    /// A kernel of a unit.
    KernelId, "k"
}
define_id! {
    /// A place where a fault can arise; shared by all versions of an entry.
    SiteId, "site"
}

/// All versions of one entry, and what they share.
#[derive(Clone, Debug)]
pub struct Entry {
    /// `<file stem>_<function>`: part of every symbol.
    pub symbol: String,
    /// Fault sites, in order of first use.
    pub sites: Arena<SiteId, Site>,
    /// One unit a plan: those for the CPU, of which the first is always eligible, then those for a device.
    pub units: Vec<Unit>,
}

impl Entry {
    /// The versions for one target.
    pub fn units_for(&self, target: UnitTarget) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(move |unit| unit.target == target)
    }
}

/// Where and what a fault is.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Kind, which fixes the message.
    pub kind: FaultKind,
    /// Position and text of the expression.
    pub span: Span,
    /// Names shown beside the recorded values, as many as values; may be empty strings where the kind says it all.
    pub names: Vec<String>,
}

/// One version of an entry.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The plan's name: an identifier, unique in the entry, part of the symbol (`rows`, `lanes`, `wide`, `team`, `serial`).
    pub plan: String,
    /// The plan as text, for reports.
    pub plan_text: String,
    /// What it is compiled for.
    pub target: UnitTarget,
    /// Host function. Parameters: per entry parameter in order a buffer (arrays, and scalars as buffers of one element; in
    /// device units scalars are host cells), then one `long` value per dimension in the order of `par::Func::dims`.
    ///
    /// In device units a load of a buffer waits for the value, and a store takes its place among the launches.
    pub host: Function,
    /// Kernels.
    pub kernels: Arena<KernelId, Kernel>,
}

/// What a unit is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitTarget {
    /// The processor that runs the host function.
    Cpu,
    /// A graphics processor; the host function starts its kernels.
    Device,
}

/// A kernel. On the CPU its last two parameters are `long` values `begin` and `end`; on a device one to three `long` positions,
/// one for each dimension of the launch, of which the last varies fastest from lane to lane.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// A short role, part of the symbol: `map0`, `fold1`.
    pub name: String,
    /// Device: who takes an item.
    pub grid: Option<Grid>,
    /// Device: arrays of which blocks have copies.
    pub copies: Vec<BlockCopy>,
    /// Parameters, variables, body.
    pub function: Function,
    /// Device: the function of launches whose values fit `int`s, if it has one.
    pub narrow: Option<Box<Narrow>>,
    /// Where the nest stands, for `#line` and profilers.
    pub span: Span,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Parameters in order.
    pub params: Vec<VarId>,
    /// All variables.
    pub vars: Arena<VarId, Var>,
    /// Body.
    pub body: Block,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// A readable name; emitters append the id to make it unique.
    pub name: String,
    /// What it holds.
    pub kind: VarKind,
}

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarKind {
    /// A scalar or struct.
    Value(Ty),
    /// Address of elements in memory that other variables of the function do not reach, unless none writes it.
    Buffer {
        /// Element type.
        elem: Ty,
        /// Whether stores are allowed.
        writable: bool,
    },
    /// Address of one element in the host's memory: a scalar parameter of a device unit. Only host functions have such.
    HostCell {
        /// Element type.
        elem: Ty,
        /// Whether stores are allowed.
        writable: bool,
    },
    /// A private array of constant length, in registers or first-level cache; on a device one for each lane. Not zeroed.
    Tile {
        /// Element type.
        elem: Ty,
        /// Number of elements.
        len: u32,
    },
    /// Device: an array of constant length that the threads of a block share. Not zeroed.
    Shared {
        /// Element type.
        elem: Ty,
        /// Number of elements, padding included.
        len: u32,
        /// Whether the program declares it in an iteration: then what the iterations of a map inside do to it is known not to conflict, and
        /// each group of a block has a part of it.
        declared: bool,
    },
    /// Device: an array of constant length that each lane has for itself, from one [`Stmt::Lanes`] to the next. Not zeroed.
    Registers {
        /// Element type.
        elem: Ty,
        /// Number of elements.
        len: u32,
    },
    /// Kernel of a CPU unit: an integer of 32 or 64 bits that many others are divided by, with what makes products of their divisions. It
    /// is the right side of `/` and `%` alone; 0 counts as 1.
    Divisor(Scalar),
    /// A value in each lane of a [`Group`]; of type `bool`, a mask.
    Wide {
        /// Type in a lane.
        elem: Scalar,
        /// The lanes.
        lanes: Lanes,
    },
    /// An array in each lane of a [`Group`], element by element next to those of other lanes. Not zeroed.
    WideTile {
        /// Element type.
        elem: Scalar,
        /// Number of elements of a lane; none of an array that `Scratch` introduces.
        len: Option<u32>,
        /// The lanes.
        lanes: Lanes,
    },
}

impl VarKind {
    /// The type of the value or of the elements.
    pub const fn element(self) -> Ty {
        match self {
            VarKind::Value(ty)
            | VarKind::Buffer { elem: ty, .. }
            | VarKind::HostCell { elem: ty, .. }
            | VarKind::Tile { elem: ty, .. }
            | VarKind::Shared { elem: ty, .. }
            | VarKind::Registers { elem: ty, .. } => ty,
            VarKind::Divisor(elem) | VarKind::Wide { elem, .. } | VarKind::WideTile { elem, .. } => Ty::Scalar(elem),
        }
    }
}

/// Statements in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// What follows in this block, up to the next such, comes from here. Does nothing.
    At(Span),
    /// Introduces a value (or, without `init`, a tile, shared array or registers). A value without `init` is assigned before it is
    /// read.
    Let {
        /// The variable.
        var: VarId,
        /// First value.
        init: Option<Expr>,
    },
    /// `var.path = value`.
    Set {
        /// A value.
        var: VarId,
        /// Field positions.
        path: Vec<u32>,
        /// New value.
        value: Expr,
    },
    /// `buffer[index].path = value`.
    Store {
        /// Buffer or tile.
        target: Element,
        /// New value.
        value: Expr,
    },
    /// `buffer[index].path op= value`, indivisibly, relaxed.
    Atomic {
        /// Buffer element.
        target: Element,
        /// Built-in operator.
        op: FoldFn,
        /// Operand.
        value: Expr,
    },
    /// Branch.
    If {
        /// `bool`
        cond: Expr,
        /// When true.
        then: Block,
        /// When false.
        otherwise: Block,
    },
    /// A counted loop `for (var = lo; var < hi; var += step)`.
    Loop(Loop),
    /// Repeats body, then step, until `Break`; `Continue` goes to the step.
    Forever {
        /// Body.
        body: Block,
        /// Step.
        step: Block,
    },
    /// Leaves the innermost loop.
    Break,
    /// Next iteration of the innermost loop.
    Continue,
    /// Braces; `Leave` leaves it.
    Scope {
        /// Label, unique in the function.
        label: u32,
        /// Body.
        body: Block,
    },
    /// Leaves the scope of this label, or, with `None`, the function.
    Leave(Option<u32>),
    /// Records a fault and leaves the function (kernels: this worker's part; the host function: after freeing what it allocated).
    Fault {
        /// Site.
        site: SiteId,
        /// `long` values, at most four.
        values: Vec<Expr>,
    },
    /// Leaves as `Fault` does if a trapping scalar function raised since the last check.
    CheckTrap,
    /// Host: storage for `count` elements from the context's pool; a fault at `site` if there is none. Freed by `Free` or at
    /// the end of the function.
    Alloc {
        /// Introduces this buffer.
        var: VarId,
        /// `long`, not negative.
        count: Expr,
        /// All bytes zero.
        zero: bool,
        /// Allocation fault.
        site: SiteId,
    },
    /// Host: gives storage back early.
    Free(VarId),
    /// Kernel: per-worker storage of `count` elements until the end of the enclosing block.
    Scratch {
        /// Introduces this buffer.
        var: VarId,
        /// `long`, not negative.
        count: Expr,
        /// All bytes zero.
        zero: bool,
        /// Allocation fault.
        site: SiteId,
    },
    /// Kernel of a CPU: a buffer's elements from one on. Nothing else in the function reaches them from here on.
    Part {
        /// Introduces this buffer.
        var: VarId,
        /// A buffer of the same kind.
        of: VarId,
        /// `long`, not negative.
        first: Expr,
    },
    /// Kernel of a CPU: one of two buffers, to be read. Nothing writes to them while it is used.
    Either {
        /// Introduces this buffer.
        var: VarId,
        /// `bool`
        cond: Expr,
        /// The buffer when true.
        then: VarId,
        /// When false.
        otherwise: VarId,
    },
    /// Kernel of a CPU: asks for the cache line of an element that is read soon. The buffer need not have it. Does nothing else.
    Prefetch {
        /// A buffer.
        of: VarId,
        /// `long`
        index: Expr,
    },
    /// Kernel of a CPU: what a kernel before it does for `[begin, end)`, here and now. `CheckTrap` follows.
    Run {
        /// Kernel.
        kernel: KernelId,
        /// All parameters but the last two.
        args: Vec<Expr>,
        /// `long`.
        begin: Expr,
        /// `long`.
        end: Expr,
    },
    /// Host: exchanges two buffer variables.
    Swap(VarId, VarId),
    /// Host: runs a kernel over `[0, extent)`. A fault in it leaves the host function as `Fault` does. Of several workers' faults
    /// the one in the lowest part wins.
    Launch {
        /// Kernel.
        kernel: KernelId,
        /// All parameters but the last two.
        args: Vec<Expr>,
        /// `long`.
        extent: Expr,
        /// How the index space is shared out.
        schedule: Schedule,
    },
    /// Host of a device unit: runs a kernel once for each position of a grid, after all launches before it. A grid with an
    /// extent of 0 runs nothing.
    LaunchGrid {
        /// Kernel.
        kernel: KernelId,
        /// All parameters but the positions.
        args: Vec<Expr>,
        /// `long`, not negative, outermost first; one to three.
        extents: Vec<Expr>,
        /// `long`, positive: no more groups than this run at a time. `WorkerIndex` is below it.
        most: Option<Expr>,
    },
    /// Device: only the first lane of the group runs the body.
    Single {
        /// The level of the scope.
        group: Level,
        /// Body.
        body: Block,
    },
    /// Device: all lanes of the group come here before one goes on, and see what any of them wrote before.
    Sync(Level),
    /// Device: each lane of the group runs the body once, as a thread of its own.
    Lanes {
        /// The level of the scope.
        group: Level,
        /// The number of the lane in its group: a `long` value, read only.
        lane: VarId,
        /// Body.
        body: Block,
    },
    /// Device: each lane of the group gets a value of another one.
    Shuffle(Box<Shuffle>),
    /// Device: one access moves `count` neighbouring elements between memory (a buffer or shared array) and a lane's own (a tile or
    /// registers). In memory the first one's address is a multiple of the bytes that are moved.
    Move {
        /// First element written.
        to: Element,
        /// First element read.
        from: Element,
        /// 2 or more, 16 bytes at most.
        count: u32,
    },
    /// Copies a tile's first `count` elements to `buffer[index…]` with non-temporal stores.
    StreamOut {
        /// Destination.
        target: Element,
        /// Tile.
        tile: VarId,
        /// `long`.
        count: Expr,
    },
    /// A primitive of the run-time library.
    Prim(Prim),
    /// Kernel of a CPU unit: consecutive iterations in vector lanes.
    Group(Box<Group>),
    /// Lanes of a group, one after the other.
    InTurn(Box<InTurn>),
    /// What each lane of a group does.
    Wide(WideStmt),
}

/// Values that go from lane to lane, of registers with one element each.
#[derive(Clone, Debug, PartialEq)]
pub struct Shuffle {
    /// The level of the scope, of at most a warp.
    pub group: Level,
    /// What each lane gets.
    pub to: VarId,
    /// What each lane gives.
    pub from: VarId,
    /// From which lane of the group each gets it, a `long`; numbers that no lane has wrap around.
    pub of: VarId,
}

/// A counted loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Its variable, a `long` value, read only.
    pub var: VarId,
    /// First value.
    pub lo: Expr,
    /// One past the last.
    pub hi: Expr,
    /// Positive constant or value.
    pub step: Expr,
    /// How iterations run.
    pub kind: LoopKind,
    /// Body.
    pub body: Block,
}

/// How the iterations of a loop run.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopKind {
    /// In order.
    Seq,
    /// In order, unrolled by this factor.
    Unroll(u32),
    /// In vector lanes; iterations are independent but for the reductions. Each reduction is a value set in the body as
    /// `v = v op e` (for floats: reassociated in the fixed way of the target).
    Simd {
        /// Variable and operator.
        reductions: Vec<(VarId, FoldFn)>,
    },
    /// Kernel of a CPU unit: each iteration copies a row across an array, beside those of its neighbours; in blocks, so that rows may be
    /// copied more than once and in any order. The body computes values, and its last statement is a loop of kind `Seq`, with step 1
    /// and a store of what it loads. There the load moves by one element, the store by as many each time, and from iteration to iteration by one.
    Across,
    /// In a group of lanes: each iteration copies a column of the lanes' rows to an array that has an element for each lane ([`PackedRows`]);
    /// in blocks, so that columns may be copied more than once and in any order.
    Pack,
    /// Device: the iterations are dealt out to the groups of level `over` that the group consists of.
    Spread {
        /// The level of the scope that the loop stands in.
        group: Level,
        /// The level of its body's scope.
        over: Level,
        /// Who gets which.
        share: Share,
        /// What the iterations leave.
        reductions: Vec<Reduction>,
    },
}

/// Who gets which iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// One to each in turn.
    Cyclic,
    /// To each a contiguous part, in order.
    Blocked,
}

/// What the iterations of a `Spread` loop fold together. Each of the groups that share the loop folds its own iterations; after
/// the loop the variable holds, in all lanes, their results combined in order, in a tree whose shape is fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// A value.
    pub var: VarId,
    /// Operator.
    pub op: FoldFn,
    /// Type of the value.
    pub ty: Ty,
    /// Whether there is a value yet: a `bool`, combined by or. For operators without neutral element.
    pub seen: Option<VarId>,
}

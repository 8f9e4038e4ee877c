//! The static description of an entry that generated code carries: enough to bind dimensions, check shapes, choose a version,
//! call it and say what went wrong.

pub use crate::Isa;

/// One entry: a `function` of a `.hdp` file.
#[derive(Debug)]
pub struct Entry {
    /// `file::function`, as messages show it.
    pub name: &'static str,
    /// Parameters in the header's order.
    pub params: &'static [Param],
    /// Dimension names in the order of first appearance; `hidp_call::dims` has this order.
    pub dims: &'static [&'static str],
    /// Versions, best guess first; the first is always eligible.
    pub versions: &'static [Version],
    /// Fault sites.
    pub sites: &'static [Site],
}

/// A parameter.
#[derive(Debug)]
pub struct Param {
    /// Name in the header, underscore included.
    pub name: &'static str,
    /// Whether the entry reads what the caller passes.
    pub reads: bool,
    /// Whether the entry writes it.
    pub writes: bool,
    /// Extents, outermost first; empty for a scalar. Each is a postfix program over dimensions, scalars and constants.
    pub shape: &'static [&'static [Op]],
    /// The extents as written, for messages.
    pub shape_text: &'static [&'static str],
}

/// One step of a postfix extent expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Pushes a constant.
    Const(i64),
    /// Pushes a dimension by its number.
    Dim(u16),
    /// Pushes the value of an integer scalar parameter by its number.
    Scalar(u16),
    /// Pops two, pushes the sum.
    Add,
    /// Pops two, pushes the difference.
    Sub,
    /// Pops two, pushes the product.
    Mul,
    /// Pops two, pushes the quotient (a call error if the divisor is 0).
    Div,
    /// Pops two, pushes the remainder (a call error if the divisor is 0).
    Rem,
    /// Pops two, pushes the smaller.
    Min,
    /// Pops two, pushes the larger.
    Max,
    /// Pops two, pushes the bits that both have.
    And,
    /// Pops two, pushes the bits that either has.
    Or,
    /// Pops two, pushes the bits that one has.
    Xor,
    /// Pops two, pushes the first shifted left by the second.
    Shl,
    /// Pops two, pushes the first shifted right by the second.
    Shr,
    /// Pops one, pushes its negative.
    Neg,
    /// Pops one, pushes it again (a call error if it is not from the first to the second).
    InRange(i64, i64),
}

/// One compiled version of an entry: one plan, built for one or more instruction sets.
#[derive(Debug)]
pub struct Version {
    /// The plan's name.
    pub plan: &'static str,
    /// One function an instruction set, most demanding first; the last one always runs.
    pub code: &'static [Code],
}

/// An entry point.
pub type EntryFn = unsafe extern "C" fn(call: *mut hidp_sys::hidp_call) -> i32;

/// A version's code for one instruction set.
#[derive(Debug)]
pub struct Code {
    /// What the machine must have.
    pub isa: Isa,
    /// The function.
    pub function: EntryFn,
}

/// A fault site.
#[derive(Debug)]
pub struct Site {
    /// `.hdp` file as messages show it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Source text of the expression.
    pub text: &'static str,
    /// Number of a fault kind.
    pub kind: u32,
    /// Names of the values; may be empty strings.
    pub names: &'static [&'static str],
}

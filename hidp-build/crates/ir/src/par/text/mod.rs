//! The textual form of a program: [`print`](fn@print) writes all of it but positions, [`read`](fn@read) reads it back.
//!
//! ```text
//! struct Best { v: float, i: int }
//! fn mid(a, b) -> uint contract { vars { a: uint input; b: uint input; } return (a + ((b - a) /? 2:uint)); }
//! func f(A, s) dims (N) contract {
//!   vars { N: long dim; A: float[N] input; s: float output; i: long iter; t: float local; }
//!   map (i = 0 .. N by 1) { declare t zero; t = A[i?]; } fold reduce "+" float neutral 0.0:float value t over (i) into s;
//! }
//! entries (f)
//! ```
//!
//! - A name stands alone where it is unique, else as `name%3`, the number of the variable, function or struct.
//! - Constants are `long` or `double` unless a type follows: `3`, `3:int`, `0.5`, `0.5:float`.
//! - `?` marks what is still to be checked: `A[i?]`, `(a /? b)`, `int?(n)`. `A~[i]` is a shared access, `@0` a field.
//! - A row of an array is `A{prefix…; offset, len}`.
//! - Types of other expressions follow from their operands, so only a program that verifies reads back.

use super::{BinOp, FaultKind, FoldFn, MathFn, UnOp, VarKind};
use hidp_syntax::ast::{Direction, Level};
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::prim::Prim;
use hidp_syntax::ty::Scalar;

mod hidp;
mod lex;
mod print;
mod read;
mod read_body;
mod read_expr;
#[cfg(test)]
mod tests;

pub use hidp::{hidp_expr, hidp_operator};
pub use print::print;
pub use read::{ReadError, read};

/// Words of the form itself: a variable of such a name is always written with its number.
const WORDS: &[&str] = &[
    "array",
    "at",
    "atomic",
    "block",
    "bounds",
    "break",
    "by",
    "call",
    "continue",
    "contract",
    "count",
    "declare",
    "dim",
    "dims",
    "dir",
    "doc",
    "element",
    "else",
    "entries",
    "false",
    "fault",
    "field",
    "fn",
    "fold",
    "func",
    "if",
    "in",
    "inf",
    "into",
    "iter",
    "leave",
    "levels",
    "local",
    "loop",
    "map",
    "nan",
    "native",
    "neutral",
    "new",
    "op",
    "ordered",
    "out",
    "over",
    "pivot",
    "pivots",
    "predicate",
    "prim",
    "range",
    "regular",
    "require",
    "result",
    "return",
    "scalar",
    "scope",
    "section",
    "segment",
    "select",
    "step",
    "struct",
    "swap",
    "true",
    "unchecked",
    "unordered",
    "unroll",
    "value",
    "values",
    "vars",
    "vectors",
    "whole",
    "zero",
    "input",
    "output",
    "inout",
    "neg",
    "not",
    "bitnot",
];

fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_reserved(name: &str) -> bool {
    WORDS.contains(&name) || Scalar::from_name(name).is_some() || MathFn::ALL.iter().any(|f| f.name() == name)
}

/// How each item of an arena is written.
fn written_names<I: Id, T>(items: &Arena<I, T>, name_of: impl Fn(&T) -> &str) -> Vec<String> {
    let names: Vec<&str> = items.iter().map(|(_, item)| name_of(item)).collect();
    let mut times = hidp_syntax::ordered::OrdMap::new();
    names.iter().for_each(|name| *times.entry(*name).or_insert(0) += 1);
    let write = |(at, name): (usize, &&str)| match (is_plain(name), times[name] == 1 && !is_reserved(name)) {
        (true, true) => (*name).to_string(),
        (true, false) => format!("{name}%{at}"),
        (false, _) => format!("{name:?}%{at}"),
    };
    names.iter().enumerate().map(write).collect()
}

/// Two-way tables between the enumerations and their words.
trait Word: Copy + PartialEq + 'static {
    const ALL: &'static [(Self, &'static str)];
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(value, _)| *value == self).map_or("?", |(_, word)| word)
    }
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
    }
}

impl Word for BinOp {
    const ALL: &'static [(Self, &'static str)] = &[
        (BinOp::Add, "+"),
        (BinOp::Sub, "-"),
        (BinOp::Mul, "*"),
        (BinOp::Div, "/"),
        (BinOp::Rem, "%"),
        (BinOp::And, "&"),
        (BinOp::Or, "|"),
        (BinOp::Xor, "^"),
        (BinOp::Shl, "<<"),
        (BinOp::Shr, ">>"),
        (BinOp::Lt, "<"),
        (BinOp::Le, "<="),
        (BinOp::Gt, ">"),
        (BinOp::Ge, ">="),
        (BinOp::Eq, "=="),
        (BinOp::Ne, "!="),
    ];
}

impl Word for UnOp {
    const ALL: &'static [(Self, &'static str)] = &[(UnOp::Neg, "neg"), (UnOp::Not, "not"), (UnOp::BitNot, "bitnot")];
}

impl Word for Prim {
    const ALL: &'static [(Self, &'static str)] = &[
        (Prim::Min, "min"),
        (Prim::Max, "max"),
        (Prim::Reduce, "reduce"),
        (Prim::Scan, "scan"),
        (Prim::Exscan, "exscan"),
        (Prim::Sort, "sort"),
        (Prim::Partition, "partition"),
        (Prim::Reverse, "reverse"),
        (Prim::ReverseInplace, "reverse_inplace"),
        (Prim::Histogram, "histogram"),
    ];
}

impl Word for super::FoldKind {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Reduce, "reduce"), (Self::Scan, "scan"), (Self::Exscan, "exscan")];
}

impl Word for Level {
    const ALL: &'static [(Self, &'static str)] = &[
        (Level::Kernel, "kernel"),
        (Level::Block, "block"),
        (Level::Warp, "warp"),
        (Level::Subwarp, "subwarp"),
        (Level::Subwarp2, "subwarp2"),
        (Level::Thread, "thread"),
    ];
}

impl Word for VarKind {
    const ALL: &'static [(Self, &'static str)] = &[
        (VarKind::Dim, "dim"),
        (VarKind::Param(Direction::Input), "input"),
        (VarKind::Param(Direction::Output), "output"),
        (VarKind::Param(Direction::Inout), "inout"),
        (VarKind::Local, "local"),
        (VarKind::Iter, "iter"),
    ];
}

impl Word for FaultKind {
    const ALL: &'static [(Self, &'static str)] = &[
        (FaultKind::Index, "Index"),
        (FaultKind::Segment, "Segment"),
        (FaultKind::Shape, "Shape"),
        (FaultKind::Stride, "Stride"),
        (FaultKind::NegativeSize, "NegativeSize"),
        (FaultKind::DivisionByZero, "DivisionByZero"),
        (FaultKind::Shift, "Shift"),
        (FaultKind::Narrowing, "Narrowing"),
        (FaultKind::EmptyFold, "EmptyFold"),
        (FaultKind::Allocation, "Allocation"),
        (FaultKind::SizeOverflow, "SizeOverflow"),
        (FaultKind::HistogramKey, "HistogramKey"),
        (FaultKind::SortDirection, "SortDirection"),
        (FaultKind::SegmentOverlap, "SegmentOverlap"),
    ];
}

/// The built-in operators.
const OPERATORS: &[(FoldFn, &str)] = &[
    (FoldFn::Add, "+"),
    (FoldFn::Mul, "*"),
    (FoldFn::Min, "min"),
    (FoldFn::Max, "max"),
    (FoldFn::And, "&"),
    (FoldFn::Or, "|"),
    (FoldFn::Xor, "^"),
];

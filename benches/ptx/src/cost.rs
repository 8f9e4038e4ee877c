//! What instructions of PTX take when they have become machine code: issue slots of a warp, and cycles until a result is there.
//!
//! ptxas chooses; these are the lengths of what it makes of them for sm_90 as its listings show: registers are 32 bits wide, so sums of 64 bits are two instructions; quotients
//! and roots that are rounded are short functions. The same numbers hold for every program that is compared.

use crate::instr::{Kind, Named, Op, Operand, Part, Type};
use crate::text::is_free;
use crate::values::{Binary, Unary};

/// Cycles from an instruction to the next that needs its result.
pub(crate) const DEPENDENT: u64 = 4;
/// The same of loads from shared memory, from what the multiprocessor holds already, and from the second-level cache.
pub(crate) const SHARED: u64 = 30;
pub(crate) const NEAR: u64 = 38;
pub(crate) const SECOND: u64 = 270;
/// Cycles of a barrier, a shuffle or a vote.
pub(crate) const MEETING: u64 = 25;

pub(crate) fn slots(named: &Named, sources: &[Operand]) -> u32 {
    let Named { op, ty, .. } = named;
    if is_free(op, *ty, sources) {
        return 0;
    }
    let is_wide = ty.bits == 64 && !ty.is_float();
    match op {
        Op::Binary(Binary::Divide) => quotient(*ty, sources),
        Op::Binary(Binary::Remainder) => quotient(*ty, sources) + 2,
        Op::Unary(Unary::Root) => {
            if ty.bits == 64 {
                24
            } else {
                9
            }
        }
        Op::Unary(Unary::Inverse) => {
            if ty.bits == 64 {
                14
            } else {
                6
            }
        }
        Op::Binary(Binary::Least | Binary::Most) if is_wide => 4,
        Op::Product(Part::Wide) | Op::ProductSum(Part::Wide) => 1,
        Op::Product(_) if is_wide => 3,
        Op::ProductSum(_) if is_wide => 4,
        Op::Binary(_) | Op::Unary(_) | Op::Compare { .. } | Op::Select if is_wide => 2,
        Op::Convert { from, .. } if is_widening(*from, *ty) => 0,
        _ => 1,
    }
}

/// Integers that are 64 bits wide afterwards have a zero or sign above them, which sums take as it is.
fn is_widening(from: Type, to: Type) -> bool {
    !from.is_float() && !to.is_float() && from.kind == Kind::Unsigned && to.bits >= from.bits && from.bits >= 32
        || (to.bits == 32 && from.bits == 64 && !from.is_float() && !to.is_float())
}

fn quotient(ty: Type, sources: &[Operand]) -> u32 {
    let is_constant = matches!(sources.last(), Some(Operand::Value(_)));
    match (ty.is_float(), ty.bits) {
        (true, 64) => 18,
        (true, _) => 10,
        (false, 64) => {
            if is_constant {
                12
            } else {
                75
            }
        }
        (false, _) => {
            if is_constant {
                3
            } else {
                20
            }
        }
    }
}

/// Cycles for which an instruction keeps its part of the multiprocessor, where that is longer than it takes to issue it: such parts have fewer lanes than warps.
pub(crate) fn held(op: &Op, ty: Type) -> u64 {
    match op {
        Op::Unary(
            Unary::Root
            | Unary::Inverse
            | Unary::InverseRoot
            | Unary::Power2
            | Unary::Logarithm2
            | Unary::Sine
            | Unary::Cosine
            | Unary::Tanh,
        )
        | Op::Binary(Binary::Divide)
            if ty.is_float() && ty.bits == 32 =>
        {
            8
        }
        Op::Convert { from, .. } if from.is_float() != ty.is_float() => 2,
        Op::FusedSum | Op::Binary(_) | Op::Compare { .. } | Op::Unary(_) if ty.is_float() && ty.bits == 64 => 2,
        _ => 0,
    }
}

//! Conversions that machine code does not have. A load of 8 or 16 bits puts zeros or signs above them; PTX loads into a register of 16 bits, which it then converts and masks.

use std::collections::HashMap;

use crate::instr::{Instr, Kind, Op, Operand, Space, Type};
use crate::values::Binary;

/// Takes the issue slots from them.
pub(crate) fn free(code: &mut [Instr]) {
    let mut written: HashMap<usize, u32> = HashMap::new();
    code.iter().flat_map(|instr| &instr.targets).for_each(|target| *written.entry(*target).or_default() += 1);
    // What registers hold of memory that are written at one place.
    let mut loaded: HashMap<usize, Type> = HashMap::new();
    for instr in code {
        let [target] = instr.targets[..] else { continue };
        let of = if is_narrow_load(instr) { Some(instr.ty) } else { widened(instr, &loaded) };
        let Some(of) = of.filter(|_| written[&target] == 1) else { continue };
        loaded.insert(target, of);
        if !is_narrow_load(instr) {
            instr.slots = 0;
        }
    }
}

fn is_narrow_load(instr: &Instr) -> bool {
    let is_narrow = instr.ty.bits < 32 && matches!(instr.ty.kind, Kind::Unsigned | Kind::Signed | Kind::Bits);
    is_narrow && matches!(instr.op, Op::Load { space, .. } if space != Space::Param)
}

/// What was loaded, if an instruction makes the same number of it.
fn widened(instr: &Instr, loaded: &HashMap<usize, Type>) -> Option<Type> {
    let Some(Operand::Register(source)) = instr.sources.first() else { return None };
    let of = *loaded.get(source)?;
    let is_signed = of.kind == Kind::Signed;
    let is_same = match (&instr.op, &instr.sources[1..]) {
        (Op::Convert { from, .. }, _) => {
            let keeps = from.bits >= of.bits && instr.ty.bits >= of.bits && !instr.ty.is_float() && !from.is_float();
            keeps && instr.ty.bits <= 32 && (from.kind == Kind::Signed) == is_signed
        }
        (Op::Binary(Binary::And), [Operand::Value(mask)]) => !is_signed && *mask == (1 << of.bits) - 1,
        _ => false,
    };
    is_same.then_some(of)
}

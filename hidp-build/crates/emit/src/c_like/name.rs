//! Names in printed code: readable, unique, and never a word or macro of C++.

use hidp_ir::imp::{Entry, KernelId, Unit};
use hidp_ir::par::{Program, ScalarFnId};
use hidp_syntax::index::Id;
use hidp_syntax::ty::{Scalar, StructId, Ty};

/// `name_7`: no keyword has this form. Macros with an underscore are in capitals, so such names lose theirs.
pub fn var(name: &str, id: impl Id) -> String {
    format!("{}_{}", stem(name), id.index())
}

fn stem(name: &str) -> String {
    let safe: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let safe = safe.trim_matches('_');
    let mut result = String::new();
    for c in safe.chars() {
        if !(c == '_' && result.ends_with('_')) {
            result.push(c);
        }
    }
    if result.is_empty() || result.starts_with(|c: char| c.is_ascii_digit()) {
        result.insert(0, 'v');
    }
    if result.contains('_') { result.to_lowercase() } else { result }
}

/// A scalar type.
pub const fn scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "int8_t",
        Scalar::U8 => "uint8_t",
        Scalar::I16 => "int16_t",
        Scalar::U16 => "uint16_t",
        Scalar::I32 => "int32_t",
        Scalar::U32 => "uint32_t",
        Scalar::I64 => "int64_t",
        Scalar::U64 => "uint64_t",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// A type.
pub fn ty(program: &Program, ty: Ty) -> String {
    match ty {
        Ty::Scalar(s) => scalar(s).to_owned(),
        Ty::Struct(id) => structure(program, id),
    }
}

/// A struct type; native ones keep their name.
pub fn structure(program: &Program, id: StructId) -> String {
    let structure = &program.structs[id];
    if structure.native { format!("::{}", structure.name) } else { var(&structure.name, id) }
}

/// A field; those of native structs keep their name.
pub fn field(program: &Program, id: StructId, position: u32) -> String {
    let structure = &program.structs[id];
    let name = &structure.fields[position as usize].0;
    if structure.native { name.clone() } else { format!("{}_{position}", stem(name)) }
}

/// `.a_0.b_1` for a path of field positions that starts in a value of type `ty`.
pub fn path(program: &Program, mut ty: Ty, path: &[u32]) -> String {
    let mut text = String::new();
    for &position in path {
        let Ty::Struct(id) = ty else { break };
        text.push('.');
        text.push_str(&field(program, id, position));
        ty = program.structs[id].fields[position as usize].1;
    }
    text
}

/// The type at the end of a path.
pub fn path_ty(program: &Program, mut ty: Ty, path: &[u32]) -> Ty {
    for &position in path {
        let Ty::Struct(id) = ty else { break };
        ty = program.structs[id].fields[position as usize].1;
    }
    ty
}

/// A scalar function; native ones keep their name.
pub fn scalar_fn(program: &Program, id: ScalarFnId) -> String {
    let function = &program.scalar_fns[id];
    if function.body.is_none() { format!("::{}", function.name) } else { var(&function.name, id) }
}

/// The function object of a scalar function.
pub fn functor(program: &Program, id: ScalarFnId) -> String {
    format!("{}_op", var(&program.scalar_fns[id].name, id))
}

/// A kernel: unique in the entry.
pub fn kernel(unit: &Unit, id: KernelId) -> String {
    let role = unit.kernels.get(id).map_or("kernel", |kernel| kernel.name.as_str());
    format!("{}_{}_k{}", symbol(&unit.plan), symbol(role), id.index())
}

/// The same with `int`s.
pub fn narrow_kernel(unit: &Unit, id: KernelId) -> String {
    kernel(unit, id) + "_narrow"
}

/// What is launched of a kernel but for sizes that `int`s do not hold.
pub fn usual_kernel(unit: &Unit, id: KernelId) -> String {
    match unit.kernels.get(id).and_then(|kernel| kernel.narrow.as_ref()) {
        Some(_) => narrow_kernel(unit, id),
        None => kernel(unit, id),
    }
}

/// The kernel that does several launches of blocks of this size.
pub fn joined(unit: &Unit, block: u32) -> String {
    format!("{}_joined{block}", symbol(&unit.plan))
}

/// A version's host function, without the instruction set that `HIDP_SYMBOL` appends.
pub fn host(entry: &Entry, unit: &Unit) -> String {
    format!("hidp2_{}_{}", symbol(&entry.symbol), symbol(&unit.plan))
}

/// A part of a symbol: letters, digits and underscores only.
pub fn symbol(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_ir::imp::VarId;

    #[test]
    fn names_are_unique_and_no_words_of_the_language() {
        let name = |text: &str, id: usize| var(text, VarId::new(id));
        assert_eq!(name("A", 3), "A_3");
        assert_eq!(name("_c0", 1), "c0_1");
        assert_eq!(name("int", 1), "int_1");
        assert_eq!(name("a__b_", 1), "a_b_1");
        assert_eq!(name("M_SQRT1", 2), "m_sqrt1_2");
        assert_eq!(name("", 0), "v_0");
        assert_eq!(name("3d", 0), "v3d_0");
        assert_ne!(name("x_1", 2), name("x", 12));
    }
}

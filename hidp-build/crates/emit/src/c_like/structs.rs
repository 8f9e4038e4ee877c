//! Struct types and their relaxed accesses, field by field.

use super::memory::access_function;
use super::name;
use super::text::Text;
use hidp_ir::par::Program;
use hidp_ir::par::layout::layout;
use hidp_syntax::ty::StructId;

/// The definition of a struct, unless it is native.
pub fn definition(program: &Program, id: StructId, out: &mut Text) {
    let structure = &program.structs[id];
    let ty = name::structure(program, id);
    let fields: Vec<_> = (0..structure.fields.len() as u32).map(|at| name::field(program, id, at)).collect();
    if structure.native {
        same_layout(program, id, out);
    } else {
        out.open(format!("struct {ty} {{"));
        for (field, (_, field_ty)) in fields.iter().zip(&structure.fields) {
            out.line(format!("{} {field};", name::ty(program, *field_ty)));
        }
        out.close("};");
    }
}

/// The functions that access one relaxed, in memory of C.
pub fn accesses(program: &Program, id: StructId, out: &mut Text) {
    let structure = &program.structs[id];
    let ty = name::structure(program, id);
    let fields: Vec<_> = (0..structure.fields.len() as u32).map(|at| name::field(program, id, at)).collect();
    out.open(format!("inline {ty} load_relaxed(const {ty} *address) {{"));
    let loads = fields
        .iter()
        .zip(&structure.fields)
        .map(|(field, (_, field_ty))| format!("{}(&address->{field})", access_function("load", *field_ty)));
    out.line(format!("return {ty}{{{}}};", loads.collect::<Vec<_>>().join(", ")));
    out.close("}");
    out.open(format!("inline void store_relaxed({ty} *address, {ty} value) {{"));
    for (field, (_, field_ty)) in fields.iter().zip(&structure.fields) {
        out.line(format!("{}(&address->{field}, value.{field});", access_function("store", *field_ty)));
    }
    out.close("}");
}

/// The header must say what the Rust type was made from.
fn same_layout(program: &Program, id: StructId, out: &mut Text) {
    let ty = name::structure(program, id);
    let layout = layout(program, &program.structs[id]);
    let (size, align) = (layout.size, layout.align);
    out.line(format!("static_assert(sizeof({ty}) == {size} && alignof({ty}) == {align}, \"the Rust type differs\");"));
    for (at, offset) in layout.offsets.iter().enumerate() {
        let field = name::field(program, id, at as u32);
        out.line(format!("static_assert(__builtin_offsetof({ty}, {field}) == {offset}, \"the Rust type differs\");"));
    }
}

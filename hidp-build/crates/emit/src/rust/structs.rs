//! Structs of the program as Rust types of the same layout.

use super::Options;
use super::names::{identifier, snake_case};
use super::signature::rust_type;
use super::text::Text;
use hidp_ir::par::layout::layout;
use hidp_ir::par::{Program, Struct};

pub(super) fn print(program: &Program, options: &Options<'_>, stem: &str, item: &Struct, text: &mut Text) {
    text.doc(&super::doc::comment(&item.doc));
    text.line(format!("/// `struct {}` of the {}.", item.name, if item.native { "C header" } else { "program" }));
    let camel_case = item.name.starts_with(char::is_uppercase) && !item.name.contains('_');
    let snake_fields = item.fields.iter().all(|(name, _)| snake_case(name) == *name);
    let lints = [(camel_case, "non_camel_case_types"), (snake_fields, "non_snake_case")];
    for (_, lint) in lints.iter().filter(|(holds, _)| !holds) {
        text.line(format!("#[allow({lint})]"));
    }
    text.line("#[repr(C)]");
    text.line("#[derive(Clone, Copy, Debug, Default, PartialEq)]");
    text.nest(format!("pub struct {} {{", identifier(&item.name)), "}", |text| {
        for (name, ty) in &item.fields {
            let ty = rust_type(program, options, stem, *ty);
            text.line(format!("/// `{name}`"));
            text.line(format!("pub {}: {ty},", identifier(name)));
        }
    });
    text.line("// SAFETY: its fields are numbers, `bool`s and such structs, of which all bits zero are values.");
    text.line(format!("unsafe impl ::hidp_std::Zeroed for {} {{}}", identifier(&item.name)));
    if item.native {
        same_layout(program, item, text);
    }
}

/// The type must lie in memory as the header's does.
fn same_layout(program: &Program, item: &Struct, text: &mut Text) {
    let layout = layout(program, item);
    let name = identifier(&item.name);
    text.nest("const _: () = {", "};", |text| {
        let (size, align) = (layout.size, layout.align);
        text.line(format!("assert!(size_of::<{name}>() == {size} && align_of::<{name}>() == {align});"));
        for ((field, _), offset) in item.fields.iter().zip(&layout.offsets) {
            let field = identifier(field);
            text.line(format!("assert!(::core::mem::offset_of!({name}, {field}) == {offset});"));
        }
    });
}

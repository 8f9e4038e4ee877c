//! Reads the structs of C headers, with bindgen.

use std::any::Any;
use std::panic;
use std::path::{Path, PathBuf};

use syn::{Expr, Item, Lit, Stmt, Type};

use crate::compiler::pipeline::{NativeField, NativeStruct, NativeType};
use crate::report::Problem;
use hidp_syntax::diag::Code;
use hidp_syntax::ty::Scalar;

/// The structs of these names, as far as the headers define them.
pub(crate) fn structs(
    root: &Path,
    include: &[PathBuf],
    headers: &[PathBuf],
    names: &[String],
) -> Result<Vec<NativeStruct>, Problem> {
    let windows = crate::cargo::target().contains("windows");
    read(&bindings(root, include, headers, names)?, names, windows)
        .map_err(|why| Problem::new(Code::HeaderNotRead, format!("what bindgen wrote is no Rust: {why}")))
}

/// Reads what bindgen wrote.
fn read(text: &str, names: &[String], windows: bool) -> syn::Result<Vec<NativeStruct>> {
    let file = syn::parse_file(text)?;
    let reader = Reader { items: &file.items, asserted: asserted(&file.items), windows };
    Ok(names.iter().filter_map(|name| reader.structure(name)).collect())
}

fn bindings(root: &Path, include: &[PathBuf], headers: &[PathBuf], names: &[String]) -> Result<String, Problem> {
    let mut builder = bindgen::Builder::default()
        .clang_args(["-iquote".to_owned(), root.display().to_string()])
        .default_enum_style(bindgen::EnumVariation::Rust { non_exhaustive: false })
        .derive_debug(false)
        .layout_tests(true)
        .generate_comments(false);
    for folder in include {
        builder = builder.clang_args(["-I".to_owned(), folder.display().to_string()]);
    }
    for header in headers {
        builder = builder.header(root.join(header).display().to_string());
    }
    for name in names {
        builder = builder.allowlist_type(format!("^{name}$"));
    }
    let failed = |why: &str| {
        Problem::new(Code::HeaderNotRead, "bindgen cannot read the native headers")
            .note(why.trim())
            .help("libclang is looked for where `LIBCLANG_PATH` says: `apt install libclang-dev`, `dnf install clang-devel` or `brew install llvm` brings it")
    };
    match without_panic(move || builder.generate()) {
        Ok(Ok(bindings)) => Ok(bindings.to_string()),
        Ok(Err(error)) => Err(failed(&error.to_string())),
        Err(why) => Err(failed(&why)),
    }
}

/// bindgen panics where it finds no libclang.
fn without_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = panic::catch_unwind(panic::AssertUnwindSafe(work));
    panic::set_hook(hook);
    result.map_err(|payload: Box<dyn Any + Send>| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned()
    })
}

struct Reader<'a> {
    items: &'a [Item],
    asserted: Vec<(String, usize)>,
    windows: bool,
}

impl Reader<'_> {
    fn structure(&self, name: &str) -> Option<NativeStruct> {
        let own = self.resolved(name);
        let found = self.items.iter().find_map(|item| match item {
            Item::Struct(item) if item.ident == own => Some(item),
            _ => None,
        })?;
        let known = |what: &str| self.asserted.iter().find(|(text, _)| text == what).map(|(_, value)| *value);
        let size = known(&format!("Size of {own}"));
        let fields = found.fields.iter().filter_map(|field| {
            let ident = field.ident.as_ref()?.to_string();
            let offset = known(&format!("Offset of field: {own}::{ident}")).unwrap_or_default();
            // Bit fields come as one field of this name; a struct without definition has a field without size.
            let ty = if ident.starts_with("_bitfield") { other("a bit field") } else { self.ty(&field.ty) };
            Some(NativeField { name: name_in_c(&ident), ty, offset })
        });
        let fields = if size.is_some() { fields.collect() } else { Vec::new() };
        let align = known(&format!("Alignment of {own}")).unwrap_or_default();
        Some(NativeStruct { name: name.to_owned(), fields, size: size.unwrap_or_default(), align })
    }

    /// The name at the end of a chain of `typedef`s.
    fn resolved(&self, name: &str) -> String {
        let mut name = name.to_owned();
        for _ in 0..self.items.len() {
            match self.alias(&name).and_then(last_name) {
                Some(next) => name = next,
                None => break,
            }
        }
        name
    }

    fn alias(&self, name: &str) -> Option<&Type> {
        self.items.iter().find_map(|item| match item {
            Item::Type(item) if item.ident == name => Some(&*item.ty),
            _ => None,
        })
    }

    fn ty(&self, ty: &Type) -> NativeType {
        match ty {
            Type::Ptr(_) => return other("a pointer"),
            Type::Array(_) => return other("an array"),
            _ => {}
        }
        let Some(name) = last_name(ty) else { return other("of a type without name") };
        if let Some(scalar) = self.scalar(&name) {
            return NativeType::Scalar(scalar);
        }
        if name == "Option" {
            return other("a pointer to a function");
        }
        if let Some(aliased) = self.alias(&name) {
            // A `typedef` of a struct means a struct by its own name; the program may know it by either.
            return match self.ty(aliased) {
                NativeType::Struct(_) => NativeType::Struct(name),
                found => found,
            };
        }
        let found = self.items.iter().find_map(|item| match item {
            Item::Struct(item) if item.ident == name => Some(NativeType::Struct(name.clone())),
            Item::Union(item) if item.ident == name => Some(other("a union")),
            Item::Enum(item) if item.ident == name => Some(other("an enum")),
            _ => None,
        });
        found.unwrap_or_else(|| other(&format!("a `{name}`")))
    }

    fn scalar(&self, name: &str) -> Option<Scalar> {
        let long = |wide, narrow| if self.windows { narrow } else { wide };
        Some(match name {
            "c_char" | "c_schar" => Scalar::I8,
            "c_uchar" => Scalar::U8,
            "c_short" => Scalar::I16,
            "c_ushort" => Scalar::U16,
            "c_int" => Scalar::I32,
            "c_uint" => Scalar::U32,
            "c_long" => long(Scalar::I64, Scalar::I32),
            "c_ulong" => long(Scalar::U64, Scalar::U32),
            "c_longlong" | "isize" => Scalar::I64,
            "c_ulonglong" | "usize" => Scalar::U64,
            "bool" | "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64" | "f32" | "f64" => {
                return Scalar::from_name(name);
            }
            _ => return None,
        })
    }
}

fn other(what: &str) -> NativeType {
    NativeType::Other(what.to_owned())
}

fn last_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// bindgen appends an underscore to the words of Rust.
fn name_in_c(ident: &str) -> String {
    let plain = ident.strip_suffix('_').filter(|plain| syn::parse_str::<syn::Ident>(plain).is_err());
    plain.unwrap_or(ident).to_owned()
}

/// What bindgen's layout tests say: `["Size of P"][size_of::<P>() - 16usize];`
fn asserted(items: &[Item]) -> Vec<(String, usize)> {
    let blocks = items.iter().filter_map(|item| match item {
        Item::Const(item) => match &*item.expr {
            Expr::Block(block) => Some(&block.block.stmts),
            _ => None,
        },
        _ => None,
    });
    blocks.flatten().filter_map(assertion).collect()
}

fn assertion(stmt: &Stmt) -> Option<(String, usize)> {
    let Stmt::Expr(Expr::Index(index), _) = stmt else { return None };
    let (Expr::Array(array), Expr::Binary(difference)) = (&*index.expr, &*index.index) else { return None };
    let (Expr::Lit(text), Expr::Lit(value)) = (array.elems.first()?, &*difference.right) else { return None };
    let (Lit::Str(text), Lit::Int(value)) = (&text.lit, &value.lit) else { return None };
    Some((text.value(), value.base10_parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, names: &[&str]) -> Vec<NativeStruct> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        read(text, &names, false).expect("this is Rust")
    }

    #[test]
    fn fields_and_layout_are_read() {
        let text = r#"
            #[repr(C)]
            pub struct pair { pub a: ::std::os::raw::c_long, pub type_: bool, pub inner: Alias }
            const _: () = {
                ["Size of pair"][::std::mem::size_of::<pair>() - 24usize];
                ["Alignment of pair"][::std::mem::align_of::<pair>() - 8usize];
                ["Offset of field: pair::a"][::std::mem::offset_of!(pair, a) - 0usize];
                ["Offset of field: pair::type_"][::std::mem::offset_of!(pair, type_) - 8usize];
                ["Offset of field: pair::inner"][::std::mem::offset_of!(pair, inner) - 16usize];
            };
            pub type Pair = pair;
            pub type Alias = Other;
            pub struct Other { pub x: f64 }
        "#;
        let field = |name: &str, ty, offset| NativeField { name: name.into(), ty, offset };
        let expected = NativeStruct {
            name: "Pair".into(),
            fields: vec![
                field("a", NativeType::Scalar(Scalar::I64), 0),
                field("type", NativeType::Scalar(Scalar::Bool), 8),
                field("inner", NativeType::Struct("Alias".into()), 16),
            ],
            size: 24,
            align: 8,
        };
        assert_eq!(found(text, &["Pair", "Absent"]), [expected]);
    }

    #[test]
    fn fields_that_hidp_has_no_type_for_are_named() {
        let text = r#"
            pub struct S {
                pub a: *mut f32, pub b: [f32; 3usize], pub c: U, pub d: E, pub e: Option<unsafe extern "C" fn()>,
                pub _bitfield_1: __BindgenBitfieldUnit<[u8; 1usize]>, pub f: u128,
            }
            const _: () = { ["Size of S"][::std::mem::size_of::<S>() - 64usize]; };
            pub union U { pub x: f32 }
            pub enum E { A = 0 }
        "#;
        let fields = found(text, &["S"]).remove(0).fields;
        let whats: Vec<&str> = fields
            .iter()
            .map(|field| match &field.ty {
                NativeType::Other(what) => what.as_str(),
                found => panic!("{found:?}"),
            })
            .collect();
        let expected =
            ["a pointer", "an array", "a union", "an enum", "a pointer to a function", "a bit field", "a `u128`"];
        assert_eq!(whats, expected);
    }

    #[test]
    fn panics_become_texts() {
        assert_eq!(without_panic(|| 1), Ok(1));
        assert_eq!(without_panic(|| -> i32 { panic!("no {}", "library") }), Err("no library".into()));
    }
}

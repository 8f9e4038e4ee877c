//! `extern struct`: the shell reads the headers and hands over what it found there as data.

use super::{Options, PipelineInput};
use hidp_check::SourceUnit;
use hidp_ir::par::Program;
use hidp_ir::par::layout::{Layout, layout};
use hidp_syntax as syntax;
use hidp_syntax::ast::{Field, Ident, Item, StructItem, TypeName};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::ty::Scalar;

/// A struct that a header defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeStruct {
    /// Name.
    pub name: String,
    /// Fields in order.
    pub fields: Vec<NativeField>,
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
}

/// A field of a native struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeField {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: NativeType,
    /// Where it begins, in bytes.
    pub offset: usize,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeType {
    /// A number or truth value.
    Scalar(Scalar),
    /// A struct of the headers.
    Struct(String),
    /// What HiDP has no type for: `a pointer`.
    Other(String),
}

/// The names of the extern structs of a build.
pub fn named_structs(input: &PipelineInput) -> Vec<String> {
    let mut names = Vec::new();
    for file in &input.files {
        // Errors are reported when the file is compiled.
        let file = syntax::parse(&input.sources, file.id, &mut Sink::new());
        names.extend(file.items.iter().filter_map(|item| match item {
            Item::Struct(item) if item.native => Some(item.name.name.clone()),
            _ => None,
        }));
    }
    names.sort();
    names.dedup();
    names
}

/// Gives the extern structs the fields that their header has.
pub(super) fn complete(units: &mut [SourceUnit], options: &Options, sink: &mut Sink) {
    let named: Vec<String> =
        units.iter_mut().flat_map(|unit| natives(&mut unit.ast.items)).map(|item| item.name.name.clone()).collect();
    for item in units.iter_mut().flat_map(|unit| natives(&mut unit.ast.items)) {
        match fields(item, &named, options) {
            Ok(fields) => item.fields = fields,
            Err(diagnostic) => sink.push(*diagnostic),
        }
    }
}

fn natives(items: &mut [Item]) -> impl Iterator<Item = &mut StructItem> {
    items.iter_mut().filter_map(|item| match item {
        Item::Struct(item) if item.native => Some(item),
        _ => None,
    })
}

fn fields(item: &StructItem, named: &[String], options: &Options) -> Result<Vec<Field>, Box<Diagnostic>> {
    let (name, span) = (&item.name.name, item.name.span);
    let error = |code: Code, headline: String| Diagnostic::new(code, span, headline);
    let rejected = |diagnostic: Diagnostic| Err(Box::new(diagnostic));
    if options.native_headers.is_empty() {
        return rejected(
            error(Code::HeaderNotNamed, format!("no header declares the extern struct `{name}`"))
                .help("name its header in the build script: `hidp_build::Builder::header(\"src/native.h\")`"),
        );
    }
    let Some(found) = &options.native_structs else {
        let version = env!("CARGO_PKG_VERSION");
        return rejected(
            error(Code::NativeStruct, format!("reading the fields of `{name}` needs the feature `bindgen`"))
                .label("its fields stand in a C header")
                .note("the feature needs libclang, which nothing else does")
                .help(format!(
                    "enable it in `Cargo.toml`: `hidp-build = {{ version = \"{version}\", features = [\"bindgen\"] }}`"
                ))
                .help("or declare the struct with its fields: its Rust type has the layout of C"),
        );
    };
    let Some(found) = found.iter().find(|found| found.name == *name) else {
        return rejected(
            error(Code::NativeStruct, format!("the headers define no struct `{name}`"))
                .label("not found")
                .note(format!("the build script names {}", listed(&options.native_headers))),
        );
    };
    if found.fields.is_empty() {
        return rejected(
            error(Code::NativeStruct, format!("the extern struct `{name}` has no fields"))
                .label("empty, or not defined where it is declared"),
        );
    }
    found.fields.iter().map(|field| completed(item, field, named)).collect()
}

fn completed(item: &StructItem, field: &NativeField, named: &[String]) -> Result<Field, Box<Diagnostic>> {
    let span = item.name.span;
    let rejected = |diagnostic: Diagnostic| Err(Box::new(diagnostic));
    let about = format!("field `{}` of the extern struct `{}`", field.name, item.name.name);
    let ty = match &field.ty {
        NativeType::Scalar(scalar) => scalar.hidp_name().to_owned(),
        NativeType::Struct(inner) if named.contains(inner) => inner.clone(),
        NativeType::Struct(inner) => {
            return rejected(
                Diagnostic::new(Code::NativeStruct, span, format!("{about} is a struct that is not declared"))
                    .label(format!("holds a `{inner}`"))
                    .help(format!("declare it too: `extern struct {inner};`")),
            );
        }
        NativeType::Other(what) => {
            return rejected(
                Diagnostic::new(Code::NativeStruct, span, format!("{about} is {what}"))
                    .label("HiDP has no such fields")
                    .help("keep the struct on the C side, and hand its parts to native functions"),
            );
        }
    };
    let name = Ident { name: field.name.clone(), span };
    Ok(Field { ty: TypeName { name: ty, span }, name })
}

fn listed(headers: &[String]) -> String {
    headers.iter().map(|header| format!("`{header}`")).collect::<Vec<_>>().join(", ")
}

/// Native structs lie in memory as their fields say: neither packed nor aligned by an attribute.
pub(super) fn check_layouts(program: &Program, options: &Options, sink: &mut Sink) {
    for (_, item) in program.structs.iter().filter(|(_, item)| item.native) {
        let found = options.native_structs.iter().flatten().find(|found| found.name == item.name);
        let Some(found) = found else { continue };
        let offsets = found.fields.iter().map(|field| field.offset).collect();
        let native = Layout { size: found.size, align: found.align, offsets };
        let expected = layout(program, item);
        if native != expected {
            let headline = format!("the extern struct `{}` is packed or aligned by an attribute", item.name);
            sink.push(
                Diagnostic::new(Code::NativeStruct, item.span, headline)
                    .label(format!("{} bytes, aligned to {}", native.size, native.align))
                    .note(format!(
                        "its fields alone would make {} bytes, aligned to {}",
                        expected.size, expected.align
                    )),
            );
        }
    }
}

#[cfg(test)]
mod tests;

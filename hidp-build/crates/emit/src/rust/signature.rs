//! How an entry's parameters are passed in Rust.

use super::extent;
use super::names::{Names, identifier, snake_case};
use super::{EntryInfo, Options};
use hidp_ir::par::{Program, Var, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::source::SourceMap;
use hidp_syntax::ty::{Scalar, StructId, Ty};

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// A scalar that is read: by value.
    Value,
    /// A scalar that is read and written: by `&mut`.
    Reference,
    /// A scalar that is only written: returned.
    Result,
    /// An array of this rank.
    View(usize),
}

/// A parameter.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) passing: Passing,
    /// `input`, `output` or `inout`.
    pub(super) direction: &'static str,
    /// As in the header: `float A[M][K]`.
    pub(super) declared: String,
    /// Name in the header.
    pub(super) name: String,
    /// Extents as written.
    pub(super) extents: Vec<String>,
    /// Name of the Rust parameter, or of the local behind a result.
    pub(super) rust_name: String,
    /// Rust type of the value or of the elements.
    pub(super) rust_ty: String,
    /// Whether the kernel reads what the caller passes.
    pub(super) reads: bool,
    /// Whether the kernel writes it.
    pub(super) writes: bool,
    /// Whether extents or measures use the value.
    pub(super) is_size: bool,
    /// The value that a result has before the call.
    pub(super) zero: String,
}

/// All parameters of an entry in the header's order.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) parameters: Vec<Parameter>,
}

impl Signature {
    pub(super) fn of(
        program: &Program,
        sources: &SourceMap,
        info: &EntryInfo<'_>,
        options: &Options<'_>,
        stem: &str,
    ) -> Self {
        let func = &program.funcs[info.func];
        let mut names = Names::new(&["cx"]);
        let sizes = extent::sizes(func, info.dispatch);
        let parameter = |&id| {
            let var: &Var = &func.vars[id];
            let direction = direction(var);
            let rust_ty = rust_type(program, options, stem, var.ty);
            let extents = var.shape.iter().map(|extent| one_line(sources.snippet(extent.span)));
            let extents: Vec<String> = extents.collect();
            let brackets: String = extents.iter().map(|extent| format!("[{extent}]")).collect();
            Parameter {
                passing: match (var.shape.len(), direction) {
                    (0, Direction::Input) => Passing::Value,
                    (0, Direction::Inout) => Passing::Reference,
                    (0, Direction::Output) => Passing::Result,
                    (rank, _) => Passing::View(rank),
                },
                direction: match direction {
                    Direction::Input => "input",
                    Direction::Output => "output",
                    Direction::Inout => "inout",
                },
                declared: format!("{} {}{brackets}", hidp_type(program, var.ty), var.name),
                name: var.name.clone(),
                extents,
                rust_name: identifier(&names.unique(snake_case(&var.name))),
                zero: zero(var.ty, &rust_ty),
                rust_ty,
                reads: direction != Direction::Output,
                writes: direction != Direction::Input,
                is_size: var.shape.is_empty() && sizes.contains(&id),
            }
        };
        Self { parameters: func.params.iter().map(parameter).collect() }
    }
    /// What the function returns in `Ok`.
    pub(super) fn result(&self) -> Option<String> {
        let results: Vec<&str> = self.results().map(|parameter| parameter.rust_ty.as_str()).collect();
        tuple(&results)
    }
    /// The values behind [`Signature::result`].
    pub(super) fn result_value(&self) -> String {
        let results: Vec<&str> = self.results().map(|parameter| parameter.rust_name.as_str()).collect();
        tuple(&results).unwrap_or_else(|| "()".into())
    }
    pub(super) fn results(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.passing == Passing::Result)
    }
}

fn tuple(parts: &[&str]) -> Option<String> {
    match parts {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(format!("({})", several.join(", "))),
    }
}

fn direction(var: &Var) -> Direction {
    match var.kind {
        VarKind::Param(direction) => direction,
        VarKind::Dim | VarKind::Local | VarKind::Iter => Direction::Inout,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hidp_type(program: &Program, ty: Ty) -> &str {
    match ty {
        Ty::Scalar(scalar) => scalar.hidp_name(),
        Ty::Struct(id) => &program.structs[id].name,
    }
}

/// The type's path from the module of `stem`.
pub(super) fn rust_type(program: &Program, options: &Options<'_>, stem: &str, ty: Ty) -> String {
    match ty {
        Ty::Scalar(scalar) => scalar.rust_name().to_owned(),
        Ty::Struct(id) => {
            let name = identifier(&program.structs[id].name);
            match home(program, options, id) {
                Some(home) if home != stem => format!("super::{}::{name}", identifier(home)),
                Some(_) | None => name,
            }
        }
    }
}

/// The module that a struct belongs to.
pub(super) fn home<'a>(program: &Program, options: &'a Options<'_>, id: StructId) -> Option<&'a str> {
    options.stems.get(&program.structs[id].span.file).map(String::as_str)
}

fn zero(ty: Ty, rust_ty: &str) -> String {
    match ty {
        Ty::Scalar(Scalar::Bool) => "false".to_owned(),
        Ty::Scalar(scalar) if scalar.is_float() => format!("0.0_{rust_ty}"),
        Ty::Scalar(_) => format!("0_{rust_ty}"),
        Ty::Struct(_) => format!("{rust_ty}::default()"),
    }
}

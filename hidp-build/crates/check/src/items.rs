//! What the files of a build declare, before any body is looked at.

use hidp_ir::par::{self, FuncId, ScalarFnId};
use hidp_syntax::ast::{Direction, Domains};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{FileId, SourceMap, Span};
use hidp_syntax::ty::{Scalar, StructId, Ty};

use super::recurrence::{RecurSig, SystemFunc};

/// A file-level name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Global {
    Const(usize),
    Struct(StructId),
    Scalar(ScalarFnId),
    Func(FuncId),
    Recurrence(usize),
    /// Declared with an error that was reported.
    Poisoned,
}

impl Global {
    pub(super) fn noun(self) -> &'static str {
        match self {
            Global::Const(_) => "constant",
            Global::Struct(_) => "struct",
            Global::Scalar(_) => "scalar function",
            Global::Func(_) => "function",
            Global::Recurrence(_) => "recurrence",
            Global::Poisoned => "item",
        }
    }
}

/// A constant. No value: its expression had an error.
#[derive(Clone, Debug)]
pub(super) struct ConstInfo {
    pub(super) value: Option<par::Expr>,
}

/// What callers know of a scalar function.
#[derive(Clone, Debug)]
pub(super) struct ScalarSig {
    /// Names and types; `None` where the type is unknown.
    pub(super) params: Vec<(String, Option<Ty>)>,
    pub(super) result: Option<Ty>,
    pub(super) span: Span,
}

/// What callers know of a function over arrays.
#[derive(Clone, Debug)]
pub(super) struct FuncSig {
    pub(super) name: String,
    pub(super) params: Vec<ParamSig>,
    pub(super) span: Span,
}

/// A parameter of a function over arrays.
#[derive(Clone, Debug)]
pub(super) struct ParamSig {
    pub(super) name: String,
    pub(super) direction: Direction,
    pub(super) ty: Option<Ty>,
    pub(super) rank: usize,
    pub(super) span: Span,
}

/// All declarations of a build.
pub(super) struct Globals<'a> {
    pub(super) sources: &'a SourceMap,
    /// What the targets' models say of tunables.
    pub(super) domains: &'a Domains,
    /// For each file, the names it declares and imports, with the place of the declaration.
    pub(super) visible: OrdMap<FileId, OrdMap<String, (Global, Span)>>,
    pub(super) structs: Arena<StructId, par::Struct>,
    pub(super) consts: Vec<ConstInfo>,
    pub(super) scalars: Arena<ScalarFnId, ScalarSig>,
    pub(super) funcs: Arena<FuncId, FuncSig>,
    pub(super) recurrences: Vec<RecurSig>,
    pub(super) systems: Vec<SystemFunc>,
}

impl Globals<'_> {
    pub(super) fn lookup(&self, file: FileId, name: &str) -> Option<Global> {
        self.visible.get(&file)?.get(name).map(|(global, _)| *global)
    }

    /// The type a written type name means.
    pub(super) fn type_of(&self, file: FileId, name: &str) -> Option<Ty> {
        match Scalar::from_name(name) {
            Some(scalar) => Some(scalar.into()),
            None => match self.lookup(file, name) {
                Some(Global::Struct(id)) => Some(Ty::Struct(id)),
                _ => None,
            },
        }
    }

    /// The name of a type as messages show it.
    pub(super) fn show_ty(&self, ty: Ty) -> String {
        match ty {
            Ty::Scalar(scalar) => scalar.hidp_name().to_string(),
            Ty::Struct(id) => self.structs[id].name.clone(),
        }
    }
}

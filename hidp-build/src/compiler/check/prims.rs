//! Primitives: which one a name means, and the type rules of their arguments.

use crate::compiler::prim::{Form, Prim};

/// The primitive and form of a name; `reg_` asks for regular segments.
fn named(name: &str) -> Option<(Prim, Option<Form>)> {
    let (plain, form) = match name.strip_prefix("reg_") {
        Some(rest) => (rest, Some(Form::Regular)),
        None => (name, None),
    };
    let prim = match plain {
        "min" => Prim::Min,
        "max" => Prim::Max,
        "reduce" => Prim::Reduce,
        "scan" => Prim::Scan,
        "exscan" => Prim::Exscan,
        "sort" => Prim::Sort,
        "partition" if form.is_none() => Prim::Partition,
        "reverse" => Prim::Reverse,
        "reverse_inplace" if form.is_none() => Prim::ReverseInplace,
        "histogram" if form.is_none() => Prim::Histogram,
        _ => return None,
    };
    Some((prim, form))
}

/// Whether a name is reserved for a primitive.
pub(super) fn is_primitive(name: &str) -> bool {
    named(name).is_some()
}

/// All names of primitives that are called as statements.
pub(super) const NAMES: &[&str] = &[
    "reduce",
    "scan",
    "exscan",
    "sort",
    "partition",
    "reverse",
    "reverse_inplace",
    "histogram",
    "reg_min",
    "reg_max",
    "reg_reduce",
    "reg_scan",
    "reg_exscan",
    "reg_sort",
    "reg_reverse",
];

use crate::compiler::ir::par::Stmt;
use crate::compiler::source::Span;
use crate::compiler::syntax::ast;

use super::cx::Cx;

impl Cx<'_> {
    pub(super) fn primitive_value<'e>(&mut self, assign: &'e ast::Assign) -> Option<&'e ast::Call> {
        let _ = assign;
        None
    }
    pub(super) fn assign_primitive(&mut self, _: &ast::Expr, _: &ast::Call, _: Span, _: &mut Vec<Stmt>) -> Option<()> {
        self.silent()
    }
    pub(super) fn primitive(&mut self, _: &ast::Call, _: Option<Span>, _: Span, _: &mut Vec<Stmt>) -> Option<()> {
        self.silent()
    }
}

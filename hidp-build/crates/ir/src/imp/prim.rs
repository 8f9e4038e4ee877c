//! Calls of the run-time library.

use super::{Expr, Level, SiteId, VarId};
use crate::par::{FoldFn, ScalarFnId};
use hidp_syntax::ty::Ty;

/// A call of the run-time library, `hidp::<function><template arguments>(worker or host, sites…, arguments…)`: `hidp::Worker &` in
/// kernels, `hidp::Host &` in host functions, then the numbers of its sites as `uint32_t`, then the arguments. A primitive with
/// sites returns whether it went well, having raised the worker's or host's trap if not. Functors are made from a trap:
/// `Op op(worker.trap)`, then `op(a, b)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prim {
    /// From the primitive table: `team_scan`, `thread_sort`.
    pub function: String,
    /// Header that declares it: `prim/team_scan.hpp`.
    pub header: String,
    /// Types and functors.
    pub template: Vec<TemplateArg>,
    /// Arguments.
    pub args: Vec<PrimArg>,
    /// Sites of the faults it can raise, in the order its header documents.
    pub sites: Vec<SiteId>,
}

/// A template argument of a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TemplateArg {
    /// A type.
    Ty(Ty),
    /// A functor for a built-in operator on a type.
    Op(FoldFn, Ty),
    /// A functor that calls a scalar function.
    Fn(ScalarFnId),
    /// The group whose lanes all call.
    Group(Level),
}

/// An argument of a primitive.
#[derive(Clone, Debug, PartialEq)]
pub enum PrimArg {
    /// A value.
    Value(Expr),
    /// `buffer + offset`.
    Address {
        /// Buffer.
        base: VarId,
        /// Elements.
        offset: Expr,
    },
    /// Address of a value variable, written by the primitive.
    Out(VarId),
}

//! What all C-like targets share: types, names, expressions, statements, scalar functions. What differs stands behind
//! [`Dialect`].

pub mod expr;
pub mod literal;
pub mod name;
pub mod scalar_fn;
pub mod stmt;
pub mod structs;
pub mod text;
pub mod uses;
pub mod value;

use crate::compiler::ir::imp::{Entry, Function, Stmt, Var, VarId};
use crate::compiler::ir::par::{FoldFn, Program};
use crate::compiler::source::SourceMap;
use text::Text;
use uses::Usage;

/// What a function is printed from.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// Structs and scalar functions.
    pub program: &'a Program,
    /// For positions.
    pub sources: &'a SourceMap,
    /// Sites.
    pub entry: &'a Entry,
    /// The function.
    pub function: &'a Function,
    /// How it uses its variables.
    pub usage: &'a Usage,
}

impl Scope<'_> {
    /// A variable of the function.
    pub fn var(&self, var: VarId) -> &Var {
        &self.function.vars[var]
    }
    /// Its name in the printed code.
    pub fn name(&self, var: VarId) -> String {
        name::var(&self.var(var).name, var)
    }
}

/// What a target prints its own way in the body of a function.
pub trait Dialect {
    /// The trap that faults and scalar functions raise.
    fn trap(&self) -> &'static str;
    /// The statement that leaves the function, regularly or after a fault.
    fn leave(&self) -> &'static str;
    /// `WorkerIndex`
    fn worker_index(&self) -> &'static str;
    /// `WorkerCount`
    fn worker_count(&self) -> &'static str;
    /// The line before a loop whose iterations run in vector lanes.
    fn simd_pragma(&self, scope: &Scope<'_>, reductions: &[(VarId, FoldFn)]) -> String;
    /// Memory, launches and primitives: `Alloc`, `Free`, `Scratch`, `Swap`, `Launch`, `StreamOut`, `Prim`.
    fn special(&self, scope: &Scope<'_>, stmt: &Stmt, out: &mut Text);
}

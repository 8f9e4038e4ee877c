//! What all C-like targets share: types, names, expressions, statements, scalar functions. What differs stands behind
//! [`Dialect`].

mod across;
pub mod expr;
pub mod group;
pub mod literal;
pub mod memory;
pub mod name;
pub mod prim;
pub mod scalar_fn;
pub mod stmt;
pub mod structs;
pub mod text;
pub mod uses;
pub mod value;
pub mod wide;

use hidp_ir::imp::{Entry, Function, Grid, Level, Numbers, Stmt, Unit, Var, VarId, VarKind};
use hidp_ir::par::{FoldFn, Program};
use hidp_syntax::source::SourceMap;
use hidp_syntax::ty::Ty;
use memory::Memory;
use text::Text;
use uses::Usage;

/// The lines of a version's plan as one comment, without a backslash that would take the next line along.
pub fn plan_comment(unit: &Unit) -> String {
    let lines: Vec<&str> = unit.plan_text.lines().map(str::trim).collect();
    format!("// {}", lines.join(" | ").trim_end_matches('\\'))
}

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
    /// The numbers of a kernel's accesses, if they are printed.
    pub numbers: Option<&'a Numbers>,
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
    /// The number of what is printed, as it goes at the end of a call's arguments.
    fn site(&self, number: impl Fn(&Numbers) -> Option<u32>) -> String {
        self.numbers.and_then(number).map_or_else(String::new, |number| format!(" HIDP_SITE({number})"))
    }
}

/// What a target prints its own way in the body of a function.
pub trait Dialect {
    /// What stands for the run time in calls: `worker` or `host`.
    fn frame(&self) -> &'static str;
    /// The same where the run time's code does something for the statement that is printed, which may have a number.
    fn called_from(&self, _number: &str) -> String {
        self.frame().to_owned()
    }
    /// The trap that faults and scalar functions raise.
    fn trap(&self) -> &'static str;
    /// The statement that leaves the function, regularly or after a fault.
    fn leave(&self) -> &'static str;
    /// Whether blocks of the kernel may have copies of an array, which are then updated in its place.
    fn has_copy(&self, _base: VarId) -> bool {
        false
    }
    /// `WorkerIndex`
    fn worker_index(&self) -> &'static str;
    /// `WorkerCount`
    fn worker_count(&self) -> &'static str;
    /// `GroupCount`
    fn group_count(&self, grid: Grid) -> String;
    /// How elements of a buffer or tile are reached.
    fn memory(&self, kind: VarKind) -> Memory;
    /// The type of a variable that holds the address of elements.
    fn buffer(&self, scope: &Scope<'_>, elem: Ty, writable: bool) -> String;
    /// The level of the group that runs the function, where a group of lanes does.
    fn group(&self) -> Option<Level>;
    /// The line before a loop whose iterations run in vector lanes.
    fn simd_pragma(&self, scope: &Scope<'_>, reductions: &[(VarId, FoldFn)]) -> String;
    /// The line before a loop that is unrolled.
    fn unroll(&self, factor: u32) -> String;
    /// Memory and launches: `Alloc`, `Free`, `Scratch`, `Swap`, `Run`, `Launch`, `LaunchGrid`, `StreamOut`. `leave` is the statement that
    /// ends what is being done.
    fn special(&self, scope: &Scope<'_>, stmt: &Stmt, leave: &str, out: &mut Text);
}

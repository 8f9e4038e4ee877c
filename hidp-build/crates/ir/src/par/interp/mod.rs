//! The interpreter: what a program means, and the oracle that every back end is tested against.
//!
//! It runs iterations one after the other in row-major order of the iterators, so of several faults it reports the first in
//! iteration order, and of several values that iterations write to one element it stores the last. It takes programs before
//! and after `instantiate`, and any pass between.
//!
//! # What the language leaves to be fixed here
//! - Within a statement the value is computed before the target's index; indices are evaluated and checked from left to right.
//!   Call arguments are evaluated in order, then the callee's dimensions are bound, then the body runs, then scalar and
//!   section results are copied back in order.
//! - Extents are multiplied in order, and then by the size of an element; the first product that does not fit `long` is the fault.
//! - A fold with `ordered`, one of integers or of a function of the program, and every scan goes strictly from left to right. Other
//!   floating-point `+` and `*` folds combine neighbours pairwise in a tree that depends on the number of values only.
//!   Back ends use other trees: compare them with a tolerance.
//! - The neutral element is the result of an empty fold and the first value of an `exscan`; no other fold uses it.
//! - Sections and rows as operands: low bound, high bound and extent are checked as a [`FaultKind::Segment`].
//! - Overlapping output segments ([`FaultKind::SegmentOverlap`]): the segments that are not empty are put in order of their
//!   low bounds (then of their numbers); the fault names the first that starts below an earlier one's end, and that earlier
//!   one with the greatest end, the smaller number first. Inside a map the iterations' linear numbers count, and the check
//!   comes when the map ends.
//! - Maths functions take the steps of the run time's with fused multiply-add, to the bit. `tgamma` and `lgamma` are
//!   approximations good to about twelve digits.
//! - A local that need not be zero is filled with values that no program expects, so that a wrong proof shows.

use std::fmt;
use std::rc::Rc;

use super::{Expr, FaultKind, Func, FuncId, Program, Var, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

mod bind;
mod call;
mod exact;
mod expr;
mod fold;
mod map;
mod maths;
mod memory;
mod ops;
mod prim;
mod races;
mod recur;
mod segments;
mod several;
mod special;
mod stmt;
#[cfg(test)]
mod tests;
mod value;

pub use ops::{Op, OpFault, binary, cast, fold_step, math, unary};
pub use value::{Array, Data, Value, size_of};

use memory::Memory;

/// What went wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kind.
    pub kind: FaultKind,
    /// Where.
    pub span: Span,
    /// The values that [`FaultKind`] lists.
    pub values: Vec<i64>,
}

/// Why there are no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The arguments do not fit the header: number, types or shapes.
    Call(String),
    /// The program faulted.
    Fault(Fault),
    /// A fault at a place that claims to have been proved safe: a defect of the compiler, or the program is `unchecked`.
    Unsound(Fault),
    /// Two iterations that may run at once touched one element, one of them claiming to be alone: a defect of the compiler.
    Race {
        /// One access.
        first: Span,
        /// The other.
        second: Span,
    },
    /// The limit of steps was reached.
    OutOfFuel,
    /// A native function without an implementation.
    Native(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Call(what) => f.write_str(what),
            Error::Fault(fault) => write!(f, "fault {:?} {:?} at {:?}", fault.kind, fault.values, fault.span),
            Error::Unsound(fault) => {
                write!(f, "unexpected fault {:?} {:?} at {:?}", fault.kind, fault.values, fault.span)
            }
            Error::Race { first, second } => write!(f, "accesses at {first:?} and {second:?} race"),
            Error::OutOfFuel => f.write_str("the limit of steps was reached"),
            Error::Native(name) => write!(f, "no native function `{name}` was supplied"),
        }
    }
}

impl std::error::Error for Error {}

/// An argument, or what is in it afterwards.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// For a scalar parameter.
    Scalar(Value),
    /// For an array parameter; of an `output`, what is in it beforehand.
    Array(Array),
    /// For a scalar `output`: nothing.
    Output,
}

impl<T: Into<Value>> From<T> for Arg {
    fn from(value: T) -> Arg {
        Arg::Scalar(value.into())
    }
}

impl From<Array> for Arg {
    fn from(array: Array) -> Arg {
        Arg::Array(array)
    }
}

/// One argument a parameter, in order.
pub type Args = Vec<Arg>;

/// What a run leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The arguments as they are afterwards.
    pub args: Vec<Arg>,
    /// The dimensions' values, in the order of [`Func::dims`].
    pub dims: Vec<i64>,
}

/// A native function.
pub type Native = Rc<dyn Fn(&[Value]) -> Value>;

/// How to run.
#[derive(Clone)]
pub struct Options {
    /// At most so many statements, iterations and turns of loops; `None` for no limit.
    pub fuel: Option<u64>,
    /// Locals of more bytes in all are allocation faults.
    pub max_bytes: u64,
    /// Whether to watch for accesses that are wrongly marked as exclusive ([`Error::Race`]); takes several times as long.
    pub races: bool,
    /// Native functions by name.
    pub natives: OrdMap<String, Native>,
}

impl Default for Options {
    fn default() -> Self {
        Options { fuel: None, max_bytes: 1 << 32, races: false, natives: OrdMap::new() }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let natives: Vec<&String> = self.natives.keys().collect();
        f.debug_struct("Options")
            .field("fuel", &self.fuel)
            .field("max_bytes", &self.max_bytes)
            .field("races", &self.races)
            .field("natives", &natives)
            .finish()
    }
}

/// Runs a function without any limit on its steps.
pub fn run(program: &Program, func: FuncId, args: Args) -> Result<Results, Error> {
    run_with(program, func, args, &Options::default())
}

/// Runs a function.
pub fn run_with(program: &Program, func: FuncId, args: Args, options: &Options) -> Result<Results, Error> {
    let function = program.funcs.get(func).ok_or_else(|| Error::Call(format!("{func:?} does not exist")))?;
    let mut machine = Machine::new(program, &function.vars, options);
    machine.enter(function, args).map_err(|error| *error)?;
    machine.function(function).map_err(|error| *error)?;
    Ok(machine.leave(function))
}

/// What a run leaves for comparisons.
pub(super) struct Traced {
    /// The arguments as they are afterwards.
    pub(super) args: Vec<Arg>,
    /// Whether a result of floats was rounded.
    pub(super) rounded: bool,
    /// What elements of the parameters in question may be, by the order of iterations; those that nothing stored are not here.
    pub(super) several: several::Values,
}

/// Runs a function that need not be one of the program's, with so many steps; leaves the steps that were not taken. Of `watched`
/// parameters, which only stores write, all values that elements may get are listed.
pub(super) fn run_within(
    program: &Program,
    function: &Func,
    args: Args,
    (options, watched): (&Options, &[usize]),
    steps: &mut u64,
) -> Result<Traced, Error> {
    let options = Options { fuel: Some(*steps), ..options.clone() };
    let mut machine = Machine::new(program, &function.vars, &options);
    let done = machine.enter(function, args).and_then(|()| {
        machine.several.watched = watched.iter().map(|at| (machine.buffer(function.params[*at]), *at)).collect();
        machine.function(function)
    });
    *steps = machine.fuel.unwrap_or(0);
    done.map_err(|error| *error)?;
    let several = std::mem::take(&mut machine.several.values);
    Ok(Traced { rounded: machine.rounded, several, args: machine.leave(function).args })
}

/// Errors are boxed to keep results small.
type Run<T> = Result<T, Box<Error>>;

/// What a variable of the present function holds.
#[derive(Clone, Debug)]
enum Slot {
    /// Not declared yet.
    Unset,
    Scalar(Value),
    Array(memory::BufferId),
}

/// How a statement ends.
enum Flow {
    Next,
    Break,
    Continue,
    Leave,
    Return(Value),
}

/// A map that is running.
struct Running {
    /// Which run of a map this is.
    number: u64,
    /// Linear number of the present iteration.
    iteration: i64,
    /// Output segments that its iterations have written so far.
    written: Vec<segments::Written>,
}

struct Machine<'p> {
    program: &'p Program,
    options: &'p Options,
    /// Variables of the present function.
    vars: &'p Arena<VarId, Var>,
    /// Their contents.
    frame: Vec<Slot>,
    memory: Memory,
    maps: Vec<Running>,
    /// Maps that have been run so far.
    map_runs: u64,
    watch: Option<races::Watch>,
    several: several::Several,
    /// Whether a result of floats was rounded.
    rounded: bool,
    /// Of the recurrence that is being computed.
    cells: Option<recur::Cells>,
    fuel: Option<u64>,
}

impl<'p> Machine<'p> {
    fn new(program: &'p Program, vars: &'p Arena<VarId, Var>, options: &'p Options) -> Self {
        let frame = vec![Slot::Unset; vars.len()];
        let memory = Memory::default();
        let watch = options.races.then(races::Watch::default);
        let fuel = options.fuel;
        let several = several::Several::default();
        Machine {
            program,
            options,
            vars,
            frame,
            memory,
            maps: Vec::new(),
            map_runs: 0,
            watch,
            several,
            rounded: false,
            cells: None,
            fuel,
        }
    }

    /// Takes a step, if there is fuel for it.
    fn step(&mut self) -> Run<()> {
        match &mut self.fuel {
            None => Ok(()),
            Some(0) => Err(Box::new(Error::OutOfFuel)),
            Some(fuel) => {
                *fuel -= 1;
                Ok(())
            }
        }
    }

    fn fault<T>(&self, kind: FaultKind, span: Span, values: Vec<i64>) -> Run<T> {
        Err(Box::new(Error::Fault(Fault { kind, span, values })))
    }

    /// A fault, or a defect if the place claims that there is none.
    fn fault_unless_proved<T>(&self, proved: bool, kind: FaultKind, span: Span, values: Vec<i64>) -> Run<T> {
        let fault = Fault { kind, span, values };
        Err(Box::new(if proved { Error::Unsound(fault) } else { Error::Fault(fault) }))
    }

    /// Puts the arguments in place and binds the dimensions.
    fn enter(&mut self, function: &'p Func, args: Args) -> Run<()> {
        let call = |what: String| Err(Box::new(Error::Call(what)));
        if args.len() != function.params.len() {
            return call(format!("`{}` takes {} arguments, not {}", function.name, function.params.len(), args.len()));
        }
        for (param, arg) in function.params.iter().zip(args) {
            let var = &function.vars[*param];
            let slot = match arg {
                Arg::Output if !var.is_array() && var.kind == VarKind::Param(Direction::Output) => {
                    Slot::Scalar(Value::zero(self.program, var.ty))
                }
                Arg::Scalar(value) if !var.is_array() && value.is_of(self.program, var.ty) => Slot::Scalar(value),
                Arg::Array(array) if fits(self.program, var, &array) => Slot::Array(self.memory.add(array, 0)),
                Arg::Output | Arg::Scalar(_) | Arg::Array(_) => {
                    return call(format!("the argument for `{}` is not of its type and rank", var.name));
                }
            };
            self.frame[param.index()] = slot;
        }
        let bound = self.bind(function)?;
        bound.map_err(|mismatch| Box::new(Error::Call(mismatch.describe(function))))
    }

    /// Takes the arguments out again.
    fn leave(mut self, function: &Func) -> Results {
        let take = |machine: &mut Self, var: &VarId| match &machine.frame[var.index()] {
            Slot::Scalar(value) => Arg::Scalar(value.clone()),
            Slot::Array(buffer) => Arg::Array(machine.memory.array(*buffer)),
            Slot::Unset => Arg::Output,
        };
        let args = function.params.iter().map(|param| take(&mut self, param)).collect();
        let dims = function.dims.iter().map(|dim| self.long_var(*dim)).collect();
        Results { args, dims }
    }

    /// The value of a `long` variable.
    fn long_var(&self, var: VarId) -> i64 {
        match &self.frame[var.index()] {
            Slot::Scalar(value) => value.as_integer().unwrap_or(0) as i64,
            Slot::Unset | Slot::Array(_) => 0,
        }
    }

    /// The buffer of an array variable.
    fn buffer(&self, var: VarId) -> memory::BufferId {
        match &self.frame[var.index()] {
            Slot::Array(buffer) => *buffer,
            Slot::Unset | Slot::Scalar(_) => unreachable!("{var:?} holds no array"),
        }
    }

    /// The value of a `long` expression.
    fn long(&mut self, expr: &'p Expr) -> Run<i64> {
        match self.eval(expr)? {
            Value::I64(value) => Ok(value),
            value => Ok(value.as_integer().unwrap_or(0) as i64),
        }
    }

    /// The value of a condition.
    fn truth(&mut self, expr: &'p Expr) -> Run<bool> {
        Ok(self.eval(expr)? == Value::Bool(true))
    }

    fn zero(&self, ty: Ty) -> Value {
        Value::zero(self.program, ty)
    }
}

/// Whether an array can be the argument of a parameter, sizes apart.
fn fits(program: &Program, var: &Var, array: &Array) -> bool {
    let count = array.shape.iter().try_fold(1_i64, |count, extent| count.checked_mul(*extent));
    var.is_array()
        && array.shape.len() == var.shape.len()
        && array.shape.iter().all(|extent| *extent >= 0)
        && count == Some(array.data.len() as i64)
        && array.data.is_of(program, var.ty)
}

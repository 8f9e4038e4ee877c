//! Whether codelets compute what their functions do, on small arguments.
//!
//! The interpreter runs a function and each of its codelets. Tunables are made small, so that few elements reach the ends of pieces;
//! sizes follow from them and from the numbers in conditions. What differs is run again with the tunables as they are: a codelet may
//! rely on what its values have in common. Steps are counted, so that the work is bounded and every build does the same.

use std::fmt;

use super::interp::{Arg, Error, Fault, Options, Traced, run_within};
use super::{
    Block, Codelet, Expr, ExprKind, FaultKind, Func, FuncId, Program, Spectrum, Stmt, StmtKind, VarId, VarKind, visit,
};
use hidp_syntax::ast::Direction;

mod compare;
mod inputs;
mod racing;
mod sizes;

use inputs::{Filling, Inputs};
use racing::{Racing, racing};

/// Steps of the interpreter for one codelet, those of its function included.
const STEPS: u64 = 200_000;
/// Steps of one run.
const RUN: u64 = 40_000;
/// Steps of all codelets of a build.
pub const BUILD: u64 = 4_000_000;
/// How a reason begins that a codelet is not compared with the values that its tunables have.
const DIFFER: &str = "small values of its tunables differ, and its own";
/// Bytes of the locals of one run: filling them takes no steps.
const BYTES: u64 = 1 << 24;

/// What came of comparing a codelet with its function.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreement {
    /// They agree wherever they were compared.
    Agrees,
    /// They differ.
    Differs(Box<Difference>),
    /// They could not be compared, for this reason.
    Unknown(String),
    /// The interpreter refused arguments that were made for the function: a defect of the compiler.
    Defect(String),
}

/// A call on which a codelet and its function differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Dimensions and tunables with their values.
    pub sizes: Vec<(String, i64)>,
    /// Inputs by name.
    pub inputs: Vec<(String, Arg)>,
    /// What differs.
    pub what: What,
}

/// What differs.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// An element of an output, or a scalar.
    Value {
        /// `y[3]`
        name: String,
        /// The function's value.
        meant: String,
        /// The codelet's.
        found: String,
    },
    /// Only the codelet faults.
    CodeletFaults(Fault),
    /// Only the function faults.
    FunctionFaults(Fault),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Value { name, meant, found } => write!(f, "`{name}` is {found}, but the function says {meant}"),
            What::CodeletFaults(fault) => {
                write!(f, "it faults ({:?}), but the function does not", fault.kind)
            }
            What::FunctionFaults(fault) => {
                write!(f, "the function faults ({:?}), but it does not", fault.kind)
            }
        }
    }
}

/// Compares all codelets of a spectrum with their function, as long as there are `steps`, of which it takes what it needs.
pub fn agree(program: &Program, spectrum: &Spectrum, steps: &mut u64) -> Vec<Agreement> {
    let of = |codelet: &Codelet| {
        let mut comparison = Comparison {
            program,
            meaning: spectrum.meaning,
            codelet,
            left: *steps,
            steps: STEPS,
            exact: spectrum.ordered && codelet.ordered,
            fillings: Vec::new(),
            racing: [spectrum.meaning, codelet.func].map(|func| racing(program, &program.funcs[func])),
        };
        let agreement = comparison.agreement();
        *steps = comparison.left;
        agreement
    };
    spectrum.codelets.iter().map(of).collect()
}

/// One codelet and its function.
struct Comparison<'a> {
    program: &'a Program,
    meaning: FuncId,
    codelet: &'a Codelet,
    /// Steps that are left to the build.
    left: u64,
    /// And to this comparison.
    steps: u64,
    /// Whether floats have the same bits, whichever they are.
    exact: bool,
    /// How parameters are filled so that the function does not fault.
    fillings: Vec<Filling>,
    /// What the order of iterations changes in the function, and in the codelet.
    racing: [Racing; 2],
}

/// What came of one set of values of tunables.
enum Tried {
    Agrees,
    Differs(Box<Difference>),
    Nowhere(String),
    Defect(String),
}

impl Comparison<'_> {
    fn agreement(&mut self) -> Agreement {
        if let Err(stopped) = self.find_fillings() {
            return stopped;
        }
        let mut unknown = None;
        for (values, small) in sizes::values(self.codelet) {
            let mut tried = self.tried(&small);
            if values != small && !matches!(tried, Tried::Agrees) {
                tried = match (self.tried(&values), tried) {
                    (Tried::Nowhere(_), Tried::Differs(_)) => Tried::Nowhere(format!("{DIFFER} need too many steps")),
                    (Tried::Agrees, Tried::Differs(_)) if !sizes::are_exceeded(&values) => {
                        Tried::Nowhere(format!("{DIFFER} are too large for it"))
                    }
                    (with_own, _) => with_own,
                };
            }
            match tried {
                Tried::Agrees => {}
                Tried::Differs(difference) => return Agreement::Differs(difference),
                Tried::Nowhere(why) => unknown = Some(why),
                Tried::Defect(what) => return Agreement::Defect(what),
            }
        }
        unknown.map_or(Agreement::Agrees, Agreement::Unknown)
    }

    /// How integer arrays are filled: with the first fillings for which the function does not fault, whichever dimension is longest.
    fn find_fillings(&mut self) -> Result<(), Agreement> {
        let function = &self.program.funcs[self.meaning];
        let dims = function.dims.len() as i64;
        let sizes: [Vec<i64>; 2] =
            [(0..dims).map(|dim| 3 + 2 * dim).collect(), (0..dims).map(|dim| 2 + 2 * (dims - dim)).collect()];
        let mut why = "no arguments are known for which the function does not fault".to_owned();
        for fillings in inputs::fillings(function) {
            let mut fits = true;
            for size in &sizes {
                let Some(inputs) = inputs::make(self.program, function, size, &fillings, 0) else {
                    fits = false;
                    break;
                };
                match self.outcome(function, &[], &inputs) {
                    Ok(Outcome::Gives(_)) => {}
                    Ok(Outcome::Faults(_) | Outcome::Undefined(_)) => fits = false,
                    Err(Stopped::Native(name)) => return Err(Agreement::Unknown(of_native(&name))),
                    Err(Stopped::Run) => {
                        why = "the function takes too many steps or too much memory".into();
                        fits = false;
                    }
                    Err(Stopped::All) => {
                        return Err(Agreement::Unknown("the steps for such comparisons are used up".into()));
                    }
                    Err(Stopped::Defect(what)) => return Err(Agreement::Defect(what)),
                }
                if !fits {
                    break;
                }
            }
            if fits {
                self.fillings = fillings;
                return Ok(());
            }
        }
        Err(Agreement::Unknown(why))
    }

    /// Compares with these values of tunables.
    fn tried(&mut self, values: &[i64]) -> Tried {
        let (program, codelet) = (self.program, self.codelet);
        let function = &program.funcs[self.meaning];
        let body = body(program, codelet, values);
        self.steps = STEPS;
        let mut compared = 0;
        let mut why = match codelet.when {
            Some(_) => "its condition holds for no small sizes",
            None => "no small arguments fit",
        };
        for size in sizes::sizes(function, codelet, values) {
            for set in 0..inputs::SETS + if self.exact { inputs::ROUNDED } else { 0 } {
                let Some(inputs) = inputs::make(program, function, &size, &self.fillings, set) else { continue };
                match self.run(function, &body, &inputs) {
                    Ok(Compared::Same) => compared += usize::from(size.iter().any(|size| *size > 1)),
                    Ok(Compared::NotMeant) => {}
                    Ok(Compared::Differs(what)) if self.racing[0].unlisted.is_some() => {
                        return Tried::Nowhere(self.undecided(&what));
                    }
                    Ok(Compared::Differs(what)) => {
                        return Tried::Differs(Box::new(self.difference(&inputs, values, what)));
                    }
                    Err(Stopped::Run) => why = "it takes too many steps or too much memory",
                    Err(Stopped::All) => {
                        return if compared > 0 {
                            Tried::Agrees
                        } else {
                            Tried::Nowhere("it takes too many steps".into())
                        };
                    }
                    Err(Stopped::Native(name)) => {
                        return Tried::Nowhere(of_native(&name));
                    }
                    Err(Stopped::Defect(what)) => return Tried::Defect(what),
                }
            }
        }
        // Functions without dimensions have one size.
        if compared > 0 || function.dims.is_empty() { Tried::Agrees } else { Tried::Nowhere(why.to_owned()) }
    }

    /// Runs both on the same arguments.
    fn run(&mut self, function: &Func, body: &Func, inputs: &Inputs) -> Result<Compared, Stopped> {
        let [listed, own] = [0, 1].map(|body| self.racing[body].listed.clone());
        let found = self.outcome(body, &own, inputs)?;
        // Its condition does not hold: what the function gives is not asked, which would take steps.
        if matches!(&found, Outcome::Faults(fault) if fault.span == body.span) {
            return Ok(Compared::NotMeant);
        }
        let meant = self.outcome(function, &listed, inputs)?;
        Ok(match (meant, found) {
            (Outcome::Undefined(_), _) => Compared::NotMeant,
            (Outcome::Gives(meant), Outcome::Gives(found)) => {
                match compare::difference(self.program, function, self.exact, &meant, &found) {
                    Some(what) => Compared::Differs(what),
                    None => Compared::Same,
                }
            }
            (Outcome::Gives(_), Outcome::Faults(fault) | Outcome::Undefined(fault)) => {
                Compared::Differs(What::CodeletFaults(fault))
            }
            (Outcome::Faults(fault), Outcome::Gives(_)) => Compared::Differs(What::FunctionFaults(fault)),
            (Outcome::Faults(_), Outcome::Faults(_) | Outcome::Undefined(_)) => Compared::NotMeant,
        })
    }

    fn outcome(&mut self, function: &Func, listed: &[usize], inputs: &Inputs) -> Result<Outcome, Stopped> {
        let given = RUN.min(self.steps).min(self.left);
        let mut rest = given;
        let options = Options { max_bytes: BYTES, ..Options::default() };
        let results = run_within(self.program, function, inputs.args.clone(), (&options, listed), &mut rest);
        self.steps -= given - rest;
        self.left -= given - rest;
        match results {
            Ok(results) => Ok(Outcome::Gives(results)),
            // Which body needs more memory says nothing of what it computes.
            Err(Error::Fault(Fault { kind: FaultKind::Allocation, .. })) => Err(Stopped::Run),
            Err(Error::Fault(fault)) => Ok(Outcome::Faults(fault)),
            Err(Error::Unsound(fault)) => Ok(Outcome::Undefined(fault)),
            Err(Error::OutOfFuel) if self.steps == 0 || self.left == 0 => Err(Stopped::All),
            Err(Error::OutOfFuel) => Err(Stopped::Run),
            Err(Error::Native(name)) => Err(Stopped::Native(name)),
            Err(error @ (Error::Call(_) | Error::Race { .. })) => Err(Stopped::Defect(error.to_string())),
        }
    }

    /// Why a difference is none for sure.
    fn undecided(&self, what: &What) -> String {
        let array = self.racing[0].unlisted.as_deref().unwrap_or_default();
        format!("{what}; but what `{array}` gets depends on the order of iterations")
    }

    fn difference(&self, inputs: &Inputs, values: &[i64], what: What) -> Difference {
        let (function, body) = (&self.program.funcs[self.meaning], &self.program.funcs[self.codelet.func]);
        let mut sizes: Vec<(String, i64)> = function
            .dims
            .iter()
            .zip(&inputs.dims)
            .map(|(dim, size)| (function.vars[*dim].name.clone(), *size))
            .collect();
        let tunables = self.codelet.tunables.iter().zip(values);
        sizes.extend(tunables.map(|(tunable, value)| (body.vars[tunable.var].name.clone(), *value)));
        let read = |param: &&VarId| function.vars[**param].kind != VarKind::Param(Direction::Output);
        let named = |param: &VarId| function.vars[*param].name.clone();
        let pairs = function.params.iter().zip(&inputs.args).filter(|(param, _)| read(param));
        let inputs = pairs.map(|(param, arg)| (named(param), arg.clone())).collect();
        Difference { sizes, inputs, what }
    }
}

fn of_native(name: &str) -> String {
    format!("nobody here can call the native function `{name}`")
}

enum Compared {
    Same,
    /// The condition does not hold, or both fault.
    NotMeant,
    Differs(What),
}

enum Outcome {
    Gives(Traced),
    Faults(Fault),
    /// A function without checks would go wrong here.
    Undefined(Fault),
}

enum Stopped {
    /// This run took too many steps, or too much memory.
    Run,
    /// No steps are left.
    All,
    Native(String),
    Defect(String),
}

/// The codelet with these values. Where its condition does not hold it faults, at its own place.
fn body(program: &Program, codelet: &Codelet, values: &[i64]) -> Func {
    let mut body = program.funcs[codelet.func].clone();
    // Each tunable is declared and assigned.
    for (number, value) in values.iter().enumerate() {
        match &mut body.body.stmts[2 * number + 1].kind {
            StmtKind::Assign { value: first, .. } => *first = Expr::int(*value, first.span),
            other => unreachable!("a tunable is assigned, not {other:?}"),
        }
    }
    if let Some(when) = &codelet.when {
        let kind = StmtKind::Require { cond: when.clone(), fault: FaultKind::EmptyFold, values: Vec::new() };
        body.body.stmts.insert(2 * values.len(), Stmt { kind, span: body.span });
    }
    body
}

/// The integers in an expression.
fn constants(expr: &Expr) -> Vec<i64> {
    let mut found = Vec::new();
    visit::walk_subexprs(expr, |expr| {
        if let ExprKind::Const(super::Const::Int(value)) = expr.kind {
            found.extend(i64::try_from(value));
        }
    });
    found
}

/// Whether a body multiplies floats by way of folds: small powers of two are exact then, sums of halves need not be.
fn multiplies(body: &Block) -> bool {
    let mut found = false;
    visit::walk_exprs(body, |expr| {
        found |= matches!(&expr.kind, ExprKind::Binary { op: super::BinOp::Mul, .. })
            && expr.ty.scalar().is_some_and(hidp_syntax::ty::Scalar::is_float);
    });
    found
}

//! Broken expectations of lowering. They are recorded instead of leaving code out: a unit with a defect is dropped.

use std::fmt;

use super::Lowerer;
use hidp_syntax::source::Span;

/// Each map has iterators: `par` is verified.
pub(super) const ITERATORS: &str = "a map has an iterator";
/// `check` gives the primitives that fold an operator.
pub(super) const OPERATOR: &str = "a primitive that folds has an operator";
/// The same of partitions.
pub(super) const PREDICATE: &str = "a partition has a predicate, a pivot and bounds for its parts";
/// Those bounds.
pub(super) const BOUNDS: &str = "the bounds of a partition's parts go to arrays";
/// Folds are maps: see the pass `expand`.
pub(super) const OUTPUT: &str = "a primitive that is no fold has an output";
/// Only units for devices come here.
pub(super) const DEVICE: &str = "device code is lowered for a device";
/// The plan's lines say so.
pub(super) const GROUPS: &str = "the plan shares a launched map out over groups";
/// One for each dimension.
pub(super) const POSITIONS: &str = "a launch has a position for each of its dimensions";
/// The planner looked for checks, and `wide_loop` says where they go on.
pub(super) const UNCHECKED: &str = "a check in lanes stands in a group that is done again";
/// `wide_loop` begins one.
pub(super) const IN_LANES: &str = "iterations are lowered in lanes inside of a group";
/// The planner looked.
pub(super) const KEPT: &str = "an array of an iteration in lanes is on the stack, or was allocated before the group";
/// Structs come apart.
pub(super) const NUMBER: &str = "what is in lanes is a number";
/// The planner looked.
pub(super) const FOLD: &str = "a nest of tiles has one fold";

/// What lowering expected, and what is not so: a defect of the compiler, or a plan that does not fit its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The plan of the unit that it keeps from being.
    pub plan: String,
    /// What should hold.
    pub expected: String,
    /// The statement at hand.
    pub span: Option<Span>,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plan `{}`: lowering expected that {}", self.plan, self.expected)
    }
}

impl Lowerer<'_> {
    /// Notes that what is expected does not hold. Lowering goes on with anything at all, since the unit is given up: builders and
    /// closures would have to hand an error through some five hundred functions otherwise, to the same effect.
    pub(super) fn defect(&mut self, expected: impl Into<String>) {
        let span = self.body.here;
        self.defects.push(Defect { plan: self.plan.name.clone(), expected: expected.into(), span });
    }

    /// What the plan is made for; a defect if the program says something else.
    pub(super) fn expected<T>(&mut self, suits: Result<T, impl fmt::Display>, what: &str) -> Option<T> {
        match suits {
            Ok(suits) => Some(suits),
            Err(why) => {
                self.defect(format!("{what} suit the nest, but {why}"));
                None
            }
        }
    }
}

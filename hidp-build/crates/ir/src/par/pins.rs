//! What directives pin of the mapping of a nest.

use hidp_syntax::ast::{PinTarget, PinWord};
use hidp_syntax::source::Span;

use super::VarId;

/// A directive, its names resolved and its numbers known. Two that ask for the same are equal wherever they stand.
#[derive(Clone, Debug)]
pub struct Pin {
    /// The kind of processor that it is for; both, if both have a meaning for it.
    pub target: Option<PinTarget>,
    /// Its word.
    pub word: PinWord,
    /// Its arguments.
    pub args: Vec<PinArg>,
    /// Where it stands.
    pub span: Span,
}

/// An argument of a directive.
#[derive(Clone, Debug)]
pub struct PinArg {
    /// The iterators of this name, or the array, if it names one.
    pub vars: Vec<VarId>,
    /// The section of the array that an iteration reaches, by dimension; empty if it is not given.
    pub section: Vec<PinDim>,
    /// Words and numbers behind it, or the number that it is.
    pub values: Vec<PinValue>,
    /// Where it stands.
    pub span: Span,
}

/// A dimension of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinDim {
    /// All of it.
    All,
    /// Some elements.
    Range {
        /// What both bounds are added to: the iterators of one name, or nothing.
        iters: Vec<VarId>,
        /// The first element.
        low: i64,
        /// The one behind the last.
        high: i64,
    },
}

/// A word of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinValue {
    /// The word; empty of a number alone.
    pub word: String,
    /// Its number.
    pub size: Option<u32>,
    /// The word in its parentheses.
    pub how: Option<String>,
}

impl PartialEq for Pin {
    fn eq(&self, other: &Self) -> bool {
        (self.target, self.word, &self.args) == (other.target, other.word, &other.args)
    }
}

impl PartialEq for PinArg {
    fn eq(&self, other: &Self) -> bool {
        (&self.vars, &self.section, &self.values) == (&other.vars, &other.section, &other.values)
    }
}

impl Pin {
    /// Replaces the variables that it names.
    pub fn rename(&mut self, mut rename: impl FnMut(VarId) -> VarId) {
        for arg in &mut self.args {
            let iters = arg.section.iter_mut().flat_map(PinDim::iters);
            arg.vars.iter_mut().chain(iters).for_each(|var| *var = rename(*var));
        }
    }
}

impl PinDim {
    fn iters(&mut self) -> &mut [VarId] {
        match self {
            PinDim::All => &mut [],
            PinDim::Range { iters, .. } => iters,
        }
    }
}

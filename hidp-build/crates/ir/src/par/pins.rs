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
    /// Words and numbers behind it, or the number that it is.
    pub values: Vec<PinValue>,
    /// Where it stands.
    pub span: Span,
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
        (&self.vars, &self.values) == (&other.vars, &other.values)
    }
}

impl Pin {
    /// Replaces the variables that it names.
    pub fn rename(&mut self, mut rename: impl FnMut(VarId) -> VarId) {
        let vars = self.args.iter_mut().flat_map(|arg| &mut arg.vars);
        vars.for_each(|var| *var = rename(*var));
    }
}

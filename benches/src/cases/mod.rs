//! The cases, one module a subject.

mod alignments;
mod codelets;
mod codelets_algebra;
mod dense;
mod first;
mod first_matrices;
mod lanes;
mod loops;
mod options;
mod papers_hicuda;
mod papers_lee;
mod prims;
mod recur;
mod selection;
mod series;
mod simulations;
mod sorts;
mod sparse;
mod stencil;

use crate::{Case, Contender};

pub use sorts::Pair;

/// The cases of a module: names and makers.
type Recipes = &'static [(&'static str, fn() -> Case)];

/// A case that is made (and allocates) only when it is its turn.
pub struct Recipe {
    /// What the command line selects by.
    pub name: String,
    make: Box<dyn Fn(String) -> Case>,
}

impl Recipe {
    fn new(name: String, make: impl Fn(String) -> Case + 'static) -> Recipe {
        Recipe { name, make: Box::new(make) }
    }

    /// Makes it.
    pub fn make(&self) -> Case {
        (self.make)(self.name.clone())
    }
}

/// Every case, in the table's order.
pub fn all() -> Vec<Recipe> {
    let fixed = |recipes: Recipes| recipes.iter().map(|&(name, make)| Recipe::new(name.into(), move |_| make()));
    let mut all: Vec<Recipe> = fixed(dense::RECIPES).collect();
    all.extend(sorts::recipes());
    all.extend(
        [
            first::RECIPES,
            first_matrices::RECIPES,
            prims::RECIPES,
            sparse::RECIPES,
            stencil::RECIPES,
            loops::RECIPES,
            lanes::RECIPES,
            options::RECIPES,
            simulations::RECIPES,
            recur::RECIPES,
            alignments::RECIPES,
            series::RECIPES,
            papers_hicuda::RECIPES,
            papers_lee::RECIPES,
            codelets::RECIPES,
            codelets_algebra::RECIPES,
            selection::RECIPES,
        ]
        .into_iter()
        .flat_map(fixed),
    );
    all
}

/// Lets each contender run once: all have to leave the same values in what `found` reads.
fn assert_alike(name: &str, contenders: &mut [Contender], relative: f64, found: impl Fn() -> Vec<f64>) {
    let mut expected: Option<Vec<f64>> = None;
    for contender in contenders {
        (contender.run)();
        match &expected {
            None => expected = Some(found()),
            Some(expected) => assert_close(name, &found(), expected, relative),
        }
    }
}

/// Stops a benchmark whose contenders disagree: a wrong answer must not win.
fn assert_close(name: &str, found: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(found.len(), expected.len(), "{name}: elements");
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |a, e| a.max(e.abs()));
    for (index, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= relative * scale, "{name}: element {index} is {f}, but must be {e}");
    }
}

fn widen<T: Copy + Into<f64>>(values: &[T]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

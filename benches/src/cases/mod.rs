//! The cases, one module a subject.

mod dense;
mod prims;
mod sparse;
mod stencil;

use crate::Case;

/// The cases of a module: names and makers.
type Recipes = &'static [(&'static str, fn() -> Case)];

/// A case that is made (and allocates) only when it is its turn.
pub struct Recipe {
    /// What the command line selects by.
    pub name: &'static str,
    /// Makes it.
    pub make: fn() -> Case,
}

/// Every case, in the table's order.
pub fn all() -> Vec<Recipe> {
    [dense::RECIPES, prims::RECIPES, sparse::RECIPES, stencil::RECIPES]
        .concat()
        .into_iter()
        .map(|(name, make)| Recipe { name, make })
        .collect()
}

/// Stops a benchmark whose contenders disagree: a wrong answer must not win.
fn assert_close(name: &str, found: &[f64], expected: &[f64], relative: f64) {
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |a, e| a.max(e.abs()));
    for (index, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= relative * scale, "{name}: element {index} is {f}, but must be {e}");
    }
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

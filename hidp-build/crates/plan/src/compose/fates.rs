//! What a search for compositions says of itself: what became of each codelet, and how much it looked at.

use std::fmt;

use super::MOST;
use super::admit::Lack;
use super::space::Compositions;
use hidp_syntax::ast::PieceWay;

/// How much a search looked at, over all sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Calls that differ in function, level, sizes or what may follow.
    pub states: usize,
    /// Bodies that were weighed for them.
    pub bodies: usize,
    /// Derivations of several calls that were put together.
    pub combinations: usize,
    /// Compositions that were compared,
    pub compared: usize,
    /// and how many were found again.
    pub merged: usize,
}

impl Searched {
    pub(super) fn of(points: &[Compositions<'_>], found: usize, compared: usize) -> Searched {
        let mut searched = Searched { compared, merged: found - compared, ..Searched::default() };
        for point in points {
            searched.states += point.states();
            searched.bodies += point.weighed;
            searched.combinations += point.evaluations();
        }
        searched
    }
}

impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Searched { states, bodies, combinations, compared, merged } = self;
        write!(f, "{states} states, {bodies} bodies, {combinations} combinations of calls; ")?;
        write!(f, "{compared} compositions compared, {merged} found again")
    }
}

/// What became of a codelet.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeletFate {
    /// The function.
    pub function: String,
    /// The codelet's name.
    pub codelet: String,
    /// How its `tiles` are cut, if it has any.
    pub tiles: Option<PieceWay>,
    /// In how many versions it is.
    pub kept: usize,
    /// Its least predicted time beside that of the best composition, over the sizes that were looked at; nothing if it never runs there.
    pub ratio: Option<f64>,
    /// What each level lacks, if none can run it.
    pub refused: Vec<(String, Lack)>,
}

impl fmt::Display for CodeletFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodeletFate { function, codelet, tiles, kept, ratio, refused } = self;
        write!(f, "{function} \"{codelet}\"")?;
        if let Some(way) = tiles {
            write!(f, " with {} tiles", way.name())?;
        }
        if !refused.is_empty() {
            let each: Vec<String> = refused.iter().map(|(level, lack)| format!("level `{level}` {lack}")).collect();
            return write!(f, ": none, no level can run it: {}", each.join(", "));
        }
        match kept {
            0 if ratio.is_none() => f.write_str(": none")?,
            0 => write!(f, ": none, {MOST} compositions come before it")?,
            1 => f.write_str(": kept in 1 composition")?,
            _ => write!(f, ": kept in {kept} compositions")?,
        }
        match ratio {
            Some(ratio) => write!(f, "; predicted to take at least {ratio:.2} times the best composition's time"),
            None => f.write_str("; it can run at no size that was looked at"),
        }
    }
}

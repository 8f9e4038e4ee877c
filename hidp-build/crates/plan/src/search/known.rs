//! What is predicted of a function's plans to search for more. Rules between all of them ask for most of it again.

use super::facts::{Facts, Numbers, known_at};
use super::plan::STEP;
use crate::mapping::Mapping;
use crate::sizes::thin_points_of;
use crate::target::DeviceModel;
use hidp_ir::par::Func;

/// Times of a nest under a mapping, with each of its numbers.
pub(super) type Times = Vec<Option<f64>>;

/// Sizes at which plans are compared, and what is known there.
pub(super) struct Known {
    /// What sizes make of each nest; nothing of nests that are not searched. Sizes that a nest does not look at make no difference to it.
    pub(super) numbers: Vec<Vec<Numbers>>,
    /// The sizes, and which of its numbers each nest has there.
    pub(super) points: Vec<(Vec<i64>, Vec<usize>)>,
    /// Of each nest, the mappings whose times were asked for.
    times: Vec<Vec<(Mapping, Times)>>,
}

impl Known {
    pub(super) fn of(func: &Func, facts: &[Option<Facts<'_>>], model: &DeviceModel) -> Known {
        let mut numbers: Vec<Vec<Numbers>> = facts.iter().map(|_| Vec::new()).collect();
        let mut points = Vec::new();
        for sizes in thin_points_of(func, STEP) {
            let known = known_at(func, &sizes);
            let number = |(facts, numbers): (&Option<Facts<'_>>, &mut Vec<Numbers>)| {
                let own = facts.as_ref().map(|facts| facts.where_known(known.clone(), &model.machine));
                own.map_or(0, |own| number_of(own, numbers))
            };
            let own = facts.iter().zip(&mut numbers).map(number).collect();
            points.push((sizes, own));
        }
        Known { numbers, points, times: facts.iter().map(|_| Vec::new()).collect() }
    }

    pub(super) fn times(&self, nest: usize, mapping: &Mapping) -> Option<&Times> {
        self.times[nest].iter().find(|(other, _)| other == mapping).map(|(_, times)| times)
    }

    pub(super) fn keep(&mut self, nest: usize, mapping: &Mapping, times: Times) {
        self.times[nest].push((mapping.clone(), times));
    }
}

/// Which of these numbers they are, to which they are added if they are new.
fn number_of(own: Numbers, numbers: &mut Vec<Numbers>) -> usize {
    numbers.iter().position(|other| *other == own).unwrap_or_else(|| {
        numbers.push(own);
        numbers.len() - 1
    })
}

/// The times that were predicted to search for a function's plans, if any were.
#[derive(Default)]
pub struct Predictions<'p>(Option<(&'p Func, &'p DeviceModel, Known)>);

impl<'p> Predictions<'p> {
    pub(super) fn of(func: &'p Func, model: &'p DeviceModel, known: Known) -> Predictions<'p> {
        Predictions(Some((func, model, known)))
    }

    /// What is known of this function on this device.
    pub(super) fn known(self, func: &Func, model: &DeviceModel) -> Option<Known> {
        let is_same =
            |known: &(&Func, &DeviceModel, Known)| std::ptr::eq(known.0, func) && std::ptr::eq(known.1, model);
        self.0.filter(is_same).map(|(_, _, known)| known)
    }
}

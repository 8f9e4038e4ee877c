//! The model: letters inside of CpG islands and outside of them.

use anyhow::{Result, ensure};

/// The symbols.
pub(crate) const ALPHABET: &[u8; 4] = b"ACGT";

/// How often each letter (column) follows each letter (row) in CpG islands of human DNA, and elsewhere: R. Durbin, S. Eddy, A. Krogh, G. Mitchison,
/// "Biological sequence analysis", Cambridge University Press 1998, section 3.1.
const INSIDE: [[f64; 4]; 4] = [
    [0.180, 0.274, 0.426, 0.120],
    [0.171, 0.368, 0.274, 0.188],
    [0.161, 0.339, 0.375, 0.125],
    [0.079, 0.355, 0.384, 0.182],
];
const OUTSIDE: [[f64; 4]; 4] = [
    [0.300, 0.205, 0.285, 0.210],
    [0.322, 0.298, 0.078, 0.302],
    [0.248, 0.246, 0.298, 0.208],
    [0.177, 0.239, 0.292, 0.292],
];

/// States: each letter inside (0 to 3) and outside (4 to 7).
pub(crate) const STATES: usize = 8;

/// A hidden Markov model with probabilities row by row.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) start: Vec<f64>,
    pub(crate) moves: Vec<f64>,
    pub(crate) emit: Vec<f64>,
}

impl Model {
    /// With islands and what lies between them as long on average.
    pub(crate) fn new(island: f64, between: f64) -> Result<Model> {
        for length in [island, between] {
            ensure!(length.is_finite() && length > 1.0, "a mean length is a number above 1, not {length}");
        }
        let mut moves = Vec::new();
        for from in 0..STATES {
            let is_inside = from < 4;
            let leaves = 1.0 / if is_inside { island } else { between };
            let row = if is_inside { INSIDE } else { OUTSIDE }[from % 4];
            // Tables of three digits do not sum to 1 exactly.
            let sum: f64 = row.iter().sum();
            for to in 0..STATES {
                let stays = (to < 4) == is_inside;
                moves.push(if stays { (1.0 - leaves) * row[to % 4] / sum } else { leaves / 4.0 });
            }
        }
        let emit = (0..STATES).flat_map(|state| (0..4).map(move |letter| f64::from(u8::from(state % 4 == letter))));
        Ok(Model { start: vec![1.0 / STATES as f64; STATES], moves, emit: emit.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one() {
        let model = Model::new(1000.0, 5000.0).unwrap();
        let rows = model.moves.chunks(STATES).chain(model.emit.chunks(4)).chain([&model.start[..]]);
        rows.for_each(|row| assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{row:?}"));
        assert!(Model::new(0.5, 10.0).is_err() && Model::new(10.0, f64::NAN).is_err());
    }
}

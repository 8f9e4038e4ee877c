//! Tests of the proofs on programs built by hand.

mod bounds;
mod races;
mod random;

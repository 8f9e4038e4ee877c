//! Tests of the proofs on programs built by hand.

mod assume;
mod bounds;
mod races;
mod random;

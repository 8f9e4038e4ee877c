//! What all of the compiler speaks of (files, diagnostics, types, primitives), and the surface language: lexer, parser, syntax tree and
//! printer.
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

pub mod index;
pub mod ordered;
pub mod source;

pub mod diag;
pub mod ty;

pub mod place;
pub mod prim;

pub mod ast;
mod lexer;
mod parser;
mod print;
mod token;

pub use parser::parse;
pub use print::{header, print};

#[cfg(test)]
mod tests;

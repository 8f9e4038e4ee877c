//! The surface language: lexer, parser, syntax tree and printer.

pub mod ast;
mod lexer;
mod parser;
mod print;
mod token;

pub use parser::parse;
pub use print::print;

#[cfg(test)]
mod tests;

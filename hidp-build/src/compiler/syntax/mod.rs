//! The surface language: lexer, parser, syntax tree and printer.

pub mod ast;

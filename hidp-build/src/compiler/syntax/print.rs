//! The syntax tree as a program again.

use super::ast::File;

/// The program as text; parsing it gives the same tree but for positions.
pub fn print(file: &File) -> String {
    let _ = file;
    String::new()
}

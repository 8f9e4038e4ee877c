//! The syntax tree as a program again: one layout, all parentheses that are needed and no others.

mod expr;
mod item;
mod pins;
mod stmt;

use super::ast::{File, Param};

/// The program as text; parsing it gives the same tree but for positions.
pub fn print(file: &File) -> String {
    let mut printer = Printer { text: String::new(), indent: 0 };
    for (at, item) in file.items.iter().enumerate() {
        if at > 0 {
            printer.text.push('\n');
        }
        printer.item(item);
    }
    printer.text
}

/// The parameter lists of a header as text: equal for headers that say the same.
pub fn header(params: &[Param]) -> String {
    let mut printer = Printer { text: String::new(), indent: 0 };
    printer.params(params);
    printer.text
}

struct Printer {
    text: String,
    indent: usize,
}

impl Printer {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A whole line.
    fn line(&mut self, text: &str) {
        self.start_line();
        self.push(text);
        self.push("\n");
    }

    fn start_line(&mut self) {
        self.text.extend(std::iter::repeat_n("  ", self.indent));
    }

    /// Runs `print` one step further to the right.
    fn indented(&mut self, print: impl FnOnce(&mut Self)) {
        self.indent += 1;
        print(self);
        self.indent -= 1;
    }

    /// Each part, with a separator between.
    fn separated<T>(&mut self, parts: &[T], separator: &str, mut print: impl FnMut(&mut Self, &T)) {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.push(separator);
            }
            print(self, part);
        }
    }
}

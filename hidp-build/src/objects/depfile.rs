//! Dependency files, as compilers write them for `make`.

use std::path::PathBuf;

/// The files on the right side of the first rule.
pub(crate) fn files(text: &str) -> Vec<PathBuf> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let rule = joined.lines().next().unwrap_or("");
    // On Windows the target may be `C:\object.o`: the colon that ends it has a blank behind.
    let Some((_, right)) = rule.split_once(": ") else { return Vec::new() };
    words(right).into_iter().map(PathBuf::from).collect()
}

/// Words between blanks; `\ ` is a blank of a name, `$$` a dollar sign, `\#` a hash.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(&escaped @ (' ' | '#'))) | ('$', Some(&escaped @ '$')) => {
                word.push(escaped);
                letters.next();
            }
            (' ' | '\t', _) => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            (other, _) => word.push(other),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_blanks() {
        let text = "a.o: a.cpp \\\n my\\ dir/a$$b.hpp \\\n  c.hpp\n\nc.hpp:\n";
        assert_eq!(files(text), ["a.cpp", "my dir/a$b.hpp", "c.hpp"].map(PathBuf::from));
    }

    #[test]
    fn nothing_is_no_file() {
        assert!(files("").is_empty());
        assert!(files("a.o:").is_empty());
    }
}

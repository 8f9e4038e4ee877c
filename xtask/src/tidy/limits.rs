//! Lowering decides nothing: what it goes by is a line of the plan or a row of the model. A constant number in it is the layout of something, or
//! part of a proof, and is known here.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Finding;
use super::rust::{self, Token};

const LOWERING: &str = "hidp-build/crates/lower/src";

/// Constants of lowering that no model could choose otherwise, and what each is.
const KNOWN: [(&str, &str); 11] = [
    ("HEAD_WORDS", "layout: words of a log and of a slot in it"),
    ("NOTE_WORDS", "layout: words of a note in a log"),
    ("LOG", "layout: words of a worker's log"),
    ("NOTES_PER_ELEMENT", "proof: notes that segments leave per element that they share"),
    ("NOTES_PER_ITERATION", "proof: the same per iteration"),
    ("NOTES_PER_SLOT", "proof: the same per slot"),
    ("TREE_LEVELS", "proof: levels of a tree whose leaves a `long` counts"),
    ("MOST_BYTES", "proof: bytes of an array below which no size wraps"),
    ("MOST_ELEMENTS", "proof: the same in elements of the arrays of all iterations"),
    ("MOST_STRIDE", "proof: strides with which no index between the ends of a range wraps"),
    ("MOST_DIMENSIONS", "CUDA: dimensions of a launch"),
];

/// Constant numbers that are not known, and known ones that are gone.
pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for (file, source) in rust::read_crate(Path::new(LOWERING), files)? {
        let tokens = source.modules.iter().flat_map(|module| constants(&module.tokens));
        found.extend(tokens.map(|token| (file.clone(), token.line, token.text.clone())));
    }
    Ok(judge(&found))
}

fn judge(found: &[(PathBuf, usize, String)]) -> Vec<Finding> {
    let new =
        found.iter().filter(|(_, _, name)| KNOWN.iter().all(|(known, _)| known != name)).map(|(file, line, name)| {
            Finding::new(
                file,
                *line,
                format!("`{name}` is decided in lowering: let it be a row of the model or a line of the plan"),
            )
        });
    let gone = KNOWN.iter().filter(|(known, _)| found.iter().all(|(_, _, name)| known != name));
    new.chain(gone.map(|(known, _)| Finding::new(Path::new(file!()), 1, format!("lowering has no `{known}` any more"))))
        .collect()
}

/// The names of constants whose type is that of a number.
fn constants(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    tokens.windows(4).filter_map(|window| {
        let [keyword, name, colon, ty] = window else { return None };
        (keyword.text == "const" && colon.text == ":" && NUMBERS.contains(&ty.text.as_str())).then_some(name)
    })
}

const NUMBERS: [&str; 14] =
    ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32", "f64"];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let source = rust::Source::read(text, &[]).unwrap();
        source.modules.iter().flat_map(|module| constants(&module.tokens)).map(|token| token.text.clone()).collect()
    }

    #[test]
    fn constants_are_numbers_wherever_they_stand() {
        let text = "const A: i64 = 1; const NAME: &str = \"x\"; fn f() { const B: usize = 2; }\n\
                    mod inner { pub(super) const C: f64 = 3.0; } #[cfg(test)] mod tests { const D: u8 = 4; }";
        assert_eq!(names(text), ["A", "B", "C"]);
    }

    #[test]
    fn limits_and_stale_names_are_found() {
        let all = KNOWN.iter().enumerate().map(|(line, (name, _))| (PathBuf::from("map.rs"), line, (*name).to_owned()));
        let mut found: Vec<_> = all.collect();
        assert!(judge(&found).is_empty());
        found[0].2 = "MOST_LANES".to_owned();
        let messages: Vec<String> = judge(&found).into_iter().map(|finding| finding.message).collect();
        assert_eq!(messages.len(), 2);
        assert!(messages[0].starts_with("`MOST_LANES` is decided in lowering") && messages[1].contains("`HEAD_WORDS`"));
    }
}

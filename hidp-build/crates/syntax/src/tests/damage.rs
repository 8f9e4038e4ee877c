//! Damaged programs: the parser reports or accepts them, and neither panics nor loops.

use super::round_trip::assert_round_trip;
use super::{PROGRAMS, Random, parsed};
use crate::diag::{RenderStyle, render};

/// What is put into programs: tokens that open, close and separate, and bytes that belong to no token.
const BITS: [&str; 40] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    ":=",
    "=",
    "+=",
    "++",
    "*",
    "-",
    ".",
    "?",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "#",
    "\n",
    "#pragma hidp ",
    "map ",
    "function ",
    "if ",
    "else ",
    "for ",
    "reduce(",
    "input ",
    "0x",
    "1e",
    "\\",
    "\u{0}",
    "é",
    "×",
    "struct ",
    "int ",
];

/// Parses, renders every message, checks positions, and prints what was accepted.
fn survive(text: &str) {
    let result = parsed(text);
    for diagnostic in &result.diagnostics {
        let labels = diagnostic.secondary.iter().map(|label| label.span);
        let edits = diagnostic.suggestions.iter().map(|suggestion| suggestion.span);
        for span in labels.chain(edits).chain([diagnostic.primary.span]) {
            assert!(span.start <= span.end && span.end as usize <= text.len(), "{span:?} in {text:?}");
            assert!(text.is_char_boundary(span.start as usize) && text.is_char_boundary(span.end as usize));
        }
        render(&result.sources, diagnostic, RenderStyle { color: true, explain: true });
    }
    if result.errors().next().is_none() {
        assert_round_trip(&result);
    }
}

#[test]
fn programs_that_end_anywhere() {
    for program in PROGRAMS {
        for (end, _) in program.char_indices() {
            survive(&program[..end]);
        }
    }
}

#[test]
fn programs_that_begin_anywhere() {
    for program in PROGRAMS {
        for (start, _) in program.char_indices().step_by(3) {
            survive(&program[start..]);
        }
    }
}

#[test]
fn programs_with_random_edits() {
    let mut random = Random(0x5eed);
    for round in 0..1500 {
        let mut text = PROGRAMS[round % PROGRAMS.len()].to_string();
        for _ in 0..1 + random.below(4) {
            edit(&mut text, &mut random);
        }
        survive(&text);
    }
}

fn edit(text: &mut String, random: &mut Random) {
    let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let from = random.below(boundaries.len());
    let to = (from + random.below(12)).min(boundaries.len() - 1);
    let (start, end) = (boundaries[from], boundaries[to]);
    match random.below(4) {
        0 => text.replace_range(start..end, ""),
        1 => text.insert_str(start, random.pick(&BITS)),
        2 => text.replace_range(start..end, random.pick(&BITS)),
        _ => {
            let copy = text[start..end].to_string();
            let target = boundaries[random.below(boundaries.len())];
            text.insert_str(target, &copy);
        }
    }
}

#[test]
fn arbitrary_bits() {
    let mut random = Random(0xb175);
    for _ in 0..3000 {
        let text: String = (0..random.below(30)).map(|_| random.pick(&BITS)).collect();
        survive(&text);
    }
}

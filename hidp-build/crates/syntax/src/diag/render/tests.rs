use super::{RenderStyle, render};
use crate::diag::{Code, Diagnostic};
use crate::source::{FileId, SourceMap, Span};

const PLAIN: RenderStyle = RenderStyle { color: false, explain: false };

fn source(text: &str) -> (SourceMap, FileId) {
    let mut sources = SourceMap::new();
    let file = sources.add("a.hdp", text);
    (sources, file)
}

/// The span of the `nth` occurrence of `part`.
fn span_of(sources: &SourceMap, file: FileId, part: &str, nth: usize) -> Span {
    let (at, _) = sources.file(file).text().match_indices(part).nth(nth).expect("the part occurs");
    Span::new(file, at, at + part.len())
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn labels_of_one_line_hang_below_the_last_one() {
    let (sources, file) = source("x = foo + bar;\n");
    let at = |part| span_of(&sources, file, part, 0);
    let diagnostic = Diagnostic::new(Code::UnexpectedToken, at("+"), "types differ")
        .label("meet here")
        .also(at("foo"), "an int")
        .also(at("bar"), "a float");
    assert_eq!(
        lines(&render(&sources, &diagnostic, PLAIN)),
        [
            "error[HD0001]: types differ",
            " --> a.hdp:1:9",
            "  |",
            "1 | x = foo + bar;",
            "  |     --- ^ --- a float",
            "  |     |   |",
            "  |     |   meet here",
            "  |     an int",
        ]
    );
}

#[test]
fn distant_lines_are_elided_and_one_line_between_is_shown() {
    let (sources, file) = source("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
    let at = |part| span_of(&sources, file, part, 0);
    let diagnostic =
        Diagnostic::new(Code::UnexpectedToken, at("j"), "no").also(at("a"), "first").also(at("c"), "third");
    assert_eq!(
        lines(&render(&sources, &diagnostic, PLAIN))[2..],
        ["   |", "1  | a", "   | - first", "2  | b", "3  | c", "   | - third", "   ...", "10 | j", "   | ^",]
    );
}

#[test]
fn other_files_follow() {
    let mut sources = SourceMap::new();
    let first = sources.add("a.hdp", "here\n");
    let second = sources.add("b.hdp", "\nthere\n");
    let diagnostic = Diagnostic::new(Code::UnexpectedToken, Span::new(first, 0, 4), "twice")
        .also(Span::new(second, 1, 6), "the other");
    assert_eq!(
        lines(&render(&sources, &diagnostic, PLAIN))[1..],
        [" --> a.hdp:1:1", "  |", "1 | here", "  | ^^^^", " ::: b.hdp:2:1", "  |", "2 | there", "  | ----- the other",]
    );
}

#[test]
fn carets_stand_under_their_characters() {
    let (sources, file) = source("\tx = \"漢字\" é;\n");
    let marked = |part| {
        let diagnostic = Diagnostic::new(Code::UnexpectedToken, span_of(&sources, file, part, 0), "wide");
        render(&sources, &diagnostic, PLAIN)
    };
    assert_eq!(lines(&marked("x"))[3..], ["1 |     x = \"漢字\" é;", "  |     ^"]);
    assert_eq!(lines(&marked("漢字"))[4], "  |          ^^^^");
    assert_eq!(lines(&marked("é"))[4], "  |                ^");
    assert!(marked("é").contains("a.hdp:1:11"), "columns count characters");
}

#[test]
fn spans_over_lines_mark_their_ends() {
    let (sources, file) = source("a {\n  b\n  c\n  d\n}\n");
    let span = Span::new(file, 2, sources.file(file).text().len() - 1);
    let diagnostic = Diagnostic::new(Code::UnexpectedToken, span, "long").label("this block");
    assert_eq!(
        lines(&render(&sources, &diagnostic, PLAIN))[2..],
        ["  |", "1 | a {", "  |   ^", "  ...", "5 | }", "  | ^ this block"]
    );
}

#[test]
fn insertions_are_marked_and_replacements_shown_before_and_after() {
    let (sources, file) = source("x = 1\ny == 2;\n");
    let end = Span::new(file, 5, 5);
    let insertion = Diagnostic::new(Code::MissingSemicolon, end, "missing").suggest(end, ";", "add it");
    assert_eq!(
        lines(&render(&sources, &insertion, PLAIN))[3..],
        ["1 | x = 1", "  |      ^", "  |", "help: add it", "  |", "1 | x = 1;", "  |      +"]
    );
    let equals = span_of(&sources, file, "==", 0);
    let replacement = Diagnostic::new(Code::NoEffect, equals, "no").suggest(equals, "=", "assign");
    assert_eq!(
        lines(&render(&sources, &replacement, PLAIN))[4..],
        ["  |   ^^", "  |", "help: assign", "  |", "2 - y == 2;", "2 + y = 2;"]
    );
}

#[test]
fn notes_and_helps_follow_the_snippet() {
    let (sources, file) = source("x\n");
    let diagnostic = Diagnostic::new(Code::UnexpectedToken, Span::new(file, 0, 1), "no").note("one\ntwo").help("three");
    assert_eq!(
        lines(&render(&sources, &diagnostic, PLAIN))[5..],
        ["  |", "  = note: one", "          two", "  = help: three"]
    );
}

#[test]
fn the_end_of_the_file_can_be_marked() {
    for text in ["", "x", "x\n", "x\r\n"] {
        let (sources, file) = source(text);
        let diagnostic = Diagnostic::new(Code::UnexpectedToken, Span::new(file, text.len(), text.len()), "end")
            .suggest(Span::new(file, text.len(), text.len()), "}", "close");
        let shown = render(&sources, &diagnostic, PLAIN);
        assert!(shown.contains('^') && shown.contains('+'), "{shown}");
    }
}

#[test]
fn colours_come_only_when_asked_for_and_end_on_their_row() {
    let (sources, file) = source("x\n");
    let diagnostic = Diagnostic::new(Code::UnexpectedToken, Span::new(file, 0, 1), "no").label("here");
    let plain = render(&sources, &diagnostic, PLAIN);
    let coloured = render(&sources, &diagnostic, RenderStyle { color: true, explain: false });
    assert!(!plain.contains('\x1b'));
    for row in coloured.lines().filter(|row| row.contains('\x1b')) {
        let last = row.rfind('\x1b').expect("checked");
        assert!(row[last..].starts_with("\x1b[0m"), "{row:?}");
    }
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, escape)) = rest.split_once('\x1b') {
        stripped.push_str(before);
        rest = escape.split_once('m').expect("an escape ends in m").1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn explanations_are_wrapped_and_code_is_indented() {
    let (sources, file) = source("x\n");
    let diagnostic = Diagnostic::new(Code::MissingSemicolon, Span::new(file, 0, 1), "no");
    let shown = render(&sources, &diagnostic, RenderStyle { color: false, explain: true });
    assert!(shown.contains("  = HD0003: missing semicolon\n"), "{shown}");
    assert!(shown.contains("\n        x = a + 1;\n"), "{shown}");
    assert!(!shown.contains("```") && shown.lines().all(|line| line.chars().count() <= 110), "{shown}");
}

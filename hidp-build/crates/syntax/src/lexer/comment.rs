//! Comments and `#pragma` lines.

use super::Lexer;
use crate::diag::{Code, Diagnostic};
use crate::lexer::continues_name;
use crate::source::Span;
use crate::token::TokenKind;

/// A comment on lines of its own.
#[derive(Clone, Debug)]
pub(in super::super) struct Comment {
    /// With its markers.
    pub(in super::super) span: Span,
    /// Its lines without markers.
    pub(in super::super) lines: Vec<String>,
}

impl Lexer<'_> {
    /// At `#`: a directive, a foreign pragma or a comment.
    pub(super) fn hash(&mut self) {
        let start = self.at;
        let after = self.rest().strip_prefix("#pragma").filter(|rest| !rest.starts_with(continues_name));
        if after.is_none() {
            self.warn_of_commented_pragma();
            return self.line_comment();
        }
        self.end_pragma();
        self.at += "#pragma".len();
        self.skip_while(|c| c == ' ' || c == '\t');
        let word_start = self.at;
        self.skip_while(continues_name);
        if &self.text[word_start..self.at] == "hidp" {
            self.push(TokenKind::PragmaStart, start);
            self.in_pragma = true;
            return;
        }
        self.skip_while(|c| c != '\n');
        let line = self.text[start..self.at].trim_end().len();
        self.sink.push(
            Diagnostic::new(
                Code::ForeignPragma,
                Span::new(self.file, start, start + line),
                "this pragma is not one of HiDP's and is ignored",
            )
            .help("directives begin with `#pragma hidp`"),
        );
    }

    fn warn_of_commented_pragma(&mut self) {
        let blanks = self.rest()[1..].len() - self.rest()[1..].trim_start_matches([' ', '\t']).len();
        let mut words = self.rest()[1..].split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty());
        if blanks > 0 && words.next() == Some("pragma") && words.next() == Some("hidp") {
            let hash = Span::new(self.file, self.at, self.at + 1 + blanks);
            self.sink.push(
                Diagnostic::new(
                    Code::CommentedPragma,
                    hash,
                    "this directive is a comment because of the space behind `#`",
                )
                .suggest(hash, "#", "remove the space"),
            );
        }
    }

    /// At `#` or `//`: to the end of the line.
    pub(super) fn line_comment(&mut self) {
        let start = self.at;
        self.skip_while(|c| c != '\n');
        let text = &self.text[start..self.at];
        let marker = if text.starts_with('#') { '#' } else { '/' };
        let line = text.trim_start_matches(marker);
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end().to_string();
        self.keep_comment(start, vec![line]);
    }

    /// At `/*`.
    pub(super) fn block_comment(&mut self) {
        let start = self.at;
        let Some(length) = self.rest()[2..].find("*/") else {
            let opening = Span::new(self.file, start, start + 2);
            self.at = self.text.len();
            self.sink.push(
                Diagnostic::new(Code::UnclosedComment, opening, "this comment has no end")
                    .label("opened here")
                    .help("close it with `*/`"),
            );
            self.push(TokenKind::Unknown, start);
            return;
        };
        let body = &self.rest()[2..2 + length];
        self.at += length + 4;
        if self.in_pragma && body.contains('\n') {
            self.end_pragma();
        }
        let mut lines: Vec<String> = body.lines().map(unstarred).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let blank = lines.iter().take_while(|line| line.is_empty()).count();
        lines.drain(..blank);
        self.keep_comment(start, lines);
    }

    /// Keeps it if nothing but blanks stands before it on its line.
    fn keep_comment(&mut self, start: usize, lines: Vec<String>) {
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        if self.text[line_start..start].trim().is_empty() {
            self.comments.push(Comment { span: self.span(start), lines });
        }
    }
}

/// A line of a block comment without the star that many people begin it with.
fn unstarred(line: &str) -> String {
    let line = line.trim();
    line.trim_start_matches('*').strip_prefix(' ').unwrap_or(line.trim_start_matches('*')).trim_end().to_string()
}

//! Source files, positions and spans.

use crate::index::Arena;
use crate::index::define_id;

define_id! {
    /// One `.hdp` file of a build.
    FileId, "file"
}

/// A half-open range of bytes of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let narrow = |offset: usize| u32::try_from(offset).expect("sources are smaller than 4 GiB");
        Self { file, start: narrow(start), end: narrow(end) }
    }
    /// The smallest span that covers both. Both must be of one file.
    pub fn to(self, other: Span) -> Span {
        debug_assert_eq!(self.file, other.file);
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
    /// Whether it covers no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
    /// The empty span where this one starts.
    pub fn start_point(self) -> Span {
        Span { end: self.start, ..self }
    }
    /// The empty span where this one ends.
    pub fn end_point(self) -> Span {
        Span { start: self.end, ..self }
    }
}

/// A line and a column, both counted from 1; columns count Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// One source file: the name that messages show, and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// The name that messages show.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Line and column of a byte offset (within a character: of the one behind it).
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let line = self.line_starts.partition_point(|&start| start <= offset) - 1;
        let start = self.line_starts[line];
        let rest = &self.text[start as usize..];
        let before = rest.char_indices().take_while(|(at, _)| start + (*at as u32) < offset).count();
        LineColumn { line: line as u32 + 1, column: before as u32 + 1 }
    }
    /// The byte at which a line (from 1) starts; the end of the text for lines past the end.
    pub fn line_start(&self, line: u32) -> u32 {
        self.line_starts.get(line as usize - 1).copied().unwrap_or(self.text.len() as u32)
    }
    /// The text of a line (from 1) without its line break; empty past the end.
    pub fn line(&self, line: u32) -> &str {
        let rest = &self.text[self.line_start(line) as usize..];
        rest.split('\n').next().unwrap_or("").trim_end_matches('\r')
    }
}

/// All sources of a build.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Arena<FileId, SourceFile>,
}

impl SourceMap {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text = text.into();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1)).collect();
        self.files.push(SourceFile { name: name.into(), text, line_starts })
    }
    /// A file.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id]
    }
    /// All files in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter()
    }
    /// The text of a span.
    pub fn snippet(&self, span: Span) -> &str {
        &self.files[span.file].text[span.start as usize..span.end as usize]
    }
    /// Where a span starts.
    pub fn position(&self, span: Span) -> LineColumn {
        self.files[span.file].line_column(span.start)
    }
}

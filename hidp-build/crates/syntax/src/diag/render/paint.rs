//! Rows of painted text, and how wide characters are.

/// What a piece of text is, from which its colour follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// Nothing special.
    Plain,
    /// The headline and words such as `note`.
    Strong,
    /// `error` and what it points at.
    Error,
    /// `warning` and what it points at.
    Warning,
    /// Line numbers, bars, and further places.
    Gutter,
    /// What a suggestion adds.
    Added,
    /// What a suggestion removes.
    Removed,
}

impl Paint {
    const fn code(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Strong => "\x1b[1m",
            Paint::Error => "\x1b[1;31m",
            Paint::Warning => "\x1b[1;33m",
            Paint::Gutter => "\x1b[1;34m",
            Paint::Added => "\x1b[32m",
            Paint::Removed => "\x1b[31m",
        }
    }
}

/// One row of output. Text is pushed at its end or put at a column over what stands there.
pub(super) struct Row {
    cells: Vec<(char, Paint)>,
}

impl Row {
    pub(super) fn new() -> Self {
        Self { cells: Vec::new() }
    }

    pub(super) fn push(&mut self, text: &str, paint: Paint) {
        self.cells.extend(text.chars().map(|c| (c, paint)));
    }

    /// Puts text at a column (from 0); the row grows as needed.
    pub(super) fn put(&mut self, column: usize, text: &str, paint: Paint) {
        let length = text.chars().count();
        if self.cells.len() < column + length {
            self.cells.resize(column + length, (' ', Paint::Plain));
        }
        for (at, c) in text.chars().enumerate() {
            self.cells[column + at] = (c, paint);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Appends the row without blanks at its end, and a line break.
    pub(super) fn write(&self, out: &mut String, color: bool) {
        let length = self.cells.iter().rposition(|(c, _)| *c != ' ').map_or(0, |last| last + 1);
        let mut current = Paint::Plain;
        for &(c, paint) in &self.cells[..length] {
            if color && paint != current {
                out.push_str(if paint == Paint::Plain || current != Paint::Plain { "\x1b[0m" } else { "" });
                out.push_str(paint.code());
                current = paint;
            }
            out.push(c);
        }
        if current != Paint::Plain {
            out.push_str("\x1b[0m");
        }
        out.push('\n');
    }
}

/// A tab is shown as blanks up to the next multiple of this.
const TAB: usize = 4;

/// A source line as it is shown: tabs as blanks, control characters as one mark.
pub(super) fn displayed(line: &str) -> String {
    let mut shown = String::new();
    let mut column = 0;
    for c in line.chars() {
        let width = width_at(c, column);
        match c {
            '\t' => shown.push_str(&" ".repeat(width)),
            c if c.is_control() => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
        column += width;
    }
    shown
}

/// How many columns the text before byte `at` of `line` takes.
pub(super) fn column_of(line: &str, at: usize) -> usize {
    let mut column = 0;
    for (offset, c) in line.char_indices() {
        if offset >= at {
            break;
        }
        column += width_at(c, column);
    }
    column
}

fn width_at(c: char, column: usize) -> usize {
    match c {
        '\t' => TAB - column % TAB,
        c if c.is_control() => 1,
        c => width(c),
    }
}

/// Columns that a terminal gives a character: none to those that combine, two to East Asian wide ones and emoji.
fn width(c: char) -> usize {
    match c as u32 {
        0x0300..=0x036f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

//! Tests of the whole of `syntax`.

mod damage;
mod random;
mod round_trip;
mod shapes;
mod spans;

use super::parse;
use crate::ast::File;
use crate::diag::{Diagnostic, Severity, Sink};
use crate::source::SourceMap;

/// Programs that hold everything the language has.
const PROGRAMS: [&str; 5] = [
    include_str!("../../../../tests/cases/parse/gemm.hdp"),
    include_str!("../../../../tests/cases/parse/himeno.hdp"),
    include_str!("../../../../tests/cases/parse/spmv_csr.hdp"),
    include_str!("../../../../tests/cases/parse/quicksort.hdp"),
    include_str!("../../../../tests/cases/parse/everything.hdp"),
];

struct Parsed {
    sources: SourceMap,
    tree: File,
    diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

fn parsed(text: &str) -> Parsed {
    let mut sources = SourceMap::new();
    let file = sources.add("test.hdp", text);
    let mut sink = Sink::new();
    let tree = parse(&sources, file, &mut sink);
    Parsed { sources, tree, diagnostics: sink.finish() }
}

/// The tree as text without positions. Made from the derived form, so that no part of the tree can be forgotten.
fn without_spans(tree: &File) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("Span { ");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |erased, part| erased + part.split_once('}').map_or("", |(_, rest)| rest))
}

/// A small generator of pseudo-random numbers (xorshift), so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

//! What differs, as text.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use similar::{ChangeTag, TextDiff};

use super::programs::{Programs, VARIANTS};
use super::sections::{self, Place, Sections};

/// How much is printed of a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    Full,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Everything.
    Text,
    /// All but the comments that show plans, and the stamps of tuning records.
    Code,
}

/// Lines of a short difference.
const SHORT: usize = 16;

type Split = fn(&str) -> Sections;

/// What is written of a program: ending, what it is, and how its lines are told apart.
const TEXTS: [(&str, &str, Split); 4] = [
    ("cpp", "C++", sections::of_code),
    ("cu", "CUDA", sections::of_code),
    ("rs", "Rust", sections::of_rust),
    ("said", "diagnostics", |text| {
        Sections::from([(Place { entry: String::new(), plan: String::new() }, text.into())])
    }),
];

/// What was compared and how much of it differs.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    programs: usize,
    plans: usize,
    refused: Vec<PathBuf>,
    differing: usize,
    places: usize,
}

impl Summary {
    pub(crate) fn is_clean(&self) -> bool {
        self.differing == 0
    }
    /// Programs that the working tree does not compile.
    pub(crate) fn refused(&self) -> &[PathBuf] {
        &self.refused
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { programs, plans, refused: _, differing, places } = self;
        write!(f, "{plans} plans of {programs} programs")?;
        match differing {
            0 => write!(f, ": the same text"),
            _ => write!(f, ": {differing} programs differ, in {places} places"),
        }
    }
}

/// Prints all differences of the programs whose name holds one of the words, of all if there are none.
pub(crate) fn print(
    programs: &Programs,
    words: &[&str],
    (before, now): (&Path, &Path),
    (length, what): (Length, What),
) -> Result<Summary> {
    let mut summary = Summary::default();
    let mut printed = BTreeSet::new();
    let wanted = |name: &&PathBuf| words.is_empty() || words.iter().any(|word| name.to_string_lossy().contains(word));
    for name in programs.names.iter().filter(wanted) {
        let mut differs = false;
        let mut has_code = false;
        for (extension, kind, split) in TEXTS {
            let read = |folder: &Path| -> Result<String> {
                let text = read(&folder.join(name).with_extension(extension))?;
                Ok(if what == What::Code { sections::code_of(&text) } else { text })
            };
            let (old, new) = (read(before)?, read(now)?);
            has_code |= extension == "rs" && !new.is_empty();
            let sections = [split(&old), split(&new)];
            summary.plans += sections[1].keys().filter(|place| !place.plan.is_empty()).count();
            if old != new {
                differs = true;
                summary.places += places((name, kind), &sections, length, &mut printed);
            }
        }
        summary.programs += 1;
        if !has_code {
            summary.refused.push(name.clone());
        }
        summary.differing += usize::from(differs);
    }
    ensure!(summary.programs > 0, "no program has such a name");
    Ok(summary)
}

/// The text, none if there is no such file.
fn read(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| format!("cannot read `{}`", path.display())),
    }
}

/// Prints where the sections differ, but not again for the same program with more versions; gives in how many places.
fn places(
    (name, what): (&Path, &str),
    [old, new]: &[Sections; 2],
    length: Length,
    printed: &mut BTreeSet<String>,
) -> usize {
    let mut places: Vec<&Place> = old.keys().chain(new.keys()).collect();
    places.sort();
    places.dedup();
    let text = |sections: &Sections, place: &Place| sections.get(place).cloned().unwrap_or_default();
    let differing = places.into_iter().filter(|place| old.get(place) != new.get(place));
    let found = differing.map(|place| {
        let mut report = format!("{}: {what}", name.strip_prefix(VARIANTS).unwrap_or(name).display());
        if !place.entry.is_empty() {
            report.push_str(&format!(", entry {}", place.entry));
        }
        if !place.plan.is_empty() {
            report.push_str(&format!(", plan {}", place.plan));
        }
        match (old.contains_key(place), new.contains_key(place)) {
            (true, false) => report.push_str(", is no more"),
            (false, true) => report.push_str(", is new"),
            (true, true) | (false, false) => {}
        }
        report.push_str(&format!("\n{}", difference(&text(old, place), &text(new, place), length)));
        if !printed.contains(&report) {
            println!("{report}");
            printed.insert(report);
        }
    });
    // At least the order of sections.
    found.count().max(1)
}

fn difference(old: &str, new: &str, length: Length) -> String {
    let diff = TextDiff::from_lines(old, new);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let lines: Vec<String> =
        changes.map(|change| format!("  {} {}\n", change.tag(), change.value().trim_end())).collect();
    let shown = if length == Length::Short { SHORT } else { usize::MAX };
    let mut text: String = lines.iter().take(shown).map(String::as_str).collect();
    if lines.len() > shown {
        text.push_str(&format!("  … and {} more lines (--full)\n", lines.len() - shown));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_cut_short() {
        let new: String = (0..40).map(|i| format!("line {i}\n")).collect();
        assert_eq!(difference("", &new, Length::Short).lines().count(), SHORT + 1);
        assert_eq!(difference("", &new, Length::Full).lines().count(), 40);
        assert_eq!(difference("a\nb\nc\n", "a\nd\nc\n", Length::Short), "  - b\n  + d\n");
    }
}

//! Differences of texts, line by line.

/// Lines of context around a difference.
const CONTEXT: usize = 2;

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Both,
    Old,
    New,
}

/// The lines that differ, `-` for old and `+` for new, with a little around them.
pub(crate) fn lines(old: &str, new: &str) -> String {
    let edits = edits(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let near = |at: usize| {
        let range = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(edits.len());
        edits[range].iter().any(|(side, _)| *side != Side::Both)
    };
    let mut text = String::new();
    let mut elided = false;
    for (at, (side, line)) in edits.iter().enumerate() {
        if near(at) {
            let sign = match side {
                Side::Both => ' ',
                Side::Old => '-',
                Side::New => '+',
            };
            text.push_str(&format!("  {sign} {line}\n"));
        } else if !elided {
            text.push_str("  ...\n");
        }
        elided = !near(at);
    }
    text
}

/// A longest common subsequence and what lies between.
fn edits<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Side, &'a str)> {
    let mut common = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] =
                if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut edits) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            edits.push((Side::Both, old[i]));
            i += 1;
            j += 1;
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            edits.push((Side::Old, old[i]));
            i += 1;
        } else {
            edits.push((Side::New, new[j]));
            j += 1;
        }
    }
    edits
}

#[test]
fn differences_have_context_and_the_rest_is_elided() {
    let old = "a\nb\nc\nd\ne\nf";
    assert_eq!(lines(old, "a\nb\nc\nd\nE\nf"), "  ...\n    c\n    d\n  - e\n  + E\n    f\n");
}

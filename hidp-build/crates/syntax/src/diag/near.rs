//! The name that was probably meant.

/// The candidate nearest to `name`, if one is near enough to be a slip of the keyboard. Of equally near ones the first wins.
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == name || !plausible(name, candidate) {
            continue;
        }
        let distance = distance(name, candidate);
        if distance <= allowed && best.is_none_or(|(nearest, _)| distance < nearest) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A name of one letter is near every other one: those match only in case or underscore.
fn plausible(name: &str, candidate: &str) -> bool {
    let bare = |text: &str| text.trim_start_matches('_').to_ascii_lowercase();
    name.trim_start_matches('_').len() > 1 || bare(name) == bare(candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one to the other; case and a swap count one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn slips_are_found() {
        let names = ["rowptr", "alpha", "_alpha", "beta", "subwarp2"];
        assert_eq!(suggest("rowprt", names), Some("rowptr"));
        assert_eq!(suggest("aplha", names), Some("alpha"));
        assert_eq!(suggest("subwrap", names), Some("subwarp2"));
        assert_eq!(suggest("_alhpa", names), Some("_alpha"));
    }

    #[test]
    fn distant_names_are_not() {
        assert_eq!(suggest("gamma", ["rowptr", "beta"]), None);
        assert_eq!(suggest("i", ["j", "k"]), None);
        assert_eq!(suggest("xy", []), None);
        assert_eq!(suggest("same", ["same"]), None);
    }

    #[test]
    fn one_letter_names_match_in_case_and_underscore() {
        assert_eq!(suggest("n", ["M", "N"]), Some("N"));
        assert_eq!(suggest("a", ["_a"]), Some("_a"));
    }
}

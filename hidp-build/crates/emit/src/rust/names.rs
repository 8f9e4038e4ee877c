//! Names that Rust accepts and its lints like.

/// Gives names out, each once.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: Vec<String>,
}

impl Names {
    pub(super) fn new(reserved: &[&str]) -> Self {
        Self { taken: reserved.iter().map(|&name| name.to_owned()).collect() }
    }
    /// `name`, or `name` with a number if it is taken.
    pub(super) fn unique(&mut self, name: String) -> String {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let name = std::iter::once(name.clone()).chain(numbered).find(|name| !self.taken.contains(name));
        let name = name.unwrap_or_default();
        self.taken.push(name.clone());
        name
    }
}

/// `GEMM` gives `gemm`, `bfsStep` gives `bfs_step`, `_alpha` gives `alpha`.
pub(super) fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, &letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(index + 1);
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase()) // `HTTPServer`
            });
        if (letter == '_' || starts_word) && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        if letter != '_' {
            snake.extend(letter.to_lowercase());
        }
    }
    let snake = snake.trim_end_matches('_').to_owned();
    if snake.starts_with(|first: char| first.is_alphabetic()) { snake } else { format!("x{snake}") }
}

/// `name` as an identifier, raw where it is a keyword.
pub(super) fn identifier(name: &str) -> String {
    const NEVER_RAW: [&str; 5] = ["crate", "self", "super", "Self", "_"];
    const KEYWORDS: [&str; 49] = [
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
        "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
        "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type",
        "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "union",
    ];
    if NEVER_RAW.contains(&name) {
        format!("{name}_")
    } else if KEYWORDS.contains(&name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found() {
        let cases = [
            ("GEMM", "gemm"),
            ("himenoBMT", "himeno_bmt"),
            ("HTTPServer", "http_server"),
            ("spmv_csr", "spmv_csr"),
            ("_alpha", "alpha"),
            ("a__b_", "a_b"),
            ("A", "a"),
            ("X1Y", "x1_y"),
            ("_1", "x1"),
            ("_", "x"),
        ];
        for (name, expected) in cases {
            assert_eq!(snake_case(name), expected, "{name}");
        }
    }

    #[test]
    fn keywords_become_raw() {
        assert_eq!(identifier("match"), "r#match");
        assert_eq!(identifier("self"), "self_");
        assert_eq!(identifier("gemm"), "gemm");
    }

    #[test]
    fn names_are_given_once() {
        let mut names = Names::new(&["cx"]);
        let given = ["cx", "a", "a", "a_2"].map(|name| names.unique(name.to_owned()));
        assert_eq!(given, ["cx_2", "a", "a_2", "a_2_2"]);
    }
}

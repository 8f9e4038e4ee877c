//! Rust source as tokens: what is left of a file without comments and tests, and the paths in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A file, or a module written inside of one.
pub(super) struct Module {
    /// Names of the modules from the crate's root to here.
    pub(super) place: Vec<String>,
    /// What stands in it, groups opened up, without tests and without the modules inside.
    pub(super) tokens: Vec<Token>,
}

/// A word, a literal, `::`, or one character of anything else.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

/// A path that code names, import groups multiplied out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// What a file holds.
#[derive(Default)]
pub(super) struct Source {
    /// The file's own module, then those written inside.
    pub(super) modules: Vec<Module>,
    /// Modules in files of their own that only tests have.
    pub(super) test_modules: Vec<Vec<String>>,
    /// Lines where `#[cfg(test)]` stands before something that is no item: what it covers is not known.
    pub(super) strange_tests: Vec<usize>,
}

impl Source {
    /// Reads a file whose module is at `place`.
    pub(super) fn read(text: &str, place: &[String]) -> Result<Source> {
        let stream: TokenStream = text.parse().ok().context("this is not Rust")?;
        let mut source = Source::default();
        source.module(stream, place);
        Ok(source)
    }

    /// The number of words, literals and signs, however they are laid out.
    pub(super) fn size(&self) -> usize {
        self.modules.iter().map(|module| module.tokens.len()).sum()
    }

    fn module(&mut self, stream: TokenStream, place: &[String]) {
        let at = self.modules.len();
        self.modules.push(Module { place: place.to_vec(), tokens: Vec::new() });
        let mut tokens = Vec::new();
        self.flatten(stream, place, &mut tokens);
        self.modules[at].tokens = tokens;
    }

    fn flatten(&mut self, stream: TokenStream, place: &[String], out: &mut Vec<Token>) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            let line = trees[at].span().start().line;
            if let Some(length) = documentation(&trees[at..]) {
                at += length;
                continue;
            }
            if is_test_attribute(&trees[at..]) {
                at = self.skip_test(&trees, at + 2, place, line);
                continue;
            }
            if let [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..] = &trees[at..]
                && word == "mod"
            {
                let inside: Vec<String> = place.iter().cloned().chain([name.to_string()]).collect();
                self.module(body.stream(), &inside);
                at += 3;
                continue;
            }
            at += self.token(&trees[at..], place, line, out);
        }
    }

    /// Takes one token, or two that make `::`, and says how many.
    fn token(&mut self, trees: &[TokenTree], place: &[String], line: usize, out: &mut Vec<Token>) -> usize {
        let mut push = |text: &str, line: usize| out.push(Token { text: text.to_owned(), line });
        match trees {
            [TokenTree::Punct(first), TokenTree::Punct(second), ..]
                if first.as_char() == ':' && first.spacing() == Spacing::Joint && second.as_char() == ':' =>
            {
                push("::", line);
                2
            }
            [TokenTree::Group(group), ..] => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::None => ("", ""),
                };
                push(open, line);
                self.flatten(group.stream(), place, out);
                out.push(Token { text: close.to_owned(), line: group.span_close().start().line });
                1
            }
            [other, ..] => {
                push(&other.to_string(), line);
                1
            }
            [] => 0,
        }
    }

    /// Passes over the item behind a test attribute.
    fn skip_test(&mut self, trees: &[TokenTree], mut at: usize, place: &[String], line: usize) -> usize {
        let mut words = Vec::new();
        while let Some(tree) = trees.get(at) {
            at += 1;
            match tree {
                TokenTree::Ident(word) => words.push(word.to_string()),
                TokenTree::Punct(sign) if sign.as_char() == ';' => break,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
                TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        const ITEMS: [&str; 11] =
            ["pub", "mod", "use", "fn", "impl", "const", "static", "struct", "enum", "trait", "unsafe"];
        if !words.first().is_some_and(|word| ITEMS.contains(&word.as_str())) {
            self.strange_tests.push(line);
        }
        let is_file = matches!(&trees[at - 1], TokenTree::Punct(_));
        if let (true, Some(name)) = (is_file, words.iter().position(|word| word == "mod").map(|i| &words[i + 1])) {
            self.test_modules.push(place.iter().chain([name]).cloned().collect());
        }
        at
    }
}

/// The number of tokens that a line of documentation arrives as.
fn documentation(trees: &[TokenTree]) -> Option<usize> {
    let is_sign = |tree: &TokenTree, c: char| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == c);
    let length = match trees {
        [first, second, ..] if is_sign(first, '#') && is_sign(second, '!') => 3,
        [first, ..] if is_sign(first, '#') => 2,
        _ => return None,
    };
    let Some(TokenTree::Group(attribute)) = trees.get(length - 1) else { return None };
    let first = attribute.stream().into_iter().next()?;
    matches!(first, TokenTree::Ident(word) if word == "doc").then_some(length)
}

/// `#[cfg(test)]`
fn is_test_attribute(trees: &[TokenTree]) -> bool {
    let [TokenTree::Punct(sign), TokenTree::Group(attribute), ..] = trees else { return false };
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    sign.as_char() == '#' && attribute.delimiter() == Delimiter::Bracket && text == "cfg(test)"
}

/// The paths of two or more names, and single names in imports, that tokens name.
pub(super) fn paths(tokens: &[Token]) -> Vec<Named> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let text = |i: usize| tokens.get(i).map(|token| token.text.as_str());
        let begins = is_word(&tokens[at].text) && !(at > 0 && matches!(text(at - 1), Some("::" | ".")));
        let before = at.checked_sub(1).and_then(text);
        if begins && (text(at + 1) == Some("::") || before == Some("use")) {
            at = entry(tokens, at, &[], &mut found);
        } else if before == Some("use") && text(at) == Some("{") {
            at = group(tokens, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads a path after `prefix` and says where it ends.
fn entry(tokens: &[Token], mut at: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let mut path = prefix.to_vec();
    let line = tokens[at].line;
    loop {
        match tokens.get(at).map(|token| token.text.as_str()) {
            Some("{") => return group(tokens, at, &path, found),
            Some(word) if is_word(word) || word == "*" => path.push(word.to_owned()),
            _ => break,
        }
        at += 1;
        if tokens.get(at).is_none_or(|token| token.text != "::") {
            break;
        }
        at += 1;
    }
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    found.push(Named { path, line });
    at
}

/// Reads what stands between the braces of an import, and says where it ends.
fn group(tokens: &[Token], open: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let mut at = open + 1;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "}" => return at + 1,
            "," => at += 1,
            "as" => at += 2,
            _ => at = entry(tokens, at, prefix, found).max(at + 1),
        }
    }
    at
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The place of a file below a crate's `src`: `diag/render/mod.rs` is `["diag", "render"]`, `lib.rs` the root.
pub(super) fn place_of(relative: &Path) -> Vec<String> {
    let stem = relative.with_extension("");
    let mut place: Vec<String> = stem.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if place.last().is_some_and(|last| last == "mod") || place == ["lib"] {
        place.pop();
    }
    place
}

/// The files of a crate below `src`, read, without those that only tests have.
pub(super) fn read_crate(src: &Path, files: &[PathBuf]) -> Result<Vec<(PathBuf, Source)>> {
    let mut sources = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let Ok(relative) = file.strip_prefix(src) else { continue };
        let place = place_of(relative);
        let text = std::fs::read_to_string(file)?;
        let source = Source::read(&text, &place).with_context(|| file.display().to_string())?;
        sources.push((file.clone(), place, source));
    }
    let tests: BTreeSet<Vec<String>> =
        sources.iter().flat_map(|(_, _, source)| source.test_modules.iter().cloned()).collect();
    let is_test = |place: &[String]| (0..=place.len()).any(|length| tests.contains(&place[..length]));
    Ok(sources.into_iter().filter(|(_, place, _)| !is_test(place)).map(|(file, _, source)| (file, source)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let source = Source::read(text, &[]).unwrap();
        source.modules.iter().flat_map(|module| paths(&module.tokens)).map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn groups_are_multiplied_out() {
        assert_eq!(named("use a::{b, c::{self as s, D}, e::*};"), ["a::b", "a::c", "a::c::D", "a::e::*"]);
        assert_eq!(named("use {a as b, c::d};"), ["a", "c::d"]);
        assert_eq!(named("use whole;"), ["whole"]);
    }

    #[test]
    fn paths_are_found_wherever_code_stands() {
        assert_eq!(named("fn f() -> a::B { x.y::<c::D>(); println!(\"e::F {}\", g::h()); }"), ["a::B", "c::D", "g::h"]);
        assert_eq!(named("// a::b\n/// c::d\nconst E: &str = \"f::g\";"), [""; 0]);
    }

    #[test]
    fn only_tests_are_passed_over() {
        let text = "#[cfg(test)]\nmod tests;\nuse a::b;\n#[cfg(test)]\n#[path = \"x\"] pub(crate) mod help;\n\
                    #[cfg(test)] mod inside { use c::d; }\nfn f() { e::g() }\nmod part { use h::i; }";
        assert_eq!(named(text), ["a::b", "e::g", "h::i"]);
        let source = Source::read(text, &["x".into()]).unwrap();
        assert_eq!(source.test_modules, [["x", "tests"], ["x", "help"]]);
        assert_eq!(source.modules[1].place, ["x", "part"]);
        assert_eq!(source.strange_tests, [0; 0]);
        assert_eq!(Source::read("fn f() {\n#[cfg(test)] g(); }", &[]).unwrap().strange_tests, [2]);
    }

    #[test]
    fn layout_and_comments_have_no_size() {
        let size = |text: &str| Source::read(text, &[]).unwrap().size();
        assert_eq!(
            size("fn f() { g(1) }"),
            size("//! The file.\n// why\n/// What.\nfn f() {\n    g(1)\n}\n#[cfg(test)] mod tests { fn t() {} }")
        );
        assert!(size("fn f() { g(1) }") < size("fn f() { g(1 + 1) }"));
    }
}

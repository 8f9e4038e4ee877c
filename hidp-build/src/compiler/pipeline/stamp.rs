//! Hashes of what the versions of an entry are compiled to, and of the headers that this includes; and the stamp of tuning records, a hash
//! of those for a target. So records survive what changes no code.

use std::sync::OnceLock;

use super::PipelineInput;
use hidp_emit::stamp;
use hidp_ir::imp;
use hidp_ir::par::Program;
use hidp_plan::stable_hash;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// The hash of each version.
pub(super) fn hashes(input: &PipelineInput, program: &Program, entry: &imp::Entry) -> Vec<String> {
    let options = &input.options;
    let text = |unit| stamp::text(program, &input.sources, entry, unit, &options.native_headers);
    entry.units.iter().map(|unit| options.headers.stamp(&text(unit))).collect()
}

/// The stamp of an entry's versions for a target; nothing if there are none.
pub(super) fn of(entry: &imp::Entry, hashes: &[String], target: imp::UnitTarget) -> String {
    let own = entry.units.iter().zip(hashes).filter(|(unit, _)| unit.target == target);
    let own: Vec<&str> = own.map(|(_, hash)| hash.as_str()).collect();
    if own.is_empty() { String::new() } else { stable_hash(own.join(" ")) }
}

/// Headers by the names that generated code includes them by, with all that they include.
#[derive(Clone, Debug, Default)]
pub struct Headers(OrdMap<String, Header>);

#[derive(Clone, Debug)]
struct Header {
    text: String,
    /// A hash of its code, and the headers that it includes. Most headers of the run time are included by nothing in a build.
    hash: OnceLock<String>,
    included: OnceLock<Vec<String>>,
}

/// Headers below this are for the executor of device code, which no GPU sees.
const OF_EXECUTOR: &str = "hidp/simt/";

impl Headers {
    /// Adds a header.
    pub fn insert(&mut self, name: String, text: String) {
        self.0.insert(name, Header { text, hash: OnceLock::new(), included: OnceLock::new() });
    }
    /// Whether a header of this name is there.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
    fn stamp(&self, text: &str) -> String {
        let mut stamped = code(text);
        for name in self.reached(text) {
            if let Some(header) = self.0.get(&name) {
                let hash = header.hash.get_or_init(|| stable_hash(code(&header.text)));
                [&name, " ", hash, "\n"].into_iter().for_each(|part| stamped.extend_from_slice(part.as_bytes()));
            }
        }
        stable_hash(&stamped)
    }
    /// The known headers that a text includes, by way of others too. What is included under a condition counts.
    fn reached(&self, text: &str) -> OrdSet<String> {
        let mut found = OrdSet::new();
        let mut open = self.included("", text);
        while let Some(name) = open.pop() {
            if let (false, Some(header)) = (found.contains(&name), self.0.get(&name)) {
                let included = header.included.get_or_init(|| self.included(&name, &header.text));
                open.extend(included.iter().cloned());
                found.insert(name);
            }
        }
        found
    }
    fn included(&self, by: &str, text: &str) -> Vec<String> {
        let known = |names: [String; 2]| names.into_iter().find(|name| self.contains(name));
        let names = includes(by, text).filter_map(known);
        names.filter(|name| !name.starts_with(OF_EXECUTOR)).collect()
    }
}

/// What a text includes, which is the header of this name or, for "", generated: for each the names that are tried in turn.
pub fn includes<'a>(by: &'a str, text: &'a str) -> impl Iterator<Item = [String; 2]> + 'a {
    let folder = by.rsplit_once('/').map_or("", |(folder, _)| folder);
    let names = text.lines().filter_map(|line| {
        let what = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        let name = what.strip_prefix(['"', '<'])?;
        name.split(['"', '>']).next()
    });
    names.map(move |name| [beside(folder, name), name.to_owned()])
}

/// The name of a header that another one in a folder includes.
fn beside(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// A text without comments, indentation and empty lines. One with raw strings, in which anything may stand, is left as it is.
///
/// It goes byte by byte, since build scripts are compiled without optimisation, where all else takes ten times as long.
fn code(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    if text.contains("R\"") {
        return bytes.to_vec();
    }
    let (mut found, mut line, mut at) = (Vec::with_capacity(bytes.len()), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = end_of(bytes, at, |rest| rest[0] == b'\n');
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                if found.len() > line {
                    found.push(b' ');
                }
                at = end_of(bytes, at + 2, |rest| rest.starts_with(b"*/")).saturating_add(2).min(bytes.len());
            }
            quote @ (b'"' | b'\'') if !(quote == b'\'' && is_digit_mark(&found)) => {
                let end = end_of_literal(bytes, at);
                found.extend_from_slice(&bytes[at..end]);
                at = end;
            }
            b'\n' => {
                end_line(&mut found, &mut line);
                at += 1;
            }
            b' ' | b'\t' | b'\r' if found.len() == line => at += 1,
            byte => {
                found.push(byte);
                at += 1;
            }
        }
    }
    end_line(&mut found, &mut line);
    found
}

/// Whether an apostrophe after this stands between digits.
fn is_digit_mark(before: &[u8]) -> bool {
    before.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// Ends the line that begins at `line`, if there is anything in it.
fn end_line(found: &mut Vec<u8>, line: &mut usize) {
    while found.len() > *line && found[found.len() - 1].is_ascii_whitespace() {
        found.pop();
    }
    if found.len() > *line {
        found.push(b'\n');
    }
    *line = found.len();
}

/// The first place from this one on where it is so, or the end.
fn end_of(bytes: &[u8], from: usize, is_so: impl Fn(&[u8]) -> bool) -> usize {
    let mut at = from;
    while at < bytes.len() && !is_so(&bytes[at..]) {
        at += 1;
    }
    at
}

/// Where the literal ends that begins here: after its quote, or before the end of the line.
fn end_of_literal(bytes: &[u8], from: usize) -> usize {
    let (mut at, mut escaped) = (from + 1, false);
    while at < bytes.len() && (escaped || bytes[at] != bytes[from]) && bytes[at] != b'\n' {
        escaped = !escaped && bytes[at] == b'\\';
        at += 1;
    }
    if bytes.get(at) == Some(&bytes[from]) { at + 1 } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::pipeline::testing::{input, optimised};
    use crate::compiler::pipeline::{Lowered, Options, compile, lower_entry};
    use hidp_plan::target::Model;

    #[test]
    fn comments_are_no_code() {
        let text = "// one\n  a = '\"'; /* two\n */ b = \"//\\\"/*\"; // \"\n\n c = 1'000 / 2;";
        assert_eq!(code(text), b"a = '\"';   b = \"//\\\"/*\";\nc = 1'000 / 2;\n");
        assert_eq!(code("x = R\"(// no comment)\"; // y"), b"x = R\"(// no comment)\"; // y");
        assert_eq!(code("/"), b"/\n");
        assert_eq!(code(" /* one */ a /* open"), b"a\n");
        assert_eq!(code("\"open // \n  \"\\\\\" // b\n"), b"\"open //\n\"\\\\\"\n");
    }

    #[test]
    fn headers_are_reached_by_way_of_others() {
        let mut headers = Headers::default();
        for (name, text) in [
            ("hidp/core.hpp", "#include <vector>\n#  include <hidp/maths/exp.hpp>\n#include <hidp/simt/run.hpp>\n"),
            ("hidp/maths/exp.hpp", "#include <hidp/core.hpp>\n"),
            ("hidp/simt/run.hpp", ""),
            ("hidp/other.hpp", ""),
            ("src/native.hpp", "#include \"../lib/./more.h\" // and so on\n"),
            ("lib/more.h", ""),
        ] {
            headers.insert(name.to_owned(), text.to_owned());
        }
        let found = headers.reached("#include <hidp/core.hpp>\n#include \"src/native.hpp\"\n");
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            ["hidp/core.hpp", "hidp/maths/exp.hpp", "lib/more.h", "src/native.hpp"]
        );
    }

    const PROGRAM: &str = "extern function float twist(float x);
        struct P { float a; float b; }
        function float half(float v) { return v / 2; }
        function plain inout float x[N]; { map { i := [0:N); P p = P{a: x[i], b: half(x[i])}; x[i] = (float)(p.a + p.b); } }
        function native inout float x[N]; { map { i := [0:N); x[i] = twist(x[i]); } }\n";

    fn headers() -> Headers {
        let mut headers = Headers::default();
        headers.insert("hidp/core.hpp".into(), "#include <hidp/fold.hpp> // folds\nint core;\n".into());
        headers.insert("hidp/fold.hpp".into(), "int fold;\n".into());
        headers.insert("hidp/cuda/core.cuh".into(), "int device;\n".into());
        headers.insert("hidp/unused.hpp".into(), "int unused;\n".into());
        headers.insert("twist.hpp".into(), "#include \"deep.hpp\"\n".into());
        headers.insert("deep.hpp".into(), "int deep;\n".into());
        headers
    }

    /// The stamps of both entries: for CPUs, for devices.
    fn stamps(text: &str, headers: Headers) -> [String; 4] {
        let native_headers = vec!["twist.hpp".to_owned()];
        let output = compile(&input(text, Options { cuda: true, headers, native_headers, ..Options::default() }));
        assert!(!output.rust.is_empty(), "{:?}", output.diagnostics);
        let found: Vec<String> = ["plain", "native"]
            .iter()
            .flat_map(|name| {
                let table = output.rust.split_once(&format!("name: \"k::{name}\"")).expect("a table for each entry").1;
                ["source: \"", " device_source: \""].map(|key| {
                    let (_, rest) = table.split_once(key).expect("a stamp");
                    rest.split('"').next().expect("an end").to_owned()
                })
            })
            .collect();
        found.try_into().expect("two of each entry")
    }

    /// Which stamps of `PROGRAM` change with the text and with a header.
    fn changed(text: &str, header: Option<(&str, &str)>) -> [bool; 4] {
        let mut others = headers();
        if let Some((name, text)) = header {
            others.insert(name.to_owned(), text.to_owned());
        }
        let (before, after) = (stamps(PROGRAM, headers()), stamps(text, others));
        assert!(before.iter().all(|stamp| stamp.len() == 16), "{before:?}");
        std::array::from_fn(|at| before[at] != after[at])
    }

    #[test]
    fn stamps_survive_what_changes_no_code() {
        let none = [false; 4];
        assert_eq!(changed(&format!("// A comment.\n\n{}", PROGRAM.replace("return v", "return  v")), None), none);
        let before = "struct Q { int q; }
            function float third(float v) { return v / 3; }
            function other inout float y[N]; { map { i := [0:N); Q q = Q{q: 1}; y[i] = third(y[i]) + q.q; } }\n";
        assert_eq!(changed(&format!("{before}{PROGRAM}"), None), none, "what else is in the file");
        assert_eq!(changed(PROGRAM, Some(("hidp/unused.hpp", "int other;\n"))), none, "a header that nothing includes");
        let core = "// Better said.\n#include <hidp/fold.hpp>\n\n  int core; /* here */\n";
        assert_eq!(changed(PROGRAM, Some(("hidp/core.hpp", core))), none, "comments of headers");
    }

    #[test]
    fn stamps_change_with_code() {
        let all = |text: &str| changed(text, None);
        assert_eq!(all(&PROGRAM.replace("v / 2", "v / 4")), [true, true, false, false], "a function that it calls");
        assert_eq!(all(&PROGRAM.replace("float b;", "double b;")), [true, true, false, false], "a struct");
        assert_eq!(all(&PROGRAM.replace("twist(x[i])", "twist(x[i]) + 1")), [false, false, true, true]);
        let header = |name: &str| changed(PROGRAM, Some((name, "int edited;\n")));
        assert_eq!(header("hidp/core.hpp"), [true, false, true, false]);
        assert_eq!(header("hidp/fold.hpp"), [true, false, true, false], "by way of another");
        assert_eq!(header("hidp/cuda/core.cuh"), [false, true, false, true]);
        assert_eq!(header("deep.hpp"), [false, false, true, true], "native headers for who uses them");
    }

    /// Names and hashes of the versions of a program's first entry.
    fn versions(text: &str) -> Vec<(String, String)> {
        let mut options = Options { cuda: true, headers: headers(), ..Options::default() };
        options.limits.compositions = true;
        let build = input(text, options);
        let program = optimised(&build);
        let Lowered { entry, dispatch, .. } = lower_entry(&build, &program, program.entries[0], &Model::cpu());
        assert_eq!(entry.units.len(), dispatch.hashes.len());
        entry.units.iter().map(|unit| unit.plan.clone()).zip(dispatch.hashes).collect()
    }

    #[test]
    fn an_edited_codelet_changes_its_own_versions() {
        let text = "function sum input float x[N]; output float s; { reduce(\"+\", x, s, N); }
            codelet sum \"pieces\" tunable long p = {64};
            { float part[p]; map { t := [0:p); sum(x[adjacent t of p], part[t]); } sum(part, s); }
            codelet sum \"cyclic\" tunable long q = {3};
            { float part[q]; map { t := [0:q); sum(x[strided t of q], part[t]); } sum(part, s); }\n";
        let (before, after) = (versions(text), versions(&text.replace("{64}", "{32}")));
        let of_pieces = |plan: &str| plan.contains("pieces");
        let kept = |all: &[(String, String)], own: bool| -> Vec<(String, String)> {
            all.iter().filter(|(plan, _)| of_pieces(plan) == own).cloned().collect()
        };
        assert_eq!(kept(&before, false), kept(&after, false));
        let (old, new) = (kept(&before, true), kept(&after, true));
        assert!(!old.is_empty() && old.iter().all(|version| !new.contains(version)), "{old:?}\n{new:?}");
        let others: Vec<String> = kept(&before, false).into_iter().map(|(plan, _)| plan).collect();
        assert!(others.iter().any(|plan| plan.contains("cyclic")) && others.len() > 2, "{others:?}");
        let hashes: OrdSet<&String> = before.iter().map(|(_, hash)| hash).collect();
        assert_eq!(hashes.len(), before.len(), "each version has its own");
    }
}

//! A module of the compiler uses its own tree or strictly lower layers, and nothing impure.
//!
//! That crates have no circles is cargo's business. What it cannot see: modules inside of a crate, neighbours of which one may not use
//! the other, and the parts of the compiler that lie in `hidp-build` itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Finding;
use super::rust::{self, Module, Named, Source};

/// A crate of the compiler.
struct Part {
    /// Name in paths.
    name: &'static str,
    /// Where its sources are.
    src: &'static str,
    /// Modules that the compiler's layers begin with: nothing, but in the crate that has the shell around it too.
    root: &'static [&'static str],
    /// Layers as ARCHITECTURE.md lists them, by the names of modules at the root; the empty name stands for the others.
    layers: &'static [(&'static str, u32)],
    /// Whether a user's build compiles it.
    in_builds: bool,
}

const PART: Part = Part { name: "", src: "", root: &[], layers: &[], in_builds: true };

const PARTS: &[Part] = &[
    Part { name: "hidp_fit", src: "hidp-build/crates/fit/src", layers: &[("", 0)], ..PART },
    Part {
        name: "hidp_syntax",
        src: "hidp-build/crates/syntax/src",
        layers: &[
            ("index", 0),
            ("ordered", 0),
            ("source", 1),
            ("diag", 2),
            ("ty", 2),
            ("place", 2),
            ("prim", 3),
            ("", 3),
        ],
        ..PART
    },
    Part { name: "hidp_ir", src: "hidp-build/crates/ir/src", layers: &[("par", 4), ("imp", 5)], ..PART },
    Part { name: "hidp_prove", src: "hidp-build/crates/prove/src", layers: &[("", 5)], ..PART },
    Part { name: "hidp_check", src: "hidp-build/crates/check/src", layers: &[("", 6)], ..PART },
    Part { name: "hidp_pass", src: "hidp-build/crates/pass/src", layers: &[("", 6)], ..PART },
    Part { name: "hidp_plan", src: "hidp-build/crates/plan/src", layers: &[("target", 4), ("", 6)], ..PART },
    Part { name: "hidp_lower", src: "hidp-build/crates/lower/src", layers: &[("", 7)], ..PART },
    Part { name: "hidp_emit", src: "hidp-build/crates/emit/src", layers: &[("", 7)], ..PART },
    Part { name: "hidp_build", src: "hidp-build/src", root: &["compiler"], layers: &[("pipeline", 8)], ..PART },
    Part {
        name: "hidp_explain",
        src: "hidp-build/crates/explain/src",
        layers: &[("traffic", 6), ("entries", 9)],
        in_builds: false,
        ..PART
    },
];

/// What the pure compiler must not name: modules of `std`, and types wherever they come from. Macros that read the environment are the
/// third; the version of the package is no part of it.
const IMPURE_MODULES: &[&str] = &["fs", "env", "process", "time", "thread", "net", "io", "os"];
const IMPURE_TYPES: &[&str] = &["HashMap", "HashSet", "RandomState", "hash_map", "hash_set", "SystemTime", "Instant"];
/// Types that a user's build compiles slowly for each key; `hidp_syntax::ordered` has others.
const SLOW_TYPES: &[&str] = &["BTreeMap", "BTreeSet"];

/// Crates of others that `hidp-build` depends on: every clean build of a user's compiles them, but for the last two.
const SHELL: &[&str] = &["cc", "jobserver", "walkdir", "bindgen", "syn"];
/// Crates of others that parts of the compiler depend on.
const PURE: &[(&str, &str)] = &[("hidp_plan", "toml")];

pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for part in PARTS {
        for (file, source) in rust::read_crate(Path::new(part.src), files)? {
            check_file(part, &file, &source, &mut findings);
        }
        check_dependencies(part, &mut findings)?;
    }
    Ok(findings)
}

/// The compiler's own parts depend on each other and on what is pure, the shell around them on little else.
fn check_dependencies(part: &Part, findings: &mut Vec<Finding>) -> Result<()> {
    let manifest = Path::new(part.src).with_file_name("Cargo.toml");
    let has_shell = !part.root.is_empty();
    for (line, name) in dependencies(&fs::read_to_string(&manifest)?) {
        let shell = has_shell && SHELL.contains(&name);
        let known = shell || packages().any(|other| other == name) || PURE.contains(&(part.name, name));
        if !known {
            findings.push(Finding::new(
                &manifest,
                line,
                format!("`{name}` is not among what users build with the compiler"),
            ));
        }
    }
    Ok(())
}

/// The packages of the compiler.
pub(super) fn packages() -> impl Iterator<Item = String> {
    PARTS.iter().map(|part| part.name.replace('_', "-"))
}

/// The folders whose code a user's build compiles.
pub(super) fn folders() -> impl Iterator<Item = &'static Path> {
    PARTS.iter().filter(|part| part.in_builds).map(|part| Path::new(part.src))
}

/// Lines and names in the table of dependencies that users build.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (number, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.contains("dependencies") && !line.contains("dev-dependencies");
        } else if let Some((key, _)) = line.split_once('=').filter(|_| inside) {
            found.push((number + 1, key.split('.').next().unwrap_or(key).trim()));
        }
    }
    found
}

fn check_file(part: &Part, file: &Path, source: &Source, findings: &mut Vec<Finding>) {
    for line in &source.strange_tests {
        findings.push(Finding::new(file, *line, "`#[cfg(test)]` before something that is no item"));
    }
    for module in &source.modules {
        let Some(own) = below(part, &module.place) else { continue };
        check_purity(file, module, findings);
        let root = own.is_empty();
        let own = match layer(part, &own) {
            Some(own) => own,
            None if root => continue, // it names modules and re-exports
            None => {
                let message = format!("module `{}` has no layer in xtask/src/tidy/layers.rs", module.place.join("::"));
                findings.push(Finding::new(file, 1, message));
                continue;
            }
        };
        for named in rust::paths(&module.tokens) {
            check_use(part, file, (module, own), &named, findings);
        }
    }
}

/// A module's place from where the compiler's layers begin; none outside of the compiler.
fn below(part: &Part, place: &[String]) -> Option<Vec<String>> {
    let inside = place.len() >= part.root.len() && place.iter().zip(part.root).all(|(one, other)| one == other);
    inside.then(|| place[part.root.len()..].to_vec())
}

/// The name of a layer and its number.
type Layer = (&'static str, &'static str, u32);

fn layer(part: &Part, place: &[String]) -> Option<Layer> {
    let named = |name: &str| part.layers.iter().find(|(other, _)| *other == name);
    let (module, layer) = place.first().and_then(|name| named(name)).or_else(|| named(""))?;
    Some((part.name, module, *layer))
}

fn check_use(part: &Part, file: &Path, (module, own): (&Module, Layer), named: &Named, findings: &mut Vec<Finding>) {
    let used = match resolve(part, &module.place, &named.path) {
        Used::Elsewhere => return,
        Used::Shell => None,
        Used::Place(other, place) => match layer(other, &place) {
            Some(used) if used == own || used.2 < own.2 => return,
            Some(used) => Some(used),
            None if place.is_empty() => return,
            None => None,
        },
    };
    let show = |(name, module, layer): Layer| {
        format!("`{name}{}{module}` (layer {layer})", if module.is_empty() { "" } else { "::" })
    };
    let used = used.map_or_else(|| format!("`{}`, which is no layer", named.path.join("::")), show);
    findings.push(Finding::new(file, named.line, format!("{} uses {used}, which is not in a lower layer", show(own))));
}

/// What a path means.
enum Used {
    /// Nothing of the compiler's.
    Elsewhere,
    /// What is around the compiler.
    Shell,
    /// A module of a part.
    Place(&'static Part, Vec<String>),
}

fn resolve(part: &Part, place: &[String], path: &[String]) -> Used {
    let parts: BTreeMap<&str, &'static Part> = PARTS.iter().map(|part| (part.name, part)).collect();
    let supers = path.iter().take_while(|word| *word == "super").count();
    let absolute: Vec<String> = match path[0].as_str() {
        "crate" => path[1..].to_vec(),
        "self" => place.iter().chain(&path[1..]).cloned().collect(),
        "super" if supers > place.len() => return Used::Shell,
        "super" => place[..place.len() - supers].iter().chain(&path[supers..]).cloned().collect(),
        name => match parts.get(name) {
            Some(other) => return below(other, &path[1..]).map_or(Used::Shell, |place| Used::Place(other, place)),
            None => return Used::Elsewhere,
        },
    };
    match below(part, &absolute) {
        Some(place) => Used::Place(parts[part.name], place),
        None => Used::Shell,
    }
}

fn check_purity(file: &Path, module: &Module, findings: &mut Vec<Finding>) {
    let mut finding = |line: usize, message: String| findings.push(Finding::new(file, line, message));
    for named in rust::paths(&module.tokens) {
        let [root, module, ..] = named.path.as_slice() else { continue };
        if matches!(root.as_str(), "std" | "core" | "alloc") && IMPURE_MODULES.contains(&module.as_str()) {
            finding(named.line, format!("the compiler is pure, but this names `{}`", named.path.join("::")));
        }
    }
    for (at, token) in module.tokens.iter().enumerate() {
        let following = |by: usize| module.tokens.get(at + by).map(|token| token.text.as_str());
        let names = match token.text.as_str() {
            "env" => following(1) == Some("!") && following(3) != Some("\"CARGO_PKG_VERSION\""),
            "option_env" => following(1) == Some("!"),
            name => IMPURE_TYPES.contains(&name),
        };
        if names {
            finding(token.line, format!("the compiler is pure, but this names `{}`", token.text));
        }
        if SLOW_TYPES.contains(&token.text.as_str()) {
            finding(
                token.line,
                format!("`{}` is slow to compile: `hidp_syntax::ordered` has what takes its place", token.text),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a file of a crate.
    fn found(name: &str, place: &str, text: &str) -> Vec<String> {
        let part = PARTS.iter().find(|part| part.name == name).unwrap();
        let place = rust::place_of(Path::new(place));
        let mut findings = Vec::new();
        check_file(part, Path::new("f.rs"), &Source::read(text, &place).unwrap(), &mut findings);
        findings.into_iter().map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
    }

    #[test]
    fn lower_layers_may_be_used() {
        assert_eq!(found("hidp_lower", "map.rs", "use hidp_plan::{self as plan, target::Model};"), [""; 0]);
        assert_eq!(found("hidp_syntax", "diag/code.rs", "use crate::source::Span; use super::Diagnostic;"), [""; 0]);
        assert_eq!(found("hidp_syntax", "parser/mod.rs", "use crate::ast; use super::lexer::lex;"), [""; 0]);
        assert_eq!(found("hidp_build", "nvcc.rs", "use crate::compiler::pipeline; use std::fs;"), [""; 0]);
    }

    #[test]
    fn neighbours_and_higher_layers_may_not() {
        let uses = |name: &str, place: &str, text: &str, line: usize| {
            let found = found(name, place, text);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].starts_with(&format!("{line}: `{name}")) && found[0].contains("not in a lower"),
                "{found:?}"
            );
        };
        uses("hidp_emit", "rust.rs", "\nuse hidp_lower::lower;", 2);
        uses("hidp_syntax", "source.rs", "use crate::{index, diag::Sink};", 1);
        uses("hidp_syntax", "diag/near.rs", "fn f() { super::super::ty::g() }", 1);
        uses("hidp_syntax", "ty.rs", "fn f() { crate::parse() }", 1);
        uses("hidp_ir", "par/mod.rs", "use crate::imp::Stmt;", 1);
        uses("hidp_plan", "target/mod.rs", "use super::Plan;", 1);
        uses("hidp_explain", "traffic/mod.rs", "use hidp_build::compiler::{pipeline};", 1);
        uses("hidp_explain", "entries/json.rs", "use hidp_build::nvcc::Kernel;", 1);
        uses("hidp_build", "compiler/pipeline.rs", "use crate::nvcc::Tool;", 1);
    }

    #[test]
    fn what_stands_behind_tests_is_read() {
        let text = "#[cfg(test)]\nmod tests;\nuse hidp_lower::lower;\n";
        assert_eq!(found("hidp_emit", "rust.rs", text).len(), 1);
        let text = "#[cfg(test)]\nmod tests { use hidp_lower::lower; use std::fs; }\n";
        assert_eq!(found("hidp_emit", "rust.rs", text), [""; 0]);
    }

    #[test]
    fn the_compiler_is_pure() {
        for text in [
            "use std::{fmt, fs};",
            "fn f() { std::env::var(\"x\"); }",
            "type T = std::collections::HashMap<u8, u8>;",
            "type T = std::collections::BTreeSet<u8>;",
            "const C: &str = env!(\"X\");",
        ] {
            assert_eq!(found("hidp_check", "expr.rs", text).len(), 1, "{text}");
        }
        assert_eq!(found("hidp_check", "expr.rs", "// std::fs\nlet env = \"HashMap\";"), [""; 0]);
        assert_eq!(found("hidp_check", "expr.rs", "f(env!(\"CARGO_PKG_VERSION\"));"), [""; 0]);
        let manifest = "[dependencies]\nhidp-ir.workspace = true\nrand = \"1\"\n[dev-dependencies]\nother = \"1\"\n";
        assert_eq!(dependencies(manifest), [(2, "hidp-ir"), (3, "rand")]);
    }

    #[test]
    fn modules_without_a_layer_are_found() {
        assert_eq!(found("hidp_ir", "new.rs", ""), ["1: module `new` has no layer in xtask/src/tidy/layers.rs"]);
    }
}

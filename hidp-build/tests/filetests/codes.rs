//! The table of codes: every code is shown by a case and explained in `docs/errors.md`.

use std::path::Path;

use hidp_build::compiler::diag::Code;
use hidp_build::compiler::diag::code::reference;

use crate::case;
use crate::front::parsed;

/// Codes that only a build can report: files, compilers.
fn needs_a_build(name: &str) -> bool {
    name.starts_with("HD09")
}

#[test]
fn every_code_is_shown_by_a_case() {
    let cases: Vec<String> = case::of_kind("render").into_iter().map(|case| case.name).collect();
    let names: Vec<&str> = Code::ALL.iter().map(|code| code.info().name).collect();
    let without: Vec<&&str> =
        names.iter().filter(|name| !needs_a_build(name) && !cases.iter().any(|case| case == **name)).collect();
    assert!(without.is_empty(), "no tests/cases/render/<code>.hdp for {without:?}");
    let unknown: Vec<&String> = cases.iter().filter(|case| !names.contains(&case.as_str())).collect();
    assert!(unknown.is_empty(), "no such codes: {unknown:?}");
}

#[test]
fn codes_are_unique_ordered_and_explained() {
    let infos: Vec<_> = Code::ALL.iter().map(|code| code.info()).collect();
    for pair in infos.windows(2) {
        assert!(pair[0].name < pair[1].name, "{} stands before {}", pair[0].name, pair[1].name);
    }
    for info in infos {
        assert!(info.explanation.len() > 40, "{} is hardly explained", info.name);
        assert!(info.explanation.matches("```").count() % 2 == 0, "{}: an example without end", info.name);
    }
}

#[test]
fn the_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    if let Err(why) = case::golden(&path, &reference()) {
        panic!("{why}HIDP_BLESS=1 rewrites it");
    }
}

/// Examples are files, or statements of a function.
#[test]
fn examples_of_explanations_parse() {
    for code in Code::ALL {
        for example in code.info().explanation.split("```hidp\n").skip(1) {
            let example = example.split("```").next().unwrap_or_default();
            let in_function = format!("function example\n{{\n{example}\n}}\n");
            let parses = |text: &str| parsed("example.hdp", text).diagnostics.is_empty();
            assert!(parses(example) || parses(&in_function), "{}:\n{example}", code.info().name);
        }
    }
}

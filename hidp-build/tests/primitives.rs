//! The table of primitives and the headers of the run time agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hidp_build::compiler::prim::{Symbol, TABLE};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hidp-std/include/hidp/prim")
}

fn header(name: &str) -> String {
    let path = folder().join(format!("{name}.hpp"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_row_has_its_headers_and_functions() {
    for row in TABLE {
        for level in row.cpu.levels {
            header(level);
        }
        let symbols = [row.cpu.whole, row.cpu.segmented, row.cpu.regular, row.cpu.worker];
        for Symbol { function, header: file } in symbols.into_iter().flatten() {
            assert!(header(file).contains(&format!(" {function}(")), "`{}`: no `{function}` in {file}", row.name);
        }
        assert_eq!(row.segments, row.cpu.segmented.is_some(), "`{}`", row.name);
    }
}

#[test]
fn every_header_of_a_level_has_its_row() {
    let known: BTreeSet<&str> = TABLE.iter().flat_map(|row| row.cpu.levels).copied().collect();
    for entry in fs::read_dir(folder()).expect("the folder of primitives") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        let stem = name.trim_end_matches(".hpp");
        let is_level = ["thread_", "simd_", "team_"].iter().any(|level| stem.starts_with(level));
        assert!(!is_level || known.contains(stem), "no row names `{name}`");
    }
}

/// What generated code may call and no row names.
const OTHERS: &[&str] = &["run_check_disjoint"];

#[test]
fn every_function_for_generated_code_has_its_row() {
    let symbols =
        |row: &hidp_build::compiler::prim::Row| [row.cpu.whole, row.cpu.segmented, row.cpu.regular, row.cpu.worker];
    let known: BTreeSet<&str> = TABLE.iter().flat_map(symbols).flatten().map(|symbol| symbol.function).collect();
    for file in ["run_whole", "run_segments", "worker_prims"] {
        for line in header(file).lines().filter(|line| line.starts_with("inline ")) {
            let name = line.split('(').next().unwrap_or_default().rsplit(' ').next().unwrap_or_default();
            assert!(known.contains(name) || OTHERS.contains(&name), "no row names `{name}` of {file}");
        }
    }
}

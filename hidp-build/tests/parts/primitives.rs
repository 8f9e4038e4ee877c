//! The table of primitives and the headers of the run time agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hidp_build::compiler::prim::{GROUPS, Row, Symbol, TABLE};

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
        let symbols = [row.cpu.whole, row.cpu.segmented, row.cpu.regular, row.cpu.worker, row.cpu.shared_worker];
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
const OTHERS: &[&str] = &["run_check_disjoint", "worker_sort_apart"];

#[test]
fn every_function_for_generated_code_has_its_row() {
    let symbols =
        |row: &Row| [row.cpu.whole, row.cpu.segmented, row.cpu.regular, row.cpu.worker, row.cpu.shared_worker];
    let known: BTreeSet<&str> = TABLE.iter().flat_map(symbols).flatten().map(|symbol| symbol.function).collect();
    for file in ["run_whole", "run_segments", "worker_prims"] {
        for line in header(file).lines().filter(|line| line.starts_with("inline ")) {
            let name = line.split('(').next().unwrap_or_default().rsplit(' ').next().unwrap_or_default();
            assert!(known.contains(name) || OTHERS.contains(&name), "no row names `{name}` of {file}");
        }
    }
}

/// The text of a header for devices.
fn device_header(name: &str) -> String {
    let path = folder().join(format!("../cuda/prim/{name}.cuh"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn device_symbols(row: &Row) -> Vec<Symbol> {
    let whole = [row.device.whole, row.device.segmented, row.device.regular];
    whole.into_iter().flatten().chain(row.device.group.into_iter().flatten().copied()).collect()
}

#[test]
fn every_row_has_its_headers_and_functions_on_devices() {
    for row in TABLE {
        for level in row.device.levels {
            device_header(level);
        }
        for Symbol { function, header } in device_symbols(row) {
            assert!(row.device.levels.contains(&header), "`{}`: {header} is of no level", row.name);
            let declared = device_header(header).contains(&format!(" {function}("));
            assert!(declared, "`{}`: no `{function}` in {header}", row.name);
        }
        assert_eq!(row.segments, row.device.segmented.is_some(), "`{}`", row.name);
        assert_eq!(row.cpu.regular.is_some(), row.device.regular.is_some(), "`{}`", row.name);
    }
}

/// What host functions may call and no row names, and helpers of the levels.
const DEVICE_OTHERS: &[&str] = &[
    "kernel_check_disjoint",
    "kernel_open_segments",
    "kernel_note_segment",
    "kernel_close_segments",
    "kernel_close_inner_segments",
    "kernel_copy",
    "block_tile_sort",
    "block_sort_places",
    "block_last",
];

#[test]
fn every_function_of_a_level_has_its_row_on_devices() {
    let mut known: BTreeSet<&str> = TABLE.iter().flat_map(device_symbols).map(|symbol| symbol.function).collect();
    known.extend(TABLE.iter().flat_map(|row| row.device.levels));
    known.extend(DEVICE_OTHERS);
    let levels: Vec<String> = GROUPS.iter().chain(&["kernel"]).map(|level| format!("{level}_")).collect();
    for entry in fs::read_dir(folder().join("../cuda/prim")).expect("the folder of primitives") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        let stem = name.trim_end_matches(".cuh");
        let is_level = |name: &str| levels.iter().any(|level| name.starts_with(level.as_str()));
        assert!(!is_level(stem) || known.contains(stem), "no row names `{name}`");
        for line in device_header(stem).lines() {
            let head = line.split('(').next().unwrap_or_default();
            let function = head.rsplit(' ').next().unwrap_or_default();
            let declares = line.starts_with("HIDP_DEVICE ") || line.starts_with("inline ");
            assert!(
                !declares || !is_level(function) || known.contains(function),
                "no row names `{function}` of {name}"
            );
        }
    }
}

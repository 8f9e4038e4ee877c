//! What the printed text and its object files look like.

use hidp_build::compiler::emit::openmp::Options;
use hidp_build::compiler::ir::imp;

use super::library::{compile, compiler, folder, module, write};
use super::units;

fn plain() -> String {
    module(&Options { line_directives: false, ..Options::default() })
}

#[test]
fn entries_built_by_hand_pass_the_verifier() {
    for entry in units::entries() {
        if let Err(errors) = imp::verify(&units::program(), &entry) {
            let text = imp::print(&units::program(), &entry);
            panic!("{}\n{text}", errors.iter().map(|error| format!("{error}\n")).collect::<String>());
        }
    }
}

#[test]
fn printing_is_deterministic() {
    assert_eq!(plain(), plain());
}

#[test]
fn line_directives_name_the_source_and_can_be_left_out() {
    assert!(!plain().contains("#line"));
    let text = module(&Options::default());
    assert!(text.contains("#line 3 \"t.hdp\""));
    for (number, line) in text.lines().enumerate() {
        if let Some(own) = line.strip_prefix("#line ").and_then(|rest| rest.strip_suffix(" \"t.cpp\"")) {
            assert_eq!(own.parse(), Ok(number + 2), "a directive back to the file itself names the next line");
        }
    }
}

#[test]
fn sites_and_headers_stand_in_the_text() {
    let text = plain();
    assert!(text.contains("worker.trap.raise(0, 3, j_7, m_3, 0L);"));
    assert!(text.contains("#include <hidp/prim/test_fold.hpp>"));
    assert!(text.contains("hidp::test_fold<int64_t, ratio_0_op>(host, 0u, x_0 + 1L, N_2 - 1L, &quotient_4)"));
}

#[test]
fn objects_share_no_symbols_across_instruction_sets() {
    let Some(compiler) = compiler() else { return };
    write(&folder().join("hidp/prim/test_fold.hpp"), units::TEST_FOLD);
    let source = folder().join("odr.cpp");
    write(&source, &module(&Options::default()));
    // Unoptimised, so that nothing disappears by inlining.
    let object = folder().join("odr.o");
    let args = [
        "-O0",
        "-fopenmp-simd",
        "-DHIDP_ISA=v9",
        "-c",
        &source.display().to_string(),
        "-o",
        &object.display().to_string(),
    ];
    compile(&compiler, &args.map(str::to_owned)).unwrap_or_else(|message| panic!("{message}"));
    let Ok(output) = std::process::Command::new("nm").arg("--defined-only").arg(&object).output() else { return };
    let symbols = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in symbols.lines() {
        let (kind, name) = line.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')).unwrap_or_default();
        let is_local = kind.chars().all(char::is_lowercase) && !"uvw".contains(kind);
        let is_entry = kind == "T" && name.starts_with("hidp2_t_") && name.ends_with("_v9");
        let is_unwinding = name.starts_with("DW.ref.");
        assert!(is_local || is_entry || is_unwinding, "{line}");
    }
    assert!(symbols.contains("hidp2_t_saxpy_p_v9"));
}

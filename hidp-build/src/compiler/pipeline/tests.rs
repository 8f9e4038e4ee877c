//! The pipeline as a whole.

mod codelets;
mod courses;
mod device_pins;
mod device_rules;
mod directives;
mod host_rules;
mod pins;

use hidp_ir::imp;
use hidp_ir::par::StmtKind;
use hidp_lower::Defect;
use hidp_plan::Record;
use hidp_plan::target::Model;
use hidp_syntax::diag::{Code, Sink};

use super::entry::{leave_out_unsound, report_defects};
use super::testing::input;
use super::{IdleRecord, Lowered, Options, PipelineOutput, compile, lower_entry, symbol};

fn codes(text: &str, options: Options) -> Vec<Code> {
    let output = compile(&input(text, options));
    output.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn natives_need_a_header() {
    let text = "extern function float twist(float x);\n\
                function f inout float x[N]; { map { i := [0:N); x[i] = twist(x[i]); } }\n";
    assert_eq!(codes(text, Options::default()), [Code::HeaderNotNamed]);
    let options = Options { native_headers: vec!["twist.hpp".into()], ..Options::default() };
    assert_eq!(codes(text, options), []);
}

fn tuned(text: &str, records: Vec<Record>) -> PipelineOutput {
    built(text, records, false)
}
fn built(text: &str, records: Vec<Record>, cuda: bool) -> PipelineOutput {
    compile(&input(text, Options { records, cuda, ..Options::default() }))
}

const TEXTS: [&str; 8] = ["device", "architecture", "vendor", "isa", "toolchain", "host", "rules", "versions"];

#[test]
fn records_of_devices_hold_for_device_code() {
    let text = "function f inout float x[N]; { x = 2 * x; }\n";
    let source = |key: &str, cuda: bool| {
        let plain = built(text, Vec::new(), cuda).rust;
        plain.split_once(&format!(" {key}: \"")).unwrap().1.split('"').next().unwrap().to_owned()
    };
    assert_eq!((source("source", true), source("device_source", false)), (source("source", false), String::new()));
    assert_ne!(source("source", true), source("device_source", true));
    let texts = TEXTS.map(|key| (key, if key == "isa" { "cuda".to_owned() } else { String::new() }));
    let record = Record { entry: "k::f".into(), source: source("device_source", true), texts, threads: 512 };
    let idle = |record: &Record, cuda: bool| {
        let output = built(text, vec![record.clone()], cuda);
        (output.rust.contains("threads: 512"), output.idle_records.first().map(|(_, why)| *why))
    };
    assert_eq!(idle(&record, true), (true, None));
    assert_eq!(idle(&record, false), (false, None), "it waits for a build with device code");
    let stale = Record { source: source("source", true), ..record.clone() };
    assert_eq!(idle(&stale, true), (false, Some(IdleRecord::Stale)));
    let unknown = Record { entry: "k::g".into(), ..record };
    assert_eq!(idle(&unknown, false), (false, Some(IdleRecord::Unknown)));
}

#[test]
fn records_hold_for_what_was_measured() {
    let text = "function f inout float x[N]; { x = 2 * x; }\n";
    let plain = tuned(text, Vec::new());
    let (_, rest) = plain.rust.split_once("source: \"").unwrap();
    let source = rest[..16].to_owned();
    let texts = TEXTS.map(|key| (key, String::new()));
    let record = Record { entry: "k::f".into(), source, texts, threads: 2 };
    let holds = |text: &str, record: &Record| {
        let output = tuned(text, vec![record.clone()]);
        assert_eq!(output.rust.contains("threads: 2"), output.idle_records.is_empty());
        output.idle_records
    };
    assert_eq!(holds(text, &record), []);
    let moved = format!("function g inout float y[N]; {{ y = 3 * y; }}\n{text}");
    assert_eq!(holds(&moved, &record), [], "what stands before it does not matter");
    assert_eq!(holds(&text.replace('2', "4"), &record), [("k::f".into(), IdleRecord::Stale)]);
    assert_eq!(holds(&text.replace("function f", "function g"), &record), [("k::f".into(), IdleRecord::Unknown)]);
    // What rules name is enough.
    let (_, rest) = plain.rust.split_once("plan: \"").unwrap();
    let (plan, rest) = rest.split_once('"').unwrap();
    let hash = rest.split_once("hash: \"").unwrap().1[..16].to_owned();
    let named = |hash: &str| {
        let versions = |key| if key == "versions" { format!("{plan} {hash}") } else { String::new() };
        Record { source: "stale".into(), texts: TEXTS.map(|key| (key, versions(key))), ..record.clone() }
    };
    assert_eq!(holds(text, &named(&hash)), []);
    assert_eq!(holds(text, &named("0123456789abcdef")), [("k::f".into(), IdleRecord::Stale)]);
}

/// Whatever looks into functions for each of their calls would not come to an end.
#[test]
fn functions_that_call_others_twice_are_looked_into_once() {
    let mut text = "function float g0(float v) { return v + 1; }\n".to_owned();
    for at in 1..60 {
        text += &format!("function float g{at}(float v) {{ return g{0}(v) + g{0}(v + 1); }}\n", at - 1);
    }
    text += "function f inout float x[N]; { map { i := [0:N); x[i] = g59(x[i]); } }\n";
    let output = compile(&input(&text, Options { cuda: true, ..Options::default() }));
    assert_eq!((output.diagnostics.len(), output.cpp.len(), output.cuda.len()), (0, 1, 1));
}

/// Looking at all pairs of them again after each that was joined takes minutes.
#[test]
fn long_rows_of_maps_are_joined_in_parts() {
    let text = format!("function f inout float x[N]; {{ {} }}\n", "map { i := [0:N); x[i] = x[i] * 2; }\n".repeat(300));
    let program = super::testing::optimised(&input(&text, Options::default()));
    let stmts = &program.funcs[program.entries[0]].body.stmts;
    assert!(stmts.iter().all(|stmt| matches!(stmt.kind, StmtKind::Map(_))), "{stmts:?}");
    assert_eq!(stmts.len(), 2);
}

#[test]
fn builds_go_on_without_versions_that_have_a_defect() {
    let build = input("function f inout float x[N]; { x = 2 * x; }\n", Options { cuda: true, ..Options::default() });
    let program = super::testing::optimised(&build);
    let sound = lower_entry(&build, &program, program.entries[0], &Model::cpu());
    let defect = Defect { plan: "serial".into(), expected: "all is well".into(), span: None };
    let reported = |lowered: &Lowered, strict: bool| {
        let mut sink = Sink::new();
        report_defects(&program, lowered, strict, &mut sink);
        sink.finish().iter().map(|diagnostic| (diagnostic.code, diagnostic.notes.concat())).collect::<Vec<_>>()
    };
    assert_eq!(reported(&sound, true), []);
    let one = Lowered { defects: vec![defect], ..sound.clone() };
    let note = "all is well".to_owned();
    assert_eq!(reported(&one, false), [(Code::VersionLeftOut, note.clone())]);
    assert_eq!(reported(&one, true), [(Code::Internal, note.clone())]);
    // Devices alone cannot run everything.
    let mut none = one.clone();
    none.entry.units.retain(|unit| unit.target == imp::UnitTarget::Device);
    assert_eq!((none.entry.units.len(), reported(&none, false)), (1, vec![(Code::Internal, note)]));
    none.defects.clear();
    assert_eq!(reported(&none, false), [(Code::Internal, "`f` has no version".to_owned())]);
}

#[test]
fn versions_that_do_not_verify_are_left_out() {
    let build = input("function f inout float x[N]; { x = 2 * x; }\n", Options::default());
    let program = super::testing::optimised(&build);
    let sound = lower_entry(&build, &program, program.entries[0], &Model::cpu()).entry;
    let plans: Vec<&str> = sound.units.iter().map(|unit| unit.plan.as_str()).collect();
    assert_eq!(plans, ["rows", "serial"]);
    let mut entry = sound.clone();
    entry.units[0].host.params.reverse();
    entry.units.push(sound.units[1].clone());
    let defects = leave_out_unsound(&program, &mut entry);
    assert_eq!(entry.units.iter().map(|unit| unit.plan.as_str()).collect::<Vec<_>>(), ["serial"]);
    let left_out: Vec<&str> = defects.iter().map(|defect| defect.plan.as_str()).collect();
    assert_eq!(left_out, ["rows", "serial"]);
    assert_eq!(defects[1].expected, "plans have different names");
}

#[test]
fn symbols_differ_where_joined_names_do_not() {
    assert_ne!(symbol("k", "a_b", "c"), symbol("k", "a", "b_c"));
}

//! Deep nesting is an error, not an overflow of the stack: whatever the parser lets through, every phase can recurse over.

use std::thread;

use hidp_build::compiler::check::{SourceUnit, check};
use hidp_build::compiler::diag::{Code, Sink};
use hidp_build::compiler::source::SourceMap;
use hidp_build::compiler::syntax::ast::Domains;
use hidp_build::compiler::syntax::{parse, print};

fn function(body: &str) -> String {
    format!(
        "function float f(float x) {{ return x; }}\nfunction tower\ninout float _y;\n{{\n\
         bool c = true; float x, y; int a[3];\n{body}\n}}\n"
    )
}

/// `prefix` many times, `middle`, `suffix` as often.
fn nested(count: usize, prefix: &str, middle: &str, suffix: &str) -> String {
    function(&format!("{}{middle}{}", prefix.repeat(count), suffix.repeat(count)))
}

/// Programs whose trees are `count` high, each in another way.
fn towers(count: usize) -> Vec<String> {
    let value = |value: String| function(&format!("_y = {value};"));
    vec![
        value(format!("{}1{}", "(".repeat(count), ")".repeat(count))),
        value(format!("{}1", "- ".repeat(count))),
        value(format!("{}1", "(int)".repeat(count))),
        value(format!("{}1{}", "int(".repeat(count), ")".repeat(count))),
        value(format!("{}1{}", "f(".repeat(count), ")".repeat(count))),
        value(format!("{}1{}", "a[".repeat(count), "]".repeat(count))),
        value(format!("1{}", " + 1".repeat(count))),
        value(format!("{}1{}", "(".repeat(count), " + 1)".repeat(count))),
        value(format!("{}1{}", "1 + (".repeat(count), ")".repeat(count))),
        value(format!("a{}", ".b".repeat(count))),
        value(format!("a{}", "[0].b".repeat(count))),
        value(format!("{}1", "c ? 1 : ".repeat(count))),
        value(format!("{}1{}", "c ? ".repeat(count), " : 1".repeat(count))),
        value(format!("{}1{}", "S{v: ".repeat(count), "}".repeat(count))),
        value(format!("{}1{}", "a + x * (".repeat(count), ")".repeat(count))),
        value(format!("{}1{}", "1||1&&1|1^1&1==1<1<<1+1*(".repeat(count / 3), ")".repeat(count / 3))),
        nested(count, "{", "", "}"),
        nested(count, "if (c) ", "y = 1;", ""),
        nested(count, "if (c) { y = 1; } else ", "y = 1;", ""),
        nested(count, "while (c) {", "y = 1;", "}"),
        nested(count, "map { i := [0:1); ", "y = 1;", "}"),
    ]
}

/// Half of what a thread of a test gets, and an eighth of what a build script gets.
const SMALL_STACK: usize = 1 << 20;

/// What a thread of a test gets.
const STACK: usize = 2 << 20;

fn on_stack(size: usize, run: fn()) {
    thread::Builder::new().stack_size(size).spawn(run).expect("a thread").join().expect("no panic");
}

/// The codes that the parser reports.
fn codes(program: &str) -> Vec<Code> {
    let mut sources = SourceMap::new();
    let file = sources.add("tower.hdp", program);
    let mut sink = Sink::new();
    parse(&sources, file, &mut sink);
    sink.finish().iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn towers_are_refused() {
    on_stack(SMALL_STACK, || {
        for tower in towers(20_000) {
            assert_eq!(codes(&tower), [Code::TooDeep], "{}", &tower[..80]);
        }
    });
}

#[test]
fn what_people_write_is_accepted() {
    for tower in towers(10).iter().chain(&towers(30)) {
        assert_eq!(codes(tower), [], "{tower}");
    }
}

#[test]
fn whatever_is_accepted_is_printed_and_checked() {
    on_stack(STACK, || {
        for tower in (31..220).step_by(9).flat_map(towers) {
            let mut sources = SourceMap::new();
            let id = sources.add("tower.hdp", tower.as_str());
            let mut sink = Sink::new();
            let ast = parse(&sources, id, &mut sink);
            if !sink.has_errors() {
                print(&ast);
                check(&sources, &[SourceUnit { id, ast, imports: Vec::new() }], &Domains::default(), &mut sink);
            }
        }
    });
}

//! Deep nesting is an error, not an overflow of the stack.

use super::round_trip::assert_round_trip;
use super::{parsed, without_spans};
use crate::compiler::diag::Code;

fn function(body: &str) -> String {
    format!("function f\ninout float x[N];\n{{\n{body}\n}}\n")
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

/// Half of what a thread of a test or a build script gets, so that later phases may use more for a level than parsing does.
const STACK: usize = 1 << 20;

#[test]
fn towers_are_refused_on_a_small_stack() {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(refuse_towers).expect("a thread");
    thread.join().expect("no panic");
}

fn refuse_towers() {
    for tower in towers(20_000) {
        let result = parsed(&tower);
        let codes: Vec<Code> = result.errors().map(|error| error.code).collect();
        assert!(codes.contains(&Code::TooDeep), "{codes:?} for {}", &tower[..80]);
        assert_eq!(codes.len(), 1, "{}", &tower[..80]);
    }
}

#[test]
fn what_people_write_is_accepted_and_whatever_is_accepted_prints() {
    for count in [10, 30] {
        for tower in towers(count) {
            let result = parsed(&tower);
            assert_eq!(result.errors().next(), None, "{tower}");
            assert_round_trip(&result);
        }
    }
    for count in 31..220 {
        for tower in towers(count) {
            let result = parsed(&tower);
            if result.errors().next().is_none() {
                without_spans(&result.tree);
                crate::compiler::syntax::print(&result.tree);
            }
        }
    }
}

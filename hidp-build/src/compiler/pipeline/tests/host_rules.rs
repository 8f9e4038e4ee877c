//! Rules that send calls to the processor, as lowering asks for them.

use crate::compiler::pipeline::testing::{input, optimised};
use crate::compiler::pipeline::{Options, lower_entry};
use hidp_plan::Rule;
use hidp_plan::target::Model;

/// The rules for the processor, and names of measures.
fn of(text: &str, cuda: bool) -> (Vec<String>, Vec<&'static str>) {
    let input = input(text, Options { cuda, ..Options::default() });
    let program = optimised(&input);
    let dispatch = lower_entry(&input, &program, program.entries[0], &Model::cpu()).dispatch;
    let rules = dispatch.rules.iter().filter(|rule| rule.plan == Rule::HOST);
    (rules.map(|rule| dispatch.print(rule)).collect(), dispatch.measures.iter().map(|m| m.name).collect())
}

const FLAT: &str = "function f input float x[N]; output float y[N]; { y = 2 * x; }";

#[test]
fn copies_are_weighed_against_the_work() {
    let (rules, measures) = of(FLAT, true);
    assert_eq!(rules, ["intensity < 1365 * threads: host", "operations < 480000 * threads: host"]);
    assert_eq!(measures, ["parallel", "copied", "operations", "intensity"]);
    assert_eq!(of(FLAT, false), (vec![], vec!["parallel"]), "without a device there is nothing to weigh");
}

#[test]
fn what_cannot_be_counted_goes_to_the_device_if_it_has_lanes_for_it() {
    let text = "function f inout float x[N];
            { map { i := [0:N); float s = x[i]; while (s > 1) { s = s / 2; } x[i] = s; } }";
    assert_eq!(of(text, true), (vec!["parallel < 64 * threads: host".into()], vec!["parallel", "copied"]));
    let text = "function f inout int x[N]; { while (x[0] < N) { x[0] = x[0] + 1; } }";
    assert_eq!(of(text, true), (vec!["otherwise: host".into()], vec!["copied"]));
}

//! When the processor rather runs a call that a device could run, untuned: where copying the arguments takes longer than all that
//! is to be computed. Only calls whose arrays are all in the host's memory have the choice.

use super::measures::{INTENSITY, Measure, OPERATIONS, PARALLEL};
use super::{Bound, Condition, Rule, nests};
use crate::compiler::ir::par::visit;
use crate::compiler::ir::par::{Func, StmtKind};
use crate::compiler::target::{DeviceModel, Model};

/// Iterations for each thread of the processor below which lanes, each of which is so much slower, gain nothing.
const SLOWER: i64 = 64;

/// `threads` in these rules are those of the processor.
pub(super) fn host_rules(func: &Func, measures: &[Measure], cpu: &Model, device: &DeviceModel) -> Vec<Rule> {
    let find = |name: &str| measures.iter().position(|measure| measure.name == name);
    let below = |measure: usize, bound: i64| Rule {
        conditions: vec![Condition { measure, least: false, bound: Bound::PerThread(bound) }],
        plan: Rule::HOST.to_owned(),
    };
    let speed = i64::from(cpu.operations);
    match (find(OPERATIONS), find(INTENSITY), find(PARALLEL)) {
        // What the processor has done by the time the copies have come, the first byte or all of them.
        (Some(work), Some(intensity), _) => vec![
            below(intensity, 1024 * speed / i64::from(device.copy_bandwidth)),
            below(work, speed * i64::from(device.copy_latency)),
        ],
        // Whatever cannot be counted is taken to be much.
        (_, _, Some(parallel)) => vec![below(parallel, SLOWER)],
        (_, _, None) if nothing_shared(func) => vec![Rule { conditions: Vec::new(), plan: Rule::HOST.to_owned() }],
        (_, _, None) => Vec::new(),
    }
}

/// Whether there is neither a nest nor a primitive.
fn nothing_shared(func: &Func) -> bool {
    let mut primitives = false;
    visit::walk_stmts(&func.body, |stmt| primitives |= matches!(stmt.kind, StmtKind::Prim(_)));
    nests(func).is_empty() && !primitives
}

#[cfg(test)]
mod tests {
    use crate::compiler::diag::Sink;
    use crate::compiler::pipeline::{InputFile, Options, PipelineInput, front, lower_entry, optimise};
    use crate::compiler::plan::Rule;
    use crate::compiler::source::SourceMap;
    use crate::compiler::target::Model;

    /// The rules for the processor, and names of measures.
    fn of(text: &str, cuda: bool) -> (Vec<String>, Vec<&'static str>) {
        let mut sources = SourceMap::new();
        let id = sources.add("k.hdp", text);
        let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
        let input = PipelineInput { sources, files, options: Options { cuda, ..Options::default() } };
        let mut sink = Sink::new();
        let program = front(&input, &mut sink).and_then(|program| optimise(program, &mut sink)).unwrap();
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
}

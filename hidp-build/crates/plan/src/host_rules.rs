//! When the processor rather runs a call that a device could run, untuned: where copying the arguments takes longer than all that
//! is to be computed. Only calls whose arrays are all in the host's memory have the choice.

use super::measures::{INTENSITY, Measure, OPERATIONS, PARALLEL};
use super::{Bound, Condition, Rule, nests};
use crate::target::{DeviceModel, Model};
use hidp_ir::par::visit;
use hidp_ir::par::{Func, StmtKind};

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
        (_, _, Some(parallel)) => vec![below(parallel, device.host_speed.into())],
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

//! Every part at tiny sizes on the executor: arguments and shapes are right, results are those of the processor, goals are named.

use std::path::Path;

use hidp_gpu_bench::machine::Machine;
use hidp_gpu_bench::parts;

fn machine() -> Machine {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/quickstart/data");
    Machine::simulated(data).expect("a simulated device")
}

#[test]
fn every_part_runs() {
    let machine = machine();
    for (name, _) in parts::PARTS {
        parts::run(&machine, name).unwrap_or_else(|error| panic!("{name}: {error:#}"));
    }
    let report = machine.report.borrow();
    for what in ["triad", "sum", "scan", "sort u32", "sort f32", "sort pairs", "segmented sum", "segmented sort"] {
        assert!(report.goals().iter().any(|goal| goal.contains(what)), "{what}");
    }
    for what in ["SpMV", "7-point", "Himeno", "row sums", "column sums", "GEMM"] {
        assert!(report.goals().iter().any(|goal| goal.contains(what)), "{what}");
    }
    // Nothing is reached where nothing can be measured.
    assert!(report.goals().iter().all(|goal| goal.starts_with("not measured ")), "{:?}", report.goals());
}

#[test]
fn there_are_no_other_parts() {
    let error = parts::run(&machine(), "nonsense").expect_err("no such part").to_string();
    assert!(error.starts_with("there is no part nonsense; there are: limits streaming"), "{error}");
}

//! Every part at tiny sizes on the executor: arguments and shapes are right, results are those of the processor, goals are named.

use std::path::Path;

use hidp_gpu_bench::machine::Machine;
use hidp_gpu_bench::parts;
use hidp_gpu_bench::report::{Contender, Work};

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
    assert!(report.failures().is_empty(), "{:?}", report.failures());
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

/// A row with a wrong result is said, and neither ends the others nor counts as good.
#[test]
fn a_wrong_row_fails() {
    let machine = machine();
    assert_eq!(machine.row("good", || Ok(1)), Some(1));
    let wrong = machine.row("bad", || -> anyhow::Result<()> { anyhow::bail!("element 3 is 1, but must be 2") });
    assert_eq!(wrong, None);
    assert_eq!(machine.report.borrow().failures(), ["FAILED       bad: element 3 is 1, but must be 2"]);
}

/// Who cannot do the work is left out of a row, unless it is the one that the row is about.
#[test]
fn a_peer_that_fails_is_left_out() {
    let machine = machine();
    let fails = || Contender::new("peer", || anyhow::bail!("error 7"));
    let row = |contenders| machine.compare("row", Work::Items(1.0), contenders);
    let measured = row(vec![Contender::new("HiDP", || Ok(())), fails(), Contender::new("other", || Ok(()))]);
    let measured = measured.expect("the row is there");
    assert!(measured.over("peer").is_none() && measured.over("other").is_some());
    assert!(row(vec![fails(), Contender::new("other", || Ok(()))]).is_err());
}

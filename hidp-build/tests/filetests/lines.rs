//! What the executor of device code finds it says of the line of the `.hdp` file whose statement does it, also where the run time's
//! headers do it for that statement.

use std::collections::BTreeMap;

use hidp_build::compiler::ir::imp::UnitTarget;

use crate::device::DeviceKernels;
use crate::maker::Maker;
use crate::native::targets;
use crate::subject::{Outcome, Request, Subject};

/// Behind the statements that reports name stands a comment.
const PROGRAM: &str = r#"
#pragma hidp unchecked
function beyond
input int x[N]; output int y[N], z[N];
{
  map {
    i := [0:N);
    y[i] = i;
    z[i] =
      x[i];
    y[i] =  // ~beyond
      x[i + 1];
  }
}

function turned
input int x[N][M]; output int y[N][M];
{
  map {
    i := [0:N);
    int row[M];
    map { j := [0:M); row[j] = x[i][j]; }  // ~put
    map { j := [0:M); y[i][j] = row[M-1-j]; }  // ~get
  }
}

function sorted
input int x[N], low[S], high[S]; inout int y[N];
{
  if (N > 1) {
    sort(  // ~whole
      x, y, low, high, 1);
  }
}

function sorted_rows
input int x[M][N]; inout int y[M][N];
{
  map {
    i := [0:M);
    y[i][0] = 1;
    sort(x[i][*], y[i][*], 0, N, 1);  // ~row
  }
}
"#;

fn line_of(mark: &str) -> usize {
    let comment = format!("// ~{mark}");
    PROGRAM.lines().position(|line| line.ends_with(&comment)).expect("a comment for each mark") + 1
}

/// What is found in a function with this plan, after `change` of the generated text.
fn reports(function: &str, plan: &str, sizes: &[i64], change: impl FnOnce(&str) -> String) -> Vec<String> {
    let subject = Subject::compile("lines", PROGRAM).unwrap_or_else(|why| panic!("{why}"));
    let text = change(subject.cu.as_ref().expect("entries have plans for devices"));
    let kernels = DeviceKernels::build("lines", &text).unwrap_or_else(|why| panic!("{why}"));
    let entry = subject.entries.iter().find(|entry| subject.func(entry).name == function).expect("an entry");
    let unit = subject.units(entry, UnitTarget::Device).find(|unit| unit.plan == plan).expect("such a plan");
    let made = BTreeMap::new();
    let mut maker = Maker::new(subject.original(), subject.func(entry), sizes, 1, &made);
    let (args, dims) = (maker.args().expect("sizes that fit"), maker.dims());
    let request = Request::new(args, dims, Outcome::Unknown);
    let found = subject.call_on(&kernels.device(0, 1), (entry, unit), &request, false);
    let Err(reports) = found else { panic!("`{function}`, {plan}: found nothing") };
    reports.lines().map(str::to_owned).collect()
}

/// Whether there is a report of this kind, at the line of this mark and that has the text; and none at a line without a mark.
fn expect(reports: &[String], (mark, kind): (&str, &str), text: &str) {
    let head = format!("lines.hdp:{}: {kind}: ", line_of(mark));
    let found = reports.iter().any(|report| report.starts_with(&head) && report.contains(text));
    assert!(found, "no `{head}` with `{text}` in\n{}", reports.join("\n"));
    let marked = ["beyond", "put", "get", "whole", "row"].map(|mark| format!("lines.hdp:{}: ", line_of(mark)));
    let others = reports.iter().find(|report| !marked.iter().any(|mark| report.starts_with(mark)));
    assert_eq!(others, None, "of a line without a mark");
}

const SYNC: &str = "hidp::sync<hidp::Block>(worker);";

fn with_barriers(barrier: &str) -> impl FnOnce(&str) -> String {
    move |text| {
        assert!(text.contains(SYNC));
        text.replace(SYNC, barrier)
    }
}

#[test]
fn statements_have_their_line() {
    if !targets().devices {
        return;
    }
    let outside = reports("beyond", "thread", &[40], str::to_owned);
    expect(&outside, ("beyond", "out of bounds"), "element 40 of `x`");
    let races = reports("turned", "block", &[2, 40], with_barriers(""));
    expect(&races, ("get", "uninitialised"), "element 39 ");
    expect(&races, ("put", "data race"), &format!("(lines.hdp:{})", line_of("get")));
    let skips = format!("if (hidp::thread_rank() != 3) {SYNC}");
    let waits = reports("turned", "block", &[2, 40], with_barriers(&skips));
    expect(&waits, ("get", "divergence"), "0-2");
    let shared = format!("{{ HIDP_SHARED(int, never, 1); hidp::load(never); }} {SYNC}");
    let shared = reports("turned", "block", &[2, 40], with_barriers(&shared));
    expect(&shared, ("get", "uninitialised"), "the shared array `never`");
}

#[test]
fn what_headers_do_has_the_line_of_who_calls_them() {
    if !targets().devices {
        return;
    }
    let longer = |text: &str| {
        let of_calls = |line: &str| match line.contains("_sort(hidp::here(") {
            true => line.replace(", false)", " + 1000, false)"),
            false => line.to_owned(),
        };
        text.lines().map(of_calls).collect::<Vec<_>>().join("\n")
    };
    for plan in ["block", "warp", "subwarp", "thread"] {
        let found = reports("sorted_rows", plan, &[3, 5], longer);
        expect(&found, ("row", "out of bounds"), "sort.cuh:");
    }
    let found = reports("sorted", "thread", &[5, 9], longer);
    expect(&found, ("whole", "out of bounds"), ", in ");
}

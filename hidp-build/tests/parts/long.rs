//! Long programs take time in proportion to their length: four times the text, not sixteen times the work.

use std::fs;
use std::time::{Duration, Instant};

use hidp_build::compiler::diag::Severity;
use hidp_build::compiler::pipeline::{InputFile, PipelineInput, compile};

/// So much of an item, after which four times as many take no more than `MOST` times as long: 4 if all is linear, 16 if something is quadratic.
const MOST: u32 = 9;

/// What this thread was given of a processor, where the system says it, or else what the clock says.
fn taken(start: Instant) -> Duration {
    let said = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = said.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// How long a program takes, and how many errors it has.
fn time(start: Instant, text: String) -> (Duration, usize) {
    let mut input = PipelineInput::default();
    let id = input.sources.add("long.hdp", text);
    input.files.push(InputFile { id, stem: "long".into(), imports: Vec::new() });
    let before = taken(start);
    let output = compile(&input);
    let errors = output.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    (taken(start) - before, errors.count())
}

/// `item(0)` to `item(count - 1)` in one function, and four times as many.
#[track_caller]
fn grows_with_its_length(count: usize, errors: usize, item: impl Fn(usize) -> String) {
    let start = Instant::now();
    let program = |count: usize| {
        let body: String = (0..count).map(&item).collect();
        format!("function f inout float x[N], y[N]; inout float _s;\n{{\n{body}}}\n")
    };
    let ratio = || {
        let ((short, few), (long, many)) = (time(start, program(count)), time(start, program(4 * count)));
        assert_eq!((few, many), (count * errors, 4 * count * errors));
        long.as_nanos() / short.as_nanos().max(1)
    };
    // Others may slow the machine down just then.
    let least = (0..3).map(|_| ratio()).find(|&ratio| ratio <= u128::from(MOST));
    assert!(least.is_some(), "four times as many take more than {MOST} times as long");
}

#[test]
fn diagnostics() {
    grows_with_its_length(1500, 1, |at| format!("  q{at} = w{at};\n"));
}

#[test]
fn statements_of_the_host() {
    grows_with_its_length(1000, 0, |at| format!("  _s = _s * {at}.5 + 1;\n"));
}

#[test]
fn swaps() {
    grows_with_its_length(1000, 0, |_| "  swap(x, y);\n".into());
}

#[test]
fn maps_in_a_row() {
    grows_with_its_length(50, 0, |at| {
        let (to, from) = if at % 2 == 0 { ("x", "y") } else { ("y", "x") };
        format!("  map {{ i := [0:N); {to}[i] = {from}[i] * {at}.5 + {from}[N-1-i]; }}\n")
    });
}

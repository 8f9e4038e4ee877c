//! What calls log.

mod fake;

use std::sync::Mutex;

use hidp_std::Context;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Lines;

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}: {}", record.level(), record.target(), record.args());
        LINES.lock().expect("no test panicked").push(line);
    }
    fn flush(&self) {}
}

#[test]
fn every_call_says_what_ran_and_why() {
    log::set_logger(&Lines).expect("the first logger");
    let cx = Context::builder().threads(1).build().expect("a context");
    let (x, mut y) = ([1.0f32, 2.0], [0.0f32]);
    let mut call = |cx: &Context| fake::gather(cx, 1.0, &x[..], &[1][..], &mut y[..]).expect("it runs");
    call(&cx);
    assert!(LINES.lock().unwrap().is_empty(), "not unless it is asked for");
    log::set_max_level(log::LevelFilter::Trace);
    call(&cx.with_plan("twice"));
    let lines = LINES.lock().unwrap();
    assert_eq!(lines[..], ["TRACE hidp: gather::Gather: plan twice, base, 1 thread (plan forced)"]);
}

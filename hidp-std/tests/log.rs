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
    drop(lines);
    log::set_max_level(log::LevelFilter::Warn);
    idle_records_are_said();
}

/// A record of `gather` that fits in everything but what `changes` replaces, and the device.
fn record(changes: &[(&str, &str)]) -> String {
    let record = "[[record]]\nentry = \"gather::Gather\"\nsource = \"\"\ndevice = \"d\"\narchitecture = \"a\"\n\
                  vendor = \"Nobody\"\nisa = \"base\"\nthreads = 1\ntoolchain = \"\"\nrules = \"otherwise: twice\"\n";
    changes.iter().fold(format!("format = 1\n{record}"), |text, (from, to)| text.replace(from, to))
}

/// What cannot be used of a file of records is ignored and said once; results stay right. One test, as there is one logger.
fn idle_records_are_said() {
    let folder = std::env::temp_dir().join(format!("hidp-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let cases = [
        (
            "unknown",
            record(&[("gather::Gather", "gather::gone")]),
            "there is no entry `gather::gone` among those built with `gather::Gather`",
        ),
        ("changed", record(&[("source = \"\"", "source = \"1f\"")]), "the entry was changed after it was measured"),
        ("compiler", record(&[("toolchain = \"\"", "toolchain = \"x\"")]), "it was measured with `x`"),
        ("threads", record(&[("threads = 1", "threads = 7")]), "it is for 7 threads with base"),
        ("foreign", record(&[]), "it is for `d`"),
        (
            "type",
            record(&[("threads = 1", "threads = \"1\"")]),
            "a record is ignored: line 9: `threads` is not a number of at most 32 bits",
        ),
        ("unknown key", format!("{}hots = 1\n", record(&[])), "a record is ignored: line 12: `hots` is not known"),
        ("malformed", "format = 1\nnonsense".into(), "line 2: key with no value, expected `=`"),
        ("format", "format = 9\n".into(), "this version reads `format = 1`"),
    ];
    for (name, text, reason) in cases {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file");
        LINES.lock().expect("no test panicked").clear();
        let cx = Context::builder().threads(1).isa(hidp_std::Isa::Base).tuning(&path).build().expect("a context");
        for _ in 0..2 {
            let mut y = [0.0f32];
            fake::gather(&cx, 2.0, &[1.0f32, 2.0][..], &[1][..], &mut y[..]).expect("it runs");
            assert_eq!(y, [4.0], "{name}");
            assert_eq!(cx.last_run().expect("it ran").plan, "rows", "{name}");
        }
        let lines = LINES.lock().expect("no test panicked");
        let [line] = &lines[..] else { panic!("{name}: {lines:?}") };
        assert!(line.starts_with("WARN hidp") && line.contains(reason), "{name}: {line}");
    }
    std::fs::remove_dir_all(folder).expect("it was there");
}

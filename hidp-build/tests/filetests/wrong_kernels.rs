//! The executor of device code finds what is wrong in `tests/simt/wrong.cu`, says where, and finds nothing in what is right.

use std::ffi::c_void;
use std::sync::OnceLock;

use crate::device::{Device, DeviceKernels, Ended};

const WRONG: &str = include_str!("../simt/wrong.cu");

/// Elements of both arrays.
const COUNT: usize = 64;

/// An entry and what is to be found in it.
struct Entry {
    name: String,
    marks: Vec<Mark>,
}

#[derive(Debug, PartialEq)]
struct Mark {
    /// Line, or none: somewhere in the run time.
    line: Option<usize>,
    kind: String,
    /// Whether another such mark does as well.
    perhaps: bool,
}

fn entries() -> Vec<Entry> {
    let mut found = Vec::new();
    let mut marks = Vec::new();
    let mut name = None;
    for (number, line) in WRONG.lines().enumerate() {
        marks.extend(line.split("//").skip(1).filter_map(|comment| mark(number + 1, comment)));
        if let Some(rest) = line.strip_prefix("ENTRY(") {
            name = rest.split(')').next().map(str::to_owned);
        }
        if line.ends_with('}') && (line.starts_with('}') || line.starts_with("ENTRY(")) {
            found.extend(name.take().map(|name| Entry { name, marks: std::mem::take(&mut marks) }));
        }
    }
    found
}

fn mark(line: usize, comment: &str) -> Option<Mark> {
    let comment = comment.strip_prefix('~')?;
    let somewhere = comment.starts_with('~');
    let kind = comment.trim_start_matches(['~', '?']).trim().to_owned();
    Some(Mark { line: (!somewhere).then_some(line), kind, perhaps: comment.starts_with('?') })
}

fn kernels() -> &'static DeviceKernels {
    static KERNELS: OnceLock<DeviceKernels> = OnceLock::new();
    let text = format!("#line 1 \"wrong.cu\"\n{WRONG}");
    KERNELS.get_or_init(|| DeviceKernels::build("wrong", &text).expect("compiles"))
}

fn run(device: &Device<'_>, name: &str) -> Result<(), Ended> {
    let input: Vec<i32> = (0..COUNT as i32).collect();
    let bytes = size_of_val(input.as_slice());
    let params = [device.take(bytes), device.take(bytes)];
    // SAFETY: the entries take two arrays of this size and no dimensions.
    unsafe {
        device.copy_in(params[0], input.as_ptr().cast::<c_void>(), bytes);
        device.call(&format!("hidp2_{name}"), &params, &[])
    }
}

impl Entry {
    /// Compares with what was found in a run.
    fn compare(&self, reports: &str) -> Result<(), String> {
        let mut hit = vec![false; self.marks.len()];
        for report in reports.lines() {
            let (place, rest) = report.split_once(": ").ok_or(report)?;
            let line = place.strip_prefix("wrong.cu:").and_then(|number| number.parse::<usize>().ok());
            let fits = |mark: &Mark| mark.line == line && rest.starts_with(&format!("{}: ", mark.kind));
            let number = self.marks.iter().position(fits).ok_or_else(|| format!("found: {report}"))?;
            hit[number] = true;
        }
        let missed = self.marks.iter().zip(&hit).find(|(mark, hit)| !mark.perhaps && !**hit);
        let perhaps = self.marks.iter().zip(&hit).filter(|(mark, _)| mark.perhaps);
        match missed {
            Some((mark, _)) => Err(format!("did not find {mark:?}")),
            None if perhaps.clone().count() > 0 && !perhaps.clone().any(|(_, hit)| *hit) => {
                Err("found nothing".to_owned())
            }
            None => Ok(()),
        }
    }
}

#[test]
fn what_is_wrong_is_found() {
    let kernels = kernels();
    let entries = entries();
    assert!(entries.len() > 30, "{} entries", entries.len());
    let mut failures = Vec::new();
    for entry in &entries {
        for seed in 0..5 {
            let found = match run(&kernels.device(seed, 2), &entry.name) {
                Ok(()) => String::new(),
                Err(Ended::Wrong(reports)) => reports,
                Err(Ended::Fault(fault)) => format!("fault {}", fault.site),
            };
            if let Err(why) = entry.compare(&found) {
                failures.push(format!("{}, seed {seed}: {why}\n{found}", entry.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn places_are_those_of_line_directives() {
    let kernels = kernels();
    let Err(Ended::Wrong(reports)) = run(&kernels.device(0, 1), "from_another_file") else { panic!("found nothing") };
    assert!(reports.starts_with("rows.hdp:7: data race: "), "{reports}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let kernels = kernels();
    let reports = |seed| match run(&kernels.device(seed, 2), "no_barrier_before_neighbour") {
        Err(Ended::Wrong(reports)) => reports,
        Err(Ended::Fault(_)) | Ok(()) => panic!("found nothing"),
    };
    assert_eq!(reports(7), reports(7));
    assert_ne!(reports(7), reports(8));
}

#[test]
fn nothing_is_written_through_what_is_read_only() {
    let kernel = |statement: &str| {
        let head = "#include <hidp/cuda/target.cuh>\nHIDP_GLOBAL(32) kernel(hidp::In<int> x, hidp::Out<int> y)";
        let call = "auto *volatile used = kernel;";
        DeviceKernels::build("read_only", &format!("{head} {{ {statement} }}\nvoid use() {{ {call} (void)used; }}\n"))
    };
    assert!(kernel("hidp::at(y, 0) = hidp::load(x);").is_ok());
    for statement in ["hidp::at(x, 0) = hidp::load(y);", "hidp::store(x, 1);", "hidp::atomic_add(x, 1);"] {
        assert!(kernel(statement).err().is_some_and(|why| why.contains("error")), "{statement}");
    }
}

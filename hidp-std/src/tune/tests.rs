//! The tuner on a simulated device: from measuring to calls that run by what was recorded.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Data, Tuner, clock};
use crate::device::tests::World;
use crate::device::tests::simulation;
use crate::rt::entry::{Code, Codes, Dispatch, Elem, Entry, Measure, Op, Param, Version};
use crate::rt::{Array, Entries, call, hidp_call};
use crate::{Context, DeviceArray, Error, Isa, LastRun, Placed, View, ViewMut};

/// Doubles `x` into `y`, after as many microseconds as `delay` says for their length.
unsafe fn double(call: *mut hidp_call, factor: f32, delay: fn(usize) -> u64) -> i32 {
    // SAFETY: the entry below has two arrays of as many `f32` as its dimension says.
    unsafe {
        let count = usize::try_from(*(*call).dims).unwrap();
        let x = std::slice::from_raw_parts((*(*call).params).cast::<f32>(), count);
        let y = std::slice::from_raw_parts_mut((*(*call).params.add(1)).cast::<f32>(), count);
        y.iter_mut().zip(x).for_each(|(y, x)| *y = factor * x);
        clock::pass(delay(count));
    }
    0
}
macro_rules! version {
    ($name:ident $factor:literal $delay:expr) => {
        unsafe extern "C" fn $name(call: *mut hidp_call) -> i32 {
            // SAFETY: as above.
            unsafe { double(call, $factor, $delay) }
        }
    };
}
version!(serial 2.0 |count| if count < 2000 { 100 } else { 9000 });
version!(thread 2.0 |_| 1500);
version!(warp 2.0 |count| if count < 8000 { 300 } else { 5000 });
version!(wrong 3.0 |_| 0);

const fn vector(name: &'static str, reads: bool) -> Param {
    let shape: &[&[Op]] = &[&[Op::Dim(0)]];
    Param { name, reads, writes: !reads, elem: Elem::F32, positions: true, shape, shape_text: &["N"] }
}
static DOUBLE: Entry = Entry {
    name: "test::double",
    params: &[vector("x", true), vector("y", false)],
    dims: &["N"],
    versions: &[
        Version { plan: "serial", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: serial }]) },
        Version { plan: "thread", hash: "", code: Codes::Device(thread) },
        Version { plan: "warp", hash: "", code: Codes::Device(warp) },
        Version { plan: "block", hash: "", code: Codes::Device(wrong) },
    ],
    dispatch: Dispatch {
        source: "1f",
        device_source: "2f",
        device_toolchain: "nvcc 13",
        measures: &[
            Measure { name: "parallel", program: &[Op::Dim(0)] },
            Measure { name: "copied", program: &[Op::Copied] },
            Measure { name: "operations", program: &[Op::Dim(0), Op::Work] },
            Measure { name: "intensity", program: &[Op::Dim(0), Op::PerKib] },
        ],
        ..Dispatch::NONE
    },
    sites: &[],
};
static ENTRIES: &[&[&Entry]] = &[&[&DOUBLE]];

fn context(threads: u32, strict: bool) -> crate::Builder {
    let builder = Context::builder().on(simulation(World::default())).threads(threads);
    if strict { builder.cuda(0) } else { builder.auto() }
}

fn run(cx: &Context, x: &impl View<f32, 1>, y: &mut impl ViewMut<f32, 1>) -> Result<LastRun, Error> {
    let x = Array::input::<f32, _>(&DOUBLE, 0, x)?;
    let y = Array::output::<f32, _>(&DOUBLE, 1, y)?;
    // SAFETY: the table says what the functions do.
    unsafe { call::<2, 1>(cx, &DOUBLE, [x.arg(), y.arg()]) }?;
    Ok(cx.last_run().unwrap())
}

fn tuned(folder: &Path, cx: Context) -> String {
    // SAFETY: as above; the wrong version is not dangerous.
    let mut tuner = Tuner::new(unsafe { Entries::new(ENTRIES) }).context(cx).sweeps(false);
    for count in [1000, 4000, 16000, 64000] {
        let make = move || vec![Data::vector(&vec![1.5f32; count]), Data::vector(&vec![0.0f32; count])];
        tuner = tuner.input("test::double", &format!("N = {count}"), make);
    }
    let file = folder.join("tune.toml");
    let outcomes = tuner.file(&file).report(folder.join("report.html")).budget(Duration::from_secs(60)).run().unwrap();
    let complaints = outcomes[0].complaints().join("\n");
    assert!(complaints.contains("plan block gives other results than plan serial"), "{complaints}");
    std::fs::read_to_string(file).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hidp-tunes-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Where and in which plan calls of these sizes run.
fn choices(cx: &Context) -> [(Option<u32>, &'static str); 3] {
    [1000, 4000, 64000].map(|count| {
        let last = run(cx, &vec![1.0; count], &mut vec![0.0; count]).unwrap();
        (last.device, last.plan)
    })
}

#[test]
fn what_is_measured_on_a_device_decides_there() {
    let folder = folder("auto");
    let untuned = context(1, false).tuning("off").build().unwrap();
    assert_eq!(choices(&untuned), [(Some(0), "thread"); 3], "nothing speaks for the processor or another plan");
    let text = tuned(&folder, context(1, false).build().unwrap());
    for expected in [
        "source = \"2f\"\ndevice = \"simulated\"\narchitecture = \"sm_90\"\nvendor = \"simulated\"",
        "isa = \"cuda\"\nthreads = 512\ntoolchain = \"nvcc 13\"\nhost = \"",
        "rules = \"intensity < 0: host; operations < ",
        ": warp; otherwise: thread\"",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }

    let file = folder.join("tune.toml");
    let cx = context(1, false).tuning(&file).build().unwrap();
    assert_eq!(choices(&cx), [(None, "serial"), (Some(0), "warp"), (Some(0), "thread")]);
    let last = run(&cx, &vec![1.0; 1000], &mut vec![0.0; 1000]).unwrap();
    assert!(matches!(last.placed, Placed::Host(reason) if reason.tuned()), "{last}");
    assert!(last.to_string().contains("(not cuda:0, tuned: operations = 1000 < "), "{last}");
    let resident = DeviceArray::from_host(&cx, &vec![1.0; 1000]).unwrap();
    let last = run(&cx, &resident, &mut vec![0.0; 1000]).unwrap();
    assert!(last.to_string().contains("(tuned: parallel = 1000 < "), "{last}");
    assert_eq!((last.device, last.plan), (Some(0), "warp"));
    // Another processor: only what holds for the device is left. The processor alone takes none of it.
    let other = context(2, false).tuning(&file).build().unwrap();
    assert_eq!(choices(&other), [(Some(0), "warp"), (Some(0), "warp"), (Some(0), "thread")]);
    let cpu = Context::builder().cpu().threads(1).tuning(&file).build().unwrap();
    assert_eq!(run(&cpu, &vec![1.0; 1000], &mut vec![0.0; 1000]).unwrap().plan, "serial");

    // Records of what the entry was, of another compiler and of other devices do not count, nor do wrong ones.
    for (at, (from, to)) in [
        ("source = \"2f\"", "source = \"1f\""),
        ("toolchain = \"nvcc 13\"", "toolchain = \"nvcc 12\""),
        ("vendor = \"simulated\"", "vendor = \"NVIDIA\""),
        ("isa = \"cuda\"", "isa = \"v4\""),
        ("otherwise: thread", "otherwise: grid"),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(text.contains(from));
        let file = folder.join(format!("wrong-{at}.toml"));
        std::fs::write(&file, text.replace(from, to)).unwrap();
        let cx = context(1, false).tuning(&file).build().unwrap();
        assert_eq!(choices(&cx), [(Some(0), "thread"); 3], "{to}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_context_for_the_device_alone_is_not_compared_with_the_processor() {
    let folder = folder("strict");
    let text = tuned(&folder, context(1, true).build().unwrap());
    assert!(!text.contains("host") && text.contains(": warp; otherwise: thread\""), "{text}");
    let cx = context(1, true).tuning(folder.join("tune.toml")).build().unwrap();
    assert_eq!(choices(&cx), [(Some(0), "warp"), (Some(0), "warp"), (Some(0), "thread")]);
    std::fs::remove_dir_all(folder).unwrap();
}

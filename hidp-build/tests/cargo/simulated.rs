//! A program whose device code runs on the host: wrappers, tables, run time and generated kernels together.

use std::fs;

use super::Package;

const KERNELS: &str = "\
function saxpy
input float _a, x[N];
inout float y[N];
{
  y = _a * x + y;
}

function gather
input float x[N]; input int cols[Z];
output float y[Z];
{
  map { i := [0:Z); y[i] = x[cols[i]]; }
}

function row_sums
input float A[R][C];
output float y[R];
{
  map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]);
}

function mean
input float x[N];
output float _mean;
{
  float _sum = 0;
  map { i := [0:N); _t = x[i]; } reduce(\"+\", _sum, _t, i := [*]);
  _mean = _sum / N;
}

function smooth
inout float x[N];
{
  float before[N];
  before = x;
  map { i := [1:N-1); x[i] = (before[i-1] + before[i] + before[i+1]) / 3; }
}

function halve
inout float x[N];
{
  map { i := [0:N); float s = x[i]; while (s > 1) { s = s / 2; } x[i] = s; }
}
";

const MAIN: &str = r#"
//! Calls each kernel on the processor and in every plan that it has for devices, and compares.
use hidp_std::tune::{Data, Tuner};
use hidp_std::{Context, Copies, DeviceArray, Error, Together};
use ndarray::{Array1, Array2};

hidp_std::include_kernels!();
use kernels::k;

/// What a call gave, and what was copied for it.
fn on(cx: &Context, call: impl FnOnce(&Context) -> hidp_std::Result<Vec<f32>>) -> (hidp_std::Result<Vec<f32>>, Copies) {
    let before = cx.copies();
    (call(cx), cx.copies() - before)
}

fn compare(name: &str, copies: (u64, u64), call: impl Fn(&Context) -> hidp_std::Result<Vec<f32>>) {
    let cpu = Context::builder().cpu().threads(2).build().unwrap();
    let expected = call(&cpu).unwrap();
    let mut ran = Vec::new();
    for seed in 0..4 {
        let device = Context::builder().simulated(seed).build().unwrap();
        for plan in ["", "thread", "subwarp2", "subwarp", "warp", "block", "kernel"] {
            let cx = if plan.is_empty() { device.clone() } else { device.with_plan(plan) };
            let (found, used) = match on(&cx, &call) {
                (Err(Error::UnknownPlan { .. }), _) => continue,
                (found, used) => (found.unwrap_or_else(|error| panic!("{name}, plan `{plan}`, seed {seed}: {error}")), used),
            };
            assert_eq!(found, expected, "{name}, plan `{plan}`, seed {seed}");
            assert_eq!((used.to_device, used.to_host), copies, "{name}, plan `{plan}`");
            let run = cx.last_run().unwrap();
            assert_eq!(run.device, Some(0), "{run}");
            ran.push(run.plan);
        }
    }
    ran.sort();
    ran.dedup();
    println!("{name}: {}", ran.join(" "));
}

fn main() -> hidp_std::Result {
    let n = 1000;
    let x = Array1::from_shape_fn(n, |i| (i % 17) as f32);
    let a = Array2::from_shape_fn((40, 70), |(r, c)| ((3 * r + c) % 11) as f32);
    let cols: Vec<i32> = (0..n as i32).map(|i| (i * 7) % n as i32).collect();

    compare("saxpy", (2, 1), |cx| {
        let mut y = vec![1.0; n];
        k::saxpy(cx, 2.0, &x, &mut y).map(|()| y)
    });
    compare("gather", (2, 1), |cx| {
        let mut y = vec![f32::NAN; n];
        k::gather(cx, &x, &cols, &mut y).map(|()| y)
    });
    compare("row_sums", (1, 1), |cx| {
        let mut y = vec![f32::NAN; 40];
        k::row_sums(cx, &a, &mut y).map(|()| y)
    });
    compare("mean", (1, 0), |cx| k::mean(cx, &x).map(|mean| vec![mean]));
    compare("smooth", (1, 1), |cx| {
        let mut y = x.to_vec();
        k::smooth(cx, &mut y).map(|()| y)
    });

    let cx = Context::builder().simulated(2).build()?;
    let mut y = DeviceArray::zeros(&cx, [n])?;
    let there = DeviceArray::from_host(&cx, &x)?;
    let before = cx.copies();
    for _ in 0..3 {
        k::saxpy(&cx, 1.0, &there, &mut y)?;
        k::smooth(&cx, &mut y)?;
    }
    assert_eq!(cx.copies(), before, "nothing is copied");
    assert_eq!(y.to_vec()?[0], 0.0);

    // Where calls have the choice, what is not worth the copies stays on the host, and what cannot be counted does if it is small.
    let auto = Context::builder().threads(2).simulated(0).auto().build()?;
    k::mean(&auto, &x)?;
    println!("auto: {}", auto.last_run().unwrap());
    k::mean(&auto, &DeviceArray::from_host(&auto, &x)?)?;
    println!("auto: {}", auto.last_run().unwrap());
    k::halve(&auto, &mut x.to_vec()[..100])?;
    println!("auto: {}", auto.last_run().unwrap());
    k::halve(&auto, &mut x.to_vec())?;
    println!("auto: {}", auto.last_run().unwrap());
    assert_eq!(auto.copies().to_host, 1);

    // The whole tuner, although times mean nothing here.
    let cells = 48;
    let input = move || {
        let cell = |at: usize| (at % 7) as f32;
        let a: Vec<f32> = (0..cells * cells).map(cell).collect();
        vec![Data::array(&a, &[cells, cells]), Data::vector(&vec![0.0f32; cells])]
    };
    let tuner = Tuner::new(kernels::ENTRIES).context(Context::builder().threads(2).simulated(1).auto().build()?);
    let tuner = tuner.only("row_sums").input("k::row_sums", "48 x 48", input).sweeps(false);
    let tuner = tuner.file("tune.toml").report("tune.html").budget(std::time::Duration::from_millis(1));
    let outcomes = tuner.run().expect("it tunes");
    println!("tuned: {} complaints", outcomes[0].complaints().iter().filter(|line| line.contains("results")).count());
    println!("points: {}", std::fs::read_to_string("tune.html").expect("a report").contains("48 x 48"));

    // What the build embedded, if it did.
    let mut sums = vec![0.0; 40];
    let device = Context::builder().threads(2).simulated(0).build()?;
    k::row_sums(&device, &a, &mut sums)?;
    println!("embedded: {}", device.last_run().unwrap());

    // What warps ask for: 40 rows of 280 bytes, 9 or 10 sectors each, in three requests.
    let counting = Context::builder().simulated(0).counting(true).build()?;
    k::row_sums(&counting.with_plan("warp"), &a, &mut sums)?;
    let run = counting.last_run().unwrap();
    let load = run.traffic()[0].sites.iter().find(|site| site.what == Together::Load).unwrap();
    assert!(load.site > 0 && load.file.ends_with("k.hdp"), "{load:?}");
    println!("counted: {} requests, {} lanes, {} different sectors", load.requests, load.lanes, load.launch_sectors);

    // Of several faults the first, and the same as on the processor; the context goes on.
    let cpu = Context::cpu()?;
    let mut wrong = cols.clone();
    for at in [700, 131, 300] {
        wrong[at] = -5;
    }
    let fault = |cx: &Context| k::gather(cx, &x, &wrong, &mut vec![0.0; n]).unwrap_err().to_string();
    for _ in 0..2 {
        assert_eq!(fault(&cx), fault(&cpu));
    }
    k::gather(&cx, &x, &cols, &mut vec![0.0; n])?;
    println!("fault: {}", fault(&cx));
    Ok(())
}
"#;

#[test]
fn a_simulated_device_runs_every_plan_as_the_processor_does() {
    let package = Package::new("hidp-fixture-simulated", &[("src/kernels/k.hdp", KERNELS), ("src/main.rs", MAIN)]);
    let run = || {
        let variables = [("HIDP_CUDA", "simulated")];
        package.cargo_with(&["run"], &variables).succeeded()
    };
    let text = run();
    for name in ["saxpy", "gather", "row_sums", "mean", "smooth"] {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        let plans: Vec<&str> = line.unwrap_or_else(|| panic!("{name} did not run:\n{text}")).split(' ').collect();
        assert!(plans.contains(&"thread"), "{name} ran {plans:?}");
        assert!(plans.len() >= if name == "row_sums" { 3 } else { 1 }, "{name} ran {plans:?}");
    }
    let auto: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("auto: k::")).collect();
    let [far, there, few, many] = auto[..] else { panic!("{text}") };
    assert!(far.contains("2 threads (not cuda:0, intensity = ") && far.contains(" < 1365 * threads; "), "{far}");
    assert!(there.starts_with("mean: plan thread, cuda:0 ("), "{there}");
    assert!(few.contains("(not cuda:0, parallel = 100 < 64 * threads; "), "{few}");
    let copies = "halve: plan thread, cuda:0, 1 array of 4000 bytes to it, 1 array of 4000 bytes from it (";
    assert!(many.starts_with(copies), "{many}");
    let fault = "fault: src/kernels/k.hdp:12:28: index -5 is outside x[0:1000) in x[cols[i]]";
    assert!(text.contains(fault), "{text}");
    assert!(text.contains("counted: 120 requests, 2800 lanes, 350 different sectors"), "{text}");
    assert!(text.contains("tuned: 0 complaints") && text.contains("points: true"), "{text}");
    assert!(text.contains("embedded: k::row_sums: plan block, cuda:0, "), "{text}");
    assert!(!text.contains("(tuned: "), "{text}");

    // A record of the device code is embedded, and decides there.
    let generated = fs::read_to_string(package.out_dir().join("hidp_kernels.rs")).expect("the file is there");
    let of_sums = generated.split_once("name: \"k::row_sums\"").expect("the entry is there").1;
    let quoted = |text: &str, key: &str| {
        let rest = text.split_once(&format!("{key} \"")).expect(key).1;
        rest.split('"').next().unwrap_or_default().to_owned()
    };
    let source = quoted(of_sums, "device_source:");
    let toolchain = quoted(&generated, "const DEVICE_TOOLCHAIN: &str =");
    let record = format!(
        "format = 1\n[[record]]\nentry = \"k::row_sums\"\nsource = \"{source}\"\ndevice = \"simulated\"\narchitecture = \"sm_90\"\n\
         vendor = \"simulated\"\nisa = \"cuda\"\nthreads = 512\ntoolchain = \"{toolchain}\"\nrules = \"inner >= 70: thread; otherwise: warp\"\n"
    );
    package.write("src/kernels/hidp-tune.toml", &record);
    let text = run();
    assert!(!text.contains("HD0952"), "{text}");
    let embedded = "embedded: k::row_sums: plan thread, cuda:0, 1 array of 11200 bytes to it, 1 array of 160 bytes from it (tuned: inner = 70 >= 70)";
    assert!(text.contains(embedded), "{text}");
    package.write("src/kernels/hidp-tune.toml", &record.replace(&source, "0123456789abcdef"));
    let text = run();
    assert!(text.contains("HD0952") && !text.contains("(tuned: "), "{text}");
}

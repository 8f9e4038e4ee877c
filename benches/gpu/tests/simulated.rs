//! What runs on a GPU, on the executor: the answers of the interpreter are made, stored, read and agreed with, and wrong ones are
//! found.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

use hidp_gpu::answers::{self, Call};
use hidp_gpu::cases;
use hidp_gpu::place::Place;

#[path = "../build/cases.rs"]
mod of_the_build;

/// Those that the build script compiles for the executor.
const CASES: [&str; 7] = ["bools", "native_structs", "prim_quicksort", "ranks", "sparse", "spmv_bad_index", "variants"];

/// Every lane is a fiber: larger arrays take too long.
const LARGEST: i64 = 40;

fn hidp_gpu(args: &[&str]) -> (bool, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_hidp-gpu")).args(args).output().expect("the program starts");
    (status.success(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

/// The folder of the answers, made by the tests of the compiler.
fn answers_of_the_interpreter() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers");
        for case in CASES {
            let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let output = Command::new(cargo)
                .args(["test", "--package", "hidp-build", "--test", "filetests", "--", "--exact", "run"])
                .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
                .env_remove("CARGO_MANIFEST_DIR")
                .env_remove("CARGO_PKG_NAME")
                .env("HIDP_CASE", case)
                .env("HIDP_ANSWERS", &folder)
                .output()
                .expect("cargo starts");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        folder
    })
}

fn calls(case: &str) -> Vec<Call> {
    let file = fs::read(answers_of_the_interpreter().join(format!("{case}.answers"))).expect("the answers are there");
    answers::read(&file).expect("the answers can be read")
}

#[test]
fn cases_agree_with_the_interpreter() {
    let answers = answers_of_the_interpreter().display().to_string();
    let logs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logs").display().to_string();
    let (largest, common) = (LARGEST.to_string(), ["--answers", &answers, "--logs", &logs]);
    for seed in ["0", "5"] {
        let mut args = vec!["cases", "--simulated", seed, "--largest", &largest];
        args.extend(common);
        args.extend(CASES);
        let (good, text) = hidp_gpu(&args);
        assert!(good && text.contains("7 of 7 cases are good"), "{text}");
        for case in CASES {
            let line = text.lines().find(|line| line.starts_with(case)).unwrap_or_default();
            assert!(line.contains(": ok") && line.contains("thread"), "{text}");
        }
    }
    let (good, text) = hidp_gpu(&["list", "--answers", &answers]);
    assert!(good && text.contains("7 cases, ") && !text.contains("LEFT OUT"), "{text}");
    let tiles = text.lines().find(|line| line.starts_with("variants ")).unwrap_or_default();
    assert!(tiles.contains("thread_b64"), "versions with other tiles are there: {tiles}");
    let (good, text) = hidp_gpu(&["cases", "nonsense", "--answers", &answers, "--logs", &logs]);
    assert!(!good && text.contains("there is no case nonsense; there are: bools"), "{text}");
}

#[test]
fn wrong_answers_are_found() {
    let cx = Place::Simulated(0).context().expect("a simulated device");
    let small = |case: &str| -> Vec<Call> {
        calls(case).into_iter().filter(|call| call.dims.iter().all(|&dim| dim <= 8)).collect()
    };
    assert!(cases::run(&small("sparse"), &cx, LARGEST).is_good());
    // Another number.
    let mut wrong = small("sparse");
    let call = wrong.iter_mut().rev().find(|call| call.fault.is_none()).expect("a call that ends well");
    let entry = call.entry.clone();
    let after = call.args.iter_mut().rev().find_map(|arg| arg.after.as_mut()).expect("a result");
    *after.last_mut().expect("an element") ^= 0x40;
    let tally = cases::run(&wrong, &cx, LARGEST);
    assert!(!tally.is_good() && tally.to_string().contains("FAILED"), "{tally}");
    assert!(tally.failures.iter().all(|why| why.starts_with(&entry) && why.contains("but must be")), "{tally:?}");
    // Other values, another place, none at all.
    let faulty = || small("spmv_bad_index").into_iter().filter(|call| call.fault.is_some()).take(1).collect::<Vec<_>>();
    assert!(cases::run(&faulty(), &cx, LARGEST).is_good());
    let mut changed = [faulty(), faulty(), faulty()];
    changed[0][0].fault.as_mut().expect("a fault").values[0] += 1;
    changed[1][0].fault.as_mut().expect("a fault").column += 1;
    changed[2][0].fault = None;
    for calls in changed {
        let tally = cases::run(&calls, &cx, LARGEST);
        assert!(!tally.is_good() && !tally.failures.is_empty(), "{tally:?}");
    }
    assert!(!cases::run(&[], &cx, LARGEST).is_good(), "nothing was called");
    let file = answers::write(&calls("sparse"));
    assert!(answers::read(&file[..file.len() - 1]).is_err() && answers::read(&file[1..]).is_err());
}

#[test]
fn what_does_not_end_well_is_reported() {
    let answers = answers_of_the_interpreter().display().to_string();
    let logs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logs-bad").display().to_string();
    let common = ["--simulated", "0", "--largest", "8", "--answers", &answers, "--logs", &logs];
    let under = |program: &str, limit: &str| {
        let mut args = vec!["cases", "sparse", "--under", program, "--limit", limit];
        args.extend(common);
        hidp_gpu(&args)
    };
    let (good, text) = under("/usr/bin/env", "100");
    assert!(good && text.contains("1 of 1 cases are good"), "{text}");
    let (good, text) = under("/usr/bin/env", "0");
    assert!(!good && text.contains("FAILED: not done after 0 s"), "{text}");
    let (good, text) = under("/bin/false", "100");
    assert!(!good && text.contains("ended early"), "{text}");
}

/// Every case in the folder is compiled; only those without their entries can be missing from a list.
#[test]
fn no_case_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hidp-build/tests/cases/run");
    let listing = fs::read_dir(&folder).expect("the cases are there").flatten();
    let names = listing.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".hdp")).collect();
    names.sort();
    let found = of_the_build::all(&folder);
    assert!(found.iter().map(|path| path.file_name().unwrap_or_default()).eq(names.iter().map(|name| name.as_str())));
    assert!(names.len() > 30, "{names:?}");
    let various: Vec<&PathBuf> = found.iter().filter(|path| of_the_build::has_variants(path)).collect();
    let expected = ["assumed", "variants"].map(|name| folder.join(name).with_extension("hdp"));
    assert_eq!(various, expected.iter().collect::<Vec<_>>());
    // What answers name and no program has is said, and no success.
    let other = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers-other");
    fs::create_dir_all(&other).expect("a folder for outputs");
    let mut call = calls("sparse").remove(0);
    call.entry = "sparse::other".into();
    fs::write(other.join("sparse.answers"), answers::write(&[call])).expect("the folder is writable");
    let other = other.display().to_string();
    let (good, text) = hidp_gpu(&["list", "--answers", &other]);
    assert!(!good && text.contains("MISSING: sparse::other"), "{text}");
    let (good, text) =
        hidp_gpu(&["cases", "--simulated", "0", "--answers", &other, "--logs", &format!("{other}/logs")]);
    assert!(!good && text.contains("sparse::other is not in this program"), "{text}");
}

#[test]
fn a_part_can_be_split_and_gone_on_with() {
    let answers = answers_of_the_interpreter().display().to_string();
    let logs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logs-split");
    let _ = fs::remove_dir_all(&logs);
    let logs = logs.display().to_string();
    let run = |more: &[&str]| {
        let common = ["cases", "--simulated", "0", "--largest", "4", "--answers", &answers, "--logs", &logs];
        hidp_gpu(&[&common[..], more].concat())
    };
    let (good, text) = run(&["sp*", "--jobs", "2"]);
    assert!(good && text.contains("2 of 2 cases are good"), "{text}");
    let (good, text) = run(&["--until", "0"]);
    assert!(!good && text.contains("NOT DONE") && text.contains("bools native_structs"), "{text}");
    let (good, text) = run(&["--left", "*s*"]);
    assert!(
        good && text.contains("2 of 7 cases were good before\n") && text.contains("5 of 5 cases are good"),
        "{text}"
    );
    let (good, text) = run(&["--left", "*s*"]);
    assert!(good && text.contains("0 of 0 cases are good"), "{text}");
}

#[test]
fn tests_of_primitives_are_good() {
    let logs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logs-checks").display().to_string();
    let (good, text) = hidp_gpu(&["checks", "--simulated", "3", "--logs", &logs]);
    assert!(good && text.contains("1 of 1 tests of primitives are good"), "{text}");
    let (good, text) = hidp_gpu(&["checks", "nonsense", "--simulated", "3", "--logs", &logs]);
    assert!(!good && text.contains("there is no check nonsense; there are: histogram"), "{text}");
}

#[test]
fn tests_of_the_run_time_are_good() {
    let (good, text) = hidp_gpu(&["std", "--simulated", "3"]);
    assert!(good && text.contains("tests are good"), "{text}");
    let (good, text) = hidp_gpu(&["std", "no such test", "--simulated", "3"]);
    assert!(!good && text.contains("there is no test no such test"), "{text}");
}

#[test]
fn without_a_gpu_it_is_said_why() {
    if Path::new("/dev/nvidiactl").exists() {
        println!("skipped: a machine without a GPU: this machine has a GPU");
        return;
    }
    let (good, text) = hidp_gpu(&["device"]);
    assert!(!good && text.contains("cuda:0 cannot be used"), "{text}");
}

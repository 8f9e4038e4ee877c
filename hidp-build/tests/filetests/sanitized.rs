//! Cases of kind `run` again, their kernels compiled with the address and the undefined-behaviour sanitizer, in a process
//! that has the sanitizer's allocator. Launches of the team with the thread sanitizer, in a program of their own.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::made::{compile, folder, hash, headers_hash, root};

/// A word of the names of cases: they reach every kind of access.
const CASES: &[&str] = &["irregular", "locals", "sections", "structs"];

/// Where this is set, kernels are compiled with sanitizers.
pub(crate) const VARIABLE: &str = "HIDP_SANITIZE";

/// Whether they are.
pub(crate) fn is_on() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The flags for that. Without optimisation nothing is left out before it is looked at.
pub(crate) const FLAGS: &[&str] =
    &["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-sanitize=vptr", "-O0"];

#[test]
fn sanitizers_find_nothing() {
    let Some(library) = library() else {
        println!("skipped: sanitizers: the compiler has none");
        return;
    };
    let failures = crate::shared_out(CASES, |case| {
        let output = Command::new(std::env::current_exe().expect("the path of this test"))
            .args(["--exact", "run", "--nocapture"])
            .env("HIDP_CASE", case)
            .env("HIDP_TARGETS", "cpu")
            .env(VARIABLE, "1")
            .env("LD_PRELOAD", &library)
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .output()
            .expect("this test starts");
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let passed = output.status.success() && text.contains("1 passed");
        (!passed).then(|| format!("{case}\n{text}"))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The team's threads, delayed between the steps of their protocol: no data race, and no launch that never ends.
#[cfg(target_os = "linux")]
#[test]
fn launches_of_the_team_end_without_a_race() {
    if library_of("tsan").is_none() {
        println!("skipped: sanitizers: the compiler has none for threads");
        return;
    }
    let core = ["context", "pool", "team"].map(|name| root().join(format!("hidp-sys/src/{name}.cpp")));
    let stress = root().join("hidp-build/tests/team/stress.cpp");
    let number = hash(headers_hash(), &fs::read(&stress).expect("a readable source"));
    let program = folder().join(format!("team-stress-{number:016x}"));
    let sources = [&[stress], &core[..]].concat();
    let flags = ["-std=c++17", "-O1", "-g1", "-fsanitize=thread", "-fopenmp-simd"];
    let settings = ["-DHIDP_STEP=step_of_team", "-DHIDP_WORK_PER_THREAD=1"];
    compile(&program, &[&flags[..], &settings].concat(), &sources).unwrap_or_else(|why| panic!("{why}"));
    let output = Command::new(&program).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("all launches ended"), "{}\n{text}", output.status);
}

/// The address sanitizer's library, which must be in the process before anything else.
fn library() -> Option<String> {
    library_of("asan")
}

fn library_of(sanitizer: &str) -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let output = Command::new(compiler).arg(format!("-print-file-name=lib{sanitizer}.so")).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    Path::new(&path).is_absolute().then_some(path)
}

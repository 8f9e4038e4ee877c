//! Cases of kind `run` again, their kernels compiled with the address and the undefined-behaviour sanitizer, in a process
//! that has the sanitizer's allocator.

use std::process::Command;

/// One word of the name of each case: they reach every kind of access.
const CASES: &[&str] = &["irregular", "locals", "sections", "structs"];

/// Where this is set, kernels are compiled with sanitizers.
pub(crate) const VARIABLE: &str = "HIDP_SANITIZE";

/// The flags for that.
pub(crate) const FLAGS: &[&str] =
    &["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-sanitize=vptr", "-O1"];

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

/// The address sanitizer's library, which must be in the process before anything else.
fn library() -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let output = Command::new(compiler).arg("-print-file-name=libasan.so").output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    std::path::Path::new(&path).is_absolute().then_some(path)
}

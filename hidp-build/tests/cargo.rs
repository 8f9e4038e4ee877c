//! Packages as users have them, built by the real cargo, without network.
//!
//! Each test has a package of its own; all share the workspace's target folder, so that crates from elsewhere are not compiled again, and those of
//! the workspace, whose profile is another one here, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

#[path = "cargo/simulated.rs"]
mod simulated;

/// A package in a temporary folder.
struct Package {
    name: &'static str,
    folder: PathBuf,
    nvcc: Nvcc,
}

/// Whether a package's kernels are compiled for GPUs, too, which takes several times as long as all the rest.
#[derive(Clone, Copy)]
enum Nvcc {
    /// Where a call does not ask for it.
    Off,
    /// Where there is an nvcc, as for users, or a call says otherwise.
    AsFound,
}

/// What a run of cargo said.
struct Said {
    ok: bool,
    text: String,
}

/// The run time, with all that some package needs: with other features, it and what it depends on would be compiled for each set.
const RUN_TIME: &str = "hidp-std = { path = \"ROOT/hidp-std\", features = [\"simulated-device\", \"tune\"] }";

const BUILD_SCRIPT: &str = "fn main() -> hidp_build::Result {\n    hidp_build::compile(\"src/kernels\")\n}\n";

const SAXPY: &str = "\
# y = a x + y
function saxpy
input float _a, x[N];
inout float y[N];
{
  y = _a * x + y;
}
";

const SAXPY_MAIN: &str = r#"
#![deny(warnings, missing_docs, unreachable_pub)]
//! Calls a kernel.
hidp_std::include_kernels!();

fn main() -> hidp_std::Result {
    let cx = hidp_std::Context::new()?;
    let mut y = ndarray::arr1(&[10.0, 20.0]);
    kernels::saxpy::saxpy(&cx, 2.0, &vec![1.0, 2.0], &mut y)?;
    println!("{y}");
    Ok(())
}
"#;

fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("..")
}

impl Package {
    fn new(name: &'static str, files: &[(&str, &str)]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages").join(name);
        let package = Self { name, folder, nvcc: Nvcc::Off };
        for old in package.builds().iter().chain([&package.folder]) {
            // Left from an earlier run, if at all.
            let _ = fs::remove_dir_all(old);
        }
        package.write("Cargo.toml", &package.manifest(RUN_TIME));
        package.write("build.rs", BUILD_SCRIPT);
        let lock = workspace().join("Cargo.lock");
        fs::copy(lock, package.folder.join("Cargo.lock")).expect("the workspace has a lock file");
        files.iter().for_each(|(path, text)| package.write(path, text));
        package
    }
    fn with_nvcc_as_found(self) -> Self {
        Self { nvcc: Nvcc::AsFound, ..self }
    }
    fn manifest(&self, run_time: &str) -> String {
        format!(
            "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             {run_time}\nndarray = {{ version = \"0.17\", default-features = false, features = [\"std\"] }}\n\n[build-dependencies]\n\
             hidp-build = {{ path = \"ROOT/hidp-build\" }}\n",
            self.name
        )
        .replace("ROOT", &workspace().display().to_string().replace('\\', "/"))
    }
    fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        fs::write(path, text).expect("the file can be written");
    }
    fn cargo(&self, args: &[&str]) -> Said {
        self.cargo_with(args, &[])
    }
    /// With these environment variables.
    fn cargo_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Said {
        let mut command = Command::new(env!("CARGO"));
        command.arg("--offline").args(args).current_dir(&self.folder).env("CARGO_TARGET_DIR", target());
        // What cargo sets for this test is not meant for the package; nor are a developer's settings.
        for name in [
            "CARGO_MANIFEST_DIR",
            "RUSTFLAGS",
            "HIDP_THREADS",
            "HIDP_ISA",
            "HIDP_FORCE",
            "HIDP_TUNE",
            "HIDP_DEVICE",
            "HIDP_CUDA",
            "HIDP_CUDA_ARCH",
            "HIDP_OPENMP",
            "HIDP_QUICK",
            "OUT_DIR",
            "TARGET",
        ] {
            command.env_remove(name);
        }
        // Nobody debugs these packages, nor builds the crates below them twice.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0").env("HIDP_QUICK", "on");
        match self.nvcc {
            Nvcc::Off => drop(command.env("HIDP_CUDA", "off")),
            Nvcc::AsFound => {}
        }
        command.envs(variables.iter().copied());
        let output = command.output().expect("cargo runs");
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Said { ok: output.status.success(), text }
    }
    /// Folders of the package's build scripts.
    fn builds(&self) -> Vec<PathBuf> {
        let Ok(builds) = fs::read_dir(target().join("debug/build")) else { return Vec::new() };
        let prefix = format!("{}-", self.name);
        let folders = builds.filter_map(|entry| Some(entry.ok()?.path()));
        folders
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
            .collect()
    }
    /// The folder that the build script wrote to.
    fn out_dir(&self) -> PathBuf {
        let outs = self.builds().into_iter().map(|folder| folder.join("out"));
        let mut outs = outs.filter(|out| out.join("hidp_kernels.rs").is_file());
        let out = outs.next().expect("kernels were generated");
        assert_eq!(outs.next(), None, "one build script wrote");
        out
    }
    /// When each object of the package was compiled.
    fn objects(&self) -> Vec<(PathBuf, SystemTime)> {
        let entries = fs::read_dir(self.out_dir()).expect("the folder is there");
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let objects = paths.filter(|path| path.extension().is_some_and(|extension| extension == "o"));
        let mut objects: Vec<_> = objects.map(|path| (path.clone(), changed(&path))).collect();
        objects.sort();
        objects
    }
}

impl Said {
    #[track_caller]
    fn succeeded(self) -> String {
        assert!(self.ok, "{}", self.text);
        self.text
    }
    #[track_caller]
    fn failed(self) -> String {
        assert!(!self.ok, "{}", self.text);
        self.text
    }
}

fn changed(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|metadata| metadata.modified()).expect("the file is there")
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace")
}

#[test]
fn a_package_builds_and_runs_and_is_not_built_again() {
    let package = Package::new("hidp-fixture-runs", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", SAXPY_MAIN)])
        .with_nvcc_as_found();
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("[12, 24]"), "{text}");

    let before = package.objects();
    assert!(!before.is_empty());
    let text = package.cargo(&["build", "-v"]).succeeded();
    assert!(text.contains("Fresh hidp-fixture-runs"), "{text}");

    // The script runs again, and finds nothing to compile.
    package.write("src/kernels/saxpy.hdp", SAXPY);
    package.cargo(&["run"]).succeeded();
    assert_eq!(package.objects(), before);

    package.write("src/kernels/saxpy.hdp", &SAXPY.replace("_a * x", "1 + _a * x"));
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("[13, 25]"), "{text}");
    assert_ne!(package.objects(), before);
}

#[test]
fn a_new_file_is_noticed_and_alone_compiled() {
    let package = Package::new("hidp-fixture-grows", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", SAXPY_MAIN)]);
    package.cargo(&["build"]).succeeded();
    let before = package.objects();
    package.write("src/kernels/more/scale.hdp", "function Scale inout float x[N]; { x = 2 * x; }\n");
    let main = SAXPY_MAIN.replace("println!", "kernels::scale::scale(&cx, &mut y)?;\n    println!");
    package.write("src/main.rs", &main);
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("[24, 48]"), "{text}");
    let after = package.objects();
    assert!(before.iter().all(|object| after.contains(object)), "{before:#?}\n{after:#?}");
    assert_eq!(after.len(), 2 * before.len());
}

#[test]
fn each_error_of_broken_programs_is_a_message_of_rustc() {
    let broken = SAXPY.replace("_a * x", "_a * z").replace("+ y;", "+ w;");
    let files = [("src/kernels/saxpy.hdp", broken.as_str()), ("src/main.rs", SAXPY_MAIN)];
    let package = Package::new("hidp-fixture-broken", &files);
    let text = package.cargo(&["build"]).failed();
    for place in ["6:12", "6:16"] {
        let shown = format!("--> src/kernels/saxpy.hdp:{place}\n");
        assert_eq!(text.matches(&shown).count(), 1, "{text}");
    }
    assert_eq!(text.matches("\nerror: HD0").count(), 2, "{text}");
    assert!(!text.contains("error[E"), "calls of kernels are no errors as well: {text}");
    assert!(
        !text.contains("rerun-if-changed") && !text.contains("CXX"),
        "no directives, no compiler asked for: {text}"
    );

    // What editors read.
    let json = package.cargo(&["build", "--message-format=json"]).failed();
    let messages = json.lines().filter(|line| line.contains("\"reason\":\"compiler-message\""));
    let messages: Vec<&str> = messages.filter(|line| line.contains("HD0")).collect();
    assert_eq!(messages.len(), 2, "{json}");
    for (message, place) in messages.iter().zip(["6:12", "6:16"]) {
        assert!(message.contains(&format!("src/kernels/saxpy.hdp:{place}")), "{message}");
        assert!(message.contains("\"level\":\"error\"") && message.contains("src/main.rs"), "{message}");
    }

    package.write("src/kernels/saxpy.hdp", SAXPY);
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("[12, 24]"), "{text}");
}

#[test]
fn a_native_header_is_compiled_in_and_watched() {
    const PROGRAM: &str = "\
extern function float twist(float x);
function apply
inout float x[N];
{
  map { i := [0:N); x[i] = twist(x[i]); }
}
";
    const MAIN: &str = "
hidp_std::include_kernels!();
fn main() -> hidp_std::Result {
    let mut x = [1.0, 2.0];
    kernels::apply::apply(&hidp_std::Context::new()?, &mut x)?;
    println!(\"{x:?}\");
    Ok(())
}
";
    let script = BUILD_SCRIPT.replace(
        "hidp_build::compile(\"src/kernels\")",
        "hidp_build::Builder::new().folder(\"src/kernels\").header(\"src/twist.hpp\").vouch_for_natives().compile()",
    );
    let package = Package::new(
        "hidp-fixture-native",
        &[
            ("build.rs", &script),
            ("src/twist.hpp", "#include \"twist_by.hpp\"\nstatic inline float twist(float x) { return x + by; }\n"),
            ("src/twist_by.hpp", "static const float by = 0.5f;\n"),
            ("src/kernels/apply.hdp", PROGRAM),
            ("src/main.rs", MAIN),
        ],
    );
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("[1.5, 2.5]"), "{text}");
    // A header that only the header includes.
    package.write("src/twist_by.hpp", "static const float by = 0.25f;\n");
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("[1.25, 2.25]"), "{text}");

    package.write("src/twist.hpp", "static inline float twist(float x) { return y; }\n");
    let text = package.cargo(&["build"]).failed();
    assert!(text.contains("error[HD0908]") && text.contains("twist.hpp:1"), "{text}");
    assert!(
        text.contains(" -O1 ") && !text.contains("CARGO_MANIFEST_DIR"),
        "the command without its environment: {text}"
    );
    let text = package.cargo_with(&["build"], &[("HIDP_QUICK", "off")]).failed();
    assert!(text.contains(" -O3 ") && !text.contains(" -O1 "), "{text}");

    package.write("src/twist.hpp", "static inline float twist(float x) { return -x; }\n");
    package.write("build.rs", &script.replace(".vouch_for_natives()", ""));
    let text = package.cargo(&["build"]).failed();
    assert!(text.contains("is unsafe and requires unsafe") && text.contains("unsafe function `apply`"), "{text}");
    let call = "kernels::apply::apply(&hidp_std::Context::new()?, &mut x)?;";
    let vouched = MAIN.replace(
        call,
        &format!("// SAFETY: `twist` is sound for all values.\n    unsafe {{ {call} }}").replace("?; }", "? };"),
    );
    package.write("src/main.rs", &vouched);
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("[-1.0, -2.0]"), "{text}");
    let kernels = fs::read_to_string(package.out_dir().join("hidp_kernels.rs")).expect("the file is there");
    assert!(kernels.contains("# Safety") && kernels.contains("native function `twist` must be sound"), "{kernels}");
}

#[test]
fn a_library_and_its_binary_may_both_include_kernels() {
    const KERNEL: &str = "\
struct Best { float v; int i; }
function Best better(Best a, Best b) { if (b.v > a.v) return b; return a; }
function argmax
input float x[N];
output Best best;
output long _n;
{
  map { i := [0:N); Best c = Best{v: x[i], i: (int)i}; } reduce(better: Best{v: -INFINITY, i: -1}, best, c, i := [*]);
  _n = N;
}
";
    const MAIN: &str = "
hidp_std::include_kernels!(mod own);
fn main() -> hidp_std::Result {
    let cx = hidp_std::Context::new()?;
    let (best, n): (own::argmax::Best, i64) = own::argmax::argmax(&cx, &[1.0, 5.0, 2.0])?;
    let (none, zero) = hidp_fixture_both::kernels::argmax::argmax(&cx, &[])?;
    let zeros = hidp_std::DeviceArray::<own::argmax::Best, 1>::zeros(&cx, [2])?.to_vec()?;
    println!(\"{best:?} {n} {none:?} {zero} {}\", zeros == [own::argmax::Best::default(); 2]);
    Ok(())
}
";
    let script = BUILD_SCRIPT
        .replace("compile(\"src/kernels\")", "Builder::new().folder(\"src/kernels\").threads(false).compile()");
    let package = Package::new(
        "hidp-fixture-both",
        &[
            ("build.rs", &script),
            ("src/kernels/argmax.hdp", KERNEL),
            ("src/lib.rs", "//! Kernels.\nhidp_std::include_kernels!(pub mod kernels);\n"),
            ("src/main.rs", MAIN),
        ],
    );
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("Best { v: 5.0, i: 1 } 3 Best { v: -inf, i: -1 } 0 true"), "{text}");
    let kernels = fs::read_to_string(package.out_dir().join("hidp_kernels.rs")).expect("the file is there");
    assert!(!kernels.contains("omp\""), "no threads, no OpenMP: {kernels}");
}

/// What a build links, and that its kernels run: on the run time's threads, and on those of OpenMP where the environment asks for them.
/// Then the run time starts none.
#[test]
fn openmp_is_there_for_who_asks_for_it() {
    let count = r#"println!("{y}");
    let tasks = std::fs::read_dir("/proc/self/task").expect("a process has threads").filter_map(Result::ok);
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    println!("{} helpers", names.filter(|name| name.starts_with("hidp-") && name.len() < "hidp-fixture".len()).count());"#;
    let main = SAXPY_MAIN.replace(r#"println!("{y}");"#, count);
    let package = Package::new("hidp-fixture-openmp", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", &main)]);
    let links = || {
        let text = fs::read_to_string(package.out_dir().join("hidp_kernels.rs")).expect("the file is there");
        text.contains("omp\"")
    };
    let text = package.cargo_with(&["run"], &[("HIDP_THREADS", "3")]).succeeded();
    assert!(!links() && text.contains("\n2 helpers"), "nobody asked for OpenMP: {text}");
    let text = package.cargo_with(&["run"], &[("HIDP_THREADS", "3"), ("HIDP_OPENMP", "on")]).succeeded();
    assert!(links() && text.contains("\n0 helpers"), "somebody asked for OpenMP: {text}");
}

#[test]
fn tuning_records_are_embedded_or_said_to_be_idle() {
    let package = Package::new("hidp-fixture-tuned", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", SAXPY_MAIN)]);
    package.cargo(&["build"]).succeeded();
    let kernels = || fs::read_to_string(package.out_dir().join("hidp_kernels.rs")).expect("the file is there");
    let text = kernels();
    let source = text.split("source: \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a hash");
    let record = |entry: &str, source: &str| {
        let texts =
            ["device", "architecture", "vendor", "isa", "toolchain", "rules"].map(|key| format!("{key} = \"\"\n"));
        format!("[[record]]\nentry = \"{entry}\"\nsource = \"{source}\"\nthreads = 77\n{}", texts.concat())
    };
    let good = format!("format = 1\n{}", record("saxpy::saxpy", source));
    // The folder is watched, so that the first file is noticed; without a change nothing is built.
    package.write("src/kernels/hidp-tune.toml", &good);
    let text = package.cargo(&["build"]).succeeded();
    assert!(!text.contains("HD0952") && kernels().contains("threads: 77"), "{text}");
    let text = package.cargo(&["build", "-v"]).succeeded();
    assert!(text.contains("Fresh hidp-fixture-tuned"), "{text}");

    let idle = record("saxpy::saxpy", "0") + &record("saxpy::axpy", source);
    package.write("src/kernels/hidp-tune.toml", &(good + &idle));
    let text = package.cargo(&["run"]).succeeded();
    assert_eq!(kernels().matches("threads: 77").count(), 1);
    assert!(
        text.contains("[HD0952]: a tuning record is ignored: `saxpy::saxpy` is compiled to something else"),
        "{text}"
    );
    assert!(text.contains("[HD0952]: a tuning record is ignored: there is no entry `saxpy::axpy`"), "{text}");

    package.write("src/kernels/hidp-tune.toml", "format = 1\nnonsense\n");
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("this is ignored: all of it: line 2:") && text.contains("[12, 24]"), "{text}");
}

#[test]
fn demanded_cuda_is_never_left_out_silently() {
    let package = Package::new("hidp-fixture-cuda", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", SAXPY_MAIN)])
        .with_nvcc_as_found();
    let text = package.cargo_with(&["build"], &[("HIDP_CUDA", "required"), ("NVCC", "/nowhere/nvcc")]).failed();
    assert!(text.contains("error[HD0916]") && text.contains("`/nowhere/nvcc`: it cannot be run"), "{text}");
    assert!(text.contains("CUDA_HOME=") && text.contains("HIDP_CUDA=off"), "advice: {text}");
    let text = package.cargo_with(&["build"], &[("HIDP_CUDA", "yes")]).failed();
    assert!(text.contains("error[HD0917]: `HIDP_CUDA` is `yes`"), "{text}");
    let text = package.cargo_with(&["build"], &[("HIDP_CUDA_ARCH", "sm_90,pascal")]).failed();
    assert!(text.contains("error[HD0917]: `pascal` is no architecture"), "{text}");

    for switch in ["HIDP_QUICK", "HIDP_OPENMP", "HIDP_VARIANTS", "HIDP_STRICT"] {
        let text = package.cargo_with(&["build"], &[(switch, "yes")]).failed();
        assert!(text.contains(&format!("error[HD0923]: `{switch}` is `yes`")), "{text}");
    }

    // The environment goes before the build script.
    let script = BUILD_SCRIPT.replace(
        "compile(\"src/kernels\")",
        "Builder::new().folder(\"src/kernels\").cuda(hidp_build::Cuda::Required).compile()",
    );
    package.write("build.rs", &script);
    let text = package.cargo_with(&["run"], &[("HIDP_CUDA", "off"), ("NVCC", "/nowhere/nvcc")]).succeeded();
    assert!(text.contains("[12, 24]"), "{text}");
    let said = fs::read_to_string(package.out_dir().join("hidp_cuda.txt")).expect("the file is there");
    assert_eq!(said, "CUDA is left out: it was not wanted\n");
    let text = package.cargo_with(&["build"], &[("NVCC", "/nowhere/nvcc")]).failed();
    assert!(text.contains("error[HD0916]"), "{text}");
}

/// Whether an nvcc seems to be there. `cargo xtask test` installs one.
fn has_nvcc() -> bool {
    let home = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = home.into_iter().chain(std::env::split_paths(&path)).any(|folder| folder.join("nvcc").is_file());
    assert!(found || std::env::var_os("HIDP_TEST_NVCC").is_none(), "no nvcc, and HIDP_TEST_NVCC is set");
    found
}

#[test]
fn a_program_for_gpus_starts_without_one() {
    if !has_nvcc() {
        println!("skipped: a package with CUDA: no nvcc (`cargo xtask test` installs one)");
        return;
    }
    let package = Package::new("hidp-fixture-gpu", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", SAXPY_MAIN)])
        .with_nvcc_as_found();
    let demanded = [("HIDP_CUDA", "required"), ("HIDP_CUDA_ARCH", "sm_80,sm_90")];
    let text = package.cargo_with(&["run"], &demanded).succeeded();
    assert!(text.contains("[12, 24]"), "{text}");
    let said = fs::read_to_string(package.out_dir().join("hidp_cuda.txt")).expect("the file is there");
    assert!(said.contains("\nsaxpy.cu\nkernel "), "{said}");
    for arch in ["  sm_80  ", "  sm_90  "] {
        assert!(said.lines().any(|line| line.starts_with("saxpy::") && line.contains(arch)), "{said}");
    }

    let program = target().join("debug/hidp-fixture-gpu");
    let needed = Command::new("readelf").arg("-d").arg(&program).output().expect("readelf runs").stdout;
    let needed = String::from_utf8_lossy(&needed).into_owned();
    let needed: Vec<&str> = needed.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(needed.iter().any(|line| line.contains("libc.so")), "{needed:?}");
    assert!(!needed.iter().any(|line| line.contains("libcuda")), "{needed:?}");

    // The script runs again, and finds nothing to compile.
    let before = package.objects();
    assert!(before.iter().any(|(path, _)| path.ends_with("saxpy.cuda.o")), "{before:?}");
    package.write("build.rs", &format!("{BUILD_SCRIPT}\n"));
    package.cargo_with(&["build"], &demanded).succeeded();
    assert_eq!(package.objects(), before);
}

#[test]
fn native_functions_that_nvcc_does_not_take_stay_on_the_host() {
    if !has_nvcc() {
        println!("skipped: a package with CUDA: no nvcc (`cargo xtask test` installs one)");
        return;
    }
    const PROGRAM: &str = "\
extern function float twist(float x);
function apply inout float x[N]; { map { i := [0:N); x[i] = twist(x[i]); } }
function plain inout float x[N]; { map { i := [0:N); x[i] = x[i] + 1; } }
";
    let of_host = "static inline float twist(float x) { return x + 0.5f; }\n";
    let script = BUILD_SCRIPT.replace(
        "hidp_build::compile(\"src/kernels\")",
        "hidp_build::Builder::new().folder(\"src/kernels\").header(\"src/twist.hpp\").vouch_for_natives().compile()",
    );
    let package = Package::new(
        "hidp-fixture-native-gpu",
        &[
            ("build.rs", &script),
            ("src/twist.hpp", of_host),
            ("src/kernels/apply.hdp", PROGRAM),
            ("src/main.rs", "hidp_std::include_kernels!();\nfn main() {}\n"),
        ],
    )
    .with_nvcc_as_found();
    let kernels = |name: &str| {
        let said = fs::read_to_string(package.out_dir().join("hidp_cuda.txt")).expect("the file is there");
        said.lines().filter(|line| line.starts_with(name)).count()
    };
    let text = package.cargo(&["build"]).succeeded();
    assert!(text.contains("warning[HD0954]") && text.contains("twist") && text.contains("HIDP_FUNCTION"), "{text}");
    assert_eq!((kernels("apply::"), kernels("plain::") > 0), (0, true));

    let text = package.cargo_with(&["build"], &[("HIDP_CUDA", "required")]).failed();
    assert!(text.contains("error[HD0918]") && text.contains("HIDP_FUNCTION"), "{text}");

    let of_both = of_host.replace("static inline", "HIDP_FUNCTION inline");
    package.write("src/twist.hpp", &format!("#include <hidp/function.h>\n{of_both}"));
    let text = package.cargo_with(&["build"], &[("HIDP_CUDA", "required")]).succeeded();
    assert!(!text.contains("HD0954"), "{text}");
    assert!(kernels("apply::") > 0);
}

#[test]
fn what_a_package_lacks_is_named() {
    let package =
        Package::new("hidp-fixture-lacks", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", "fn main() {}\n")]);
    package.write("Cargo.toml", &package.manifest(""));
    let text = package.cargo(&["build"]).failed();
    assert!(text.contains("error[HD0909]: `hidp-std` is not a dependency"), "{text}");
    assert!(text.contains("[dependencies]"), "{text}");

    package.write("build.rs", &BUILD_SCRIPT.replace("src/kernels", "src/kernel"));
    let text = package.cargo(&["build"]).failed();
    assert!(text.contains("error[HD0901]: cannot read `src/kernel`"), "{text}");
}

#[test]
fn a_missing_compiler_is_named_with_advice() {
    let package =
        Package::new("hidp-fixture-no-cxx", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", "fn main() {}\n")]);
    let script = "fn main() -> hidp_build::Result {\n    // SAFETY: nothing else runs yet.\n    unsafe { \
                  std::env::set_var(\"CXX\", \"no-such-compiler\") };\n    hidp_build::compile(\"src/kernels\")\n}\n";
    package.write("build.rs", script);
    let text = package.cargo(&["build"]).failed();
    assert!(text.contains("error[HD0907]") && text.contains("no-such-compiler"), "{text}");
    assert!(text.contains("apt install g++"), "{text}");
}

const PARTICLE: &str = "\
#include <stdbool.h>
typedef struct { double x, y; } Position;
struct particle { char kind; Position at; float speed; long long steps; bool moved; };
typedef struct particle Particle;
";

const STEP: &str = "\
extern struct Position;
extern struct Particle;
function Position shifted(Position p, double by) { return Position{x: p.x + by, y: p.y}; }
function step
input double _dt;
inout Particle p[N];
output double far;
{
  map {
    i := [0:N);
    p[i].at = shifted(p[i].at, _dt * p[i].speed);
    p[i].steps = p[i].steps + 1;
    p[i].moved = true;
    _x = p[i].at.x;
  } reduce(\"max\", far, _x, i := [*]);
}
function last
input Particle p[N]; input int at[N];
inout Particle q[M];
{
  map { i := [0:N); q[at[i]] = p[i]; }
  map { i := [0:N); q[at[i]].kind = 9; q[at[i]].steps = 43; }
}
";

const STEP_MAIN: &str = "
hidp_std::include_kernels!();
use kernels::step::{Particle, Position};
fn main() -> hidp_std::Result {
    let cx = hidp_std::Context::new()?;
    let mut p = vec![Particle { kind: 7, at: Position { x: 1.0, y: 2.0 }, speed: 4.0, steps: 41, moved: false }; 3];
    p[1].at.x = 8.0;
    let far = kernels::step::step(&cx, 0.5, &mut p)?;
    let mut q = vec![Particle::default(); 2];
    kernels::step::last(&cx, &p, &[0, 1, 0], &mut q)?;
    println!(\"{far} {} {:?}\", std::mem::size_of::<Particle>(), q[1]);
    Ok(())
}
";

fn step_package(name: &'static str) -> Package {
    let script = BUILD_SCRIPT.replace(
        "compile(\"src/kernels\")",
        "Builder::new().folder(\"src/kernels\").header(\"src/particle.h\").compile()",
    );
    Package::new(
        name,
        &[
            ("build.rs", &script),
            ("src/particle.h", PARTICLE),
            ("src/kernels/step.hdp", STEP),
            ("src/main.rs", STEP_MAIN),
        ],
    )
}

#[test]
fn an_extern_struct_says_which_feature_reads_it() {
    let text = step_package("hidp-fixture-no-bindgen").cargo(&["build"]).failed();
    assert!(text.contains("HD0914") && text.contains("features = [\"bindgen\"]"), "{text}");
    assert!(text.contains("step.hdp:2:"), "{text}");
}

/// Whether libclang seems to be there; bindgen knows better, but takes a while to compile.
fn has_libclang() -> bool {
    let asked = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    let usual =
        ["/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"].map(PathBuf::from);
    let versions = fs::read_dir("/usr/lib").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let versions = versions.filter(|path| path.to_string_lossy().contains("llvm")).map(|path| path.join("lib"));
    let holds_it = |folder: PathBuf| {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files.map(|file| file.file_name()).any(|name| name.to_string_lossy().starts_with("libclang.so"))
    };
    asked.into_iter().chain(usual).chain(versions).any(holds_it)
}

/// Packages of features that no build of the workspace has, and fixtures do: a new machine lacks them, and fixtures are built offline.
fn download_what_is_locked() {
    let mut fetch = Command::new(env!("CARGO"));
    fetch.args(["fetch", "--locked", "--quiet", "--target", "host-tuple"]).current_dir(workspace());
    let status = fetch.status().expect("cargo starts");
    assert!(status.success(), "cargo fetch: {status}");
}

#[test]
fn an_extern_struct_takes_its_fields_from_the_header() {
    if !std::env::var("HIDP_RUN").is_ok_and(|value| value == "all") {
        println!("skipped: an extern struct: bindgen takes long to compile (`cargo xtask test full`, or HIDP_RUN=all)");
        return;
    }
    if !has_libclang() {
        println!(
            "skipped: an extern struct: no libclang, which bindgen needs (`apt install libclang-dev`, or set LIBCLANG_PATH)"
        );
        return;
    }
    download_what_is_locked();
    let package = step_package("hidp-fixture-bindgen");
    let manifest = package.manifest(RUN_TIME);
    let manifest = manifest.replace("/hidp-build\" }", "/hidp-build\", features = [\"bindgen\"] }");
    assert!(manifest.contains("bindgen"), "{manifest}");
    package.write("Cargo.toml", &manifest);
    let text = package.cargo(&["run"]).succeeded();
    let last = "Particle { kind: 9, at: Position { x: 10.0, y: 2.0 }, speed: 4.0, steps: 43, moved: true }";
    assert!(text.contains(&format!("10 48 {last}")), "{text}");

    package.write("src/particle.h", &PARTICLE.replace("float speed;", "float *speed;"));
    let text = package.cargo(&["build"]).failed();
    assert!(
        text.contains("HD0914") && text.contains("field `speed` of the extern struct `Particle` is a pointer"),
        "{text}"
    );

    package.write("src/particle.h", "struct Particle { int x }");
    let text = package.cargo(&["build"]).failed();
    assert!(text.contains("error[HD0915]") && text.contains("particle.h:1"), "{text}");
}

#[test]
fn pinned_plans_are_honoured_or_refused() {
    let package = Package::new("hidp-fixture-pinned", &[("src/kernels/saxpy.hdp", SAXPY), ("src/main.rs", SAXPY_MAIN)]);
    package.cargo(&["build"]).succeeded();
    let kernels = || fs::read_to_string(package.out_dir().join("hidp_kernels.rs")).expect("the file is there");
    assert!(kernels().contains("plan: \"serial\"") && !kernels().contains("plan: \"one\""));

    let plan = "entry saxpy\nplan one\nnest\n  q threads\n  q lanes\n";
    package.write("src/kernels/saxpy.plan", plan);
    let text = package.cargo(&["build"]).failed();
    assert!(text.contains("error: HD0920: this nest of `saxpy` cannot run like this"), "{text}");
    assert!(text.contains("saxpy.plan:4:3"), "{text}");
    let line = text.lines().find(|line| line.contains(" threads`")).expect("what is expected");
    let (_, iter) = line.split_once("expected `").expect("a line");
    let iter = iter.split(' ').next().expect("a name");
    let plan = plan.replace('q', iter);
    package.write("src/kernels/saxpy.plan", &plan);
    let text = package.cargo(&["run"]).succeeded();
    assert!(text.contains("[12, 24]") && kernels().contains("plan: \"one\""), "{text}");
    assert!(!kernels().contains("plan: \"serial\""));

    let old = format!("entry saxpy\nplan one\nnest rows\n  iter {iter} simd dim 0 tile 1 split\n");
    package.write("src/kernels/saxpy.plan", &old);
    let text = package.cargo(&["build"]).succeeded();
    assert!(text.contains("HD0956") && kernels().contains("plan: \"one\""), "{text}");
    package.write("src/kernels/saxpy.plan", &plan.replace("lanes", "lanes(x)"));
    let text = package.cargo(&["build"]).failed();
    assert!(text.contains("error: HD0919: this is no line of a plan") && text.contains("saxpy.plan:5:"), "{text}");
}

/// The lines that `docs/tuning.md` shows, in a workspace as users have it.
#[test]
fn a_workspace_tunes_its_kernels() {
    const TUNER: &str = "fn main() -> std::process::ExitCode {
    hidp_std::tune::Tuner::new(hidp_fixture_tunes::kernels::ENTRIES).main()
}
";
    let guide = fs::read_to_string(workspace().join("docs/tuning.md")).expect("the page is there");
    assert!(guide.contains(&TUNER.replace("hidp_fixture_tunes", "my_crate")), "the page shows it");
    let sums = "function sums input float A[R][C]; output float y[R];
{ map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }
";
    let package = Package::new(
        "hidp-fixture-tunes",
        &[
            ("src/kernels/sums.hdp", sums),
            ("src/lib.rs", "//! Kernels.\nhidp_std::include_kernels!(pub mod kernels);\n"),
            ("xtask/src/main.rs", TUNER),
        ],
    );
    let root = workspace().display().to_string().replace('\\', "/");
    let manifest = package.manifest(RUN_TIME);
    package.write("Cargo.toml", &manifest.replace("[workspace]\n", "[workspace]\nmembers = [\"xtask\"]\n"));
    package.write(
        "xtask/Cargo.toml",
        &format!(
            "[package]\nname = \"hidp-fixture-xtask\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             hidp-fixture-tunes = {{ path = \"..\" }}\n{}\n",
            RUN_TIME.replace("ROOT", &root)
        ),
    );
    let text = package.cargo(&["run", "--package", "hidp-fixture-xtask", "--", "sums", "--seconds", "1"]).succeeded();
    assert!(text.contains("sums::sums: ") && text.contains("rules:"), "{text}");
    let records = fs::read_to_string(package.folder.join("src/kernels/hidp-tune.toml")).expect("records are written");
    assert!(records.contains("format = 1"), "{records}");
    assert!(package.folder.join("hidp-tune.html").is_file());
    // What was recorded fits the entry.
    let text = package.cargo(&["build"]).succeeded();
    assert!(!text.contains("HD0952"), "{text}");
}

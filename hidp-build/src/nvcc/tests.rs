//! What nvcc is asked for, and, where it is, a file on its way to a program that starts without a driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::objects::{self, Compiled, Unit};
use crate::toolchain::Wanted;

#[test]
fn nvcc_compiles_for_the_machine_it_runs_on() {
    let linux = "x86_64-unknown-linux-gnu";
    assert_eq!(foreign(linux, linux), None);
    assert!(foreign("aarch64-unknown-linux-gnu", linux).is_some_and(|why| why.contains("is not the machine")));
    for target in ["aarch64-apple-darwin", "x86_64-pc-windows-gnu", "x86_64-unknown-linux-musl", "wasm32-wasip1"] {
        assert!(foreign(target, target).is_some_and(|why| why.contains(target)));
    }
}

#[test]
fn wishes_have_three_words() {
    assert_eq!(Cuda::parse("required").unwrap(), Cuda::Required);
    let problem = Cuda::parse("on").unwrap_err().to_string();
    assert!(problem.starts_with("error[HD0917]: `HIDP_CUDA` is `on`"), "{problem}");
}

/// A kernel, and what calls it, as they are generated.
const SCALE: &str = "\
#include <hidp_abi.h>
#include \"factor.hpp\"
#include <cuda_runtime.h>
namespace entry_k_5scale_scale {
namespace {
__global__ void __launch_bounds__(256) kernel_0(float *x, long n) {
  for (long i = blockIdx.x * 256l + threadIdx.x; i < n; i += gridDim.x * 256l) x[i] = x[i] * factor + 1.0f;
}
}
}
extern \"C\" int hidp1_k_5scale_scale_kernel_cuda(hidp_call *call) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) return 77;
  entry_k_5scale_scale::kernel_0<<<1, 256>>>((float *)call->params[0], call->dims[0]);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
";

const MAIN: &str = r#"
#[link(name = "scale", kind = "static")]
#[link(name = "cudart_static", kind = "static")]
#[link(name = "stdc++")]
#[link(name = "dl")]
#[link(name = "rt")]
#[link(name = "pthread")]
unsafe extern "C" { fn hidp1_k_5scale_scale_kernel_cuda(call: *mut u8) -> i32; }
fn main() {
    let mut call = [0u8; 256];
    println!("called: {}", unsafe { hidp1_k_5scale_scale_kernel_cuda(call.as_mut_ptr()) });
}
"#;

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Self(env::temp_dir().join(format!("hidp, {name} {}", std::process::id())));
        fs::create_dir_all(folder.0.join("out")).unwrap();
        folder
    }
    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn wish(cuda: Cuda, archs: &[String]) -> Wish {
    Wish::read(cuda, archs, &Cargo::read(Some(&env::temp_dir())).unwrap()).unwrap()
}

/// The machine's nvcc; `cargo xtask test` has one, elsewhere the test says that it does nothing.
fn installed(archs: &[&str]) -> Option<Nvcc> {
    let toolchain = Toolchain::find(&env::temp_dir(), Wanted::Nobodys).unwrap();
    let archs: Vec<String> = archs.iter().map(|&arch| arch.to_owned()).collect();
    let nvcc = wish(Cuda::Auto, &archs).fulfil(&toolchain).unwrap().nvcc;
    assert!(nvcc.is_some() || env::var_os("HIDP_TEST_NVCC").is_none(), "no nvcc, and HIDP_TEST_NVCC is set");
    if nvcc.is_none() {
        println!("skipped: no nvcc (`cargo xtask test` installs one)");
    }
    nvcc
}

fn compile(nvcc: &Nvcc, folder: &Path) -> (Compiled, String) {
    let out_dir = folder.join("out");
    let abi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hidp-sys/include");
    let (files, include) = (["scale.cu".to_owned()], [abi]);
    let job = Job { nvcc, out_dir: &out_dir, files: &files, include: &include, root: folder, strict: false };
    let units: Vec<_> = units(&job).collect();
    let compiled = objects::compile(&out_dir, "scale", &units.iter().map(|unit| unit as &dyn Unit).collect::<Vec<_>>());
    (compiled, report(&job))
}

#[test]
fn a_file_is_compiled_once_and_again_when_a_header_changes() {
    let Some(nvcc) = installed(&["sm_80", "sm_90"]) else { return };
    let folder = Folder::new("once");
    folder.write("out/scale.cu", SCALE);
    folder.write("factor.hpp", "static constexpr float factor = 2.0f;\n");

    let (compiled, report) = compile(&nvcc, &folder.0);
    assert_eq!((compiled.problems, compiled.made), (Vec::new(), 1));
    let names: Vec<String> = compiled.headers.iter().map(|header| header.display().to_string()).collect();
    assert_eq!(names.len(), 2, "no header of the toolkit: {names:?}");
    assert!(names.iter().any(|name| name.ends_with("factor.hpp")), "{names:?}");
    let head = format!("CUDA: nvcc {} (`{}`", nvcc.version, nvcc.program.display());
    assert!(
        report.starts_with(&head) && report.contains("for sm_80, sm_90, PTX of compute_90\n\nscale.cu\n"),
        "{report}"
    );
    for arch in ["sm_80", "sm_90"] {
        let line = report.lines().find(|line| line.contains(arch) && !line.contains("CUDA:")).unwrap();
        assert!(line.starts_with("scale::kernel_0  "), "{report}");
    }

    assert_eq!(compile(&nvcc, &folder.0).0.made, 0);
    folder.write("factor.hpp", "static constexpr float factor = 3.0f;\n");
    assert_eq!(compile(&nvcc, &folder.0).0.made, 1);
    let other = installed(&["sm_90"]).unwrap();
    assert_eq!(compile(&other, &folder.0).0.made, 1, "for other architectures");

    folder.write("factor.hpp", "static constexpr float fact = 3.0f;\n");
    let (compiled, _) = compile(&nvcc, &folder.0);
    let text = compiled.problems.iter().map(ToString::to_string).collect::<String>();
    assert!(text.starts_with("error[HD0918]: nvcc failed on `scale.cu`") && text.contains("\"factor\""), "{text}");
    assert!(text.contains("--fmad=false") && !text.contains("CARGO_MANIFEST_DIR"), "{text}");
}

#[test]
fn a_program_with_kernels_starts_without_a_driver() {
    let Some(nvcc) = installed(&[]) else { return };
    let folder = Folder::new("starts");
    folder.write("out/scale.cu", SCALE);
    folder.write("factor.hpp", "static constexpr float factor = 2.0f;\n");
    folder.write("main.rs", MAIN);
    assert_eq!(compile(&nvcc, &folder.0).0.problems, Vec::new());
    let program = folder.0.join("main");
    let out = Command::new("rustc")
        .args(["--edition=2024", "-L"])
        .arg(folder.0.join("out"))
        .arg("-L")
        .arg(&nvcc.libraries)
        .arg("-o")
        .args([&program, &folder.0.join("main.rs")])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));

    let text = |command: &mut Command| String::from_utf8(command.output().unwrap().stdout).unwrap();
    let needed = text(Command::new("readelf").arg("-d").arg(&program));
    let needed: Vec<&str> = needed.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(needed.iter().any(|line| line.contains("libc.so")), "{needed:?}");
    assert!(!needed.iter().any(|line| line.contains("libcuda")), "{needed:?}");
    let said = text(&mut Command::new(&program));
    assert!(["called: 77\n", "called: 0\n"].contains(&said.as_str()), "with or without a driver: {said}");
}

/// A wish for one program that stands for nvcc: a script that says this version and dry run, and fails at anything else.
#[cfg(unix)]
fn wish_for(folder: &Folder, cuda: Cuda, version: &str, dry_run: &str) -> Wish {
    use std::os::unix::fs::PermissionsExt;

    let program = folder.0.join("nvcc");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n  --version) echo 'Cuda compilation tools, release x, V{version}';;\n  \
         --dryrun) echo '#$ TOP={dry_run}';;\n  *) echo 'nvcc fatal   : Unsupported gpu architecture' >&2; exit 1;;\nesac\n"
    );
    folder.write("nvcc", &script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    // A child that another test has started just now may hold the file open for writing until it is somebody else.
    while Command::new(&program).output().is_err_and(|error| error.kind() == std::io::ErrorKind::ExecutableFileBusy) {
        std::thread::yield_now();
    }
    let candidates = vec![Candidate { program, is_named: false }];
    Wish { cuda, archs: Archs::parse([].into_iter()).unwrap(), obstacle: None, candidates }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_used_is_a_warning_or_an_error() {
    let toolchain = Toolchain::find(&env::temp_dir(), Wanted::Nobodys).unwrap();
    let folder = Folder::new("unusable");
    let top = folder.0.display().to_string();
    let cases = [
        ("11.8.89", "/nowhere", "it is version 11.8.89, and 12.0 or later is needed"),
        ("12.4.131", top.as_str(), "nvcc fatal   : Unsupported gpu architecture"),
    ];
    fs::create_dir_all(folder.0.join("lib")).unwrap();
    folder.write("lib/libcudart_static.a", "");
    for (version, top, why) in cases {
        let choice = wish_for(&folder, Cuda::Auto, version, top).fulfil(&toolchain).unwrap();
        assert!(choice.nvcc.is_none() && choice.reason.ends_with(why), "{}", choice.reason);
        let warning = choice.warning.map(|warning| warning.to_string()).unwrap_or_default();
        assert!(warning.starts_with("warning[HD0953]: kernels are compiled for the CPU alone"), "{warning}");
        assert!(warning.contains(why), "{warning}");

        let mut demanded = wish_for(&folder, Cuda::Required, version, top);
        let error = demanded.fulfil(&toolchain).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("error[HD0916]: CUDA is demanded") && error.contains(why), "{error}");
        demanded.cuda = Cuda::Auto;
        demanded.candidates[0].is_named = true;
        let error = demanded.fulfil(&toolchain).map(drop).unwrap_err().to_string();
        assert!(error.contains("`NVCC` names what cannot be used") && error.contains(why), "{error}");
    }
}

#[test]
fn nothing_installed_is_an_error_only_if_it_was_demanded() {
    let toolchain = Toolchain::find(&env::temp_dir(), Wanted::Nobodys).unwrap();
    let archs = Archs::parse([].into_iter()).unwrap();
    let mut wish = Wish { cuda: Cuda::Auto, archs, obstacle: None, candidates: Vec::new() };
    assert!(!wish.may_have());
    let choice = wish.fulfil(&toolchain).unwrap();
    assert!(choice.warning.is_none() && choice.reason.starts_with("no nvcc in NVCC, CUDA_HOME"), "{}", choice.reason);
    wish.cuda = Cuda::Required;
    let error = wish.fulfil(&toolchain).map(drop).unwrap_err().to_string();
    assert!(error.contains("no nvcc in NVCC, CUDA_HOME") && error.contains("HIDP_CUDA=off"), "{error}");
}

#[test]
fn explanations_leave_gpus_out_where_builds_do() {
    let with = |value: &'static str| left_out(move |name| (name == "HIDP_CUDA").then(|| value.into()));
    let reason = |value| with(value).ok().flatten();
    assert_eq!(reason("off").as_deref(), Some("`HIDP_CUDA` is `off`"));
    assert_eq!((reason("simulated"), reason("required")), (None, None));
    assert!(with("on").is_err());
    // Some places are looked into on every machine.
    assert!(reason("auto").is_none_or(|reason| reason.starts_with("there is no nvcc in NVCC, ")));
    let named = left_out(|name| (name == "NVCC").then(|| std::env::current_exe().unwrap().into()));
    assert_eq!(named.ok().flatten(), None, "that it is none shows when it is called");
}

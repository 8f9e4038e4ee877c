//! Compiles the printed module with the real compiler and calls it.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hidp_build::compiler::emit::openmp::{self, FLAGS, Options};
use hidp_build::compiler::source::SourceMap;
use hidp_sys::{HIDP_FAULT, hidp_call, hidp_context, hidp_entry, hidp_fault, hidp_tunables};
use libloading::Library;

use super::units;
use crate::made::{hash, headers_hash};

/// How the module is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// As the product does it, for the oldest instruction set.
    Base,
    /// As the product does it, for this machine.
    Native,
    /// Everything on one thread.
    Serial,
    /// On OpenMP's threads.
    OpenMp,
    /// With checks for undefined behaviour, which end the process.
    Checked,
}

impl Build {
    const ALL: [Build; 5] = [Build::Base, Build::Native, Build::Serial, Build::OpenMp, Build::Checked];

    const fn flags(self) -> &'static [&'static str] {
        match self {
            Build::Base => &["-fopenmp-simd"],
            Build::Native => &["-fopenmp-simd", "-march=native"],
            Build::Serial => &["-fopenmp-simd", "-DHIDP_THREADS_OF=0", "-O1"],
            Build::OpenMp => &["-fopenmp", "-DHIDP_THREADS_OF=2", "-O1"],
            Build::Checked => &[
                "-fopenmp-simd",
                "-O1",
                "-fsanitize=undefined,float-cast-overflow,float-divide-by-zero",
                "-fno-sanitize=float-divide-by-zero,alignment",
                "-fsanitize-undefined-trap-on-error",
            ],
        }
    }
}

pub(crate) fn sources() -> SourceMap {
    let mut sources = SourceMap::new();
    sources.add("t.hdp", "x\ny\nz\n\nkernel\n0123456789\n");
    sources
}

pub(crate) fn module(options: &Options) -> String {
    openmp::module(&units::program(), &sources(), "t", &units::entries(), options)
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A folder for this test's files.
pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emit");
    std::fs::create_dir_all(folder.join("hidp/prim")).expect("a folder for outputs");
    folder
}

pub(crate) fn compiler() -> Option<String> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let name = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
            let found = Command::new(&name).arg("--version").output().is_ok_and(|output| output.status.success());
            if !found {
                println!("skipped: C++: there is no C++ compiler `{name}`");
            }
            found.then_some(name)
        })
        .clone()
}

/// Runs the compiler; its warnings are errors. `HIDP_TEST_CXXFLAGS` adds flags.
pub(crate) fn compile(compiler: &str, args: &[String]) -> Result<(), String> {
    let extra = std::env::var("HIDP_TEST_CXXFLAGS").unwrap_or_default();
    let output = Command::new(compiler)
        .args(FLAGS)
        .args(["-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(folder())
        .arg("-I")
        .arg(root().join("hidp-std/include"))
        .arg("-I")
        .arg(root().join("hidp-sys/include"))
        .args(args)
        .args(extra.split_whitespace())
        .output()
        .expect("the compiler starts");
    let errors = || format!("{args:?}\n{}", String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(errors()) }
}

/// Writes what changes only.
pub(crate) fn write(path: &Path, text: &str) {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    std::fs::write(path, text).expect("outputs can be written");
}

/// The module, loaded.
pub(crate) struct Module {
    library: Library,
}

impl Module {
    /// All builds of the module; none if there is no compiler.
    pub(crate) fn all() -> &'static [(Build, Module)] {
        static MODULES: OnceLock<Result<Vec<(Build, Module)>, String>> = OnceLock::new();
        let build_all = || {
            let Some(compiler) = compiler() else { return Ok(Vec::new()) };
            Build::ALL.into_iter().map(|build| Ok((build, Module::build(&compiler, build)?))).collect()
        };
        MODULES.get_or_init(build_all).as_ref().unwrap_or_else(|message| panic!("{message}"))
    }

    fn build(compiler: &str, build: Build) -> Result<Module, String> {
        let folder = folder();
        write(&folder.join("hidp/prim/test_fold.hpp"), units::TEST_FOLD);
        let source = folder.join("t.cpp");
        write(&source, &module(&Options::default()));
        let core = ["context", "pool", "team"].map(|name| root().join(format!("hidp-sys/src/{name}.cpp")));
        let mut args: Vec<String> = ["-shared", "-fPIC", "-fvisibility=default"].map(str::to_owned).to_vec();
        args.extend(build.flags().iter().map(|flag| (*flag).to_owned()));
        args.extend(core.iter().chain([&source]).map(|path| path.display().to_string()));
        let extra = std::env::var("HIDP_TEST_CXXFLAGS").unwrap_or_default();
        let text = module(&Options::default());
        let all = args.iter().chain([&text, &extra]).map(String::as_str).chain([units::TEST_FOLD]);
        let key = all.fold(headers_hash(), |state, part| hash(state, part.as_bytes()));
        let library = folder.join(format!("{build:?}-{key:016x}.so"));
        if !library.is_file() {
            let part = library.with_extension("part");
            args.extend(["-o".to_owned(), part.display().to_string()]);
            compile(compiler, &args)?;
            std::fs::rename(&part, &library).map_err(|error| error.to_string())?;
        }
        // SAFETY: initialising the library runs nothing but the OpenMP library's start.
        Ok(Module { library: unsafe { Library::new(&library) }.map_err(|error| error.to_string())? })
    }

    fn symbol<T: Copy>(&self, name: &str) -> T {
        // SAFETY: callers name a function of the ABI with its type.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn context(&self, threads: u32) -> Context<'_> {
        let new: unsafe extern "C" fn(u32) -> *mut hidp_context = self.symbol("hidp2_context_new");
        let start: unsafe extern "C" fn(*mut hidp_context, *mut u32) -> i32 = self.symbol("hidp2_context_start");
        // SAFETY: any number is allowed.
        let context = unsafe { new(threads) };
        // SAFETY: made just above.
        assert_eq!(unsafe { start(context, &mut 0) }, 0, "threads");
        Context { module: self, context }
    }
}

pub(crate) struct Context<'a> {
    module: &'a Module,
    context: *mut hidp_context,
}

// SAFETY: the ABI allows use from several threads.
unsafe impl Sync for Context<'_> {}

impl Context<'_> {
    /// Calls `t_<name>`.
    pub(crate) fn call(&self, name: &str, params: &[*mut c_void], dims: &[i64]) -> Result<(), hidp_fault> {
        let entry: hidp_entry = self.module.symbol(&format!("hidp2_t_{name}_p_base"));
        let fault = hidp_fault { site: u32::MAX, count: 0, values: [0; 4] };
        let tunables = hidp_tunables::USUAL;
        let mut call = hidp_call {
            context: self.context,
            device: std::ptr::null(),
            params: params.as_ptr(),
            dims: dims.as_ptr(),
            fault,
            tunables,
        };
        // SAFETY: tests pass arrays of the lengths that the entry expects.
        let result = unsafe { entry.expect("not null")(&raw mut call) };
        if result == HIDP_FAULT as i32 { Err(call.fault) } else { Ok(()) }
    }

    pub(crate) fn bytes(&self) -> usize {
        let bytes: unsafe extern "C" fn(*const hidp_context) -> usize = self.module.symbol("hidp2_pool_bytes");
        // SAFETY: the context lives.
        unsafe { bytes(self.context) }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        let free: unsafe extern "C" fn(*mut hidp_context) = self.module.symbol("hidp2_context_free");
        // SAFETY: nothing uses the context any more.
        unsafe { free(self.context) }
    }
}

/// The address of a slice, as an entry takes it.
pub(crate) fn p<T>(slice: &mut [T]) -> *mut c_void {
    slice.as_mut_ptr().cast()
}

/// Fault as site and values.
pub(crate) fn fault(site: u32, values: &[i64]) -> Result<(), (u32, Vec<i64>)> {
    Err((site, values.to_vec()))
}

/// A result that can be compared.
pub(crate) fn seen(result: Result<(), hidp_fault>) -> Result<(), (u32, Vec<i64>)> {
    result.map_err(|fault| (fault.site, fault.values[..fault.count as usize].to_vec()))
}

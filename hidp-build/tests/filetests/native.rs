//! Compiles generated C++ with the real compiler, as the product does, and calls it through the ABI.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Mutex, OnceLock, PoisonError};

use hidp_build::compiler::emit::openmp::FLAGS;
use hidp_sys::{HIDP_OK, hidp_call, hidp_context, hidp_entry, hidp_fault, hidp_tunables};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};

use crate::made::{Compiler, First, LOST, compile, folder, hash, headers_hash, root};
use crate::sanitized;

/// An instruction set: what symbols end in, and the compiler's flags for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Isa {
    pub(crate) name: &'static str,
    flags: &'static [&'static str],
}

/// What code is compiled for and called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Targets {
    pub(crate) cpu: bool,
    pub(crate) devices: bool,
}

/// What `HIDP_TARGETS` says: `cpu`, `devices`, or `all`, as without it.
pub(crate) fn targets() -> Targets {
    let wish = std::env::var("HIDP_TARGETS").unwrap_or_else(|_| "all".to_owned());
    let known = ["cpu", "devices", "all"].contains(&wish.as_str());
    assert!(known, "HIDP_TARGETS={wish}: `cpu`, `devices` or `all`");
    Targets { cpu: wish != "devices", devices: wish != "cpu" }
}

/// The instruction sets that this machine can run.
pub(crate) fn isas() -> Vec<Isa> {
    let mut found = vec![Isa { name: "base", flags: &[] }];
    #[cfg(target_arch = "x86_64")]
    {
        let v3 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
        let v4 = v3
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if v3 {
            found.push(Isa { name: "v3", flags: &["-march=x86-64-v3"] });
        }
        if v4 {
            found.push(Isa { name: "v4", flags: &["-march=x86-64-v4"] });
        }
    }
    found
}

/// Clang beside the usual compiler, where `HIDP_CLANG` names it.
pub(crate) fn clang() -> Option<&'static Compiler> {
    static CLANG: OnceLock<Option<Compiler>> = OnceLock::new();
    CLANG.get_or_init(|| std::env::var("HIDP_CLANG").ok().map(Compiler::named)).as_ref()
}

/// Besides the product's flags.
const AS_A_LIBRARY: [&str; 2] = ["-fPIC", "-fopenmp-simd"];

/// Everything generated code includes, compiled once for each instruction set.
const HEADER: &str = "#include <hidp/core.hpp>\n#include <hidp/stream.hpp>\n";

/// Flags by which files include that header, compiled with these flags.
fn precompiled(by: &Compiler, flags: &[&str]) -> First {
    static HEADERS: Mutex<BTreeMap<(String, String), First>> = Mutex::new(BTreeMap::new());
    let make = || by.precompiled("cpu", HEADER, by.headers_hash(), flags);
    let mut headers = HEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    headers.entry((by.name.clone(), flags.join(" "))).or_insert_with(make).clone()
}

/// Opens a library whose symbols are its own: one case compiled twice has the same ones.
pub(crate) fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: initialising our libraries runs nothing.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| error.to_string())
}

/// Opens a library for those that are opened afterwards.
pub(crate) fn open_for_others(path: &Path) -> Result<Library, String> {
    // SAFETY: initialising our libraries runs nothing.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(|error| error.to_string())
}

/// The C++ core, loaded before any kernels so that they find its symbols.
fn core() -> &'static Library {
    static CORE: OnceLock<Library> = OnceLock::new();
    CORE.get_or_init(|| {
        let output = folder().join(format!("core-{:016x}.so", headers_hash()));
        let sources = ["context", "pool", "team"].map(|name| root().join(format!("hidp-sys/src/{name}.cpp")));
        let flags = [FLAGS, &AS_A_LIBRARY, &["-shared", "-fvisibility=default"]].concat();
        compile(&output, &flags, &sources)
            .and_then(|()| open_for_others(&output))
            .unwrap_or_else(|why| panic!("the C++ core: {why}"))
    })
}

/// Threads and pool for calls.
pub(crate) struct Context(*mut hidp_context, Cell<hidp_tunables>);

/// Settings that no tuner would choose: everything that can be shared out differently is.
const ODD: hidp_tunables = hidp_tunables { threads: 2, thread_work: 7, segment_work: 5, team_segment: 3 };

thread_local! {
    /// One for each number of threads: their pools hand out memory that holds what calls before left in it.
    static CONTEXTS: RefCell<BTreeMap<u32, Rc<Context>>> = const { RefCell::new(BTreeMap::new()) };
}

impl Context {
    /// Runs `with` a context that this thread keeps.
    pub(crate) fn with<T>(threads: u32, with: impl FnOnce(&Context) -> T) -> T {
        let new = || Rc::new(Context::new(threads));
        let context = CONTEXTS.with_borrow_mut(|contexts| Rc::clone(contexts.entry(threads).or_insert_with(new)));
        context.1.set(hidp_tunables::USUAL);
        with(&context)
    }

    /// Runs `with` a context of three threads whose calls have odd settings.
    pub(crate) fn oddly<T>(with: impl FnOnce(&Context) -> T) -> T {
        Context::with(3, |context| {
            context.1.set(ODD);
            with(context)
        })
    }

    fn new(threads: u32) -> Context {
        // SAFETY: the symbols have these types, and any number is allowed.
        let context = unsafe {
            let used = core().get::<unsafe extern "C" fn()>(b"hidp2_team_use");
            used.expect("the core's symbol")();
            let new = core().get::<unsafe extern "C" fn(u32) -> *mut hidp_context>(b"hidp2_context_new");
            let context = new.expect("the core's symbol")(threads);
            let start = core().get::<unsafe extern "C" fn(*mut hidp_context, *mut u32) -> i32>(b"hidp2_context_start");
            assert_eq!(start.expect("the core's symbol")(context, &mut 0), 0, "threads");
            context
        };
        Context(context, Cell::new(hidp_tunables::USUAL))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the symbol has this type, and nothing uses the context any more.
        unsafe {
            let free = core().get::<unsafe extern "C" fn(*mut hidp_context)>(b"hidp2_context_free");
            free.expect("the core's symbol")(self.0);
        }
    }
}

/// How much the compiler does for code that processors run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    AsProduct,
    Some,
    Least,
}

/// Generated kernels, compiled for one instruction set and loaded.
pub(crate) struct Kernels {
    /// Never unloaded: addresses of its functions are kept.
    library: &'static Library,
    isa: Isa,
}

impl Kernels {
    /// Compiles a generated file, with threads started for any amount of work and short turns.
    pub(crate) fn build(stem: &str, cpp: &str, isa: Isa, (by, effort): (&Compiler, Effort)) -> Result<Kernels, String> {
        core();
        let isa_macro = format!("-DHIDP_ISA={}", isa.name);
        let mut flags: Vec<&str> = isa.flags.to_vec();
        flags.extend([isa_macro.as_str(), "-DHIDP_WORK_PER_THREAD=1", "-DHIDP_TURN=1024"]);
        if sanitized::is_on() {
            flags.extend(sanitized::FLAGS);
        }
        let effort: &[&str] = match effort {
            Effort::AsProduct => &[],
            Effort::Some => &["-O1"],
            Effort::Least => &["-O0"],
        };
        let flags = [FLAGS, effort, &AS_A_LIBRARY, &LOST, &flags].concat();
        let key =
            flags.iter().fold(hash(by.headers_hash(), cpp.as_bytes()), |state, flag| hash(state, flag.as_bytes()));
        let output = folder().join(format!("{stem}-{key:016x}.so"));
        let source = folder().join(format!("{stem}-{key:016x}.cpp"));
        if !output.is_file() {
            fs::write(&source, cpp).map_err(|error| error.to_string())?;
            let precompiled = precompiled(by, &flags)?;
            let first: Vec<&str> = precompiled.iter().map(String::as_str).collect();
            by.compile(&output, &[&flags[..], &["-shared"], &first].concat(), &[source])?;
        }
        Ok(Kernels { library: Box::leak(Box::new(open(&output)?)), isa })
    }

    /// The name of the instruction set.
    pub(crate) fn isa(&self) -> &'static str {
        self.isa.name
    }

    /// Calls `hidp2_<symbol>_<plan>_<isa>`.
    ///
    /// # Safety
    /// `params` and `dims` are what the entry expects.
    pub(crate) unsafe fn call(
        &self,
        context: &Context,
        symbol: &str,
        params: &[*mut c_void],
        dims: &[i64],
    ) -> Result<(), hidp_fault> {
        let name = format!("{symbol}_{}", self.isa.name);
        // SAFETY: every symbol of this form is an entry.
        let entry = unsafe { self.library.get::<hidp_entry>(name.as_bytes()) };
        let entry = entry.unwrap_or_else(|error| panic!("{name}: {error}")).expect("not null");
        let fault = hidp_fault { site: u32::MAX, count: 0, values: [0; 4] };
        let tunables = context.1.get();
        let mut call = hidp_call {
            context: context.0,
            device: std::ptr::null(),
            params: params.as_ptr(),
            dims: dims.as_ptr(),
            fault,
            tunables,
        };
        // SAFETY: the caller's promise.
        let result = unsafe { entry(&raw mut call) };
        if result == HIDP_OK as i32 { Ok(()) } else { Err(call.fault) }
    }
}

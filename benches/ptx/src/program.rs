//! Programs whose kernels run here: what nvcc makes of a file, with a run time that hands launches to this crate.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

use crate::counts::Counts;
use crate::memory::Memory;
use crate::run::Shape;
use crate::text::Module;

/// The architecture that everything is compiled for.
pub const ARCH: &str = "sm_90";

/// What ptxas says that a kernel needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread that are stored for want of registers.
    pub spilled: u32,
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

/// nvcc and what it is told.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The toolkit's folder.
    pub home: PathBuf,
    /// Where headers are.
    pub include: Vec<PathBuf>,
    /// Where outputs go.
    pub folder: PathBuf,
}

/// A compiled file, and what its launches did.
pub struct Program {
    library: Library,
    needs: HashMap<String, Needs>,
    /// Boxed, since the hooks know where it is.
    state: Box<State>,
}

struct State {
    module: Module,
    memory: Memory,
    owned: HashMap<*mut u8, Vec<u64>>,
    counts: Vec<Counts>,
    wrong: Option<String>,
    far: u64,
    most: u64,
}

#[repr(C)]
struct Hooks {
    state: *mut State,
    launch:
        unsafe extern "C" fn(*mut State, *const c_char, *const u32, *const u32, usize, *const *const u8, bool) -> bool,
    take: unsafe extern "C" fn(*mut State, usize) -> *mut u8,
    give: unsafe extern "C" fn(*mut State, *mut u8),
    variable: unsafe extern "C" fn(*mut State, *const c_char) -> *mut u8,
}

impl Compiler {
    /// Compiles a file; `stem` names outputs, and no other file has it.
    ///
    /// # Errors
    ///
    /// nvcc or the host's compiler refuses it, or the PTX has what is not run.
    pub fn compile(&self, stem: &str, source: &Path, flags: &[&str]) -> Result<Program, String> {
        let folder = self.folder.join(stem);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let object = folder.join("kernels.o");
        let mut nvcc = Command::new(self.home.join("bin/nvcc"));
        nvcc.args(["-std=c++17", "-O3", "-w", "-Xptxas=-v", "-Xcompiler=-fPIC", "-c", "--keep", "--keep-dir"]);
        nvcc.arg(&folder).arg(format!("-arch={ARCH}")).args(flags).arg("-o").arg(&object);
        self.include.iter().for_each(|include| {
            nvcc.arg("-I").arg(include);
        });
        let said = output(nvcc.arg(source))?;
        let name = source.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let ptx = folder.join(format!("{name}.ptx"));
        let text = fs::read_to_string(&ptx).map_err(|error| format!("{}: {error}", ptx.display()))?;
        let module = Module::read(&text).map_err(|error| format!("{}: {error}", source.display()))?;
        let runtime = folder.join("runtime.cpp");
        fs::write(&runtime, include_str!("runtime.cpp")).map_err(|error| error.to_string())?;
        let library = folder.join("kernels.so");
        let mut linked = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
        linked.args(["-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-Wl,-Bsymbolic", "-o"]).arg(&library);
        output(linked.arg(&runtime).arg(&object).arg("-I").arg(self.home.join("include")))?;
        Program::load(&library, module, needs(&said))
    }
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(said) } else { Err(format!("{command:?} fails:\n{said}")) }
}

/// By kernels' names, from what `ptxas -v` prints.
fn needs(said: &str) -> HashMap<String, Needs> {
    let mut found: HashMap<String, Needs> = HashMap::new();
    let mut kernel = String::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().unwrap_or_default().to_owned();
        }
        let own = found.entry(kernel.clone()).or_default();
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(3) {
            let Ok(number) = pair[0].parse::<u32>() else { continue };
            match (pair[1], pair[2]) {
                ("registers", _) => own.registers = number,
                ("bytes", "smem") => own.shared = number,
                ("bytes", "spill") => own.spilled = own.spilled.max(number),
                _ => {}
            }
        }
    }
    found
}

impl Program {
    fn load(library: &Path, module: Module, needs: HashMap<String, Needs>) -> Result<Program, String> {
        // What a program's `main` needs besides is not there, and is not called.
        // SAFETY: what runs when it is loaded notes names of kernels.
        let library =
            unsafe { Library::open(Some(library), RTLD_LAZY | RTLD_LOCAL) }.map_err(|error| error.to_string())?;
        let state = State {
            module,
            memory: Memory::default(),
            owned: HashMap::new(),
            counts: Vec::new(),
            wrong: None,
            far: 1000,
            most: u64::MAX,
        };
        let mut program = Program { library, needs, state: Box::new(state) };
        let hooks = Hooks { state: &raw mut *program.state, launch, take, give, variable };
        // SAFETY: the file defines it with this type, and copies what it points to.
        unsafe {
            let set = program.library.get::<unsafe extern "C" fn(*const Hooks)>(b"hidp_ptx_hooks");
            set.map_err(|error| error.to_string())?(&raw const hooks);
        }
        Ok(program)
    }

    /// The address of a function of the file.
    ///
    /// # Errors
    ///
    /// There is none of this name.
    ///
    /// # Safety
    ///
    /// It has this type.
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        // SAFETY: the caller's promise.
        let found = unsafe { self.library.get::<F>(name.as_bytes()) };
        found.map(|function| *function).map_err(|error| error.to_string())
    }

    /// For the launches after this: cycles of a load from memory, and how many blocks of each run. Where that is not all, results are wrong, and counts those of all if blocks are
    /// alike; of different sectors of a launch they are what would be if blocks shared none.
    pub fn set(&mut self, far: u64, most: u64) {
        self.state.far = far;
        self.state.most = most;
    }

    /// Device memory.
    pub fn take(&mut self, bytes: usize) -> *mut u8 {
        self.state.take(bytes)
    }

    /// Gives it back.
    pub fn give(&mut self, block: *mut u8) {
        self.state.give(block);
    }

    /// What the launches since the last look did.
    ///
    /// # Errors
    ///
    /// What was wrong with the first that failed.
    pub fn launches(&mut self) -> Result<Vec<Counts>, String> {
        let counts = std::mem::take(&mut self.state.counts);
        self.state.wrong.take().map_or(Ok(counts), Err)
    }

    /// What ptxas says of a kernel.
    pub fn needs(&self, kernel: &str) -> Needs {
        self.needs.get(kernel).copied().unwrap_or_default()
    }
}

impl State {
    fn take(&mut self, bytes: usize) -> *mut u8 {
        // Blocks begin at multiples of 256 bytes, as those of a device do.
        const ALIGNED: usize = 256;
        // Unwritten memory holds anything.
        let mut words = vec![0xcdcd_cdcd_cdcd_cdcd_u64; (bytes.max(1) + ALIGNED).div_ceil(8)];
        let start = words.as_mut_ptr().cast::<u8>();
        let place = start.wrapping_add(start.align_offset(ALIGNED));
        self.owned.insert(place, words);
        // SAFETY: the words live until `give`, and nothing else knows of them.
        unsafe { self.memory.allow(place, bytes.max(1)) };
        place
    }

    fn give(&mut self, block: *mut u8) {
        self.memory.forbid(block);
        self.owned.remove(&block);
    }
}

/// # Safety
///
/// The hooks' state is alive, extents are three numbers each, and arguments what the kernel takes.
unsafe extern "C" fn launch(
    state: *mut State,
    kernel: *const c_char,
    blocks: *const u32,
    threads: *const u32,
    shared: usize,
    args: *const *const u8,
    together: bool,
) -> bool {
    // SAFETY: the caller's promise.
    let (state, kernel, blocks, threads) =
        unsafe { (&mut *state, CStr::from_ptr(kernel), *blocks.cast::<[u32; 3]>(), *threads.cast::<[u32; 3]>()) };
    if state.wrong.is_some() {
        return false;
    }
    let kernel = kernel.to_string_lossy();
    let shape = Shape { blocks, threads, shared: shared as u32, far: state.far, most: state.most, together };
    let count = state.module.kernels.get(&*kernel).map_or(0, |kernel| kernel.params.len());
    // SAFETY: there is an address for each parameter.
    let args = unsafe { std::slice::from_raw_parts(args, count) };
    // SAFETY: each has as many bytes as its parameter.
    match unsafe { state.module.run(&kernel, shape, args, &state.memory) } {
        Ok(counts) => state.counts.extend(counts),
        Err(why) => state.wrong = Some(why),
    }
    state.wrong.is_none()
}

/// # Safety
///
/// The hooks' state is alive.
unsafe extern "C" fn take(state: *mut State, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { &mut *state }.take(bytes)
}

/// # Safety
///
/// The hooks' state is alive.
unsafe extern "C" fn give(state: *mut State, block: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { &mut *state }.give(block);
}

/// # Safety
///
/// The hooks' state is alive, the name a string.
unsafe extern "C" fn variable(state: *mut State, name: *const c_char) -> *mut u8 {
    // SAFETY: the caller's promise.
    let (state, name) = unsafe { (&*state, CStr::from_ptr(name)) };
    state.module.variable(&name.to_string_lossy()).map_or(std::ptr::null_mut(), |address| address as *mut u8)
}

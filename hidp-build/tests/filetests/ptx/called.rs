//! Calls of compiled programs: entries of HiDP, and programs by hand.

use std::ffi::c_void;
use std::fs;
use std::path::Path;

use hidp_build::compiler::emit::cuda::FLAGS;
use hidp_build::compiler::ir::imp::Unit;
use hidp_build::compiler::ir::par::interp::Arg;
use hidp_build::compiler::target::DeviceModel;
use hidp_ptx::{Compiler, Counts, Needs, Program};
use hidp_sys::{HIDP_OK, hidp_call, hidp_device, hidp_entry, hidp_fault, hidp_tunables};

use crate::made::root;
use crate::memory::Block;
use crate::papers::is_right;
use crate::subject::{Entry, Outcome, Request, Subject};

use super::time::far;

/// A program that can be called as an entry of HiDP is.
pub(super) struct Compiled {
    program: Program,
    call: Call,
}

#[derive(Clone, Copy)]
enum Call {
    Entry(hidp_entry),
    ByHand(unsafe extern "C" fn(*const *mut c_void, *const i64)),
}

/// All blocks of a launch.
pub(super) const ALL: u64 = u64::MAX;

/// A launch with what its kernel needs.
pub(super) type Launched = (Needs, Counts);

impl Compiled {
    pub(super) fn entry(with: &Compiler, subject: &Subject, entry: &Entry, unit: &Unit) -> Result<Compiled, String> {
        let symbol = subject.symbol(entry, unit);
        let source = with.folder.join(format!("{symbol}.cu"));
        fs::create_dir_all(&with.folder).map_err(|error| error.to_string())?;
        fs::write(&source, subject.cuda_of(entry, unit)).map_err(|error| error.to_string())?;
        // The library has to show its entry.
        let kept = FLAGS.iter().copied().filter(|flag| !flag.contains("visibility") && !flag.contains("fPIC"));
        let own = ["-Xcompiler=-fwrapv,-ffp-contract=off", "-DHIDP_ISA=cuda"];
        let flags: Vec<&str> = kept.chain(own).collect();
        let program = with.compile(&symbol, &source, &flags)?;
        // SAFETY: every symbol of this form is an entry.
        let call = Call::Entry(unsafe { program.function(&format!("{symbol}_cuda"))? });
        Ok(Compiled { program, call })
    }

    /// A function of the file's name. That of an original includes files from its folder.
    pub(super) fn by_hand(with: &Compiler, source: &Path, original: Option<&Path>) -> Result<Compiled, String> {
        let name = source.file_stem().ok_or("a file without a name")?.to_string_lossy().into_owned();
        let include = [root().join("benches/peers/cuda")].into_iter().chain(original.map(Path::to_owned));
        let own = Compiler { include: include.collect(), ..with.clone() };
        let stem = if original.is_some() { format!("original_{name}") } else { format!("hand_{name}") };
        let program = own.compile(&stem, source, &[])?;
        // SAFETY: `PEER` gives functions this type.
        let call = Call::ByHand(unsafe { program.function(&name)? });
        Ok(Compiled { program, call })
    }

    /// What the launches of a call do, of each of which so many blocks run. Where all do, results are compared.
    pub(super) fn launches(
        &mut self,
        subject: &Subject,
        entry: &Entry,
        request: &Request,
        most: u64,
    ) -> Result<Vec<Launched>, String> {
        self.program.set(far(&DeviceModel::cuda()), most);
        let mut blocks = subject.blocks(entry, request).to_vec();
        let is_array = |number: usize| matches!(request.args[number], Arg::Array(_));
        let mut params: Vec<*mut c_void> = blocks.iter_mut().map(Block::address).collect();
        let host = params.clone();
        let arrays: Vec<usize> = (0..params.len()).filter(|number| is_array(*number)).collect();
        for &number in &arrays {
            let bytes = blocks[number].length();
            params[number] = self.program.take(bytes).cast();
            // SAFETY: both have so many bytes.
            unsafe { std::ptr::copy_nonoverlapping(host[number].cast::<u8>(), params[number].cast(), bytes) };
        }
        let ended = self.call(&params, &request.dims);
        let launches = self.program.launches()?;
        ended?;
        for &number in &arrays {
            let bytes = blocks[number].length();
            // SAFETY: both have so many bytes.
            unsafe { std::ptr::copy_nonoverlapping(params[number].cast::<u8>(), host[number].cast(), bytes) };
            self.program.give(params[number].cast());
        }
        if most == ALL {
            let Outcome::Results(found) = subject.outcome(entry, request, &blocks, Ok(()))? else {
                return Err("a call without a fault has results".into());
            };
            is_right(subject.func(entry), &request.args, &request.dims, &found)?;
        }
        let with_needs = |counts: Counts| (self.program.needs(&counts.kernel), counts);
        Ok(launches.into_iter().map(with_needs).collect())
    }

    fn call(&mut self, params: &[*mut c_void], dims: &[i64]) -> Result<(), String> {
        let entry = match self.call {
            Call::ByHand(function) => {
                // SAFETY: arrays have the sizes that dimensions say.
                unsafe { function(params.as_ptr(), dims.as_ptr()) };
                return Ok(());
            }
            Call::Entry(entry) => entry.expect("not null"),
        };
        let model = DeviceModel::cuda();
        let device = hidp_device {
            state: (&raw mut self.program).cast(),
            stream: std::ptr::null_mut(),
            ordinal: 0,
            multiprocessors: model.machine.multiprocessors as i32,
            threads_per_multiprocessor: model.resident as i32,
            take: Some(take),
            give: Some(give),
            take_pinned: Some(take),
            give_pinned: Some(give),
        };
        let fault = hidp_fault { site: u32::MAX, count: 0, values: [0; 4] };
        let (params, dims, context) = (params.as_ptr(), dims.as_ptr(), std::ptr::null_mut());
        let mut call =
            hidp_call { context, device: &raw const device, params, dims, fault, tunables: hidp_tunables::USUAL };
        // SAFETY: arrays have the sizes that dimensions say; the program is alive.
        let result = unsafe { entry(&raw mut call) };
        if result == HIDP_OK as i32 { Ok(()) } else { Err(format!("ended with {result}, {:?}", call.fault.values)) }
    }
}

/// # Safety
///
/// The state is a program.
unsafe extern "C" fn take(state: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { &mut *state.cast::<Program>() }.take(bytes).cast()
}

/// # Safety
///
/// The state is a program, the block one of its.
unsafe extern "C" fn give(state: *mut c_void, block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { &mut *state.cast::<Program>() }.give(block.cast());
}

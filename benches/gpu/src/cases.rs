//! Makes the calls of a case with every plan that its entries have for devices, and compares.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;

use hidp_std::rt::entry::{Codes, Entry};
use hidp_std::rt::{Arg, Dynamic, EMPTY_BYTES};
use hidp_std::{Context, Error};

use crate::answers::{Argument, Call, Layout, compare};
use crate::children::{self, Job};
use crate::list;
use crate::options::Options;

/// What came of the calls of a case.
#[derive(Debug, Default)]
pub struct Tally {
    /// Calls that were made.
    pub made: usize,
    /// Of these, those that ended with a fault, as they must.
    pub faults: usize,
    pub plans: BTreeSet<&'static str>,
    /// Entries without a version for devices, and their calls.
    pub left_out: BTreeMap<String, usize>,
    pub failures: Vec<String>,
    /// The device does not work any more; calls that were left were not made.
    pub lost: bool,
}

impl Tally {
    pub fn is_good(&self) -> bool {
        self.failures.is_empty() && !self.lost && (self.made > 0 || !self.left_out.is_empty())
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.made == 0 && self.failures.is_empty() && !self.left_out.is_empty() {
            return write!(f, "LEFT OUT: no entry has a version for devices");
        }
        let plans = self.plans.iter().copied().collect::<Vec<_>>().join(" ");
        write!(f, "{} calls, {} of them faults, plans: {plans}", self.made, self.faults)?;
        match (self.failures.len(), self.made) {
            (0, 0) => write!(f, ": FAILED, nothing was called")?,
            (0, _) => write!(f, ": ok")?,
            (failed, _) => write!(f, ": {failed} FAILED")?,
        }
        for (entry, calls) in &self.left_out {
            write!(f, "; LEFT OUT: {calls} calls of {entry}, which has no version for devices")?;
        }
        match self.lost {
            true => write!(f, ", and the device is lost"),
            false => Ok(()),
        }
    }
}

/// Makes all calls whose dimensions are at most `largest`, with every plan, each twice: results must have the same bits again.
pub fn run(calls: &[Call], cx: &Context, largest: i64) -> Tally {
    let mut tally = Tally::default();
    for call in calls.iter().filter(|call| call.dims.iter().all(|&dim| dim <= largest)) {
        let Some(entry) = crate::entry(&call.entry) else {
            tally.failures.push(format!("{} is not in this program", call.entry));
            continue;
        };
        let plans = plans_for_devices(entry);
        if plans.is_empty() {
            *tally.left_out.entry(call.entry.clone()).or_default() += 1;
        }
        for plan in plans {
            tally.plans.insert(plan);
            twice(call, entry, plan, &cx.with_plan(plan), &mut tally);
            if tally.lost {
                return tally;
            }
        }
    }
    tally
}

/// Runs every case that has answers, or those that are named, in processes of their own. Whether all are good.
pub fn run_all(options: &Options) -> Result<bool, String> {
    let all = list::cases(&options.answers)?;
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let job = |case: &str| Job { name: case.into(), args: vec!["case".into(), case.into()] };
    let jobs = options.chosen(&all, "case")?.into_iter().map(job).collect();
    children::run_all(options, jobs, "cases")
}

/// Runs one case in this process; prints what was wrong, and how it went.
pub fn one(options: &Options) -> Result<bool, String> {
    let [case] = &options.names[..] else { return Err("which case?".into()) };
    let calls = list::calls(&options.answers, case)?;
    let cx = options.place.context().map_err(|error| error.to_string())?;
    println!("{}", cx.device());
    let tally = run(&calls, &cx, options.largest);
    tally.failures.iter().for_each(|failure| println!("wrong: {failure}"));
    println!("result: {tally}");
    Ok(tally.is_good())
}

/// The plans in which an entry runs on a device.
pub fn plans_for_devices(entry: &'static Entry) -> Vec<&'static str> {
    let versions = entry.versions.iter().filter(|version| match version.code {
        Codes::Device(_) => true,
        Codes::Cpu(_) => false,
    });
    versions.map(|version| version.plan).collect()
}

fn twice(call: &Call, entry: &'static Entry, plan: &'static str, cx: &Context, tally: &mut Tally) {
    let mut first: Option<Vec<Vec<u8>>> = None;
    for turn in ["", ", the second time"] {
        tally.made += 1;
        tally.faults += usize::from(call.fault.is_some());
        let checked = once(call, entry, plan, cx).and_then(|found| match &first {
            Some(first) if !same_bits(call, first, &found) => {
                Err(Failure::Wrong("other bits than the first time".into()))
            }
            Some(_) => Ok(()),
            None => {
                first = Some(found);
                Ok(())
            }
        });
        let Err(failure) = checked else { continue };
        let (why, is_lost) = match failure {
            Failure::Wrong(why) => (why, false),
            Failure::Lost(why) => (why, true),
        };
        tally.failures.push(format!("{} with {:?}, plan {plan}{turn}: {why}", call.entry, call.dims));
        tally.lost |= is_lost;
        return;
    }
}

/// Whether all scalars are the same; what is between them in a struct is nobody's.
fn same_bits(call: &Call, first: &[Vec<u8>], found: &[Vec<u8>]) -> bool {
    call.args.iter().zip(first.iter().zip(found)).all(|(arg, (first, found))| {
        let Layout { size, leaves } = &arg.layout;
        let mut elements = first.chunks_exact(*size).zip(found.chunks_exact(*size));
        let same = |(a, b): (&[u8], &[u8])| {
            leaves.iter().map(|&(at, leaf)| at as usize..at as usize + leaf.size()).all(|at| a[at.clone()] == b[at])
        };
        first.len() == found.len() && elements.all(same)
    })
}

enum Failure {
    Wrong(String),
    /// Nothing can be called any more.
    Lost(String),
}

/// Makes the call; gives the arguments afterwards.
fn once(call: &Call, entry: &'static Entry, plan: &str, cx: &Context) -> Result<Vec<Vec<u8>>, Failure> {
    let mut memory: Vec<Memory> = call.args.iter().map(Memory::new).collect();
    let shapes: Vec<Vec<usize>> = call.args.iter().map(shape).collect();
    let args = memory.iter_mut().zip(&shapes).zip(&call.args);
    let args: Vec<Arg<'_>> = args.map(|((memory, shape), arg)| memory.arg(shape, arg)).collect();
    // SAFETY: the arguments have the entry's types and shapes: both come from the same program.
    let result = Dynamic::new(entry, args).and_then(|bound| unsafe { bound.run(cx) });
    let run = cx.last_run();
    let found: Vec<Vec<u8>> = memory.iter().map(|memory| memory.bytes().to_vec()).collect();
    judge(call, &result, &found)?;
    match run {
        Some(run) if run.plan == plan && run.device.is_some() => Ok(found),
        Some(run) => Err(Failure::Wrong(format!("another version ran: {run}"))),
        None => Err(Failure::Wrong("nothing ran".into())),
    }
}

/// Whether what came of a call is what must.
fn judge(call: &Call, result: &Result<(), Error>, found: &[Vec<u8>]) -> Result<(), Failure> {
    let wrong = |why: String| Err(Failure::Wrong(why));
    match (result, &call.fault) {
        (Ok(()), None) => {
            for (number, (arg, found)) in call.args.iter().zip(found).enumerate() {
                if let Some(after) = &arg.after {
                    compare(&arg.layout, after, found, call.exact)
                        .map_err(|why| Failure::Wrong(format!("argument {number}: {why}")))?;
                }
            }
            Ok(())
        }
        (Ok(()), Some(fault)) => wrong(format!("no fault, but must be {fault:?}")),
        (Err(Error::Fault(found_fault)), Some(fault)) => {
            let place = (found_fault.kind() as u32, found_fault.line(), found_fault.column());
            if place != (fault.kind, fault.line, fault.column) || found_fault.values() != fault.values {
                return wrong(format!("the fault must be {fault:?}, but is: {found_fault}"));
            }
            let is_array = |arg: &&Argument| arg.shape.is_some();
            let untouched = call.args.iter().zip(found).all(|(arg, found)| !is_array(&arg) || arg.before == *found);
            if untouched { Ok(()) } else { wrong("after a fault an array of the host is not as it was".into()) }
        }
        (Err(Error::Device(error)), _) if error.is_lost() => Err(Failure::Lost(error.to_string())),
        (Err(error), _) => wrong(error.to_string()),
    }
}

fn shape(arg: &Argument) -> Vec<usize> {
    arg.shape.iter().flatten().map(|&extent| extent as usize).collect()
}

/// The memory of an argument.
struct Memory {
    /// Words, so that everything is aligned; as many as may be read of an empty array.
    words: Vec<u64>,
    bytes: usize,
}

impl Memory {
    fn new(arg: &Argument) -> Memory {
        let bytes = arg.before.len();
        let words = vec![0; bytes.max(EMPTY_BYTES).div_ceil(8)];
        let mut memory = Memory { words, bytes };
        // SAFETY: the words have at least so many bytes.
        unsafe { memory.words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(arg.before.as_ptr(), bytes) };
        memory
    }
    fn arg<'a>(&'a mut self, shape: &'a [usize], arg: &Argument) -> Arg<'a> {
        let address: *mut c_void = self.words.as_mut_ptr().cast();
        Arg::raw(address, arg.value, shape, if arg.shape.is_some() { self.bytes } else { 0 })
    }
    fn bytes(&self) -> &[u8] {
        // SAFETY: the words have at least so many bytes, and all are initialised.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }
}

//! Kind `run`: every entry of the case, on the interpreter and compiled, with every plan, several thread counts and
//! instruction sets of this machine; device code on an executor that looks at whatever it does, in several orders of its lanes.
//! Results must agree, integers exactly; faults in kind, place and values.
//!
//! ```text
//! // data: rowptr ascending Z      (see `maker`)
//! // call: f x=[1 2] -> y=[2 4]    (see `stated`)
//! // sizes: 4 6 5; 100 3           (further sizes of the dimensions, in order of the header)
//! // sizes of f: 7 100             (the same for one function, in the place of those for all)
//! // small                         (no big arrays)
//! // sizes up to 20                (nor larger dimensions, but for those of `sizes`)
//! // exact                         (floats to the bit)
//! // calls only                    (no made arguments)
//! // faults: f g                   (functions that never end well with made arguments)
//! // every instruction set         (see `instruction_sets`)
//! // in lanes                      (forced in every run: see `lanes`)
//! // variants                      (plans with every tile of the hardware model's domains)
//! // variants on processors         (the same; of devices in full tests alone)
//! // streams early                 (outputs of 512 bytes are large enough to be written past the caches)
//! // called often                  (device code that pays to be optimised: most takes longer to compile than to run)
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;

use hidp_build::compiler::ir::imp::{Unit, UnitTarget};
use hidp_build::compiler::ir::par::Func;
use hidp_build::compiler::ir::par::interp::Arg;

use crate::calls;
use crate::case::Case;
use crate::counts;
use crate::device::{self, DeviceKernels};
use crate::kept::Kept;
use crate::made::{Compiler, compiler};
use crate::maker::{Filling, Maker, fillings};
use crate::native::{Context, Effort, Isa, Kernels, clang, isas, targets};
use crate::record::Record;
use crate::same;
use crate::sanitized;
use crate::stated::{self, stated};
use crate::subject::{Entry, Outcome, Request, Subject, bind};
use crate::turns;

/// Sizes of dimensions, in order of the header; a list repeats. The last one depends on how many dimensions there are.
const SIZES: &[&[i64]] =
    &[&[0], &[1], &[2], &[3, 0, 2], &[7, 5, 3, 2], &[13, 1, 9, 17], &[64, 33, 3, 2], &[16, 130, 5, 3]];

/// Sizes of arrays that several threads share in earnest.
fn big(func: &Func) -> &'static [i64] {
    let square = func.params.iter().any(|&param| func.vars[param].shape.len() > func.dims.len());
    match func.dims.len() {
        0 | 1 if square => &[61],
        0 | 1 => &[20_011],
        2 => &[127, 163],
        3 => &[23, 31, 29],
        _ => &[11, 13, 7, 19, 2, 3],
    }
}

pub(crate) fn run(case: &Case) -> Result<(), String> {
    // Pinned plans stand beside the case.
    let plans = std::fs::read_to_string(case.path.with_extension("plan")).ok();
    let subject = Subject::compile_with(&case.name, &case.text, plans.as_deref())?;
    have_versions_for_devices(case, &subject)?;
    let built = Built::new(case, &subject)?;
    let fillings = fillings(&case.text)?;
    if let Some(device) = built.device.iter().flatten().find(|_| counts::alone() && !case.says("calls only")) {
        counts::check(&subject, device, &fillings)?;
    }
    for line in case.text.lines().filter_map(|line| line.strip_prefix("// sizes of ")) {
        let known = subject.entries.iter().any(|entry| line.split(':').next() == Some(&subject.func(entry).name));
        if !known {
            return Err(format!("sizes of a function that is not there: {line}"));
        }
    }
    if let Some(call) = stated(&case.text)?.iter().find(|call| subject.entry(&call.function).is_none()) {
        return Err(format!("call of `{}`: no such entry", call.function));
    }
    all_calls(case, &subject, &built)?;
    if let Some(kept) = &built.kept {
        kept.finish(&case.name);
    }
    built.answers.map_or(Ok(()), |answers| answers.into_inner().finish(&case.name, &subject))
}

/// Calls a case's entries on threads, of which the subject has some.
pub(crate) fn on_threads_alone(case: &Case, subject: &Subject, effort: Effort) -> Result<(), String> {
    let code = instruction_sets(case).into_iter().map(|isa| Code::new(subject, isa, (compiler(), effort)));
    let code = code.collect::<Result<_, String>>()?;
    all_calls(case, subject, &Built { code, device: None, kept: None, answers: None })
}

/// Makes the calls of a case, made and stated, of entries that the subject has.
fn all_calls(case: &Case, subject: &Subject, built: &Built) -> Result<(), String> {
    let fillings = fillings(&case.text)?;
    for entry in subject.entries.iter().filter(|_| !case.says("calls only") && !counts::alone()) {
        made(case, subject, entry, built, &fillings)?;
    }
    for call in stated(&case.text)? {
        let Some(entry) = subject.entry(&call.function) else { continue };
        as_stated(case, subject, (entry, &call), built).map_err(|why| format!("call of `{}`: {why}", call.function))?;
    }
    Ok(())
}

/// What a case is compiled to for processors.
struct Code {
    isa: Isa,
    is_by_clang: bool,
    /// If calls are more than listed.
    kernels: Option<Kernels>,
}

impl Code {
    fn new(subject: &Subject, isa: Isa, (by, effort): (&Compiler, Effort)) -> Result<Code, String> {
        let build = || Kernels::build(&subject.stem, &subject.cpp, isa, (by, effort));
        let kernels = (!calls::are_listed()).then(build).transpose()?;
        Ok(Code { isa, is_by_clang: clang().is_some_and(|clang| std::ptr::eq(clang, by)), kernels })
    }

    /// The instruction set, and the compiler where it is not the usual one.
    fn what(&self) -> String {
        let by = if self.is_by_clang { "-clang" } else { "" };
        format!("{}{by}", self.isa.name)
    }
}

/// What a case is compiled to.
struct Built {
    /// For each instruction set, by the usual compiler first.
    code: Vec<Code>,
    device: Option<Option<DeviceKernels>>,
    /// Calls of that which passed.
    kept: Option<Kept>,
    /// Where calls are written down rather than made.
    answers: Option<RefCell<Record>>,
}

impl Built {
    fn new(case: &Case, subject: &Subject) -> Result<Built, String> {
        if let Some(record) = Record::wanted() {
            return Ok(Built { code: Vec::new(), device: None, kept: None, answers: Some(RefCell::new(record)) });
        }
        let sets = if targets().cpu { instruction_sets(case) } else { Vec::new() };
        let cu = subject.cu.as_ref().filter(|cu| !is_quick() || is_quick_on_devices(case, &subject.stem, cu));
        let usual = sets.iter().map(|&isa| (isa, (compiler(), effort(case, &subject.cpp, isa))));
        // An edit has Clang's device code, which others have compiled and called.
        let clang = clang().filter(|_| !is_quick());
        let by_clang = clang.into_iter().flat_map(|clang| sets.iter().map(move |&isa| (isa, (clang, clangs_effort()))));
        let code = usual.chain(by_clang).map(|(isa, how)| Code::new(subject, isa, how));
        let code = code.collect::<Result<_, String>>()?;
        if calls::are_listed() {
            return Ok(Built { code, device: cu.map(|_| None), kept: None, answers: None });
        }
        let build = |cu: &String| DeviceKernels::build_with(&subject.stem, cu, device_effort(case));
        let device = cu.map(|cu| build(cu).map(Some)).transpose()?;
        let kept = device.iter().flatten().map(|device| Kept::new(case, subject, device.path())).next();
        Ok(Built { code, device, kept, answers: None })
    }
}

/// Bytes of C++ beyond which most of it is one plan after another of the same forms. Optimised, it takes four times as long to compile.
const MUCH: usize = 290_000;

/// Most of the text of primitives is that of headers, which loops of other cases use as the product compiles it. Text in lanes is in vectors
/// whatever the compiler does: one instruction set of several shows what it makes of them.
fn effort(case: &Case, cpp: &str, isa: Isa) -> Effort {
    let is_least = cpp.len() > MUCH || case.name.starts_with("wide_") && isa != set_in_turn(case);
    match (is_full(), is_least, case.name.starts_with("prim_")) {
        (true, _, _) | (false, false, false) => Effort::AsProduct,
        (false, false, true) => Effort::Some,
        (false, true, _) => Effort::Least,
    }
}

/// With Clang the question of a day is whether it takes the text and means the same by it.
fn clangs_effort() -> Effort {
    if is_full() { Effort::AsProduct } else { Effort::Least }
}

fn device_effort(case: &Case) -> device::Effort {
    if is_full() || case.says("called often") { device::Effort::Some } else { device::Effort::Least }
}

/// Whether an edit of the compiler is tested, and not all of it.
fn is_quick() -> bool {
    std::env::var("HIDP_RUN").is_ok_and(|value| value == "quick")
}

/// Whether everything is tested.
pub(crate) fn is_full() -> bool {
    std::env::var("HIDP_RUN").is_ok_and(|value| value == "all")
}

/// Cases that together have grids of every level, folds, sorts, faults and structs, and whose device code is compiled soon.
const QUICK_ON_DEVICES: [&str; 6] = ["bools", "faults", "native_structs", "ranks", "spmv_bad_index", "stencil"];

/// Whether a quick run calls a case's device code: where it is one of a few, or compiled already. Says so where it does not.
fn is_quick_on_devices(case: &Case, stem: &str, cu: &str) -> bool {
    let is_called =
        QUICK_ON_DEVICES.contains(&case.name.as_str()) || DeviceKernels::is_built(stem, cu, device_effort(case));
    if !is_called {
        println!("skipped: {}: its device code has changed (`cargo xtask test` compiles it)", case.name);
    }
    is_called
}

/// A case is compiled for one instruction set, which one goes by its name: together they have them all. Those that say so, and
/// all where `HIDP_RUN=all` is set, are compiled for each, but with sanitizers, which compile most slowly and find the same in any.
fn instruction_sets(case: &Case) -> Vec<Isa> {
    if case.says("every instruction set") && !sanitized::is_on() || is_full() {
        return isas();
    }
    vec![set_in_turn(case)]
}

/// The instruction set that goes by the case's name.
fn set_in_turn(case: &Case) -> Isa {
    let all = isas();
    let turn = case.name.bytes().map(usize::from).sum::<usize>();
    all[turn % all.len()]
}

/// Calls an entry with made arguments.
fn made(
    case: &Case,
    subject: &Subject,
    entry: &Entry,
    built: &Built,
    fillings: &BTreeMap<String, Filling>,
) -> Result<(), String> {
    let func = subject.func(entry);
    let mut ended = false;
    let sizes = sizes(case, func)?;
    let calls = sizes.iter().enumerate().filter_map(|(seed, sizes)| {
        let mut maker = Maker::new(subject.original(), func, sizes, seed as u64, fillings);
        maker.args().map(|args| (sizes, args, maker.dims()))
    });
    let calls: Vec<_> = calls.collect();
    let shares = turns::shares(calls.iter().map(|(.., dims)| dims.as_slice()));
    for ((sizes, args, dims), share) in calls.into_iter().zip(shares) {
        if calls::are_listed() {
            list(subject, entry, built, Request::new(args, dims, Outcome::Unknown).with(share));
            continue;
        }
        let request = subject.request(entry, args, dims);
        let result = request.and_then(|request| {
            let request = request.with(share);
            if matches!(request.expected, Outcome::Unknown) {
                return Err("the interpreter does not end".into());
            }
            ended |= matches!(request.expected, Outcome::Results(_));
            compiled(case, subject, entry, built, &request, &[], |_| Ok(()))
        });
        result.map_err(|why| format!("`{}` with {sizes:?}: {why}", func.name))?;
    }
    if calls::are_listed() {
        return Ok(());
    }
    let faults = case.text.lines().find_map(|line| line.strip_prefix("// faults: ")).unwrap_or_default();
    match (ended, faults.split_whitespace().any(|name| name == func.name)) {
        (false, false) => Err(format!("`{}` faults with whatever arguments", func.name)),
        (true, true) => Err(format!("`{}` does not always fault", func.name)),
        (true, false) | (false, true) => Ok(()),
    }
}

fn sizes(case: &Case, func: &Func) -> Result<Vec<Vec<i64>>, String> {
    let count = if func.dims.is_empty() { 3 } else { SIZES.len() };
    let most = case.text.lines().find_map(|line| line.strip_prefix("// sizes up to "));
    let most: i64 = most.map_or(Ok(i64::MAX), str::parse).map_err(|error| format!("sizes up to: {error}"))?;
    let up_to = |sizes: &&[i64]| sizes.iter().map(|size| *size.min(&most)).collect();
    let mut sizes: Vec<Vec<i64>> = SIZES[..count].iter().map(up_to).collect();
    if !func.dims.is_empty() && !case.says("small") {
        sizes.push(big(func).to_vec());
    }
    let own = format!("// sizes of {}: ", func.name);
    let head = if case.text.lines().any(|line| line.starts_with(&own)) { own.as_str() } else { "// sizes: " };
    for line in case.text.lines().filter_map(|line| line.strip_prefix(head)) {
        for list in line.split(';') {
            let parsed: Result<Vec<i64>, _> = list.split_whitespace().map(str::parse).collect();
            sizes.push(parsed.map_err(|error| format!("{list}: {error}"))?);
        }
    }
    Ok(sizes)
}

/// Stands for three threads and odd settings.
const ODDLY: u32 = 0;

/// Calls what was compiled with every plan.
fn compiled(
    case: &Case,
    subject: &Subject,
    entry: &Entry,
    built: &Built,
    request: &Request,
    stated: &[(usize, Arg)],
    also: impl Fn(&Outcome) -> Result<(), String>,
) -> Result<(), String> {
    if let Some(answers) = &built.answers {
        answers.borrow_mut().add(subject.answer(entry, request, stated, case.says("exact")));
        return Ok(());
    }
    let check = |found: &Outcome| {
        subject.agree(entry, request, found, case.says("exact"))?;
        also(found)
    };
    on_threads(subject, entry, &built.code, request, &check)?;
    let calls =
        || built.device.as_ref().map_or(Ok(()), |device| on_devices(subject, entry, device.as_ref(), request, &check));
    match &built.kept {
        Some(kept) => kept.or(&calls_on_devices(subject, entry, request), request, calls),
        None => calls(),
    }
}

/// Lists the calls with these arguments.
fn list(subject: &Subject, entry: &Entry, built: &Built, request: Request) {
    let check = |_: &Outcome| Ok(());
    let threads = on_threads(subject, entry, &built.code, &request, &check);
    let devices = built.device.as_ref().map(|device| on_devices(subject, entry, device.as_ref(), &request, &check));
    assert!(threads.is_ok() && devices.is_none_or(|listed| listed.is_ok()), "nothing is called that could fail");
}

/// On the CPU.
fn on_threads(
    subject: &Subject,
    entry: &Entry,
    built: &[Code],
    request: &Request,
    check: &dyn Fn(&Outcome) -> Result<(), String>,
) -> Result<(), String> {
    let big = request.dims.iter().any(|&dim| dim > 1000);
    // What processors make of larger calls is seen with the usual compiler.
    let is_for_clang = request.share.is_of(subject.func(entry).name.len());
    for (number, code) in built.iter().filter(|code| !code.is_by_clang || is_for_clang).enumerate() {
        // How work is shared out is the same on every instruction set, and whatever the compiler.
        let is_again = number > 0;
        let threads: &[u32] = if is_again || big { &[3] } else { &[1, 2, 3] };
        for unit in subject.units(entry, UnitTarget::Cpu) {
            let mut first = None;
            let oddly = (!is_again && !big).then_some(ODDLY);
            for threads in threads.iter().copied().chain(oddly) {
                let order = if threads == ODDLY { "oddly".to_owned() } else { format!("{threads} threads") };
                calls::note(&subject.stem, &subject.func(entry).name, &unit.plan, &code.what(), &order);
                let Some(kernels) = &code.kernels else { continue };
                let call = |cx: &Context| subject.call(kernels, (entry, unit), request, cx);
                let outcome = if threads == ODDLY { Context::oddly(call) } else { Context::with(threads, call) };
                outcome
                    .and_then(|found| {
                        check(&found)?;
                        as_the_first(found, &mut first)
                    })
                    .map_err(|why| format!("{}, plan {}, {threads} threads: {why}", code.what(), unit.plan))?;
            }
        }
    }
    Ok(())
}

/// On devices of one or two processors, in several orders of blocks and lanes.
fn on_devices(
    subject: &Subject,
    entry: &Entry,
    built: Option<&DeviceKernels>,
    request: &Request,
    check: &dyn Fn(&Outcome) -> Result<(), String>,
) -> Result<(), String> {
    let number = turns::number(request);
    for (unit, orders) in in_turn(subject, entry, request) {
        let mut first = None;
        for seed in orders {
            calls::note(&subject.stem, &subject.func(entry).name, &unit.plan, "executor", &format!("seed {seed}"));
            let Some(built) = built else { continue };
            let device = built.device(seed, 1 + (seed % 2) as i32);
            subject
                .call_on(&device, (entry, unit), request, number % 2 == 1)
                .and_then(|found| {
                    check(&found)?;
                    as_the_first(found, &mut first)
                })
                .map_err(|why| format!("plan {}, seed {seed}: {why}", unit.plan))?;
        }
    }
    Ok(())
}

/// Plans for devices, and in which orders of lanes they are called with these arguments.
fn in_turn<'e>(subject: &Subject, entry: &'e Entry, request: &Request) -> Vec<(&'e Unit, Vec<u64>)> {
    let units: Vec<&Unit> = subject.units(entry, UnitTarget::Device).collect();
    let count = units.len();
    let of = |(turn, unit): (usize, _)| (unit, turns::orders_in_turn(request, turn, count));
    units.into_iter().enumerate().map(of).collect()
}

/// The calls with these arguments: what is called, and in which orders of lanes.
fn calls_on_devices(subject: &Subject, entry: &Entry, request: &Request) -> String {
    let unit = |(unit, orders): (&Unit, Vec<u64>)| format!("{} {orders:?}\n", unit.plan);
    let units = in_turn(subject, entry, request).into_iter();
    subject.func(entry).name.clone() + "\n" + &units.map(unit).collect::<String>()
}

/// Results do not depend on who computes them.
fn as_the_first(found: Outcome, first: &mut Option<Vec<Arg>>) -> Result<(), String> {
    let Outcome::Results(found) = found else { return Ok(()) };
    let same = same::args(first.get_or_insert_with(|| found.clone()), &found, true);
    same.map_err(|why| format!("other bits than the first time: {why}"))
}

/// Makes a stated call on the interpreter and compiled.
fn as_stated(
    case: &Case,
    subject: &Subject,
    (entry, call): (&Entry, &stated::Stated),
    built: &Built,
) -> Result<(), String> {
    let func = subject.func(entry);
    let args = call.args(func)?;
    let dims = bind(func, &args)?;
    if calls::are_listed() {
        list(subject, entry, built, Request::new(args, dims, Outcome::Unknown));
        return Ok(());
    }
    let mut request = subject.request(entry, args, dims)?;
    if let (Outcome::Unknown, stated::Outcome::Fault(fault)) = (&request.expected, &call.outcome) {
        request.expected = Outcome::Fault(subject.only_fault(entry, fault)?);
    }
    let check = |found: &Outcome| match (&call.outcome, found) {
        (_, Outcome::Unknown) => Ok(()),
        (stated::Outcome::Results(results), Outcome::Results(found)) => {
            stated::results(func, results)?.into_iter().try_for_each(|(position, stated)| {
                same::args(&[stated], &found[position..=position], case.says("exact"))
                    .map_err(|why| format!("parameter {position}: {why}"))
            })
        }
        (stated::Outcome::Fault(stated), Outcome::Fault(found))
            if *stated == format!("{:?} {:?}", found.kind, found.values) =>
        {
            Ok(())
        }
        (_, Outcome::Fault(fault)) => Err(format!("not as stated: {}", subject.fault(fault))),
        (_, Outcome::Results(_)) => Err("no fault".into()),
    };
    check(&request.expected).map_err(|why| format!("the interpreter: {why}"))?;
    let stated = match &call.outcome {
        stated::Outcome::Results(results) => stated::results(func, results)?,
        stated::Outcome::Fault(_) => Vec::new(),
    };
    compiled(case, subject, entry, built, &request, &stated, check)
}

/// What device code does is looked at only where there is some: everywhere but in a case whose segments a device cannot compare.
fn have_versions_for_devices(case: &Case, subject: &Subject) -> Result<(), String> {
    let needs_none = !targets().devices || case.name == "prim_overlap";
    let has_none = |entry: &&Entry| subject.units(entry, UnitTarget::Device).next().is_none();
    match subject.entries.iter().find(has_none).filter(|_| !needs_none) {
        Some(entry) => Err(format!("`{}` has no version for a device", subject.func(entry).name)),
        None => Ok(()),
    }
}

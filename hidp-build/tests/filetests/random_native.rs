//! Random programs, compiled: every plan must give what the interpreter gives, faults included.
//!
//! The programs of [`crate::random`] in several element types, many to one C++ file. `HIDP_RANDOM=first..last` runs other seeds.

use hidp_build::compiler::ir::imp::UnitTarget;
use hidp_build::compiler::ir::par::print;

use crate::calls;
use crate::device::{DeviceKernels, Effort, orders};
use crate::made::compiler;
use crate::maker::{Maker, fillings};
use crate::native::{self, Context, Isa, Kernels, isas, targets};
use crate::random::{Writer, are_named, seeds};
use crate::run::is_full;
use crate::subject::{Entry, Request, Subject};

/// Seeds of a full run, and of others.
const SEEDS: std::ops::Range<u64> = 1000..1130;
const FIRST_SEEDS: std::ops::Range<u64> = 1000..1044;

/// Programs that are compiled together for one instruction set, and so many times as many for devices: each unit for those has the executor.
const BATCH: usize = 6;
const BATCHES: usize = 2;

/// One in so many programs is compiled with all variants of its plans.
const VARIED: u64 = 7;

/// What takes the place of `int`.
const TYPES: &[&str] = &["int", "long", "short", "uint", "uint8"];

const SIZES: &[&[i64]] = &[&[0], &[1], &[3, 0], &[7, 5], &[33, 20], &[100, 31]];

/// A program that `check` accepted.
struct Program {
    text: String,
    subject: Subject,
}

#[test]
fn compiled_random_programs_agree_with_the_interpreter() {
    let seeds: Vec<u64> = seeds(if is_full() { SEEDS } else { FIRST_SEEDS }).collect();
    let programs: Result<Vec<Program>, String> = seeds.iter().filter_map(|&seed| program(seed).transpose()).collect();
    let programs = programs.unwrap_or_else(|why| panic!("{why}"));
    let refused = seeds.len() - programs.len();
    assert!(are_named() || refused * 3 < seeds.len() * 2, "{refused} of {} programs refused", seeds.len());
    println!("{} of {} programs", programs.len(), seeds.len());
    if programs.is_empty() {
        println!("skipped: random programs: those of these seeds are refused, or their iterations race");
    }
    let batches: Vec<(usize, &[Program])> = programs.chunks(BATCH * BATCHES).enumerate().collect();
    let failures = crate::shared_out(&batches, |&(number, batch)| {
        let built = Built::new(number, batch);
        let compared = |built: Built| {
            let parts = batch.chunks(BATCH).zip(&built.kernels);
            parts.into_iter().try_for_each(|(programs, (isa, kernels))| {
                let with = With { isa: *isa, kernels: kernels.as_ref(), device: built.device.as_ref() };
                programs.iter().try_for_each(|program| program.compare(&with))
            })
        };
        built.and_then(compared).err()
    });
    assert!(failures.is_empty(), "{} batches failed\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Not every seed makes a program that is accepted: who names a single one is told so.
#[test]
fn one_seed_may_be_named() {
    let this = std::env::current_exe().expect("the path of this test");
    let test = "random_native::compiled_random_programs_agree_with_the_interpreter";
    let mut command = std::process::Command::new(this);
    command.args(["--exact", test, "--nocapture"]).env("HIDP_LIST", "1").env("HIDP_RANDOM", "7..8");
    let output = command.output().expect("this test starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("skipped: random programs: ") != text.contains("\nrandom_7 "), "{text}");
}

/// What programs are compiled to together.
struct Built {
    /// Of each batch.
    kernels: Vec<(Isa, Option<Kernels>)>,
    device: Option<DeviceKernels>,
}

/// What a program is compiled to.
struct With<'b> {
    isa: Isa,
    kernels: Option<&'b Kernels>,
    device: Option<&'b DeviceKernels>,
}

impl Built {
    fn new(number: usize, programs: &[Program]) -> Result<Built, String> {
        let sets = isas();
        let batch = |(at, programs): (usize, &[Program])| {
            let number = number * BATCHES + at;
            let isa = sets[number % sets.len()];
            if calls::are_listed() || !targets().cpu {
                return Ok((isa, None));
            }
            let cpp: String = programs.iter().map(|program| program.subject.cpp.as_str()).collect();
            let effort = if is_full() { native::Effort::AsProduct } else { native::Effort::Some };
            Ok((isa, Some(Kernels::build(&format!("random_{number}"), &cpp, isa, (compiler(), effort))?)))
        };
        let kernels = programs.chunks(BATCH).enumerate().map(batch).collect::<Result<_, String>>()?;
        let cu: String = programs.iter().filter_map(|program| program.subject.cu.as_deref()).collect();
        let device = (!cu.is_empty() && !calls::are_listed())
            .then(|| DeviceKernels::build_with(&format!("random_{number}"), &cu, Effort::Least))
            .transpose()?;
        Ok(Built { kernels, device })
    }
}

/// The program of a seed; none if `check` refuses it.
fn program(seed: u64) -> Result<Option<Program>, String> {
    let ty = TYPES[seed as usize % TYPES.len()];
    let words = Writer::new(seed).function();
    let text: String =
        words.split_inclusive(|c: char| !c.is_alphanumeric()).map(|piece| with_type(piece, ty)).collect();
    // Other plans than the preferred ones, too: whole iterations in lanes.
    let text = if seed.is_multiple_of(VARIED) { format!("// variants\n{text}") } else { text };
    let subject = match Subject::compile(&format!("random_{seed}"), &text) {
        Ok(subject) => subject,
        Err(why) if why.starts_with("does not compile") => return Ok(None),
        Err(why) => return Err(format!("{text}\n{why}")),
    };
    // What iterations race for is one of several values, which may differ.
    let racing = print(subject.original()).contains("~[");
    Ok((!racing).then_some(Program { text, subject }))
}

/// A word and the character after it, with another type for `int`.
fn with_type(piece: &str, ty: &str) -> String {
    match piece.strip_prefix("int") {
        Some(after) if after.chars().count() <= 1 && !after.contains(char::is_alphanumeric) => format!("{ty}{after}"),
        _ => piece.to_owned(),
    }
}

impl Program {
    fn compare(&self, built: &With<'_>) -> Result<(), String> {
        let subject = &self.subject;
        let fillings = fillings(&self.text)?;
        for entry in &subject.entries {
            for (seed, sizes) in SIZES.iter().enumerate() {
                let mut maker = Maker::new(subject.original(), subject.func(entry), sizes, seed as u64, &fillings);
                let Some(args) = maker.args() else { continue };
                let threads = 1 + seed as u32 % 3;
                let order = orders(seed as u64)[seed % 2];
                if calls::are_listed() {
                    self.list(entry, built.isa, threads, order);
                    continue;
                }
                let failed = |why| format!("{}\nwith {sizes:?}: {why}", self.text);
                let request = subject.request(entry, args, maker.dims()).map_err(failed)?;
                if let Some(kernels) = built.kernels {
                    self.on_threads(entry, kernels, threads, &request).map_err(failed)?;
                }
                if let Some(device) = built.device {
                    self.on_devices(entry, device, order, &request).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// Lists the calls with some arguments.
    fn list(&self, entry: &Entry, isa: Isa, threads: u32, seed: u64) {
        let (subject, name) = (&self.subject, &self.subject.func(entry).name);
        for unit in subject.units(entry, UnitTarget::Cpu).filter(|_| targets().cpu) {
            calls::note(&subject.stem, name, &unit.plan, isa.name, &format!("{threads} threads"));
        }
        for unit in subject.units(entry, UnitTarget::Device) {
            calls::note(&subject.stem, name, &unit.plan, "executor", &format!("seed {seed}"));
        }
    }

    fn on_threads(&self, entry: &Entry, kernels: &Kernels, threads: u32, request: &Request) -> Result<(), String> {
        let subject = &self.subject;
        for unit in subject.units(entry, UnitTarget::Cpu) {
            Context::with(threads, |cx| subject.call(kernels, (entry, unit), request, cx))
                .and_then(|found| subject.agree(entry, request, &found, false))
                .map_err(|why| format!("{}, {threads} threads, plan {}: {why}", kernels.isa(), unit.plan))?;
        }
        Ok(())
    }

    fn on_devices(&self, entry: &Entry, kernels: &DeviceKernels, seed: u64, request: &Request) -> Result<(), String> {
        let subject = &self.subject;
        for unit in subject.units(entry, UnitTarget::Device) {
            let device = kernels.device(seed, 1 + (seed % 2) as i32);
            subject
                .call_on(&device, (entry, unit), request, false)
                .and_then(|found| subject.agree(entry, request, &found, false))
                .map_err(|why| format!("plan {}, seed {seed}: {why}", unit.plan))?;
        }
        Ok(())
    }
}

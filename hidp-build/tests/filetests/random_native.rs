//! Random programs, compiled: every plan must give what the interpreter gives, faults included.
//!
//! The programs of [`crate::random`] in several element types, many to one C++ file. `HIDP_RANDOM=first..last` runs other seeds.

use hidp_build::compiler::ir::imp::UnitTarget;
use hidp_build::compiler::ir::par::print;

use crate::device::{DeviceKernels, orders};
use crate::maker::{Maker, fillings};
use crate::native::{Context, Kernels, isas};
use crate::random::{Writer, seeds};
use crate::subject::Subject;

/// Seeds of an ordinary run.
const SEEDS: std::ops::Range<u64> = 1000..1130;

/// Programs that are compiled together.
const BATCH: usize = 6;

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
    let seeds: Vec<u64> = seeds(SEEDS).collect();
    let programs: Vec<Program> = seeds.iter().filter_map(|&seed| program(seed)).collect();
    assert!(programs.len() * 3 > seeds.len(), "{} of {} programs refused", seeds.len() - programs.len(), seeds.len());
    println!("{} of {} programs", programs.len(), seeds.len());
    let sets = isas();
    let batches: Vec<(usize, &[Program])> = programs.chunks(BATCH).enumerate().collect();
    let failures = crate::shared_out(&batches, |&(number, batch)| {
        let cpp: String = batch.iter().map(|program| program.subject.cpp.as_str()).collect();
        let cu: String = batch.iter().filter_map(|program| program.subject.cu.as_deref()).collect();
        let stem = format!("random_{number}");
        let built = Kernels::build(&stem, &cpp, sets[number % sets.len()])
            .and_then(|kernels| Ok((kernels, (!cu.is_empty()).then(|| DeviceKernels::build(&stem, &cu)).transpose()?)));
        match built {
            Ok((kernels, device)) => batch.iter().find_map(|program| program.compare(&kernels, device.as_ref()).err()),
            Err(why) => Some(why),
        }
    });
    assert!(failures.is_empty(), "{} batches failed\n\n{}", failures.len(), failures.join("\n\n"));
}

fn program(seed: u64) -> Option<Program> {
    let ty = TYPES[seed as usize % TYPES.len()];
    let words = Writer::new(seed).function();
    let text: String =
        words.split_inclusive(|c: char| !c.is_alphanumeric()).map(|piece| with_type(piece, ty)).collect();
    let subject = Subject::compile(&format!("random_{seed}"), &text).ok()?;
    // What iterations race for is one of several values, which may differ.
    let racing = print(subject.original()).contains("~[");
    (!racing).then_some(Program { text, subject })
}

/// A word and the character after it, with another type for `int`.
fn with_type(piece: &str, ty: &str) -> String {
    match piece.strip_prefix("int") {
        Some(after) if after.chars().count() <= 1 && !after.contains(char::is_alphanumeric) => format!("{ty}{after}"),
        _ => piece.to_owned(),
    }
}

impl Program {
    fn compare(&self, kernels: &Kernels, device: Option<&DeviceKernels>) -> Result<(), String> {
        let subject = &self.subject;
        let fillings = fillings(&self.text)?;
        for entry in &subject.entries {
            for (seed, sizes) in SIZES.iter().enumerate() {
                let mut maker = Maker::new(subject.original(), subject.func(entry), sizes, seed as u64, &fillings);
                let Some(args) = maker.args() else { continue };
                let failed = |why| format!("{}\nwith {sizes:?}: {why}", self.text);
                let request = subject.request(entry, args, maker.dims()).map_err(failed)?;
                for unit in subject.units(entry, UnitTarget::Cpu) {
                    let threads = 1 + seed as u32 % 3;
                    Context::with(threads, |cx| subject.call(kernels, (entry, unit), &request, cx))
                        .and_then(|found| subject.agree(&request, &found, false))
                        .map_err(|why| {
                            failed(format!("{}, {threads} threads, plan {}: {why}", kernels.isa(), unit.plan))
                        })?;
                }
                let Some(device) = device else { continue };
                for unit in subject.units(entry, UnitTarget::Device) {
                    let order = orders(seed as u64)[seed % 2];
                    subject
                        .call_on(&device.device(order, 1 + (seed % 2) as i32), (entry, unit), &request)
                        .and_then(|found| subject.agree(&request, &found, false))
                        .map_err(|why| failed(format!("plan {}, seed {order}: {why}", unit.plan)))?;
                }
            }
        }
        Ok(())
    }
}

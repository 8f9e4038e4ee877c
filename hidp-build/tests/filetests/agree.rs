//! Runs a program before and after every pass and compares what comes out.
//!
//! Arguments are made up: dimensions take a few sizes, 0 among them; numbers are small whole ones, so that sums of floats are
//! exact in any order. A case says `// data: rowptr ascending Z` or `// data: col below C` where random indices would do nothing
//! but fault.

use hidp_build::compiler::ir::par::interp::{self, Arg, Error, Options};
use hidp_build::compiler::ir::par::{FuncId, Program, print};
use hidp_build::compiler::pass;

use crate::case::Case;
use crate::maker::{Maker, fillings};

/// Sizes that dimensions take, in order of the header; the list repeats.
const SIZES: &[&[i64]] = &[&[4, 6, 5, 7], &[0], &[1], &[3, 0, 2], &[9, 2, 3], &[5, 5, 5]];

/// Runs every entry; each must end without a fault at least once.
pub(crate) fn run(case: &Case, program: &Program) -> Result<(), String> {
    let fillings = fillings(&case.text)?;
    let stages = stages(program)?;
    for (position, entry) in program.entries.iter().enumerate() {
        let mut ended = false;
        for (number, sizes) in SIZES.iter().enumerate() {
            let func = &program.funcs[*entry];
            let mut maker = Maker::new(program, func, sizes, number as u64, &fillings);
            let Some(args) = maker.args() else { continue };
            let expected = interpret(program, *entry, args.clone());
            if let Err(error @ (Error::Unsound(_) | Error::Race { .. } | Error::Native(_) | Error::OutOfFuel)) =
                &expected
            {
                return Err(format!("`{}` before any pass: {error}", func.name));
            }
            ended |= expected.is_ok();
            for (pass, after) in &stages {
                compare(&expected, after, after.entries[position], args.clone())
                    .map_err(|why| format!("`{}` with {sizes:?} after `{pass}`: {why}\n{}", func.name, print(after)))?;
            }
        }
        if !ended {
            return Err(format!("`{}` faults with whatever arguments", program.funcs[*entry].name));
        }
    }
    Ok(())
}

/// The program after each pass.
fn stages(program: &Program) -> Result<Vec<(&'static str, Program)>, String> {
    let mut stages = Vec::new();
    let mut now = program.clone();
    let mut split = false;
    for one in pass::PIPELINE {
        pass::run(&mut now, std::slice::from_ref(one)).map_err(|error| format!("{error}\n{}", print(&now)))?;
        split |= one.name == "split";
        if split && !pass::folds_are_normal(&now) {
            return Err(format!("folds are not in normal form after `{}`\n{}", one.name, print(&now)));
        }
        stages.push((one.name, now.clone()));
    }
    Ok(stages)
}

fn interpret(program: &Program, entry: FuncId, args: Vec<Arg>) -> Result<Vec<Arg>, Error> {
    let options = Options { races: true, ..Options::default() };
    interp::run_with(program, entry, args, &options).map(|results| results.args)
}

fn compare(expected: &Result<Vec<Arg>, Error>, after: &Program, entry: FuncId, args: Vec<Arg>) -> Result<(), String> {
    let found = interpret(after, entry, args);
    // By their debug form, because NaN is not equal to itself. After a fault arrays hold whatever.
    let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
    if expected == found { Ok(()) } else { Err(format!("\n  expected {expected}\n  found    {found}")) }
}

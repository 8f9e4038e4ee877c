//! The tests of the device primitives, which are C++: each makes its own arrays and compares with plain loops.

use std::ffi::{CString, c_char};

use crate::children::{Job, run_all};
use crate::options::Options;
use crate::place::Place;

/// A program's `main`.
type Check = unsafe extern "C" fn(i32, *mut *mut c_char) -> i32;

include!(concat!(env!("OUT_DIR"), "/checks.rs"));

/// What they make up depends on a number; on the executor so does the order of blocks and lanes.
const SEEDS: [u64; 2] = [1, 2];

/// Runs every one, or those that are named, in processes of their own. Whether all are good.
pub fn run(options: &Options) -> Result<bool, String> {
    let known: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    let chosen = options.chosen(&known, "check")?;
    let seeds = match options.place {
        Place::Gpu(_) => &SEEDS[..],
        Place::Simulated(_) => &SEEDS[..1],
    };
    let job = |check: &str, seed: &u64| Job {
        name: format!("{check}-{seed}"),
        args: vec!["check".into(), check.into(), seed.to_string()],
    };
    let jobs = chosen.iter().flat_map(|check| seeds.iter().map(|seed| job(check, seed)));
    run_all(options, jobs.collect(), "tests of primitives")
}

/// Runs one in this process. Whether it is good.
pub fn one(options: &Options) -> Result<bool, String> {
    let [name, seed] = &options.names[..] else { return Err("which check, and which number?".into()) };
    let found = CHECKS.iter().find(|(known, _)| known == name);
    let (_, check) = found.ok_or_else(|| format!("there is no check {name}"))?;
    let args = ["check", seed].map(|arg| CString::new(arg).map_err(|error| error.to_string()));
    let [program, seed] = args;
    let (program, seed) = (program?, seed?);
    let mut argv = [program.as_ptr().cast_mut(), seed.as_ptr().cast_mut(), std::ptr::null_mut()];
    // SAFETY: a `main` function, with arguments as programs have them, which it only reads.
    let failures = unsafe { check(2, argv.as_mut_ptr()) };
    println!("result: {}", if failures == 0 { "ok" } else { "FAILED" });
    Ok(failures == 0)
}

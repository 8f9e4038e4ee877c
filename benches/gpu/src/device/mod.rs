//! Tests of the run time on a device: arrays, sections, copies, faults, memory, the choice of a context.

mod arrays;
mod calls;
mod contexts;
mod memory;

use std::panic::catch_unwind;

use hidp_std::{Context, Copies};

use crate::place::Place;

/// One test: panics if something is wrong.
type Test = (&'static str, fn(Place));

const TESTS: &[&[Test]] = &[arrays::TESTS, calls::TESTS, contexts::TESTS, memory::TESTS];

/// Runs the tests, or those that are named; says a line each. Gives how many failed.
pub fn run(place: Place, names: &[String]) -> usize {
    let all = || TESTS.iter().flat_map(|tests| tests.iter());
    let unknown = names.iter().filter(|name| !all().any(|(known, _)| known == name)).inspect(|name| {
        println!("there is no test {name}");
    });
    let mut failed = unknown.count();
    let chosen: Vec<&Test> =
        all().filter(|(name, _)| names.is_empty() || names.iter().any(|wish| wish == name)).collect();
    for (name, test) in &chosen {
        let good = catch_unwind(|| test(place)).is_ok();
        println!("{name:<44} {}", if good { "ok" } else { "FAILED" });
        failed += usize::from(!good);
    }
    println!("{} of {} tests are good", chosen.len().saturating_sub(failed), chosen.len());
    failed
}

fn context(place: Place) -> Context {
    place.context().expect("a context on the device")
}

fn cpu() -> Context {
    Context::builder().threads(1).cpu().build().expect("a context on the processor")
}

/// Arrays to the device and back, and their bytes, while this was done.
fn copies(cx: &Context, work: impl FnOnce()) -> (u64, u64, u64, u64) {
    let before = cx.copies();
    work();
    let Copies { to_device, to_host, bytes_to_device, bytes_to_host, .. } = cx.copies() - before;
    (to_device, to_host, bytes_to_device, bytes_to_host)
}

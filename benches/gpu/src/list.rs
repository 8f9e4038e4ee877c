//! What is there to run: for each case its calls and plans, and what is left out. Needs no device.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use crate::answers::{self, Call};
use crate::cases::plans_for_devices;
use crate::options::Options;

/// The names of the cases that have answers.
pub fn cases(folder: &Path) -> Result<Vec<String>, String> {
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        cases.extend(name.to_str().and_then(|name| name.strip_suffix(".answers")).map(str::to_owned));
    }
    cases.sort();
    if cases.is_empty() { Err(format!("{}: no answers", folder.display())) } else { Ok(cases) }
}

/// The calls of a case, with what must come of them.
pub fn calls(folder: &Path, case: &str) -> Result<Vec<Call>, String> {
    let path = folder.join(format!("{case}.answers"));
    let file = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    answers::read(&file).map_err(|why| format!("{}: {why}", path.display()))
}

/// A case's contents.
#[derive(Debug, Default)]
pub struct Contents {
    /// Calls by plan: each is made twice.
    pub runs: usize,
    pub faults: usize,
    pub entries: BTreeSet<String>,
    pub plans: BTreeSet<&'static str>,
    /// Entries without a version for devices, with their calls.
    pub without: BTreeMap<String, usize>,
    /// Entries that this program does not have.
    pub missing: BTreeSet<String>,
}

pub fn contents(calls: &[Call]) -> Contents {
    let mut contents = Contents::default();
    for call in calls {
        let Some(entry) = crate::entry(&call.entry) else {
            contents.missing.insert(call.entry.clone());
            continue;
        };
        let plans = plans_for_devices(entry);
        if plans.is_empty() {
            *contents.without.entry(call.entry.clone()).or_default() += 1;
            continue;
        }
        contents.entries.insert(call.entry.clone());
        contents.runs += plans.len();
        contents.faults += usize::from(call.fault.is_some()) * plans.len();
        contents.plans.extend(plans);
    }
    contents
}

/// Says what there is. Whether every entry that answers name is in this program.
pub fn run(options: &Options) -> Result<bool, String> {
    let (mut runs, mut complete, mut count) = (0, true, 0);
    for case in cases(&options.answers)? {
        let contents = contents(&calls(&options.answers, &case)?);
        let plans = contents.plans.iter().copied().collect::<Vec<_>>().join(" ");
        let (entries, faults) = (contents.entries.len(), contents.faults);
        println!("{case:<18} {entries} entries, {} calls by plan, {faults} of them faults: {plans}", contents.runs);
        for (entry, calls) in &contents.without {
            println!("    LEFT OUT: {calls} calls of {entry}: it has no version for devices");
        }
        for entry in &contents.missing {
            println!("    MISSING: {entry}");
        }
        complete &= contents.missing.is_empty();
        runs += contents.runs;
        count += 1;
    }
    println!("{count} cases, {runs} calls by plan");
    Ok(complete)
}

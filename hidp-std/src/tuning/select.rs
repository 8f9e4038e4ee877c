//! The record that holds for an entry in a context.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError, RwLock};

use super::device::{Device, Likeness};
use super::rules::named;
use super::{Tuning, parse};
use crate::rt::entry::{Entry, Record, Rule};
use crate::{Context, Isa};

/// Rules that were measured.
#[derive(Debug)]
pub(crate) struct Tuned {
    pub(crate) rules: Vec<Rule>,
    /// For devices: whether calls on the processor were compared, so that the compiler's rules for it do not matter.
    pub(crate) places: bool,
}

/// What records are found by: the entry, the file, the instruction set, the number of threads and the device, which is 0 for the
/// processor.
type Key = (usize, usize, Isa, u32, u32);

/// The measured rules that hold for `entry` in a context, if there are any: those for the processor, or for the context's device. Found
/// once and remembered.
pub(crate) fn tuned(cx: &Context, entry: &'static Entry, on_device: bool) -> Option<&'static Tuned> {
    let file = match cx.tuning() {
        Tuning::Off => return None,
        Tuning::Embedded if entry.dispatch.records.is_empty() => return None,
        Tuning::Embedded => None,
        Tuning::File(file) => Some(file),
    };
    let address = |file| std::ptr::from_ref::<super::TuneFile>(file) as usize;
    let key =
        (std::ptr::from_ref(entry) as usize, file.map_or(0, address), cx.isa(), cx.threads(), device(cx, on_device));
    // Entries are some hundred bytes apart.
    let slot = (key.0 >> 7) % RECENT_SLOTS;
    if let Some((_, tuned)) = RECENT.with(|recent| recent[slot].get()).filter(|(known, _)| *known == key) {
        return tuned;
    }
    let tuned = known_or_found(cx, entry, file, key);
    RECENT.with(|recent| recent[slot].set(Some((key, tuned))));
    tuned
}

fn device(cx: &Context, on_device: bool) -> u32 {
    cx.queue().filter(|_| on_device).map_or(0, |queue| 1 + queue.facts().ordinal)
}

/// Entries that each thread remembers, so that calls of a few of them need no lock.
const RECENT_SLOTS: usize = 32;

/// What was found for a key.
type Recent = Cell<Option<(Key, Option<&'static Tuned>)>>;

thread_local! {
    static RECENT: [Recent; RECENT_SLOTS] =
        const { [const { Cell::new(None) }; RECENT_SLOTS] };
}

fn known_or_found(
    cx: &Context,
    entry: &'static Entry,
    file: Option<&'static super::TuneFile>,
    key: Key,
) -> Option<&'static Tuned> {
    static FOUND: RwLock<Option<HashMap<Key, Option<&'static Tuned>>>> = RwLock::new(None);
    let found = FOUND.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = found.as_ref().and_then(|found| found.get(&key)) {
        return *known;
    }
    drop(found);
    let mut found = FOUND.write().unwrap_or_else(PoisonError::into_inner);
    *found.get_or_insert_default().entry(key).or_insert_with(|| {
        if let Some(file) = file {
            tell_of_unknown(file, entry);
        }
        let own = file.iter().flat_map(|file| &file.records).filter(|(name, _)| name == entry.name);
        let own: Vec<&Record> = own.map(|(_, record)| record).collect();
        let here = Here::of(cx, key.4 != 0);
        let source = file.map_or("the build", |file| &file.path);
        let tuned = here.best(entry, source, &own).or_else(|| {
            let embedded: Vec<&Record> = entry.dispatch.records.iter().collect();
            here.best(entry, "the build", &embedded)
        });
        tuned.map(|tuned| &*Box::leak(Box::new(tuned)))
    })
}

/// Says which of a file's records are for entries that the kernels around `entry` have not: once for each file and kernels.
fn tell_of_unknown(file: &'static super::TuneFile, entry: &'static Entry) {
    static TOLD: Mutex<BTreeSet<(usize, usize)>> = Mutex::new(BTreeSet::new());
    let key = (std::ptr::from_ref(file) as usize, entry.dispatch.kernels.as_ptr() as usize);
    if !TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
        return;
    }
    for name in unknown(file, entry) {
        let path = &file.path;
        log::warn!(
            "`{path}`: a tuning record is ignored: there is no entry `{name}` among those built with `{}`",
            entry.name
        );
    }
}

/// Entries that a file has records of, but that are not among those that were built with `entry`.
fn unknown<'a>(file: &'a super::TuneFile, entry: &Entry) -> BTreeSet<&'a str> {
    let known = |name: &str| name == entry.name || entry.dispatch.kernels.iter().any(|names| names.contains(&name));
    file.records.iter().map(|(name, _)| name.as_str()).filter(|name| !known(name)).collect()
}

/// The processor of a context as records of devices name it: `AMD EPYC 9B45, v4, 16 threads`.
pub(crate) fn processor(cx: &Context) -> String {
    format!("{}, {}, {} threads", Device::this().name, cx.isa().name(), cx.threads())
}

/// What records are compared with.
struct Here {
    device: Device,
    /// The instruction set and the number of threads; nothing on a device.
    isa: Option<(Isa, u32)>,
    host: String,
}

impl Here {
    fn of(cx: &Context, on_device: bool) -> Here {
        let host = processor(cx);
        match cx.queue().filter(|_| on_device) {
            Some(queue) => Here { device: Device::of(queue.facts()), isa: None, host },
            None => Here { device: Device::this().clone(), isa: Some((cx.isa(), cx.threads())), host },
        }
    }

    /// The record that resembles this machine most.
    fn best(&self, entry: &Entry, source: &str, records: &[&Record]) -> Option<Tuned> {
        let ignore = |reason: &str| log::warn!("{}: a tuning record of {source} is ignored: {reason}", entry.name);
        let mut usable: Vec<(Likeness, &Record)> = Vec::new();
        // A record for a device is no wrong record for the processor: it is for other calls.
        for record in records.iter().filter(|record| (record.isa == Record::CUDA) == self.isa.is_none()) {
            match self.likeness(entry, record) {
                Ok(likeness) => usable.push((likeness, record)),
                Err(reason) => ignore(&reason),
            }
        }
        usable.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
        usable.into_iter().find_map(|(_, record)| match parse(entry, record.rules) {
            Ok(rules) => Some(self.with_places(entry, record, rules)),
            Err(reason) => {
                ignore(&reason);
                None
            }
        })
    }

    /// Which calls are for the processor depends on the processor, too.
    fn with_places(&self, entry: &Entry, record: &Record, mut rules: Vec<Rule>) -> Tuned {
        let places = record.host == self.host;
        if !places && rules.iter().any(|rule| rule.version == Rule::HOST) {
            let (name, other) = (entry.name, record.host);
            log::warn!(
                "{name}: the rules of a tuning record for `host` are ignored: they were measured with `{other}`"
            );
            rules.retain(|rule| rule.version != Rule::HOST);
        }
        Tuned { rules, places }
    }

    /// How much the device of a record resembles this one, or why the record does not hold here.
    fn likeness(&self, entry: &Entry, record: &Record) -> Result<Likeness, String> {
        let (source, toolchain) = match self.isa {
            Some(_) => (entry.dispatch.source, entry.dispatch.toolchain),
            None => (entry.dispatch.device_source, entry.dispatch.device_toolchain),
        };
        let stale = record.source != source;
        if stale && !is_about_what_stayed(entry, record) {
            return Err("the entry was changed after it was measured".into());
        }
        if record.toolchain != toolchain {
            return Err(format!("it was measured with `{}`", record.toolchain));
        }
        if self.isa.is_some_and(|(isa, threads)| record.isa != isa.name() || record.threads != threads) {
            return Err(format!("it is for {} threads with {}", record.threads, record.isa));
        }
        let likeness = self.device.likeness(record.device, record.architecture, record.vendor);
        let likeness = likeness.ok_or_else(|| format!("it is for `{}`", record.device))?;
        if stale {
            log::info!(
                "{}: a tuning record stays in force: the entry was changed after it was measured, but no version that its rules name",
                entry.name
            );
        }
        Ok(likeness)
    }
}

/// Whether all versions that the rules of a record name are as they were measured.
fn is_about_what_stayed(entry: &Entry, record: &Record) -> bool {
    let named = parse(entry, record.rules).ok().and_then(|rules| named(entry, &rules));
    let known = |version: &String| record.versions.split(", ").any(|known| known == version);
    named.is_some_and(|named| named.iter().all(known))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::rt::entry::{Code, Codes, Dispatch, Measure, Op, Setting, Version};

    unsafe extern "C" fn nothing(_: *mut hidp_sys::hidp_call) -> i32 {
        0
    }
    const CODE: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: nothing }]);
    const DISPATCH: Dispatch = Dispatch {
        source: "1f",
        toolchain: "g++ 12",
        device_source: "2f",
        device_toolchain: "nvcc 13",
        measures: &[
            Measure { name: "parallel", program: &[Op::Dim(0)] },
            Measure { name: "inner", program: &[Op::Dim(1)] },
        ],
        rules: &[],
        classes: &[],
        parts: None,
        records: &[],
        kernels: &[&["sums::rows", "sums::columns"], &["blas::dot"]],
        tunables: &[crate::rt::entry::Tunable { name: "thread_work", domain: &[4096] }],
        settings: &[
            Setting { name: "sum.least", values: &[16, 64, 4096], versions: &[1] },
            Setting { name: "sum.parts", values: &[8, 2], versions: &[] },
        ],
    };
    /// An entry with two plans and two measures.
    pub(crate) static SUMS: Entry = Entry {
        name: "sums::rows",
        params: &[],
        dims: &["R", "C"],
        versions: &[Version { plan: "rows", hash: "a1", code: CODE }, Version { plan: "team", hash: "b2", code: CODE }],
        dispatch: DISPATCH,
        sites: &[],
    };

    const GOOD: Record = Record {
        source: "1f",
        device: "Model 3",
        architecture: "Maker family 7",
        vendor: "Maker",
        isa: "v3",
        threads: 4,
        toolchain: "g++ 12",
        host: "",
        rules: "otherwise: team",
        versions: "",
    };

    /// Version of the last rule of the best record.
    fn best(records: &[Record]) -> Option<usize> {
        let device = Device { name: "Model 3".into(), architecture: "Maker family 7".into(), vendor: "Maker".into() };
        let here = Here { device, isa: Some((Isa::V3, 4)), host: String::new() };
        let records: Vec<&Record> = records.iter().collect();
        here.best(&SUMS, "a test", &records).map(|tuned| tuned.rules[tuned.rules.len() - 1].version)
    }

    #[test]
    fn the_closest_device_goes_first() {
        let rows = |record: Record| Record { rules: "otherwise: rows", ..record };
        let architecture = Record { device: "Model 4", ..GOOD };
        let vendor = Record { device: "Model 4", architecture: "Maker family 8", ..GOOD };
        assert_eq!(best(std::slice::from_ref(&vendor)), Some(1));
        assert_eq!(best(&[vendor.clone(), rows(architecture.clone())]), Some(0));
        assert_eq!(best(&[rows(vendor.clone()), rows(architecture.clone()), GOOD]), Some(1));
        assert_eq!(best(&[GOOD, rows(vendor)]), Some(1));
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn a_file_goes_before_the_build() {
        let text = |text: &str| &*String::leak(text.to_owned());
        let this = Device::this();
        let embedded = Record {
            device: &this.name,
            architecture: &this.architecture,
            vendor: &this.vendor,
            isa: "base",
            threads: 1,
            ..GOOD
        };
        let records: &'static [Record] = Box::leak(Box::new([embedded.clone()]));
        let entry: &'static Entry = Box::leak(Box::new(Entry {
            versions: &[Version { plan: "rows", hash: "", code: CODE }, Version { plan: "team", hash: "", code: CODE }],
            dispatch: Dispatch { records, ..DISPATCH },
            ..Entry { name: "sums::rows", params: &[], dims: &[], versions: &[], dispatch: DISPATCH, sites: &[] }
        }));
        let version = |context: crate::Builder| {
            let cx = context.threads(1).isa(Isa::Base).build().unwrap();
            // Twice: what was found is remembered.
            assert_eq!(tuned(&cx, entry, false).is_some(), tuned(&cx, entry, true).is_some());
            tuned(&cx, entry, false).map(|tuned| tuned.rules[0].version)
        };
        assert_eq!(version(Context::builder()), Some(1));
        assert_eq!(version(Context::builder().tuning("off")), None);

        let path = std::env::temp_dir().join(format!("hidp-select-{}.toml", std::process::id()));
        let record = |rules: &str| {
            let Record { source, device, architecture, vendor, isa, threads, toolchain, .. } = &embedded;
            text(&format!(
                "format = 1\n[[record]]\nentry = \"sums::rows\"\nsource = \"{source}\"\ndevice = \"{device}\"\n\
                 architecture = \"{architecture}\"\nvendor = \"{vendor}\"\nisa = \"{isa}\"\nthreads = {threads}\n\
                 toolchain = \"{toolchain}\"\nrules = \"{rules}\"\n"
            ))
        };
        std::fs::write(&path, record("otherwise: rows")).unwrap();
        assert_eq!(version(Context::builder().tuning(&path)), Some(0));
        let bad = path.with_extension("bad");
        std::fs::write(&bad, record("otherwise: warp")).unwrap();
        assert_eq!(version(Context::builder().tuning(&bad)), Some(1), "what the build holds stays");
        std::fs::remove_file(path).unwrap();
        std::fs::remove_file(bad).unwrap();
    }

    #[test]
    fn records_of_devices_hold_on_devices() {
        let device = Device { name: "NVIDIA H200".into(), architecture: "sm_90".into(), vendor: "NVIDIA".into() };
        let here = Here { device, isa: None, host: "EPYC, v4, 8 threads".into() };
        let cuda = Record {
            source: "2f",
            device: "NVIDIA H200",
            architecture: "sm_90",
            vendor: "NVIDIA",
            isa: Record::CUDA,
            threads: 270_336,
            toolchain: "nvcc 13",
            host: "EPYC, v4, 8 threads",
            rules: "inner < 7: host; otherwise: team",
            versions: "",
        };
        let best = |records: &[Record]| {
            let records: Vec<&Record> = records.iter().collect();
            here.best(&SUMS, "a test", &records).map(|tuned| (tuned.rules.len(), tuned.places))
        };
        assert_eq!(best(std::slice::from_ref(&cuda)), Some((2, true)));
        let other = Record { device: "NVIDIA H100 PCIe", threads: 233_472, ..cuda.clone() };
        assert_eq!(best(std::slice::from_ref(&other)), Some((2, true)), "of the architecture");
        let short = Record { rules: "otherwise: rows", ..cuda.clone() };
        assert_eq!(best(&[other, short]), Some((1, true)), "the very device goes first");
        let elsewhere = Record { host: "Xeon, v4, 8 threads", ..cuda.clone() };
        assert_eq!(best(&[elsewhere]), Some((1, false)), "another processor: nothing is known of calls on it");
        for bad in [
            Record { source: "1f", ..cuda.clone() },
            Record { toolchain: "g++ 12", ..cuda.clone() },
            Record { vendor: "simulated", ..cuda.clone() },
            Record { isa: "v3", ..cuda.clone() },
            Record { rules: "otherwise: what", ..cuda.clone() },
        ] {
            assert_eq!(best(std::slice::from_ref(&bad)), None, "{bad:?}");
        }
        // Nor does the processor take them.
        let this = Device { name: "Model 3".into(), architecture: "Maker family 7".into(), vendor: "Maker".into() };
        let processor = Here { device: this, isa: Some((Isa::V3, 4)), host: String::new() };
        assert_eq!(processor.best(&SUMS, "a test", &[&cuda, &GOOD]).map(|tuned| tuned.rules.len()), Some(1));
    }

    #[test]
    fn records_of_unknown_entries_are_found() {
        let records = ["sums::rows", "sums::gone", "blas::dot", "gone::gone", "gone::gone"];
        let records = records.map(|name| (name.to_owned(), GOOD)).into();
        let file = crate::tuning::TuneFile { path: "f".into(), records };
        assert_eq!(unknown(&file, &SUMS), BTreeSet::from(["gone::gone", "sums::gone"]));
    }

    #[test]
    fn records_stay_while_the_versions_that_they_name_do() {
        let stale = Record { source: "20", versions: "team b2", ..GOOD };
        assert_eq!(best(std::slice::from_ref(&stale)), Some(1));
        let both =
            Record { rules: "parallel < 4: rows; otherwise: team", versions: "rows a1, team b2", ..stale.clone() };
        assert_eq!(best(std::slice::from_ref(&both)), Some(1));
        for bad in [
            Record { versions: "", ..stale.clone() },
            Record { versions: "team b3", ..stale.clone() },
            Record { versions: "team a1, rows b2", ..stale.clone() },
            Record { versions: "rows a0, team b2", ..both.clone() },
            Record { versions: "team b2", ..both },
            Record { rules: "inner < 7: host; otherwise: team", ..stale.clone() },
            Record { toolchain: "g++ 13", ..stale.clone() },
        ] {
            assert_eq!(best(std::slice::from_ref(&bad)), None, "{bad:?}");
        }
        let hashless =
            Entry { versions: &[Version { plan: "team", hash: "", code: CODE }], dispatch: DISPATCH, ..SUMS };
        assert!(!is_about_what_stayed(&hashless, &Record { versions: "team ", ..stale }), "nothing is known of it");
    }

    #[test]
    fn what_does_not_hold_here_is_ignored() {
        for bad in [
            Record { source: "20", ..GOOD },
            Record { toolchain: "g++ 13", ..GOOD },
            Record { isa: "v4", ..GOOD },
            Record { threads: 8, ..GOOD },
            Record { vendor: "Another", ..GOOD },
            Record { rules: "otherwise: warp", ..GOOD },
            Record { rules: "parallel < -1: team", ..GOOD },
            Record { rules: "otherwise: team with threads = 0", ..GOOD },
            Record { rules: "otherwise: team with speed = 9", ..GOOD },
            Record { rules: "", ..GOOD },
        ] {
            assert_eq!(best(std::slice::from_ref(&bad)), None, "{bad:?}");
            let next = Record { device: "Model 4", ..GOOD };
            assert_eq!(best(&[bad, next]), Some(1), "the next best record holds");
        }
    }
}

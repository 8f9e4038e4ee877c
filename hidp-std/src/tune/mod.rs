//! The tuner: measures the versions of entries and records which of them runs when.
//!
//! ```ignore
//! // src/bin/tune.rs, run with `cargo run --release --bin tune`
//! hidp_std::include_kernels!();
//! fn main() -> std::process::ExitCode {
//!     hidp_std::tune::Tuner::new(kernels::ENTRIES).main()
//! }
//! ```
//!
//! It runs every version of every entry over sizes that cover the plane of the entry's measures, checks that all give the same
//! results, and fits rules. A rule is kept only where it is reliably faster, in pairs of runs, than what runs without it.

mod arguments;
mod arms;
mod cli;
mod clock;
mod data;
mod decide;
mod entry;
mod fit;
mod measure;
mod outcome;
mod partial;
mod places;
mod progress;
mod record;
mod report;
mod sample;
mod sweep;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use data::{Data, Number};
pub use outcome::Outcome;
pub use record::record_selections;

use crate::device::Asked;
use crate::rt::Entries;
use crate::rt::entry::Entry;
use crate::tuning::Tuning;
use crate::{Context, Isa};

/// Inputs that the user registered.
struct Registered {
    entry: String,
    name: String,
    make: Box<dyn Fn() -> Vec<Data>>,
}

/// Measures the versions of entries and writes tuning records.
#[must_use]
pub struct Tuner {
    entries: Entries,
    registered: Vec<Registered>,
    only: Vec<String>,
    budget: Option<Duration>,
    file: PathBuf,
    report: PathBuf,
    context: Option<Context>,
    device: Asked,
    threads: Option<u32>,
    isa: Option<Isa>,
    fresh: bool,
    sweeps: bool,
    table: Option<PathBuf>,
}

impl Tuner {
    /// A tuner for these entries: `kernels::ENTRIES`.
    pub fn new(entries: Entries) -> Self {
        Self {
            entries,
            registered: Vec::new(),
            only: Vec::new(),
            budget: None,
            file: usual_file(),
            report: "hidp-tune.html".into(),
            context: None,
            device: Asked::Cpu,
            threads: None,
            isa: None,
            fresh: false,
            sweeps: true,
            table: None,
        }
    }
    /// Registers inputs for an entry, `file::function`: one argument per parameter, in the header's order, outputs included. `make` is called
    /// when they are needed. An entry whose arguments hold positions in arrays is measured on registered inputs alone.
    pub fn input(mut self, entry: &str, name: &str, make: impl Fn() -> Vec<Data> + 'static) -> Self {
        self.registered.push(Registered { entry: entry.into(), name: name.into(), make: Box::new(make) });
        self
    }
    /// Tunes only entries whose name contains `name`, or that of another call of `only`.
    pub fn only(mut self, name: &str) -> Self {
        self.only.push(name.into());
        self
    }
    /// Total time budget. All sizes are tried within it, and what is not measured by then is left out. Default: as long as 48 sizes per entry
    /// and the registered inputs take, with nothing left out.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }
    /// Tunes for this context's processor or device. Default: the processor. Versions for devices run on arrays that are on the device. In a
    /// context that uses a device for calls that gain from it, as [`Context::new`] makes, calls with host arrays are also compared on
    /// both sides.
    pub fn context(mut self, cx: Context) -> Self {
        self.context = Some(cx);
        self
    }
    /// The file of records. Default: `hidp-tune.toml`, in `src/kernels` if there is such a folder, where builds look for it.
    pub fn file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = file.into();
        self
    }
    /// The file of the report. Default: `hidp-tune.html`.
    pub fn report(mut self, file: impl Into<PathBuf>) -> Self {
        self.report = file.into();
        self
    }

    /// Whether entries with registered inputs are also measured over sizes that the tuner makes up. Default: `true`, if their arguments can
    /// be made up.
    pub fn sweeps(mut self, sweeps: bool) -> Self {
        self.sweeps = sweeps;
        self
    }
    /// Writes a Markdown table of all points to this file.
    pub fn table(mut self, file: impl Into<PathBuf>) -> Self {
        self.table = Some(file.into());
        self
    }

    /// Measures, and writes the records and the report.
    ///
    /// # Errors
    /// A message, if no entry is selected, a context cannot be made, or a file cannot be read or written.
    pub fn run(&self) -> Result<Vec<Outcome>, String> {
        let cx = self.tuned_context().map_err(|error| error.to_string())?;
        let chosen: Vec<&'static Entry> = self.entries.iter().filter(|entry| self.wants(entry)).collect();
        if chosen.is_empty() {
            let names: Vec<&str> = self.entries.iter().map(|entry| entry.name).collect();
            return Err(format!("no entry is called so; there are: {}", names.join(", ")));
        }
        if let Some(load) = load().filter(|load| *load > f64::from(cx.threads()) * 0.5) {
            eprintln!("warning: other programs are running (load average {load}) and disturb the measurements");
        }
        let mut file = record::File::open(&self.file)?;
        let mut partial = partial::Partial::open(&self.report, self.fresh)?;
        let end = self.budget.map(|budget| Instant::now() + budget);
        let mut outcomes = Vec::new();
        let mut seconds = Duration::ZERO;
        for (at, entry) in chosen.iter().enumerate() {
            let now = Instant::now();
            let left = (chosen.len() - at) as u32;
            let share = end.map(|end| now + end.saturating_duration_since(now) / left);
            let registered = self.registered.iter().filter(|input| input.entry == entry.name);
            let outcome = entry::tune(entry, &registered.collect::<Vec<_>>(), self.sweeps, &cx, share, &mut partial)?;
            println!("{outcome}");
            if outcome.measured() || outcome.places.is_some() {
                file.put(entry, &cx, outcome.recorded())?;
            }
            seconds += outcome.needed.unwrap_or_else(|| now.elapsed());
            outcomes.push(outcome);
        }
        if outcomes.iter().any(|outcome| outcome.left_out > 0) {
            let seconds = seconds.as_secs() + 1;
            println!(
                "not all sizes were measured: about `--seconds {seconds}` would do; without it fewer sizes are tried, all of them"
            );
        }
        std::fs::write(&self.report, report::html(&outcomes)?).map_err(|error| cannot_write(&self.report, &error))?;
        if let Some(table) = &self.table {
            let text: Vec<String> = outcomes.iter().map(Outcome::markdown).collect();
            std::fs::write(table, text.join("\n")).map_err(|error| cannot_write(table, &error))?;
        }
        partial.finish();
        println!("records: {}   report: {}", self.file.display(), self.report.display());
        Ok(outcomes)
    }

    /// Without records.
    fn tuned_context(&self) -> Result<Context, crate::Error> {
        if let Some(cx) = &self.context {
            return Ok(cx.with_tuning(Tuning::Off));
        }
        let mut builder = Context::builder().asked(self.device).tuning("off");
        builder = self.threads.map_or(builder.clone(), |threads| builder.threads(threads));
        builder = self.isa.map_or(builder.clone(), |isa| builder.isa(isa));
        builder.build()
    }

    fn wants(&self, entry: &Entry) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| entry.name.contains(only.as_str()))
    }
}

fn usual_file() -> PathBuf {
    let folder = std::path::Path::new("src/kernels");
    if folder.is_dir() { folder.join("hidp-tune.toml") } else { "hidp-tune.toml".into() }
}

/// How many threads of other programs ran in the last minute, on average; `None` where the system does not say.
fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

fn cannot_write(path: &std::path::Path, error: &std::io::Error) -> String {
    format!("cannot write `{}`: {error}", path.display())
}

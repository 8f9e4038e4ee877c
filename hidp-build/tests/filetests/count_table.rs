//! The table of `cargo xtask counts`: what the model says that the hot kernels of the benchmarks ask of memory, beside what the executor
//! counts. Written to the file that `HIDP_COUNT_TABLE` names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hidp_build::compiler::ir::imp::{Unit, UnitTarget};
use hidp_explain::traffic::{Cost, Pattern, Reason, Traffic};
use hidp_sys::{HIDP_COUNTED_BLOCK_BARRIER, HIDP_COUNTED_SHUFFLE};

use crate::case::of_kind;
use crate::counts::{Compared, check, cost, counted_at, joined};
use crate::device::{DeviceKernels, KernelCounts};
use crate::maker::{Maker, fillings};
use crate::subject::{Entry, Outcome, Request, Subject};

/// A program of the benchmarks, how its arrays are filled, and the sizes of functions.
struct Program {
    name: &'static str,
    data: &'static str,
    functions: &'static [(&'static str, &'static [i64])],
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "blas",
        data: "",
        functions: &[("GEMM", &[128, 64, 256]), ("row_sums", &[256, 512]), ("column_sums", &[256, 512])],
    },
    Program { name: "stencil", data: "", functions: &[("jacobi7", &[18, 34, 66])] },
    Program {
        name: "sparse",
        data: "// data: rowptr ascending Z\n// data: col below C\n",
        functions: &[("spmv", &[256, 4096, 1024])],
    },
];

/// Not among the benchmarks, but what tiles are there for.
const TRANSPOSED: &str = "function transposed input float a[H][W]; output float b[W][H];
{ map { i := [0:H); j := [0:W); b[j][i] = a[i][j]; } }
";

const HEAD: &str = "\
| function, sizes | plan, kernel | requests | idle lanes | sectors: model | counted | at least | turns: model | counted | at least | different sectors: blocks | launch | barriers | words shuffled |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

#[test]
#[ignore = "a table that `cargo xtask counts` prints"]
fn table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/src/kernels");
    let mut lines = vec![HEAD.to_owned()];
    for Program { name, data, functions } in PROGRAMS {
        let text = fs::read_to_string(folder.join(name).with_extension("hdp")).expect("the benchmarks' kernels");
        lines.extend(of_program(name, &format!("{text}\n{data}"), functions));
    }
    lines.extend(of_program("transposed", TRANSPOSED, &[("transposed", &[256, 512])]));
    let file = std::env::var_os("HIDP_COUNT_TABLE").expect("`cargo xtask counts` names the file");
    fs::write(file, lines.join("\n") + "\n").expect("it can be written");
}

const CASES_HEAD: &str = "\
| case | claimed and equal | equal where all lanes are there | not claimed | unreached |
|---|---|---|---|---|";

/// What the model claims of the cases of kind `run`, all of which is equal, and of what it claims nothing and why.
#[test]
#[ignore = "a table that `cargo xtask counts` prints"]
fn cases() {
    let mut lines = vec![CASES_HEAD.to_owned()];
    let (mut sum, mut wrong) = (Compared::default(), Vec::new());
    for case in of_kind("run").iter().filter(|case| !case.says("calls only")) {
        let subject = Subject::compile(&case.name, &case.text).unwrap_or_else(|why| panic!("{}: {why}", case.name));
        let Some(cu) = &subject.cu else { continue };
        let built = DeviceKernels::build(&subject.stem, cu).expect("compiles");
        match check(&subject, &built, &fillings(&case.text).expect("fillings")) {
            Ok(compared) => {
                lines.push(of_case(&case.name, &compared));
                sum.add(&compared);
            }
            Err(why) => wrong.push(format!("{}: {why}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "claims that are not what is counted:\n{}", wrong.join("\n"));
    lines.push(of_case("all", &sum));
    let meanings = Reason::ALL.map(|reason| format!("- *{}*: {}", reason.name(), reason.text()));
    let text = format!("{}\n\n{}\n", lines.join("\n"), meanings.join("\n"));
    let file = std::env::var_os("HIDP_COUNT_CASES").expect("`cargo xtask counts` names the file");
    fs::write(file, text).expect("it can be written");
}

fn of_case(name: &str, compared: &Compared) -> String {
    let Compared { equal, equal_if_full, unclaimed, unreached } = compared;
    let by_reason = |counts: &BTreeMap<Reason, usize>| {
        let all: usize = counts.values().sum();
        let each: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {}", reason.name())).collect();
        if each.is_empty() { "0".to_owned() } else { format!("{all}: {}", each.join(", ")) }
    };
    format!("| {name} | {equal} | {} | {} | {unreached} |", by_reason(equal_if_full), by_reason(unclaimed))
}

fn of_program(name: &str, text: &str, functions: &[(&str, &[i64])]) -> Vec<String> {
    let subject = Subject::compile(&format!("counted-{name}"), text).unwrap_or_else(|why| panic!("{why}"));
    let built = DeviceKernels::build(&subject.stem, subject.cu.as_ref().expect("plans for devices")).expect("compiles");
    let fillings = fillings(text).expect("fillings");
    let mut lines = Vec::new();
    for (function, sizes) in functions {
        let entry = subject.entries.iter().find(|entry| subject.func(entry).name == *function).expect("a function");
        // Products without tiles or parts are what nobody runs at such sizes.
        let is_hot = |unit: &&Unit| *function != "GEMM" || unit.plan.contains("tiled") || unit.plan.contains("split");
        for unit in subject.units(entry, UnitTarget::Device).filter(is_hot) {
            let mut maker = Maker::new(subject.original(), subject.func(entry), sizes, 3, &fillings);
            let args = maker.args().expect("sizes that fit");
            let request = Request::new(args, maker.dims(), Outcome::Unknown);
            let counts = called(&subject, &built, (entry, unit), &request);
            let shape = sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
            let rows = joined(&subject, unit, &counts, &request.dims);
            lines.extend(rows.iter().map(|(model, counted)| {
                format!("| {function} {shape} | {} {} | {} |", unit.plan, model.kernel, row(model, counted))
            }));
        }
    }
    lines
}

fn called(subject: &Subject, built: &DeviceKernels, of: (&Entry, &Unit), request: &Request) -> Vec<KernelCounts> {
    let device = built.device(0, 2);
    device.count();
    match subject.call_on(&device, of, request, false) {
        Ok(Outcome::Results(_)) => device.counts(),
        Ok(Outcome::Fault(fault)) => panic!("{}", subject.fault(&fault)),
        Ok(Outcome::Unknown) => panic!("nothing ran"),
        Err(why) => panic!("{why}"),
    }
}

/// Sums of a kind of memory: model, counted, at least; whether data decides over some.
#[derive(Default)]
struct Sums {
    model: u64,
    counted: u64,
    least: u64,
    irregular: bool,
}

impl Sums {
    fn text(&self) -> String {
        let most = if self.irregular { "at most " } else { "" };
        format!("{most}{} | {} | {}", self.model, self.counted, self.least)
    }
}

fn row(model: &Traffic, counted: &KernelCounts) -> String {
    let (mut sectors, mut turns) = (Sums::default(), Sums::default());
    for access in &model.accesses {
        for &site in &access.sites {
            let Some(found) = counted_at(access, site, counted) else { continue };
            let sums = match access.cost {
                Cost::Global { .. } => &mut sectors,
                Cost::Shared { .. } => &mut turns,
            };
            sums.model += found.requests * u64::from(cost(access.cost));
            sums.counted += found.cost;
            sums.least += found.least;
            sums.irregular |= access.pattern == Pattern::Irregular;
        }
    }
    let of = |what: u32| counted.sites.iter().filter(move |site| site.what == what);
    let accesses = counted.sites.iter().filter(|site| site.what < HIDP_COUNTED_BLOCK_BARRIER);
    let (requests, idle, lanes) = accesses.fold((0, 0, 0), |(requests, idle, lanes), site| {
        (requests + site.requests, idle + site.idle, lanes + site.lanes)
    });
    let share = 100.0 * idle as f64 / ((idle + lanes).max(1)) as f64;
    let barriers: u64 = of(HIDP_COUNTED_BLOCK_BARRIER).map(|site| site.requests).sum();
    let words: u64 = of(HIDP_COUNTED_SHUFFLE).map(|site| site.cost).sum();
    let (blocks, launch) = (counted.all.block_sectors, counted.all.launch_sectors);
    let (sectors, turns) = (sectors.text(), turns.text());
    format!("{requests} | {share:.0} % | {sectors} | {turns} | {blocks} | {launch} | {barriers} | {words}")
}

//! The tables of `cargo xtask counts` about mappings: what the planner chooses for the nests of `mappings.hdp` beside all that Lee et al.'s
//! parameters can say, by predicted times; and what the executor counts of some of these mappings beside what is predicted of them.

use std::fs;

use hidp_build::compiler::ir::imp::UnitTarget;
use hidp_build::compiler::ir::par::{FuncId, Program};
use hidp_build::compiler::plan::search::{Predicted, Whole};
use hidp_build::compiler::plan::{
    Dispatch, Limits, Natives, Plan, Predictions, add_device_rules, candidates, dispatch, explore_device, nests,
};
use hidp_build::compiler::target::{DeviceModel, Model};
use hidp_sys::HIDP_COUNTED_UPDATE;

use crate::device::{DeviceKernels, KernelCounts};
use crate::maker::{Maker, fillings};
use crate::subject::{Outcome, Request, Subject};

/// Functions with blank lines between them.
const PROGRAMS: &str = include_str!("mappings.hdp");
const DATA: &str = "\
// data: first ascending Z
// data: column below C
// data: start ascending E
// data: from below N
// data: keys below B
";

/// Sizes at which choices are judged, and in the end those at which the executor counts, of whole sectors and warps.
const SIZES: [(&str, [&[i64]; 7]); 14] = [
    ("rows", MATRICES),
    ("columns", MATRICES),
    ("weighted_rows", MATRICES),
    ("weighted_columns", MATRICES),
    ("dot", [&[1000], &[5000], &[1 << 14], &[100_000], &[1 << 20], &[1 << 24], &[1 << 12]]),
    ("product", PRODUCTS),
    ("stencil", MATRICES),
    ("stencil_of_three", CUBES),
    ("transposed", MATRICES),
    ("own_arrays", MATRICES),
    (
        "sparse",
        [
            &[1000, 5000, 1000],
            &[1 << 16, 1 << 19, 1 << 16],
            &[1 << 20, 1 << 22, 1 << 20],
            &[100, 1 << 20, 1 << 16],
            &[1 << 14, 1 << 22, 1 << 14],
            &[1 << 16, 1 << 17, 1 << 10],
            &[256, 4096, 1024],
        ],
    ),
    (
        "ranks",
        [
            &[1000, 5000],
            &[1 << 16, 1 << 19],
            &[1 << 20, 1 << 22],
            &[100, 1 << 20],
            &[1 << 14, 1 << 22],
            &[1 << 16, 1 << 17],
            &[256, 4096],
        ],
    ),
    (
        "counted",
        [
            &[1000, 16],
            &[1 << 16, 256],
            &[1 << 20, 16],
            &[1 << 24, 1 << 16],
            &[1 << 24, 256],
            &[100_000, 1000],
            &[4096, 64],
        ],
    ),
    (
        "products",
        [
            &[1000, 8, 8, 8],
            &[10_000, 16, 16, 16],
            &[64, 64, 64, 64],
            &[8, 200, 200, 200],
            &[4096, 4, 32, 4],
            &[1, 1024, 1024, 1024],
            &[8, 32, 32, 32],
        ],
    ),
];

const MATRICES: [&[i64]; 7] =
    [&[64, 64], &[1000, 1000], &[4096, 4096], &[1 << 16, 16], &[16, 1 << 16], &[1 << 20, 3], &[64, 128]];
const PRODUCTS: [&[i64]; 7] = [
    &[64, 64, 64],
    &[1024, 1024, 1024],
    &[16, 4096, 16],
    &[4096, 16, 4096],
    &[1000, 300, 7],
    &[7, 300, 1000],
    &[64, 32, 64],
];
const CUBES: [&[i64]; 7] = [
    &[16, 16, 16],
    &[64, 64, 64],
    &[256, 256, 256],
    &[8, 1000, 1000],
    &[1000, 8, 1000],
    &[1000, 1000, 8],
    &[18, 34, 66],
];

/// Mappings of a nest of which the executor counts.
const SAMPLE: usize = 15;

/// Choices that take no longer beside the best are as good; those that take so much longer are wrong.
const CLOSE: f64 = 1.1;
const WRONG: f64 = 2.0;

/// A function's nest.
struct Judged<'a> {
    name: &'a str,
    program: &'a Program,
    func: FuncId,
    whole: Whole<'a>,
    plans: Vec<Plan>,
    dispatch: Dispatch,
}

/// What is chosen at some sizes.
struct Point<'a> {
    sizes: &'static [i64],
    plan: &'a Plan,
    /// Nothing of plans that keep parts of arrays near.
    chosen: Option<Predicted>,
    best: (usize, Predicted),
}

impl Point<'_> {
    /// Its time and sectors beside those of the best.
    fn ratios(&self) -> Option<(f64, f64)> {
        let (chosen, best) = (self.chosen?, self.best.1);
        Some((chosen.total() / best.total(), chosen.sectors / best.sectors.max(1.0)))
    }
}

impl<'a> Judged<'a> {
    fn new(program: &'a Program, func: FuncId, models: (&Model, &'a DeviceModel)) -> Result<Judged<'a>, &'static str> {
        let item = &program.funcs[func];
        let whole = Whole::of(program, item, nests(item)[0], models.1)?;
        let plans = explore_device(program, func, models.1, Limits::default(), Natives::default()).plans;
        let host = candidates(program, func, models.0);
        let mut dispatch = dispatch(program, item, &host, models.0);
        add_device_rules(&mut dispatch, program, item, (&host[0], &plans), models, Predictions::default());
        Ok(Judged { name: &item.name, program, func, whole, plans, dispatch })
    }

    fn at(&self, sizes: &'static [i64]) -> Point<'_> {
        let func = &self.program.funcs[self.func];
        let plan = self.dispatch.on_device(func, &self.plans, sizes).expect("plans for devices");
        let times = self.whole.times(sizes).into_iter().enumerate().filter_map(|(at, time)| Some((at, time?)));
        let best = times.min_by(|a, b| a.1.total().total_cmp(&b.1.total())).expect("the space is not empty");
        Point { sizes, plan, chosen: self.whole.time(&plan.nests[0], sizes), best }
    }
}

fn sizes_of(name: &str) -> (&'static [&'static [i64]], &'static [i64]) {
    let (_, sizes) = SIZES.iter().find(|(other, _)| *other == name).expect("a function of the table");
    let (counted, judged) = sizes.split_last().expect("seven");
    (judged, counted)
}

fn shown(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ")
}

const HEAD: &str = "\
| nest | mappings | compared | within 10 % | longest | most sectors | kept near |
|---|---|---|---|---|---|---|";

#[test]
#[ignore = "a table that `cargo xtask counts` prints"]
fn choices() {
    let subject = Subject::compile("mappings", PROGRAMS).unwrap_or_else(|why| panic!("{why}"));
    let (cpu, device) = (Model::cpu(), DeviceModel::cuda());
    let (mut lines, mut named) = (vec![HEAD.to_owned()], Vec::new());
    let (mut compared, mut close) = (0, 0);
    for &func in &subject.program().entries {
        let name = &subject.program().funcs[func].name;
        let judged = match Judged::new(subject.program(), func, (&cpu, &device)) {
            Ok(judged) => judged,
            Err(why) => {
                named.push(format!("- `{name}` is not searched: {why}."));
                continue;
            }
        };
        let points: Vec<Point<'_>> = sizes_of(name).0.iter().map(|sizes| judged.at(sizes)).collect();
        let ratios: Vec<(f64, f64)> = points.iter().filter_map(Point::ratios).collect();
        let most = |of: fn(&(f64, f64)) -> f64| ratios.iter().map(of).fold(0.0, f64::max);
        let good = ratios.iter().filter(|(time, _)| *time <= CLOSE).count();
        compared += ratios.len();
        close += good;
        lines.push(format!(
            "| {name} | {} | {} | {good} | {:.2} | {:.2} | {} |",
            judged.whole.count(),
            ratios.len(),
            most(|(time, _)| *time),
            most(|(_, sectors)| *sectors),
            points.len() - ratios.len(),
        ));
        named.extend(points.iter().filter_map(|point| not_the_best(&judged, point)));
    }
    let share = 100.0 * close as f64 / compared as f64;
    lines.push(format!("| all | | {compared} | {close}: {share:.0} % | | | |"));
    let text = format!("{}\n\n{}\n", lines.join("\n"), named.join("\n"));
    let file = std::env::var_os("HIDP_COUNT_CHOICES").expect("`cargo xtask counts` names the file");
    fs::write(file, text).expect("it can be written");
}

/// What a choice takes beside the best, where it takes more.
fn not_the_best(judged: &Judged<'_>, point: &Point<'_>) -> Option<String> {
    let (time, sectors) = point.ratios()?;
    let wrong = if time > WRONG { "**wrong**: " } else { "" };
    let best = judged.whole.print(point.best.0);
    let (name, sizes, plan) = (judged.name, shown(point.sizes), &point.plan.name);
    let text = format!(
        "- {wrong}`{name}` {sizes}: `{plan}` takes {time:.2} times as long, with {sectors:.2} times the sectors, as `{best}`."
    );
    (time > CLOSE || sectors > CLOSE).then_some(text)
}

const COUNTED_HEAD: &str = "\
| nest, sizes | mappings counted | refused as plans | sectors as predicted | least | most |
|---|---|---|---|---|---|";

#[test]
#[ignore = "a table that `cargo xtask counts` prints"]
fn sample() {
    let mut lines = vec![COUNTED_HEAD.to_owned()];
    for text in PROGRAMS.split("\n\n") {
        lines.extend(counted(&format!("{text}\n{DATA}")));
    }
    let file = std::env::var_os("HIDP_COUNT_SAMPLE").expect("`cargo xtask counts` names the file");
    fs::write(file, lines.join("\n") + "\n").expect("it can be written");
}

/// Counts of some mappings of a function's nest, beside what is predicted; nothing if it has none.
fn counted(text: &str) -> Option<String> {
    let subject = Subject::compile("mapping", text).unwrap_or_else(|why| panic!("{why}"));
    let (program, device) = (subject.program(), DeviceModel::cuda());
    let func = &program.funcs[program.entries[0]];
    let whole = Whole::of(program, func, nests(func)[0], &device).ok()?;
    let plan = |at: usize| format!("plan m{at}\n{}\n", whole.nest(at));
    let (mut looked, mut taken, mut seed) = (Vec::new(), Vec::new(), 2014_u64);
    while taken.len() < SAMPLE && looked.len() < whole.count().min(10 * SAMPLE) {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (seed >> 33) as usize % whole.count();
        if looked.contains(&at) {
            continue;
        }
        looked.push(at);
        if subject.takes(&format!("entry {}\n{}", func.name, plan(at))) {
            taken.push(at);
        }
    }
    let refused = looked.len() - taken.len();
    let plans = taken.iter().map(|at| plan(*at)).collect::<String>();
    let pinned =
        Subject::compile_with(&format!("mapping-{}", func.name), text, Some(&format!("entry {}\n{plans}", func.name)))
            .unwrap_or_else(|why| panic!("{why}"));
    let built = DeviceKernels::build(&pinned.stem, pinned.cu.as_ref().expect("plans for devices")).expect("compiles");
    let sizes = sizes_of(&func.name).1;
    let entry = &pinned.entries[0];
    let fillings = fillings(text).expect("fillings");
    let mut maker = Maker::new(pinned.original(), pinned.func(entry), sizes, 3, &fillings);
    let request = Request::new(maker.args().expect("sizes that fit"), maker.dims(), Outcome::Unknown);
    let mut ratios = Vec::new();
    for unit in pinned.units(entry, UnitTarget::Device) {
        let at: usize = unit.plan.strip_prefix('m').and_then(|at| at.parse().ok()).expect("a pinned plan");
        let device = built.device(0, 2);
        device.count();
        pinned.call_on(&device, (entry, unit), &request, false).unwrap_or_else(|why| panic!("{}: {why}", unit.plan));
        let found: u64 = device.counts().iter().map(sectors).sum();
        let predicted = whole.time(&whole.nest(at), sizes).expect("it is priced").sectors;
        ratios.push(predicted / found as f64);
    }
    let as_predicted = ratios.iter().filter(|ratio| (**ratio - 1.0).abs() < 0.01).count();
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), ratio| (a.min(*ratio), b.max(*ratio)));
    Some(format!(
        "| {} {} | {} | {refused} | {as_predicted} | {least:.2} | {most:.2} |",
        func.name,
        shown(sizes),
        ratios.len()
    ))
}

/// Sectors that the requests of a kernel touch.
fn sectors(kernel: &KernelCounts) -> u64 {
    let of_memory = kernel.sites.iter().filter(|site| site.what <= HIDP_COUNTED_UPDATE && site.shared == 0);
    of_memory.map(|site| site.cost).sum()
}

//! The model of what kernels ask of memory against what the executor counts: each access of which the model knows how the places of a warp's
//! lanes lie costs what it says, in requests of all lanes that it has taking part.
//!
//! The model assumes that arrays begin at a line of memory and that rows are whole sectors and longer than a warp; sizes are chosen
//! so. `HIDP_COUNTS=alone` does that, and nothing else, with cases of kind `run`; arrays there may have extents and offsets of their own for
//! which it does not hold, and then differ. `HIDP_COUNTS=full` compares at other sizes too and prints what differs there, which is no failure.

use std::collections::BTreeMap;

use hidp_build::compiler::emit::c_like::name;
use hidp_build::compiler::ir::imp::{Unit, UnitTarget};
use hidp_build::compiler::ir::par::Func;
use hidp_build::compiler::target::DeviceModel;
use hidp_build::compiler::traffic::{Access, Action, Cost, Pattern, Traffic, traffic};
use hidp_sys::{HIDP_COUNTED_LOAD, HIDP_COUNTED_STORE, HIDP_COUNTED_UPDATE, hidp_site_counts};

use crate::device::{DeviceKernels, KernelCounts};
use crate::maker::{Filling, Maker};
use crate::subject::{Entry, Outcome, Request, Subject};

/// How many accesses were compared.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    /// Which agree.
    same: usize,
    /// Whose places depend on data.
    irregular: usize,
    /// That no request reached with all lanes.
    unreached: usize,
}

fn wanted(what: &str) -> bool {
    std::env::var("HIDP_COUNTS").is_ok_and(|value| value == what)
}

/// Whether cases are run for nothing but this.
pub(crate) fn alone() -> bool {
    wanted("alone") || wanted("full")
}

/// Sizes for which the model is not exact: rows that are no whole sectors, or shorter than a warp.
const OTHERS: [&[i64]; 3] = [&[130, 67], &[33, 100, 70], &[20]];

/// Sizes of dimensions that the model is exact for: multiples of tiles, in which all lanes take part.
fn sizes(func: &Func) -> Vec<i64> {
    let square = func.params.iter().any(|&param| func.vars[param].shape.len() > func.dims.len());
    match func.dims.len() {
        0 | 1 if square => vec![128],
        0 | 1 => vec![4096],
        2 => vec![128, 256],
        3 => vec![128],
        _ => vec![64, 32, 32, 128],
    }
}

/// Compares all device plans of a program's entries, with made arguments.
pub(crate) fn check(
    subject: &Subject,
    built: &DeviceKernels,
    fillings: &BTreeMap<String, Filling>,
) -> Result<(), String> {
    let mut compared = Compared::default();
    for entry in &subject.entries {
        let func = subject.func(entry);
        let mut differences = |sizes: &[i64]| {
            let mut maker = Maker::new(subject.original(), func, sizes, 3, fillings);
            let Some(args) = maker.args() else { return Ok(Vec::new()) };
            let request = Request::new(args, maker.dims(), Outcome::Unknown);
            compare(subject, entry, built, &request, &mut compared)
        };
        let found = differences(&sizes(func))?;
        if !found.is_empty() {
            return Err(format!("`{}`: the model differs from the count:\n{}", func.name, found.join("\n")));
        }
        for sizes in OTHERS.iter().filter(|_| wanted("full")) {
            differences(sizes)?.iter().for_each(|line| println!("`{}` with {sizes:?}: {line}", func.name));
        }
    }
    if alone() {
        println!("{}: {compared:?}", subject.stem);
    }
    Ok(())
}

/// Calls all device plans of an entry once. What differs, a line each.
fn compare(
    subject: &Subject,
    entry: &Entry,
    built: &DeviceKernels,
    request: &Request,
    compared: &mut Compared,
) -> Result<Vec<String>, String> {
    let mut differences = Vec::new();
    for unit in subject.units(entry, UnitTarget::Device) {
        let device = built.device(0, 2);
        device.count();
        subject.call_on(&device, (entry, unit), request, false).map_err(|why| format!("plan {}: {why}", unit.plan))?;
        let counts = device.counts();
        for (kernel, counted) in joined(subject, unit, &counts) {
            let lines = kernel.accesses.iter().flat_map(|access| of_access(access, counted, compared));
            differences.extend(lines.map(|line| format!("plan {}, {}: {line}", unit.plan, counted.name)));
        }
    }
    Ok(differences)
}

/// Kernels of a version that ran, and what was counted of each.
pub(crate) fn joined<'c>(
    subject: &Subject,
    unit: &Unit,
    counts: &'c [KernelCounts],
) -> Vec<(Traffic, &'c KernelCounts)> {
    let pair = |kernel: Traffic| {
        let name = format!("::{}_items", name::kernel(unit, kernel.id));
        counts.iter().find(|found| found.name.ends_with(&name)).map(|found| (kernel, found))
    };
    traffic(subject.program(), unit, &DeviceModel::cuda()).into_iter().filter_map(pair).collect()
}

/// What was counted at one of the places of an access.
pub(crate) fn counted_at<'c>(access: &Access, site: u32, counted: &'c KernelCounts) -> Option<&'c hidp_site_counts> {
    counted.sites.iter().find(|found| found.site == site && found.what == what(access.action))
}

fn of_access(access: &Access, counted: &KernelCounts, compared: &mut Compared) -> Vec<String> {
    if access.pattern == Pattern::Irregular {
        compared.irregular += access.sites.len();
        return Vec::new();
    }
    let mut differences = Vec::new();
    for site in &access.sites {
        match counted_at(access, *site, counted).map(|found| found.widest) {
            Some(widest) if widest.lanes == u64::from(access.lanes) => {
                let cost = u64::from(cost(access.cost));
                if (widest.lowest, widest.highest) == (cost, cost) {
                    compared.same += 1;
                } else {
                    let (name, index) = (access.action.name(), &access.index);
                    let counts = format!("counted {} to {}", widest.lowest, widest.highest);
                    let (array, pattern) = (&access.array, &access.pattern);
                    differences.push(format!("site {site}, {name} {array}[{index}], {pattern}: {cost}, {counts}"));
                }
            }
            Some(widest) if widest.lanes > u64::from(access.lanes) => {
                differences.push(format!("site {site}: {} lanes, counted {}", access.lanes, widest.lanes));
            }
            Some(_) | None => compared.unreached += 1,
        }
    }
    differences
}

fn what(action: Action) -> u32 {
    match action {
        Action::Load | Action::LoadRelaxed => HIDP_COUNTED_LOAD,
        Action::Store => HIDP_COUNTED_STORE,
        Action::Update => HIDP_COUNTED_UPDATE,
    }
}

/// Of one request.
pub(crate) fn cost(cost: Cost) -> u32 {
    match cost {
        Cost::Global { sectors, .. } => sectors,
        Cost::Shared { turns, .. } => turns,
    }
}

/// Programs whose accesses are all reached by whole warps.
const PROGRAMS: &str = r#"
function transposed input float a[H][W]; output float b[W][H];
{ map { i := [0:H); j := [0:W); b[j][i] = a[i][j]; } }

function row_sums input double A[R][C], x[C]; output double y[R];
{ map { r := [0:R); c := [0:C); _t = A[r][c] * x[c]; } reduce("+", y[r], _t, c := [*]); }

function product input float A[M][K], B[K][N]; output float C[M][N];
{ map { i := [0:M); j := [0:N); k := [0:K); _t = A[i][k] * B[k][j]; } reduce("+", C[i][j], _t, k := [*]); }
"#;

#[test]
fn the_model_says_what_is_counted() {
    if !crate::native::targets().devices {
        return;
    }
    let subject = Subject::compile("counts", PROGRAMS).unwrap_or_else(|why| panic!("{why}"));
    let built = DeviceKernels::build("counts", subject.cu.as_ref().expect("plans for devices")).expect("compiles");
    let mut compared = Compared::default();
    for entry in &subject.entries {
        let func = subject.func(entry);
        let fillings = BTreeMap::new();
        let mut maker = Maker::new(subject.original(), func, &sizes(func), 3, &fillings);
        let args = maker.args().expect("sizes that fit");
        let request = Request::new(args, maker.dims(), Outcome::Unknown);
        let differences = compare(&subject, entry, &built, &request, &mut compared);
        assert_eq!(differences.unwrap_or_else(|why| panic!("{why}")), Vec::<String>::new());
    }
    assert!(compared.same > 150 && compared.irregular == 0, "{compared:?}");
}

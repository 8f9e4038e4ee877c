//! The model of what kernels ask of memory against what the executor counts. Of what the model claims each request is as it says: its lanes,
//! and what it costs. What it does not claim has a reason; how many accesses have which is counted too.
//!
//! Claims are of given sizes. With `HIDP_COUNTS=alone` each case of kind `run` calls its device plans once, and does nothing else.
//! `HIDP_COUNTS=full` compares at other sizes too, and prints what differs there, which is no failure.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hidp_build::compiler::emit::c_like::name;
use hidp_build::compiler::ir::imp::{Unit, UnitTarget};
use hidp_build::compiler::ir::par::Func;
use hidp_build::compiler::target::DeviceModel;
use hidp_explain::traffic::{Access, Action, Cost, Reason, Traffic, traffic};
use hidp_sys::{HIDP_COUNTED_LOAD, HIDP_COUNTED_STORE, HIDP_COUNTED_UPDATE, hidp_site_counts};

use crate::device::{DeviceKernels, KernelCounts};
use crate::maker::{Filling, Maker};
use crate::subject::{Entry, Outcome, Request, Subject};

/// How many accesses of kernels were compared. One that stands several times in a kernel counts as often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compared {
    /// Each request was of all lanes and cost what the model says.
    pub(crate) equal: usize,
    /// Each request of all lanes cost what the model says. It does not say that all are.
    pub(crate) equal_if_full: BTreeMap<Reason, usize>,
    /// The model does not say what they cost.
    pub(crate) unclaimed: BTreeMap<Reason, usize>,
    /// Nothing was asked there, or, where the model does not say that all lanes are there, never by all of them.
    pub(crate) unreached: usize,
}

impl Compared {
    pub(crate) fn add(&mut self, other: &Compared) {
        let Compared { equal, equal_if_full, unclaimed, unreached } = other;
        self.equal += equal;
        self.unreached += unreached;
        equal_if_full.iter().for_each(|(reason, count)| *self.equal_if_full.entry(*reason).or_default() += count);
        unclaimed.iter().for_each(|(reason, count)| *self.unclaimed.entry(*reason).or_default() += count);
    }
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

/// Sizes for which the model claims most: whole sectors and warps, in which all lanes take part, and no more of them than it takes.
fn sizes(func: &Func) -> Vec<i64> {
    let square = func.params.iter().any(|&param| func.vars[param].shape.len() > func.dims.len());
    match func.dims.len() {
        0 | 1 if square => vec![64],
        0 | 1 => vec![1024],
        2 => vec![32, 64],
        3 => vec![32, 32, 64],
        _ => vec![32],
    }
}

/// Compares all device plans of a program's entries, with made arguments.
pub(crate) fn check(
    subject: &Subject,
    built: &DeviceKernels,
    fillings: &BTreeMap<String, Filling>,
) -> Result<Compared, String> {
    let mut compared = Compared::default();
    let mut found = Vec::new();
    for entry in &subject.entries {
        let func = subject.func(entry);
        let differences = |sizes: &[i64], compared: &mut Compared| {
            let mut maker = Maker::new(subject.original(), func, sizes, 3, fillings);
            let Some(args) = maker.args() else { return Ok(Vec::new()) };
            let request = Request::new(args, maker.dims(), Outcome::Unknown);
            compare(subject, entry, built, &request, compared)
        };
        let lines = differences(&sizes(func), &mut compared)?;
        found.extend(lines.into_iter().map(|line| format!("`{}`: {line}", func.name)));
        for sizes in OTHERS.iter().filter(|_| wanted("full")) {
            let lines = differences(sizes, &mut Compared::default())?;
            lines.iter().for_each(|line| println!("`{}` with {sizes:?}: {line}", func.name));
        }
    }
    if alone() {
        println!("{}: {compared:?}", subject.stem);
    }
    if found.is_empty() {
        Ok(compared)
    } else {
        Err(format!("the model differs from the count:\n{}", found.join("\n")))
    }
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
        let ended = subject.call_on(&device, (entry, unit), request, false);
        match ended.map_err(|why| format!("plan {}: {why}", unit.plan))? {
            Outcome::Results(_) => {}
            // Lanes leave where a fault is found.
            Outcome::Fault(_) | Outcome::Unknown => continue,
        }
        let counts = device.counts();
        for (kernel, counted) in joined(subject, unit, &counts, &request.dims) {
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
    dims: &[i64],
) -> Vec<(Traffic, &'c KernelCounts)> {
    let pair = |kernel: Traffic| {
        let name = format!("::{}_items", name::usual_kernel(unit, kernel.id));
        counts.iter().find(|found| found.name.ends_with(&name)).map(|found| (kernel, found))
    };
    traffic(subject.program(), unit, &DeviceModel::cuda(), dims).into_iter().filter_map(pair).collect()
}

/// What was counted at one of the places of an access.
pub(crate) fn counted_at<'c>(access: &Access, site: u32, counted: &'c KernelCounts) -> Option<&'c hidp_site_counts> {
    counted.sites.iter().find(|found| found.site == site && found.what == what(access.action))
}

fn of_access(access: &Access, counted: &KernelCounts, compared: &mut Compared) -> Vec<String> {
    if let Err(reason) = access.cost_claim {
        *compared.unclaimed.entry(reason).or_default() += access.sites.len();
        return Vec::new();
    }
    let mut differences = Vec::new();
    for site in &access.sites {
        match counted_at(access, *site, counted).map(|found| difference(access, found)) {
            Some(Ok(())) => match access.lanes_claim {
                Ok(()) => compared.equal += 1,
                Err(reason) => *compared.equal_if_full.entry(reason).or_default() += 1,
            },
            Some(Err(Some(why))) => {
                let (name, array, index) = (access.action.name(), &access.array, &access.index);
                differences.push(format!("site {site}, {name} {array}[{index}], {}: {why}", access.pattern));
            }
            Some(Err(None)) | None => compared.unreached += 1,
        }
    }
    differences
}

/// How a count differs from what is claimed; nothing if no request is claimed.
fn difference(access: &Access, counted: &hidp_site_counts) -> Result<(), Option<String>> {
    let (lanes, cost) = (u64::from(access.lanes), u64::from(cost(access.cost)));
    let hidp_site_counts { requests, lanes: of_all, idle, cost: costs, widest, .. } = *counted;
    if access.lanes_claim.is_ok() {
        let expected = (requests * lanes, requests * (32 - lanes), requests * cost);
        let found = (of_all, idle, costs);
        if found != expected {
            return Err(Some(format!("lanes, idle, cost of {requests} requests: {expected:?}, counted {found:?}")));
        }
    }
    match widest.lanes.cmp(&lanes) {
        Ordering::Equal if (widest.lowest, widest.highest) == (cost, cost) => Ok(()),
        Ordering::Equal => Err(Some(format!("{cost}, counted {} to {}", widest.lowest, widest.highest))),
        Ordering::Greater => Err(Some(format!("{lanes} lanes, counted {}", widest.lanes))),
        Ordering::Less => Err(None),
    }
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
        // No less than the largest tile.
        let sizes: &[i64] = if func.name == "product" { &[128, 32, 128] } else { &[128, 256] };
        let mut maker = Maker::new(subject.original(), func, sizes, 3, &fillings);
        let args = maker.args().expect("sizes that fit");
        let request = Request::new(args, maker.dims(), Outcome::Unknown);
        let differences = compare(&subject, entry, &built, &request, &mut compared);
        assert_eq!(differences.unwrap_or_else(|why| panic!("{why}")), Vec::<String>::new());
    }
    assert!(compared.equal > 200 && compared.unclaimed.values().sum::<usize>() < 70, "{compared:?}");
}

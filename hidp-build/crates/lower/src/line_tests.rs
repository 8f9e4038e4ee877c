//! No line of a plan is accepted and then ignored: each line that is left out, and each number that is changed, is refused or makes
//! other code.

use super::tests::{GEMM, optimised};
use crate::{lower, lower_device};
use hidp_ir::imp::{self, Entry};
use hidp_ir::par::{FuncId, Program};
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{self as plan, Limits, Natives, Plan};
use hidp_syntax::ordered::OrdSet;

const PROGRAMS: [&str; 9] = [
    GEMM,
    "function f input float x[N]; output float y[N]; { y = 2 * x; }",
    "function f input float x[N]; output float _s; { map { i := [0:N); _t = x[i]; } reduce(\"+\", _s, _t, i := [*]); }",
    "function f input float A[R][C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }",
    // Rows of unequal length, alone, in tiles of lanes, and inside of iterations.
    "function f input float A[R][R]; output float y[R];
        { map { r := [0:R); _s = 0.0f; map { c := [0:r); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); } }",
    "function f input float A[M][M], B[M][N]; output float C[M][N];
        { map { m := [0:M); n := [0:N); map { k := [0:m); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); } }",
    "function f input float A[T][R][R]; output float y[T][R];
        { map { t := [0:T); map { r := [0:R); map { c := [0:r); _t = A[t][r][c]; } reduce(\"+\", y[t][r], _t, c := [*]); } } }",
    "function f input float a[I][J][K]; inout float b[I][J][K];
        { map { i := [1:I-1); j := [1:J-1); k := [0:K); b[i][j][k] = a[i-1][j][k] + a[i+1][j][k] + a[i][j-1][k] + a[i][j+1][k]; } }",
    "function f input float x[M][N]; output float w;
        { map { i := [0:M); float own[8]; scan(x[i][*], own, 0, 8); _u = own[7]; } reduce(\"+\", w, _u, i := [*]); }",
];

/// An entry, and the models that it is for.
struct Subject {
    program: Program,
    func: FuncId,
    cpu: Model,
    device: DeviceModel,
}

impl Subject {
    fn plans(&self) -> Vec<Plan> {
        let limits = Limits { most: usize::MAX, ..Limits::default() };
        let mut plans = plan::explore(&self.program, self.func, &self.cpu, limits).plans;
        let explored = plan::explore_device(&self.program, self.func, &self.device, limits, Natives::Everywhere);
        plans.extend(explored.plans);
        plans
    }

    /// The code of a plan; nothing if it is refused.
    fn code(&self, plan: &Plan) -> Option<String> {
        let on_device = plan.is_for_device();
        let plans = std::slice::from_ref(plan);
        let on_threads = if on_device { &[][..] } else { plans };
        let (mut entry, mut defects): (Entry, _) = lower(&self.program, self.func, "test_entry", on_threads, &self.cpu);
        if on_device {
            defects.extend(lower_device(&self.program, self.func, plans, (&self.cpu, &self.device), &mut entry));
        }
        entry.units.iter_mut().for_each(|unit| unit.plan_text.clear());
        defects.is_empty().then(|| imp::print(&self.program, &entry))
    }
}

/// The text without one of its lines, without one of its words, and with one of its numbers doubled.
fn changes(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let with = |line: &str| [&lines[..at].concat(), line, &lines[at + 1..].concat()].concat();
        found.push(with(""));
        found.extend(line.split_whitespace().skip(1).map(|word| with(&line.replacen(&format!(" {word}"), "", 1))));
        // Numbers in names do not count.
        for (open, _) in line.match_indices(['(', 'x']) {
            let (before, rest) = line.split_at(open + 1);
            let digits = rest.find(|other: char| !other.is_ascii_digit()).unwrap_or(rest.len());
            if let Ok(number) = rest[..digits].parse::<u32>() {
                found.push(with(&format!("{before}{}{}", 2 * number, &rest[digits..])));
            }
        }
    }
    found
}

/// What is accepted and makes the same code as before, of the changes to a plan and to what is left of it.
fn ignored(subject: &Subject, plan: &Plan, counts: &mut [usize; 2]) -> Vec<String> {
    let mut ignored = Vec::new();
    let mut seen = OrdSet::new();
    let mut left = vec![(plan.to_string(), subject.code(plan).expect("the planner's lines"))];
    while let Some((text, usual)) = left.pop() {
        for changed in changes(&text) {
            let code = plan::notation::read(&changed).ok().and_then(|plan| subject.code(&plan));
            counts[usize::from(code.is_some())] += 1;
            match code {
                Some(code) if code == usual => ignored.push(format!("{text}is the same as\n{changed}")),
                // With fewer lines others may come to mean nothing.
                Some(code) if changed.lines().count() < text.lines().count() && seen.insert(changed.clone()) => {
                    left.push((changed, code));
                }
                Some(_) | None => {}
            }
        }
    }
    ignored
}

#[test]
fn every_line_and_every_number_is_carried_out_or_refused() {
    let (mut all, mut counts) = (Vec::new(), [0, 0]);
    for text in PROGRAMS {
        let (program, func) = optimised(text);
        let subject = Subject { program, func, cpu: Model::cpu(), device: DeviceModel::cuda() };
        for plan in subject.plans() {
            all.extend(ignored(&subject, &plan, &mut counts));
        }
    }
    assert!(all.is_empty(), "{} ignored: {}", all.len(), all.join("\n"));
    let [refused, carried_out] = counts;
    assert!(carried_out > 100 && refused > 100, "{carried_out} {refused}");
}

//! What units for devices look like: grids, shared loops, where barriers stand; the verifier looks at every program at every level.

mod narrow;

use super::super::tests::{GEMM, PROGRAMS, optimised};
use crate::{lower, lower_device};
use hidp_ir::imp::visit::{each_expr, each_stmt};
use hidp_ir::imp::{self, Block, Entry, ExprKind, Kernel, Level, LoopKind, Stmt, Unit, VarKind};
use hidp_ir::par::{FoldFn, MathFn};
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{self as plan, Limits, Natives, Plan};
use hidp_syntax::ty::{Scalar, Ty};

/// An entry with its plans for a device alone, as many as there are.
fn lowered(text: &str) -> Entry {
    let (program, func) = optimised(text);
    let (model, device) = (Model::cpu(), DeviceModel::cuda());
    let limits = Limits { most: 6, ..Limits::default() };
    let explored = plan::explore_device(&program, func, &device, limits, Natives::Everywhere);
    for plan in &explored.plans {
        assert_eq!(plan::notation::read(&plan.to_string()).as_ref(), Ok(plan));
    }
    let cpu = plan::candidates(&program, func, &model);
    let (mut entry, mut defects) = lower(&program, func, "test_entry", &cpu[..1], &model);
    defects.extend(lower_device(&program, func, &explored.plans, (&model, &device), &mut entry));
    assert_eq!(defects, []);
    let verified = imp::verify(&program, &entry);
    verified.unwrap_or_else(|errors| panic!("{errors:#?}\n{}", imp::print(&program, &entry)));
    entry.units.remove(0);
    entry
}

fn plans(entry: &Entry) -> Vec<&str> {
    entry.units.iter().map(|unit| unit.plan.as_str()).collect()
}

fn unit<'a>(entry: &'a Entry, plan: &str) -> &'a Unit {
    entry.units.iter().find(|unit| unit.plan == plan).expect("a unit of this plan")
}

#[test]
fn every_unit_of_every_program_is_well_formed() {
    for text in PROGRAMS {
        let entry = lowered(text);
        assert!(!entry.units.is_empty(), "{text}");
    }
}

fn count(block: &Block, wanted: &dyn Fn(&Stmt) -> bool) -> usize {
    let mut found = 0;
    each_stmt(block, &mut |stmt| found += usize::from(wanted(stmt)));
    found
}

fn in_kernels(unit: &Unit, wanted: impl Fn(&Stmt) -> bool) -> usize {
    unit.kernels.iter().map(|(_, kernel)| count(&kernel.function.body, &wanted)).sum()
}

fn on_host(unit: &Unit, wanted: impl Fn(&Stmt) -> bool) -> usize {
    count(&unit.host.body, &wanted)
}

/// The level that groups have and the one that their loops go to.
fn spreads(unit: &Unit) -> Vec<(Level, Level)> {
    let mut found = Vec::new();
    for (_, kernel) in unit.kernels.iter() {
        each_stmt(&kernel.function.body, &mut |stmt| {
            if let Stmt::Loop(node) = stmt
                && let LoopKind::Spread { group, over, .. } = node.kind
            {
                found.push((group, over));
            }
        });
    }
    found
}

fn first_kernel(unit: &Unit) -> &Kernel {
    unit.kernels.iter().next().expect("a kernel").1
}

#[test]
fn a_directive_on_gemm_gives_the_three_kernels_of_the_paper() {
    let entry = lowered(&GEMM.replace("map {", "#pragma hidp block warp thread\n map {"));
    assert_eq!(plans(&entry), ["warp", "thread", "block"]);
    for unit in &entry.units {
        assert_eq!(on_host(unit, |stmt| matches!(stmt, Stmt::LaunchGrid { extents, .. } if extents.len() == 2)), 1);
        assert_eq!(on_host(unit, |stmt| matches!(stmt, Stmt::Alloc { .. })), 0);
        assert_eq!(in_kernels(unit, |stmt| matches!(stmt, Stmt::Fault { .. })), 0);
    }
    assert_eq!(spreads(unit(&entry, "thread")), []);
    for (plan, level) in [("warp", Level::Warp), ("block", Level::Block)] {
        let unit = unit(&entry, plan);
        assert_eq!(spreads(unit), [(level, Level::Thread)]);
        assert_eq!(first_kernel(unit).grid.map(|grid| grid.level), Some(level));
        assert_eq!(in_kernels(unit, |stmt| matches!(stmt, Stmt::Single { .. })), 1);
    }
}

#[test]
fn a_level_without_a_barrier_folds_runs_and_then_what_they_leave() {
    let entry = lowered(
        "function f input float x[N]; output float s; { map { i := [0:N); _t = x[i]; } reduce(\"+\", s, _t, i := [*]); }",
    );
    assert_eq!(plans(&entry), ["thread"]);
    let unit = &entry.units[0];
    assert_eq!(spreads(unit), [(Level::Block, Level::Thread), (Level::Block, Level::Thread)]);
    assert_eq!(on_host(unit, |stmt| matches!(stmt, Stmt::LaunchGrid { .. })), 1);
}

#[test]
fn neighbouring_lanes_take_neighbouring_elements() {
    let text = "function f input float A[M][N]; output float B[N][M];
        { map { m := [0:M); n := [0:N); B[n][m] = 2 * A[m][n] + A[m][n] * A[m][n]; } }";
    let order = |text: &str| {
        let (program, func) = optimised(text);
        let plan = plan::explore_device(&program, func, &DeviceModel::cuda(), Limits::default(), Natives::Everywhere)
            .plans
            .remove(0);
        plan.to_string()
    };
    let along_n = "plan thread\nnest\n  n unroll(4)\n  m grid.y\n  n grid.x\n  block(128)\n";
    assert_eq!(order(text), along_n, "three loads along n against a store along m");
    let along_m = "plan thread\nnest\n  m unroll(4)\n  n grid.y\n  m grid.x\n  block(128)\n";
    assert_eq!(order(&text.replace("+ A[m][n] * A[m][n]", "+ B[n][m]").replace("output", "inout")), along_m);
}

#[test]
fn deeper_nests_go_down_level_by_level() {
    let text = "function f input float A[M][N][K]; output float y[M];
        { map { m := [0:M);
            map { n := [0:N); map { k := [0:K); _t = A[m][n][k]; } reduce(\"+\", _s, _t, k := [*]); _u = _s * _s; }
            reduce(\"max\", y[m], _u, n := [*]); } }";
    let entry = lowered(text);
    assert_eq!(spreads(unit(&entry, "block")), [(Level::Block, Level::Warp), (Level::Warp, Level::Thread)]);
    assert_eq!(spreads(unit(&entry, "warp")), [(Level::Warp, Level::Thread)]);
    let kernel = unit(&entry, "kernel");
    assert_eq!(on_host(kernel, |stmt| matches!(stmt, Stmt::Loop(_))), 1);
}

#[test]
fn arrays_of_iterations_are_allocated_before_the_launch() {
    let text = "function f input int p[R+1]; input float v[Z]; output float y[R];
        { map { r := [0:R); float w[p[r+1]-p[r]];
            map { k := [0:p[r+1]-p[r]); w[k] = v[p[r]+k]; }
            map { k := [0:p[r+1]-p[r]); _t = w[p[r+1]-p[r]-1-k] * w[k]; } reduce(\"+\", y[r], _t, k := [*]); } }";
    let entry = lowered(text);
    for unit in entry.units.iter().filter(|unit| unit.plan != "kernel") {
        assert_eq!(in_kernels(unit, |stmt| matches!(stmt, Stmt::Scratch { .. })), 0);
        let bounded = |stmt: &Stmt| matches!(stmt, Stmt::LaunchGrid { most: Some(_), .. });
        assert_eq!(on_host(unit, bounded), 1, "{}", unit.plan);
        let kernels: Vec<&str> = unit.kernels.iter().map(|(_, kernel)| kernel.name.as_str()).collect();
        assert_eq!(kernels, ["size0", "map1"]);
    }
    assert_eq!(in_kernels(unit(&entry, "warp"), |stmt| *stmt == Stmt::Sync(Level::Warp)), 3, "fill, sum, next item");
    let constant = lowered(&text.replace("w[p[r+1]-p[r]]", "w[8]"));
    assert!(first_kernel(unit(&constant, "thread")).name.starts_with("map"), "lanes have small arrays of their own");
}

#[test]
fn what_changes_under_a_group_is_loaded_by_one_lane() {
    let text = "function f input int idx[N]; inout float y[N]; output float z[N];
        { map { i := [0:N); y[idx[i]] = 1; float s = y[i];
            map { k := [0:i); _t = z[k] * 0 + s; } reduce(\"+\", z[i], _t, k := [*]); } }";
    let entry = lowered(&text.replace("z[k] * 0 + ", ""));
    let warp = unit(&entry, "warp");
    let mut broadcasts = 0;
    each_expr(&first_kernel(warp).function.body, &mut |expr| {
        broadcasts += usize::from(matches!(expr.kind, ExprKind::Broadcast(Level::Warp, _)));
    });
    assert_eq!(broadcasts, 1);
}

#[test]
fn sizes_that_come_too_late_exclude_a_plan() {
    let text = "function f inout long n[R]; output long y[R];
        { map { r := [0:R); n[r] = n[r] + 1; long w[n[r]];
            map { k := [0:n[r]); w[k] = k; } map { k := [0:n[r]); _t = w[k]; } reduce(\"+\", y[r], _t, k := [*]); } }";
    let (program, func) = optimised(text);
    let limits = Limits { most: 6, ..Limits::default() };
    let explored = plan::explore_device(&program, func, &DeviceModel::cuda(), limits, Natives::Everywhere);
    let late = "excluded: the size of `w` is found only while an iteration runs, too late to allocate it";
    for level in Level::ALL {
        let fate = explored.fate(level.name()).expect("a candidate for each level").to_string();
        assert_eq!(fate, if level == Level::Kernel { "kept" } else { late }, "{}", level.name());
    }
}

#[test]
fn prefixes_of_a_row_are_made_by_its_group() {
    let text = "function f input float A[M][N]; output float y[M][N];
        { map { i := [0:M); map { j := [0:N); _t = A[i][j]; } scan(\"+\", y[i][j], _t, j := [*]); } }";
    let scans = |unit: &Unit| in_kernels(unit, |stmt| matches!(stmt, Stmt::Prim(prim) if prim.function == "warp_scan"));
    let entry = lowered(text);
    assert_eq!(scans(unit(&entry, "warp")), 1);
    assert_eq!(in_kernels(unit(&entry, "warp"), |stmt| matches!(stmt, Stmt::Single { .. })), 0);
    let ordered = lowered(&text.replace("map { j", "\n#pragma hidp ordered\n map { j"));
    assert_eq!(scans(unit(&ordered, "warp")), 0, "the order is fixed");
    let far = lowered(&text.replace("y[i][j], _t", "y[j][i], _t").replace("y[M][N]", "y[N][M]"));
    assert_eq!(scans(unit(&far, "warp")), 0, "prefixes are no neighbours");
}

/// What became of a level.
fn fate(text: &str, level: Level) -> String {
    fate_with(text, level, Natives::Everywhere)
}

fn fate_with(text: &str, level: Level, natives: Natives) -> String {
    let (program, func) = optimised(text);
    let limits = Limits { most: 6, ..Limits::default() };
    let explored = plan::explore_device(&program, func, &DeviceModel::cuda(), limits, natives);
    explored.fate(level.name()).map_or(String::new(), ToString::to_string)
}

#[test]
fn what_cannot_be_lowered_says_why() {
    let native = "extern function float twist(float x);
        function f inout float x[N]; { map { i := [0:N); x[i] = twist(x[i]); } }";
    let why = "excluded: `twist` comes from a C++ header that cannot be compiled for devices";
    assert_eq!(fate_with(native, Level::Thread, Natives::Host), why);
    assert_eq!(fate(native, Level::Thread), "kept");
    let again = "function f input uint v[Z]; input int lo[S], hi[S], turns; inout uint w[Z];
        { map { s := [0:S); for (int t = 0; t < turns; t += 1) { sort(v, w, lo[s] + t, hi[s] + t, 1); } } }";
    assert_eq!(fate(again, Level::Warp), "kept");
    let flat = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
    assert_eq!(fate(flat, Level::Thread), "kept");
    assert_eq!(fate(flat, Level::Warp), "excluded: no iteration has a map or primitive inside that lanes could share");
    let named = GEMM.replace("map {", "\n#pragma hidp block warp\n map {");
    assert_eq!(fate(&named, Level::Block), "kept");
    assert_eq!(fate(&named, Level::Thread), "excluded: directives name other levels");
}

#[test]
fn arrays_of_the_caller_exchange_names_and_settle_at_the_end() {
    let text = "function f input int n; inout float a[N]; { float b[N];
        for (int k = 0; k < n; k += 1) { map { i := [0:N); b[i] = 2 * a[i]; } swap(a, b); } }";
    let entry = lowered(text);
    let unit = unit(&entry, "thread");
    let roles: Vec<&str> =
        unit.kernels.iter().map(|(_, kernel)| kernel.name.trim_end_matches(char::is_numeric)).collect();
    assert_eq!(roles, ["map", "settle"], "nothing moves elements each time");
    assert_eq!(on_host(unit, |stmt| matches!(stmt, Stmt::Swap(..))), 2);
}

#[test]
fn the_block_that_ends_last_folds_what_all_leave() {
    let entry = lowered(
        "function f input float x[N]; output float s, t; { map { i := [0:N); _v = x[i]; _w = x[i] * x[i]; }
        reduce(\"+\", s, _v, i := [*]); reduce(\"+\", t, _w, i := [*]); }",
    );
    let unit = unit(&entry, "thread");
    assert_eq!(on_host(unit, |stmt| matches!(stmt, Stmt::LaunchGrid { .. })), 1);
    let asks = |stmt: &Stmt| matches!(stmt, Stmt::Prim(prim) if prim.function == "block_last");
    assert_eq!(in_kernels(unit, asks), 1);
    let first = unit.host.body.stmts.first();
    assert!(
        matches!(first, Some(Stmt::Alloc { zero: true, .. })),
        "the ticket is there before anything else: {first:?}"
    );
}

#[test]
fn blocks_have_copies_of_small_arrays_that_iterations_update() {
    let text = "function f input uint8 x[N]; inout uint counts[B]; { map { i := [0:N); atomic counts[x[i]] += 1; } }";
    let entry = lowered(text);
    let warp = unit(&entry, "thread");
    assert!(warp.plan_text.contains("place counts copies"), "{}", warp.plan_text);
    let [copy] = first_kernel(warp).copies[..] else { panic!("one array") };
    assert_eq!((copy.op, copy.most), (FoldFn::Add, 4096), "64 bytes for each of 256 threads");
    let own = "function f input uint8 x[N]; inout uint counts[N]; { map { i := [0:N); atomic counts[x[i]] += 1; } }";
    let entry = lowered(own);
    let plain = unit(&entry, "thread");
    assert_eq!(first_kernel(plain).copies, [], "as many elements as iterations");
    let asked =
        plan::notation::read(&plain.plan_text.replace("  block(", "  place counts copies\n  block(")).expect("a plan");
    let (program, func) = optimised(own);
    let (model, device) = (Model::cpu(), DeviceModel::cuda());
    let (mut entry, _) = lower(&program, func, "test_entry", &plan::candidates(&program, func, &model)[..1], &model);
    let defects = lower_device(&program, func, &[asked], (&model, &device), &mut entry);
    assert_eq!(
        defects.iter().map(|defect| &*defect.expected).collect::<Vec<_>>(),
        ["blocks may have copies of `counts`"]
    );
}

#[test]
fn every_launch_of_a_plan_has_its_blocks() {
    let sums = "function f input float A[R][C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
    let prefixes = "function f input float x[N]; output float y[N];
        { map { i := [0:N); _t = x[i] * x[i]; } scan(\"+\", y[i], _t, i := [*]); }";
    for (text, name, launches) in [(sums, "split", 3), (prefixes, "thread", 2)] {
        let (program, func) = optimised(text);
        let (model, device) = (Model::cpu(), DeviceModel::cuda());
        let explored = plan::explore_device(&program, func, &device, Limits::default(), Natives::Everywhere);
        let usual = explored.plans.iter().find(|plan| plan.name == name).expect("a plan of this name").to_string();
        assert!(usual.contains("block(256)"), "{usual}");
        let plan = plan::notation::read(&usual.replace("block(256)", "block(128)")).expect("a plan");
        let cpu = plan::candidates(&program, func, &model);
        let (mut entry, _) = lower(&program, func, "test_entry", &cpu[..1], &model);
        assert_eq!(lower_device(&program, func, &[plan], (&model, &device), &mut entry), []);
        let blocks: Vec<Option<u32>> =
            entry.units[1].kernels.iter().map(|(_, kernel)| kernel.grid.map(|grid| grid.block)).collect();
        assert_eq!(blocks, vec![Some(128); launches], "{name}");
    }
}

#[test]
fn plans_that_do_not_fit_are_defects_and_leave_nothing_out() {
    let (model, device) = (Model::cpu(), DeviceModel::cuda());
    let plan_of = |text: &str, name: &str| {
        let (program, func) = optimised(text);
        let explored = plan::explore_device(&program, func, &device, Limits::default(), Natives::Everywhere);
        explored.plans.into_iter().find(|plan| plan.name == name).expect("a plan of this name")
    };
    let defects = |text: &str, plan: &Plan| {
        let (program, func) = optimised(text);
        let cpu = plan::candidates(&program, func, &model);
        let (mut entry, none) = lower(&program, func, "test_entry", &cpu[..1], &model);
        let found = lower_device(&program, func, std::slice::from_ref(plan), (&model, &device), &mut entry);
        assert_eq!(
            (none, entry.units.len()),
            (vec![], 1 + usize::from(found.is_empty())),
            "a unit with a defect is none"
        );
        found.into_iter().map(|defect| defect.expected).collect::<Vec<_>>()
    };
    let stencil = "function f input float a[H][W]; inout float b[H][W];
        { map { i := [1:H-2]; j := [0:W); b[i][j] = a[i-1][j] + a[i][j] + a[i+1][j]; } }";
    let plain = "function f input float a[H][W]; inout float b[H][W];
        { map { i := [1:H-2]; j := [0:W); b[i][j] = 2 * a[i][j]; } }";
    let near = plan_of(stencil, "near");
    assert_eq!(defects(stencil, &near), [""; 0]);
    let why = "the line of the plan is `stage a shared(16x64)`, not `stage a shared(18x64)`";
    assert_eq!(defects(plain, &near), [why]);
    // Tiles whose lanes would have unequal shares, or other blocks.
    let tiled = plan_of(GEMM, "tiled64x64").to_string();
    let changed = |from: &str, to: &str| {
        assert!(tiled.contains(from), "{tiled}");
        defects(GEMM, &plan::notation::read(&tiled.replace(from, to)).expect("a plan"))
    };
    let unequal = changed("m thread.y(8)", "m thread.y(6)");
    assert_eq!(unequal, ["the lanes of the tiles are a block of 48 threads"]);
    assert_eq!(changed("block(64)", "block(128)"), ["the lanes of the tiles are a block of 64 threads"]);
    let staged = changed("k seq(8)", "k seq(6)");
    let other = "`stage A shared(6x64) pad(4) bufs(2) wide(4) turned`, not `stage A shared(8x64) pad(4) bufs(2) wide(4) turned`";
    assert_eq!(staged, [format!("the line of the plan is {other}")]);
    let shallow = tiled.replace("k seq(8)", "k seq(6)").replace("shared(8x", "shared(6x");
    let shallow = defects(GEMM, &plan::notation::read(&shallow).expect("a plan"));
    assert_eq!(shallow, ["tiles suit the nest, but lanes have equal shares of everything"]);
    // The folds of another program, which keep their order.
    let ordered = GEMM.replace("map {", "#pragma hidp ordered\n map {");
    let split = plan_of(GEMM, "split");
    let why =
        "folds that a plan deals out suit the nest, but the map inside folds nothing, or prefixes, or in a fixed order";
    assert_eq!(defects(&ordered, &split), [why]);
}

const PREFIXES: &str = "function f input int x[M][64]; output int y[M][64];
    { map { m := [0:M);
        int a[64], b[64];
        map { i := [0:64); a[i] = x[m][i]; }
        for (long s = 1; s < 64; s *= 2) {
          map { i := [0:64); b[i] = i >= s ? a[i] + a[i - s] : a[i]; }
          map { i := [0:64); a[i] = b[i]; }
        }
        map { i := [0:64); y[m][i] = a[i]; } } }";

/// How many arrays of the program each kernel has in shared memory, with how many elements in all; and how many the host allocates.
fn homes(unit: &Unit) -> (Vec<u32>, usize) {
    let vars = unit.kernels.iter().flat_map(|(_, kernel)| kernel.function.vars.iter());
    let shared = vars.filter_map(|(_, var)| match var.kind {
        VarKind::Shared { len, declared: true, .. } => Some(len),
        _ => None,
    });
    (shared.collect(), on_host(unit, |stmt| matches!(stmt, Stmt::Alloc { .. })))
}

#[test]
fn arrays_that_lanes_share_are_in_shared_memory_as_far_as_it_has_room() {
    let entry = lowered(PREFIXES);
    assert_eq!(homes(unit(&entry, "block")), (vec![64, 64], 0));
    let warp = unit(&entry, "warp");
    assert_eq!(homes(warp), (vec![8 * 64, 8 * 64], 0), "each warp of a block has a part");
    assert!(in_kernels(warp, |stmt| matches!(stmt, Stmt::Sync(Level::Warp))) > 2);
    // One of them fits, of 8 warps none.
    let large = lowered(&PREFIXES.replace("int a[64], b[64]", "int a[4096], b[4096]"));
    assert_eq!(homes(unit(&large, "block")), (vec![4096], 1));
    assert_eq!(homes(unit(&large, "warp")), (vec![], 2));
    // As many elements as a condition admits; where it does not hold, the host allocates them.
    let declared = "int a[64], b[64];";
    let whole = PREFIXES.replace("[M][64]", "[M][N]").replace("64", "N");
    let bounded =
        whole.replace("int a[N]", "if (N <= 64) { int a[N]").replace("y[m][i] = a[i]; }", "y[m][i] = a[i]; } }");
    assert!(PREFIXES.contains(declared) && bounded.contains("if (N <= 64) { int a[N], b[N];"));
    assert_eq!(homes(unit(&lowered(&bounded), "block")), (vec![64, 64], 0));
    assert_eq!(homes(unit(&lowered(&whole), "block")), (vec![], 2));
}

#[test]
fn launches_are_joined_while_shared_memory_has_room_for_all() {
    let step = |to, from| {
        format!(
            "map {{ m := [0:M); int a[4096];
               map {{ i := [0:4096); a[i] = {from}[M-1-m][i]; }}
               map {{ i := [0:4096); {to}[m][i] = a[4095-i]; }} }}"
        )
    };
    let loops = [step("y", "x"), step("x", "y")].concat().repeat(2);
    let entry = lowered(&format!(
        "function f input int steps; inout int x[M][4096], y[M][4096];
         {{ for (int s = 0; s < steps; s += 1) {{ {loops} }} }}"
    ));
    let block = unit(&entry, "block");
    assert_eq!(homes(block), (vec![4096; 4], 0));
    let joined = block.kernels.iter().map(|(_, kernel)| kernel.grid.is_some_and(|grid| grid.joined));
    assert_eq!(joined.collect::<Vec<_>>(), [true, true, true, false], "48 of 64 KiB");
}

#[test]
fn devices_load_behind_conditions() {
    let program = "function f input uint8 a[H][W]; output uint8 b[H][W];
        { map { y := [0:H); x := [0:W); b[y][x] = y > 3 && a[y][x] > 7 ? 1 : 0; } }";
    let (optimised, func) = optimised(program);
    let in_front =
        optimised.funcs[func].vars.iter().any(|(_, var)| var.name == "a" && var.kind == hidp_ir::par::VarKind::Local);
    assert!(in_front, "lanes of vectors load in front of them");
    let entry = lowered(program);
    let kernels = entry.units.iter().flat_map(|unit| unit.kernels.iter().map(|(_, kernel)| kernel));
    let mut vars = kernels.flat_map(|kernel| kernel.function.vars.iter());
    assert!(vars.all(|(_, var)| var.name != "a" || !matches!(var.kind, VarKind::Value(_))));
}

#[test]
fn arrays_with_an_element_per_lane_are_in_registers() {
    let program = PREFIXES.replace("64", "32");
    let shuffles = |program: &str, plan: &str| {
        let entry = lowered(program);
        let unit = unit(&entry, plan);
        assert_eq!(on_host(unit, |stmt| matches!(stmt, Stmt::Alloc { .. })), 0);
        (homes(unit).0.len(), in_kernels(unit, |stmt| matches!(stmt, Stmt::Shuffle(_))))
    };
    assert_eq!(shuffles(&program, "warp"), (0, 1));
    let entry = lowered(&program);
    assert_eq!(in_kernels(unit(&entry, "warp"), |stmt| matches!(stmt, Stmt::Sync(_))), 0, "lanes wait for nobody");
    assert_eq!(shuffles(&program, "block"), (2, 0), "other warps cannot be asked");
    // What decides which element it is has to be known before the iterations.
    for (known, index) in [(true, "i - s"), (true, "i ^ 1"), (true, "3"), (false, "x[m][i] & 31"), (false, "i / 2")] {
        let other = program.replace("a[i - s]", &format!("a[{index}]"));
        let of_a = if known { (0, 1) } else { (1, 0) };
        assert_eq!(shuffles(&other, "warp"), of_a, "{index}");
    }
    // Elements of others are not stored, and a lane has one element.
    assert_eq!(shuffles(&program.replace("b[i] = i", "b[31 - i] = i"), "warp"), (1, 1));
    assert_eq!(shuffles(&program.replace("i >= s ? a[i]", "i >= s ? a[i] + b[31 - i]"), "warp"), (1, 1));
    assert_eq!(shuffles(&program.replace("int a[32], b[32]", "int a[33], b[32]"), "warp"), (1, 0));
}

#[test]
fn short_loops_that_compute_the_same_again_are_written_out() {
    let text = |body: &str, ranges: &str| {
        format!(
            "function f input float x[N][3], z[N][40]; output float y[N];
            {{ map {{ n := [0:N); map {{ {ranges} _t = {body}; }} reduce(\"+\", y[n], _t, i := [*], j := [*], k := [*]); }} }}"
        )
    };
    let unrolled = |text: &str| -> Vec<u32> {
        let entry = lowered(text);
        let mut found = Vec::new();
        for (_, kernel) in unit(&entry, "thread").kernels.iter() {
            each_stmt(&kernel.function.body, &mut |stmt| {
                if let Stmt::Loop(imp::Loop { kind: LoopKind::Unroll(times), .. }) = stmt {
                    found.push(*times);
                }
            });
        }
        found
    };
    let ranges = "i := [0:3); j := [0:3); k := [0:3);";
    // What j and k share is computed again for each i, what k has for each i and j.
    assert_eq!(unrolled(&text("x[n][i] * (x[n][j] / x[n][k])", ranges)), [3, 3]);
    assert_eq!(unrolled(&text("x[n][i] * x[n][j] * sqrt(x[n][k])", ranges)), [3, 3]);
    assert_eq!(
        unrolled(&text("x[n][j] / x[n][i] + sqrt(x[n][k] + x[n][j] * x[n][i])", ranges)),
        [0; 0],
        "anew in each turn"
    );
    assert_eq!(unrolled(&text("x[n][i] * (x[n][j] + x[n][k])", ranges)), [0; 0], "sums take no time");
    assert_eq!(unrolled(&text("x[n][i] * x[n][j] / x[n][k] * z[n][0]", ranges)), [0; 0], "products come first");
    let longer = "i := [0:3); j := [0:3); k := [0:7);";
    assert_eq!(unrolled(&text("z[n][i] * (z[n][j] / z[n][k])", longer)), [0; 0], "21 turns are too many");
    let unknown = "i := [0:3); j := [0:3); k := [0:N);";
    assert_eq!(unrolled(&text("x[n][i] * (x[n][j] / z[k][0])", unknown)), [0; 0], "nobody knows how many");
}

#[test]
fn sums_of_absolute_differences_of_narrow_integers_are_one_instruction() {
    let differences = |ty: &str, body: &str, sum: &str| {
        let entry = lowered(&format!(
            "function f input {ty} a[N][K], b[N][K]; output int y[N];
            {{ map {{ n := [0:N); map {{ k := [0:K); {body} }} reduce(\"+\", y[n], {sum}, k := [*]); }} }}"
        ));
        let (mut sums, mut values) = (0, 0);
        each_expr(&first_kernel(unit(&entry, "thread")).function.body, &mut |expr| match expr.kind {
            ExprKind::AbsDiffAdd(..) => sums += 1,
            ExprKind::Math(MathFn::Abs, _) => values += 1,
            _ => {}
        });
        (sums > 0, values > 0)
    };
    let plain = "_t = abs((int)a[n][k] - (int)b[n][k]);";
    for narrow in ["int8", "uint8", "short", "ushort"] {
        assert_eq!(differences(narrow, plain, "_t"), (true, false), "{narrow}");
    }
    assert_eq!(differences("int", plain, "_t"), (false, true), "the difference wraps");
    assert_eq!(differences("short", "_t = abs((int)a[n][k] - 2147450880);", "_t"), (false, true), "by one too far");
    assert_eq!(differences("short", "_t = abs((int)a[n][k] - 2147450879);", "_t"), (true, false));
    let changed = "int x = (int)a[n][k]; if (x > 3) { x = x * x; } _t = abs(x - (int)b[n][k]);";
    assert_eq!(differences("short", changed, "_t"), (false, true), "not narrow in all cases");
    let used = "int d = abs((int)a[n][k] - (int)b[n][k]); _t = d > 7 ? 0 : d + k;";
    assert_eq!(differences("uint8", &used.replace("+ k", "+ (int)b[n][0]"), "_t"), (false, true), "compared as well");
}

/// On processors they are for whole iterations in lanes alone: other plans have lanes in the steps of one table.
#[test]
fn rows_of_short_tables_are_for_lanes_and_devices() {
    let text = "recurrence int d(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
        { if (i == 0) return j; if (j == 0) return i;
          return min(d(i-1, j-1) + (s[i-1] == t[j-1] ? 0 : 1), min(d(i-1, j), d(i, j-1)) + 1); }
        function f input uint8 s[Y], t[Z]; input long a[R+1], b[R+1]; output int y[R];
        { map { r := [0:R); y[r] = d(a[r+1]-a[r], b[r+1]-b[r]; s = s[a[r]:a[r+1]), t = t[b[r]:b[r+1])); } }";
    let has_row = |unit: &Unit| {
        let is_row = |kind: &VarKind| match kind {
            VarKind::Tile { elem, .. } => *elem == Ty::Scalar(Scalar::I8),
            VarKind::WideTile { elem, .. } => *elem == Scalar::I8,
            _ => false,
        };
        unit.kernels.iter().any(|(_, kernel)| kernel.function.vars.iter().any(|(_, var)| is_row(&var.kind)))
    };
    let (program, func) = optimised(text);
    let (entry, _) =
        lower(&program, func, "test_entry", &plan::candidates(&program, func, &Model::cpu()), &Model::cpu());
    let with: Vec<&str> = entry.units.iter().filter(|unit| has_row(unit)).map(|unit| &unit.plan[..]).collect();
    assert_eq!(with, ["wide"]);
    assert!(has_row(unit(&lowered(text), "thread")));
}

use super::asked::Asked;
use super::slots::Form;
use super::*;
use crate::dispatch::Dispatch;
use crate::mapping::Mapping;
use crate::nests;
use crate::notation::FoldOption;
use crate::sizes::thin_points_of;
use crate::target::Model;
use crate::testing::optimised;
use crate::{
    Limits, Models, Natives, PinFile, Plan, Predictions, SEARCHED, add_device_rules, candidates, check_pins, dispatch,
    explore_with_times, is_searched,
};
use hidp_ir::par::FuncId;
use hidp_syntax::diag::Sink;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::SourceMap;

const SUMS: &str = "function f input float A[R][C]; output float y[R];
    { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
const COLUMNS: &str = "function f input float A[R][C]; output float y[C];
    { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[c], _t, r := [*]); }";
const OUTER: &str = "function f input float x[M], y[N]; output float C[M][N];
    { map { m := [0:M); n := [0:N); C[m][n] = x[m] * y[n]; } }";
const DEEP: &str = "function f input float A[N][M][K]; output float y[N];
    { map { i := [0:N); float s = 0.0f; map { j := [0:M); float t = 0.0f; map { k := [0:K); _a = A[i][j][k]; } reduce(\"+\", t, _a, k := [*]);
      _b = t * t; } reduce(\"+\", s, _b, j := [*]); y[i] = s; } }";
const SPARSE: &str = "function f input int p[R+1]; input double v[Z]; output double y[R];
    { map { r := [0:R); map { k := [p[r]:p[r+1]); _t = v[k]; } reduce(\"+\", y[r], _t, k := [*]); } }";
const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N];
    { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";

/// Does something with the search of the only nest.
fn with<T>(text: &str, domain: Domain, of: impl FnOnce(&Search<'_>, &Carrier<'_>) -> T) -> T {
    let program = optimised(text);
    let (id, model): (FuncId, _) = (program.entries[0], DeviceModel::cuda());
    let func = &program.funcs[id];
    let map = nests(func)[0];
    let search = Search::of(&program, func, map, (&model, domain)).unwrap();
    let carrier = Carrier::of(&program, func, map, &search.facts, &model);
    of(&search, &carrier)
}

/// The best row at some sizes, as text: lanes as x, y and z, without how many they are.
fn best(text: &str, sizes: &[i64]) -> String {
    with(text, Domain::PLANNED, |search, _| {
        let (at, _) = search.at(sizes.to_vec()).best[0];
        let searched = Searched { levels: search.facts.names(), space: Space::default(), found: Vec::new() };
        let shown = searched.print(&search.space.rows[at].0);
        let parts = shown.split(['(', ')']);
        parts.filter(|part| part.parse::<u32>().is_err()).collect::<Vec<_>>().join("").replace("spanall", "span(all)")
    })
}

#[test]
fn lanes_lie_along_what_lies_next_to_each_other() {
    assert_eq!(best(SUMS, &[1 << 16, 1 << 12]), "r y, c x span(all)");
    assert_eq!(best(COLUMNS, &[1 << 10, 1 << 18]), "c x, r span(all)");
    assert_eq!(best(OUTER, &[4096, 4096]), "m y, n x");
    assert_eq!(best(&OUTER.replace("[M][N]", "[N][M]").replace("[m][n]", "[n][m]"), &[4096, 4096]), "m x, n");
}

#[test]
fn lanes_take_iterations_side_by_side_that_share_what_they_load() {
    let text = |range: &str, value: &str| {
        format!(
            "function f input float x[A]; output float y[H][W];
             {{ map {{ i := [0:H); j := [0:W); map {{ a := {range}; _t = {value}; }} reduce(\"+\", y[i][j], _t, a := [*]); }} }}"
        )
    };
    let root = "sqrt(x[a] + (float)(i * j))";
    assert_eq!(best(&text("[0:A)", root), &[1024, 1024, 1024]), "i y reg, j x, a span(all)");
    // Too few, ranges of other lengths, and what nobody shares.
    let apart = |text: String, sizes: &[i64]| assert!(!best(&text, sizes).contains("reg"), "{text}");
    apart(text("[0:A)", root), &[1024, 128, 128]);
    apart(text("[0:i+j)", root), &[4096, 1024, 1024]);
    apart(text("[0:A)", "sqrt(x[i * j * a % A])"), &[1024, 1024, 1024]);
}

#[test]
fn short_rows_go_to_single_lanes_and_long_ones_to_many() {
    assert_eq!(best(SUMS, &[1 << 20, 8]), "r x, c span(all)");
    assert_eq!(best(SUMS, &[512, 1 << 14]), "r, c x span(all)");
    assert_eq!(best(SPARSE, &[1 << 16, 1 << 17]), "r x, k span(all)", "2 a row");
    assert_eq!(best(SPARSE, &[1 << 16, 1 << 24]), "r y, k x span(all)", "256 a row");
}

/// Each lane of a group finds the item, and its terms in an index for both loops: not worth it for a fold that one lane has written out.
#[test]
fn what_it_takes_to_find_where_lanes_are_is_counted() {
    let text = "function f input uint8 a[4*B][4*C], z[4*B+S][4*C+S]; output int y[B][C][S][S];
        { map { b := [0:B); c := [0:C); u := [0:S); v := [0:S);
          map { i := [0:4); j := [0:4); _t = abs((int)a[4*b+i][4*c+j] - (int)z[4*b+u+i][4*c+v+j]); } reduce(\"+\", _sum, _t, i := [*], j := [*]);
          y[b][c][u][v] = _sum; } }";
    // Windows of neighbouring rows overlap.
    assert_eq!(best(text, &[48, 48, 24]), "b, c, u y reg, v x, i j span(all)");
}

/// Issue slots of an iteration of the map inside, of which a lane takes so many.
fn slots(text: &str, sizes: &[i64], form: Form) -> f64 {
    with(text, Domain::PLANNED, |search, _| {
        let numbers = search.facts.at(sizes, &search.model.machine);
        let (_, mapping) = &search.space.rows[0];
        Asked::new(&search.facts, &numbers, mapping, search.model).slots_of(1, form, 1.0)
    })
}

#[test]
fn compilers_leave_outside_what_an_inner_loop_does_not_change() {
    let text = |value: &str| {
        format!(
            "function f input float x[N], u[K], v[L]; output float y[N];
            {{ map {{ n := [0:N); map {{ k := [0:K); l := [0:L); float s = {value}; _t = s; }} reduce(\"+\", _sum, _t, k := [*], l := [*]); y[n] = _sum; }} }}"
        )
    };
    let (inner, outer, all) = ("v[l] + sqrt(v[l])", "v[l] + sqrt(u[k])", "v[l] + sqrt(x[n])");
    let sizes = [1000, 10, 20];
    let [inner, outer, all] = [inner, outer, all].map(|value| {
        let of = |form: Form| slots(&text(value), &sizes, form);
        (of(Form::InOrder(200.0)), of(Form::Shared(200.0)))
    });
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    // A root is 8, a load 1, and to find where the other array is 6: for each of its turns, each `k`, or each `n`.
    near(inner.0 - outer.0, 9.0 - (9.0 / 20.0 + 6.0 / 200.0));
    near(outer.0 - all.0, 9.0 / 20.0 + 6.0 / 200.0 - 15.0 / 200.0);
    // One index for both loops changes all of it in each turn, but for what neither changes.
    near(inner.1 - outer.1, -6.0);
    near(outer.1 - all.1, 15.0 - 15.0 / 200.0);
}

/// A range as long as no `long` can say.
#[test]
fn ranges_without_end_are_counted() {
    let text = "function f input double v[Z]; output double y[R];
        { map { r := [0:R); map { k := [-9223372036854775807:Z); _t = k < 0 ? 0.0 : v[k]; } reduce(\"+\", y[r], _t, k := [*]); } }";
    assert!(!best(text, &[64, 64]).is_empty());
}

#[test]
fn few_results_are_split() {
    assert_eq!(best(SUMS, &[16, 1 << 22]), "r, c x split");
    assert_eq!(best(COLUMNS, &[1 << 14, 1 << 10]), "c x, r split");
}

#[test]
fn lanes_that_results_leave_take_parts() {
    with(COLUMNS, Domain::PLANNED, |search, _| {
        let is_split = |row: &Row| row[1] == Level { dim: None, size: 1, span: Span::Split(None) };
        let (_, mapping) = search.space.rows.iter().find(|(row, _)| is_split(row)).expect("single lanes take parts");
        let groups = mapping.cut(search.facts.loops[1].map).and_then(|cut| cut.number(FoldOption::Groups)).unwrap();
        let columns = 4;
        let parts = groups / columns;
        let rows = 32 * parts;
        let numbers = search.facts.at(&[rows, columns].map(i64::from), &search.model.machine);
        let found = cost::predict(&search.facts, &numbers, mapping, search.model).unwrap();
        // Eight rows follow each other in the lanes of a warp, so that each sector is asked for once. What parts leave is stored and loaded
        // so too, and lies the other way round; then results are stored one by one.
        let bytes = numbers.loops[1].sites[0].size / f64::from(search.model.machine.sector);
        assert_eq!(found.sectors, f64::from((rows + 2 * parts) * columns) * bytes + f64::from(columns));
        // Lanes of a block fold what is left of a column, of which a warp would have so many elements to each lane.
        let of_lane = f64::from(parts / search.model.warp / search.model.machine.under_way);
        assert!(found.combining < of_lane * f64::from(search.model.machine.latency) / 4.0, "{found}");
    });
}

#[test]
fn nests_three_deep_have_three_sizes() {
    assert_eq!(best(DEEP, &[64, 64, 4096]), "i, j y span(all), k x span(all)");
    assert_eq!(best(DEEP, &[1 << 16, 4, 64]), "i y, j span(all), k x span(all)");
    assert_eq!(best(DEEP, &[1 << 18, 4, 4]), "i x, j span(all), k span(all)");
}

#[test]
fn what_loops_keep_has_registers() {
    let text = |body: &str| {
        format!(
            "function f input float x[R][C]; output float y[R][C];
             {{ map {{ r := [0:R); c := [0:C); float v = x[r][c]; {body} y[r][c] = v; }} }}"
        )
    };
    let most = |body: &str| {
        with(&text(body), Domain::PLANNED, |search, _| {
            let threads = |row: &Row| row.iter().map(|level| level.size).product::<u32>();
            search.space.rows.iter().map(|(row, _)| threads(row)).max()
        })
    };
    assert_eq!(most("v = v * v;"), Some(1024));
    assert_eq!(most("for (int k = 0; k < 9; k += 1) v = v * v;"), Some(512));
}

/// Sectors that the counting executor finds (`cargo xtask counts --mappings` samples more): of warps without work, ends of ranges, parts.
#[test]
fn sectors_are_those_that_are_counted() {
    let rows = [64, 128];
    let product = [64, 32, 64];
    let counted: [(&str, &[i64], &str, f64); 10] = [
        (SUMS, &rows, "r x(32) span(8), c span(all)", 8200.0),
        (SUMS, &rows, "r x(512) span(8), c span(all)", 8200.0),
        (SUMS, &rows, "r, c x(128) span(all)", 1088.0),
        (SUMS, &rows, "r y(64), c x(4) span(all)", 2056.0),
        (SUMS, &rows, "r x(1024), c split(512)", 17472.0),
        (SUMS, &rows, "r, c x(256) split(512)", 1408.0),
        (COLUMNS, &rows, "c x(1024), r split(512)", 10368.0),
        (COLUMNS, &rows, "c, r x(256) split(512)", 8704.0),
        (GEMM, &product, "m x(4), n y(64) span(2), k span(all)", 20992.0),
        (GEMM, &product, "m y(512) span(8), n x(2) span(8), k span(all)", 71680.0),
    ];
    for (text, sizes, row, sectors) in counted {
        assert_eq!(time_of(text, sizes, row).sectors, sectors, "{row}");
    }
}

/// The time of a row of the whole space.
fn time_of(text: &str, sizes: &[i64], row: &str) -> Predicted {
    with(text, Domain::WHOLE, |search, _| {
        let names = search.facts.names();
        let own = search.space.rows.iter().find(|(own, _)| print(&names, own) == row);
        let (_, mapping) = own.unwrap_or_else(|| panic!("no row `{row}`"));
        let numbers = search.facts.at(sizes, &search.model.machine);
        cost::predict(&search.facts, &numbers, mapping, search.model).unwrap()
    })
}

#[test]
fn what_a_lane_takes_at_once_has_come_for_nobody_before() {
    // A turn for each lane, whatever it is called, and a second one beyond the end.
    let once = time_of(OUTER, &[64, 64], "m y(4), n x(64)");
    assert_eq!(time_of(OUTER, &[64, 64], "m y(4), n x(64) span(all)"), once);
    let [one, two] = ["m x(256), n", "m x(256), n span(2)"].map(|row| time_of(OUTER, &[1 << 16, 1], row));
    assert!((one.coalescing - two.coalescing).abs() < 1.0, "{one}, {two}");
}

#[test]
fn turns_around_those_of_the_innermost_loop_have_brought_what_they_share() {
    // 64 bytes of its own for each lane: two sectors in all, whichever loop goes through them.
    let [square, long] = [[1 << 18, 4, 4], [1 << 18, 1, 16]].map(|sizes| {
        let found = time_of(DEEP, &sizes, "i x(256), j span(all), k span(all)");
        found.coalescing + found.work
    });
    assert!((square - long).abs() < 0.1 * long, "{square}, {long}");
}

/// All rows of some levels, one after the other.
fn raw(levels: usize, domain: Domain, number: usize) -> Option<Row> {
    let lanes: Vec<(u32, Option<Axis>)> = domain
        .sizes
        .iter()
        .flat_map(|size| {
            let dims = if *size == 1 { vec![None] } else { Axis::ALL.map(Some).to_vec() };
            dims.into_iter().map(|dim| (*size, dim))
        })
        .collect();
    let mut rest = number;
    let row = (0..levels).map(|_| {
        let (at, span) = (rest % lanes.len(), rest / lanes.len() % domain.inner.len());
        rest /= lanes.len() * domain.inner.len();
        Level { dim: lanes[at].1, size: lanes[at].0, span: domain.inner[span] }
    });
    let row = row.collect();
    (rest == 0).then_some(row)
}

#[test]
fn early_cuts_leave_what_the_whole_space_has() {
    for text in [SUMS, COLUMNS, SPARSE, OUTER] {
        with(text, Domain::WHOLE, |search, carrier| {
            let rows: OrdSet<&Row> = search.space.rows.iter().map(|(row, _)| row).collect();
            let all = (0..).map_while(|number| raw(carrier.levels(), Domain::WHOLE, number));
            let carried: Vec<Row> = all.filter(|row| carrier.mapping(row).is_ok()).collect();
            assert_eq!(carried.len(), rows.len(), "{text}");
            assert!(carried.iter().all(|row| rows.contains(row)), "{text}");
            // The best of all, one by one.
            for sizes in points(search.dims, 8) {
                let numbers = search.facts.at(&sizes, &search.model.machine);
                let times = carried.iter().map(|row| {
                    let mapping = carrier.mapping(row).unwrap_or_else(|_| unreachable!("it is carried"));
                    cost::predict(&search.facts, &numbers, &mapping, search.model)
                });
                let times: Vec<Option<Predicted>> = times.collect();
                let best = times[least(&times).unwrap()].unwrap();
                let (_, found) = search.at(sizes).best[0];
                // Rows that are alike come in another order.
                assert_eq!(found.lines, best.lines, "{text}");
                assert!(found.total() <= ALIKE * best.total() && best.total() <= ALIKE * found.total(), "{text}");
            }
        });
    }
}

#[test]
fn a_sample_of_three_levels_is_cut_alike() {
    with(DEEP, Domain::WHOLE, |search, carrier| {
        let rows: OrdSet<&Row> = search.space.rows.iter().map(|(row, _)| row).collect();
        let mut seed: u64 = 12;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        let all = Domain::WHOLE.sizes.len() * 3 - 2;
        let (mut carried, sample) = (0, 10_000);
        for _ in 0..sample {
            // Another level in a row of the space.
            let mut row = search.space.rows[random(search.space.rows.len())].0.clone();
            row[random(3)] = raw(1, Domain::WHOLE, random(all * Domain::WHOLE.inner.len())).unwrap()[0];
            let is_one = carrier.mapping(&row).is_ok();
            carried += usize::from(is_one);
            assert_eq!(rows.contains(&row), is_one, "{row:?}");
        }
        assert!((1..sample).contains(&carried), "{carried}");
        assert!(rows.iter().all(|row| carrier.mapping(row).is_ok()));
    });
}

#[test]
fn rows_are_lines_of_their_own() {
    for text in [SUMS, COLUMNS, SPARSE, OUTER, DEEP, GEMM] {
        let program = optimised(text);
        let (id, model) = (program.entries[0], DeviceModel::cuda());
        let (func, map) = (&program.funcs[id], nests(&program.funcs[id])[0]);
        let search = Search::of(&program, func, map, (&model, Domain::WHOLE)).unwrap();
        let mut seen = OrdSet::new();
        for (row, mapping) in search.space.rows.iter().step_by(7) {
            let lines = mapping.lines(func, map);
            let read =
                Mapping::read(&program, func, map, &lines).unwrap_or_else(|why| panic!("{row:?}: {why}\n{lines}"));
            assert_eq!(read.lines(func, map), lines);
            assert!(seen.insert(lines.to_string()), "{row:?} has the lines of another row: {lines}");
        }
    }
}

#[test]
fn steps_are_bounded() {
    for (text, most) in [(SUMS, 440), (OUTER, 440), (DEEP, 1350), (GEMM, 4500)] {
        with(text, Domain::PLANNED, |search, _| {
            let steps = search.space.steps;
            assert!(steps <= most && steps * 2 > most, "{steps} steps, not about {most}: {text}");
            assert!(search.space.rows.len() <= 180, "{}", search.space.rows.len());
        });
    }
}

#[test]
fn cuts_name_constraints() {
    let cuts =
        |text: &str| with(text, Domain::PLANNED, |search, _| search.space.cuts.keys().copied().collect::<Vec<_>>());
    assert_eq!(cuts(SUMS), ["block-threads", "dims", "group"]);
    assert_eq!(cuts(SPARSE), ["block-threads", "dims", "fault-order", "group"], "ranges are checked");
    let ordered = SUMS.replace("map {", "\n#pragma hidp ordered\n map {");
    assert!(cuts(&ordered).contains(&"sequence"), "{:?}", cuts(&ordered));
}

#[test]
fn mappings_of_the_space_can_be_pinned() {
    let program = optimised(DEEP);
    let (cpu, device) = (Model::cpu(), DeviceModel::cuda());
    let models = Models { cpu: &cpu, device: &device };
    let refused = |lanes: &str| {
        let nest = format!("i grid.x\n j seq\n k seq\n k thread.x({lanes})\n block(128)\n");
        let mut sources = SourceMap::new();
        let file = sources.add("k.hdp", DEEP);
        let plans = sources.add("k.plan", format!("entry f\nplan own\nnest\n {nest}"));
        let mut sink = Sink::new();
        check_pins(&program, &sources, &[PinFile { program: file, plans }], models, &mut sink);
        sink.has_errors()
    };
    assert!(!refused("8"), "lanes of the innermost map alone");
    assert!(refused("16"), "no group");
}

/// The plans of an entry for devices, and when each runs.
pub(super) fn dispatched(program: &Program) -> (Vec<Plan>, Dispatch) {
    let (id, cpu, model) = (program.entries[0], Model::cpu(), DeviceModel::cuda());
    let func = &program.funcs[id];
    let (explored, predictions) = explore_with_times(program, id, &model, Limits::default(), Natives::default());
    let plans = explored.plans;
    let host = candidates(program, id, &cpu);
    let mut dispatch = dispatch(program, func, &host, &cpu);
    let mut again = dispatch.clone();
    add_device_rules(&mut dispatch, program, func, (&host[0], &plans), (&cpu, &model), predictions);
    add_device_rules(&mut again, program, func, (&host[0], &plans), (&cpu, &model), Predictions::default());
    assert_eq!(dispatch, again, "what is predicted again is the same");
    (plans, dispatch)
}

#[test]
fn predictions_are_of_one_function_on_one_device() {
    let program = optimised(SUMS);
    let (func, models) = (&program.funcs[program.entries[0]], [DeviceModel::cuda(), DeviceModel::cuda()]);
    let times =
        || explore_with_times(&program, program.entries[0], &models[0], Limits::default(), Natives::default()).1;
    assert!(times().known(func, &models[0]).is_some());
    assert!(times().known(&func.clone(), &models[0]).is_none());
    assert!(times().known(func, &models[1]).is_none());
}

/// The lines of the plan that the search makes, and the rules that choose it.
fn planned(text: &str) -> Option<(Plan, Vec<String>)> {
    let (plans, dispatch) = dispatched(&optimised(text));
    let rules = dispatch.rules.iter().filter(|rule| rule.plan == SEARCHED).map(|rule| dispatch.print(rule)).collect();
    plans.into_iter().find(|plan| plan.name == SEARCHED).map(|plan| (plan, rules))
}

#[test]
fn nests_of_an_entry_have_mappings_of_their_own() {
    let text = "function f input float A[R][C]; output float y[R], z[C];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]);
          map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", z[c], _t, r := [*]); }";
    let (plan, rules) = planned(text).expect("no level suits both");
    let lines: Vec<String> = plan.nests.iter().map(ToString::to_string).collect();
    // Many short rows: a lane each. The same columns are few and long: neighbouring lanes take neighbouring columns, and parts of them.
    assert!(!lines[0].contains("thread.x") && !lines[0].contains("groups("), "{}", lines[0]);
    assert!(lines[1].contains("r grid.y\n  c grid.x") && lines[1].contains("groups("), "{}", lines[1]);
    assert_eq!(rules, ["inner < 275: searched"]);
}

#[test]
fn what_other_plans_do_as_well_is_no_plan_of_its_own() {
    for text in [&SUMS.replace('C', "4"), OUTER] {
        assert_eq!(planned(text).map(|(plan, _)| plan.to_string()), None, "{text}");
    }
    let asked = "function f input float A[R][C]; output float y[R], z[C];
        {
        #pragma hidp warp
        map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]);
          map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", z[c], _t, r := [*]); }";
    assert_eq!(planned(asked).map(|(plan, _)| plan.to_string()), None, "a directive says how");
}

/// The name of the plan that runs untuned on a device.
fn chosen(text: &str, sizes: &[i64]) -> String {
    let program = optimised(text);
    let (plans, dispatch) = dispatched(&program);
    dispatch.on_device(&program.funcs[program.entries[0]], &plans, sizes).expect("plans for devices").name.clone()
}

#[test]
fn predicted_times_choose_among_plans() {
    assert_eq!(chosen(SUMS, &[4096, 4096]), "block", "warps have too few loads under way");
    assert_eq!(chosen(SUMS, &[1 << 16, 16]), "thread");
    assert_eq!(chosen(SUMS, &[16, 1 << 22]), "split");
    let products = "function f input float A[P][M][K], B[P][K][N]; output float C[P][M][N];
        { map { p := [0:P); m := [0:M); n := [0:N); k := [0:K); _t = A[p][m][k] * B[p][k][n]; } reduce(\"+\", C[p][m][n], _t, k := [*]); }";
    assert_eq!(chosen(products, &[1000, 8, 8, 8]), "thread", "short folds");
    assert_eq!(chosen(products, &[1, 4096, 4096, 4096]), "tiled128x128", "nothing is predicted of tiles: they stay");
}

#[test]
fn several_plans_of_the_search_have_sizes_of_their_own() {
    let program = optimised(COLUMNS);
    let (plans, dispatch) = dispatched(&program);
    let own: Vec<&str> = plans.iter().filter(|plan| is_searched(plan)).map(|plan| plan.name.as_str()).collect();
    assert!((2..=3).contains(&own.len()), "{own:?}");
    let func = &program.funcs[program.entries[0]];
    let at = |sizes: &[i64]| dispatch.on_device(func, &plans, sizes).expect("plans for devices");
    let chosen: OrdSet<&str> = thin_points_of(func, 4).iter().map(|sizes| at(sizes).name.as_str()).collect();
    assert!(own.iter().all(|name| chosen.contains(name)), "{chosen:?}");
    // Three columns: lanes along results would leave more parts than one block folds in time.
    let (thin, model) = ([1 << 20, 3], DeviceModel::cuda());
    let whole = Whole::of(&program, func, nests(func)[0], &model).unwrap();
    let time = |plan: &Plan| whole.time(&plan.nests[0], &thin).map_or(f64::INFINITY, |time| time.total());
    let others = plans.iter().filter(|plan| !is_searched(plan)).map(time).fold(f64::INFINITY, f64::min);
    assert!(is_searched(at(&thin)) && 2.0 * time(at(&thin)) < others, "{}", at(&thin));
}

/// Lee et al.'s claim: it does not matter in which order a program has its loops.
#[test]
fn loops_written_either_way_ask_for_the_same() {
    let orders = |text: &str, first: &str| -> Vec<String> {
        let (before, rest) = text.split_once("map { ").expect("a map");
        let at = rest.find(first).expect("what is done");
        let iters: Vec<&str> = rest[..at].split_inclusive("; ").collect();
        let turned: String = iters.iter().rev().copied().collect();
        vec![text.to_owned(), format!("{before}map {{ {turned}{}", &rest[at..])]
    };
    let cases: [(&str, &str, &[&[i64]]); 4] = [
        (SUMS, "_t", &[&[4096, 4096], &[1 << 16, 16], &[16, 1 << 16], &[1 << 20, 3]]),
        (COLUMNS, "_t", &[&[4096, 4096], &[1 << 16, 16], &[16, 1 << 16], &[1 << 20, 3]]),
        (OUTER, "C[m]", &[&[4096, 4096], &[1 << 16, 16], &[16, 1 << 16]]),
        (GEMM, "_t", &[&[64, 64, 64], &[1000, 300, 7], &[7, 300, 1000], &[16, 4096, 16]]),
    ];
    for (text, first, all) in cases {
        let asked = orders(text, first).into_iter().map(|text| {
            let program = optimised(&text);
            let (plans, dispatch) = dispatched(&program);
            let (func, model) = (&program.funcs[program.entries[0]], DeviceModel::cuda());
            // Dimensions come in the order of the parameters.
            let at = |sizes: &&[i64]| {
                let plan = dispatch.on_device(func, &plans, sizes).expect("plans for devices");
                let search = Search::of(&program, func, nests(func)[0], (&model, Domain::PLANNED)).unwrap();
                let numbers = search.facts.at(sizes, &model.machine);
                let mapping = Mapping::read(&program, func, nests(func)[0], &plan.nests[0]).unwrap();
                cost::predict(&search.facts, &numbers, &mapping, &model)
            };
            all.iter().map(at).collect::<Vec<_>>()
        });
        let asked: Vec<Vec<Option<Predicted>>> = asked.collect();
        assert!(asked[0].iter().flatten().count() > 1, "{text}");
        for (one, other) in asked[0].iter().zip(&asked[1]) {
            let parts = |found: &Option<Predicted>| found.map(|found| (found.sectors, found.total()));
            assert_eq!(parts(one), parts(other), "{text}");
        }
    }
}

#[test]
fn six_dimensions_are_searched() {
    let text = "function f input float a[A], b[B], c[C], d[D], e[E], g[G]; output float y[A];
        { map { i := [0:A); j := [0:B); _t = a[i] * b[j] + c[0] + d[0] + e[0] + g[0]; } reduce(\"+\", y[i], _t, j := [*]); }";
    assert!(!chosen(text, &[1 << 16; 6]).is_empty());
}

#[test]
fn predictions_that_end_early_change_nothing() {
    // Maps of unlike ranges stay apart.
    let sum = |(low, name): (usize, &str)| {
        let term = "_t = A[k][i] * B[i][k] * x[k];";
        format!("map {{ k := [{low}:K); {term} }} reduce(\"+\", {name}, _t, k := [*]); o += {name};")
    };
    let sums: String = ["a", "b", "c", "d", "e", "g"].into_iter().enumerate().map(sum).collect();
    let declared = "float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f, e = 0.0f, g = 0.0f, o = 0.0f;";
    let many = format!(
        "function f input float A[K][N], B[N][K], x[K]; output float y[N];
        {{ map {{ i := [0:N); {declared} {sums} y[i] = o; }} }}"
    );
    let ended = with(&many, Domain::PLANNED, |search, _| {
        assert!(search.facts.loops.len() > cost::MANY_MAPS, "{}", search.facts.loops.len());
        let numbers = search.facts.at(&[4096; 2], &search.model.machine);
        let of = |(_, mapping): &(Row, Mapping)| {
            let limited = cost::predict_within(&search.facts, &numbers, mapping, search.model, 1.0);
            (limited.is_none(), cost::predict(&search.facts, &numbers, mapping, search.model).is_some())
        };
        search.space.rows.iter().map(of).collect::<Vec<_>>()
    });
    assert!(ended.contains(&(true, true)), "{ended:?}");
    for text in [&many, SUMS, DEEP] {
        with(text, Domain::PLANNED, |search, _| {
            for sizes in points(search.dims, 2) {
                let numbers = search.facts.at(&sizes, &search.model.machine);
                let expected = search.best(&numbers).first().map(|(at, _)| *at);
                for likely in [0, search.space.rows.len() / 2, usize::MAX] {
                    let found = fastest(&search.facts, &search.space, &numbers, search.model, likely);
                    assert_eq!(found.row, expected, "{sizes:?}, beginning with {likely}");
                    for ((_, mapping), time) in search.space.rows.iter().zip(&found.times) {
                        let whole = cost::predict(&search.facts, &numbers, mapping, search.model);
                        assert!(time.is_none() || *time == whole.map(|time| time.total()), "{time:?}, not {whole:?}");
                    }
                    assert!(expected.is_none_or(|row| found.times[row].is_some()), "{sizes:?}");
                }
            }
        });
    }
}

#[test]
fn the_warp_with_the_longest_range_decides_where_the_others_end_before() {
    let text = |range: &str| {
        format!(
            "function f input float x[N]; output float y[N];
             {{ map {{ i := [0:N); map {{ j := {range}; _t = x[i] * x[j]; }} reduce(\"+\", _s, _t, j := [*]); y[i] = _s; }} }}"
        )
    };
    let of = |range: &str, row: &str| time_of(&text(range), &[1024], row).parallelism;
    let (mean, long) = ("[0:N/2)", "[i:N)");
    let (warp, block) = ("i y(8), j x(32) span(all)", "i, j x(256) span(all)");
    // The first row is twice as long as the mean; eight warps share one.
    assert!(of(long, warp) > 1.5 * of(mean, warp), "{} {}", of(long, warp), of(mean, warp));
    assert!(of(long, block) < 1.1 * of(mean, block) + 1.0, "{} {}", of(long, block), of(mean, block));
}

#[test]
fn loads_that_find_the_next_one_are_waited_for() {
    let text = |turn: &str| {
        format!(
            "function f input float x[N], z[M], a[A]; output int y[N];
             {{ map {{ n := [0:N);
                 map {{ m := [0:M); int low = 0, high = 99; float sum = x[n] * z[m]; while (low < high) {{ {turn} }} _t = low + (int)sum; }}
                 reduce(\"+\", _s, _t, m := [*]); y[n] = _s; }} }}"
        )
    };
    let of = |turn: &str| time_of(&text(turn), &[64, 1000, 100], "n x(64), m span(all)").parallelism;
    let machine = DeviceModel::cuda().machine;
    let waits = 1000.0 * 8.0 * f64::from(machine.near_latency) * 1000.0 / f64::from(machine.clock);
    // Turns that know beforehand where they load do not wait.
    let search = "int middle = (low + high) / 2; if (sum < a[middle]) { high = middle; } else { low = middle + 1; }";
    let known = "int middle = (low + high) / 2; sum += a[middle]; if (middle > 9) { high = middle; } else { low = middle + 1; }";
    let more = of(search) - of(known);
    assert!((0.8 * waits..1.2 * waits).contains(&more), "{more} for {waits}");
}

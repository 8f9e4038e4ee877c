//! When which level of a device runs an entry, untuned: HiDP's thresholds on the degree of parallelism, and the length of what is
//! inside an iteration. The plan of the first level in the order of preference runs where no rule holds.

use std::collections::BTreeSet;

use super::measures::{INNER, Measure, PARALLEL};
use super::shape::{Stride, coefficient, stride_of};
use super::tiled::has_tile;
use super::{Bound, Condition, Nest, Plan, Rule, Stage, Strategy, inner_maps};
use crate::compiler::ir::par::effects::Effects;
use crate::compiler::ir::par::visit;
use crate::compiler::ir::par::{Func, Map, Program, VarId, VarKind};
use crate::compiler::syntax::ast::Level;
use crate::compiler::target::DeviceModel;

/// Rules for the plans of an entry whose dominant nest is `map`, number `dominant`.
pub(super) fn device_rules(
    program: &Program,
    func: &Func,
    (dominant, map): (usize, &Map),
    plans: &[Plan],
    measures: &[Measure],
    model: &DeviceModel,
) -> Vec<Rule> {
    let find = |name: &str| measures.iter().position(|measure| measure.name == name);
    let (parallel, inner) = (find(PARALLEL), find(INNER));
    let at_least = |measure: Option<usize>, level: Level| {
        let (_, bound) = model.thresholds.iter().find(|(other, _)| *other == level)?;
        Some(Condition { measure: measure?, least: true, bound: Bound::Fixed((*bound).into()) })
    };
    let below = |measure: Option<usize>, bound: i64| {
        Some(Condition { measure: measure?, least: false, bound: Bound::Fixed(bound) })
    };
    let fewer = |level: Level| at_least(parallel, level).map(|condition| Condition { least: false, ..condition });
    let long = |turns: u32| Some(Condition { measure: inner?, least: true, bound: Bound::Fixed(turns.into()) });
    let mut rules = Vec::new();
    let nest = |plan: &&Plan, wanted: &dyn Fn(&Nest) -> bool| plan.nests.get(dominant).is_some_and(wanted);
    for tile in &model.tiles {
        let planned = plans.iter().find(|plan| nest(plan, &|nest| has_tile(map, nest, tile)));
        if let (Some(plan), Some(measure)) = (planned, parallel) {
            let mut conditions = vec![Condition { measure, least: true, bound: Bound::Fixed(tile.from.into()) }];
            if tile.split > 0 {
                // Two parts at least; and it is not known to be worth it if the folds' length is not.
                let two_parts = i64::from(tile.rows * tile.columns) * i64::from(tile.split / 2);
                let (Some(two_parts), Some(long)) = (below(parallel, two_parts), long(tile.terms)) else { continue };
                conditions.extend([two_parts, long]);
            }
            rules.push(Rule { conditions, plan: plan.name.clone() });
        }
    }
    // Tiles of transposed arrays cost little, and what lanes load with gaps costs several times its bytes. What neighbouring iterations
    // share may come from the caches as well: only measurements choose that.
    let across = plans.iter().find(|plan| nest(plan, &|nest| nest.is_near() && nest.stages(Stage::Transposed)));
    if let (Some(plan), Some(condition)) = (across, at_least(parallel, Level::Thread)) {
        rules.push(Rule { conditions: vec![condition], plan: plan.name.clone() });
    }
    if let Some(plan) = plans.iter().find(|plan| nest(plan, &|nest| nest.is_split() && nest.staging.is_empty())) {
        let by_threads = plan.nests[dominant].strategy == Strategy::Device(Level::Thread);
        let few = if by_threads { fewer(Level::Thread) } else { below(parallel, (model.split.blocks / 2).into()) };
        let several = below(parallel, model.split.several.into()).map(|few| Condition { least: true, ..few });
        let shorter = by_threads.then(|| vec![several, few, long(model.split.short)]);
        for conditions in [Some(vec![few, long(model.split.long)]), shorter].into_iter().flatten() {
            if let Some(conditions) = conditions.into_iter().collect() {
                rules.push(Rule { conditions, plan: plan.name.clone() });
            }
        }
    }
    if plans.iter().filter(|plan| nest(plan, &is_plain)).count() < 2 {
        return rules;
    }
    let mut rule = |level: Level, conditions: Vec<Option<Condition>>| {
        let known: Option<Vec<Condition>> = conditions.into_iter().collect();
        let own = |nest: &Nest| nest.strategy == Strategy::Device(level) && is_plain(nest);
        let planned = plans.iter().find(|plan| nest(plan, &own));
        if let (Some(conditions), Some(plan)) = (known, planned) {
            rules.push(Rule { conditions, plan: plan.name.clone() });
        }
    };
    let lanes = |level: Level| i64::from(model.lanes(level, model.block));
    if rows_apart(program, func, map) {
        // Threads next to each other read rows apart: as many lines at a time as a row has elements, of which the cache looks for one a
        // cycle. Groups ask for whole sectors, but have few loads under way in a row: the shorter rows are, the more rows at a time a
        // warp needs.
        rule(Level::Thread, vec![at_least(parallel, Level::Thread), below(inner, ROW_OF_THREAD)]);
        rule(Level::Subwarp2, vec![at_least(parallel, Level::Subwarp2), below(inner, 4 * lanes(Level::Subwarp2))]);
        rule(Level::Subwarp, vec![at_least(parallel, Level::Subwarp), below(inner, 16 * lanes(Level::Subwarp))]);
    } else {
        rule(Level::Thread, vec![at_least(parallel, Level::Thread)]);
        rule(Level::Subwarp, vec![at_least(parallel, Level::Subwarp), below(inner, lanes(Level::Warp))]);
    }
    rule(Level::Kernel, vec![fewer(Level::Block), long(model.block * model.most_runs)]);
    rule(Level::Block, vec![fewer(Level::Warp)]);
    rules
}

/// Elements of a row from which on one thread does not read it alone, where threads next to each other read other rows.
const ROW_OF_THREAD: i64 = 17;

/// Whether groups of one level run a nest, and keep nothing near.
fn is_plain(nest: &Nest) -> bool {
    nest.staging.is_empty() && !nest.is_split()
}

/// Whether most accesses inside are to neighbours along the inner iterators rather than along the outermost map's last one.
pub(super) fn rows_apart(program: &Program, func: &Func, map: &Map) -> bool {
    let Some(outer) = map.iters.last() else { return false };
    let declared = Effects::of_block(program, &func.vars, &map.body).declares;
    let varying: BTreeSet<VarId> = declared.into_iter().filter(|var| func.vars[*var].kind != VarKind::Iter).collect();
    let (mut across, mut along) = (0, 0);
    let near = |stride: Stride| matches!(stride, Stride::Unit | Stride::Invariant);
    for inner in inner_maps(&map.body) {
        let Some(own) = inner.iters.last() else { continue };
        // A range that begins elsewhere for each outer iteration: what moves along it is elsewhere too.
        let moves = coefficient(&own.lo, outer.var, &varying) != Some(0);
        visit::walk_places(&inner.body, |place, _| {
            let apart = moves && stride_of(place, own.var, &varying) != Stride::Invariant;
            across += usize::from(!apart && near(stride_of(place, outer.var, &varying)));
            along += usize::from(near(stride_of(place, own.var, &varying)));
        });
    }
    along > across
}

#[cfg(test)]
mod tests {
    use crate::compiler::diag::Sink;
    use crate::compiler::pipeline::{InputFile, Options, PipelineInput, front, lower_entry, optimise};
    use crate::compiler::plan::Limits;
    use crate::compiler::source::SourceMap;
    use crate::compiler::target::Model;

    /// The plans for a device, best guess first, and the rules for them.
    fn of(text: &str) -> (Vec<String>, Vec<String>) {
        of_limits(text, Limits::default())
    }
    fn of_limits(text: &str, limits: Limits) -> (Vec<String>, Vec<String>) {
        let mut sources = SourceMap::new();
        let id = sources.add("k.hdp", text);
        let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
        let input = PipelineInput { sources, files, options: Options { cuda: true, limits, ..Options::default() } };
        let mut sink = Sink::new();
        let program = front(&input, &mut sink).and_then(|program| optimise(program, &mut sink)).unwrap();
        let lowered = lower_entry(&input, &program, program.entries[0], &Model::cpu());
        let of_devices = crate::compiler::ir::imp::UnitTarget::Device;
        let plans: Vec<String> = lowered.entry.units_for(of_devices).map(|unit| unit.plan.clone()).collect();
        let rules = lowered.dispatch.rules.iter().filter(|rule| plans.contains(&rule.plan));
        let rules = rules.map(|rule| lowered.dispatch.print(rule)).collect();
        (plans, rules)
    }

    const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N];
        { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";

    #[test]
    fn gemm_chooses_by_the_degree_of_parallelism_as_in_the_paper() {
        let (plans, rules) = of(&GEMM.replace("map {", "\n#pragma hidp block warp thread\n map {"));
        assert_eq!(plans, ["warp", "thread", "block"]);
        assert_eq!(rules, ["parallel >= 65536: thread", "parallel < 2048: block"]);
    }

    #[test]
    fn large_products_of_matrices_are_tiled() {
        let (plans, rules) = of(GEMM);
        let last = ["tiled128x128", "tiled64x64_split", "tiled64x64", "tiled32x32_split", "tiled32x32", "split"];
        assert_eq!(plans[plans.len() - 6..], last);
        let expected = [
            "parallel >= 2097152: tiled128x128",
            "parallel >= 131072 and parallel < 1081344 and inner >= 1024: tiled64x64_split",
            "parallel >= 524288: tiled64x64",
            "parallel >= 1024 and parallel < 405504 and inner >= 512: tiled32x32_split",
            "parallel >= 65536: tiled32x32",
            "parallel < 65536 and inner >= 16384: split",
            "parallel >= 256 and parallel < 65536 and inner >= 512: split",
        ];
        assert_eq!(rules[..7], expected);
        assert!(rules.iter().all(|rule| !rule.contains("block") || rule == "parallel < 2048: block"), "{rules:?}");
        let (double, _) = of(&GEMM.replace("float", "double"));
        assert_eq!(double.iter().filter(|plan| plan.starts_with("tiled")).count(), 2, "registers are enough for one");
    }

    #[test]
    fn rows_go_to_groups_as_wide_as_they_are_long() {
        let (plans, rules) = of("function f input float A[R][C]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }");
        assert_eq!(plans, ["warp", "thread", "block", "subwarp", "split"]);
        let expected = [
            "parallel < 528 and inner >= 16384: split",
            "parallel >= 65536 and inner < 17: thread",
            "parallel >= 8192 and inner < 128: subwarp",
            "parallel < 2048: block",
        ];
        assert_eq!(rules, expected);
    }

    #[test]
    fn variants_have_blocks_of_other_sizes_and_rules_do_not_choose_them() {
        let text = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
        let limits = Limits { variants: true, ..Limits::default() };
        let (plans, rules) = of_limits(text, limits);
        assert_eq!(plans, ["thread", "thread_b64", "thread_b128", "thread_b512", "thread_b1024"]);
        assert!(rules.iter().all(|rule| rule.ends_with(": thread")), "{rules:?}");
        let rows = "function f input float A[R][C]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
        let (plans, rules) = of_limits(rows, limits);
        assert_eq!((plans.len(), rules.len()), (28, 4), "{plans:?} {rules:?}");
        assert_eq!(rules, of(rows).1);
        let (plans, _) = of_limits(&rows.replace("map {", "\n#pragma hidp block(64)\n map {"), limits);
        assert!(plans.iter().all(|plan| !plan.contains("_b")), "a directive says how large: {plans:?}");
    }

    #[test]
    fn many_elements_are_transposed_through_tiles_and_stencils_only_when_measured() {
        let (plans, rules) = of("function f input float a[H][W]; output float b[W][H];
            { map { i := [0:H); j := [0:W); b[j][i] = a[i][j]; } }");
        assert_eq!(
            (plans, rules),
            (vec!["thread".to_owned(), "near".into()], vec!["parallel >= 65536: near".to_owned()])
        );
        let (plans, rules) = of("function f input float a[H][W]; inout float b[H][W];
            { map { i := [1:H-2]; j := [0:W); b[i][j] = a[i-1][j] + a[i][j] + a[i+1][j]; } }");
        assert_eq!((plans, rules), (vec!["thread".to_owned(), "near".into()], vec![]));
    }

    #[test]
    fn flat_maps_have_one_plan() {
        let (plans, rules) = of("function f input float x[N]; output float y[N]; { y = 2 * x; }");
        assert_eq!((plans, rules), (vec!["thread".to_owned()], vec![]));
    }
}

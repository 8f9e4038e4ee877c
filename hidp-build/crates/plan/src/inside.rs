//! Tiles of lanes inside of iterations: a map inside whose folds load neighbours along it, and distant elements along themselves, has lanes over
//! its iterations as a nest of its own would have.

use super::constraint::lane_shape;
use super::inner_maps;
use super::mapping::key;
use hidp_ir::par::once::tested_once;
use hidp_ir::par::{Func, Map, Program, VarId};

/// The maps inside of a nest's iterations that tiles of lanes suit, by their last iterators.
pub(crate) fn in_tiles(program: &Program, func: &Func, nest: &Map) -> Vec<VarId> {
    tiles(program, func, nest).into_iter().filter_map(key).collect()
}

/// The maps that fold in them.
pub(crate) fn folds_in_tiles<'m>(program: &Program, func: &Func, nest: &'m Map) -> Vec<&'m Map> {
    tiles(program, func, nest).into_iter().flat_map(|map| inner_maps(&map.body)).collect()
}

fn tiles<'m>(program: &Program, func: &Func, map: &'m Map) -> Vec<&'m Map> {
    let of = |inner: &'m Map| {
        let suits = lane_shape(program, func, inner).is_ok() && tested_once(program, func, inner).tests.is_empty();
        if suits { vec![inner] } else { tiles(program, func, inner) }
    };
    inner_maps(&map.body).into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    /// Names of the iterators of maps that have tiles inside of iterations.
    fn inside(body: &str) -> Vec<String> {
        let text = format!(
            "function f input float A[M][D], x[N][M]; input int first[N+1]; inout float y[N][D];
            {{ map {{ i := [0:N); float s[M]; map {{ j := [0:M); s[j] = x[i][j] * 2; }} {body} }} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[program.entries[0]];
        in_tiles(&program, func, crate::nests(func)[0]).into_iter().map(|var| func.vars[var].name.clone()).collect()
    }

    #[test]
    fn columns_of_a_matrix_are_lanes_inside_of_iterations() {
        let fold = "map { m := [0:M); _t = s[m] * A[m][d]; } reduce(\"+\", _o, _t, m := [*]);";
        assert_eq!(inside(&format!("map {{ d := [0:D); {fold} y[i][d] = _o; }}")), ["d"]);
        let checked = "map { m := [0:M); _t = s[first[m]] * A[m][d]; } reduce(\"+\", _o, _t, m := [*]);";
        assert_eq!(inside(&format!("map {{ d := [0:D); {checked} y[i][d] = _o; }}")), [""; 0], "a check remains");
        assert_eq!(inside("map { d := [0:D); y[i][d] = s[0]; }"), [""; 0], "nothing is folded");
    }

    #[test]
    fn plans_say_how_many_lanes_tiles_inside_have_and_need() {
        use crate::target::Model;
        use crate::{Limits, explore};
        let program = optimised(
            "function f input float A[M][D], x[N][M]; output float y[N][D];
            { map { i := [0:N); float s[M]; map { j := [0:M); s[j] = x[i][j] * 2; }
            map { d := [0:D); map { m := [0:M); _t = s[m] * A[m][d]; } reduce(\"+\", y[i][d], _t, m := [*]); } } }",
        );
        let plans = explore(&program, program.entries[0], &Model::cpu(), Limits::default()).plans;
        let plan = plans.iter().find(|plan| plan.name == "rows").expect("a plan").to_string();
        assert!(plan.contains("within(1024)\n") && plan.contains("fewest(8)\n"), "{plan}");
    }
}

//! Differences give what wide cells give, and bounds of differences hold for all tables of small sequences.

use super::super::build::Builder;
use super::super::{Way, cell, recurrences};
use super::Differences;
use hidp_ir::par::interp::{Arg, Array, Data, Options, run_with};
use hidp_ir::par::{Block, Course, PinnedCourse, Program, print, read, verify};
use hidp_syntax::ordered::OrdMap;

/// A table of two sequences, of which `f` reads the last cell at host level and `g` one in each iteration of a map.
fn program(body: &str, ty: &str) -> Program {
    let text = format!(
        "func d(x, y, d) dims (N, M) {{
           vars {{ N: long dim; M: long dim; x: uint8[N] input; y: uint8[M] input; d: {ty}[(N + 1), (M + 1)] output; i: long iter; j: long iter; c: {ty} local; }}
           system nest (1, 1) ranks (0) {{
             table d (i = 0 .. (N + 1) by 1, j = 0 .. (M + 1) by 1) rows ((1, 1)) rank 0 window 3 {{ {body} }}
           }}
         }}
         func f(x, y, s, z) dims (N, M) {{
           vars {{ N: long dim; M: long dim; x: uint8[N] input; y: uint8[M] input; s: {ty} output; z: {ty}[2] output; T: {ty}[(N + 1), (M + 1)] local; U: {ty}[(N + 1), (M + 1)] local; k: long iter; }}
           declare T zero; call d(array x, array y, array T); s = T[N, M];
           map (k = 0 .. 2 by 1) {{ declare U zero; call d(array x, array y, array U); z[k] = U[N, M]; }}
         }}
         entries (f)"
    );
    let program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}"));
    program
}

/// Letters of two sequences of these lengths, of which few are alike.
fn letters(count: i64, factor: i64) -> Vec<u8> {
    (0..count).map(|at| (at * at * factor % 7 % 3) as u8).collect()
}

/// Compares programs before and after the pass, with tiles of these sides; whether cells are made of differences, in both places.
fn same(body: &str, ty: &str, sides: [u32; 2]) -> bool {
    let before = program(body, ty);
    let mut after = before.clone();
    let user = after.funcs[after.entries[0]].span;
    let course = Course::Tiles { sides };
    after.courses.push(PinnedCourse { user, tables: vec!["d".into()], course, span: user });
    let ways: Vec<Way> = recurrences(&before).into_iter().map(|made| made.way).collect();
    super::super::run(&mut after);
    verify(&after).unwrap_or_else(|errors| panic!("{errors:?}\n{}", print(&after)));
    for [n, m] in [[0, 0], [0, 3], [3, 0], [1, 1], [2, 5], [4, 4], [5, 3], [8, 9], [13, 11]] {
        let [x, y] = [letters(n, 1), letters(m, 3)];
        let result = match ty {
            "int" => Array::new(vec![2], Data::I32(vec![0; 2])),
            _ => Array::new(vec![2], Data::I64(vec![0; 2])),
        };
        let args = vec![Arg::from(Array::vector(x)), Array::vector(y).into(), Arg::Output, result.into()];
        let options = Options { fuel: Some(10_000_000), races: true, ..Options::default() };
        let call = |program: &Program| run_with(program, program.entries[0], args.clone(), &options);
        assert_eq!(call(&before), call(&after), "{n} {m} {}", print(&after));
    }
    ways.iter().all(|way| matches!(way, Way::Difference { .. }))
}

/// Costs of letters that match and that do not, and of gaps along both indices.
fn costs(op: &str, ty: &str, [same, other, first, second]: [i64; 4]) -> String {
    let number = |value: i64| {
        if value < 0 { format!("neg({}:{ty})", -value) } else { format!("{value}:{ty}") }
    };
    let [same, other, first, second] = [same, other, first, second].map(number);
    format!(
        "if (i == 0) {{ return ({second} * {ty}(j)); }} if (j == 0) {{ return ({first} * {ty}(i)); }}
         declare c zero; c = select((x[(i - 1)] == y[(j - 1)]), {same}, {other});
         return {op}((d[(i - 1), (j - 1)] + c), {op}((d[(i - 1), j] + {first}), (d[i, (j - 1)] + {second})));"
    )
}

#[test]
fn cells_made_of_differences_are_those_of_the_program() {
    for (sides, ty) in [([1, 1], "int"), ([2, 3], "long"), ([4, 4], "int"), ([64, 16], "long")] {
        assert!(same(&costs("min", ty, [0, 3, 2, 1]), ty, sides));
        assert!(same(&costs("max", ty, [2, -1, -2, -3]), ty, sides));
    }
    assert!(same(&costs("min", "int", [0, 1, 1, 1]), "int", [5, 4]));
}

#[test]
fn bodies_may_choose_and_keep_cells_in_variables() {
    let chosen = "if ((i < 1) || (j <= 0)) { return 0:int; }
        if (x[(i - 1)] == y[(j - 1)]) { return (d[(i - 1), (j - 1)] + 1:int); }
        declare c zero; c = d[(i - 1), j];
        if (d[i, (j - 1)] > c) { c = d[i, (j - 1)]; }
        return c;";
    assert!(same(chosen, "int", [3, 2]));
}

#[test]
fn where_differences_are_no_bytes_cells_are_wide() {
    // They are closed, but long edges are not within: that is found out when the program runs.
    let steep = "if (i == 0) { return select((j < 4), int(j), int((3 * j))); } if (j == 0) { return int(i); }
        declare c zero; c = select((x[(i - 1)] == y[(j - 1)]), 0:int, 1:int);
        return min((d[(i - 1), (j - 1)] + c), (min(d[(i - 1), j], d[i, (j - 1)]) + 1:int));";
    assert!(same(steep, "int", [4, 4]));
    // Sums of all letters are not closed.
    let sums =
        "if ((i == 0) || (j == 0)) { return 0:int; } return (max(d[(i - 1), j], d[i, (j - 1)]) + int(x[(i - 1)]));";
    // A value that does not move with the corner.
    let local =
        "if ((i == 0) || (j == 0)) { return 0:int; } return max(0:int, (max(d[(i - 1), j], d[i, (j - 1)]) - 1:int));";
    // One that moves twice as fast.
    let twice =
        "if ((i == 0) || (j == 0)) { return 0:int; } return (d[(i - 1), j] + (d[i, (j - 1)] - d[(i - 1), (j - 1)]));";
    // A constant that stands for no value.
    let far = "if ((i == 0) && (j == 0)) { return 0:int; } if ((i == 0) || (j == 0)) { return 100000000:int; }
        return min(d[(i - 1), (j - 1)], (min(d[(i - 1), j], d[i, (j - 1)]) + 1:int));";
    for body in [sums, local, twice] {
        assert!(!same(body, "int", [4, 4]), "{body}");
    }
    same(far, "int", [4, 4]);
}

/// All sequences of up to so many letters of two.
fn sequences(most: usize) -> Vec<Vec<bool>> {
    (0..=most)
        .flat_map(|length| (0..1_usize << length).map(move |bits| (0..length).map(|at| bits >> at & 1 == 1).collect()))
        .collect()
}

#[test]
fn bounds_hold_for_all_tables_of_small_sequences() {
    let all = sequences(4);
    let (mut closed, mut touched) = (0, 0);
    for (number, weights) in
        (0..60_i64).map(|at| (at, [at * 7 % 11 - 5, at * 5 % 13 - 6, at * 3 % 7 - 3, at * 11 % 17 - 8]))
    {
        let least = number % 2 == 0;
        let mut program = program(&costs(if least { "min" } else { "max" }, "int", weights), "int");
        let id = program.funcs.ids().next().expect("the table's function");
        let system = program.funcs[id].recur.as_ref().expect("a table").systems[0].clone();
        let bodies: Vec<Block> = system.tables.iter().map(cell::stored).collect();
        let found = Differences::of(&mut Builder::new(&mut program.funcs[id]), &system, &bodies);
        let Some(Differences { bounds, .. }) = found else { continue };
        closed += 1;
        let [same, other, first, second] = weights;
        let mut seen: OrdMap<usize, [i64; 2]> = OrdMap::new();
        for s in &all {
            for t in &all {
                let mut rows = vec![vec![0_i64; t.len() + 1]; s.len() + 1];
                for i in 0..=s.len() {
                    for j in 0..=t.len() {
                        rows[i][j] = if i == 0 {
                            second * j as i64
                        } else if j == 0 {
                            first * i as i64
                        } else {
                            let change = rows[i - 1][j - 1] + if s[i - 1] == t[j - 1] { same } else { other };
                            let parts = [change, rows[i - 1][j] + first, rows[i][j - 1] + second];
                            let [low, high] = [parts.iter().min(), parts.iter().max()].map(|end| *end.expect("three"));
                            if least { low } else { high }
                        };
                        let mut see = |along: usize, value: i64| {
                            let [low, high] = bounds[along];
                            assert!(low <= value && value <= high, "{weights:?}: {value} is not in {low} .. {high}");
                            let ends = seen.entry(along).or_insert([value; 2]);
                            *ends = [ends[0].min(value), ends[1].max(value)];
                        };
                        if i > 0 {
                            see(0, rows[i][j] - rows[i - 1][j]);
                        }
                        if j > 0 {
                            see(1, rows[i][j] - rows[i][j - 1]);
                        }
                    }
                }
            }
        }
        touched += usize::from(seen.values().zip(&bounds).all(|(seen, bounds)| seen == bounds));
    }
    // All of these weights close, and of most, some table of small sequences has differences at both ends of both bounds.
    assert!(closed >= 50 && touched * 2 >= closed, "{closed} closed, {touched} touched");
}

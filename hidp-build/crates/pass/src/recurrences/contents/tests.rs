//! Cells that take data for indices mean the same before and after the pass, whatever the data are.

use super::super::{Tests, Way, recurrences};
use hidp_ir::par::interp::{Arg, Array, Data, Error, Options, Value, run_with};
use hidp_ir::par::{Program, print, read, verify};

/// A table of two indices, of which `f` reads the last cell and `g` all cells of each iteration; `p` has data, `x` costs of pairs of them.
fn program(body: &str) -> Program {
    of_text(&text(body))
}

fn text(body: &str) -> String {
    format!(
        "func d(p, x, w, d) dims (N, K) {{
           vars {{ N: long dim; K: long dim; p: uint8[N] input; x: int[K, K] input; w: int input; d: int[N, N] output; i: long iter; j: long iter; c: int local; e: long local; }}
           system nest (1, 1) ranks (0) {{
             table d (i = 0 .. N by 1, j = 0 .. N by 1) rows ((1, 1)) rank 0 window 3 {{ {body} }}
           }}
         }}
         func f(p, x, w, s) dims (N, K) {{
           vars {{ N: long dim; K: long dim; p: uint8[N] input; x: int[K, K] input; w: int input; s: int output; T: int[N, N] local; }}
           if (N > 0) {{ declare T zero; call d(array p, array x, value w, array T); s = T[(N - 1), (N - 1)]; }}
         }}
         func g(p, x, w, y) dims (N, K) {{
           vars {{ N: long dim; K: long dim; p: uint8[N] input; x: int[K, K] input; w: int input; y: int[N, N] output; U: int[N, N] local; k: long iter; l: long local; }}
           map (k = 0 .. N by 1) {{
             declare U zero; call d(array p, array x, value w, array U); declare l; l = 0;
             loop (l < N) {{ y[k, l] = U[k, l]; }} step {{ l = (l + 1); }}
           }}
         }}
         entries (f, g)"
    )
}

fn of_text(text: &str) -> Program {
    let program = read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}"));
    program
}

/// Compares programs before and after the pass with costs between these; gives how often there were values and faults.
fn same(body: &str, costs: &[[i32; 2]]) -> [usize; 2] {
    let before = program(body);
    let mut after = before.clone();
    super::super::run(&mut after);
    verify(&after).unwrap_or_else(|errors| panic!("{errors:?}\n{}", print(&after)));
    let mut counts = [0; 2];
    // What is used as an index, and for how many there are costs.
    let data: [(&[u8], i64); 7] = [
        (&[], 0),
        (&[], 2),
        (&[0], 0),
        (&[0], 1),
        (&[1, 0, 2, 1, 2, 0, 0], 3),
        (&[1, 0, 3, 1, 2, 0, 0], 3),
        (&[255, 1, 0, 2, 1], 3),
    ];
    for (p, k) in data {
        for &[low, high] in costs {
            let n = p.len() as i64;
            let x = (0..k * k).map(|at| if at % 2 == 0 { low } else { high }).collect();
            let args = [
                Arg::from(Array::vector(p.to_vec())),
                Array::new(vec![k, k], Data::I32(x)).into(),
                Value::I32(high / 2).into(),
            ];
            let y = Array::new(vec![n, n], Data::I32(vec![0; (n * n) as usize]));
            let options = Options { fuel: Some(1_000_000), races: true, ..Options::default() };
            for (at, output) in [Arg::Output, y.into()].into_iter().enumerate() {
                let args: Vec<Arg> = args.iter().cloned().chain([output]).collect();
                let call = |program: &Program| run_with(program, program.entries[at], args.clone(), &options);
                let expected = call(&before);
                match &expected {
                    Ok(_) => counts[0] += 1,
                    Err(Error::Fault(_)) => counts[1] += 1,
                    Err(other) => panic!("{other}"),
                }
                assert_eq!(expected, call(&after), "{p:?} {k} {low} {high} {}", print(&after));
            }
        }
    }
    counts
}

/// How tables are computed where tests of data pass; whether with narrow cells.
fn tested(body: &str) -> Vec<Option<bool>> {
    let narrow = |way: &Way| match way {
        Way::Profiled { passed, otherwise } => {
            assert!(!matches!(**otherwise, Way::Narrow(_)), "{otherwise:?}");
            matches!(**passed, Way::Narrow(_))
        }
        way => matches!(way, Way::Narrow(_)),
    };
    let found = |made: super::super::Made| match made.way {
        Way::Tested { tests: Tests::Data, passed, otherwise } => {
            assert!(!narrow(&otherwise), "{otherwise:?}");
            Some(narrow(&passed))
        }
        _ => None,
    };
    recurrences(&program(body)).into_iter().map(found).collect()
}

const EDGE: &str = "if ((i == 0) || (j == 0)) { return (w * int((i + j))); } declare c zero; declare e zero;";

fn scored(cost: &str) -> String {
    format!("{EDGE} return max((d[(i - 1), (j - 1)] + {cost}), (max(d[(i - 1), j], d[i, (j - 1)]) - w));")
}

/// The spread of costs is such that 16 bits hold cells, only just do so, or do not.
const COSTS: [[i32; 2]; 7] =
    [[0, 0], [-4, 11], [-3000, 2000], [5000, 5500], [-9000, 40000], [-70000, 1], [i32::MIN, i32::MAX]];

#[test]
fn costs_of_letters_are_narrow_where_they_are_small() {
    let body = scored("x[long(p[(i - 1)])?, long(p[(j - 1)])?]");
    assert_eq!(tested(&body), [Some(true), Some(false)]);
    let [values, faults] = same(&body, &COSTS);
    assert!(values > 50 && faults > 20, "{values} values, {faults} faults");
}

/// Whether what pairs of data choose is laid out for the use that reads one cell, and for the one in a map.
fn profiled(program: &Program) -> Vec<bool> {
    let is_profiled = |way: &Way| matches!(way, Way::Profiled { .. });
    let found = |made: super::super::Made| match &made.way {
        Way::Tested { passed, .. } => is_profiled(passed),
        way => is_profiled(way),
    };
    recurrences(program).into_iter().map(found).collect()
}

#[test]
fn what_pairs_of_data_choose_is_laid_out_along_the_steps() {
    for (cost, laid_out) in [
        ("x[long(p[(i - 1)])?, long(p[(j - 1)])?]", true),
        ("x[long(p[(j - 1)])?, long(p[i])?]", true),
        ("(x[long(p[i])?, long(p[j])?] - x[long(p[(j - 1)])?, long(p[(i - 1)])?])", true),
        // By one index alone, and of a part of the letter.
        ("x[long(p[i])?, long(p[(i - 1)])?]", false),
        ("x[long(p[i])?, long(int8(p[j]))?]", false),
    ] {
        let body = scored(cost);
        let before = program(&body);
        assert_eq!(profiled(&before), [laid_out, false], "{cost}");
        let mut after = before.clone();
        super::super::run(&mut after);
        // Sequences of more letters than a front has steps; costs that fit a byte, only just do so, or do not; and more letters than pay.
        let fits = [([-4, 11], 3), ([-128, 127], 3), ([-4, 128], 3), ([-129, 3], 3), ([1, 2], 40)];
        for (n, (costs, k)) in [33, 64, 70].into_iter().flat_map(|n| fits.map(|costs| (n, costs))) {
            let letters: Vec<u8> = (0..n).map(|at: u32| (at * at % 7 % 3) as u8).collect();
            let x = (0..k * k).map(|at| costs[usize::from(at % 5 < 2)]).collect();
            let args = [
                Arg::from(Array::vector(letters)),
                Array::new(vec![k, k], Data::I32(x)).into(),
                Value::I32(2).into(),
                Arg::Output,
            ];
            let options = Options { fuel: Some(20_000_000), races: true, ..Options::default() };
            let call = |program: &Program| run_with(program, program.entries[0], args.to_vec(), &options);
            let expected = call(&before);
            assert!(expected.is_ok(), "{expected:?}");
            assert_eq!(expected, call(&after), "{cost} {n} {costs:?}");
        }
    }
}

#[test]
fn costs_of_another_kind_do_not_keep_others_from_being_laid_out() {
    let costs = "x[long(p[(i - 1)])?, long(p[(j - 1)])?]";
    let floats = costs.replace('x', "z");
    for (cost, laid_out) in [(format!("({costs} + int({floats}))"), true), (format!("int({floats})"), false)] {
        let text = text(&scored(&cost)).replace("(p, x,", "(p, x, z,").replace("array x,", "array x, array z,");
        let text = text.replace("x: int[K, K] input;", "x: int[K, K] input; z: float[K, K] input;");
        assert_eq!(profiled(&of_text(&text)), [laid_out, false], "{cost}");
    }
}

#[test]
fn data_may_be_in_variables_and_have_constants_added() {
    for (cost, letters) in [
        ("c", "c = x[long(p[(i - 1)])?, long(p[j])?];"),
        ("x[e?, long(p[j])?]", "e = long(p[(i - 1)]);"),
        ("x[(e + 1)?, long(p[i])?]", "c = (int(p[(i - 1)]) - 1:int); e = long(c);"),
        ("x[long(p[long(p[(i - 1)])?])?, (long(p[j]) - 0)?]", ""),
    ] {
        let body = scored(cost).replace(EDGE, &format!("{EDGE} {letters}"));
        assert!(tested(&body)[0].is_some(), "{body}");
        let [values, faults] = same(&body, &COSTS[..2]);
        assert!(values > 8 && faults > 2, "{values} values, {faults} faults: {body}");
    }
}

#[test]
fn what_data_index_otherwise_is_tested_cell_by_cell() {
    for cost in [
        "x[(long(p[(i - 1)]) + long(p[j]))?, 0]",
        "x[(2 * long(p[i]))?, 0]",
        "x[long(d[(i - 1), j])?, 0]",
        "x[e?, 0]",
        "x[long((uint8(p[i]) + 7:uint8))?, 0]",
    ] {
        let body = scored(cost).replace(EDGE, &format!("{EDGE} e = long(p[i]); e = (e * 2);"));
        assert_eq!(tested(&body), [None, None], "{cost}");
        same(&body, &COSTS[..1]);
    }
}

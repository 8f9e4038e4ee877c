//! Narrow cells give what wide ones give, also where they only just fit.

use super::super::{Wants, Way, recurrences};
use hidp_ir::par::interp::{Arg, Array, Data, Options, Value, run_with};
use hidp_ir::par::{Course, PinnedCourse, Program, print, read, verify};
use hidp_syntax::ordered::OrdMap;

/// A table of two indices with a narrow window where it can have one, of which `f` reads the last cell, and all cells.
fn program(body: &str) -> Program {
    let text = format!(
        "func d(x, w, v, d) dims (N) {{
           vars {{ N: long dim; x: uint8[N] input; w: int input; v: int input; d: int[N, N] output; i: long iter; j: long iter; c: int local; b: int local; }}
           system nest (1, 1) ranks (0) {{
             table d (i = 0 .. N by 1, j = 0 .. N by 1) rows ((1, 1)) rank 0 window 3 {{ {body} }}
           }}
         }}
         func f(x, w, v, s, y) dims (N) {{
           vars {{ N: long dim; x: uint8[N] input; w: int input; v: int input; s: int output; y: int[N, N] output; T: int[N, N] local; U: int[N, N] local; k: long iter; l: long iter; }}
           if (N > 0) {{ declare T zero; call d(array x, value w, value v, array T); s = T[(N - 1), (N - 1)]; }}
           declare U zero; call d(array x, value w, value v, array U);
           map (k = 0 .. N by 1, l = 0 .. N by 1) {{ y[k, l] = U[k, l]; }}
         }}
         entries (f)"
    );
    let mut program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}"));
    let (user, course) = (program.funcs[program.entries[0]].span, Course::Window { narrow: true, profile: false });
    program.courses.push(PinnedCourse { user, tables: vec!["d".into()], course, span: user });
    program
}

/// Compares programs before and after the pass; whether there are narrow versions.
fn same(body: &str, weights: &[[i32; 2]]) -> bool {
    let before = program(body);
    let mut after = before.clone();
    super::super::run(&mut after);
    verify(&after).unwrap_or_else(|errors| panic!("{errors:?}\n{}", print(&after)));
    for size in [0, 1, 2, 5, 9] {
        for &[w, v] in weights {
            let x: Vec<u8> = (0..size).map(|at| (at * at % 3) as u8).collect();
            let n = i64::from(size);
            let y = Array::new(vec![n, n], Data::I32(vec![0; (n * n) as usize]));
            let [w, v] = [w, v].map(|weight| Arg::from(Value::I32(weight)));
            let args = vec![Arg::from(Array::vector(x)), w, v, Arg::Output, y.into()];
            let options = Options { fuel: Some(1_000_000), races: true, ..Options::default() };
            let call = |program: &Program| run_with(program, program.entries[0], args.clone(), &options);
            assert_eq!(call(&before), call(&after), "{size} {}", print(&after));
        }
    }
    recurrences(&before).iter().all(|made| matches!(made.way, Way::Narrow(_)))
}

const DISTANCE: &str = "if (i == 0) { return (w * int(j)); } if (j == 0) { return (w * int(i)); }
    declare c zero; c = select((x[(i - 1)] == x[(j - 1)]), 0:int, v);
    return min((d[(i - 1), (j - 1)] + c), (min(d[(i - 1), j], d[i, (j - 1)]) + w));";
const SCORE: &str = "if ((i == 0) || (j == 0)) { return 0:int; }
    declare c zero; c = max(d[(i - 1), j], d[i, (j - 1)]); c = (c - v);
    if (x[(i - 1)] == x[(j - 1)]) { c = max(c, (d[(i - 1), (j - 1)] + w)); }
    if (c < d[(i - 1), (j - 1)]) { c = max(c, 0:int); }
    return c;";
const LOCAL: &str = "declare c zero; if ((i == 0) || (j == 0)) { return v; }
    if (x[i] == 0:uint8) { c = (d[(i - 1), (j - 1)] + w); }
    return select((c > 3:int), c, neg(v));";

/// With nine steps along each side, up to sixteen times as much as a weight fits 16 bits or does not.
const WEIGHTS: [[i32; 2]; 12] = [
    [0, 0],
    [1, 1],
    [1, -1],
    [-3, 2],
    [1300, 4000],
    [2730, 2731],
    [4095, 4096],
    [-4096, 4095],
    [32767, -32768],
    [65535, 65535],
    [65536, 1],
    [i32::MIN, i32::MAX],
];

const FAR: &str = "if ((i == 0) && (j == 0)) { return 0:int; } if (j == 0) { return neg(70000:int); }
    declare c zero; c = d[i, (j - 1)]; if (i > 0) { c = max(c, (d[(i - 1), (j - 1)] + w)); } return (c - v);";
const GAIN: &str = "if ((i == 0) && (j == 0)) { return 0:int; } if (j == 0) { return neg(70000:int); } if (i == 0) { return d[i, (j - 1)]; }
    return max((d[i, (j - 1)] + w), d[(i - 1), (j - 1)]);";
const BEYOND: &str =
    "if ((i == 0) && (j == 0)) { return 0:int; } if ((j == 0) || (x[i] == 1:uint8)) { return 99999999:int; }
    return min((d[i, (j - 1)] + w), select((i == 0), 99999999:int, (d[(i - 1), j] + v)));";

/// Which of two cells is taken, or one of them at all, follows from comparisons.
const COMPARED: &str =
    "if ((i == 0) && (j == 0)) { return 0:int; } if (j == 0) { return neg(70000:int); } if (i == 0) { return neg(70000:int); }
    declare c zero; c = (d[(i - 1), (j - 1)] + w); declare b zero; b = (d[i, (j - 1)] - v);
    if ((c > b) && (c > 1:int)) { return c; } return select((b >= c), b, max(b, c));";

/// Cells that depend on a value beyond all others are computed again.
#[test]
fn constants_that_stand_for_no_value_have_a_narrow_one() {
    for body in [FAR, GAIN, BEYOND, COMPARED] {
        let program = program(body);
        let narrow =
            recurrences(&program).iter().map(|made| (made.wants, matches!(made.way, Way::Narrow(_)))).collect();
        assert_eq!(OrdMap::from([(Wants::Tables, false), (Wants::Cells(1), true)]), narrow, "{body}");
        same(body, &WEIGHTS);
    }
    for body in [
        FAR.replace("max", "min"),
        FAR.replace("neg(70000:int)", "70000:int"),
        COMPARED.replace("neg(70000:int); } if", "neg(80000:int); } if"),
        // Which one of two cells is larger says how small a cell can be only if both stand for values.
        COMPARED.replace("(d[i, (j - 1)] - v)", "max((d[i, (j - 1)] - v), (d[(i - 1), j] + w))"),
        FAR.replace("0:int; }", "99999:int; }"),
        BEYOND.replace("min", "max"),
    ] {
        assert!(recurrences(&program(&body)).iter().all(|made| !matches!(made.way, Way::Narrow(_))), "{body}");
    }
}

#[test]
fn cells_that_fit_are_narrow() {
    for body in [DISTANCE, SCORE, LOCAL] {
        assert!(same(body, &WEIGHTS), "{body}");
    }
}

#[test]
fn what_is_no_sum_of_a_cell_and_a_plain_value_stays_wide() {
    for value in [
        "(d[(i - 1), j] + d[i, (j - 1)])",
        "(d[(i - 1), j] * 2:int)",
        "(v - d[(i - 1), j])",
        "neg(d[(i - 1), j])",
        "(d[(i - 1), j] / 2:int)",
        "(d[(i - 1), j] + 100000:int)",
        "int(float(d[(i - 1), j]))",
        "(d[(i - 1), j] + int((d[i, (j - 1)] > v)))",
    ] {
        let body = format!("if ((i == 0) || (j == 0)) {{ return 1:int; }} return {value};");
        assert!(!same(&body, &[[3, 4]]), "{value}");
    }
}

/// A fixed sequence of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }

    fn plain(&mut self) -> String {
        let weight = self.one_of(&["w", "v", "3:int", "-7:int", "int(i)", "int((j - (2 * i)))"]);
        match self.below(4) {
            0 => format!("select((x[i] == x[j]), {weight}, {})", self.plain()),
            1 => format!("({weight} * int(j))"),
            2 => format!("({weight} - {})", self.plain()),
            _ => weight.to_owned(),
        }
    }

    fn cond(&mut self, depth: u64) -> String {
        match self.below(3) {
            0 => format!("({} < {})", self.cell(depth), self.cell(depth)),
            1 => "(i < j)".to_owned(),
            _ => "(x[(i - 1)] == x[(j - 1)])".to_owned(),
        }
    }

    fn cell(&mut self, depth: u64) -> String {
        if depth == 0 {
            return self.one_of(&["d[(i - 1), (j - 1)]", "d[(i - 1), j]", "d[i, (j - 1)]", "c"]).to_owned();
        }
        let cell = self.cell(depth - 1);
        match self.below(6) {
            0 => format!("({cell} + {})", self.plain()),
            1 => format!("({cell} - {})", self.plain()),
            2 => format!("min({cell}, {})", self.cell(depth - 1)),
            3 => format!("max({cell}, {})", self.cell(depth - 1)),
            4 => format!("select({}, {cell}, {})", self.cond(depth - 1), self.cell(depth - 1)),
            _ => cell,
        }
    }

    fn body(&mut self) -> String {
        let edge = match self.below(3) {
            0 => self.one_of(&["neg(1000000:int)", "2000000:int"]).to_owned(),
            _ => self.plain(),
        };
        let [first, second, third] = [1, 2, 3].map(|depth| self.cell(depth));
        format!(
            "if ((i == 0) && (j == 0)) {{ return {}; }} if ((i == 0) || (j == 0)) {{ return {edge}; }}
             declare c zero; c = d[(i - 1), (j - 1)]; if ({}) {{ c = {first}; }} c = {second}; return {third};",
            self.plain(),
            self.cond(1)
        )
    }
}

#[test]
fn random_bodies_give_what_wide_ones_give() {
    let mut numbers = Numbers(41);
    let (mut all, mut cells) = (0, 0);
    for _ in 0..12 {
        let body = numbers.body();
        let found = recurrences(&program(&body));
        let narrow = |made: &&super::super::Made| matches!(made.way, Way::Narrow(_));
        all += usize::from(found.iter().all(|made| narrow(&made)));
        cells += found.iter().filter(narrow).count();
        same(&body, &WEIGHTS);
    }
    assert!(all > 3 && cells > 2 * all, "{all} tables are narrow, and {cells} in all");
}

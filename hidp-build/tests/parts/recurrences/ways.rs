//! Random recurrences in all ways in which their cells can be computed: cells, folds over them and the first fault are those of
//! plain recursion, also where narrow cells only just fit, or do not.

use super::*;

use std::collections::BTreeMap;

use hidp_build::compiler::ir::par::{Course, PinnedCourse};
use hidp_build::compiler::pass::{
    self,
    recurrences::{Wants, recurrences},
};
use hidp_build::compiler::source::Span;

/// What depends on no cell.
#[derive(Clone, Copy)]
enum Plain {
    Weight,
    Letter,
    Row,
    Column,
    /// A cost of a pair of letters, which may be none.
    Pair,
    /// A quotient, which may be none.
    Part,
}

/// What a cell is made of.
enum Body {
    /// The cell so much before, or behind if the recurrence goes downwards.
    Cell(usize),
    Plain(Plain),
    Extreme(bool, Box<[Body; 2]>),
    Sum(bool, Box<Body>, Plain),
    /// One of two, by the sign of a plain value.
    Choice(Plain, Box<[Body; 2]>),
}

/// The offsets of cells: upwards, and where the last column has no neighbour on its other side.
const OFFSETS: [&[(i64, i64)]; 4] =
    [&[(1, 0), (0, 1), (1, 1)], &[(1, 1), (1, 0)], &[(1, 0), (1, 1), (1, -1)], &[(0, 1), (1, 1)]];

struct Recurrence {
    offsets: &'static [(i64, i64)],
    down: bool,
    body: Body,
    pick: Pick,
}

/// Which of all cells is picked.
#[derive(Clone, Copy)]
struct Pick {
    greatest: bool,
    /// Of equal ones.
    first: bool,
}

impl Pick {
    fn text(self) -> &'static str {
        match (self.greatest, self.first) {
            (true, true) => "y.top > x.top ? y : x",
            (true, false) => "x.top > y.top ? x : y",
            (false, true) => "x.top <= y.top ? x : y",
            (false, false) => "y.top <= x.top ? y : x",
        }
    }

    fn of(self, cells: &[i32]) -> Option<usize> {
        let best = if self.greatest { cells.iter().max() } else { cells.iter().min() }?;
        if self.first {
            cells.iter().position(|cell| cell == best)
        } else {
            cells.iter().rposition(|cell| cell == best)
        }
    }
}

/// `kinds` of plain values.
fn body(numbers: &mut Numbers, depth: u32, kinds: i64) -> Body {
    let mut plain = || match numbers.next(0, kinds) {
        0 => Plain::Weight,
        1 => Plain::Letter,
        2 => Plain::Row,
        3 => Plain::Column,
        4..8 => Plain::Pair,
        _ => Plain::Part,
    };
    let (first, second) = (plain(), plain());
    let two = |numbers: &mut Numbers| Box::new([(); 2].map(|()| body(numbers, depth - 1, kinds)));
    match numbers.next(0, if depth == 0 { 3 } else { 9 }) {
        0 => Body::Sum(numbers.next(0, 2) == 0, Box::new(Body::Cell(numbers.next(0, 9) as usize)), first),
        1 => Body::Cell(numbers.next(0, 9) as usize),
        2 if numbers.next(0, 3) == 0 => Body::Plain(first),
        2 => Body::Cell(numbers.next(0, 9) as usize),
        3 => Body::Sum(numbers.next(0, 2) == 0, Box::new(body(numbers, depth - 1, kinds)), second),
        4 => Body::Choice(first, two(numbers)),
        _ => Body::Extreme(numbers.next(0, 2) == 0, two(numbers)),
    }
}

/// What pairs of letters cost, or gaps.
fn alignment(numbers: &mut Numbers) -> Body {
    let mut gap = |which: usize| {
        Body::Sum(false, Box::new(Body::Cell(which)), [Plain::Weight, Plain::Row][numbers.next(0, 2) as usize])
    };
    let gaps = Box::new([gap(0), gap(1)]);
    let least = numbers.next(0, 2) == 0;
    let pair = Body::Sum(true, Box::new(Body::Cell(2)), Plain::Pair);
    Body::Extreme(least, Box::new([pair, Body::Extreme(numbers.next(0, 2) == 0, gaps)]))
}

impl Plain {
    fn text(self) -> &'static str {
        match self {
            Plain::Weight => "w",
            Plain::Letter => "int(s[i])",
            Plain::Row => "a[i]",
            Plain::Column => "b[j]",
            Plain::Pair => "costs[s[i]][t[j]]",
            Plain::Part => "w / a[i]",
        }
    }
}

impl Recurrence {
    fn random(numbers: &mut Numbers) -> Recurrence {
        let pick = Pick { greatest: numbers.next(0, 2) == 0, first: numbers.next(0, 2) == 0 };
        if numbers.next(0, 3) == 0 {
            return Recurrence { offsets: OFFSETS[0], down: false, body: alignment(numbers), pick };
        }
        let offsets = OFFSETS[numbers.next(0, 4) as usize];
        let (down, kinds) = (numbers.next(0, 4) == 0, [4, 8, 11, 11][numbers.next(0, 4) as usize]);
        // The last offset decides which orders are possible, so every cell needs it.
        let last = Body::Cell(offsets.len() - 1);
        let body = Body::Extreme(pick.first, Box::new([last, body(numbers, 3, kinds)]));
        Recurrence { offsets, down, body, pick }
    }

    fn of(&self, body: &Body) -> String {
        let of = |body: &Body| self.of(body);
        match body {
            Body::Cell(which) => {
                let (i, j) = self.offsets[which % self.offsets.len()];
                let sign = if self.down { 1 } else { -1 };
                format!("r(i + ({}), j + ({}))", sign * i, sign * j)
            }
            Body::Plain(plain) => plain.text().to_owned(),
            Body::Extreme(least, both) => {
                format!("{}({}, {})", if *least { "min" } else { "max" }, of(&both[0]), of(&both[1]))
            }
            Body::Sum(plus, body, plain) => {
                format!("({} {} {})", of(body), if *plus { '+' } else { '-' }, plain.text())
            }
            Body::Choice(plain, both) => format!("({} > 1 ? {} : {})", plain.text(), of(&both[0]), of(&both[1])),
        }
    }

    /// Cells that have no neighbours.
    fn border(&self) -> String {
        let [low, high] = if self.down { ["N - 1", "M - 1"] } else { ["0", "0"] };
        let far = if self.down { "0" } else { "M - 1" };
        let mut border = vec![];
        border.extend(self.offsets.iter().any(|(i, _)| *i == 1).then(|| format!("i == {low}")));
        border.extend(self.offsets.iter().any(|(_, j)| *j == 1).then(|| format!("j == {high}")));
        border.extend(self.offsets.iter().any(|(_, j)| *j == -1).then(|| format!("j == {far}")));
        border.join(" || ")
    }

    fn text(&self) -> String {
        let inputs = "input int a[N], b[M]; input uint8 s[N], t[M]; input int costs[3][3], w";
        format!(
            "struct Hit {{ int top; long i, j; }}
             function Hit better(Hit x, Hit y) {{ return {}; }}
             recurrence int r(i := [0:N), j := [0:M)) {inputs};
             {{ if ({}) return a[i] - b[j]; return {}; }}
             function whole {inputs}; output int T[N][M]; {{ T = r; }}
             function last {inputs}; output int x; {{ x = 0; if (N > 0 && M > 0) {{ x = r(N - 1, M - 1) + r(0, 0); }} }}
             function folds {inputs}; output int top, at[2]; output double sum;
             {{
               Hit hit;
               map {{ i := [0:N); j := [0:M); _v = r(i, j); }} reduce(\"max\", top, _v, i := [*], j := [*]);
               map {{ i := [0:N); j := [0:M); _v = 0.5 * double(r(i, j)); }} reduce(\"+\", sum, _v, i := [*], j := [*]);
               map {{ i := [0:N); j := [0:M); _v = Hit{{top: r(i, j), i: i, j: j}}; }}
               reduce(better: Hit{{top: 0, i: -1, j: -1}}, hit, _v, i := [*], j := [*]);
               map {{ k := [0:1); at[0] = int(hit.i); at[1] = int(hit.j); }}
             }}",
            self.pick.text(),
            self.border(),
            self.of(&self.body)
        )
    }
}

/// Inputs of a call.
struct Inputs {
    n: i64,
    m: i64,
    a: Vec<i64>,
    b: Vec<i64>,
    s: Vec<i64>,
    t: Vec<i64>,
    costs: Vec<i64>,
    w: i64,
}

type Found = Result<i32, (FaultKind, Vec<i64>)>;

impl Inputs {
    fn random(numbers: &mut Numbers, (n, m): (i64, i64)) -> Inputs {
        // Up to where 16 bits are not enough for a few steps, and where sums wrap.
        let most = [2, 5, 3000, 6000, 20_000, 1 << 30][numbers.next(0, 6) as usize];
        // Every second may have letters that are none.
        let kinds = 3 + i64::from(numbers.next(0, 2) == 0);
        let mut list = |count: i64| numbers.list(count, -most, most + 1);
        let (mut a, b, costs) = (list(n), list(m), list(9));
        if n > 0 && numbers.next(0, 2) == 0 {
            a[numbers.next(0, n) as usize] = 0;
        }
        let [s, t] = [n, m].map(|count| numbers.list(count, 0, kinds));
        Inputs { n, m, a, b, s, t, costs, w: [most, -1, 0][numbers.next(0, 3) as usize] }
    }

    fn args(&self) -> Vec<Arg> {
        let weight = Arg::Scalar(Value::I32(self.w as i32));
        let costs = ints(vec![3, 3], &self.costs);
        vec![
            ints(vec![self.n], &self.a),
            ints(vec![self.m], &self.b),
            letters(&self.s),
            letters(&self.t),
            costs,
            weight,
        ]
    }

    fn plain(&self, plain: Plain, (i, j): (i64, i64)) -> Found {
        let [row, column] = [i, j].map(|at| at as usize);
        Ok(match plain {
            Plain::Weight => self.w as i32,
            Plain::Letter => self.s[row] as i32,
            Plain::Row => self.a[row] as i32,
            Plain::Column => self.b[column] as i32,
            Plain::Pair => {
                for (dim, letter) in [self.s[row], self.t[column]].into_iter().enumerate() {
                    if letter > 2 {
                        return Err((FaultKind::Index, vec![letter, 3, dim as i64]));
                    }
                }
                self.costs[(self.s[row] * 3 + self.t[column]) as usize] as i32
            }
            Plain::Part if self.a[row] == 0 => return Err((FaultKind::DivisionByZero, vec![self.w])),
            Plain::Part => (self.w as i32).wrapping_div(self.a[row] as i32),
        })
    }

    fn value(&self, recurrence: &Recurrence, body: &Body, memo: &Memo<'_, (i64, i64), Found>, at: (i64, i64)) -> Found {
        let of = |body: &Body| self.value(recurrence, body, memo, at);
        match body {
            Body::Cell(which) => {
                let (i, j) = recurrence.offsets[which % recurrence.offsets.len()];
                let sign = if recurrence.down { 1 } else { -1 };
                memo.at((at.0 + sign * i, at.1 + sign * j))
            }
            Body::Plain(plain) => self.plain(*plain, at),
            Body::Extreme(least, both) => {
                let (left, right) = (of(&both[0])?, of(&both[1])?);
                Ok(if *least { left.min(right) } else { left.max(right) })
            }
            Body::Sum(plus, body, plain) => {
                let (left, right) = (of(body)?, self.plain(*plain, at)?);
                Ok(if *plus { left.wrapping_add(right) } else { left.wrapping_sub(right) })
            }
            Body::Choice(plain, both) => of(&both[usize::from(self.plain(*plain, at)? <= 1)]),
        }
    }

    fn is_border(&self, recurrence: &Recurrence, (i, j): (i64, i64)) -> bool {
        let sign = if recurrence.down { 1 } else { -1 };
        let outside = |(down, right): &(i64, i64)| {
            !(0..self.n).contains(&(i + sign * down)) || !(0..self.m).contains(&(j + sign * right))
        };
        recurrence.offsets.iter().any(outside)
    }

    /// All cells, or the first fault.
    fn cells(&self, recurrence: &Recurrence) -> Result<Vec<i32>, (FaultKind, Vec<i64>)> {
        let cell = |memo: &Memo<'_, (i64, i64), Found>, (i, j): (i64, i64)| {
            if self.is_border(recurrence, (i, j)) {
                return Ok((self.a[i as usize] as i32).wrapping_sub(self.b[j as usize] as i32));
            }
            self.value(recurrence, &recurrence.body, memo, (i, j))
        };
        let memo = Memo::new(&cell);
        cells(self.n, self.m).map(|at| memo.at(at)).collect()
    }
}

/// The program with one course for all uses that can take it; `None` where none can.
fn in_course(program: &Program, course: Course) -> Option<Program> {
    let mut program = program.clone();
    let users: Vec<Span> = program.entries.iter().map(|id| program.funcs[*id].span).collect();
    let pinned = |user: Span| PinnedCourse { user, tables: vec!["r".to_owned()], course, span: user };
    program.courses.extend(users.into_iter().map(pinned));
    recurrences(&program).iter().any(|made| made.unmet.is_none()).then_some(program)
}

/// The program with loops and maps in the place of its recurrences.
pub(super) fn computed(mut program: Program) -> Program {
    let at = pass::PIPELINE.iter().position(|pass| pass.name == "recurrences").expect("the pass");
    pass::run(&mut program, &pass::PIPELINE[..=at]).unwrap_or_else(|error| panic!("{error}"));
    program
}

#[test]
fn random_recurrences_in_all_ways() {
    let mut numbers = Numbers(47);
    let (mut courses, mut faults, mut calls) = (BTreeMap::new(), BTreeMap::new(), 0);
    for _ in 0..24 {
        let recurrence = Recurrence::random(&mut numbers);
        let text = recurrence.text();
        let program = compiled(&text);
        let mut ways = vec![computed(program.clone())];
        // Those of bits need neighbours that differ by one at most, which no cell here promises; parts need one index, copies and intervals loops.
        let of_values = |course: &Course| {
            !matches!(
                course,
                Course::Rows | Course::Tiles { .. } | Course::Intervals { .. } | Course::Prefix { .. } | Course::Twin
            )
        };
        let small = Course::Blocks { sides: [2, 3] };
        for course in Course::ALL.into_iter().filter(of_values).chain([small]) {
            let pinned = in_course(&program, course);
            *courses.entry(format!("{course:?}")).or_insert(0) += u32::from(pinned.is_some());
            ways.extend(pinned.map(computed));
        }
        for size in [(0, 2), (1, 1), (2, 5), (6, 4)] {
            let inputs = Inputs::random(&mut numbers, size);
            let expected = inputs.cells(&recurrence);
            if let Err((kind, _)) = &expected {
                *faults.entry(*kind).or_insert(0) += 1;
            }
            for (way, program) in ways.iter().enumerate() {
                check(program, (&inputs, recurrence.pick), &expected, &format!("way {way} of {text}"));
                calls += 3;
            }
        }
    }
    println!("{courses:?} {faults:?} {calls} calls");
    assert!(courses.values().all(|count| *count > 0), "{courses:?}");
    assert_eq!(faults.len(), 2, "{faults:?}");
}

/// Cells of a line, each linear in those before it: sums of products that wrap, in 32 bits, in 8, and in 64 of which 32 are kept.
#[test]
fn linear_recurrences_in_parts() {
    let mut numbers = Numbers(59);
    let mut calls = 0;
    for order in 1..=4 {
        let cells: Vec<String> = (1..=order).map(|back| format!("(f[{back}] * r(k - {back}) - g[k])")).collect();
        let sum = cells.join(" + ");
        for (ty, value) in [
            ("int", format!("x > 0 ? {sum} : -r(k - {order})")),
            ("uint8", format!("uint8({sum})")),
            ("int", format!("int(long(x) * ({sum}))")),
        ] {
            let text = format!(
                "recurrence {ty} r(k := [0:N)) input int f[5], g[N];
                 {{ int x = g[k]; if (k < {order}) return {ty}(x); return {value}; }}
                 function whole input int f[5], g[N]; output {ty} T[N]; {{ T = r; }}"
            );
            let program = compiled(&text);
            let part = numbers.next(1, 6) as u32;
            let way = computed(in_course(&program, Course::Prefix { part }).expect("it is linear"));
            for n in [0, 1, 5, 12, 30] {
                let args = |numbers: &mut Numbers| {
                    let shape = |count: i64| {
                        if ty == "int" {
                            ints(vec![count], &vec![0; count as usize])
                        } else {
                            letters(&vec![0; count as usize])
                        }
                    };
                    vec![
                        ints(vec![5], &numbers.list(5, -(1 << 20), 1 << 20)),
                        ints(vec![n], &numbers.list(n, -9, 1 << 20)),
                        shape(n),
                    ]
                };
                let args = args(&mut numbers);
                // Without the pass, by its meaning.
                let [expected, found] = [&program, &way].map(|program| call(program, "whole", args.clone()));
                assert_eq!(found, expected, "parts of {part}, {n} cells of {text}");
                calls += 1;
            }
        }
    }
    assert_eq!(calls, 60);
    // Products of cells, and bits that are lost on the way.
    for value in ["r(k-1) * r(k-2)", "long(int(r(k-1)) * f[1])", "max(r(k-1), r(k-2))", "r(k-1) > 0 ? r(k-2) : r(k-1)"]
    {
        let program = compiled(&format!(
            "recurrence long r(k := [0:N)) input int f[N]; {{ if (k < 2) return f[k]; return {value}; }}
             function whole input int f[N]; output long T[N]; {{ T = r; }}"
        ));
        assert!(in_course(&program, Course::Prefix { part: 2 }).is_none(), "{value}");
    }
}

/// Compares what the functions give with all cells, row by row, or with the first fault.
fn check(
    program: &Program,
    (inputs, pick): (&Inputs, Pick),
    expected: &Result<Vec<i32>, (FaultKind, Vec<i64>)>,
    about: &str,
) {
    let run = |name: &str, more: Vec<Arg>| -> Result<Vec<Arg>, (FaultKind, Vec<i64>)> {
        let (id, _) = program.funcs.iter().find(|(_, func)| func.name == name).expect("a function of the text");
        let mut args = inputs.args();
        let given = args.len();
        args.extend(more);
        match interp::run(program, id, args) {
            Ok(results) => Ok(results.args[given..].to_vec()),
            Err(Error::Fault(fault)) => Err((fault.kind, fault.values)),
            Err(other) => panic!("{other} {about}"),
        }
    };
    let (n, m) = (inputs.n, inputs.m);
    let all = |expected: &[i32]| ints(vec![n, m], &expected.iter().map(|value| i64::from(*value)).collect::<Vec<_>>());
    let whole = expected.as_deref().map(|cells| vec![all(cells)]).map_err(Clone::clone);
    assert_eq!(run("whole", vec![no_ints(n, m)]), whole, "{about}");
    let ends = |cells: &[i32]| cells.first().zip(cells.last()).map_or(0, |(first, last)| first.wrapping_add(*last));
    let last = expected.as_deref().map(|cells| vec![Arg::Scalar(Value::I32(ends(cells)))]).map_err(Clone::clone);
    assert_eq!(run("last", vec![Arg::Output]), last, "{about}");
    let folds = expected.as_deref().map(|found| {
        let top = found.iter().copied().max().unwrap_or(i32::MIN);
        let at = pick.of(found).map_or((-1, -1), |at| (at as i64 / m, at as i64 % m));
        // Halves of a few cells add up exactly in any order.
        let sum: f64 = found.iter().map(|value| 0.5 * f64::from(*value)).sum();
        vec![Arg::Scalar(Value::I32(top)), ints(vec![2], &[at.0, at.1]), Arg::Scalar(Value::F64(sum))]
    });
    let none = vec![Arg::Output, ints(vec![2], &[0, 0]), Arg::Output];
    assert_eq!(run("folds", none), folds.map_err(Clone::clone), "{about}");
}

/// A loop walks back along a field of all cells, from a cell that a fold finds; also beyond the table, and along one that 16 bits hold only where
/// no cell stands for none.
#[test]
fn fields_that_loops_walk_along() {
    let (mut numbers, mut calls, mut faults) = (Numbers(71), 0, 0);
    for (field, before, cond) in [
        ("from", "i-1, j", "i > 0 && j > 0"),
        ("from", "i, j-1", "way > 0 || i > 0"),
        ("up", "i, j-1", "i > 0 && j > 0"),
    ] {
        let text = format!(
            "struct Cell {{ int best, up; uint8 from; }} struct Hit {{ int top; long i, j; }}
             function Hit better(Hit x, Hit y) {{ return y.top > x.top ? y : x; }}
             recurrence Cell r(i := [0:N], j := [0:M]) input uint8 s[N], t[M]; input int costs[3][3], w;
             {{
               if (i == 0 || j == 0) return Cell{{best: 0, up: -1000000, from: 0}};
               uint8 from = 0;
               int begins = r(i-1, j).best - w, on = r({before}).up - 1, up = max(begins, on);
               if (on > begins) from += 4;
               int both = r(i-1, j-1).best + costs[s[i-1]][t[j-1]];
               if (both >= up && both > 0) return Cell{{best: both, up: up, from: from + 1}};
               return up > 0 ? Cell{{best: up, up: up, from: from + 2}} : Cell{{best: 0, up: up, from: from}};
             }}
             function walk input uint8 s[N], t[M]; input int costs[3][3], w; output long sum;
             {{
               {ty} all[N+1][M+1];
               Hit end;
               all = r.{field};
               map {{ i := [0:N]; j := [0:M]; _c = Hit{{top: r(i, j).best, i: i, j: j}}; }} reduce(better, end, _c, i := [*], j := [*]);
               long i = end.i, j = end.j;
               long way = 1;
               sum = end.top;
               while ({cond}) {{
                 {ty} here = all[i][j];
                 way = long(here & 3);
                 sum = sum * 3 + long(here);
                 i -= way == 2 ? 0 : 1;
                 j -= 1;
               }}
             }}",
            ty = if field == "up" { "int" } else { "uint8" },
        );
        let program = compiled(&text);
        let made = recurrences(&program);
        assert!(made.iter().all(|made| matches!(made.wants, Wants::Field { cells: 0, folds: 1, .. })), "{made:?}");
        let course = Course::Window { narrow: true, profile: false };
        let narrow = in_course(&program, course);
        assert_eq!(narrow.is_some(), field == "from", "{text}");
        let ways = [Some(program.clone()), narrow, in_course(&program, Course::Loops)];
        let ways: Vec<Program> = ways.into_iter().flatten().map(computed).collect();
        for (n, m) in [(0, 0), (1, 1), (0, 3), (5, 4), (9, 12)] {
            let kinds = numbers.next(3, 5);
            let [s, t] = [n, m].map(|count| letters(&numbers.list(count, 0, kinds)));
            let most = [3, 4000][numbers.next(0, 2) as usize];
            let costs = ints(vec![3, 3], &numbers.list(9, -most, most + 1));
            let args = vec![s, t, costs, Arg::Scalar(Value::I32(numbers.next(0, 3) as i32)), Arg::Output];
            let expected = call(&program, "walk", args.clone());
            faults += u32::from(expected.is_err());
            for way in &ways {
                assert_eq!(call(way, "walk", args.clone()), expected, "{n} x {m} of {text}");
                calls += 1;
            }
        }
    }
    assert!(faults > 1, "{faults} faults in {calls} calls");
}

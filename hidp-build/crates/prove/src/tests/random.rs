//! Small random programs, run for small sizes: nothing is proved that some run contradicts.

use std::fmt::Write as _;

use crate::testing::Random;
use crate::{bounds, races};
use hidp_ir::par::visit::{map_places, walk_places};
use hidp_ir::par::{Access, Place, Program, read, verify};
use hidp_syntax::diag::Sink;
use hidp_syntax::ordered::{OrdMap, OrdSet};

#[derive(Clone, Debug)]
enum E {
    Const(i64),
    /// A dimension, iterator or local by name.
    Name(String),
    Add(Box<E>, Box<E>),
    Sub(Box<E>, Box<E>),
    Mul(Box<E>, Box<E>),
    Div(Box<E>, i64),
    Rem(Box<E>, i64),
    Min(Box<E>, Box<E>),
    Max(Box<E>, Box<E>),
    Select(Box<(E, E)>, Box<E>, Box<E>),
    Index(Box<E>),
}

#[derive(Clone, Debug)]
enum S {
    /// Access number so and so, a write or a read of `array[index]`.
    Access(usize, bool, &'static str, Vec<E>),
    Assign(String, E),
    If(E, E, Vec<S>, Vec<S>),
    /// Iterators with bounds and stride.
    Map(Vec<(String, E, E, i64)>, Vec<S>),
    /// Local, start, end, increment.
    For(String, E, E, i64, Vec<S>),
    Continue,
}

/// Extents of the arrays.
fn extents() -> OrdMap<&'static str, Vec<E>> {
    let name = |name: &str| E::Name(name.to_owned());
    let two_n = E::Add(Box::new(name("N")), Box::new(name("N")));
    let product = E::Mul(Box::new(name("N")), Box::new(name("M")));
    OrdMap::from([
        ("p", vec![name("N")]),
        ("q", vec![E::Add(Box::new(two_n), Box::new(E::Const(1)))]),
        ("A", vec![name("N"), name("M")]),
        ("F", vec![product]),
        ("s", vec![E::Const(4)]),
    ])
}

struct Generator {
    random: Random,
    names: usize,
    accesses: usize,
    locals: Vec<String>,
    iters: Vec<String>,
    /// What expressions may name.
    scope: Vec<String>,
    /// Whether subscripts are more than sums.
    wild: bool,
}

impl Generator {
    fn leaf(&mut self) -> E {
        match self.random.below(6) {
            0 | 1 => E::Const(self.random.below(4) as i64),
            2 => E::Name(self.random.pick(&["N", "M"]).to_owned()),
            _ => {
                let at = self.random.below(self.scope.len());
                E::Name(self.scope[at].clone())
            }
        }
    }
    fn expr(&mut self, depth: usize) -> E {
        if depth == 0 {
            return self.leaf();
        }
        let kinds = if self.wild { 11 } else { 5 };
        let sub = |this: &mut Self| Box::new(this.expr(depth - 1));
        match self.random.below(kinds) {
            0 | 1 => self.leaf(),
            2 => E::Add(sub(self), sub(self)),
            3 => E::Sub(sub(self), sub(self)),
            4 if self.random.one_in(3) => E::Mul(sub(self), sub(self)),
            4 => E::Mul(Box::new(E::Const(2)), sub(self)),
            5 => E::Div(sub(self), 1 + self.random.below(3) as i64),
            6 => E::Rem(sub(self), 1 + self.random.below(3) as i64),
            7 => E::Min(sub(self), sub(self)),
            8 => E::Max(sub(self), sub(self)),
            9 => E::Select(Box::new((*sub(self), *sub(self))), sub(self), sub(self)),
            _ => E::Index(sub(self)),
        }
    }
    fn subscripts(&mut self, rank: usize) -> Vec<E> {
        (0..rank)
            .map(|_| {
                let depth = self.random.below(3);
                self.expr(depth)
            })
            .collect()
    }
    fn access(&mut self) -> S {
        let array = self.random.pick(&["p", "p", "q", "A", "F", "s"]);
        let index = if array == "F" && self.random.one_in(2) && self.scope.len() > 1 {
            let mut name = || {
                let at = self.random.below(self.scope.len());
                Box::new(E::Name(self.scope[at].clone()))
            };
            let row = E::Mul(name(), Box::new(E::Name("M".to_owned())));
            vec![E::Add(Box::new(row), name())]
        } else {
            self.subscripts(if array == "A" { 2 } else { 1 })
        };
        self.accesses += 1;
        S::Access(self.accesses - 1, self.random.one_in(2), array, index)
    }
    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }
    fn block(&mut self, depth: usize, in_map: bool, in_loop: bool) -> Vec<S> {
        let count = 1 + self.random.below(3);
        let scope = self.scope.len();
        let mut block = Vec::new();
        for _ in 0..count {
            let stmt = self.stmt(depth, in_map, in_loop);
            block.push(stmt);
        }
        if in_loop && self.random.one_in(8) {
            block.push(S::Continue);
        }
        self.scope.truncate(scope);
        block
    }
    fn map(&mut self, depth: usize) -> S {
        let count = 1 + self.random.below(2);
        let scope = self.scope.len();
        let iters: Vec<_> = (0..count)
            .map(|_| {
                let lo = if self.random.one_in(2) { E::Const(0) } else { self.expr(1) };
                let hi = if self.random.one_in(2) { E::Name("N".to_owned()) } else { self.expr(1) };
                (self.fresh("z"), lo, hi, self.random.pick(&[1, 1, 1, 2, 3]))
            })
            .collect();
        for (name, ..) in &iters {
            self.iters.push(name.clone());
            self.scope.push(name.clone());
        }
        let body = self.block(depth.saturating_sub(1), true, false);
        self.scope.truncate(scope);
        S::Map(iters, body)
    }
    fn stmt(&mut self, depth: usize, in_map: bool, in_loop: bool) -> S {
        if depth == 0 {
            return self.access();
        }
        match self.random.below(8) {
            0 | 1 => self.map(depth),
            2 => {
                let (a, b) = (self.expr(1), self.expr(1));
                let then = self.block(depth - 1, in_map, in_loop);
                let otherwise = if self.random.one_in(2) { self.block(depth - 1, in_map, in_loop) } else { vec![] };
                S::If(a, b, then, otherwise)
            }
            3 => {
                let (lo, hi) = (self.expr(1), self.expr(1));
                let name = self.fresh("n");
                self.locals.push(name.clone());
                self.scope.push(name.clone());
                let body = self.block(depth - 1, in_map, true);
                self.scope.pop();
                S::For(name, lo, hi, self.random.pick(&[1, 1, 2]), body)
            }
            4 => {
                let value = self.expr(2);
                let name = self.fresh("n");
                self.locals.push(name.clone());
                self.scope.push(name.clone());
                S::Assign(name, value)
            }
            _ => self.access(),
        }
    }
}

fn text(e: &E) -> String {
    match e {
        E::Const(value) => value.to_string(),
        E::Name(name) => name.clone(),
        E::Add(a, b) => format!("({} + {})", text(a), text(b)),
        E::Sub(a, b) => format!("({} - {})", text(a), text(b)),
        E::Mul(a, b) => format!("({} * {})", text(a), text(b)),
        E::Div(a, c) => format!("({} / {c})", text(a)),
        E::Rem(a, c) => format!("({} % {c})", text(a)),
        E::Min(a, b) => format!("min({}, {})", text(a), text(b)),
        E::Max(a, b) => format!("max({}, {})", text(a), text(b)),
        E::Select(cond, a, b) => {
            format!("select(({} < {}), {}, {})", text(&cond.0), text(&cond.1), text(a), text(b))
        }
        E::Index(a) => format!("long(idx[{}?])", text(a)),
    }
}

fn print(block: &[S], out: &mut String) {
    let subscripts = |index: &[E]| index.iter().map(|e| format!("{}?", text(e))).collect::<Vec<_>>().join(", ");
    for stmt in block {
        let _ = match stmt {
            S::Access(_, true, array, index) => write!(out, "{array}[{}] = 1.0; ", subscripts(index)),
            S::Access(number, false, array, index) => {
                write!(out, "declare t{number}; t{number} = {array}[{}]; ", subscripts(index))
            }
            S::Assign(name, value) => write!(out, "declare {name}; {name} = {}; ", text(value)),
            S::Continue => write!(out, "continue; "),
            S::If(a, b, then, otherwise) => {
                let _ = write!(out, "if ({} < {}) {{ ", text(a), text(b));
                print(then, out);
                let _ = write!(out, "}} else {{ ");
                print(otherwise, out);
                write!(out, "}} ")
            }
            S::Map(iters, body) => {
                let iters: Vec<String> = iters
                    .iter()
                    .map(|(name, lo, hi, step)| format!("{name} = {} .. {} by {step}", text(lo), text(hi)))
                    .collect();
                let _ = write!(out, "map ({}) {{ ", iters.join(", "));
                print(body, out);
                write!(out, "}} ")
            }
            S::For(name, lo, hi, step, body) => {
                let _ = write!(out, "declare {name}; {name} = {}; loop ({name} < {}) {{ ", text(lo), text(hi));
                print(body, out);
                write!(out, "}} step {{ {name} = ({name} + {step}); }} ")
            }
        };
    }
}

/// Prints a program around `body`.
fn program_text(generator: &Generator, body: &[S]) -> String {
    let mut vars = "N: long dim; M: long dim; c: long input; idx: int[N] input; ".to_owned();
    for (name, shape) in extents() {
        let shape: Vec<String> = shape.iter().map(text).collect();
        let _ = write!(vars, "{name}: double[{}] inout; ", shape.join(", "));
    }
    generator.iters.iter().for_each(|name| vars.push_str(&format!("{name}: long iter; ")));
    generator.locals.iter().for_each(|name| vars.push_str(&format!("{name}: long local; ")));
    (0..generator.accesses).for_each(|number| vars.push_str(&format!("t{number}: double local; ")));
    let params: Vec<&str> = extents().into_keys().collect();
    let mut out = format!("func f(c, idx, {}) dims (N, M) {{ vars {{ {vars} }}\n", params.join(", "));
    print(body, &mut out);
    out.push_str("}\nentries (f)");
    out
}

/// One access that happened, or would have but for its index.
#[derive(Clone, Debug)]
struct Event {
    number: usize,
    write: bool,
    array: &'static str,
    element: Vec<i64>,
    /// The maps around it: which execution, which iteration.
    chain: Vec<(usize, Vec<i64>)>,
}

/// Why a run ended early.
struct Stop;

struct Run {
    env: OrdMap<String, i64>,
    idx: Vec<i64>,
    chain: Vec<(usize, Vec<i64>)>,
    maps: usize,
    steps: usize,
    events: Vec<Event>,
}

/// How a block ended.
#[derive(PartialEq)]
enum Flow {
    Next,
    Continue,
}

impl Run {
    fn eval(&self, e: &E) -> Result<i64, Stop> {
        Ok(match e {
            E::Const(value) => *value,
            E::Name(name) => self.env[name],
            E::Add(a, b) => self.eval(a)?.wrapping_add(self.eval(b)?),
            E::Sub(a, b) => self.eval(a)?.wrapping_sub(self.eval(b)?),
            E::Mul(a, b) => self.eval(a)?.wrapping_mul(self.eval(b)?),
            E::Div(a, c) => self.eval(a)? / c,
            E::Rem(a, c) => self.eval(a)? % c,
            E::Min(a, b) => self.eval(a)?.min(self.eval(b)?),
            E::Max(a, b) => self.eval(a)?.max(self.eval(b)?),
            E::Select(cond, a, b) => self.eval(if self.eval(&cond.0)? < self.eval(&cond.1)? { a } else { b })?,
            E::Index(a) => {
                let at = self.eval(a)?;
                match usize::try_from(at).ok().and_then(|at| self.idx.get(at)) {
                    Some(value) => *value,
                    // Outside maps the run ends; in a map what follows may see the first element.
                    None if self.chain.is_empty() => return Err(Stop),
                    None => self.idx.first().copied().unwrap_or(0),
                }
            }
        })
    }
    fn block(&mut self, block: &[S]) -> Result<Flow, Stop> {
        for stmt in block {
            if self.stmt(stmt)? == Flow::Continue {
                return Ok(Flow::Continue);
            }
        }
        Ok(Flow::Next)
    }
    fn stmt(&mut self, stmt: &S) -> Result<Flow, Stop> {
        self.steps += 1;
        if self.steps > 3000 {
            return Err(Stop);
        }
        match stmt {
            S::Access(number, write, array, index) => {
                let element = index.iter().map(|e| self.eval(e)).collect::<Result<Vec<i64>, Stop>>()?;
                let inside = self.inside(array, &element);
                let chain = self.chain.clone();
                self.events.push(Event { number: *number, write: *write, array, element, chain });
                if !inside && self.chain.is_empty() {
                    return Err(Stop);
                }
            }
            S::Assign(name, value) => {
                let value = self.eval(value)?;
                self.env.insert(name.clone(), value);
            }
            S::Continue => return Ok(Flow::Continue),
            S::If(a, b, then, otherwise) => {
                let block = if self.eval(a)? < self.eval(b)? { then } else { otherwise };
                return self.block(block);
            }
            S::Map(iters, body) => self.map(iters, body)?,
            S::For(name, lo, hi, step, body) => {
                let lo = self.eval(lo)?;
                self.env.insert(name.clone(), lo);
                let mut count = 0;
                while self.env[name] < self.eval(hi)? {
                    self.block(body)?;
                    let next = self.env[name].wrapping_add(*step);
                    self.env.insert(name.clone(), next);
                    count += 1;
                    if count > 12 {
                        return Err(Stop);
                    }
                }
            }
        }
        Ok(Flow::Next)
    }
    fn map(&mut self, iters: &[(String, E, E, i64)], body: &[S]) -> Result<(), Stop> {
        let mut points = vec![vec![]];
        for (_, lo, hi, step) in iters {
            let (lo, hi) = (self.eval(lo)?, self.eval(hi)?);
            let values: Vec<i64> =
                (0..20i64).map_while(|count| lo.checked_add(count * step).filter(|value| *value < hi)).collect();
            if values.len() == 20 {
                return Err(Stop);
            }
            points = points
                .into_iter()
                .flat_map(|point: Vec<i64>| values.iter().map(move |value| [point.clone(), vec![*value]].concat()))
                .collect();
        }
        self.maps += 1;
        let id = self.maps;
        for point in points {
            for ((name, ..), value) in iters.iter().zip(&point) {
                self.env.insert(name.clone(), *value);
            }
            self.chain.push((id, point));
            let result = self.block(body);
            self.chain.pop();
            result?;
        }
        Ok(())
    }
    fn inside(&self, array: &str, element: &[i64]) -> bool {
        element.iter().enumerate().all(|(dim, index)| (0..self.extent(array, dim)).contains(index))
    }
    fn extent(&self, array: &str, dim: usize) -> i64 {
        extents().get(array).and_then(|shape| self.eval(&shape[dim]).ok()).unwrap_or(0)
    }
}

fn conflict(a: &Event, b: &Event) -> bool {
    let both = a.array == b.array && a.element == b.element && (a.write || b.write);
    let differ = a.chain.iter().zip(&b.chain).find(|(x, y)| x != y);
    both && differ.is_some_and(|(x, y)| x.0 == y.0)
}

fn runs(body: &[S]) -> Vec<Run> {
    let mut runs = Vec::new();
    for n in [0, 1, 2, 3, 6] {
        for m in [0, 1, 3, 6] {
            for c in [-1, 0, 2, 10, i64::MAX, i64::MIN] {
                let idx = (0..n).map(|at| (at * 5 + (c & 7)).rem_euclid(n + 2) - 1).collect();
                let env = OrdMap::from([("N".to_owned(), n), ("M".to_owned(), m), ("c".to_owned(), c)]);
                let mut run = Run { env, idx, chain: vec![], maps: 0, steps: 0, events: vec![] };
                let _ = run.block(body);
                runs.push(run);
            }
        }
    }
    runs
}

/// The places that are no subscripts, in order.
fn places(program: &Program) -> Vec<Place> {
    let func = &program.funcs[program.entries[0]];
    let mut places = Vec::new();
    walk_places(&func.body, |place, _| {
        if func.vars[place.array].name != "idx" {
            places.push(place.clone());
        }
    });
    places
}

/// Makes the span of each of them its number.
fn number_spans(program: &mut Program) {
    let func = &mut program.funcs[program.entries[0]];
    let mut number = 0;
    let vars = &func.vars;
    map_places(&mut func.body, |place, _| {
        if vars[place.array].name != "idx" {
            place.span.start = number;
            place.span.end = number;
            number += 1;
        }
    });
}

#[derive(Default, Debug)]
struct Statistics {
    proved: usize,
    unproved: usize,
    exclusive: usize,
    shared: usize,
    rejected: usize,
}

fn check(seed: u64, wild: bool, statistics: &mut Statistics) {
    let mut generator = Generator {
        random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        names: 0,
        accesses: 0,
        locals: vec![],
        iters: vec![],
        scope: vec!["c".to_owned()],
        wild,
    };
    let body = if generator.random.one_in(2) { vec![generator.map(3)] } else { generator.block(3, false, false) };
    let text = program_text(&generator, &body);
    let program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let runs = runs(&body);
    check_bounds(program.clone(), &runs, &text, statistics);
    check_races(program, &runs, &text, statistics);
}

fn check_bounds(mut program: Program, runs: &[Run], text: &str, statistics: &mut Statistics) {
    let func = program.entries[0];
    bounds(&mut program, func);
    let places = places(&program);
    for place in &places {
        let count = place.unproved.count_ones() as usize;
        statistics.unproved += count;
        statistics.proved += place.index.len() - count;
    }
    for run in runs {
        for event in &run.events {
            for (dim, index) in event.element.iter().enumerate() {
                let inside = (0..run.extent(event.array, dim)).contains(index);
                let proved = places[event.number].unproved & (1 << dim) == 0;
                assert!(inside || !proved, "{event:?} dimension {dim} in {:?}\n{text}", run.env);
            }
        }
    }
}

fn check_races(mut program: Program, runs: &[Run], text: &str, statistics: &mut Statistics) {
    let func = program.entries[0];
    number_spans(&mut program);
    let mut sink = Sink::new();
    races(&mut program, func, &mut sink);
    let reported = sink.finish();
    let places = places(&program);
    let exclusive = |event: &Event| places[event.number].access == Access::Exclusive;
    let mut conflicts = OrdSet::new();
    for run in runs {
        let inside: Vec<&Event> = run.events.iter().filter(|event| run.inside(event.array, &event.element)).collect();
        for (at, a) in inside.iter().enumerate() {
            for b in &inside[at + 1..] {
                if conflict(a, b) {
                    conflicts.insert(a.array);
                    let wrong = exclusive(a) || exclusive(b);
                    assert!(!wrong, "{a:?} and {b:?} conflict in {:?}\n{text}", run.env);
                }
            }
        }
    }
    statistics.exclusive += places.iter().filter(|place| place.access == Access::Exclusive).count();
    statistics.shared += places.iter().filter(|place| place.access == Access::Shared).count();
    statistics.rejected += reported.len();
    for diagnostic in reported {
        let name = diagnostic.headline.split('`').nth(1).unwrap_or("").to_owned();
        let tried = runs.iter().any(|run| often(run, diagnostic.primary.span.start as usize));
        assert!(!tried || conflicts.contains(name.as_str()), "no conflict over {name}\n{text}");
    }
}

/// Whether in this run, for each iterator around the access, some map had so many values of it that made the access inside
/// its array.
fn often(run: &Run, number: usize) -> bool {
    let mut values: OrdMap<(usize, usize, usize), OrdSet<i64>> = OrdMap::new();
    let events = run.events.iter().filter(|event| event.number == number);
    for event in events.filter(|event| run.inside(event.array, &event.element)) {
        for (level, (map, point)) in event.chain.iter().enumerate() {
            for (iterator, value) in point.iter().enumerate() {
                values.entry((level, iterator, *map)).or_default().insert(*value);
            }
        }
    }
    let iterators: OrdSet<_> = values.keys().map(|(level, iterator, _)| (*level, *iterator)).collect();
    !iterators.is_empty()
        && iterators.iter().all(|(level, iterator)| {
            values.iter().any(|((l, i, _), values)| l == level && i == iterator && values.len() >= 4)
        })
}

fn campaign(seeds: std::ops::Range<u64>) -> Statistics {
    let mut statistics = Statistics::default();
    for seed in seeds {
        check(seed, seed % 2 == 0, &mut statistics);
    }
    statistics
}

#[test]
fn nothing_is_proved_that_a_run_contradicts() {
    let statistics = campaign(1..60);
    // The test is worth something only if both outcomes are frequent.
    assert!(statistics.proved * 20 > statistics.unproved, "{statistics:?}");
    assert!(statistics.exclusive * 20 > statistics.shared && statistics.shared > 0, "{statistics:?}");
    assert!(statistics.rejected > 0, "{statistics:?}");
}

#[test]
#[ignore = "minutes: for changes of the proofs"]
fn nothing_is_proved_that_many_runs_contradict() {
    println!("{:?}", campaign(10_000..11_000));
}

//! The programs of `papers_*.hdp` beside references in Rust, which compute in double: what the interpreter makes of small arguments. Compiled
//! code is compared with the interpreter, as for all cases of kind `run`.

use std::collections::BTreeMap;

use hidp_build::compiler::ir::par::Func;
use hidp_build::compiler::ir::par::interp::{Arg, Value};

use crate::answers::{same_float, scale_of};
use crate::case::{Case, of_kind};
use crate::maker::{Maker, fillings};
use crate::memory::leaves;
use crate::nvcc;
use crate::subject::{Entry, Outcome, Subject};

/// Outputs by name, in row-major order.
type Outputs = Vec<(&'static str, Vec<f64>)>;
type Reference = fn(&Given) -> Outputs;

const CASES: [&str; 4] = ["papers_hicuda", "papers_hicuda_placed", "papers_lee", "papers_lee_placed"];

const REFERENCES: [(&str, Reference); 13] = [
    ("multiplied", multiplied),
    ("potential", potential),
    ("differences", differences),
    ("correlated", correlated),
    ("repulsion", repulsion),
    ("nearest", nearest),
    ("eliminated", eliminated),
    ("heated", heated),
    ("turns", turns),
    ("evened", evened),
    ("walked", walked),
    ("factored", factored),
    ("levels", levels),
];

/// Of the dimensions, in order of the header.
const SIZES: [&[i64]; 6] = [&[1, 1, 1], &[2, 3, 2], &[3, 2, 4], &[5, 4, 3], &[33, 2, 6], &[12, 7, 5]];

/// Arguments of a call: dimensions, and scalars of arrays and structs one after the other.
struct Given {
    dims: BTreeMap<String, usize>,
    values: BTreeMap<String, Vec<f64>>,
}

impl Given {
    fn new(func: &Func, args: &[Arg], dims: &[i64]) -> Given {
        let name = |var| func.vars[var].name.trim_start_matches('_').to_owned();
        let values = func.params.iter().zip(args).map(|(param, arg)| (name(*param), numbers(arg)));
        let dims = func.dims.iter().zip(dims).map(|(dim, size)| (name(*dim), *size as usize));
        Given { dims: dims.collect(), values: values.collect() }
    }

    fn dim(&self, name: &str) -> usize {
        self.dims[name]
    }

    fn all(&self, name: &str) -> &[f64] {
        &self.values[name]
    }

    fn one(&self, name: &str) -> f64 {
        self.all(name)[0]
    }

    fn index(&self, name: &str) -> Vec<usize> {
        self.all(name).iter().map(|number| *number as usize).collect()
    }

    /// Structs of so many scalars.
    fn structs<const N: usize>(&self, name: &str) -> Vec<[f64; N]> {
        let (all, rest) = self.all(name).as_chunks();
        assert!(rest.is_empty(), "`{name}` ends within a struct");
        all.to_vec()
    }
}

fn numbers(arg: &Arg) -> Vec<f64> {
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|number| number as f64));
    let flat = |values: Vec<Value>| values.iter().flat_map(leaves).filter_map(|value| number(&value)).collect();
    match arg {
        Arg::Array(array) => flat(array.data.values()),
        Arg::Scalar(value) => flat(vec![value.clone()]),
        Arg::Output => Vec::new(),
    }
}

/// The cases, if none of them is left out.
fn programs() -> Option<Vec<(Case, Subject)>> {
    let cases = of_kind("run").into_iter().filter(|case| CASES.contains(&case.name.as_str()));
    let compile = |case: Case| {
        let subject = Subject::compile(&case.name, &case.text).unwrap_or_else(|why| panic!("{why}"));
        (case, subject)
    };
    let found: Vec<(Case, Subject)> = cases.map(compile).collect();
    if found.len() < CASES.len() {
        assert!(std::env::var_os("HIDP_CASE").is_some(), "a case of {CASES:?} is gone");
        println!("skipped: programs of papers: HIDP_CASE names other cases");
        return None;
    }
    Some(found)
}

#[test]
fn nvcc_takes_programs_of_papers() {
    for (case, subject) in programs().unwrap_or_default() {
        let cu = subject.cu.as_ref().expect("kernels for devices");
        nvcc::compiles(&case.name, cu).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}

#[test]
fn programs_of_papers_are_what_references_say() {
    let Some(programs) = programs() else { return };
    let mut compared = BTreeMap::new();
    for (case, subject) in programs {
        for entry in &subject.entries {
            let name = subject.func(entry).name.clone();
            let count = compare(&case, &subject, entry).unwrap_or_else(|why| panic!("`{name}`: {why}"));
            compared.insert(name, count);
        }
    }
    let placed = |(name, _): &(&str, _)| [(*name).to_owned(), format!("{name}_placed")];
    let expected: Vec<String> = REFERENCES.iter().flat_map(placed).collect();
    assert_eq!(compared.len(), expected.len(), "{compared:?}");
    for name in expected {
        assert!(compared[&name] >= 3, "`{name}` ended well {} times only", compared[&name]);
    }
}

/// How many calls ended well.
fn compare(case: &Case, subject: &Subject, entry: &Entry) -> Result<usize, String> {
    let func = subject.func(entry);
    let plain = func.name.trim_end_matches("_placed");
    let (_, reference) = REFERENCES.iter().find(|(name, _)| *name == plain).ok_or("there is no reference")?;
    let fillings = fillings(&case.text)?;
    let mut ended = 0;
    for (seed, sizes) in SIZES.iter().enumerate() {
        let mut maker = Maker::new(subject.original(), func, sizes, seed as u64, &fillings);
        let args = maker.args().ok_or("a negative extent")?;
        let given = Given::new(func, &args, &maker.dims());
        let request = subject.request(entry, args, maker.dims())?;
        let Outcome::Results(found) = &request.expected else { continue };
        ended += 1;
        same(func, &reference(&given), found).map_err(|why| format!("{sizes:?}: {why}"))?;
    }
    Ok(ended)
}

/// Whether the arguments after a call are what the program's reference makes of those before it.
pub(crate) fn is_right(func: &Func, before: &[Arg], dims: &[i64], after: &[Arg]) -> Result<(), String> {
    let plain = func.name.trim_end_matches("_placed");
    let (_, reference) = REFERENCES.iter().find(|(name, _)| *name == plain).ok_or("there is no reference")?;
    same(func, &reference(&Given::new(func, before, dims)), after)
}

fn same(func: &Func, outputs: &Outputs, found: &[Arg]) -> Result<(), String> {
    for (name, expected) in outputs {
        let at = func.params.iter().position(|param| func.vars[*param].name == *name).ok_or("no such output")?;
        let found = numbers(&found[at]);
        let scale = scale_of(expected.iter().copied());
        let alike = |(a, b): (&f64, &f64)| same_float(*a, *b, true, scale);
        if expected.len() != found.len() || !expected.iter().zip(&found).all(alike) {
            let apart = expected.iter().zip(&found).position(|pair| !alike(pair)).unwrap_or(0);
            let shown = |values: &[f64]| format!("{:?}", values.iter().skip(apart).take(8).collect::<Vec<_>>());
            return Err(format!("{name}, from place {apart} on: {}, not {}", shown(&found), shown(expected)));
        }
    }
    Ok(())
}

fn multiplied(given: &Given) -> Outputs {
    let [m, n, k] = ["M", "N", "K"].map(|name| given.dim(name));
    let (a, b) = (given.all("A"), given.all("B"));
    let at = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
    vec![("C", table(m, n, at))]
}

fn table(rows: usize, columns: usize, at: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..rows * columns).map(|place| at(place / columns, place % columns)).collect()
}

fn potential(given: &Given) -> Outputs {
    let (spacing, height) = (given.one("spacing"), given.one("height") + 10.0);
    let atoms = given.structs::<4>("atoms");
    let at = |i: usize, j: usize| {
        let place = [j as f64 * spacing, i as f64 * spacing, height];
        atoms.iter().map(|[x, y, z, charge]| charge / squared(place, [*x, *y, *z]).sqrt()).sum()
    };
    vec![("energy", table(given.dim("H"), given.dim("W"), at))]
}

fn squared(p: [f64; 3], q: [f64; 3]) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - q) * (p - q)).sum()
}

fn differences(given: &Given) -> Outputs {
    let [b, c, s] = ["B", "C", "S"].map(|name| given.dim(name));
    let (current, before) = (given.all("current"), given.all("before"));
    // Blocks of so many rows and columns, at all places that they are moved to.
    let blocks = |size: usize| {
        let (rows, columns) = (8 * b / size, 8 * c / size);
        let mut sums = Vec::new();
        for place in 0..rows * columns * s * s {
            let (block, moved) = (place / (s * s), place % (s * s));
            let (top, left) = (block / columns * size, block % columns * size);
            let (down, right) = (moved / s, moved % s);
            let at = |i: usize, j: usize| {
                let own = current[(top + i) * 8 * c + left + j];
                (own - before[(top + down + i) * (8 * c + s) + left + right + j]).abs()
            };
            sums.push(table(size, size, at).iter().sum());
        }
        sums
    };
    vec![("fours", blocks(4)), ("eights", blocks(8))]
}

fn correlated(given: &Given) -> Outputs {
    let (points, random) = (given.structs::<3>("points"), given.structs::<3>("random"));
    let edges = given.all("edges");
    let mut counts = [vec![0.0; edges.len() + 1], vec![0.0; edges.len() + 1]];
    let bin = |p: &[f64; 3], q: &[f64; 3]| {
        let dot: f64 = p.iter().zip(q).map(|(p, q)| p * q).sum();
        edges.iter().filter(|edge| **edge <= dot).count()
    };
    for (at, point) in points.iter().enumerate() {
        points[at + 1..].iter().for_each(|other| counts[0][bin(point, other)] += 1.0);
        random.iter().for_each(|other| counts[1][bin(point, other)] += 1.0);
    }
    let [selves, others] = counts;
    vec![("selves", selves), ("others", others)]
}

fn repulsion(given: &Given) -> Outputs {
    let p = 3_usize;
    let centres = given.structs::<3>("centres");
    let (exponents, weights) = (given.all("exponents"), given.all("weights"));
    let integral = |quartet: &[f64; 4]| {
        let shells = quartet.map(|shell| shell as usize);
        let mut sum = 0.0;
        for term in 0..p.pow(4) {
            let at = [term / p.pow(3), term / p.pow(2) % p, term / p % p, term % p];
            let own = |of: &[f64]| [0, 1, 2, 3].map(|which| of[shells[which] * p + at[which]]);
            let ([ea, eb, ec, ed], weight) = (own(exponents), own(weights).iter().product::<f64>());
            let [a, b, c, d] = shells.map(|shell| centres[shell]);
            let between = |p: [f64; 3], a: f64, q: [f64; 3], b: f64| [0, 1, 2].map(|k| (a * p[k] + b * q[k]) / (a + b));
            let (left, right) = (ea + eb, ec + ed);
            let apart = squared(between(a, ea, b, eb), between(c, ec, d, ed));
            let decay = (-ea * eb / left * squared(a, b) - ec * ed / right * squared(c, d)).exp();
            let pi = std::f64::consts::PI;
            let scale = 2.0 * pi.powf(2.5) / (left * right * (left + right).sqrt());
            sum += weight * scale * decay * boys(left * right / (left + right) * apart);
        }
        sum
    };
    vec![("integrals", given.structs::<4>("quartets").iter().map(integral).collect())]
}

/// The integral of exp(-t x^2) over x from 0 to 1, by Simpson's rule.
fn boys(t: f64) -> f64 {
    let parts = 2000;
    let at = |part: i32| {
        let x = f64::from(part) / f64::from(parts);
        let weight = if part == 0 || part == parts { 1.0 } else { f64::from(2 + 2 * (part % 2)) };
        weight * (-t * x * x).exp()
    };
    (0..=parts).map(at).sum::<f64>() / (3.0 * f64::from(parts))
}

fn nearest(given: &Given) -> Outputs {
    let own = [given.one("latitude"), given.one("longitude"), 0.0];
    let places = given.structs::<2>("places");
    let distance: Vec<f64> = places.iter().map(|[x, y]| squared([*x, *y, 0.0], own).sqrt()).collect();
    let least = distance.iter().copied().fold(f64::INFINITY, f64::min);
    vec![("distance", distance), ("least", vec![least])]
}

fn eliminated(given: &Given) -> Outputs {
    let n = given.dim("N");
    let (mut a, mut b) = (given.all("A").to_vec(), given.all("b").to_vec());
    for k in 0..n {
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            (k..n).for_each(|j| a[i * n + j] -= factor * a[k * n + j]);
            b[i] -= factor * b[k];
        }
    }
    vec![("A", a), ("b", b)]
}

fn heated(given: &Given) -> Outputs {
    let (h, w) = (given.dim("H"), given.dim("W"));
    let (power, mut heat) = (given.all("power"), given.all("heat").to_vec());
    for _ in 0..given.one("steps") as usize {
        let at = |i: usize, j: usize| {
            let own = heat[i * w + j];
            // A place outside of the chip is as warm as its edge.
            let all: f64 = around(h, w, i, j).iter().map(|near| heat[*near] - own).sum();
            own + 0.125 * (power[i * w + j] + all + 0.5 * (1.0 - own))
        };
        heat = table(h, w, at);
    }
    vec![("heat", heat)]
}

/// The places above, below, left and right; the place itself where there is none.
fn around(h: usize, w: usize, i: usize, j: usize) -> [usize; 4] {
    let place = |i: usize, j: usize| i * w + j;
    [
        place(i.saturating_sub(1), j),
        place((i + 1).min(h - 1), j),
        place(i, j.saturating_sub(1)),
        place(i, (j + 1).min(w - 1)),
    ]
}

fn turns(given: &Given) -> Outputs {
    let [left, top, step] = ["left", "top", "step"].map(|name| given.one(name));
    let at = |i: usize, j: usize| {
        let (cx, cy) = (left + j as f64 * step, top + i as f64 * step);
        let (mut x, mut y, mut k) = (0.0, 0.0, 0.0);
        while k < given.one("most") && x * x + y * y <= 4.0 {
            (x, y, k) = (x * x - y * y + cx, 2.0 * x * y + cy, k + 1.0);
        }
        k
    };
    vec![("turns", table(given.dim("H"), given.dim("W"), at))]
}

fn evened(given: &Given) -> Outputs {
    let (h, w) = (given.dim("H"), given.dim("W"));
    let mut image = given.all("image").to_vec();
    for _ in 0..given.one("steps") as usize {
        let count = (h * w) as f64;
        let mean = image.iter().sum::<f64>() / count;
        let variance = image.iter().map(|value| value * value).sum::<f64>() / count - mean * mean;
        let even = variance / (mean * mean) + 0.25;
        let steps = |i: usize, j: usize| around(h, w, i, j).map(|near| image[near] - image[i * w + j]);
        let flow = table(h, w, |i, j| {
            let (own, near) = (image[i * w + j], steps(i, j));
            let slope = near.iter().map(|step| step * step).sum::<f64>() / (own * own);
            let bend = near.iter().sum::<f64>() / own;
            let q = (0.5 * slope - bend * bend / 16.0) / ((1.0 + 0.25 * bend).powi(2) + 0.01);
            (1.0 / (1.0 + (q - even).abs() / (even * (1.0 + even)))).clamp(0.0, 1.0)
        });
        image = table(h, w, |i, j| {
            let ([up, down, left, right], [_, below, _, beside]) = (steps(i, j), around(h, w, i, j));
            let own = flow[i * w + j];
            image[i * w + j] + 0.125 * (flow[below] * down + own * up + flow[beside] * right + own * left)
        });
    }
    vec![("image", image)]
}

fn walked(given: &Given) -> Outputs {
    let n = given.dim("N");
    let mut cost = vec![0.0; n];
    for row in given.all("wall").chunks(n) {
        let best = |j: usize| cost[j.saturating_sub(1)..(j + 2).min(n)].iter().copied().fold(f64::INFINITY, f64::min);
        cost = (0..n).map(|j| row[j] + best(j)).collect();
    }
    vec![("cost", cost)]
}

/// By rows of the result (Doolittle), other than the program, which goes by steps of elimination.
fn factored(given: &Given) -> Outputs {
    let n = given.dim("N");
    let (a, mut lu) = (given.all("A"), vec![0.0; n * n]);
    for i in 0..n {
        for j in 0..n {
            let known: f64 = (0..i.min(j)).map(|k| lu[i * n + k] * lu[k * n + j]).sum();
            let left = a[i * n + j] - known;
            lu[i * n + j] = if j < i { left / lu[j * n + j] } else { left };
        }
    }
    vec![("A", lu)]
}

/// With a queue.
fn levels(given: &Given) -> Outputs {
    let (first, edges) = (given.index("first"), given.index("edges"));
    let mut level = vec![-1.0; given.dim("N")];
    let source = given.one("source");
    let mut queue = Vec::new();
    if (0.0..level.len() as f64).contains(&source) {
        level[source as usize] = 0.0;
        queue.push(source as usize);
    }
    let mut at = 0;
    while let Some(&node) = queue.get(at) {
        at += 1;
        for &next in &edges[first[node]..first[node + 1]] {
            if level[next] < 0.0 {
                level[next] = level[node] + 1.0;
                queue.push(next);
            }
        }
    }
    vec![("level", level)]
}

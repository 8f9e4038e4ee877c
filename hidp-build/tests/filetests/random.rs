//! Random programs through every pass: what comes out must stay the same, faults included.
//!
//! Programs that `check` refuses are skipped. `HIDP_RANDOM=first..last` runs other seeds than the usual few.

use std::path::PathBuf;

use crate::agree;
use crate::case::Case;
use crate::front::program;

/// Seeds of an ordinary run.
const SEEDS: std::ops::Range<u64> = 0..60;

#[test]
fn random_programs_keep_their_results() {
    let (mut refused, mut never, mut failures) = (0, 0, Vec::new());
    let seeds = seeds(SEEDS);
    for seed in seeds.clone() {
        let text = Writer::new(seed).function();
        let case = Case { path: PathBuf::from(format!("random/{seed}.hdp")), name: format!("random{seed}"), text };
        match program(&case) {
            Err(why) => {
                if are_named() {
                    println!("seed {seed}: {why}");
                }
                refused += 1;
            }
            Ok(program) => match agree::run(&case, &program) {
                Ok(()) => {}
                Err(why) if why.contains("faults with whatever arguments") => never += 1,
                Err(why) => failures.push(format!("seed {seed}\n{}\n{why}", case.text)),
            },
        }
    }
    if are_named() {
        println!("{refused} refused, {never} never end");
    }
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures[0]);
    let few = seeds.count() / 2;
    assert!(are_named() || (refused < few && never < few), "{refused} programs refused, {never} only fault");
}

/// Whether `HIDP_RANDOM` asks for seeds.
pub(crate) fn are_named() -> bool {
    std::env::var_os("HIDP_RANDOM").is_some()
}

/// The seeds that `HIDP_RANDOM` asks for, else the usual ones.
pub(crate) fn seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let range = std::env::var("HIDP_RANDOM").ok();
    let parsed = range.as_deref().and_then(|range| {
        let (first, last) = range.split_once("..")?;
        Some(first.parse().ok()?..last.parse().ok()?)
    });
    parsed.unwrap_or(usual)
}

/// Vectors that may be written, and those that may only be read.
const VECTORS: &[&str] = &["x", "y", "u", "v"];
const READ_ONLY: &[&str] = &["a", "b"];
const MATRICES: &[&str] = &["P", "Q"];
const SCALARS: &[&str] = &["s", "t"];

/// Writes one program.
pub(crate) struct Writer {
    state: u64,
    text: String,
    depth: usize,
    fresh: usize,
}

impl Writer {
    pub(crate) fn new(seed: u64) -> Writer {
        Writer {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678,
            text: String::new(),
            depth: 0,
            fresh: 0,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % limit
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.depth + 1));
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(crate) fn function(mut self) -> String {
        self.text.push_str(
            "// data: idx below N\nfunction int first(int a, int b) { return a; }\n\
             function int last(int a, int b) { return b != 0 ? b : a; }\n\
             static function twice\ninput int p[n];\noutput int q[n];\ninout int _z;\n{\n  \
             if (_z > 6) { return; }\n  map { i := [0:n); q[i] = p[i] * 2; _k = q[i]; } reduce(\"+\", _z, _k, i := [*]);\n}\n\
             function f\ninput int a[N], b[N], A[N][K], _c;\ninput int idx[N], far[N];\n\
             inout int x[N], y[N], P[N][K], s;\noutput int _r;\n{\n  int u[N], v[N], Q[N][K], t = 1;\n",
        );
        let count = 3 + self.below(6);
        for _ in 0..count {
            self.statement();
        }
        self.line("_r = t;");
        self.text.push_str("}\n");
        self.text
    }

    fn statement(&mut self) {
        match self.below(19) {
            0 => self.vector_statement(),
            16 | 17 => self.copy(),
            1 => self.matrix_statement(),
            2..=5 => self.map(),
            6 | 7 => self.product(),
            8 | 9 => self.nest(),
            10 => self.scan(),
            13 => self.call(),
            14 => self.primitive(),
            15 => self.row(),
            11 if self.depth < 2 => self.branch(),
            12 if self.depth < 2 => self.repeat(),
            _ => self.scalar(),
        }
    }

    fn vector(&mut self) -> &'static str {
        if self.one_in(3) { self.pick(READ_ONLY) } else { self.pick(VECTORS) }
    }

    fn vector_statement(&mut self) {
        let (to, left, right) = (self.pick(VECTORS), self.vector(), self.vector());
        match self.below(4) {
            0 => self.line(&format!("{to} = {left};")),
            1 => self.line(&format!("{to} = _c;")),
            2 => self.line(&format!("{to} = {left} + _c * {right};")),
            _ => self.line(&format!("{to} += {right};")),
        }
    }

    fn matrix_statement(&mut self) {
        let (to, from) = (self.pick(MATRICES), self.pick(&["A", "P", "Q"]));
        match self.below(3) {
            0 => self.line(&format!("{to} = {from};")),
            1 => self.line(&format!("{to} = {from} * 2 - A;")),
            _ => self.line(&format!("{to} = {from} + s;")),
        }
    }

    fn scalar(&mut self) {
        let to = self.pick(SCALARS);
        match self.below(4) {
            0 => self.line(&format!("{to} = {to} + 1;")),
            1 => self.line("t = s;"),
            2 => self.line(&format!("{to} = _c * 2 - t;")),
            _ => self.line("t = t / (s - 3);"),
        }
    }

    fn branch(&mut self) {
        let scalar = self.pick(SCALARS);
        self.line(&format!("if ({scalar} > 2) {{"));
        self.inside();
        if self.one_in(2) {
            self.line("} else {");
            self.inside();
        }
        self.line("}");
    }

    fn repeat(&mut self) {
        let name = self.name("n");
        self.line(&format!("for (int {name} = 0; {name} < 3; {name} += 1) {{"));
        self.inside();
        self.line("}");
    }

    fn inside(&mut self) {
        self.depth += 1;
        for _ in 0..1 + self.below(3) {
            self.statement();
        }
        self.depth -= 1;
    }

    fn name(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}{}", self.fresh)
    }

    /// A value inside a map over `i` (a vector's index).
    fn value(&mut self) -> String {
        let vector = self.vector();
        match self.below(16) {
            0..=7 => format!("{vector}[i]"),
            8 | 9 => format!("(i > 0 ? {vector}[i-1] : {vector}[i])"),
            10 => format!("{vector}[idx[i]]"),
            11 => format!("{vector}[far[i] + 2]"),
            12 => format!("((int)i + 9) / {vector}[i]"),
            13 => "_c".into(),
            14 => format!("(int)(i * {})", self.below(4)),
            _ => format!("({vector}[i] + {})", self.pick(SCALARS)),
        }
    }

    fn range(&mut self) -> &'static str {
        self.pick(&["[0:N)", "[0:N)", "[0:N)", "[0:N)", "[1:N-2]", "[0:N:2)", "[0:N+1)"])
    }

    /// A map over a vector.
    fn map(&mut self) {
        let range = self.range();
        self.line(&format!("map {{ i := {range};"));
        let (left, right) = (self.value(), self.value());
        self.line(&format!("  _w = {left} - {right};"));
        for _ in 0..self.below(3) {
            let (to, value) = (self.pick(VECTORS), self.value());
            if self.one_in(8) {
                self.line(&format!("  {to}[far[i] + 2] = {value};"));
            } else if self.one_in(4) {
                self.line(&format!("  if (_w > 0) {{ {to}[i] = {value}; }}"));
            } else {
                self.line(&format!("  {to}[i] = _w + {value};"));
            }
        }
        let suffix = match self.below(6) {
            2 => {
                format!(" reduce({}, {}, _w, i := [*]);", self.pick(&["first", "last", "last: 0"]), self.pick(SCALARS))
            }
            0 => format!(" reduce(\"+\", {}, _w, i := [*]);", self.pick(SCALARS)),
            1 => format!(" reduce(\"max\", {}, _w, i := [*]);", self.pick(SCALARS)),
            _ => String::new(),
        };
        if suffix.is_empty() {
            let to = self.pick(VECTORS);
            self.line(&format!("  {to}[i] = _w;"));
        }
        self.line(&format!("}}{suffix}"));
    }

    /// A map over a matrix with folds over some iterators.
    fn product(&mut self) {
        let from = self.pick(&["A", "P", "Q"]);
        let vector = self.vector();
        let gather = self.one_in(4);
        let order = if self.one_in(3) { "k := [0:K); i := [0:N);" } else { "i := [0:N); k := [0:K);" };
        self.line(&format!("map {{ {order}"));
        let index = if gather { self.pick(&["idx[i]", "far[i]"]) } else { "i" };
        if self.one_in(4) {
            self.line(&format!("  _e = (int)(i * 10 + k) / {from}[i][k];"));
        } else {
            let other = self.pick(&["i", "i", "i", "N-1-i"]);
            self.line(&format!("  _e = {from}[{index}][k] * {vector}[{other}];"));
        }
        if self.one_in(3) {
            let to = self.pick(MATRICES);
            self.line(&format!("  {to}[i][k] = _e + 1;"));
        }
        let mut folds = String::new();
        if self.one_in(2) {
            folds.push_str(&format!(" reduce(\"+\", {}[i], _e, k := [*]);", self.pick(&["x", "y", "u"])));
        }
        if self.one_in(3) {
            folds.push_str(&format!(" reduce(\"min\", {}, _e, i := [*], k := [*]);", self.pick(SCALARS)));
        }
        if self.one_in(5) {
            let order = self.pick(&["first", "last", "last: 0"]);
            let over = self.pick(&["i := [*], k := [*]", "k := [*], i := [*]"]);
            folds.push_str(&format!(" reduce({order}, {}, _e, {over});", self.pick(SCALARS)));
        }
        if self.one_in(3) {
            folds.push_str(&format!(" reduce(\"^\", {}[i], _e, k := [*]);", self.pick(&["v", "u"])));
        }
        if self.one_in(4) {
            let along = self.pick(&["i", "k"]);
            folds.push_str(&format!(" scan(\"+\", {}[i][k], _e, {along} := [*]);", self.pick(MATRICES)));
        }
        if folds.is_empty() {
            let (to, by) = (self.pick(MATRICES), self.below(5));
            self.line(&format!("  {to}[i][k] = _e - {by};"));
        }
        self.line(&format!("}}{folds}"));
    }

    /// Maps inside a map.
    fn nest(&mut self) {
        self.line("map { i := [0:N);");
        let low = self.pick(&["0", "0", "i", "idx[i] / 2"]);
        let matrix = self.pick(&["A", "P", "Q"]);
        let vector = self.vector();
        self.line(&format!("  int z = {vector}[i];"));
        self.line(&format!(
            "  map {{ k := [{low}:K); _g = z * 2; _f = (int)k; _o = _f + z; _h = {matrix}[i][k] + _g * _o; }} reduce(\"+\", z, _h, k := [*]);"
        ));
        if self.one_in(2) {
            let to = self.pick(MATRICES);
            self.line(&format!("  map {{ k := [0:K); {to}[i][k] = z + (int)k; }}"));
        }
        let to = self.pick(VECTORS);
        self.line(&format!("  {to}[i] = z;"));
        self.line("}");
    }

    /// A copy from an array that dies with it.
    fn copy(&mut self) {
        let name = self.name("w");
        let (to, from) = (self.pick(VECTORS), self.vector());
        self.line(&format!("int {name}[N];"));
        let value = self.pick(&["i > 0 ? {}[i-1] : 3", "{}[i] + 1", "{}[idx[i]]"]).replace("{}", from);
        let range = self.pick(&["[0:N)", "[0:N)", "[1:N)"]);
        self.line(&format!("map {{ i := {range}; {name}[i] = {value}; }}"));
        if self.one_in(2) {
            self.map();
        }
        self.line(&format!("{to} = {name};"));
    }

    fn call(&mut self) {
        let (from, to) = (self.pick(&["a", "b", "x", "u"]), self.pick(&["y", "v"]));
        let scalar = self.pick(SCALARS);
        self.line(&format!("twice({from}, {to}, {scalar});"));
    }

    fn primitive(&mut self) {
        let (from, to) = (self.pick(&["a", "b", "x", "u"]), self.pick(&["y", "v"]));
        let scalar = self.pick(SCALARS);
        match self.below(5) {
            0 => self.line(&format!("{scalar} = max({from}, N);")),
            1 => self.line(&format!("reduce(\"+\", {from}, {scalar}, N);")),
            2 => self.line(&format!("scan({from}, {to}, N);")),
            3 => self.line(&format!("sort({from}, {to}, N, 1);")),
            _ => self.line(&format!("reverse({from}, {to}, N);")),
        }
    }

    /// An array of each iteration.
    fn row(&mut self) {
        let (from, to) = (self.pick(&["A", "P", "Q"]), self.pick(VECTORS));
        let back = self.pick(&["w[k]", "w[K-1-k]"]);
        self.line("map { i := [0:N);");
        self.line(&format!("  int w[K], z = 0; map {{ k := [0:K); w[k] = {from}[i][k] + 1; }}"));
        self.line(&format!("  map {{ k := [0:K); _h = {back} * 3; }} reduce(\"+\", z, _h, k := [*]);"));
        self.line(&format!("  {to}[i] = z;"));
        self.line("}");
    }

    fn scan(&mut self) {
        let (to, value) = (self.pick(VECTORS), self.value());
        let kind = self.pick(&["scan", "exscan"]);
        let store = if self.one_in(3) { format!(" {}[i] = _w;", self.pick(VECTORS)) } else { String::new() };
        self.line(&format!("map {{ i := [0:N); _w = {value};{store} }} {kind}(\"+\", {to}[i], _w, i := [*]);"));
    }
}

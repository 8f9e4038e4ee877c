//! What is printed reads back, and what is no plan says where.

use super::words::Vocabulary;
use super::*;

/// Today's recipes, and those that lanes, recurrences and codelets will add.
const PLANS: [&str; 14] = [
    "plan rows
nest
  m threads
  n threads
  n lanes
  fold m, n runs(8192)
  place y stream
",
    "plan team
nest
  r host
  c threads
  c lanes
  fold c runs(8192)
",
    "plan lanes
nest
  n threads
  m threads
  k seq
  m reg(8)
  n lanes(32)
",
    "plan warp
nest
  r grid.x
  c seq
  c thread.x(32)
  block(256)
nest
  i grid.y
  j grid.x
  inside j thread.x(32)
  block(256)
",
    "plan near
nest
  i grid.z
  j grid.y
  k grid.x
  i seq(32)
  stage u shared(3x18x34) ring(3)
  j, k thread.x(16x32)
  block(256)
",
    "plan tiled128x128
nest
  m grid.y
  n grid.x
  k seq
  stage A shared(8x128) pad(4) bufs(2) turned
  stage B shared(8x128) bufs(2)
  k seq(8)
  m thread.y(16)
  n thread.x(16)
  m reg(8)
  n reg(8)
  block(256)
",
    "plan split
nest
  r grid.x
  k grid.y
  k seq
  k thread.x
  fold k groups(1056) terms(4096)
  block(256)
",
    // Lanes whose number follows from the instruction set, a packed stage, and bounds that make narrow indices possible.
    "plan wide
nest
  p threads
  p reg(2)
  p lanes(32 bits)
  k seq
  d seq
  stage x own(34x32) [d][p] packed
  assume K <= 2147483647
  assume N >= -1
",
    // A wave: steps along `i + j`, lanes along `j`, an input that lanes read backwards, three steps kept.
    "plan wave
nest
  i + j seq
  j threads
  j lanes(32 bits)
  stage s own reversed
  keep d window(3)
  narrow d int16 tried
",
    // Tiles of a sweep, and inside each a sweep of its own.
    "plan tile
nest
  i + j seq
  j threads
  i + j seq(1024x4096)
  j lanes(8 bits)
  stage t own skewed
  keep d rows(2)
  narrow d int8 difference
",
    // Instances in lanes; matrices of steps; lanes that each have a run of `i`; other directions.
    "plan batch
nest
  r threads
  r lanes(16 bits)
  2*i - j seq
  stage s own interleaved
  keep d twin
nest
  t seq
  r threads
  q lanes(32 bits)
  keep d table
nest
  j seq
  i lanes(16 bits)
  i seq
  stage s own profile
  keep d checkpoints(64)
nest
  -i + j seq
",
    "plan tiles_rows
compose sum \"tiles\" host p=64 q=2 pieces(adjacent, strided)
  compose sum \"tree\" lanes
    compose sum \"\" seq
  otherwise sum \"blocks\" threads
    compose mid \"\" seq
  compose sum \"\" host
nest
  t threads
",
    "plan places
nest
  i host
  k.2 grid.x(1)
  `stage` unroll(4)
  block vec(4)
  stage `place` shared(8x8) swizzled
  place t.2 stream
  block(64)
",
    "plan _\n",
];

#[test]
fn what_is_printed_reads_back() {
    for text in PLANS {
        let plan = read(text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
        assert_eq!(plan.to_string(), text);
    }
}

#[test]
fn comments_spaces_and_the_order_of_options_mean_nothing() {
    let plain = "plan a\nnest\n  i grid.x\n  stage A shared(8x8) pad(1) bufs(2)\n  block(64)\n";
    let other =
        "# measured\n\nplan a   # why\nnest\ni   grid.x\nblock ( 64 )\nstage A shared(8 x8)   bufs(2) pad( 1 )\n";
    assert_eq!(read(other).unwrap().to_string(), plain);
}

#[test]
fn any_plan_reads_back() {
    let mut random = Random(1);
    for _ in 0..500 {
        let plan = random.plan();
        let text = plan.to_string();
        assert_eq!(read(&text), Ok(plan), "{text}");
    }
}

#[test]
fn what_is_no_plan_says_where() {
    let table = [
        ("", "line 1, column 1: expected `plan` and a name"),
        ("nest", "line 1, column 1: expected `plan` and a name"),
        ("plan", "line 1, column 5: expected a name"),
        ("plan a b", "line 1, column 8: expected the end of the line"),
        ("plan a\nplan b", "line 2, column 1: expected a line of the plan above"),
        ("plan a\ni seq", "line 2, column 1: expected `nest`"),
        ("plan a\nnest\n  nest rows", "line 3, column 8: expected the end of the line"),
        (
            "plan a\nnest\n  i",
            "line 3, column 3: expected a property such as `block(256)`, or an iterator and where it runs: block, resident, together, written, within, fewest, alone, copied, columns, turns, parts, updates, flight, registers, flight_groups, last, ends, sorted, warp_columns, joined",
        ),
        (
            "plan a\nnest\n  i, seq",
            "line 3, column 9: expected where it runs: host, grid.z, grid.y, grid.x, thread.z, thread.y, thread.x, threads, lanes, seq, unroll, reg, vec",
        ),
        ("plan a\nnest\n  i seq(0)", "line 3, column 9: expected a number from 1"),
        ("plan a\nnest\n  i seq(4294967296)", "line 3, column 9: expected a number from 1"),
        ("plan a\nnest\n  i seq(99999999999999999999)", "line 3, column 9: expected a number from 1"),
        ("plan a\nnest\n  i seq(8", "line 3, column 10: expected `)`"),
        ("plan a\nnest\n  i seq(32 bits)", "line 3, column 8: expected a number: only `lanes` follow from bits"),
        ("plan a\nnest\n  i seq(8x8)", "line 3, column 8: expected an extent for each iterator of the line"),
        ("plan a\nnest\n  i, j seq(8x8x8)", "line 3, column 11: expected an extent for each iterator of the line"),
        (
            "plan a\nnest\n  i + seq",
            "line 3, column 10: expected where it runs: host, grid.z, grid.y, grid.x, thread.z, thread.y, thread.x, threads, lanes, seq, unroll, reg, vec",
        ),
        ("plan a\nnest\n  3000000000*i seq", "line 3, column 3: expected a smaller factor"),
        ("plan a\nnest\n  stage A", "line 3, column 10: expected where the part is kept: shared, own"),
        ("plan a\nnest\n  stage A shared(8x0)", "line 3, column 20: expected a number from 1"),
        ("plan a\nnest\n  stage A shared pad", "line 3, column 21: expected `(`"),
        ("plan a\nnest\n  stage A shared pad(1) pad(2)", "line 3, column 25: expected each word once"),
        (
            "plan a\nnest\n  stage A shared stream",
            "line 3, column 18: expected how the part is kept: pad, bufs, ring, wide, turned, swizzled, packed, interleaved, reversed, skewed, profile",
        ),
        ("plan a\nnest\n  fold i", "line 3, column 9: expected how the fold is cut"),
        ("plan a\nnest\n  place C", "line 3, column 10: expected a memory"),
        ("plan a\nnest\n  place C fast", "line 3, column 11: expected a memory: stream, copies"),
        (
            "plan a\nnest\n  keep d all",
            "line 3, column 10: expected how much is kept: window, rows, checkpoints, table, twin",
        ),
        ("plan a\nnest\n  narrow d int8", "line 3, column 16: expected what the type holds"),
        ("plan a\nnest\n  assume K < 4", "line 3, column 12: expected `<=`, `>=` or `==`"),
        ("plan a\nnest\n  assume K <= 9999999999999999999", "line 3, column 15: expected a smaller number"),
        ("plan a\nnest\n  `i seq", "line 3, column 3: expected an iterator"),
        ("plan a\nnest\n  i seq ; ", "line 3, column 9: expected the end of the line"),
        ("plan a\nnest\ncompose f \"\" host", "line 3, column 1: expected `compose` lines before `nest`"),
        ("plan a\n  compose f \"\" host", "line 2, column 3: expected `compose` of the entry, without indentation"),
        ("plan a\notherwise f \"\" host", "line 2, column 1: expected `compose` of the entry, without indentation"),
        (
            "plan a\ncompose f \"\" host\ncompose g \"\" host",
            "line 3, column 1: expected a call of the body above, indented by two spaces more",
        ),
        (
            "plan a\ncompose f \"\" host\n    compose g \"\" host",
            "line 3, column 5: expected at most two spaces more than the line above",
        ),
        (
            "plan a\ncompose f host",
            "line 2, column 11: expected the codelet's name in quotes; `\"\"` is the function itself",
        ),
        ("plan a\ncompose f \"\" host p=1 p=2", "line 2, column 23: expected each tunable once"),
    ];
    for (text, expected) in table {
        assert_eq!(read(text).map_err(|wrong| wrong.to_string()), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn no_word_of_a_kind_stands_twice() {
    let mut all = words();
    all.sort_by_key(|word| word.word);
    for pair in all.windows(2) {
        assert_ne!(pair[0].word, pair[1].word, "a word has one meaning: {pair:?}");
    }
}

#[test]
fn the_registry_has_every_word_below_the_heading_of_its_kind() {
    let registry = include_str!("../../../../../docs/design/plan.md");
    let mut kind = "";
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for line in registry.lines() {
        match (line.strip_prefix("#"), line.strip_prefix("| `").and_then(|rest| rest.split_once('`'))) {
            (Some(heading), _) => kind = heading.trim_start_matches('#').trim(),
            (None, Some((word, _))) => rows.push((kind, word)),
            (None, None) => {}
        }
    }
    let all = words();
    let kinds: hidp_syntax::ordered::OrdSet<&str> = all.iter().map(|word| word.kind).collect();
    rows.retain(|(kind, _)| kinds.contains(kind));
    let mut words: Vec<(&str, &str)> = all.iter().map(|word| (word.kind, word.word)).collect();
    words.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, words);
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
    fn some<T>(&mut self, most: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }
    fn name(&mut self) -> String {
        let names = ["i", "j", "k.2", "stage", "seq", "block", "x", "_t", "inside", "compose", "a b", "8x8"];
        names[self.below(names.len() as u64) as usize].to_owned()
    }
    fn number(&mut self) -> u32 {
        [1, 2, 32, 8192, u32::MAX][self.below(5) as usize]
    }
    fn place(&mut self) -> Place {
        Place::ALL[self.below(Place::ALL.len() as u64) as usize]
    }
    fn word<T: Vocabulary>(&mut self) -> T {
        let word = T::WORDS[self.below(T::WORDS.len() as u64) as usize];
        let number = word.numbered.then(|| self.number());
        T::make(word.word, number).unwrap()
    }
    fn options<T: Vocabulary>(&mut self) -> Vec<T> {
        let mut all: Vec<T> = self.some(3, Self::word);
        all.sort();
        all.dedup_by_key(|option| option.parts().0);
        all
    }
    fn line(&mut self) -> Line {
        let index = match self.below(4) {
            0 => Index::Iter(self.name()),
            1 => Index::Joined(vec![self.name(), self.name()]),
            2 => Index::Sweep(vec![Term { factor: 1, iter: self.name() }, Term { factor: -3, iter: self.name() }]),
            _ => Index::Inside(self.name()),
        };
        let pair = matches!(index, Index::Joined(_) | Index::Sweep(_));
        let (place, size) = match self.below(4) {
            0 => (Place::Lanes, Size::Bits(self.number())),
            1 if pair => (self.place(), Size::Extents(vec![self.number(), self.number()])),
            2 => (self.place(), Size::Count(self.number())),
            _ => (self.place(), Size::Rest),
        };
        Line { index, place, size }
    }
    fn stage(&mut self) -> Stage {
        let (array, near) = (self.name(), self.word());
        let (extents, layout) = (self.some(3, Self::number), self.some(2, Self::name));
        Stage { array, near, extents, layout, options: self.options() }
    }
    fn nest(&mut self) -> Nest {
        let steps = self.some(4, |this| match this.below(3) {
            0 => Step::Stage(this.stage()),
            _ => Step::Line(this.line()),
        });
        let fold = |this: &mut Self| FoldRange { iters: vec![this.name(), this.name()], options: vec![this.word()] };
        let narrow = |this: &mut Self| Narrow { table: this.name(), ty: "int8".into(), how: this.word() };
        let assume = |this: &mut Self| {
            let sign = Sign::ALL[this.below(3) as usize];
            Assumption { name: this.name(), sign, bound: i64::from(this.number()) - 5 }
        };
        Nest {
            steps,
            folds: self.some(2, fold),
            places: self.some(2, |this| Placement { array: this.name(), memory: this.word() }),
            tables: self.some(2, |this| Kept { table: this.name(), part: this.word() }),
            narrow: self.some(2, narrow),
            assumptions: self.some(2, assume),
            properties: self.some(2, Self::word),
        }
    }
    fn choice(&mut self, depth: u32) -> Choice {
        let inner = |this: &mut Self| this.choice(depth + 1);
        let mut tunables: Vec<(String, u32)> = self.some(2, |this| (this.name(), this.number()));
        tunables.dedup_by(|a, b| a.0 == b.0);
        let calls = if depth < 3 { self.some(2, inner) } else { Vec::new() };
        let otherwise = if depth < 3 && self.below(4) == 0 { Some(Box::new(self.choice(depth + 1))) } else { None };
        let (function, codelet, level) = (self.name(), self.name(), self.name());
        Choice { function, codelet, level, tunables, pieces: self.some(2, Self::word), calls, otherwise }
    }
    fn plan(&mut self) -> Plan {
        let composition = (self.below(2) == 0).then(|| self.choice(0));
        Plan { name: self.name(), composition, nests: self.some(3, Self::nest) }
    }
}

//! Primitives in all forms.

use super::*;

/// A function over `a: int[N] input`, `b: int[N] inout`, `lo, hi: int[S] input`, `r: int[S] inout`, `s: int output`.
fn with(locals: &str, body: &str) -> String {
    format!(
        r#"
fn below(x, p) -> bool {{ vars {{ x: int input; p: int input; }} return (x <= p); }}
fn first(x, y) -> int {{ vars {{ x: int input; y: int input; }} return x; }}
func f(a, b, lo, hi, r, s) dims (N, S) {{
  vars {{ N: long dim; S: long dim; a: int[N] input; b: int[N] inout; lo: int[S] input; hi: int[S] input; r: int[S] inout;
    s: int output; {locals} }}
  {body}
}}
entries (f)"#
    )
}

const A: [i32; 8] = [5, -2, 7, 7, 0, 3, -9, 4];

fn args(lo: &[i32], hi: &[i32]) -> Vec<Arg> {
    let b = vector(vec![100_i32; 8]);
    vec![vector(A.to_vec()), b, vector(lo.to_vec()), vector(hi.to_vec()), vector(vec![50_i32; lo.len()]), Arg::Output]
}

/// The contents of `b`, `r` and `s` after the statement.
fn after(body: &str, lo: &[i32], hi: &[i32]) -> (Vec<i128>, Vec<i128>, Arg) {
    let results = run_ok(&with("i: long iter;", body), args(lo, hi));
    (integers(&results[1]), integers(&results[4]), results[5].clone())
}

fn fault_of(body: &str, lo: &[i32], hi: &[i32]) -> (FaultKind, Vec<i64>) {
    fault(&with("i: long iter;", body), args(lo, hi))
}

fn int(value: i32) -> Arg {
    value.into()
}

#[test]
fn whole_folds() {
    let s = |body: &str| after(body, &[], &[]).2;
    assert_eq!(s(r#"prim min whole(3) in a{; 0, N} op "min" int neutral 2147483647:int result s;"#), int(-2));
    assert_eq!(s(r#"prim max whole(N) in a{; 0, N} op "max" int neutral -2147483648:int result s;"#), int(7));
    assert_eq!(s(r#"prim reduce whole(N) in a{; 0, N} op "+" int neutral 0:int result s;"#), int(15));
    assert_eq!(s(r#"prim reduce whole(0) in a{; 0, N} op "*" int neutral 1:int result s;"#), int(1));
    // A section: elements 4 to 7.
    assert_eq!(s(r#"prim reduce whole(3) in a{; 4, 4} op "+" int neutral 0:int result s;"#), int(-6));
    assert_eq!(s(r#"prim reduce whole(N) in a{; 0, N} op first int result s;"#), int(5));
    assert_eq!(s(r#"prim min whole(-3) in a{; 0, N} op "min" int neutral 9:int result s;"#), int(9));
}

#[test]
fn whole_folds_fault() {
    let f = |body: &str| fault_of(body, &[], &[]);
    let reduce = |rest: &str| f(&format!("prim reduce {rest} result s;"));
    assert_eq!(reduce(r#"whole(9) in a{; 0, N} op "+" int neutral 0:int"#), (FaultKind::Segment, vec![0, 9, 8]));
    assert_eq!(reduce(r#"whole(1) in a{; 6, 3} op "+" int neutral 0:int"#), (FaultKind::Segment, vec![6, 9, 8]));
    assert_eq!(reduce("whole(0) in a{; 0, N} op first int"), (FaultKind::EmptyFold, vec![]));
}

#[test]
fn scans() {
    let b = |body: &str| after(body, &[], &[]).0;
    assert_eq!(
        b(r#"prim scan whole(N) in a{; 0, N} out b{; 0, N} op "+" int neutral 0:int;"#),
        [5, 3, 10, 17, 17, 20, 11, 15]
    );
    assert_eq!(
        b(r#"prim exscan segment(2, 5) in a{; 0, N} out b{; 0, N} op "max" int neutral -1:int;"#),
        [100, 100, -1, 7, 7, 100, 100, 100]
    );
    assert_eq!(
        b(r#"prim scan regular(3, 2) in a{; 0, N} out b{; 0, N} op "+" int neutral 0:int;"#),
        [5, 3, 10, 7, 7, 10, 100, 100]
    );
    let in_place = r#"prim scan whole(2) in b{; 0, N} out b{; 0, N} op "+" int neutral 0:int;"#;
    assert_eq!(b(in_place), [100, 200, 100, 100, 100, 100, 100, 100]);
    let no_neutral = "prim exscan whole(2) in a{; 0, N} out b{; 0, N} op first int;";
    assert_eq!(fault_of(no_neutral, &[], &[]), (FaultKind::EmptyFold, vec![]));
}

#[test]
fn sorts_are_stable_in_both_directions() {
    let sort = |dir: i32| {
        let body = format!(
            "prim sort whole(N) in a{{; 0, N}} out b{{; 0, N}} dir {dir}:int values lo{{; 0, N}} into r{{; 0, N}};"
        );
        let numbers: Vec<i32> = (0..8).collect();
        let (keys, values, _) = after(&body, &numbers, &numbers);
        (keys, values)
    };
    assert_eq!(sort(1), (vec![-9, -2, 0, 3, 4, 5, 7, 7], vec![6, 1, 4, 5, 7, 0, 2, 3]));
    assert_eq!(sort(-1), (vec![7, 7, 5, 4, 3, 0, -2, -9], vec![2, 3, 0, 7, 5, 4, 1, 6]));
    let wrong = "prim sort whole(N) in a{; 0, N} out b{; 0, N} dir 2:int;";
    assert_eq!(fault_of(wrong, &[], &[]), (FaultKind::SortDirection, vec![2]));
}

#[test]
fn floats_sort_in_total_order() {
    let text = r#"
func f(x) dims (N) { vars { N: long dim; x: float[N] inout; } prim sort whole(N) in x{; 0, N} out x{; 0, N} dir 1:int; }
entries (f)"#;
    let input = vec![f32::NAN, 1.0, -0.0, 0.0, f32::NEG_INFINITY, -f32::NAN, f32::INFINITY];
    let results = run_ok(text, vec![vector(input)]);
    let bits: Vec<u32> = match data(&results[0]) {
        Data::F32(values) => values.iter().map(|value| value.to_bits()).collect(),
        other => panic!("{other:?}"),
    };
    let expected = [-f32::NAN, f32::NEG_INFINITY, -0.0, 0.0, 1.0, f32::INFINITY, f32::NAN];
    assert_eq!(bits, expected.map(f32::to_bits));
}

#[test]
fn vectors_work_on_all_segments_in_any_order() {
    let sums = r#"prim reduce vectors(lo{; 0, S}, hi{; 0, S}) in a{; 0, N} out r{; 0, S} op "+" int neutral 0:int;"#;
    assert_eq!(after(sums, &[5, 0, 3, 0], &[8, 2, 3, 8]).1, [-2, 3, 0, 15]);
    let scan = r#"prim scan vectors(lo{; 0, S}, hi{; 0, S}) in a{; 0, N} out b{; 0, N} op "+" int neutral 0:int;"#;
    assert_eq!(after(scan, &[5, 0, 3], &[8, 2, 1]).0, [5, 3, 100, 100, 100, 3, -6, -2]);
    assert_eq!(fault_of(scan, &[5, 0, 1], &[8, 2, 4]), (FaultKind::SegmentOverlap, vec![1, 2]));
    assert_eq!(fault_of(scan, &[0, 3, 5], &[8, 4, 6]), (FaultKind::SegmentOverlap, vec![0, 1]));
    assert_eq!(fault_of(scan, &[5, -1], &[8, 2]), (FaultKind::Segment, vec![-1, 2, 8]));
    let uneven = r#"prim scan vectors(lo{; 0, S}, hi{; 0, 1}) in a{; 0, N} out b{; 0, N} op "+" int neutral 0:int;"#;
    assert_eq!(fault_of(uneven, &[0, 1], &[1, 2]), (FaultKind::Shape, vec![2, 1]));
    let short = r#"prim max vectors(lo{; 0, S}, hi{; 0, S}) in a{; 0, N} out r{; 1, 1} op "max" int neutral 0:int;"#;
    assert_eq!(fault_of(short, &[0, 1], &[1, 2]), (FaultKind::Segment, vec![0, 2, 1]));
}

#[test]
fn regular_segments() {
    let sums = r#"prim reduce regular(2, S) in a{; 0, N} out r{; 0, S} op "+" int neutral 0:int;"#;
    assert_eq!(after(sums, &[0; 4], &[0; 4]).1, [3, 14, 3, -5]);
    assert_eq!(fault_of(sums, &[0; 5], &[0; 5]), (FaultKind::Segment, vec![0, 10, 8]));
    let huge = sums.replace("regular(2, S)", "regular(4611686018427387904, 4)");
    assert_eq!(fault_of(&huge, &[], &[]), (FaultKind::SizeOverflow, vec![1 << 62, 4]));
    let negative = sums.replace("regular(2, S)", "regular(2, -1)");
    assert_eq!(fault_of(&negative, &[], &[]), (FaultKind::NegativeSize, vec![-1]));
    let empty = sums.replace("regular(2, S)", "regular(0, S)");
    assert_eq!(after(&empty, &[0; 3], &[0; 3]).1, [0, 0, 0]);
}

#[test]
fn partitions_keep_the_order_of_both_parts() {
    let whole = "prim partition whole(N) in a{; 0, N} out b{; 0, N} predicate below pivot 3:int result s;";
    let (b, _, s) = after(whole, &[], &[]);
    assert_eq!((b, s), (vec![-2, 0, 3, -9, 5, 7, 7, 4], int(4)));
    let text = with(
        "i: long iter; p: int local; nlo: int[4] local; nhi: long[4] local; k: long iter;",
        "declare nlo zero; declare nhi zero;
         map (i = 0 .. S by 1) { declare p; p = (r[i?] - 47:int);
           prim partition segment(long(lo[i?]), long(hi[i?])) in a{; 0, N} out b{; 0, N} predicate below pivot p bounds (nlo, nhi); }
         map (k = 0 .. 4 by 1) { b[k] = nlo[k]; b[(k + 4)] = int(nhi[k]); }",
    );
    let results = run_ok(&text, args(&[4, 0], &[8, 4]));
    assert_eq!(integers(&results[1]), [4, 7, 0, 1, 7, 8, 1, 4]);
    let vectors = with(
        "nlo: int[4] local; nhi: long[4] local; p: int[2] local;",
        "declare nlo zero; declare nhi zero; declare p zero; p[1] = 6:int;
         prim partition vectors(lo{; 0, S}, hi{; 0, S}) in a{; 0, N} out b{; 0, N} predicate below pivots p{; 0, 2} bounds (nlo, nhi);
         s = nlo[3];",
    );
    let results = run_ok(&vectors, args(&[4, 0], &[8, 4]));
    assert_eq!(integers(&results[1]), [5, -2, 7, 7, 0, -9, 3, 4]);
    assert_eq!(results[5], int(2));
    let small = vectors.replace("nhi: long[4]", "nhi: long[3]").replace("s = nlo[3];", "");
    assert_eq!(fault(&small, args(&[4, 0], &[8, 4])), (FaultKind::Index, vec![3, 3, 0]));
}

#[test]
fn reversals() {
    let b = |body: &str| after(body, &[], &[]).0;
    assert_eq!(b("prim reverse segment(1, 4) in a{; 0, N} out b{; 0, N};"), [100, 7, 7, -2, 100, 100, 100, 100]);
    assert_eq!(b("prim reverse regular(4, 2) in a{; 0, N} out b{; 0, N};"), [7, 7, -2, 5, 4, -9, 3, 0]);
    let in_place = "prim scan whole(3) in a{; 0, N} out b{; 0, N} op \"+\" int neutral 0:int; \
                    prim reverse_inplace whole(3) in b{; 0, N};";
    assert_eq!(b(in_place)[..3], [10, 3, 5]);
}

#[test]
fn histograms() {
    let body = r#"prim histogram whole(S) in lo{; 0, S} out b{; 0, 3} op "+" int neutral 0:int values hi{; 0, S};"#;
    assert_eq!(after(body, &[2, 0, 2, 2], &[1, 2, 3, 4]).0[..4], [102, 100, 108, 100]);
    assert_eq!(fault_of(body, &[2, 3, -1], &[1, 2, 3]), (FaultKind::HistogramKey, vec![3, 3]));
}

#[test]
fn segments_of_a_map_must_not_overlap() {
    let text = with(
        "i: long iter;",
        "map (i = 0 .. S by 1) { prim sort segment(long(lo[i?]), long(hi[i?])) in a{; 0, N} out b{; 0, N} dir 1:int; }",
    );
    let results = run_ok(&text, args(&[5, 0, 2], &[8, 2, 2]));
    assert_eq!(integers(&results[1]), [-2, 5, 100, 100, 100, -9, 3, 4]);
    assert_eq!(fault(&text, args(&[5, 0, 4], &[8, 2, 6])), (FaultKind::SegmentOverlap, vec![0, 2]));
    // Segments of an array of the iteration itself, and of loops inside of an iteration, have nothing in common.
    let own = with(
        "i: long iter; own: int[8] local; t: int local; j: long iter;",
        "map (i = 0 .. S by 1) { declare own zero; declare t zero;
           loop (t < 2:int) {
             map (j = 0 .. 2 by 1) { prim sort segment((4 * j), ((4 * j) + 4)) in a{; 0, N} out own{; 0, 8} dir 1:int; }
           } step { t = (t + 1:int); }
           r[i?] = own[long(lo[i?])?]; }",
    );
    assert_eq!(integers(&run_ok(&own, args(&[4, 0], &[0, 0]))[4]), [-9, -2]);
    // Inner maps of two outer iterations.
    let nested = with(
        "i: long iter; j: long iter;",
        "map (i = 0 .. S by 1) { map (j = 0 .. 1 by 1) {
           prim sort segment(long(lo[i?]), long(hi[i?])) in a{; 0, N} out b{; 0, N} dir 1:int; } }",
    );
    assert_eq!(fault(&nested, args(&[5, 0, 4], &[8, 2, 6])), (FaultKind::SegmentOverlap, vec![0, 2]));
}

#[test]
fn overlaps_are_found_against_a_brute_force_search() {
    let mut state = 1_u64;
    let mut random = |below: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % below
    };
    for _ in 0..2000 {
        let segments: Vec<(i64, i64, i64)> = (0..random(6))
            .map(|_| {
                let low = random(12);
                (low, low + random(4), random(4))
            })
            .collect();
        let clash = segments
            .iter()
            .enumerate()
            .any(|(at, a)| segments[..at].iter().any(|b| a.2 != b.2 && a.0.max(b.0) < a.1.min(b.1)));
        assert_eq!(crate::par::interp::segments::overlap(segments.clone()).is_some(), clash, "{segments:?}");
    }
}

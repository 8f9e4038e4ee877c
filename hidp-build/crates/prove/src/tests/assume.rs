use crate::{Assumptions, Known, assumptions, assumptions_of_sections};
use hidp_ir::par::{FuncId, Program, read};

fn found(params: &str, body: &str) -> Vec<Vec<String>> {
    found_by(assumptions, params, body)
}

fn found_by(find: fn(&Program, FuncId) -> Vec<Assumptions>, params: &str, body: &str) -> Vec<Vec<String>> {
    let text = format!(
        "func f(x, y, off, T) dims (M, N) {{\n  vars {{ M: long dim; N: long dim; {params}\n    x: double[M] input; y: double[N] inout; }}\n{body} }}\nentries (f)\n"
    );
    let program = read(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let entry = program.entries[0];
    let vars = &program.funcs[entry].vars;
    let known = |known: &Known| match known {
        Known::Value(var) => vars[*var].name.clone(),
        Known::Extreme(array, extreme) => format!("{extreme:?}({})", vars[*array].name),
    };
    let sum = |sum: &crate::Sum| {
        let mut parts: Vec<String> = Vec::new();
        for (factor, product) in &sum.terms {
            let product: Vec<String> = product.iter().map(known).collect();
            parts.push(if *factor == 1 { product.join(" * ") } else { format!("{factor} * {}", product.join(" * ")) });
        }
        if sum.constant != 0 || parts.is_empty() {
            parts.insert(0, sum.constant.to_string());
        }
        parts.join(" + ")
    };
    let all = find(&program, entry);
    all.iter()
        .map(|of| of.conditions.iter().map(|c| format!("{} <= {}", sum(&c.low), sum(&c.high))).collect())
        .collect()
}

const SCALARS: &str = "off: long input; T: long input; s: double local; k: long local; i: long iter; j: long iter;";
const NONE: [[&str; 0]; 0] = [];

fn loop_over(index: &str) -> String {
    format!(
        "map (i = 0 .. N by 1) {{ declare s; s = 0.0; declare k; k = 0;
           loop (k < T) {{ s = (s + x[{index}?]); }} step {{ k = (k + 1); }} y[i] = s; }}"
    )
}

#[test]
fn scalars_say_where_a_loop_reads() {
    // What limits the scalars stands before the sum, which does not wrap then.
    let limits = ["0 <= off", "T <= 72057594037927936", "-72057594037927936 <= T", "off <= 72057594037927936"];
    let all: Vec<&str> = limits.into_iter().chain(["N + T + off <= 1 + M"]).collect();
    assert_eq!(found(SCALARS, &loop_over("((i + k) + off)")), [all]);
    assert_eq!(found(SCALARS, &loop_over("k")), [["T <= M"]]);
    assert_eq!(
        found(
            &SCALARS.replace("T: long", "T: int").replace("k: long", "k: int"),
            &loop_over("long(k)").replace("k = 0", "k = 0:int").replace("k + 1", "k + 1:int")
        ),
        [["T <= M"]]
    );
}

#[test]
fn an_iterator_is_replaced_by_the_end_that_counts() {
    assert_eq!(
        found(SCALARS, &loop_over("(i - k)")),
        [["N <= M", "T <= 1"]],
        "the first iteration has nothing behind it"
    );
    assert_eq!(found(SCALARS, &loop_over("((off - i) - k)")).len(), 1);
    assert_eq!(found(SCALARS, &loop_over("((2 * i) + 1)")), [["2 * N <= M"]]);
}

/// Whether it pays to look for the extremes is not asked here.
#[test]
fn elements_are_replaced_by_the_extreme_ones() {
    let ints = format!("{SCALARS} z: int[N] input;");
    assert_eq!(found(&ints, &loop_over("long(z[i])")), [["1 + Most(z) <= M", "0 <= Least(z)"]]);
    let bytes = format!("{SCALARS} z: uint8[N] input;");
    assert_eq!(found(&bytes, &loop_over("long(z[i])")), [["1 + Most(z) <= M"]], "not all values of the type");
    let floats = format!("{SCALARS} z: double[N] input;");
    assert_eq!(found(&floats, &loop_over("long(z[i])")), NONE);
    let written = format!("{SCALARS} z: int[N] inout;");
    assert_eq!(found(&written, &loop_over("long(z[i])")), NONE, "it may change");
}

/// What a loop counts to is of data, where it is taken modulo 2 is not.
#[test]
fn remainders_are_bounded_by_their_divisors_and_not_by_data() {
    let ints = format!("{SCALARS} z: int[N] input;");
    assert_eq!(found(&ints, &loop_over("(k % 2)").replace("k < T", "k < long(z[i])")), [["2 <= M"]]);
}

/// That rows follow one another is not asked: an empty one has no element.
#[test]
fn ends_of_rows_are_in_range_where_the_extremes_are() {
    let rows = format!("{SCALARS} p: int[(N + 1)] input; z: int[M] input;");
    let body = "map (i = 0 .. N by 1) { map (k = long(p[i]) .. long(p[(i + 1)]) by 1) { y[i] = x[long(z[k?])?]; } }";
    let all = ["1 + Most(z) <= M", "Most(p) <= M", "0 <= Least(p)", "0 <= Least(z)"];
    assert_eq!(found(&rows, body), [all]);
}

/// Sections between neighbouring elements, with a loop over each: nothing but that their ends are in range.
#[test]
fn sections_are_in_range_where_their_ends_are() {
    let body = "map (i = 0 .. N by 1) {
        require ((p[(i + 1)] <= p[i]) || ((p[i] >= 0) && (p[(i + 1)] <= M))) fault Segment (\"low\" p[i], \"high\" p[(i + 1)], \"extent\" M);
        declare s; s = 0.0; declare k; k = 0;
        loop (k < max((p[(i + 1)] - p[i]), 0)) { s = (s + x[(p[i] + k)?]); } step { k = (k + 1); } y[i] = s; }";
    let ints = format!("{SCALARS} p: long[(N + 1)] input;");
    let of_sections = |body: &str| found_by(assumptions_of_sections, &ints, body);
    assert_eq!(of_sections(body), [["Most(p) <= M", "0 <= Least(p)"]]);
    let further = body.replace("+ k)?", "+ (2 * k))?");
    assert_ne!(of_sections(&further), [["Most(p) <= M", "0 <= Least(p)"]]);
    let inner = body.replace("- p[i]), 0)", "- p[i]), off)");
    assert_ne!(of_sections(&inner), [["Most(p) <= M", "0 <= Least(p)"]], "the section may end before");
}

#[test]
fn what_one_value_alone_allows_is_no_assumption() {
    let own = loop_over("(i + off)").replace("x[", "y[");
    assert_eq!(found(SCALARS, &own), NONE, "only for `off == 0`");
}

/// The ends of the only range are tested anyway.
#[test]
fn tests_that_stand_in_no_loop_stay() {
    assert_eq!(found(SCALARS, "map (i = 0 .. N by 1) { y[i] = x[(i + off)?]; }"), NONE);
    let inner = "map (i = 0 .. N by 1) { map (j = 0 .. N by 1) { y[j] = x[off?]; } }";
    assert_eq!(found(SCALARS, inner), [["off <= -1 + M", "0 <= off"]]);
}

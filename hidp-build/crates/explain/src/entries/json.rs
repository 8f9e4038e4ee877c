//! Explanations as JSON.

use std::fmt;

use super::accesses::AccessFacts;
use super::kernels::{KernelFacts, PlanKernels};
use super::{Check, Explanation, NestFacts, Tested, Version};
use crate::traffic::{Access, Cost, Occupancy, Reason, Resources};
use hidp_plan::{Candidate, Explored, Fate, Plan};

/// A value.
enum Json {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    fn text(text: impl ToString) -> Json {
        Json::Text(text.to_string())
    }
    fn list<T>(items: &[T], item: impl Fn(&T) -> Json) -> Json {
        Json::List(items.iter().map(item).collect())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(value) => write!(f, "{value}"),
            Json::Text(text) => quoted(text, f),
            Json::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Json::Object(members) => {
                f.write_str("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}\"{name}\": {value}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            c if u32::from(c) < 0x20 => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

/// All explanations, one a line.
pub(super) fn list(explanations: &[Explanation]) -> String {
    let lines: Vec<String> = explanations.iter().map(|explanation| entry(explanation).to_string()).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

fn entry(explanation: &Explanation) -> Json {
    let Explanation {
        name,
        place,
        recurrences,
        courses,
        codelets,
        nests,
        apart,
        tested,
        checks,
        plans,
        composed,
        pinned,
        device,
        searched,
        kernels,
        homes,
        measures,
        rules,
        work,
        tunables,
        versions,
        more,
        expanded,
        directives,
    } = explanation;
    Json::Object(vec![
        ("entry", Json::text(name)),
        ("place", Json::text(place)),
        ("recurrences", Json::list(recurrences, |text| Json::text(text))),
        ("ways", Json::list(courses, |line| Json::text(line))),
        ("codelets", Json::list(codelets, |line| Json::text(line))),
        ("nests", Json::list(nests, nest)),
        ("apart", Json::list(apart, |line| Json::text(line))),
        ("tested", Json::list(tested, of_tested)),
        ("checks", Json::list(checks, check)),
        ("plans", Json::list(plans, plan)),
        ("composed", Json::list(composed, plan)),
        ("expanded", Json::list(expanded, |line| Json::text(line))),
        ("directives", Json::list(directives, |line| Json::text(line))),
        ("pinned", Json::Bool(*pinned)),
        ("device", device.as_ref().map_or(Json::Null, of_device)),
        ("device_left_out", device.as_ref().err().map_or(Json::Null, Json::text)),
        ("searched", Json::list(searched, |line| Json::text(line))),
        ("kernels", Json::list(kernels, of_plan)),
        (
            "homes",
            Json::list(homes, |(plan, arrays)| {
                let arrays = Json::list(arrays, |line| Json::text(line));
                Json::Object(vec![("plan", Json::text(plan)), ("arrays", arrays)])
            }),
        ),
        (
            "measures",
            Json::list(measures, |(name, is)| {
                Json::Object(vec![("name", Json::text(name)), ("value", Json::text(is))])
            }),
        ),
        ("rules", Json::list(rules, |line| Json::text(line))),
        ("work", Json::list(work, |line| Json::text(line))),
        (
            "tunables",
            Json::list(tunables, |(name, domain)| {
                let domain = Json::list(domain, |value| Json::Number(*value));
                Json::Object(vec![("name", Json::text(name)), ("domain", domain)])
            }),
        ),
        (
            "versions",
            Json::list(versions, |Version { plan, kernels, shared }| {
                Json::Object(vec![
                    ("plan", Json::text(plan)),
                    ("kernels", Json::Number(*kernels as i64)),
                    ("shared", Json::Number(*shared as i64)),
                ])
            }),
        ),
        (
            "more",
            Json::list(more, |(title, text)| {
                Json::Object(vec![("title", Json::text(title)), ("text", Json::text(text))])
            }),
        ),
    ])
}

fn nest(nest: &NestFacts) -> Json {
    let NestFacts { shape, candidates, limits, bytes, flops, accesses } = nest;
    Json::Object(vec![
        ("shape", Json::text(shape)),
        ("bytes", Json::text(bytes)),
        ("flops", Json::text(flops)),
        ("candidates", Json::list(candidates, candidate)),
        ("limits", Json::list(limits, |limit| Json::text(limit))),
        ("accesses", Json::list(accesses, lying)),
    ])
}

fn lying(facts: &AccessFacts) -> Json {
    let AccessFacts { place, action, text, along, stride, shared } = facts;
    Json::Object(vec![
        ("place", Json::text(place)),
        ("action", Json::text(action)),
        ("text", Json::text(text)),
        ("along", Json::text(along)),
        ("stride", Json::text(stride)),
        ("shared", Json::Bool(*shared)),
    ])
}

fn candidate(candidate: &Candidate) -> Json {
    let Candidate { name, nest: _, score, fate } = candidate;
    let parts = score.map_or(Json::Null, |score| {
        let total = [("total", Json::Number(score.total.into()))];
        let parts = score.parts().map(|(name, value)| (name, Json::Number(value.into())));
        Json::Object(total.into_iter().chain(parts).collect())
    });
    let constraint = match fate {
        Fate::Excluded(refusal) => Json::text(refusal.constraint.id),
        Fate::Kept | Fate::SameAs(_) | Fate::Outnumbered(_) => Json::Null,
    };
    Json::Object(vec![
        ("name", Json::text(name)),
        ("kept", Json::Bool(*fate == Fate::Kept)),
        ("fate", Json::text(fate)),
        ("constraint", constraint),
        ("score", parts),
    ])
}

fn of_tested(tested: &Tested) -> Json {
    let Tested { place, conditions } = tested;
    let conditions = Json::list(conditions, |condition| Json::text(condition));
    Json::Object(vec![("place", Json::text(place)), ("conditions", conditions)])
}

fn check(check: &Check) -> Json {
    let Check { place, text, reason } = check;
    Json::Object(vec![("place", Json::text(place)), ("text", Json::text(text)), ("reason", Json::text(reason))])
}

fn of_device(device: &Explored) -> Json {
    Json::Object(vec![
        ("candidates", Json::list(&device.candidates, candidate)),
        ("plans", Json::list(&device.plans, plan)),
    ])
}

fn of_plan(own: &PlanKernels) -> Json {
    Json::Object(vec![("plan", Json::text(&own.plan)), ("kernels", Json::list(&own.kernels, kernel))])
}

fn kernel(facts: &KernelFacts) -> Json {
    let number = |value: u32| Json::Number(value.into());
    let traffic = &facts.traffic;
    let compiled = |(found, warps): &(Resources, Occupancy)| {
        let Resources { kernel: _, arch, registers, spilled, stack, shared } = found;
        Json::Object(vec![
            ("arch", Json::text(arch)),
            ("registers", number(*registers)),
            ("spilled", number(*spilled)),
            ("stack", number(*stack)),
            ("shared", number(*shared)),
            ("occupancy", of_warps(*warps)),
        ])
    };
    Json::Object(vec![
        ("kernel", Json::text(&traffic.kernel)),
        ("level", Json::text(traffic.grid.level.name())),
        ("block", number(traffic.grid.block)),
        ("items", number(traffic.grid.items)),
        ("shared", number(traffic.shared)),
        ("occupancy", of_warps(facts.occupancy)),
        ("compiled", Json::list(&facts.compiled, compiled)),
        ("accesses", Json::list(&traffic.accesses, access)),
    ])
}

fn of_warps(occupancy: Occupancy) -> Json {
    let Occupancy { warps, most, limit } = occupancy;
    Json::Object(vec![
        ("warps", Json::Number(warps.into())),
        ("most", Json::Number(most.into())),
        ("limit", Json::text(limit.name())),
    ])
}

fn access(access: &Access) -> Json {
    let Access { action, array, index, depth, times, sites, lanes, pattern, cost, cost_claim, lanes_claim } = access;
    let doubt = |claim: &Result<(), Reason>| claim.err().map_or(Json::Null, |reason| Json::text(reason.name()));
    let mut members = vec![
        ("action", Json::text(action.name())),
        ("array", Json::text(array)),
        ("index", Json::text(index)),
        ("loops", Json::Number((*depth).into())),
        ("times", Json::Number((*times).into())),
        ("sites", Json::list(sites, |site| Json::Number((*site).into()))),
        ("lanes", Json::Number((*lanes).into())),
        ("pattern", Json::text(pattern)),
        ("cost_unsure", doubt(cost_claim)),
        ("lanes_unsure", doubt(lanes_claim)),
    ];
    match cost {
        Cost::Global { sectors, least, read_only } => members.extend([
            ("memory", Json::text("global")),
            ("sectors", Json::Number((*sectors).into())),
            ("least", Json::Number((*least).into())),
            ("read_only", Json::Bool(*read_only)),
        ]),
        Cost::Shared { turns, least } => {
            let number = |value: u32| Json::Number(value.into());
            members.extend([("memory", Json::text("shared")), ("turns", number(*turns)), ("least", number(*least))]);
        }
    }
    Json::Object(members)
}

/// A list of lines for each nest.
fn plan(plan: &Plan) -> Json {
    let nests = Json::list(&plan.nests, |nest| {
        let text = nest.to_string();
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
        Json::list(&lines, |line| Json::text(line))
    });
    Json::Object(vec![("name", Json::text(&plan.name)), ("nests", nests), ("text", Json::text(plan))])
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Wanted, entries};
    use super::*;
    use crate::testing::{input, optimised};
    use hidp_build::compiler::pipeline::Options;

    fn explained(wanted: Wanted) -> String {
        explained_with(wanted, &[])
    }

    /// The entries of a program, of which no GPU is known.
    fn of(text: &str, format: Format) -> String {
        let input = input(text, Options::default());
        let program = optimised(&input);
        let wanted = Wanted { format, ..Wanted::default() };
        entries(&input, &program, &program.entries, wanted, Err("nobody has one"))
    }

    fn explained_with(wanted: Wanted, resources: &[Resources]) -> String {
        let text = "function f input float A[R][C]; inout int at[R]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[at[r]][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
        let input = input(text, Options { cuda: true, ..Options::default() });
        let program = optimised(&input);
        entries(&input, &program, &program.entries, wanted, Ok(resources))
    }

    #[test]
    fn text_is_quoted() {
        assert_eq!(Json::text("a\"b\\c\nd\u{1}é").to_string(), r#""a\"b\\c\nd\u0001é""#);
        assert_eq!(Json::List(vec![Json::Null, Json::Bool(true), Json::Number(-1)]).to_string(), "[null, true, -1]");
    }

    #[test]
    fn all_that_the_text_says_is_there() {
        let json = explained(Wanted { format: Format::Json, source: true, ..Wanted::default() });
        for expected in [
            "\"entry\": \"f\"",
            "\"name\": \"lanes\", \"kept\": false, \"fate\": \"excluded: a check remains inside",
            "in the middle of a tile, at k.hdp:2:45 `_t = A[at[r]][c];`\", \"constraint\": \"fault-order\"",
            "\"constraint\": \"fault-order\"",
            "\"score\": {\"total\": ",
            "\"reason\": ",
            "\"nests\": [[\"r threads\", \"r seq\", ",
            "{\"name\": \"split\", \"kept\": false, \"fate\": \"excluded: a check remains inside of the fold",
            "{\"name\": \"inner\", \"value\": \"C\"}",
            "\"bytes\": \"4 * ",
            "{\"name\": \"threads\", \"domain\": [1, 2, ",
            "\"title\": \"generated C++\", \"text\": \"// Generated",
        ] {
            assert!(json.contains(expected), "{expected}\n{json}");
        }
        let depth = |open: char, close: char| json.matches(open).count() == json.matches(close).count();
        assert!(depth('[', ']') || json.contains("\"text\""), "lists are closed");
        assert!(json.starts_with("[\n{") && json.ends_with("}\n]\n"));
    }

    #[test]
    fn kernels_are_shown_with_what_they_ask_for() {
        let found = Resources {
            kernel: "entry_k_1k_f::warp_map0_k0_items".into(),
            arch: "sm_90".into(),
            registers: 40,
            spilled: 0,
            stack: 8,
            shared: 0,
        };
        let text = explained_with(Wanted::default(), std::slice::from_ref(&found));
        for expected in [
            "kernels of plan warp, as a warp runs them",
            "map0: a warp an item, blocks of 256 threads, 0 bytes of shared memory",
            "sm_90: 40 registers, 0 bytes spilled, 8 of stack, 0 shared; 48 of 64 warps (75%), limited by registers",
            "registers apart: 64 of 64 warps (100%), limited by threads",
            "coalesced",
            "4 sectors for 4, read-only path",
            "29 mappings in 189 steps; cut by block-threads 22, dims 36, fault-order 1, group 22",
            "R 256, C 256: r, c x(64) span(all)  5.6 us: work 0.1, parallelism 0.5, launches 5.0; next r, c x(128) span(all)  5.7 us",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        let json = explained_with(Wanted { format: Format::Json, ..Wanted::default() }, &[found]);
        for expected in [
            "{\"plan\": \"warp\", \"kernels\": [{\"kernel\": \"map0\", \"level\": \"warp\", \"block\": 256",
            "\"registers\": 40, \"spilled\": 0",
            "\"pattern\": \"coalesced\", \"cost_unsure\": null, \"lanes_unsure\": null, \"memory\": \"global\", \"sectors\": 4",
            "\"cost_unsure\": \"data\", \"lanes_unsure\": \"branch\", \"memory\": \"global\", \"sectors\": 32, \"least\": 4",
        ] {
            assert!(json.contains(expected), "{expected}\n{json}");
        }
    }

    #[test]
    fn accesses_of_processors_are_shown_with_their_strides() {
        let program = "function f input float A[R][C], B[C][R]; input int at[R]; input int k; output float y[R]; inout float p[R];
            { map { r := [0:R); c := [0:C); _t = A[at[r]][c] * B[c][r]; } reduce(\"+\", y[r], _t, c := [*]);
              map { r := [0:R); p[r] = p[k] * B[0][at[r]]; } }";
        let text = of(program, Format::Plain);
        for expected in [
            "load   A[at[r]][c]  next to each other along c\n",
            "load   B[c][r]      R apart along c\n",
            "store  y[r]         next to each other along r\n",
            "load   p[k]         one element along r, perhaps touched by others: by itself\n",
            "load   B[0][at[r]]  where data or locals say along r\n",
            "\nGPUs\n  left out: nobody has one\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains("a GPU"), "{text}");
        let json = of(program, Format::Json);
        for expected in [
            "\"text\": \"B[c][r]\", \"along\": \"c\", \"stride\": \"R apart\", \"shared\": false",
            "\"device\": null, \"device_left_out\": \"nobody has one\"",
        ] {
            assert!(json.contains(expected), "{expected}\n{json}");
        }
    }

    /// Where arrays of iterations are too long for lanes, iterations run in order.
    #[test]
    fn sizes_that_lanes_do_not_take_are_shown() {
        let program = "function f input int x[N]; input int k; output int y[N];
            { map { i := [0:N); int n = x[i]; int v[k], w[40];
              for (int t = 0; t < n; t = t + 1) { v[t % 2] = v[t % 2] + t; w[t & 7] = t; } y[i] = v[0] + w[1]; } }";
        let limit = "wide runs in order where an iteration has more than 8192 elements of `v`";
        let text = of(program, Format::Plain);
        assert!(text.contains(&format!("\n    {limit}\n")), "{text}");
        assert!(!text.contains("elements of `w`"), "{text}");
        let json = of(program, Format::Json);
        assert!(json.contains(&format!("\"limits\": [\"{limit}\"]")), "{json}");
    }

    /// Where iterations may be outside of an array whose rows lanes take, that is tested.
    #[test]
    fn rows_that_lanes_may_not_find_are_shown() {
        let program = |range: &str| {
            let range = format!("{{ map {{ i := {range}; int s = 0;");
            format!(
                "function f input int x[N][3]; input int a, b; inout int y[N];
                {range} for (int j = 0; j < 3; j += 1) {{ for (int k = 0; k < 3; k += 1) {{ s = max(s, x[i][j] - x[i][k]); }} }}
                y[i] = s; }} }}"
            )
        };
        let limit = "wide runs in order where iterations have no row of `x`";
        assert!(of(&program("[a:b)"), Format::Plain).contains(limit));
        assert!(!of(&program("[1:N)"), Format::Plain).contains(limit), "all of them have one");
    }

    /// Of two nests, one stands twice: only what the other tests is left inside.
    #[test]
    fn what_is_tested_before_a_nest_is_shown() {
        let program = "function f input long off; input int n, at[N]; input double x[M]; output double y[N], z[N];
            { map { i := [0:N); double s = 0; for (int k = 0; k < n; k += 1) s += x[k + off]; y[i] = s; }
              map { i := [0:N); z[i] = x[at[i]]; } }";
        let text = of(program, Format::Plain);
        let shown = "tested once before a nest\n  k.hdp:2:15: off <= M - n, 0 <= off; else with checks inside\n\n\
            checks that remain at run time\n  k.hdp:3:40 `x[at[i]]`: nothing bounds the index: it depends on the contents of `at`\n\n";
        assert!(text.contains(shown), "{text}");
        let json = of(program, Format::Json);
        let shown = "\"tested\": [{\"place\": \"k.hdp:2:15\", \"conditions\": [\"off <= M - n\", \"0 <= off\"]}]";
        assert!(json.contains(shown), "{json}");
    }

    /// An array of indices that is an input is looked at, one that the function may write is tested inside.
    #[test]
    fn what_a_look_at_indices_asks_is_shown_with_what_is_left_inside() {
        let program =
            "function f input int at[N]; inout int bt[N]; input double x[M][K]; output double y[N][K], z[N][K];
            { map { i := [0:N); j := [0:K); y[i][j] = x[at[i]][j]; }
              map { i := [0:N); j := [0:K); z[i][j] = x[bt[i]][j]; } }";
        let text = of(program, Format::Plain);
        let nests =
            "nests after fusion, in order\n  {[0:8 <= K ? N : 0]}\n  {[0:N,0:K]}\n  {[0:N,0:K]}\n  {[0:N,0:K]}\n";
        assert!(text.contains(nests), "{text}");
        let shown = "tested once before a nest\n  k.hdp:2:15: 8 <= K, most_at + 1 <= M, 0 <= least_at; else with checks inside\n\n\
            checks that remain at run time\n  k.hdp:3:55 `x[bt[i]][j]`: nothing bounds the index\n\n";
        assert!(text.contains(shown), "{text}");
        let json = of(program, Format::Json);
        let shown = "\"conditions\": [\"8 <= K\", \"most_at + 1 <= M\", \"0 <= least_at\"]";
        assert!(json.contains(shown), "{json}");
    }

    #[test]
    fn arrays_of_iterations_are_shown_with_where_they_are() {
        let program = "function f input int x[M][N]; output int y[M];
            { map { m := [0:M); int t[8192], u[N], v[8];
                map { i := [0:N); t[(x[m][i] & 31) * 8] = 1; u[i] = x[m][i]; v[i & 7] = 2; }
                map { i := [0:N); _t = t[8] + u[N - 1 - i] + v[i & 7]; } reduce(\"+\", y[m], _t, i := [*]); } }";
        let input = input(program, Options { cuda: true, ..Options::default() });
        let program = optimised(&input);
        let shown =
            |format| entries(&input, &program, &program.entries, Wanted { format, ..Wanted::default() }, Ok(&[]));
        let text = shown(Format::Plain);
        let block = "arrays of iterations in plan block\n  \
            t: global memory: 32768 bytes per block, while 24576 of shared memory are left for it\n  \
            u: global memory: 32768 bytes per block, while 24576 of shared memory are left for it\n  \
            v: shared memory, 8 elements per block\n";
        assert!(text.contains(block), "{text}");
        // Where `N <= 8192` does not hold, tests stay, and the size is anything.
        assert!(text.contains("u: global memory: its size has no constant bound\n"), "{text}");
        assert!(text.contains("v: shared memory, 8 elements for each of a block's 8 groups\n"), "{text}");
        let json = shown(Format::Json);
        assert!(json.contains("{\"plan\": \"block\", \"arrays\": [\"t: global memory"), "{json}");
    }

    #[test]
    fn directives_are_shown_as_lines_and_plans_as_directives() {
        let text = "function f input float A[M][K], B[K][N]; output float C[M][N];
{
#pragma hidp on(i: grid.y thread.y(16) reg(4), j: grid.x thread.x(16) reg(4)), cpu: reg(i: 3)
map { i := [0:M); j := [0:N);
#pragma hidp tile(k: 16) shared(A[i][k] pad(8), B)
map { k := [0:K); _t = A[i][k] * B[k][j]; } reduce(\"+\", _s, _t, k := [*]); C[i][j] = _s; } }";
        let explained = |text: &str, format| {
            let input = input(text, Options { cuda: true, ..Options::default() });
            let program = optimised(&input);
            entries(&input, &program, &program.entries, Wanted { format, ..Wanted::default() }, Ok(&[]))
        };
        let json = explained(text, Format::Json);
        let cuda = "\"  i grid.y\", \"  i thread.y(16)\", \"  i reg(4)\", \"  j grid.x\", \"  j thread.x(16)\", \"  j reg(4)\", \"  k seq(16)\", \"  stage A shared pad(8)\", \"  stage B shared\", \"  section A[i][k]\"";
        for expected in [
            format!("\"expanded\": [\"cpu, nest at k.hdp:4:7\", \"  i reg(3)\", \"cuda, nest at k.hdp:4:7\", {cuda}]"),
            "\"directives\": [\"cpu, nest at k.hdp:4:7\", \"  #pragma hidp cpu: on(i: threads reg(3), j: threads lanes(32), k: seq)\", \"cuda, nest at k.hdp:4:7\", \"  # no directives say all of `pinned_cuda`: pin it in a .plan file\"]".to_owned(),
        ] {
            assert!(json.contains(&expected), "{expected}\n{json}");
        }
        let plain: String = text.lines().filter(|line| !line.starts_with('#')).collect();
        let json = explained(&plain, Format::Json);
        assert!(json.contains("\"expanded\": [], \"directives\": [\"cpu, nest at "), "{json}");
        assert!(!explained(&plain, Format::Plain).contains("#pragma"), "only where somebody asks for it");
    }

    #[test]
    fn colours_are_for_terminals_and_nothing_else_differs() {
        let plain = explained(Wanted::default());
        let colour = explained(Wanted { format: Format::Colour, ..Wanted::default() });
        assert!(!plain.contains('\u{1b}') && colour.contains("\u{1b}[32mkept\u{1b}[0m"));
        let mut bare = String::new();
        for (at, part) in colour.split('\u{1b}').enumerate() {
            bare.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(bare, plain);
        let pin = explained(Wanted { format: Format::Pin, ..Wanted::default() });
        assert!(pin.starts_with("entry f\nplan rows\nnest\n  r threads\n  r seq\n"), "{pin}");
    }
}

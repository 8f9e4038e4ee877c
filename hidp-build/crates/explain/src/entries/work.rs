//! Assumptions of the estimates of launches' work, which decide whether a launch uses several threads.

use hidp_ir::imp::visit::{each_stmt, schedule_work};
use hidp_ir::imp::{Assumed, Assumption, Entry, Stmt, UnitTarget};
use hidp_syntax::source::SourceMap;

/// A line for each loop, range and primitive of which something is taken for granted, in the order of the text.
pub(super) fn lines(sources: &SourceMap, entry: &Entry) -> Vec<String> {
    let mut found: Vec<Assumed> = Vec::new();
    for unit in entry.units.iter().filter(|unit| unit.target == UnitTarget::Cpu) {
        each_stmt(&unit.host.body, &mut |stmt| {
            let Stmt::Launch { schedule, .. } = stmt else { return };
            for assumed in schedule_work(schedule).into_iter().flat_map(|work| &work.assumed) {
                if !found.contains(assumed) {
                    found.push(*assumed);
                }
            }
        });
    }
    found.sort_by_key(|assumed| (assumed.at.file, assumed.at.start));
    found.iter().map(|assumed| line(sources, assumed)).collect()
}

/// ``k.hdp:4:3 `k := [0:i)`: as long as in the middle of the ranges that it depends on``
fn line(sources: &SourceMap, Assumed { what, at }: &Assumed) -> String {
    let what = match what {
        Assumption::Turns(turns) => {
            format!("{turns} turns, since nothing is known; other threads join where it takes long")
        }
        Assumption::Middle => "as long as in the middle of the ranges that it depends on".to_owned(),
        Assumption::Array => "in all iterations together as long as the array that it runs through".to_owned(),
        Assumption::AtLeastArray => {
            "in all iterations together as long as the array that it runs through; other threads join where it takes long"
                .to_owned()
        }
        Assumption::Mean => {
            "as long as the mean of the ranges that data choose it from; other threads join where it takes long".to_owned()
        }
    };
    format!("{} `{}`: {what}", super::place(sources, *at), super::shortened(sources.snippet(*at)))
}

#[cfg(test)]
mod tests {
    use hidp_build::compiler::pipeline::Options;

    use crate::entries::{Format, Wanted, entries};
    use crate::testing::{input, optimised};

    const WORK: &str = "function f input int n[R]; inout float x[R], T[R][R];
{
  map { r := [0:R); float s = 0; for (int c = 0; c < n[r]; c += 1) s += c; x[r] += s; }
  map { i := [0:R); map { k := [0:i); _t = T[i][k]; } reduce(\"+\", _s, _t, k := [*]); x[i] += _s; }
}
function h input int low[R], high[R]; input float x[N]; output float y[R];
{ map { r := [0:R); map { k := [low[r]:high[r]); _t = x[k]; } reduce(\"+\", y[r], _t, k := [*]); } }
function g inout float T[R][C];
{ map { i := [0:R); for (int c = 1; c < C; c += 1) T[i][c] += T[i][c - 1]; } }
";

    #[test]
    fn what_launches_are_taken_to_do_is_said() {
        let input = input(WORK, Options::default());
        let program = optimised(&input);
        let explained =
            |format| entries(&input, &program, &program.entries, Wanted { format, ..Wanted::default() }, Err("none"));
        let text = explained(Format::Plain);
        let loops = "k.hdp:3:34 `for (int c = 0; c < n[r]; c += 1) s += c;`: 16 turns, since nothing is known; other threads join";
        let triangle = "k.hdp:4:27 `k := [0:i)`: as long as in the middle of the ranges";
        let overlapping = "k.hdp:7:27 `k := [low[r]:high[r])`: in all iterations together as long as the array that it runs through; other";
        for expected in [loops, triangle, overlapping] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert_eq!(text.matches("what is assumed").count(), 2, "nothing of loops with known bounds\n{text}");
        assert!(explained(Format::Json).contains("\"work\": [\"k.hdp:3:34 "));
    }

    #[test]
    fn others_may_join_where_the_work_is_a_guess() {
        let input = input(WORK, Options::default());
        let program = optimised(&input);
        let joined = |entry: usize| {
            let wanted = Wanted { source: true, ..Wanted::default() };
            let text = entries(&input, &program, &program.entries[entry..=entry], wanted, Err("none"));
            (text.contains("hidp::launch_dynamic_joined(host"), text.contains("hidp::launch_dynamic(host"))
        };
        let overlapping = joined(1);
        assert_eq!([joined(0), overlapping, joined(2)], [(true, false), (true, false), (false, true)]);
    }
}

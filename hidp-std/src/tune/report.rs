//! The report: a page with a picture of each entry's times.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::fit::Point;
use super::outcome::Outcome;

const COLOURS: [&str; 6] = ["#1b6ca8", "#d1495b", "#2e933c", "#8d5a97", "#c98b1d", "#555555"];
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 260.0;
const MARGIN: f64 = 44.0;

/// The page.
pub(super) fn html(outcomes: &[Outcome]) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Tuning</title>\n\
         <style>body{font:15px sans-serif;margin:2em;max-width:72em}table{border-collapse:collapse}\
         td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #ddd}svg{margin:.5em}</style>\n\
         <h1>Tuning</h1>\n",
    );
    for outcome in outcomes {
        let _ = writeln!(page, "<h2>{}</h2>\n<pre>{}</pre>", escape(outcome.entry()), escape(&outcome.to_string()));
        if outcome.measured() {
            pictures(outcome, &mut page);
            table(outcome, &mut page);
        }
    }
    page.push_str("</html>\n");
    page
}

/// The work of points whose work is of no interest.
const ANY: i64 = -1;

/// One picture for each amount of work that was split in several ways: time over parallelism. What is left is in one more, each time
/// as a multiple of the best one there.
fn pictures(outcome: &Outcome, page: &mut String) {
    let mut groups: BTreeMap<i64, Vec<&Point>> = BTreeMap::new();
    for point in &outcome.points {
        let work = if point.values[1] > 0 { point.values[0].saturating_mul(point.values[1]) } else { ANY };
        groups.entry(work).or_default().push(point);
    }
    let (mut large, small): (BTreeMap<_, _>, BTreeMap<_, _>) =
        groups.into_iter().partition(|(work, points)| *work != ANY && points.len() > FEW);
    large.insert(ANY, small.into_values().flatten().collect());
    for (work, points) in large.iter_mut().filter(|(_, points)| points.len() > FEW) {
        points.sort_by_key(|point| point.values[0]);
        picture(outcome, *work, points, page);
    }
}

/// So many points make no picture.
const FEW: usize = 3;

fn picture(outcome: &Outcome, work: i64, points: &[&Point], page: &mut String) {
    let (title, what) = match work {
        ANY => ("all other sizes".to_owned(), "time, best = 1,"),
        _ => (format!("parallel × inner = {work}"), "seconds"),
    };
    let shown_time = |point: &Point, time: f64| if work == ANY { time / point.best() } else { time };
    let log = |value: i64| (value.max(1) as f64).log2();
    let (left, right) = (log(points[0].values[0]), log(points[points.len() - 1].values[0]));
    let times =
        || points.iter().flat_map(|point| point.times.iter().flatten().map(|time| shown_time(point, *time).log10()));
    let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max));
    let x = |value: f64| MARGIN + (value - left) / (right - left).max(1.0) * (WIDTH - 2.0 * MARGIN);
    let y = |value: f64| HEIGHT - MARGIN - (value - low) / (high - low).max(0.1) * (HEIGHT - 2.0 * MARGIN);
    let _ = writeln!(page, "<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" font-size=\"11\">");
    let _ = writeln!(page, "<text x=\"{MARGIN}\" y=\"14\">{title}: {what} over parallelism</text>");
    let bottom = HEIGHT - MARGIN;
    let frame = format!("M{MARGIN} {MARGIN}V{bottom}H{}", WIDTH - MARGIN);
    let _ = writeln!(page, "<path d=\"{frame}\" fill=\"none\" stroke=\"#888\"/>");
    for point in points {
        let at = log(point.values[0]);
        let _ = writeln!(page, "<text x=\"{:.0}\" y=\"{:.0}\">2^{at:.0}</text>", x(at) - 8.0, bottom + 14.0);
    }
    for decade in low.floor() as i32..=high.ceil() as i32 {
        let at = f64::from(decade);
        if (low..=high).contains(&at) {
            let _ = writeln!(page, "<text x=\"4\" y=\"{:.0}\">1e{decade}</text>", y(at) + 4.0);
        }
    }
    switching_points(outcome, work, (left, right), x, page);
    for (row, (version, colour)) in shown(outcome).into_iter().zip(COLOURS.iter().cycle()).enumerate() {
        let known = points
            .iter()
            .filter_map(|point| Some((log(point.values[0]), shown_time(point, point.times[version]?).log10())));
        let path: Vec<String> = known.map(|(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
        let _ = writeln!(page, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>", path.join(" "));
        let (name, top) = (outcome.arms.name(version), 28 + 13 * row);
        let _ = writeln!(page, "<text x=\"{}\" y=\"{top}\" fill=\"{colour}\">{name}</text>", WIDTH - 130.0);
    }
    for point in points {
        if let Some(time) = point.times[outcome.tuned(point)] {
            let (cx, cy) = (x(log(point.values[0])), y(shown_time(point, time).log10()));
            let _ = writeln!(page, "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"none\" stroke=\"#000\"/>");
        }
    }
    page.push_str("</svg>\n");
}

/// The versions, and what else runs somewhere after tuning.
fn shown(outcome: &Outcome) -> Vec<usize> {
    let versions = outcome.arms.entry.versions.len();
    let chosen: Vec<usize> = outcome.points.iter().map(|point| outcome.tuned(point)).collect();
    (0..outcome.arms.len()).filter(|arm| *arm < versions || chosen.contains(arm)).collect()
}

/// Bounds of rules: on the degree of parallelism, or on what is inside, which is the rest of the work.
fn switching_points(
    outcome: &Outcome,
    work: i64,
    (left, right): (f64, f64),
    x: impl Fn(f64) -> f64,
    page: &mut String,
) {
    let log = |value: i64| (value.max(1) as f64).log2();
    let tests = outcome.choices.iter().flat_map(|(tests, _)| tests);
    let places = tests.filter_map(|test| match test.measure {
        0 => Some(log(test.bound)),
        1 if work != ANY => Some(log(work) - log(test.bound)),
        _ => None,
    });
    for at in places.filter(|at| (left..=right).contains(at)) {
        let (at, bottom) = (x(at), HEIGHT - MARGIN);
        let _ = writeln!(page, "<path d=\"M{at:.1} {MARGIN}V{bottom}\" stroke=\"#000\" stroke-dasharray=\"4 3\"/>");
    }
}

fn table(outcome: &Outcome, page: &mut String) {
    page.push_str("<details><summary>all points, in microseconds; the circle in pictures is what runs after tuning</summary><table><tr><th>sizes</th>");
    for arm in 0..outcome.arms.len() {
        let _ = write!(page, "<th>{}</th>", outcome.arms.name(arm));
    }
    page.push_str("<th>untuned</th><th>tuned</th></tr>\n");
    let mut points: Vec<&Point> = outcome.points.iter().collect();
    points.sort_by_key(|point| point.values);
    for point in points {
        let _ = write!(page, "<tr><td>{}</td>", escape(&point.name));
        for time in &point.times {
            let _ = match time {
                Some(time) => write!(page, "<td>{:.2}</td>", time * 1e6),
                None => write!(page, "<td>–</td>"),
            };
        }
        let plan = |arm: usize| outcome.arms.name(arm);
        let _ = writeln!(page, "<td>{}</td><td>{}</td></tr>", plan(point.untuned), plan(outcome.tuned(point)));
    }
    page.push_str("</table></details>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

//! The report: a page with charts of each entry's times.

mod axis;
mod lines;
mod plane;
mod theme;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::fit::Point;
use super::outcome::Outcome;
use lines::Lines;
use plane::Plane;
use theme::{THEMES, Theme, hex, series};

/// Sizes of charts, in the units of their pictures. They fill the width of the page.
const LINES: (u32, u32) = (1120, 480);
const PLANE: (u32, u32) = (1120, 720);

/// A chart, or why it could not be drawn.
type Drawn<T> = Result<T, String>;

fn failed(error: impl std::fmt::Display) -> String {
    format!("cannot draw the report: {error}")
}

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#222;--line:#ddd}
@media(prefers-color-scheme:dark){:root{--paper:#181a1f;--ink:#ddd;--line:#3a3e46}}
body{font:16px/1.45 sans-serif;margin:2em auto;padding:0 1.5em;max-width:72em;background:var(--paper);color:var(--ink)}
table{border-collapse:collapse}td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid var(--line)}
pre{white-space:pre-wrap}figure{margin:1.5em 0}figcaption{font-weight:bold}
svg{width:100%;height:auto}rect{shape-rendering:crispEdges}.key{margin-right:1.2em;white-space:nowrap}
.key i{display:inline-block;width:.9em;height:.9em;margin-right:.4em;border-radius:2px;vertical-align:-.1em}
.dark{display:none}@media(prefers-color-scheme:dark){.dark{display:block}.light{display:none}}
";

/// The page.
pub(super) fn html(outcomes: &[Outcome]) -> Drawn<String> {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Tuning</title>\n<style>{STYLE}</style>\n\
         <h1>Tuning</h1>\n"
    );
    for outcome in outcomes {
        let _ = writeln!(page, "<h2>{}</h2>\n<pre>{}</pre>", escape(outcome.entry()), escape(&outcome.to_string()));
        if outcome.measured() {
            charts(outcome, &mut page)?;
            table(outcome, &mut page);
        }
    }
    page.push_str("</html>\n");
    Ok(page)
}

/// So many points make no chart.
const FEW: usize = 3;

fn charts(outcome: &Outcome, page: &mut String) -> Drawn<()> {
    let shown = shown(outcome);
    legend(outcome, &shown, page);
    if let Some(plane) = Plane::of(outcome, &shown) {
        let note = "Colour: the fastest version, the stronger the further ahead. Lines: where the choice after tuning switches. \
                    Dots: measured sizes, crossed where the choice costs more than 5 %.";
        figure("Fastest version over the plane of sizes", note, |theme| plane.draw(theme), page)?;
    }
    for lines in by_work(outcome, &shown) {
        let note = "Circles: what runs after tuning. Dashed: switching points.";
        figure(&lines.title(), note, |theme| lines.draw(theme), page)?;
    }
    Ok(())
}

/// One chart for each amount of work that was split in several ways, and one for all other sizes.
fn by_work<'a>(outcome: &'a Outcome, shown: &'a [usize]) -> Vec<Lines<'a>> {
    let mut groups: BTreeMap<Option<i64>, Vec<&Point>> = BTreeMap::new();
    for point in &outcome.points {
        let work = (point.values[1] > 0).then(|| point.values[0].saturating_mul(point.values[1]));
        groups.entry(work).or_default().push(point);
    }
    let (large, small): (BTreeMap<_, _>, BTreeMap<_, _>) =
        groups.into_iter().partition(|(work, points)| work.is_some() && points.len() > FEW);
    let chart = |(work, mut points): (Option<i64>, Vec<&'a Point>)| {
        points.sort_by_key(|point| point.values[0]);
        Lines { outcome, work, points, shown }
    };
    let others = (None, small.into_values().flatten().collect());
    large.into_iter().chain([others]).filter(|(_, points)| points.len() > FEW).map(chart).collect()
}

/// The versions, and what else runs somewhere after tuning.
fn shown(outcome: &Outcome) -> Vec<usize> {
    let versions = outcome.arms.entry.versions.len();
    let chosen: Vec<usize> = outcome.points.iter().map(|point| outcome.tuned(point)).collect();
    let ran = |arm: usize| outcome.points.iter().any(|point| point.times[arm].is_some());
    (0..outcome.arms.len()).filter(|arm| (*arm < versions && ran(*arm)) || chosen.contains(arm)).collect()
}

fn legend(outcome: &Outcome, shown: &[usize], page: &mut String) {
    page.push_str("<p>");
    for (number, version) in shown.iter().enumerate() {
        let (colour, name) = (hex(series(number)), escape(&outcome.arms.name(*version)));
        let _ = write!(page, "<span class=\"key\"><i style=\"background:{colour}\"></i>{name}</span> ");
    }
    page.push_str("</p>\n");
}

fn figure(title: &str, note: &str, draw: impl Fn(&Theme) -> Drawn<String>, page: &mut String) -> Drawn<()> {
    let _ = writeln!(page, "<figure><figcaption>{}</figcaption>", escape(title));
    for theme in &THEMES {
        let _ = writeln!(page, "<div class=\"{}\">{}</div>", theme.class, draw(theme)?);
    }
    let _ = writeln!(page, "<small>{}</small></figure>", escape(note));
    Ok(())
}

fn table(outcome: &Outcome, page: &mut String) {
    page.push_str("<details><summary>all points, in microseconds; circles in charts: what runs after tuning</summary><table><tr><th>sizes</th>");
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

#[cfg(test)]
mod browser;

#[cfg(test)]
mod tests {
    use super::super::fit::{self, Vetoes};
    use super::*;
    use crate::rt::entry::{Codes, Dispatch, Entry, MOST_MEASURES, Measure, Version};

    const fn version(plan: &'static str) -> Version {
        Version { plan, hash: "", code: Codes::Cpu(&[]) }
    }
    static ENTRY: Entry = Entry {
        name: "blas::row_sums",
        params: &[],
        dims: &["M", "N"],
        versions: &[version("rows"), version("team"), version("serial")],
        dispatch: Dispatch {
            measures: &[Measure { name: "parallel", program: &[] }, Measure { name: "inner", program: &[] }],
            ..Dispatch::NONE
        },
        sites: &[],
    };

    /// Times of row sums: `rows` needs rows enough, `team` a long row, `serial` little work.
    fn point(parallel: i64, inner: i64) -> Point {
        let work = (parallel * inner) as f64 * 1e-10;
        let rows = 3e-6 + work * if parallel < 4 { 2.0 } else { 1.0 };
        let team = 3e-6 * parallel as f64 + work;
        let mut values = [-1; MOST_MEASURES];
        (values[0], values[1]) = (parallel, inner);
        let times = vec![Some(rows), Some(team), Some(0.2e-6 + work * 2.0)];
        Point { name: format!("M = {parallel}, N = {inner}"), values, times, untuned: 0 }
    }

    pub(super) fn outcome(sizes: &[(i64, i64)]) -> Outcome {
        let mut outcome = Outcome::new(&ENTRY);
        outcome.points = sizes.iter().map(|&(parallel, inner)| point(parallel, inner)).collect();
        let points: Vec<Point> = outcome.points.clone();
        outcome.keep(fit::fit(&points.iter().collect::<Vec<_>>(), 3, &Vetoes::new()));
        outcome
    }

    pub(super) fn plane() -> Vec<(i64, i64)> {
        let exponents = |most: u32| (0..=most).step_by(2).map(|e| 1i64 << e);
        exponents(20).flat_map(|m| exponents(20).map(move |n| (m, n))).collect()
    }

    #[test]
    fn a_map_of_every_other_point_has_no_holes() {
        let chequered = plane().into_iter().filter(|(m, n)| (m.ilog2() + n.ilog2()) % 4 == 0).collect::<Vec<_>>();
        let outcome = outcome(&chequered);
        let map = Plane::of(&outcome, &[0, 1, 2]).unwrap();
        let mut inside = (0..38).flat_map(|row| (0..38).map(move |column| (column, row)));
        assert!(inside.all(|(column, row)| map.colour(column, row, &THEMES[0]).is_some()));
    }

    #[test]
    fn every_chart_comes_in_light_and_dark() {
        let page = html(&[outcome(&plane())]).unwrap();
        let count = |what: &str| page.matches(what).count();
        let charts = count("<figure>");
        assert!(charts > 5, "a map, a chart for each amount of work, and one for the rest: {charts}");
        assert_eq!((count("<svg"), count("class=\"light\""), count("class=\"dark\"")), (2 * charts, charts, charts));
        assert!(
            page.contains("2¹⁰") && page.contains("degree of parallelism") && page.contains(" µs\n"),
            "axes have labels"
        );
        assert!(!page.contains("NaN"));
    }

    #[test]
    fn the_map_shows_where_the_choice_switches() {
        let (with, mut without) = (outcome(&plane()), outcome(&plane()));
        without.keep(vec![(Vec::new(), 0)]);
        let lines = |outcome: &Outcome| Plane::of(outcome, &[0, 1, 2]).unwrap().switches().len();
        assert!(lines(&with) > 20, "{}", lines(&with));
        assert_eq!(lines(&without), 0);
    }

    #[test]
    fn charts_show_where_their_own_choice_switches() {
        let outcome = outcome(&plane());
        let switches = |work: i64| {
            let of_work = outcome.points.iter().filter(|point| point.values[0] * point.values[1] == work);
            let points: Vec<_> = of_work.collect();
            let choices: Vec<usize> = points.iter().map(|point| outcome.tuned(point)).collect();
            let changes = choices.windows(2).filter(|pair| pair[0] != pair[1]).count();
            (changes, Lines { outcome: &outcome, work: Some(work), points, shown: &[0, 1, 2] }.switches().len())
        };
        assert_eq!(switches(64), (0, 0));
        let (changes, shown) = switches(1 << 16);
        assert!(changes > 0 && shown >= changes, "{changes} {shown}");
    }

    #[test]
    fn points_of_one_row_make_no_map() {
        let line: Vec<_> = (0..8).map(|e| (1i64 << e, 64)).collect();
        let outcome = outcome(&line);
        assert!(Plane::of(&outcome, &[0, 1, 2]).is_none());
        assert_eq!(html(&[outcome]).unwrap().matches("<figure>").count(), 1);
    }

    #[test]
    fn the_worst_point_is_named() {
        let text = outcome(&plane()).to_string();
        assert!(text.contains("at worst (M = 1, N = 1)"), "{text}");
    }
}

//! Times of all versions over the degree of parallelism.

use plotters::prelude::*;

use super::super::fit::Point;
use super::super::outcome::Outcome;
use super::axis::{factor, log2, power_of_two, time};
use super::theme::{Theme, series};
use super::{Drawn, LINES, failed};

/// What a chart shows.
pub(super) struct Lines<'a> {
    pub(super) outcome: &'a Outcome,
    /// parallel × inner where it is the same for all points: then times are in seconds. Otherwise they are multiples of the best.
    pub(super) work: Option<i64>,
    /// By parallelism; at least one.
    pub(super) points: Vec<&'a Point>,
    /// The versions, in the order of their colours.
    pub(super) shown: &'a [usize],
}

impl Lines<'_> {
    pub(super) fn title(&self) -> String {
        match self.work {
            Some(work) => format!("Time over parallelism, parallel × inner = {work}"),
            None => "Time as a multiple of the best version's, all other sizes".to_owned(),
        }
    }

    pub(super) fn draw(&self, theme: &Theme) -> Drawn<String> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, LINES).into_drawing_area();
            area.fill(&theme.paper).map_err(failed)?;
            let (x, y) = (self.sizes(), self.times());
            let mut chart = ChartBuilder::on(&area)
                .margin(16)
                .x_label_area_size(52)
                .y_label_area_size(84)
                .build_cartesian_2d(x.clone(), y.clone())
                .map_err(failed)?;
            chart
                .configure_mesh()
                .x_labels((x.end - x.start).ceil() as usize + 1)
                .x_desc("degree of parallelism")
                .y_desc(if self.work.is_some() { "time of a call" } else { "time, best = 1" })
                .x_label_formatter(&power_of_two)
                .y_label_formatter(if self.work.is_some() { &time } else { &factor })
                .label_style(("sans-serif", 15, &theme.ink))
                .axis_desc_style(("sans-serif", 16, &theme.ink))
                .axis_style(theme.ink)
                .bold_line_style(theme.grid)
                .light_line_style(TRANSPARENT)
                .draw()
                .map_err(failed)?;
            for at in self.switches().into_iter().filter(|at| x.contains(at)) {
                let line = [(at, y.start), (at, y.end)];
                chart.draw_series(DashedLineSeries::new(line, 7, 5, theme.ink.stroke_width(1))).map_err(failed)?;
            }
            for (number, &version) in self.shown.iter().enumerate() {
                let known = self.points.iter().filter_map(|point| self.place(point, version));
                chart.draw_series(LineSeries::new(known, series(number).stroke_width(2))).map_err(failed)?;
            }
            let chosen = self.points.iter().filter_map(|point| self.place(point, self.outcome.tuned(point)));
            chart.draw_series(chosen.map(|at| Circle::new(at, 6, theme.ink.stroke_width(2)))).map_err(failed)?;
            area.present().map_err(failed)?;
        }
        Ok(svg)
    }

    /// Where a version's time stands; nowhere if it failed.
    fn place(&self, point: &Point, version: usize) -> Option<(f64, f64)> {
        let time = point.times[version]?;
        let shown = if self.work.is_some() { time } else { time / point.best() };
        Some((log2(point.values[0]), shown.log10()))
    }

    fn sizes(&self) -> std::ops::Range<f64> {
        around(self.points.iter().map(|point| log2(point.values[0])), 0.5)
    }

    fn times(&self) -> std::ops::Range<f64> {
        let all = self.points.iter().flat_map(|point| self.shown.iter().filter_map(|v| self.place(point, *v)));
        around(all.map(|(_, time)| time), 0.15)
    }

    /// Bounds of rules: on the degree of parallelism, or on what is inside, which is the rest of the work. Where the work is one, only those
    /// between points of which the choice differs.
    pub(super) fn switches(&self) -> Vec<f64> {
        let tests = self.outcome.choices.iter().flat_map(|(tests, _)| tests);
        let place = |measure: usize, bound: i64| match (measure, self.work) {
            (0, _) => Some(log2(bound)),
            (1, Some(work)) => Some(log2(work) - log2(bound)),
            _ => None,
        };
        let bounds = tests.filter_map(|test| place(test.measure, test.bound));
        bounds.filter(|at| self.work.is_none() || self.changes_at(*at)).collect()
    }

    /// Whether the choice differs between the points on both sides.
    fn changes_at(&self, at: f64) -> bool {
        let right = self.points.partition_point(|point| log2(point.values[0]) < at);
        let chosen = |position: usize| self.points.get(position).map(|point| self.outcome.tuned(point));
        match (right.checked_sub(1).and_then(chosen), chosen(right)) {
            (Some(left), Some(right)) => left != right,
            (None, _) | (_, None) => false,
        }
    }
}

/// From the smallest to the largest, and `space` more on both sides.
fn around(values: impl Iterator<Item = f64>, space: f64) -> std::ops::Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    low - space..high + space
}

//! The plane of sizes: which version is fastest where, by how much, and where the rules switch.

use plotters::prelude::*;

use super::super::fit::{Point, chosen};
use super::super::outcome::Outcome;
use super::axis::{log2, power_of_two};
use super::theme::{Theme, mixed, series};
use super::{Drawn, PLANE, failed};

/// Width of a cell, in powers of two.
const CELL: f64 = 0.5;
/// A cell takes after the nearest point no further away than this: between points that are two powers of two apart, of which every other one may be
/// missing, no cell is left.
const REACH: f64 = 1.9;
/// A version that runs so many times as fast as the next one has its full colour.
const CLEAR: f64 = 2.0;
/// A choice that costs more than this is marked.
const LOST: f64 = 1.05;

/// What the map shows.
pub(super) struct Plane<'a> {
    pub(super) outcome: &'a Outcome,
    /// The versions, in the order of their colours.
    pub(super) shown: &'a [usize],
    points: Vec<&'a Point>,
    columns: i32,
    rows: i32,
}

impl<'a> Plane<'a> {
    /// The map of an entry whose points spread in both directions.
    pub(super) fn of(outcome: &'a Outcome, shown: &'a [usize]) -> Option<Self> {
        let points: Vec<&Point> = outcome.points.iter().filter(|p| p.values[0] > 0 && p.values[1] > 0).collect();
        let most = |measure: usize| points.iter().map(|p| p.values[measure]).max();
        let spreads = |measure: usize| points.iter().any(|p| p.values[measure] != points[0].values[measure]);
        let cells = |size: i64| ((log2(size) + 1.0) / CELL).ceil() as i32;
        let (wide, high) = (most(0)?, most(1)?);
        (spreads(0) && spreads(1)).then(|| Plane { outcome, shown, points, columns: cells(wide), rows: cells(high) })
    }

    pub(super) fn draw(&self, theme: &Theme) -> Drawn<String> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, PLANE).into_drawing_area();
            area.fill(&theme.paper).map_err(failed)?;
            let edge = -CELL;
            let mut chart = ChartBuilder::on(&area)
                .margin(16)
                .x_label_area_size(52)
                .y_label_area_size(72)
                .build_cartesian_2d(edge..f64::from(self.columns) * CELL, edge..f64::from(self.rows) * CELL)
                .map_err(failed)?;
            let labels = |cells: i32| (f64::from(cells) * CELL) as usize + 1;
            chart
                .configure_mesh()
                .x_labels(labels(self.columns))
                .y_labels(labels(self.rows))
                .x_desc("degree of parallelism")
                .y_desc("inner work of an iteration")
                .x_label_formatter(&power_of_two)
                .y_label_formatter(&power_of_two)
                .label_style(("sans-serif", 15, &theme.ink))
                .axis_desc_style(("sans-serif", 16, &theme.ink))
                .axis_style(theme.ink)
                .bold_line_style(theme.grid)
                .light_line_style(TRANSPARENT)
                .draw()
                .map_err(failed)?;
            chart.draw_series(self.cells(theme)).map_err(failed)?;
            let line = theme.ink.stroke_width(2);
            chart.draw_series(self.switches().into_iter().map(|ends| PathElement::new(ends, line))).map_err(failed)?;
            let small = self.points.iter().map(|point| Circle::new(place(point), 2, theme.ink.filled()));
            chart.draw_series(small).map_err(failed)?;
            let lost = self.points.iter().filter(|point| point.loss(self.outcome.tuned(point)).exp() > LOST);
            chart.draw_series(lost.map(|point| Cross::new(place(point), 6, line))).map_err(failed)?;
            area.present().map_err(failed)?;
        }
        Ok(svg)
    }

    /// Runs of neighbours of one colour, row by row.
    fn cells(&self, theme: &Theme) -> Vec<Rectangle<(f64, f64)>> {
        let mut rectangles = Vec::new();
        for row in -1..self.rows {
            let colours: Vec<Option<RGBColor>> = (-1..self.columns).map(|x| self.colour(x, row, theme)).collect();
            let mut begin = 0;
            for run in colours.chunk_by(|a, b| a == b) {
                let end = begin + run.len();
                if let Some(colour) = run[0] {
                    let corner = |column: usize, row: i32| ((column as f64 - 1.0) * CELL, f64::from(row) * CELL);
                    rectangles.push(Rectangle::new([corner(begin, row), corner(end, row + 1)], colour.filled()));
                }
                begin = end;
            }
        }
        rectangles
    }

    /// The colour of the version that is fastest at the nearest point, the stronger the further behind the next one is.
    pub(super) fn colour(&self, column: i32, row: i32, theme: &Theme) -> Option<RGBColor> {
        let point = self.nearest(column, row)?;
        let fastest = self.shown.iter().copied().min_by(|a, b| point.loss(*a).total_cmp(&point.loss(*b)))?;
        let number = self.shown.iter().position(|version| *version == fastest)?;
        let others = self.shown.iter().filter(|version| **version != fastest).map(|version| point.loss(*version));
        let ahead = others.fold(f64::INFINITY, f64::min) - point.loss(fastest);
        let share = 0.2 + 0.7 * (ahead / CLEAR.ln()).clamp(0.0, 1.0);
        Some(mixed(series(number), theme.paper, share))
    }

    /// Edges between cells for which different versions run after tuning.
    pub(super) fn switches(&self) -> Vec<Vec<(f64, f64)>> {
        let mut edges = Vec::new();
        for (column, row) in (-1..self.rows).flat_map(|row| (-1..self.columns).map(move |column| (column, row))) {
            let Some(own) = self.choice(column, row) else { continue };
            let (x, y) = (f64::from(column) * CELL, f64::from(row) * CELL);
            let differs = |column: i32, row: i32| self.choice(column, row).is_some_and(|other| other != own);
            if differs(column + 1, row) {
                edges.push(vec![(x + CELL, y), (x + CELL, y + CELL)]);
            }
            if differs(column, row + 1) {
                edges.push(vec![(x, y + CELL), (x + CELL, y + CELL)]);
            }
        }
        edges
    }

    /// What runs after tuning at the sizes of a cell. Measures other than the two of the plane are those of the nearest point.
    fn choice(&self, column: i32, row: i32) -> Option<usize> {
        let near = self.nearest(column, row)?;
        if self.outcome.rules().is_none() {
            return Some(near.untuned);
        }
        let (x, y) = centre(column, row);
        let mut point = near.clone();
        (point.values[0], point.values[1]) = (x.exp2().round() as i64, y.exp2().round() as i64);
        Some(chosen(&self.outcome.choices, &point))
    }

    fn nearest(&self, column: i32, row: i32) -> Option<&'a Point> {
        let (x, y) = centre(column, row);
        let distance = |point: &Point| (place(point).0 - x).hypot(place(point).1 - y);
        let nearest = self.points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        (distance(nearest) <= REACH).then_some(*nearest)
    }
}

fn centre(column: i32, row: i32) -> (f64, f64) {
    ((f64::from(column) + 0.5) * CELL, (f64::from(row) + 0.5) * CELL)
}

fn place(point: &Point) -> (f64, f64) {
    (log2(point.values[0]), log2(point.values[1]))
}

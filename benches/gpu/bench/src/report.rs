//! What was measured, as short lines, and the goals that it is held against.

use std::fmt;

use anyhow::Result;

/// Names of what bounds a row.
pub const LIMIT_COPY: &str = "copy";
pub const LIMIT_FMA: &str = "FMA peak";

/// What one run of a row does at least.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Bytes that must move between memory and processor: compared with copying.
    Bytes(f64),
    /// Floating-point operations: compared with the peak of fused multiply-add.
    Flops(f64),
    /// Keys, steps, frames: compared with nothing but the other contenders.
    Items(f64),
}

impl Work {
    pub fn amount(self) -> f64 {
        match self {
            Work::Bytes(amount) | Work::Flops(amount) | Work::Items(amount) => amount,
        }
    }
    fn unit(self) -> (&'static str, f64) {
        match self {
            Work::Bytes(_) => ("GB/s", 1e9),
            Work::Flops(_) => ("GFLOP/s", 1e9),
            Work::Items(_) => ("M/s", 1e6),
        }
    }
}

/// One way to do the work of a row.
pub struct Contender<'a> {
    pub name: &'static str,
    pub run: Box<dyn FnMut() -> Result<()> + 'a>,
    /// Puts the input in its place; not measured.
    pub before: Option<Box<dyn FnMut() -> Result<()> + 'a>>,
    /// What it does, if that is not the row's work.
    pub amount: Option<f64>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &'static str, run: impl FnMut() -> Result<()> + 'a) -> Self {
        Self { name, run: Box::new(run), before: None, amount: None }
    }
    /// Its input is used up by each run.
    pub fn after(self, before: impl FnMut() -> Result<()> + 'a) -> Self {
        Self { before: Some(Box::new(before)), ..self }
    }
}

/// The rates of a row's contenders, round by round.
#[derive(Clone, Debug)]
pub struct Measured {
    title: String,
    work: Work,
    rates: Vec<(&'static str, Vec<f64>)>,
}

impl Measured {
    pub fn new(title: &str, work: Work, rates: Vec<(&'static str, Vec<f64>)>) -> Self {
        Self { title: title.into(), work, rates }
    }
    pub fn title(&self) -> &str {
        &self.title
    }
    /// HiDP's rate.
    pub fn first(&self) -> f64 {
        self.rates.first().map_or(f64::NAN, |(_, rates)| median(rates.clone()))
    }
    /// HiDP's rate over that of another contender, the median over the rounds; `None` if that was not there.
    pub fn over(&self, name: &str) -> Option<f64> {
        let of = |name: &str| self.rates.iter().find(|(known, _)| *known == name).map(|(_, rates)| rates);
        let (own, other) = (&self.rates.first()?.1, of(name)?);
        Some(median(own.iter().zip(other).map(|(own, other)| own / other).collect()))
    }
    /// HiDP's rate over the highest one of the peers whose names begin so.
    pub fn over_best(&self, start: &str) -> Option<f64> {
        let peers = self.rates.iter().skip(1).filter(|(name, _)| name.starts_with(start));
        peers.filter_map(|(name, _)| self.over(name)).min_by(f64::total_cmp)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = self.work.unit();
        write!(f, "{:<34}", self.title)?;
        for (number, (name, rates)) in self.rates.iter().enumerate() {
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min) / scale;
            let most = rates.iter().copied().fold(0.0, f64::max) / scale;
            write!(f, " | {name} {}", Figure(median(rates.clone()) / scale))?;
            if number == 0 {
                write!(f, " {unit} [{}, {}]", Figure(least), Figure(most))?;
            } else if let Some(ratio) = self.over(name) {
                write!(f, " (HiDP x{ratio:.2})")?;
            }
        }
        Ok(())
    }
}

/// Four figures.
struct Figure(f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.0 >= 1000.0 {
            0
        } else if self.0 >= 100.0 {
            1
        } else if self.0 >= 10.0 {
            2
        } else {
            3
        };
        write!(f, "{:.decimals$}", self.0)
    }
}

/// The goals of a part, and what went wrong.
#[derive(Debug, Default)]
pub struct Report {
    goals: Vec<String>,
    failures: Vec<String>,
}

impl Report {
    /// A figure that should be at least `least`; `None` if its peer is missing.
    pub fn goal(&mut self, what: &str, figure: Option<f64>, least: f64) {
        self.goals.push(match figure {
            Some(figure) if figure >= least => format!("reached      {what}: {figure:.3} (goal {least:.2})"),
            Some(figure) => format!("not reached  {what}: {figure:.3} (goal {least:.2})"),
            None => format!("not measured {what}: what it is compared with is missing (goal {least:.2})"),
        });
    }
    pub fn goals(&self) -> &[String] {
        &self.goals
    }
    /// A row with a wrong result, or without one: no rate of it counts.
    pub fn failed(&mut self, row: &str, why: &str) {
        self.failures.push(format!("FAILED       {row}: {why}"));
    }
    pub fn failures(&self) -> &[String] {
        &self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_same_round() {
        let rates = vec![("HiDP", vec![1e9, 4e9, 2e9]), ("CUB", vec![2e9, 4e9, 2e9]), ("CUB x", vec![1e9, 1e9, 1e9])];
        let measured = Measured::new("sort", Work::Bytes(1.0), rates);
        assert_eq!((measured.over("CUB"), measured.over("Thrust")), (Some(1.0), None));
        assert_eq!(measured.over_best("CUB"), Some(1.0));
        let text = measured.to_string();
        assert!(text.contains("HiDP 2.000 GB/s [1.000, 4.000]") && text.contains("CUB 2.000 (HiDP x1.00)"), "{text}");
    }

    #[test]
    fn goals_say_whether_they_are_reached() {
        let mut report = Report::default();
        report.goal("triad of copy", Some(0.95), 0.9);
        report.goal("scan of copy", Some(0.85), 0.9);
        report.goal("SpMV of cuSPARSE", None, 1.0);
        assert_eq!(report.goals()[0], "reached      triad of copy: 0.950 (goal 0.90)");
        assert!(report.goals()[1].starts_with("not reached ") && report.goals()[2].starts_with("not measured "));
    }
}

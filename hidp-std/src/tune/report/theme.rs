//! Colours of charts. Each chart is drawn once for light and once for dark pages; the page's style shows the one that fits.

use plotters::style::RGBColor;

/// Colours of the paper and of what is written on it.
pub(super) struct Theme {
    /// The class of the chart's element, which the page's style selects.
    pub(super) class: &'static str,
    pub(super) paper: RGBColor,
    pub(super) ink: RGBColor,
    pub(super) grid: RGBColor,
}

pub(super) const THEMES: [Theme; 2] = [
    Theme { class: "light", paper: RGBColor(255, 255, 255), ink: RGBColor(34, 34, 34), grid: RGBColor(222, 222, 222) },
    Theme { class: "dark", paper: RGBColor(24, 26, 31), ink: RGBColor(222, 222, 222), grid: RGBColor(58, 62, 70) },
];

/// Colours of versions, readable on both papers.
const SERIES: [RGBColor; 8] = [
    RGBColor(59, 130, 196),
    RGBColor(209, 73, 91),
    RGBColor(58, 155, 75),
    RGBColor(154, 111, 176),
    RGBColor(201, 139, 29),
    RGBColor(38, 166, 164),
    RGBColor(199, 104, 160),
    RGBColor(128, 128, 128),
];

pub(super) fn series(number: usize) -> RGBColor {
    SERIES[number % SERIES.len()]
}

/// `share` of a colour, the rest paper.
pub(super) fn mixed(colour: RGBColor, paper: RGBColor, share: f64) -> RGBColor {
    let part = |a: u8, b: u8| (f64::from(a) * share + f64::from(b) * (1.0 - share)).round() as u8;
    RGBColor(part(colour.0, paper.0), part(colour.1, paper.1), part(colour.2, paper.2))
}

/// As style sheets write it.
pub(super) fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

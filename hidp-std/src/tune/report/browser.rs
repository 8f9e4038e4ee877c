//! The report as a browser shows it, where there is one.

use std::fs;
use std::path::Path;
use std::process::Command;

use plotters::style::RGBColor;

use super::html;
use super::tests::{outcome, plane};
use super::theme::{THEMES, Theme};

/// Width of the window, and how much of the page is looked at: a summary, a key and the map of sizes.
const WINDOW: (u32, u32) = (1280, 1200);

/// Names of a browser that takes pictures without a screen.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The pixels of a page: rows of red, green and blue.
struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    fn read(file: &Path) -> Self {
        let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(file).unwrap())).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let facts = reader.next_frame(&mut bytes).unwrap();
        let samples = facts.color_type.samples();
        assert!(facts.bit_depth == png::BitDepth::Eight && samples >= 3, "{facts:?}");
        let pixels = bytes[..facts.buffer_size()].chunks(samples).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Self { width: facts.width as usize, pixels }
    }

    /// How many columns and rows there are from the first to the last pixel with a colour, which paper, ink and lines have not.
    fn coloured(&self) -> (usize, usize) {
        let is_coloured = |pixel: &[u8; 3]| pixel.iter().max().unwrap() - pixel.iter().min().unwrap() > 24;
        let found = (0..self.pixels.len()).filter(|at| is_coloured(&self.pixels[*at]));
        let (columns, rows): (Vec<usize>, Vec<usize>) = found.map(|at| (at % self.width, at / self.width)).unzip();
        let span = |places: &[usize]| match (places.iter().min(), places.iter().max()) {
            (Some(first), Some(last)) => last - first + 1,
            (None, _) | (_, None) => 0,
        };
        (span(&columns), span(&rows))
    }
}

fn shown(browser: &str, page: &Path, theme: &Theme) -> Picture {
    let file = page.with_extension(format!("{}.png", theme.class));
    // 0 is dark, 1 light.
    let scheme = u8::from(theme.class == "light");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", page.with_extension("profile").display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--window-size={},{}", WINDOW.0, WINDOW.1))
        .arg(format!("--screenshot={}", file.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(output.status.success() && file.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    Picture::read(&file)
}

/// The colours of the map are where they belong: a chart as wide as the page, on the paper of the theme that the browser asks for.
#[test]
fn the_map_fills_the_page_in_light_and_dark() {
    let Some(browser) = BROWSERS.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok()) else {
        println!("skipped: browser: none of {} is there", BROWSERS.join(", "));
        return;
    };
    let folder = std::env::temp_dir().join(format!("hidp-report-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let page = folder.join("report.html");
    fs::write(&page, html(&[outcome(&plane())]).unwrap()).unwrap();
    for theme in &THEMES {
        let picture = shown(browser, &page, theme);
        let RGBColor(red, green, blue) = theme.paper;
        assert_eq!(picture.pixels[0], [red, green, blue], "the paper of {}", theme.class);
        let (wide, high) = picture.coloured();
        assert!(wide > 1000 && high > 600, "the map is {wide} x {high} in {}", theme.class);
    }
    fs::remove_dir_all(&folder).unwrap();
}

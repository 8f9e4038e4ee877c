//! Aligns two proteins from end to end, with affine gaps, and prints the best way to do it.

mod blosum;
mod fasta;
mod picture;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use hidp_std::Context;

use blosum::{ALPHABET, blosum62};
use fasta::Record;

hidp_std::include_kernels!();
use kernels::alignment;

const USAGE: &str = "\
usage: alignment [FIRST.fasta SECOND.fasta] [--open N] [--extend N] [--picture FILE.png]

Aligns the proteins in two files by BLOSUM62; without files, the two subunits of human hemoglobin. A gap of n letters costs
open + n * extend (default 10 and 1). The CIGAR text has I for letters of the first alone, and D for those of the second. The
picture shows the scores of all pairs of beginnings, and the alignment as a line.
";

/// Letters in a line of an alignment.
const WIDTH: usize = 60;

struct Options {
    files: Vec<PathBuf>,
    open: i32,
    extend: i32,
    picture: Option<PathBuf>,
}

/// Where a way through the matrix goes next, as the kernel numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Both,
    First,
    Second,
}

fn main() -> Result<()> {
    let Some(options) = parse_arguments(std::env::args().skip(1))? else {
        print!("{USAGE}");
        return Ok(());
    };
    let [first, second] = &options.files[..] else { bail!("two files are needed\n\n{USAGE}") };
    let (first, second) = (Record::read(first)?, Record::read(second)?);
    let (s, t) = (first.codes(ALPHABET)?, second.codes(ALPHABET)?);
    let scores = blosum62();
    let matrix = (&scores[..], [ALPHABET.len(), ALPHABET.len()]);
    let cx = Context::new()?;
    let mut steps = vec![0; s.len() + t.len()];
    let (score, length) = alignment::align(&cx, &s[..], &t[..], &matrix, options.open, options.extend, &mut steps[..])?;
    steps.truncate(usize::try_from(length)?);
    let steps = steps.iter().rev().map(|step| Step::of(*step)).collect::<Result<Vec<Step>>>()?;
    println!("first      {}, {} letters", first.title, s.len());
    println!("second     {}, {} letters", second.title, t.len());
    println!("score      {score}");
    println!("cigar      {}", cigar(&first, &second, &steps));
    print_alignment(&first, &second, &steps);
    if let Some(path) = &options.picture {
        let mut cells = vec![0; (s.len() + 1) * (t.len() + 1)];
        let size = [s.len() + 1, t.len() + 1];
        alignment::matrix(&cx, &s[..], &t[..], &matrix, options.open, options.extend, &mut (&mut cells[..], size))?;
        picture::write(path, &cells, size, &places(&steps))?;
        println!("picture    {}", path.display());
    }
    Ok(())
}

fn parse_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>> {
    let mut options = Options { files: Vec::new(), open: 10, extend: 1, picture: None };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--open" => options.open = cost(&argument, &value()?)?,
            "--extend" => options.extend = cost(&argument, &value()?)?,
            "--picture" => options.picture = Some(value()?.into()),
            flag if flag.starts_with('-') => bail!("there is no option `{flag}`\n\n{USAGE}"),
            file => options.files.push(file.into()),
        }
    }
    if options.files.is_empty() {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
        options.files = ["hba.fasta", "hbb.fasta"].map(|name| PathBuf::from(shipped).join(name)).to_vec();
    }
    Ok(Some(options))
}

/// Scores stay far from what an `int` holds.
fn cost(option: &str, text: &str) -> Result<i32> {
    let cost: i32 = text.parse().with_context(|| format!("{option} needs a whole number, not `{text}`"))?;
    ensure!((0..=1000).contains(&cost), "{option} takes 0 to 1000, not {cost}");
    Ok(cost)
}

impl Step {
    fn of(number: u8) -> Result<Step> {
        Ok(match number {
            1 => Step::Both,
            2 => Step::First,
            3 => Step::Second,
            _ => bail!("the kernel gave step {number}"),
        })
    }
}

/// The cells of a way, the first one included.
fn places(steps: &[Step]) -> Vec<[usize; 2]> {
    let mut at = [0, 0];
    let mut places = vec![at];
    for step in steps {
        at[0] += usize::from(*step != Step::Second);
        at[1] += usize::from(*step != Step::First);
        places.push(at);
    }
    places
}

/// The way as SAM writes it: how many letters are equal (`=`), differ (`X`), and stand in the first alone (`I`) or in the second alone (`D`).
fn cigar(first: &Record, second: &Record, steps: &[Step]) -> String {
    let operation = |(step, [i, j]): (&Step, [usize; 2])| match step {
        Step::Both if first.letters[i].eq_ignore_ascii_case(&second.letters[j]) => '=',
        Step::Both => 'X',
        Step::First => 'I',
        Step::Second => 'D',
    };
    let operations: Vec<char> = steps.iter().zip(places(steps)).map(operation).collect();
    let runs = operations.chunk_by(|left, right| left == right);
    runs.map(|run| format!("{}{}", run.len(), run[0])).collect()
}

/// Both sequences with their gaps, and between them `|` for equal letters.
fn print_alignment(first: &Record, second: &Record, steps: &[Step]) {
    let columns: Vec<[u8; 3]> = steps
        .iter()
        .zip(places(steps))
        .map(|(step, [i, j])| {
            let (above, below) = match step {
                Step::Both => (first.letters[i], second.letters[j]),
                Step::First => (first.letters[i], b'-'),
                Step::Second => (b'-', second.letters[j]),
            };
            let equal = above.eq_ignore_ascii_case(&below);
            [above, if equal { b'|' } else { b' ' }, below]
        })
        .collect();
    let equal = columns.iter().filter(|column| column[1] == b'|').count();
    let gaps = steps.iter().filter(|step| **step != Step::Both).count();
    println!("identity   {equal} of {} columns, {gaps} gaps\n", columns.len());
    for line in columns.chunks(WIDTH) {
        for row in 0..3 {
            let text: Vec<u8> = line.iter().map(|column| column[row]).collect();
            println!("{}", String::from_utf8_lossy(&text).trim_end());
        }
        println!();
    }
}

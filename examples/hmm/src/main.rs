//! Finds CpG islands in DNA with a hidden Markov model.

mod fasta;
mod model;

use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use hidp_std::Context;

use fasta::Record;
use model::{ALPHABET, Model, STATES};

hidp_std::include_kernels!();
use kernels::hmm;

const USAGE: &str = "\
usage: hmm [FILE.fasta] [--island N] [--between N]

Says where the sequences of a file are CpG islands: how likely each is under the model, the islands of the most likely path of
states, and what part of it the posterior probabilities take to be inside. Without a file, the messenger RNAs of two human globins.
Islands are N letters long on average (default 1000), and so is what lies between them (default 1000).
";

struct Options {
    file: PathBuf,
    island: f64,
    between: f64,
}

fn main() -> Result<()> {
    let Some(options) = parse_arguments(std::env::args().skip(1))? else {
        print!("{USAGE}");
        return Ok(());
    };
    let model = Model::new(options.island, options.between)?;
    let records = fasta::read(&options.file, ALPHABET)?;
    if records.is_empty() {
        bail!("{} has no sequence", options.file.display());
    }
    let cx = Context::new()?;
    for record in &records {
        report(&cx, &model, record).with_context(|| format!("sequence `{}`", record.name()))?;
    }
    Ok(())
}

fn parse_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>> {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/data/globins.fasta");
    let mut options = Options { file: shipped.into(), island: 1000.0, between: 1000.0 };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--island" => options.island = value()?.parse().context("--island needs a number")?,
            "--between" => options.between = value()?.parse().context("--between needs a number")?,
            flag if flag.starts_with('-') => bail!("there is no option `{flag}`\n\n{USAGE}"),
            file => options.file = file.into(),
        }
    }
    Ok(Some(options))
}

fn report(cx: &Context, model: &Model, record: &Record) -> Result<()> {
    let x = &record.codes[..];
    println!("sequence   {}, {} letters", record.title, x.len());
    let (moves, emit) = ((&model.moves[..], [STATES, STATES]), (&model.emit[..], [STATES, ALPHABET.len()]));
    let likelihood = hmm::forward(cx, &model.start[..], &moves, &emit, x)?;
    let mut states = vec![0; x.len()];
    let best = hmm::viterbi(cx, &model.start[..], &moves, &emit, x, &mut states[..])?;
    let mut probabilities = vec![0.0; x.len() * STATES];
    hmm::posterior(cx, &model.start[..], &moves, &emit, x, &mut (&mut probabilities[..], [x.len(), STATES]))?;
    let inside = probabilities.chunks(STATES).fold(0.0, |sum, states| sum + states[..4].iter().sum::<f64>());
    println!("likelihood e^{likelihood:.3}, of the best path e^{best:.3}");
    println!("posterior  {:.1} % inside of islands", 100.0 * inside / x.len().max(1) as f64);
    let islands = islands(&states);
    let list: Vec<String> = islands.iter().map(|island| format!("{} to {}", island.start + 1, island.end)).collect();
    println!("islands    {}\n", if list.is_empty() { "none".to_owned() } else { list.join(", ") });
    Ok(())
}

/// Runs of states inside of islands.
fn islands(states: &[i32]) -> Vec<Range<usize>> {
    let mut islands: Vec<Range<usize>> = Vec::new();
    for (at, _) in states.iter().enumerate().filter(|(_, state)| **state < 4) {
        match islands.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            Some(_) | None => islands.push(at..at + 1),
        }
    }
    islands
}

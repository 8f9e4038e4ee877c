//! `cargo xtask explain`: what the compiler makes of a file.

use anyhow::{Context, Result, anyhow, bail};
use hidp_build::Wanted;

/// Prints the explanation of a file's entries, or of the one that is named.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let mut wanted = Wanted::default();
    let mut names = Vec::new();
    for &arg in args {
        match arg {
            "--par" => wanted.par = true,
            "--imp" => wanted.imp = true,
            "--source" => wanted.source = true,
            flag if flag.starts_with('-') => bail!("there is no option `{flag}`"),
            name => names.push(name),
        }
    }
    let file = names.first().context("which file?")?;
    let text = hidp_build::explain(file, names.get(1).copied(), wanted).map_err(|error| anyhow!("{error}"))?;
    print!("{text}");
    Ok(())
}

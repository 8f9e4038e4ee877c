//! `cargo xtask explain`: what the compiler makes of a file.

use std::fs;
use std::io::IsTerminal as _;

use anyhow::{Context, Result, anyhow, bail};
use hidp_build::Builder;
use hidp_build::nvcc::{Checker, Kernel};
use hidp_explain::{Format, Wanted};

use crate::command::workspace_root;

/// Prints the explanation of a file's entries, or of the one that is named.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let terminal = std::io::stdout().is_terminal();
    let format = if terminal { Format::Colour } else { Format::Plain };
    let mut wanted = Wanted { format, ..Wanted::default() };
    let mut code = false;
    let mut names = Vec::new();
    for &arg in args {
        match arg {
            "--json" => wanted.format = Format::Json,
            "--pin" => wanted.format = Format::Pin,
            "--pin=directives" => wanted.format = Format::PinDirectives,
            "--expanded" => wanted.expanded = true,
            "--code" => code = true,
            "--par" => wanted.par = true,
            "--imp" => wanted.imp = true,
            "--source" => wanted.source = true,
            flag if flag.starts_with('-') => bail!("there is no option `{flag}`"),
            name => names.push(name),
        }
    }
    let file = names.first().context("which file?")?;
    let kernels = if code { kernels(file)? } else { Vec::new() };
    let text = hidp_explain::explain_compiled(file, names.get(1).copied(), wanted, &kernels);
    print!("{}", text.map_err(|error| anyhow!("{error}"))?);
    let reads_on = matches!(wanted.format, Format::Plain | Format::Colour);
    if code && reads_on { print_code(file) } else { Ok(()) }
}

/// What nvcc makes of the file's kernels; nothing where there is none.
fn kernels(file: &str) -> Result<Vec<Kernel>> {
    let root = workspace_root();
    let include = ["hidp-std/include", "hidp-sys/include"].map(|path| root.join(path));
    let found = Checker::find(&[], &include, &root.join("target/hidp-explain/cuda"));
    let Some(checker) = found.map_err(|error| anyhow!("{error}"))? else { return Ok(Vec::new()) };
    checker.kernels(&[std::path::absolute(file)?]).map_err(|error| anyhow!("{error}"))
}

/// Compiles the file and prints what each version costs.
fn print_code(file: &str) -> Result<()> {
    let root = workspace_root();
    let folder = root.join("target/hidp-explain");
    let include = ["hidp-std/include", "hidp-sys/include"].map(|path| root.join(path));
    let file = std::path::absolute(file)?;
    let builder = Builder::new().folder(file).out_dir(&folder).run_time_headers(include);
    builder.compile().map_err(|error| anyhow!("{error}"))?;
    print!("\n{}", fs::read_to_string(folder.join("hidp_code.txt")).context("no C++ was compiled")?);
    Ok(())
}

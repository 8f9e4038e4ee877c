//! The largest errors of the maths functions, over all floats or many samples, and their speed beside other libraries.
//!
//! Errors take hours in all: what is done is noted below `target/maths`, and a command that was stopped goes on from there.
//! A change of a function's text, or of a header that it includes, starts anew with that function.

mod progress;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::target_folder;
use progress::{Chunk, Progress};

const DOCUMENT: &str = "docs/maths.md";
const SOURCES: &str = "xtask/maths";
const HEADERS: &str = "hidp-std/include/hidp/maths";

const ONE: [&str; 22] = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc",
];
const TWO: [&str; 3] = ["pow", "hypot", "atan2"];

/// Samples of a function that has too many arguments for all of them.
const MANY: u64 = 1_000_000_000;
const ALL_FLOATS: u64 = 1 << 32;
/// Samples between two looks at the clock.
const CHUNK: u64 = 1 << 26;

const GNU: &[&str] = &["-std=c++17", "-O2"];
const LOOPS: &[&str] =
    &["-std=c++17", "-O3", "-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fopenmp-simd"];

/// A function in a width, and how many samples it has.
struct Case {
    name: &'static str,
    width: &'static str,
    samples: u64,
}

struct Options<'a> {
    isa: &'a str,
    samples: u64,
    only: Vec<&'a str>,
    speed: bool,
    write: bool,
}

pub(crate) fn run(args: &[&str]) -> Result<()> {
    let options = options(args)?;
    let folder = target_folder().join("maths");
    fs::create_dir_all(&folder)?;
    if options.speed {
        return speed(&folder, &options);
    }
    let mut progress = BTreeMap::new();
    for name in ONE.into_iter().chain(TWO) {
        let file = format!("errors-{}-{name}-{:016x}.txt", options.isa, fingerprint(name)?);
        progress.insert(name, Progress::open(&folder.join(file))?);
    }
    if options.write {
        return write("errors", &error_table(&progress));
    }
    let program = errors_program(&folder, options.isa)?;
    for case in cases(&options) {
        let own = progress.get_mut(case.name).context("a function has progress of its own")?;
        measure(&program, &case, own)?;
    }
    print!("{}", error_table(&progress));
    match progress.values().find_map(|own| own.beyond(1.0)) {
        Some(chunk) => bail!("{} {} is {} units off at {}", chunk.name, chunk.width, chunk.error, chunk.at),
        None => Ok(()),
    }
}

fn options<'a>(args: &[&'a str]) -> Result<Options<'a>> {
    let mut options = Options { isa: "v3", samples: MANY, only: Vec::new(), speed: false, write: false };
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        let mut value = || args.next().copied().with_context(|| format!("`{arg}` wants a value"));
        match arg {
            "--isa" => options.isa = value()?,
            "--samples" => options.samples = value()?.parse().context("`--samples` wants a number")?,
            "--speed" => options.speed = true,
            "--write" => options.write = true,
            name if ONE.contains(&name) || TWO.contains(&name) => options.only.push(name),
            _ => bail!("`{arg}` is neither a maths function nor an option"),
        }
    }
    if !["v2", "v3", "v4"].contains(&options.isa) {
        bail!("`--isa` takes v2, v3 or v4");
    }
    Ok(options)
}

fn cases(options: &Options<'_>) -> Vec<Case> {
    let wanted = |name: &&str| options.only.is_empty() || options.only.contains(name);
    let of = |name, width, samples| Case { name, width, samples };
    let one = ONE.into_iter().filter(wanted).map(|name| of(name, "float", ALL_FLOATS));
    let two = TWO.into_iter().filter(wanted).map(|name| of(name, "float", options.samples));
    let double = ONE.into_iter().chain(TWO).filter(wanted).map(|name| of(name, "double", options.samples));
    one.chain(two).chain(double).collect()
}

fn measure(program: &Path, case: &Case, progress: &mut Progress) -> Result<()> {
    while let Some(from) = progress.next(case.name, case.width).filter(|&from| from < case.samples) {
        let count = CHUNK.min(case.samples - from);
        let numbers = [from.to_string(), count.to_string()];
        let text = output(Command::new(program).args([case.name, case.width]).args(numbers))?;
        let (error, at) = text.trim().split_once(' ').context("an error and its place")?;
        let (name, width) = (case.name.to_owned(), case.width.to_owned());
        progress.add(Chunk { name, width, from, count, error: error.parse()?, at: at.to_owned() })?;
        let done = (from + count) * 100 / case.samples;
        eprintln!("{} {}: {done} %, at most {:.4}", case.name, case.width, progress.worst(case.name, case.width).0);
    }
    Ok(())
}

fn error_table(progress: &BTreeMap<&str, Progress>) -> String {
    let mut table = "| function | float: samples | largest error | double: samples | largest error |\n".to_owned();
    table += "|---|---|---|---|---|\n";
    for name in ONE.into_iter().chain(TWO) {
        let cell = |width| match progress.get(name).map_or((0.0, 0), |own| own.worst(name, width)) {
            (_, 0) => "– | –".to_owned(),
            (error, ALL_FLOATS) => format!("all | {error:.4}"),
            (error, samples) => format!("{} million | {error:.4}", samples / 1_000_000),
        };
        let _ = writeln!(table, "| `{name}` | {} | {} |", cell("float"), cell("double"));
    }
    table
}

/// A number that changes with the header of a function and with those that it includes.
fn fingerprint(function: &str) -> Result<u64> {
    let mut open = vec![header_of(function)?];
    let mut texts = BTreeMap::new();
    while let Some(path) = open.pop() {
        if texts.contains_key(&path) {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let included = text.lines().filter_map(|line| line.strip_prefix("#include <hidp/maths/")?.strip_suffix('>'));
        open.extend(included.map(|name| Path::new(HEADERS).join(name)));
        texts.insert(path, text);
    }
    let bytes = texts.values().flat_map(|text| text.bytes());
    Ok(bytes.fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
}

/// The header that defines a function.
fn header_of(function: &str) -> Result<PathBuf> {
    let defines = format!("HIDP_INLINE F {function}(F ");
    for entry in fs::read_dir(HEADERS)? {
        let path = entry?.path();
        if path.is_file() && fs::read_to_string(&path)?.contains(&defines) {
            return Ok(path);
        }
    }
    bail!("no header defines `{function}`")
}

fn compiler() -> Command {
    Command::new(std::env::var_os("CXX").unwrap_or_else(|| "g++".into()))
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Compiles one of the sources for an instruction set.
fn object(folder: &Path, isa: &str, source: &str, name: &str, flags: &[&str]) -> Result<PathBuf> {
    let object = folder.join(format!("{name}-{isa}.o"));
    let mut command = compiler();
    command.args(flags).arg(format!("-march=x86-64-{isa}")).arg(format!("-DHIDP_ISA={isa}"));
    command.args(["-I", "hidp-std/include", "-I", "hidp-sys/include", "-c"]);
    output(command.arg(Path::new(SOURCES).join(source)).arg("-o").arg(&object))?;
    Ok(object)
}

fn errors_program(folder: &Path, isa: &str) -> Result<PathBuf> {
    let program = folder.join(format!("errors-{isa}"));
    let main = object(folder, isa, "errors.cpp", "errors", GNU)?;
    let loops = object(folder, isa, "speed_hidp.cpp", "hidp", LOOPS)?;
    output(compiler().arg(main).arg(loops).arg("-o").arg(&program).args(["-lquadmath", "-lm"]))
        .context("errors are found with GCC and libquadmath on x86-64")?;
    Ok(program)
}

fn speed(folder: &Path, options: &Options<'_>) -> Result<()> {
    let mut table = String::new();
    for isa in ["v3", "v4"] {
        let hidp = object(folder, isa, "speed_hidp.cpp", "hidp", LOOPS)?;
        let libm = object(
            folder,
            isa,
            "speed_libm.cpp",
            "libm",
            &["-std=c++17", "-O3", "-fno-tree-vectorize", "-DPEER=libm"],
        )?;
        let fast = object(folder, isa, "speed_libm.cpp", "fast", &["-std=c++17", "-Ofast", "-DPEER=fast"])?;
        let program = folder.join(format!("speed-{isa}"));
        let link = |main: PathBuf, more: &[&str]| {
            output(
                compiler()
                    .args([&main, &hidp, &libm, &fast])
                    .arg("-o")
                    .arg(&program)
                    .args(more)
                    .args(["-lmvec", "-lm"]),
            )
        };
        let with_sleef = object(folder, isa, "speed.cpp", "sleef", &["-std=c++17", "-O2", "-DMATHS_SLEEF"]);
        if let Ok(main) = with_sleef {
            link(main, &["-lsleef"])?;
        } else {
            eprintln!("SLEEF is not installed (libsleef-dev): its column is empty");
            link(object(folder, isa, "speed.cpp", "speed", GNU)?, &[])?;
        }
        table += &speed_table(isa, &output(Command::new(&program).args(&options.only))?)?;
    }
    print!("{table}");
    if options.write { write("speed", &table) } else { Ok(()) }
}

fn speed_table(isa: &str, text: &str) -> Result<String> {
    let mut table = format!("\nx86-64-{isa}, nanoseconds an element:\n\n");
    table += "| function | HiDP | C library | libmvec | SLEEF | HiDP / SLEEF | C library / HiDP |\n|---|---|---|---|---|---|---|\n";
    for line in text.lines() {
        let [name, width, hidp, libm, fast, sleef] = line.split(' ').collect::<Vec<_>>()[..] else {
            bail!("`{line}` is no line of the speed program");
        };
        let ours: f64 = hidp.parse()?;
        let beside = sleef.parse::<f64>().map_or_else(|_| "–".to_owned(), |sleef| format!("{:.2}", ours / sleef));
        let _ = writeln!(
            table,
            "| `{name}` {width} | {ours:.2} | {:.2} | {:.2} | {sleef} | {beside} | {:.1} |",
            libm.parse::<f64>()?,
            fast.parse::<f64>()?,
            libm.parse::<f64>()? / ours
        );
    }
    Ok(table)
}

/// Puts a table between its marks in the document.
fn write(what: &str, table: &str) -> Result<()> {
    let (begin, end) = (format!("<!-- maths {what} -->\n"), format!("<!-- end of {what} -->"));
    let text = fs::read_to_string(DOCUMENT)?;
    let (before, rest) = text.split_once(&begin).with_context(|| format!("{DOCUMENT} has no `{begin}`"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{DOCUMENT} has no `{end}`"))?;
    fs::write(DOCUMENT, format!("{before}{begin}{}\n{end}{after}", table.trim_start_matches('\n')))?;
    Ok(())
}

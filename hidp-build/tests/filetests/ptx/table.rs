//! The table's rows, and what they come to.

use std::fs;
use std::path::PathBuf;

use hidp_build::compiler::target::DeviceModel;
use hidp_ptx::Compiler;

use crate::case::of_kind;
use crate::made::root;
use crate::subject::Subject;

use super::called::{ALL, Compiled};
use super::row::{COLUMNS, HEAD, Row};
use super::sources::Sources;
use super::{PAPERS, Paper, chosen, compiler, request};

/// Versions of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Without,
    With,
    ByHand,
    Original,
}

impl Version {
    pub(super) fn name(self) -> &'static str {
        match self {
            Version::Without => "without directives",
            Version::With => "with directives",
            Version::ByHand => "by hand",
            Version::Original => "original",
        }
    }
}

/// A program's versions.
struct Compared {
    paper: &'static Paper,
    rows: Vec<(Version, Row)>,
}

#[test]
#[ignore = "a table that `cargo xtask ptx-count` prints"]
fn table() {
    let with = compiler().expect("`cargo xtask ptx-count` names the toolkit");
    let sources = Sources::read().unwrap_or_else(|why| panic!("{why}"));
    let only = std::env::var("HIDP_PTX_ONLY").unwrap_or_default();
    let papers: Vec<&'static Paper> = PAPERS.iter().filter(|paper| paper.name.contains(&only)).collect();
    // Each takes seconds to a minute.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let take = || papers.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let compared = std::iter::from_fn(take).map(|paper| compared(&with, paper, sources.as_ref()));
        compared.collect::<Vec<_>>()
    };
    let mut all: Vec<Compared> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no program fails")).collect()
    });
    all.sort_by_key(|one| papers.iter().position(|paper| paper.name == one.paper.name));
    let text = text(&all);
    match std::env::var_os("HIDP_PTX_TABLE") {
        Some(file) => fs::write(file, text).expect("it can be written"),
        None => print!("{text}"),
    }
}

/// That programs by hand and those of HiDP run, and that both have right results: one of them, with both kinds of memory, shuffles, barriers and updates.
#[test]
fn programs_run_as_on_a_gpu() {
    let Some(with) = compiler() else {
        println!("skipped: programs of papers as PTX: no nvcc (`cargo xtask test` installs one)");
        return;
    };
    let paper = PAPERS.iter().find(|paper| paper.name == "nearest").expect("it is one of them");
    let plain @ (subject, name, text) = &program(paper, Version::Without);
    let entry = subject.entries.iter().find(|entry| subject.func(entry).name == *name).expect("a function");
    let request = request(subject, entry, text, paper.small);
    let unit = chosen(subject, entry, &request.dims);
    let own =
        Compiled::entry(&with, subject, entry, unit).and_then(|mut own| own.launches(subject, entry, &request, ALL));
    let launches = own.unwrap_or_else(|why| panic!("{why}"));
    // Places are read once, distances written once.
    let sectors = |bytes: u64| (bytes * paper.small[0] as u64).div_ceil(32);
    assert!(launches[0].1.launch_sectors >= sectors(8) + sectors(4), "{:?}", launches[0].1);
    assert!(launches.iter().all(|(needs, _)| needs.registers > 0 && needs.spilled == 0));
    let hand =
        Compiled::by_hand(&with, &by_hand(paper), None).and_then(|own| of_peer(own, paper, plain, [paper.small; 2]));
    let row = hand.unwrap_or_else(|why| panic!("{why}"));
    assert!(row.time() > 5000.0, "a launch takes that at least");
}

fn by_hand(paper: &Paper) -> PathBuf {
    root().join("benches/peers/cuda").join(paper.name).with_extension("cu")
}

#[test]
fn each_program_is_there_by_hand() {
    for paper in &PAPERS {
        assert!(by_hand(paper).is_file(), "{}", by_hand(paper).display());
    }
}

/// Runs all versions: with small sizes, where results are compared, then with the table's.
fn compared(with: &Compiler, paper: &'static Paper, sources: Option<&Sources>) -> Compared {
    let mut rows = Vec::new();
    let plain = program(paper, Version::Without);
    for version in [Version::Without, Version::With, Version::ByHand, Version::Original] {
        let said = |why: String| -> ! { panic!("{} {}: {why}", paper.name, version.name()) };
        let row = match version {
            Version::Without => of_hidp(with, paper, &plain, version),
            Version::With => of_hidp(with, paper, &program(paper, version), version),
            Version::ByHand => Compiled::by_hand(with, &by_hand(paper), None)
                .and_then(|own| of_peer(own, paper, &plain, [paper.small, paper.sizes])),
            Version::Original => match sources.and_then(|sources| sources.of(paper.name)) {
                Some(original) => original
                    .and_then(|(source, folder)| Compiled::by_hand(with, &source, Some(&folder)))
                    .and_then(|own| of_peer(own, paper, &plain, [paper.even, paper.sizes])),
                None => continue,
            },
        };
        rows.push((version, row.unwrap_or_else(|why| said(why))));
    }
    Compared { paper, rows }
}

/// The case with a version, and the name of its function.
fn program(paper: &Paper, version: Version) -> (Subject, String, String) {
    let suffix = if version == Version::With { "_placed" } else { "" };
    let name = format!("{}{suffix}", paper.case);
    let case = of_kind("run").into_iter().find(|other| other.name == name).expect("a case");
    let subject = Subject::compile(&case.name, &case.text).unwrap_or_else(|why| panic!("{why}"));
    (subject, format!("{}{suffix}", paper.name), case.text)
}

fn of_hidp(
    with: &Compiler,
    paper: &Paper,
    (subject, name, text): &(Subject, String, String),
    version: Version,
) -> Result<Row, String> {
    let entry = subject.entries.iter().find(|entry| subject.func(entry).name == *name).ok_or("no such function")?;
    let mut row = None;
    for (sizes, most) in [(paper.small, ALL), (paper.sizes, paper.most)] {
        let request = request(subject, entry, text, sizes);
        let unit = chosen(subject, entry, &request.dims);
        let launches = Compiled::entry(with, subject, entry, unit)?.launches(subject, entry, &request, most)?;
        let plan = if version == Version::Without { unit.plan.clone() } else { String::new() };
        row = Some(Row::new(plan, launches, &DeviceModel::cuda()));
    }
    row.ok_or_else(|| "no sizes".to_owned())
}

fn of_peer(
    mut own: Compiled,
    paper: &Paper,
    (subject, name, text): &(Subject, String, String),
    [small, sizes]: [&[i64]; 2],
) -> Result<Row, String> {
    let entry = subject.entries.iter().find(|entry| subject.func(entry).name == *name).ok_or("no such function")?;
    let mut call = |sizes, most| own.launches(subject, entry, &request(subject, entry, text, sizes), most);
    call(small, ALL)?;
    Ok(Row::new(String::new(), call(sizes, paper.most)?, &DeviceModel::cuda()))
}

/// How much worse than by hand counts as worse.
const WORSE: f64 = 1.02;

fn text(all: &[Compared]) -> String {
    let mut lines: Vec<String> = vec![HEAD.to_owned()];
    let mut worse = Vec::new();
    for Compared { paper, rows } in all {
        let hand = &rows.iter().find(|(version, _)| *version == Version::ByHand).expect("a version by hand").1;
        let sizes = paper.sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
        for (version, row) in rows {
            let title = format!("{} {sizes}", paper.title);
            lines.push(row.text(&title, version.name(), hand));
            if matches!(version, Version::With) {
                worse.extend(named(paper, row, hand));
            }
        }
    }
    lines.push(String::new());
    lines.push(means(all));
    lines.push(String::new());
    lines.push(format!("Above {WORSE} of by hand with directives:"));
    lines.push(String::new());
    lines.extend(worse);
    lines.join("\n") + "\n"
}

/// Columns in which a program with directives is worse than by hand.
fn named(paper: &Paper, row: &Row, hand: &Row) -> Option<String> {
    let above = COLUMNS.iter().filter_map(|(name, of)| {
        let (own, other) = (of(row), of(hand));
        match own > other * WORSE {
            true if other == 0.0 => Some(format!("{name} {own}, by hand none")),
            true => Some(format!("{name} {:.2}", own / other)),
            false => None,
        }
    });
    let above: Vec<String> = above.collect();
    (!above.is_empty()).then(|| format!("- {}: {}", paper.title, above.join(", ")))
}

/// Geometric means of times over those by hand.
fn means(all: &[Compared]) -> String {
    let mean = |version: Version, other: Version, is_exempt: bool| {
        let found = all.iter().filter(|one| is_exempt || !one.paper.exempt).filter_map(|one| {
            let time = |wanted| one.rows.iter().find(|(version, _)| *version == wanted).map(|(_, row)| row.time());
            Some(time(version)? / time(other)?)
        });
        let ratios: Vec<f64> = found.collect();
        let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        (ratios.len(), (sum / ratios.len().max(1) as f64).exp())
    };
    let (count, without) = mean(Version::Without, Version::ByHand, false);
    let (_, with) = mean(Version::With, Version::ByHand, false);
    let mut text = format!(
        "Geometric mean of predicted times over those by hand, of {count} programs without Hotspot and Pathfinder: without directives {without:.2}, with them {with:.2}."
    );
    let (count, original) = mean(Version::ByHand, Version::Original, true);
    if count > 0 {
        text += &format!(" By hand over the originals, of {count}: {original:.2}.");
    }
    text
}

//! Compositions: which bodies the calls of an entry take, where functions have codelets.

use std::collections::BTreeSet;
use std::fmt;

use hidp_ir::par::{Alternative, Choice, Codelet, FuncId, Program, sites};

use super::notation::{self, Pieces, Place};
use crate::target::{DeviceModel, Model};
use hidp_syntax::ast::PieceWay;
use hidp_syntax::diag::{Code, Diagnostic, Sink};

mod rules;
mod search;
mod space;
#[cfg(test)]
mod tests;
mod weigh;

pub use rules::{Promise, promise};
use space::{Compositions, components};

/// The compositions of an entry, and what became of each codelet that it could take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composed {
    /// Those that become versions, besides the entry as it is written, and what each costs at the sizes that were looked at, beside the best.
    pub kept: Vec<(Choice, Vec<f64>)>,
    /// Codelets, in the order of the text.
    pub codelets: Vec<CodeletFate>,
    /// Whether compositions were left out unseen.
    pub cut: bool,
}

/// What became of a codelet.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeletFate {
    /// The function.
    pub function: String,
    /// The codelet's name.
    pub codelet: String,
    /// How its `tiles` are cut, if it has any.
    pub tiles: Option<PieceWay>,
    /// In how many versions it is.
    pub kept: usize,
    /// Its least predicted time beside that of the best composition, over the sizes that were looked at; nothing if it never runs there.
    pub ratio: Option<f64>,
}

impl fmt::Display for CodeletFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodeletFate { function, codelet, tiles, kept, ratio } = self;
        write!(f, "{function} \"{codelet}\"")?;
        if let Some(way) = tiles {
            write!(f, " with {} tiles", way.name())?;
        }
        match kept {
            0 => write!(f, ": none, {MOST} compositions come before it")?,
            1 => f.write_str(": kept in 1 composition")?,
            _ => write!(f, ": kept in {kept} compositions")?,
        }
        match ratio {
            Some(ratio) => write!(f, "; predicted to take at least {ratio:.2} times the best composition's time"),
            None => f.write_str("; its condition holds at no size that was looked at"),
        }
    }
}

/// How many compositions of an entry become versions.
const MOST: usize = 4;
/// How much a further version has to gain, on geometric mean, to be one for its speed.
const GAIN: f64 = 0.02;
/// Elements of an entry at which compositions are compared: all its dimensions alike.
const POINTS: [f64; 3] = [4096.0, 262_144.0, 16_777_216.0];

/// Chooses compositions for all entries. Where there is a `device`, too, those with `tiles` are there as it prefers them, besides.
pub fn compose(program: &mut Program, model: &Model, device: Option<&DeviceModel>, sink: &mut Sink) {
    if program.spectra.is_empty() {
        return;
    }
    let mut alternatives: Vec<Alternative> = Vec::new();
    for &entry in &program.entries {
        let Composed { kept, cut, .. } = composed(program, entry, model);
        if cut {
            let item = &program.funcs[entry];
            let headline = format!("`{}` has more compositions than are looked at", item.name);
            let diagnostic = Diagnostic::new(Code::SearchCut, item.span, headline).label("some are left out");
            sink.push(diagnostic.help("fewer values of tunables make fewer compositions"));
        }
        let mut choices: Vec<Choice> = kept.into_iter().map(|(choice, _)| choice).collect();
        if let Some(device) = device {
            let tiles = Tiles { program, choosing: &program.choosing(), way: device.codelets.tiles };
            let cut: Vec<Choice> = choices.iter().map(|choice| tiles.cut(entry, choice)).collect();
            choices.extend(cut);
        }
        for (at, choice) in choices.iter().enumerate() {
            if choices[..at].contains(choice) {
                continue;
            }
            let known = |name: &str| alternatives.iter().any(|other| other.entry == entry && other.name == name);
            let name = unlike(&name_of(choice), known);
            alternatives.push(Alternative { entry, func: entry, name, choice: choice.clone() });
        }
    }
    program.alternatives = alternatives;
}

/// The compositions of an entry: the best at each point, then those that have what no other has.
pub fn composed(program: &Program, entry: FuncId, model: &Model) -> Composed {
    let choosing = program.choosing();
    if !choosing.contains(&entry) {
        return Composed::default();
    }
    let component = components(program, &choosing);
    let dims = program.funcs[entry].dims.len().max(1);
    let sizes = |total: &f64| vec![total.powf(1.0 / dims as f64).round() as i64; program.funcs[entry].dims.len()];
    let at = |total: &f64| Compositions::new(program, entry, sizes(total), (&choosing, &component, model));
    let mut points: Vec<Compositions<'_>> = POINTS.iter().map(at).collect();
    let usual = Usual { program, choosing: &choosing, with: None };
    let mut seen = vec![usual.choice(entry, false)];
    let mut add = |choice: Choice| {
        if !seen.contains(&choice) {
            seen.push(choice);
        }
    };
    points.iter_mut().flat_map(Compositions::best).for_each(&mut add);
    let mut reached = BTreeSet::new();
    usual.reach(entry, &mut reached);
    let codelets = || {
        let spectra = program.spectra.iter().filter(|spectrum| reached.contains(&spectrum.meaning));
        spectra.flat_map(|spectrum| spectrum.codelets.iter().map(|codelet| (spectrum.meaning, codelet)))
    };
    let mut preferred: Vec<(FuncId, &Codelet)> = codelets().collect();
    preferred.sort_by_key(|(_, codelet)| is_second_way(codelet, model));
    preferred.iter().for_each(|with| add(Usual { with: Some(*with), ..usual }.choice(entry, false)));
    let prices: Vec<Vec<Option<f64>>> =
        seen.iter().map(|choice| points.iter().map(|point| point.price(choice)).collect()).collect();
    let best: Vec<f64> = (0..points.len())
        .map(|point| prices.iter().filter_map(|of| of[point]).fold(f64::INFINITY, f64::min).max(1.0))
        .collect();
    let ratios: Vec<Vec<f64>> = prices
        .iter()
        .map(|of| of.iter().zip(&best).map(|(price, best)| price.map_or(f64::INFINITY, |price| price / best)).collect())
        .collect();
    let has = |choice: &Choice, (of, codelet): (FuncId, &Codelet)| contains(choice, &program.funcs[of].name, codelet);
    let having: Vec<Vec<bool>> =
        preferred.iter().map(|with| seen.iter().map(|choice| has(choice, *with)).collect()).collect();
    let chosen = chosen(&seen, &ratios, &having);
    let fate = |with: (FuncId, &Codelet)| {
        let own = seen.iter().zip(&ratios).filter(|(choice, _)| has(choice, with)).flat_map(|(_, ratios)| ratios);
        let least = own.copied().fold(f64::INFINITY, f64::min);
        CodeletFate {
            function: program.funcs[with.0].name.clone(),
            codelet: with.1.tag.clone(),
            tiles: with.1.tiles,
            kept: chosen.iter().filter(|at| has(&seen[**at], with)).count(),
            ratio: least.is_finite().then_some(least),
        }
    };
    Composed {
        codelets: codelets().map(fate).collect(),
        cut: points.iter().any(|point| point.cut),
        kept: chosen.iter().map(|at| (seen[*at].clone(), ratios[*at].clone())).collect(),
    }
}

/// Whether a codelet's `tiles` are cut in the way that is looked at second.
fn is_second_way(codelet: &Codelet, model: &Model) -> bool {
    codelet.tiles.is_some_and(|way| way != model.codelets.tiles)
}

/// Cuts all `tiles` of compositions one way.
struct Tiles<'a> {
    program: &'a Program,
    choosing: &'a BTreeSet<FuncId>,
    way: PieceWay,
}

impl Tiles<'_> {
    fn cut(&self, function: FuncId, choice: &Choice) -> Choice {
        let mut cut = Choice { tiles: choice.tiles.map(|_| self.way), ..choice.clone() };
        let codelet = self.program.spectrum_of(function).and_then(|spectrum| spectrum.taken(&cut));
        let body = codelet.map_or(function, |codelet| codelet.func);
        let (sites, pieces) = sites(&self.program.funcs[body].body, self.choosing);
        cut.pieces = pieces;
        cut.calls = sites.iter().zip(&choice.calls).map(|(site, call)| self.cut(site.callee, call)).collect();
        cut.otherwise = choice.otherwise.as_deref().map(|other| Box::new(self.cut(function, other)));
        cut
    }
}

/// Which compositions are kept besides the usual one, number 0: those that gain most, then for each codelet that none of them has the
/// first one with it. `having` says for each codelet which compositions have it.
fn chosen(seen: &[Choice], ratios: &[Vec<f64>], having: &[Vec<bool>]) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    let loss = |kept: &[usize]| -> f64 {
        let points = ratios[0].len();
        let of = |point: usize| kept.iter().chain([&0]).map(|at| ratios[*at][point]).fold(f64::INFINITY, f64::min);
        (0..points).map(|point| of(point).ln()).sum::<f64>() / points as f64
    };
    while kept.len() < MOST {
        let with = |at: usize| kept.iter().copied().chain([at]).collect::<Vec<_>>();
        let candidates = (1..seen.len()).filter(|at| !kept.contains(at)).map(|at| (at, loss(&with(at))));
        let best = candidates.min_by(|a, b| a.1.total_cmp(&b.1));
        match best {
            Some((at, less)) if less + GAIN < loss(&kept) => kept.push(at),
            Some(_) | None => break,
        }
    }
    for having in having {
        let covered = kept.iter().any(|at| having[*at]);
        // The last ones have one codelet and nothing else.
        if let (false, true, Some(at)) = (covered, kept.len() < MOST, (1..seen.len()).rev().find(|at| having[*at])) {
            kept.push(at);
        }
    }
    kept
}

/// Whether a codelet is part of a composition.
fn contains(choice: &Choice, function: &str, codelet: &Codelet) -> bool {
    choice.function == function && choice.codelet == codelet.tag && choice.tiles == codelet.tiles
        || choice.calls.iter().chain(choice.otherwise.as_deref()).any(|inner| contains(inner, function, codelet))
}

/// All calls take the function itself, but for one codelet where it is called first.
#[derive(Clone, Copy)]
struct Usual<'a> {
    program: &'a Program,
    choosing: &'a BTreeSet<FuncId>,
    with: Option<(FuncId, &'a Codelet)>,
}

impl Usual<'_> {
    /// The functions with a choice that a call may lead to.
    fn reach(&self, func: FuncId, reached: &mut BTreeSet<FuncId>) {
        if !reached.insert(func) {
            return;
        }
        let codelets = self.program.spectrum_of(func).into_iter().flat_map(|spectrum| &spectrum.codelets);
        let bodies: Vec<FuncId> = codelets.map(|codelet| codelet.func).chain([func]).collect();
        for body in bodies {
            let (sites, _) = sites(&self.program.funcs[body].body, self.choosing);
            sites.into_iter().for_each(|site| self.reach(site.callee, reached));
        }
    }

    fn choice(&self, function: FuncId, in_map: bool) -> Choice {
        let codelet = self.with.filter(|(of, _)| *of == function).map(|(_, codelet)| codelet);
        let Some(codelet) = codelet else { return self.body(function, function, in_map) };
        let inner = Usual { with: None, ..*self };
        let name = |var| self.program.funcs[codelet.func].vars[var].name.clone();
        let tunables = codelet.tunables.iter().map(|tunable| (name(tunable.var), tunable.values[0])).collect();
        let otherwise = codelet.when.is_some().then(|| Box::new(inner.body(function, function, in_map)));
        let chosen = inner.body(function, codelet.func, in_map);
        Choice { codelet: codelet.tag.clone(), tiles: codelet.tiles, tunables, otherwise, ..chosen }
    }

    fn body(&self, function: FuncId, body: FuncId, in_map: bool) -> Choice {
        let (sites, pieces) = sites(&self.program.funcs[body].body, self.choosing);
        Choice {
            function: self.program.funcs[function].name.clone(),
            codelet: String::new(),
            in_map,
            tunables: Vec::new(),
            tiles: None,
            pieces,
            calls: sites.iter().map(|site| self.choice(site.callee, in_map || site.in_map)).collect(),
            otherwise: None,
        }
    }
}

/// The names of the codelets along the first path, as an identifier.
fn name_of(choice: &Choice) -> String {
    /// More is cut off.
    const LETTERS: usize = 24;
    let mut tags = Vec::new();
    collect_tags(choice, &mut tags);
    let name: String = tags.join("_").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("c{name}") };
    name.chars().take(LETTERS).collect()
}

fn collect_tags<'a>(choice: &'a Choice, tags: &mut Vec<&'a str>) {
    if !choice.codelet.is_empty() {
        tags.push(&choice.codelet);
    }
    choice.calls.iter().for_each(|call| collect_tags(call, tags));
}

/// A name that is not known yet.
fn unlike(name: &str, known: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !known(name)).unwrap_or_default()
}

/// The form of an entry that a plan's lines choose.
pub fn form_of(program: &Program, entry: FuncId, composition: &notation::Choice) -> Option<FuncId> {
    let form = program.alternatives_of(entry).find(|form| shown(&form.choice) == *composition);
    form.map(|form| form.func)
}

/// A choice as plans show it.
pub fn shown(choice: &Choice) -> notation::Choice {
    // The ways of `tiles` are among those of all pieces.
    let Choice { function, codelet, in_map, tunables, tiles: _, pieces, calls, otherwise } = choice;
    notation::Choice {
        function: function.clone(),
        codelet: codelet.clone(),
        place: if *in_map { Place::Seq } else { Place::Host },
        // Values are checked to be small.
        tunables: tunables.iter().map(|(name, value)| (name.clone(), *value as u32)).collect(),
        pieces: pieces.iter().map(|way| pieces_of(*way)).collect(),
        calls: calls.iter().map(shown).collect(),
        otherwise: otherwise.as_deref().map(|other| Box::new(shown(other))),
    }
}

fn pieces_of(way: PieceWay) -> Pieces {
    match way {
        PieceWay::Adjacent => Pieces::Adjacent,
        PieceWay::Strided => Pieces::Strided,
    }
}

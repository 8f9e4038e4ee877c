//! Compositions: which bodies the calls of an entry take, where functions have codelets.

use hidp_ir::par::{Alternative, Choice, Codelet, FuncId, Program, Setting, Tunable, sites};
use hidp_syntax::ordered::OrdSet;

use super::notation::{self, Pieces};
use crate::target::{CallLevels, DeviceModel, Model};
use hidp_syntax::ast::PieceWay;
use hidp_syntax::diag::{Code, Diagnostic, Sink};

mod admit;
mod bodies;
mod fates;
#[cfg(test)]
mod level_tests;
mod rules;
mod search;
mod space;
#[cfg(test)]
mod tests;
mod weigh;

pub use admit::Lack;
use bodies::Bodies;
pub use fates::{CodeletFate, Searched};
pub use rules::{LeftOut, Promise, loops, promise};
use space::Compositions;

/// The compositions of an entry, and what became of each codelet that it could take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composed {
    /// Those that become versions, besides the entry as it is written, and what each costs at the sizes that were looked at, beside the best.
    pub kept: Vec<(Choice, Vec<f64>)>,
    /// Codelets, in the order of the text.
    pub codelets: Vec<CodeletFate>,
    /// Whether compositions were left out unseen.
    pub cut: bool,
    /// How much was looked at.
    pub searched: Searched,
}

/// How many compositions of an entry become versions.
const MOST: usize = 4;
/// How much a further version has to gain, on geometric mean, to be one for its speed.
const GAIN: f64 = 0.02;
/// Elements of an entry at which compositions are compared: all its dimensions alike.
const POINTS: [f64; 3] = [4096.0, 262_144.0, 16_777_216.0];

/// Combinations of values of a codelet's tunables that calls have, in every state alike: fewer where that is too much to look at.
const COMBINATIONS: [usize; 3] = [64, 16, 4];

/// Chooses compositions for all entries, for processors and, where there is one, for a `device`.
pub fn compose(program: &mut Program, model: &Model, device: Option<&DeviceModel>, sink: &mut Sink) {
    if program.spectra.is_empty() {
        return;
    }
    let mut alternatives: Vec<Alternative> = Vec::new();
    for &entry in &program.entries {
        let mut any_cut = false;
        for (on_device, levels) in [(false, Some(&model.calls)), (true, device.map(|device| &device.calls))] {
            let Composed { kept, cut, .. } = levels.map(|levels| composed(program, entry, levels)).unwrap_or_default();
            any_cut |= cut;
            for (choice, _) in kept {
                let known = |name: &str| alternatives.iter().any(|other| other.entry == entry && other.name == name);
                let name = unlike(&name_of(&choice), known);
                let settings = settings(program, &choice);
                alternatives.push(Alternative { entry, func: entry, name, on_device, choice, settings });
            }
        }
        if any_cut {
            let item = &program.funcs[entry];
            let headline = format!("`{}` has more compositions than are looked at", item.name);
            let diagnostic = Diagnostic::new(Code::SearchCut, item.span, headline).label("some are left out");
            sink.push(diagnostic.help("fewer values of tunables make fewer compositions"));
        }
    }
    program.alternatives = alternatives;
}

/// The compositions of an entry: the best at each point, then those that have what no other has.
pub fn composed(program: &Program, entry: FuncId, levels: &CallLevels) -> Composed {
    let choosing = program.choosing();
    if !choosing.contains(&entry) {
        return Composed::default();
    }
    let of = |most: usize| Bodies::new(program, (&choosing, levels), most);
    let tried = COMBINATIONS.iter().find_map(|most| composed_of(&of(*most), entry, false));
    tried.unwrap_or_else(|| composed_of(&of(1), entry, true).unwrap_or_default())
}

/// The compositions of an entry with these bodies; nothing if there are too many bodies, unless it is cut then.
fn composed_of(bodies: &Bodies<'_>, entry: FuncId, cut: bool) -> Option<Composed> {
    let Bodies { program, choosing, levels, .. } = *bodies;
    let dims = program.funcs[entry].dims.len();
    let mut points: Vec<Compositions<'_>> = Vec::new();
    for total in POINTS {
        let size = total.powf(1.0 / dims.max(1) as f64).round() as i64;
        let point = Compositions::new(bodies, entry, vec![size; dims], cut);
        if point.exceeded && !cut {
            return None;
        }
        points.push(point);
    }
    let usual = Usual { program, choosing, levels, with: None, dealt: None };
    let best: Vec<Choice> = points.iter_mut().flat_map(Compositions::best).collect();
    let mut found = 1 + best.len();
    let priced = |choice: Choice| {
        let prices: Vec<Option<f64>> = points.iter().map(|point| point.price(&choice)).collect();
        (choice, prices)
    };
    let mut seen = vec![priced(usual.choice(entry, 0))];
    for choice in best {
        if !is_among(&seen, &choice) {
            seen.push(priced(choice));
        }
    }
    let mut reached = OrdSet::new();
    usual.reach(entry, &mut reached);
    let codelets = || {
        let spectra = program.spectra.iter().filter(|spectrum| reached.contains(&spectrum.meaning));
        spectra.flat_map(|spectrum| spectrum.codelets.iter().map(|codelet| (spectrum.meaning, codelet)))
    };
    let mut preferred: Vec<(FuncId, &Codelet)> = codelets().collect();
    preferred.sort_by_key(|(_, codelet)| is_second_way(codelet, levels));
    // What runs nowhere costs nothing that could be compared.
    let cost = |(_, prices): &(Choice, Vec<Option<f64>>)| {
        let prices: Vec<f64> = prices.iter().flatten().map(|price| price.max(1.0).ln()).collect();
        (!prices.is_empty()).then(|| prices.iter().sum::<f64>() / prices.len() as f64)
    };
    for with in &preferred {
        let each = levels.all[0].deals.iter().map(|(to, _)| Some(*to)).chain([None]).map(|dealt| {
            let priced = priced(Usual { with: Some(*with), dealt, ..usual }.choice(entry, 0));
            Some((cost(&priced)?, priced))
        });
        let best = each.flatten().min_by(|a, b| a.0.total_cmp(&b.0));
        found += usize::from(best.is_some());
        seen.extend(best.map(|(_, priced)| priced).filter(|(choice, _)| !is_among(&seen, choice)));
    }
    let (seen, prices): (Vec<Choice>, Vec<Vec<Option<f64>>>) = seen.into_iter().unzip();
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
            refused: bodies.refused(with.0, with.1),
        }
    };
    Some(Composed {
        searched: Searched::of(&points, found, seen.len()),
        codelets: codelets().map(fate).collect(),
        cut: points.iter().any(|point| point.cut),
        kept: chosen.iter().map(|at| (seen[*at].clone(), ratios[*at].clone())).collect(),
    })
}

fn is_among(seen: &[(Choice, Vec<Option<f64>>)], choice: &Choice) -> bool {
    seen.iter().any(|(known, _)| known == choice)
}

/// Whether a codelet's `tiles` are cut in the way that is looked at second.
fn is_second_way(codelet: &Codelet, levels: &CallLevels) -> bool {
    codelet.tiles.is_some() && codelet.tiles != levels.usual_way()
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

/// All calls take the function itself, but for one codelet where it is called first. Iterations are dealt to the usual levels, those of an
/// entry's own maps to `dealt`, if it is given.
#[derive(Clone, Copy)]
struct Usual<'a> {
    program: &'a Program,
    choosing: &'a OrdSet<FuncId>,
    levels: &'a CallLevels,
    with: Option<(FuncId, &'a Codelet)>,
    dealt: Option<usize>,
}

impl Usual<'_> {
    /// The functions with a choice that a call may lead to.
    fn reach(&self, func: FuncId, reached: &mut OrdSet<FuncId>) {
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

    fn choice(&self, function: FuncId, level: usize) -> Choice {
        let codelet = self.with.filter(|(of, _)| *of == function).map(|(_, codelet)| codelet);
        let Some(codelet) = codelet else { return self.body(function, function, level) };
        let inner = Usual { with: None, ..*self };
        let name = |var| self.program.funcs[codelet.func].vars[var].name.clone();
        let fixed = codelet.tunables.iter().filter(|tunable| !tunable.run);
        let tunables = fixed.map(|tunable| (name(tunable.var), tunable.values[0])).collect();
        let otherwise = codelet.when.is_some().then(|| Box::new(inner.body(function, function, level)));
        let chosen = inner.body(function, codelet.func, level);
        Choice { codelet: codelet.tag.clone(), tiles: codelet.tiles, tunables, otherwise, ..chosen }
    }

    fn body(&self, function: FuncId, body: FuncId, level: usize) -> Choice {
        let (sites, pieces) = sites(&self.program.funcs[body].body, self.choosing);
        let first = |at: usize| self.dealt.filter(|_| at == 0).or(self.levels.all[at].deals.first().map(|(to, _)| *to));
        let inner = |depth: usize| (0..depth).fold(level, |at, _| first(at).unwrap_or(at));
        Choice {
            function: self.program.funcs[function].name.clone(),
            codelet: String::new(),
            level: self.levels.all[level].name.clone(),
            tunables: Vec::new(),
            tiles: None,
            pieces,
            calls: sites.iter().map(|site| self.choice(site.callee, inner(site.depth))).collect(),
            otherwise: None,
        }
    }
}

/// What calls set of the codelets of a choice, each once.
fn settings(program: &Program, choice: &Choice) -> Vec<Setting> {
    let own = |codelet: &Codelet| {
        let run = codelet.tunables.iter().filter(|tunable| tunable.run);
        let vars = &program.funcs[codelet.func].vars;
        let setting = |tunable: &Tunable| Setting {
            name: Setting::name_of(&choice.function, &vars[tunable.var].name),
            values: tunable.values.clone(),
        };
        run.map(setting).collect::<Vec<_>>()
    };
    let spectra = program.spectra.iter().filter(|spectrum| program.funcs[spectrum.meaning].name == choice.function);
    let mut found: Vec<Setting> = spectra.filter_map(|spectrum| spectrum.taken(choice)).flat_map(own).collect();
    for inner in choice.calls.iter().chain(choice.otherwise.as_deref()) {
        let new = settings(program, inner).into_iter().filter(|setting| !found.contains(setting)).collect::<Vec<_>>();
        found.extend(new);
    }
    found
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
    let Choice { function, codelet, level, tunables, tiles: _, pieces, calls, otherwise } = choice;
    notation::Choice {
        function: function.clone(),
        codelet: codelet.clone(),
        level: level.clone(),
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

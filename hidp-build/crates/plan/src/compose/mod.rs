//! Compositions: which bodies the calls of an entry take, where functions have codelets.

use std::collections::BTreeSet;
use std::fmt;

use hidp_ir::par::{Alternative, Choice, Codelet, FuncId, Program, sites};

use super::notation::{self, Pieces, Place};
use hidp_syntax::ast::PieceWay;

/// The compositions of an entry, and what became of each codelet that it could take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composed {
    /// Those that become versions, besides the entry as it is written.
    pub kept: Vec<Choice>,
    /// Codelets, in the order of the text.
    pub codelets: Vec<CodeletFate>,
}

/// What became of a codelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeletFate {
    /// The function.
    pub function: String,
    /// The codelet's name.
    pub codelet: String,
    /// In how many versions it is.
    pub kept: usize,
}

impl fmt::Display for CodeletFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodeletFate { function, codelet, kept } = self;
        match kept {
            0 => write!(f, "{function} \"{codelet}\": none, {MOST} compositions come before it"),
            1 => write!(f, "{function} \"{codelet}\": kept in 1 composition"),
            _ => write!(f, "{function} \"{codelet}\": kept in {kept} compositions"),
        }
    }
}

/// How many compositions of an entry become versions.
const MOST: usize = 4;

/// Chooses compositions for all entries.
pub fn compose(program: &mut Program) {
    let mut alternatives: Vec<Alternative> = Vec::new();
    for &entry in &program.entries {
        for choice in composed(program, entry).kept {
            let known = |name: &str| alternatives.iter().any(|other| other.entry == entry && other.name == name);
            let name = unlike(&name_of(&choice), known);
            alternatives.push(Alternative { entry, func: entry, name, choice });
        }
    }
    program.alternatives = alternatives;
}

/// The compositions of an entry.
pub fn composed(program: &Program, entry: FuncId) -> Composed {
    let choosing = program.choosing();
    if !choosing.contains(&entry) {
        return Composed::default();
    }
    let mut search = Search { program, choosing: &choosing, with: None, reached: BTreeSet::new() };
    search.reach(entry);
    let reached = std::mem::take(&mut search.reached);
    let (mut kept, mut codelets) = (Vec::new(), Vec::new());
    for spectrum in program.spectra.iter().filter(|spectrum| reached.contains(&spectrum.meaning)) {
        for codelet in &spectrum.codelets {
            search.with = Some((spectrum.meaning, codelet));
            let fits = kept.len() < MOST;
            if fits {
                kept.push(search.choice(entry, false));
            }
            let function = program.funcs[spectrum.meaning].name.clone();
            codelets.push(CodeletFate { function, codelet: codelet.tag.clone(), kept: usize::from(fits) });
        }
    }
    Composed { kept, codelets }
}

/// One codelet in an otherwise usual composition.
struct Search<'a> {
    program: &'a Program,
    choosing: &'a BTreeSet<FuncId>,
    with: Option<(FuncId, &'a Codelet)>,
    reached: BTreeSet<FuncId>,
}

impl Search<'_> {
    /// The functions with a choice that a call may lead to.
    fn reach(&mut self, func: FuncId) {
        if !self.reached.insert(func) {
            return;
        }
        let codelets = self.program.spectrum_of(func).into_iter().flat_map(|spectrum| &spectrum.codelets);
        let bodies: Vec<FuncId> = codelets.map(|codelet| codelet.func).chain([func]).collect();
        for body in bodies {
            let (sites, _) = sites(&self.program.funcs[body].body, self.choosing);
            sites.into_iter().for_each(|site| self.reach(site.callee));
        }
    }

    fn choice(&self, function: FuncId, in_map: bool) -> Choice {
        let codelet = self.with.filter(|(of, _)| *of == function).map(|(_, codelet)| codelet);
        let Some(codelet) = codelet else { return self.body(function, function, in_map) };
        let inner = Search { with: None, reached: BTreeSet::new(), ..*self };
        let name = |var| self.program.funcs[codelet.func].vars[var].name.clone();
        let tunables = codelet.tunables.iter().map(|tunable| (name(tunable.var), tunable.values[0])).collect();
        let otherwise = codelet.when.is_some().then(|| Box::new(inner.body(function, function, in_map)));
        let chosen = inner.body(function, codelet.func, in_map);
        Choice { codelet: codelet.tag.clone(), tunables, otherwise, ..chosen }
    }

    fn body(&self, function: FuncId, body: FuncId, in_map: bool) -> Choice {
        let (sites, pieces) = sites(&self.program.funcs[body].body, self.choosing);
        Choice {
            function: self.program.funcs[function].name.clone(),
            codelet: String::new(),
            in_map,
            tunables: Vec::new(),
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

/// A choice as plans show it.
pub fn shown(choice: &Choice) -> notation::Choice {
    let Choice { function, codelet, in_map, tunables, pieces, calls, otherwise } = choice;
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

//! Text as plans.

use std::fmt;
use std::ops::Range;

use super::lex::{Placed, Token, tokens};
use super::words::{ITEMS, Vocabulary};
use super::{
    Assumption, Choice, FoldRange, Index, Kept, Line, Narrow, Nest, Pieces, Place, Placement, Plan, Property, Sign,
    Size, Stage, Step, Term,
};

/// Why a text is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 0.
    pub line: usize,
    /// The bytes of the line that something else was expected at; empty at its end.
    pub at: Range<usize>,
    /// What.
    pub expected: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: expected {}", self.line + 1, self.at.start + 1, self.expected)
    }
}

impl std::error::Error for Wrong {}

/// Reads what a plan prints. Comments begin with `#`; empty lines and indentation mean nothing but in compositions.
pub fn read(text: &str) -> Result<Plan, Wrong> {
    let mut building = Building::default();
    for (line, text) in text.lines().enumerate() {
        building.line(text).map_err(|(at, expected)| Wrong { line, at, expected })?;
    }
    let missing = Wrong { line: 0, at: 0..0, expected: "`plan` and a name".into() };
    building.plan.ok_or(missing)
}

pub(crate) type Read<T> = Result<T, (Range<usize>, String)>;

/// A plan of which the lines so far were read.
#[derive(Default)]
pub(crate) struct Building {
    /// Nothing before its first line.
    pub(crate) plan: Option<Plan>,
}

impl Building {
    /// Adds a line; an error says which bytes of it are wrong, and what was expected.
    pub(crate) fn line(&mut self, text: &str) -> Read<()> {
        let tokens = tokens(text);
        if tokens.is_empty() {
            return Ok(());
        }
        let end = tokens.last().map_or(0, |(_, at)| at.end);
        let indent = tokens[0].1.start;
        let mut words = Words { tokens, at: 0, end };
        match (words.item(), &mut self.plan) {
            (Some("plan"), None) => {
                words.at += 1;
                self.plan = Some(Plan { name: words.name("a name")?, composition: None, nests: Vec::new() });
            }
            (_, None) => return words.expected("`plan` and a name"),
            (Some("plan"), Some(_)) => return words.expected("a line of the plan above"),
            (Some(item @ ("compose" | "otherwise")), Some(plan)) => {
                if !plan.nests.is_empty() {
                    return words.expected("`compose` lines before `nest`");
                }
                let start = words.here();
                words.at += 1;
                let choice = words.choice()?;
                add_choice(&mut plan.composition, choice, indent, item == "otherwise")
                    .map_err(|expected| (start, expected.to_owned()))?;
            }
            (Some("nest"), Some(plan)) => {
                words.at += 1;
                plan.nests.push(Nest::default());
            }
            (item, Some(plan)) => match plan.nests.last_mut() {
                Some(nest) => words.step(item, nest)?,
                None => return words.expected("`nest`"),
            },
        }
        words.finish()
    }
}

/// Puts a choice below the last one that is one level further out.
fn add_choice(root: &mut Option<Choice>, choice: Choice, indent: usize, otherwise: bool) -> Result<(), &'static str> {
    let Some(first) = root else {
        if otherwise || indent > 0 {
            return Err("`compose` of the entry, without indentation");
        }
        *root = Some(choice);
        return Ok(());
    };
    let (depth, odd) = (indent / 2, indent % 2 == 1);
    if odd || (depth == 0 && !otherwise) {
        return Err("a call of the body above, indented by two spaces more");
    }
    let around = if otherwise { depth } else { depth - 1 };
    let last = latest(first, around).ok_or("at most two spaces more than the line above")?;
    if otherwise {
        last.otherwise = Some(Box::new(choice));
    } else {
        last.calls.push(choice);
    }
    Ok(())
}

/// The last choice so far, so many levels further in.
fn latest(of: &mut Choice, depth: usize) -> Option<&mut Choice> {
    if of.otherwise.is_some() {
        return latest(of.otherwise.as_mut()?, depth);
    }
    if depth == 0 { Some(of) } else { latest(of.calls.last_mut()?, depth - 1) }
}

/// The rest of a line.
struct Words {
    tokens: Vec<Placed>,
    at: usize,
    /// Where the line ends.
    end: usize,
}

impl Words {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }
    fn here(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, at)| at.clone())
    }
    fn expected<T>(&self, what: impl Into<String>) -> Read<T> {
        Err((self.here(), what.into()))
    }
    fn finish(&self) -> Read<()> {
        if self.peek().is_some() { self.expected("the end of the line") } else { Ok(()) }
    }
    /// The word that says which kind of line this is, if it is one.
    fn item(&self) -> Option<&'static str> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        ITEMS.into_iter().find(|item| item == word)
    }
    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(other)) if *other == sign);
        self.at += usize::from(found);
        found
    }
    fn close(&mut self, sign: &str) -> Read<()> {
        if self.sign(sign) { Ok(()) } else { self.expected(format!("`{sign}`")) }
    }
    fn name(&mut self, what: &str) -> Read<String> {
        let name = match self.peek() {
            Some(Token::Word(name) | Token::Quoted(name)) if !name.is_empty() => name.clone(),
            _ => return self.expected(what),
        };
        self.at += 1;
        Ok(name)
    }
    fn names(&mut self, what: &str) -> Read<Vec<String>> {
        let mut names = vec![self.name(what)?];
        while self.sign(",") {
            names.push(self.name(what)?);
        }
        Ok(names)
    }
    /// A number from 1.
    fn count(&mut self) -> Read<u32> {
        match self.peek() {
            Some(Token::Number(number)) if (1..=u64::from(u32::MAX)).contains(number) => {
                let number = *number as u32;
                self.at += 1;
                Ok(number)
            }
            _ => self.expected("a number from 1"),
        }
    }

    /// A line of a nest.
    fn step(&mut self, item: Option<&'static str>, nest: &mut Nest) -> Read<()> {
        if item.is_some() {
            self.at += 1;
        }
        match item {
            Some("stage") => nest.steps.push(Step::Stage(self.stage()?)),
            Some("fold") => {
                let iters = self.names("an iterator")?;
                nest.folds.push(FoldRange { iters, options: self.options("how the fold is cut", true)? });
            }
            Some("place") => {
                let array = self.name("an array")?;
                nest.places.push(Placement { array, memory: self.option("a memory")? });
            }
            Some("keep") => {
                let table = self.name("a table")?;
                nest.tables.push(Kept { table, part: self.option("how much is kept")? });
            }
            Some("narrow") => {
                let (table, ty) = (self.name("a table")?, self.name("a type")?);
                nest.narrow.push(Narrow { table, ty, how: self.option("what the type holds")? });
            }
            Some("assume") => nest.assumptions.push(self.assumption()?),
            Some("inside") => {
                let index = Index::Inside(self.name("an iterator")?);
                nest.steps.push(Step::Line(self.line(index)?));
            }
            Some(_) => {
                self.at = 0;
                return self.expected("a line of the nest above, or a new `nest`");
            }
            None => match self.property()? {
                Some(property) => nest.properties.push(property),
                None => {
                    let index = self.index()?;
                    nest.steps.push(Step::Line(self.line(index)?));
                }
            },
        }
        Ok(())
    }

    /// A word that stands alone on its line, perhaps with a number.
    fn property(&mut self) -> Read<Option<Property>> {
        let alone =
            matches!(&self.tokens[..], [(Token::Word(_), _)] | [(Token::Word(_), _), (Token::Sign("("), _), ..]);
        if alone {
            self.option("a property such as `block(256)`, or an iterator and where it runs").map(Some)
        } else {
            Ok(None)
        }
    }

    fn index(&mut self) -> Read<Index> {
        let negative = self.sign("-");
        let first = self.term(negative)?;
        let mut terms = vec![first];
        loop {
            if self.sign("+") {
                terms.push(self.term(false)?);
            } else if self.sign("-") {
                terms.push(self.term(true)?);
            } else {
                break;
            }
        }
        if terms.len() == 1 && terms[0].factor == 1 {
            let mut names = vec![terms.remove(0).iter];
            while self.sign(",") {
                names.push(self.name("an iterator")?);
            }
            return Ok(if names.len() == 1 { Index::Iter(names.remove(0)) } else { Index::Joined(names) });
        }
        Ok(Index::Sweep(terms))
    }

    fn term(&mut self, negative: bool) -> Read<Term> {
        let mut factor = 1;
        if matches!(self.peek(), Some(Token::Number(_))) {
            let start = self.here();
            factor = i32::try_from(self.count()?).map_err(|_| (start, "a smaller factor".to_owned()))?;
            self.close("*")?;
        }
        let iter = self.name("an iterator")?;
        Ok(Term { factor: if negative { -factor } else { factor }, iter })
    }

    fn line(&mut self, index: Index) -> Read<Line> {
        let place = self.place()?;
        let start = self.here();
        let size = self.size()?;
        let fits = match (&size, &index) {
            (Size::Rest | Size::Count(_) | Size::Bits(_), _) => true,
            (Size::Extents(extents), Index::Joined(iters)) => extents.len() == iters.len(),
            (Size::Extents(extents), Index::Sweep(terms)) => extents.len() == terms.len(),
            (Size::Extents(_), Index::Iter(_) | Index::Inside(_)) => false,
        };
        if !fits {
            return Err((start, "an extent for each iterator of the line".into()));
        }
        if matches!(size, Size::Bits(_)) && place != Place::Lanes {
            return Err((start, "a number: only `lanes` follow from bits".into()));
        }
        Ok(Line { index, place, size })
    }

    fn place(&mut self) -> Read<Place> {
        let found = match self.peek() {
            Some(Token::Word(word)) => Place::ALL.into_iter().find(|place| place.name() == word),
            _ => None,
        };
        let Some(place) = found else {
            let all: Vec<&str> = Place::ALL.iter().map(|place| place.name()).collect();
            return self.expected(format!("where it runs: {}", all.join(", ")));
        };
        self.at += 1;
        Ok(place)
    }

    fn size(&mut self) -> Read<Size> {
        if !self.sign("(") {
            return Ok(Size::Rest);
        }
        let first = self.count()?;
        let size = match self.peek() {
            Some(Token::Word(word)) if word == "bits" => {
                self.at += 1;
                Size::Bits(first)
            }
            Some(Token::Sign("x")) => Size::Extents(self.extents(first)?),
            _ => Size::Count(first),
        };
        self.close(")")?;
        Ok(size)
    }

    fn extents(&mut self, first: u32) -> Read<Vec<u32>> {
        let mut extents = vec![first];
        while self.sign("x") {
            extents.push(self.count()?);
        }
        Ok(extents)
    }

    fn stage(&mut self) -> Read<Stage> {
        let array = self.name("an array")?;
        let near = match self.peek() {
            Some(Token::Word(word)) => Vocabulary::make(word, None),
            _ => None,
        };
        let Some(near) = near else { return self.expected("where the part is kept: shared, own") };
        self.at += 1;
        let mut extents = Vec::new();
        if self.sign("(") {
            let first = self.count()?;
            extents = self.extents(first)?;
            self.close(")")?;
        }
        let mut layout = Vec::new();
        while self.sign("[") {
            layout.push(self.name("an iterator")?);
            self.close("]")?;
        }
        Ok(Stage { array, near, extents, layout, options: self.options("how the part is kept", false)? })
    }

    fn assumption(&mut self) -> Read<Assumption> {
        let name = self.name("a dimension or scalar")?;
        let found = match self.peek() {
            Some(Token::Sign(sign)) => Sign::ALL.into_iter().find(|known| known.name() == *sign),
            _ => None,
        };
        let Some(sign) = found else { return self.expected("`<=`, `>=` or `==`") };
        self.at += 1;
        let negative = self.sign("-");
        let Some(Token::Number(number)) = self.peek() else { return self.expected("a number") };
        let Ok(bound) = i64::try_from(*number) else { return self.expected("a smaller number") };
        self.at += 1;
        Ok(Assumption { name, sign, bound: if negative { -bound } else { bound } })
    }

    fn option<T: Vocabulary>(&mut self, what: &str) -> Read<T> {
        let Some(Token::Word(word)) = self.peek().cloned() else { return self.expected(what) };
        let Some(known) = T::WORDS.iter().find(|known| known.word == word) else {
            let all: Vec<&str> = T::WORDS.iter().map(|known| known.word).collect();
            return self.expected(format!("{what}: {}", all.join(", ")));
        };
        let start = self.here();
        self.at += 1;
        let number = if known.numbered {
            self.close("(")?;
            let number = self.count()?;
            self.close(")")?;
            Some(number)
        } else {
            None
        };
        T::make(&word, number).ok_or((start, what.to_owned()))
    }

    /// Words to the end of the line, each at most once.
    fn options<T: Vocabulary>(&mut self, what: &str, some: bool) -> Read<Vec<T>> {
        let mut options: Vec<T> = Vec::new();
        while self.peek().is_some() || (some && options.is_empty()) {
            let start = self.here();
            let option: T = self.option(what)?;
            if options.iter().any(|other| other.parts().0 == option.parts().0) {
                return Err((start, "each word once".into()));
            }
            options.push(option);
        }
        options.sort();
        Ok(options)
    }

    fn choice(&mut self) -> Read<Choice> {
        let function = self.name("a function")?;
        let Some(Token::Text(codelet)) = self.peek().cloned() else {
            return self.expected("the codelet's name in quotes; `\"\"` is the function itself");
        };
        self.at += 1;
        let level = self.name("a level")?;
        let (mut tunables, mut pieces) = (Vec::new(), Vec::new());
        while self.peek().is_some() {
            let start = self.here();
            let name = self.name("a tunable such as `p=64`, or `pieces(adjacent)`")?;
            if self.sign("=") {
                if tunables.iter().any(|(other, _)| *other == name) {
                    return Err((start, "each tunable once".into()));
                }
                tunables.push((name, self.count()?));
            } else if name == "pieces" && pieces.is_empty() && self.sign("(") {
                pieces.push(self.option::<Pieces>("how an array is cut")?);
                while self.sign(",") {
                    pieces.push(self.option("how an array is cut")?);
                }
                self.close(")")?;
            } else {
                return Err((start, "a tunable such as `p=64`, or `pieces(adjacent)` once".into()));
            }
        }
        Ok(Choice { function, codelet, level, tunables, pieces, calls: Vec::new(), otherwise: None })
    }
}

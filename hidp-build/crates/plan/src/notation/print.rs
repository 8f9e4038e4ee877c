//! Plans as text.

use std::fmt::{self, Display, Formatter};

use super::words::{ITEMS, Vocabulary};
use super::{
    Assumption, Choice, FoldRange, Index, Kept, Line, Narrow, Nest, Pieces, Placement, Plan, Sign, Size, Stage, Step,
    Term,
};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan {}", Name(&self.name))?;
        if let Some(choice) = &self.composition {
            print_choice(f, choice, "compose", 0)?;
        }
        self.nests.iter().try_for_each(|nest| write!(f, "{nest}"))
    }
}

fn print_choice(f: &mut Formatter<'_>, choice: &Choice, word: &str, depth: usize) -> fmt::Result {
    let Choice { function, codelet, level, tunables, pieces, calls, otherwise } = choice;
    write!(f, "{:indent$}{word} {} \"{codelet}\" {}", "", Name(function), Name(level), indent = 2 * depth)?;
    tunables.iter().try_for_each(|(name, value)| write!(f, " {}={value}", Name(name)))?;
    if !pieces.is_empty() {
        let words: Vec<&str> = pieces.iter().map(|piece: &Pieces| piece.parts().0).collect();
        write!(f, " pieces({})", words.join(", "))?;
    }
    writeln!(f)?;
    calls.iter().try_for_each(|call| print_choice(f, call, "compose", depth + 1))?;
    otherwise.iter().try_for_each(|other| print_choice(f, other, "otherwise", depth))
}

impl Display for Nest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Nest { steps, folds, places, tables, narrow, assumptions, properties } = self;
        writeln!(f, "nest")?;
        steps.iter().try_for_each(|step| match step {
            Step::Line(line) => writeln!(f, "  {line}"),
            Step::Stage(stage) => writeln!(f, "  {stage}"),
        })?;
        for FoldRange { iters, options } in folds {
            writeln!(f, "  fold {}{}", Names(iters), Options(options))?;
        }
        for Placement { array, memory } in places {
            writeln!(f, "  place {}{}", Name(array), Options(&[*memory]))?;
        }
        for Kept { table, part } in tables {
            writeln!(f, "  keep {}{}", Name(table), Options(&[*part]))?;
        }
        for Narrow { table, ty, how } in narrow {
            writeln!(f, "  narrow {} {}{}", Name(table), Name(ty), Options(&[*how]))?;
        }
        for Assumption { name, sign, bound } in assumptions {
            writeln!(f, "  assume {} {sign} {bound}", Name(name))?;
        }
        properties.iter().try_for_each(|property| writeln!(f, " {}", Options(&[*property])))
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.index, self.place, self.size)
    }
}

impl Display for Index {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Index::Iter(iter) => write!(f, "{}", Name(iter)),
            Index::Joined(iters) => write!(f, "{}", Names(iters)),
            Index::Sweep(terms) => terms.iter().enumerate().try_for_each(|(at, term)| print_term(f, term, at == 0)),
            Index::Inside(iter) => write!(f, "inside {}", Name(iter)),
        }
    }
}

fn print_term(f: &mut Formatter<'_>, Term { factor, iter }: &Term, first: bool) -> fmt::Result {
    let sign = match (first, *factor < 0) {
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    };
    let size = factor.unsigned_abs();
    if size == 1 { write!(f, "{sign}{}", Name(iter)) } else { write!(f, "{sign}{size}*{}", Name(iter)) }
}

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Size::Rest => Ok(()),
            Size::Count(count) => write!(f, "({count})"),
            Size::Bits(bits) => write!(f, "({bits} bits)"),
            Size::Extents(extents) => write!(f, "({})", extents_text(extents)),
        }
    }
}

fn extents_text(extents: &[u32]) -> String {
    extents.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
}

impl Display for Sign {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Stage { array, near, extents, layout, options } = self;
        write!(f, "stage {}{}", Name(array), Options(&[*near]))?;
        if !extents.is_empty() {
            write!(f, "({})", extents_text(extents))?;
        }
        if !layout.is_empty() {
            f.write_str(" ")?;
            layout.iter().try_for_each(|iter| write!(f, "[{}]", Name(iter)))?;
        }
        write!(f, "{}", Options(options))
    }
}

/// Words, each after a space.
struct Options<'a, T>(&'a [T]);

impl<T: Vocabulary> Display for Options<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|option| match option.parts() {
            (word, None) => write!(f, " {word}"),
            (word, Some(number)) => write!(f, " {word}({number})"),
        })
    }
}

/// A name, in backquotes where it would be taken for something else.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Name(name) = self;
        if is_plain(name) { f.write_str(name) } else { write!(f, "`{name}`") }
    }
}

/// Whether a name reads back as it is: an identifier, perhaps with the number of those that are called so.
fn is_plain(name: &str) -> bool {
    let (base, number) = name.split_once('.').map_or((name, None), |(base, number)| (base, Some(number)));
    let letters = base.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let counted = number.is_none_or(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
    let begins = base.chars().next().is_some_and(|c| !c.is_ascii_digit());
    letters && begins && counted && !ITEMS.contains(&name)
}

struct Names<'a>(&'a [String]);

impl Display for Names<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Names(names) = self;
        let names: Vec<String> = names.iter().map(|name| Name(name).to_string()).collect();
        f.write_str(&names.join(", "))
    }
}

//! Levels at which calls of functions with codelets run, as models say them: what the search for compositions knows of a target.

use super::document::{self, DocumentError};
use super::reading::{Reading, Row};
use hidp_syntax::ast::PieceWay;

/// Levels of a target, and what calls cost there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLevels {
    /// Outermost first: entries are called at the first one.
    pub all: Vec<CallLevel>,
    /// Assumed length of what only data knows.
    pub unknown: u32,
    /// Operations that a primitive has for each element.
    pub primitive: u32,
    /// What an operation in a loop counts.
    pub turn: u32,
    /// What a load counts that is not beside its neighbour's.
    pub gathered: u32,
}

/// A level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLevel {
    /// Its name, in plans too.
    pub name: String,
    /// What its groups can do.
    pub can: Vec<Capability>,
    /// Inner levels whose groups can take iterations of maps that make calls, by number, and how `tiles` are cut for them; the usual one first.
    pub deals: Vec<(usize, PieceWay)>,
    /// Inner levels of which one group can take a whole call, while others wait.
    pub devolves: Vec<usize>,
    /// Groups that run at a time, of the whole target.
    pub groups: u32,
    /// Lanes that share a map without calls.
    pub lanes: u32,
    /// What an operation outside of maps counts.
    pub scalar: u32,
    /// Operations that go by until iterations are dealt,
    pub start: u32,
    /// and until all are known to be done.
    pub wait: u32,
}

/// What groups of a level can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Run any body without calls that have a choice: it is planned by itself.
    Plans,
    /// Run such a body one statement after the other.
    Scalar,
    /// Share the iterations of its maps among lanes.
    Vector,
    /// Run maps that make calls one iteration after the other.
    Serial,
    /// Wait until all that was dealt is done, and see what it wrote.
    Sync,
}

impl Capability {
    const ALL: [Capability; 5] =
        [Capability::Plans, Capability::Scalar, Capability::Vector, Capability::Serial, Capability::Sync];

    fn name(self) -> &'static str {
        match self {
            Capability::Plans => "plans",
            Capability::Scalar => "scalar",
            Capability::Vector => "vector",
            Capability::Serial => "serial",
            Capability::Sync => "sync",
        }
    }
}

impl CallLevel {
    /// Whether its groups can do something.
    pub fn can(&self, capability: Capability) -> bool {
        self.can.contains(&capability)
    }
}

impl CallLevels {
    /// Reads a model of nothing but levels.
    pub fn read(text: &str) -> Result<CallLevels, DocumentError> {
        let document = document::parse(text)?;
        let reading = Reading::new(text, &document);
        let levels = CallLevels::of(&reading)?;
        reading.finish()?;
        Ok(levels)
    }

    /// The levels of a model.
    pub(super) fn of(reading: &Reading<'_>) -> Result<CallLevels, DocumentError> {
        let rows: Vec<Row<'_>> = reading.rows("level").collect();
        let names = rows.iter().map(|row| Ok(row.text("name")?.to_owned())).collect::<Result<Vec<_>, _>>()?;
        if let Some((row, _)) = rows.iter().zip(1..).find(|(_, next)| names[*next..].contains(&names[next - 1])) {
            return Err(row.wrong("name", "is another level's name too"));
        }
        let int = |key: &str| reading.int("codelets", key);
        let (unknown, primitive) = (int("unknown")?, int("primitive")?);
        let (turn, gathered) = (int("turn")?, int("gathered")?);
        let all = rows.iter().enumerate().map(|(at, row)| level(*row, at, &names)).collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Err(reading.wrong("level", "is missing: expected at least one"));
        }
        Ok(CallLevels { all, unknown, primitive, turn, gathered })
    }

    /// How `tiles` are cut, as a rule.
    pub fn usual_way(&self) -> Option<PieceWay> {
        self.all.iter().find_map(|level| level.deals.first()).map(|(_, way)| *way)
    }
}

/// The level of number `at` among those of these names.
fn level(row: Row<'_>, at: usize, names: &[String]) -> Result<CallLevel, DocumentError> {
    let capability = |word: &str| Capability::ALL.into_iter().find(|can| can.name() == word);
    let can = row.names("can", "`plans`, `scalar`, `vector`, `serial` and `sync`", capability)?;
    // A level further out would make searches endless.
    let inner = |word: &str| names.iter().position(|name| name == word).filter(|to| *to > at);
    let dealt = row.names("deals", "names of levels further in", inner)?;
    let ways =
        row.names("tiles", "`adjacent` or `strided`", |word| PieceWay::ALL.into_iter().find(|way| way.name() == word))?;
    if ways.len() != dealt.len() {
        return Err(row.wrong("tiles", "has not one word for each level in `deals`"));
    }
    let natural = |key: &str| match row.natural(key)? {
        0 => Err(row.wrong(key, "is 0: expected at least 1")),
        value => Ok(value),
    };
    Ok(CallLevel {
        name: names[at].clone(),
        can,
        deals: dealt.into_iter().zip(ways).collect(),
        devolves: row.names("devolves", "names of levels further in", inner)?,
        groups: natural("groups")?,
        lanes: natural("lanes")?,
        scalar: natural("scalar")?,
        start: row.natural("start")?,
        wait: row.natural("wait")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../targets/cpu.toml");

    #[test]
    fn levels_are_read() {
        let levels = crate::target::Model::cpu().calls;
        let names: Vec<&str> = levels.all.iter().map(|level| level.name.as_str()).collect();
        assert_eq!(names, ["host", "seq"]);
        assert_eq!(levels.all[0].deals, [(1, PieceWay::Adjacent)]);
        assert!(levels.all[0].can(Capability::Plans) && !levels.all[1].can(Capability::Plans));
    }

    #[test]
    fn wrong_levels_are_named() {
        let wrong = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            crate::target::Model::read(&TEXT.replacen(from, to, 1)).expect_err(to).message
        };
        assert_eq!(
            wrong("can = [\"plans\"", "can = [\"planes\""),
            "`level.can` is not a list of `plans`, `scalar`, `vector`, `serial` and `sync`"
        );
        for to in ["deals = [\"sea\"]", "deals = [\"host\"]"] {
            assert_eq!(wrong("deals = [\"seq\"]", to), "`level.deals` is not a list of names of levels further in");
        }
        assert_eq!(
            wrong("tiles = [\"adjacent\"]", "tiles = []"),
            "`level.tiles` has not one word for each level in `deals`"
        );
        assert_eq!(wrong("name = \"seq\"", "name = \"host\""), "`level.name` is another level's name too");
        assert_eq!(wrong("groups = 8", "groups = 0"), "`level.groups` is 0: expected at least 1");
        let none = TEXT.replace("[[level]]", "[[layer]]");
        assert_eq!(
            crate::target::Model::read(&none).expect_err("no levels").message,
            "`level` is missing: expected at least one"
        );
    }
}

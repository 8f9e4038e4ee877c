//! Plans as text, and back.

use std::fmt;
use std::str::SplitWhitespace;

use super::{Exec, LevelPlan, Memory, Nest, Placement, Plan, Share, Stage, Staging, Strategy};
use hidp_syntax::ast;

/// Why a text is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Line, from 1.
    pub line: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the plan: expected {}", self.line, self.expected)
    }
}

impl std::error::Error for PlanError {}

const DEVICE_LEVELS: [(&str, ast::Level); 6] = [
    ("device-kernel", ast::Level::Kernel),
    ("device-block", ast::Level::Block),
    ("device-warp", ast::Level::Warp),
    ("device-subwarp", ast::Level::Subwarp),
    ("device-subwarp2", ast::Level::Subwarp2),
    ("device-thread", ast::Level::Thread),
];

impl Exec {
    /// Its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Exec::Team => "team",
            Exec::Thread => "thread",
            Exec::Lanes => "lanes",
            Exec::Simd => "simd",
            Exec::Seq => "seq",
            Exec::Device(level) => {
                DEVICE_LEVELS.iter().find(|(_, named)| *named == level).map_or("device", |(name, _)| name)
            }
        }
    }
    fn from_name(name: &str) -> Option<Exec> {
        [Exec::Team, Exec::Thread, Exec::Lanes, Exec::Simd, Exec::Seq]
            .into_iter()
            .chain(DEVICE_LEVELS.iter().map(|(_, level)| Exec::Device(*level)))
            .find(|exec| exec.name() == name)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::Span => f.write_str("span"),
            Share::Split => f.write_str("split"),
            Share::Dealt(groups) => write!(f, "split({groups})"),
        }
    }
}

impl Share {
    fn read(word: &str) -> Option<Share> {
        let groups = || word.strip_prefix("split(")?.strip_suffix(')')?.parse().ok().filter(|groups| *groups > 0);
        match word {
            "span" => Some(Share::Span),
            "split" => Some(Share::Split),
            _ => groups().map(Share::Dealt),
        }
    }
}

impl Memory {
    /// Its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Memory::Stream => "stream",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan {}", self.name)?;
        self.nests.iter().try_for_each(|nest| write!(f, "{nest}"))
    }
}

impl fmt::Display for Nest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "nest {}", self.strategy.name())?;
        for level in &self.levels {
            let LevelPlan { iter, exec, dim, tile, share } = level;
            writeln!(f, "  iter {iter} {} dim {dim} tile {tile} {share}", exec.name())?;
        }
        for place in &self.places {
            writeln!(f, "  place {} {} {}", place.array, place.var, place.memory.name())?;
        }
        for Staging { array, var, kind, tile, buffers, pad } in &self.staging {
            let tile = tile.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
            writeln!(f, "  stage {array} {var} {} {tile} buffers {buffers} pad {pad}", kind.name())?;
        }
        Ok(())
    }
}

impl Plan {
    /// Reads what `Display` prints. Comments start with `#`.
    pub fn read(text: &str) -> Result<Plan, PlanError> {
        let mut plan: Option<Plan> = None;
        for (number, line) in text.lines().enumerate() {
            read_line(&mut plan, line).map_err(|expected| PlanError { line: number + 1, expected })?;
        }
        plan.ok_or(PlanError { line: 1, expected: "`plan` and a name" })
    }
}

/// Adds a line to a plan. Says what was expected otherwise.
pub(super) fn read_line(plan: &mut Option<Plan>, line: &str) -> Result<(), &'static str> {
    let mut words = line.split('#').next().unwrap_or("").split_whitespace();
    let Some(first) = words.next() else { return Ok(()) };
    match (first, &mut *plan) {
        ("plan", None) => *plan = Some(Plan { name: word(&mut words)?, nests: Vec::new() }),
        ("nest", Some(plan)) => plan.nests.push(read_nest(&mut words)?),
        ("iter", Some(plan)) => read_level(&mut words, plan.nests.last_mut())?,
        ("place", Some(plan)) => read_place(&mut words, plan.nests.last_mut())?,
        ("stage", Some(plan)) => read_stage(&mut words, plan.nests.last_mut())?,
        _ => return Err("`plan` once, then `nest`, `iter`, `place` and `stage` lines"),
    }
    words.next().map_or(Ok(()), |_| Err("the end of the line"))
}

fn word(words: &mut SplitWhitespace<'_>) -> Result<String, &'static str> {
    words.next().map(str::to_string).ok_or("a name")
}

fn number(words: &mut SplitWhitespace<'_>) -> Result<u32, &'static str> {
    words.next().and_then(|word| word.parse().ok()).ok_or("a number")
}

fn keyed(words: &mut SplitWhitespace<'_>, key: &'static str) -> Result<u32, &'static str> {
    if words.next() == Some(key) { number(words) } else { Err(key) }
}

fn read_nest(words: &mut SplitWhitespace<'_>) -> Result<Nest, &'static str> {
    let name = word(words)?;
    let of_devices = ast::Level::ALL.into_iter().map(Strategy::Device);
    let mut all = Strategy::ALL.into_iter().chain(of_devices);
    let strategy = all.find(|strategy| strategy.name() == name).ok_or("a strategy")?;
    Ok(Nest { strategy, levels: Vec::new(), places: Vec::new(), staging: Vec::new() })
}

fn read_level(words: &mut SplitWhitespace<'_>, nest: Option<&mut Nest>) -> Result<(), &'static str> {
    let nest = nest.ok_or("a `nest` line before")?;
    let iter = word(words)?;
    let exec = Exec::from_name(&word(words)?).ok_or("a level")?;
    let dim = keyed(words, "dim")?;
    let tile = keyed(words, "tile")?;
    let share = words.next().and_then(Share::read).ok_or("`span`, `split` or `split(` and a number of groups `)`")?;
    nest.levels.push(LevelPlan { iter, exec, dim, tile, share });
    Ok(())
}

fn read_place(words: &mut SplitWhitespace<'_>, nest: Option<&mut Nest>) -> Result<(), &'static str> {
    let nest = nest.ok_or("a `nest` line before")?;
    let array = word(words)?;
    let var = number(words)?;
    let memory = match words.next() {
        Some("stream") => Memory::Stream,
        Some(_) | None => return Err("a memory"),
    };
    nest.places.push(Placement { array, var, memory });
    Ok(())
}

fn read_stage(words: &mut SplitWhitespace<'_>, nest: Option<&mut Nest>) -> Result<(), &'static str> {
    let nest = nest.ok_or("a `nest` line before")?;
    let array = word(words)?;
    let var = number(words)?;
    let kind = word(words)?;
    let kind = Stage::ALL.into_iter().find(|stage| stage.name() == kind).ok_or("what is kept: `rows`, for example")?;
    let tile: Option<Vec<u32>> = word(words)?.split('x').map(|extent| extent.parse().ok()).collect();
    let tile = tile.filter(|tile| !tile.contains(&0)).ok_or("extents such as `8x128`")?;
    let buffers = keyed(words, "buffers")?;
    let pad = keyed(words, "pad")?;
    nest.staging.push(Staging { array, var, kind, tile, buffers, pad });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Plan {
        let level = |iter: &str, exec, dim, tile, share| LevelPlan { iter: iter.into(), exec, dim, tile, share };
        let nest = Nest {
            strategy: Strategy::Lanes,
            levels: vec![
                level("m", Exec::Thread, 1, 8, Share::Split),
                level("n", Exec::Lanes, 0, 32, Share::Span),
                level("k", Exec::Device(ast::Level::Subwarp2), 0, 1, Share::Span),
                level("l", Exec::Seq, 0, 8, Share::Dealt(1024)),
            ],
            places: vec![Placement { array: "C".into(), var: 4, memory: Memory::Stream }],
            staging: vec![Staging {
                array: "A".into(),
                var: 0,
                kind: Stage::Transposed,
                tile: vec![8, 128],
                buffers: 2,
                pad: 4,
            }],
        };
        Plan { name: "lanes".into(), nests: vec![nest] }
    }

    #[test]
    fn text_reads_back() {
        let plan = example();
        assert_eq!(Plan::read(&plan.to_string()), Ok(plan));
    }

    #[test]
    fn errors_name_line_and_expectation() {
        let text = example().to_string().replace("tile 32", "tile x");
        assert_eq!(Plan::read(&text), Err(PlanError { line: 4, expected: "a number" }));
        for wrong in ["split(0)", "split(", "split(x)", "split1024)"] {
            let text = example().to_string().replace("split(1024)", wrong);
            assert_eq!(Plan::read(&text).map_err(|error| error.line), Err(6), "{wrong}");
        }
        let text = example().to_string().replace("8x128", "8x0");
        assert_eq!(Plan::read(&text), Err(PlanError { line: 8, expected: "extents such as `8x128`" }));
        let text = example().to_string().replace("stream", "private");
        assert_eq!(Plan::read(&text), Err(PlanError { line: 7, expected: "a memory" }));
        assert_eq!(Plan::read("nest rows").unwrap_err().line, 1);
        assert_eq!(Plan::read("plan a\n  iter i seq dim 0 tile 1 span").unwrap_err().line, 2);
    }
}

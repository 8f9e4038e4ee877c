//! Rules as text: `parallel < 4 and inner >= 32768: team; otherwise: rows with thread_work = 16384`.

use crate::rt::entry::{Bound, Condition, Entry, Rule, Settings};

/// Largest bound that makes sense: no product of sizes is larger.
const MOST: i64 = 1 << 62;

/// Reads rules for an entry. Says what is wrong with them otherwise.
pub(crate) fn parse(entry: &Entry, text: &str) -> Result<Vec<Rule>, String> {
    let rules: Result<Vec<Rule>, String> = text.split(';').map(|part| rule(entry, part.trim())).collect();
    let rules = rules?;
    let unreachable = rules.iter().rev().skip(1).any(|rule| rule.conditions.is_empty());
    if unreachable { Err("`otherwise` stands before other rules".into()) } else { Ok(rules) }
}

fn rule(entry: &Entry, text: &str) -> Result<Rule, String> {
    let (conditions, plan) = text.rsplit_once(':').ok_or_else(|| format!("no plan in `{text}`"))?;
    let (plan, settings) = match plan.split_once(" with ") {
        Some((plan, settings)) => (plan.trim(), read_settings(entry, settings)?),
        None => (plan.trim(), Settings::USUAL),
    };
    let host = (plan == Rule::HOST_NAME && settings == Settings::USUAL).then_some(Rule::HOST);
    let version = entry.versions.iter().position(|version| version.plan == plan).or(host);
    let version = version.ok_or_else(|| format!("no plan is called `{plan}`"))?;
    let conditions = conditions.trim();
    if conditions == "otherwise" {
        return Ok(Rule { conditions: &[], version, settings });
    }
    let conditions: Result<Vec<Condition>, String> =
        conditions.split(" and ").map(|text| condition(entry, text.trim())).collect();
    // Kept as long as the program runs, once for each entry and context that asks for it.
    Ok(Rule { conditions: Vec::leak(conditions?), version, settings })
}

fn read_settings(entry: &Entry, text: &str) -> Result<Settings, String> {
    text.split(',').try_fold(Settings::USUAL, |settings, part| {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{}` sets nothing", part.trim()))?;
        let value = value.trim().parse().ok();
        let set = value.and_then(|value| settings.with_any(entry, name.trim(), value));
        set.ok_or_else(|| format!("`{}` sets nothing, or not to that", part.trim()))
    })
}

fn condition(entry: &Entry, text: &str) -> Result<Condition, String> {
    let (least, parts) = match (text.split_once(">="), text.split_once('<')) {
        (Some(parts), _) => (true, parts),
        (None, Some(parts)) => (false, parts),
        (None, None) => return Err(format!("no comparison in `{text}`")),
    };
    let (name, value) = (parts.0.trim(), parts.1.trim());
    let measure = entry.dispatch.measures.iter().position(|measure| measure.name == name);
    let measure = measure.ok_or_else(|| format!("nothing is measured that is called `{name}`"))?;
    let (number, per_thread) = match value.strip_suffix("threads") {
        Some(rest) => (rest.trim().strip_suffix('*').unwrap_or("").trim(), true),
        None => (value, false),
    };
    match number.parse() {
        Ok(number @ 0..=MOST) => {
            let bound = if per_thread { Bound::PerThread(number) } else { Bound::Fixed(number) };
            Ok(Condition { measure, least, bound })
        }
        Ok(_) | Err(_) => Err(format!("`{value}` is no bound")),
    }
}

/// The versions that rules name, each with its hash. `None` if that is not all of what they are about: the processor's own rules
/// say what `host` runs.
pub(crate) fn named(entry: &Entry, rules: &[Rule]) -> Option<Vec<String>> {
    let mut named = Vec::new();
    for rule in rules {
        let version = entry.versions.get(rule.version).filter(|version| !version.hash.is_empty())?;
        let version = format!("{} {}", version.plan, version.hash);
        if !named.contains(&version) {
            named.push(version);
        }
    }
    Some(named)
}

/// The text that [`parse`] reads.
#[cfg(any(test, feature = "tune"))]
pub(crate) fn print(entry: &Entry, rules: &[Rule]) -> String {
    let rules = rules.iter().map(|rule| print_rule(entry, rule.conditions, rule.version, rule.settings));
    rules.collect::<Vec<_>>().join("; ")
}

/// A rule of it.
pub(crate) fn print_rule(entry: &Entry, conditions: &[Condition], version: usize, settings: Settings) -> String {
    let condition = |Condition { measure, least, bound }: &Condition| {
        format!("{} {} {bound}", entry.dispatch.measures[*measure].name, if *least { ">=" } else { "<" })
    };
    let conditions = conditions.iter().map(condition).collect::<Vec<_>>().join(" and ");
    let conditions = if conditions.is_empty() { "otherwise" } else { &conditions };
    let plan = entry.versions.get(version).map_or(Rule::HOST_NAME, |version| version.plan);
    format!("{conditions}: {plan}{settings}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::select::tests::SUMS;

    #[test]
    fn rules_print_and_read_back() {
        for text in [
            "otherwise: team",
            "parallel < 4: team",
            "parallel < 2 * threads and inner >= 32768: team; inner < 16: rows; otherwise: team",
            "inner < 9: host; parallel < 4: team; otherwise: rows",
            "parallel < 4: team with threads = 1; otherwise: rows with thread_work = 4096, team_segment = 1",
            "parallel < 4: team with threads = 1, sum.least = 4096, sum.parts = 2; otherwise: team with sum.parts = 2",
        ] {
            assert_eq!(print(&SUMS, &parse(&SUMS, text).unwrap()), text);
        }
    }

    #[test]
    fn impossible_rules_say_why() {
        let error = |text: &str| parse(&SUMS, text).unwrap_err();
        assert_eq!(error("parallel < 4"), "no plan in `parallel < 4`");
        assert_eq!(error("parallel < 4: warp"), "no plan is called `warp`");
        assert_eq!(error("otherwise: host with threads = 1"), "no plan is called `host`");
        assert_eq!(error("depth < 4: team"), "nothing is measured that is called `depth`");
        assert_eq!(error("parallel = 4: team"), "no comparison in `parallel = 4`");
        for bound in ["-1", "many", "4611686018427387905", "99999999999999999999", "threads", "2 threads"] {
            assert_eq!(error(&format!("parallel < {bound}: team")), format!("`{bound}` is no bound"));
        }
        assert_eq!(error("otherwise: team; parallel < 4: rows"), "`otherwise` stands before other rules");
        assert_eq!(error(""), "no plan in ``");
        for settings in [
            "threads = 0",
            "threads = -1",
            "threads = many",
            "speed = 2",
            "threads = 99999999999999999999",
            "sum.least = 0",
            "sum.least = -16",
            "sum.least = 17",
            "sum.least = 9223372036854775807",
            "sum.least = 99999999999999999999",
            "sum.most = 16",
            "least = 16",
        ] {
            let text = format!("otherwise: team with {settings}");
            assert_eq!(error(&text), format!("`{settings}` sets nothing, or not to that"));
        }
        assert_eq!(error("otherwise: team with threads"), "`threads` sets nothing");
    }

    #[test]
    fn calls_have_what_rules_set() {
        let set = |text: &str| {
            let mut values = [0; 2];
            parse(&SUMS, text).unwrap()[0].settings.write(&SUMS, &mut values);
            values
        };
        assert_eq!(set("otherwise: team"), [16, 8], "the usual values");
        assert_eq!(set("otherwise: team with sum.parts = 2"), [16, 2]);
        assert_eq!(set("otherwise: team with sum.parts = 2, sum.least = 64"), [64, 2]);
        let usual = "otherwise: team with sum.least = 64, sum.least = 16";
        assert_eq!(set(usual), [16, 8], "the last one counts");
        assert_eq!(print(&SUMS, &parse(&SUMS, usual).unwrap()), "otherwise: team");
    }
}

//! What a case of kind `emit` says of plans whose text is not written down.
//!
//! ```text
//! // text: GEMM/rows GEMM/warp          (the plans whose text is in `.cpp` and `.cu`; all without such a line)
//! // plan GEMM/lanes                    (what follows is about this plan's text)
//! // check: for (int64_t k = 0; … ++k)  (a line has this, after those of the checks before; `…` stands for anything)
//! // count 4: hidp::sync<hidp::Block>   (so many lines have this)
//! ```
//!
//! Names are compared without the numbers at their ends: what is `acc_7` in the text is `acc` here. A plan whose text is not written down
//! must have a check, so that a new plan is looked at. `HIDP_BLESS=1` rewrites the numbers of counts, but for those of lines that are gone; a
//! check is written by hand.

use std::collections::BTreeMap;

/// What a case says.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    /// The plans whose text is written down, as `entry/plan`; those of all, if there are none.
    text: Vec<String>,
    /// What is said of others.
    plans: BTreeMap<String, Vec<Statement>>,
}

#[derive(Debug)]
enum Statement {
    /// A line after that of the check before has this.
    Check(String),
    /// So many lines have this.
    Count(usize, String),
}

impl Structure {
    pub(crate) fn read(text: &str) -> Result<Structure, String> {
        let mut structure = Structure::default();
        let mut plan: Option<String> = None;
        for line in text.lines().filter_map(|line| line.strip_prefix("// ")) {
            let (word, rest) = line.split_once([' ', ':']).unwrap_or((line, ""));
            let said = match (word, rest.trim_start()) {
                ("test", _) => None,
                ("text", plans) => {
                    structure.text.extend(plans.split_whitespace().map(str::to_owned));
                    None
                }
                ("plan", name) => {
                    if structure.plans.insert(name.to_owned(), Vec::new()).is_some() {
                        return Err(format!("plan `{name}` twice"));
                    }
                    plan = Some(name.to_owned());
                    None
                }
                ("check", part) if !part.is_empty() => Some(Statement::Check(part.to_owned())),
                ("count", rest) => {
                    let (number, part) =
                        rest.split_once(": ").ok_or_else(|| format!("count how many of what? {line}"))?;
                    let number = number.parse().map_err(|error| format!("{line}: {error}"))?;
                    Some(Statement::Count(number, part.to_owned()))
                }
                _ => return Err(format!("neither `text`, `plan`, `check` nor `count`: {line}")),
            };
            if let Some(said) = said {
                let of = plan.as_ref().and_then(|plan| structure.plans.get_mut(plan));
                of.ok_or_else(|| format!("of which plan? {line}"))?.push(said);
            }
        }
        match structure.plans.keys().find(|name| structure.is_text(name)) {
            Some(name) => Err(format!("the text of plan `{name}` is written down: nothing else is said of it")),
            None => Ok(structure),
        }
    }

    /// Whether a plan's text is written down.
    pub(crate) fn is_text(&self, plan: &str) -> bool {
        self.text.is_empty() || self.text.iter().any(|text| text == plan)
    }

    /// Compares the texts of all plans with what is said of them.
    pub(crate) fn compare(&self, texts: &BTreeMap<String, String>) -> Result<(), String> {
        if let Some(name) = self.text.iter().chain(self.plans.keys()).find(|&name| !texts.contains_key(name)) {
            let known: Vec<&str> = texts.keys().map(String::as_str).collect();
            return Err(format!("there is no plan `{name}`: {}", known.join(", ")));
        }
        let mut failures = Vec::new();
        for (name, text) in texts.iter().filter(|(name, _)| !self.is_text(name)) {
            let said = self.plans.get(name).map_or(&[][..], Vec::as_slice);
            if !said.iter().any(|statement| matches!(statement, Statement::Check(_))) {
                failures.push(format!("nothing is checked of plan `{name}`:\n{text}"));
            } else if let Err(why) = holds(said, text) {
                failures.push(format!("plan `{name}`: {why}\n{text}"));
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
    }
}

/// The text of a case with the counts that hold.
pub(crate) fn recounted(case: &str, texts: &BTreeMap<String, String>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut recounted = String::new();
    for line in case.split_inclusive('\n') {
        if let Some(text) = line.strip_prefix("// plan ").and_then(|name| texts.get(name.trim_end())) {
            lines = text.lines().map(without_numbers).collect();
        }
        match line.strip_prefix("// count ").and_then(|rest| rest.split_once(": ")) {
            Some((_, part)) => {
                let found = lines.iter().filter(|line| has(line, part.trim_end_matches('\n'))).count();
                // That nothing has it any more is for somebody to say.
                if found > 0 {
                    recounted.push_str(&format!("// count {found}: {part}"))
                } else {
                    recounted.push_str(line)
                }
            }
            None => recounted.push_str(line),
        }
    }
    recounted
}

fn holds(said: &[Statement], text: &str) -> Result<(), String> {
    let lines: Vec<String> = text.lines().map(without_numbers).collect();
    let mut from = 0;
    for statement in said {
        match statement {
            Statement::Check(part) => {
                let [before, after] = [&lines[..from], &lines[from..]];
                let found = after.iter().position(|line| has(line, part)).ok_or_else(|| {
                    let before = before.iter().rposition(|line| has(line, part));
                    let before = before.map_or(String::new(), |line| format!("; line {} has it", line + 1));
                    format!("no line after line {from} has `{part}`{before}")
                })?;
                from += 1 + found;
            }
            Statement::Count(wanted, part) => {
                let found = lines.iter().filter(|line| has(line, part)).count();
                if found != *wanted {
                    return Err(format!("{found} lines have `{part}`, not {wanted}"));
                }
            }
        }
    }
    Ok(())
}

/// Whether the pieces between `…` are in the line, in order.
fn has(line: &str, part: &str) -> bool {
    let mut rest = line;
    part.split('…').all(|piece| match rest.split_once(piece) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// A line without what is `_` and digits at the ends of names.
fn without_numbers(line: &str) -> String {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let stem =
            name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('_').filter(|stem| !stem.is_empty());
        let has_number = name.ends_with(|c: char| c.is_ascii_digit());
        text.push_str(stem.filter(|_| has_number).unwrap_or(name));
        let others = after.find(is_of_name).unwrap_or(after.len());
        text.push_str(&after[..others]);
        rest = &after[others..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "for (int64_t k_7 = 0; k_7 < K_2; ++k_7) {\n  acc_1 = x_tiles0_k0 + f<double>(own_12[0]);\n  sync();\n}\nsync();\n";

    fn texts() -> BTreeMap<String, String> {
        BTreeMap::from([("f/rows".to_owned(), "other".to_owned()), ("f/lanes".to_owned(), TEXT.to_owned())])
    }

    fn compared(said: &str) -> Result<(), String> {
        Structure::read(&format!("// text: f/rows\n{said}")).and_then(|structure| structure.compare(&texts()))
    }

    #[test]
    fn what_holds_is_accepted() {
        let said = "// plan f/lanes\n// check: for (int64_t k = 0; … ++k)\n// check: acc = x_tiles0_k0 + f<double>(own[0]);\n// count 2: sync();\n";
        assert_eq!(compared(said), Ok(()));
        assert_eq!(Structure::read("").and_then(|structure| structure.compare(&texts())), Ok(()), "all is text");
    }

    #[test]
    fn counts_are_rewritten() {
        let case = "// plan f/lanes\n// check: for\n// count 7: sync();\nfunction\n";
        assert_eq!(recounted(case, &texts()), case.replace('7', "2"));
        let gone = case.replace("sync", "sink");
        assert_eq!(recounted(&gone, &texts()), gone);
    }

    #[test]
    fn what_does_not_hold_is_refused() {
        for said in [
            "",
            "// plan f/lanes\n",
            "// plan f/lanes\n// count 2: sync();\n",
            "// plan f/lanes\n// check: for (int64_t k = 1;\n",
            "// plan f/lanes\n// check: sync();\n// check: acc\n",
            "// plan f/lanes\n// check: sync();\n// check: sync();\n// check: sync();\n",
            "// plan f/lanes\n// check: for\n// count 1: sync();\n",
            "// plan f/lanes\n// check: for\n// plan f/strips\n// check: for\n",
            "// check: for\n",
            "// plan f/lanes\n// check: for\n// plan f/lanes\n",
            "// plan f/lanes\n// check: for\n// count sync();\n",
            "// plan f/lanes\n// check: for\n// chek: while\n",
            "// plan f/lanes\n// check: for\n// check: \n",
            "// plan f/lanes\n// check: for\n// plan f/rows\n// check: other\n",
        ] {
            assert!(compared(said).is_err(), "{said}");
        }
        let none = Structure::read("// text: f/none").and_then(|structure| structure.compare(&texts()));
        assert!(none.is_err_and(|why| why.contains("no plan `f/none`: f/lanes, f/rows")));
        let early = compared("// plan f/lanes\n// check: acc\n// check: for\n");
        assert!(early.is_err_and(|why| why.contains("no line after line 2 has `for`; line 1 has it")));
    }
}

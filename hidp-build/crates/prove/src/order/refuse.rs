//! Why there is no order.

use hidp_ir::par::VarKind;
use hidp_syntax::ordered::OrdSet;

use super::model::{Ahead, Dependence, Level, Model};
use super::sample::{Assignment, SIZES, value};
use super::search::Pair;
use super::{Blamed, Refusal, RefusalKind, Witness, dot};
use crate::linear::{AtomId, AtomKey, Lin, Op};
use crate::term::Term;

/// Facts that a message shows.
const FACTS: usize = 6;

impl Model<'_> {
    /// The calls for which no row is proved; if there is one for each, those that the row which suits the most violates.
    pub(super) fn refuse_unproved(&mut self) -> Refusal {
        let calls: Vec<usize> = self.live().collect();
        let mut hopeless: Vec<(usize, Level)> = Vec::new();
        for &call in &calls {
            let least = i64::from(self.calls[call].caller == self.calls[call].callee);
            let demand = [self.demand(call, least)];
            let mut choices = self.choices(&demand).into_iter().take(4);
            if !choices.any(|level| self.ranks_of(call, &level)) {
                let level = self.best_effort(&[call]);
                hopeless.push((call, level));
            }
        }
        if hopeless.is_empty() {
            let level = self.best_effort(&calls);
            // Calls that are each in order by it may still need each other's tables within a step.
            let violated = self.ranks(std::slice::from_ref(&level)).err().unwrap_or(calls);
            hopeless = violated.into_iter().map(|call| (call, level.clone())).collect();
        }
        let calls = hopeless.iter().map(|(call, level)| self.blamed(*call, std::slice::from_ref(level))).collect();
        Refusal { kind: RefusalKind::Unproved, calls }
    }

    pub(super) fn refuse_pinned(&mut self, levels: &[Level], violated: &[usize]) -> Refusal {
        let calls = violated.iter().map(|&call| self.blamed(call, levels)).collect();
        Refusal { kind: RefusalKind::Pinned, calls }
    }

    fn ranks_of(&mut self, call: usize, level: &Level) -> bool {
        let Dependence { caller, callee, .. } = self.calls[call];
        match self.ahead(call, std::slice::from_ref(level)) {
            Ahead::Strictly => true,
            Ahead::Weakly => caller != callee,
            Ahead::Unproved => false,
        }
    }

    /// One row for each table that the samples of as many of these calls as possible allow.
    fn best_effort(&mut self, calls: &[usize]) -> Level {
        let mut levels = self.choices(&[]);
        let mut demands = Vec::new();
        for &call in calls {
            demands.push(self.demand(call, i64::from(self.calls[call].caller == self.calls[call].callee)));
        }
        let violated = |level: &Level| {
            let violates =
                |demand: &super::search::Demand| demand.ahead(&self.calls, level).any(|ahead| ahead < demand.least);
            demands.iter().filter(|demand| violates(demand)).count()
        };
        // Stable, and the all-zero row says nothing.
        levels.retain(|level| level.iter().flatten().any(|factor| *factor != 0));
        let best = levels.iter().min_by_key(|level| violated(level)).cloned();
        best.unwrap_or_else(|| self.tables.iter().map(|table| vec![1; table.index.len()]).collect())
    }

    /// What a message says of a call; the example is one in which the called cell does not come earlier under these rows.
    pub(super) fn blamed(&mut self, number: usize, levels: &[Level]) -> Blamed {
        let mut witness = None;
        let samples = SIZES.iter().flat_map(|&sizes| self.samples(number, sizes)).collect::<Vec<Assignment>>();
        for sample in samples {
            let Some((from, to)) = self.pair(number, &sample) else { continue };
            let Dependence { caller, callee, .. } = self.calls[number];
            let ahead = levels.iter().map(|level| dot(&level[caller], &from) - dot(&level[callee], &to));
            let worst = ahead.clone().find(|ahead| *ahead != 0).unwrap_or(0);
            let itself = caller == callee && from == to;
            let bad = worst < 0 || worst == 0 && caller == callee;
            if bad && (witness.is_none() || itself) {
                witness = Some(sample);
                if itself {
                    break;
                }
            }
        }
        let witness = witness.and_then(|sample| self.witness(number, &sample));
        self.blamed_with(number, witness)
    }

    pub(super) fn blamed_with(&self, number: usize, witness: Option<Witness>) -> Blamed {
        let call = &self.calls[number];
        let facts: OrdSet<String> = self.relevant_facts(call).iter().filter_map(|fact| self.fact(call, fact)).collect();
        Blamed {
            span: call.span,
            caller: call.caller,
            callee: call.callee,
            facts: facts.into_iter().take(FACTS).collect(),
            witness,
            data: call.data,
        }
    }

    /// What is known beyond the domain: conditions, ranges of loops.
    fn relevant_facts(&self, call: &Dependence) -> Vec<Lin> {
        let domain = &self.tables[call.caller].facts;
        call.path.iter().filter(|fact| !domain.contains(fact)).cloned().collect()
    }

    /// The cells of a sample.
    pub(super) fn pair(&self, number: usize, sample: &Assignment) -> Option<Pair> {
        let call = &self.calls[number];
        let small = |value: i128| i64::try_from(value).ok();
        let from =
            self.tables[call.caller].index.iter().map(|atom| small(*sample.get(atom)?)).collect::<Option<_>>()?;
        let to = call.at.iter().map(|lin| small(value(lin, sample)?)).collect::<Option<_>>()?;
        Some((from, to))
    }

    pub(super) fn witness(&self, number: usize, sample: &Assignment) -> Option<Witness> {
        let call = &self.calls[number];
        let (from, to) = self.pair(number, sample)?;
        let index = &self.tables[call.caller].index;
        let interesting = |atom: &AtomId| !index.contains(atom);
        let named = sample.iter().filter(|(atom, _)| interesting(atom));
        let values = named.filter_map(|(&atom, &value)| Some((self.value_name(call, atom)?, value)));
        let wide = |cell: Vec<i64>| cell.into_iter().map(i128::from).collect();
        Some(Witness { values: values.collect(), caller: wide(from), callee: wide(to) })
    }

    /// A name for a value that an example sets: sizes, data, loop variables.
    fn value_name(&self, call: &Dependence, atom: AtomId) -> Option<String> {
        match self.cx.atoms.key(atom) {
            AtomKey::Var(_) | AtomKey::Fresh(_) | AtomKey::Load(..) => self.name(call, atom),
            AtomKey::Extreme(..) | AtomKey::Turns(..) | AtomKey::Op(..) => None,
        }
    }

    /// How a program writes a value; nothing if it has no name.
    fn name(&self, call: &Dependence, atom: AtomId) -> Option<String> {
        let list = |lins: &[Lin]| -> Option<Vec<String>> { lins.iter().map(|lin| self.sum(call, lin)).collect() };
        match self.cx.atoms.key(atom) {
            AtomKey::Var(var) => match self.cx.vars[*var].kind {
                VarKind::Dim | VarKind::Param(_) => Some(self.cx.vars[*var].name.clone()),
                VarKind::Local | VarKind::Iter => None,
            },
            AtomKey::Fresh(_) => call.names.get(&atom).cloned(),
            AtomKey::Load(array, index, path) if path.is_empty() => {
                let index = list(index)?.iter().map(|index| format!("[{index}]")).collect::<String>();
                Some(format!("{}{index}", self.cx.vars[*array].name))
            }
            AtomKey::Op(Op::Min, _, operands) => Some(format!("min({})", list(operands)?.join(", "))),
            AtomKey::Op(Op::Max, _, operands) => Some(format!("max({})", list(operands)?.join(", "))),
            AtomKey::Extreme(..) | AtomKey::Load(..) | AtomKey::Turns(..) | AtomKey::Op(..) => None,
        }
    }

    fn term(&self, call: &Dependence, term: Term, factor: i128) -> Option<String> {
        let names: Option<Vec<String>> = term.atoms().map(|atom| self.name(call, atom)).collect();
        let product = names?.join(" * ");
        Some(if factor == 1 { product } else { format!("{factor} * {product}") })
    }

    /// A sum as a program writes it.
    fn sum(&self, call: &Dependence, lin: &Lin) -> Option<String> {
        let mut text = String::new();
        let mut add = |part: String, positive: bool| {
            text += match (text.is_empty(), positive) {
                (true, true) => "",
                (true, false) => "-",
                (false, true) => " + ",
                (false, false) => " - ",
            };
            text += &part;
        };
        for &(term, factor) in lin.terms.iter() {
            add(self.term(call, term, factor.abs())?, factor > 0);
        }
        if lin.constant != 0 || lin.terms.is_empty() {
            add(lin.constant.abs().to_string(), lin.constant >= 0);
        }
        Some(text)
    }

    /// `lin >= 0` as a program writes it, without signs.
    fn fact(&self, call: &Dependence, lin: &Lin) -> Option<String> {
        let part = |sign: i128| {
            let terms = lin.terms.filter(|_, factor| factor.signum() == sign);
            let constant = if lin.constant.signum() == sign { lin.constant } else { 0 };
            Lin { constant, terms }.scale(sign)
        };
        let (left, right) = (part(1)?, part(-1)?);
        let (greater, less) = (self.sum(call, &left)?, self.sum(call, &right)?);
        Some(if left.terms.is_empty() { format!("{less} <= {greater}") } else { format!("{greater} >= {less}") })
    }
}

//! One instance of an access: everything that depends on the iteration gets values of its own.

use hidp_syntax::ordered::OrdMap;

use crate::context::{Case, Context};
use crate::linear::{AtomId, AtomKey, Lin};

/// Replaces the atoms that vary within a map by those of one iteration.
pub(crate) struct Renamer {
    /// Opaque values made from here on vary.
    varying_from: AtomId,
    /// What was replaced by what.
    values: OrdMap<AtomId, Lin>,
}

impl Renamer {
    /// The atoms of `kept` stay although they are made within the map.
    pub(crate) fn new(varying_from: AtomId, kept: impl IntoIterator<Item = AtomId>) -> Self {
        let values = kept.into_iter().map(|atom| (atom, Lin::atom(atom))).collect();
        Renamer { varying_from, values }
    }

    /// Gives an atom a value.
    pub(crate) fn set(&mut self, atom: AtomId, value: Lin) {
        self.values.insert(atom, value);
    }

    /// `lin` in this iteration. `None` if it becomes too large.
    pub(crate) fn lin(&mut self, cx: &mut Context<'_>, lin: &Lin) -> Option<Lin> {
        lin.substitute(&mut |atom| self.atom(cx, atom))
    }

    /// An atom in this iteration.
    pub(crate) fn atom(&mut self, cx: &mut Context<'_>, atom: AtomId) -> Lin {
        if let Some(value) = self.values.get(&atom) {
            return value.clone();
        }
        let before = cx.atoms.mark();
        let renamed = self.renamed(cx, atom);
        let value = Lin::atom(renamed);
        self.values.insert(atom, value.clone());
        // An atom that was there already has its cases.
        if renamed >= before
            && let Some(cases) = cx.cases.get(&atom).cloned()
        {
            let cases: Option<Vec<Case>> = cases.iter().map(|case| self.case(cx, case)).collect();
            if let Some(cases) = cases {
                cx.cases.insert(renamed, cases);
            }
        }
        value
    }

    fn case(&mut self, cx: &mut Context<'_>, case: &Case) -> Option<Case> {
        let when = case.when.iter().map(|fact| self.lin(cx, fact)).collect::<Option<_>>()?;
        Some(Case { when, value: self.lin(cx, &case.value)? })
    }

    fn renamed(&mut self, cx: &mut Context<'_>, atom: AtomId) -> AtomId {
        let range = cx.atoms.range(atom);
        match cx.atoms.key(atom).clone() {
            AtomKey::Var(_) | AtomKey::Extreme(..) => atom,
            AtomKey::Fresh(_) if atom < self.varying_from => atom,
            AtomKey::Fresh(_) => cx.atoms.fresh(range),
            AtomKey::Load(array, index, path) => match self.all(cx, &index) {
                Some(index) => cx.atoms.intern(AtomKey::Load(array, index, path), range),
                None => cx.atoms.fresh(range),
            },
            AtomKey::Turns(ty, sum) => match self.lin(cx, &sum) {
                Some(sum) => cx.atoms.intern(AtomKey::Turns(ty, Box::new(sum)), range),
                None => cx.atoms.fresh(range),
            },
            AtomKey::Op(op, ty, operands) => match self.all(cx, &operands) {
                Some(operands) => cx.atoms.intern(AtomKey::Op(op, ty, operands), range),
                None => cx.atoms.fresh(range),
            },
        }
    }

    fn all(&mut self, cx: &mut Context<'_>, lins: &[Lin]) -> Option<Vec<Lin>> {
        lins.iter().map(|lin| self.lin(cx, lin)).collect()
    }
}

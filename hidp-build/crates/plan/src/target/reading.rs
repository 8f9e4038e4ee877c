//! Models as documents: a model with a key that is never read is rejected.

use std::cell::RefCell;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{DocumentError, Table};
use super::{Codelets, Stage, Tunable};
use hidp_syntax::ast::Domains;
use hidp_syntax::ordered::OrdSet;

/// A document whose values are ticked off as they are read.
pub(super) struct Reading<'d> {
    root: Table<'d>,
    /// Where the values begin that were read.
    read: RefCell<OrdSet<usize>>,
}

/// A table of it.
#[derive(Clone, Copy)]
pub(super) struct Row<'r> {
    table: Table<'r>,
    read: &'r RefCell<OrdSet<usize>>,
}

impl<'d> Reading<'d> {
    pub(super) fn new(text: &'d str, document: &'d Spanned<DeTable<'d>>) -> Self {
        Self { root: Table::root(text, document), read: RefCell::default() }
    }

    /// A number from 1 in the only table of this name.
    pub(super) fn int(&self, table: &str, key: &str) -> Result<u32, DocumentError> {
        let Some(row) = self.rows(table).next() else {
            return Err(self.root.wrong(table, &format!("is missing: expected a table with `{key}`")));
        };
        match row.natural(key)? {
            0 => Err(row.table.wrong(key, "is 0: expected at least 1")),
            value => Ok(value),
        }
    }

    /// The tables of a name.
    pub(super) fn rows(&self, name: &str) -> impl Iterator<Item = Row<'_>> {
        self.root.tables(name).into_iter().map(|table| Row { table, read: &self.read })
    }

    /// What is wrong with a table, or that it is not there.
    pub(super) fn wrong(&self, table: &str, what: &str) -> DocumentError {
        self.root.wrong(table, what)
    }

    /// What the model says of codelets.
    pub(super) fn codelets(&self, width: u32) -> Result<Codelets, DocumentError> {
        let Some(row) = self.rows("codelets").next() else {
            return Err(self.root.wrong("codelets", "is missing: expected a table with `parts`"));
        };
        let parts = row.tick("parts").naturals("parts")?;
        if parts.is_empty() || parts.contains(&0) {
            return Err(row.table.wrong("parts", "has a value below 1, or none"));
        }
        let parts = parts.into_iter().map(i64::from).collect();
        Ok(Codelets { domains: Domains { width: vec![i64::from(width)], parts } })
    }

    /// What a tuner may vary.
    pub(super) fn tunables(&self) -> Result<Vec<Tunable>, DocumentError> {
        self.rows("tunable").map(Row::tunable).collect()
    }

    /// Rejects values that were never read.
    pub(super) fn finish(&self) -> Result<(), DocumentError> {
        let unread = self.unread(self.root);
        unread.into_iter().min_by_key(|error| error.line).map_or(Ok(()), Err)
    }

    fn unread(&self, table: Table<'_>) -> Vec<DocumentError> {
        let of = |(key, value): (_, &Spanned<DeValue<'_>>)| {
            let inner = table.inner(key, value);
            let known = !inner.is_empty() || self.read.borrow().contains(&value.span().start);
            let own = (!known).then(|| table.wrong(key, "is read by nobody"));
            own.into_iter().chain(inner.into_iter().flat_map(|table| self.unread(table))).collect::<Vec<_>>()
        };
        table.entries().flat_map(of).collect()
    }
}

impl<'r> Row<'r> {
    /// Notes that a value is read.
    fn tick(self, key: &str) -> Table<'r> {
        self.read.borrow_mut().extend(self.table.value(key).map(|value| value.span().start));
        self.table
    }

    /// A number that may be 0.
    pub(super) fn natural(self, key: &str) -> Result<u32, DocumentError> {
        self.tick(key).natural(key)
    }

    /// A name that `of` knows.
    pub(super) fn name<T>(
        self,
        key: &str,
        expected: &str,
        of: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, DocumentError> {
        self.tick(key).take(key, expected, |value| of(value.as_str()?))
    }

    /// A string.
    pub(super) fn text(self, key: &str) -> Result<&'r str, DocumentError> {
        self.tick(key).text(key)
    }

    /// Several names that `of` knows.
    pub(super) fn names<T>(
        self,
        key: &str,
        expected: &str,
        of: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, DocumentError> {
        let all = |value: &'r DeValue<'r>| {
            value.as_array()?.iter().map(|value| of(value.get_ref().as_str()?)).collect::<Option<Vec<T>>>()
        };
        self.tick(key).take(key, &format!("a list of {expected}"), all)
    }

    /// What is wrong with a value.
    pub(super) fn wrong(self, key: &str, what: &str) -> DocumentError {
        self.table.wrong(key, what)
    }

    fn tunable(self) -> Result<Tunable, DocumentError> {
        let stage = |name: &str| match name {
            "build" => Some(Stage::Build),
            "run" => Some(Stage::Run),
            _ => None,
        };
        Ok(Tunable {
            name: self.tick("name").text("name")?.to_owned(),
            stage: self.name("stage", "`build` or `run`", stage)?,
            domain: self.tick("domain").naturals("domain")?,
        })
    }
}

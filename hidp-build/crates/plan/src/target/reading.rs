//! Models as documents: every key is read by somebody, or the model is refused.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::{ModelError, SubsetError, Tunable, Value, subset};

/// A document whose keys are ticked off as they are read.
pub(super) struct Reading {
    document: subset::Document,
    /// Number of the table, from 1, and the key; 0 stands for the keys before the first header.
    read: RefCell<BTreeSet<(usize, String)>>,
}

/// One of several tables with one name.
#[derive(Clone, Copy)]
pub(super) struct Row<'r> {
    reading: &'r Reading,
    number: usize,
}

impl Reading {
    pub(super) fn new(text: &str) -> Result<Self, SubsetError> {
        Ok(Self { document: subset::read(text)?, read: RefCell::default() })
    }

    /// A number from 1 in the only table of this name.
    pub(super) fn int(&self, table: &str, key: &str) -> Result<u32, ModelError> {
        let wrong = || ModelError::Key(format!("{table}.{key}"));
        let row = self.rows(table).next().ok_or_else(wrong)?;
        row.natural(key).ok().filter(|value| *value > 0).ok_or_else(wrong)
    }

    /// The tables of a name.
    pub(super) fn rows<'r>(&'r self, name: &str) -> impl Iterator<Item = Row<'r>> + use<'r> {
        let numbers = self.document.tables.iter().enumerate().filter(|(_, (other, _))| other == name);
        let numbers: Vec<usize> = numbers.map(|(at, _)| at + 1).collect();
        numbers.into_iter().map(|number| Row { reading: self, number })
    }

    /// What a tuner may vary.
    pub(super) fn tunables(&self) -> Result<Vec<Tunable>, ModelError> {
        self.rows("tunable").map(|row| row.tunable()).collect()
    }

    /// Refuses keys that nobody has read.
    pub(super) fn finish(&self) -> Result<(), ModelError> {
        let read = self.read.borrow();
        let root = (0, "", &self.document.root);
        let tables = self.document.tables.iter().enumerate().map(|(at, (name, table))| (at + 1, name.as_str(), table));
        for (number, name, table) in std::iter::once(root).chain(tables) {
            if let Some(key) = table.keys().find(|key| !read.contains(&(number, (*key).clone()))) {
                return Err(ModelError::Unread(if name.is_empty() { key.clone() } else { format!("{name}.{key}") }));
            }
        }
        Ok(())
    }
}

impl<'r> Row<'r> {
    fn value(self, key: &str) -> Option<&'r Value> {
        self.reading.read.borrow_mut().insert((self.number, key.to_owned()));
        let document = &self.reading.document;
        let table = match self.number.checked_sub(1) {
            Some(at) => &document.tables.get(at)?.1,
            None => &document.root,
        };
        table.get(key)
    }

    /// A number that may be 0.
    pub(super) fn natural(self, key: &str) -> Result<u32, ModelError> {
        match self.value(key) {
            Some(Value::Int(value)) => u32::try_from(*value).map_err(|_| ModelError::Key(key.to_owned())),
            Some(Value::Text(_) | Value::Bool(_)) | None => Err(ModelError::Key(key.to_owned())),
        }
    }

    pub(super) fn text(self, key: &str) -> Result<String, ModelError> {
        match self.value(key) {
            Some(Value::Text(text)) => Ok(text.clone()),
            Some(Value::Int(_) | Value::Bool(_)) | None => Err(ModelError::Key(key.to_owned())),
        }
    }

    fn tunable(self) -> Result<Tunable, ModelError> {
        let stage = match self.text("stage")?.as_str() {
            "build" => super::Stage::Build,
            "run" => super::Stage::Run,
            _ => return Err(ModelError::Key("stage".into())),
        };
        let domain: Result<Vec<u32>, _> = self.text("domain")?.split_whitespace().map(str::parse).collect();
        let domain = domain.map_err(|_| ModelError::Key("domain".into()))?;
        Ok(Tunable { name: self.text("name")?, stage, domain })
    }
}

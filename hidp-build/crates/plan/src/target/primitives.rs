//! What primitives do to each element.

use super::document::DocumentError;
use super::reading::Reading;
use hidp_syntax::prim::Prim;

/// Operations per element, as the primitives of this run time take time on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Primitives {
    sort: u32,
    partition: u32,
    histogram: u32,
    scan: u32,
    fold: u32,
    reverse: u32,
}

impl Primitives {
    pub(super) fn of(reading: &Reading<'_>) -> Result<Primitives, DocumentError> {
        let int = |key: &str| reading.int("primitive", key);
        Ok(Primitives {
            sort: int("sort")?,
            partition: int("partition")?,
            histogram: int("histogram")?,
            scan: int("scan")?,
            fold: int("fold")?,
            reverse: int("reverse")?,
        })
    }

    /// Those of one primitive.
    pub fn of_element(&self, prim: Prim) -> i64 {
        let operations = match prim {
            Prim::Sort => self.sort,
            Prim::Partition => self.partition,
            Prim::Histogram => self.histogram,
            Prim::Scan | Prim::Exscan => self.scan,
            Prim::Min | Prim::Max | Prim::Reduce => self.fold,
            Prim::Reverse | Prim::ReverseInplace => self.reverse,
        };
        operations.into()
    }
}

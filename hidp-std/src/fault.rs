//! Faults: the report of a failed check in a kernel.

use std::fmt;

use hidp_sys::hidp_fault;

use crate::rt::entry::{Entry, Site};

macro_rules! fault_kinds {
    ($($(#[$meta:meta])* $variant:ident = $number:literal;)*) => {
        /// The kind of a [`Fault`]. Each variant lists the values that [`Fault::values`] returns.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FaultKind {
            $($(#[$meta])* $variant = $number,)*
            /// A kind that this version of the run time does not know.
            Other = 0,
        }

        impl FaultKind {
            pub(crate) const fn from_number(number: u32) -> FaultKind {
                match number {
                    $($number => FaultKind::$variant,)*
                    _ => FaultKind::Other,
                }
            }
        }
    };
}

// The numbers are those of the compiler's table of faults.
fault_kinds! {
    /// An index outside its array. Values: index, extent, dimension.
    Index = 1;
    /// A segment outside its array. Values: low, high, length of the array.
    Segment = 2;
    /// Arrays whose shapes should be equal and are not. Values: the two extents.
    Shape = 3;
    /// A stride that is not positive. Values: stride.
    Stride = 4;
    /// A negative size. Values: size.
    NegativeSize = 5;
    /// An integer division by zero. Values: dividend.
    DivisionByZero = 6;
    /// A shift by the width of the type or more. Values: count, width.
    Shift = 7;
    /// A value that does not fit the narrower type. Values: value.
    Narrowing = 8;
    /// An empty fold by an operator without neutral element. No values.
    EmptyFold = 9;
    /// Out of memory. Values: bytes.
    Allocation = 10;
    /// A product of sizes that overflows. Values: the factors.
    SizeOverflow = 11;
    /// A histogram key outside the bins. Values: key, number of bins.
    HistogramKey = 12;
    /// A sort direction other than 1 and -1. Values: direction.
    SortDirection = 13;
    /// Output segments that overlap. Values: their numbers.
    SegmentOverlap = 14;
}

/// A failed check in a kernel: its kind, position, expression and values.
#[derive(Clone, Copy)]
pub struct Fault {
    entry: &'static Entry,
    site: &'static Site,
    raw: hidp_fault,
}

static UNKNOWN_SITE: Site = Site { file: "<unknown>", line: 0, column: 0, text: "", kind: 0, names: &[] };

impl Fault {
    pub(crate) fn new(entry: &'static Entry, raw: hidp_fault) -> Self {
        let site = entry.sites.get(raw.site as usize).unwrap_or(&UNKNOWN_SITE);
        Self { entry, site, raw }
    }
    /// The entry that was called, `file::function`.
    pub fn entry(&self) -> &'static str {
        self.entry.name
    }
    /// The `.hdp` file, as the build names it.
    pub fn file(&self) -> &'static str {
        self.site.file
    }
    /// Line, from 1.
    pub fn line(&self) -> u32 {
        self.site.line
    }
    /// Column, from 1.
    pub fn column(&self) -> u32 {
        self.site.column
    }
    /// The expression, as written.
    pub fn text(&self) -> &'static str {
        self.site.text
    }
    /// The kind of fault.
    pub fn kind(&self) -> FaultKind {
        FaultKind::from_number(self.site.kind)
    }
    /// The values that [`FaultKind`] lists for the kind.
    pub fn values(&self) -> &[i64] {
        let count = (self.raw.count as usize).min(self.raw.values.len());
        &self.raw.values[..count]
    }
    /// Names of the values in the program; empty if the kind defines them.
    pub fn names(&self) -> &'static [&'static str] {
        self.site.names
    }

    fn value(&self, index: usize) -> i64 {
        self.values().get(index).copied().unwrap_or(0)
    }
    /// `name = value`, or the value alone where it has no name or is written out.
    fn named(&self, index: usize) -> String {
        let value = self.value(index).to_string();
        match self.names().get(index) {
            Some(name) if !name.is_empty() && *name != value => format!("{name} = {value}"),
            Some(_) | None => value,
        }
    }
    /// The name of the array that the expression accesses, or of the recurrence.
    fn array(&self) -> &'static str {
        let array = self.text().split(['[', '(']).next().unwrap_or("").trim();
        if array.is_empty() { "the array" } else { array }
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            FaultKind::Index => {
                write!(f, "index {} is outside {}", self.named(0), self.array())?;
                // Leading dimensions as `[*]`, so that the range stands where the index stood.
                for _ in 0..self.value(2).clamp(0, 32) {
                    f.write_str("[*]")?;
                }
                write!(f, "[0:{})", self.value(1))
            }
            FaultKind::Segment => {
                let (low, high, len) = (self.value(0), self.value(1), self.value(2));
                write!(f, "segment [{low}:{high}) is outside its array, [0:{len})")
            }
            FaultKind::Shape => write!(f, "shapes differ, {} and {}", self.named(0), self.named(1)),
            FaultKind::Stride => write!(f, "stride {} is not positive", self.named(0)),
            FaultKind::NegativeSize => write!(f, "size {} is negative", self.named(0)),
            FaultKind::DivisionByZero => write!(f, "{} is divided by zero", self.named(0)),
            FaultKind::Shift => {
                write!(f, "shift by {} of a value of {} bits", self.named(0), self.value(1))
            }
            FaultKind::Narrowing => write!(f, "{} does not fit the narrower type", self.named(0)),
            FaultKind::EmptyFold => f.write_str("nothing to fold, and the operator has no neutral element"),
            FaultKind::Allocation => write!(f, "not enough memory for {} bytes", self.value(0)),
            FaultKind::SizeOverflow => {
                f.write_str("the product of the sizes ")?;
                self.list(f, ", ")?;
                f.write_str(" does not fit")
            }
            FaultKind::HistogramKey => {
                write!(f, "key {} is outside the bins [0:{})", self.named(0), self.value(1))
            }
            FaultKind::SortDirection => write!(f, "sort direction {} is neither 1 nor -1", self.named(0)),
            FaultKind::SegmentOverlap => {
                write!(f, "the outputs of segments {} and {} overlap", self.named(0), self.named(1))
            }
            FaultKind::Other => {
                f.write_str("fault with values ")?;
                self.list(f, ", ")
            }
        }
    }
    fn list(&self, f: &mut fmt::Formatter<'_>, separator: &str) -> fmt::Result {
        for index in 0..self.values().len() {
            write!(f, "{}{}", if index == 0 { "" } else { separator }, self.named(index))?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file(), self.line(), self.column())?;
        self.describe(f)?;
        if self.text().is_empty() { Ok(()) } else { write!(f, " in {}", self.text()) }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault")
            .field("entry", &self.entry())
            .field("file", &self.file())
            .field("line", &self.line())
            .field("column", &self.column())
            .field("text", &self.text())
            .field("kind", &self.kind())
            .field("values", &self.values())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::entry::Dispatch;

    fn message(kind: FaultKind, text: &'static str, names: &'static [&'static str], values: &[i64]) -> String {
        let site = Site { file: "k/spmv.hdp", line: 7, column: 34, text, kind: kind as u32, names };
        let sites: &'static [Site] = Box::leak(Box::new([site]));
        let entry =
            Entry { name: "spmv::spmv", params: &[], dims: &[], versions: &[], dispatch: Dispatch::NONE, sites };
        let entry: &'static Entry = Box::leak(Box::new(entry));
        let mut raw = hidp_fault { site: 0, count: values.len() as u32, values: [0; 4] };
        raw.values[..values.len()].copy_from_slice(values);
        Fault::new(entry, raw).to_string()
    }

    #[test]
    fn index_names_array_range_and_expression() {
        assert_eq!(
            message(FaultKind::Index, "x[col[k]]", &["", "", ""], &[1234567, 1000, 0]),
            "k/spmv.hdp:7:34: index 1234567 is outside x[0:1000) in x[col[k]]"
        );
        assert_eq!(
            message(FaultKind::Index, "p[i][j+1]", &["j+1", "", ""], &[10, 10, 1]),
            "k/spmv.hdp:7:34: index j+1 = 10 is outside p[*][0:10) in p[i][j+1]"
        );
        assert_eq!(
            message(FaultKind::Index, "p[12]", &["12", "", ""], &[12, 10, 0]),
            "k/spmv.hdp:7:34: index 12 is outside p[0:10) in p[12]"
        );
        assert_eq!(
            message(FaultKind::Index, "d(i, a[j])", &["", "", ""], &[9, 4, 1]),
            "k/spmv.hdp:7:34: index 9 is outside d[*][0:4) in d(i, a[j])"
        );
    }

    #[test]
    fn every_kind_says_its_values() {
        for number in 1..=14 {
            let kind = FaultKind::from_number(number);
            assert_ne!(kind, FaultKind::Other);
            assert_eq!(kind as u32, number);
            let text = message(kind, "e", &[], &[41, 42, 0]);
            assert!(kind == FaultKind::EmptyFold || text.contains("41"), "{text}");
            assert!(text.ends_with(" in e"), "{text}");
        }
        assert_eq!(FaultKind::from_number(99), FaultKind::Other);
    }

    #[test]
    fn a_site_that_the_table_lacks_is_no_panic() {
        static ENTRY: Entry =
            Entry { name: "a::b", params: &[], dims: &[], versions: &[], dispatch: Dispatch::NONE, sites: &[] };
        let fault = Fault::new(&ENTRY, hidp_fault { site: 7, count: 9, values: [1, 2, 3, 4] });
        assert_eq!(fault.to_string(), "<unknown>:0:0: fault with values 1, 2, 3, 4");
    }
}

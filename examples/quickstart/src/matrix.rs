//! Sparse matrices: compressed sparse rows, read from Matrix Market files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// A sparse matrix in compressed sparse row form, columns of a row in ascending order.
#[derive(Debug, PartialEq)]
pub(crate) struct Csr {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// `rows + 1` positions in `col` and `val`.
    pub(crate) rowptr: Vec<i32>,
    pub(crate) col: Vec<i32>,
    pub(crate) val: Vec<f64>,
}

/// How the file lists the entries of a matrix.
#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    SkewSymmetric,
}

/// One entry, indices from 0.
struct Entry {
    row: usize,
    column: usize,
    value: f64,
}

impl Csr {
    /// Reads a `coordinate` matrix of real, integer or pattern entries (a pattern's values are 1).
    ///
    /// The format: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996.
    pub(crate) fn read(path: &Path) -> Result<Csr> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8(bytes).with_context(|| format!("{} is not a text file", path.display()))?;
        Csr::parse(&text).with_context(|| format!("{} is not a matrix that can be used", path.display()))
    }

    fn parse(text: &str) -> Result<Csr> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let (_, banner) = lines.next().context("the file is empty")?;
        let (pattern, symmetry) = parse_banner(banner)?;
        let mut content = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));

        let (number, sizes) = content.next().context("the line with the sizes is missing")?;
        let (rows, columns, count) = parse_sizes(sizes).with_context(|| format!("line {number}: `{sizes}`"))?;
        ensure!(symmetry == Symmetry::General || rows == columns, "a symmetric matrix of {rows} x {columns}");

        let mut entries = Vec::new();
        let mut listed = 0;
        for (number, line) in content {
            let entry =
                parse_entry(line, pattern, rows, columns).with_context(|| format!("line {number}: `{line}`"))?;
            listed += 1;
            entries.extend(mirror(&entry, symmetry));
            entries.push(entry);
            ensure!(entries.len() <= i32::MAX as usize, "more than 2^31 - 1 entries");
        }
        ensure!(listed == count, "the sizes promise {count} entries, but there are {listed}");
        Ok(Csr::from_entries(rows, columns, entries))
    }

    /// Sorts entries into rows; entries of one place are added.
    fn from_entries(rows: usize, columns: usize, mut entries: Vec<Entry>) -> Csr {
        entries.sort_by_key(|entry| (entry.row, entry.column));
        entries.dedup_by(|later, kept| {
            let same = (later.row, later.column) == (kept.row, kept.column);
            if same {
                kept.value += later.value;
            }
            same
        });
        let mut rowptr = vec![0; rows + 1];
        for entry in &entries {
            rowptr[entry.row + 1] += 1;
        }
        for row in 0..rows {
            rowptr[row + 1] += rowptr[row];
        }
        let col = entries.iter().map(|entry| entry.column as i32).collect();
        let val = entries.iter().map(|entry| entry.value).collect();
        Csr { rows, columns, rowptr, col, val }
    }

    /// Column and value of each entry of a row.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.rowptr[row] as usize..self.rowptr[row + 1] as usize;
        self.col[range.clone()].iter().map(|&column| column as usize).zip(self.val[range].iter().copied())
    }

    /// The diagonal; an absent or non-positive entry is an error, since such a matrix is not positive definite.
    pub(crate) fn positive_diagonal(&self) -> Result<Vec<f64>> {
        (0..self.rows)
            .map(|row| match self.row(row).find(|(column, _)| *column == row) {
                Some((_, value)) if value > 0.0 => Ok(value),
                Some((_, value)) => bail!("diagonal entry {} is {value}, but must be positive", row + 1),
                None => bail!("diagonal entry {} is missing", row + 1),
            })
            .collect()
    }

    /// Whether `a[i][j] == a[j][i]` for all entries.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.rows == self.columns
            && (0..self.rows)
                .all(|row| self.row(row).all(|(column, value)| self.row(column).any(|(c, v)| c == row && v == value)))
    }
}

/// The entry that follows from this one by symmetry, if there is one.
fn mirror(entry: &Entry, symmetry: Symmetry) -> Option<Entry> {
    let sign = match symmetry {
        Symmetry::General => return None,
        Symmetry::Symmetric => 1.0,
        Symmetry::SkewSymmetric => -1.0,
    };
    let off_diagonal = entry.row != entry.column;
    off_diagonal.then_some(Entry { row: entry.column, column: entry.row, value: sign * entry.value })
}

fn parse_banner(banner: &str) -> Result<(bool, Symmetry)> {
    let words: Vec<String> = banner.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["%%matrixmarket", object, format, field, symmetry] = words[..] else {
        bail!("line 1: expected `%%MatrixMarket matrix coordinate <field> <symmetry>`, found `{banner}`");
    };
    ensure!(object == "matrix", "line 1: the file holds a {object}, not a matrix");
    ensure!(format == "coordinate", "line 1: the format is `{format}`; only sparse `coordinate` files can be read");
    let pattern = match field {
        "real" | "integer" | "double" => false,
        "pattern" => true,
        _ => bail!("line 1: entries are `{field}`; real, integer and pattern can be read"),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::SkewSymmetric,
        _ => bail!("line 1: symmetry `{symmetry}` is not known for real matrices"),
    };
    Ok((pattern, symmetry))
}

fn parse_sizes(line: &str) -> Result<(usize, usize, usize)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [rows, columns, count] = words[..] else { bail!("expected rows, columns and number of entries") };
    let (rows, columns, count) = (rows.parse::<usize>()?, columns.parse::<usize>()?, count.parse::<usize>()?);
    ensure!(rows < i32::MAX as usize && columns < i32::MAX as usize, "sizes of 2^31 and more cannot be used");
    Ok((rows, columns, count))
}

fn parse_entry(line: &str, pattern: bool, rows: usize, columns: usize) -> Result<Entry> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (row, column, value) = match words[..] {
        [row, column] if pattern => (row, column, "1"),
        [row, column, value] if !pattern => (row, column, value),
        _ => bail!("expected {}", if pattern { "row and column" } else { "row, column and value" }),
    };
    let index = |word: &str, what: &str, size: usize| -> Result<usize> {
        let index: usize = word.parse().with_context(|| format!("{what} `{word}` is no index"))?;
        ensure!((1..=size).contains(&index), "{what} {index} is outside 1..{size}");
        Ok(index - 1)
    };
    let value: f64 = value.parse().with_context(|| format!("value `{value}` is no number"))?;
    ensure!(value.is_finite(), "value {value} is not finite");
    Ok(Entry { row: index(row, "row", rows)?, column: index(column, "column", columns)?, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        format!("{:#}", Csr::parse(text).expect_err("must be refused"))
    }

    #[test]
    fn a_symmetric_file_gives_both_triangles() {
        let a =
            Csr::parse("%%MatrixMarket matrix coordinate real symmetric\n% note\n2 2 2\n1 1 4\n2 1 -1.5\n").unwrap();
        assert_eq!(a.rowptr, [0, 2, 3]);
        assert_eq!(a.col, [0, 1, 0]);
        assert_eq!(a.val, [4.0, -1.5, -1.5]);
        assert!(a.is_symmetric());
    }

    #[test]
    fn entries_of_one_place_are_added() {
        let a = Csr::parse("%%MatrixMarket matrix coordinate integer general\n1 1 2\n1 1 4\n1 1 5\n").unwrap();
        assert_eq!((a.col, a.val), (vec![0], vec![9.0]));
    }

    #[test]
    fn bad_files_are_refused_with_the_line() {
        let head = "%%MatrixMarket matrix coordinate real general\n";
        assert!(error("").contains("empty"));
        assert!(error("1 1 1\n").contains("line 1: expected"));
        assert!(error("%%MatrixMarket matrix array real general\n").contains("`array`"));
        assert!(error(head).contains("sizes is missing"));
        assert!(error(&format!("{head}2 2\n")).contains("line 2"));
        assert!(error(&format!("{head}2 2 1\n3 1 1.0\n")).contains("line 3: `3 1 1.0`: row 3 is outside 1..2"));
        assert!(error(&format!("{head}2 2 1\n1 1 abc\n")).contains("`abc` is no number"));
        assert!(error(&format!("{head}2 2 2\n1 1 1.0\n")).contains("promise 2 entries, but there are 1"));
    }
}

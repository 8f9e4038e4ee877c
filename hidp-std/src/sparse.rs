//! Sparse matrices that are prepared for many products. Cargo feature `sparse`.
//!
//! ```
//! use hidp_std::Context;
//! use hidp_std::sparse::Prepared;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // 2 0 1
//! // 0 3 0
//! let matrix = Prepared::new(&[0, 2, 3], &[0, 2, 1], &[2.0, 1.0, 3.0], 3)?;
//! let cx = Context::cpu()?;
//! let mut y = [0.0; 2];
//! matrix.multiply(&cx, &[1.0, 10.0, 100.0], &mut y)?;
//! assert_eq!(y, [102.0, 30.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A kernel that multiplies by a matrix in compressed rows tests every column, in every call. [`Prepared::new`] tests them once. Nothing changes a
//! prepared matrix, so its products test none.
//!
//! It also changes the layout. Where 16 neighbouring rows have entries equally far from the diagonal, as in discretised equations and band matrices,
//! the entries of each diagonal stand side by side, with one column for all 16: products run in vector lanes, gather nothing, and read almost a third less
//! memory. All other rows are ordered by length in windows of some thousand, so that the processor foresees where they end. Nothing is padded: each
//! row is the sum of its own products.
//!
//! Calls run on the processor. Results have the same bits for every number of threads.

use std::fmt;
use std::ops::Range;

use crate::{Context, Result, View, ViewMut};

/// Rows of a block, as in `product.hdp`: two vectors of doubles of 512 bits.
const BLOCK: usize = 16;
/// Rows that are ordered by length together: their results share a first-level cache.
const WINDOW: usize = 4096;
/// Numbers of rows, columns and entries are 32-bit.
const MOST: usize = i32::MAX as usize;

/// A sparse matrix that is checked, and laid out for products.
#[derive(Clone, Debug)]
pub struct Prepared<T> {
    rows: usize,
    columns: usize,
    blocks: Blocks<T>,
    others: Others<T>,
}

/// Blocks of rows that have entries equally far from the diagonal.
#[derive(Clone, Debug)]
struct Blocks<T> {
    /// Where the slots of a block begin and, with one more, end.
    start: Vec<i32>,
    /// The column of a slot's entry in the block's first row.
    column: Vec<i32>,
    /// The entries of a slot.
    band: Vec<T>,
}

/// Rows by themselves.
#[derive(Clone, Debug)]
struct Others<T> {
    row: Vec<i32>,
    /// Where the entries of a row begin and, with one more, end.
    begin: Vec<i32>,
    col: Vec<i32>,
    val: Vec<T>,
}

/// A number that matrices are made of: `f32` or `f64`.
pub trait Number: sealed::Kernel {}

impl<T: sealed::Kernel> Number for T {}

/// Why arrays are no matrix in compressed rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// There are no row pointers; a matrix without rows has one.
    NoRowPointers,
    /// The first row does not begin at 0, or a row ends before it begins.
    RowPointer {
        /// Which row pointer.
        at: usize,
    },
    /// Row pointers, columns and values have different numbers of entries.
    Entries {
        /// The last row pointer.
        pointers: usize,
        /// Number of columns.
        columns: usize,
        /// Number of values.
        values: usize,
    },
    /// The column of an entry is not in the matrix.
    Column {
        /// Which entry.
        at: usize,
    },
    /// More rows, columns or entries than 2^31 - 1.
    TooLarge,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Malformed::NoRowPointers => {
                f.write_str("there are no row pointers; a matrix without rows has one, which is 0")
            }
            Malformed::RowPointer { at: 0 } => f.write_str("the first row pointer is not 0"),
            Malformed::RowPointer { at } => write!(f, "row pointer {at} is negative or smaller than the one before it"),
            Malformed::Entries { pointers, columns, values } => {
                write!(f, "row pointers end at {pointers}, with {columns} columns and {values} values")
            }
            Malformed::Column { at } => write!(f, "the column of entry {at} is not in the matrix"),
            Malformed::TooLarge => f.write_str("the matrix has more than 2^31 - 1 rows, columns or entries"),
        }
    }
}

impl std::error::Error for Malformed {}

impl<T: Number> Prepared<T> {
    /// Checks and copies a matrix: the entries of row i are those from `rowptr[i]` to before `rowptr[i + 1]`, in any order. Entries of one place
    /// add up.
    ///
    /// # Errors
    /// If the arrays are no such matrix.
    pub fn new(rowptr: &[i32], col: &[i32], val: &[T], columns: usize) -> std::result::Result<Self, Malformed> {
        let matrix = Rows::checked(rowptr, col, val, columns)?;
        let rows = rowptr.len() - 1;
        let blocks = Blocks::of(&matrix, rows);
        let others = Others::of(&matrix, rows, |row| blocks.has(row));
        Ok(Self { rows, columns, blocks, others })
    }

    /// `y = A x`.
    ///
    /// # Errors
    /// If `x` has not an element for each column or `y` not one for each row, and if memory runs out.
    pub fn multiply(
        &self,
        cx: &Context,
        x: &(impl View<T, 1> + ?Sized),
        y: &mut (impl ViewMut<T, 1> + ?Sized),
    ) -> Result {
        // SAFETY: this is a matrix that `new` made.
        unsafe { T::product(cx, self, &x, &mut { y }) }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many entries are in blocks of 16 rows, and how many in rows by themselves.
    pub fn entries(&self) -> [usize; 2] {
        [self.blocks.band.len(), self.others.val.len()]
    }
}

/// A matrix in compressed rows, of which all is checked.
struct Rows<'a, T> {
    rowptr: &'a [i32],
    col: &'a [i32],
    val: &'a [T],
}

impl<'a, T> Rows<'a, T> {
    fn checked(
        rowptr: &'a [i32],
        col: &'a [i32],
        val: &'a [T],
        columns: usize,
    ) -> std::result::Result<Self, Malformed> {
        let (Some(&first), Some(&last)) = (rowptr.first(), rowptr.last()) else { return Err(Malformed::NoRowPointers) };
        if rowptr.len() > MOST || col.len() > MOST || columns > MOST {
            return Err(Malformed::TooLarge);
        }
        if first != 0 {
            return Err(Malformed::RowPointer { at: 0 });
        }
        if let Some(row) = rowptr.windows(2).position(|ends| ends[1] < ends[0]) {
            return Err(Malformed::RowPointer { at: row + 1 });
        }
        if last as usize != col.len() || val.len() != col.len() {
            return Err(Malformed::Entries { pointers: last as usize, columns: col.len(), values: val.len() });
        }
        // A negative one is a large one.
        match col.iter().position(|&column| column as u32 as usize >= columns) {
            Some(at) => Err(Malformed::Column { at }),
            None => Ok(Self { rowptr, col, val }),
        }
    }

    fn entries(&self, row: usize) -> Range<usize> {
        self.rowptr[row] as usize..self.rowptr[row + 1] as usize
    }

    /// Whether entries of a block's rows are as far from the diagonal as those of its first one.
    fn are_alike(&self, block: Range<usize>) -> bool {
        let first = &self.col[self.entries(block.start)];
        block.clone().all(|row| {
            let further = (row - block.start) as i32;
            let own = &self.col[self.entries(row)];
            own.len() == first.len() && own.iter().zip(first).all(|(column, first)| column - further == *first)
        })
    }
}

impl<T: Copy> Blocks<T> {
    fn of(matrix: &Rows<'_, T>, rows: usize) -> Self {
        let of = |block: usize| block * BLOCK..(block + 1) * BLOCK;
        let slots: Vec<usize> = (0..rows / BLOCK)
            .map(|block| if matrix.are_alike(of(block)) { matrix.entries(block * BLOCK).len() } else { 0 })
            .collect();
        let all: usize = slots.iter().sum();
        if all == 0 {
            return Self { start: vec![0], column: Vec::new(), band: Vec::new() };
        }
        let mut blocks = Self { start: room(slots.len() + 1), column: room(all), band: room(all * BLOCK) };
        blocks.start.push(0);
        for (block, &slots) in slots.iter().enumerate() {
            let first = matrix.entries(block * BLOCK);
            blocks.column.extend(&matrix.col[first.start..first.start + slots]);
            for slot in 0..slots {
                blocks.band.extend(of(block).map(|row| matrix.val[matrix.entries(row).start + slot]));
            }
            blocks.start.push(blocks.column.len() as i32);
        }
        blocks
    }

    /// Whether a row is in a block with entries.
    fn has(&self, row: usize) -> bool {
        let block = row / BLOCK;
        block + 1 < self.start.len() && self.start[block] < self.start[block + 1]
    }
}

impl<T: Copy> Others<T> {
    fn of(matrix: &Rows<'_, T>, rows: usize, elsewhere: impl Fn(usize) -> bool) -> Self {
        let mut row: Vec<i32> = (0..rows).filter(|&row| !elsewhere(row)).map(|row| row as i32).collect();
        let length = |row: &i32| matrix.entries(*row as usize).len();
        row.chunk_by_mut(|a, b| *a as usize / WINDOW == *b as usize / WINDOW).for_each(|some| some.sort_by_key(length));
        let entries = row.iter().map(length).sum();
        let (mut begin, mut col, mut val) = (room(row.len() + 1), room(entries), room(entries));
        begin.push(0);
        for &row in &row {
            let entries = matrix.entries(row as usize);
            col.extend(&matrix.col[entries.clone()]);
            val.extend(&matrix.val[entries]);
            begin.push(col.len() as i32);
        }
        Self { row, begin, col, val }
    }
}

/// Room for so many elements, in large pages if it is much: products read it from beginning to end.
fn room<T>(elements: usize) -> Vec<T> {
    let room = Vec::<T>::with_capacity(elements);
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 1 << 21;
        let address = room.as_ptr().addr();
        let [first, past] = [address.next_multiple_of(PAGE), (address + elements * size_of::<T>()) / PAGE * PAGE];
        if first < past {
            // SAFETY: the pages are within memory that the vector owns, and the advice does not change what they hold.
            unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(first), past - first, libc::MADV_HUGEPAGE) };
        }
    }
    room
}

mod sealed {
    use super::Prepared;
    use crate::kernels::products;
    use crate::{Context, Result, View, ViewMut};

    pub trait Kernel: Copy + Sized {
        /// # Safety
        /// Indices of the matrix are those of entries, rows and columns that it has.
        unsafe fn product(
            cx: &Context,
            matrix: &Prepared<Self>,
            x: &dyn View<Self, 1>,
            y: &mut dyn ViewMut<Self, 1>,
        ) -> Result;
    }

    macro_rules! kernels {
        ($($ty:ty, $product:ident;)*) => {$(
            impl Kernel for $ty {
                unsafe fn product(
                    cx: &Context,
                    Prepared { rows, columns, blocks, others }: &Prepared<Self>,
                    x: &dyn View<Self, 1>,
                    y: &mut dyn ViewMut<Self, 1>,
                ) -> Result {
                    let (row, begin, col, val) = (&others.row, &others.begin, &others.col, &others.val);
                    let band = (&blocks.band, [blocks.column.len(), super::BLOCK]);
                    let [rows, columns] = [*rows, *columns].map(|count| count as i64);
                    // SAFETY: as the caller says.
                    unsafe {
                        products::$product(cx, rows, columns, &blocks.start, &blocks.column, row, begin, col, &band, val, x, y)
                    }
                }
            }
        )*};
    }

    kernels! { f32, product_f32; f64, product_f64; }
}

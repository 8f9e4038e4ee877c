//! Scores of pairs of amino acids.

/// The amino acids, in the order of the matrix.
pub(crate) const ALPHABET: &[u8; 20] = b"ARNDCQEGHILKMFPSTWYV";

/// BLOSUM62 (Henikoff and Henikoff, "Amino acid substitution matrices from protein blocks", PNAS 1992): a row holds the scores with the amino
/// acids up to its own.
#[rustfmt::skip]
const HALF: [&[i32]; 20] = [
    &[4],
    &[-1, 5],
    &[-2, 0, 6],
    &[-2, -2, 1, 6],
    &[0, -3, -3, -3, 9],
    &[-1, 1, 0, 0, -3, 5],
    &[-1, 0, 0, 2, -4, 2, 5],
    &[0, -2, 0, -1, -3, -2, -2, 6],
    &[-2, 0, 1, -1, -3, 0, 0, -2, 8],
    &[-1, -3, -3, -3, -1, -3, -3, -4, -3, 4],
    &[-1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4],
    &[-1, 2, 0, -1, -3, 1, 1, -2, -1, -3, -2, 5],
    &[-1, -1, -2, -3, -1, 0, -2, -3, -2, 1, 2, -1, 5],
    &[-2, -3, -3, -3, -2, -3, -3, -3, -1, 0, 0, -3, 0, 6],
    &[-1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7],
    &[1, -1, 1, 0, -1, 0, 0, 0, -1, -2, -2, 0, -1, -2, -1, 4],
    &[0, -1, 0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1, 5],
    &[-3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1, -4, -3, -2, 11],
    &[-2, -2, -2, -3, -2, -1, -2, -3, 2, -1, -1, -2, -1, 3, -3, -2, -2, 2, 7],
    &[0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4],
];

/// The matrix, row by row.
pub(crate) fn blosum62() -> Vec<i32> {
    let score = |row: usize, column: usize| HALF[row.max(column)][row.min(column)];
    (0..20).flat_map(|row| (0..20).map(move |column| score(row, column))).collect()
}

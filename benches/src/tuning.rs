//! What `cargo xtask tune CASE` measures: entries, and the inputs for them.

mod codelets;

use std::path::Path;

use hidp_std::tune::{Data, Tuner};

use crate::kernels;
use crate::matrices::{Matrix, band_matrix, five_point_matrix, zipf_matrix};
use crate::matrix::Csr;
use crate::random::Random;

/// A name and what it adds to a tuner.
type TuningCase = (&'static str, fn(Tuner) -> Tuner);

const CASES: &[TuningCase] = &[
    ("gemm", gemm),
    ("spmv", spmv),
    ("row-sums", row_sums),
    ("segmented-sort", segmented_sort),
    ("segmented-scan", segmented_scan),
    ("codelets", codelets::codelets),
];

/// The tuner for these arguments: those of one case if the first names one, else of all entries over the sizes that the tuner
/// makes up, SpMV over its matrices. Also gives the arguments that are left.
pub fn tuner(args: &[String]) -> (Tuner, &[String]) {
    let all = Tuner::new(kernels::ENTRIES);
    match args.split_first() {
        Some((name, rest)) if CASES.iter().any(|(known, _)| known == name) => {
            let cases = CASES.iter().filter(|(known, _)| known == name);
            (cases.fold(all.sweeps(false), |tuner, (_, case)| case(tuner)), rest)
        }
        Some(_) | None => (spmv_inputs(all), args),
    }
}

fn small(count: usize) -> Vec<f32> {
    (0..count).map(|index| (index % 5) as f32 / 2.0 - 1.0).collect()
}

/// K = 4096 and M * N from 16 to 65536: squares, columns and rows, as long as the operands are not much larger than caches.
fn gemm(mut tuner: Tuner) -> Tuner {
    const K: usize = 4096;
    const LONGEST: usize = 1 << 12;
    tuner = tuner.only("blas::GEMM");
    for power in 4..=16 {
        let shapes = [(1 << (power / 2), 1 << (power - power / 2)), (1 << power, 1), (1, 1 << power)];
        for (m, n) in shapes.into_iter().filter(|(m, n)| m.max(n) <= &LONGEST) {
            tuner = tuner.input("blas::GEMM", &format!("{m} x {n}, K = {K}"), move || {
                vec![
                    Data::scalar(1.0f32),
                    Data::scalar(0.5f32),
                    Data::array(&small(m * K), &[m, K]),
                    Data::array(&small(K * n), &[K, n]),
                    Data::array(&small(m * n), &[m, n]),
                ]
            });
        }
    }
    tuner
}

/// 2^24 elements from one row to one column.
fn row_sums(mut tuner: Tuner) -> Tuner {
    const ELEMENTS: u32 = 24;
    tuner = tuner.only("blas::row_sums");
    for power in 0..=ELEMENTS {
        let (rows, columns) = (1usize << power, 1usize << (ELEMENTS - power));
        tuner = tuner.input("blas::row_sums", &format!("2^{power} x 2^{}", ELEMENTS - power), move || {
            vec![Data::array(&small(rows * columns), &[rows, columns]), Data::vector(&vec![0.0f32; rows])]
        });
    }
    tuner
}

fn spmv(tuner: Tuner) -> Tuner {
    spmv_inputs(tuner.only("sparse::spmv"))
}

fn spmv_inputs(mut tuner: Tuner) -> Tuner {
    for side in [20, 100, 1000] {
        tuner = matrix(tuner, &format!("5-point {side} x {side}"), move || five_point_matrix(side));
    }
    for (rows, width) in [(100, 10), (2000, 30), (200_000, 30), (100_000, 100), (2000, 2000)] {
        tuner = matrix(tuner, &format!("band {rows} x {width}"), move || band_matrix(rows, width));
    }
    for rows in [1000, 500_000] {
        tuner = matrix(tuner, &format!("Zipf {rows}"), move || zipf_matrix(rows));
    }
    for (rows, length) in [(1000, 20), (200_000, 20), (20_000, 200)] {
        tuner = matrix(tuner, &format!("random {rows} x {length}"), move || random(rows, length));
    }
    for rows in [1000, 1_000_000] {
        tuner = matrix(tuner, &format!("diagonal {rows}"), move || band_matrix(rows, 1));
    }
    for (rows, width) in [(1, 1 << 22), (3, 1 << 20), (16, 1 << 18), (512, 1 << 13)] {
        tuner = matrix(tuner, &format!("{rows} dense rows of {width}"), move || dense_rows(rows, width));
    }
    tuner = matrix(tuner, "one dense row among 2000", || arrow(2000, 1 << 21));
    matrix(tuner, "1138_bus", bus)
}

fn matrix(tuner: Tuner, name: &str, make: impl Fn() -> Matrix + 'static) -> Tuner {
    tuner.input("sparse::spmv", name, move || {
        let Matrix { rowptr, col, val } = make();
        let rows = rowptr.len() - 1;
        let columns = col.iter().max().map_or(0, |&column| column as usize + 1).max(rows);
        let x: Vec<f64> = (0..columns).map(|i| (i % 11) as f64 - 5.0).collect();
        vec![
            Data::vector(&rowptr),
            Data::vector(&col),
            Data::vector(&val),
            Data::vector(&x),
            Data::vector(&vec![0.0; rows]),
        ]
    })
}

fn from_lengths(lengths: impl Iterator<Item = usize>, mut column: impl FnMut(usize) -> usize) -> Matrix {
    let rowptr = cut(lengths);
    let count = rowptr.last().map_or(0, |&count| count as usize);
    let col = (0..count).map(|at| column(at) as i32).collect();
    Matrix { rowptr, col, val: (0..count).map(|at| (at % 13) as f64 / 8.0 - 0.5).collect() }
}

fn dense_rows(rows: usize, width: usize) -> Matrix {
    from_lengths(std::iter::repeat_n(width, rows), |at| at % width)
}

fn random(rows: usize, length: usize) -> Matrix {
    let mut random = Random::new(2);
    from_lengths(std::iter::repeat_n(length, rows), move |_| random.below(rows))
}

/// A long row, then short ones.
fn arrow(rows: usize, width: usize) -> Matrix {
    from_lengths(std::iter::once(width).chain(std::iter::repeat_n(4, rows - 1)), move |at| at % width)
}

fn bus() -> Matrix {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart/data/1138_bus.mtx");
    let Csr { rowptr, col, val, .. } = Csr::read(&file).expect("the example's matrix is there");
    Matrix { rowptr, col, val }
}

/// Where segments of these lengths begin, and the end of the last.
fn cut(lengths: impl Iterator<Item = usize>) -> Vec<i32> {
    let ends = lengths.scan(0, |at, length| {
        *at += length;
        Some(*at as i32)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Elements of all segments together.
const SEGMENTED: u32 = 20;

/// Segments of one length from 1 to all elements, lengths after Zipf's law, and one long segment among short ones.
fn segments() -> Vec<(String, Vec<i32>)> {
    let even = (0..=SEGMENTED).map(|power| {
        let count = 1usize << (SEGMENTED - power);
        (format!("2^{} x 2^{power}", SEGMENTED - power), cut(std::iter::repeat_n(1 << power, count)))
    });
    let harmonic: f64 = (1..=4096).map(|rank| 1.0 / f64::from(rank)).sum();
    let zipf = (1..=4096).map(|rank| (f64::from(1 << SEGMENTED) / harmonic / f64::from(rank)) as usize);
    let long = std::iter::once(3 << (SEGMENTED - 2)).chain(std::iter::repeat_n(64, 1 << (SEGMENTED - 8)));
    even.chain([("Zipf 4096".into(), cut(zipf)), ("one long among short".into(), cut(long))]).collect()
}

fn segmented_sort(mut tuner: Tuner) -> Tuner {
    for entry in ["prims::segmented_sort_u32", "segments::sort_each"] {
        tuner = tuner.only(entry);
        for (name, cut) in segments() {
            tuner = tuner.input(entry, &name, move || {
                let mut random = Random::new(3);
                let keys: Vec<u32> = (0..1 << SEGMENTED).map(|_| random.bits() as u32).collect();
                vec![Data::vector(&keys), Data::vector(&cut)]
            });
        }
    }
    tuner
}

fn segmented_scan(mut tuner: Tuner) -> Tuner {
    for entry in ["segments::scan_all", "segments::scan_each"] {
        tuner = tuner.only(entry);
        for (name, cut) in segments() {
            tuner = tuner.input(entry, &name, move || {
                let x: Vec<u32> = (0..1 << SEGMENTED).collect();
                vec![Data::vector(&x), Data::vector(&cut), Data::vector(&vec![0u32; 1 << SEGMENTED])]
            });
        }
    }
    tuner
}

//! Inputs for the functions of the example `codelets`, of the shapes that its program has.

use hidp_std::tune::{Data, Tuner};

use super::{random, small};
use crate::matrices::Matrix;
use crate::random::Random;

/// Elements of a point, and how many centres there are.
const PLACE: usize = 8;
const CENTRES: usize = 5;
/// Edges per node, all over the graph.
const EDGES: usize = 6;

pub(super) fn codelets(mut tuner: Tuner) -> Tuner {
    for power in [10, 14, 16, 18, 20, 22] {
        for (entry, make) in INPUTS {
            tuner = tuner.only(entry).input(entry, &format!("2^{power}"), move || make(1 << power));
        }
    }
    tuner
}

type Input = (&'static str, fn(usize) -> Vec<Data>);

/// Each entry, and its arguments for so many elements.
const INPUTS: &[Input] = &[
    ("codelets::sum", |count| vec![Data::vector(&small(count)), Data::scalar(0.0f32)]),
    ("codelets::running", |count| {
        let ints: Vec<i32> = (0..count as i32).map(|at| at % 5).collect();
        vec![Data::vector(&ints), Data::vector(&ints)]
    }),
    ("codelets::gemv", |count| {
        let side = side(count);
        vec![square(side), Data::vector(&small(side)), Data::vector(&small(side))]
    }),
    ("codelets::product", |count| vec![square(side(count)), square(side(count)), square(side(count))]),
    ("codelets::histogram_of_bytes", |count| {
        let bytes: Vec<u8> = (0..count).map(|at| (at * at % 251) as u8).collect();
        vec![Data::vector(&bytes), Data::vector(&[0u32; 256])]
    }),
    ("codelets::sparse_gemv", |count| {
        let Matrix { rowptr, col, val } = graph(count);
        let vector = vec![2.0; nodes(count)];
        vec![
            Data::vector(&rowptr),
            Data::vector(&col),
            Data::vector(&val),
            Data::vector(&vector),
            Data::vector(&vector),
        ]
    }),
    ("codelets::distances", |count| {
        let Matrix { rowptr, col, .. } = graph(count);
        vec![Data::vector(&rowptr), Data::vector(&col), Data::scalar(0i32), Data::vector(&vec![0i32; nodes(count)])]
    }),
    ("codelets::clusters", |count| {
        let points = count / 32;
        vec![
            Data::array(&small(points * PLACE), &[points, PLACE]),
            Data::array(&small(CENTRES * PLACE), &[CENTRES, PLACE]),
            Data::vector(&vec![0i32; points]),
            Data::array(&[0.0f32; CENTRES * PLACE], &[CENTRES, PLACE]),
            Data::vector(&[0u32; CENTRES]),
        ]
    }),
    ("codelets::ascending", |count| {
        let mut random = Random::new(4);
        let keys: Vec<u32> = (0..count).map(|_| random.bits() as u32).collect();
        vec![Data::vector(&keys), Data::vector(&vec![0u32; count])]
    }),
];

fn side(count: usize) -> usize {
    count.isqrt().min(512)
}

fn square(side: usize) -> Data {
    Data::array(&small(side * side), &[side, side])
}

fn nodes(count: usize) -> usize {
    count / 8
}

fn graph(count: usize) -> Matrix {
    random(nodes(count), EDGES)
}

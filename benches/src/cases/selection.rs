//! Selection at run time: a context's first hundred calls, and its first one, beside the version that is quickest here.

use std::rc::Rc;

use hidp_std::{Context, Error, Select};

use super::codelets::quickest;
use super::first::shared;
use super::{Recipes, assert_alike, widen};
use crate::buffer::Buffer;
use crate::kernels::codelets;
use crate::matrices::{Matrix, five_point_matrix, zipf_matrix};
use crate::random::Random;
use crate::{Case, Contender, Limit};

/// As many as an iterative solver, or k-means, makes.
const MANY: usize = 100;

pub(super) const RECIPES: Recipes = &[
    ("selection products 5-point, 100 calls", || products("5-point", MANY, five_point_matrix(1000))),
    ("selection products 5-point, first call", || products("5-point", 1, five_point_matrix(1000))),
    ("selection products Zipf, 100 calls", || products("Zipf", MANY, zipf_matrix(500_000))),
    ("selection products Zipf, first call", || products("Zipf", 1, zipf_matrix(500_000))),
    ("selection k-means, 100 calls", || steps(MANY)),
    ("selection k-means, first call", || steps(1)),
];

/// Each selects in a context of its own, which knows nothing.
fn selections(count: usize, call: impl Fn(&Context) -> Result<(), Error> + 'static) -> Vec<Contender> {
    let call = Rc::new(call);
    let best = quickest(&*call);
    let calls = move |cx: &Context| (0..count).for_each(|_| call(cx).expect("it runs"));
    let selected = |name: &'static str, select: Select| {
        let calls = calls.clone();
        let make = move || Context::builder().cpu().select(select).select_any_bits(true).build();
        Contender::new(name, move || calls(&make().expect("a CPU context")))
    };
    let contenders = [("HiDP, rules", Select::Off), ("HiDP, `Calls`", Select::Calls), ("HiDP, `Parts`", Select::Parts)];
    let mut contenders: Vec<Contender> = contenders.map(|(name, select)| selected(name, select)).into();
    contenders.push(Contender::new("HiDP, quickest version", move || calls(&best)));
    contenders
}

fn case(name: &str, count: usize, limit: Limit, mut contenders: Vec<Contender>, found: impl Fn() -> Vec<f64>) -> Case {
    let name = format!("selection {name}, {}", if count == 1 { "first call".into() } else { format!("{count} calls") });
    // Versions add in different orders.
    assert_alike(&name, &mut contenders, 1e-3, found);
    Case { name, limit, contenders }
}

fn products(name: &str, count: usize, Matrix { rowptr, col, val }: Matrix) -> Case {
    let (rows, nonzeros) = (rowptr.len() - 1, col.len());
    let x: Vec<f64> = (0..rows).map(|at| (at % 11) as f64 - 5.0).collect();
    let y = shared(rows, |_| 0f64);
    let own = y.clone();
    let contenders = selections(count, move |cx| {
        codelets::sparse_gemv(cx, &rowptr[..], &col[..], &val[..], &x[..], &mut own.borrow_mut()[..])
    });
    let limit = Limit::Read((count * (12 * nonzeros + 20 * rows)) as f64);
    case(&format!("products {name}"), count, limit, contenders, move || y.borrow().to_vec())
}

fn steps(count: usize) -> Case {
    let (n, d, k) = (494_020, 34, 5);
    let mut random = Random::new(11);
    let [point, centre] = [n, k].map(|rows| Buffer::from_fn(rows * d, |_| random.unit() as f32));
    let (cluster, sums, counts) = (shared(n, |_| 0i32), shared(k * d, |_| 0f32), shared(k, |_| 0u32));
    let of_each = sums.clone();
    let contenders = selections(count, move |cx| {
        let (points, centres) = ((&point[..], [n, d]), (&centre[..], [k, d]));
        let sums = &mut (&mut of_each.borrow_mut()[..], [k, d]);
        codelets::clusters(cx, &points, &centres, &mut cluster.borrow_mut()[..], sums, &mut counts.borrow_mut()[..])
    });
    let limit = Limit::Flops((count * 3 * n * d * k) as f64);
    case("k-means", count, limit, contenders, move || widen(&sums.borrow()))
}

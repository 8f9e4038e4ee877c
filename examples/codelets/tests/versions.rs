//! Every version of every function gives what plain Rust gives. Numbers are small and whole, so sums are exact in any order.

use hidp_std::{Context, Error, Select, Why};
use ndarray::Array2;

hidp_std::include_kernels!();
use kernels::codelets::{gemv, histogram_of_bytes, product, running, sum};

/// Sizes around the ends of pieces and around the bounds of conditions.
const SIZES: [usize; 12] = [0, 1, 2, 63, 64, 65, 1023, 1024, 4097, 8193, 65_535, 65_637];

/// Calls an entry in each of its versions; there must be at least one for each of these codelets.
fn in_each_version(codelets: &[&str], mut call: impl FnMut(&Context) -> Result<(), Error>) {
    let cx = Context::cpu().expect("a context");
    let Err(Error::UnknownPlan { plans, .. }) = call(&cx.with_plan("none")) else { panic!("a plan of that name") };
    let names: Vec<String> = plans.to_string().split('`').skip(1).step_by(2).map(str::to_owned).collect();
    for codelet in codelets {
        assert!(names.iter().any(|name| name.starts_with(codelet)), "{codelet}: {names:?}");
    }
    for name in names {
        if let Err(error) = call(&cx.with_plan(&name)) {
            panic!("{name}: {error}");
        }
    }
}

fn floats(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at * 7 % 11) as f32 - 5.0).collect()
}

fn matrix(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(row, column)| ((row * 5 + column * 3) % 7) as f32 - 3.0)
}

#[test]
fn sums() {
    for size in SIZES {
        let x = floats(size);
        let expected: f32 = x.iter().sum();
        in_each_version(&["adjacent", "strided"], |cx| sum(cx, &x).map(|found| assert_eq!(found, expected, "{size}")));
    }
}

#[test]
fn running_sums() {
    for size in SIZES {
        let v: Vec<i32> = (0..size).map(|at| (at % 9) as i32 - 4).collect();
        let expected: Vec<i32> = v
            .iter()
            .scan(0, |sum, v| {
                *sum += v;
                Some(*sum)
            })
            .collect();
        in_each_version(&["blocks"], |cx| {
            let mut w = vec![-1; size];
            running(cx, &v, &mut w)?;
            assert_eq!(w, expected, "{size}");
            Ok(())
        });
    }
}

#[test]
fn matrices_times_vectors() {
    for (rows, columns) in [(0, 5), (5, 0), (3, 4095), (3, 4099), (130, 17)] {
        let (a, x) = (matrix(rows, columns), floats(columns));
        let expected: Vec<f32> = a.rows().into_iter().map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        in_each_version(&["pieces"], |cx| {
            let mut y = vec![-1.0; rows];
            gemv(cx, &a, &x, &mut y)?;
            assert_eq!(y, expected, "{rows} {columns}");
            Ok(())
        });
    }
}

#[test]
fn products() {
    for (m, k, n) in [(0, 3, 4), (5, 0, 4), (127, 9, 129), (128, 33, 128), (200, 7, 131)] {
        let (a, b) = (matrix(m, k), matrix(k, n));
        let expected = Array2::from_shape_fn((m, n), |(i, j)| (0..k).map(|k| a[[i, k]] * b[[k, j]]).sum::<f32>());
        in_each_version(&["blocks"], |cx| {
            let mut c = Array2::from_elem((m, n), -1.0);
            product(cx, &a, &b, &mut c)?;
            assert_eq!(c, expected, "{m} {k} {n}");
            Ok(())
        });
    }
}

#[test]
fn histograms() {
    for size in SIZES {
        let keys: Vec<u8> = (0..size).map(|at| (at * at % 251) as u8).collect();
        let mut expected = vec![0_u32; 256];
        keys.iter().for_each(|key| expected[*key as usize] += 1);
        in_each_version(&["private"], |cx| {
            let mut counts = vec![7; 256];
            histogram_of_bytes(cx, &keys, &mut counts)?;
            assert_eq!(counts, expected, "{size}");
            Ok(())
        });
    }
}

/// Calls an entry in a context that selects versions, and says how many calls ran another one than rules choose.
fn selecting(any_bits: bool, mut call: impl FnMut(&Context) -> Result<(), Error>) -> usize {
    let cx = Context::builder().cpu().tuning("off").select(Select::Calls).select_any_bits(any_bits).build();
    let cx = cx.expect("a context");
    let run = |_: &usize| {
        call(&cx).expect("it runs");
        matches!(cx.last_run().expect("it ran").why, Why::Selected(_))
    };
    (0..60).filter(run).count()
}

#[test]
fn versions_are_selected_by_what_calls_took() {
    let keys: Vec<u8> = (0..65_637_usize).map(|at| (at * at % 251) as u8).collect();
    let mut expected = vec![0_u32; 256];
    keys.iter().for_each(|key| expected[*key as usize] += 1);
    let tried = selecting(true, |cx| {
        let mut counts = vec![7; 256];
        histogram_of_bytes(cx, &keys, &mut counts)?;
        assert_eq!(counts, expected);
        Ok(())
    });
    assert!(tried > 0, "codelets are tried");
}

#[test]
fn selection_does_not_change_bits_unless_it_may() {
    let x: Vec<f32> = (0..65_637).map(|at| (at as f32 * 0.37).sin()).collect();
    let mut sums = std::collections::BTreeSet::new();
    let tried = selecting(false, |cx| {
        sums.insert(sum(cx, &x)?.to_bits());
        Ok(())
    });
    assert_eq!((tried, sums.len()), (0, 1));
    let tried = selecting(true, |cx| sum(cx, &x).map(drop));
    assert!(tried > 0, "other bits may be tried");
}

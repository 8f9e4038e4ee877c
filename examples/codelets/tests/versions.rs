//! Every version of every function gives what plain Rust gives. Numbers are small and whole, so sums are exact in any order.

use hidp_std::{Context, Error, Select, Why};
use ndarray::Array2;

hidp_std::include_kernels!();
use kernels::codelets::{ascending, clusters, distances, gemv, histogram_of_bytes, product, running, sparse_gemv, sum};

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

/// Rows of a square matrix, or edges of nodes: where those of each begin, and what they lead to. Many have none, one has most.
fn ragged(rows: usize) -> (Vec<i32>, Vec<i32>) {
    let (mut first, mut ends) = (vec![0], Vec::new());
    for row in 0..rows {
        let length = if row == rows / 3 { 2 * rows + 5 } else { row % 4 };
        ends.extend((0..length).map(|at| ((row * 7 + at * 13 + 1) % rows) as i32));
        first.push(ends.len() as i32);
    }
    (first, ends)
}

#[test]
fn sparse_matrices_times_vectors() {
    for rows in [0, 1, 2, 15, 1023, 5000] {
        let (first, col) = ragged(rows);
        let val: Vec<f64> = (0..col.len()).map(|at| (at % 9) as f64 - 4.0).collect();
        let x: Vec<f64> = (0..rows).map(|at| (at % 5) as f64 - 2.0).collect();
        let row = |row: usize| first[row] as usize..first[row + 1] as usize;
        let expected: Vec<f64> = (0..rows).map(|r| row(r).map(|k| val[k] * x[col[k] as usize]).sum()).collect();
        in_each_version(&["in_order", "four_sums"], |cx| {
            let mut y = vec![-1.0; rows];
            sparse_gemv(cx, &first, &col, &val, &x, &mut y)?;
            assert_eq!(y, expected, "{rows}");
            Ok(())
        });
    }
}

/// How far nodes are from one of them, by a queue.
fn far_from(source: i32, first: &[i32], edges: &[i32]) -> Vec<i32> {
    let mut far = vec![-1; first.len() - 1];
    let mut queue = std::collections::VecDeque::new();
    if let Some(of) = usize::try_from(source).ok().and_then(|source| far.get_mut(source)) {
        *of = 0;
        queue.push_back(source as usize);
    }
    while let Some(node) = queue.pop_front() {
        for edge in &edges[first[node] as usize..first[node + 1] as usize] {
            let edge = *edge as usize;
            if far[edge] < 0 {
                far[edge] = far[node] + 1;
                queue.push_back(edge);
            }
        }
    }
    far
}

#[test]
fn distances_in_graphs() {
    let way =
        |nodes: usize| ((0..=nodes as i32).map(|n| n.min(nodes as i32 - 1)).collect(), (1..nodes as i32).collect());
    let graphs: [(Vec<i32>, Vec<i32>); 6] = [ragged(0), ragged(1), ragged(2), ragged(1000), ragged(20_000), way(300)];
    for (first, edges) in &graphs {
        let nodes = first.len() - 1;
        for source in [0, -1, nodes as i32 / 2, nodes as i32] {
            let expected = far_from(source, first, edges);
            in_each_version(&["at_once", "marks", "queue"], |cx| {
                let mut far = vec![7; nodes];
                distances(cx, first, edges, source, &mut far)?;
                assert_eq!(far, expected, "{nodes} from {source}");
                Ok(())
            });
        }
    }
}

#[test]
fn points_in_clusters() {
    for (points, centres) in [(0, 3), (5, 0), (4095, 5), (4096, 5), (5003, 1)] {
        let (point, centre) = (matrix(points, 9), matrix(centres, 9) + 0.25);
        let square = |p: usize, k: usize| -> f32 { (&point.row(p) - &centre.row(k)).mapv(|d| d * d).sum() };
        let nearer = |p: usize, best: usize, k: usize| if square(p, k) < square(p, best) { k } else { best };
        let expected: Vec<usize> = (0..points).map(|p| (0..centres).fold(0, |best, k| nearer(p, best, k))).collect();
        let (mut of_each, mut many_each) = (Array2::<f32>::zeros((centres, 9)), vec![0; centres]);
        for (p, k) in expected.iter().enumerate().filter(|(_, k)| **k < centres) {
            let mut sum = of_each.row_mut(*k);
            sum += &point.row(p);
            many_each[*k] += 1;
        }
        in_each_version(&["in_order", "sums_of_parts", "pieces"], |cx| {
            let (mut cluster, mut sums, mut many) = (vec![-1; points], Array2::ones((centres, 9)), vec![7; centres]);
            clusters(cx, &point, &centre, &mut cluster, &mut sums, &mut many)?;
            assert!(cluster.iter().zip(&expected).all(|(found, k)| *found as usize == *k), "{points} {centres}");
            assert_eq!((&sums, &many), (&of_each, &many_each), "{points} {centres}");
            Ok(())
        });
    }
}

#[test]
fn keys_in_order() {
    for size in [0, 1, 2, 3, 255, 4095, 4096, 4097, 8193, 12_289, 16_411] {
        let key: Vec<u32> = (0..size as u32).map(|at| at.wrapping_mul(2_654_435_769) >> (at % 29)).collect();
        let mut expected = key.clone();
        expected.sort_unstable();
        in_each_version(&["bytes", "merge"], |cx| {
            let mut sorted = vec![7; size];
            ascending(cx, &key, &mut sorted)?;
            assert_eq!(sorted, expected, "{size}");
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

/// Calls that are cut into parts compute what whole ones do, whichever versions compute them.
#[test]
fn parts_are_selected_by_what_they_took() {
    let cx = Context::builder().cpu().threads(1).tuning("off").select(Select::Parts).select_any_bits(true).build();
    let cx = cx.expect("a context");
    let (a, b) = (matrix(4101, 200), matrix(200, 48));
    let expected = a.dot(&b);
    let (first, col) = ragged(8201);
    let (val, x) = (vec![2.0; col.len()], vec![3.0; 8201]);
    for _ in 0..3 {
        let mut c = Array2::from_elem((4101, 48), -1.0);
        product(&cx, &a, &b, &mut c).expect("it runs");
        assert!(c == expected);
        let mut y = vec![-1.0; 8201];
        sparse_gemv(&cx, &first, &col, &val, &x, &mut y).expect("it runs");
        assert!(y.iter().zip(first.windows(2)).all(|(y, row)| *y == 6.0 * f64::from(row[1] - row[0])));
    }
}

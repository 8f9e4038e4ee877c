//! Matrix products in single precision.

use anyhow::Result;

use super::{assert_close, small};
use crate::kernels::blas;
use crate::machine::Machine;
use crate::peers::{peer_blas_sgemm, peer_has_blas};
use crate::report::{Contender, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    let has_blas = peer_has_blas(machine.stream()).is_ok();
    if !has_blas {
        println!("cuBLAS: LEFT OUT, the library was not found");
    }
    let k = machine.size(4096, 40);
    for power in (4..=machine.size(16, 6) as u32).step_by(2) {
        let half = power / 2;
        // Squares, and the flattest of the paper's shapes.
        for (m, n) in [(1 << half, 1 << half), (1 << (half - 2), 1 << (half + 2)), (1 << (half + 2), 1 << (half - 2))] {
            let name = format!("GEMM f32 {m} x {n} x {k}");
            let ratio = machine.row(&name, || product(machine, &name, [m, n, k], has_blas));
            if let (true, Some(ratio)) = (m * n <= 1024, ratio) {
                let what = format!("GEMM {m} x {n}, K = {k}, over the best of cuBLAS");
                machine.report.borrow_mut().goal(&what, ratio, 1.0);
            }
        }
    }
    let squares: &[usize] = if machine.is_tiny() { &[17] } else { &[1024, 2048, 4096, 8192] };
    for &side in squares {
        let name = format!("GEMM f32 {side} x {side} x {side}");
        let ratio = machine.row(&name, || product(machine, &name, [side; 3], has_blas));
        if let (true, Some(ratio)) = (side == 4096 || machine.is_tiny(), ratio) {
            machine.report.borrow_mut().goal(&format!("GEMM {side}^3 over cuBLAS SGEMM"), ratio, 0.7);
        }
    }
    Ok(())
}

fn product(machine: &Machine, name: &str, [m, n, k]: [usize; 3], has_blas: bool) -> Result<Option<f64>> {
    let (cx, stream) = (&machine.cx, machine.stream());
    let (left, right) = (small(m * k), small(k * n));
    let ((a, a_at), (b, b_at)) = (machine.array(&left, [m, k])?, machine.array(&right, [k, n])?);
    let (mut c, _) = machine.zeros::<f32, 2>([m, n])?;
    let (_other, other) = machine.zeros::<f32, 2>([m, n])?;
    let sizes = (m as i64, n as i64, k as i64);
    let sgemm = move |mode| peer_blas_sgemm(stream, mode, sizes.0, sizes.1, sizes.2, 1.0, a_at, b_at, 0.0, other);
    // beta is 0: results do not depend on how often it runs.
    let mut contenders = vec![Contender::new("HiDP", || Ok(blas::gemm(cx, 1.0, 0.0, &a, &b, &mut c)?))];
    if has_blas {
        contenders.push(Contender::new("cuBLAS", move || sgemm(0)));
        contenders.push(Contender::new("cuBLAS pedantic", move || sgemm(2)));
    }
    let measured = machine.compare(name, Work::Flops(2.0 * (m * n * k) as f64), contenders)?;
    // All elements at once, by products with a vector (Freivalds): C x = A (B x). Elements are sums of multiples of 1/256, which are exact.
    let found = c.to_vec()?;
    let vector: Vec<f64> = (0..n).map(|at| ((at * 7919) % 31) as f64 - 15.0).collect();
    let expected = times(&left, &times(&right, &vector));
    assert_close(name, &times(&found, &vector), &expected, 1e-9)?;
    Ok(measured.over_best("cuBLAS"))
}

/// The product of a matrix, row by row, and a vector.
fn times(matrix: &[f32], vector: &[f64]) -> Vec<f64> {
    let row = |row: &[f32]| row.iter().zip(vector).map(|(a, b)| f64::from(*a) * b).sum();
    matrix.chunks(vector.len()).map(row).collect()
}

//! Matrix products in single precision.

use anyhow::Result;

use super::{assert_close, small, widen};
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
            let ratio = product(machine, m, n, k, has_blas)?;
            if m * n <= 1024 {
                let what = format!("GEMM {m} x {n}, K = {k}, over the best of cuBLAS");
                machine.report.borrow_mut().goal(&what, ratio, 1.0);
            }
        }
    }
    let squares: &[usize] = if machine.is_tiny() { &[17] } else { &[1024, 2048, 4096, 8192] };
    for &side in squares {
        let ratio = product(machine, side, side, side, has_blas)?;
        if side == 4096 || machine.is_tiny() {
            machine.report.borrow_mut().goal(&format!("GEMM {side}^3 over cuBLAS SGEMM"), ratio, 0.7);
        }
    }
    Ok(())
}

fn product(machine: &Machine, m: usize, n: usize, k: usize, has_blas: bool) -> Result<Option<f64>> {
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
    let name = format!("GEMM f32 {m} x {n} x {k}");
    let measured = machine.compare(&name, Work::Flops(2.0 * (m * n * k) as f64), contenders)?;
    // Some rows and columns: all would take the processor longer than everything else.
    let found = c.to_vec()?;
    let chosen = |extent: usize| (0..extent).step_by(extent.div_ceil(16).max(1));
    let pairs: Vec<(usize, usize)> = chosen(m).flat_map(|row| chosen(n).map(move |column| (row, column))).collect();
    let element = |&(row, column): &(usize, usize)| -> f64 {
        (0..k).map(|at| f64::from(left[row * k + at]) * f64::from(right[at * n + column])).sum()
    };
    let expected: Vec<f64> = pairs.iter().map(element).collect();
    let found: Vec<f32> = pairs.iter().map(|(row, column)| found[row * n + column]).collect();
    assert_close(&name, &widen(&found), &expected, 1e-4)?;
    Ok(measured.over_best("cuBLAS"))
}

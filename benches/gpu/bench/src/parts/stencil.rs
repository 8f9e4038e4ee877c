//! Stencils on three-dimensional grids.

use anyhow::Result;
use hidp_std::DeviceArray;

use super::assert_close;
use crate::kernels::stencil;
use crate::machine::Machine;
use crate::report::{Contender, LIMIT_COPY, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    for side in [machine.size(256, 6), machine.size(512, 8)] {
        jacobi7(machine, side)?;
    }
    for shape in if machine.is_tiny() { [[5, 6, 7]; 3] } else { [[64, 64, 128], [128, 128, 256], [256, 256, 512]] } {
        himeno(machine, shape)?;
    }
    Ok(())
}

fn jacobi7(machine: &Machine, side: usize) -> Result<()> {
    let (cx, shape, n) = (&machine.cx, [side; 3], side * side * side);
    let values: Vec<f64> = (0..n).map(|i| ((i * 31) % 101) as f64).collect();
    let (input, _) = machine.array(&values, shape)?;
    let (mut out, _) = machine.zeros::<f64, 3>(shape)?;
    let run = vec![Contender::new("HiDP", || Ok(stencil::jacobi7(cx, &input, 0.4, 0.1, &mut out)?))];
    let name = format!("7-point f64 {side}^3");
    let measured = machine.compare(&name, Work::Bytes(16.0 * n as f64), run)?;
    let found = out.to_vec()?;
    let mut expected = vec![0.0; n];
    let at = |i: usize, j: usize, k: usize| (i * side + j) * side + k;
    for (i, j) in (1..side - 1).flat_map(|i| (1..side - 1).map(move |j| (i, j))) {
        for k in 1..side - 1 {
            let around =
                [at(i - 1, j, k), at(i + 1, j, k), at(i, j - 1, k), at(i, j + 1, k), at(i, j, k - 1), at(i, j, k + 1)];
            expected[at(i, j, k)] = 0.4 * values[at(i, j, k)] + 0.1 * around.map(|at| values[at]).iter().sum::<f64>();
        }
    }
    assert_close(&name, &found, &expected, 1e-12)?;
    machine.report.borrow_mut().goal(&format!("{name} of copy bandwidth"), measured.over(LIMIT_COPY), 0.9);
    Ok(())
}

fn himeno(machine: &Machine, shape: [usize; 3]) -> Result<()> {
    let ([i, j, k], cx) = (shape, &machine.cx);
    let n = i * j * k;
    let values = |which: usize| -> Vec<f32> {
        let value = |at: usize| match which {
            3 => 1.0 / 6.0,
            4..=6 | 11 => 0.0,
            10 => ((at / (j * k)) as f32 / (i - 1) as f32).powi(2),
            _ => 1.0,
        };
        (0..n).map(value).collect()
    };
    let arrays = (0..13).map(|which| machine.array(&values(which), shape).map(|(array, _)| array));
    let a: Vec<DeviceArray<f32, 3>> = arrays.collect::<Result<_>>()?;
    let (mut wrk2, _) = machine.zeros::<f32, 3>(shape)?;
    let mut gosa = 0.0;
    let run = || {
        gosa = stencil::himeno(
            cx, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6], &a[7], &a[8], &a[9], &a[10], &a[11], &a[12], 0.8,
            &mut wrk2,
        )?;
        Ok(())
    };
    let name = format!("Himeno f32 {i} x {j} x {k}");
    let measured = machine.compare(&name, Work::Bytes(56.0 * n as f64), vec![Contender::new("HiDP", run)])?;
    let bytes = measured.over(LIMIT_COPY);
    // The residual of planes that rise quadratically, worked out by hand: (1/6 * 6-point sum - p)^2 at every inner point.
    let p = |at: usize| f64::from((at as f32 / (i - 1) as f32).powi(2));
    let of_plane = |at: usize| (((p(at + 1) + 4.0 * p(at) + p(at - 1)) * f64::from(1.0_f32 / 6.0)) - p(at)).powi(2);
    let expected: f64 = (1..i - 1).map(of_plane).sum::<f64>() * ((j - 2) * (k - 2)) as f64;
    assert_close(&name, &[f64::from(gosa)], &[expected], 1e-2)?;
    machine.report.borrow_mut().goal(&format!("{name} of copy bandwidth"), bytes, 0.9);
    Ok(())
}

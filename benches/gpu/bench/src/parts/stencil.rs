//! Stencils on three-dimensional grids.

use anyhow::Result;
use hidp_std::DeviceArray;

use super::assert_close;
use crate::kernels::stencil;
use crate::machine::Machine;
use crate::report::{Contender, LIMIT_COPY, Measured, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    for side in [machine.size(256, 6), machine.size(512, 8)] {
        let name = format!("7-point f64 {side}^3");
        goal(machine, &name, machine.row(&name, || jacobi7(machine, &name, side)));
    }
    for shape in if machine.is_tiny() { [[5, 6, 7]; 3] } else { [[64, 64, 128], [128, 128, 256], [256, 256, 512]] } {
        let [i, j, k] = shape;
        let name = format!("Himeno f32 {i} x {j} x {k}");
        goal(machine, &name, machine.row(&name, || himeno(machine, &name, shape)));
    }
    Ok(())
}

fn goal(machine: &Machine, name: &str, measured: Option<Measured>) {
    if let Some(measured) = measured {
        let figure = measured.over(LIMIT_COPY);
        machine.report.borrow_mut().goal(&format!("{name} of copy bandwidth"), figure, 0.9);
    }
}

fn jacobi7(machine: &Machine, name: &str, side: usize) -> Result<Measured> {
    let (cx, shape, n) = (&machine.cx, [side; 3], side * side * side);
    let values: Vec<f64> = (0..n).map(|i| ((i * 31) % 101) as f64).collect();
    let (input, _) = machine.array(&values, shape)?;
    let (mut out, _) = machine.zeros::<f64, 3>(shape)?;
    let run = vec![Contender::new("HiDP", || Ok(stencil::jacobi7(cx, &input, 0.4, 0.1, &mut out)?))];
    let measured = machine.compare(name, Work::Bytes(16.0 * n as f64), run)?;
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
    assert_close(name, &found, &expected, 1e-12)?;
    Ok(measured)
}

fn himeno(machine: &Machine, name: &str, shape: [usize; 3]) -> Result<Measured> {
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
    let measured = machine.compare(name, Work::Bytes(56.0 * n as f64), vec![Contender::new("HiDP", run)])?;
    // Pressure rises quadratically with planes and is the same everywhere on one, so that a plane's sum is 1/6 of the 6-point sum.
    let p = |at: usize| f64::from((at as f32 / (i - 1) as f32).powi(2));
    let residual = |at: usize| (p(at + 1) + 4.0 * p(at) + p(at - 1)) * f64::from(1.0_f32 / 6.0) - p(at);
    let gosa_expected: f64 = (1..i - 1).map(|at| residual(at).powi(2)).sum::<f64>() * ((j - 2) * (k - 2)) as f64;
    assert_close(name, &[f64::from(gosa)], &[gosa_expected], 1e-2)?;
    let is_inside = |[x, y, z]: [usize; 3]| x > 0 && x + 1 < i && y > 0 && y + 1 < j && z > 0 && z + 1 < k;
    let expected = (0..n).map(|at| [at / (j * k), at / k % j, at % k]);
    let expected = expected.map(|at| if is_inside(at) { p(at[0]) + f64::from(0.8_f32) * residual(at[0]) } else { 0.0 });
    assert_close(name, &super::widen(&wrk2.to_vec()?), &expected.collect::<Vec<f64>>(), 1e-5)?;
    Ok(measured)
}

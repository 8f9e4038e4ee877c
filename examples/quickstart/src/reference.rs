//! The same method in plain Rust on one thread, to check against and to compare with.

use crate::matrix::Csr;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `y = A x`
pub(crate) fn multiply(a: &Csr, x: &[f64], y: &mut [f64]) {
    for (row, y) in y.iter_mut().enumerate() {
        *y = a.row(row).map(|(column, value)| value * x[column]).sum();
    }
}

/// Runs exactly `iterations` steps of diagonally preconditioned conjugate gradients from zero.
pub(crate) fn solve(a: &Csr, inv_diag: &[f64], b: &[f64], iterations: usize) -> Vec<f64> {
    let mut x = vec![0.0; b.len()];
    let mut r = b.to_vec();
    let mut p: Vec<f64> = r.iter().zip(inv_diag).map(|(r, d)| r * d).collect();
    let mut q = vec![0.0; b.len()];
    let mut rz = dot(&r, &p);
    for _ in 0..iterations {
        multiply(a, &p, &mut q);
        let alpha = rz / dot(&p, &q);
        for i in 0..x.len() {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        let rz_new: f64 = r.iter().zip(inv_diag).map(|(r, d)| d * r * r).sum();
        let beta = rz_new / rz;
        for i in 0..p.len() {
            p[i] = inv_diag[i] * r[i] + beta * p[i];
        }
        rz = rz_new;
    }
    x
}

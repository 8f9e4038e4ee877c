//! Functions that Rust's library lacks. Good to about twelve digits, so tests compare them with a tolerance of `1e-10`
//! (`double`) or a few units in the last place (`float`).

use std::f64::consts::PI;

/// `ln |Γ(x)|`.
pub(super) fn ln_gamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() {
        return f64::INFINITY;
    }
    if x <= 0.0 {
        if x == x.floor() {
            return f64::INFINITY;
        }
        return (PI / sin_pi(x).abs()).ln() - ln_gamma(1.0 - x);
    }
    if x < 15.0 {
        // Γ(x) = Γ(x + n) / (x (x + 1) … (x + n - 1))
        let (mut shifted, mut product) = (x, 1.0);
        while shifted < 15.0 {
            product *= shifted;
            shifted += 1.0;
        }
        return stirling(shifted) - product.ln();
    }
    stirling(x)
}

/// `Γ(x)`.
pub(super) fn gamma(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    if x == 0.0 {
        return 1.0 / x;
    }
    if x < 0.0 && x == x.floor() {
        return f64::NAN;
    }
    if x > 172.0 {
        return f64::INFINITY;
    }
    if x < 0.5 {
        if x < -190.0 {
            return 0.0_f64.copysign(sin_pi(x));
        }
        return PI / (sin_pi(x) * gamma(1.0 - x));
    }
    // Exact for whole numbers: Γ(x) = (x - 1)(x - 2) … of a number in [1, 2), and Γ(1) = 1.
    let (mut factor, mut product) = (x, 1.0);
    while factor >= 2.0 {
        factor -= 1.0;
        product *= factor;
    }
    if factor == 1.0 { product } else { product * ln_gamma(factor).exp() }
}

/// `sin(πx)` without losing digits to the size of `x`.
fn sin_pi(x: f64) -> f64 {
    let reduced = x - 2.0 * (x / 2.0).round();
    (PI * reduced).sin()
}

/// Stirling's series for `x >= 15`.
fn stirling(x: f64) -> f64 {
    const TERMS: [f64; 7] =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
    let square = 1.0 / (x * x);
    let series = TERMS.iter().rev().fold(0.0, |sum, term| sum * square + term) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-300), "{found} is not {expected}");
    }

    #[test]
    fn gamma_functions() {
        assert_eq!(gamma(5.0), 24.0);
        close(gamma(0.5), PI.sqrt());
        close(gamma(-1.5), 2.363_271_801_207_354_4);
        close(gamma(100.5), 9.320_963_104_082_718e156);
        assert!(gamma(-2.0).is_nan());
        assert_eq!(gamma(200.0), f64::INFINITY);
        assert_eq!(gamma(-0.0), f64::NEG_INFINITY);
        close(ln_gamma(0.5), 0.572_364_942_924_700_4);
        close(ln_gamma(10.0), 362_880.0_f64.ln());
        close(ln_gamma(1e5), 1_051_287.708_973_656_6);
        close(ln_gamma(-1.5), 0.860_047_015_376_481_2);
        assert_eq!(ln_gamma(-3.0), f64::INFINITY);
    }
}

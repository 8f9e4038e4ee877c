//! Functions that Rust's library lacks. Good to about twelve digits, so tests compare them with a tolerance of `1e-10`
//! (`double`) or a few units in the last place (`float`).

use std::f64::consts::PI;

/// The error function.
pub(super) fn erf(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.abs() < 2.5 {
        erf_series(x)
    } else {
        (1.0 - erfc_fraction(x.abs())).copysign(x)
    }
}

/// Its complement.
pub(super) fn erfc(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.abs() < 2.5 {
        // Near 2.5 this loses four digits of seventeen.
        1.0 - erf_series(x)
    } else if x > 0.0 {
        erfc_fraction(x)
    } else {
        2.0 - erfc_fraction(-x)
    }
}

/// `2/sqrt(pi) e^(-x²) x (1 + 2x²/3 + (2x²)²/(3·5) + …)`: all terms of one sign.
fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (1.0, 1.0, 1.0);
    while term > sum * 1e-17 {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    2.0 / PI.sqrt() * x * (-x * x).exp() * sum
}

/// `e^(-x²)/sqrt(pi) / (x + (1/2)/(x + 1/(x + (3/2)/(x + …))))` for `x > 2`.
fn erfc_fraction(x: f64) -> f64 {
    let tail = (1..=200).rev().fold(x, |tail, step| x + f64::from(step) / 2.0 / tail);
    (-x * x).exp() / PI.sqrt() / tail
}

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
    fn error_functions() {
        close(erf(0.5), 0.520_499_877_813_046_5);
        close(erf(-1.0), -0.842_700_792_949_714_9);
        close(erf(2.4), 0.999_311_486_103_355);
        close(erf(3.0), 0.999_977_909_503_001_4);
        close(erfc(1.0), 0.157_299_207_050_285_13);
        close(erfc(3.0), 2.209_049_699_858_543_8e-5);
        close(erfc(10.0), 2.088_487_583_762_545e-45);
        close(erfc(-3.0), 1.999_977_909_503_001_4);
        assert_eq!(erf(f64::INFINITY), 1.0);
        assert_eq!(erfc(f64::INFINITY), 0.0);
        assert!(erf(f64::NAN).is_nan());
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

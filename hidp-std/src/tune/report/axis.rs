//! Sizes and times as labels of axes.

/// `2¹⁰` for 10, nothing between whole exponents.
pub(super) fn power_of_two(exponent: &f64) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let whole = exponent.round();
    if (exponent - whole).abs() > 1e-6 || whole < 0.0 {
        return String::new();
    }
    let digits = format!("{whole:.0}").into_bytes();
    std::iter::once('2').chain(digits.into_iter().map(|digit| DIGITS[usize::from(digit - b'0')])).collect()
}

/// `3.2 µs` for the decimal logarithm of so many seconds.
pub(super) fn time(exponent: &f64) -> String {
    let seconds = 10f64.powf(*exponent);
    let (value, unit) = match seconds {
        s if s < 0.999e-6 => (s * 1e9, "ns"),
        s if s < 0.999e-3 => (s * 1e6, "µs"),
        s if s < 0.999 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// `1.6x` for the decimal logarithm of a factor.
pub(super) fn factor(exponent: &f64) -> String {
    let factor = 10f64.powf(*exponent);
    if factor < 9.95 { format!("{factor:.2}x") } else { format!("{factor:.0}x") }
}

/// A size on a logarithmic axis.
pub(super) fn log2(size: i64) -> f64 {
    (size.max(1) as f64).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_read_like_numbers() {
        assert_eq!([0.0, 10.0, 24.0, 0.5, -1.0].map(|exponent| power_of_two(&exponent)), ["2⁰", "2¹⁰", "2²⁴", "", ""]);
        assert_eq!(
            [-7.0, -6.0, -4.5, -3.0, 0.0, 2.0].map(|e| time(&e)),
            ["100 ns", "1.0 µs", "32 µs", "1.0 ms", "1.0 s", "100 s"]
        );
        assert_eq!([0.0, 0.2, 1.3].map(|exponent| factor(&exponent)), ["1.00x", "1.58x", "20x"]);
    }
}

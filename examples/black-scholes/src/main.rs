//! Prices a few million European options by the formula of Black and Scholes, and says how long plain Rust takes for them.

use anyhow::Result;
use hidp_std::Context;
use rayon::prelude::*;

hidp_std::include_kernels!();
use kernels::black_scholes::price;

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.3;

/// Options of all kinds: the price of the share now, the price that was agreed, and the time until then.
struct Options {
    spot: Vec<f32>,
    strike: Vec<f32>,
    years: Vec<f32>,
}

impl Options {
    fn some(count: usize) -> Options {
        let spread = |low: f32, high: f32, turn: f64| {
            (0..count).map(|i| low + (high - low) * (i as f64 * turn).fract() as f32).collect::<Vec<_>>()
        };
        Options {
            spot: spread(5.0, 30.0, 0.618_034),
            strike: spread(1.0, 100.0, 0.414_214),
            years: spread(0.25, 10.0, 0.732_051),
        }
    }
}

/// The prices of the right to buy and of the right to sell.
struct Prices {
    call: Vec<f32>,
    put: Vec<f32>,
}

impl Prices {
    fn zeros(count: usize) -> Prices {
        Prices { call: vec![0.0; count], put: vec![0.0; count] }
    }
}

fn main() -> Result<()> {
    let count = gallery::count("black-scholes", "options", 4_000_000, 1 << 26, std::env::args().skip(1))?;
    let cx = Context::new()?;
    let options = Options::some(count);
    println!("{count} options");
    let (mut prices, mut expected) = (Prices::zeros(count), Prices::zeros(count));
    gallery::side_by_side(
        || Ok(in_hidp(&cx, &options, RATE, VOLATILITY, &mut prices)?),
        || in_plain_rust(&options, RATE, VOLATILITY, &mut expected),
    )?;
    let mean = |prices: &[f32]| prices.iter().map(|&price| f64::from(price)).sum::<f64>() / count.max(1) as f64;
    println!("a call costs {:.4} on average, a put {:.4}", mean(&prices.call), mean(&prices.put));
    Ok(())
}

fn in_hidp(cx: &Context, options: &Options, rate: f32, volatility: f32, prices: &mut Prices) -> hidp_std::Result {
    price(cx, &options.spot, &options.strike, &options.years, rate, volatility, &mut prices.call, &mut prices.put)
}

fn in_plain_rust(options: &Options, rate: f32, volatility: f32, prices: &mut Prices) {
    let below = |x: f32| 0.5 * libm::erfcf(-std::f32::consts::FRAC_1_SQRT_2 * x);
    let options = options.spot.par_iter().zip(&options.strike).zip(&options.years);
    options.zip(&mut prices.call).zip(&mut prices.put).for_each(|((((spot, strike), years), call), put)| {
        let spread = volatility * years.sqrt();
        let d1 = ((spot / strike).ln() + (rate + 0.5 * volatility * volatility) * years) / spread;
        let d2 = d1 - spread;
        let later = strike * (-rate * years).exp();
        *call = spot * below(d1) - later * below(d2);
        *put = later * below(-d2) - spot * below(-d1);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(options: &Options, rate: f32, volatility: f32) -> Prices {
        let mut prices = Prices::zeros(options.spot.len());
        in_hidp(&Context::new().unwrap(), options, rate, volatility, &mut prices).unwrap();
        prices
    }

    /// The example of Hull, Options, Futures, and Other Derivatives: a share of 42, half a year.
    #[test]
    fn the_example_of_the_textbook() {
        let one = Options { spot: vec![42.0], strike: vec![40.0], years: vec![0.5] };
        let prices = prices(&one, 0.1, 0.2);
        assert!((prices.call[0] - 4.76).abs() < 0.005 && (prices.put[0] - 0.81).abs() < 0.005, "{:?}", prices.call);
    }

    #[test]
    fn prices_are_those_of_plain_rust() {
        let options = Options::some(10_007);
        let found = prices(&options, RATE, VOLATILITY);
        let mut expected = Prices::zeros(options.spot.len());
        in_plain_rust(&options, RATE, VOLATILITY, &mut expected);
        for i in 0..options.spot.len() {
            for (found, expected) in [(found.call[i], expected.call[i]), (found.put[i], expected.put[i])] {
                assert!(
                    (found - expected).abs() < 1e-5 * options.strike[i].max(options.spot[i]),
                    "option {i}: {found} {expected}"
                );
            }
        }
    }

    /// Who buys the right to buy and sells the right to sell has bought the share for later.
    #[test]
    fn calls_and_puts_make_shares() {
        let options = Options::some(1000);
        let prices = prices(&options, RATE, VOLATILITY);
        for i in 0..1000 {
            let share = options.spot[i] - options.strike[i] * (-RATE * options.years[i]).exp();
            assert!((prices.call[i] - prices.put[i] - share).abs() < 1e-4 * options.strike[i].max(1.0), "option {i}");
        }
    }

    #[test]
    fn no_options_and_unequal_columns() {
        let none = prices(&Options::some(0), RATE, VOLATILITY);
        assert!(none.call.is_empty());
        let mut short = Options::some(5);
        short.years.pop();
        let error = in_hidp(&Context::new().unwrap(), &short, RATE, VOLATILITY, &mut Prices::zeros(5)).unwrap_err();
        assert!(error.to_string().contains("years"), "{error}");
    }
}

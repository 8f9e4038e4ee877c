//! Hidden Markov models of `cases/run/recurrences_programs.hdp` beside plain recursion: probabilities, ways and logarithms.

use super::programs::{Of, of, program};
use super::*;

/// A hidden Markov model of quarters, so that sums and products are exact, and letters.
struct Model {
    states: i64,
    step: Vec<f64>,
    emit: Vec<f64>,
    letters: Vec<i64>,
}

impl Model {
    fn new(numbers: &mut Numbers, states: i64, steps: i64) -> Model {
        let mut quarters = |count| numbers.list(count, 0, 5).into_iter().map(|v| v as f64 / 4.0).collect();
        let (step, emit) = (quarters(states * states), quarters(states * 3));
        Model { states, step, emit, letters: numbers.list(steps, 0, 3) }
    }
    fn step(&self, from: i64, to: i64) -> f64 {
        self.step[(from * self.states + to) as usize]
    }
    fn emit(&self, state: i64, at: i64) -> f64 {
        self.emit[(3 * state + self.letters[at as usize]) as usize]
    }
    fn args(&self) -> Vec<Arg> {
        let s = self.states;
        vec![doubles(vec![s, s], &self.step), doubles(vec![s, 3], &self.emit), letters(&self.letters)]
    }
}

#[test]
fn hidden_markov_models() {
    let program = program();
    let mut numbers = Numbers(26);
    for (states, steps) in [(1, 0), (1, 3), (4, 1), (3, 6)].into_iter().cycle().take(40) {
        let model = Model::new(&mut numbers, states, steps);
        let start = |q: i64| if q == 0 { 1.0 } else { 0.0 };
        let before: Of<'_, f64> = &|memo, (u, q)| match u {
            0 => start(q),
            _ => (0..states).map(|p| memo.at((u - 1, p)) * model.step(p, q)).sum::<f64>() * model.emit(q, u - 1),
        };
        let after: Of<'_, f64> = &|memo, (u, q)| match u {
            _ if u == steps => 1.0,
            _ => (0..states).map(|p| model.step(q, p) * model.emit(p, u) * memo.at((u + 1, p))).sum(),
        };
        let shape = vec![steps + 1, states];
        let expected: Vec<f64> = cells(steps + 1, states).map(|at| of(before, at) * of(after, at)).collect();
        let zeros = doubles(shape.clone(), &vec![0.0; expected.len()]);
        let args = [model.args(), vec![zeros]].concat();
        assert_eq!(call(&program, "posterior", args), Ok(doubles(shape, &expected)));

        // The likeliest way to each state, the first of equal ones.
        let viterbi: Of<'_, (f64, Vec<i64>)> = &|memo, (u, q)| {
            if u == 0 {
                return (start(q), vec![q]);
            }
            let ways = (0..states).map(|p| (memo.at((u - 1, p)).0 * model.step(p, q), p));
            let (best, p) = ways.reduce(|a, b| if b.0 > a.0 { b } else { a }).expect("a state");
            (best * model.emit(q, u - 1), [memo.at((u - 1, p)).1, vec![q]].concat())
        };
        let ends = (0..states).map(|q| of(viterbi, (steps, q)));
        let (_, path) = ends.reduce(|a, b| if b.0 > a.0 { b } else { a }).expect("a state");
        let args = [model.args(), vec![ints(vec![steps + 1], &vec![0; path.len()])]].concat();
        assert_eq!(call(&program, "likeliest", args).map(table), Ok(path));
    }
}

/// Logarithms of probabilities, equal but for rounding.
fn close(found: Arg, expected: &[f64], what: &str) {
    let Arg::Array(Array { data: Data::F64(found), .. }) = found else { panic!("{found:?}") };
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found == expected || (found - expected).abs() < 1e-12, "{what}: {found} and not {expected}");
    }
}

#[test]
fn likelihoods_in_logarithms() {
    let program = program();
    let mut numbers = Numbers(31);
    let mut unreached = 0;
    for (states, steps) in [(1, 0), (2, 3), (4, 1), (3, 6)].into_iter().cycle().take(40) {
        let model = Model::new(&mut numbers, states, steps);
        let likely: Of<'_, f64> = &|memo, (u, q)| match u {
            0 => f64::from(u8::from(q == 0)),
            _ => (0..states).map(|p| memo.at((u - 1, p)) * model.step(p, q)).sum::<f64>() * model.emit(q, u - 1),
        };
        let expected: Vec<f64> = (0..states).map(|q| of(likely, (steps, q)).ln()).collect();
        unreached += expected.iter().filter(|log| log.is_infinite()).count();
        let logarithms = |values: &[f64]| values.iter().map(|v| v.ln()).collect::<Vec<_>>();
        let emit = doubles(vec![states, 3], &logarithms(&model.emit));
        let last = doubles(vec![states], &vec![0.0; states as usize]);
        let what = format!("{:?} {:?} {:?}", model.step, model.emit, model.letters);

        let step = doubles(vec![states, states], &logarithms(&model.step));
        let args = vec![step, emit.clone(), letters(&model.letters), last.clone()];
        close(call(&program, "likely", args).expect("no fault"), &expected, &what);

        // Only steps that can be taken have edges.
        let taken = |(p, q): &(i64, i64)| model.step(*p, *q) > 0.0;
        let all: Vec<_> = cells(states, states).map(|(q, p)| (p, q)).filter(taken).collect();
        let into: Vec<_> = (0..=states).map(|q| all.iter().filter(|(_, to)| *to < q).count() as i64).collect();
        let (from, edge): (Vec<_>, Vec<_>) = all.iter().map(|(p, q)| (*p, model.step(*p, *q).ln())).unzip();
        let count = all.len() as i64;
        let edges = vec![ints(vec![states + 1], &into), ints(vec![count], &from), doubles(vec![count], &edge)];
        let args = [edges, vec![emit, letters(&model.letters), last]].concat();
        close(call(&program, "likely_by_edges", args).expect("no fault"), &expected, &what);
    }
    assert!((5..60).contains(&unreached), "{unreached} states that no way reaches");
}

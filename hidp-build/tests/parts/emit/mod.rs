//! Entries built by hand, printed, compiled by the real C++ compiler and run.
//!
//! One of the builds traps on undefined behaviour. For errors of memory, build with `HIDP_TEST_CXXFLAGS="-fsanitize=address"` and
//! run with `LD_PRELOAD="$(c++ -print-file-name=libasan.so)"` and
//! `ASAN_OPTIONS=detect_leaks=0,allocator_may_return_null=1`.

mod dsl;
mod library;
mod numbers;
mod text;
mod units;

use library::{Context, Module, fault, p, seen};

#[test]
fn simd_map_over_all_sizes_and_thread_counts() {
    for (build, module) in Module::all() {
        for (n, threads) in [(0, 1), (1, 4), (15, 2), (1000, 3), (100_000, 4)] {
            let mut x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let mut y = vec![1.0_f32; n];
            let context = module.context(threads);
            let result = context.call("saxpy", &[p(&mut [0.5_f32]), p(&mut x), p(&mut y)], &[n as i64]);
            assert_eq!(seen(result), Ok(()));
            assert!((0..n).all(|i| y[i] == 0.5 * i as f32 + 1.0), "{build:?} {n}");
        }
    }
}

#[test]
fn partial_sums_are_the_same_for_every_thread_count() {
    for (_, module) in Module::all() {
        let n = 123_457;
        let mut x: Vec<f32> = (0..n).map(|i| (i % 1013) as f32 * 0.37).collect();
        let mut y: Vec<f32> = (0..n).map(|i| (i % 719) as f32 * 0.11).collect();
        let exact: f64 = x.iter().zip(&y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
        let mut results = Vec::new();
        for threads in [1, 2, 3, 7] {
            let mut out = [0.0_f32];
            let context = module.context(threads);
            let result = context.call("dot", &[p(&mut x), p(&mut y), p(&mut out)], &[n]);
            assert_eq!(seen(result), Ok(()));
            results.push(out[0]);
        }
        assert!((f64::from(results[0]) / exact - 1.0).abs() < 1e-5);
        assert!(results.iter().all(|r| r.to_bits() == results[0].to_bits()), "{results:?}");
    }
}

#[test]
fn the_first_fault_in_iteration_order_is_reported() {
    for (build, module) in Module::all() {
        for name in ["gather_static", "gather_dynamic", "gather_serial"] {
            let n = 10_000;
            let mut x: Vec<f64> = (0..100).map(f64::from).collect();
            let mut idx: Vec<i32> = (0..n).map(|i| i % 100).collect();
            let mut out = vec![-1.0; n as usize];
            for (bad, expected) in [
                (vec![], Ok(())),
                (vec![9_999], fault(0, &[9_999 + 100, 100, 0])),
                (vec![4_000, 9_000, 6_000], fault(0, &[4_000 + 100, 100, 0])),
            ] {
                let mut idx = idx.clone();
                bad.iter().for_each(|&at: &usize| idx[at] = at as i32 + 100);
                for threads in [1, 2, 4] {
                    let context = module.context(threads);
                    let params = [p(&mut x), p(&mut idx), p(&mut out)];
                    let result = context.call(name, &params, &[100, n.into()]);
                    assert_eq!(seen(result), expected, "{build:?} {name} {threads}");
                }
            }
            idx[5000] = -1;
            let result = module.context(2).call(name, &[p(&mut x), p(&mut idx), p(&mut out)], &[100, n.into()]);
            assert_eq!(seen(result), fault(0, &[-1, 100, 0]));
        }
    }
}

#[test]
fn a_later_fault_of_a_higher_part_does_not_replace_the_first() {
    for (build, module) in Module::all() {
        let n = 4_000_000;
        let mut idx = vec![0_i32; n];
        // The first part ends at once, the last one long after.
        idx[10] = 110;
        idx[n - 10] = 120;
        let (mut x, mut out) = (vec![0.0_f64; 100], vec![0.0_f64; n]);
        let context = module.context(2);
        for _ in 0..5 {
            let params = [p(&mut x), p(&mut idx), p(&mut out)];
            let result = context.call("gather_static", &params, &[100, n as i64]);
            assert_eq!(seen(result), fault(0, &[110, 100, 0]), "{build:?}");
        }
    }
}

#[test]
fn scratch_is_zero_every_time_and_released_with_its_block() {
    for (_, module) in Module::all() {
        let rows = |context: &Context<'_>| {
            for (n, c) in [(100_i64, 8_i64), (40, 30_000)] {
                let mut out = vec![0_i64; n as usize];
                let result = context.call("rows", &[p(&mut out)], &[n, c]);
                assert_eq!(seen(result), Ok(()));
                for (r, value) in (0_i64..).zip(&out) {
                    // The sum of 0..4, the last element of the outer one, and the inner one's only element where it is the first.
                    let doubled = if c + r == 1 { 6 } else { 0 };
                    assert_eq!(*value, 6 + doubled + r, "row {r} of {n} x {c}");
                }
            }
            context.bytes()
        };
        let of_one_thread = rows(&module.context(1));
        let context = module.context(3);
        for _ in 0..4 {
            // Which thread needs how much is not fixed; blocks have twice of that at most.
            let held = rows(&context);
            assert!(held <= 2 * 3 * of_one_thread, "{held}, one thread {of_one_thread}");
        }
    }
}

#[test]
fn atomic_updates_lose_nothing() {
    for (_, module) in Module::all() {
        let n = 50_000_i32;
        let mut keys: Vec<i32> = (0..n).map(|i| i.wrapping_mul(7919) % 1000 - 300).collect();
        let (mut bins, mut low, mut product) = ([0_i32; 4], [f32::NAN], [1_u64, 0, 0, 0]);
        let context = module.context(4);
        let params = [p(&mut keys), p(&mut bins), p(&mut low), p(&mut product)];
        assert_eq!(seen(context.call("counts", &params, &[n.into()])), Ok(()));
        let mut expected = [0; 4];
        keys.iter().for_each(|key| expected[(*key & 3) as usize] += 1);
        assert_eq!(bins, expected);
        assert_eq!(low[0], keys.iter().map(|&key| key as f32).fold(f32::NAN, f32::min));
        let wide = || keys.iter().map(|&key| i64::from(key) as u64);
        assert_eq!(product[0], 3_u64.wrapping_pow(n as u32));
        assert_eq!(product[1], wide().fold(0, |a, b| a ^ b));
        assert_eq!(product[2], wide().fold(0, u64::max));
        assert_eq!(product[3], wide().fold(0, |a, b| a | b));
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Best {
    v: f32,
    i: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    best: Best,
    weight: f64,
}

#[test]
fn conflicting_relaxed_stores_store_one_of_the_values() {
    for (_, module) in Module::all() {
        let n = 40_000;
        let mut idx: Vec<i32> = (0..n).map(|i| i % 64).collect();
        let mut out = vec![Best { v: -1.0, i: -1 }; 65];
        let mut flags = vec![false; 65];
        let context = module.context(4);
        let result = context.call("scatter", &[p(&mut idx), p(&mut out), p(&mut flags)], &[n.into()]);
        assert_eq!(seen(result), Ok(()));
        assert!((0..64).all(|at| out[at as usize] == Best { v: at as f32, i: at } && flags[at as usize]));
        assert_eq!((out[64].i, flags[64]), (-1, false));
    }
}

#[test]
fn fields_of_fields_are_read_and_written() {
    for (_, module) in Module::all() {
        let n = 1000;
        let mut pairs: Vec<Pair> = (0..n).map(|i| Pair { best: Best { v: 9.0, i: 9 }, weight: f64::from(i) }).collect();
        assert_eq!(seen(module.context(2).call("bests", &[p(&mut pairs)], &[n.into()])), Ok(()));
        for (i, pair) in (0..n).zip(&pairs) {
            assert_eq!(*pair, Pair { best: Best { v: 1.5, i: 2 * i }, weight: f64::from(i) + 0.1 });
        }
    }
}

#[test]
fn host_control_flow() {
    for (_, module) in Module::all() {
        let context = module.context(2);
        let run = |first: i64| {
            let (mut x, mut out) = ([first, 1, 2, 3], [-1_i64; 4]);
            let result = context.call("host_flow", &[p(&mut x), p(&mut out)], &[4]);
            (seen(result), out)
        };
        let sum = 9 * 3 + 1000 + 2000 + (1 + 2 + 6 + 7 + 8 + 9);
        assert_eq!(run(5), (Ok(()), [sum, 1, 42, 99]));
        assert_eq!(run(-5), (Ok(()), [sum, 0, 42, 99]));
        assert_eq!(run(77), (fault(1, &[i64::MIN]), [sum, 1, 42, -1]));
        assert_eq!(run(78), (Ok(()), [sum, 1, 42, -1]));
        let held = context.bytes();
        (0..50).for_each(|_| assert_eq!(run(77).0, fault(1, &[i64::MIN])));
        assert_eq!(context.bytes(), held, "faults release what was allocated");
    }
}

#[test]
fn streamed_tiles_reach_every_alignment() {
    for (_, module) in Module::all() {
        for (n, offset) in [(1, 0), (99, 1), (100, 2), (101, 3), (12_345, 15), (12_345, 0)] {
            let mut x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let mut out = vec![-1.0_f32; n as usize + 32];
            let params = [p(&mut x), p(&mut out[offset..])];
            assert_eq!(seen(module.context(3).call("stream", &params, &[n])), Ok(()));
            assert!((0..n as usize).all(|i| out[offset + i] == 2.0 * i as f32));
            let outside = out[..offset].iter().chain(&out[offset + n as usize..]);
            assert!(outside.into_iter().all(|&value| value == -1.0));
        }
    }
}

#[test]
fn a_trap_in_a_scalar_function_ends_its_loops_and_the_part() {
    for (_, module) in Module::all() {
        let n = 1000;
        let (mut a, mut b) = (vec![1024_i64; n], vec![2_i64; n]);
        let (mut out, mut m) = (vec![0_i64; n], vec![0_u32; n]);
        a[3] = 14;
        let context = module.context(2);
        let mut run = |a: &mut [i64], b: &mut [i64]| {
            let params = [p(a), p(b), p(&mut out), p(&mut m)];
            let result = seen(context.call("traps", &params, &[n as i64]));
            (result, out.clone(), m.clone())
        };
        let (result, out, m) = run(&mut a, &mut b);
        assert_eq!(result, Ok(()));
        assert_eq!((out[0], out[3], m[7]), (10, 2, 4_100_000_000));
        b[500] = 0;
        b[900] = 0;
        a[500] = 555;
        assert_eq!(run(&mut a, &mut b).0, fault(1, &[555]));
    }
}

#[test]
fn allocations_that_cannot_succeed_are_faults() {
    for (_, module) in Module::all() {
        let context = module.context(2);
        let mut out = [0_i64];
        assert_eq!(seen(context.call("huge", &[p(&mut out)], &[0])), fault(0, &[1 << 53]));
        assert_eq!(seen(context.call("huge", &[p(&mut out)], &[1])), fault(1, &[i64::MAX]));
        assert_eq!(out, [0]);
    }
}

#[test]
fn workers_are_numbered_by_their_threads() {
    for (_, module) in Module::all() {
        let (mut count, mut index) = ([0_i64], vec![-1_i64; 103]);
        assert_eq!(seen(module.context(3).call("workers", &[p(&mut count), p(&mut index)], &[103])), Ok(()));
        assert_eq!(count, [3]);
        // Which thread takes a part, a multiple of four, is open; it takes all of it.
        for grain in index.chunks(4) {
            assert!((0..3).contains(&grain[0]) && grain.iter().all(|index| *index == grain[0]), "{index:?}");
        }
    }
}

#[test]
fn reductions_of_simd_loops_ignore_nan() {
    for (_, module) in Module::all() {
        let n = 1003;
        let mut x: Vec<f32> = (0..n).map(|i| if i % 3 == 0 { f32::NAN } else { i as f32 - 500.0 }).collect();
        let (mut out, mut any, mut sums) = ([0.0_f32; 2], [true], [0_i32; 2]);
        let context = module.context(1);
        let mut run = |x: &mut [f32]| {
            let params = [p(x), p(&mut out), p(&mut any), p(&mut sums)];
            assert_eq!(seen(context.call("extremes", &params, &[n])), Ok(()));
            (out, any[0], sums)
        };
        assert_eq!(run(&mut x), ([-499.0, 501.0], false, [-499, 0]));
        x[1002] = -1e10;
        assert_eq!(run(&mut x), ([-1e10, 501.0], true, [i32::MIN, 0]));
        let (out, ..) = run(&mut vec![f32::NAN; n as usize]);
        // Lanes start at the neutral element, so there the infinities remain.
        assert_eq!(out, [f32::INFINITY, f32::NEG_INFINITY]);
    }
}

#[test]
fn primitives_get_operators_and_sites() {
    for (_, module) in Module::all() {
        let context = module.context(2);
        let run = |values: &[i64]| {
            let (mut x, mut out) = (values.to_vec(), [0_i64; 2]);
            (seen(context.call("primitive", &[p(&mut x), p(&mut out)], &[values.len() as i64])), out)
        };
        assert_eq!(run(&[9, 100, 5, 2]), (Ok(()), [107, 10]));
        assert_eq!(run(&[9, 100, 5]).0, fault(0, &[2]));
        assert_eq!(run(&[9, 100, 0, 2]).0, fault(1, &[100]));
    }
}

#[test]
fn several_threads_call_at_once() {
    for (_, module) in Module::all() {
        let context = module.context(2);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let context = &context;
                scope.spawn(move || {
                    for round in 0..20 {
                        let n = 3000 + thread * 100 + round;
                        let (mut x, mut y) = (vec![2.0_f32; n], vec![3.0_f32; n]);
                        let mut out = [0.0_f32];
                        let params = [p(&mut x), p(&mut y), p(&mut out)];
                        assert_eq!(seen(context.call("dot", &params, &[n as i64])), Ok(()));
                        assert_eq!(out[0], 6.0 * n as f32);
                    }
                });
            }
        });
    }
}

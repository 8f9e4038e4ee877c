//! More than 2^31 elements: 2^31 + 64 bytes, ignored unless asked for. Needs 7 GiB of memory:
//! `cargo xtask bench huge`.
#![cfg(feature = "prim")]

use hidp_std::Context;
use hidp_std::prim::{self, Front, Op, Order, segmented};

const N: usize = (1 << 31) + 64;

/// Element i of 1, 2, 3, … as bytes.
fn counted(i: usize) -> i8 {
    (i + 1) as u8 as i8
}

/// Places around every power of two from 2^24, and at both ends.
fn places() -> impl Iterator<Item = usize> {
    let powers = (24..=31).flat_map(|power| [-129i64, -1, 0, 1, 63].map(|by| ((1i64 << power) + by) as usize));
    powers.chain([0, 1, 255, N - 2, N - 1])
}

/// Every value as often as the others, but those of the last 64 elements once more.
fn check_sorted(data: &[i8]) {
    let mut at = 0;
    for value in i8::MIN..=i8::MAX {
        let more = usize::from((1..=64).contains(&value));
        let count = (1 << 23) + more;
        assert_eq!((data[at], data[at + count / 2], data[at + count - 1]), (value, value, value), "from {at}");
        at += count;
    }
    assert_eq!(at, N);
}

#[test]
#[ignore = "needs 7 GiB of memory"]
fn primitives_of_more_than_2_to_the_31_bytes() {
    let cx = Context::cpu().unwrap();
    let mut data = vec![1i8; N];
    prim::scan(&cx, &mut data, Op::Add).unwrap();
    places().for_each(|i| assert_eq!(data[i], counted(i), "scan at {i}"));
    assert_eq!(prim::reduce(&cx, &data, Op::Add).unwrap(), (1..=64).sum::<i64>() as u8 as i8);
    assert_eq!((prim::min(&cx, &data).unwrap(), prim::max(&cx, &data).unwrap()), (Some(i8::MIN), Some(i8::MAX)));

    prim::reverse(&cx, &mut data).unwrap();
    places().for_each(|i| assert_eq!(data[N - 1 - i], counted(i), "reverse at {i}"));
    prim::reverse(&cx, &mut data).unwrap();

    let mut output = vec![0i8; N];
    let front = prim::partition(&cx, &data, &mut output, Front::Less, 0).unwrap();
    assert_eq!(front, 1 << 30);
    // Of every 256 elements the 128 from the 128th on are negative.
    for i in places().map(|i| i / 2).filter(|i| *i < front) {
        assert_eq!(output[i], counted(i / 128 * 256 + 127 + i % 128), "front at {i}");
    }
    assert_eq!((output[front], output[N - 1]), (1, 64));
    drop(output);

    // One segment of more than 2^31 elements beside a short one.
    let (low, high) = ([64, 0], [N as i64, 64]);
    let mut sums = [0i8; 2];
    segmented::reduce(&cx, &data, &low, &high, Op::Max, &mut sums).unwrap();
    assert_eq!(sums, [i8::MAX, 64]);
    segmented::reverse(&cx, &mut data, &low, &high).unwrap();
    assert_eq!((data[0], data[64], data[N - 1]), (64, 64, 65));

    prim::sort(&cx, &mut data, Order::Ascending).unwrap();
    check_sorted(&data);
}

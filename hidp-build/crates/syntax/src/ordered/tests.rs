//! The maps and sets beside those of the standard library.

use std::collections::{BTreeMap, BTreeSet};

use super::{OrdMap, OrdSet};

/// Numbers below 40 that follow from a seed, in no order.
fn numbers(seed: u64, count: usize) -> impl Iterator<Item = u8> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8 % 40
    })
    .take(count)
}

#[test]
fn a_map_holds_what_the_standard_map_holds() {
    let (mut ours, mut theirs) = (OrdMap::new(), BTreeMap::new());
    for (at, key) in numbers(1, 2000).enumerate() {
        match at % 7 {
            0 | 1 => assert_eq!(ours.insert(key, at), theirs.insert(key, at)),
            2 => assert_eq!(ours.remove(&key), theirs.remove(&key)),
            3 => assert_eq!(
                ours.entry(key).and_modify(|value| *value += 1).or_insert(at),
                theirs.entry(key).and_modify(|value| *value += 1).or_insert(at)
            ),
            4 => assert_eq!(ours.get(&key), theirs.get(&key)),
            5 => assert!(
                ours.range(key / 2..key).eq(theirs.range(key / 2..key)) && ours.range(..=key).eq(theirs.range(..=key))
            ),
            _ => assert!(
                ours.iter().eq(&theirs)
                    && ours.keys().rev().eq(theirs.keys().rev())
                    && ours.values().eq(theirs.values())
            ),
        }
        assert_eq!(
            (ours.first_key_value(), ours.last_key_value()),
            (theirs.first_key_value(), theirs.last_key_value())
        );
    }
    assert_eq!(
        ours.split_off(&20).into_iter().collect::<Vec<_>>(),
        theirs.split_off(&20).into_iter().collect::<Vec<_>>()
    );
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
}

#[test]
fn sets_combine_as_the_standard_sets_do() {
    for seed in 0..40 {
        let of = |seed| numbers(seed, 2 + seed as usize % 30);
        let (a, b): (OrdSet<u8>, OrdSet<u8>) = (of(seed).collect(), of(seed + 100).collect());
        let (x, y): (BTreeSet<u8>, BTreeSet<u8>) = (of(seed).collect(), of(seed + 100).collect());
        assert!(
            a.iter().eq(&x)
                && a.union(&b).eq(x.union(&y))
                && a.difference(&b).eq(x.difference(&y))
                && (&a - &b).iter().eq(&(&x - &y))
        );
        assert!(a.intersection(&b).eq(x.intersection(&y)) && a.range(3..17).eq(x.range(3..17)));
        assert_eq!((a.is_disjoint(&b), a.is_subset(&b)), (x.is_disjoint(&y), x.is_subset(&y)));
        assert_eq!((a.first(), a.last(), a.contains(&7), a < b), (x.first(), x.last(), x.contains(&7), x < y));
    }
}

#[test]
fn elements_leave_a_set_in_their_order() {
    let mut set: OrdSet<u8> = numbers(3, 60).collect();
    let mut other = OrdSet::from([200, 100]);
    set.append(&mut other);
    assert!(other.is_empty() && !set.insert(200) && set.insert(150) && set.remove(&100) && !set.remove(&100));
    let mut taken = Vec::new();
    while let Some(element) = set.pop_first() {
        taken.push(element);
    }
    assert!(taken.is_sorted() && taken.ends_with(&[150, 200]));
}

//! `parse(print(tree))` is `tree`.

use super::{PROGRAMS, Parsed, Random, parsed, random, without_spans};
use crate::print;

pub(super) fn assert_round_trip(original: &Parsed) {
    let printed = print(&original.tree);
    let again = parsed(&printed);
    assert_eq!(again.errors().next(), None, "{printed}");
    assert_eq!(without_spans(&again.tree), without_spans(&original.tree), "{printed}");
}

#[test]
fn programs_survive_printing() {
    for program in PROGRAMS {
        let tree = parsed(program);
        assert_eq!(tree.diagnostics, [], "{program}");
        assert!(!tree.tree.items.is_empty());
        assert_round_trip(&tree);
    }
}

#[test]
fn random_trees_survive_printing() {
    for seed in 1..600 {
        let tree = random::file(&mut Random(seed * 0x9e37_79b9));
        let printed = print(&tree);
        let again = parsed(&printed);
        assert_eq!(again.diagnostics, [], "seed {seed}:\n{printed}");
        assert_eq!(without_spans(&again.tree), without_spans(&tree), "seed {seed}:\n{printed}");
        assert_eq!(print(&again.tree), printed, "seed {seed}");
    }
}

/// The generator is only worth its name if every kind of node comes out of it.
#[test]
fn random_trees_hold_everything() {
    let all: String = (1..100).map(|seed| format!("{:?}", random::file(&mut Random(seed * 7919)))).collect();
    let kinds = [
        "Import(",
        "Const(",
        "Struct(",
        "Function(",
        "Scalar(",
        "Declare(",
        "Assign(",
        "Atomic(",
        "If {",
        "For {",
        "While {",
        "Break",
        "Continue",
        "Return(Some",
        "Return(None",
        "Block(",
        "Call(",
        "Swap(",
        "Map(",
        "Operator {",
        "WithNeutral {",
        "Over {",
        "Literal(",
        "Name(",
        "Index {",
        "Field {",
        "Unary {",
        "Binary {",
        "Select {",
        "Cast {",
        "Limit {",
        "Struct {",
        "At(",
        "Range(",
        "All(",
        "Int {",
        "Float {",
        "Char(",
        "Bool(",
        "Infinity",
        "Nan",
        "Level(",
        "Ordered",
        "Unordered",
        "Unchecked",
        "NoContract",
        "BlockSize(",
        "Unroll(",
        "native: true",
        "body: None",
        "is_static: true",
    ];
    for kind in kinds {
        assert!(all.contains(kind), "no {kind}");
    }
}

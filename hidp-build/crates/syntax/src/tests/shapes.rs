//! What belongs together: precedence, associativity, and what binds comments.

use super::{parsed, without_spans};
use crate::ast::Item;

/// The tree of a statement inside a function.
fn statement(text: &str) -> String {
    let result = parsed(&format!("function f\n{{ {text} }}"));
    assert_eq!(result.diagnostics, [], "{text}");
    without_spans(&result.tree)
}

fn expression(text: &str) -> String {
    statement(&format!("x = {text};"))
}

#[test]
fn operators_bind_as_in_c() {
    let pairs = [
        ("a + b * c", "a + (b * c)"),
        ("a * b + c", "(a * b) + c"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c % d", "((a / b) * c) % d"),
        ("a << b + c", "a << (b + c)"),
        ("a < b << c", "a < (b << c)"),
        ("a == b < c", "a == (b < c)"),
        ("a & b == c", "a & (b == c)"),
        ("a ^ b & c", "a ^ (b & c)"),
        ("a | b ^ c", "a | (b ^ c)"),
        ("a && b | c", "a && (b | c)"),
        ("a || b && c", "a || (b && c)"),
        ("a || b ? c : d", "(a || b) ? c : d"),
        ("a ? b : c ? d : e", "a ? b : (c ? d : e)"),
        ("a ? b ? c : d : e", "a ? (b ? c : d) : e"),
        ("-a * b", "(-a) * b"),
        ("-a.b", "-(a.b)"),
        ("!a[0]", "!(a[0])"),
        ("~-a", "~(-a)"),
        ("(int)a * b", "((int)a) * b"),
        ("(int)a[0]", "(int)(a[0])"),
        ("(int)-a", "(int)(-a)"),
        ("-(int)a", "-((int)a)"),
        ("a != b == c", "(a != b) == c"),
        ("a >= b >> c", "a >= (b >> c)"),
    ];
    for (plain, explicit) in pairs {
        assert_eq!(expression(plain), expression(explicit), "{plain}");
    }
    assert_ne!(expression("(a + b) * c"), expression("a + b * c"));
    assert_ne!(expression("a - (b - c)"), expression("a - b - c"));
    assert_ne!(expression("(a[0])[1]"), expression("a[0][1]"));
    assert_ne!(expression("int(a)"), expression("(int)a"));
}

#[test]
fn bodies_without_braces_are_blocks() {
    let pairs = [
        ("if (a) b = 1;", "if (a) { b = 1; }"),
        ("if (a) b = 1; else c = 2;", "if (a) { b = 1; } else { c = 2; }"),
        ("if (a) if (b) c = 1; else d = 2;", "if (a) { if (b) { c = 1; } else { d = 2; } }"),
        ("if (a) { } else if (b) c = 1; else d = 2;", "if (a) { } else { if (b) { c = 1; } else { d = 2; } }"),
        ("for (;;) while (a) b += 1;", "for (;;) { while (a) { b += 1; } }"),
    ];
    for (plain, explicit) in pairs {
        assert_eq!(statement(plain), statement(explicit), "{plain}");
    }
}

#[test]
fn folds_over_iterators_are_suffixes_and_others_are_statements() {
    let with_suffixes = "map { i := [0:2); j := [0:2); _t = 1; } reduce(\"+\", a, _t, i := [*], j := [*]);";
    let result = statement(with_suffixes);
    assert!(result.contains("suffixes: [Call"), "{result}");
    let with_statement = "map { i := [0:2); _t = 1; } reduce(\"+\", a, b, 2);";
    let result = statement(with_statement);
    assert!(result.contains("suffixes: []") && result.contains("kind: Call(Call"), "{result}");
}

fn docs(text: &str) -> Vec<String> {
    let result = parsed(text);
    assert_eq!(result.errors().next(), None, "{text}");
    match result.tree.items.into_iter().next_back() {
        Some(Item::Function(function)) => function.doc,
        Some(Item::Scalar(function)) => function.doc,
        Some(Item::Struct(item)) => item.doc,
        Some(Item::Recurrence(recurrence)) => recurrence.doc,
        Some(Item::Codelet(codelet)) => codelet.doc,
        Some(Item::Import(_) | Item::Const(_)) | None => panic!("no item with a comment in {text}"),
    }
}

#[test]
fn comments_directly_above_document() {
    assert_eq!(docs("# One.\n// Two.\n/* Three. */\nfunction f { }"), ["One.", "Two.", "Three."]);
    assert_eq!(docs("/**\n * One.\n *\n *   Two.\n */\nstruct S { int i; }"), ["One.", "", "  Two."]);
    assert_eq!(docs("##  One. \r\nfunction int f() { return 1; }"), [" One."]);
    assert_eq!(docs("# One.\n#pragma hidp unchecked\nfunction f { }"), ["One."]);
    assert_eq!(docs("#pragma hidp unchecked\n# One.\nfunction f { }"), ["One."]);
    assert_eq!(docs("  // One.\n  extern struct S;"), ["One."]);
}

#[test]
fn other_comments_do_not() {
    assert_eq!(docs("# Of the file.\n\nfunction f { }"), [""; 0]);
    assert_eq!(docs("# Above.\n\n# Directly above.\nfunction f { }"), ["Directly above."]);
    assert_eq!(docs("const int A = 1; # Of the constant.\nfunction f { }"), [""; 0]);
    assert_eq!(docs("function f # Of its line.\n{ }"), [""; 0]);
    assert_eq!(docs("/* Before it. */ function f { }"), [""; 0]);
}

//! Positions: what messages underline and generated code refers to.

use super::{Parsed, parsed};
use crate::ast::{ExprKind, Function, Item, Map, Stmt, StmtKind, Subscript};
use crate::source::Span;

const PROGRAM: &str = "\
# Doc.
#pragma hidp nocontract
function f
input float a[N], A[N + 1][M];
output float _s;
{
  #pragma hidp block(64)
  map { i := (0:N:2]; _t = (a[i] + A[i][0]) * 2; } reduce(\"+\", _s, _t, i := [*]);
  A[1:M - 2][*] = 0;
}
";

struct Program(Parsed);

impl Program {
    fn text(&self, span: Span) -> &str {
        self.0.sources.snippet(span)
    }

    fn function(&self) -> &Function {
        match &self.0.tree.items[..] {
            [Item::Function(function)] => function,
            other => panic!("{other:?}"),
        }
    }

    fn map(&self) -> (&Stmt, &Map) {
        match &self.function().body.stmts[0] {
            stmt @ Stmt { kind: StmtKind::Map(map), .. } => (stmt, map),
            other => panic!("{other:?}"),
        }
    }
}

fn program() -> Program {
    let result = parsed(PROGRAM);
    assert_eq!(result.diagnostics, []);
    Program(result)
}

#[test]
fn items_and_parameters() {
    let program = program();
    let function = program.function();
    assert!(program.text(function.span).starts_with("#pragma hidp nocontract\nfunction f"));
    assert!(program.text(function.span).ends_with("= 0;\n}"));
    assert_eq!(program.text(function.header_span), "function f\ninput float a[N], A[N + 1][M];\noutput float _s;");
    assert_eq!(program.text(function.params[1].span), "A[N + 1][M]");
    assert_eq!(program.text(function.params[1].dims[0].span), "N + 1");
    assert_eq!(program.text(function.params[2].ty.span), "float");
    assert_eq!(program.text(function.directives[0].span), "nocontract");
}

#[test]
fn maps() {
    let program = program();
    let (stmt, map) = program.map();
    assert!(program.text(stmt.span).starts_with("#pragma hidp block(64)"));
    assert!(program.text(stmt.span).ends_with("i := [*]);"));
    assert_eq!(program.text(stmt.directives[0].span), "block(64)");
    assert_eq!(program.text(map.map_span), "map");
    assert_eq!(program.text(map.iters[0].span), "i := (0:N:2]");
    assert_eq!(program.text(map.iters[0].range.span), "(0:N:2]");
    assert!(program.text(map.body.span).starts_with("{ i :=") && program.text(map.body.span).ends_with("2; }"));
    assert_eq!(program.text(map.suffixes[0].callee.span), "reduce");
}

#[test]
fn expressions_include_their_parentheses() {
    let program = program();
    let (_, map) = program.map();
    let StmtKind::Assign(assign) = &map.body.stmts[0].kind else { panic!("an assignment") };
    assert_eq!(program.text(map.body.stmts[0].span), "_t = (a[i] + A[i][0]) * 2;");
    assert_eq!(program.text(assign.value.span), "(a[i] + A[i][0]) * 2");
    let ExprKind::Binary { left, op_span, .. } = &assign.value.kind else { panic!("a product") };
    assert_eq!((program.text(left.span), program.text(*op_span)), ("(a[i] + A[i][0])", "*"));
    let ExprKind::Binary { right, .. } = &left.kind else { panic!("a sum") };
    assert_eq!(program.text(right.span), "A[i][0]");
}

#[test]
fn sections() {
    let program = program();
    let StmtKind::Assign(assign) = &program.function().body.stmts[1].kind else { panic!("an assignment") };
    let ExprKind::Index { subscripts, .. } = &assign.target.kind else { panic!("a section") };
    let [Subscript::Range(range), Subscript::All(all)] = &subscripts[..] else { panic!("two sections") };
    assert_eq!((program.text(range.span), program.text(*all)), ("[1:M - 2]", "[*]"));
    assert_eq!(program.text(assign.target.span), "A[1:M - 2][*]");
}

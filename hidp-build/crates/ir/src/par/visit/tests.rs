use super::*;
use crate::par::{Access, BinOp, Var, VarKind};
use hidp_syntax::index::Arena;
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{FileId, Span};
use hidp_syntax::ty::Ty;

fn span() -> Span {
    Span::new(FileId::new(0), 0, 0)
}
fn var(index: usize) -> VarId {
    VarId::new(index)
}
fn long(name: &str, shape: Vec<Expr>) -> Var {
    Var { name: name.into(), ty: Ty::LONG, shape, kind: VarKind::Local, span: span() }
}
/// `declare t[n]; t[n + 1] = n;` over `n` (v0) and `t` (v1).
fn example() -> (Arena<VarId, Var>, Block) {
    let read = || Expr::read(var(0), Ty::LONG, span());
    let mut vars = Arena::new();
    vars.push(long("n", vec![]));
    vars.push(long("t", vec![read()]));
    let place = Place {
        array: var(1),
        index: vec![Expr::long(BinOp::Add, read(), Expr::int(1, span()))],
        path: vec![],
        unproved: 1,
        access: Access::Exclusive,
        span: span(),
    };
    let stmts = vec![
        Stmt { kind: StmtKind::Declare { var: var(1), zero: true }, span: span() },
        Stmt { kind: StmtKind::Store { place, value: read() }, span: span() },
    ];
    (vars, Block { stmts })
}

#[test]
fn every_occurrence_has_its_role() {
    let (_, block) = example();
    let mut seen = Vec::new();
    walk_vars(&block, |var, role| seen.push((var.index(), role)));
    assert_eq!(seen, [(1, Role::Declare), (0, Role::Read), (0, Role::Read), (1, Role::Write)]);
}

#[test]
fn substitution_reaches_indices() {
    let (_, mut block) = example();
    substitute(&mut block, |read| (read == var(0)).then(|| Expr::int(7, span())));
    let mut constants = Vec::new();
    walk_exprs(&block, |expr| constants.extend(expr.as_int()));
    assert_eq!(constants, [7, 7, 1]);
}

#[test]
fn clones_get_fresh_locals_with_renamed_extents() {
    let (vars, block) = example();
    let mut into = Arena::new();
    let outer = into.push(long("m", vec![]));
    let mut map = OrdMap::from([(var(0), var(5))]);
    let copy = clone_block(&block, &vars, &mut into, &mut map);
    let fresh = map[&var(1)];
    assert_ne!(fresh, outer);
    assert_eq!(declared(&copy), [fresh]);
    let mut extent = Vec::new();
    walk_expr_vars(&into[fresh].shape[0], |read, _| extent.push(read));
    assert_eq!(extent, [var(5)]);
}

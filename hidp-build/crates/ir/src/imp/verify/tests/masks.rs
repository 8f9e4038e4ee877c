//! Who executes what in groups of lanes, and whose values are read: each rule broken once.

use super::wide::load;
use super::wide::*;
use super::*;
use crate::imp::{SetLanes, Wide, WideElement, WideIndex, WideKind, WideStmt};
use crate::par::UnOp;

const NAMED: &str = "lanes that are named have an iteration";
const OTHERS: &str = "lanes read what was given to them";
const NOBODY: &str = "where some lane is";
const NOT_HERE: &str = "are those that are here";
const FOR_ALL: &str = "a value for all lanes is known in all of them";

fn value() -> Wide {
    var(VALUE, Scalar::F32)
}
fn mask(at: usize) -> Wide {
    var(at, Scalar::Bool)
}
fn boolean(op: BinOp, a: Wide, b: Wide) -> Wide {
    wide(WideKind::Binary(op, Box::new(a), Box::new(b)), Scalar::Bool)
}
fn below(value: Wide) -> Wide {
    boolean(BinOp::Lt, value, splat(float()))
}
fn here(at: usize) -> Stmt {
    Stmt::Wide(WideStmt::Here(VarId::new(at)))
}
fn gets(at: usize, value: Wide, lanes: SetLanes) -> Stmt {
    Stmt::Wide(WideStmt::Set { var: VarId::new(at), value, lanes })
}
fn only(at: usize) -> SetLanes {
    SetLanes::Only(VarId::new(at))
}
fn any(at: usize) -> Expr {
    expr(ExprKind::Any(VarId::new(at)), Ty::BOOL)
}
fn when(cond: Expr, stmts: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, then: Block { stmts }, otherwise: Block::default() }
}
fn unless_any(at: usize) -> Expr {
    expr(ExprKind::Unary(UnOp::Not, Box::new(any(at))), Ty::BOOL)
}
fn loaded() -> Stmt {
    define(VALUE, Some(load(every(0, Some(HERE)))))
}
fn out(mask: usize) -> Stmt {
    put(every(1, Some(mask)), value())
}
/// Of the lanes that are here, those whose value is below 1.
fn some() -> Stmt {
    define(MASK, Some(boolean(BinOp::And, mask(HERE), below(value()))))
}
/// A side of a branch, and what follows it.
fn side(stmts: Vec<Stmt>, after: Vec<Stmt>) -> Vec<Stmt> {
    [vec![loaded(), some(), here(MASK)], stmts, vec![here(HERE)], after].concat()
}

#[test]
fn lanes_that_read_a_variable_later_keep_it() {
    let doubled = || wide(WideKind::Binary(BinOp::Add, Box::new(value()), Box::new(value())), Scalar::F32);
    assert_eq!(inside(side(vec![gets(VALUE, doubled(), only(MASK))], vec![out(HERE)])), [""; 0]);
    assert_eq!(inside(side(vec![gets(VALUE, doubled(), SetLanes::Here), out(MASK)], vec![])), [""; 0]);
    fails(inside(side(vec![gets(VALUE, doubled(), SetLanes::Here)], vec![out(HERE)])), OTHERS);
    let again = vec![loaded_anew(), out(HERE)];
    assert_eq!(inside(side(vec![gets(VALUE, doubled(), SetLanes::Here)], again)), [""; 0]);
}

fn loaded_anew() -> Stmt {
    gets(VALUE, load(every(0, Some(HERE))), SetLanes::Here)
}

#[test]
fn who_stores_is_who_is_here() {
    assert_eq!(inside(side(vec![out(MASK)], vec![])), [""; 0]);
    fails(inside(side(vec![out(HERE)], vec![])), NOT_HERE);
    fails(inside(side(vec![], vec![out(MASK)])), NOT_HERE);
    fails(inside(side(vec![gets(VALUE, splat(float()), only(HERE))], vec![])), NOT_HERE);
    fails(inside(side(vec![in_turn(HERE, LANE, VALUE, vec![])], vec![])), NOT_HERE);
    let update = |mask: usize| {
        let target = WideElement { relaxed: true, ..every(1, Some(mask)) };
        vec![Stmt::Wide(WideStmt::Update { target, op: FoldFn::Add, value: value() })]
    };
    assert_eq!(inside(side(update(MASK), vec![])), [""; 0]);
    fails(inside(side(update(HERE), vec![])), NOT_HERE);
    assert_eq!(inside(side(add_up(MASK, NUMBERS), vec![])), [""; 0]);
    fails(inside(side(add_up(HERE, NUMBERS), vec![])), NOT_HERE);
}

#[test]
fn lanes_that_are_named_have_an_iteration() {
    let holds = |init: Wide, named: Stmt| inside(vec![loaded(), define(MASK, Some(init)), named]);
    assert_eq!(holds(boolean(BinOp::And, below(value()), mask(HERE)), here(MASK)), [""; 0]);
    fails(holds(below(value()), here(MASK)), NAMED);
    fails(holds(boolean(BinOp::Or, mask(HERE), below(value())), here(MASK)), NAMED);
    fails(holds(below(value()), define(OTHER_VALUE, Some(load(every(0, Some(MASK)))))), NAMED);
    fails(holds(below(value()), when(any(MASK), vec![])), NAMED);
    // A mask that other lanes hold anything in says nothing of them.
    let left = boolean(BinOp::And, mask(HERE), below(value()));
    let set = vec![gets(MASK, left, SetLanes::Here)];
    fails(inside(side(set, vec![here(MASK)])), NAMED);
}

#[test]
fn a_value_for_all_lanes_is_known_in_all() {
    let left = || boolean(BinOp::And, mask(MASK), below(value()));
    assert_eq!(inside(side(vec![gets(MASK, left(), SetLanes::All)], vec![here(MASK)])), [""; 0]);
    fails(inside(side(vec![gets(MASK, below(value()), SetLanes::All)], vec![])), FOR_ALL);
}

#[test]
fn what_is_the_same_in_all_lanes_asks_for_one() {
    let number = || vec![Stmt::Let { var: VarId::new(6), init: Some(super::load(0, int(0))) }];
    assert_eq!(inside(number()), [""; 0]);
    fails(inside(side(number(), vec![])), NOBODY);
    assert_eq!(inside(side(vec![when(any(MASK), number())], vec![])), [""; 0]);
    fails(inside(side(vec![when(any(HERE), number())], vec![])), NOBODY);
    let ratio = expr(ExprKind::Binary(BinOp::Div, Box::new(int(7)), Box::new(long(5))), Ty::LONG);
    let divided = || vec![define_long(int(3)), Stmt::Set { var: VarId::new(5), path: vec![], value: ratio.clone() }];
    assert_eq!(inside(divided()), [""; 0]);
    fails(inside(side(divided(), vec![])), NOBODY);
    let element = |at: Expr| WideElement { index: WideIndex::Own(Box::new(at)), ..own(TILE, 0) };
    let tile = || vec![define_long(int(1)), define(TILE, None), put(element(long(5)), value())];
    fails(inside(side(tile(), vec![])), NOBODY);
}

fn define_long(init: Expr) -> Stmt {
    Stmt::Let { var: VarId::new(5), init: Some(init) }
}

#[test]
fn scalars_of_a_side_are_not_read_behind_it() {
    let set = || vec![Stmt::Set { var: VarId::new(5), path: vec![], value: int(1) }];
    let read = |at: Expr| gets(VALUE, load(element_at(at)), SetLanes::Here);
    let program = |after: Vec<Stmt>| inside([vec![define_long(int(0))], side(set(), after)].concat());
    assert_eq!(program(vec![]), [""; 0]);
    fails(program(vec![read(long(5))]), OTHERS);
    fails(
        program(vec![when(expr(ExprKind::Binary(BinOp::Lt, Box::new(long(5)), Box::new(int(3))), Ty::BOOL), vec![])]),
        OTHERS,
    );
}

fn element_at(first: Expr) -> WideElement {
    let index = WideIndex::Every { first: Box::new(first), stride: Box::new(int(1)) };
    WideElement { index, ..every(0, Some(HERE)) }
}

#[test]
fn arrays_of_lanes_are_read_by_those_that_filled_them() {
    let filled = |mask: Option<usize>| {
        let target = WideElement { mask: mask.map(VarId::new), ..own(TILE, 1) };
        let read = gets(VALUE, load(own(TILE, 1)), SetLanes::Here);
        inside([vec![define(TILE, None)], side(vec![put(target, splat(float()))], vec![read])].concat())
    };
    assert_eq!(filled(Some(MASK)), [""; 0]);
    fails(filled(None), OTHERS);
}

#[test]
fn divisors_are_those_of_lanes_that_divide() {
    let program = |chooses: usize| {
        let divisor = wide(WideKind::Cast(Box::new(value())), Scalar::I32);
        let one = || splat(expr(ExprKind::Int(1), Scalar::I32));
        let by = wide(WideKind::Select(Box::new(mask(chooses)), Box::new(divisor), Box::new(one())), Scalar::I32);
        let ratio = wide(WideKind::Binary(BinOp::Div, Box::new(one()), Box::new(by)), Scalar::I32);
        let ratio = wide(WideKind::Cast(Box::new(ratio)), Scalar::F32);
        let set = gets(VALUE, splat(float()), SetLanes::Here);
        inside(side(vec![set, define(OTHER_VALUE, Some(ratio))], vec![]))
    };
    assert_eq!(program(MASK), [""; 0]);
    fails(program(HERE), OTHERS);
}

/// Goes on while a lane's value is below 1: `inside` in each turn, `after` behind the loop.
fn looped(inside_of: Vec<Stmt>, step: Vec<Stmt>, after: Vec<Stmt>) -> Vec<String> {
    let left = boolean(BinOp::And, mask(MASK), below(value()));
    let test = vec![here(MASK), gets(MASK, left, SetLanes::All), when(unless_any(MASK), vec![Stmt::Break])];
    let body = Block { stmts: [test, inside_of].concat() };
    let step = Block { stmts: [vec![here(MASK)], step].concat() };
    let before = vec![loaded(), define(MASK, Some(mask(HERE)))];
    inside([before, vec![Stmt::Forever { body, step }], after].concat())
}

#[test]
fn turns_of_loops_are_those_of_lanes_that_stay() {
    let sum = || wide(WideKind::Binary(BinOp::Add, Box::new(value()), Box::new(splat(float()))), Scalar::F32);
    let add = |lanes: SetLanes| vec![gets(VALUE, sum(), lanes)];
    assert_eq!(looped(add(only(MASK)), vec![], vec![out(HERE)]), [""; 0]);
    assert_eq!(looped(add(SetLanes::Here), vec![], vec![]), [""; 0], "nobody reads it behind the loop");
    fails(looped(add(SetLanes::Here), vec![], vec![out(HERE)]), OTHERS);
    // What a lane loaded in the turn before is not there where it did not load.
    let number = || vec![Stmt::Let { var: VarId::new(6), init: Some(super::load(0, int(0))) }];
    assert_eq!(looped(vec![], number(), vec![]), [""; 0]);
    let leave = gets(MASK, boolean(BinOp::And, mask(MASK), below(value())), SetLanes::All);
    fails(looped(vec![leave.clone()], number(), vec![]), NOBODY);
    assert_eq!(looped(vec![leave, when(unless_any(MASK), vec![Stmt::Break])], number(), vec![]), [""; 0]);
}

#[test]
fn a_mask_that_grows_again_holds_lanes_that_know_nothing() {
    let sum = wide(WideKind::Binary(BinOp::Add, Box::new(value()), Box::new(splat(float()))), Scalar::F32);
    let grown = gets(MASK, mask(HERE), SetLanes::All);
    fails(looped(vec![gets(VALUE, sum, SetLanes::Here)], vec![grown], vec![]), OTHERS);
}

#[test]
fn arrays_from_outside_begin_anew() {
    let scratch =
        |var: usize| Stmt::Scratch { var: VarId::new(var), count: long(2), zero: false, site: SiteId::new(0) };
    let anew = |var: usize| Stmt::Wide(WideStmt::Anew(VarId::new(var)));
    let read = || vec![gets(VALUE, load(own(ALLOCATED, 1)), SetLanes::Here)];
    let program = |after: Vec<Stmt>| {
        let put = put(own(ALLOCATED, 1), splat(float()));
        outside(vec![scratch(ALLOCATED), group(LANES, side(vec![put], after))])
    };
    fails(program(read()), OTHERS);
    assert_eq!(program([vec![anew(ALLOCATED)], read()].concat()), [""; 0]);
    fails(inside(vec![define(TILE, None), anew(TILE)]), "an array of lanes from outside of the group");
}

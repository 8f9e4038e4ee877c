//! Groups of lanes: what they hold, and each rule broken once.

use super::*;
use crate::imp::{Again, Group, InTurn, Lanes, SetLanes, Taken, Wide, WideElement, WideIndex, WideKind, WideStmt};
use crate::par;

pub(super) const LANES: Lanes = Lanes { bits: 32, groups: 2 };
/// Variables beyond those of `kernel`: the first position, its mask, a wide float, a mask, a wide tile, a wide int of other lanes, a
/// wide tile that is allocated, the number of a lane, a lane's float, another wide float, a wide `long`.
pub(super) const FIRST: usize = 8;
pub(super) const HERE: usize = 9;
pub(super) const VALUE: usize = 10;
pub(super) const MASK: usize = 11;
pub(super) const TILE: usize = 12;
pub(super) const OTHER: usize = 13;
pub(super) const ALLOCATED: usize = 14;
pub(super) const LANE: usize = 15;
pub(super) const OF_LANE: usize = 16;
pub(super) const OTHER_VALUE: usize = 17;
pub(super) const NUMBERS: usize = 18;
/// A `long` value outside of the lanes.
const SUM: usize = 4;

pub(super) fn wide(kind: WideKind, ty: Scalar) -> Wide {
    Wide { kind, ty, lanes: LANES }
}
pub(super) fn var(at: usize, ty: Scalar) -> Wide {
    wide(WideKind::Var(VarId::new(at)), ty)
}
pub(super) fn splat(of: Expr) -> Wide {
    let ty = of.ty.scalar().expect("a scalar");
    wide(WideKind::Splat(Box::new(of)), ty)
}
pub(super) fn own(base: usize, at: i128) -> WideElement {
    WideElement {
        base: VarId::new(base),
        index: WideIndex::Own(Box::new(int(at))),
        path: Vec::new(),
        relaxed: false,
        mask: None,
    }
}
pub(super) fn every(base: usize, mask: Option<usize>) -> WideElement {
    let index = WideIndex::Every { first: Box::new(long(FIRST)), stride: Box::new(int(1)) };
    WideElement { base: VarId::new(base), index, path: Vec::new(), relaxed: false, mask: mask.map(VarId::new) }
}
pub(super) fn load(element: WideElement) -> Wide {
    wide(WideKind::Load(element), Scalar::F32)
}
pub(super) fn set(at: usize, value: Wide) -> Stmt {
    Stmt::Wide(WideStmt::Set { var: VarId::new(at), value, lanes: SetLanes::Only(VarId::new(HERE)) })
}
pub(super) fn define(at: usize, init: Option<Wide>) -> Stmt {
    Stmt::Wide(WideStmt::Let { var: VarId::new(at), init })
}
pub(super) fn put(target: WideElement, value: Wide) -> Stmt {
    Stmt::Wide(WideStmt::Store { target, value })
}

pub(super) fn with(stmts: Vec<Stmt>) -> Kernel {
    let mut kernel = kernel(stmts);
    let float = Scalar::F32;
    let kinds = [
        VarKind::Value(Ty::LONG),
        VarKind::Wide { elem: Scalar::Bool, lanes: LANES },
        VarKind::Wide { elem: float, lanes: LANES },
        VarKind::Wide { elem: Scalar::Bool, lanes: LANES },
        VarKind::WideTile { elem: float, len: Some(4), lanes: LANES },
        VarKind::Wide { elem: Scalar::I32, lanes: Lanes { bits: 64, groups: 1 } },
        VarKind::WideTile { elem: float, len: None, lanes: LANES },
        VarKind::Value(Ty::LONG),
        VarKind::Value(float.into()),
        VarKind::Wide { elem: float, lanes: LANES },
        VarKind::Wide { elem: Scalar::I64, lanes: LANES },
    ];
    for kind in kinds {
        kernel.function.vars.push(Var { name: "w".to_owned(), kind });
    }
    kernel
}

pub(super) fn group(lanes: Lanes, stmts: Vec<Stmt>) -> Stmt {
    let (lo, hi) = (long(2), long(3));
    let (first, here) = (VarId::new(FIRST), VarId::new(HERE));
    Stmt::Group(Box::new(Group { lanes, first, here, lo, hi, is_whole: false, body: Block { stmts }, again: None }))
}

pub(super) fn outside(stmts: Vec<Stmt>) -> Vec<String> {
    rules(&entry(with(stmts), 1))
}
pub(super) fn inside(stmts: Vec<Stmt>) -> Vec<String> {
    outside(vec![group(LANES, stmts)])
}
#[track_caller]
pub(super) fn fails(rules: Vec<String>, rule: &str) {
    assert!(rules.iter().any(|broken| broken.contains(rule)), "{rules:?} rather than {rule}");
}

#[test]
fn a_correct_group_passes() {
    let compared =
        wide(WideKind::Binary(BinOp::Lt, Box::new(var(VALUE, Scalar::F32)), Box::new(splat(float()))), Scalar::Bool);
    let taken = WideKind::Binary(BinOp::And, Box::new(var(HERE, Scalar::Bool)), Box::new(compared));
    let named = Stmt::Wide(WideStmt::Here(VarId::new(MASK)));
    let asked = Stmt::If {
        cond: expr(ExprKind::Any(VarId::new(MASK)), Ty::BOOL),
        then: Block { stmts: vec![named, put(every(1, Some(MASK)), var(VALUE, Scalar::F32))] },
        otherwise: Block::default(),
    };
    let stmts = vec![
        define(VALUE, Some(load(every(0, Some(HERE))))),
        define(MASK, Some(wide(taken, Scalar::Bool))),
        define(TILE, None),
        put(own(TILE, 1), var(VALUE, Scalar::F32)),
        set(VALUE, load(own(TILE, 1))),
        asked,
    ];
    assert_eq!(inside(stmts), [""; 0]);
}

pub(super) fn in_turn(mask: usize, lane: usize, wide: usize, stmts: Vec<Stmt>) -> Stmt {
    let taken = vec![Taken { scalar: VarId::new(OF_LANE), wide: VarId::new(wide) }];
    Stmt::InTurn(Box::new(InTurn { mask: VarId::new(mask), lane: VarId::new(lane), taken, body: Block { stmts } }))
}

#[test]
fn lanes_take_turns_with_values_of_their_own() {
    let defined = || define(VALUE, Some(splat(float())));
    assert_eq!(inside(vec![defined(), in_turn(HERE, LANE, VALUE, Vec::new())]), [""; 0]);
    fails(outside(vec![in_turn(HERE, LANE, VALUE, Vec::new())]), "lanes take turns in their group");
    fails(inside(vec![defined(), in_turn(VALUE, LANE, VALUE, Vec::new())]), "a mask is of type `bool`");
    fails(inside(vec![defined(), in_turn(HERE, OF_LANE, VALUE, Vec::new())]), "the number of a lane is a `long` value");
    let other = "what is taken of a lane is a number of a wide value";
    fails(inside(vec![in_turn(HERE, LANE, HERE, Vec::new())]), other);
    let wide = set(VALUE, splat(float()));
    let stands = "statements about wide values stand in a group of lanes";
    fails(inside(vec![defined(), in_turn(HERE, LANE, VALUE, vec![wide])]), stands);
}

#[test]
fn groups_stand_by_themselves() {
    fails(inside(vec![group(LANES, vec![])]), "groups of lanes do not nest");
    fails(outside(vec![group(Lanes { bits: 12, groups: 2 }, vec![])]), "lanes have 8, 16, 32 or 64 bits");
    fails(outside(vec![define(VALUE, Some(splat(float())))]), "stand in a group of lanes");
    let looped = simd(vec![], vec![group(LANES, vec![])]);
    fails(outside(vec![looped]), "simd loops hold only values");
    let mut entry = entry(with(vec![]), 1);
    let host = &mut entry.units[0].host;
    let (first, here) = (host.vars.push(Var { name: "w".to_owned(), kind: VarKind::Value(Ty::LONG) }), VarId::new(4));
    host.vars.push(Var { name: "w".to_owned(), kind: VarKind::Wide { elem: Scalar::Bool, lanes: LANES } });
    let stray = Group {
        lanes: LANES,
        first,
        here,
        lo: int(0),
        hi: int(1),
        is_whole: false,
        body: Block::default(),
        again: None,
    };
    host.body.stmts.push(Stmt::Group(Box::new(stray)));
    fails(rules(&entry), "in kernels of CPU units only");
}

#[test]
fn groups_hold_computations_alone() {
    let only = "groups of lanes hold only values";
    fails(inside(vec![store(long(FIRST), float())]), only);
    fails(inside(vec![Stmt::Fault { site: SiteId::new(0), values: vec![int(0)] }]), only);
    fails(inside(vec![Stmt::Leave(None)]), only);
    fails(inside(vec![Stmt::CheckTrap]), only);
    fails(inside(vec![Stmt::Break]), "stand in a loop");
    let tile = Stmt::Let { var: VarId::new(7), init: None };
    let kept = Stmt::Store { target: element(7, int(0)), value: float() };
    assert_eq!(inside(vec![tile, kept]), [""; 0], "what is the same in all lanes may be an array");
}

#[test]
fn what_is_done_again_stands_outside_of_the_lanes() {
    let again = |stmts: Vec<Stmt>, once_more: Vec<Stmt>| {
        let mut group = group(LANES, stmts);
        if let Stmt::Group(group) = &mut group {
            group.again = Some(Again { label: 3, body: Block { stmts: once_more } });
        }
        outside(vec![group])
    };
    let leave = || Stmt::Leave(Some(3));
    let fault = Stmt::Fault { site: SiteId::new(0), values: vec![int(4)] };
    assert_eq!(again(vec![leave()], vec![store(long(FIRST), float()), fault]), [""; 0]);
    fails(inside(vec![leave()]), "`leave` names an enclosing scope");
    fails(again(vec![], vec![leave()]), "`leave` names an enclosing scope");
    fails(again(vec![Stmt::Scope { label: 3, body: Block::default() }], vec![]), "labels of a function differ");
    fails(again(vec![], vec![set(VALUE, splat(float()))]), "stand in a group of lanes");
    let asked = Stmt::If {
        cond: expr(ExprKind::Any(VarId::new(HERE)), Ty::BOOL),
        then: Block::default(),
        otherwise: Block::default(),
    };
    fails(again(vec![], vec![asked]), "used where it is not introduced");
}

#[test]
fn arrays_of_lanes_are_allocated_before_the_group() {
    let scratch = |var: usize| {
        let count = long(2);
        Stmt::Scratch { var: VarId::new(var), count, zero: false, site: SiteId::new(0) }
    };
    let used = || group(LANES, vec![put(own(ALLOCATED, 1), splat(float()))]);
    assert_eq!(outside(vec![scratch(ALLOCATED), used()]), [""; 0]);
    fails(outside(vec![used(), scratch(ALLOCATED)]), "used where it is not introduced");
    fails(outside(vec![scratch(TILE)]), "in kernels as an array of lanes without a length");
    fails(inside(vec![define(ALLOCATED, None)]), "wide tiles without a first value but of known length");
    fails(inside(vec![scratch(ALLOCATED)]), "groups of lanes hold only values");
}

#[test]
fn memory_is_accessed_by_lanes_that_are_named() {
    let value = || splat(float());
    fails(inside(vec![put(every(1, None), value())]), "who accesses what lanes share says which of them do");
    fails(inside(vec![define(VALUE, Some(load(every(0, None))))]), "who accesses what lanes share");
    fails(inside(vec![put(every(0, Some(HERE)), value())]), "a read-only buffer is not written");
    fails(inside(vec![put(own(1, 0), value())]), "lanes access buffers and tiles, from lane to lane");
    let each = |mask: Option<usize>| {
        let index = Box::new(wide(WideKind::Iota(Box::new(long(FIRST))), Scalar::I64));
        WideElement {
            base: VarId::new(TILE),
            index: WideIndex::Each(index),
            path: Vec::new(),
            relaxed: false,
            mask: mask.map(VarId::new),
        }
    };
    assert_eq!(inside(vec![define(TILE, None), put(each(Some(HERE)), value())]), [""; 0]);
    fails(inside(vec![define(TILE, None), put(each(None), value())]), "lanes that follow their own indices are named");
    let field = |target: WideElement| WideElement { path: vec![0], ..target };
    fails(inside(vec![put(field(every(1, Some(HERE))), value())]), "a path names fields");
    fails(
        inside(vec![define(TILE, None), put(field(own(TILE, 1)), value())]),
        "a wide tile holds numbers of its lanes alone",
    );
    let relaxed = |target: WideElement| WideElement { relaxed: true, ..target };
    assert_eq!(inside(vec![put(relaxed(every(1, Some(HERE))), value())]), [""; 0]);
    fails(inside(vec![define(TILE, None), put(relaxed(own(TILE, 1)), value())]), "of its lanes alone");
    let scalar = expr(ExprKind::Load(element(TILE, int(0))), Scalar::F32);
    fails(inside(vec![define(TILE, None), define(VALUE, Some(splat(scalar)))]), "accessed by statements about wide");
}

#[test]
fn lanes_update_numbers_of_buffers() {
    let update = |target: WideElement, op: FoldFn| {
        let target = WideElement { relaxed: true, ..target };
        vec![define(TILE, None), Stmt::Wide(WideStmt::Update { target, op, value: splat(float()) })]
    };
    let built_in = "updates of lanes are built-in ones";
    assert_eq!(inside(update(every(1, Some(HERE)), FoldFn::Max)), [""; 0]);
    fails(inside(update(every(1, Some(HERE)), FoldFn::Xor)), built_in);
    fails(inside(update(own(TILE, 0), FoldFn::Max)), built_in);
    fails(inside(update(every(1, None), FoldFn::Max)), "who accesses what lanes share says which of them do");
    fails(inside(update(every(0, Some(HERE)), FoldFn::Max)), "a read-only buffer is not written");
    let wrong = Stmt::Wide(WideStmt::Update { target: every(1, Some(HERE)), op: FoldFn::Add, value: splat(int(1)) });
    fails(inside(vec![wrong]), "stands where one of type");
}

/// Defines what lanes add up, and adds it up.
pub(super) fn add_up(mask: usize, value: usize) -> Vec<Stmt> {
    let init = if value == NUMBERS { splat(int(1)) } else { splat(float()) };
    let [sum, mask, of] = [SUM, mask, value].map(VarId::new);
    let zero = Stmt::Let { var: sum, init: Some(int(0)) };
    vec![zero, define(value, Some(init)), Stmt::Wide(WideStmt::AddUp { sum, mask, value: of })]
}

#[test]
fn lanes_add_up_integers() {
    assert_eq!(inside(add_up(HERE, NUMBERS)), [""; 0]);
    let integers = "lanes add up integers to a value of their type";
    fails(inside(add_up(HERE, VALUE)), integers);
    fails(inside(add_up(NUMBERS, NUMBERS)), "a mask is of type `bool`");
    fails(outside(add_up(HERE, NUMBERS)), "stand in a group of lanes");
    let [sum, mask, value] = [FIRST, HERE, NUMBERS].map(VarId::new);
    let first = Stmt::Wide(WideStmt::AddUp { sum, mask, value });
    fails(inside(vec![define(NUMBERS, Some(splat(int(1)))), first]), integers);
}

#[test]
fn structs_are_accessed_number_by_number() {
    let fields = |path: Vec<u32>| {
        let mut program = Program::default();
        let span = Span::new(FileId::new(0), 0, 1);
        let number = |name: &str| (name.to_owned(), Scalar::F32.into());
        let spot = par::Struct {
            name: "Spot".to_owned(),
            fields: vec![number("x"), number("y")],
            native: false,
            doc: Vec::new(),
            span,
        };
        let elem = Ty::Struct(program.structs.push(spot));
        let target = WideElement { path, ..every(1, Some(HERE)) };
        let mut kernel = with(vec![group(LANES, vec![put(target, splat(float()))])]);
        kernel.function.vars[VarId::new(1)].kind = VarKind::Buffer { elem, writable: true };
        let errors = verify(&program, &entry(kernel, 1)).err().unwrap_or_default();
        errors.into_iter().map(|error| error.rule).collect::<Vec<_>>()
    };
    let of_structs = "lanes access numbers, of structs their fields";
    assert!(!fields(vec![1]).iter().any(|rule| rule == of_structs));
    fails(fields(Vec::new()), of_structs);
    fails(fields(vec![2]), "a path names fields");
}

#[test]
fn wide_values_have_types_and_lanes() {
    let stands = "stands where one of type";
    fails(inside(vec![define(VALUE, Some(splat(int(1))))]), stands);
    fails(inside(vec![define(OTHER, Some(splat(expr(ExprKind::Int(1), Scalar::I32))))]), "the lanes of its group");
    fails(inside(vec![set(HERE, var(HERE, Scalar::Bool))]), "the lanes of a group are read only");
    fails(inside(vec![set(MASK, var(HERE, Scalar::Bool))]), "used where it is not introduced");
    let value = || define(VALUE, Some(splat(float())));
    let masked = Stmt::Wide(WideStmt::Set {
        var: VarId::new(VALUE),
        value: splat(float()),
        lanes: SetLanes::Only(VarId::new(VALUE)),
    });
    fails(inside(vec![value(), masked]), "a mask is of type `bool`");
    let asked = expr(ExprKind::Any(VarId::new(VALUE)), Ty::BOOL);
    fails(inside(vec![value(), Stmt::Let { var: VarId::new(5), init: Some(asked) }]), "");
    let scalar =
        Stmt::Set { var: VarId::new(6), path: Vec::new(), value: expr(ExprKind::Var(VarId::new(VALUE)), Scalar::F32) };
    fails(inside(vec![value(), define_sum(), scalar]), "what differs from lane to lane is no value");
    let added = wide(
        WideKind::Binary(BinOp::Add, Box::new(var(HERE, Scalar::Bool)), Box::new(var(HERE, Scalar::Bool))),
        Scalar::Bool,
    );
    fails(inside(vec![define(MASK, Some(added))]), "masks are combined by");
}

#[test]
fn divisors_and_counts_are_harmless_elsewhere() {
    let int = |value: i128| splat(expr(ExprKind::Int(value), Scalar::I32));
    let by = |op: BinOp, right: Wide| {
        let left = Box::new(int(8));
        let value = wide(WideKind::Binary(op, left, Box::new(right)), Scalar::I32);
        let cast = wide(WideKind::Cast(Box::new(value)), Scalar::F32);
        inside(vec![define(VALUE, Some(cast))])
    };
    let sum = || wide(WideKind::Binary(BinOp::Add, Box::new(int(1)), Box::new(int(1))), Scalar::I32);
    let chosen =
        wide(WideKind::Select(Box::new(var(HERE, Scalar::Bool)), Box::new(sum()), Box::new(int(1))), Scalar::I32);
    assert_eq!(by(BinOp::Div, chosen), [""; 0]);
    assert_eq!(by(BinOp::Shr, int(3)), [""; 0]);
    let number = |value: i128| Box::new(expr(ExprKind::Int(value), Scalar::I32));
    let same = ExprKind::Select(Box::new(expr(ExprKind::Bool(true), Scalar::Bool)), number(2), number(1));
    assert_eq!(by(BinOp::Div, splat(expr(same, Scalar::I32))), [""; 0]);
    for op in [BinOp::Div, BinOp::Rem, BinOp::Shl, BinOp::Shr] {
        fails(by(op, sum()), "harmless in lanes that are elsewhere");
        let same = ExprKind::Binary(BinOp::Add, number(1), number(1));
        fails(by(op, splat(expr(same, Scalar::I32))), "harmless in lanes that are elsewhere");
    }
}

#[test]
fn loops_that_pack_copy_columns_of_rows() {
    const COLUMN: usize = 4;
    let first = || expr(ExprKind::Binary(BinOp::Add, Box::new(long(FIRST)), Box::new(long(COLUMN))), Ty::LONG);
    let pack = |column: Expr, first: Expr, stride: Expr| {
        let index = WideIndex::Every { first: Box::new(first), stride: Box::new(stride) };
        let row = WideElement { index, ..every(0, Some(HERE)) };
        let target = WideElement { index: WideIndex::Own(Box::new(column)), ..own(TILE, 0) };
        let (lo, hi, step, var) = (int(0), int(3), int(1), VarId::new(COLUMN));
        let body = Block { stmts: vec![put(target, load(row))] };
        inside(vec![define(TILE, None), Stmt::Loop(Loop { var, lo, hi, step, kind: LoopKind::Pack, body })])
    };
    assert_eq!(pack(long(COLUMN), first(), int(3)), [""; 0]);
    assert_eq!(pack(long(COLUMN), long(COLUMN), int(3)), [""; 0]);
    let rule = "a loop that packs copies columns of rows";
    fails(pack(int(1), first(), int(3)), rule);
    fails(pack(long(COLUMN), long(FIRST), int(3)), rule);
    fails(pack(long(COLUMN), first(), int(4)), rule);
}

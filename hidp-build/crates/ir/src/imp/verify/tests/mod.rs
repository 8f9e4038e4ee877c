mod device;
mod masks;
mod wide;

use super::*;
use crate::imp::{Block, Element, Expr, ExprKind, Kernel, Loop, LoopKind, Schedule, Site, SiteId, Unit, Var};
use crate::par::{BinOp, FaultKind, FoldFn};
use hidp_syntax::index::Arena;
use hidp_syntax::source::{FileId, Span};
use hidp_syntax::ty::Scalar;

fn expr(kind: ExprKind, ty: impl Into<Ty>) -> Expr {
    Expr { kind, ty: ty.into() }
}
fn int(value: i128) -> Expr {
    expr(ExprKind::Int(value), Ty::LONG)
}
fn long(var: usize) -> Expr {
    expr(ExprKind::Var(VarId::new(var)), Ty::LONG)
}
fn element(base: usize, index: Expr) -> Element {
    Element { base: VarId::new(base), index: Box::new(index), path: Vec::new(), relaxed: false }
}
fn load(base: usize, index: Expr) -> Expr {
    expr(ExprKind::Load(element(base, index)), Scalar::F32)
}
fn for_each(kind: LoopKind, var: usize, stmts: Vec<Stmt>) -> Stmt {
    let (lo, hi, step) = (long(2), long(3), int(1));
    Stmt::Loop(Loop { var: VarId::new(var), lo, hi, step, kind, body: Block { stmts } })
}
fn simd(reductions: Vec<(VarId, FoldFn)>, stmts: Vec<Stmt>) -> Stmt {
    for_each(LoopKind::Simd { reductions }, 4, stmts)
}

/// Variables 0 and 1: buffers, of which only the second may be written; 2 and 3: the range; 4 and 5: `long` values;
/// 6: a `float` value; 7: a tile.
fn kernel(stmts: Vec<Stmt>) -> Kernel {
    let float = Ty::from(Scalar::F32);
    let kinds = [
        VarKind::Buffer { elem: float, writable: false },
        VarKind::Buffer { elem: float, writable: true },
        VarKind::Value(Ty::LONG),
        VarKind::Value(Ty::LONG),
        VarKind::Value(Ty::LONG),
        VarKind::Value(Ty::LONG),
        VarKind::Value(float),
        VarKind::Tile { elem: float, len: 64 },
    ];
    let mut vars = Arena::new();
    let ids: Vec<VarId> = kinds.into_iter().map(|kind| vars.push(Var { name: "x".to_owned(), kind })).collect();
    let function = Function { params: ids[..4].to_vec(), vars, body: Block { stmts } };
    Kernel {
        name: "map0".to_owned(),
        grid: None,
        copies: Vec::new(),
        function,
        narrow: None,
        span: Span::new(FileId::new(0), 0, 1),
    }
}

/// An entry that launches this kernel on buffers 0 and `written`.
fn entry(kernel: Kernel, written: usize) -> Entry {
    let mut kernels = Arena::new();
    let id = kernels.push(kernel);
    let mut vars = Arena::new();
    let buffer = VarKind::Buffer { elem: Scalar::F32.into(), writable: true };
    let params = [buffer, buffer, VarKind::Value(Ty::LONG)];
    let params = params.map(|kind| vars.push(Var { name: "p".to_owned(), kind })).to_vec();
    let buffer = |at: usize| expr(ExprKind::Var(VarId::new(at)), Scalar::F32);
    let args = vec![buffer(0), buffer(written)];
    let launch = Stmt::Launch { kernel: id, args, extent: long(2), schedule: Schedule::Serial };
    let host = Function { params, vars, body: Block { stmts: vec![launch] } };
    let mut sites = Arena::new();
    let span = Span::new(FileId::new(0), 0, 1);
    sites.push(Site { kind: FaultKind::Index, span, names: vec![String::new()] });
    let unit = Unit { plan: "rows".to_owned(), plan_text: String::new(), target: UnitTarget::Cpu, host, kernels };
    Entry { symbol: "t".to_owned(), sites, units: vec![unit] }
}

fn rules(entry: &Entry) -> Vec<String> {
    let errors = verify(&Program::default(), entry).err().unwrap_or_default();
    errors.into_iter().map(|error| error.rule).collect()
}

fn of(stmts: Vec<Stmt>) -> Vec<String> {
    rules(&entry(kernel(stmts), 1))
}

/// Exactly one rule is broken, and it is this one.
#[track_caller]
fn breaks(stmts: Vec<Stmt>, rule: &str) {
    let rules = of(stmts);
    assert!(rules.len() == 1 && rules[0].contains(rule), "{rules:?} rather than {rule}");
}

fn store(index: Expr, value: Expr) -> Stmt {
    Stmt::Store { target: element(1, index), value }
}
fn float() -> Expr {
    expr(ExprKind::Float(1.0), Scalar::F32)
}
fn accumulate() -> Stmt {
    let sum = expr(ExprKind::Var(VarId::new(6)), Scalar::F32);
    let value = expr(ExprKind::Binary(BinOp::Add, Box::new(sum), Box::new(load(0, long(4)))), Scalar::F32);
    Stmt::Set { var: VarId::new(6), path: Vec::new(), value }
}
fn define_sum() -> Stmt {
    Stmt::Let { var: VarId::new(6), init: Some(float()) }
}

#[test]
fn correct_kernels_pass() {
    assert_eq!(of(vec![simd(vec![], vec![store(long(4), load(0, long(4)))])]), [""; 0]);
    assert_eq!(of(vec![define_sum(), simd(vec![(VarId::new(6), FoldFn::Add)], vec![accumulate()])]), [""; 0]);
    let fault = Stmt::Fault { site: SiteId::new(0), values: vec![long(4)] };
    assert_eq!(of(vec![for_each(LoopKind::Seq, 4, vec![fault, Stmt::Break])]), [""; 0]);
}

#[test]
fn variables_are_introduced_once_and_used_in_their_block() {
    breaks(vec![store(long(4), float())], "used where it is not introduced");
    breaks(vec![define_sum(), define_sum()], "introduced twice");
    let inner = Stmt::If {
        cond: expr(ExprKind::Bool(true), Ty::BOOL),
        then: Block { stmts: vec![define_sum()] },
        otherwise: Block::default(),
    };
    let outer = store(int(0), expr(ExprKind::Var(VarId::new(6)), Scalar::F32));
    breaks(vec![inner, outer], "used where it is not introduced");
    let set = Stmt::Set { var: VarId::new(4), path: vec![], value: int(1) };
    breaks(vec![for_each(LoopKind::Seq, 4, vec![set])], "read only");
}

#[test]
fn divisors_are_divided_by() {
    let of = |stmts: Vec<Stmt>| {
        let mut kernel = kernel(stmts);
        kernel.function.vars.push(Var { name: "by".to_owned(), kind: VarKind::Divisor(Scalar::I64) });
        rules(&entry(kernel, 1))
    };
    let made = |value| Stmt::Let { var: VarId::new(8), init: Some(value) };
    let quotient = |op| expr(ExprKind::Binary(op, Box::new(long(2)), Box::new(long(8))), Ty::LONG);
    let loads = |op| store(int(0), load(0, quotient(op)));
    assert_eq!(of(vec![made(int(3)), loads(BinOp::Div), loads(BinOp::Rem)]), [""; 0]);
    let breaks = |stmts, rule| assert!(of(stmts).iter().any(|broken| broken.contains(rule)), "{rule}");
    breaks(vec![made(int(3)), loads(BinOp::Add)], "right of `/` and `%` alone");
    breaks(vec![made(int(3)), store(long(8), float())], "right of `/` and `%` alone");
    breaks(vec![made(float())], "stands where one of type");
    breaks(vec![loads(BinOp::Div)], "used where it is not introduced");
}

#[test]
fn types_agree() {
    breaks(vec![store(int(0), int(1))], "stands where one of type");
    breaks(vec![store(float(), float())], "stands where one of type");
    breaks(vec![Stmt::Store { target: element(0, int(0)), value: float() }], "read-only buffer");
    let zero = expr(ExprKind::Binary(BinOp::Div, Box::new(int(1)), Box::new(int(0))), Ty::LONG);
    breaks(vec![Stmt::Let { var: VarId::new(5), init: Some(zero) }], "a value it is defined for");
    let wide = expr(ExprKind::Int(1 << 40), Scalar::I32);
    let cast = expr(ExprKind::Cast(Box::new(wide)), Ty::LONG);
    breaks(vec![Stmt::Let { var: VarId::new(5), init: Some(cast) }], "fits its integer type");
}

#[test]
fn statements_stand_where_they_may() {
    breaks(vec![Stmt::Break], "stand in a loop");
    breaks(vec![Stmt::Leave(Some(1))], "enclosing scope");
    breaks(vec![Stmt::Free(VarId::new(1))], "host functions only");
    let count = expr(ExprKind::WorkerCount, Ty::LONG);
    breaks(vec![Stmt::Let { var: VarId::new(5), init: Some(count) }], "host functions only");
    breaks(vec![Stmt::Fault { site: SiteId::new(0), values: vec![] }], "a value for each name");
    breaks(vec![Stmt::Fault { site: SiteId::new(7), values: vec![] }], "a site is one of the entry");
    let scope = || Stmt::Scope { label: 1, body: Block::default() };
    breaks(vec![scope(), scope()], "labels of a function differ");
}

#[test]
fn parts_are_of_their_buffers_kind() {
    let broken = |stmts| {
        let mut kernel = kernel(stmts);
        let kind = VarKind::Buffer { elem: Scalar::F32.into(), writable: true };
        kernel.function.vars.push(Var { name: "part".to_owned(), kind });
        rules(&entry(kernel, 1))
    };
    let part = |of: usize, first| Stmt::Part { var: VarId::new(8), of: VarId::new(of), first };
    let used = || Stmt::Store { target: element(8, long(2)), value: load(8, long(3)) };
    assert_eq!(broken(vec![part(1, long(2)), used()]), [""; 0]);
    assert!(broken(vec![used(), part(1, long(2))]).iter().any(|rule| rule.contains("where it is not introduced")));
    assert_eq!(broken(vec![part(0, long(2))]), ["a part of a buffer is of its kind"]);
    assert!(broken(vec![part(2, long(2))]).iter().any(|rule| rule == "this takes a buffer"));
    assert!(!broken(vec![part(1, load(1, long(2)))]).is_empty(), "the first position is a `long`");
}

#[test]
fn one_of_two_buffers_is_read_only() {
    let broken = |writable, otherwise: usize, stmts: fn() -> Vec<Stmt>| {
        let either = Stmt::Either {
            var: VarId::new(8),
            cond: expr(ExprKind::Binary(BinOp::Lt, Box::new(int(1)), Box::new(int(2))), Ty::BOOL),
            then: VarId::new(0),
            otherwise: VarId::new(otherwise),
        };
        let mut kernel = kernel([vec![either], stmts()].concat());
        let kind = VarKind::Buffer { elem: Scalar::F32.into(), writable };
        kernel.function.vars.push(Var { name: "source".to_owned(), kind });
        rules(&entry(kernel, 1))
    };
    let read = || vec![Stmt::Store { target: element(1, long(2)), value: load(8, long(3)) }];
    assert_eq!(broken(false, 1, read), [""; 0]);
    assert_eq!(broken(true, 1, read), ["one of two buffers has their elements and is read only"]);
    assert!(broken(false, 2, Vec::new).iter().any(|rule| rule == "this takes a buffer"));
    let write = || vec![Stmt::Store { target: element(8, long(2)), value: load(0, long(3)) }];
    assert!(!broken(false, 1, write).is_empty(), "nobody writes to it");
}

#[test]
fn prefetches_name_an_element_of_a_buffer() {
    let of = |of: usize, index: Expr| vec![Stmt::Prefetch { of: VarId::new(of), index }];
    assert_eq!(rules(&entry(kernel(of(0, long(2))), 1)), [""; 0]);
    breaks(of(2, long(2)), "this takes a buffer");
    assert!(!rules(&entry(kernel(of(0, float())), 1)).is_empty(), "the index is a `long`");
    breaks(vec![simd(vec![], of(0, long(2)))], "simd loops hold only");
}

#[test]
fn simd_loops_hold_only_what_vectorises() {
    breaks(vec![simd(vec![], vec![Stmt::CheckTrap])], "simd loops hold only");
    breaks(vec![define_sum(), simd(vec![], vec![accumulate()])], "one of the reductions");
    let lost = Stmt::Set { var: VarId::new(6), path: vec![], value: float() };
    breaks(vec![define_sum(), simd(vec![(VarId::new(6), FoldFn::Add)], vec![lost])], "set to itself");
    let relaxed = Stmt::Store { target: Element { relaxed: true, ..element(1, long(4)) }, value: float() };
    breaks(vec![simd(vec![], vec![relaxed])], "simd loops hold only");
    breaks(vec![for_each(LoopKind::Seq, 5, vec![simd(vec![], vec![Stmt::Break])])], "stand in a loop");
}

#[test]
fn iterations_that_go_across_an_array_copy_a_row() {
    let copy = |from: usize| store(long(5), load(from, long(5)));
    let across = |body: Vec<Stmt>| vec![for_each(LoopKind::Across, 4, body)];
    let row = for_each(LoopKind::Seq, 5, vec![copy(0)]);
    assert_eq!(of(across(vec![row.clone()])), [""; 0]);
    assert_eq!(of(across(vec![define_sum(), row.clone()])), [""; 0]);
    breaks(across(vec![for_each(LoopKind::Seq, 5, vec![copy(1)])]), "copies a row");
    breaks(across(vec![for_each(LoopKind::Simd { reductions: vec![] }, 5, vec![copy(0)])]), "copies a row");
    breaks(across(vec![for_each(LoopKind::Seq, 5, vec![store(long(5), float())])]), "copies a row");
    breaks(across(vec![row.clone(), store(long(4), load(0, long(4)))]), "copies a row");
    breaks([vec![define_sum()], across(vec![accumulate(), row.clone()])].concat(), "copies a row");
    let mut apart = across(vec![row.clone()]);
    if let [Stmt::Loop(node)] = &mut apart[..] {
        node.step = int(2);
    }
    breaks(apart, "one after the other");
    let mut inside = kernel(vec![]);
    let outer = inside.function.vars.push(Var { name: "lane".to_owned(), kind: VarKind::Value(Ty::LONG) });
    let lanes = for_each(LoopKind::Simd { reductions: vec![] }, outer.index(), across(vec![row]));
    inside.function.body.stmts.push(lanes);
    assert_eq!(rules(&entry(inside, 1)), ["rows go across an array in CPU units, and not in lanes"]);
}

#[test]
fn launches_match_their_kernel() {
    assert_eq!(rules(&entry(kernel(vec![]), 0)), ["a buffer that a kernel writes is passed once"]);
    let mut short = entry(kernel(vec![]), 1);
    if let Stmt::Launch { args, .. } = &mut short.units[0].host.body.stmts[0] {
        args.pop();
    }
    assert_eq!(rules(&short), ["a launch has an argument for each parameter but the positions"]);
    let mut huge = kernel(vec![]);
    huge.function.vars[VarId::new(7)].kind = VarKind::Tile { elem: Scalar::F32.into(), len: 1 << 20 };
    assert_eq!(rules(&entry(huge, 1)), ["the tiles of a function have at most 256 KiB"]);
}

#[test]
fn kernels_run_those_before_them() {
    let run = |first: usize, args: usize, next: &[Stmt]| {
        let mut entry = entry(kernel(vec![]), 1);
        let args = (0..args).map(|at| expr(ExprKind::Var(VarId::new(at)), Scalar::F32)).collect();
        let [begin, end] = [2, 3].map(long);
        let stmts = vec![Stmt::Run { kernel: KernelId::new(first), args, begin, end }];
        entry.units[0].kernels.push(kernel([&stmts, next].concat()));
        rules(&entry)
    };
    assert_eq!(run(0, 2, &[Stmt::CheckTrap]), [""; 0]);
    assert_eq!(run(0, 2, &[]), ["a call that can raise is followed by check_trap"]);
    assert_eq!(run(0, 1, &[Stmt::CheckTrap]), ["a launch has an argument for each parameter but the positions"]);
    assert_eq!(run(1, 2, &[Stmt::CheckTrap]), ["a kernel runs those before it only"]);
    let mut on_host = entry(kernel(vec![]), 1);
    if let Stmt::Launch { kernel, args, .. } = on_host.units[0].host.body.stmts.remove(0) {
        let run = Stmt::Run { kernel, args, begin: int(0), end: int(2) };
        on_host.units[0].host.body.stmts = vec![run, Stmt::CheckTrap];
    }
    assert!(rules(&on_host).contains(&"`run` stands in kernels of CPU units only".to_owned()));
}

#[test]
fn errors_name_function_statement_and_rule() {
    let errors = verify(&Program::default(), &entry(kernel(vec![store(long(4), float())]), 1)).unwrap_err();
    assert_eq!(errors[0].to_string(), "rows k0 map0: x4 is used where it is not introduced, in `x.1[x.4] = 1.0`");
}

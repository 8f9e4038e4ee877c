use super::*;
use crate::{PIPELINE, instantiate};
use hidp_ir::par::interp::{Arg, Array, Options, Results, run_with};
use hidp_ir::par::{Alternative, BinOp, Spectrum, Tunable, read, verify};

/// `sum`, a body that cuts its array into pieces, and an entry that calls it.
fn program(when: Option<i64>) -> Program {
    let text = "
func sum(x, s) dims (n) { vars { n: long dim; x: int[n] input; s: int output; i: long local; }
  declare i zero; i = 0; s = 0:int; loop (i < n) { s = (s + x[i?]); } step { i = (i + 1); } }
func sum(x, s) dims (n) { vars { n: long dim; x: int[n] input; s: int output; p: long local; part: int[p] local; t: long iter; }
  declare p zero; p = 2; declare part zero;
  map (t = 0 .. p by 1) { call sum%0(section x{adjacent t of p}, element part[t?]); }
  call sum%0(array part, scalar s); }
func f(x, s) dims (n) { vars { n: long dim; x: int[n] input; s: int output; } call sum%0(array x, scalar s); }
entries (f)";
    let mut program = read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let [sum, codelet, entry] = [0, 1, 2].map(FuncId::new);
    let body = &program.funcs[codelet];
    let (n, p) = (body.dims[0], body.vars.iter().find(|(_, var)| var.name == "p").expect("a tunable").0);
    let read_n = Expr::read(n, hidp_syntax::ty::Ty::LONG, body.span);
    let when = when.map(|least| Expr::long(BinOp::Ge, read_n, Expr::int(least, body.span)));
    let tunables = vec![Tunable { var: p, values: vec![2, 3], run: false }];
    let known =
        Codelet { tag: "parts".into(), tiles: None, func: codelet, when, tunables, ordered: false, span: body.span };
    program.spectra.push(Spectrum { meaning: sum, codelets: vec![known], ordered: false });
    program.alternatives.push(Alternative {
        entry,
        func: entry,
        name: "parts".into(),
        on_device: false,
        choice: chosen(3),
        settings: Vec::new(),
    });
    program
}

fn plain(function: &str) -> Choice {
    let (function, codelet) = (function.to_owned(), String::new());
    let (tunables, pieces, calls) = (Vec::new(), Vec::new(), Vec::new());
    Choice { function, codelet, level: "host".into(), tunables, tiles: None, pieces, calls, otherwise: None }
}

/// The entry's call takes the codelet with so many parts, in which calls are of the function.
fn chosen(parts: i64) -> Choice {
    let inner = Choice {
        codelet: "parts".into(),
        tunables: vec![("p".into(), parts)],
        calls: vec![Choice { level: "seq".into(), ..plain("sum") }, plain("sum")],
        otherwise: Some(Box::new(plain("sum"))),
        ..plain("sum")
    };
    Choice { calls: vec![inner], ..plain("f") }
}

fn sum_of(program: &Program, func: FuncId, count: i32) -> Result<Results, hidp_ir::par::interp::Error> {
    let args = vec![Arg::Array(Array::vector((1..=count).collect::<Vec<_>>())), Arg::Output];
    run_with(program, func, args, &Options { fuel: Some(10_000), ..Options::default() })
}

fn maps(program: &Program, func: FuncId) -> usize {
    let mut maps = 0;
    visit::walk_stmts(&program.funcs[func].body, |stmt| maps += usize::from(matches!(stmt.kind, StmtKind::Map(_))));
    maps
}

#[test]
fn alternatives_become_functions() {
    for when in [None, Some(4)] {
        let mut program = program(when);
        for pass in [PASS, instantiate::PASS] {
            (pass.run)(&mut program);
            verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{}", hidp_ir::par::print(&program)));
        }
        assert!(program.spectra.is_empty());
        let (entry, func) = (program.entries[0], program.alternatives[0].func);
        assert_eq!((maps(&program, entry), maps(&program, func), program.funcs.len()), (0, 1, 2));
        let mut branches = 0;
        visit::walk_stmts(&program.funcs[func].body, |stmt| {
            branches += usize::from(matches!(stmt.kind, StmtKind::If { .. }));
        });
        assert_eq!(branches, usize::from(when.is_some()));
        for count in 0..9 {
            let meant = sum_of(&program, entry, count).expect("a sum");
            assert_eq!(sum_of(&program, func, count), Ok(meant), "{count}");
        }
    }
}

/// A codelet that only its condition keeps from faulting: were the sides of the branch exchanged, short arrays would fault.
#[test]
fn conditions_keep_codelets_from_what_they_cannot() {
    let mut program = program(Some(4));
    let codelet = program.spectra[0].codelets[0].func;
    let guarded = read(
        "func sum(x, s) dims (n) { vars { n: long dim; x: int[n] input; s: int output; }
           s = ((s + x[3?]) - x[3?]); } entries (sum)",
    );
    let guarded = guarded.unwrap_or_else(|error| panic!("{error}"));
    let stmts = guarded.funcs[guarded.entries[0]].body.stmts.clone();
    program.funcs[codelet].body.stmts.extend(stmts);
    for pass in [PASS, instantiate::PASS] {
        (pass.run)(&mut program);
    }
    let (entry, func) = (program.entries[0], program.alternatives[0].func);
    for count in 0..9 {
        assert_eq!(sum_of(&program, func, count), sum_of(&program, entry, count), "{count}");
    }
}

#[test]
fn equal_choices_share_a_function() {
    let mut program = program(None);
    let again = program.alternatives[0].clone();
    program.alternatives.push(again);
    run(&mut program);
    assert_eq!(program.alternatives[0].func, program.alternatives[1].func);
    // The three functions, the sums that are called in a map and outside, the codelet, and the entry.
    assert_eq!(program.funcs.len(), 7);
}

#[test]
fn all_passes_keep_alternatives() {
    let mut program = program(Some(2));
    crate::run(&mut program, PIPELINE).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        sum_of(&program, program.alternatives[0].func, 7).map(|results| results.args[1].clone()),
        Ok(Arg::from(28_i32))
    );
}

/// What is left of a program: whether an index has a check, how many accesses are shared, and arrays that were copied.
fn left(text: &str) -> (u32, usize, usize) {
    let mut program = read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    crate::run(&mut program, PIPELINE).unwrap_or_else(|error| panic!("{error}"));
    let func = &program.funcs[program.entries[0]];
    let (mut unproved, mut shared) = (0, 0);
    visit::walk_places(&func.body, |place, _| {
        unproved |= place.unproved;
        shared += usize::from(place.access == hidp_ir::par::Access::Shared);
    });
    let arrays = func.vars.iter().filter(|(_, var)| var.is_array() && var.kind == VarKind::Local).count();
    (unproved, shared, arrays)
}

/// Elements of pieces are accessed where they are, and are proved to be inside and, of different pieces, apart.
#[test]
fn pieces_are_views_without_checks() {
    let names = ["a", "b", "c"];
    // Strided ones in several dimensions are told apart by nobody: accesses to them stay shared.
    for (way, ranks) in [("adjacent", 1..=3), ("strided", 1..=1)] {
        for rank in ranks {
            let each = |of: &dyn Fn(usize) -> String| (0..rank).map(of).collect::<Vec<_>>().join(", ");
            let declared =
                |kind: &str| (0..rank).map(|dim| format!("{}: long {kind}; ", names[dim])).collect::<String>();
            let shape = each(&|dim| names[dim].into());
            let iters: String = (0..rank).map(|dim| format!("i{dim}: long iter; ")).collect();
            let own = each(&|dim| format!("i{dim} = 0 .. {} by 1", names[dim]));
            let index = each(&|dim| format!("i{dim}?"));
            let pieces = each(&|dim| format!("i{dim} = 0 .. {} by 1", 8 + dim));
            let tile = each(&|dim| format!("{way} i{dim} of {}", 8 + dim));
            let text = format!(
                "func twice(x, y) dims ({shape}) {{ vars {{ {}x: int[{shape}] input; y: int[{shape}] output; {iters} }}
                   map ({own}) {{ y[{index}] = (x[{index}] + x[{index}]); }} }}
                 func f(x, y) dims ({shape}) {{ vars {{ {}x: int[{shape}] input; y: int[{shape}] inout; {iters} j: long iter; }}
                   map ({pieces}) {{ call twice(section x{{{tile}}}, section y{{{tile}}}); }} }}
                 entries (f)",
                declared("dim"),
                declared("dim"),
            );
            assert_eq!(left(&text), (0, 0, 0), "{text}");
            if rank == 3 {
                continue;
            }
            // An iterator that numbers no pieces: its iterations write the same ones.
            let near = text.replace(&format!("map ({pieces})"), &format!("map ({pieces}, j = 0 .. 2 by 1)"));
            // And one dimension of which all iterations take everything.
            let whole = format!("range 0 .. {} by 1", names[rank - 1]);
            let last = text.replace(&format!("{way} i{} of {}", rank - 1, 7 + rank), &whole);
            for changed in [near, last] {
                let (_, shared, _) = left(&changed);
                assert!(changed != text && shared > 0, "{changed}");
            }
        }
    }
}

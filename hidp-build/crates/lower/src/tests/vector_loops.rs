//! What is taken out of loops in lanes, and before them: borders and angles; what lanes leave to vectors: tiles of compactions and prefixes.

use super::super::make;
use super::*;
use hidp_ir::imp::visit::each_subexpr;

/// Loops in lanes, and branches in them.
fn lanes_and_branches(body: &str) -> [usize; 2] {
    let text = format!("function f input int x[N]; input long n; inout int y[N]; {{ map {{ i := [0:N); {body} }} }}");
    let entry = lowered(&text);
    let mut found = [0, 0];
    for (_, kernel) in unit(&entry, "rows").kernels.iter() {
        each_stmt(&kernel.function.body, &mut |stmt| {
            if let Stmt::Loop(node) = stmt
                && is_simd(stmt)
            {
                found[0] += 1;
                found[1] += count(&node.body, |stmt| matches!(stmt, Stmt::If { .. }));
            }
        });
    }
    found
}

#[test]
fn first_and_last_iterations_are_taken_out_of_lanes() {
    let twice = [2, 1];
    assert_eq!(lanes_and_branches("if (i == 0) { y[i] = 7; } else { y[i] = x[i - 1]; }"), twice);
    assert_eq!(lanes_and_branches("if (N - 1 - i != 0) { y[i] = x[i + 1]; }"), twice);
    assert_eq!(lanes_and_branches("if (i == 0 || i == n) { y[i] = 7; } else { y[i] = x[i - 1]; }"), twice);
    // Of a branch with a test of another kind nothing is left but that.
    assert_eq!(lanes_and_branches("if (i == n && x[i] > 3) { y[i] = 7; }"), twice);
    assert_eq!(lanes_and_branches("if (i == n || x[i] > 3) { y[i] = 7; }"), [2, 2]);
    assert_eq!(lanes_and_branches("y[i] += i == 0 ? 7 : x[i - 1];"), [2, 0]);
    assert_eq!(lanes_and_branches("y[i] += i == 0 || x[i - 1] > 3 ? 7 : 8;"), [2, 0]);
    assert_eq!(lanes_and_branches("y[i] += i == 0 || n > 3 ? 7 : 8;"), [1, 0]);
}

#[test]
fn iterations_beyond_an_order_are_taken_out_of_lanes() {
    let twice = [2, 1];
    assert_eq!(lanes_and_branches("if (i > 0) { y[i] = x[i - 1]; }"), twice);
    assert_eq!(lanes_and_branches("if (0 >= i) { y[i] = 7; } else { y[i] = x[i - 1]; }"), twice);
    assert_eq!(lanes_and_branches("if (i + 1 < N) { y[i] = x[i + 1]; }"), twice);
    assert_eq!(lanes_and_branches("if (i >= N - 1) { y[i] = 7; } else { y[i] = x[i + 1]; }"), twice);
    assert_eq!(lanes_and_branches("if (i > 0 && i < N - 1) { y[i] = x[i + 1] + x[i - 1]; }"), twice);
    assert_eq!(lanes_and_branches("y[i] += i < n ? x[i] : 7;"), [2, 0]);
    // Far from both ends, wrapping or triangular: as it is.
    assert_eq!(lanes_and_branches("if (i > 5) { y[i] = 7; }"), [1, 1]);
    assert_eq!(lanes_and_branches("if (i + n < N) { y[i] = 7; }"), [1, 1]);
    let triangle = "function f input int x[N][N]; inout int y[N][N]; { map { i := [0:N); j := [0:N); if (j < i) { y[i][j] = x[i][j]; } } }";
    let loops = |stmt: &Stmt| is_simd(stmt);
    assert_eq!(in_kernels(unit(&lowered(triangle), "rows"), loops), 1);
}

#[test]
fn loops_without_positions_stay_as_they_are() {
    // Neither a position, nor the same one in all iterations, nor worth a copy; more positions than a copy is made for.
    assert_eq!(lanes_and_branches("if (2 * i == n) { y[i] = 7; }"), [1, 1]);
    assert_eq!(lanes_and_branches("if (i == x[i]) { y[i] = 7; }"), [1, 1]);
    assert_eq!(lanes_and_branches("y[i] += i == n ? 7 : 8;"), [1, 0]);
    let many = "if (i == n || i == n + 1 || i == n + 2 || i == n + 3 || i == n + 4) { y[i] = 7; }";
    assert_eq!(lanes_and_branches(many), [1, 1]);
}

#[test]
fn folds_of_integers_are_cut_at_borders() {
    let loops = |ty: &str| {
        let entry = lowered(&format!(
            "function f input {ty} x[N]; output {ty} s;
            {{ map {{ i := [0:N); _h = x[i] - x[i == 0 ? 0 : i - 1]; }} reduce(\"+\", s, _h, i := [*]); }}"
        ));
        let folds = |stmt: &Stmt| matches!(stmt, Stmt::Loop(Loop { kind: LoopKind::Simd { reductions }, .. }) if !reductions.is_empty());
        in_kernels(unit(&entry, "rows"), folds)
    };
    assert_eq!(loops("int"), 2);
    assert_eq!(loops("float"), 0);
}

#[test]
fn packed_elements_are_marked_in_lanes_between_borders() {
    let marks = |condition: &str| {
        let entry = lowered(&format!(
            "function f input int x[N], k; partial output int y[N]; {{ long place[N];
            map {{ i := [0:N); _f = {condition} ? 1l : 0l; }} exscan(\"+\", place[i], _f, i := [*]);
            map {{ i := [0:N); if ({condition}) y[place[i]] = x[i]; }} }}"
        ));
        in_kernels(unit(&entry, "rows"), |stmt| matches!(stmt, Stmt::Prim(prim) if prim.function == "pack_marked"))
    };
    assert_eq!(marks("x[i] > 3"), 1);
    assert_eq!(marks("i == 0 || x[i] != x[i - 1]"), 1);
    assert_eq!(marks("i > 0 && x[i] != x[i - 1]"), 1);
    // Where other operands say what is computed, no lanes are.
    assert_eq!(marks("x[i] > 3 || x[i] < k"), 0);
    assert_eq!(marks("i == k || x[i] < k"), 0);
}

#[test]
fn branches_that_all_iterations_take_stand_outside_of_lanes() {
    assert_eq!(lanes_and_branches("if (n > 3) { y[i] = x[i]; } else { y[i] = 7; }"), [2, 0]);
    assert_eq!(lanes_and_branches("if (n > 3) { if (n < 9) { y[i] = x[i]; } else { y[i] = x[i] + 1; } }"), [2, 0]);
    // What is left between borders.
    assert_eq!(lanes_and_branches("if (n > 3 && i > 0) { y[i] = x[i - 1]; } else { y[i] = 7; }"), [3, 1]);
    // Lanes differ, or elements are read that are there in iterations alone; other statements stand beside it.
    assert_eq!(lanes_and_branches("if (x[i] > 3) { y[i] = 7; }"), [1, 1]);
    assert_eq!(lanes_and_branches("if (x[n] > 3) { y[i] = 7; }")[1], 1);
    assert_eq!(lanes_and_branches("y[i] = x[i]; if (n > 3) { y[i] = 7; }"), [1, 1]);
}

#[test]
fn a_copy_of_a_loop_loads_without_a_choice() {
    let chooses = |body: &str| {
        let text =
            format!("function f input int x[N]; input long n; inout int y[N]; {{ map {{ i := [0:N); {body} }} }}");
        let entry = lowered(&text);
        let mut found = Vec::new();
        for (_, kernel) in unit(&entry, "serial").kernels.iter() {
            each_stmt(&kernel.function.body, &mut |stmt| {
                if let Stmt::Loop(node) = stmt
                    && is_simd(stmt)
                {
                    let mut selects = 0;
                    each_expr(&node.body, &mut |expr| {
                        selects += usize::from(matches!(expr.kind, ExprKind::Select(..)))
                    });
                    found.push(selects);
                }
            });
        }
        found
    };
    assert_eq!(chooses("y[i] += n > 3 ? x[i] : 7;"), [0, 1]);
    assert_eq!(chooses("y[i] += (n > 3 ? x[i] : 7) + (n < 9 ? 7 : x[N - 1 - i]);"), [0, 2]);
    // Lanes differ; both are loaded, or neither.
    assert_eq!(chooses("y[i] += x[i] > 3 ? x[N - 1 - i] : 7;"), [1]);
    assert_eq!(chooses("y[i] += n > 3 ? x[i] : x[N - 1 - i];"), [1]);
    // Chosen before the loop.
    assert_eq!(chooses("y[i] += n > 3 ? 8 : 7;"), [0]);
}

/// Comparisons, choices and raised flags in loops in lanes, and those before these loops.
fn choices(body: &str) -> [usize; 2] {
    let text = format!(
        "function f input float x[H][W]; input long n; output float y[P][Q]; {{ map {{ i := [0:P); j := [0:Q); {body} }} }}"
    );
    let entry = lowered(&text);
    let [(_, kernel)] = unit(&entry, "serial").kernels.iter().collect::<Vec<_>>()[..] else { panic!("one kernel") };
    let mut found = [0, 0];
    each_stmt(&kernel.function.body, &mut |stmt| {
        if let Stmt::If { then, .. } = stmt
            && let [.., last] = &then.stmts[..]
            && let Stmt::Loop(node) = last
            && is_simd(last)
        {
            let before = Block { stmts: then.stmts[..then.stmts.len() - 1].to_vec() };
            for (found, block) in found.iter_mut().zip([&node.body, &before]) {
                each_expr(block, &mut |expr| match &expr.kind {
                    ExprKind::Select(..) => *found += 1,
                    ExprKind::Binary(op, ..) => *found += usize::from(matches!(op, BinOp::Or) || op.is_comparison()),
                    _ => {}
                });
            }
        }
    });
    found
}

#[test]
fn what_all_lanes_choose_alike_is_chosen_before_the_loop() {
    let row = "int k = (int)(i * 0.5f);";
    let rest = "y[i][j] = x[k][(int)(j * 0.5f)] + k;";
    // Of each index a test, what it raises, and a choice; of the row's also whether there are columns.
    assert_eq!(choices(&format!("{row} {rest}")), [4, 6]);
    assert_eq!(choices(&format!("{row} if (i > n) k = 5; {rest}")), [8, 1], "what is assigned twice stays");
    assert_eq!(choices(&format!("{row} if (j > n) k = 5; {rest}")), [9, 0]);
}

/// Loops in lanes that gather narrow elements by words, and gathers in all of them.
fn gathers(params: &str, body: &str) -> (usize, usize) {
    let entry = lowered(&format!("function f input {params} {{ map {{ i := [0:N); {body} }} }}"));
    let mut found = (0, 0);
    for (_, kernel) in unit(&entry, "serial").kernels.iter() {
        each_stmt(&kernel.function.body, &mut |stmt| {
            let Stmt::Loop(node) = stmt else { return };
            let mut own = 0;
            each_expr(&node.body, &mut |expr| own += usize::from(matches!(expr.kind, ExprKind::Gather(..))));
            found.0 += usize::from(own > 0 && is_simd(stmt));
            found.1 += own;
        });
    }
    found
}

#[test]
fn narrow_elements_are_gathered_by_words_where_iterations_compute() {
    let bytes = "uint8 t[M]; input int x[N]; output float y[N];";
    assert_eq!(gathers(bytes, "y[i] = t[x[i]] * 0.5f;"), (1, 1));
    assert_eq!(gathers(bytes, "y[i] = (t[x[i]] + t[x[i] + 1]) * 0.5f;"), (0, 0), "too little");
    assert_eq!(gathers(bytes, "y[i] = t[x[i]];"), (0, 0));
    assert_eq!(gathers(bytes, "y[i] = t[3 * i] * 0.5f;"), (0, 0), "at one distance");
    assert_eq!(gathers(bytes, "y[i] = 1; if (x[i] > 3) y[i] = t[x[i]] * 0.5f;"), (0, 0), "in some lanes");
    assert_eq!(
        gathers(&bytes.replace("int x", "long x"), "y[i] = t[x[i]] * (float)x[i];"),
        (0, 0),
        "no vectors on AVX2"
    );
    assert_eq!(gathers(&bytes.replace("uint8 t", "int16 t"), "y[i] = t[x[i]] * (0.5f + i);"), (1, 1));
    assert_eq!(
        gathers(&bytes.replace("int x", "uint8 x").replace("[M]", "[256]"), "y[i] = t[x[i]] * 0.5f;"),
        (0, 0),
        "indices as narrow"
    );
    assert_eq!(gathers(&bytes.replace("uint8 t", "int t"), "y[i] = t[x[i]] * 0.5f;"), (0, 0), "words themselves");
}

#[test]
fn words_lie_inside_of_arrays_and_their_indices_are_numbers_of_32_bits() {
    let asked = |element: &str| {
        let entry = lowered(&format!(
            "function f input {element} t[M]; input int x[N]; output float y[N]; {{ map {{ i := [0:N); y[i] = t[x[i]] * (0.5f + i); }} }}"
        ));
        let mut found = Vec::new();
        for (_, kernel) in unit(&entry, "serial").kernels.iter() {
            each_stmt(&kernel.function.body, &mut |stmt| {
                let Stmt::If { cond, then, .. } = stmt else { return };
                let mut gathers = false;
                each_expr(then, &mut |expr| gathers |= matches!(expr.kind, ExprKind::Gather(..)));
                each_subexpr(cond, &mut |expr| {
                    if let ExprKind::Binary(op, _, limit) = &expr.kind
                        && gathers
                        && matches!(op, BinOp::Ge | BinOp::Le)
                    {
                        found.extend(make::as_int(limit).map(|limit| (*op, limit)));
                    }
                });
            });
        }
        found
    };
    let (most, least) = (i32::MAX.into(), i32::MIN.into());
    let with = |elements| [(BinOp::Ge, elements), (BinOp::Le, most), (BinOp::Ge, least), (BinOp::Le, most)];
    assert_eq!(asked("uint8"), with(4));
    assert_eq!(asked("int16"), with(2));
}

/// Loops in lanes that look at their angles, and those that compute `sin` in full.
fn angles(text: &str) -> (usize, usize) {
    let entry = lowered(text);
    let mut found = (0, 0);
    for (_, kernel) in unit(&entry, "rows").kernels.iter() {
        each_expr(&kernel.function.body, &mut |expr| {
            found.0 += usize::from(matches!(expr.kind, ExprKind::Near(NearFn::IsNear, _)));
            found.1 += usize::from(matches!(expr.kind, ExprKind::Math(MathFn::Sin, _)));
        });
    }
    found
}

#[test]
fn lanes_take_angles_to_be_small_and_look_afterwards() {
    let (near, full) =
        angles("function f input double x[N]; output double y[N]; { map { i := [0:N); y[i] = sin(x[i]); } }");
    assert!(near > 0 && near == full, "{near} {full}");
}

#[test]
fn iterations_that_cannot_be_computed_twice_take_all_angles_in_full() {
    let in_place = "function f inout double x[N]; { map { i := [0:N); x[i] = sin(x[i]); } }";
    let chosen_by_an_angle = "function f input double x[N]; inout double y[N];
        { map { i := [0:N); if (sin(x[i]) > 0.5) { y[i] = 1; } } }";
    for text in [in_place, chosen_by_an_angle] {
        let (near, full) = angles(text);
        assert!(near == 0 && full > 0, "{text}: {near} {full}");
    }
}

#[test]
fn what_an_angle_rules_out_is_not_done_with_a_wrong_one() {
    // What is not contracted where its caller is stays a call.
    let function = |value: &str| {
        format!(
            "#pragma hidp nocontract
             function long turns(long n) {{ long _left = n; while (_left != 0) {{ _left -= 2; }} return n; }}
             #pragma hidp unchecked
             function f input double x[N], y[M]; input long n[N]; output double z[N];
             {{ map {{ i := [0:N); double s = sin(x[i]); z[i] = {value}; }} }}"
        )
    };
    for value in [
        "sin(x[i]) <= 1 ? x[i] : y[i]",
        "s <= 1 ? s : y[i]",
        "sin(x[i]) <= 1 ? x[i] : double(turns(n[i]))",
        "sin(x[i]) <= 1 || turns(n[i]) == 0 ? 1 : 2",
        "y[long(M * abs(sin(x[i])))]",
        "double(turns(long(sin(x[i]))))",
    ] {
        let (near, full) = angles(&function(value));
        assert!(near == 0 && full > 0, "{value}: {near} {full}");
    }
    for value in ["s <= 1 ? 0 : s", "sin(x[i]) + (n[i] < 9 ? y[i] : double(turns(n[i])))"] {
        assert!(angles(&function(value)).0 > 0, "{value}");
    }
}

#[test]
fn angles_that_are_loaded_under_a_condition_are_not_looked_at_before_it() {
    let text = "function f input double x[N], y[M]; output double z[N];
        { map { i := [0:N); z[i] = x[i] > 0 && i < M ? sin(y[i]) : x[i]; } }";
    assert_eq!(angles(text).0, 0);
}

/// Loads of `A` in loops in lanes, and values of it that are read before them.
fn loads_and_kept(bounds: &str, body: &str) -> [usize; 2] {
    let text = format!(
        "function f inout int A[N][N], y[N][N]; input long k;
        {{ if (k >= 0 && k < N) {{ map {{ i := (k:N); j := {bounds}; {body} }} }} }}"
    );
    let entry = lowered(&text);
    let mut found = [0, 0];
    for (_, kernel) in unit(&entry, "rows").kernels.iter() {
        let names = |var: imp::VarId| kernel.function.vars[var].name.as_str();
        each_stmt(&kernel.function.body, &mut |stmt| match stmt {
            Stmt::Let { var, .. } => found[1] += usize::from(names(*var) == "A_kept"),
            Stmt::Loop(node) if is_simd(stmt) => each_expr(&node.body, &mut |expr| {
                found[0] += usize::from(matches!(&expr.kind, ExprKind::Load(element) if names(element.base) == "A"));
            }),
            _ => {}
        });
    }
    found
}

#[test]
fn elements_that_stay_are_read_before_lanes() {
    assert_eq!(loads_and_kept("(k:N)", "A[i][j] -= A[i][k] * A[k][j];"), [2, 1]);
    assert_eq!(loads_and_kept("(k:N)", "A[i][j] = A[i][k] * A[i][k] + A[k][k];"), [0, 2]);
    assert_eq!(loads_and_kept("(k:N)", "int a = A[i][k]; if (a > y[i][j]) { A[i][j] = A[i][k] + a; }"), [0, 1]);
    // Compilers know of arrays that the loop does not write.
    assert_eq!(loads_and_kept("(k:N)", "y[i][j] = A[i][k];")[1], 0);
    // Not read in all iterations.
    assert_eq!(loads_and_kept("(k:N)", "if (y[i][j] > 3) { A[i][j] = A[i][k]; }"), [1, 0]);
    // In the only iteration there may be, the second one is read after the write.
    assert_eq!(loads_and_kept("[k:k+1)", "A[i][j] = y[i][j]; y[i][j] = A[i][k];"), [1, 0]);
}

/// Whether a function makes divisors, and whether it divides by other values than constants.
fn divisors_and_divisions(text: &str) -> [bool; 2] {
    let entry = lowered(text);
    let mut found = [false; 2];
    for (_, kernel) in unit(&entry, "serial").kernels.iter() {
        let vars = &kernel.function.vars;
        let is_divisor = |expr: &imp::Expr| matches!(expr.kind, ExprKind::Var(var) if matches!(vars[var].kind, imp::VarKind::Divisor(_)));
        found[0] |= vars.iter().any(|(_, var)| matches!(var.kind, imp::VarKind::Divisor(_)));
        each_expr(&kernel.function.body, &mut |expr| {
            if let ExprKind::Binary(BinOp::Div | BinOp::Rem, _, by) = &expr.kind {
                found[1] |= !is_divisor(by) && !matches!(by.kind, ExprKind::Int(_));
            }
        });
    }
    found
}

#[test]
fn integers_are_divided_by_divisors_that_stay() {
    let by_dimension =
        "function f input ulong x[N]; output ulong y[N]; { map { i := [0:N); y[i] = x[i] % (ulong)N; } }";
    assert_eq!(divisors_and_divisions(by_dimension), [true, false]);
    let by_row = "function f input long x[N][M], d[N]; output long y[N];
        { map { i := [0:N); long by = max(d[i], 1); long sum = 0;
          for (int k = 0; k < M; k += 1) { sum = sum * 3 + x[i][k] / by - x[i][k] % by; } y[i] = sum; } }";
    assert_eq!(divisors_and_divisions(by_row), [true, false]);
}

#[test]
fn other_divisions_stay() {
    let constant = "function f input long x[N]; output long y[N]; { map { i := [0:N); y[i] = x[i] / 7; } }";
    assert_eq!(divisors_and_divisions(constant), [false, false]);
    let narrow = "function f input short x[N], d[1]; output short y[N];
        { short by = d[0]; if (by > 0) { map { i := [0:N); y[i] = x[i] / by; } } }";
    assert_eq!(divisors_and_divisions(narrow), [false, true]);
    let changes = "function f input long x[N]; output long y[N];
        { map { i := [0:N); long a = x[i], b = 7 + i; while (b > 0) { long c = a % b; a = b; b = c; } y[i] = a; } }";
    assert_eq!(divisors_and_divisions(changes), [false, true]);
}

/// Comparisons for being equal or different in each loop in lanes, and the least of several values.
fn comparisons_and_least(condition: &str) -> [usize; 2] {
    let text = format!(
        "function f input uint8 x[N], z[N]; input uint8 a; output int y[N];
        {{ map {{ i := [0:N); uint8 c = x[i]; y[i] = {condition} ? 7 : 8; }} }}"
    );
    let entry = lowered(&text);
    let mut found = Vec::new();
    for (_, kernel) in unit(&entry, "rows").kernels.iter() {
        each_stmt(&kernel.function.body, &mut |stmt| {
            if let Stmt::Loop(node) = stmt
                && is_simd(stmt)
            {
                let mut both = [0; 2];
                each_expr(&node.body, &mut |expr| {
                    both[0] += usize::from(matches!(expr.kind, ExprKind::Binary(BinOp::Eq | BinOp::Ne, ..)));
                    both[1] += usize::from(matches!(expr.kind, ExprKind::Math(MathFn::Min, _)));
                });
                found.push(both);
            }
        });
    }
    assert!(found.iter().all(|both| *both == found[0]), "{condition}: {found:?}");
    found[0]
}

#[test]
fn lanes_compare_with_all_constants_at_once() {
    assert_eq!(comparisons_and_least("c == 9 || c == 10 || c == 32"), [1, 2]);
    assert_eq!(comparisons_and_least("c != 9 && c != 10 && c != 32 && c < 100"), [1, 2]);
    assert_eq!(comparisons_and_least("c > 200 || 9 == z[i] || c == 50 || z[i] == 10 || z[i] == 32"), [2, 2]);
    assert_eq!(comparisons_and_least("c > 200 && (c == 9 || c == 10 || (c == 12 || c == 32))"), [1, 3]);
}

#[test]
fn other_comparisons_stay() {
    assert_eq!(comparisons_and_least("c == 9 || c == 10"), [2, 0]);
    assert_eq!(comparisons_and_least("c == 9 || c == 10 || z[i] == 32"), [3, 0]);
    assert_eq!(comparisons_and_least("c == 9 || c == 10 || c == a"), [3, 0]);
    assert_eq!(comparisons_and_least("c != 9 || c != 10 || c != 32"), [3, 0]);
    assert_eq!(comparisons_and_least("c == 9 && c == 10 && c == 32"), [3, 0]);
    assert_eq!(comparisons_and_least("c == 9 || c == 10 || c > 100 && c == 32"), [3, 0]);
}

#[test]
fn prefixes_of_integers_form_in_tiles() {
    let tiles = |declarations: &str, body: &str| {
        let entry = lowered(&format!("function f input int x[N]; {declarations} {{ {body} }}"));
        in_kernels(unit(&entry, "rows"), |stmt| matches!(stmt, Stmt::Prim(prim) if prim.function == "scan_tile"))
    };
    let scan = |value: &str| format!("map {{ i := [0:N); _v = {value}; }} scan(\"+\", y[i], _v, i := [*]);");
    assert_eq!(tiles("output int y[N];", &scan("x[i] > 3 ? 1 : 0")), 1);
    assert_eq!(tiles("output long y[N];", &scan("x[i] > 3 ? 1l : 0l")), 1);
    assert_eq!(tiles("inout int y[N+1];", &scan("x[i] > 3 ? 1 : 0").replace("y[i]", "y[i+1]")), 1);
    // Floats would have other bits; elements that iterations read are stored by others; a place outside is found in order.
    assert_eq!(tiles("output float y[N];", &scan("x[i] > 3 ? 1.0f : 0.0f")), 0);
    assert_eq!(tiles("inout int y[N];", &scan("x[i] + y[i]")), 0);
    assert_eq!(tiles("inout int y[M];", &scan("x[i] > 3 ? 1 : 0")), 0);
    assert_eq!(tiles("output short y[N];", &scan("x[i] > 3 ? (short)1 : (short)0")), 0);
}

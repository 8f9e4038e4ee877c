//! Arrays that all iterations update atomically, of which each thread of a processor, or each block of a device, may have a copy.

use crate::mapping::{Exec, Mapping, Recipe, Strategy, key};
use crate::wide::same_size;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{FoldFn, FoldOp, Func, Map, StmtKind, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdMap;

/// Elements of four cache lines of the smallest type that is updated atomically, which lie between two copies of threads. With a line processors
/// fetch its neighbour, so copies that only share no line still take lines from each other. `updates` writes the first of them.
pub const COPY_PADDING: i64 = 64;

/// The arrays from outside that a nest on threads updates atomically by one operator each, and that nothing else in the nest touches: integers,
/// where the order of updates changes nothing, and sums of floats, whose bits the directive `unordered` gives up.
pub fn copied_targets(func: &Func, map: &Map, strategy: Strategy) -> Vec<VarId> {
    let shares = match strategy {
        Strategy::Rows | Strategy::Wide | Strategy::Team => true,
        // One thread needs no atoms, tiles of lanes have none; of devices see `copied_by_blocks`.
        Strategy::Serial | Strategy::Lanes | Strategy::Device(_) => false,
    };
    if shares { updated(func, map, |op| is_integer(op) || op.func == FoldFn::Add) } else { Vec::new() }
}

/// The arrays of integers of a nest whose iterations are shared out over the groups of a device. An array that has an element for each iteration is not small
/// where there is much to do, and primitives leave no room in shared memory.
pub fn copied_by_blocks(func: &Func, map: &Map, mapping: &Mapping) -> Vec<VarId> {
    let plain = matches!(mapping.recipe, Recipe::Plain) && !mapping.is_split();
    let exec = key(map).and_then(|key| mapping.exec(key));
    let shares = matches!(exec, Some(Exec::Device(level)) if level != Level::Kernel);
    let mut calls = false;
    visit::walk_stmts(&map.body, |stmt| calls |= matches!(stmt.kind, StmtKind::Prim(_)));
    if !(plain && shares) || calls {
        return Vec::new();
    }
    let of_iterations = |array: &VarId| {
        let shape = &func.vars[*array].shape;
        shape.iter().any(|extent| map.iters.iter().any(|iter| same_size(func, extent, &iter.hi)))
    };
    updated(func, map, is_integer).into_iter().filter(|array| !of_iterations(array)).collect()
}

fn is_integer(op: &FoldOp) -> bool {
    op.ty.scalar().is_some_and(|scalar| scalar.is_integer())
}

fn updated(func: &Func, map: &Map, suits: impl Fn(&FoldOp) -> bool) -> Vec<VarId> {
    if !map.folds.is_empty() {
        return Vec::new();
    }
    let declared = visit::declared(&map.body);
    let mut found: OrdMap<VarId, Option<FoldFn>> = OrdMap::new();
    visit::walk_stmts(&map.body, |stmt| {
        if let StmtKind::Atomic { place, op, .. } = &stmt.kind {
            let suits =
                suits(op) && op.ty.scalar().is_some() && place.path.is_empty() && func.vars[place.array].is_array();
            let op = (suits && !declared.contains(&place.array)).then_some(op.func);
            let known = found.entry(place.array).or_insert(op);
            if *known != op {
                *known = None;
            }
        }
    });
    // Maps that were joined may touch it otherwise, too.
    visit::walk_vars(&map.body, |var, role| {
        if role != Role::Update {
            found.remove(&var);
        }
    });
    found.into_iter().filter(|(_, op)| op.is_some()).map(|(array, _)| array).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nests;
    use crate::testing::optimised;

    fn of(body: &str, strategy: Strategy) -> Vec<String> {
        let text = format!(
            "function f input int x[N]; inout int a[B], b[B]; inout float m[B]; {{ map {{ i := [0:N); {body} }} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[program.entries[0]];
        let targets = copied_targets(func, nests(func)[0], strategy);
        targets.into_iter().map(|array| func.vars[array].name.clone()).collect()
    }

    #[test]
    fn what_a_joined_map_touches_otherwise_is_left_alone() {
        let text = "function f inout int a[N]; output int b[N]; { map { i := [0:N); atomic a[i] += 1; } map { i := [0:N); b[i] = a[i]; } }";
        let program = optimised(text);
        let func = &program.funcs[program.entries[0]];
        let [updates, reads] = nests(func)[..] else { panic!("two maps") };
        let mut joined = updates.clone();
        joined.body.stmts.extend(reads.body.stmts.clone());
        let targets = |map: &Map| copied_targets(func, map, Strategy::Rows).len();
        assert_eq!((targets(updates), targets(&joined)), (1, 0));
    }

    #[test]
    fn sums_of_floats_have_copies_on_processors() {
        let sums = "#pragma hidp unordered\n map { j := [0:1); atomic m[x[i]] += 1; }";
        assert_eq!(of(sums, Strategy::Rows), ["m"]);
        assert_eq!(of(sums, Strategy::Device(Level::Thread)), [""; 0]);
    }

    #[test]
    fn one_operator_on_integers_from_outside() {
        let rows = |body: &str| of(body, Strategy::Rows);
        assert_eq!(rows("atomic a[x[i]] += 1; atomic a[0] += 2; atomic b[x[i]] = max(b[x[i]], i);"), ["a", "b"]);
        assert_eq!(rows("atomic a[x[i]] += 1; atomic a[0] = max(a[0], 2);"), [""; 0], "two operators");
        assert_eq!(rows("atomic m[x[i]] = max(m[x[i]], 1);"), [""; 0], "-0.0 and 0.0");
        assert_eq!(rows("map { j := [0:i); atomic a[x[j]] += 1; }"), ["a"]);
        assert_eq!(of("atomic a[x[i]] += 1;", Strategy::Serial), [""; 0], "one thread needs none");
    }
}

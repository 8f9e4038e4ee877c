//! Where what keeps a nest from something stands: refusals name it.

use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::visit::child_blocks;
use hidp_ir::par::{Block, Func, Map, Program};
use hidp_syntax::index::Id as _;
use hidp_syntax::source::{FileId, Span};

use super::shape::straight;

/// The iterators of a map.
pub(super) fn span_of(map: &Map) -> Span {
    match (map.iters.first(), map.iters.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => nowhere(),
    }
}

/// The first of several nests.
pub(super) fn first_of(maps: &[&Map]) -> Span {
    maps.first().map_or_else(nowhere, |map| span_of(map))
}

/// What a program that was made up has.
fn nowhere() -> Span {
    Span::new(FileId::new(0), 0, 0)
}

/// The first check that remains in a map, or the map.
pub(super) fn check(program: &Program, func: &Func, map: &Map) -> Span {
    let faults = |block: &Block| effects::may_fault(program, &func.vars, block);
    innermost(&map.body, &faults).unwrap_or_else(|| span_of(map))
}

/// The first statement of a map that is no plain computation, or the map.
pub(super) fn statement(program: &Program, func: &Func, map: &Map) -> Span {
    innermost(&map.body, &|block| !straight(program, func, block)).unwrap_or_else(|| span_of(map))
}

/// The first statement of a block that is no plain computation, or writes what is not its own; or the map.
pub(super) fn plain(program: &Program, func: &Func, block: &Block, map: &Map) -> Span {
    let writes = |block: &Block| !Effects::of_block(program, &func.vars, block).outer_writes().is_empty();
    let wrong = innermost(block, &|block| !straight(program, func, block));
    wrong.or_else(|| innermost(block, &writes)).unwrap_or_else(|| span_of(map))
}

/// The first statement of a map that is no plain computation, or the first check.
pub(super) fn unfit(program: &Program, func: &Func, map: &Map) -> Span {
    let plain = straight(program, func, &map.body);
    if plain { check(program, func, map) } else { statement(program, func, map) }
}

/// The first statement of which this holds, and of that the first one inside.
pub(super) fn innermost(block: &Block, holds: &dyn Fn(&Block) -> bool) -> Option<Span> {
    let stmt = block.stmts.iter().find(|stmt| holds(&Block { stmts: vec![(*stmt).clone()] }))?;
    let inside = child_blocks(stmt).into_iter().find_map(|block| innermost(block, holds));
    Some(inside.unwrap_or(stmt.span))
}

#[cfg(test)]
mod tests {
    use crate::target::{DeviceModel, Model};
    use crate::testing::optimised;
    use crate::{Candidate, Fate, Limits, Natives, explore, explore_device};

    /// What refusals of this text point at, by candidates.
    fn blamed(text: &str) -> Vec<(String, String)> {
        let program = optimised(text);
        let (entry, limits) = (program.entries[0], Limits::default());
        let cpu = explore(&program, entry, &Model::cpu(), limits).candidates;
        let device = explore_device(&program, entry, &DeviceModel::cuda(), limits, Natives::Everywhere).candidates;
        let at = |Candidate { name, fate, .. }: &Candidate| match fate {
            Fate::Excluded(refusal) => {
                Some((name.clone(), text[refusal.at.start as usize..refusal.at.end as usize].to_owned()))
            }
            Fate::Kept | Fate::SameAs(_) | Fate::Outnumbered(_) => None,
        };
        cpu.iter().chain(&device).filter_map(at).collect()
    }

    fn has(found: &[(String, String)], name: &str, text: &str) {
        assert!(found.contains(&(name.to_owned(), text.to_owned())), "{name}: {text}\n{found:?}");
    }

    #[test]
    fn refusals_name_the_statement_that_is_to_blame() {
        let rows = "function f input float A[R][C]; input int at[C]; output float y[R];
            { map { r := [0:R); float s = 0; if (r > 3) { for (int c = 0; c < C; c += 1) { s += A[r][at[c]]; } } y[r] = s; } }";
        let found = blamed(rows);
        has(&found, "lanes", "s += A[r][at[c]];");
        has(&found, "warp", "r := [0:R)");
        let product = "function f input float A[M][K], B[K][N]; input int p[K]; output float C[M][N];
            { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][(long)(n * n) % N]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
        let found = blamed(product);
        has(&found, "team", "m := [0:M); n := [0:N)");
        assert!(
            found.iter().any(|(_, text)| text.starts_with("_t = A[m][k]") || text.starts_with("B[k]")),
            "{found:?}"
        );
    }
}

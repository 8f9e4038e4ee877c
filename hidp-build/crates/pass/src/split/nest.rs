//! Builds the nest of maps for folds over nested sets of iterators.

use super::{Split, levels};
use hidp_ir::par::same;
use hidp_ir::par::{Block, Directives, Expr, Fold, FoldKind, Iter, Map, Stmt, StmtKind, Target, VarId};
use hidp_syntax::source::Span;

impl Split<'_, '_> {
    /// The nest of a map all of whose folds form one chain.
    pub(super) fn nest(&mut self, map: Map, span: Span) -> Vec<Stmt> {
        let Map { iters, body, folds, directives } = map;
        let shape = Map { iters, body: Block::default(), folds: Vec::new(), directives };
        let levels = levels(&shape, &folds);
        let scans = folds.iter().all(|fold| fold.kind != FoldKind::Reduce);
        // Per fold: the iterators it still has to run over, and the variable with what it has got so far.
        let mut pending: Vec<(Fold, Vec<VarId>)> = folds.into_iter().map(|fold| (fold.clone(), fold.over)).collect();
        let mut stmts = body.stmts;
        for (depth, vars) in levels.iter().enumerate().rev().filter(|(_, vars)| !vars.is_empty()) {
            let innermost = depth + 1 == levels.len();
            let outermost = levels[..depth].iter().all(Vec::is_empty);
            let mut level = Map {
                iters: vars.iter().map(|var| iter_of(&shape, *var)).collect(),
                body: Block { stmts: std::mem::take(&mut stmts) },
                folds: Vec::new(),
                directives: directives_of(&shape.directives, innermost, outermost),
            };
            if scans {
                if innermost {
                    level.folds = pending.drain(..).map(|(fold, _)| fold).collect();
                }
                stmts.push(Stmt { kind: StmtKind::Map(level), span });
                continue;
            }
            stmts = self.fold_level(level, &mut pending, span);
        }
        stmts
    }

    /// One map of the nest with the declarations of its results before it and their delivery after it.
    fn fold_level(&mut self, mut level: Map, pending: &mut Vec<(Fold, Vec<VarId>)>, span: Span) -> Vec<Stmt> {
        let vars: Vec<VarId> = level.iters.iter().map(|iter| iter.var).collect();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut next = Vec::new();
        for (fold, mut rest) in std::mem::take(pending) {
            rest.retain(|var| !vars.contains(var));
            if let Some(same) = level.folds.iter().find(|other| is_same_fold(other, &fold, &before))
                && let Target::Scalar(target) = same.target
            {
                deliver(fold, rest, target, &mut after, &mut next);
                continue;
            }
            let target = match &fold.target {
                Target::Scalar(var) if rest.is_empty() => *var,
                Target::Scalar(_) | Target::Element(_) => {
                    let name = format!("{}_{}", self.name(fold.value), if rest.is_empty() { "total" } else { "part" });
                    let var = self.local(name, fold.op.ty, Vec::new(), fold.span);
                    before.push(Stmt { kind: StmtKind::Declare { var, zero: false }, span: fold.span });
                    var
                }
            };
            let mut step = fold.clone();
            step.over = vars.clone();
            step.target = Target::Scalar(target);
            level.folds.push(step);
            deliver(fold, rest, target, &mut after, &mut next);
        }
        *pending = next;
        before.push(Stmt { kind: StmtKind::Map(level), span });
        before.append(&mut after);
        before
    }
}

/// Whether a fold of this level computes what `fold` wants, into a local that `before` declares.
fn is_same_fold(known: &Fold, fold: &Fold, before: &[Stmt]) -> bool {
    let local = |target: &Target| match target {
        Target::Scalar(var) => {
            before.iter().any(|stmt| matches!(stmt.kind, StmtKind::Declare { var: declared, .. } if declared == *var))
        }
        Target::Element(_) => false,
    };
    known.value == fold.value && same::op(&known.op, &fold.op) && local(&known.target)
}

/// Stores the complete result of a fold, or hands a partial one to the next level.
fn deliver(mut fold: Fold, rest: Vec<VarId>, result: VarId, after: &mut Vec<Stmt>, next: &mut Vec<(Fold, Vec<VarId>)>) {
    if !rest.is_empty() {
        fold.value = result;
        next.push((fold, rest));
        return;
    }
    let value = Expr::read(result, fold.op.ty, fold.span);
    let kind = match fold.target {
        Target::Element(place) => StmtKind::Store { place, value },
        Target::Scalar(var) if var == result => return,
        Target::Scalar(var) => StmtKind::Assign { var, value },
    };
    after.push(Stmt { kind, span: fold.span });
}

fn iter_of(map: &Map, var: VarId) -> Iter {
    map.iters.iter().find(|iter| iter.var == var).expect("an iterator of the map").clone()
}

/// What the user asked of a map belongs to the first level, unrolling to the last, and the rest to all.
fn directives_of(all: &Directives, innermost: bool, outermost: bool) -> Directives {
    Directives {
        levels: if outermost { all.levels.clone() } else { Vec::new() },
        ordered: all.ordered,
        unordered: all.unordered,
        block: if outermost { all.block } else { None },
        unroll: if innermost { all.unroll } else { None },
        pins: if outermost { all.pins.clone() } else { Vec::new() },
        spans: all.spans,
    }
}

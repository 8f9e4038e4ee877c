//! Local arrays that are never loaded.

use hidp_ir::par::effects::{expr_may_fault, has_sure_extents};
use hidp_ir::par::same;
use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{
    BinOp, Block, Expr, ExprKind, FaultKind, Func, Map, Place, Program, Stmt, StmtKind, VarId, VarKind,
};
use hidp_prove::MAX_EXTENT;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// Drops every local array of `func` of which no element is loaded.
pub(super) fn drop_arrays(program: &Program, func: &mut Func) {
    let mut mentions: OrdMap<VarId, usize> = OrdMap::new();
    visit::walk_vars(&func.body, |var, role| {
        if role != Role::Declare {
            *mentions.entry(var).or_default() += 1;
        }
    });
    let mut harmless: OrdMap<VarId, usize> = OrdMap::new();
    visit::walk_stmts(&func.body, |stmt| {
        if let StmtKind::Store { place, value } = &stmt.kind
            && !store_may_fault(program, place, value)
        {
            *harmless.entry(place.array).or_default() += 1;
        }
    });
    let is_dead = |var: VarId| {
        func.vars[var].kind == VarKind::Local
            && func.vars[var].is_array()
            && mentions.get(&var).copied().unwrap_or(0) == harmless.get(&var).copied().unwrap_or(0)
            && !func.vars[var].shape.iter().any(|extent| expr_may_fault(program, extent))
    };
    let dead: OrdSet<VarId> = func.vars.ids().filter(|var| is_dead(*var)).collect();
    let mut body = std::mem::take(&mut func.body);
    Drop { func, dead: &dead, inside: false }.visit_block(&mut body);
    func.body = body;
}

fn store_may_fault(program: &Program, place: &Place, value: &Expr) -> bool {
    place.unproved != 0
        || expr_may_fault(program, value)
        || place.index.iter().any(|index| expr_may_fault(program, index))
}

struct Drop<'f> {
    func: &'f Func,
    dead: &'f OrdSet<VarId>,
    /// Whether the block at hand is inside a map.
    inside: bool,
}

impl Mutator for Drop<'_> {
    fn visit_map(&mut self, map: &mut Map) {
        let outside = std::mem::replace(&mut self.inside, true);
        change::walk_map(self, map);
        self.inside = outside;
    }
    fn visit_block(&mut self, block: &mut Block) {
        change::walk_block(self, block);
        for stmt in std::mem::take(&mut block.stmts) {
            match &stmt.kind {
                StmtKind::Declare { var, .. } if self.dead.contains(var) => {
                    block.stmts.extend(size_tests(self.func, *var, self.inside, stmt.span));
                }
                StmtKind::Store { place, .. } if self.dead.contains(&place.array) => {}
                _ => block.stmts.push(stmt),
            }
        }
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// What the declaration of an array tested: no extent is negative, and the number of elements fits. Proofs at host level rest on
/// it. Nothing where a parameter of the same shape exists.
pub(super) fn size_tests(func: &Func, array: VarId, inside: bool, span: Span) -> Vec<Stmt> {
    let shape = &func.vars[array].shape;
    let known = func
        .params
        .iter()
        .any(|param| func.vars[*param].shape.len() == shape.len() && same::exprs(&func.vars[*param].shape, shape));
    let sure = has_sure_extents(&func.vars, array);
    let constant = shape.iter().all(|extent| extent.as_int().is_some());
    if known || (sure && (shape.len() == 1 || constant)) {
        return Vec::new();
    }
    let mut tests = Vec::new();
    for extent in shape.iter().filter(|_| !sure) {
        let cond = Expr::long(BinOp::Ge, extent.clone(), Expr::int(0, span));
        let values = vec![("the size".to_string(), extent.clone())];
        tests.push(Stmt { kind: StmtKind::Require { cond, fault: FaultKind::NegativeSize, values }, span });
    }
    // Inside maps nothing is concluded from tests, and storage that is not needed may be as large as it likes.
    if !inside {
        let values = shape.iter().take(4).map(|extent| (String::new(), extent.clone())).collect();
        let cond = fits(shape, span);
        tests.push(Stmt { kind: StmtKind::Require { cond, fault: FaultKind::SizeOverflow, values }, span });
    }
    tests
}

fn lazy(and: bool, left: Expr, right: Expr) -> Expr {
    let span = left.span;
    Expr { kind: ExprKind::Lazy { and, left: Box::new(left), right: Box::new(right) }, ty: Ty::BOOL, span }
}

/// Whether extents, none of them negative, have a product of at most [`MAX_EXTENT`], computed without overflow.
fn fits(shape: &[Expr], span: Span) -> Expr {
    let zero = || Expr::int(0, span);
    let mut empty: Option<Expr> = None;
    let mut small: Option<Expr> = None;
    let mut product: Option<Expr> = None;
    for extent in shape {
        let is_zero = Expr::long(BinOp::Eq, extent.clone(), zero());
        let limit = match &product {
            None => Expr::int(MAX_EXTENT, span),
            // Evaluated only where no extent is 0, so that the product of the ones before is not either.
            Some(product) => Expr::long(BinOp::Div, Expr::int(MAX_EXTENT, span), product.clone()),
        };
        let is_small = Expr::long(BinOp::Le, extent.clone(), limit);
        empty = Some(match empty {
            None => is_zero,
            Some(others) => lazy(false, others, is_zero),
        });
        small = Some(match small {
            None => is_small,
            Some(others) => lazy(true, others, is_small),
        });
        product = Some(match product {
            None => extent.clone(),
            Some(product) => Expr::long(BinOp::Mul, product, extent.clone()),
        });
    }
    match (empty, small) {
        (Some(empty), Some(small)) => lazy(false, empty, small),
        (empty, small) => empty.or(small).expect("an array has extents"),
    }
}

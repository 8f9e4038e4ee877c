//! The smallest and the largest element of an input of integers, and the map that finds them.

use hidp_ir::par::{
    Access, BinOp, Block, Directives, Expr, ExprKind, Fold, FoldFn, FoldKind, FoldOp, Iter, Map, Place, Stmt, StmtKind,
    Target, Var, VarId, VarKind,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ty::{Scalar, Ty};

/// The type of an input array's elements, if these are integers that `long` holds.
pub(crate) fn integers(vars: &Arena<VarId, Var>, array: VarId) -> Option<Scalar> {
    let var = &vars[array];
    let ty = var.ty.scalar().filter(|ty| ty.is_integer() && ty.converts_to(Scalar::I64))?;
    (var.kind == VarKind::Param(Direction::Input) && !var.shape.is_empty()).then_some(ty)
}

/// How many elements an array has.
pub(crate) fn elements(vars: &Arena<VarId, Var>, array: VarId) -> Expr {
    let extents = vars[array].shape.iter().cloned();
    extents.reduce(|all, extent| Expr::long(BinOp::Mul, all, extent)).expect("an array has an extent")
}

/// A map over the first elements of an array of integers, below `shape` in each dimension, that finds the extreme ones.
pub(crate) fn find(vars: &mut Arena<VarId, Var>, array: VarId, shape: Vec<Expr>, found: [VarId; 2]) -> Stmt {
    let (span, ty) = (vars[array].span, vars[array].ty);
    let mut local =
        |name: &str, ty: Ty, kind: VarKind| vars.push(Var { name: name.into(), ty, shape: Vec::new(), kind, span });
    let iters: Vec<Iter> = shape
        .into_iter()
        .map(|hi| {
            let var = local("at", Ty::LONG, VarKind::Iter);
            Iter { var, lo: Expr::int(0, span), hi, step: Expr::int(1, span), span }
        })
        .collect();
    let value = local("element", ty, VarKind::Local);
    let index = iters.iter().map(|iter| Expr::read(iter.var, Ty::LONG, span)).collect();
    let place = Place { array, index, path: Vec::new(), unproved: 0, access: Access::Exclusive, span };
    let element = Expr { kind: ExprKind::Load(place), ty, span };
    let fold = |func: FoldFn, target: VarId| {
        let neutral = ty.scalar().and_then(|ty| func.neutral(ty));
        let neutral = neutral.map(|value| Box::new(Expr { kind: ExprKind::Const(value), ty, span }));
        let op = FoldOp { func, ty, neutral, ordered: false };
        let over = iters.iter().map(|iter| iter.var).collect();
        Fold { kind: FoldKind::Reduce, op, target: Target::Scalar(target), value, over, span }
    };
    let folds = vec![fold(FoldFn::Min, found[0]), fold(FoldFn::Max, found[1])];
    let set = [StmtKind::Declare { var: value, zero: true }, StmtKind::Assign { var: value, value: element }];
    let body = Block { stmts: set.map(|kind| Stmt { kind, span }).into() };
    Stmt { kind: StmtKind::Map(Map { iters, body, folds, directives: Directives::default() }), span }
}

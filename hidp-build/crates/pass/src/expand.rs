//! Primitives that are plain folds become maps, so that they are planned, fused and vectorised as maps are.

use super::Pass;
use hidp_ir::par::doubt::every_dimension;
use hidp_ir::par::{
    Access, ArrayRef, BinOp, Block, ConvertMode, Expr, ExprKind, Extent, FaultKind, Fold, FoldKind, FoldOp, Func, Iter,
    Map, Place, PrimCall, Program, Stmt, StmtKind, Target, Var, VarId, VarKind, visit,
};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// The pass.
pub(super) const PASS: Pass =
    Pass { name: "expand", about: "replaces `min`, `max` and `reduce` of one segment by maps with a fold", run };

fn run(program: &mut Program) {
    program.funcs.iter_mut().for_each(|(_, func)| function(func));
}

/// Expands the primitives of one function.
pub(super) fn function(func: &mut Func) {
    let mut body = std::mem::take(&mut func.body);
    block(&mut func.vars, &mut body, &OrdSet::new());
    func.body = body;
}

/// `written` are the arrays that the maps around write.
fn block(vars: &mut Arena<VarId, Var>, block: &mut Block, written: &OrdSet<VarId>) {
    let mut stmts = Vec::with_capacity(block.stmts.len());
    for mut stmt in block.stmts.drain(..) {
        let mut inside = written.clone();
        if let StmtKind::Map(map) = &stmt.kind {
            visit::walk_vars(&map.body, |var, role| {
                if writes(role) {
                    inside.insert(var);
                }
            });
        }
        visit::child_blocks_mut(&mut stmt).into_iter().for_each(|child| self::block(vars, child, &inside));
        match stmt.kind {
            StmtKind::Prim(call) => match (folds(&call), call.op.as_ref(), call.result.as_ref()) {
                (Some((low, high)), Some(op), Some(result)) => {
                    let span = call.span;
                    Expansion { vars, stmts: &mut stmts, written, span }.fold(&call, low, high, op, result);
                }
                _ => stmts.push(Stmt { kind: StmtKind::Prim(call), span: stmt.span }),
            },
            _ => stmts.push(stmt),
        }
    }
    block.stmts = stmts;
}

fn writes(role: visit::Role) -> bool {
    match role {
        visit::Role::Write | visit::Role::Update | visit::Role::Argument { .. } => true,
        visit::Role::Declare | visit::Role::Iterate | visit::Role::Read => false,
    }
}

/// The segment that a call folds to one value.
fn folds(call: &PrimCall) -> Option<(Expr, Expr)> {
    let folds = call.prim.per_segment();
    match &call.extent {
        Extent::Whole { size } if folds => Some((Expr::int(0, call.span), size.clone())),
        Extent::Segment { low, high } if folds => Some((low.clone(), high.clone())),
        Extent::Whole { .. } | Extent::Segment { .. } | Extent::Vectors { .. } | Extent::Regular { .. } => None,
    }
}

struct Expansion<'a> {
    vars: &'a mut Arena<VarId, Var>,
    stmts: &'a mut Vec<Stmt>,
    /// Arrays that other iterations may write while this one folds them.
    written: &'a OrdSet<VarId>,
    span: Span,
}

impl Expansion<'_> {
    /// `require segment inside; map (k = low .. high) { v = in[k]; } fold over k into total; result = total;`
    fn fold(&mut self, call: &PrimCall, low: Expr, high: Expr, op: &FoldOp, result: &Target) {
        let low = self.keep("low", low);
        let high = self.keep("high", high);
        let len = self.keep("length", call.input.len.clone());
        self.require_inside(&low, &high, &len);
        let total = self.local("total", op.ty);
        self.push(StmtKind::Declare { var: total, zero: false });
        let iter = self.vars.push(Var { kind: VarKind::Iter, ..self.long("at") });
        let value = self.local("value", op.ty);
        let element = self.element(&call.input, iter, op.ty);
        let body = vec![
            Stmt { kind: StmtKind::Declare { var: value, zero: false }, span: self.span },
            Stmt { kind: StmtKind::Assign { var: value, value: element }, span: self.span },
        ];
        let step = Expr::int(1, self.span);
        let map = Map {
            iters: vec![Iter { var: iter, lo: low, hi: high, step, span: self.span }],
            body: Block { stmts: body },
            folds: vec![Fold {
                kind: FoldKind::Reduce,
                op: op.clone(),
                target: Target::Scalar(total),
                value,
                over: vec![iter],
                span: self.span,
            }],
            directives: call.directives.clone(),
        };
        self.push(StmtKind::Map(map));
        let value = Expr::read(total, op.ty, self.span);
        self.push(match result {
            Target::Scalar(var) => StmtKind::Assign { var: *var, value },
            Target::Element(place) => StmtKind::Store { place: place.clone(), value },
        });
    }

    /// A fault unless the segment is empty or inside `[0, len)`.
    fn require_inside(&mut self, low: &Expr, high: &Expr, len: &Expr) {
        let both = |and: bool, left: Expr, right: Expr| Expr {
            span: left.span,
            kind: ExprKind::Lazy { and, left: Box::new(left), right: Box::new(right) },
            ty: Ty::BOOL,
        };
        let empty = Expr::long(BinOp::Le, high.clone(), low.clone());
        let starts = Expr::long(BinOp::Ge, low.clone(), Expr::int(0, self.span));
        let ends = Expr::long(BinOp::Le, high.clone(), len.clone());
        let cond = both(false, empty, both(true, starts, ends));
        let values = [low, high, len].map(|value| (String::new(), value.clone())).to_vec();
        self.push(StmtKind::Require { cond, fault: FaultKind::Segment, values });
    }

    /// `in[prefix…][offset + at]` as a value of type `ty`.
    fn element(&self, input: &ArrayRef, at: VarId, ty: Ty) -> Expr {
        let at = Expr::read(at, Ty::LONG, self.span);
        let last = match input.offset.as_int() {
            Some(0) => at,
            _ => Expr::long(BinOp::Add, input.offset.clone(), at),
        };
        let mut index = input.prefix.clone();
        index.push(last);
        let place = Place {
            array: input.array,
            unproved: every_dimension(index.len()),
            index,
            path: Vec::new(),
            access: if self.written.contains(&input.array) { Access::Shared } else { Access::Exclusive },
            span: input.span,
        };
        let elem = self.vars[input.array].ty;
        let load = Expr { kind: ExprKind::Load(place), ty: elem, span: input.span };
        if elem == ty {
            return load;
        }
        Expr { kind: ExprKind::Convert { operand: Box::new(load), mode: ConvertMode::Cast }, ty, span: input.span }
    }

    /// Evaluates a `long` once.
    fn keep(&mut self, name: &str, value: Expr) -> Expr {
        if value.as_int().is_some() {
            return value;
        }
        let var = self.local(name, Ty::LONG);
        self.push(StmtKind::Declare { var, zero: false });
        self.push(StmtKind::Assign { var, value });
        Expr::read(var, Ty::LONG, self.span)
    }

    fn long(&self, name: &str) -> Var {
        Var { name: name.into(), ty: Ty::LONG, shape: Vec::new(), kind: VarKind::Local, span: self.span }
    }

    fn local(&mut self, name: &str, ty: Ty) -> VarId {
        let var = Var { ty, ..self.long(name) };
        self.vars.push(var)
    }

    fn push(&mut self, kind: StmtKind) {
        self.stmts.push(Stmt { kind, span: self.span });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_ir::par::{read, verify};

    #[test]
    fn a_segmented_reduce_becomes_a_map_with_one_fold() {
        let text = r#"
func f(x, lo, s) dims (N) {
  vars { N: long dim; x: float[N] input; lo: long[N] input; s: double[N] output; i: long iter; }
  map (i = 0 .. N by 1) {
    prim reduce segment(lo[i], (lo[i] + 3)) in x{; 0, N} op "+" double neutral 0.0:double result s[i];
  }
}
"#;
        let mut program = read(text).expect("a program");
        run(&mut program);
        verify(&program).expect("well formed");
        let (_, func) = program.funcs.iter().next().expect("a function");
        let (mut maps, mut prims) = (0, 0);
        visit::walk_stmts(&func.body, |stmt| match &stmt.kind {
            StmtKind::Map(map) => maps += map.folds.len(),
            StmtKind::Prim(_) => prims += 1,
            _ => {}
        });
        assert_eq!((maps, prims), (1, 0));
    }
}

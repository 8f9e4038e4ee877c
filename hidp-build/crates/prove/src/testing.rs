//! Builds `par` by hand, in as few words as possible; numbers for random tests.

use hidp_ir::par::*;
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::source::{FileId, SourceMap, Span};
use hidp_syntax::ty::{Scalar, Ty};

/// xorshift
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as usize) % n
    }
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A function under construction.
pub(super) struct Build {
    pub vars: Arena<VarId, Var>,
    params: Vec<VarId>,
    dims: Vec<VarId>,
    file: FileId,
    next: u32,
}

impl Build {
    pub(super) fn new() -> Self {
        let file = SourceMap::new().add("test.hdp", "");
        Build { vars: Arena::new(), params: Vec::new(), dims: Vec::new(), file, next: 0 }
    }
    /// Every span differs.
    pub(super) fn span(&mut self) -> Span {
        self.next += 1;
        Span { file: self.file, start: self.next, end: self.next + 1 }
    }
    fn var(&mut self, name: &str, ty: Scalar, shape: Vec<Expr>, kind: VarKind) -> VarId {
        let span = self.span();
        self.vars.push(Var { name: name.to_owned(), ty: ty.into(), shape, kind, span })
    }
    pub(super) fn dim(&mut self, name: &str) -> VarId {
        let dim = self.var(name, Scalar::I64, Vec::new(), VarKind::Dim);
        self.dims.push(dim);
        dim
    }
    pub(super) fn param(&mut self, name: &str, direction: Direction, ty: Scalar, shape: Vec<Expr>) -> VarId {
        let param = self.var(name, ty, shape, VarKind::Param(direction));
        self.params.push(param);
        param
    }
    pub(super) fn input(&mut self, name: &str, ty: Scalar, shape: Vec<Expr>) -> VarId {
        self.param(name, Direction::Input, ty, shape)
    }
    pub(super) fn inout(&mut self, name: &str, ty: Scalar, shape: Vec<Expr>) -> VarId {
        self.param(name, Direction::Inout, ty, shape)
    }
    pub(super) fn local(&mut self, name: &str, ty: Scalar, shape: Vec<Expr>) -> VarId {
        self.var(name, ty, shape, VarKind::Local)
    }
    pub(super) fn iter(&mut self, name: &str) -> VarId {
        self.var(name, Scalar::I64, Vec::new(), VarKind::Iter)
    }
    pub(super) fn int(&mut self, value: i64) -> Expr {
        let span = self.span();
        Expr::int(value, span)
    }
    pub(super) fn read(&mut self, var: VarId) -> Expr {
        let span = self.span();
        Expr::read(var, self.vars[var].ty, span)
    }
    pub(super) fn place(&mut self, array: VarId, index: Vec<Expr>) -> Place {
        let span = self.span();
        let unproved = (1 << index.len()) - 1;
        Place { array, index, path: Vec::new(), unproved, access: Access::Shared, span }
    }
    pub(super) fn load(&mut self, array: VarId, index: Vec<Expr>) -> Expr {
        let place = self.place(array, index);
        Expr { ty: self.vars[array].ty, span: place.span, kind: ExprKind::Load(place) }
    }
    pub(super) fn stmt(&mut self, kind: StmtKind) -> Stmt {
        let span = self.span();
        Stmt { kind, span }
    }
    pub(super) fn store(&mut self, array: VarId, index: Vec<Expr>, value: Expr) -> Stmt {
        let place = self.place(array, index);
        self.stmt(StmtKind::Store { place, value })
    }
    pub(super) fn declare(&mut self, var: VarId) -> Stmt {
        self.stmt(StmtKind::Declare { var, zero: true })
    }
    pub(super) fn assign(&mut self, var: VarId, value: Expr) -> Stmt {
        self.stmt(StmtKind::Assign { var, value })
    }
    pub(super) fn if_(&mut self, cond: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
        self.stmt(StmtKind::If { cond, then: Block { stmts: then }, otherwise: Block { stmts: otherwise } })
    }
    pub(super) fn while_(&mut self, cond: Expr, body: Vec<Stmt>, step: Vec<Stmt>) -> Stmt {
        self.stmt(StmtKind::Loop(Loop { cond, body: Block { stmts: body }, step: Block { stmts: step } }))
    }
    pub(super) fn range(&mut self, var: VarId, lo: Expr, hi: Expr) -> Iter {
        self.stride(var, lo, hi, 1)
    }
    pub(super) fn stride(&mut self, var: VarId, lo: Expr, hi: Expr, step: i64) -> Iter {
        let step = self.int(step);
        let span = self.span();
        Iter { var, lo, hi, step, span }
    }
    pub(super) fn map(&mut self, iters: Vec<Iter>, body: Vec<Stmt>, folds: Vec<Fold>) -> Stmt {
        let directives = Directives::default();
        self.stmt(StmtKind::Map(Map { iters, body: Block { stmts: body }, folds, directives }))
    }
    pub(super) fn reduce(&mut self, target: Target, value: VarId, over: Vec<VarId>) -> Fold {
        let span = self.span();
        let ty = self.vars[value].ty;
        let neutral = Expr { kind: ExprKind::Const(Const::Int(0)), ty, span };
        let op = FoldOp { func: FoldFn::Add, ty, neutral: Some(Box::new(neutral)), ordered: false };
        Fold { kind: FoldKind::Reduce, op, target, value, over, span }
    }
    /// A program of this one function.
    pub(super) fn program(self, body: Vec<Stmt>) -> (Program, FuncId) {
        let span = Span { file: self.file, start: 0, end: 0 };
        let func = Func {
            recur: None,
            name: "f".to_owned(),
            doc: Vec::new(),
            params: self.params,
            dims: self.dims,
            vars: self.vars,
            body: Block { stmts: body },
            contract: true,
            unchecked: false,
            span,
        };
        let mut program = Program::default();
        let id = program.funcs.push(func);
        program.entries.push(id);
        (program, id)
    }
}

fn binary(op: BinOp, left: Expr, right: Expr, checked: bool) -> Expr {
    let (span, ty) = (left.span, if op.is_comparison() { Ty::BOOL } else { left.ty });
    Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), checked }, ty, span }
}
pub(super) fn add(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Add, left, right, false)
}
pub(super) fn sub(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Sub, left, right, false)
}
pub(super) fn mul(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Mul, left, right, false)
}
pub(super) fn div(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Div, left, right, true)
}
pub(super) fn rem(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Rem, left, right, true)
}
pub(super) fn lt(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Lt, left, right, false)
}
pub(super) fn ge(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Ge, left, right, false)
}
pub(super) fn math(function: MathFn, operands: Vec<Expr>) -> Expr {
    let (ty, span) = (operands[0].ty, operands[0].span);
    Expr { kind: ExprKind::Math(function, operands), ty, span }
}
pub(super) fn select(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    let (ty, span) = (then.ty, cond.span);
    let [cond, then, otherwise] = [cond, then, otherwise].map(Box::new);
    Expr { kind: ExprKind::Select { cond, then, otherwise }, ty, span }
}
pub(super) fn and(left: Expr, right: Expr) -> Expr {
    let span = left.span;
    Expr { kind: ExprKind::Lazy { and: true, left: Box::new(left), right: Box::new(right) }, ty: Ty::BOOL, span }
}
pub(super) fn convert(operand: Expr, ty: Scalar, mode: ConvertMode) -> Expr {
    let span = operand.span;
    Expr { kind: ExprKind::Convert { operand: Box::new(operand), mode }, ty: ty.into(), span }
}

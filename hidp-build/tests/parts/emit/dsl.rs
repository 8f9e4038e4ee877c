//! Short hands for building `imp` by hand.

use hidp_build::compiler::index::Arena;
use hidp_build::compiler::ir::imp::*;
use hidp_build::compiler::ir::par::{BinOp, FaultKind, MathFn, ScalarFnId};
use hidp_build::compiler::source::Span;
use hidp_build::compiler::ty::{Scalar, StructId, Ty};

pub(crate) const LONG: Scalar = Scalar::I64;

pub(crate) fn span(start: usize) -> Span {
    Span::new(hidp_build::compiler::index::Id::new(0), start, start + 1)
}

/// A function under construction.
#[derive(Default)]
pub(crate) struct F {
    pub(crate) function: Function,
}

impl F {
    pub(crate) fn new() -> Self {
        Self::default()
    }
    pub(crate) fn var(&mut self, name: &str, kind: VarKind) -> VarId {
        self.function.vars.push(Var { name: name.to_owned(), kind })
    }
    pub(crate) fn param(&mut self, name: &str, kind: VarKind) -> VarId {
        let var = self.var(name, kind);
        self.function.params.push(var);
        var
    }
    pub(crate) fn input(&mut self, name: &str, elem: impl Into<Ty>) -> VarId {
        self.param(name, VarKind::Buffer { elem: elem.into(), writable: false })
    }
    pub(crate) fn output(&mut self, name: &str, elem: impl Into<Ty>) -> VarId {
        self.param(name, VarKind::Buffer { elem: elem.into(), writable: true })
    }
    pub(crate) fn scalar(&mut self, name: &str, ty: impl Into<Ty>) -> VarId {
        self.param(name, VarKind::Value(ty.into()))
    }
    pub(crate) fn local(&mut self, name: &str, ty: impl Into<Ty>) -> VarId {
        self.var(name, VarKind::Value(ty.into()))
    }
    pub(crate) fn buffer(&mut self, name: &str, elem: impl Into<Ty>) -> VarId {
        self.var(name, VarKind::Buffer { elem: elem.into(), writable: true })
    }
    pub(crate) fn tile(&mut self, name: &str, elem: impl Into<Ty>, len: u32) -> VarId {
        self.var(name, VarKind::Tile { elem: elem.into(), len })
    }
    pub(crate) fn range(&mut self) -> (VarId, VarId) {
        (self.scalar("begin", LONG), self.scalar("end", LONG))
    }
    pub(crate) fn body(mut self, stmts: Vec<Stmt>) -> Function {
        self.function.body = Block { stmts };
        self.function
    }
}

pub(crate) fn e(kind: ExprKind, ty: impl Into<Ty>) -> Expr {
    Expr { kind, ty: ty.into() }
}
pub(crate) fn int(value: i64) -> Expr {
    e(ExprKind::Int(value.into()), LONG)
}
pub(crate) fn constant(value: i128, ty: Scalar) -> Expr {
    e(ExprKind::Int(value), ty)
}
pub(crate) fn float(value: f64, ty: Scalar) -> Expr {
    e(ExprKind::Float(value), ty)
}
pub(crate) fn v(var: VarId, ty: impl Into<Ty>) -> Expr {
    e(ExprKind::Var(var), ty)
}
pub(crate) fn l(var: VarId) -> Expr {
    v(var, LONG)
}
pub(crate) fn at(base: VarId, index: Expr) -> Element {
    Element { base, index: Box::new(index), path: Vec::new(), relaxed: false }
}
pub(crate) fn relaxed(base: VarId, index: Expr) -> Element {
    Element { relaxed: true, ..at(base, index) }
}
pub(crate) fn field(base: VarId, index: Expr, path: &[u32]) -> Element {
    Element { path: path.to_vec(), ..at(base, index) }
}
pub(crate) fn load(element: Element, ty: impl Into<Ty>) -> Expr {
    e(ExprKind::Load(element), ty)
}
pub(crate) fn bin(op: BinOp, a: Expr, b: Expr) -> Expr {
    let ty = if op.is_comparison() { Ty::BOOL } else { a.ty };
    e(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
}
pub(crate) fn add(a: Expr, b: Expr) -> Expr {
    bin(BinOp::Add, a, b)
}
pub(crate) fn sub(a: Expr, b: Expr) -> Expr {
    bin(BinOp::Sub, a, b)
}
pub(crate) fn mul(a: Expr, b: Expr) -> Expr {
    bin(BinOp::Mul, a, b)
}
pub(crate) fn lt(a: Expr, b: Expr) -> Expr {
    bin(BinOp::Lt, a, b)
}
pub(crate) fn and(a: Expr, b: Expr) -> Expr {
    e(ExprKind::Lazy(true, Box::new(a), Box::new(b)), Ty::BOOL)
}
pub(crate) fn not(a: Expr) -> Expr {
    e(ExprKind::Unary(hidp_build::compiler::ir::par::UnOp::Not, Box::new(a)), Ty::BOOL)
}
pub(crate) fn cast(to: Scalar, a: Expr) -> Expr {
    e(ExprKind::Cast(Box::new(a)), to)
}
pub(crate) fn math(function: MathFn, args: Vec<Expr>) -> Expr {
    let ty = args[0].ty;
    e(ExprKind::Math(function, args), ty)
}
pub(crate) fn call(function: ScalarFnId, result: impl Into<Ty>, args: Vec<Expr>) -> Expr {
    e(ExprKind::Call(function, args), result)
}
pub(crate) fn mul_add(a: Expr, b: Expr, c: Expr) -> Expr {
    let ty = a.ty;
    e(ExprKind::MulAdd(Box::new(a), Box::new(b), Box::new(c)), ty)
}
pub(crate) fn structure(id: StructId, fields: Vec<Expr>) -> Expr {
    e(ExprKind::Struct(id, fields), Ty::Struct(id))
}
pub(crate) fn get(a: Expr, position: u32, ty: impl Into<Ty>) -> Expr {
    e(ExprKind::Field(Box::new(a), position), ty)
}

pub(crate) fn define(var: VarId, init: Expr) -> Stmt {
    Stmt::Let { var, init: Some(init) }
}
pub(crate) fn set(var: VarId, value: Expr) -> Stmt {
    Stmt::Set { var, path: Vec::new(), value }
}
pub(crate) fn store(target: Element, value: Expr) -> Stmt {
    Stmt::Store { target, value }
}
pub(crate) fn block(stmts: Vec<Stmt>) -> Block {
    Block { stmts }
}
pub(crate) fn when(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, then: block(then), otherwise: Block::default() }
}
pub(crate) fn for_each(kind: LoopKind, var: VarId, lo: Expr, hi: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::Loop(Loop { var, lo, hi, step: int(1), kind, body: block(body) })
}
pub(crate) fn seq(var: VarId, lo: Expr, hi: Expr, body: Vec<Stmt>) -> Stmt {
    for_each(LoopKind::Seq, var, lo, hi, body)
}
pub(crate) fn simd(var: VarId, lo: Expr, hi: Expr, body: Vec<Stmt>) -> Stmt {
    for_each(LoopKind::Simd { reductions: Vec::new() }, var, lo, hi, body)
}
pub(crate) fn fault(site: SiteId, values: Vec<Expr>) -> Stmt {
    Stmt::Fault { site, values }
}
/// Enough work for several threads.
pub(crate) fn shared(grain: u32) -> Schedule {
    Schedule::Static { grain, least: 1, threads: None, work: int(1 << 40).into() }
}
pub(crate) fn dynamic(grain: u32) -> Schedule {
    Schedule::Dynamic { grain, threads: None, work: int(1 << 40).into(), in_order: false }
}
pub(crate) fn launch(kernel: KernelId, args: Vec<Expr>, extent: Expr, schedule: Schedule) -> Stmt {
    Stmt::Launch { kernel, args, extent, schedule }
}

/// An entry under construction, of one version.
pub(crate) struct E {
    symbol: String,
    sites: Arena<SiteId, Site>,
    kernels: Arena<KernelId, Kernel>,
}

impl E {
    pub(crate) fn new(name: &str) -> Self {
        Self { symbol: format!("t_{name}"), sites: Arena::new(), kernels: Arena::new() }
    }
    pub(crate) fn site(&mut self, kind: FaultKind, values: usize) -> SiteId {
        let span = span(self.sites.len());
        self.site_at(Site { kind, span, names: vec![String::new(); values] })
    }
    pub(crate) fn site_at(&mut self, site: Site) -> SiteId {
        self.sites.push(site)
    }
    pub(crate) fn kernel(&mut self, name: &str, function: Function) -> KernelId {
        self.kernels.push(Kernel {
            grid: None,
            copies: Vec::new(),
            narrow: None,
            name: name.to_owned(),
            function,
            span: span(4),
        })
    }
    pub(crate) fn finish(self, host: Function) -> Entry {
        let unit = Unit {
            target: UnitTarget::Cpu,
            plan: "p".to_owned(),
            plan_text: "by hand".to_owned(),
            host,
            kernels: self.kernels,
        };
        Entry { symbol: self.symbol, sites: self.sites, units: vec![unit] }
    }
}

//! Scalar functions: their prototypes, bodies and function objects.

use super::text::Text;
use super::value::{self, Piece};
use super::{literal, name};
use hidp_ir::imp::{Entry, can_trap};
use hidp_ir::par::visit::walk_subexprs;
use hidp_ir::par::{
    BinOp, Block, Const, ConvertMode, Expr, ExprKind, FaultKind, Loop, Program, ScalarFn, ScalarFnId, Stmt, StmtKind,
    UnOp, VarId,
};
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::{SourceMap, Span};
use hidp_syntax::ty::Ty;

const TRAP: &str = "trap";
const LEAVE_IF_RAISED: &str = "if (HIDP_UNLIKELY(trap.raised)) return {};";

/// Prototypes, bodies and function objects of everything that an entry calls.
pub fn definitions(
    program: &Program,
    sources: &SourceMap,
    entry: &Entry,
    functions: &OrdSet<ScalarFnId>,
    functors: &OrdSet<ScalarFnId>,
    out: &mut Text,
) {
    for &id in functions.iter().filter(|id| program.scalar_fns[**id].body.is_some()) {
        out.line(format!("{};", head(program, id)));
    }
    for &id in functions {
        let function = &program.scalar_fns[id];
        if let Some(body) = &function.body {
            let can_trap = can_trap(program, id);
            let span = function.span;
            let mut printer =
                Printer { program, sources, entry, function, can_trap, span, loops: Vec::new(), labels: 0 };
            out.at(sources, span);
            out.open(format!("{} {{", head(program, id)));
            printer.block(body, out);
            out.close("}");
            out.here();
        }
    }
    functors.iter().for_each(|id| functor(program, *id, out));
}

/// `HIDP_INLINE float f_0(hidp::Trap &trap, float a_0)`
fn head(program: &Program, id: ScalarFnId) -> String {
    let function = &program.scalar_fns[id];
    let trap = can_trap(program, id).then(|| format!("hidp::Trap &{TRAP}"));
    let param = |var: &VarId| {
        let param = &function.vars[*var];
        format!("[[maybe_unused]] {} {}", name::ty(program, param.ty), name::var(&param.name, *var))
    };
    let params: Vec<String> = trap.into_iter().chain(function.params.iter().map(param)).collect();
    let result = name::ty(program, function.result);
    format!("HIDP_INLINE {result} {}({})", name::scalar_fn(program, id), params.join(", "))
}

/// The function as an operator of a template.
fn functor(program: &Program, id: ScalarFnId, out: &mut Text) {
    let function = &program.scalar_fns[id];
    let traps = can_trap(program, id);
    let ty = name::functor(program, id);
    let types: Vec<String> = function.params.iter().map(|var| name::ty(program, function.vars[*var].ty)).collect();
    let typed: Vec<String> = types.iter().enumerate().map(|(at, ty)| format!("{ty} x{at}")).collect();
    let names = (0..types.len()).map(|at| format!("x{at}"));
    let args: Vec<String> = traps.then(|| TRAP.to_owned()).into_iter().chain(names).collect();
    out.open(format!("struct {ty} {{"));
    out.line("static constexpr bool builtin = false;");
    if traps {
        out.line(format!("HIDP_INLINE explicit {ty}(hidp::Trap &raised) : {TRAP}(raised) {{}}"));
    } else {
        out.line(format!("HIDP_INLINE explicit {ty}(hidp::Trap &) {{}}"));
    }
    let result = name::ty(program, function.result);
    out.open(format!("HIDP_INLINE {result} operator()({}) const {{", typed.join(", ")));
    out.line(format!("return {}({});", name::scalar_fn(program, id), args.join(", ")));
    out.close("}");
    if traps {
        out.line(format!("hidp::Trap &{TRAP};"));
    }
    out.close("};");
}

struct Printer<'a> {
    program: &'a Program,
    sources: &'a SourceMap,
    entry: &'a Entry,
    function: &'a ScalarFn,
    can_trap: bool,
    /// Where the statement comes from that is being printed.
    span: Span,
    /// For each enclosing loop, the label before its step if `continue` must go there.
    loops: Vec<Option<u32>>,
    labels: u32,
}

impl Printer<'_> {
    fn block(&mut self, block: &Block, out: &mut Text) {
        for stmt in &block.stmts {
            self.stmt(stmt, out);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Text) {
        let around = std::mem::replace(&mut self.span, stmt.span);
        out.at(self.sources, stmt.span);
        self.stmt_here(stmt, out);
        self.span = around;
        out.at(self.sources, around);
    }

    fn stmt_here(&mut self, stmt: &Stmt, out: &mut Text) {
        match &stmt.kind {
            StmtKind::Declare { var, .. } => {
                let ty = name::ty(self.program, self.function.vars[*var].ty);
                out.line(format!("[[maybe_unused]] {ty} {}{{}};", self.name(*var)));
            }
            StmtKind::Assign { var, value } => self.assign(*var, &[], value, out),
            StmtKind::AssignField { var, path, value } => self.assign(*var, path, value, out),
            StmtKind::If { cond, then, otherwise } => self.branch(cond, then, otherwise, out),
            StmtKind::Loop(node) => self.repeat(node, out),
            StmtKind::Break => out.line("break;"),
            StmtKind::Continue => match self.loops.last() {
                Some(Some(label)) => out.line(format!("goto next_{label};")),
                Some(None) | None => out.line("continue;"),
            },
            StmtKind::Return(value) => out.line(format!("return {};", self.expr(value).text)),
            StmtKind::Require { cond, fault, values } => self.require(stmt.span, cond, *fault, values, out),
            // Statements over arrays, which scalar functions do not hold.
            StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. } => {}
        }
    }

    fn name(&self, var: VarId) -> String {
        name::var(&self.function.vars[var].name, var)
    }

    fn assign(&self, var: VarId, path: &[u32], value: &Expr, out: &mut Text) {
        let fields = name::path(self.program, self.function.vars[var].ty, path);
        out.line(format!("{}{fields} = {};", self.name(var), self.expr(value).text));
        self.check(value, out);
    }

    /// Leaves at once if evaluating `value` raised: a loop might otherwise run on with a meaningless value.
    fn check(&self, value: &Expr, out: &mut Text) {
        if self.raises(value) {
            out.line(LEAVE_IF_RAISED);
        }
    }

    fn raises(&self, value: &Expr) -> bool {
        let mut raises = false;
        if self.can_trap {
            walk_subexprs(value, |node| raises |= self.raises_itself(node));
        }
        raises
    }

    fn raises_itself(&self, node: &Expr) -> bool {
        match &node.kind {
            ExprKind::Binary { checked, .. } => *checked,
            ExprKind::Convert { mode, .. } => *mode == ConvertMode::Checked,
            ExprKind::Call(callee, _) => can_trap(self.program, *callee),
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Math(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => false,
        }
    }

    /// A condition, evaluated and checked before it is acted on.
    fn condition(&mut self, cond: &Expr, out: &mut Text) -> Piece {
        let piece = self.expr(cond);
        if !self.raises(cond) {
            return piece;
        }
        let name = format!("condition_{}", self.labels);
        self.labels += 1;
        out.line(format!("const bool {name} = {};", piece.text));
        out.line(LEAVE_IF_RAISED);
        Piece::atom(name)
    }

    fn branch(&mut self, cond: &Expr, then: &Block, otherwise: &Block, out: &mut Text) {
        let cond = self.condition(cond, out);
        out.open(format!("if ({}) {{", cond.text));
        self.block(then, out);
        if !otherwise.stmts.is_empty() {
            out.reopen("} else {");
            self.block(otherwise, out);
        }
        out.close("}");
    }

    fn repeat(&mut self, node: &Loop, out: &mut Text) {
        out.open("for (;;) {");
        let cond = self.condition(&node.cond, out);
        out.line(format!("if (!{}) break;", cond.operand()));
        let label = (!node.step.stmts.is_empty()).then_some(self.labels);
        self.labels += 1;
        self.loops.push(label);
        out.open("{");
        self.block(&node.body, out);
        out.close("}");
        self.loops.pop();
        if let Some(label) = label.filter(|_| continues(&node.body)) {
            out.directive(format!("next_{label}:;"));
        }
        self.block(&node.step, out);
        out.close("}");
    }

    fn require(&mut self, span: Span, cond: &Expr, fault: FaultKind, values: &[(String, Expr)], out: &mut Text) {
        let cond = self.condition(cond, out);
        let mut args = vec![self.site(fault, span).to_string(), values.len().to_string()];
        args.extend(values.iter().map(|(_, value)| self.expr(value).text));
        out.open(format!("if (!{}) {{", cond.operand()));
        out.line(format!("{TRAP}.raise({});", args.join(", ")));
        out.line("return {};");
        out.close("}");
    }

    fn site(&self, kind: FaultKind, span: Span) -> usize {
        self.entry.find_site(kind, span).map_or(self.entry.sites.len(), Id::index)
    }

    fn expr(&self, node: &Expr) -> Piece {
        let sub = |operand: &Expr| self.expr(operand);
        match &node.kind {
            ExprKind::Const(constant) => self.constant(*constant, node.ty),
            ExprKind::Read(var) => Piece::atom(self.name(*var)),
            // Scalar functions see no arrays.
            ExprKind::Load(_) => Piece::atom(format!("{}{{}}", name::ty(self.program, node.ty))),
            ExprKind::Unary(op, a) => value::unary(*op, a.ty, sub(a)),
            ExprKind::Binary { op, left, right, checked: true } => {
                let kind =
                    if matches!(op, BinOp::Shl | BinOp::Shr) { FaultKind::Shift } else { FaultKind::DivisionByZero };
                value::checked_binary(*op, left.ty, TRAP, self.site(kind, node.span), sub(left), sub(right))
            }
            ExprKind::Binary { op, left, right, checked: false } => match self.contracted(*op, left, right) {
                Some(fused) => fused,
                None => value::binary(*op, left.ty, sub(left), sub(right)),
            },
            ExprKind::Lazy { and, left, right } => value::lazy(*and, sub(left), sub(right)),
            ExprKind::Select { cond, then, otherwise } => value::select(sub(cond), sub(then), sub(otherwise)),
            ExprKind::Convert { operand, mode: ConvertMode::Cast } => value::cast(operand.ty, node.ty, sub(operand)),
            ExprKind::Convert { operand, mode: ConvertMode::Checked } => {
                value::checked_cast(node.ty, TRAP, self.site(FaultKind::Narrowing, node.span), sub(operand))
            }
            ExprKind::Math(function, args) => {
                let ty = args.first().map_or(node.ty, |arg| arg.ty);
                value::math(*function, ty, args.iter().map(sub).collect())
            }
            ExprKind::Call(callee, args) => {
                let trap = can_trap(self.program, *callee).then(|| TRAP.to_owned());
                let args = args.iter().map(|arg| sub(arg).text);
                value::call(name::scalar_fn(self.program, *callee), trap.into_iter().chain(args))
            }
            ExprKind::Field(a, position) => {
                Piece::atom(format!("{}{}", sub(a).operand(), name::path(self.program, a.ty, &[*position])))
            }
            ExprKind::Struct(id, fields) => {
                let fields: Vec<String> = fields.iter().map(|field| sub(field).text).collect();
                Piece::atom(format!("{}{{{}}}", name::structure(self.program, *id), fields.join(", ")))
            }
        }
    }

    fn constant(&self, constant: Const, ty: Ty) -> Piece {
        let Some(scalar) = ty.scalar() else { return Piece::atom(format!("{}{{}}", name::ty(self.program, ty))) };
        match constant {
            Const::Int(value) => literal::int(value, scalar),
            Const::Float(value) => literal::float(value, scalar),
            Const::Bool(value) => literal::bool(value),
        }
    }

    /// `a * b + c`, `a * b - c`, `c + a * b`, `c - a * b` in floats: the language allows one rounding, where the function does.
    fn contracted(&self, op: BinOp, left: &Expr, right: &Expr) -> Option<Piece> {
        let negate = |ty: Ty, piece: Piece| value::unary(UnOp::Neg, ty, piece);
        let ty = left.ty;
        if !self.function.contract || !ty.scalar()?.is_float() {
            return None;
        }
        let minus = match op {
            BinOp::Add => false,
            BinOp::Sub => true,
            BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr
            | BinOp::Lt
            | BinOp::Le
            | BinOp::Gt
            | BinOp::Ge
            | BinOp::Eq
            | BinOp::Ne => return None,
        };
        if let Some((a, b)) = product(left) {
            let c = self.expr(right);
            return Some(value::mul_add(ty, self.expr(a), self.expr(b), if minus { negate(ty, c) } else { c }));
        }
        let (a, b) = product(right)?;
        let a = self.expr(a);
        Some(value::mul_add(ty, if minus { negate(ty, a) } else { a }, self.expr(b), self.expr(left)))
    }
}

fn product(node: &Expr) -> Option<(&Expr, &Expr)> {
    match &node.kind {
        ExprKind::Binary { op: BinOp::Mul, left, right, .. } => Some((left, right)),
        _ => None,
    }
}

/// Whether a `continue` of this very loop is in a block.
fn continues(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Continue => true,
        StmtKind::If { then, otherwise, .. } => continues(then) || continues(otherwise),
        _ => false,
    })
}

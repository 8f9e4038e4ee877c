//! Which versions of an entry give the same bits, as far as that can be told: those that compute with integers and truth values alone.
//!
//! Floats differ where folds have another shape, where a product and a sum are contracted, and where vectors have other maths functions.

use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{Expr, ExprKind, FoldFn, FoldOp, Func, FuncId, Program, ScalarFnId, Stmt, StmtKind, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

/// A version of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// What it is of: the entry, or another form of it.
    pub func: FuncId,
    /// Whether it is for devices.
    pub on_device: bool,
}

/// For each version a number, and the same one for those that give the same bits. Where calls can fault, which fault is reported depends
/// on the bodies that run, so that other forms have other numbers.
pub fn classes(program: &Program, versions: &[Form], may_fault: bool) -> Vec<u32> {
    let mut known: Vec<(FuncId, bool)> = Vec::new();
    let mut next = 0_u32;
    let mut number = || {
        next += 1;
        next - 1
    };
    let mut numbers: Vec<u32> = Vec::new();
    let class = |form: &Form| {
        if !is_exact(program, form.func) {
            return number();
        }
        let alike = |other: &(FuncId, bool)| other.1 == form.on_device && (!may_fault || other.0 == form.func);
        match known.iter().position(alike) {
            Some(at) => numbers[at],
            None => {
                known.push((form.func, form.on_device));
                numbers.push(number());
                numbers[numbers.len() - 1]
            }
        }
    };
    versions.iter().map(class).collect()
}

/// Whether a function computes without floats and calls no native code.
fn is_exact(program: &Program, func: FuncId) -> bool {
    let mut look = Floats { program, seen: OrdSet::new(), called: OrdSet::new(), found: false };
    look.function(&program.funcs[func]);
    !look.found
}

struct Floats<'a> {
    program: &'a Program,
    seen: OrdSet<ScalarFnId>,
    called: OrdSet<FuncId>,
    found: bool,
}

impl Floats<'_> {
    fn function(&mut self, func: &Func) {
        self.vars(&func.vars);
        self.visit_block(&func.body);
    }
    fn vars(&mut self, vars: &Arena<VarId, Var>) {
        vars.iter().for_each(|(_, var)| self.ty(var.ty));
    }
    fn ty(&mut self, ty: Ty) {
        match ty {
            Ty::Scalar(scalar) => self.found |= scalar.is_float(),
            Ty::Struct(id) => {
                let structure = &self.program.structs[id];
                self.found |= structure.native;
                structure.fields.iter().for_each(|(_, ty)| self.ty(*ty));
            }
        }
    }
    fn scalar_function(&mut self, id: ScalarFnId) {
        if !self.seen.insert(id) {
            return;
        }
        let function = &self.program.scalar_fns[id];
        self.vars(&function.vars);
        match &function.body {
            Some(body) => self.visit_block(body),
            None => self.found = true,
        }
    }
}

impl Visitor for Floats<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        self.ty(expr.ty);
        if let ExprKind::Call(function, _) = &expr.kind {
            self.scalar_function(*function);
        }
        look::walk_expr(self, expr);
    }
    fn visit_fold_op(&mut self, op: &FoldOp) {
        if let FoldFn::Fn(function) = op.func {
            self.scalar_function(function);
        }
        look::walk_fold_op(self, op);
    }
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Prim(call) = &stmt.kind {
            call.predicate.into_iter().for_each(|function| self.scalar_function(function));
        }
        if let StmtKind::Call { callee, .. } = &stmt.kind
            && self.called.insert(*callee)
        {
            let program = self.program;
            self.function(&program.funcs[*callee]);
        }
        look::walk_stmt(self, stmt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::checked;

    fn exact(text: &str) -> bool {
        let program = checked(text);
        is_exact(&program, *program.entries.last().expect("an entry"))
    }

    #[test]
    fn integers_are_exact_and_floats_are_not() {
        assert!(exact("function f input int x[N]; output int s; { reduce(\"+\", x, s, N); }"));
        assert!(exact("struct P { int a; bool b; } function f inout P x[N]; { map { i := [0:N); x[i].a += 1; } }"));
        assert!(exact(
            "static function g input int a; output int b; { b = a; } function f input int x[N]; output int y[N]; { map { i := [0:N); g(x[i], y[i]); } }"
        ));
        // Neither contraction nor the shape of a fold changes what integers give.
        assert!(exact(
            "function f input int x[N], y[N]; output int s; { map { i := [0:N); _t = x[i] * y[i]; } reduce(\"+\", s, _t, i := [*]); }"
        ));
        for inexact in [
            "function f input float x[N], y[N]; inout float z[N]; { map { i := [0:N); z[i] = x[i] * y[i] + z[i]; } }",
            "function f input int x[N]; output int s;
             { double t; map { i := [0:N); _v = double(x[i]); } reduce(\"+\", t, _v, i := [*]); s = int(t); }",
            "function f input float x[N]; output float s; { reduce(\"+\", x, s, N); }",
            "struct P { int a; double b; } function f inout P x[N]; { map { i := [0:N); x[i].a += 1; } }",
            "function f inout int x[N]; { map { i := [0:N); x[i] = int(sqrt(double(x[i]))); } }",
            "extern function int half(int a); function f inout int x[N]; { map { i := [0:N); x[i] = half(x[i]); } }",
            "static function g input int a; output int b; { float t = float(a); b = int(t); }
             function f input int x[N]; output int y[N]; { map { i := [0:N); g(x[i], y[i]); } }",
            "function double half(int a) { return a * 0.5; } function f inout int x[N]; { map { i := [0:N); x[i] = int(half(x[i])); } }",
        ] {
            assert!(!exact(inexact), "{inexact}");
        }
    }

    #[test]
    fn forms_are_apart_where_calls_may_fault() {
        let program = checked(
            "function f inout int x[N]; { x = x + 1; } function g inout int x[N]; { x = x + 1; }
             function h inout float x[N]; { x = x + 1; }",
        );
        let [f, g, h] = program.entries[..] else { panic!("three entries") };
        let of = |func: FuncId, on_device: bool| Form { func, on_device };
        let versions = [of(f, false), of(f, false), of(g, false), of(h, false), of(h, false), of(f, true), of(f, true)];
        assert_eq!(classes(&program, &versions, false), [0, 0, 0, 1, 2, 3, 3]);
        assert_eq!(classes(&program, &versions, true), [0, 0, 1, 2, 3, 4, 4]);
    }
}
